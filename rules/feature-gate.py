r"""A static NodePool (`replicas`): the controller keeps its nodes only with the feature gate `StaticCapacity`.

The API server takes `replicas` in every release that has the field. The controller acts on it only where it was
started with the gate (`settings.featureGates.staticCapacity: true` of the chart), which is alpha, and off by default.
Without it no node is launched for the pool, and nothing says so: pods start no nodes of a static pool either.
Whether the gate is on is not in the manifests. Where it is, ignore the rule in the configuration.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  replicas: 2
  limits: {nodes: 4}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large, m6i.large]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  limits: {cpu: 8}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large, m6i.large]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["field-of-another-release", "unknown-field", "removed-api", "invalid-field"],
)
def check(pool: NodePool, context: Context) -> Findings:
    replicas = pool.node.at("spec", "replicas")
    if replicas is not None and replicas.value is not None:
        yield Finding(
            at=fixes.key_of(replicas),
            message="nothing is launched for `replicas` unless the feature gate StaticCapacity is on (default: off)",
            help="set `settings.featureGates.staticCapacity: true` in the values of Karpenter's chart",
        )
