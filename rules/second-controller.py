"""Karpenter's chart is installed twice for one cluster, in two namespaces: one fails, or both launch nodes.

The name of a Helm release also names the chart's ClusterRoles and their bindings. If both releases have the same
name, Helm refuses the second one, because its ClusterRole belongs to the first. A tool that applies rendered charts,
such as Argo CD, lets the last one win: the binding names one service account, and the other controller has no
permissions.

If the releases have different names, both run. The controllers of one installation elect a leader with the lease
`karpenter-leader-election` in their own namespace, so each installation has a leader. Both launch nodes for the same
pending pods. A disruption budget counts a node of the other controller only after its deletion has begun. The usual
cause is that somebody moved Karpenter to another namespace and did not remove the first installation.

The rule compares installations in one folder, in a folder and its subfolder, or in folders that are named after their
namespaces. It reports only if each installation states its namespace and both have the same `settings.clusterName`.
It ignores an installation without replicas, under a condition, or for another cluster.

```yaml bad
# file: karpenter.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: kube-system}
spec:
  chart: {spec: {chart: karpenter, version: 1.14.1}}
  values: {settings: {clusterName: main, interruptionQueue: main}}
# file: karpenter-old.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: karpenter}
spec:
  chart: {spec: {chart: karpenter, version: 1.14.1}}
  values: {settings: {clusterName: main, interruptionQueue: main}}
```

```yaml good
# file: karpenter.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: kube-system}
spec:
  chart: {spec: {chart: karpenter, version: 1.14.1}}
  values: {settings: {clusterName: main, interruptionQueue: main}}
```
"""

import os
import re
from functools import lru_cache

from nodelint.api import Also, Context, Finding, Findings, Source, controller_settings, rule, terraform_trace

_CONDITION = re.compile(r"(?m)^[ \t]*(?:count|for_each)\s*=")


@rule(
    on=Source,
    group="hazard",
    severity="warning",
    subject="disruption",
    source=[
        "provider:charts/karpenter/templates/clusterrole.yaml@v1.9.2:23",
        "core:pkg/operator/operator.go@v1.9.1:162",
        "core:pkg/controllers/disruption/helpers.go@v1.9.1:259",
    ],
    mentions=controller_settings.MENTIONS,
    tags=["installation"],
)
def check(source: Source, context: Context) -> Findings:
    if len(context.run_files.installs) < 2:
        return
    placed = _find_placed(context, context.run_files.terraform)
    here = {id(install) for install in context.run_files.installs_in(source)}
    for n, (install, namespace, cluster) in enumerate(placed):
        if id(install) not in here:
            continue
        at = controller_settings.place_in(source, context.files, install)
        if at is None:
            continue
        for other, elsewhere, its_cluster in placed[:n]:
            if cluster == its_cluster and namespace != elsewhere and _is_beside(install, namespace, other, elsewhere):
                yield Finding(
                    at=at,
                    message=f"Karpenter is also installed in `{elsewhere}` for cluster `{cluster[1]}`: one of the two"
                    " fails, or both launch nodes",
                    note="if both Helm releases have the same name, Helm refuses the second because of shared"
                    " ClusterRoles; if the names differ, both controllers run",
                    also=[Also(other.at, f"installed in `{elsewhere}`")]
                    if isinstance(other.at.source, Source)
                    else [],
                    help="remove one of the two installations",
                    once=True,
                )
                break


@lru_cache(maxsize=1)
def _find_placed(
    context: Context, blocks: "terraform_trace.TerraformBlocks"
) -> list[tuple["controller_settings.ControllerInstall", str, tuple[str, str]]]:
    """Return the installations with a known namespace and cluster: each with the namespace, and with the destination
    and the name of the cluster.
    """
    found = []
    for install in context.run_files.installs:
        names = {setting.value for setting in install.find("CLUSTER_NAME") if setting.is_known}
        block = controller_settings.helm_release_of(install, blocks)
        unsure = block is not None and _CONDITION.search(block.text) is not None
        replicas = install.values.get("replicas") if install.values is not None else None
        stopped = replicas is not None and replicas.value not in (1, 2, 3)
        if len(names) != 1 or unsure or stopped or any("leaderElection" in s.name for s in install.settings):
            continue
        namespace = controller_settings.namespace_of(install, blocks)
        if namespace is not None and (name := names.pop()):
            provider = terraform_trace.find_arguments(block.text, "provider") if block is not None else []
            found.append((install, namespace, (" ".join(provider) or _destination(install), name)))
    return found


def _destination(install: "controller_settings.ControllerInstall") -> str:
    """Return the written destination of an installation, such as the server of an Application. "" if none is
    written.
    """
    for document in install.at.source.documents:
        root = document.root
        if root is not None and root.start <= install.at.start < root.end:
            places = [root.find("spec", "destination", key) for key in ("server", "name")]
            places.append(root.find("spec", "kubeConfig"))
            return " ".join(root.source.text[place.start : place.end] for place in places if place is not None)
    return ""


def _is_beside(
    install: "controller_settings.ControllerInstall",
    namespace: str,
    other: "controller_settings.ControllerInstall",
    elsewhere: str,
) -> bool:
    """Return whether two installations are meant for one cluster, by their folders.

    False for two examples or environments.
    """
    here = os.path.dirname(install.at.source.path).split(os.sep)
    there = os.path.dirname(other.at.source.path).split(os.sep)
    shorter = min(len(here), len(there))
    if here[:shorter] == there[:shorter]:
        return True
    different = [pair for pair in zip(here, there, strict=False) if pair[0] != pair[1]]
    return len(here) == len(there) and different == [(namespace, elsewhere)]
