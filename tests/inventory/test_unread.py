"""What holds Karpenter objects and was not asked for, or is not rendered, is said, and no headline hides it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

CLASS = nodeclass(role="nodes", net="tags: {a: b}")
SCRIPT = f"kubectl apply -f - <<'EOF'\n{CLASS}---\n{CLASS.replace('default', 'gpu')}EOF\n"
PAGE = f"# How\n\n```yaml\n{CLASS}```\n"
OVERLAY_OF_NODES = "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata:\n  name: a\nspec: {weight: 1}\n"
CHART = "apiVersion: v2\nname: pools\nversion: 1.0.0\n"
TYPESCRIPT = """\
new k8s.CustomResource("pool", { apiVersion: "karpenter.sh/v1", kind: "NodePool", metadata: { name: "a" } });
const nodeClassRef = { apiVersion: "karpenter.k8s.aws/v1beta1", kind: "EC2NodeClass", name: "default" };
"""
PYTHON = 'POOL = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}}\n'
CUE = 'pool: {\n\tapiVersion: "karpenter.sh/v1"\n\tkind: "NodePool"\n\tmetadata: name: "a"\n}\n'
PULUMI = 'CustomResource("a", api_version="karpenter.sh/v1", kind="NodePool", metadata={"name": "a"})\n'
PULUMI_YAML = "resources:\n  a:\n    type: kubernetes:karpenter.sh/v1:NodePool\n"
KIND_FIRST = '{ kind = "NodePool"; # a pool\n  apiVersion = "karpenter.sh/v1"; metadata.name = "a"; }\n'
TERRAFORM = 'manifest = {\n  apiVersion = "karpenter.sh/v1"\n  kind       = "NodePool"\n}\n'
GO = "const pool = `\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: a\n`\n"


def closing_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    starts = ("Not re", "Rendered", "All good", "No findings")
    return [line for line in done.stdout.splitlines() if line.startswith(starts)]


OVERLAY = {
    "base/kustomization.yaml": "resources: [class.yaml]\n",
    "base/class.yaml": CLASS,
    "prod/kustomization.yaml": "resources: [../base]\npatches:\n  - path: heavier.yaml\n",
    "prod/heavier.yaml": CLASS.partition("spec:")[0] + "spec: {role: prod}\n",
}
REMOTE = {
    **OVERLAY,
    "prod/kustomization.yaml": "resources: [https://example.com/base]\npatches:\n  - path: heavier.yaml\n",
}
"""The same with a base that kustomize would have to fetch."""


@pytest.mark.parametrize(
    ("files", "headline", "lines"),
    [
        (
            {"a.sh": SCRIPT, "sub/b.sh": SCRIPT},
            "2 scripts not read",
            ["Not read: 2 scripts hold 4 Karpenter objects (a.sh, sub/b.sh); --include '**/*.sh' reads them."],
        ),
        (
            {"README.md": PAGE},
            "1 Markdown file not read",
            ["Not read: 1 Markdown file holds 1 Karpenter object (README.md); --include '**/*.md' reads them."],
        ),
        (
            {"a.ts": TYPESCRIPT, "b.py": PYTHON, "c/d.cue": CUE, "e.go": GO},
            "1 TypeScript file not read, 1 Python file not read, 1 Go file not read, 1 CUE file not read",
            [
                "Not read: 4 Karpenter objects in 1 TypeScript file (a.ts), 1 Python file (b.py), 1 Go file (e.go), "
                "1 CUE file (c/d.cue); pipe what they generate into `nodelint check -`."
            ],
        ),
        (
            {"a.py": PULUMI, "b.nix": KIND_FIRST, "c.jsonnet": KIND_FIRST, "d.k": KIND_FIRST},
            "1 Python file not read, 1 Jsonnet file not read, 1 Nix file not read, 1 KCL file not read",
            [
                "Not read: 4 Karpenter objects in 1 Python file (a.py), 1 Jsonnet file (c.jsonnet), "
                "1 Nix file (b.nix), 1 KCL file (d.k); pipe what they generate into `nodelint check -`."
            ],
        ),
        (
            {"Pulumi.yaml": PULUMI_YAML},
            "1 file not read",
            ["Not read: 1 file holds 1 Karpenter object in a form that nodelint does not read: Pulumi.yaml."],
        ),
        (
            REMOTE,
            "1 file not judged",
            [],
        ),
        (
            {"c/Chart.yaml": CHART, "c/templates/class.yaml": CLASS.replace("nodes", "{{ .Values.role }}")},
            "1 chart rendered without helm",
            [
                "Rendered without helm: 1 chart with its values; to judge the result:"
                " helm template NAME CHART | nodelint check -."
            ],
        ),
        (
            {"README.MD": PAGE.replace("k8s.aws/v1\n", "k8s.aws/v1  # since 1.0\n# the class\n")},
            "1 Markdown file not read",
            ["Not read: 1 Markdown file holds 1 Karpenter object (README.MD); --include '**/*.MD' reads them."],
        ),
        (
            {"README.md": f"```shell\n{CLASS}```\n"},
            "1 Markdown file not read",
            ["Not read: 1 Markdown file holds 1 Karpenter object (README.md); --include '**/*.md' reads them."],
        ),
        (
            {"README.md": f"```yaml\n{OVERLAY_OF_NODES}```\n"},
            "1 Markdown file not read",
            ["Not read: 1 Markdown file holds 1 Karpenter object (README.md); --include '**/*.md' reads them."],
        ),
        (
            {"a.sh": SCRIPT.replace("EOF\n", "EoF\n"), "b.sh": SCRIPT, "notes.md": f"The class:\n\n{CLASS}"},
            "1 script not read, 1 script not read, 1 Markdown file not read",
            [
                "Not read: 1 script holds 2 Karpenter objects (b.sh); --include '**/*.sh' reads them.",
                "Not read: 1 script holds 2 Karpenter objects that are not YAML in a heredoc: a.sh.",
                "Not read: 1 Markdown file holds 1 Karpenter object that is not YAML in a code block: notes.md.",
            ],
        ),
        ({"c/Chart.yaml": CHART, "c/templates/class.yaml": CLASS, "notes.md": "karpenter.sh/v1 NodePool\n"}, "", []),
    ],
    ids=[
        *("scripts", "Markdown", "programs", "other programs", "other YAML", "overlay", "chart"),
        *("capitals and comments", "YAML called shell", "no pool and no class", "no block", "nothing"),
    ],
)  # fmt: skip
def test_what_is_not_read_or_rendered_is_said(
    nodelint: Run, tmp_path: Path, files: dict[str, str], headline: str, lines: list[str]
) -> None:
    write_files(tmp_path, {"class.yaml": CLASS.replace("default", "other"), **files})
    *rest, first = closing_lines(nodelint("check", "."))
    assert first.startswith(f"No findings; {headline}: " if headline else "All good: ")
    assert rest == lines
    if not {"prod/heavier.yaml", "c/Chart.yaml"} & files.keys():
        (tmp_path / "class.yaml").unlink()
        none = (
            "no NodePool or EC2NodeClass in 1 file"
            if "Pulumi.yaml" in files
            else "there is no file that nodelint reads"
        )
        nothing = "Nothing to check in what could be read" if lines else "Nothing to check"
        outcome = f"{nothing}: {none}."
        assert nodelint("check", ".").stdout == "\n".join([outcome, *lines, ""])


@pytest.mark.parametrize(("files", "named"), [("abc", "a.sh, b.sh, c.sh"), ("abcd", "a.sh, b.sh, c.sh and 1 more")])
def test_three_files_are_named_and_the_others_counted(nodelint: Run, tmp_path: Path, files: str, named: str) -> None:
    write_files(tmp_path, {f"{name}.sh": SCRIPT for name in files})
    assert f" ({named}); --include" in nodelint("check", ".").stdout


def test_what_was_asked_for_is_not_said_again(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"class.yaml": CLASS.replace("default", "other"), "a.sh": SCRIPT, "README.md": PAGE})
    every = nodelint("check", ".", "--include", "**/*.sh,**/*.md")
    assert closing_lines(every)[0].startswith("All good: 4 objects in 3 files")
    assert closing_lines(nodelint("check", "class.yaml"))[0].startswith("All good: 1 object in 1 file")


def test_programs_read_it_too(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"class.yaml": CLASS.replace("default", "other"), "a.sh": SCRIPT, "b.py": PYTHON})
    assert json.loads(nodelint("check", "--format", "json", ".").stdout)["summary"]["unread"] == [
        {"kind": "script", "paths": ["a.sh"], "objects": 2, "flag": "--include '**/*.sh'"},
        {"kind": "Python file", "paths": ["b.py"], "objects": 1, "flag": None},
    ]


def test_an_overlay_with_a_base_elsewhere_is_judged_by_what_kustomize_makes_of_it(
    nodelint: Run, tmp_path: Path
) -> None:
    write_files(tmp_path, REMOTE)
    done = nodelint("check", ".")
    assert (done.returncode, "; to judge it: kustomize build FOLDER | nodelint check -" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("flag", "command"), [("--helm", "helm template NAME CHART"), ("--kustomize", "kustomize build FOLDER")]
)
def test_a_flag_for_a_program_that_renders_is_answered_with_the_pipe(nodelint: Run, flag: str, command: str) -> None:
    done = nodelint("check", flag, ".")
    assert done.returncode == 2
    assert f"; to judge {flag[2:]}'s own result, `{command} | nodelint check -`" in done.stderr


def test_only_regular_files_inside_of_the_repository_are_looked_into(tmp_path: Path, nodelint: Run) -> None:
    """A link to a file beside is followed, one that leads out is not, and nobody waits for the writer of a pipe."""
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    text = "```yaml\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n```\n"
    (tmp_path / "out.md").write_text(text, encoding="utf-8")
    (repository / "own.md").write_text(text, encoding="utf-8")
    (repository / "link.md").symlink_to("own.md")
    (repository / "away.md").symlink_to("../out.md")
    os.mkfifo(repository / "pipe.md")
    answer = json.loads(nodelint("check", "--format", "json", cwd=repository).stdout)["summary"]["unread"]
    assert [entry["paths"] for entry in answer] == [["link.md", "own.md"]]


@pytest.mark.parametrize(
    ("files", "paths", "line"),
    [
        (
            {".workshop/class.yaml": CLASS},
            ["."],
            "Not read: 1 file in a hidden folder holds 1 Karpenter object (.workshop/class.yaml); "
            "nodelint check .workshop reads them.",
        ),
        (
            {"class.yaml.bak": CLASS},
            ["."],
            "Not read: 1 set-aside file holds 1 Karpenter object that no tool applies by this name: class.yaml.bak.",
        ),
        (
            {"a.tf.disabled": TERRAFORM},
            ["."],
            "Not read: 1 set-aside file holds 1 Karpenter object that no tool applies by this name: a.tf.disabled.",
        ),
        (
            {"main.tf": 'locals {\n  text = join("", [<<-A\n' + CLASS + "  B\n  , 1])\n}\n"},
            ["main.tf"],
            "Not read: 1 file holds 1 Karpenter object in a form that nodelint does not read: main.tf.",
        ),
        ({".git/class.yaml": CLASS, ".terraform/class.yaml": CLASS}, ["."], None),
    ],
    ids=["a hidden folder", "a copy", "a copy of Terraform", "a heredoc without an end", "folders of tools"],
)
def test_what_holds_objects_and_is_passed_over_is_named(
    nodelint: Run, tmp_path: Path, files: dict[str, str], paths: list[str], line: str | None
) -> None:
    write_files(tmp_path, {"other.yaml": CLASS.replace("default", "other"), **files})
    done = nodelint("check", *paths)
    output = [line for line in done.stdout.splitlines() if line.startswith("Not read")]
    assert output == ([line] if line is not None else [])
    gate = nodelint("check", "--fail-on-unjudged", *paths)
    # Terraform stops at a heredoc without an end.
    assert gate.returncode == (0 if line is None else 2 if "terraform-syntax" in gate.stdout else 1)


NOT_JUDGED = {
    "pools.yaml": """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: azure}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: claim}
""",
    "class.yaml": CLASS,
    "template.yaml": "{{ if .a }}\nkind: NodePool\nmetadata:\n  name: x\n bad: [ # karpenter.sh/v1\n{{ end }}\n",
}


def test_the_count_of_what_is_not_judged_holds_objects_and_documents_alone(nodelint: Run, tmp_path: Path) -> None:
    """Neither an object that is judged in part, nor a rule that waits for facts of an account."""
    write_files(tmp_path, NOT_JUDGED)
    report = json.loads(nodelint("check", "--format", "json").stdout)
    listed = [(row["path"], row["line"], row["object"]) for row in report["coverage"]["notJudged"]]
    assert listed == [("pools.yaml", 10, "NodeClaim/claim"), ("template.yaml", 1, None)]
    others = [row for row in report["skipped"] if row["rule"] is not None or row["object"] is None]
    assert any(row["path"] == "" for row in others), "rules wait for facts"
    assert any((row["object"] or {}).get("name") == "azure" for row in report["skipped"]), "judged in part"
