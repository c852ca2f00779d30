r"""A selector term finds more subnets or security groups than intended, for example those of another VPC or cluster.

One fault is a tag with any value, such as `Name: "*"`. Such a term finds every subnet or security group of the region
that has the tag: subnets of other VPCs, public subnets, subnets of databases, security groups of load balancers.
Karpenter passes all of them to EC2, and nodes start in any of these subnets. If subnets and groups belong to
different VPCs, launches fail.

```yaml bad frame=class
spec.subnetSelectorTerms:
  - tags:
      Name: "*"
```

```yaml good frame=class
```

The name `*` of a security group is reported as well. A name is a pattern as well, so this term finds all groups of
the region.

```yaml bad frame=class
spec.securityGroupSelectorTerms:
  - name: "*"
```

```yaml good frame=class
```

A tag can also have a pattern as its value. Resources that somebody creates later can match it as well.

`Name: prod-private-*` finds today's subnets. Tomorrow it can find subnets that another team or the stack of another
cluster creates with such a name. Karpenter uses them at once: nodes start there, and a change of security groups
replaces running nodes. Use a tag made for this purpose, such as `karpenter.sh/discovery: <cluster>`, and put it only
on the resources that you mean. If the whole value is `*`, the term asks for the tag with any value. If the text
before the star has three words or a placeholder (`shop-prod-private-*`, `${cluster}-private-*`), it probably names
the cluster: only `--select` and `--extend-select` show such a pattern.

```yaml bad frame=class
spec.subnetSelectorTerms:
  - tags:
      Name: prod-private-*
```

```yaml good frame=class
```

Another fault is a tag that many other resources have, such as `Environment: dev`.

Karpenter searches the whole account and region and uses everything that it finds. Tags such as `Environment`, `Team`
or `ManagedBy` are on subnets and groups of every VPC of that environment: of databases, load balancers and other
clusters. Karpenter attaches all matching security groups to each node. `kubernetes.io/role/internal-elb` marks the
private subnets of every cluster. `kubernetes.io/cluster/<name>` marks both public and private subnets, and so does
eksctl's `alpha.eksctl.io/cluster-name`, which is on everything that eksctl creates. Use a tag made for this purpose,
such as `karpenter.sh/discovery: <cluster>`. If its value is `true`, it does not name the cluster.

```yaml bad frame=class
spec.subnetSelectorTerms:
  - tags:
      Environment: dev
```

```yaml good frame=class
```

```yaml bad frame=class
spec.subnetSelectorTerms:
  - tags:
      kubernetes.io/cluster/main: shared
```

```yaml good frame=class
```

```yaml bad frame=class
spec.subnetSelectorTerms: [{tags: {alpha.eksctl.io/cluster-name: main}}]
spec.securityGroupSelectorTerms: [{tags: {alpha.eksctl.io/cluster-name: main}}]
```

```yaml good frame=class
```

If facts from AWS are available, the rule reports terms that find resources of several VPCs, or several groups of one
cluster.

A node has its network interface in one VPC and needs security groups of that VPC. Karpenter does not sort by VPC: it
passes every subnet and every group that it finds to EC2. If they do not belong together, some or all launches fail.

The AWS Load Balancer Controller looks for exactly one security group of a node with the tag
`kubernetes.io/cluster/<name>`. If a node has several, the controller reports "expected exactly one securityGroup
tagged", and its targets get no traffic. EKS tags the group that it creates for the cluster. Most Terraform modules
tag the group of the nodes as well, so a term on that tag finds both. Several groups without the tag are not a
problem.

The rule also reports a class whose subnets and security groups have the `kubernetes.io/cluster/<name>` tags of
different clusters. One of the tags was probably copied. If the clusters share the subnets on purpose, it works.

```yaml bad frame=class
spec.subnetSelectorTerms: [{tags: {kubernetes.io/cluster/blue: "*", tier: private}}]
spec.securityGroupSelectorTerms: [{tags: {kubernetes.io/cluster/green: owned, Name: green-node}}]
```

```yaml good frame=bad
spec.subnetSelectorTerms: [{tags: {kubernetes.io/cluster/green: "*", tier: private}}]
```

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

```yaml bad frame=class
spec.securityGroupSelectorTerms:
  - tags:
      kubernetes.io/cluster/main: owned
```

```yaml good frame=class
```

The name of a security group is unique only within its VPC:

```yaml facts
subnets:
  - {id: subnet-0a, zone: us-east-1a, zoneId: use1-az1, vpc: vpc-main, tags: {Name: private-a}}
  - {id: subnet-0b, zone: us-east-1b, zoneId: use1-az2, vpc: vpc-main, tags: {Name: private-b}}
  - {id: subnet-0c, zone: us-east-1a, zoneId: use1-az1, vpc: vpc-staging, tags: {Name: private-staging}}
securityGroups:
  - {id: sg-0a, name: nodes, vpc: vpc-main}
  - {id: sg-0b, name: nodes, vpc: vpc-staging}
```

```yaml bad frame=class
spec.subnetSelectorTerms: [{tags: {Name: "private-*"}}]
spec.securityGroupSelectorTerms: [{name: nodes}]
```

```yaml good frame=bad
spec.subnetSelectorTerms: [{tags: {Name: "private-?"}}]
spec.securityGroupSelectorTerms: [{id: sg-0a}]
```
"""

