r"""An annotation has no effect where it is, or it keeps Karpenter from replacing any node of the pool.

Karpenter puts the annotations of `spec.template.metadata` on each node. Some have no effect on a node, or another
effect than the author expects:

- `node.alpha.kubernetes.io/ttl` is not a lifetime. It sets how long the kubelet caches secrets and config maps, and
  the node controller of Kubernetes overwrites it. `expireAfter` sets the lifetime of nodes.
- Karpenter 1.0 and later do not read `karpenter.sh/do-not-evict` and `karpenter.sh/do-not-consolidate`.
- Only the Cluster Autoscaler reads annotations of the Cluster Autoscaler.
- `karpenter.sh/do-not-disrupt: "true"` does have an effect: Karpenter replaces no node of the pool for drift and
  consolidates none, not even an empty one. New images and changes of the NodePool reach nodes only when the nodes
  expire. On a pod, the annotation protects the node of the pod while the pod runs.

On the NodePool itself (`metadata.annotations`), `karpenter.sh/do-not-disrupt` has no effect: Karpenter reads it on
pods and nodes.

```yaml bad frame=pool
spec.template.metadata.annotations:
  example.com/owner: platform
  node.alpha.kubernetes.io/ttl: "3600"
```

```yaml bad frame=pool
spec.template.metadata.annotations:
  example.com/owner: platform
  karpenter.sh/do-not-disrupt: "true"
```
"""

from nodelint.api import (
    EVERY_PROVIDER,
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    edits,
    fixes,
    manifest,
    rule,
)

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["invalid-field", "unknown-field", "removed-api"],
    providers=EVERY_PROVIDER,
    renamed=("odd-annotation",),
    mentions=["annotations"],
    subject="disruption",
    source=[
        "core:pkg/apis/v1/labels.go@v1.14.0:50",
        "https://karpenter.sh/docs/concepts/disruption/",
    ],
    cel=(
        "(!has(object.metadata.annotations) || !('karpenter.sh/do-not-disrupt' in "
        "object.metadata.annotations)) && (!has(object.spec.template.metadata) || "
        "!has(object.spec.template.metadata.annotations) || "
        "object.spec.template.metadata.annotations.all(k, !(k in ['node.alpha.kubernetes.io/ttl', "
        "'karpenter.sh/do-not-evict', 'karpenter.sh/do-not-consolidate', "
        "'cluster-autoscaler.kubernetes.io/scale-down-disabled', "
        "'cluster-autoscaler.kubernetes.io/safe-to-evict']) && (k != 'karpenter.sh/do-not-disrupt' || "
        "object.spec.template.metadata.annotations[k] != 'true')))"
    ),
)
def check(pool: NodePool, context: Context) -> Findings:
    template = pool.node.find("spec", "template", "metadata", "annotations")
    for label in manifest.labels(pool.node.find("metadata", "annotations")):
        if label.key == DO_NOT_DISRUPT:
            yield Finding(
                at=label.key_node,
                message=f"`{DO_NOT_DISRUPT}` has no effect on a NodePool: Karpenter reads it on pods and nodes",
                edits=_remove_annotation(pool, label.node),
                safety="safe",
                help="annotate the pods that must not move, or restrict `disruption.budgets`",
            )
    for label in manifest.labels(template):
        if label.key == DO_NOT_DISRUPT and label.value == "true":
            yield Finding(
                at=label.key_node,
                message="each node gets this annotation: Karpenter never consolidates one or replaces it for drift",
                edits=_remove_annotation(pool, label.node),
                note="new images and changes of the NodePool reach nodes only when the nodes expire",
                help="annotate the pods that must not move",
            )
        idle = fixes.idle_annotation(label.key) if isinstance(label.key, str) else None
        if idle is not None:
            what, instead = idle
            yield Finding(
                at=label.key_node,
                message=f"`{label.key}` {what}",
                edits=_remove_annotation(pool, label.node),
                note="if you change the template's annotations, Karpenter replaces the pool's nodes",
                help=instead,
            )


def _remove_annotation(pool: NodePool, node: Node) -> list[Edit]:
    """Return edits that remove an annotation. Empty if an operation of a JSON patch adds the annotation."""
    return [] if pool.document.part else edits.if_editable(edits.remove, node)
