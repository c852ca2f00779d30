"""The manifest has metadata of one object in one cluster, copied from `kubectl get -o yaml`.

If `resourceVersion` is set, the API server refuses to create the object. It also refuses to update the object after
any other change, and the controller changes it all the time: `the object has been modified`. If `uid` is set, the API
server of every other cluster refuses the object. If `managedFields` is set, server-side apply, which Flux and Argo CD
can use, fails with `metadata.managedFields must be nil`. The API server ignores `creationTimestamp`, `generation` and
`status`. The fix removes the three fields that cause errors.

The rule reports nothing for standard input and for lists that kubectl printed, because there you ask about the output
of kubectl. In a file or folder that is called a backup, it is only a hint: a restore of it fails.

```yaml bad frame=pool
metadata.resourceVersion: "7859105"
metadata.uid: f5ebd01d-6971-4809-9777-325a3ba08be0
```
"""

import re
from collections.abc import Sequence

from nodelint.api import Context, Finding, Findings, Node, Object, edits, rule

_BACKUP = re.compile(r"(?i)(?:^|[-_./])(?:backup|bak)s?[-_./]")
LIVE = ("resourceVersion", "uid", "managedFields")


@rule(
    on=Object,
    group="hazard",
    fix="safe",
    providers=["aws", "auto-mode"],
    mentions=["resourceVersion", "uid", "managedFields"],
    subject="objects",
    source=[
        "https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions",
        "https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields",
    ],
)
def check(obj: Object, context: Context) -> Findings:
    metadata = obj.node.get("metadata")
    if metadata is None or obj.source.path == "-" or _listed(obj):
        return
    found = [(name, node) for name in LIVE if (node := metadata.get(name)) is not None and not _is_empty(node)]
    if not found:
        return
    name, node = found[0]
    yield Finding(
        at=metadata.key(name) or node,
        message="the API server sets `managedFields`: server-side apply refuses an object that has it"
        if name == "managedFields"
        else f"the API server sets `{name}`: it refuses this object in another cluster, or after any change",
        edits=edits.if_editable(edits.restructure, metadata, _list_kept_fields(metadata, found)),
        covers=[node for _, node in found],
        severity="info" if _BACKUP.search(obj.source.path) else None,
        note=_ignored(obj),
        help=f"remove `{name}`: it was copied from a cluster",
    )


def _list_kept_fields(metadata: Node, found: Sequence[tuple[str, Node]]) -> dict[str, object]:
    names = {name for name, _ in found}
    return {name: value for name, value in edits.plain_fields(metadata).items() if name not in names}


def _is_empty(node: Node) -> bool:
    return node.value in (None, "") if node.kind == "scalar" else not (node.items or node.entries)


def _ignored(obj: Object) -> str | None:
    """Return a note that `status` is ignored; None if there is no status."""
    status = obj.node.get("status")
    return "`status` is ignored: only the controller writes it" if status is not None and status.entries else None


def _listed(obj: Object) -> bool:
    """Return whether the object is in a list with its own metadata, as kubectl prints several objects."""
    items = obj.node.parent
    return items is not None and items.parent is not None and items.parent.get("metadata") is not None
