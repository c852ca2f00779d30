r"""Selector terms that find subnets or security groups of several VPCs, or several groups that a cluster owns.

A node has its network interface in one VPC and takes security groups of that VPC. Karpenter does not sort by VPC: it
hands EC2 every subnet and every group that it finds. Where they do not belong together, launches fail, some or all.

A cluster's load balancers and its AWS load balancer controller look for the one security group of a node that bears
the tag `kubernetes.io/cluster/<name>`. With several of them on a node the controller reports "expected exactly one
securityGroup tagged" and its targets get no traffic. EKS tags the group that it makes for the cluster, and most
Terraform modules tag one for the nodes: a term on that tag finds both. Several groups without it are no fault.

```yaml facts
subnets:
  - {id: subnet-0a, zone: us-east-1a, zoneId: use1-az1, tags: {karpenter.sh/discovery: main}}
securityGroups:
  - {id: sg-0a, name: eks-cluster-sg-main, clusters: [main], tags: {kubernetes.io/cluster/main: owned}}
  - id: sg-0b
    name: main-node
    clusters: [main]
    tags: {kubernetes.io/cluster/main: owned, karpenter.sh/discovery: main}
```

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        kubernetes.io/cluster/main: owned
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```

A name of a security group is unique in its VPC only.

```yaml facts
subnets:
  - {id: subnet-0a, zone: us-east-1a, zoneId: use1-az1, vpc: vpc-main, tags: {Name: private-a}}
  - {id: subnet-0b, zone: us-east-1b, zoneId: use1-az2, vpc: vpc-main, tags: {Name: private-b}}
  - {id: subnet-0c, zone: us-east-1a, zoneId: use1-az1, vpc: vpc-staging, tags: {Name: private-staging}}
securityGroups:
  - {id: sg-0a, name: nodes, vpc: vpc-main}
  - {id: sg-0b, name: nodes, vpc: vpc-staging}
```

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {Name: "private-*"}}]
  securityGroupSelectorTerms: [{name: nodes}]
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {Name: "private-?"}}]
  securityGroupSelectorTerms: [{id: sg-0a}]
```
"""

from __future__ import annotations

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, Node, messages, rule, selectors, snapshot

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Network = selectors.Finds[snapshot.Subnet] | selectors.Finds[snapshot.SecurityGroup]


@rule(on=EC2NodeClass, group="hazard", needs=("subnets", "security-groups"))
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    selectors.check_region(context.pools(node_class), context.facts, "subnets")
    subnets, groups = selectors.subnets_of(node_class, context.facts), selectors.groups_of(node_class, context.facts)
    yield from (*subnets.skips(), *groups.skips())
    apart = [*_of_several_vpcs("subnets", subnets), *_of_several_vpcs("security groups", groups)]
    yield from apart or _strangers(subnets, groups)
    yield from _owned_alike(groups) or _owned_apart(groups)


def _of_several_vpcs(what: str, finds: Network) -> list[Finding]:
    """Subnets or groups of several VPCs."""
    vpcs = _vpcs(finds)
    if len(vpcs) < 2:
        return []
    each = "; ".join(f"{vpc}: {_ids([thing for thing in finds.known if thing.vpc == vpc])}" for vpc in vpcs)
    return [
        Finding(
            at=_place(finds, lambda found: len({each.vpc for each in found}) > 1),
            message=f"the terms find {what} of {len(vpcs)} VPCs, `{vpcs[0]}` and `{vpcs[1]}`",
            note="a node and its security groups have to be in one VPC",
            help=f"narrow the terms ({each})",
        )
    ]


def _strangers(
    subnets: selectors.Finds[snapshot.Subnet], groups: selectors.Finds[snapshot.SecurityGroup]
) -> list[Finding]:
    """Groups that are all of another VPC than the subnets. (A group can be associated with a second VPC.)"""
    ours, theirs = _vpcs(subnets), _vpcs(groups)
    if not ours or not theirs or ours == theirs:
        return []
    return [
        Finding(
            at=_place(groups),
            message=f"the security groups belong to `{theirs[0]}`, the subnets to `{ours[0]}`",
            also=[Also(_place(subnets), f"finds subnets of `{ours[0]}`")],
            note="EC2 refuses security groups that are not associated with the VPC of the subnet",
            help=f"select security groups of that VPC instead of {_ids(groups.known)}",
        )
    ]


def _owned_alike(groups: selectors.Finds[snapshot.SecurityGroup]) -> list[Finding]:
    """Several groups with the tag of one cluster."""
    named = [name for group in groups.known for name in group.clusters]
    cluster = next((name for name in named if named.count(name) > 1), None)
    if cluster is None:
        return []
    bearers = [group for group in groups.known if cluster in group.clusters]
    tag = f"`kubernetes.io/cluster/{messages.short(cluster, 40)}`"
    count = f"{len(bearers)} of the security groups have the tag {tag}"
    ids = " and ".join(f"`{group.id}`" for group in bearers)
    return [
        Finding(
            at=_place(groups, lambda found: sum(each in bearers for each in found) > 1),
            message=messages.first_fitting(f"{ids} both have the tag {tag}", count) if len(bearers) == 2 else count,
            note="the AWS load balancer controller requires exactly one such group on a node",
            help=f"select one by id or by a tag that only it has ({_ids(bearers)})",
        )
    ]


def _owned_apart(groups: selectors.Finds[snapshot.SecurityGroup]) -> list[Finding]:
    """One term that finds groups of several clusters, with no cluster in common: ids are meant as they are."""
    findings = []
    for term in groups.terms:
        owned = [group for group in term.found or () if group.clusters]
        if term.by == "id" or not owned or set.intersection(*(set(group.clusters) for group in owned)):
            continue
        clusters = list(dict.fromkeys(name for group in owned for name in group.clusters))
        first, second = (f"`{messages.short(name, 20)}`" for name in clusters[:2])
        message = f"the term finds security groups of {len(clusters)} clusters: {first}, {second}"
        findings.append(Finding(at=term.place, message=message, help=f"narrow it to one cluster ({_ids(owned)})"))
    return findings


def _place(finds: Network, broad: Callable[[Sequence[Any]], bool] = bool) -> Node:
    """The term that is too broad by itself, where there is one such; else the selector."""
    terms = [term for term in finds.terms if broad(term.found or ())]
    assert finds.at is not None
    return terms[0].place if len(terms) == 1 else finds.at


def _vpcs(finds: Network) -> list[str]:
    return list(dict.fromkeys(each.vpc for each in finds.known))


def _ids(things: Sequence[snapshot.Subnet | snapshot.SecurityGroup]) -> str:
    """Up to four things by id and name."""
    shown = [f"{each.id} {messages.short(each.name, 30)}" if each.name else each.id for each in things[:4]]
    return ", ".join(shown) + (f" and {len(things) - 4} more" if len(things) > 4 else "")
