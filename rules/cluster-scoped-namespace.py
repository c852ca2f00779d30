"""A NodePool or EC2NodeClass with a `metadata.namespace`, although both kinds belong to no namespace.

Both kinds are cluster-scoped: the API server drops the field, and one object of the name serves the whole cluster.
Tools that compare or name objects by namespace do not drop it: Argo CD can show the object as out of sync, and
Kustomize does not find it under the name without namespace. A reader may take it for proof that two objects of one
name in two namespaces live side by side. kubectl minds only where `--namespace` names another one.

The fix removes the line. It offers none where a patch names the object by the same namespace: both have to change.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
  namespace: karpenter
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64]
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64]
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, Object, edits, rule


@rule(on=Object, group="practice", severity="info", fix="safe", providers=EVERY_PROVIDER)
def check(obj: Object, context: Context) -> Findings:
    node = obj.node.at("metadata", "namespace")
    if node is None or node.kind != "scalar" or node.value is None or obj.source.part or obj.document.part:
        return
    patched = any(o.kind == obj.kind and o.name == obj.name and o.partial for o in context.objects if o is not obj)
    yield Finding(
        at=node,
        message=f"{obj.kind} is cluster-scoped: the API server drops `metadata.namespace`",
        edits=[] if patched else edits.if_editable(edits.remove, node),
        help="a patch names the namespace too: change both" if patched else None,
    )
