r"""A workload is meant for Karpenter's nodes, but no NodePool accepts its pods.

Karpenter compares a pending pod with each NodePool, by weight: limits, taints, node selector and affinity, requests.
If no NodePool fits, it launches nothing, and the pod stays Pending with the event `incompatible with nodepool`. This
rule does the same for each pod template of the repository, without a cluster. It reports only certain results: if a
placeholder, a label or a taint is not known, nothing is impossible because of it.

The rule reports what `nodelint fit` calls impossible, whichever rules are selected. It counts the DaemonSets of the
repository. A workload is meant for Karpenter's nodes if it selects a label of Karpenter or of a NodePool, or if it
tolerates a taint of a NodePool. Then the finding is a warning. Other workloads may be meant for nodes outside of
Karpenter, so the severity is info. If several of them fail for the same reason, the rule reports only the
first.

With `pools: complete` you state that the cluster has no other nodes, and all findings are errors:

```yaml
rules:
  no-pool-for-workload: {pools: complete}
```

The rule also reports a workload if some of its pods stay Pending: because the NodePools have fewer domains than
`minDomains` of its spread requires, or because their limits do not allow all of its `replicas`.

The rule ignores DaemonSets, pods that must not run on Karpenter's nodes (`karpenter.sh/nodepool` with
`DoesNotExist`), pods that may fit on nodes of a static NodePool, and workloads whose labels appear in a file with
node groups or Fargate profiles. It reports nothing if the run does not cover the whole repository. `nodelint fit`
shows how each NodePool judges each workload, and the smallest change that would help.

```yaml bad frame=pool
metadata.name: batch
spec.template.metadata.labels:
  example.com/team: batch
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: report
spec:
  selector: {matchLabels: {app: report}}
  template:
    metadata: {labels: {app: report}}
    spec:
      nodeSelector:
        example.com/team: bach
      containers:
        - {name: report, image: report, resources: {requests: {cpu: 500m}}}
```

```yaml good frame=bad
---
spec.template.spec.nodeSelector:
  example.com/team: batch
```
"""

from collections.abc import Iterator

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Node,
    Suggestion,
    cluster_objects,
    edits,
    fit,
    messages,
    rule,
)

_START = "no NodePool accepts its pods"


@rule(
    on=cluster_objects.Workload,
    group="correctness",
    severity="warning",
    subject="pools",
    source="core:pkg/controllers/provisioning/scheduling/nodeclaim.go@v1.14.0:541",
    options={"pools": "`complete` if the cluster has no nodes except those of these NodePools, else `partial`"},
    tags=["workloads", "demanding-workloads"],
)
def check(workload: "cluster_objects.Workload", context: Context, *, pools: str = "partial") -> Findings:
    if workload.partial or workload.is_daemon or workload.pod_spec is None:
        return
    if context.has_pool(workload):
        doubt = context.find_doubt(workload)
        if doubt is not None:
            yield doubt.skip()
        return
    found = context.fit(workload)
    whole = any(not verdict.pool.pool.partial for verdict in found.verdicts)
    if context.pools_elsewhere and not (whole and found.ignored is not None):
        return
    if found.crowding is not None:
        judged = [verdict.pool for verdict in found.verdicts]
        for_others = pools != "complete" and not fit.is_intended_for(workload, judged)
        yield Finding(
            at=found.crowding.node,
            message=found.crowding.brief,
            severity="error" if pools == "complete" else "info" if for_others else None,
            note=f"{found.crowding.text}: the other pods stay Pending, unless nodes outside of Karpenter accept them",
            help=found.crowding.help,
        )
        return
    on_purpose = found.ignored is not None and found.ignored.on_purpose
    if not found.verdicts or found.possible or on_purpose:
        return
    if any(verdict.refusal is not None and verdict.refusal.reason == "not-ready" for verdict in found.verdicts):
        return  # what keeps a pool from becoming ready is an error of its own
    written = fit.suggestions(found)
    nearest = _find_offered(found, written) or fit.find_nearest(found)
    refusal = nearest.refusal
    if refusal is None:
        return
    judged = [verdict.pool for verdict in found.verdicts]
    ways = list(_ways_out(written))
    meant = fit.is_intended_for(workload, judged) and found.ruled_out
    others = pools != "complete" and not ways and (not meant or fit.may_select_other_nodes(workload, judged))
    pending = "they stay Pending, unless nodes outside of Karpenter accept them" if others else "they stay Pending"
    why = _say_why(found, nearest, refusal)
    yield Finding(
        at=refusal.at_workload or workload.name_node,
        message=f"{_START}; {why}",
        severity="error" if pools == "complete" else "info" if others else None,
        also=list(_related_refusals(found, nearest)),
        note=f"{_say_more(found, refusal)}Karpenter launches no node for the pods: {pending}",
        help=_help(workload, written),
        suggestions=ways,
        once=f"{nearest.pool.name} {why}" if others and not meant else False,
    )


