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

from collections.abc import Iterator

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    Source,
    cluster_regions,
    keys,
    pool_requirements,
    rule,
    selectors,
)


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
    found = cluster_regions.find_regions(context.run_files) if asking else []
    certain = [statement for statement in found if not statement[2]]
    stated = {region: at for region, at, _ in reversed(certain or found)}
    for item, regions in asking:
        if not stated or any(region in regions for region, _, _ in found):
            continue
        if cluster_regions.names_region(regions, source.path, context.run_files):
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
