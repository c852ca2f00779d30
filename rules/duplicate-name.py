"""Two objects in one file or folder have the same kind and name, so the one applied last replaces the other.

NodePools and EC2NodeClasses are cluster-scoped, so a name stands for one object in a cluster. `kubectl apply -f`
applies both objects of a file and keeps the second. Kustomize refuses to build. If you need both objects, rename one
of them, and update the pools that refer to it.

Two objects in one file are a warning. Two files of one folder can hold alternatives, so their severity is info.
The rule reports nothing if the files are named for environments, if they are Terraform templates (`.tpl`, `.tftpl`),
because an expression may choose one, or if the folder holds examples.

The rule also mentions an object that Terraform creates as well, with another spec. And it mentions an object that a
file of another folder creates for the same cluster, judged by the tag `karpenter.sh/discovery` of the classes. It
does not, if a folder is named for an environment, a region, overlays or examples.

```yaml bad frame=pool+pool
---
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [arm64]}
```

```yaml good frame=bad
---
metadata.name: arm
spec.weight: 10
```
"""

import os

from nodelint.api import Also, Context, Finding, Findings, Object, messages, rule

_MOST = 4
"""The most places of other objects that a finding shows."""


@rule(
    on=Object,
    group="hazard",
    gives_way_to=["removed-api"],
    subject="objects",
    source="https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
    tags=["names"],
)
def check(obj: Object, context: Context) -> Findings:
    same = context.duplicates(obj)
    if not same:
        yield from _check_elsewhere(obj, context)
        return
    one_file = same[0].source is obj.source
    files = 1 if one_file else len({other.source.path for other in same} - {obj.source.path})
    elsewhere = f"{files} other files" if files > 1 else "another file"
    where = "in this file" if one_file else f"in {elsewhere} of this folder"
    times = f"{len(same):,} times" if len(same) > 2 else "twice"
    yield Finding(
        at=obj.name_node,
        message=f"{obj.kind} `{obj.name}` is defined {times}, also {where}: the one applied last wins",
        severity=None if one_file else "info",
        also=[Also(other.name_node, "also defined here") for other in same[:_MOST] if other is not obj],
        help="both kinds are cluster-scoped: rename one of the objects",
    )


def _check_elsewhere(obj: Object, context: Context) -> Findings:
    """Yield a finding if Terraform or a file of another folder also creates the object, with another spec."""
    other = context.definition_elsewhere(obj)
    if other is not None:
        terraform = other.source.path.endswith((".tf", ".tofu"))
        here, there = (os.path.dirname(o.source.path) or os.curdir for o in (obj, other))
        maker = "Terraform" if terraform else f"`{messages.short(os.path.relpath(there, here), 30)}`"
        yield Finding(
            at=obj.name_node,
            message=f"{maker} also creates {obj.kind} `{obj.name}`, with another spec: the one applied last wins",
            severity="info",
            also=[Also(other.name_node, "also defined here")],
            help="remove one of them; if they are for different clusters, rename one",
        )
