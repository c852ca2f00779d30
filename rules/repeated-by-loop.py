r"""A loop of a template writes the same key in each round: with a second item the key appears twice.

kubectl keeps the last value of a key that is there twice and silently drops the others; kustomize and Flux
refuse the object. The key belongs above the loop, and what is below it into the loop. Where a loop writes whole
documents, a line `---` has to part its rounds.

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
                message="no `---` between the rounds of a loop: with two items their documents run together",
                also=[Also(Span(source, *loop), "the loop")],
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
            also=[Also(Span(source, *loop), "the loop")],
            note="kubectl silently drops the first; kustomize and Flux refuse the object",
            help=f"write `{key}:` above the loop",
        )
