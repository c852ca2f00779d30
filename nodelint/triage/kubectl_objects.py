"""Read events and conditions of Karpenter's objects from the output of kubectl.

It reads lists of events (the table of `kubectl get events` and `kubectl events`, YAML, JSON), the output of `kubectl
describe`, and NodeClaims, NodePools and EC2NodeClasses with their status. Each event, and each condition that is not
met, becomes an entry like a log line. The controller's release is not in this output.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from nodelint.text.yaml.held_yaml import hold
from nodelint.triage.disruptions import MOST, Disrupted
from nodelint.triage.logs import LogLine
from nodelint.triage.times import format_time, instant

_OWN = frozenset({"NodePool", "EC2NodeClass", "NodeClaim", "NodeOverlay", "CapacityBuffer"})
KINDS = {kind.lower(): kind for kind in (*_OWN, "Node", "Pod")}
"""Kinds whose events and conditions are read, by the name that kubectl prints."""

# In the order in which they come true: while one is open, those behind it say nothing of their own.
_STEPS = ("Launched", "Registered", "Initialized")
_NOT_FAULTS = frozenset(
    {"Consolidatable", "Drifted", "Drained", "VolumesDetached", "InstanceTerminating", "DisruptionReason", "Empty"}
    | {"Expired", "Ready", "ConsistentStateFound", "Provisioning", "LimitedByQuotas"}
)
_REASONED = "ValidationSucceeded"
"""The condition of a class whose reason, not its type, shows the cause."""
_OBJECT = re.compile(
    r"\s*+\[?\s*+\{\s*+\"(?:apiVersion|kind|action|count|eventMessage|eventNamespace|eventTime|firstTimestamp|involvedObject|metadata)\""
)
_DOCUMENT = re.compile(r"(?:---\s*+|#.*\n|[^\S\n]*+\n)*+(?:apiVersion|kind|items|metadata):")
_NODE = re.compile(r"\bnode/")
_CLAIM = re.compile(r"\bnodeclaim/([\w.-]+)")


_NO_STATUS = (
    "holds objects without `status`: `nodelint check` judges manifests, and "
    "`kubectl get nodeclaims,nodepools,ec2nodeclasses -o yaml` prints the status that triage reads"
)


def is_objects(head: str) -> bool:
    """Return whether the beginning of a text looks like Kubernetes objects in YAML or JSON."""
    return bool(_OBJECT.match(head) or _DOCUMENT.match(head))


def of_objects(text: str) -> tuple[list[LogLine], bool]:
    """Return the events and unmet conditions in YAML or JSON, oldest first, and whether any object is Karpenter's.

    Raise ValueError if it is neither YAML nor JSON, or if it contains Karpenter's objects and none has a status.
    """
    found: list[LogLine] = []
    own = without_status = False
    for number, obj in enumerate(_objects(text), 1):
        if obj.get("kind") == "Event" or "involvedObject" in obj or "regarding" in obj:
            entry = _event(obj, number)
            found += [entry] if entry else []
        else:
            found += conditions_of(obj, number)
            if _text(obj, "kind") in _OWN:
                own, without_status = own or "status" in obj, without_status or "status" not in obj
    if without_status and not own and not found:  # a manifest has no failures to show, which is no all-clear
        raise ValueError(_NO_STATUS)
    return sorted(found, key=lambda entry: (entry.time is not None, entry.time or 0.0)), own or bool(found)


def conditions_of(obj: dict[str, Any], number: int) -> list[LogLine]:
    """Return an entry for each unmet condition of a Karpenter object, and for a NodeClaim that has drifted."""
    kind, status = _text(obj, "kind"), obj.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    if kind not in _OWN or not isinstance(conditions, list):
        return []
    name = _text(obj.get("metadata"), "name")
    stated = {_text(condition, "type"): condition for condition in conditions if isinstance(condition, dict)}
    unmet = {
        key: condition for key, condition in stated.items() if _text(condition, "status") in ("False", "Unknown")
    }
    open_steps = [step for step in _STEPS if step in unmet]
    reasons = [key for key in unmet if key not in _NOT_FAULTS and key not in open_steps[1:]]
    if not reasons and "Ready" in unmet:
        reasons = ["Ready"]
    found = [_condition(kind, name, unmet[key], number) for key in reasons]
    drifted = stated.get("Drifted", {})
    if kind == "NodeClaim" and _text(drifted, "status") == "True":
        found.append(_condition(kind, name, drifted, number)._replace(level="INFO"))
    return found


def _condition(kind: str, name: str, stated: dict[str, Any], number: int) -> LogLine:
    what, reason = f"{_text(stated, 'type')}={_text(stated, 'status')}", _text(stated, "reason")
    # The pool's own words differ from those of a class, whose conditions have the same names.
    of_class = f"{what}: {reason}" if reason and _text(stated, "type") == _REASONED else what
    message = {"EC2NodeClass": of_class, "NodePool": reason or what}.get(
        kind, f"{what}: {reason}" if reason else what
    )
    stated_message = _text(stated, "message")
    error = "" if stated_message in (_text(stated, "type"), reason) else stated_message
    time = instant(_text(stated, "lastTransitionTime"))
    about = {kind: {"name": name}} if name else {}
    return LogLine(number, "ERROR", time, message, error, about, "", source="object")


def event(kind: str, name: str, space: str, reason: str, message: str, warns: bool, number: int) -> LogLine | None:
    """Return the log line for an event.

    None for an event that Karpenter does not write or that says nothing about a fault, such as a pod that is placed
    on an existing node. Normal events of NodePools, NodeClaims and classes become lines of level INFO.
    """
    known = KINDS.get(kind.lower())
    turned = _transition(message, known or "", name, number)
    if turned is not None:
        return turned
    scheduler = reason == "FailedScheduling" and known == "Pod" and not message.startswith("Failed to schedule pod")
    if known is None or scheduler or (known in ("Pod", "Node") and reason not in _REASONS):
        return None
    about: dict[str, Any] = {known: {"name": name, "namespace": space if known == "Pod" else ""}}
    level = "WARN" if warns or reason in _HOLDS else "INFO"
    if reason == "Nominated":
        claim = _CLAIM.search(message)
        if claim is None or _NODE.search(message):
            return None  # a node that is there already
        about["NodeClaim"] = {"name": claim[1]}
    return LogLine(number, level, None, reason, message, about, "", source="object")


_TRANSITION = re.compile(
    r"Status condition transitioned, Type: (\w+), Status: \w* ?-> ?(\w+), Reason: (\w*)(?:, Message: (.*))?",
    re.DOTALL,
)


def _transition(message: str, kind: str, name: str, number: int) -> LogLine | None:
    """Return the entry for a condition that became False according to an event; None for any other event."""
    match = _TRANSITION.match(message)
    if match is None or match[2] != "False":
        return None
    stated = {"type": match[1], "status": match[2], "reason": match[3], "message": (match[4] or "").strip()}
    own = kind_of_condition(stated)
    if not own or match[1] in _NOT_FAULTS:
        return None
    return _condition(kind if kind in _OWN else own, name, stated, number)


_CONDITIONS = {
    **dict.fromkeys(_STEPS, "NodeClaim"),
    **dict.fromkeys(("NodeClassReady", "NodeRegistrationHealthy"), "NodePool"),
    **dict.fromkeys(("AMIsReady", "SubnetsReady", "SecurityGroupsReady", "InstanceProfileReady"), "EC2NodeClass"),
    **dict.fromkeys(("ValidationSucceeded", "PlacementGroupReady", "CapacityReservationsReady"), "EC2NodeClass"),
}


def kind_of_condition(stated: dict[str, str]) -> str:
    """Return the Karpenter kind that has a condition of this type. Empty if several kinds may have it."""
    pool = stated.get("reason", "").startswith("NodePool")
    return "NodePool" if pool else _CONDITIONS.get(stated.get("type", ""), "")


_HOLDS = ("DisruptionBlocked", "FailedDraining")
"""Reasons of normal events about an action that does not happen.

