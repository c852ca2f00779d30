"""What AWS and the network do wrong: what is said, whether it passes, and what is answered all the same."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from nodelint.ec2 import client
from nodelint.ec2.client import Account, CannotAsk, workers
from nodelint.ec2.questions import EVERYWHERE, gather
from nodelint.ec2.snapshot import Answer, Question
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST
from nodelint.text import Source
from tests import ec2_front as aws
from tests.conftest import ROOT
from tests.ec2_front import HOME, NOW, ONE_OF_EACH, OWN, PLACE, SMALL, ask_account, clean

FAULTS: list[tuple[str, aws.Step, str, bool]] = [
    ("refused", aws.error("UnauthorizedOperation", 403), "`{}` is not allowed (UnauthorizedOperation)", False),
    ("denied", aws.error("AccessDenied", 403), "`{}` is not allowed (AccessDenied)", False),
    ("throttled", aws.error("RequestLimitExceeded", 503), "`{}` is throttled (RequestLimitExceeded)", True),
    ("slowed", aws.error("ThrottlingException", 400), "`{}` is throttled (ThrottlingException)", True),
    ("too many", aws.error("TooManyRequestsException", 429), "`{}` is throttled (TooManyRequestsException)", True),
    ("internal", aws.error("InternalError", 500), "`{}` failed at AWS (InternalError)", True),
    ("unavailable", aws.error("Unavailable", 503), "`{}` failed at AWS (Unavailable)", True),
    ("5xx of no name", aws.error("Oops", 502), "`{}` failed at AWS (Oops)", True),
    ("invalid", aws.error("InvalidParameterValue"), "`{}` does not take the question (InvalidParameterValue)", False),
    ("not enabled", aws.error("AuthFailure", 401), "credentials are not valid here, or the region is not", False),
    ("opt in", aws.error("OptInRequired", 403), "the account is not signed up for `{}` or the region", False),
    ("a proxy that is busy", aws.body("<html/>", 429), "`{}` failed at AWS (429)", True),
    ("a proxy that forbids", aws.body("<html/>", 403), "`{}` failed (403)", False),
    ("another code", aws.error("Blocked"), "`{}` failed (Blocked)", False),
    ("clock", aws.error("RequestTimeTooSkewed", 403), "the clock of this machine is off", False),
    ("gone", aws.gone, "the connection of `{}` was cut", True),
    # Whether it is noticed that something is missing, or that what came is not a XML, is up to urllib3's release.
    ("cut", aws.cut, "`{}`", True),
    ("no XML", aws.body("<DescribeImagesResponse><ima"), "the answer to `{}` cannot be read", True),
    ("nothing", aws.body(""), "the answer to `{}` cannot be read", True),
    ("a login page", aws.body("<html><body>Log in</body></html>"), "the answer to `{}` cannot be read", True),
    (
        "a proxy's error",
        aws.body("<html><body>Bad gateway<br></body></html>", 502),
        "`{}` failed at AWS (502)",
        True,
    ),
    ("hangs", aws.hang, "`{}` timed out", True),
]


@pytest.mark.parametrize(("step", "message", "transient"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_fault_costs_only_the_facts_behind_it(
    front: aws.Front, step: aws.Step, message: str, transient: bool
) -> None:
    operation = "ec2:DescribeImages"
    question = ONE_OF_EACH[operation]
    others = [ONE_OF_EACH[name] for name in ("ec2:DescribeSubnets", "ssm:GetParameters", "iam:GetRole")]
    front.on(operation.split(":")[1], step)
    answers = ask_account(question, *others, attempts=2, wait=1.0 if step is aws.hang else 20.0).region.answers
    failed = answers[question].failed
    assert failed is not None and message.format(operation) in failed
    assert answers[question] == Answer(NOW, failed=failed, transient=transient)
    assert OWN not in failed and "arn:" not in failed
    assert [answers[q] for q in others] == [Answer(NOW)] * 3


@pytest.mark.parametrize(
    "operation", [*ONE_OF_EACH, "ec2:DescribeInstanceTypes", "ec2:DescribeInstanceTypeOfferings"]
)
def test_every_call_can_be_refused(front: aws.Front, operation: str) -> None:
    questions = {
        **ONE_OF_EACH,
        "ec2:DescribeInstanceTypes": EVERYWHERE[0],
        "ec2:DescribeInstanceTypeOfferings": EVERYWHERE[1],
    }
    front.on("DescribeInstanceTypes", aws.answer({"InstanceTypes": [SMALL]}))
    front.on("DescribeInstanceTypeOfferings", aws.answer({"InstanceTypeOfferings": [PLACE]}))
    front.on("DescribeCapacityReservations", aws.answer({"CapacityReservations": []}))
    front.on("DescribePlacementGroups", aws.answer({"PlacementGroups": []}))
    front.on(operation.split(":")[1], aws.error("AccessDeniedException", 403))
    answers = ask_account(*questions.values()).region.answers
    failed = {question: answer.failed for question, answer in answers.items() if answer.failed}
    assert failed == {questions[operation]: f"`{operation}` is not allowed (AccessDeniedException)"}


@pytest.mark.parametrize("text", ["<html><body>Log in</body></html>", "", "null", "[]", '{"a": 1}', "<a>"])
@pytest.mark.parametrize("status", [200, 302, 503])
def test_what_is_not_from_aws_at_all(front: aws.Front, text: str, status: int) -> None:
    """As a login page of a hotel, or a proxy, gives to everyone."""
    front.on("*", aws.body(text, status))
    reply = ask_account(*EVERYWHERE, *ONE_OF_EACH.values(), attempts=1)
    assert reply.region.account is None
    for answer in reply.region.answers.values():
        assert answer.failed and (answer.transient or status not in (200, 503)), answer


def test_what_passes_is_tried_again(front: aws.Front) -> None:
    question = ONE_OF_EACH["ec2:DescribeSubnets"]
    front.on(
        "DescribeSubnets",
        aws.error("RequestLimitExceeded", 503),
        aws.gone,
        aws.error("InternalError", 500),
        aws.passed,
    )
    account = Account(NOW)
    assert account.region(HOME)([question]).region.answers[question] == Answer(NOW)
    assert front.counted()["ec2:DescribeSubnets"] == 4
    assert account.calls["ec2:DescribeSubnets"] == 1
    front.on("DescribeSubnets", aws.body("<Descr"), aws.passed)
    assert account.region(HOME)([question]).region.answers[question] == Answer(NOW)
    assert account.calls["ec2:DescribeSubnets"] == 3


def test_nobody_listens(front: aws.Front, monkeypatch: pytest.MonkeyPatch) -> None:
    roles = [Question.make("roles", ("name", f"role-{number}")) for number in range(30)]
    subnets = ONE_OF_EACH["ec2:DescribeSubnets"]
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL_IAM", f"http://127.0.0.1:{bound.getsockname()[1]}")
        account = Account(NOW)
        answers = account.region(HOME)([*roles, subnets]).region.answers
    unreachable = Answer(NOW, failed="`iam:GetRole` cannot be reached", transient=True)
    assert [answers[q] for q in roles] == [unreachable] * 30
    assert answers[subnets] == Answer(NOW)
    # Who waits for one call that gets no connection need not wait for the next.
    assert account.calls["iam:GetRole"] <= 8


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's context with a certificate that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(datetime(2020, 1, 1)).not_valid_after(datetime(2099, 1, 1))
    encoding = serialization.Encoding.PEM
    plain = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "both.pem").write_bytes(plain + made.sign(key, hashes.SHA256()).public_bytes(encoding))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context


def test_a_certificate_that_nobody_trusts(front: aws.Front, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    role, subnets = ONE_OF_EACH["iam:GetRole"], ONE_OF_EACH["ec2:DescribeSubnets"]
    with aws.started() as other:
        other.server.socket = self_signed(tmp_path).wrap_socket(other.server.socket, server_side=True)
        monkeypatch.setenv("AWS_ENDPOINT_URL_IAM", other.url.replace("http:", "https:"))
        answers = ask_account(role, subnets).region.answers
    assert answers[role] == Answer(NOW, failed="the certificate of the endpoint is not trusted; see AWS_CA_BUNDLE")
    assert answers[subnets] == Answer(NOW)


def images(count: int) -> list[dict[str, Any]]:
    """Images of a pipeline that runs every hour, much as EC2 tells of them."""
    return [
        {
            "ImageId": f"ami-{number:017x}",
            "Name": f"golden-{number}",
            "Architecture": "arm64" if number % 2 else "x86_64",
            "State": "available",
            "CreationDate": f"2026-{1 + number // 900:02}-{1 + number // 24 % 28:02}T{number % 24:02}:00:00.000Z",
            "OwnerId": OWN,
            "Public": False,
            "BlockDeviceMappings": [
                {"DeviceName": name, "Ebs": {"SnapshotId": "snap-0", "VolumeSize": 20, "Encrypted": True}}
                for name in ("/dev/xvda", "/dev/xvdb")
            ],
            "Tags": [{"Key": f"key-{n}", "Value": f"value-{n}"} for n in range(5)],
        }
        for number in range(count)
    ]


def test_a_page_that_fails_fails_the_question(front: aws.Front) -> None:
    """Half an answer could miss the newest image."""
    question = ONE_OF_EACH["ec2:DescribeImages"]
    bare = [{key: image[key] for key in ("ImageId", "State", "CreationDate")} for image in images(2500)]
    three = aws.listed("Images", bare)
    front.on("DescribeImages", three, three, aws.error("UnauthorizedOperation", 403))
    reply = ask_account(question)
    assert reply.region.answers[question].failed == "`ec2:DescribeImages` is not allowed (UnauthorizedOperation)"
    assert not reply.region.images
    front.on("DescribeImages", three)
    assert ask_account(question).region.answers[question].total == 2500


def test_pages_that_go_round_end(front: aws.Front) -> None:
    question = ONE_OF_EACH["ec2:DescribeImages"]
    front.on("DescribeImages", aws.answer({"Images": images(1), "NextToken": "1"}))
    answer = ask_account(question).region.answers[question]
    assert (answer.failed, answer.transient) == ("the answer to `ec2:DescribeImages` cannot be read", True)
    assert front.counted()["ec2:DescribeImages"] == 2 + 2


@pytest.mark.parametrize(
    "change",
    [
        {"ImageId": None},
        {"State": None},
        {"CreationDate": "yesterday"},
        {"CreationDate": "2026-13-01T00:00:00.000Z"},
        {"DeprecationTime": "soon"},
    ],
)
def test_an_image_that_makes_no_sense_is_no_answer(front: aws.Front, change: dict[str, Any]) -> None:
    item = {key: value for key, value in {**images(1)[0], **change}.items() if value is not None}
    front.on("DescribeImages", aws.answer({"Images": [item]}))
    question = ONE_OF_EACH["ec2:DescribeImages"]
    answer = ask_account(question).region.answers[question]
    assert (answer.failed, answer.transient) == ("the answer to `ec2:DescribeImages` cannot be read", True)


BLANK = {
    "ec2:DescribeImages": ("Images", {**images(1)[0]}, ("ImageId", "State", "Architecture", "OwnerId")),
    "ec2:DescribeSubnets": (
        "Subnets",
        {
            "SubnetId": "subnet-1",
            "AvailabilityZone": "us-east-1a",
            "AvailabilityZoneId": "use1-az1",
            "VpcId": "vpc-1",
            "AvailableIpAddressCount": 9,
        },
        ("SubnetId", "AvailabilityZone", "AvailabilityZoneId", "VpcId"),
    ),
    "ec2:DescribeSecurityGroups": (
        "SecurityGroups",
        {"GroupId": "sg-1", "GroupName": "nodes", "VpcId": "vpc-1"},
        ("GroupId", "GroupName", "VpcId"),
    ),
    "ec2:DescribeCapacityReservations": (
        "CapacityReservations",
        {
            "CapacityReservationId": "cr-1",
            "InstanceType": "t9.small",
            "AvailabilityZone": "us-east-1a",
            "State": "active",
            "OwnerId": OWN,
            "AvailableInstanceCount": 1,
        },
        ("CapacityReservationId", "InstanceType", "AvailabilityZone", "State", "OwnerId"),
    ),
    "ec2:DescribePlacementGroups": (
        "PlacementGroups",
        {"GroupId": "pg-1", "GroupName": "none", "Strategy": "spread", "State": "available"},
        ("GroupId", "GroupName", "Strategy", "State"),
    ),
}


@pytest.mark.parametrize("operation", BLANK)
def test_a_blank_word_is_no_fact(front: aws.Front, operation: str) -> None:
    key, item, fields = BLANK[operation]
    question = ONE_OF_EACH[operation]
    front.on(operation.split(":")[1], aws.answer({key: [item]}))
    assert ask_account(question).region.answers[question].failed is None
    for field, blank in [(fields[0], " "), *((field, "") for field in fields)]:
        front.on(operation.split(":")[1], aws.answer({key: [{**item, field: blank}]}))
        answer = ask_account(question).region.answers[question]
        assert answer == Answer(NOW, failed=f"the answer to `{operation}` cannot be read", transient=True), field


@pytest.mark.parametrize("field", ["InstanceType", "Location"])
@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_offering_offers_nothing(front: aws.Front, field: str, blank: str) -> None:
    """As a fact, it would say that the type is offered nowhere that subnets are."""
    front.on("DescribeInstanceTypes", aws.answer({"InstanceTypes": [SMALL]}))
    front.on("DescribeInstanceTypeOfferings", aws.answer({"InstanceTypeOfferings": [PLACE, {**PLACE, field: blank}]}))
    region = ask_account(*EVERYWHERE).region
    assert region.answers[EVERYWHERE[1]].failed == "the answer to `ec2:DescribeInstanceTypeOfferings` cannot be read"
    assert not region.offerings


def test_a_blank_usage_class_or_architecture_is_none(front: aws.Front) -> None:
    front.on("DescribeInstanceTypeOfferings", aws.answer({"InstanceTypeOfferings": [PLACE]}))
    for change in ({"SupportedUsageClasses": [""]}, {"ProcessorInfo": {"SupportedArchitectures": [" "]}}):
        front.on("DescribeInstanceTypes", aws.answer({"InstanceTypes": [{**SMALL, **change}]}))
        failed = ask_account(*EVERYWHERE).region.answers[EVERYWHERE[0]].failed
        assert failed is not None and "what `ec2:DescribeInstanceTypes` says cannot be used" in failed


def test_a_blank_role_or_account_is_none(front: aws.Front) -> None:
    role = ONE_OF_EACH["iam:GetRole"]
    answer = "<GetRoleResponse><GetRoleResult><Role><RoleName>{}</RoleName></Role></GetRoleResult></GetRoleResponse>"
    front.on("GetRole", aws.body(answer.format("none")))
    assert ask_account(role).region.answers[role].found == ("none",)
    front.on("GetRole", aws.body(answer.format(" ")))
    assert ask_account(role).region.answers[role].failed == "the answer to `iam:GetRole` cannot be read"
    front.on(
        "GetCallerIdentity",
        aws.body(
            "<GetCallerIdentityResponse><GetCallerIdentityResult><Account> </Account></GetCallerIdentityResult>"
            "</GetCallerIdentityResponse>"
        ),
    )
    assert ask_account(role).region.account is None


def test_instance_types_that_make_no_sense(front: aws.Front) -> None:
    front.on("DescribeInstanceTypeOfferings", aws.answer({"InstanceTypeOfferings": []}))
    front.on("DescribeInstanceTypes", aws.answer({"InstanceTypes": [{**SMALL, "MemoryInfo": {}}]}))
    answers = ask_account(*EVERYWHERE).region.answers
    assert [(answers[q].failed, answers[q].transient) for q in EVERYWHERE] == [
        ("what `ec2:DescribeInstanceTypes` says cannot be used: `t9.small`: no `MemoryInfo.SizeInMiB`", False),
        ("`ec2:DescribeInstanceTypeOfferings` names no instance type", False),
    ]


def parameter(name: str) -> Question:
    return Question.make("parameters", ("name", name))


def test_one_refused_parameter_costs_no_other(front: aws.Front) -> None:
    """SSM refuses all ten of a call for one of them."""
    for code, message in (
        ("AccessDeniedException", "is not allowed"),
        ("ValidationException", "does not take the question"),
    ):
        front.clear()
        front.on("GetParameters", aws.only(lambda request: "/b" in request.fields["Names"], aws.error(code)))
        questions = [parameter(name) for name in ("/a", "/b", "/c", "/aws/service/d")]
        answers = ask_account(*questions).region.answers
        assert [q for q, answer in answers.items() if answer.failed is not None] == [questions[1]]
        assert message in (answers[questions[1]].failed or "")
        assert front.counted()["ssm:GetParameters"] == 2 + 3


def test_a_parameter_that_the_answer_leaves_out(front: aws.Front) -> None:
    given = {"Parameters": [{"Name": "/a", "Type": "String", "Value": "ami-1"}], "InvalidParameters": []}
    front.on("GetParameters", aws.answer(given))
    answers = ask_account(parameter("/a"), parameter("/b")).region.answers
    assert answers[parameter("/a")].found == ("ami-1",)
    left_out = Answer(NOW, failed="the answer to `ssm:GetParameters` leaves it out", transient=True)
    assert answers[parameter("/b")] == left_out
    for text in (
        "{}",
        '{"Parameters": [null]}',
        '{"Parameters": [{"Name": "/a", "Type": "String"}]}',
        '{"Parameters": 1}',
    ):
        front.on("GetParameters", aws.body(text))
        assert "cannot be read" in (ask_account(parameter("/a")).region.answers[parameter("/a")].failed or "")


def test_a_number_that_is_none(front: aws.Front) -> None:
    item = {"SubnetId": "subnet-1", "AvailabilityZone": "us-east-1a", "AvailableIpAddressCount": "some"}
    front.on("DescribeSubnets", aws.answer({"Subnets": [item]}))
    question = ONE_OF_EACH["ec2:DescribeSubnets"]
    assert "cannot be read" in (ask_account(question).region.answers[question].failed or "")


# Time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that a run takes, in its one element; it passes only where a test says so."""
    now = [0.0]
    for module in (client, workers):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


