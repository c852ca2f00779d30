"""Template code that changes decides about nodes, unless it prints one value that no node depends on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = """\
HEAD
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [{{ .Values.arch }}]}]
  weight: {{ .Values.weight }}
  limits:
    cpu: {{ .Values.limits.cpu | default 100 }}
"""


@pytest.mark.parametrize(
    ("old", "new", "is_known"),
    [
        (".Values.limits.cpu", "(.Values.limits).cpu", True),
        (".Values.weight", ".Values.order | default 10", True),
        (".Values.weight", 'include "weight" .', False),
        (".Values.weight", "$x := .Values.weight", False),
        (".Values.arch", ".Values.architecture", False),
        ("HEAD", "{{ $arch := .Values.arch }}", False),
    ],
)
def test_code_in_a_field_that_no_node_depends_on(
    nodelint: Run, tmp_path: Path, old: str, new: str, is_known: bool
) -> None:
    files = {
        "old/pool.yaml": POOL.replace("HEAD", "---"),
        "new/pool.yaml": POOL.replace(old, new).replace("HEAD", "---"),
    }
    write_files(tmp_path, files)
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert ("No node is replaced" in done.stdout) == is_known, done.stdout
    assert done.returncode == (0 if is_known else 1)


GUARDED = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    metadata:
      labels: {a: b}
IF
      annotations: {karpenter.sh/do-not-disrupt: "true"}
END
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements: [{key: node.kubernetes.io/instance-type, operator: NotIn, values: [c5d.large]}]
"""


@pytest.mark.parametrize("mark", ["", "#", "      # "])
@pytest.mark.parametrize(
    ("begin", "end"), [("{{ if .Values.keep }}", "{{ end }}"), ("{% if keep %}", "{% endif %}"), ("#", "#")]
)
def test_an_annotation_that_a_condition_may_omit_keeps_no_node(
    nodelint: Run, tmp_path: Path, mark: str, begin: str, end: str
) -> None:
    """A template engine evaluates conditions that stand in comments of YAML, too."""
    text = GUARDED.replace("IF", mark + begin).replace("END", mark + end)
    write_files(tmp_path, {"old/a.yaml": text, "new/a.yaml": text.replace("c5d.large", "c5d.large, m5d.large")})
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert ("but none is replaced" in done.stdout) == (begin == "#"), done.stdout
    assert ("some nodes are replaced" in done.stdout) == (begin != "#"), done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize(("condition", "code"), [(".Values.other", 1), (".Values.keep", 0)])
def test_a_condition_in_a_comment_that_changes(nodelint: Run, tmp_path: Path, condition: str, code: int) -> None:
    text = GUARDED.replace("END", "#{{ end }}")
    sides = [text.replace("IF", f"#{{{{ if {name} }}}}") for name in (".Values.keep", condition)]
    write_files(tmp_path, {"old/a.yaml": sides[0], "new/a.yaml": sides[1]})
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert ("No node is replaced" in done.stdout) == (code == 0), done.stdout
    assert done.returncode == code


def test_a_condition_in_a_comment_about_comments_alone(nodelint: Run, tmp_path: Path) -> None:
    text = GUARDED.replace("IF\n", "").replace("END\n", "# {{ if .Values.x }}\n#   a: b\n\n# {{ end }}\n")
    write_files(tmp_path, {"old/a.yaml": text, "new/a.yaml": text.replace(".Values.x", ".Values.y")})
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert "No node is replaced" in done.stdout, done.stdout
    assert done.returncode == 0
