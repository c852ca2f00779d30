"""Policies: custom rules of a team, written as CEL expressions in the configuration.

An object meets a policy if the expression is true, as in the validations of a CRD. The variable `self` is the object
as written. For a NodePool there are also `pool`, what Karpenter resolves it to, and `class`, its EC2NodeClass.
Expressions may call the CEL functions of Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from nodelint.base.budget import BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import SEVERITIES, Finding, Severity
from nodelint.model.gap import Findings, Skip
from nodelint.model.keys import ARCH, FAMILY, SIZE
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.rule.classification import GROUPS, Group
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule
from nodelint.text import UNKNOWN, Node

if TYPE_CHECKING:
    from nodelint.apiserver.cel import Program
    from nodelint.ec2.catalog import Catalog
    from nodelint.karpenter.resolve import Resolution

VARIABLES = ("self", "pool", "class")
VIEW = ("instanceTypes", "images", "cheapest", "capacityTypes", "zones")
"""The fields that nodelint adds to the variable `pool` of a policy."""
TYPE = ("name", "family", "category", "generation", "size", "arch", "cpu", "memoryMiB", "gpus", "price", "labels")
"""The fields of each instance type in `pool.instanceTypes`."""
IMAGE = ("alias", "id", "name", "arch")
"""The fields of each image in `pool.images`."""

_KINDS: Mapping[str, type[NodePool] | type[EC2NodeClass]] = {"NodePool": NodePool, "EC2NodeClass": EC2NodeClass}
_KEYS = ("name", "on", "expr", "message", "at", "severity", "group", "bad", "good")
UNEVALUATED = "the policy cannot be evaluated"
"""The beginning of the message of a finding about the policy instead of the object."""
_CATEGORY = "karpenter.k8s.aws/instance-category"
_CPU = "karpenter.k8s.aws/instance-cpu"
_GENERATION = "karpenter.k8s.aws/instance-generation"
_GPUS = "karpenter.k8s.aws/instance-gpu-count"
_MEMORY = "karpenter.k8s.aws/instance-memory"


class PolicyError(ValueError):
    """Raised if a policy cannot be used: its wrong key, the reason, and the place in the text of that key (line and
    column, from 1).
    """

    def __init__(self, key: str, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.key = key
        self.line = line
        self.column = column


class RuntimeMissing(PolicyError):
    """Raised if the package that evaluates the expression of a policy is not installed."""


class Policy(NamedTuple):
    """A policy of the configuration. `at` is the path of the field that a finding reports.

    `bad` and `good` are manifests that violate and meet the policy; `nodelint test-rules` checks them.
    """

    name: str
    on: type[NodePool] | type[EC2NodeClass]
    expr: str
    message: str
    at: tuple[str, ...] = ()
    severity: Severity = "error"
    group: Group = "correctness"
    bad: str = ""
    good: str = ""


def policy_of(given: object) -> Policy:
    """Return the policy in an entry of a configuration. Raise PolicyError if it is invalid."""
    if not isinstance(given, Mapping):
        raise PolicyError("", "a policy is a mapping with name, on, expr and message")
    # YAML 1.1, which the configuration is read as, takes an unquoted `on` for a boolean.
    given = {"on" if key == "true" else key: value for key, value in given.items()}
    for key, value in given.items():
        if key not in _KEYS:
            raise PolicyError(str(key), f"unknown key `{key}`; a policy has {', '.join(_KEYS)}")
        if not isinstance(value, str) or not value.strip():
            raise PolicyError(str(key), f"`{key}` must be a text")
    for key in ("name", "on", "expr", "message"):
        if key not in given:
            raise PolicyError("", f"a policy needs `{key}`")
    if ("bad" in given) is not ("good" in given):
        raise PolicyError("bad" if "bad" in given else "good", "examples come in pairs: `bad` and `good`")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", given["name"]):
        raise PolicyError("name", f"`{given['name']}` is not a rule's name: lower-case words joined by hyphens")
    severity, group = given.get("severity", "error"), given.get("group", "correctness")
    for key, value, known in (
        ("on", given["on"], _KINDS),
        ("severity", severity, SEVERITIES),
        ("group", group, GROUPS),
    ):
        if value not in known:
            raise PolicyError(key, f"`{value}` is not one of {', '.join(known)}")
    path = tuple(given.get("at", "").removeprefix("self.").split(".")) if "at" in given else ()
    texts = given["expr"], given["message"], path, severity, group, given.get("bad", ""), given.get("good", "")
    return Policy(given["name"], _KINDS[given["on"]], *texts)


def rule_of(policy: Policy) -> Rule:
    """Return a policy as a rule. Raise PolicyError if the expression does not compile."""
    from nodelint.apiserver import cel

    try:
        program = cel.compile(policy.expr, VARIABLES)
    except cel.NotInstalled as error:
        raise RuntimeMissing("expr", str(error)) from error
    except cel.Unsupported as error:
        match = re.search(r"<input>:([0-9]+):([0-9]+): (.*?)(?: \| |$)", str(error))
        if match is None:
            raise PolicyError("expr", f"the expression does not compile: {error}") from error
        raise PolicyError("expr", match[3], int(match[1]), int(match[2])) from error
    if program.yields not in ("BOOL", "DYN"):
        raise PolicyError("expr", f"the expression yields {program.yields}, and has to yield true or false")
    _hold_to_view(policy.expr)
    check = _check_of(policy, program)
    page = f"{policy.message}\n\nA policy of this repository:\n\n```cel\n{policy.expr.strip()}\n```\n"
    if policy.bad:
        page += f"\n```yaml bad\n{policy.bad.rstrip()}\n```\n\n```yaml good\n{policy.good.rstrip()}\n```\n"
    return Rule(policy.name, partial(str, page), policy.on, policy.severity, None, ">=1.0.0", (), policy.group, check)


def _check_of(policy: Policy, program: Program) -> Callable[[Any, Context], Findings]:
    words = frozenset(re.findall(r"\w+", policy.expr))

    def check(obj: Object, context: Context) -> Findings:
        found = context.node_class(obj) if isinstance(obj, NodePool) and words & {"pool", "class"} else None
        for read in (obj, *filter(None, [found])):
            unknown = next(_unknown(read.node, words), None)
            if unknown is not None:
                yield Skip(unknown, "the policy reads a value that is a placeholder")
                return
        pool = None
        if isinstance(obj, NodePool) and words & {"pool", "class"}:
            resolution = context.resolution(obj)
            if "pool" in words and not resolution.complete:
                yield Skip(
                    obj.name_node, f"the policy needs what the pool can launch: {resolution.unknown[0].reason}"
                )
                return
            pool = view(resolution) if "pool" in words else None
        try:
            node_class = _plain(found.node) if found is not None else None
            result = program.evaluate({"self": _plain(obj.node), "pool": pool, "class": node_class})
        except BudgetSpent:
            raise
        except Exception as error:
            yield Finding(at=obj.name_node, message=f"{UNEVALUATED}: {_worded(error)}")
            return
        if not isinstance(result, bool):
            yield Finding(at=obj.name_node, message="the policy's expression yields neither true nor false")
        elif not result:
            yield Finding(at=_place(obj, policy.at), message=policy.message)

    return check


def _hold_to_view(expr: str) -> None:
    """Raise PolicyError if an expression uses a field that `pool`, or a value in it, does not have."""
    shown = re.sub(
        r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", lambda text: '"' + " " * (len(text[0]) - 2) + '"', expr
    )
    names: dict[str, tuple[str, tuple[str, ...]]] = {"pool": ("pool", VIEW), "pool.cheapest": ("pool.cheapest", TYPE)}
    lists: tuple[tuple[str, tuple[str, ...]], ...] = (("pool.instanceTypes", TYPE), ("pool.images", IMAGE))
    for actual_type, fields in lists:
        for match in re.finditer(
            rf"\b{re.escape(actual_type)}\.(?:all|exists|exists_one|filter|map)\(\s*(\w+)\s*,", shown
        ):
            names[match[1]] = (f"an item of `{actual_type}`", fields)
    for name, (stated_type, fields) in names.items():
        for match in re.finditer(rf"(?<![\w.]){re.escape(name)}\.([A-Za-z_]\w*)(?!\w*\s*\()", shown):
            if match[1] not in fields:
                line = expr.count("\n", 0, match.start(1)) + 1
                column = match.start(1) - expr.rfind("\n", 0, match.start(1))
                has = ", ".join(fields)
                raise PolicyError("expr", f"{stated_type} has no `{match[1]}`, but {has}", line, column)


def _worded(error: Exception) -> str:
    """Return why an expression could not be evaluated, in plainer words than the CEL runtime's."""
    missing = re.search(r'Key not found in map : "(.*)"', str(error))
    if missing is not None:
        return f"there is no `{missing[1]}` here; ask by `has(...)` first"
    if "SELECT to non-message" in str(error):
        return "a field is read of a value that has none, such as null"
    return re.sub(r"^[A-Z_]+: ", "", str(error))


