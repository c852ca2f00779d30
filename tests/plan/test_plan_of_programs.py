"""A program that makes pools is not read: its nodes are not known if a file that it may read changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL, class_of
from tests.repositories import write_files

PROGRAM = """\
from pathlib import Path
import yaml
TEMPLATE = '''
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {name}
'''
for path in sorted((Path(__file__).parent.parent.parent / "defs").glob("*.yaml")):
    print(TEMPLATE.format(**yaml.safe_load(path.read_text())), Path("regions.json").read_text())
"""
FILES = {
    "plain/pool.yaml": class_of() + "---\n" + POOL,
    "pools/tools/python/make.py": PROGRAM,
    "pools/defs/a.yaml": "name: a\ntypes: [m5.large]\n",
    "pools/regions.json": '["us-east-1"]\n',
    "pools/other/a.yaml": "name: a\n",
    "other/defs/a.yaml": "name: a\n",
}


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        ("pools/defs/a.yaml", True),
        ("pools/defs/new.yaml", True),
        ("pools/regions.json", True),
        ("pools/other/a.yaml", False),
        ("other/defs/a.yaml", False),
    ],
)
@pytest.mark.parametrize("text", ["name: b\n", None])
def test_data_that_a_program_may_read(
    nodelint: Run, tmp_path: Path, path: str, is_read: bool, text: str | None
) -> None:
    now = {name: content for name, content in {**FILES, path: text}.items() if content is not None}
    write_files(tmp_path / "old", FILES)
    write_files(tmp_path / "new", now)
    found = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    is_changed = is_read and now != FILES
    shown = " ".join(found.stdout.split())
    assert (f"it may read {path}, which changes" in shown) == is_changed, found.stdout
    assert ("No node is replaced" in shown) != is_changed, found.stdout
    assert found.returncode == is_changed
