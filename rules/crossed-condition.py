r"""A template writes a field under a condition on another one: it is lost where only that other one is unset.

`{{ if .startupTaints }}` around `taints: {{ toYaml .taints }}` is copied from the lines above it. Where a pool has
taints and no startup taints, its taints are dropped without a word, and any pod may be put on its nodes. Where it has
startup taints alone, `taints` becomes `null`.

Conditions on a switch such as `enabled` are not meant, nor those on a field that is printed nowhere by itself.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ .Values.name }}
spec:
  template:
    spec:
      {{- if .Values.startupTaints }}
      startupTaints: {{ toYaml .Values.startupTaints | nindent 8 }}
      {{- end }}
      {{- if .Values.startupTaints }}
      taints: {{ toYaml .Values.taints | nindent 8 }}
      {{- end }}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ .Values.name }}
spec:
  template:
    spec:
      {{- if .Values.startupTaints }}
      startupTaints: {{ toYaml .Values.startupTaints | nindent 8 }}
      {{- end }}
      {{- if .Values.taints }}
      taints: {{ toYaml .Values.taints | nindent 8 }}
      {{- end }}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
```
"""

from nodelint.api import Also, Context, Edit, Finding, Findings, Source, Span, objects, rule


@rule(on=Source, group="hazard", fix="unsafe")
def check(source: Source, context: Context) -> Findings:
    if "{{" not in source.text or not any(True for _ in objects(source)):
        return
    for each in context.templates.guarded(source):
        if each.asked == each.printed or not (each.alike and each.used):
            continue
        start, end = each.condition
        yield Finding(
            at=Span(source, start, end),
            message=f"`{each.key}` is written under a condition on another field: `{each.asked}`",
            edits=[Edit(source, start, end, each.printed)],
            also=[Also(Span(source, *each.value), f"`{each.printed}` is printed here")],
            note=f"where `{each.asked}` is empty, `{each.key}` is dropped without a word",
        )
