"""Read the facts of a release of Karpenter: labels, settings, feature gates, hashed fields and the range of
Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from upstream.git import Repository, Unreadable, required_core
from upstream.golang import Constants, Field, Unresolved, arguments, inside, structs

LABELS = "pkg/apis/v1/labels.go"
APIS = "pkg/apis/apis.go"
OPERATOR = "pkg/operator/operator.go"
OPTIONS = "pkg/operator/options/options.go"
KUBERNETES = "pkg/providers/version/version.go"
NODECLASS = "pkg/apis/v1/ec2nodeclass.go"
KUBELET = "pkg/apis/v1/kubeletconfiguration.go"
NODEPOOL, NODECLAIM = "pkg/apis/v1/nodepool.go", "pkg/apis/v1/nodeclaim.go"


class Labels(NamedTuple):
    """Label keys: those that are well known, aliases of them, and the values of keys that take no others.

    `unresolved` are the expressions that could not be read.
    """

    well_known: frozenset[str]
    normalized: dict[str, str]
    known_values: dict[str, frozenset[str]]
    unresolved: list[str]


class Setting(NamedTuple):
    """A setting of the controller: `of` is `core` or `provider`, `default` is the text of its default."""

    of: str
    variable: str
    default: str

    def __str__(self) -> str:
        return f"{self.variable} of {self.of}, `{self.default}`"


class Release:
    """Both repositories at the revision of one release of the AWS provider."""

    def __init__(self, provider: Repository, core: Repository, revision: str) -> None:
        self.provider = provider
        self.core = core
        self.revision = revision
        self.core_revision = required_core(provider, revision, core)

    def _sources(self, path: str) -> Iterator[tuple[str, str]]:
        yield "core", self.core.show(self.core_revision, path)
        yield "provider", self.provider.show(self.revision, path)

    def _optional(self, path: str) -> str:
        try:
            return self.provider.show(self.revision, path)
        except Unreadable:
            return ""

    def labels(self) -> Labels:
        keys: set[str] = set()
        normalized: dict[str, str] = {}
        values: dict[str, frozenset[str]] = {}
        unresolved: list[str] = []
        core, provider = (source for _, source in self._sources(LABELS))
        core_apis, provider_apis = (source for _, source in self._sources(APIS))
        of_core = Constants(core, core_apis)
        of_provider = Constants(provider, provider_apis, core)

        def text(constants: Constants, expression: str) -> str:
            try:
                return constants.value(expression)
            except Unresolved as error:
                unresolved.append(str(error))
                return ""

        for constants, source in ((of_core, core), (of_provider, provider)):
            for body in inside(source, r"WellKnownLabels(?: = sets\.New(?:\[string\])?|\.Insert)\("):
                keys |= {text(constants, part) for part in arguments(body)}
        for constants, source in ((of_core, core), (of_provider, provider + self._optional(OPERATOR))):
            for body in inside(source, r"NormalizedLabels(?:\s*= |, )map\[string\]string\{"):
                pairs = (part.partition(": ")[::2] for part in arguments(body))
                normalized |= {text(constants, key): text(constants, value) for key, value in pairs}
        for body in inside(core, r"WellKnownValuesForRequirements\s*= map\[string\]sets\.Set\[string\]\{"):
            for entry in arguments(body):
                key, _, listed = entry.partition(": ")
                for members in inside(listed, r"sets\.New(?:\[string\])?\("):
                    values[text(of_core, key)] = frozenset(text(of_core, name) for name in arguments(members))
        for key, rest in re.findall(r"WellKnownValuesForRequirements\[(\w+)\] = (.+)", provider):
            for members in inside(rest, r"sets\.New(?:\[string\])?\("):
                values[text(of_provider, key)] = frozenset(text(of_provider, name) for name in arguments(members))
        return Labels(frozenset(keys - {""}), normalized, values, unresolved)

    def settings(self) -> dict[str, Setting]:
        """Return the settings by the name of their flag."""
        found: dict[str, Setting] = {}
        for of, source in self._sources(OPTIONS):
            constants = Constants(source)
            for body in inside(source, r"\bfs\.\w+Var(?:WithEnv)?\("):
                parts = arguments(body)
                default = (
                    re.fullmatch(r'[\w.]*WithDefault\w+\("([A-Z0-9_]+)", (.+)\)', parts[2])
                    if len(parts) > 2
                    else None
                )
                if default:
                    found[parts[1].strip('"')] = Setting(of, default[1], _plain(default[2], constants))
                elif len(parts) > 4:  # BoolVarWithEnv
                    found[parts[1].strip('"')] = Setting(of, parts[2].strip('"'), _plain(parts[3], constants))
        return found

    def gates(self) -> dict[str, bool]:
        """Return the feature gates, each with whether it is on by default."""
        listed = [s.default for name, s in self.settings().items() if name.endswith("feature-gates")]
        pairs = (pair.partition("=")[::2] for pair in ",".join(listed).split(",") if pair)
        return {name: value == "true" for name, value in pairs}

    def kubernetes(self) -> tuple[str, str]:
        """Return the oldest and the newest minor version of Kubernetes that the controller supports."""
        source = self.provider.show(self.revision, KUBERNETES)
        found = [re.search(rf'{name}K8sVersion\s*=\s*"([^"]+)"', source) for name in ("Min", "Max")]
        if not found[0] or not found[1]:
            raise Unreadable(f"{KUBERNETES} at {self.revision} names no range of Kubernetes versions")
        return found[0][1], found[1][1]

    def hash_versions(self) -> dict[str, str]:
        """Return the version of each kind's hash annotation."""
        core = re.search(r'NodePoolHashVersion = "(\w+)"', self.core.show(self.core_revision, NODEPOOL))
        provider = re.search(r'EC2NodeClassHashVersion = "(\w+)"', self.provider.show(self.revision, NODECLASS))
        return {"NodePool": core[1] if core else "", "EC2NodeClass": provider[1] if provider else ""}

    def hash_fields(self) -> dict[str, str]:
        """Return how each field of a spec counts in the hash of its kind: `hashed`, `ignored`, or its hash tag
        (`string`, `set`).

        A field below an ignored one is ignored. Only the template of a NodePool is hashed.
        """
        of_class = structs(self.provider.show(self.revision, NODECLASS), self._optional(KUBELET))
        of_pool = structs(self.core.show(self.core_revision, NODEPOOL), self.core.show(self.core_revision, NODECLAIM))
        found = {f"EC2NodeClass spec.{path}": how for path, how in _hashed(of_class, "EC2NodeClassSpec", "")}
        template = _hashed(of_pool, "NodeClaimTemplate", "template.")
        return found | {f"NodePool spec.{path}": how for path, how in template}


def _plain(expression: str, constants: Constants) -> str:
    """Return a default as a user would write it."""
    seconds = re.fullmatch(r"(?:(\d+)\s*\*\s*)?time\.(Second|Minute|Hour)", expression)
    if seconds:
        return f"{seconds[1] or 1}{seconds[2][0].lower()}"
    try:
        return constants.value(expression)
    except Unresolved:
        return expression


def _hashed(types: dict[str, list[Field]], name: str, path: str, ignored: bool = False) -> Iterator[tuple[str, str]]:
    for field in types.get(name, []):
        below = re.sub(r"^(\*|\[\]|map\[string\])+", "", field.type).rpartition(".")[2]
        if not field.json:
            yield from _hashed(types, below, path, ignored)
            continue
        left_out = ignored or field.hash == "ignore"
        at = f"{path}{field.json}{'[]' if field.type.startswith('[]') else ''}"
        yield at, "ignored" if left_out else field.hash or "hashed"
        yield from _hashed(types, below, f"{at}.", left_out)
