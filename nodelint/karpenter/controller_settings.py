"""The values that Karpenter's Helm chart reads, release by release."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.forms.lib.chart_commands import HELM_COMMAND, namespace_of_command
from nodelint.karpenter.spelling import one_slip, squash
from nodelint.model.controller_settings import ControllerInstall, WrittenSetting, chart_leaves
from nodelint.model.finding import Span
from nodelint.model.releases import RELEASES, Version, releases_match
from nodelint.releases.settings import INSTALLING
from nodelint.text import Node, Source
from nodelint.text.missing import items_of

if TYPE_CHECKING:
    from nodelint.forms.terraform.terraform_trace import BlockText, TerraformBlocks

__all__ = [
    "MENTIONS",
    "ControllerInstall",
    "UnreadValue",
    "WrittenSetting",
    "chart_leaves",
    "find_namespace",
    "helm_release_of",
    "namespace_of",
    "place_in",
    "refused_resources",
    "unread_values",
]

MENTIONS = INSTALLING
"""Texts of which a file that installs the controller contains at least one."""

_OF_CONTAINER = ("env", "envFrom", "extraVolumeMounts", "image", "resources", "sidecarContainer")
_OF_POD = (
    *(
        "additionalAnnotations",
        "additionalLabels",
        "affinity",
        "dnsConfig",
        "dnsPolicy",
        "extraVolumes",
        "hostNetwork",
    ),
    *("imagePullPolicy", "imagePullSecrets", "logLevel", "nodeSelector", "podAnnotations", "podDisruptionBudget"),
    *("podLabels", "podSecurityContext", "priorityClassName", "replicas", "serviceAccount", "serviceMonitor"),
    *("strategy", "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints"),
)
"""Values at the root of the chart's values, which are easily written below `controller` by mistake."""
_ALWAYS = ""
_OF_CHART = {
    **dict.fromkeys((*_OF_POD, "additionalClusterRoleRules", "controller", "settings"), _ALWAYS),
    **dict.fromkeys(("fullnameOverride", "nameOverride", "revisionHistoryLimit", "logOutputPaths"), _ALWAYS),
    "logErrorOutputPaths": _ALWAYS,
    "postInstallHook": _ALWAYS,  # of 1.0.0 only; a rest of it, or of `webhook`, does no harm
    "webhook": _ALWAYS,
    "service": ">=1.1.0",
    "schedulerName": ">=1.2.0",
    "initContainers": ">=1.4.0",
    "controller.securityContext": ">=1.5.0",
}
"""Values at the root of the charts since 1.0, each with the range of releases whose charts read it."""
_WITHOUT_SETTINGS, _WITH_AWS_ALONE = "<0.19.0", ">=0.19.0,<0.32.0"
"""The releases whose charts have the name of the cluster at the root, and those that have it below `settings.aws`."""
_WITH_BOTH = ">=0.32.0,<0.33.0"
"""The releases whose charts read settings below `settings.aws` and below `settings`."""
_OF_CLUSTER = ("clusterName", "clusterEndpoint")
_QUEUES = ("interruptionQueue", "interruptionQueueName")
_FOR_HELM = ("global", "enabled", "tags", "crds", "exports")
"""Values that helm, or a chart around Karpenter's, may read."""
_CONTEXTS = ("containerSecurityContext", "securityContext")
_OF_RESOURCES = ("requests", "limits", "claims")
_GATES = ("featureGates", "awsFeatureGates")
_FORMER = {
    "aws": "its settings belong directly below `settings`",
    "assumeRoleARN": "Karpenter assumes no role since 1.0: give its service account the role",
    "assumeRoleDuration": "Karpenter assumes no role since 1.0: give its service account the role",
    "defaultInstanceProfile": "set `role` or `instanceProfile` in the EC2NodeClass",
    "interruptionQueueName": "write `settings.interruptionQueue`",
    "enablePodENI": "Karpenter finds pod ENIs by itself",
    "enableENILimitedPodDensity": "set `maxPods` in the kubelet settings of the EC2NodeClass",
}


def _shown_paths(source: Source, files: Sequence[Source]) -> set[str]:
    """Return the paths of the files in which a rule about installations can report a value."""
    return {source.path, *(file.path for file in files if any(word in file.text for word in MENTIONS))}


class UnreadValue(NamedTuple):
    """A value that the chart does not read: its path, the node of its key, and an advice."""

    path: str
    node: Node
    advice: str


