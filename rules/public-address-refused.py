r"""`associatePublicIPAddress: true` on nodes with several network interfaces: EC2 refuses to launch them.

EC2 gives a public address at launch to an instance with one network interface only. Karpenter writes the field into
each interface of the launch template. So a class with two or more entries of `networkInterfaces` never launches
(those of the type `efa-only` are written without the field, and do not help: the number of interfaces counts), and
neither does a node for pods that ask for `vpc.amazonaws.com/efa`, which gets one interface for each EFA device of its
instance type. A type with one EFA device is no problem.

```yaml bad frame=class karpenter=1.14.1
spec.associatePublicIPAddress: true
spec.networkInterfaces:
  - {networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}
  - {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}
```

```yaml good frame=bad karpenter=1.14.1
spec.associatePublicIPAddress: null
```
"""

from collections.abc import Iterator

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, Node, cluster_objects, fit, messages, rule

_EFA = "vpc.amazonaws.com/efa"


@rule(
    on=EC2NodeClass,
    group="correctness",
    severity="warning",
    gives_way_to=["unknown-field", "invalid-field", "removed-api"],
    mentions=["associatePublicIPAddress"],
    subject="network",
    source="provider:pkg/providers/launchtemplate/launchtemplate.go@v1.14.1:300",
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    public = node_class.node.find("spec", "associatePublicIPAddress")
    if public is None or public.value is not True:
        return
    interfaces = node_class.node.find("spec", "networkInterfaces")
    if interfaces is not None and (interfaces.kind != "sequence" or interfaces.items):
        if len(interfaces.items) > 1:
            yield _finding(public, Also(interfaces, f"{len(interfaces.items)} interfaces"), "the class has several")
        return
    asking = next(_find_asking(node_class, context), None)
    if asking is not None:
        workload, name, count = asking
        what = f"{messages.short(name, 24)} has {count} for the EFA devices that pods ask for"
        yield _finding(public, Also(workload.name_node, f"asks for `{_EFA}`"), what)


def _finding(at: Node, also: Also, why: str) -> Finding:
    return Finding(
        at=at,
        message=f"EC2 gives no public address to nodes with several network interfaces: {why}",
        also=[also],
        note="the launch of these nodes fails: a public address takes a single interface",
        help="leave `associatePublicIPAddress` out, and use a NAT gateway or VPC endpoints",
    )


def _find_asking(node_class: EC2NodeClass, context: Context) -> "Iterator[tuple[cluster_objects.Workload, str, int]]":
    """Workloads that ask for EFA and only get types with several EFA devices, with the first of these types."""
    for obj in context.objects if not context.pools_elsewhere else ():
        if not isinstance(obj, cluster_objects.Workload) or obj.partial or _EFA not in fit.requests_of(obj):
            continue
        found = context.fit(obj)
        taking = [verdict for verdict in found.verdicts if verdict.fits]
        if found.elsewhere or found.unknown or not taking:
            continue
        first = taking[0]
        resolution = first.pool.resolution
        if resolution.node_class is not node_class:
            continue
        names = resolution.catalog.names_in(first.types)
        counts = [int(resolution.catalog.resources.amounts(name).get(_EFA, "0")) for name in names]
        if counts and min(counts) > 1:
            yield obj, names[0], counts[0]
