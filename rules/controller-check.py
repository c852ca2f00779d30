r"""The API server takes the object, but the controller cannot work with it: what only Karpenter itself checks.

Admission knows types and patterns. What a label value may be, whether a taint stands twice, whether a budget's
schedule is a schedule, is checked by the controller when it reads the object. It then leaves a NodePool at
`Ready: False`, with an event that few people read, and launches nothing for it. The hint of each finding says what
happens.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints:
        - {key: example.com/batch, value: small, effect: NoSchedule}
        - {key: example.com/batch, value: large, effect: NoSchedule}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints:
        - {key: example.com/batch, value: small, effect: NoSchedule}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  disruption:
    consolidateAfter: 5m
    budgets:
      - {nodes: "0", schedule: "0 8 * * 7", duration: 10h} # Sundays
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  disruption:
    consolidateAfter: 5m
    budgets:
      - {nodes: "0", schedule: "0 8 * * 0", duration: 10h} # Sundays
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Edit, Finding, Findings, Object, controller, edits, rule


@rule(
    on=Object,
    group="correctness",
    fix="unsafe",
    gives_way_to=[
        "wildcard-value",
        "unknown-value",
        "value-of-another-key",
        "unknown-label",
        "unsupported-alias",
        "invalid-field",
        "refused-combination",
        "field-of-another-release",
        "removed-api",
    ],
    providers=EVERY_PROVIDER,
)
def check(obj: Object, context: Context) -> Findings:
    for problem in context.controller_problems(obj):
        yield Finding(
            at=problem.node,
            message=problem.message,
            severity=problem.severity,
            edits=_suggested(problem),
            covers=problem.node.items if problem.node.kind == "sequence" else (),
            note=problem.consequence,
        )


def _suggested(problem: controller.ControllerProblem) -> list[Edit]:
    """The text that was plainly meant, such as a schedule without its slip."""
    if problem.suggestion is None or problem.node.kind != "scalar":
        return []
    return edits.if_editable(edits.set_value, problem.node, problem.suggestion)