def unread_values(values: Node, release: Version | None) -> Iterator[UnreadValue]:
    """Yield the values that the chart of a release does not read. If `release` is None, yield those that no chart
    since 1.0 reads.

    Of a chart before 1.0, only the names of the cluster and of the queue count.
    """
    if release is not None and release < RELEASES[0]:
        yield from _unread_before_v1(values, release)
        return
    reads = _charts()
    below = {path.partition(".")[2].partition(".")[0] for path in reads if path.startswith("settings.")}
    yield from _unread_of_root(values, below, release)
    yield from _unread_of_controller(values, below, release)
    settings = values.get("settings")
    for entry in settings.entries if settings is not None else ():
        name = entry.name or ""
        if entry.name is None:
            continue
        if name == "aws" and entry.value.entries:
            for former in entry.value.entries:
                yield from _unread_of_aws(former.name or "", former.key, reads, release)
            continue
        if name not in _GATES:
            yield from _unread(f"settings.{name}", entry.key, reads, release)
            continue
        for gate in entry.value.entries:
            if gate.name is not None:
                yield from _unread(f"settings.{name}.{gate.name}", gate.key, reads, release)


def _unread_before_v1(values: Node, release: Version) -> Iterator[UnreadValue]:
    """Yield the names of the cluster and of the queue that the chart of a release before 1.0 does not read.

    They were at the root before 0.19, below `settings.aws` up to 0.32, and below `settings` from 0.32 on. A setting
    that is also in the right place counts as read.
    """
    is_early, is_with_aws = (releases_match(range_, release) for range_ in (_WITHOUT_SETTINGS, _WITH_AWS_ALONE))
    around = "settings.aws." if is_with_aws else "" if is_early else "settings."
    of_queue = () if is_early else _QUEUES
    for path in ("", "settings.", "settings.aws."):
        place = values.find(*path.split(".")[:-1]) if path else values
        if path == around or place is None or (path == "settings.aws." and releases_match(_WITH_BOTH, release)):
            continue
        for entry in place.entries:
            name = entry.name or ""
            if name in of_queue and path:
                name = _QUEUES[is_with_aws]
            elif name not in _OF_CLUSTER:
                continue
            if not path or values.find(*f"{around}{name}".split(".")) is None:
                yield UnreadValue(f"{path}{entry.name}", entry.key, f"write it as `{around}{name}`")


def _unread_of_root(values: Node, below: Collection[str], release: Version | None) -> Iterator[UnreadValue]:
    """Yield the keys at the root that belong below `settings` or `controller`, or that the chart does not read."""
    for entry in values.entries:
        name = entry.name or ""
        if name in below or name in _FORMER:
            yield UnreadValue(name, entry.key, _FORMER.get(name) or f"write it as `settings.{name}`")
        elif name in _OF_CONTAINER:
            yield UnreadValue(name, entry.key, f"write it as `controller.{name}`")
        elif entry.name is not None and name not in _FOR_HELM:
            yield from _unread_at_root(name, entry.key, release)


def _unread_at_root(name: str, key: Node, release: Version | None) -> Iterator[UnreadValue]:
    """Yield a value if the chart does not read it. An unknown name counts only if it is like one that charts read."""
    charts = _OF_CHART.get(name)
    if charts is not None:
        if release is not None and not releases_match(charts, release):
            since = next((known for known in RELEASES if releases_match(charts, known)), None)
            yield UnreadValue(name, key, f"charts from {since} on read it")
    elif name in _CONTEXTS:
        is_read = release is None or releases_match(_OF_CHART["controller.securityContext"], release)
        advice = "write it as `controller.securityContext`" if is_read else "the chart sets it: remove the value"
        yield UnreadValue(name, key, advice)
    else:
        near = (known for known in _OF_CHART if squash(known) == squash(name) or one_slip(known, name))
        meant = next(near, None)
        if meant is not None:
            yield UnreadValue(name, key, f"did you mean `{meant}`?")


def _unread_of_aws(name: str, key: Node, reads: dict[str, str], release: Version | None) -> Iterator[UnreadValue]:
    """Yield a key below `settings.aws` if the chart does not read it in the release.

    Charts before 1.0 had their settings there.
    """
    path, charts = f"settings.aws.{name}", reads.get(f"settings.{name}")
    if name not in _FORMER and charts is not None and (release is None or releases_match(charts, release)):
        yield UnreadValue(path, key, f"write it as `settings.{name}`")
    else:
        yield from _unread(path, key, reads, release)


def _unread_of_controller(values: Node, settings: Collection[str], release: Version | None) -> Iterator[UnreadValue]:
    """Yield the keys below `controller` that belong at the root of the values or below `settings`."""
    controller = values.get("controller")
    for entry in controller.entries if controller is not None else ():
        name = entry.name or ""
        if name in _OF_POD:
            yield UnreadValue(f"controller.{name}", entry.key, f"write it as `{name}`, at the root of the values")
        elif name in settings or name in _FORMER:
            advice = _FORMER.get(name) or f"write it as `settings.{name}`"
            yield UnreadValue(f"controller.{name}", entry.key, advice)
        elif f"controller.{name}" in _OF_CHART:
            yield from _unread_at_root(f"controller.{name}", entry.key, release)


