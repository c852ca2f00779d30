r"""NodePools of one cluster that ask for zones of different regions, of which one never launches a node.

A cluster is in one region, and so are its subnets. A pool that asks for zones of another region finds no subnet
there: its pods stay Pending. The rule compares pools of one folder whose classes select their subnets by the same
terms.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: amd64
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: topology.kubernetes.io/zone, operator: In, values: [ap-southeast-1a, ap-southeast-1b]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: arm64
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: topology.kubernetes.io/zone, operator: In, values: [ap-northeast-1a, ap-northeast-1c]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: amd64
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: topology.kubernetes.io/zone, operator: In, values: [ap-northeast-1a, ap-northeast-1c]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: arm64
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: topology.kubernetes.io/zone, operator: In, values: [ap-northeast-1a, ap-northeast-1c]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

from nodelint.api import Also, Context, Finding, Findings, NodePool, keys, labels, rule, selectors


@rule(on=NodePool, group="hazard", gives_way_to=["unknown-value", "zone-without-subnet", "removed-api"])
def check(pool: NodePool, context: Context) -> Findings:
    region, zones = _region(pool)
    if region is None or zones is None:
        return
    for other in context.beside(pool):
        another, its_zones = _region(other)
        # Told once, of the pool that comes first.
        if another is None or its_zones is None or another == region or not _is_first(pool, other, context):
            continue
        own, theirs = _subnets(pool, context), _subnets(other, context)
        if own is not None and own == theirs:
            yield Finding(
                at=labels.values_at(zones),
                message=f"zones of {region}, while `{other.name}` of the same cluster asks for zones of {another}",
                also=[Also(labels.values_at(its_zones), f"zones of {another}")],
                note="a cluster is in one region: one of the pools finds no subnet and launches nothing",
                help="ask both for zones of the cluster's region",
            )
            return


def _region(pool: NodePool) -> tuple[str | None, labels.PoolRequirement | None]:
    """The one region of the zones that a pool asks for."""
    item = labels.last_asking(pool, keys.ZONE)
    if item is None or item.operator != "In" or not item.known or pool.partial:
        return None, None
    regions = {selectors.region_of(text) for text in item.texts}
    return (regions.pop(), item) if len(regions) == 1 else (None, None)


def _is_first(pool: NodePool, other: NodePool, context: Context) -> bool:
    return next((each for each in context.objects if each is pool or each is other), None) is pool


def _subnets(pool: NodePool, context: Context) -> object:
    """The subnet terms of a pool's class; None where they are not known."""
    node_class = context.node_class(pool)
    terms = node_class.node.at("spec", "subnetSelectorTerms") if node_class is not None else None
    return terms.plain() if terms is not None else None
