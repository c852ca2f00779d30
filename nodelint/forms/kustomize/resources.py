"""Represent the objects of an overlay while it is rendered: their current and former ids, and selectors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from nodelint.base.budget import WorkBudget
from nodelint.base.tuples import NamedTuple
from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.values import YamlTree, new_text
from nodelint.text import Node, Source

_CLUSTER_WIDE = frozenset(
    (
        *("APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding"),
        *(
            "ComponentStatus",
            "CustomResourceDefinition",
            "FlowSchema",
            "IngressClass",
            "MutatingWebhookConfiguration",
        ),
        *(
            "Namespace",
            "Node",
            "PersistentVolume",
            "PodSecurityPolicy",
            "PriorityClass",
            "PriorityLevelConfiguration",
        ),
        *("RuntimeClass", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "StorageClass", "SubjectAccessReview"),
        *("TokenReview", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
        *("ValidatingWebhookConfiguration", "VolumeAttachment"),
    )
)
"""Kubernetes' own kinds that are cluster-scoped. kustomize knows the scope of no other kind."""
_DEEPEST_PATTERN = 4
_MOST_TRIES = 3_000_000
"""The most ways in which a pattern may be tried on a text. Python backtracks, Go does not."""
_LETTERS_OF_STEP, _TRIES_OF_STEP = 8, 100
"""The characters of a label selector that are read in one budget step, and the tries of a pattern in one step."""


class Id(NamedTuple):
    """The identity of an object. `namespace` is the effective one: `default` if none is set."""

    group: str
    version: str
    kind: str
    name: str
    namespace: str


class Resource:
    """An object of an overlay, with its former names.

    - `value`: the object.
    - `home`: the file in which it is written.
    - `is_of_karpenter`: its text or a patch for it mentions Karpenter.
    - `doubtful`: a patch has changed it in a way that needs the schema of its kind.
    - `is_json`: the last change was a JSON6902 patch, so that it shares no value with other objects.
    """

    __slots__ = ("_ids", "doubtful", "home", "is_json", "is_of_karpenter", "previous", "value")

    def __init__(self, value: YamlTree, home: Source, is_of_karpenter: bool) -> None:
        self.value = value
        self.home = home
        self.is_of_karpenter = is_of_karpenter
        self.previous: list[tuple[str, str, str]] = []
        self.doubtful = False
        self._ids: list[Id] | None = None
        self.is_json = False

    @property
    def group(self) -> str:
        return split_version(self.value.text("apiVersion"))[0]

    @property
    def is_native(self) -> bool:
        """Return whether the object has a kind of Kubernetes itself, whose schema kustomize knows."""
        return is_native(self.group)

    @property
    def id(self) -> Id:
        """Return the current group, version, kind, name and namespace of the object."""
        return read_id(self.value)

    def ids(self) -> list[Id]:
        """Return the former ids of the object, the oldest first, and its current id."""
        now = self.id
        return [*(now._replace(kind=k, name=n, namespace=ns) for ns, n, k in self.previous), now]

    def known_ids(self) -> list[Id]:
        """Return the ids, cached until `forget_ids` is called."""
        if self._ids is None:
            self._ids = self.ids()
        return self._ids

    def forget_ids(self) -> None:
        """Clear the cache of `known_ids`, because the object may have changed."""
        self._ids = None

    def keep_id(self) -> None:
        """Remember the kind, name and namespace of the object before they change."""
        now = self.id
        known = (now.namespace, now.name, now.kind)
        if self.previous[-1:] != [known]:
            self.previous.append(known)


def is_native(group: str) -> bool:
    """Return whether a group is one of Kubernetes' own."""
    return "." not in group or group.endswith(".k8s.io")


def split_version(api_version: str) -> tuple[str, str]:
    """Return group and version of an `apiVersion`."""
    group, slash, version = api_version.partition("/")
    return (group, version) if slash else ("", group)


def read_id(value: YamlTree) -> Id:
    """Return group, version, kind, name and namespace of an object."""
    group, version = split_version(value.text("apiVersion"))
    kind = value.text("kind")
    name = value.get("metadata", "name")
    namespace = value.text("metadata", "namespace")
    if is_cluster_wide(group, kind):
        namespace = "_cluster"
    return Id(group, version, kind, "" if name is None else name.as_text(), namespace or "default")


def is_cluster_wide(group: str, kind: str) -> bool:
    """Return whether kustomize knows that a kind is cluster-scoped. It does not know this of Karpenter's kinds."""
    return kind in _CLUSTER_WIDE and is_native(group)


class Selector(NamedTuple):
    """The target of a patch.

    The first five fields are regular expressions, empty for any value. `labels` and `annotations` are label
    selectors.
    """

    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    labels: str = ""
    annotations: str = ""

    @property
    def steps(self) -> int:
        """Return the budget steps to check one object, without the regular expressions."""
        return 1 + (len(self.labels) + len(self.annotations)) // _LETTERS_OF_STEP

    def selects(self, resource: Resource, at: Node | None, budget: WorkBudget) -> bool:
        """Return whether an object is selected, by its current or its first id. Raise `BuildError`."""
        now = first = resource.id
        if resource.previous:
            namespace, name, kind = resource.previous[0]
            first = now._replace(kind=kind, name=name, namespace=namespace)

        def fits(pattern: str, *texts: str) -> bool:
            return not pattern or any(matches(pattern, text, at, budget) for text in texts)

        return (
            fits(self.namespace, first.namespace, now.namespace)
            and fits(self.name, first.name, now.name)
            and fits(self.group, now.group)
            and fits(self.version, now.version)
            and fits(self.kind, now.kind)
            and (not self.labels or fits_labels(self.labels, resource.value.get("metadata", "labels"), at))
            and (
                not self.annotations
                or fits_labels(self.annotations, resource.value.get("metadata", "annotations"), at)
            )
        )


