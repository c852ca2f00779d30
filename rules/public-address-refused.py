r"""A class sets `associatePublicIPAddress: true`, but its nodes have several network interfaces, so EC2 refuses them.

At launch EC2 gives a public address only to an instance with one network interface. Karpenter writes the field into
each interface of the launch template. So a class with two or more entries of `networkInterfaces` never launches a
node. Entries of the type `efa-only` count as well, although Karpenter does not write the field for them. The launch
also fails for pods that request `vpc.amazonaws.com/efa` if the instance type has several EFA devices, because the
node gets one interface for each. A type with one EFA device works.

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
        note="the launch of these nodes fails: EC2 gives a public address only to nodes with one interface",
        help="remove `associatePublicIPAddress`, and use a NAT gateway or VPC endpoints",
    )


def _find_asking(node_class: EC2NodeClass, context: Context) -> "Iterator[tuple[cluster_objects.Workload, str, int]]":
    """Yield each workload that requests EFA devices and only fits instance types with several of them: the workload,
    the first such type and its number of EFA devices.
    """
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
