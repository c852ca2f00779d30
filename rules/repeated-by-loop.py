r"""A loop in a template writes the same key in each round, so with two items the key appears twice.

If a key appears twice, kubectl silently keeps the last value, and kustomize and Flux refuse the object. Write the key
above the loop and its entries in the loop. If a loop writes whole documents, each round must begin with a line `---`.

```yaml bad frame=class
metadata.name: {{ .Values.name }}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  {{- range .Values.volumes }}
  blockDeviceMappings:
    - deviceName: {{ .device }}
      ebs: {volumeSize: 50Gi, encrypted: true}
  {{- end }}
```

```yaml good frame=bad
metadata.name: {{ .Values.name }}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  blockDeviceMappings:
  {{- range .Values.volumes }}
    - deviceName: {{ .device }}
      ebs: {volumeSize: 50Gi, encrypted: true}
  {{- end }}
```
"""

from nodelint.api import Also, Context, Finding, Findings, Object, Span, rule


@rule(
    on=Object,
    group="hazard",
    mentions=["{{"],
    subject="templates",
    source=[
        "https://yaml.org/spec/1.2.2/#3213-node-comparison",
        "https://helm.sh/docs/chart_template_guide/control_structures/",
    ],
    tags=["template-code"],
)
def check(obj: Object, context: Context) -> Findings:
    source = obj.source
    if not source.masked or not source.holds("range"):
        return
    for start, end, loop in context.templates.running_together(source):
        if any(entry.key.start == start for entry in obj.node.entries):
            yield Finding(
                at=Span(source, start, end),
                message="the loop writes no `---` between its documents: with two items they become one document",
                also=[Also(Span(source, *loop), "this loop repeats the object")],
                note="kubectl silently keeps the last of each key; kustomize and Flux refuse the object",
                help="begin the body of the loop with a line `---`",
            )
    if source.text.find("range", obj.node.start, obj.node.end) < 0:
        return
    keys = {entry.key.start: entry for node in obj.node.walk() for entry in node.entries}
    for start, end, loop in context.templates.repeated(source):
        if start not in keys:
            continue
        key = source.text[start:end]
        yield Finding(
            at=Span(source, start, end),
            message=f"`{key}` is written in each round of a loop: with two items it appears twice",
            also=[Also(Span(source, *loop), "this loop repeats the object")],
            note="kubectl silently drops the first; kustomize and Flux refuse the object",
            help=f"write `{key}:` above the loop",
        )
