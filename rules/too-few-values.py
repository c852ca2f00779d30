r"""The allowed instance types can never meet a `minValues`, so Karpenter launches nothing.

Karpenter counts the different values of the key among all instance types that meet the pool's requirements. If there
are fewer than `minValues`, it launches nothing, unless the controller runs with the policy `BestEffort` (since
1.6.0). If the values of its chart set that policy, the severity is info. The API server only compares
`minValues` with the length of the list. Types that exceed one of the pool's limits do not count: Karpenter skips them
first.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-family
    operator: Exists
    minValues: 5
  - key: node.kubernetes.io/instance-type
    operator: In
    values: ["c7i.large", "m7i.large", "r7i.large"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-family
    operator: Exists
    minValues: 3
  - key: node.kubernetes.io/instance-type
    operator: In
    values: ["c7i.large", "m7i.large", "r7i.large"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [arm64]}
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7g, c7i], minValues: 2}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [arm64]}
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7g, c7gd], minValues: 2}
```

```yaml bad frame=pool
spec.limits.cpu: 32
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [xlarge, 4xlarge, 16xlarge], minValues: 3}
```

```yaml good frame=bad
spec.limits.cpu: 200
```
"""

from collections.abc import Iterator, Sequence

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Node,
    NodePool,
    RequirementLine,
    Skip,
    Suggestion,
    edits,
    labels,
    requirement,
    resolve,
    rule,
)


@rule(
    on=NodePool,
    group="correctness",
    gives_way_to=["invalid-field", "refused-combination", "wildcard-value", "removed-api"],
    providers=["aws", "auto-mode"],
    mentions=["minValues"],
    subject="requirements",
    source=[
        "core:pkg/cloudprovider/types.go@v1.14.0:368",
        "core:pkg/controllers/provisioning/scheduling/scheduler.go@v1.14.0:1069",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    if not any(line.min_values for line in pool.requirements):
        return
    if pool.partial:
        yield Skip(pool.name_node, "the NodePool is only a fragment: its values are known after rendering")
        return
    for finding in _too_few(pool, context.resolution(pool)):
        settings = context.settings(pool)
        policy = settings.setting("MIN_VALUES_POLICY")
        if policy is None and settings.has_gaps:
            yield Skip(
                finding.at,
                "the values of the controller's chart are not all known, so its policy for minValues is not known",
            )
            return
        if policy == "BestEffort":
            note = "the controller's policy is BestEffort: it also launches with fewer values"
            finding = finding._replace(severity="info", note=note)
        yield finding


def _too_few(pool: NodePool, resolution: resolve.Resolution) -> Iterator[Finding]:
    if not resolution.candidates:
        yield from _beside_an_impossible_line(resolution)
        return
    for min_values in resolution.min_values:
        if not min_values.met and isinstance(min_values.line.at, RequirementLine):
            every = [value.node for line in pool.requirements for value in line.values]
            yield _finding(min_values.line.at, min_values.key, min_values.wanted, min_values.have, every)
    for min_values, have in resolve.unmet_within(resolution):
        if isinstance(min_values.line.at, RequirementLine):
            found = _finding(min_values.line.at, min_values.key, min_values.wanted, have, ())
            at = [limit.at.node for limit in resolve.limits(pool) if resolve.beyond(limit, resolution)]
            yield found._replace(
                message=f"{found.message.partition(':')[0]}: within the limits there {_count_values(have)}",
                also=[Also(node, "Karpenter first skips the types that exceed this") for node in at],
                help="lower minValues, or raise the limits",
            )


def _count_values(count: int) -> str:
    return "is only 1 value" if count == 1 else f"are only {count} values"


def _beside_an_impossible_line(resolution: resolve.Resolution) -> Iterator[Finding]:
    """Yield a finding for each minValues that cannot be met even without the requirements that match no instance
    type. Other rules report these requirements.
    """
    known = [line for line in resolution.lines if line.requirement is not None]
    possible = [line for line in known if line.kept]
    if len(possible) == len(known):
        return
    types = resolution.catalog.all_types
    for line in possible:
        types &= line.kept
    for line in possible:
        key, at = requirement.normalize(line.key), line.at
        if isinstance(at, RequirementLine) and line.min_values and types and key in resolution.catalog.keys:
            have = len(resolution.catalog.distinct(key, types))
            if have < line.min_values:
                yield _finding(at, key, line.min_values, have, ())


def _finding(line: RequirementLine, key: str, wanted: int, have: int | None, covers: Sequence[Node]) -> Finding:
    count = "1 value" if have == 1 else f"{have} values"
    least = line.node.get("minValues")
    offers = [
        (f"require {count}", edits.if_editable(edits.set_value, least, have) if least is not None and have else []),
        ("remove minValues", edits.if_editable(edits.remove, least) if least is not None else []),
    ]
    return Finding(
        at=line.node.get("minValues") or line.node,
        message=f"minValues `{wanted}` of {labels.name_of(key)} cannot be met: the requirements allow only {count}",
        covers=covers,
        help="lower minValues, or let the other requirements allow more instance types",
        suggestions=[Suggestion(name, changes) for name, changes in offers if changes],
    )
