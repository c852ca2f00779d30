r"""A NodePool allows `inf1` together with newer Neuron types, which run models of another compiler.

`neuron-cc` compiles models for `inf1`, and `neuronx-cc` compiles models for `inf2`, `trn1` and newer. Neither
compiler supports the other's devices. All these types have the resource `aws.amazon.com/neuron`. A pod that requests
it gets the cheapest type that fits, which can be `inf1.xlarge`, and its model does not load there. Use a NodePool for
each, or let pods select the family.

```yaml bad frame=pool
spec.template.spec.taints: [{key: aws.amazon.com/neuron, effect: NoSchedule}]
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [inf1, inf2, trn1]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [inf2, trn1]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, messages, pool_requirements, resolve, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "unmatchable-value", "gpu-image-gap", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="GPUs",
    source="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/",
)
def check(pool: NodePool, context: Context) -> Findings:
    telling = [
        item
        for item in pool_requirements.requirements_of(pool)
        if item.key in (keys.FAMILY, keys.INSTANCE_TYPE, keys.CATEGORY)
    ]
    inf = [value for item in telling for value in item.values if str(value.text).startswith("inf")]
    if not inf or any(item.operator != "In" for item in telling):
        return
    resolution = context.resolution(pool)
    left, neuron = resolution.candidates, resolve.having_device("aws.amazon.com/neuron", resolution.catalog)
    old = left & resolve.first_neuron(resolution.catalog)
    new = left & neuron - old
    if not old or not new or fixes.doubts(resolution):
        return
    names = messages.short(", ".join(f"`{family}`" for family in resolution.families(new)), 30)
    yield Finding(
        at=fixes.visible_node(inf[0].node),
        message=f"models compiled for {names} do not run on `inf1`, and models for `inf1` do not run on the others",
        help="use a NodePool for each, or let pods select the family that their model is compiled for",
    )
