r"""An annotation should protect the node of a pod, but Karpenter does not read it.

If a pod has `karpenter.sh/do-not-disrupt: "true"`, Karpenter does not consolidate its node or replace it for drift
while the pod runs. From Karpenter 1.12 on, a duration such as `30m` protects the node for that time after the start
of the pod. Karpenter ignores any other value, for example `"True"` or `"yes"`. Up to 1.11 it ignores durations as
well. The API server refuses a value without quotes, because annotations are strings.

The annotation must be on the pod. For a Deployment or a CronJob, write it into the metadata of the pod template. On
the Deployment itself it has no effect. Karpenter 1.0 and later read neither `karpenter.sh/do-not-evict` nor
`karpenter.sh/do-not-consolidate`. A toleration with one of these keys protects nothing: no node has
such a taint, unless a NodePool sets it.

```yaml bad
apiVersion: batch/v1
kind: Job
metadata:
  name: nightly
spec:
  template:
    metadata:
      annotations:
        karpenter.sh/do-not-disrupt: "True"
    spec:
      restartPolicy: Never
      containers:
        - {name: nightly, image: nightly}
```

```yaml bad
apiVersion: apps/v1
kind: Deployment
metadata:
  name: session
spec:
  selector: {matchLabels: {app: session}}
  template:
    metadata:
      labels: {app: session}
      annotations:
        karpenter.sh/do-not-evict: "true"
    spec:
      containers:
        - {name: session, image: session}
```

```yaml bad
apiVersion: batch/v1
kind: Job
metadata:
  name: load
spec:
  template:
    spec:
      restartPolicy: Never
      tolerations:
        - {key: karpenter.sh/do-not-disrupt, operator: Exists, effect: NoSchedule}
      containers:
        - {name: load, image: load}
```

```yaml good diff=bad
   template:
+    metadata:
+      annotations:
+        karpenter.sh/do-not-disrupt: "true"
@@
-      tolerations:
-        - {key: karpenter.sh/do-not-disrupt, operator: Exists, effect: NoSchedule}
```
"""

from nodelint.api import (
    UNKNOWN,
    Context,
    Finding,
    Findings,
    Node,
    NodePool,
    cluster_objects,
    controller,
    edits,
    messages,
    releases,
    rule,
)

_KEPT = "karpenter.sh/do-not-disrupt"
_GONE = ("karpenter.sh/do-not-evict", "karpenter.sh/do-not-consolidate")
_MEANT = ("true", "yes", "on", "1", "enabled")


@rule(
    on=cluster_objects.Workload,
    group="hazard",
    fix="unsafe",
    subject="disruption",
    source="core:pkg/utils/pod/scheduling.go@v1.14.1:210",
    tags=["workloads"],
)
def check(workload: "cluster_objects.Workload", context: Context) -> Findings:
    of_pod = workload.pod_metadata
    yield from _of_pods(of_pod.get("annotations") if of_pod is not None else None, context)
    yield from _check_tolerations(workload, context)
    if workload.kind == "Pod" or workload.partial:
        return
    own = workload.node.find("metadata", "annotations")
    there = of_pod.find("annotations", _KEPT) if of_pod is not None else None
    key = own.key(_KEPT) if own is not None else None
    if key is not None and there is None and of_pod is not None:
        yield Finding(
            at=key,
            message=f"`{_KEPT}` on a {workload.kind} has no effect: Karpenter reads it on pods",
            note="consolidation and drift replace the nodes of its pods",
            help="move the annotation to the pod template",
        )


def _check_tolerations(workload: "cluster_objects.Workload", context: Context) -> Findings:
    """Yield a finding for a toleration that is written instead of the annotation."""
    metadata = workload.pod_metadata
    if metadata is not None and metadata.find("annotations", _KEPT) is not None:
        return
    tolerations = workload.pod_spec.get("tolerations") if workload.pod_spec is not None else None
    pools = [obj for obj in context.objects if isinstance(obj, NodePool)] if tolerations is not None else []
    taints = {taint.key for pool in pools for taint in (*pool.taints, *pool.startup_taints)}
    for item in tolerations.items if tolerations is not None else ():
        key = item.get("key")
        if key is None or key.value not in (_KEPT, *_GONE) or taints & {key.value, UNKNOWN}:
            continue
        yield Finding(
            at=key,
            message=f"`{key.value}` is an annotation of pods and no taint: a toleration of it has no effect",
            note="consolidation and drift replace the node of the pod",
            help=f'write `{_KEPT}: "true"` into the annotations of the pod',
        )


def _of_pods(annotations: "Node | None", context: Context) -> Findings:
    for entry in annotations.entries if annotations is not None else ():
        if entry.name in _GONE:
            yield Finding(
                at=entry.key,
                message=f"`{entry.name}` has no effect: Karpenter 1.0 and later do not read it",
                edits=_renamed(annotations, entry.key, entry.value),
                note="consolidation and drift replace the node of the pod",
            )
        elif entry.name == _KEPT:
            yield from _value(entry.value, context)


def _renamed(annotations: "Node | None", key: Node, value: Node) -> list:  # type: ignore[type-arg]
    both = annotations is not None and annotations.get(_KEPT) is not None
    return [] if both or value.value != "true" else edits.if_editable(edits.set_key, key, _KEPT)


def _value(node: Node, context: Context) -> Findings:
    value = node.value
    if value is UNKNOWN or value in ("true", "false") or node.kind != "scalar":
        return
    if not isinstance(value, str):
        if value is True:
            yield Finding(
                at=node,
                message="the value is not a string: the API server refuses the object",
                severity="error",
                edits=edits.if_editable(edits.set_value, node, "true"),
            )
        return
    length = controller.seconds(value)
    meant = value.strip().lower() in _MEANT
    if length is not None and length > 0:
        if not releases.behaves("reads-durations-of-do-not-disrupt", context.karpenter):
            yield Finding(
                at=node,
                message=f"`{messages.short(value, 20)}` is ignored: Karpenter reads durations from 1.12.0 on",
                note="consolidation and drift replace the node of the pod",
            )
        return
    yield Finding(
        at=node,
        message=f"`{messages.short(value, 20)}` is neither `true` nor a duration: Karpenter ignores it",
        edits=edits.if_editable(edits.set_value, node, "true") if meant else [],
        note="consolidation and drift replace the node of the pod",
    )
