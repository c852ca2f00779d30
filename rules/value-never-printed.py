r"""A template drops what the values say: under a condition on another field, or as a false that is not printed.

A template writes a field under a condition on another one: it is lost where only that other one is unset.

`{{ if .startupTaints }}` around `taints: {{ toYaml .taints }}` is copied from the lines above it. Where a pool has
taints and no startup taints, its taints are silently dropped, and any pod may be put on its nodes. Where it has
startup taints alone, `taints` becomes `null`.

Conditions on a switch such as `enabled` are not meant, nor those on a field that is printed nowhere by itself.

```yaml bad frame=pool
spec.template.spec:
  {{- if .Values.startupTaints }}
  startupTaints: {{ toYaml .Values.startupTaints | nindent 8 }}
  {{- end }}
  {{- if .Values.startupTaints }}
  taints: {{ toYaml .Values.taints | nindent 8 }}
  {{- end }}
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: []
```

A template prints a truth value only where it is true, and leaving the field out does not mean false.

`{{ if .cpuCFSQuota }}` is not taken for `false`, so that whoever sets `cpuCFSQuota: false` gets the default of the
kubelet, which is `true`, and gets no message. The same goes for `associatePublicIPAddress` (without it the subnet
decides), `encrypted` (the account's default holds) and `deleteOnTermination` (the image decides).

```yaml bad frame=class
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  {{- if .Values.publicIP }}
  associatePublicIPAddress: {{ .Values.publicIP }}
  {{- end }}
```
"""

from nodelint.api import Also, Context, Edit, Finding, Findings, RuleCheck, Source, Span, objects, rule, run_checks


@rule(
    on=Source,
    group="hazard",
    fix="unsafe",
    renamed=("crossed-condition", "false-never-printed"),
    subject="templates",
    source="https://helm.sh/docs/chart_template_guide/control_structures/",
    mentions=["{{"],
    tags=["template-code"],
)
def check(source: Source, context: Context) -> Findings:
    yield from run_checks(source, context, RuleCheck(_check_condition), RuleCheck(_check_false))


def _check_condition(source: Source, context: Context) -> Findings:
    if not any(True for _ in objects(source)):
        return
    for guarded in context.templates.guarded(source):
        if guarded.asked == guarded.printed or not (guarded.alike and guarded.used):
            continue
        start, end = guarded.condition
        yield Finding(
            at=Span(source, start, end),
            message=f"`{guarded.key}` is written under a condition on another field: `{guarded.asked}`",
            edits=[Edit(source, start, end, guarded.printed)],
            also=[Also(Span(source, *guarded.value), f"`{guarded.printed}` is printed here")],
            note=f"where `{guarded.asked}` is empty, `{guarded.key}` is silently dropped",
        )


def _check_false(source: Source, context: Context) -> Findings:
    if not any(True for _ in objects(source)):
        return
    for guarded in context.templates.guarded(source):
        meaning = context.templates.default_of(guarded.key)
        if guarded.asked != guarded.printed or meaning is None:
            continue
        start, end = guarded.condition
        yield Finding(
            at=Span(source, start, end),
            message=f"`{guarded.key}: false` is never printed: `if` asks whether the value is true",
            edits=[Edit(source, start, end, f'not (kindIs "invalid" {guarded.asked})')],
            also=[Also(Span(source, *guarded.value), "printed here")],
            note=f"without the field, {meaning}",
        )
