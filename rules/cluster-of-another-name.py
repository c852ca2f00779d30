"""Karpenter's chart gets no `settings.clusterName`, or the name of a cluster that Terraform does not create.

Without a name the controller stops at its start: "missing field, cluster-name". With another name it looks up the
endpoint of that cluster, unless `settings.clusterEndpoint` is set. If there is no such cluster, the controller stops.
Nodes get the other name, so they never join the cluster in which Karpenter runs.

The rule reports a missing name only if all values of the chart are known, and others are set. It compares names only
if the files install one controller, create one cluster, and state its name.

There is no fix: only the author knows in which cluster Karpenter runs.

```yaml bad
# file: main.tf
resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "kube-system"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
  values     = [yamlencode({ settings = { interruptionQueue = "main" } })]
}
```

```yaml good diff=bad
-  values     = [yamlencode({ settings = { interruptionQueue = "main" } })]
+  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
```
"""

import re

from nodelint.api import UNKNOWN, Also, Context, Finding, Findings, Source, Span, controller_settings, releases, rule

_MODULE = re.compile(r'(?m)^[ \t]*source\s*=\s*"(?:registry\.terraform\.io/)?terraform-aws-modules/eks/aws"')
_NAME = re.compile(r"(?=[a-z0-9])(?!.*(?:your|example|change|replace))[A-Za-z0-9][\w-]*")
"""A pattern of names that are no placeholder, no reference and no address."""
_FIRST = releases.Version(1, 0, 0)


@rule(
    on=Source,
    group="correctness",
    subject="objects",
    mentions=controller_settings.MENTIONS,
    tags=["installation"],
    source=[
        "provider:pkg/operator/options/options_validation.go@v1.14.1:80",
        "provider:pkg/operator/operator.go@v1.14.1:301",
        "https://karpenter.sh/docs/reference/settings/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    for install in context.run_files.installs_in(source):
        names = install.find("CLUSTER_NAME")
        if not names and _is_whole(install):
            at = controller_settings.place_in(source, context.files, install)
            if at is not None:
                yield Finding(
                    at=at,
                    message="the chart gets no `settings.clusterName`: the controller does not start",
                    help="set the value to the name of the cluster",
                    once=True,
                )
            return
        if len(names) != 1 or not names[0].is_known or not context.run_files.has_terraform:
            continue
        made = _find_clusters(context) if len(context.run_files.installs) == 1 else {}
        if len(made) != 1 or None in made or names[0].value in made or not _NAME.fullmatch(names[0].value):
            continue
        at = controller_settings.place_in(source, context.files, install, names[0].node)
        if at is not None:
            yield Finding(
                at=at,
                message=f"the chart names the cluster `{names[0].value}`, but Terraform creates `{next(iter(made))}`",
                severity="warning",
                also=[Also(place, "creates the cluster") for place in list(made.values())[:1]],
                note="nodes never join the cluster in which Karpenter runs",
                help="write the name of the cluster in which Karpenter runs",
            )


def _is_whole(install: controller_settings.ControllerInstall) -> bool:
    """Return whether all values of a chart of v1 are known and none sets the cluster name."""
    is_v1 = install.release is not None and install.release >= _FIRST
    # Values by themselves, and an empty name, are there to be filled in by whoever installs the chart.
    is_named = any(setting.name.lower().endswith("clustername") for setting in install.settings)
    is_release = install.by in ("the helm_release", "the HelmRelease")
    return (
        is_release
        and is_v1
        and install.is_complete
        and not install.has_gaps
        and bool(install.settings)
        and not is_named
    )


def _find_clusters(context: Context) -> "dict[str | None, Span]":
    """Return the names of the clusters that Terraform creates, each with its block; None for an unknown name."""
    blocks = context.run_files.terraform
    found: dict[str | None, Span] = {}
    for block in blocks.blocks:
        is_module = block.address.startswith("module.") and _MODULE.search(block.text) is not None
        if not is_module and block.kind != "aws_eks_cluster":
            continue
        values = [
            value.value.value
            for name in (("name", "cluster_name") if is_module else ("name",))
            for value in blocks.argument_values(block, name)
        ]
        for value in values or [UNKNOWN]:
            found[value if isinstance(value, str) else None] = block.at
    return found
