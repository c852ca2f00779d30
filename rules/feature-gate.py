r"""An object, such as a static NodePool (`replicas`) or a NodeOverlay, needs a feature gate that is off by default.

The API server accepts `replicas` in every release that has the field. The controller uses it only with the feature
gate `settings.featureGates.staticCapacity: true` of the chart, which is alpha and off by default. Without the gate
Karpenter launches no node for the pool, not even for pending pods, and reports no error. In the same way a
NodeOverlay changes no price and no capacity without `settings.featureGates.nodeOverlay: true`.

The rule reports nothing if the values of Karpenter's chart, its Deployment, or Terraform's `set` turn the gate on. If
the repository turns the gate off, the finding is a warning. If the repository does not mention the gate, only the
strict profile reports it.

```yaml bad frame=pool
spec.replicas: 2
spec.limits: {nodes: 4}
```

```yaml good frame=bad
spec.limits: {cpu: 8}
spec.replicas: null
```

```yaml bad
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: dearer-generation-5
spec:
  requirements:
    - {key: karpenter.k8s.aws/instance-generation, operator: In, values: ["5"]}
  priceAdjustment: "+45%"
```

```yaml good frame=pool
spec.limits: {cpu: 8}
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["5"]}
```
"""

from nodelint.api import Context, Finding, Findings, Node, NodePool, Object, fixes, manifest, rule

HELP = "set `settings.featureGates.{}: true` in the values of Karpenter's chart"


@rule(
    on=Object,
    group="hazard",
    gives_way_to=["field-of-another-release", "unknown-field", "removed-api", "invalid-field"],
    mentions=["replicas", "NodeOverlay"],
    subject="objects",
    source=[
        "core:pkg/operator/options/options.go@v1.14.0:56",
        "https://karpenter.sh/docs/reference/settings/#feature-gates",
    ],
)
def check(obj: Object, context: Context) -> Findings:
    if isinstance(obj, NodePool):
        replicas = obj.node.find("spec", "replicas")
        if replicas is not None and replicas.value is not None:
            yield from _report(
                obj, context, fixes.key_of(replicas), "StaticCapacity", "Karpenter launches no node for `replicas`"
            )
    elif isinstance(obj, manifest.NodeOverlay):
        at = obj.node.get("kind") or obj.name_node
        yield from _report(obj, context, at, "NodeOverlay", "a NodeOverlay has no effect")


def _report(obj: Object, context: Context, at: Node, gate: str, what: str) -> Findings:
    state = context.settings(obj).gate(gate)
    if state:
        return
    off = "the values of its chart turn it off" if state is False else "default: off"
    yield Finding(
        at=at,
        message=f"{what} without the feature gate {gate} ({off})",
        severity=None if state is False else "info",
        help=HELP.format(gate[0].lower() + gate[1:]),
        strict=state is None,
    )
