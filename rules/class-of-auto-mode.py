r"""A NodeClass of EKS Auto Mode has the name `default`, which is the name of the class that EKS itself makes.

If a built-in NodePool (`system` or `general-purpose`) is enabled, EKS makes a NodeClass `default` and manages it. A
class has no namespace, so a second `default` is the same object with two authors. If no built-in NodePool is enabled,
EKS makes no class, but it does once somebody enables such a pool. Rename the class, and the `nodeClassRef` of its
NodePools.

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
    severity="info",
    providers=["auto-mode"],
    subject="objects",
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html",
        "https://docs.aws.amazon.com/eks/latest/userguide/set-builtin-node-pools.html",
    ],
    tags=["names"],
)
def check(obj: Object, context: Context) -> Findings:
    if obj.kind == "NodeClass" and obj.name == "default" and not obj.partial:
        yield Finding(
            at=obj.name_node,
            message="if a built-in NodePool is enabled, EKS manages a NodeClass `default`: it would be this object",
            help="rename this class, and the nodeClassRef of its NodePools",
        )
