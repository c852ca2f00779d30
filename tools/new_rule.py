"""Write a new rule: one that works and keeps the laws, to be changed into the one that is meant.

python tools/new_rule.py spot-without-fallback
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_TEMPLATE = '''r"""A NodePool whose name is `change-me`: say in one sentence what this rule flags.

Say why it matters: what happens in the cluster, when, and to whom. Then pairs of examples, each bad one followed by
its good one; where the rule has a fix, the good example is what the fix makes of the bad one.

```yaml bad
{bad}```

```yaml good
{good}```
"""

from nodelint.api import Context, Finding, Findings, NodePool, rule


@rule(on=NodePool, group="practice", source="https://karpenter.sh/docs/concepts/nodepools/")
def check(pool: NodePool, context: Context) -> Findings:
    if pool.name == "change-me":
        yield Finding(at=pool.name_node, message="`change-me` says nothing about the nodes of the pool")
'''
_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {name}
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: karpenter.sh/capacity-type
          operator: In
          values: ["on-demand"]
"""


def rule_text() -> str:
    """The text of a new rule."""
    return _TEMPLATE.format(bad=_POOL.format(name="change-me"), good=_POOL.format(name="general"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="what is wrong, in the terms of the field: words in lower case, joined by `-`")
    parser.add_argument("--folder", type=Path, default=ROOT / "rules", help="default: rules/")
    asked = parser.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", asked.name):
        sys.exit(f"`{asked.name}` is no name of a rule: words in lower case, joined by `-`")
    file = asked.folder / f"{asked.name}.py"
    if file.exists():
        sys.exit(f"{file} is there already")
    file.write_text(rule_text(), encoding="utf-8")
    print(f"{file}: change it, then")
    if asked.folder.resolve() != ROOT / "rules":
        print(f"  nodelint test-rules {asked.folder}")
        return
    print("  python tools/make_rule_pages.py")
    print(f"  pytest tests/test_rules.py -k {asked.name}")


if __name__ == "__main__":
    main()
