"""Convert questions to as few calls of AWS's API as possible, and the answers to records.

The paths in EC2's answers are those of botocore. Times become ISO 8601 to the second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.client.descriptions import NEVER_BLANK, READERS, OwnedRecord, refuse_blank
from nodelint.ec2.client.failures import INVALID, REFUSED, MalformedAnswer
from nodelint.ec2.client.price_lists import PRICE_READERS, price_request
from nodelint.ec2.client.workers import Going
from nodelint.ec2.instance_types import OFFERINGS_QUERY, TYPES_QUERY, row, usage
from nodelint.ec2.snapshot import (
    Question,
    Row,
)
from nodelint.model.fact_kinds import FactKind

OPERATIONS: Mapping[FactKind, str] = {
    "instance-types": "ec2:DescribeInstanceTypes",
    "offerings": "ec2:DescribeInstanceTypeOfferings",
    "images": "ec2:DescribeImages",
    "parameters": "ssm:GetParameters",
    "subnets": "ec2:DescribeSubnets",
    "security-groups": "ec2:DescribeSecurityGroups",
    "capacity-reservations": "ec2:DescribeCapacityReservations",
    "placement-groups": "ec2:DescribePlacementGroups",
    "instance-profiles": "iam:GetInstanceProfile",
    "roles": "iam:GetRole",
    "volume-encryption": "ec2:GetEbsEncryptionByDefault",
    "prices": "pricing:GetProducts",
    "spot-prices": "ec2:DescribeSpotPriceHistory",
}
"""The operation that each kind of question calls. API operation and IAM action have the same name."""

IDENTITY = "sts:GetCallerIdentity"
"""The operation that returns the account id. IAM allows it to everyone."""

_VALUES = 200
"""The most values that EC2 accepts for one filter."""

_NAMES = 10
"""The most parameters that one call of SSM returns."""


class OfferedTypes(NamedTuple):
    """An instance type as EC2 describes it: its row, and the capacity types as which it is offered."""

    row: Row
    capacity: tuple[str, ...]


Brought = Mapping[Question, Sequence[Any]]
"""The records that a call found for each of its questions. A question without an entry got no answer."""


class UnusableAnswer(Exception):
    """Raised if an answer can be read but contains no usable fact. The message says why."""


class ApiCall(NamedTuple):
    """One call of the API, with all its pages, and the questions that it answers."""

    kind: FactKind
    questions: tuple[Question, ...]
    request: Mapping[str, Any]

    @property
    def operation(self) -> str:
        """Return the operation as IAM writes it: `ec2:DescribeImages`."""
        return OPERATIONS[self.kind]

    def starting(self, now: str) -> ApiCall:
        """Return the call with a start time (ISO 8601). AWS then returns the current spot price, one for each type
        and zone.
        """
        return self if self.kind != "spot-prices" else self._replace(request={**self.request, "StartTime": now})

    def apart(self, code: str) -> list[ApiCall]:
        """Return the single-question calls that replace a call which failed with `code`, if one question may be the
        cause. Empty otherwise.

        SSM refuses all parameters of a call if one may not be read or has an impossible name.
        """
        if self.kind != "parameters" or len(self.questions) == 1 or code not in REFUSED | INVALID:
            return []
        return [_parameters((question,)) for question in self.questions]


def planned(questions: Iterable[Question]) -> list[ApiCall]:
    """Return the calls that answer some questions: one call for several ids, one for several names, one for up to ten
    parameters.
    """
    calls: list[ApiCall] = []
    groups: dict[tuple[Any, ...], list[Question]] = {}
    for question in questions:
        together = _together(question)
        if together is None:
            calls.append(_single(question))
        else:
            groups.setdefault(together, []).append(question)
    for group in groups.values():
        size = _NAMES if group[0].kind == "parameters" else _VALUES
        for start in range(0, len(group), size):
            part = tuple(group[start : start + size])
            calls.append(_parameters(part) if part[0].kind == "parameters" else _joined(part))
    return calls


_JOINED = {"image-id", "subnet-id", "group-id", "group-name"}
"""Filters whose value a record contains: its id or its name."""

_ARGUMENTS = {
    ("capacity-reservations", "capacity-reservation-id"): "CapacityReservationIds",
    ("placement-groups", "group-id"): "GroupIds",
    ("placement-groups", "group-name"): "GroupNames",
}
"""Filters that the controller passes as an argument of the call. EC2 then fails if the id or name does not exist."""

_UNKNOWN_ID = re.compile(
    r"Invalid(CapacityReservationId|PlacementGroup|PlacementGroupId)\.(NotFound|Unknown|Malformed)"
)


def _together(question: Question) -> tuple[Any, ...] | None:
    """Return the key of the AWS call that answers a question: questions with equal keys share one call.

    None if the question needs a call of its own.
    """
    if question.kind == "parameters":
        # For an ARN, a version or a label (`name:3`), SSM returns a parameter with another name than the requested
        # one.
        name = _name(question)
        return None if ":" in name else (question.kind, name.startswith("/aws/service/"))
    if len(question.filters) != 1 or (question.kind, question.filters[0][0]) in _ARGUMENTS:
        return None
    name, value = question.filters[0]
    # Only EC2 knows which names a pattern matches.
    return (question.kind, name, question.owners) if name in _JOINED and not re.search(r"[*?\\]", value) else None


def _joined(questions: tuple[Question, ...]) -> ApiCall:
    first = questions[0]
    values = [question.filters[0][1] for question in questions]
    return _described(questions, [{"Name": first.filters[0][0], "Values": values}])


def _parameters(questions: tuple[Question, ...]) -> ApiCall:
    return ApiCall("parameters", questions, {"Names": [_name(q) for q in questions], "WithDecryption": False})


def _single(question: Question) -> ApiCall:
    kind = question.kind
    if kind == "parameters":
        return _parameters((question,))
    if kind == "instance-types":
        return ApiCall(kind, (question,), TYPES_QUERY)
    if kind == "offerings":
        return ApiCall(kind, (question,), OFFERINGS_QUERY)
    if kind == "volume-encryption":
        return ApiCall(kind, (question,), {})
    if kind in ("prices", "spot-prices"):
        return ApiCall(kind, (question,), price_request(question))
    if kind == "roles":
        return ApiCall(kind, (question,), {"RoleName": _name(question)})
    if kind == "instance-profiles":
        return ApiCall(kind, (question,), {"InstanceProfileName": _name(question)})
    for name, value in question.filters:
        argument = _ARGUMENTS.get((kind, name))
        if argument is not None:
            return ApiCall(kind, (question,), {argument: [value]})
    return _described((question,), [{"Name": name, "Values": [value]} for name, value in question.filters])


_PAGES: dict[FactKind, dict[str, Any]] = {
    # The controller asks for available images only; here every state is wanted, to say why one is passed over.
    "images": {"IncludeDeprecated": True, "IncludeDisabled": True, "MaxResults": 1000},
    "subnets": {"MaxResults": 500},
    "security-groups": {"MaxResults": 500},
    "capacity-reservations": {"MaxResults": 1000},
    "placement-groups": {},
}


def _described(questions: tuple[Question, ...], filters: list[dict[str, Any]]) -> ApiCall:
    kind, owners = questions[0].kind, questions[0].owners
    request = {**({"Filters": filters} if filters else {}), **({"Owners": list(owners)} if owners else {})}
    return ApiCall(kind, questions, {**request, **_PAGES[kind]})


def sender(client: Any, operation: str) -> Callable[..., Mapping[str, Any]]:
    """Return the client's method for an operation.

    The method raises MalformedAnswer if botocore's parsers fail on an answer.
    """
    from botocore import xform_name
    from botocore.exceptions import BotoCoreError

    method = getattr(client, xform_name(operation.split(":")[1]))

    def send(**request: Any) -> Mapping[str, Any]:
        try:
            answer: Mapping[str, Any] = method(**request)
        except BotoCoreError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise MalformedAnswer from error
        return answer

    return send


def send_call(call: ApiCall, client: Any, known: Catalog | None, going: Going) -> Brought:
    """Make a call, page by page. `going` is called before each page and may raise. `known` is needed for instance
    types.

    Raise the exceptions of botocore, MalformedAnswer for an answer that cannot be read, and UnusableAnswer for an
    answer without a usable fact.
    """
    from botocore.exceptions import ClientError

    method = sender(client, call.operation)
    try:
        if call.kind in READERS:
            return _paged(call, method, going)
        going()
        if call.kind == "instance-types":
            assert known is not None
            return {call.questions[0]: _types(call, method, known, going)}
        if call.kind == "offerings":
            return {call.questions[0]: _zones(call, method, going)}
        if call.kind in ("prices", "spot-prices"):
            key, read = PRICE_READERS[call.kind]
            return {call.questions[0]: read(_pages(call, method, key, going))}
        if call.kind == "parameters":
            return _values(call, method(**call.request))
        if call.kind == "volume-encryption":
            return {call.questions[0]: [_encryption(method())]}
        return {call.questions[0]: [_profile_or_role_name(call, method(**call.request))]}
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if (call.kind in ("roles", "instance-profiles") and code == "NoSuchEntity") or _UNKNOWN_ID.fullmatch(code):
            return dict.fromkeys(call.questions, ())
        raise


def _pages(
    call: ApiCall, method: Callable[..., Mapping[str, Any]], key: str, going: Going
) -> Iterator[Mapping[str, Any]]:
    """Yield the items of all pages. Raise MalformedAnswer if a page lacks its list or refers to an earlier page."""
    tokens: set[str] = set()
    request = dict(call.request)
    while True:
        going()
        page = method(**request)
        if key not in page:
            raise MalformedAnswer
        yield from page[key]
        token = page.get("NextToken")
        if not token:
            return
        if token in tokens:
            raise MalformedAnswer
        tokens.add(token)
        request["NextToken"] = token


def _paged(call: ApiCall, method: Callable[..., Mapping[str, Any]], going: Going) -> Brought:
    key, read = READERS[call.kind]
    found: dict[str, OwnedRecord] = {}
    for item in _pages(call, method, key, going):
        try:
            refuse_blank(item, NEVER_BLANK[call.kind])
            thing = read(item)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise MalformedAnswer from error
        found[thing.record.id] = thing
    if len(call.questions) == 1:
        return {call.questions[0]: list(found.values())}
    by_name = call.questions[0].filters[0][0] == "group-name"
    brought: dict[str, list[OwnedRecord]] = {}
    for thing in found.values():
        brought.setdefault(thing.record.name if by_name else thing.record.id, []).append(thing)
    return {question: brought.get(question.filters[0][1], []) for question in call.questions}


def _types(
    call: ApiCall, method: Callable[..., Mapping[str, Any]], known: Catalog, going: Going
) -> list[OfferedTypes]:
    sold: dict[str, OfferedTypes] = {}
    for info in _pages(call, method, "InstanceTypes", going):
        try:
            line = row(info, known)
            if line is not None:
                sold[line[0]] = OfferedTypes(line, usage(info))
        except ValueError as error:
            raise UnusableAnswer(f"what `{call.operation}` says cannot be used: {error}") from error
    if not sold:
        # Every region offers instance types. An empty answer is not from EC2, or it was filtered.
        raise UnusableAnswer(f"`{call.operation}` names no instance type")
    return [sold[name] for name in sorted(sold)]


def _zones(
    call: ApiCall, method: Callable[..., Mapping[str, Any]], going: Going
) -> list[tuple[str, tuple[str, ...]]]:
    zones: dict[str, set[str]] = {}
    for item in _pages(call, method, "InstanceTypeOfferings", going):
        try:
            refuse_blank(item, ("InstanceType", "Location"))
            zones.setdefault(item["InstanceType"], set()).add(item["Location"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise MalformedAnswer from error
    if not zones:
        raise UnusableAnswer(f"`{call.operation}` names no instance type")
    return [(name, tuple(sorted(zones[name]))) for name in sorted(zones)]


def _values(call: ApiCall, answer: Mapping[str, Any]) -> Brought:
    """Return the values of parameters. For a parameter that is not a plain text, the value is an UnusableAnswer."""
    if "Parameters" not in answer and "InvalidParameters" not in answer:
        raise MalformedAnswer
    unknown = set(answer.get("InvalidParameters", ()))
    brought: dict[Question, Sequence[Any]] = {q: () for q in call.questions if _name(q) in unknown}
    given = answer.get("Parameters", ())
    if not all(isinstance(parameter, Mapping) for parameter in given):
        raise MalformedAnswer
    if len(call.questions) == 1:
        return {call.questions[0]: [_value(parameter) for parameter in given[:1]]} if given else brought
    by_name = {parameter.get("Name"): parameter for parameter in given}
    brought.update({q: [_value(by_name[_name(q)])] for q in call.questions if _name(q) in by_name})
    return brought


def _value(parameter: Mapping[str, Any]) -> str | UnusableAnswer:
    if parameter.get("Type") != "String":
        return UnusableAnswer(f"the parameter is a {parameter.get('Type')}, no String")
    value = parameter.get("Value")
    if not isinstance(value, str) or not value.strip():
        raise MalformedAnswer
    return value


def _encryption(answer: Mapping[str, Any]) -> str:
    """Return whether volumes are encrypted by default, as `true` or `false`."""
    found = answer.get("EbsEncryptionByDefault")
    if not isinstance(found, bool):
        raise MalformedAnswer
    return str(found).lower()


def _profile_or_role_name(call: ApiCall, answer: Mapping[str, Any]) -> str:
    """Return the name of an existing role or instance profile. Raise MalformedAnswer if the answer has none."""
    kind = "Role" if call.kind == "roles" else "InstanceProfile"
    found = answer.get(kind)
    if not isinstance(found, Mapping) or not str(found.get(f"{kind}Name", kind)).strip():
        raise MalformedAnswer
    return _name(call.questions[0])


def _name(question: Question) -> str:
    return question.value("name") or ""
