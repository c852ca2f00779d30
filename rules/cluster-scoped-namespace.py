"""A NodePool or EC2NodeClass has a `metadata.namespace`, although both kinds are cluster-scoped.

The API server drops the field silently, and one object with that name exists in the whole cluster. If you write
objects of the same name for two namespaces, there is one object, and the last apply wins. Tools that identify objects
by namespace keep the field: a Kustomize patch finds the object only with that namespace, and Argo CD can show it as
out of sync. kubectl complains only if `--namespace` names another namespace.

The API server also drops `namespace: {{ .Release.Namespace }}` of a chart.

The fix removes the line. If a patch names the object by the same namespace, there is no fix, because both must
change.

```yaml bad frame=pool
metadata.namespace: karpenter
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, Object, edits, manifest, messages, rule

WHO = "the whole cluster has one object of this name; Kustomize and Argo CD still identify it by the namespace"


@rule(
    on=Object,
    group="hazard",
    severity="info",
    fix="safe",
    providers=EVERY_PROVIDER,
    mentions=["namespace"],
    subject="objects",
    source=[
        "core:pkg/apis/v1/nodepool.go@v1.14.0:310",
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:572",
    ],
)
def check(obj: Object, context: Context) -> Findings:
    node = obj.node.find("metadata", "namespace")
    if node is None or node.kind != "scalar" or node.value is None or obj.source.part or obj.document.part:
        return
    if isinstance(obj, manifest.UnknownKind):
        return
    origin = obj.source.built.find_origin(node) if obj.source.built is not None else None
    if origin is not None and origin.at.source.path.lower().rpartition("/")[2].startswith("kustomization"):
        return  # Kustomize gives its namespace to every object of a kind that it does not know
    patched = any(o.kind == obj.kind and o.name == obj.name and o.partial for o in context.objects if o is not obj)
    written = messages.short(node.source.text[node.start : node.end].strip("\"'"), 40)
    yield Finding(
        at=node,
        message=f"{obj.kind} is cluster-scoped: the API server silently drops namespace `{written}`",
        once=True,
        edits=[] if patched else edits.if_editable(edits.remove, node),
        note=WHO,
        help="a patch also names the namespace: remove it from both" if patched else None,
    )
