r"""Karpenter keeps no capacity for a CapacityBuffer, or not the capacity that it asks for.

From Karpenter 1.14.0 on, a CapacityBuffer (`autoscaling.x-k8s.io/v1beta1`) keeps nodes ready for more pods of a
template, if the feature gate CapacityBuffer is on. The API server accepts a buffer without a template, but it is
never ready. It also accepts a `scalableRef` of a kind that Karpenter does not read, but the buffer fails forever.
`percentage` is a percentage of the replicas of `scalableRef`; Karpenter ignores it together with `podTemplateRef`. If
none of `replicas`, `percentage` and `limits` is set, the buffer is empty. If no NodePool accepts the pods, no node
launches.

The Cluster Autoscaler reads objects of the same kind. So the rule reports most faults only if the files turn on
Karpenter's gate. Without the gate it reports only what the API server refuses or drops: unknown fields, values of a
wrong type, both references at once, and `podTemplateRef` without `replicas` and `limits`. Only the author knows which
template is meant and how much capacity, so there is no fix for a missing reference.

```yaml bad frame=pool karpenter=1.14.1
metadata.name: spare
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata:
  name: web
  namespace: web
spec:
  podTemplateRef:
    name: web
```
"""

from collections.abc import Iterator

from nodelint.api import Context, Finding, Findings, Node, Suggestion, cluster_objects, edits, messages, rule

_SINCE = (1, 14, 0)
_KINDS = ("Deployment", "StatefulSet", "ReplicaSet")
_SIZES = ("replicas", "percentage", "limits")
_SERVED = "autoscaling.x-k8s.io/v1beta1"


@rule(
    on=cluster_objects.CapacityBuffer,
    group="correctness",
    severity="warning",
    fix="safe",
    subject="pools",
    source=[
        "core:pkg/controllers/capacitybuffer/controller.go@v1.14.0:160",
        "https://karpenter.sh/docs/concepts/capacitybuffers/",
    ],
    tags=["workloads"],
)
def check(buffer: "cluster_objects.CapacityBuffer", context: Context) -> Findings:
    spec = buffer.node.get("spec")
    if buffer.partial or spec is None or spec.kind != "mapping" or context.karpenter < _SINCE:
        return
    if any(entry.name is None for entry in spec.entries):
        return
    refused = list(_find_unknown(buffer, context)) or list(_find_refused(spec))
    yield from refused
    if refused or not context.settings(buffer).gate("CapacityBuffer"):
        return
    version = buffer.node.get("apiVersion")
    if version is not None and version.value != _SERVED:
        yield Finding(
            at=version,
            message=f"Karpenter does not read `{messages.short(str(version.value))}`: it serves only v1beta1",
            edits=edits.if_editable(edits.set_value, version, _SERVED),
        )
    yield from _find_unread(buffer, spec)
    template = _template_of(buffer, spec, context)
    if template is None or context.pools_elsewhere or context.has_pool(template):
        return
    if context.fit(template).verdicts:
        yield Finding(
            at=spec.find("podTemplateRef", "name") or spec.find("scalableRef", "name") or buffer.name_node,
            message=f"no NodePool accepts the pods of `{messages.short(template.label)}`: Karpenter keeps no "
            "capacity for them",
            help=f"`nodelint fit --workload {template.kind.lower()}/{template.name}` says why",
        )


def _find_unknown(buffer: "cluster_objects.CapacityBuffer", context: Context) -> Iterator[Finding]:
    """Yield a finding for each field that the schema of the buffer does not have, or has with another type."""
    for problem in context.problems(buffer):
        node, meant = problem.node, problem.suggestion
        if problem.layer == "unknown":
            changes = edits.if_editable(edits.set_key, node, meant) if meant is not None else []
            ways = [
                Suggestion(f"remove `{messages.short(str(node.value), 40)}`", edits.if_editable(edits.remove, node))
            ]
            yield Finding(
                at=node,
                message=problem.message,
                severity="error",
                edits=changes,
                suggestions=[] if changes else [way for way in ways if way.edits],
            )
        elif problem.layer == "structure":
            changes = edits.if_editable(edits.set_value, node, meant) if meant is not None else []
            yield Finding(at=node, message=problem.message, severity="error", edits=changes)


def _find_refused(spec: Node) -> Iterator[Finding]:
    template, scaled = spec.get("podTemplateRef"), spec.get("scalableRef")
    if template is not None and scaled is not None:
        ways = [
            Suggestion(f"keep `{reason}`", edits.if_editable(edits.remove, other))
            for reason, other in (("scalableRef", template), ("podTemplateRef", scaled))
        ]
        yield Finding(
            at=scaled,
            message="both `podTemplateRef` and `scalableRef` are set: the API server refuses the buffer",
            severity="error",
            suggestions=[way for way in ways if way.edits],
        )
    elif template is not None and spec.get("replicas") is None and spec.get("limits") is None:
        yield Finding(
            at=template,
            message="the buffer has `podTemplateRef` but neither `replicas` nor `limits`: the API server refuses it",
            severity="error",
            edits=edits.if_editable(edits.add_key, spec, "replicas", 1),
        )


def _find_unread(buffer: "cluster_objects.CapacityBuffer", spec: Node) -> Iterator[Finding]:
    """Yield a finding for each field of a buffer that the API server accepts and Karpenter ignores."""
    template, scaled, percentage = (spec.get(name) for name in ("podTemplateRef", "scalableRef", "percentage"))
    if template is None and scaled is None:
        yield Finding(
            at=buffer.name_node,
            message="the buffer has neither `podTemplateRef` nor `scalableRef`: it is never ready",
        )
        return
    if template is not None and percentage is not None:
        yield Finding(
            at=percentage,
            message="`percentage` has no effect with `podTemplateRef`: it needs `scalableRef`",
            edits=edits.if_editable(edits.remove, percentage),
        )
    if scaled is None:
        return
    kind, group = scaled.get("kind"), scaled.get("apiGroup")
    if kind is not None and isinstance(kind.value, str) and kind.value not in _KINDS:
        yield Finding(
            at=kind,
            message=f"Karpenter reads no `scalableRef` of kind `{messages.short(kind.value, 30)}`: the buffer is "
            "never ready",
        )
    elif group is not None and isinstance(group.value, str) and group.value not in ("", "apps"):
        yield Finding(
            at=group,
            message=f"Karpenter reads no `scalableRef` of group `{messages.short(group.value, 30)}`: the buffer is "
            "never ready",
            edits=edits.if_editable(edits.set_value, group, "apps"),
        )
    if all(spec.get(size) is None for size in _SIZES):
        yield Finding(at=scaled, message="none of `replicas`, `percentage` and `limits` is set: the buffer is empty")


def _template_of(
    buffer: "cluster_objects.CapacityBuffer", spec: Node, context: Context
) -> "cluster_objects.Workload | None":
    """Return the workload or pod template of a buffer, if it is among the files; else None."""
    template, scaled = spec.find("podTemplateRef", "name"), spec.find("scalableRef", "name")
    name, kind = (template, "PodTemplate") if template is not None else (scaled, spec.find("scalableRef", "kind"))
    named = kind if isinstance(kind, str) else kind.value if kind is not None else None
    found = [
        workload
        for workload in context.objects
        if isinstance(workload, cluster_objects.Workload)
        and name is not None
        and (workload.kind, workload.name, workload.namespace) == (named, name.value, buffer.namespace)
    ]
    return found[0] if len(found) == 1 and not found[0].partial else None
