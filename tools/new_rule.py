"""Write a rule that works and passes all laws, as the start of a new rule.

python tools/new_rule.py spot-without-fallback
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from nodelint.rule.classification import SUBJECTS, TAGS  # noqa: E402

_TEMPLATE = '''r"""A NodePool whose name is `change-me`: say in one sentence what this rule flags.

Say why it matters: what happens in the cluster, when, and to whom. Then say what to do. Examples follow in pairs.
Each contains only the lines that matter, which nodelint inserts into a frame, a correct manifest of
nodelint/data/frames/. If the rule has a fix, omit the good example: the fix makes it.

```yaml bad frame=pool
metadata.name: change-me
```

```yaml good frame=bad
metadata.name: general
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, rule


@rule(on=NodePool, group="practice", subject="objects", source="https://karpenter.sh/docs/concepts/nodepools/")
def check(pool: NodePool, context: Context) -> Findings:
    if pool.name == "change-me":
        yield Finding(at=pool.name_node, message="`change-me` says nothing about the nodes of the pool")
'''


def rule_text() -> str:
    """Return the text of a new rule."""
    return _TEMPLATE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="what is wrong, in the terms of the field: words in lower case, joined by `-`")
    parser.add_argument("--folder", type=Path, default=ROOT / "rules", help="default: rules/")
    options = parser.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", options.name):
        sys.exit(f"`{options.name}` is no name of a rule: words in lower case, joined by `-`")
    file = options.folder / f"{options.name}.py"
    if file.exists():
        sys.exit(f"{file} is there already")
    file.write_text(rule_text(), encoding="utf-8")
    print(f"{file}: change it; `subject` is one of {', '.join(SUBJECTS)}.")
    print("Most rules need no `tags`. If one of these is true of the rule, name it:")
    for tag, text in TAGS.items():
        print(f"  {tag}: {text}")
    print("Then")
    if options.folder.resolve() != ROOT / "rules":
        print(f"  nodelint test-rules {options.folder}")
        return
    print("  python tools/make_rule_pages.py")
    print(f"  pytest tests/laws/test_rules.py -k {options.name}")


if __name__ == "__main__":
    main()
