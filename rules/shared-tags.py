r"""Subnets or security groups by tags that much else bears too, such as `Environment: dev`.

Karpenter looks in the whole account and region, and takes all that it finds. `Environment`, `Team` or `ManagedBy`
stand on the subnets and groups of every VPC of that environment: databases, load balancers, another cluster. All
security groups that match are put on each node. `kubernetes.io/role/internal-elb` marks the private subnets of every
cluster, and `kubernetes.io/cluster/<name>` the public subnets as well as the private ones; so does eksctl's
`alpha.eksctl.io/cluster-name`, which is on all that eksctl makes. A tag that is made for it, such as
`karpenter.sh/discovery: <cluster>`, is put on what is meant and nothing else; with the value `true` it says
nothing of the cluster.

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
        Environment: dev
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
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
        kubernetes.io/cluster/main: shared
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
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

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {alpha.eksctl.io/cluster-name: main}}]
  securityGroupSelectorTerms: [{tags: {alpha.eksctl.io/cluster-name: main}}]
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, labels, messages, rule

CLUSTER = "kubernetes.io/cluster/"
EKSCTL = ("alpha.eksctl.io/cluster-name", "eksctl.cluster.k8s.io/v1alpha1/cluster-name")
"""What eksctl puts on everything in the CloudFormation stack of a cluster."""
INTERNAL = "kubernetes.io/role/internal-elb"
DISCOVERY = "karpenter.sh/discovery"
ANY = ("true", "yes", "enabled", "shared", "1", "*")
"""Values that say that a tag is there, and not whose it is."""


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["any-value", "broad-selector", "empty-selector", "wildcard-selector", "removed-api"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    for what, terms in (
        ("subnets", node_class.subnet_terms),
        ("security groups", node_class.security_group_terms),
    ):
        for term in terms:
            tags = [str(tag.key) for tag in term.tags if isinstance(tag.key, str)]
            if not tags or len(tags) < len(term.tags) or term.id or term.name:
                continue
            why = _why(tags, what)
            first = term.tags[0]
            if why is None and len(tags) == 1 and tags[0] == DISCOVERY and first.value in ANY:
                yield Finding(
                    at=first.node,
                    message=f"`{DISCOVERY}: {first.value}` names no cluster: {what} of another may have it too",
                    help=f"tag them with the name of the cluster: `{DISCOVERY}: <cluster>`",
                )
            elif why is not None:
                yield Finding(
                    at=first.key_node,
                    message=f"`{messages.short(tags[0], 40)}` {why}",
                    help="select by a tag that only these have, for example `karpenter.sh/discovery: <cluster>`",
                )


def _why(tags: list[str], what: str) -> str | None:
    """Why tags find more than what is meant; None where one of them tells it apart."""
    if all(labels.is_shared_tag(tag) for tag in tags):
        return f"is not a tag of one cluster: other {what} of the account may have it too"
    if what == "subnets" and all(tag == INTERNAL for tag in tags):
        return "marks the private subnets of every cluster in the account"
    if what == "subnets" and len(tags) == 1 and tags[0].startswith(CLUSTER):
        return "marks public subnets of the cluster as well as private ones"
    if what == "subnets" and all(tag in EKSCTL for tag in tags):
        return "is on the public subnets that eksctl makes as well as on private ones"
    if what == "security groups" and all(tag in EKSCTL for tag in tags):
        return "is on every group that eksctl makes for the cluster, that of the control plane too"
    return None
