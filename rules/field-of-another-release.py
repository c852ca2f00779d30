r"""The target release does not have a field, value or label key yet, or no longer has it.

The manifest is right for another Karpenter release. The API server of the target release refuses it or drops the
field. The message names the release that has the field. If the target is wrong, set `--karpenter-version`.

```yaml bad frame=pool karpenter=1.4.0
spec.replicas: 3
```

```yaml good frame=bad karpenter=1.8.0
```
"""

from nodelint.api import Context, Finding, Findings, Node, Object, Suggestion, edits, manifest, rule


@rule(
    on=Object,
    group="correctness",
    gives_way_to=["node-class-ref", "removed-api", "unsupported-alias", "unknown-label"],
    subject="migration",
    source=[
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:33",
        "core:pkg/apis/v1/nodepool.go@v1.14.0:42",
        "https://karpenter.sh/docs/upgrading/upgrade-guide/",
    ],
    tags=["admission", "release-dependent"],
)
def check(obj: Object, context: Context) -> Findings:
    if manifest.served(obj, context.karpenter):
        for problem in context.problems(obj):
            if problem.layer == "release":
                yield Finding(
                    at=problem.node,
                    message=problem.message,
                    covers=_moot(problem.node),
                    suggestions=_suggest_removal(problem.node),
                )


def _suggest_removal(node: Node) -> list[Suggestion]:
    """Return a suggestion to remove a field that the release drops or refuses; empty if removal is not possible."""
    parent = node.parent
    if parent is None or not isinstance(node.value, str) or parent.key(node.value) is not node:
        return []
    if len(parent.entries) == 1 and parent.parent is not None and parent.parent.kind == "sequence":
        return []  # a term without a field is refused
    changes = edits.if_editable(edits.remove, node)
    return [Suggestion(f"remove `{node.value}`", changes)] if changes else []


def _moot(node: Node) -> list[Node]:
    """Return the nodes that depend on the field: its value, or the rest of a requirement on a key."""
    parent = node.parent
    if parent is None or not isinstance(node.value, str):
        return []
    if parent.key(node.value) is node:
        return [parent.get(node.value) or node]
    return [parent] if parent.get("key") is node else []
