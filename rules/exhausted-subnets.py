r"""No subnet of a zone has a free IP address, so Karpenter launches no node in that zone.

In each zone Karpenter uses the subnet with the most free addresses. If no subnet of the zone has a free address, EC2
refuses the launch with "InsufficientFreeAddressesInSubnet". From 1.6.0 on, Karpenter then skips the zone or the
subnet for some minutes and tries again. If this is true for all zones of the class, nothing launches.

The count is EC2's count at the time of the facts. It already excludes the five addresses that AWS reserves in every
subnet. The CNI decides how many addresses a node needs for its pods, so the rule reports only subnets without any
free address. It ignores zones that the NodePools of the class exclude.

```yaml facts
subnets:
  - {id: subnet-0a, zone: us-east-1a, zoneId: use1-az1, free: 0, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-0b, zone: us-east-1b, zoneId: use1-az2, free: 512, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-1a, zone: us-east-1a, zoneId: use1-az1, free: 4091, tags: {karpenter.sh/discovery: pods}}
```

```yaml bad frame=class
```

```yaml good frame=class
spec.subnetSelectorTerms:
  - tags:
      karpenter.sh/discovery: main
  - tags:
      karpenter.sh/discovery: pods
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, Skip, messages, rule, selectors


@rule(
    on=EC2NodeClass,
    group="hazard",
    severity="error",
    needs=("subnets",),
    subject="network",
    source="provider:pkg/providers/subnet/subnet.go@v1.14.1:130",
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    finds, pools = selectors.subnets_of(node_class, context.facts), context.pools(node_class)
    if finds.at is None:
        return
    selectors.check_region(pools, context.facts, "subnets")
    subnets = finds.everything()
    if subnets is None:
        yield Skip(finds.at, "a term for subnets contains a placeholder")
        return
    used = {zone for pool in pools for zone in selectors.zones_left(pool, subnets)} or {
        subnet.zone for subnet in subnets
    }
    free = {subnet.zone for subnet in subnets if subnet.free}
    spent = sorted(used - free)
    if spent:
        ids = ", ".join(subnet.id for subnet in subnets if subnet.zone in spent)
        yield Finding(
            at=finds.terms[0].place if len(finds.terms) == 1 else finds.at,
            message=f"no subnet in `{messages.short(', '.join(spent), 60)}` has a free IP address",
            severity="warning" if used & free else "error",
            note=f"no node can launch in {'these zones' if spent[1:] else 'this zone'}",
            help=f"release IP addresses in {messages.short(ids, 80)}, or select more subnets",
        )
