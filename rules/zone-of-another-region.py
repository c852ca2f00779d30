"""A NodePool has zones of another region than its cluster, so Karpenter launches nothing.

A cluster is in one region, and so are its subnets. If a NodePool has zones of another region, it finds no subnet, and
its pods stay Pending. This happens when somebody copies a NodePool from a cluster of another region.

The rule reads the region from the files of the repository: the provider `aws` of Terraform (without an alias), the
zones of its subnets, a `ClusterConfig` of eksctl, the address of the API server (`settings.clusterEndpoint`), and
`AWS_REGION` in a script that installs Karpenter. It reports nothing if a file names the region of the
zones. If only the default of a variable states the region, the finding has the severity info.

```yaml bad
# file: cluster.yaml
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: main, region: ap-southeast-1}
karpenter: {version: 1.14.1}
# file: pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: topology.kubernetes.io/zone, operator: In, values: [ap-northeast-1a, ap-northeast-1c]}
```

```yaml good diff=bad
-        - {key: topology.kubernetes.io/zone, operator: In, values: [ap-northeast-1a, ap-northeast-1c]}
+        - {key: topology.kubernetes.io/zone, operator: In, values: [ap-southeast-1a, ap-southeast-1c]}
```
"""

import re
from collections.abc import Iterator

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    Source,
    Span,
    keys,
    pool_requirements,
    rule,
    selectors,
    terraform_trace,
)

_PROVIDER = re.compile(r'(?m)^provider[ \t]+"aws"[ \t]*\{((?:(?!^\}).)*)', re.DOTALL)
_REGION = re.compile(r'(?m)^[ \t]*region[ \t]*=[ \t]*("[^"\n]*"|(?:local|var)\.[\w-]+)')
_CONFIG = re.compile(r"(?m)^kind:[ \t]*ClusterConfig\b")
_CONFIG_REGION = re.compile(r"(?m)^metadata:[^\n]*\bregion:[ \t]*[\"']?([\w-]+)|^  region:[ \t]*[\"']?([\w-]+)")
_SUBNETS = re.compile(r'(?m)^[ \t]*(?:azs|availability_zones?)[ \t]*=[ \t]*\[?\s*"([a-z]{2}-[a-z-]+-\d)[a-z]"')
_ENDPOINT = re.compile(
    r"(?i)\bcluster_?endpoint\b[^\n]{0,40}https://\w+\.\w+\.([a-z]{2}-[a-z-]+-\d)\.eks\.amazonaws\.com"
)
_IN_SCRIPT = re.compile(r"(?m)^[ \t]*(?:export[ \t]+)?AWS_(?:DEFAULT_)?REGION=[\"']?([a-z]{2}-[a-z-]+-\d)\b")
_TERRAFORM = (".tf", ".tofu", ".hcl")
_Statement = tuple[str, Span, bool]
"""A region, the place that states it, and whether it is the default of a variable, which a run may replace."""


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    gives_way_to=["no-instance-type", "unknown-value", "removed-api"],
    mentions=["topology.kubernetes.io/zone"],
    subject="network",
    source=[
        "provider:pkg/providers/subnet/subnet.go@v1.14.1:79",
        "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    pools = [obj for obj in context.objects if isinstance(obj, NodePool) and obj.source.path == source.path]
    asking = [(item, regions) for pool in pools for item, regions in _asked_regions(pool)]
    found = _find_regions(context) if asking else []
    certain = [statement for statement in found if not statement[2]]
    stated = {region: at for region, at, _ in reversed(certain or found)}
    for item, regions in asking:
        if not stated or any(region in regions for region, _, _ in found) or _is_named(regions, source.path, context):
            continue
        region, at = next(reversed(stated.items()))
        by_default = "" if certain else " by default"
        yield Finding(
            at=pool_requirements.values_at(item),
            message=f"the zones are in {', '.join(sorted(regions))}, but the cluster is in "
            f"{' or '.join(sorted(stated))}{by_default}:"
            " Karpenter launches nothing",
            severity=None if certain else "info",
            also=[Also(at, f"states {region}{by_default}")],
            help="use zones of the cluster's region",
        )


def _asked_regions(pool: NodePool) -> Iterator[tuple["pool_requirements.PoolRequirement", set[str]]]:
    """Yield the zone requirement of a pool, with the regions of its zones. Nothing if the regions are not known."""
    item = pool_requirements.find_last_requirement(pool, keys.ZONE)
    if item is None or item.operator != "In" or not item.known or not item.texts or pool.partial:
        return
    regions = {selectors.region_of(zone) for zone in item.texts}
    if None not in regions:
        yield item, {str(region) for region in regions}


def _is_named(regions: set[str], path: str, context: Context) -> bool:
    """Return whether a path or a file names one of the regions: another cluster may be there."""
    names = "|".join(sorted(regions))
    return any(region in path for region in regions) or context.run_files.is_in_files(
        re.compile(rf"\b(?:{names})(?![\w-])"), around=True
    )


def _find_regions(context: Context) -> list[_Statement]:
    """Return the regions that files state for the cluster, each with its place."""
    found: list[_Statement] = []
    run_files = context.run_files
    for file in run_files.terraform.files if run_files.has_terraform else ():
        if file.path.endswith(_TERRAFORM):
            found += _find_in_terraform(file, run_files.terraform)
    for pattern in (_CONFIG, _ENDPOINT):
        for file in run_files.files_with(pattern, around=True):
            stated = (_CONFIG_REGION if pattern is _CONFIG else _ENDPOINT).search(file.text)
            if stated is not None:
                number = 1 if stated[1] else 2
                found.append((stated[number], Span(file, *stated.span(number)), False))
    installing = {path for install in run_files.installs for path in install.paths}
    for file in run_files.files_with(_IN_SCRIPT, around=True) if installing else ():
        if file.path in installing:
            found += [(m[1], Span(file, *m.span(1)), False) for m in _IN_SCRIPT.finditer(file.text)]
    return found


def _find_in_terraform(file: Source, blocks: "terraform_trace.TerraformBlocks") -> Iterator[_Statement]:
    """Yield the regions of the providers and subnets in a file."""
    for provider in _PROVIDER.finditer(file.text):
        written = _REGION.search(provider[1])
        if written is None or "alias" in provider[1]:
            continue
        start = provider.start(1) + written.start(1)
        at = Span(file, start, start + len(written[1]))
        name = blocks.literal(written[1], file.path)
        if name is not None:
            yield name, at, False
            continue
        for region, is_default in blocks.provider_values(file.path, "aws", "region"):
            yield region, at, is_default
    for subnets in _SUBNETS.finditer(file.text):
        yield subnets[1], Span(file, *subnets.span(1)), False