from __future__ import annotations

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    RuleCheck,
    labels,
    manifest,
    messages,
    rule,
    run_checks,
    selectors,
    snapshot,
)


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["empty-selector", "removed-api"],
    may_need=("subnets", "security-groups"),
    renamed=("any-value", "wildcard-selector", "shared-tags"),
    subject="network",
    source=[
        "provider:pkg/providers/subnet/subnet.go@v1.14.1:81",
        "provider:pkg/providers/securitygroup/securitygroup.go@v1.14.1:56",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    yield from run_checks(
        node_class,
        context,
        RuleCheck(_check_found, needs_facts=True),
        RuleCheck(_check_clusters, severity="info"),
        RuleCheck(_check_any_value),
        RuleCheck(_check_pattern, severity="info", strict=True),
        RuleCheck(_check_shared, severity="info", strict=True),
    )


TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Network = selectors.Finds[snapshot.Subnet] | selectors.Finds[snapshot.SecurityGroup]


def _check_found(node_class: EC2NodeClass, context: Context) -> Findings:
    selectors.check_region(context.pools(node_class), context.facts, "subnets")
    subnets, groups = selectors.subnets_of(node_class, context.facts), selectors.groups_of(node_class, context.facts)
    yield from (*subnets.skips(), *groups.skips())
    apart = [*_of_several_vpcs("subnets", subnets), *_of_several_vpcs("security groups", groups)]
    yield from apart or _strangers(subnets, groups)
    yield from _owned_alike(groups) or _owned_apart(groups)


def _of_several_vpcs(what: str, finds: Network) -> list[Finding]:
    """Return a finding about subnets or security groups of several VPCs."""
    vpcs = _vpcs(finds)
    if len(vpcs) < 2:
        return []
    ids = "; ".join(f"{vpc}: {_ids([thing for thing in finds.known if thing.vpc == vpc])}" for vpc in vpcs)
    return [
        Finding(
            at=_place(finds, lambda found: len({thing.vpc for thing in found}) > 1),
            message=f"the terms find {what} of {len(vpcs)} VPCs, `{vpcs[0]}` and `{vpcs[1]}`",
            note="a node and its security groups must be in one VPC",
            help=f"change the terms so that they find one VPC ({ids})",
        )
    ]


def _strangers(
    subnets: selectors.Finds[snapshot.Subnet], groups: selectors.Finds[snapshot.SecurityGroup]
) -> list[Finding]:
    """Return a finding if all security groups are in another VPC than the subnets.

    A security group can be associated with a second VPC.
    """
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
    """Return a finding about several security groups with the tag of one cluster."""
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
            at=_place(groups, lambda found: sum(thing in bearers for thing in found) > 1),
            message=messages.first_fitting(f"{ids} both have the tag {tag}", count) if len(bearers) == 2 else count,
            note="the AWS load balancer controller requires exactly one such group on a node",
            help=f"select one by id or by a tag that only it has ({_ids(bearers)})",
        )
    ]


