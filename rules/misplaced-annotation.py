r"""An annotation without effect at its place, or that keeps Karpenter from replacing any node of the pool.

Karpenter puts the annotations of `spec.template.metadata` on each node. Some do not do there what they seem to:

- `node.alpha.kubernetes.io/ttl` is no lifetime. It says how long the kubelet keeps secrets and config maps, and the
  node controller of Kubernetes overwrites it. Nodes live as long as `expireAfter` says.
- Karpenter 1.0 and later do not read `karpenter.sh/do-not-evict` and `karpenter.sh/do-not-consolidate`.
- Annotations of the Cluster Autoscaler are read by the Cluster Autoscaler only.
- `karpenter.sh/do-not-disrupt: "true"` does act: no node of the pool is replaced for drift or consolidated, not even
  an empty one. New images and changes of the NodePool reach nodes only when these expire. On a pod it protects the
  pod's node, for as long as the pod runs.

On the NodePool itself (`metadata.annotations`), `karpenter.sh/do-not-disrupt` does nothing: Karpenter asks pods and
nodes.

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
                message=f"`{DO_NOT_DISRUPT}` has no effect on a NodePool: Karpenter asks pods and nodes for it",
                edits=_remove_annotation(pool, label.node),
                safety="safe",
                help="annotate the pods that have to stay, or restrict `disruption.budgets`",
            )
    for label in manifest.labels(template):
        if label.key == DO_NOT_DISRUPT and label.value == "true":
            yield Finding(
                at=label.key_node,
                message="no node of the pool is ever replaced for drift or consolidated: each has this annotation",
                edits=_remove_annotation(pool, label.node),
                note="new images and changes of the manifests reach nodes only when the nodes expire",
                help="annotate the pods that have to stay",
            )
        idle = fixes.idle_annotation(label.key) if isinstance(label.key, str) else None
        if idle is not None:
            what, instead = idle
            yield Finding(
                at=label.key_node,
                message=f"`{label.key}` {what}",
                edits=_remove_annotation(pool, label.node),
                note="a change of the template's annotations replaces the pool's nodes",
                help=instead,
            )


def _remove_annotation(pool: NodePool, node: Node) -> list[Edit]:
    """The pool without an annotation; where an operation of a patch adds it, the whole operation would have to go."""
    return [] if pool.document.part else edits.if_editable(edits.remove, node)
