"""Find installations of Karpenter's controller by tools that call helm, with chart and values in YAML.

These are Skaffold, Pulumi programs in YAML, templates that `cdk synth` writes, the Azure Pipelines task HelmDeploy,
Ansible's helm module, and Tilt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.forms.helm.controller_objects import merge_values, set_value
from nodelint.forms.lib.chart_values import RepositoryTree, ValuesLayer, merge_layer, read_block
from nodelint.forms.lib.controller_install import ControllerFiles, install_by, is_controller, make_install
from nodelint.model.controller_settings import ControllerInstall
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of

_PULUMI = re.compile(r"kubernetes:helm\.sh/v[34]:(?:Release|Chart)")
_ANSIBLE = ("kubernetes.core.helm", "community.kubernetes.helm")
_CDK = "Custom::AWSCDK-EKS-HelmChart"
_DEEPEST = 40


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations of Karpenter's controller in a file of one of these tools."""
    if os.path.basename(source.path) == "Tiltfile":
        yield from _find_tilt(source)
    if not source.path.endswith((".yaml", ".yml", ".json")):
        return
    tree = files.tree(source)
    for root in files.roots(source) if tree is not None else ():
        assert tree is not None
        tree.gaps.clear()
        if text_of(root.get("apiVersion")).startswith("skaffold/"):
            yield from _read_skaffold(root, tree)
        elif root.get("resources") is not None and root.get("runtime") is not None:
            yield from _read_pulumi(root, tree)
        elif _CDK in source.text:
            yield from _read_cdk(root, tree)
    if "HelmDeploy" in source.text or any(module in source.text for module in _ANSIBLE):
        for document in source.documents:
            if document.root is not None and tree is not None:
                yield from _read_tasks(document.root, tree)


def _find_tilt(source: Source) -> Iterator[ControllerInstall]:
    """Yield the installations by Tilt's extensions for helm. Their values are not read."""
    for call in re.finditer(r"\bhelm_(?:resource|remote)\([^)]{0,400}\bkarpenter\b", source.text):
        at = Node(source, call.start(), call.start() + len("helm_remote"), "mapping", "flow")
        yield make_install(at, "Tilt", "", (), is_complete=False)


def _read_skaffold(root: Node, tree: RepositoryTree) -> Iterator[ControllerInstall]:
    """Yield the installations in a Skaffold file (https://skaffold.dev/docs/references/yaml/)."""
    for part in (root, *items_of(root.get("profiles"))):
        for section in ("deploy", "manifests"):
            for release in items_of(part.find(section, "helm", "releases")):
                if not any(is_controller(text_of(release.get(key))) for key in ("remoteChart", "chartPath")):
                    continue
                layers = _read_files(release.get("valuesFiles"), tree)
                layers += merge_values(release.get("overrides"), tree)
                layers += _read_pairs(release.get("setValues"), tree)
                unread = any(release.get(key) is not None for key in ("setValueTemplates", "setFiles"))
                yield install_by(release, "Skaffold", text_of(release.get("version")), layers, tree, unread)


def _read_pulumi(root: Node, tree: RepositoryTree) -> Iterator[ControllerInstall]:
    """Yield the installations by Pulumi resources.

    (https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/)
    """
    resources = root.get("resources")
    for entry in resources.entries if resources is not None else ():
        properties = entry.value.get("properties")
        if properties is None or _PULUMI.fullmatch(text_of(entry.value.get("type"))) is None:
            continue
        if is_controller(text_of(properties.get("chart"))):
            layers = list(merge_values(properties.get("values"), tree))
            unread = properties.get("valueYamlFiles") is not None
            yield install_by(properties, "Pulumi", text_of(properties.get("version")), layers, tree, unread)