def _unknown(node: Node, words: frozenset[str], key: str = "", above: str = "") -> Iterator[Node]:
    """Yield the placeholders at keys that the expression names, and in maps that it names and may iterate over."""
    for entry in node.entries:
        yield from _unknown(entry.value, words, entry.name or "", key)
    for item in node.items:
        yield from _unknown(item, words, key, above)
    if node.kind == "scalar" and node.value is UNKNOWN and (key in words or above in words - _GROUPS):
        yield node


_GROUPS = frozenset({"spec", "metadata", "template"})
"""Mappings whose fields an expression names one by one."""


def _plain(node: Node) -> object:
    """Return the value of a node for the CEL runtime, with null instead of `UNKNOWN`."""

    def known(value: object) -> object:
        if isinstance(value, dict):
            return {key: known(item) for key, item in value.items()}
        if isinstance(value, list):
            return [known(item) for item in value]
        return None if value is UNKNOWN else value

    return known(node.plain())


def _place(obj: Object, path: Sequence[str]) -> Node:
    """Return the node at a path, or the nearest existing node above it. The object's name if there is none."""
    node, found = obj.node, obj.name_node
    for name in path:
        inner = node.get(name)
        if inner is None:
            break
        node = found = inner
    return found


def view(resolution: Resolution) -> dict[str, Any]:
    """Return the variable `pool` of a policy: what a NodePool can launch, cheapest first, and with which images."""
    catalog = resolution.catalog
    types = [_record(catalog, name) for name in catalog.names_in(resolution.launchable)]
    types.sort(key=lambda policy: (policy["price"] is None, policy["price"] or 0.0, policy["name"]))
    images = [
        {"alias": image.alias, "id": image.id, "name": image.name, "arch": image.arch}
        for image in resolution.images.images
    ]
    cheapest = types[0] if types and types[0]["price"] is not None else None
    return {
        "instanceTypes": types,
        "images": images,
        "cheapest": cheapest,
        "capacityTypes": list(resolution.capacity_types),
        "zones": sorted(resolution.zones or ()),
    }


def _record(catalog: Catalog, name: str) -> dict[str, Any]:
    labels = catalog.labels(name)
    return {
        "name": name,
        "family": labels.get(FAMILY, ""),
        "category": labels.get(_CATEGORY, ""),
        "generation": int(labels.get(_GENERATION) or 0),
        "size": labels.get(SIZE, ""),
        "arch": labels.get(ARCH, ""),
        "cpu": int(labels.get(_CPU) or 0),
        "memoryMiB": int(labels.get(_MEMORY) or 0),
        "gpus": int(labels.get(_GPUS) or 0),
        "price": catalog.prices.on_demand(name),
        "labels": labels,
    }
