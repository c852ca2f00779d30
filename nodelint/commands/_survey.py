"""What a repository says of the cluster that its manifests are for: releases, styles, and where they are checked."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from nodelint.model.manifest import EC2NodeClass, NodePool, Object, objects
from nodelint.model.releases import KubernetesVersion, target
from nodelint.printable import printable
from nodelint.render.roots import KUSTOMIZATIONS, nodes_of
from nodelint.source import Node, Source
from nodelint.source.discover import CHART, discover
from nodelint.source.reading import read
from nodelint.tuples import NamedTuple

_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
_SHOWN = frozenset({".github", ".gitlab"})
_READ = (".yaml", ".yml", ".tf", ".tofu", ".sh", ".mk", "Makefile", "Taskfile", "justfile")
_LARGEST = 1 << 20

# Versions that say exactly one release; a range or a variable is nobody's plain word.
_RELEASE = r"v?(\d+\.\d+(?:\.\d+)?)"
_HCL_BLOCK = r'(?ms)^resource\s+"helm_release"\s+"[^"]*"\s*\{(.*?)^\}'
_HCL_CHART = r'(?m)^\s*chart\s*=\s*"(?:[^"]*/)?karpenter"'
_HCL_VERSION = rf'(?m)^\s*version\s*=\s*"{_RELEASE}"'
# The addons module of EKS Blueprints.
_HCL_ADDON = rf'\bkarpenter\s*=\s*\{{[^{{}}]*?\bchart_version\s*=\s*"{_RELEASE}"'
_HELM_LINE = (
    r"helm\s+(?:upgrade|install|template)\b[^\n;&|]*\bkarpenter\b[^\n;&|]*"
    rf"--version[ =][\"']?{_RELEASE}[\"']?(?![\w.])"
)
_VARIABLE = rf"\bKARPENTER_VERSION[\"']?\s*[:=]\s*[\"']?{_RELEASE}[\"']?(?![\w.])"
_HCL_KUBERNETES = r'(?m)^\s*(?:cluster_version|kubernetes_version)\s*=\s*"(1\.\d\d)"'
_HCL_CLUSTER = r'(?ms)^resource\s+"aws_eks_cluster"\s+"[^"]*"\s*\{(.*?)^\}'
_HCL_CLUSTER_VERSION = r'(?m)^\s*version\s*=\s*"(1\.\d\d)"'


class Said(NamedTuple):
    """A version, and who names it where: `clusters/prod/karpenter.yaml:12`, `HelmRelease`."""

    version: str
    place: str
    by: str


class Survey(NamedTuple):
    """What was found below a folder; paths are seen from it."""

    pools: int
    classes: int
    files: int
    styles: tuple[str, ...]
    karpenter: tuple[Said, ...]
    kubernetes: tuple[Said, ...]
    snapshot: str | None
    ci: tuple[str, ...]


def survey(folder: str) -> Survey:
    """Read a repository once. Nothing is run, and nothing outside of it is read."""
    found = discover([folder])
    held = [obj for source in found.sources for obj in objects(source)]
    styles = Counter(style for obj in held for style in _styles(obj, folder))
    karpenter: list[Said] = []
    kubernetes: list[Said] = []
    ci: set[str] = set()
    for path in _files(folder):
        shown = printable(os.path.relpath(path, folder).replace(os.sep, "/"))  # goes into a comment of the file
        text = _text(path, folder)
        karpenter += _karpenter(shown, text)
        kubernetes += _kubernetes(shown, text)
        if shown.startswith(".github/workflows/"):
            ci.add("GitHub Actions, which runs it already" if "nodelint" in text else "GitHub Actions")
        elif shown == ".gitlab-ci.yml":
            ci.add("GitLab CI, which runs it already" if "nodelint" in text else "GitLab CI")
    snapshot = "nodelint.snapshot.json"
    return Survey(
        sum(isinstance(obj, NodePool) for obj in held),
        sum(isinstance(obj, EC2NodeClass) for obj in held),
        len({obj.source.path for obj in held}),
        tuple(style for style, _ in styles.most_common()),
        tuple(_once(said for said in karpenter if _known(said))),
        tuple(_once(kubernetes)),
        snapshot if os.path.isfile(os.path.join(folder, snapshot)) else None,
        tuple(sorted(ci)),
    )


def _once(said: Iterable[Said]) -> Iterator[Said]:
    return iter(dict.fromkeys(said))


def _known(said: Said) -> bool:
    try:
        target(said.version)
    except ValueError:
        return False
    return True


def _files(folder: str) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(n for n in folders if (not n.startswith(".") or n in _SHOWN) and n not in _PASSED_OVER)
        yield from (os.path.join(where, name) for name in sorted(names) if name.endswith(_READ))


def _text(path: str, top: str) -> str:
    try:
        return read(path, _LARGEST, within=top).decode(errors="replace").replace("\r\n", "\n")
    except OSError:
        return ""


# -- how manifests are kept


def _styles(obj: Object, top: str) -> Iterator[str]:
    """The ways in which the repository holds an object: one, or two where a chart stands in an overlay."""
    document, root = obj.document, obj.document.root
    outer = _word(root, "kind") if root is not None and root is not obj.node else None
    if document.host in ("terraform", "hcl") or obj.source.path.endswith((".tftpl", ".tf.tpl")):
        yield "Terraform"
    elif outer == "HelmRelease" or (document.host == "block" and "kind: HelmRelease" in obj.source.text):
        yield "values of Flux HelmReleases"
    elif outer == "Application" or (document.host == "block" and "kind: Application" in obj.source.text):
        yield "values of Argo CD Applications"
    elif _above(obj.source.path, top, (CHART,)):
        yield "a Helm chart"
    elif _above(obj.source.path, top, KUSTOMIZATIONS):
        yield "Kustomize"
    else:
        yield "plain manifests"


def _above(path: str, top: str, names: tuple[str, ...]) -> bool:
    """Whether a file of one of the names stands beside a path or above it, up to a folder."""
    folder, highest = os.path.dirname(os.path.abspath(path)), os.path.abspath(top)
    while True:
        if any(os.path.isfile(os.path.join(folder, name)) for name in names):
            return True
        if folder in (highest, os.path.dirname(folder)):
            return False
        folder = os.path.dirname(folder)


# -- which releases run


def _karpenter(path: str, text: str) -> Iterator[Said]:
    if "karpenter" not in text and "KARPENTER" not in text:
        return
    if path.endswith((".tf", ".tofu")):
        for block in re.finditer(_HCL_BLOCK, text):
            if re.search(_HCL_CHART, block[1]) and (version := re.search(_HCL_VERSION, block[1])):
                yield Said(version[1], _place(path, text, block.start(1) + version.start()), "a helm_release")
        for addon in re.finditer(_HCL_ADDON, text):
            yield Said(addon[1], _place(path, text, addon.start(1)), "an addons module")
    elif path.endswith((".yaml", ".yml")):
        source = Source(path, text)
        for root in nodes_of(source):
            for node, by in _charts(root):
                exact = re.fullmatch(rf"(?:karpenter-)?{_RELEASE}", str(node.value))
                if exact is not None:
                    yield Said(exact[1], f"{path}:{source.position(node.start).line}", by)
    joined = re.sub(r"\\\r?\n", lambda match: " " * len(match[0]), text)
    for line in re.finditer(_HELM_LINE, joined):
        yield Said(line[1], _place(path, text, line.start()), "a helm command")
    for line in re.finditer(_VARIABLE, text):
        yield Said(line[1], _place(path, text, line.start()), "KARPENTER_VERSION")


def _charts(root: Node) -> Iterator[tuple[Node, str]]:
    """Where an object names the release of Karpenter's chart."""
    kind = _word(root, "kind")
    if kind == "HelmRelease":
        chart = root.at("spec", "chart", "spec")
        if chart is not None and _word(chart, "chart") == "karpenter":
            yield from _named(chart, "version", "the HelmRelease")
    elif kind == "OCIRepository":
        spec = root.get("spec")
        if spec is not None and (_word(spec, "url") or "").endswith("/karpenter"):
            yield from _named(spec.get("ref"), "tag", "the OCIRepository")
    elif kind == "Application":
        listed = root.at("spec", "sources")
        for source in (root.at("spec", "source"), *(listed.items if listed is not None else ())):
            if source is not None and _is_chart(source):
                yield from _named(source, "targetRevision", "the Application")
    elif kind == "Deployment":  # what `helm template` has written
        yield from _named(root.at("metadata", "labels"), "helm.sh/chart", "the rendered chart")
    for field, by in (("dependencies", "Chart.yaml"), ("helmCharts", "the kustomization")):
        listed = root.get(field)
        for item in listed.items if listed is not None else ():
            if _word(item, "name") == "karpenter":
                yield from _named(item, "version", by)