def _find_offered(found: "fit.WorkloadFit", written: "list[fit.WayOut]") -> "fit.PoolVerdict | None":
    """Return the verdict of the pool that the first way out names: what the finding says is then about this pool."""
    offered = written[0].message if written else ""
    return next((verdict for verdict in found.verdicts if f"pool `{verdict.pool.name}` takes it" in offered), None)


_LABEL = 'incompatible requirements, label "'


def _say_why(found: "fit.WorkloadFit", nearest: "fit.PoolVerdict", refusal: "fit.PoolRefusal") -> str:
    """Return a short reason why no NodePool accepts the pods: the label that all pools lack, or the reason of the
    nearest pool.
    """
    if found.ignored is not None:
        return f"Karpenter ignores them: {found.ignored.brief}"
    own = {
        verdict.refusal.message
        for verdict in found.verdicts
        if verdict.refusal and verdict.refusal.reason == "requirements"
    }
    if refusal.message.startswith(_LABEL) and len(own) == 1:
        tolerated = any(
            verdict.refusal is not None and verdict.refusal.reason == "taint" for verdict in found.verdicts
        )
        which = "none that it tolerates" if tolerated else "none"
        return f"{which} has the label `{messages.short(refusal.message.split(chr(34))[1])}`"
    explanation = refusal.explanation
    text = explanation.brief if explanation is not None else refusal.brief
    room = 120 - len(f"{_START}; ``: ") - len(text)
    return f"`{messages.short(nearest.pool.name, min(max(room, 8), 24))}`: {text}"


def _say_more(found: "fit.WorkloadFit", refusal: "fit.PoolRefusal") -> str:
    """Return the full reason of a refusal as the start of a note. Empty if the message already contains
    the reason.
    """
    if found.ignored is not None:
        return f"{found.ignored.message}; "
    explanation = refusal.explanation
    if explanation is not None:
        return f"{explanation.text}; "
    hint = refusal.message.partition("(typo of ")[2].rstrip("?)")
    return f"typo of {hint}? " if hint else ""


def _related_refusals(found: "fit.WorkloadFit", nearest: "fit.PoolVerdict") -> Iterator[Also]:
    places: set[tuple[str, int, str]] = set()
    for verdict in found.verdicts:
        refusal = verdict.refusal
        if refusal is not None and nearest.refusal is not None:
            at = refusal.at_pool or verdict.pool.pool.name_node
            # Overlays of one base may have pools of one name, which refuse the pods for one reason.
            is_said = nearest.pool.name == verdict.pool.name and nearest.refusal.brief == refusal.brief
            what = "" if is_said else f": {refusal.brief}"
            also = Also(at, f"`{messages.short(verdict.pool.name, 24)}` cannot take the pods{what}")
            if (place := (also.span.source.path, also.span.start, also.message)) not in places:
                places.add(place)
                yield also


def _help(workload: "cluster_objects.Workload", ways: "list[fit.WayOut]") -> str:
    """Return a help with the first way out that is no edit of the workload, and with the command that shows all ways
    out.
    """
    name = f"{workload.kind.lower()}/{workload.name}"
    more = f"`nodelint fit --workload {name}` shows why"
    first = next((way.message for way in ways if way.key is None and way.value is None and way.taint is None), None)
    return f"{first}; {more}" if first is not None else more


def _ways_out(ways: "list[fit.WayOut]") -> Iterator[Suggestion]:
    for way in ways:
        made = _edits_of(way)
        if made:
            yield Suggestion(messages.short(way.message, 100), made)


def _edits_of(way: "fit.WayOut") -> list:  # type: ignore[type-arg]
    if way.taint is not None:
        toleration = {"key": str(way.taint.key), "operator": "Exists", "effect": str(way.taint.effect)}
        there = way.at.get("tolerations")
        if there is not None and there.kind == "sequence" and there.items:
            return edits.if_editable(edits.add_item, there, toleration)
        return [] if there is not None else edits.if_editable(edits.add_key, way.at, "tolerations", [toleration])
    key, value = _places(way.at)
    if way.key is not None and key is not None:
        return edits.if_editable(edits.set_key if way.at.kind == "scalar" else edits.set_value, key, way.key)
    return edits.if_editable(edits.set_value, value, way.value) if way.value is not None and value is not None else []


def _places(at: Node) -> tuple[Node | None, Node | None]:
    """Return the nodes of the key and the value of a node selector entry or an expression of a node affinity.

    A part that is not written is None.
    """
    if at.kind == "mapping":
        values = at.get("values")
        return at.get("key"), values.items[0] if values is not None and len(values.items) == 1 else None
    entry = at.own_entry
    return None if entry is None else entry.key, at
