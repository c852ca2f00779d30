"""An HTTP server in front of moto's that does what moto cannot: refuse, throttle, lie, hang, cut, and fill pages.

    front.on("DescribeImages", error("RequestLimitExceeded", 503), passed)   # throttled once, then moto's answer
    front.on("DescribeSubnets", cut)                                         # the last one stays
    front.on("DescribeImages", listed("Images", images))                     # in pages, as EC2 would

Answers are rendered by botocore's own model of the service, so that they have the shape that AWS's have.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import pytest

from nodelint.ec2.client import Account
from nodelint.ec2.questions import DEFAULT_OWNERS
from nodelint.ec2.snapshot import Question, Reply

NOW = "2026-11-20T12:00:00Z"
HOME = "us-east-1"
OWN, STRANGER = "123456789012", "210987654321"
"""When AWS is asked, where and whose moto's things are, and an account beside it."""

ONE_OF_EACH: dict[str, Question] = {
    "ec2:DescribeImages": Question.make("images", ("name", "none"), owners=DEFAULT_OWNERS),
    "ssm:GetParameters": Question.make("parameters", ("name", "/none")),
    "ec2:DescribeSubnets": Question.make("subnets", ("tag-key", "none")),
    "ec2:DescribeSecurityGroups": Question.make("security-groups", ("tag-key", "none")),
    "ec2:DescribeCapacityReservations": Question.make("capacity-reservations", ("tag-key", "none")),
    "ec2:DescribePlacementGroups": Question.make("placement-groups", ("group-name", "none")),
    "ec2:GetEbsEncryptionByDefault": Question("volume-encryption"),
    "iam:GetInstanceProfile": Question.make("instance-profiles", ("name", "none")),
    "iam:GetRole": Question.make("roles", ("name", "none")),
}
"""A question by the operation that it calls, about things that do not exist."""

