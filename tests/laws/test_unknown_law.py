"""The law that what cannot be known is not judged notices rules that forget it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodelint.laws.rule_laws import Trial
from nodelint.laws.unknown_law import PLACEHOLDER, with_unknowns
from nodelint.rule.definition import load, load_bundled

RULE = '''"""A page.

```yaml bad frame=pool
spec.template.spec.requirements: [{{key: karpenter.sh/capacity-type, operator: In, values: [spot]}}]
```

```yaml good frame=pool
spec.template.spec.requirements: [{{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}}]
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, rule


@rule(on=NodePool, group="hazard")
def check(pool: NodePool, context: Context) -> Findings:
    for line in pool.requirements:
        if {condition}:
            yield Finding(at=line.values_node, message="spot capacity and no other")
'''


@pytest.mark.parametrize(
    ("condition", "fields"),
    [
        ('line.operator == "In" and line.known_texts == ("spot",)', []),
        ('line.known and line.texts == ("spot",)', []),
        ('line.texts == ("spot",)', ["values[1]"]),
        ('line.operator != "NotIn" and line.texts == ("spot",)', ["values[1]"]),
    ],
)
def test_a_rule_that_judges_a_placeholder_breaks_it(condition: str, fields: list[str], tmp_path: Path) -> None:
    (tmp_path / "only.py").write_text(RULE.format(condition=condition), encoding="utf-8")
    rule = load(str(tmp_path))["only"]
    broken = Trial({**load_bundled(), "only": rule}, own=["only"]).broken_laws(rule)
    assert [item.law for item in broken] == [
        "If a value is unknown, the rule finds nothing that it did not find before." for _ in fields
    ]
    assert all(field in value.difference for field, value in zip(fields, broken, strict=True))


def test_every_value_and_every_list_is_tried() -> None:
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  weight: 1\n"
    text += "  template:\n    spec:\n      requirements: [{key: a, operator: In, values: [b, c]}]\n"
    tried = {unknown.field.removeprefix("NodePool spec."): unknown for unknown in with_unknowns(text)}
    line = "template.spec.requirements[0]"
    assert list(tried) == [
        *("weight", "template.spec.requirements", f"{line}.key", f"{line}.operator", f"{line}.values"),
        *(f"{line}.values[0]", f"{line}.values[1]"),
    ]
    assert all(unknown.text.count(PLACEHOLDER) == 1 for unknown in tried.values())
    assert tried[f"{line}.values"].text == text.replace("[b, c]", f'[b, c, "{PLACEHOLDER}"]')
    assert tried[f"{line}.values"].longer == text.replace("[b, c]", "[b, c, b]")
