r"""A value of a requirement that is written as a pattern, such as `*` or `c7*`: Karpenter has no patterns.

Values are compared as text. `*` is no legal label value either: the API server takes the NodePool, its
controller does not, the pool never becomes ready and launches nothing. This is so in every release and for
every operator.

`In ["*"]` means `operator: Exists`. Any other pattern is replaced by the values that it stands for: those of
the catalogue's instance types that the pool's other requirements allow. Leaving the requirement out is
shorter where all values will do. Zones and labels of your own are in no catalogue: there only `*` can be
replaced.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values: ["*"]
        - key: kubernetes.io/arch
          operator: In
          values: ["amd64"]
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: karpenter.k8s.aws/instance-family
          operator: Exists
        - key: kubernetes.io/arch
          operator: In
          values: ["amd64"]
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: compute
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c7*]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: compute
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c7a, c7i, c7i-flex]}
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
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values:
            - "m5.*"
            - "m6i.4xlarge" # reserved until spring
        - key: karpenter.k8s.aws/instance-cpu
          operator: Lt
          values:
            - "33"
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values:
            - "m5.2xlarge"
            - "m5.4xlarge"
            - "m5.8xlarge"
            - "m5.large"
            - "m5.xlarge"
            - "m6i.4xlarge" # reserved until spring
        - key: karpenter.k8s.aws/instance-cpu
          operator: Lt
          values:
            - "33"
```
"""

from nodelint.ec2.catalog import Catalog
from nodelint.edits import NotEditable, remove, set_value, set_values
from nodelint.karpenter.labels import EVERYTHING, is_pattern, known_values, name_of, natural, standing_for
from nodelint.karpenter.resolve import LineEffect, Resolution
from nodelint.karpenter.resolve.offers import capacity_types
from nodelint.lint.rule import Context, rule
from nodelint.model.finding import Also, Edit, Finding, Findings
from nodelint.model.keys import CAPACITY_TYPE
from nodelint.model.manifest import NodePool, RequirementLine
from nodelint.model.messages import short
from nodelint.model.requirement import Requirement, normalize


@rule(on=NodePool, severity="error", fix="safe", gives_way_to=["removed-api"])
def check(pool: NodePool, context: Context) -> Findings:
    for line in pool.requirements:
        patterns = _patterns(line)
        if not patterns or not isinstance(line.operator, str) or line.operator in ("Gt", "Lt", "Gte", "Lte"):
            continue
        shown = short(patterns[0], 20)
        first, *more = [value.node for value in line.values if value.text in patterns]
        edits, hint = _fix(pool, line, context)
        yield Finding(
            at=first,
            message=f"`{shown}` is no legal value and never a pattern: the pool does not get ready",
            edits=edits,
            also=[Also(node, "another pattern") for node in more],
            covers=more,
            hint=hint,
        )


def _patterns(line: RequirementLine) -> list[str]:
    return [text for text in line.texts if is_pattern(text)]


def _fix(pool: NodePool, line: RequirementLine, context: Context) -> tuple[list[Edit], str | None]:
    """The edits, or else what a person has to decide."""
    values, operator = line.node.get("values"), line.node.get("operator")
    if values is None or operator is None or not isinstance(line.key, str) or not line.known:
        return [], None
    key = normalize(line.key)
    everything = any(text in EVERYTHING for text in line.texts)
    try:
        if line.operator in ("Exists", "DoesNotExist"):
            return remove(values), f"`{line.operator}` takes no values"
        if everything and line.operator == "NotIn":
            return [], "to exclude every value leaves nothing: name those that are to be excluded"
        if everything and (len(line.texts) == 1 or known_values(key, context.catalog) is None):
            return [*set_value(operator, "Exists"), *remove(values)], None
        new = _written_out(pool, line, key, everything, context)
        if new is None and known_values(key, context.catalog) is None:
            return [], f"which values of {name_of(key)} there are is not known offline: name them"
        if new is None:
            return [], f"no value of {name_of(key)} that is allowed here looks like it"
        hint = "or leave the requirement out: its order is no preference" if everything else None
        return set_values(values, new), hint
    except NotEditable as why:
        return [], f"there is no fix here: {why.reason}"


def _written_out(
    pool: NodePool, line: RequirementLine, key: str, everything: bool, context: Context
) -> list[str] | None:
    """The list without patterns; None where one of them stands for nothing."""
    allowed = _allowed(pool, line, key, context)
    new: list[str] = []
    for text in line.texts:
        found = [text]
        if is_pattern(text):
            found = standing_for(text, allowed)
            if not found and line.operator == "NotIn":
                found = standing_for(text, known_values(key, context.catalog) or ())
            if not found:
                return None
        new += [value for value in found if value not in new]
    return sorted(new, key=natural) if everything else new


def _allowed(pool: NodePool, line: RequirementLine, key: str, context: Context) -> list[str]:
    """The values of the line's key that the pool's other requirements leave, their patterns written out."""
    resolution = context.resolution(pool)
    catalog = resolution.catalog
    if key == CAPACITY_TYPE:
        return list(capacity_types(resolution.node_class, context.karpenter))
    if key not in catalog.keys:
        return list(known_values(key, catalog) or ())
    bits = resolution.left_without(*_with_patterns(resolution))
    for other in pool.requirements:
        meant = None if other is line else _meant(other, catalog)
        if meant is not None:
            bits &= catalog.select(meant)
    return [value for value, types in catalog.values(key).items() if types & bits]


def _meant(line: RequirementLine, catalog: Catalog) -> Requirement | None:
    """What a requirement on types was to say, its patterns written out; None where it holds none."""
    if not _patterns(line) or not isinstance(line.key, str) or line.operator not in ("In", "NotIn"):
        return None
    known = known_values(normalize(line.key), catalog)
    if known is None or not line.known:
        return None
    meant = [value for text in line.texts for value in (standing_for(text, known) or [text])]
    return Requirement.of(line.key, line.operator, meant)


def _with_patterns(resolution: Resolution) -> list[LineEffect]:
    return [effect for effect in resolution.lines if any(map(is_pattern, effect.values))]