SMALL: dict[str, Any] = {
    "InstanceType": "t9.small",
    "SupportedUsageClasses": ["on-demand"],
    "SupportedVirtualizationTypes": ["hvm"],
    "Hypervisor": "nitro",
    "ProcessorInfo": {"SupportedArchitectures": ["x86_64"], "Manufacturer": "Intel"},
    "VCpuInfo": {"DefaultVCpus": 2},
    "MemoryInfo": {"SizeInMiB": 2048},
    "NetworkInfo": {
        "MaximumNetworkInterfaces": 2,
        "Ipv4AddressesPerInterface": 4,
        "DefaultNetworkCardIndex": 0,
        "NetworkCards": [{"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 2}],
    },
}
PLACE = {"InstanceType": "t9.small", "LocationType": "availability-zone", "Location": "us-east-1a"}
"""An instance type and where it is offered, as EC2 tells of them."""


def ask_account(*questions: Question, region: str = HOME, **options: Any) -> Reply:
    """What an account answers to some questions at once."""
    return Account(NOW, **options).region(region)(questions)


class Request(NamedTuple):
    """A call as it came in: service, region, operation, and its fields (of EC2, `Filter.1.Name` and so on)."""

    service: str
    region: str
    operation: str
    fields: Mapping[str, Any]

    def numbered(self, prefix: str) -> list[str]:
        """The fields `<prefix>.1`, `<prefix>.2` and so on."""
        found: list[str] = []
        while (key := f"{prefix}.{len(found) + 1}") in self.fields:
            found.append(self.fields[key])
        return found

    def filters(self) -> list[tuple[str, list[str]]]:
        """EC2's filters."""
        names = (n for n in range(1, 100) if f"Filter.{n}.Name" in self.fields)
        return [(self.fields[f"Filter.{n}.Name"], self.numbered(f"Filter.{n}.Value")) for n in names]


class Response(NamedTuple):
    """What goes back; with status 0 nothing does. `promised` is the Content-Length where it is a wrong one."""

    status: int
    body: bytes
    promised: int | None = None


_SPEAKING_JSON = ("ssm", "pricing")
"""Services whose answers are JSON."""

Step = Callable[[Request, "Front"], Response | None]
"""What to do with a call; None passes it on to moto."""


def passed(request: Request, front: Front) -> None:
    """Moto answers."""


def error(code: str, status: int = 400) -> Step:
    """AWS refuses, in the words of the service."""

    def step(request: Request, front: Front) -> Response:
        message = "User: arn:aws:iam::123456789012:user/dev is not authorized, or whatever it is"
        if request.service in _SPEAKING_JSON:
            return Response(status, json.dumps({"__type": code, "message": message}).encode())
        inner = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
        if request.service == "ec2":
            inner = f"<Response><Errors>{inner}</Errors><RequestID>1</RequestID></Response>"
        else:
            inner = f"<ErrorResponse>{inner}<RequestId>1</RequestId></ErrorResponse>"
        return Response(status, inner.encode())

    return step


def body(text: str, status: int = 200) -> Step:
    """Any text, as it is."""
    return lambda request, front: Response(status, text.encode())


def cut(request: Request, front: Front) -> Response:
    """The connection ends in the middle of the answer."""
    return Response(200, b"<DescribeImagesResponse>", promised=10_000)


def gone(request: Request, front: Front) -> Response:
    """The connection ends before the answer."""
    return Response(0, b"")


def hang(request: Request, front: Front) -> Response:
    """No answer until the front is told to go on."""
    front.going_on.wait(30)
    return Response(503, b"")


def slow(seconds: float) -> Step:
    """Moto answers after a while."""

    def step(request: Request, front: Front) -> None:
        front.going_on.wait(seconds)

    return step


def only(when: Callable[[Request], bool], step: Step) -> Step:
    """A step for some calls; moto answers the others."""
    return lambda request, front: step(request, front) if when(request) else None


def answer(result: Mapping[str, Any]) -> Step:
    """An answer of the given content, in the shape of the service."""
    return lambda request, front: Response(200, rendered(request, result))


def listed(key: str, items: Sequence[Mapping[str, Any]] | Callable[[Request], Sequence[Mapping[str, Any]]]) -> Step:
    """A list in pages of the size that was asked for."""

    def step(request: Request, front: Front) -> Response:
        these = items(request) if callable(items) else items
        start, size = int(request.fields.get("NextToken", 0)), int(request.fields.get("MaxResults", 1000))
        more = {"NextToken": str(start + size)} if start + size < len(these) else {}
        return Response(200, rendered(request, {key: these[start : start + size], **more}))

    return step


FEW = (
    "c5.large",
    "c6g.xlarge",
    "g5.xlarge",
    "i3.large",
    "m5.large",
    "m7g.2xlarge",
    "p4d.24xlarge",
    "r6i.large",
    "t3.micro",
)
"""The instance types that the front knows unless it is told to ask moto, whose answer of all takes two seconds."""


def few_types(request: Request, front: Front) -> Response:
    """A few of EC2's instance types, as moto holds them."""
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    return listed("InstanceTypes", [INSTANCE_TYPES[name] for name in FEW])(request, front) or Response(500, b"")


def few_offerings(request: Request, front: Front) -> Response:
    """Where in the region of the call these are offered, as moto holds it."""
    from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS

    places = INSTANCE_TYPE_OFFERINGS["availability-zone"][request.region]
    few = [place for place in places if place["InstanceType"] in FEW]
    return listed("InstanceTypeOfferings", few)(request, front) or Response(500, b"")


PRICES = {"c5.large": "0.0970000000", "c6g.xlarge": "0.1552000000", "m5.large": "0.1150000000"}
"""What the price list of the front says of some types; moto has none."""


def priced_product(name: str, usd: str) -> str:
    """An entry of the price list, as AWS writes it: with its reservations, whose hours cost nothing."""
    units = {
        "a.b.c": {"unit": "Hrs", "pricePerUnit": {"USD": usd}},
        "a.b.d": {"pricePerUnit": {"USD": "0.0000000000"}},
    }
    reserved = {"r": {"priceDimensions": {"r.x": {"pricePerUnit": {"USD": "0.0100000000"}}}}}
    return json.dumps(
        {
            "product": {"productFamily": "Compute Instance", "attributes": {"instanceType": name}, "sku": "A"},
            "serviceCode": "AmazonEC2",
            "terms": {"OnDemand": {"a.b": {"priceDimensions": units}}, "Reserved": reserved},
        }
    )


def few_prices(request: Request, front: Front) -> Response:
    """The price list, in pages of two; of bare metal nothing."""
    wanted = {entry["Field"]: entry["Value"] for entry in request.fields["Filters"]}
    entries = [priced_product(*price) for price in PRICES.items()] if wanted["tenancy"] == "Shared" else []
    start = int(request.fields.get("NextToken", 0))
    more = {"NextToken": str(start + 2)} if start + 2 < len(entries) else {}
    return Response(
        200, rendered(request, {"FormatVersion": "aws_v1", "PriceList": entries[start : start + 2], **more})
    )


def few_spot_prices(request: Request, front: Front) -> Response:
    """Spot prices of two types, a newer one among them, and of one zone an older one that comes last."""
    rows = [
        ("c5.large", "a", "0.031", "2026-11-20T11:00:00Z"),
        ("m5.large", "a", "0.050", "2026-11-20T11:00:00Z"),
        ("m5.large", "b", "0.040", "2026-11-20T11:00:00Z"),
        ("m5.large", "b", "0.900", "2026-11-19T11:00:00Z"),
    ]
    prices = [
        {
            "InstanceType": name,
            "AvailabilityZone": f"{request.region}{zone}",
            "SpotPrice": usd,
            "Timestamp": at,
            "ProductDescription": "Linux/UNIX",
        }
        for name, zone, usd, at in rows
    ]
    return listed("SpotPriceHistory", prices)(request, front) or Response(500, b"")


_USUAL: dict[str, Step] = {
    "DescribeInstanceTypes": few_types,
    "DescribeInstanceTypeOfferings": few_offerings,
    "GetProducts": few_prices,
    "DescribeSpotPriceHistory": few_spot_prices,
}


@cache
def _model(service: str) -> Any:
    import botocore.session

    return botocore.session.get_session().get_service_model(service)


def rendered(request: Request, result: Mapping[str, Any]) -> bytes:
    """The body of an answer: JSON for SSM and the price list, XML by the service's model for EC2."""
    if request.service in _SPEAKING_JSON:
        return json.dumps(result).encode()
    shape = _model(request.service).operation_model(request.operation).output_shape
    inner = _members(shape, result)
    name = f"{request.operation}Response"
    return f"<{name}><requestId>1</requestId>{inner}</{name}>".encode()


def _members(shape: Any, value: Mapping[str, Any]) -> str:
    parts = []
    for key, entry in value.items():
        member = shape.members[key]
        name = member.serialization.get("name", key)
        parts.append(f"<{name}>{_element(member, entry)}</{name}>")
    return "".join(parts)


def _element(shape: Any, value: Any) -> str:
    if shape.type_name == "structure":
        return _members(shape, value)
    if shape.type_name == "list":
        name = shape.member.serialization.get("name", "item")
        return "".join(f"<{name}>{_element(shape.member, value)}</{name}>" for value in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return escape(str(value))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100


class Front:
    """The server: `url`, what came in (`seen`), and what is done with calls of an operation (`on`)."""

    def __init__(self, moto: tuple[str, int] | None) -> None:
        self.seen: list[Request] = []
        self.going_on = threading.Event()
        self._moto = moto
        self._steps: dict[str, list[Step]] = {}
        self._lock = threading.Lock()
        self.server = _Server(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def on(self, operation: str, *steps: Step) -> None:
        """What to do with the next calls of an operation, in turn; the last stays. `*` is every operation."""
        self._steps[operation] = list(steps)

    def clear(self) -> None:
        """Forget steps and calls; what hangs goes on."""
        self.going_on.set()
        self.going_on = threading.Event()
        self._steps.clear()
        self.seen.clear()

    def reset(self) -> None:
        """Forget what moto holds, too."""
        self.clear()
        assert self._moto is not None
        connection = http.client.HTTPConnection(*self._moto, timeout=30)
        connection.request("POST", "/moto-api/reset")
        assert connection.getresponse().status == 200

    def counted(self) -> Counter[str]:
        """How often each operation was called."""
        return Counter(f"{request.service}:{request.operation}" for request in self.seen)

    def respond(self, method: str, path: str, headers: Mapping[str, str], sent: bytes) -> tuple[Response, str]:
        """What a call brings, and its content type."""
        request = _request(headers, sent)
        with self._lock:
            self.seen.append(request)
            usual = [_USUAL.get(request.operation, passed)]
            steps = self._steps.get(request.operation) or self._steps.get("*") or usual
            step = steps.pop(0) if len(steps) > 1 else steps[0]
        kind = "application/x-amz-json-1.1" if request.service in _SPEAKING_JSON else "text/xml"
        response = step(request, self)
        if response is not None:
            return response, kind
        assert self._moto is not None, f"nothing answers {request.operation}"
        connection = http.client.HTTPConnection(*self._moto, timeout=30)
        connection.request(method, path, sent, dict(headers))
        got = connection.getresponse()
        return Response(got.status, got.read()), got.headers.get("Content-Type", kind)


def _request(headers: Mapping[str, str], sent: bytes) -> Request:
    _, _, region, service, *_ = headers.get("Authorization", "/////").split("/")
    target = headers.get("X-Amz-Target")
    if target is not None:
        return Request(service, region, target.split(".")[-1], json.loads(sent))
    fields = dict(parse_qsl(sent.decode(), keep_blank_values=True))
    return Request(service, region, fields.get("Action", ""), fields)


def _handler(front: Front) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            response, kind = front.respond("POST", self.path, dict(self.headers.items()), sent)
            if not response.status:
                self.close_connection = True
                return
            try:
                self.send_response(response.status)
                self.send_header("Content-Type", kind)
                length = len(response.body) if response.promised is None else response.promised
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(response.body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # Who asked has gone, as after a time-out.
            if response.promised is not None:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


@contextmanager
def started(moto: tuple[str, int] | None = None) -> Iterator[Front]:
    """A front on a free port of the loopback, before moto's server at an address."""
    front = Front(moto)
    thread = threading.Thread(target=front.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield front
    finally:
        front.clear()
        front.server.shutdown()
        front.server.server_close()


@pytest.fixture(scope="session")
def server() -> Iterator[Front]:
    """Moto's server and the front before it."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    with started(moto.get_host_and_port()) as front:
        yield front
    moto.stop()


@pytest.fixture
def front(server: Front, monkeypatch: pytest.MonkeyPatch) -> Front:
    """The front without steps and calls, and an environment that points to it and nowhere else."""
    server.clear()
    clean(monkeypatch)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    return server


@cache
def _loader() -> Any:
    import botocore.loaders

    return botocore.loaders.create_loader(None)


def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own AWS settings, and a quick boto3."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("BOTO_CONFIG", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    quick(monkeypatch.setattr)


@cache
def _client_class() -> Callable[[Any, str, Any], type]:
    """Make the class of a service's client, which has a method for each of hundreds of operations, once."""
    import botocore.client

    make = botocore.client.ClientCreator._create_client_class
    made: dict[str, type] = {}

    def once(creator: Any, service: str, model: Any) -> type:
        if service not in made:
            made[service] = make(creator, service, model)
        return made[service]

    return once


def quick(put: Callable[[Any, str, Any], None]) -> None:
    """Set what makes boto3 quick: no waiting between tries, and the models of services read once."""
    import botocore.client
    import botocore.retries.adaptive
    import botocore.retries.standard
    import botocore.session

    put(botocore.retries.standard.ExponentialBackoff, "delay_amount", lambda *_: 0.0)
    put(botocore.session, "create_loader", lambda _: _loader())
    put(botocore.retries.adaptive.ClientRateLimiter, "on_sending_request", lambda *_, **__: None)
    put(botocore.client.ClientCreator, "_create_client_class", _client_class())


@pytest.fixture
def register(front: Front) -> Iterator[Callable[..., str]]:
    """Register an image with moto; what its API cannot say (state, age, architecture) is told to it directly."""
    from moto.ec2.models import ec2_backends

    own, made = ec2_backends[OWN][HOME], []

    def register(name: str, owner: str = OWN, tags: dict[str, str] | None = None, **facts: Any) -> str:
        image = ec2_backends[owner][HOME].register_image(name, "")
        own.amis[image.id] = image
        made.append(image.id)
        image.architecture = "x86_64"
        image.creation_date = datetime(2026, 11, 1)
        image.add_tags(tags or {})
        for field, value in facts.items():
            setattr(image, field, value)
        return str(image.id)

    yield register
    for id in made:
        del own.amis[id]