def _owned_apart(groups: selectors.Finds[snapshot.SecurityGroup]) -> list[Finding]:
    """Return a finding for each term that selects groups of several clusters with no cluster in common.

    Terms with ids are skipped.
    """
    findings = []
    for term in groups.terms:
        owned = [group for group in term.found or () if group.clusters]
        if term.selector_kind == "id" or not owned or set.intersection(*(set(group.clusters) for group in owned)):
            continue
        clusters = list(dict.fromkeys(name for group in owned for name in group.clusters))
        first, second = (f"`{messages.short(name, 20)}`" for name in clusters[:2])
        message = f"the term finds security groups of {len(clusters)} clusters: {first}, {second}"
        findings.append(
            Finding(at=term.place, message=message, help=f"select the groups of one cluster only ({_ids(owned)})")
        )
    return findings


def _place(finds: Network, broad: Callable[[Sequence[Any]], bool] = bool) -> Node:
    """Return the term that selects too much, if there is exactly one such term; else the selector."""
    terms = [term for term in finds.terms if broad(term.found or ())]
    assert finds.at is not None
    return terms[0].place if len(terms) == 1 else finds.at


def _vpcs(finds: Network) -> list[str]:
    return list(dict.fromkeys(thing.vpc for thing in finds.known))


def _ids(things: Sequence[snapshot.Subnet | snapshot.SecurityGroup]) -> str:
    """Return up to four subnets or groups by id and name."""
    shown = [f"{thing.id} {messages.short(thing.name, 30)}" if thing.name else thing.id for thing in things]
    return messages.list_first(shown, 4)


def _check_clusters(node_class: EC2NodeClass, context: Context) -> Findings:
    """Yield a finding if the cluster tags of subnets and of security groups name different clusters."""
    subnets, groups = (_clusters(terms) for terms in (node_class.subnet_terms, node_class.security_group_terms))
    if subnets is None or groups is None or subnets.keys() & groups.keys():
        return
    pairs = ((subnet, group) for subnet in subnets for group in groups if subnet[0] == group[0])
    pair = next(pairs, None)  # what tags of two kinds name may be one cluster by two names
    if pair is None:
        return
    (_, ours), (_, theirs) = pair
    place, at = subnets[pair[0]], groups[pair[1]]
    yield Finding(
        at=at,
        message=f"security groups are selected by the tag of `{messages.short(theirs, 30)}`, and subnets by the "
        "tag of "
        f"`{messages.short(ours, 30)}`",
        also=[Also(place, "this is the tag of the subnets")],
        help="select both by the tags of one cluster, unless the two share the subnets",
    )


def _clusters(terms: Sequence[manifest.SelectorTerm]) -> dict[tuple[str, str], Node] | None:
    """Return the clusters that the terms' tags name, by kind of tag and name, each with its node.

    None if a term selects by other means, or is not known.
    """
    found: dict[tuple[str, str], Node] = {}
    for term in terms:
        if term.id or term.name or any(not isinstance(tag.key, str) for tag in term.tags):
            return None
        owned = [tag for tag in term.tags if str(tag.key).startswith(CLUSTER)]
        named = [tag for tag in term.tags if tag.key == DISCOVERY]
        if any(not isinstance(tag.value, str) or _is_pattern(tag.value) for tag in named) or not (owned or named):
            return None
        found |= {(CLUSTER, str(tag.key).removeprefix(CLUSTER)): tag.key_node for tag in owned}
        found |= {(DISCOVERY, str(tag.value)): tag.key_node for tag in named}
    return found


def _is_pattern(value: str) -> bool:
    """Return whether a tag's value names no cluster, or matches several names."""
    return not value or value in ANY or "*" in value or "?" in value


def _list_terms(node_class: EC2NodeClass) -> list[tuple[str, manifest.SelectorTerm]]:
    """Return the terms that select subnets or security groups, each with what it selects."""
    groups = [("security groups", term) for term in node_class.security_group_terms]
    return [*(("subnets", term) for term in node_class.subnet_terms), *groups]


def _check_any_value(node_class: EC2NodeClass, context: Context) -> Findings:
    for what, term in _list_terms(node_class):
        name = term.node.get("name")
        if name is not None and isinstance(term.name, str) and term.name and not term.name.strip("*?"):
            yield Finding(
                at=name,
                message=f"`name: {messages.short(term.name, 20)}` finds all {what} of the region",
                note=f"this includes {what} of other VPCs and other clusters",
                help=f"select by a tag that only this cluster's {what} have: `karpenter.sh/discovery: <cluster>`",
            )
        if not term.tags or term.id or term.name:
            continue
        if all(tag.value == "*" and isinstance(tag.key, str) and _is_common(tag.key) for tag in term.tags):
            tag = term.tags[0]
            yield Finding(
                at=tag.key_node,
                message=f"`{messages.short(str(tag.key), 30)}: *` finds all {what} of the region with this tag",
                note=f"this includes {what} of other VPCs and other clusters",
                help=f"select by a tag that only this cluster's {what} have: `karpenter.sh/discovery: <cluster>`",
            )