def _read_cdk(root: Node, tree: RepositoryTree) -> Iterator[ControllerInstall]:
    """Yield the installations in a template that `cdk synth` writes.

    (https://github.com/aws/aws-cdk/blob/v2.170.0/packages/aws-cdk-lib/aws-eks/lib/helm-chart.ts)
    """
    resources = root.get("Resources")
    for entry in resources.entries if resources is not None else ():
        properties = entry.value.get("Properties")
        if properties is None or text_of(entry.value.get("Type")) != _CDK:
            continue
        chart, values = properties.get("Chart"), properties.get("Values")
        address = text_of(chart) or text_of(properties.get("Repository"))
        if not is_controller(address):
            continue
        given = None if values is None else read_block(values)
        layers = [] if given is None else [merge_layer(given)]
        at = chart or properties
        yield install_by(
            at, "the CDK", text_of(properties.get("Version")), layers, tree, values is not None and not layers
        )


def _read_tasks(node: Node, tree: RepositoryTree, depth: int = 0) -> Iterator[ControllerInstall]:
    """Yield the installations by Azure Pipelines or Ansible tasks at any depth of a document."""
    if depth > _DEEPEST:
        return
    inputs = node.get("inputs") if node.kind == "mapping" else None
    if inputs is not None and text_of(node.get("task")).startswith("HelmDeploy@"):
        yield from _read_helm_deploy(inputs, tree)
        return
    for entry in node.entries:
        if entry.name in _ANSIBLE and is_controller(text_of(entry.value.get("chart_ref"))):
            yield _read_ansible(entry.value, tree)
        else:
            yield from _read_tasks(entry.value, tree, depth + 1)
    for item in node.items:
        yield from _read_tasks(item, tree, depth + 1)


def _read_helm_deploy(inputs: Node, tree: RepositoryTree) -> Iterator[ControllerInstall]:
    """Yield the installation by an Azure Pipelines task.

    (https://learn.microsoft.com/azure/devops/pipelines/tasks/reference/helm-deploy-v1)
    """
    chart = text_of(inputs.get("chartName"))
    if text_of(inputs.get("command")) not in ("install", "upgrade") or not is_controller(chart):
        return
    layers = _read_files(inputs.get("valueFile"), tree)
    pairs = inputs.get("overrideValues")
    for pair in re.split(r"[,\n]", text_of(pairs)) if pairs is not None else ():
        name, equals, value = pair.strip().partition("=")
        if equals and pairs is not None:
            layers += set_value(_node_of(pairs, name), _node_of(pairs, value), tree)
    unread = "--" in text_of(inputs.get("arguments"))
    yield install_by(inputs, "HelmDeploy", text_of(inputs.get("chartVersion")), layers, tree, unread)


def _read_ansible(task: Node, tree: RepositoryTree) -> ControllerInstall:
    """Return the installation by an Ansible task.

    (https://docs.ansible.com/ansible/latest/collections/kubernetes/core/helm_module.html)
    """
    layers = list(merge_values(task.get("release_values") or task.get("values"), tree))
    for item in items_of(task.get("set_values")):
        name, equals, value = text_of(item.get("value")).partition("=")
        if equals:
            layers += set_value(_node_of(item, name), _node_of(item, value), tree)
    unread = task.get("values_files") is not None or task.get("reuse_values") is not None
    return install_by(task, "Ansible", text_of(task.get("chart_version")), layers, tree, unread)


def _read_pairs(pairs: Node | None, tree: RepositoryTree) -> list[ValuesLayer]:
    entries = pairs.entries if pairs is not None else ()
    return [layer for entry in entries for layer in set_value(entry.key, entry.value, tree)]


def _read_files(names: Node | None, tree: RepositoryTree) -> list[ValuesLayer]:
    """Return the values of the files that a node names: one path or a list, relative to the folder of its file."""
    if names is None:
        return []
    around = os.path.dirname(os.path.abspath(names.source.path))
    found = [tree.read_named(around, node) for node in (names.items if names.kind == "sequence" else (names,))]
    return [merge_layer(values) for values in found if values is not None]


def _node_of(at: Node, text: str) -> Node:
    return Node(at.source, at.start, at.end, "scalar", "plain", text)
