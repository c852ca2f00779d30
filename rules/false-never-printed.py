r"""A template prints a truth value only where it is true, and leaving the field out does not mean false.

`{{ if .cpuCFSQuota }}` is not taken for `false`, so that whoever sets `cpuCFSQuota: false` gets the default of the
kubelet, which is `true`, and hears nothing of it. The same goes for `associatePublicIPAddress` (without it the subnet
decides), `encrypted` (the account's default holds) and `deleteOnTermination` (the image decides).

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: {{ .Values.name }}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  {{- if .Values.publicIP }}
  associatePublicIPAddress: {{ .Values.publicIP }}
  {{- end }}
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: {{ .Values.name }}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  {{- if not (kindIs "invalid" .Values.publicIP) }}
  associatePublicIPAddress: {{ .Values.publicIP }}
  {{- end }}
```
"""

from nodelint.api import Also, Context, Edit, Finding, Findings, Source, Span, objects, rule


@rule(on=Source, group="hazard", fix="unsafe")
def check(source: Source, context: Context) -> Findings:
    if "{{" not in source.text or not any(True for _ in objects(source)):
        return
    for each in context.templates.guarded(source):
        meaning = context.templates.without(each.key)
        if each.asked != each.printed or meaning is None:
            continue
        start, end = each.condition
        yield Finding(
            at=Span(source, start, end),
            message=f"`{each.key}: false` is never printed: `if` asks whether the value is true",
            edits=[Edit(source, start, end, f'not (kindIs "invalid" {each.asked})')],
            also=[Also(Span(source, *each.value), "printed here")],
            note=f"without the field, {meaning}",
        )
