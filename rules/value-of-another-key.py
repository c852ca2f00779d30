r"""A requirement has values that belong to another key, such as families in `instance-category`.

`instance-category` is the letter (`c`, `m`, `r`), `instance-family` the letter with its generation (`c7g`),
`instance-type` the whole name (`c7g.large`), and `instance-size` the part after the dot. If a requirement has only
values of another key, the NodePool has no instance type. With `NotIn` such a value excludes nothing.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["m5", "m6i", "m7i"]
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["spot"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [spot, on-demand]}
  - {key: node.kubernetes.io/instance-type, operator: NotIn, values: [nano, micro]}
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: "topology.kubernetes.io/zone"
    operator: In
    values:
    - "us-east-1"
```
"""

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    edits,
    labels,
    manifest,
    messages,
    pool_requirements,
    rule,
)

_REGION = "topology.kubernetes.io/region"
"""A requirement on the region allows all of its zones: whether all were meant is a guess."""


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    gives_way_to=["wildcard-value", "zone-without-subnet", "field-of-another-release", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="requirements",
    source=[
        "provider:pkg/apis/v1/labels.go@v1.14.1:39",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    for item, slips in labels.slips_of(pool, context.catalog):
        homes = {text: slip.home for text, slip in slips.items() if slip.home is not None}
        strays = [(value, homes[str(value.text)]) for value in item.values if value.text in homes] if homes else []
        if strays:
            yield _finding(item, strays, pool, context)


def _finding(
    item: pool_requirements.PoolRequirement,
    strays: list[tuple[manifest.Value, str]],
    pool: NodePool,
    context: Context,
) -> Finding:
    homes = {home for _, home in strays}
    home = strays[0][1]
    wholly = item.known and len(strays) == len(item.values) and len(homes) == 1
    dead = item.known and all(labels.can_have(item.key, text, context.catalog) is False for text in item.texts)
    requirements = pool_requirements.requirements_of(pool)
    other = next((requirement for requirement in requirements if requirement.key == home), None)
    changes: list[Edit] = []
    hint = None
    key = pool_requirements.key_in_domain(pool, home)
    if not wholly:
        hint = f"add a requirement on `{key}`, or remove the values from this one"
    elif other is not None:
        hint = f"move the values to the requirement on `{key}`, or remove the values"
    else:
        changes = edits.if_editable(edits.set_value, item.key_node, key)
    return Finding(
        at=strays[0][0].node,
        message=_message(item, [str(value.text) for value, _ in strays], home, len(homes) == 1),
        severity="error" if dead and item.operator == "In" else "warning",
        edits=changes,
        safety="safe" if item.operator == "In" and home != _REGION else "unsafe",
        also=[Also(other.key_node, f"`{labels.name_of(home)}` is required here")] if other is not None else (),
        covers=[value.node for value, _ in strays],
        help=hint,
    )


def _message(item: pool_requirements.PoolRequirement, texts: list[str], home: str, is_single: bool) -> str:
    first = messages.short(texts[0], 20)
    more = f" and {len(texts) - 1} more" if len(texts) > 1 and is_single else ""
    verb = "are values" if more else "is a value"
    message = f"`{first}`{more} {verb} of {labels.name_of(home)}"
    return messages.first_fitting(f"{message}, not of {labels.name_of(item.key)}", message)