def refused_resources(values: Node) -> Iterator[tuple[str, Node]]:
    """Yield the keys of `controller.resources` that Kubernetes does not know. The chart copies them into the manifest
    unchanged.
    """
    resources = values.find("controller", "resources")
    for entry in resources.entries if resources is not None else ():
        if entry.name is not None and entry.name not in _OF_RESOURCES:
            yield entry.name, entry.key


def _charts() -> dict[str, str]:
    """Return the values below `settings` that charts read, each with the range of releases whose charts read it."""
    rows = (*table("settings")["settings"], *table("settings")["gates"])
    return {row["value"]: row.get("chart", row["releases"]) for row in rows if "value" in row}


def _unread(path: str, key: Node, reads: dict[str, str], release: Version | None) -> Iterator[UnreadValue]:
    charts = reads.get(path)
    if charts is not None and (release is None or releases_match(charts, release)):
        return
    name = path.rpartition(".")[2]
    if name in _FORMER:
        yield UnreadValue(path, key, _FORMER[name])
    elif path == "settings.featureGates.drift":
        yield UnreadValue(path, key, "remove the value: drift is always on since 1.0")
    elif charts is not None:
        since = next((known for known in RELEASES if releases_match(charts, known)), None)
        yield UnreadValue(path, key, f"charts from {since} on read it" if since is not None else "remove the value")
    else:
        names = {known: known.rpartition(".")[2] for known in reads}
        near = (known for known, own in names.items() if squash(own) == squash(name) or one_slip(own, name))
        meant = next(near, None)
        yield UnreadValue(path, key, f"did you mean `{meant}`?" if meant else "remove the value, or correct its name")


def place_in(
    source: Source, files: Sequence[Source], install: ControllerInstall, node: Node | None = None
) -> Span | None:
    """Return the span of a setting in a file: its node, or the installation if no judged file has the node.

    None if the span is in another file. A rendered manifest has the path of its source file and other offsets. The
    file with the installation also has the settings in files without a word of the controller, such as a `.tfvars`.
    """
    is_shown = node is not None and node.source.path in _shown_paths(source, files)
    if node is not None and not is_shown and install.at.source.path == source.path:
        file = next((file for file in files if file.path == node.source.path), None)
        if file is not None and file.text == node.source.text:
            return Span(file, node.start, node.end)
    at = node if node is not None and is_shown else install.at
    if at.source.path != source.path or at.source.text != source.text:
        return None
    return Span(source, at.start, at.end)


_LISTS = ("releases", "helmCharts")
"""The fields of a helmfile and of a kustomization that list the charts to install."""


def find_namespace(installs: Iterable[ControllerInstall], blocks: TerraformBlocks) -> str | None:
    """Return the namespace into which charts are installed. None if it is not known, or not the same for all."""
    found = {namespace_of(install, blocks) for install in installs}
    return found.pop() if len(found) == 1 else None


def namespace_of(install: ControllerInstall, blocks: TerraformBlocks) -> str | None:
    """Return the namespace into which a chart is installed. None if no file states it as a literal."""
    from nodelint.forms.terraform.terraform_trace import find_arguments

    at = install.at
    if install.by == HELM_COMMAND:
        return namespace_of_command(at.source.text, at.start)
    block = helm_release_of(install, blocks)
    if block is not None:
        written = find_arguments(block.text, "namespace")
        return blocks.literal(written[0], block.source.path) if written else "default"
    for document in at.source.documents:
        root = document.root
        if root is None or not root.start <= at.start < root.end:
            continue
        spec = root.get("spec")
        listed = [node for key in _LISTS for node in items_of(root.get(key)) if node.start <= at.start < node.end]
        places = (
            *(node.get("namespace") for node in listed),
            root.get("namespace") if listed else None,
            spec.get("targetNamespace") if spec is not None else None,
            root.find("spec", "destination", "namespace"),
            root.find("metadata", "namespace") if root.find("spec", "destination") is None else None,
        )
        node = next((place for place in places if place is not None), None)
        return node.value if node is not None and isinstance(node.value, str) else None
    return None


def helm_release_of(install: ControllerInstall, blocks: TerraformBlocks) -> BlockText | None:
    """Return the `helm_release` block that makes an installation. None if the installation has another form."""
    at = install.at
    releases = [block for block in blocks.find_in(at.source.path) if block.kind == "helm_release"]
    if at.source.path.endswith(".json"):
        # In JSON syntax, an installation begins at the body, after the name.
        return next((block for block in reversed(releases) if block.at.end <= at.start), None)
    return next(
        (block for block in releases if at.start <= block.at.start <= max(at.end, at.start + 1)),
        None,
    )
