r"""A bound beside a comment that counts the value in, such as `Gt` with 4 under "4 and newer": `Gt 4` begins at 5.

`Gt` and `Lt` leave their value out. Where a comment on the requirement says `4+`, `>= 4` or "4 or newer" beside
`Gt 4`, or "up to 8" beside `Lt 8`, one of the two is a slip. Karpenter 1.9.0 and newer have `Gte` and `Lte`, which
count the value in.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        # generation 4 and newer
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        # generation 4 and newer
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["3"]}
```
"""

import re

from nodelint.api import Context, Finding, Findings, NodePool, RequirementLine, Suggestion, edits, labels, rule

WIDER = {
    "Gt": r"(?<![\w.><]){n}\s*(\+|(and|or)\s+(newer|later|above|higher|up|more|larger|bigger|greater)\b)"
    r"|(>=|≥|at least|minimum( of)?|min\.?)\s*{n}(?![\w.])",
    "Lt": r"(?<![\w.><]){n}\s*(and|or)\s+(older|below|lower|less|fewer|smaller)\b"
    r"|(<=|≤|at most|up to|maximum( of)?|max\.?)\s*{n}(?![\w.])",
}
"""What a comment says of a value (`{n}`) that it counts in."""


@rule(
    on=NodePool,
    group="practice",
    gives_way_to=["no-instance-type", "invalid-field", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="requirements",
    source=[
        "core:pkg/scheduling/requirement.go@v1.14.0:48",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    for line in pool.requirements:
        if line.operator not in WIDER or len(line.texts) != 1 or not line.texts[0].isdigit():
            continue
        number = int(line.texts[0])
        found = re.search(WIDER[str(line.operator)].replace("{n}", str(number)), _comment(line), re.IGNORECASE)
        if found is None or not isinstance(line.key, str):
            continue
        begins = number + 1 if line.operator == "Gt" else number - 1
        meant = number - 1 if line.operator == "Gt" else number + 1
        said = " ".join(found[0].split())
        end = "begins" if line.operator == "Gt" else "ends"
        changes = edits.if_editable(edits.set_value, line.values[0].node, str(meant)) if meant >= 0 else []
        yield Finding(
            at=line.values[0].node,
            message=f"the comment says `{said}`, but `{line.operator} {number}` {end} at {begins}",
            help=f"write `{line.operator} {meant}` for {labels.name_of(line.key)}, or correct the comment",
            suggestions=[Suggestion(f"let {number} in", changes)] if changes else [],
        )


def _comment(line: RequirementLine) -> str:
    """The comments inside a requirement and those right above it."""
    text = line.node.source.text
    start = text.rfind("\n", 0, line.node.start) + 1
    end = text.find("\n", line.values_node.end)
    found = [_behind_hash(each) for each in text[start : end if end >= 0 else len(text)].split("\n")]
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        above = text[before : start - 1].strip()
        if not above.startswith("#"):
            break
        found.append(above)
        start = before
    return " ".join(each for each in found if each)


def _behind_hash(line: str) -> str:
    _, mark, comment = line.partition(" #") if not line.lstrip().startswith("#") else ("", "#", line)
    return comment if mark else ""