def test_the_time_is_up(front: aws.Front, clock: list[float]) -> None:
    def note_progress(done: int, planned: int, what: str) -> None:
        if done == planned - 1:  # all but the one that hangs
            clock[0] = 60.0

    front.on("DescribeImages", aws.hang)
    late, in_time = (ONE_OF_EACH[name] for name in ("ec2:DescribeImages", "ec2:DescribeSubnets"))
    answers = ask_account(late, in_time, timeout=60, attempts=1, on_progress=note_progress).region.answers
    assert answers == {late: Answer(NOW, failed="timed out after 60 s", transient=True), in_time: Answer(NOW)}


def test_the_time_is_that_of_the_whole_run(front: aws.Front, clock: list[float]) -> None:
    account = Account(NOW, timeout=60)
    ask = account.region(HOME)
    ask(())
    clock[0] = 60.0
    before = account.calls.total()
    answers = ask(list(ONE_OF_EACH.values())).region.answers
    assert {answer.failed for answer in answers.values()} == {"timed out after 60 s"}
    assert account.calls.total() == before


def test_calls_run_side_by_side(front: aws.Front) -> None:
    together = threading.Barrier(7, timeout=60)

    def met(request: aws.Request, front: aws.Front) -> None:
        together.wait()

    front.on("DescribeSubnets", met)
    ask_account(*(Question.make("subnets", ("tag:name", str(number))) for number in range(7)))
    assert front.counted()["ec2:DescribeSubnets"] == 7
    assert not together.broken