Unknown messages with these reasons count as failures.
"""

_REASONS = frozenset(
    {"FailedScheduling", "Nominated", "FailedDraining", "DisruptionBlocked", "Unconsolidatable", "FailedDisruption"}
    | {"TerminationGracePeriodExpiring", "SpotInterrupted", "TerminatingOnInterruption", "NodeRepairBlocked"}
    | {"AwaitingVolumeDetachment", "CapacityReservationInstanceInterrupted", "WaitingOnNodeClaimTermination"}
    | {"InsufficientCapacityError", "NodeClassNotReady", "UnregisteredTaintMissing", "FailedConsistencyCheck"}
    | {"NoCompatibleInstanceTypes", "InvalidDoNotDisruptAnnotation"}
    | {"DisruptionTerminating", "DisruptionLaunching", "DisruptionWaitingReadiness"}
)

_DISRUPTING = ("DisruptionTerminating", "DisruptionLaunching")


def count_disruptions(entries: Iterable[LogLine]) -> dict[str, int]:
    """Return the number of voluntarily disrupted nodes in the events, by reason.

    A node and its NodeClaim have an event each, and each replacement has one.
    """
    found: dict[str, dict[tuple[str, str], set[str]]] = {}
    for entry in entries:
        if entry.source == "object" and entry.message in _DISRUPTING:
            reason = entry.error.partition(": ")[2].partition("/")[0].strip().lower()
            for kind, about in entry.fields.items():
                found.setdefault(reason, {}).setdefault((entry.message, kind), set()).add(_text(about, "name"))
    return {reason: max(map(len, names.values())) for reason, names in found.items()}


def list_disrupted(entries: Iterable[LogLine]) -> list[Disrupted]:
    """Return the first nodes that the events say Karpenter disrupts on purpose, each once.

    The NodeClaim of a node has an event of its own: it is listed only if no node has one of its reason and time.
    `DisruptionLaunching` is about the replacement.
    """
    found: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for entry in entries:
        if entry.source == "object" and entry.message == _DISRUPTING[0]:
            reason = entry.error.partition(": ")[2].partition("/")[0].strip().lower()
            time = format_time(entry.time).removesuffix("Z") if entry.time is not None else ""
            for kind, about in entry.fields.items():
                if kind in ("Node", "NodeClaim"):
                    found.setdefault((reason, time), {}).setdefault(kind, {})[_text(about, "name")] = None
    disrupted: list[Disrupted] = []
    for (reason, time), names in found.items():
        nodes, claims = [*names.get("Node", ())], [*names.get("NodeClaim", ())]
        if len(nodes) == len(claims) == 1:
            disrupted.append(Disrupted(reason, time, nodes[0], claims[0], ""))
        else:
            disrupted += [Disrupted(reason, time, node, "", "") for node in nodes]
            disrupted += [Disrupted(reason, time, "", claim, "") for claim in ([] if nodes else claims)]
    return disrupted[:MOST]


def _event(obj: dict[str, Any], number: int) -> LogLine | None:
    source = _text(obj.get("source"), "component") or _text(obj, "reportingComponent")
    source = source or _text(obj, "reportingController")
    if source and "karpenter" not in source:
        return None
    about = obj.get("involvedObject", obj.get("regarding"))
    message = _text(obj, "message") or _text(obj, "note") or _text(obj, "eventMessage")  # an exporter's word
    entry = event(
        _text(about, "kind"),
        _text(about, "name"),
        _text(about, "namespace"),
        _text(obj, "reason"),
        message,
        _text(obj, "type") == "Warning",
        number,
    )
    if entry is None:
        return None
    series = obj.get("series")
    several = series if isinstance(series, dict) else {}
    times = [several.get("count"), obj.get("count"), obj.get("deprecatedCount"), 1]
    last = [_text(several, "lastObservedTime"), _text(obj, "lastTimestamp"), _text(obj, "deprecatedLastTimestamp")]
    last += [_text(obj, "eventTime"), _text(obj.get("metadata"), "creationTimestamp")]
    first = [_text(obj, "firstTimestamp"), _text(obj, "deprecatedFirstTimestamp"), _text(obj, "eventTime")]
    return entry._replace(
        times=next(int(str(n)) for n in times if re.fullmatch(r"[1-9]\d{0,8}", str(n))),
        time=next(filter(None, map(instant, last)), None),
        since=next(filter(None, map(instant, first)), None),
    )


def _objects(text: str) -> Iterator[dict[str, Any]]:
    for document in _json(text) if text.lstrip()[:1] in ("{", "[") else _yaml(text):
        for obj in document if isinstance(document, list) else [document]:
            if not isinstance(obj, dict):
                continue
            items = obj.get("items")
            yield from (item for item in items if isinstance(item, dict)) if isinstance(items, list) else [obj]


def _json(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            found, at = decoder.raw_decode(text, at)
        except RecursionError:
            raise ValueError("is nested too deeply") from None
        yield found
        while at < len(text) and text[at].isspace():
            at += 1


def _yaml(text: str) -> list[Any]:
    import yaml

    try:
        hold(text)
        return list(yaml.load_all(text, yaml.CBaseLoader))  # every scalar as its text, also a time
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ValueError(f"is not YAML{where}: {getattr(error, 'problem', None) or error}") from None


def _text(value: Any, key: str) -> str:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
