r"""A NodePool points to an EC2NodeClass, or to a NodeClass of EKS Auto Mode, that no file defines.

The pool stays at `NodeClassReady: False` and launches nothing. nodelint searches all files of the run and the rest of
the repository; for a pool on standard input, only standard input. If it finds no class of the kind at all, it reports
nothing, because the classes are probably elsewhere. In EKS Auto Mode AWS creates the class `default`, so it always
exists.

```yaml bad frame=pool+class
spec.template.spec.nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: defualt}
```
"""

import os
from collections.abc import Mapping

from nodelint.api import Also, Context, Finding, Findings, NodePool, Object, edits, gvk, manifest, remedies, rule


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["removed-api"],
    providers=["aws", "auto-mode"],
    subject="objects",
    source=[
        "core:pkg/controllers/nodepool/readiness/controller.go@v1.14.0:60",
        "https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html",
    ],
    tags=["names", "class-reference"],
)
def check(pool: NodePool, context: Context) -> Findings:
    ref = pool.class_ref
    if ref is None or not isinstance(ref.name, str) or not ref.name:
        return
    if context.node_class(pool) is not None:
        return
    kind, classes = _classes(pool, context)
    # A patch with a target has a name that means nothing.
    names = [name for name, obj in classes.items() if isinstance(name, str) and not obj.partial]
    # A class whose name is a placeholder may be the one that is meant.
    if not names or ref.name in classes or context.may_be_named_so(pool):
        return
    from difflib import get_close_matches

    node = ref.node.get("name") or ref.node
    near = get_close_matches(ref.name, sorted(names), 1, cutoff=0.8)
    near = near or [name for name in sorted(names) if sorted(name) == sorted(ref.name)]  # letters that changed places
    if not near:
        others = ", ".join(f"`{name}`" for name in sorted(names)[:3])
        where = "standard input defines" if pool.source.path == "-" else "the files of this run define"
        message = f"{where} no {kind} `{ref.name}`"
        ways = [
            (f"use `{name}`", edits.if_editable(edits.set_value, node, name))
            for name in (sorted(names) if len(names) <= MOST_CLASSES else ())
        ]
        yield Finding(
            at=node,
            message=message,
            severity="error" if _is_meant_for_another(pool, classes, context) else None,
            help=f"defined are {others}" if len(names) > MOST_CLASSES else None,
            suggestions=remedies.list_suggestions(ways),
        )
        return
    yield Finding(
        at=node,
        message=f"there is no {kind} `{ref.name}` (did you mean `{near[0]}`?)",
        edits=edits.if_editable(edits.set_value, node, near[0]),
        also=[Also(classes[near[0]].name_node, f"`{near[0]}` is defined here")],
    )


def _is_meant_for_another(pool: NodePool, classes: Mapping[manifest.Text | None, Object], context: Context) -> bool:
    """Return whether a class in the folder of a pool has no pool: the class or the pool may have been renamed."""
    if pool.source.built is not None or pool.document.host is not None or context.run_files.has_unread_text:
        return False
    folder = os.path.dirname(pool.source.path)
    near_names = {name for name, obj in classes.items() if os.path.dirname(obj.source.path) == folder}
    pools = [obj for obj in context.objects if isinstance(obj, NodePool)]
    named = {other.class_ref.name for other in pools if other.class_ref is not None}
    return bool(near_names - named) and not any(obj.partial for obj in pools)


MOST_CLASSES = 3
"""If there are more classes, none of them is suggested."""


def _classes(pool: NodePool, context: Context) -> tuple[str, Mapping[manifest.Text | None, Object]]:
    """Return the kind of the classes that a pool of its provider uses, and the classes of the run by name."""
    if not pool.foreign:
        return gvk.CLASS_KIND, _classes_beside(pool, context.defined_classes)
    if pool.class_ref is not None and pool.class_ref.name == "default":
        return gvk.AUTO_MODE_KIND, {}
    return gvk.AUTO_MODE_KIND, _classes_beside(pool, {o.name: o for o in context.auto_mode_classes})


def _classes_beside(
    pool: NodePool, classes: Mapping[manifest.Text | None, Object]
) -> Mapping[manifest.Text | None, Object]:
    """Return the classes that a pool may refer to.

    A pool from standard input may only refer to classes from standard input.
    """
    if pool.source.path != "-":
        return classes
    return {name: node_class for name, node_class in classes.items() if node_class.source.path == "-"}
