r"""A NodePool that limits CPUs and not memory, and allows types with little and with much memory for each CPU.

A limit of CPUs is a limit of cost where all types have about the same shape. `c` types have 2 GiB for each CPU, `r`
types 8 and `x` types 16 and more, so that the same number of CPUs can be four times the memory and nearly twice the
price. Karpenter takes the shape that the pods ask for: one team with large requests for memory moves the whole pool.
Limit memory as well.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  limits:
    cpu: 100
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  limits:
    cpu: 100
    memory: 400Gi
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, resolve, rule

APART = 4
"""How many times as much memory for each CPU the type with most has, at least."""


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["limit-too-small", "no-limits", "no-instance-type", "removed-api", "unknown-limit"],
    providers=["aws", "auto-mode"],
)
def check(pool: NodePool, context: Context) -> Findings:
    limits = {limit.resource: limit for limit in resolve.limits(pool)}
    cpu = limits.get("cpu")
    if pool.partial or cpu is None or len(limits) > 1 or not cpu.amount:
        return
    resolution = context.resolution(pool)
    if fixes.doubts(resolution):
        return
    catalog = resolution.catalog
    types = resolution.candidates - resolve.special(catalog) - catalog.having_value(keys.HYPERVISOR, "xen")
    shapes = resolve.memory_for_cpu(cpu.amount, types, catalog)
    if shapes is None:
        return
    (least, lean), (most, rich) = shapes
    if most < APART * least:
        return
    yield Finding(
        at=cpu.at.key_node,
        message=f"memory is not limited: the cpu limit `{cpu.at.node.value}` allows {least:,}Gi of `{lean}` "
        f"or {most:,}Gi of `{rich}`",
        help="add a limit of memory",
    )
