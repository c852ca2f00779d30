r"""A chart can create a class of EKS Auto Mode instead of an EC2NodeClass, but its NodePools never name it.

A condition of the chart decides whether the class is a `NodeClass` of `eks.amazonaws.com` or an `EC2NodeClass`. A
pool with a fixed `kind: EC2NodeClass` never finds a `NodeClass` and launches nothing.

```yaml bad
{{- if .Values.autoMode }}
apiVersion: eks.amazonaws.com/v1
kind: NodeClass
metadata:
  name: {{ .Values.name }}
{{- else }}
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: {{ .Values.name }}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
{{- end }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ .Values.name }}
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: {{ .Values.name }}
      requirements: []
```

```yaml good diff=bad
-        group: karpenter.k8s.aws
-        kind: EC2NodeClass
+        group: {{ ternary "eks.amazonaws.com" "karpenter.k8s.aws" .Values.autoMode }}
+        kind: {{ ternary "NodeClass" "EC2NodeClass" .Values.autoMode }}
```
"""

from nodelint.api import UNKNOWN, Context, Finding, Findings, NodePool, messages, rule


@rule(
    on=NodePool,
    group="hazard",
    mentions=["{{"],
    subject="templates",
    source=[
        "core:pkg/apis/v1/nodeclaim.go@v1.14.0:135",
        "https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html",
    ],
    tags=["template-code"],
)
def check(pool: NodePool, context: Context) -> Findings:
    source = pool.source
    ref = pool.class_ref
    if ref is None or not source.holds("{{"):
        return
    kinds = [entry.value for entry in ref.node.entries if entry.name == "kind"]
    name = ref.node.get("name")
    if len(kinds) != 1 or kinds[0].value != "EC2NodeClass" or name is None or name.value is not UNKNOWN:
        return
    scopes, switch = context.templates.scopes(source), context.templates.class_switch(source)
    if scopes is None or switch is None:
        return
    kind = switch.rpartition(".")[2]
    around = scopes.within(pool.node.start, kinds[0].end)
    if any(kind in source.text[slice(*region.head)] or not region.only for region in around):
        return
    yield Finding(
        at=kinds[0],
        message="the kind is fixed, but the chart can also create a class of `eks.amazonaws.com`: the pool never "
        "finds it",
        note=f"`{messages.short(switch)}` prints a `NodeClass` instead of an `EC2NodeClass`",
        help="print `group` and `kind` under the same condition",
    )