def _is_common(key: str) -> bool:
    """Return whether resources of many kinds have this tag key."""
    return key == "Name" or labels.is_shared_tag(key)


def _check_pattern(node_class: EC2NodeClass, context: Context) -> Findings:
    for what, term in _list_terms(node_class):
        # `${CLUSTER}-private-*` is a pattern for any value of the placeholder.
        patterns = [tag for tag in term.tags if _is_open_pattern(tag.node.unquoted)]
        if patterns and len(patterns) == len(term.tags):
            key, value = patterns[0].key_node.unquoted, messages.short(patterns[0].node.unquoted, 30)
            yield Finding(
                at=patterns[0].key_node,
                on_request=any(_is_specific(tag.node.unquoted) for tag in patterns),
                message=f"`{messages.short(key, 24)}: {value}` is a pattern: {what} created later may match it "
                "as well",
                help=f"select by a tag that only the right {what} have, such as `karpenter.sh/discovery: <cluster>`",
            )


def _is_open_pattern(value: str) -> bool:
    """Return whether a value begins with some text and ends with a star. False for `*` alone: any value is meant."""
    return value.endswith("*") and bool(value.strip("*?"))


def _is_specific(value: str) -> bool:
    """Return whether the text before the star probably names a cluster: it has three words, or a placeholder."""
    fixed = value[: value.index("*")]
    return "{" in fixed or "$" in fixed or len([word for word in fixed.replace("_", "-").split("-") if word]) >= 3


CLUSTER = "kubernetes.io/cluster/"
EKSCTL = ("alpha.eksctl.io/cluster-name", "eksctl.cluster.k8s.io/v1alpha1/cluster-name")
"""Tags that eksctl sets on all resources of a cluster's CloudFormation stack."""
INTERNAL = "kubernetes.io/role/internal-elb"
DISCOVERY = "karpenter.sh/discovery"
ANY = ("true", "yes", "enabled", "shared", "1", "*")
"""Tag values that do not name a cluster."""


def _check_shared(node_class: EC2NodeClass, context: Context) -> Findings:
    for what, term in _list_terms(node_class):
        tags = [str(tag.key) for tag in term.tags if isinstance(tag.key, str)]
        if not tags or len(tags) < len(term.tags) or term.id or term.name:
            continue
        why = _explain_breadth(tags, what)
        first = term.tags[0]
        if why is None and len(tags) == 1 and tags[0] == DISCOVERY and first.value in ANY:
            yield Finding(
                at=first.node,
                message=f"`{DISCOVERY}: {first.value}` names no cluster: {what} of another cluster may have it "
                "as well",
                help=f"tag them with the name of the cluster: `{DISCOVERY}: <cluster>`",
            )
        elif why is not None:
            yield Finding(
                at=first.key_node,
                once=f"{what} by {tags[0].partition('/')[0]}",
                message=f"`{messages.short(tags[0], 40)}` {why}",
                help="select by a tag that only this cluster uses: `karpenter.sh/discovery: <cluster>`",
            )


def _explain_breadth(tags: list[str], what: str) -> str | None:
    """Return why the tags match more than intended; None if one of them is specific."""
    if all(labels.is_shared_tag(tag) for tag in tags):
        return f"does not identify a cluster: other {what} of the account may have it as well"
    if what == "subnets" and all(tag == INTERNAL for tag in tags):
        return "marks the private subnets of every cluster in the account"
    if what == "subnets" and len(tags) == 1 and tags[0].startswith(CLUSTER):
        return "marks both public and private subnets of the cluster"
    if what == "subnets" and all(tag in EKSCTL for tag in tags):
        return "is on both public and private subnets that eksctl creates"
    if what == "security groups" and all(tag in EKSCTL for tag in tags):
        return "is on every group that eksctl creates for the cluster, including the control plane's"
    return None
