"""The disruption budgets never let Karpenter disrupt a node, so nodes keep their image until they expire.

For each reason, the smallest active budget counts. A budget of `0` or `0%` without `schedule` and `duration` is
always active. Karpenter then replaces no node of the pool for drift. New images, security fixes and changes of the
NodePool reach running nodes only when the nodes expire. If the budget has no `reasons`, Karpenter consolidates no
node either, not even an empty one. From 1.15.0 on, node repair (feature gate NodeRepair) replaces no broken node. The
rule also reports several budgets that together allow no disruption in any minute of the week.

Budgets do not apply to nodes that expire, nor to interruptions. So a pool that relies on `expireAfter` alone may have
such a budget on purpose. To protect nodes at certain times, give the budget a `schedule` (in UTC) and a `duration`.
To keep Karpenter only from moving pods, name the reason: `reasons: [Underutilized]`. The rule does not report that,
nor a budget that a template writes under a condition. If a budget of 0 names `Drifted` in its `reasons`, the author
chose it: the severity is info in the strict profile. It stays a warning if another budget allows drift at
certain times.

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets:
    - nodes: "0"
```

```yaml good frame=bad
spec.disruption.budgets:
  - nodes: "10%"
  - nodes: "0"
    schedule: "0 9 * * mon-fri"
    duration: 8h
```
"""

from collections.abc import Iterable

from nodelint.api import EVERY_PROVIDER, Also, Context, Finding, Findings, Node, NodePool, Skip, budgets, fixes, rule

HINT = "add `schedule` (UTC) and `duration`, or restrict the budget to `reasons: [Underutilized]`"
DRIFT_HINT = (
    "to let images and changes reach nodes, drop `Drifted` from `reasons`, or add `schedule` (UTC) and `duration`"
)
CHANGES = "new images and changed manifests"


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["invalid-field", "controller-check", "never-patched"],
    providers=EVERY_PROVIDER,
    mentions=["budgets"],
    subject="disruption",
    source=[
        "core:pkg/apis/v1/nodepool.go@v1.14.0:355",
        "https://karpenter.sh/docs/concepts/disruption/",
    ],
    cel=(
        "!has(object.spec.disruption) || !has(object.spec.disruption.budgets) || "
        "object.spec.disruption.budgets.all(b, !(b.nodes in ['0', '0%']) || has(b.schedule) || "
        "(has(b.reasons) && (!('Drifted' in b.reasons) || !object.spec.disruption.budgets.exists(w, "
        "has(w.schedule) && !(w.nodes in ['0', '0%']) && (!has(w.reasons) || 'Drifted' in w.reasons)))))"
    ),
)
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.budgets_node
    if node is None or node.kind != "sequence" or not node.items:
        return
    week = budgets.typical_week(pool)
    if week is None:
        yield Skip(node, "a budget holds a placeholder")
        return
    if not all(stretch.closed for stretch in week) or any(b.broken for stretch in week for b in stretch.budgets):
        return
    perhaps = fixes.conditional_items(pool, "spec", "disruption", "budgets")
    at = _always([item for item in node.items if id(item) not in perhaps])
    if at is None and perhaps:
        return
    if at is None:
        message = "the budgets allow no disruption at any time of the week: Karpenter never replaces a node for drift"
        # Each has a schedule: that somebody wrote them all by mistake is less likely than that they are meant.
        yield Finding(
            at=node,
            message=message,
            severity="info",
            note=_note(pool),
            help="shorten a `duration`, so that Karpenter can replace nodes at some time of the week",
            strict=True,
        )
        return
    written = at.get("nodes") or at
    reasons = at.get("reasons")
    windows = [item for item in node.items if item is not at and item.get("schedule") is not None]
    closed = [item for item in windows if _reasons(item) <= _reasons(at)]
    waiting = [item for item in windows if item not in closed and "Drifted" in _reasons(item)]
    # A budget that names `Drifted` blocks drift on purpose, unless another one opens a window for drift.
    meant = reasons is not None and not any("Drifted" in _reasons(item) and not _is_zero(item) for item in windows)
    yield Finding(
        at=written,
        message=f"a budget of `{written.value}` nodes applies at all times: {_what_stays(pool)}",
        also=[
            *(Also(node, "has no effect: the smallest active budget counts") for node in closed),
            *(Also(node, "has no effect on drift: the smallest active budget counts") for node in waiting),
        ],
        covers=closed,
        severity="info" if meant else None,
        note=_note(pool),
        help=DRIFT_HINT if reasons is not None else HINT,
        strict=meant,
    )


def _what_stays(pool: NodePool) -> str:
    """Return which disruptions of the pool the budgets block, besides drift."""
    underutilized, empty = (budgets.always_closed(pool, reason) for reason in ("Underutilized", "Empty"))
    if underutilized and empty:
        return "Karpenter replaces no node for drift or consolidation"
    if underutilized:
        return "Karpenter replaces no node for drift and consolidates only empty nodes"
    return "Karpenter replaces no node for drift" + (", and removes no empty node" if empty else "")


def _note(pool: NodePool) -> str:
    """Return when a change still reaches nodes: expiration ignores budgets."""
    expire = pool.find_field("spec", "template", "spec", "expireAfter")
    value = expire.value if expire is not None else None
    if value == "Never":
        return f"{CHANGES} never reach running nodes"
    after = f" (after `{value}`)" if isinstance(value, str) else ""
    return f"{CHANGES} reach running nodes only when the nodes expire{after}"


def _always(entries: Iterable[Node]) -> Node | None:
    """Return the budget that allows no node at any time; None if there is none."""
    for entry in entries:
        if _is_zero(entry) and entry.get("schedule") is None and "Drifted" in _reasons(entry):
            return entry
    return None


def _is_zero(entry: Node) -> bool:
    written = entry.get("nodes")
    return written is not None and written.value in ("0", "0%")


def _reasons(entry: Node) -> frozenset[object]:
    """Return the reasons of a budget; all reasons if it names none."""
    reasons = entry.get("reasons")
    return frozenset(item.value for item in reasons.items) if reasons is not None else budgets.REASONS
