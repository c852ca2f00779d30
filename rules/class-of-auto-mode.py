r"""A NodeClass of EKS Auto Mode has the name `default`, which is the name of the class that EKS itself makes.

If a built-in NodePool (`system` or `general-purpose`) is enabled, EKS makes a NodeClass `default` and manages it. The
documentation of AWS says to give no other class this name. It does not say which of the two specs applies. Rename
the class, and the `nodeClassRef` of its NodePools. If no built-in NodePool is enabled, EKS makes no class, but
it does once somebody enables such a pool.

```yaml bad frame=node-class
metadata.name: default
```

```yaml good frame=bad
metadata.name: general
```
"""

from nodelint.api import Context, Finding, Findings, Object, rule


@rule(
    on=Object,
    group="hazard",
    severity="warning",
    providers=["auto-mode"],
    subject="objects",
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html",
        "https://docs.aws.amazon.com/eks/latest/userguide/set-builtin-node-pools.html",
    ],
    tags=["names"],
    cel="object.kind != 'NodeClass' || object.metadata.name != 'default'",
)
def check(obj: Object, context: Context) -> Findings:
    if obj.kind == "NodeClass" and obj.name == "default" and not obj.partial:
        yield Finding(
            at=obj.name_node,
            message="EKS makes a NodeClass `default` for its built-in NodePools: two specs have one name",
            help="rename this class, and the nodeClassRef of its NodePools",
        )