def _is_chart(source: Node) -> bool:
    return _word(source, "chart") in ("karpenter", "karpenter/karpenter") or (
        _word(source, "repoURL") or ""
    ).endswith("/karpenter/karpenter")


def _named(node: Node | None, key: str, by: str) -> Iterator[tuple[Node, str]]:
    value = node.get(key) if node is not None else None
    if value is not None:
        yield value, by


def _kubernetes(path: str, text: str) -> Iterator[Said]:
    if path.endswith((".tf", ".tofu")):
        for line in re.finditer(_HCL_KUBERNETES, text):
            yield Said(line[1], _place(path, text, line.start(1)), "Terraform")
        for block in re.finditer(_HCL_CLUSTER, text):
            if version := re.search(_HCL_CLUSTER_VERSION, block[1]):
                yield Said(version[1], _place(path, text, block.start(1) + version.start(1)), "the aws_eks_cluster")
    elif "eksctl.io/" in text:
        source = Source(path, text)
        for root in nodes_of(source):
            version_node = root.at("metadata", "version")
            if _word(root, "kind") != "ClusterConfig" or version_node is None:
                continue
            written = version_node.written.strip()
            if re.fullmatch(r"1\.\d\d", written):
                version_text = str(KubernetesVersion.parse(written))
                yield Said(version_text, f"{path}:{source.position(version_node.start).line}", "eksctl")


def _place(path: str, text: str, offset: int) -> str:
    begins = offset + len(text[offset:]) - len(text[offset:].lstrip())
    return f"{path}:{text.count(chr(10), 0, begins) + 1}"


def _word(node: Node | None, key: str) -> str | None:
    value = node.get(key) if node is not None else None
    return value.value if value is not None and isinstance(value.value, str) else None
