"""Nodes never expire and nothing else replaces them, because the image is pinned by id or a budget blocks drift.

With `expireAfter: Never`, only drift brings a patched image to running nodes. If every AMI term of the class is an
`id`, the image stays until somebody writes another id. If a disruption budget never allows a node, Karpenter does not
act on drift. In both cases nodes become as old as the pool, with all faults of their kernel and kubelet.

Let nodes expire, and select the image by alias, name or tag, or remove the budget. If a budget blocks drift, the fix
writes the default, `720h`: Karpenter replaces expired nodes whatever the budgets say. The fix changes the template,
so Karpenter replaces the pool's nodes once, as far as the budgets allow. If the image is pinned by id, expiry alone
brings no patch.

```yaml bad frame=pool+class
spec.template.spec.expireAfter: Never
---
spec.amiFamily: AL2023
spec.amiSelectorTerms: [{id: ami-0a1b2c3d4e5f60718}]
```

```yaml good frame=bad
spec.template.spec.expireAfter: 720h
---
spec.amiSelectorTerms: [{alias: al2023@v20260714}]
```

The budgets of the next pool block drift:

```yaml bad frame=pool
spec.disruption: {consolidateAfter: 1m, budgets: [{nodes: "0", schedule: "0 0 * * *", duration: 24h}]}
spec.template.spec.expireAfter: Never
```
"""

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    Suggestion,
    budgets,
    edits,
    images,
    messages,
    rule,
)


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["invalid-field"],
    mentions=["Never"],
    subject="disruption",
    source=[
        "core:pkg/controllers/nodeclaim/expiration/controller.go@v1.14.0:57",
        "provider:pkg/cloudprovider/drift.go@v1.14.1:44",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.find_field("spec", "template", "spec", "expireAfter")
    if node is None or node.kind != "scalar" or node.value != "Never" or context.is_dropped(pool, node):
        return
    change = edits.if_editable(edits.set_value, node, "720h")
    budgets = _blocking_budgets(pool)
    if budgets is not None:
        has_schedule = any(entry.get("schedule") is not None for entry in budgets.items)
        way = (
            "shorten the `duration` of the budget"
            if has_schedule
            else "add `schedule` (UTC) and `duration` to the budget"
        )
        yield Finding(
            at=node,
            message="nodes never expire, and the budgets never allow drift: Karpenter never replaces a node",
            edits=change,
            also=[Also(budgets, "this budget allows no node for drift")],
            covers=[budgets],
            help=f"let nodes expire, or {way} of 0",
        )
        return
    node_class = context.node_class(pool)
    terms = node_class.ami_terms if node_class is not None else ()
    if terms and all(isinstance(term.id, str) for term in terms):
        pinned = "an image" if len(terms) == 1 else f"{len(terms)} images"
        name = messages.short(str(node_class.name if node_class is not None else ""), 30)
        yield Finding(
            at=node,
            message=f"nodes never expire, and `{name}` pins {pinned} by id: they never get a patch",
            also=[Also(term.node, "pinned by id") for term in terms[:1]],
            help="let nodes expire, and select images by alias, or by name or tag with an owner",
            suggestions=_by_alias(node_class, change, context) if node_class is not None else [],
        )


def _by_alias(node_class: EC2NodeClass, expiring: list[Edit], context: Context) -> list[Suggestion]:
    """Return a suggestion that replaces the image terms by the newest alias of the class's family and lets nodes
    expire. Empty if the family has no alias or the fields cannot be edited.
    """
    field = node_class.ami_terms_node
    family = next(
        (family for family in images.families() if images.ami_family_of(family) == node_class.ami_family), None
    )
    if field is None or family is None or not expiring:
        return []
    alias = f"{family}@{images.newest_known(family, context.kubernetes) or 'latest'}"
    changes = edits.if_editable(edits.replace, field, [{"alias": alias}])
    return [Suggestion(f"let nodes expire, and use {alias}", [*expiring, *changes])] if changes else []


def _blocking_budgets(pool: NodePool) -> Node | None:
    """Return the node of the budgets if they allow no disruption at any time, else None."""
    node = pool.budgets_node
    if node is None or node.kind != "sequence" or not node.items:
        return None
    week = budgets.typical_week(pool)
    return node if week and all(stretch.closed for stretch in week) else None