WAITING = """
import signal
# a job in the background is started with SIGINT ignored, and its children inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)
from nodelint.ec2.client import Account
from nodelint.ec2.snapshot import Question
account = Account("2026-11-20T12:00:00Z", timeout=60)
print("asking", flush=True)
try:
    account.region("us-east-1")([Question("images")])
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a single process")
def test_ctrl_c_ends_at_once(front: aws.Front) -> None:
    front.on("DescribeImages", aws.hang)
    with subprocess.Popen([sys.executable, "-c", WAITING], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        while not any(request.operation == "DescribeImages" for request in front.seen):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=25)  # what hangs does so for longer
    assert output.splitlines() == ["asking", "interrupted"]


# Nothing can be asked at all


def cannot(**options: Any) -> tuple[str, bool]:
    with pytest.raises(CannotAsk) as caught:
        ask_account(*ONE_OF_EACH.values(), **options)
    return caught.value.reason, caught.value.transient


def test_no_credentials(front: aws.Front, monkeypatch: pytest.MonkeyPatch) -> None:
    clean(monkeypatch)
    message = "no AWS credentials are available; log in, for example by `aws sso login`"
    assert cannot() == (message, False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "half")
    assert cannot() == ("the AWS credentials are not whole: key id and secret belong together", False)
    assert not front.seen


def test_profiles(front: aws.Front, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile prod]\nregion = eu-west-3\naws_access_key_id = a\naws_secret_access_key = b\n"
        "[profile away]\nsso_session = s\nsso_account_id = 123456789012\nsso_role_name = r\n"
        "[sso-session s]\nsso_region = us-east-1\nsso_start_url = https://example.invalid/start\n"
        "[profile helper]\ncredential_process = false\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Account(NOW, profile="prod").default_region == "eu-west-3"
    question = ONE_OF_EACH["ec2:DescribeSubnets"]
    assert ask_account(question, profile="prod").region.answers[question] == Answer(NOW)
    assert cannot(profile="none") == ("there is no AWS profile `none`", False)
    expired = "the session of AWS SSO has expired; run `aws sso login --profile away`"
    assert cannot(profile="away") == (expired, False)
    assert cannot(profile="helper") == ("the AWS credentials cannot be had (CredentialRetrievalError)", False)
    config.write_text("this is not a configuration\n")
    assert cannot(profile="prod")[1] is False


@pytest.mark.parametrize("code", ["ExpiredToken", "ExpiredTokenException", "RequestExpired"])
def test_expired_credentials_are_said_once(front: aws.Front, code: str) -> None:
    front.on("*", aws.error(code, 400))
    assert cannot() == (f"the credentials have expired ({code}); log in, for example by `aws sso login`", False)
    # Later in a run they cost what is asked then.
    front.clear()
    ask = Account(NOW).region(HOME)
    first, second = ONE_OF_EACH["ec2:DescribeSubnets"], ONE_OF_EACH["ec2:DescribeImages"]
    assert ask([first]).region.answers[first] == Answer(NOW)
    front.on("*", aws.error(code, 400))
    assert "have expired" in (ask([second]).region.answers[second].failed or "")


def test_an_endpoint_that_is_no_url(front: aws.Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "nonsense")
    assert cannot() == ("the AWS settings hold what is not a URL; see AWS_ENDPOINT_URL and `endpoint_url`", False)


def test_boto3_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert cannot() == ("boto3 is not installed; `pip install boto3`", False)


def test_a_region_that_is_none(front: aws.Front, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, *_: Any) -> list[Any]:
        if "moon" in host:
            raise socket.gaierror("no such host")
        return [()]

    question = ONE_OF_EACH["ec2:DescribeSubnets"]
    failed = ask_account(question, region="not a region").region.answers[question]
    assert failed == Answer(NOW, failed="`not a region` is not a region")
    # Any name is one where somebody stands in for AWS.
    front.on("DescribeSubnets", aws.answer({"Subnets": []}))
    assert ask_account(question, region="xx-moon-1").region.answers[question] == Answer(NOW)
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    front.seen.clear()
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    failed = ask_account(question, region="xx-moon-1").region.answers[question]
    assert failed == Answer(NOW, failed="there is no region `xx-moon-1`")
    assert not front.seen


def test_a_fault_of_ours_is_not_taken_for_one_of_aws(front: aws.Front, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    ask = Account(NOW).region(HOME)
    ask(())
    monkeypatch.setattr("nodelint.ec2.client.send_call", broken)
    with pytest.raises(ZeroDivisionError):
        ask([ONE_OF_EACH["ec2:DescribeSubnets"]])


# Load


CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: class-%(n)s}
spec:
  role: KarpenterNodeRole-%(n)s
  amiSelectorTerms: [{name: "golden-*"}, {id: ami-%(n)017x}, {tags: {pool: "%(n)s"}}, {ssmParameter: /golden/%(n)s}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}, {id: subnet-%(n)s}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}, {id: sg-%(n)s}, {name: nodes-%(n)s}]
"""