def read_selector(value: YamlTree | None) -> Selector:
    """Return the target of a patch in a kustomization."""
    if value is None:
        return Selector()
    names = ("group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector")
    return Selector(*(value.text(name) for name in names))


def matches(pattern: str, text: str, at: Node | None, budget: WorkBudget) -> bool:
    """Return whether a regular expression matches a whole text. Raise `BuildError`."""
    return pattern == text or has_match(f"^(?:{pattern})$", text, at, budget)


def has_match(pattern: str, text: str, at: Node | None, budget: WorkBudget) -> bool:
    """Return whether a Go pattern matches anywhere in a text.

    Raise `BuildError` if it is invalid or might take long.
    """
    compiled = _compile(pattern)
    if isinstance(compiled, str):
        raise BuildError(at, compiled, fails=False)
    repeats, choices = _count_ways(pattern)
    tries = choices * max(len(text), 2) ** repeats
    if tries > _MOST_TRIES:
        raise BuildError(at, _describe_involved(pattern), fails=False)
    budget.spend(tries // _TRIES_OF_STEP)
    return compiled.search(text) is not None


@cache
def _count_ways(pattern: str) -> tuple[int, int]:
    """Return the number of repeated parts of a pattern, and the number of combinations of its alternatives."""
    tokens = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|[*+{?(|)]", pattern)
    choices, branches = 1, [1]
    for token in tokens:
        if token in ("(", "(?:"):
            branches.append(1)
        elif token == "|":
            branches[-1] += 1
        elif token == "?":
            choices *= 2
        elif token == ")" and len(branches) > 1:
            choices *= branches.pop()
    return sum(token in ("*", "+", "{") for token in tokens), choices * branches[0]


def _describe_involved(pattern: str) -> str:
    shown = pattern.removeprefix("^(?:").removesuffix(")$")
    return f"the pattern `{shown[:60]}` is too involved to be matched here"


@cache
def _compile(pattern: str) -> re.Pattern[str] | str:
    shown = pattern.removeprefix("^(?:").removesuffix(")$")
    if len(re.findall(r"(?<!\\)[*+{]", shown)) > _DEEPEST_PATTERN or re.search(
        r"\)[*+{]|[*+?}][*+{]|\\\d|\(\?[^:]", shown
    ):
        return _describe_involved(pattern)
    try:
        return re.compile(pattern.replace("$", r"\Z") if "$" in pattern and "[" not in pattern else pattern, re.ASCII)
    except re.error as error:
        return f"`{shown[:60]}` is no pattern: {error}"


def fits_labels(selector: str, labels: YamlTree | None, at: Node | None) -> bool:
    """Return whether labels or annotations match a selector, as in kubectl. Raise `BuildError`."""
    given = {name: field.value.as_text() for name, field in labels.fields.items()} if labels is not None else {}
    parts = re.findall(r"(?:[^,(]|\([^)]*\)?)+", selector)  # a comma in parentheses separates nothing
    return all(_meets(part.strip(), given, at) for part in parts if part.strip())


def _meets(part: str, labels: dict[str, str], at: Node | None) -> bool:
    word = r"[\w./-]+"
    if (found := re.fullmatch(rf"({word})\s*(==|=|!=)\s*([\w.-]*)", part)) is not None:
        return (labels.get(found[1]) == found[3]) == (found[2] != "!=")
    if (found := re.fullmatch(rf"({word})\s+(in|notin)\s*\(([\w.,\s-]*)\)", part)) is not None:
        return (labels.get(found[1]) in [value.strip() for value in found[3].split(",")]) == (found[2] == "in")
    if (found := re.fullmatch(rf"(!?)\s*({word})", part)) is not None:
        return (found[2] in labels) == (found[1] != "!")
    raise BuildError(at, f"the selector `{part[:60]}` cannot be read", fails=False)


def find_same(resources: Iterable[Resource], wanted: Id) -> list[Resource]:
    """Return the objects whose current or former id is `wanted`."""
    return [resource for resource in resources if wanted in resource.ids()]


def set_text(resource: Resource, path: tuple[str, ...], text: str, at: Node | None, key: Node | None = None) -> None:
    """Set a string at a path whose mappings exist. Raise `BuildError` if one does not."""
    value = resource.value
    for step in path[:-1]:
        below = value.get(step)
        if below is None or below.kind != "mapping":
            raise BuildError(at if below is None else below.at, f"`{'.'.join(path[:-1])}` is no mapping")
        value = below
    put_scalar(value, path[-1], new_text(text, at, False), key)


def put_scalar(holder: YamlTree, name: str, value: YamlTree, key: Node | None) -> None:
    """Set a key to a scalar. An existing scalar is changed in place, because several keys may share it."""
    there = holder.get(name)
    if there is not None and there.kind == "scalar":
        there.become(value)
    else:
        holder.put(name, value, key)
