r"""A template drops a value: it tests another field, or it prints a boolean only if it is true.

A typical mistake is `{{ if .startupTaints }}` around `taints: {{ toYaml .taints }}`, copied from the lines above. If
a pool has taints but no startup taints, the template silently drops the taints, and any pod can run on its nodes. If
it has startup taints only, `taints` becomes `null`.

The rule ignores conditions on a switch such as `enabled`, and on a field that the template does not print by itself.

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

The rule also reports a boolean that the template prints only if it is true, if a missing field does not mean false.

`{{ if .cpuCFSQuota }}` is false for `cpuCFSQuota: false`. The template then prints nothing, the kubelet uses its
default `true`, and there is no error. The same is true for `associatePublicIPAddress` (without it, the subnet
decides), `encrypted` (the account's default applies) and `deleteOnTermination` (the image decides).

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
            message=f"the template writes `{guarded.key}` only if another field is set: `{guarded.asked}`",
            edits=[Edit(source, start, end, guarded.printed)],
            also=[Also(Span(source, *guarded.value), f"the template prints `{guarded.printed}` at this place")],
            note=f"if `{guarded.asked}` is empty, the template silently drops `{guarded.key}`",
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
            message=f"the template never prints `{guarded.key}: false`: `if` tests whether the value is true",
            edits=[Edit(source, start, end, f'not (kindIs "invalid" {guarded.asked})')],
            also=[Also(Span(source, *guarded.value), "printed here")],
            note=f"without the field, {meaning}",
        )