def test_a_large_account_is_asked_nothing_twice(front: aws.Front) -> None:
    types = [{**SMALL, "InstanceType": f"t9.{number}xlarge"} for number in range(1, 301)]
    zones = [{**PLACE, "InstanceType": t["InstanceType"], "Location": f"{HOME}{z}"} for t in types for z in "abcdef"]
    pipeline = images(2_500)
    by_id = {image["ImageId"]: image for image in pipeline}

    def list_images(request: aws.Request) -> list[dict[str, Any]]:
        filters = dict(request.filters())
        if "name" in filters:
            return pipeline
        return [by_id[id] for id in filters.get("image-id", ()) if id in by_id]

    front.on("DescribeInstanceTypes", aws.listed("InstanceTypes", types))
    front.on("DescribeInstanceTypeOfferings", aws.listed("InstanceTypeOfferings", zones))
    front.on("DescribeImages", aws.listed("Images", list_images))
    text = "---\n".join(CLASS % {"n": number} for number in range(20))
    classes = [obj for obj in objects(Source.from_text("a.yaml", text)) if isinstance(obj, EC2NodeClass)]
    account = Account(NOW)
    account.region(HOME)(())
    region, rows = gather(account.region(HOME), HOME, classes, NEWEST, None)
    assert not {answer.failed for answer in region.answers.values()} - {None}
    assert len(rows) == len(region.offerings) == 300
    assert region.offerings["t9.1xlarge"].zones == tuple(f"{HOME}{zone}" for zone in "abcdef")
    golden = Question.make("images", ("name", "golden-*"), owners=("self", "amazon"))
    assert region.answers[golden].total == 2_500 and len(region.answers[golden].found) == 20
    sent = [(r.operation, tuple(sorted((k, str(v)) for k, v in r.fields.items()))) for r in front.seen]
    assert len(sent) == len(set(sent))
    assert account.calls == front.counted()
    assert {name.split(":")[1]: count for name, count in account.calls.items()} == {
        "GetCallerIdentity": 1,
        "DescribeInstanceTypes": 3,
        "DescribeInstanceTypeOfferings": 2,
        "DescribeImages": 3 + 1 + 20,
        "GetParameters": 2,
        "DescribeSubnets": 2,
        "DescribeSecurityGroups": 3,
        "GetRole": 20,
    }


@pytest.mark.slow
def test_a_check_loads_nothing_of_aws() -> None:
    code = (
        "import sys, nodelint.ec2.client\nfrom nodelint.cli import cli\n"
        "try: cli(['check', 'examples/bad'])\n"
        "except SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('boto3', 'botocore', 'urllib3')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
