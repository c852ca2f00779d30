"""A NodePool has zones of another region than its cluster, so Karpenter launches nothing.

A cluster is in one region, and so are its subnets. If a NodePool has zones of another region, it finds no subnet, and
its pods stay Pending. This happens when somebody copies a NodePool from a cluster of another region.

The rule reads the region from the files of the repository: the provider `aws` of Terraform (without an alias) and a
`ClusterConfig` of eksctl. It reports nothing if the files state several regions and one of them fits the zones.

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
    stated = dict(_find_regions(context)) if asking else {}
    for item, regions in asking:
        if not stated or regions & stated.keys():
            continue
        region, at = next(iter(stated.items()))
        yield Finding(
            at=pool_requirements.values_at(item),
            message=f"the zones are in {', '.join(sorted(regions))}, but the cluster is in "
            f"{' or '.join(sorted(stated))}:"
            " Karpenter launches nothing",
            also=[Also(at, f"states {region}")],
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


def _find_regions(context: Context) -> Iterator[tuple[str, Span]]:
    """Yield each region that a file states for the cluster, with its place."""
    files = context.run_files.files_of_run
    making = [file for file in files if file.path.endswith((".tf", ".tofu")) and _PROVIDER.search(file.text)]
    blocks = terraform_trace.TerraformBlocks(files) if making else None
    for file in files:
        if blocks is not None and file in making:
            for provider in _PROVIDER.finditer(file.text):
                written = _REGION.search(provider[1])
                if written is None or "alias" in provider[1]:
                    continue
                name = blocks.literal(written[1], file.path)
                if name is not None:
                    start = provider.start(1) + written.start(1)
                    yield name, Span(file, start, start + len(written[1]))
        elif _CONFIG.search(file.text):
            found = _CONFIG_REGION.search(file.text)
            if found is not None:
                number = 1 if found[1] else 2
                yield found[number], Span(file, *found.span(number))
