"""Law: whatever works out a text of the repository stops at the run's budget, and says where."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
from pathlib import Path

import pytest

from nodelint.base import budget
from nodelint.forms.kustomize import run as overlay_run
from nodelint.forms.kustomize.overlay import Overlay
from tests import in_process
from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Files = dict[str, str]
LABEL = "key: example.com/team, operator: In, values: [{}]"
_KUSTOMIZE = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
_JOINED = "{select: {kind: NodePool}, fieldPaths: [FIELD], options: {delimiter: ',', index: -1}}"
_TARGET = "{select: {kind: NodePool}, fieldPaths: [FIELD], options: {create: true}}"


def pool(value: str = "a") -> str:
    return nodepool(LABEL.format(value), inline=True)


def terraform(value: str, more: str = "", **files: str) -> Files:
    shown = f'"${{{value}}}"'
    spec = (
        '{ nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "web" }, requirements = '
        f'[{{ key = "example.com/team", operator = "In", values = [{shown}] }}] }}'
    )
    text = (
        'resource "kubernetes_manifest" "p" {\n  manifest = { apiVersion = "karpenter.sh/v1", kind = "NodePool", '
        f'metadata = {{ name = "p" }}, spec = {{ template = {{ spec = {spec} }} }} }}\n}}\n'
    )
    return {"main.tf": more + text, **files}


def chain(first: str, step: str) -> str:
    """Locals of which each holds the one before it, which stands as `@` in a step."""
    rest = (f"  s{n} = {step.replace('@', f'local.s{n - 1}')}\n" for n in range(1, 61))
    return f"locals {{\n  s0 = {first}\n{''.join(rest)}}}\n"


def chart(template: str, values: str = "a: 1\n", **files: str) -> Files:
    return {
        "Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "values.yaml": values,
        "templates/_h.tpl": f'{{{{ define "e" }}}}{template}{{{{ end }}}}',
        "templates/pool.yaml": pool('{{ include "e" . | quote }}'),
        **files,
    }


def below(folder: str, files: Files) -> Files:
    return {f"{folder}/{path}": text for path, text in files.items()}


def grown(first: str, step: str, last: str) -> str:
    """A variable that becomes something else in each of sixty rounds."""
    return f"{{{{ $x := {first} }}}}{{{{ range until 60 }}}}{{{{ $x = {step} }}}}{{{{ end }}}}{{{{ {last} }}}}"


def overlay(text: str, objects: str = pool(), **files: str) -> Files:
    return {"kustomization.yaml": f"{_KUSTOMIZE}resources: [pool.yaml]\n{text}", "pool.yaml": objects, **files}


def patched(patch: str, target: str = "kind: NodePool", times: int = 1) -> Files:
    entries = f"- {{target: {{{target}}}, path: p.yaml}}\n" * times
    return overlay(f"patches:\n{entries}", **{"p.yaml": patch})


def replaced(source: str, field: str, target: str = _TARGET, times: int = 60) -> str:
    entries = (
        f"- source: {{kind: NodePool, fieldPath: {source}}}\n  targets: [{target.replace('FIELD', field % n)}]\n"
        for n in range(times)
    )
    return f"replacements:\n{''.join(entries)}"


def application_set(generators: str, values: str = "arch: '{{.a0}}'") -> Files:
    source = f"{{repoURL: 'https://example.com/y', path: c, helm: {{values: {json.dumps(values)}}}}}"
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec:\n  goTemplate: true\n"
        f"  generators: [{generators}]\n  template:\n    metadata: {{name: a}}\n    spec:\n      source: {source}\n"
        "      destination: {namespace: k}\n"
    )
    return {"a.yaml": text, **below("c", chart("{{ .Values.arch }}", "arch: x\n"))}


def elements(count: int, key: str) -> str:
    listed = ",".join(f'{{{key}: "{n}"}}' for n in range(count))
    return f"{{list: {{elements: [{listed}]}}}}"


def matrix(*parts: str) -> str:
    return f"{{matrix: {{generators: [{', '.join(parts)}]}}}}"


def user_data(text: str) -> Files:
    return {"class.yaml": nodeclass(f"userData: {json.dumps(text)}", inline=True)}


def laughs() -> str:
    """Aliases that stand for 10^12 values."""
    rest = (f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    return f"a0: &a0 [{','.join('x' * 10)}]\n{''.join(rest)}"


def flux(variables: str, text: str) -> Files:
    head = (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec:\n  path: ./p\n"
    )
    post = f"  sourceRef: {{kind: GitRepository, name: x}}\n  postBuild: {{substitute: {{{variables}}}}}\n"
    return {"k.yaml": head + post, "p/p.yaml": text}


def policies(expr: str) -> Files:
    labels = json.dumps({f"t{n}": "a" for n in range(100)})
    policy = {"name": "long", "on": "NodePool", "expr": expr, "message": "no"}
    labelled = nodepool().replace("metadata:", f"metadata:\n  labels: {labels}", 1)
    return {"nodelint.yaml": json.dumps({"policies": [policy]}), "pool.yaml": labelled}


LOOPS = "{{ range until 900 }}{{ range until 900 }}a{{ end }}{{ end }}"
_MIME = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n'
_MANY = ",".join(["a"] * 3000)
_DEEP = "[" * 20_000 + "]" * 20_000
_PAIRS = ",".join(f"a{n}: b" for n in range(300))
_FOLDERS = ",".join(["{path: '*/*'}"] * 3000)
_OF_ALL = "self.metadata.labels.all(a, self.metadata.labels.all(b, self.metadata.labels.all(c, {})))"
_MODULE = {"m/main.tf": 'variable "x" {}\n' + terraform("var.x")["main.tf"]}

EVALUATORS: dict[str, dict[str, tuple[Files, str]]] = {
    "forms/terraform/filled_texts.py": {
        "expressions": (terraform("jsonencode(local.s60)", chain('["a"]', "[@, @]")), "main.tf"),
        "join": (terraform("local.s60", chain('"aaaaaaaaaa"', 'join("", [@, @])')), "main.tf"),
        "format": (terraform("local.s60", chain('"aaaaaaaaaa"', 'format("%s%s", @, @)')), "main.tf"),
        "a width": (terraform('format("%0999999d", 5)'), "main.tf"),
        "range": (terraform("length([for a in range(900) : range(900)])"), "main.tf"),
        "setproduct": (terraform("length(setproduct(range(900), range(900), range(900)))"), "main.tf"),
        "regexall": (terraform(f'length(regexall("(a+)+$", "{"a" * 60}b"))'), "main.tf"),
        "jsonencode": (terraform("local.s60", chain('"\\""', "jsonencode(@)")), "main.tf"),
        "cidrsubnets": (terraform(f'cidrsubnets("10.0.0.0/8", {",".join(["16"] * 900)})[899]'), "main.tf"),
        "fileset": (
            terraform('length([for i in range(900) : fileset(".", "**")])', **below("d", _MODULE)),
            "main.tf",
        ),
        "templatefile": (
            terraform(
                'templatefile("loop.tftpl", {})',
                **{"loop.tftpl": "%{ for a in range(900) }%{ for b in range(900) }x%{ endfor }%{ endfor }"},
            ),
            "main.tf",
        ),
        "Terragrunt": (
            {
                "live/terragrunt.hcl": chain('["a"]', "[@, @]")
                + 'terraform {\n  source = "../m"\n}\ninputs = {\n  x = jsonencode(local.s60)\n}\n',
                **_MODULE,
            },
            "m/main.tf",
        ),
    },
    "forms/lib/gotemplate/evaluate.py": {
        "templates": (chart(LOOPS), "templates/pool.yaml"),
        "loops without a body": (chart(LOOPS.replace("}}a{{", "}}{{")), "templates/pool.yaml"),
        "sprig": (chart(grown('"a"', "cat $x $x", "len $x")), "templates/pool.yaml"),
        "repeat": (chart('{{ range until 900 }}{{ repeat 900 "aaaaaaaaaa" }}{{ end }}'), "templates/pool.yaml"),
        "until": (chart("{{ range until 900 }}{{ until 900 | toJson }}{{ end }}"), "templates/pool.yaml"),
        "seq": (chart("{{ seq 1 1000000000 }}"), "templates/pool.yaml"),
        "printf": (chart('{{ printf "%1000000d" 5 }}'), "templates/pool.yaml"),
        "genCA": (chart('{{ range until 900 }}{{ (genCA "a" 365).Cert }}{{ end }}'), "templates/pool.yaml"),
        "regexes": (chart(f'{{{{ regexReplaceAll "(a|aa)+$" "{"a" * 60}b" "x" }}}}'), "templates/pool.yaml"),
        "tpl": (
            chart("{{ tpl .Values.a . }}", "a: '{{ tpl .Values.a . }}{{ tpl .Values.a . }}'\n"),
            "templates/pool.yaml",
        ),
        "include": (
            chart(grown('"a"', 'include "twice" $x', "$x") + '{{ end }}{{ define "twice" }}{{ . }}{{ . }}'),
            "templates/pool.yaml",
        ),
        "fromYaml": (
            chart("{{ fromYaml .Values.a | toJson }}", f"a: {json.dumps(laughs())}\n"),
            "templates/pool.yaml",
        ),
        "the template of a set": (application_set(elements(2, "a0"), f"arch: {LOOPS}"), "a.yaml"),
        "helmfile": (
            {
                "helmfile.yaml.gotmpl": "releases:\n- {name: a, chart: ./c, values: [v.yaml.gotmpl]}\n",
                "v.yaml.gotmpl": f"a: {LOOPS}\n",
                **below("c", chart("{{ .Values.a }}")),
            },
            "helmfile.yaml.gotmpl",
        ),
    },
    "forms/kustomize/run.py": {
        "copies": (
            patched("".join(f"- {{op: copy, from: /spec, path: /spec/x{n}}}\n" for n in range(60))),
            "kustomization.yaml",
        ),
        "operations": (
            patched("".join(f"- {{op: add, path: /spec/x{n}, value: a}}\n" for n in range(600))),
            "kustomization.yaml",
        ),
        "a value of an operation": (
            patched(f"- {{op: add, path: /spec/x, value: [{_MANY}]}}\n", times=60),
            "kustomization.yaml",
        ),
        "merges": (
            patched(f"kind: NodePool\nmetadata: {{name: default}}\nspec: {{x: [{_MANY}]}}\n", times=60),
            "kustomization.yaml",
        ),
        "patterns": (
            patched("- {op: remove, path: /spec/x}\n", f"name: '(a|b)*{'(c?)' * 30}'"),
            "kustomization.yaml",
        ),
        "selectors of labels": (
            patched("- {op: add, path: /spec/x, value: a}\n", f"labelSelector: '{','.join(['!b'] * 3000)}'", 60),
            "kustomization.yaml",
        ),
        "labels": (
            overlay(
                f"labels:\n{'- {pairs: {' + ','.join(f'a{n}: b' for n in range(300)) + '}}' + chr(10)}" * 1
                + f"{'- {pairs: {' + ','.join(f'a{n}: b' for n in range(300)) + '}}' + chr(10)}" * 99
            ),
            "kustomization.yaml",
        ),
        "replacements": (
            overlay(
                replaced(
                    "metadata.annotations.a",
                    "metadata.annotations.a%.0d",
                    _JOINED,
                ),
                pool().replace("{name: default}", "{name: default, annotations: {a: bbbbbbbbb}}"),
            ),
            "kustomization.yaml",
        ),
        "paths": (
            overlay(replaced("metadata.name", "spec.x.*.*%.0d"), pool() + f"  x: [{','.join([f'[{_MANY}]'] * 3)}]\n"),
            "kustomization.yaml",
        ),
        "a path": (overlay(replaced("metadata.name", f"{'a.' * 3000}b%.0d", times=1)), "kustomization.yaml"),
    },
    "forms/flux/kustomizations.py": {
        "variables": (flux(f"v: {'x' * 2000}", pool("${v}" * 2000)), "k.yaml"),
    },
    "forms/argocd/application_sets.py": {
        "matrix": (application_set(matrix(*(elements(90, f"a{n}") for n in range(3)))), "a.yaml"),
        "matrix in matrix": (
            application_set(matrix(*(matrix(elements(90, f"a{n}"), elements(90, f"b{n}")) for n in range(2)))),
            "a.yaml",
        ),
        "long values": (
            application_set(elements(900, "a0"), "\n".join(f"b{n}: '{{{{.a0}}}}'" for n in range(900))),
            "a.yaml",
        ),
        "folders": (
            application_set(f"{{git: {{repoURL: 'https://example.com/y', directories: [{_FOLDERS}]}}}}"),
            "a.yaml",
        ),
    },
    "text/yaml/aliases.py": {
        "anchors": ({"a.yaml": laughs() + pool().replace("spec:\n", "spec:\n  x: *a11\n", 1)}, "a.yaml"),
        "NodeConfig": (
            user_data(f"{_MIME}--b\nContent-Type: application/node.eks.aws\n\n{laughs()}--b--\n"),
            "class.yaml",
        ),
    },
    "drift/budgets/active.py": {
        "cron": (
            {
                "a.yaml": nodepool(
                    inline=True,
                    spec="  disruption:\n    budgets:\n"
                    + '    - {nodes: "1", schedule: "* * * * *", duration: 876000h}\n' * 40,
                )
            },
            "a.yaml",
        ),
    },
    "apiserver/cel/subset.py": {
        "a policy": (policies(_OF_ALL.format("a + b + c != ''")), "pool.yaml"),
    },
    "apiserver/cel/__init__.py": {
        "a policy of a pool": (policies(_OF_ALL.format("(class == null || true) && a + b + c != ''")), "pool.yaml"),
    },
    "": {
        "depth of JSON": (
            {
                "a.json": json.dumps({"kind": "NodePool", "apiVersion": "karpenter.sh/v1"})[:-1]
                + f', "spec": {_DEEP}}}'
            },
            "a.json",
        ),
        "depth of YAML": ({"a.yaml": f"{pool()}  x: {'[' * 5000}{']' * 5000}\n"}, "a.yaml"),
        "parts of MIME": (
            user_data(_MIME + "--b\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n\n" * 3000 + "--b--\n"),
            "class.yaml",
        ),
        "gzip": (user_data(base64.b64encode(gzip.compress(b"a" * 30_000_000)).decode()), "class.yaml"),
    },
}
"""By the module whose budget it draws from (none: a limit of size or depth): what grows, and the file to be named."""


@pytest.fixture(autouse=True)
def _small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_STEPS", 5_000)
    monkeypatch.setattr(budget, "MOST_BYTES", 200_000)
    monkeypatch.setattr(budget, "_RUN_STEPS", 300_000)
    monkeypatch.setattr("nodelint.forms.lib.gotemplate.evaluate._MOST", 400_000)
    monkeypatch.setattr("nodelint.forms.argocd.application_sets._MOST_STEPS", 20_000)
    monkeypatch.setattr("nodelint.forms.argocd.application_sets.MOST_APPLICATIONS", 100)
    monkeypatch.setattr(overlay_run, "_MOST_STEPS", 20_000)


@pytest.mark.parametrize(
    ("files", "place"),
    [
        pytest.param(*row, id=f"{module or 'a limit'}: {name}")
        for module, rows in EVALUATORS.items()
        for name, row in rows.items()
    ],
)
def test_what_grows_ends_as_a_gap_with_its_place(files: Files, place: str, tmp_path: Path) -> None:
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **files})
    done = in_process.run(
        ["check", "--fail-on-unjudged", "--format", "json", "."], tmp_path, {**os.environ, "NODELINT_JOBS": "1"}
    )
    assert done.returncode in (1, 2), done.stderr
    assert "internal error" not in done.stderr
    report = json.loads(done.stdout)
    gaps = [gap["path"] for gap in report["skipped"] if gap["fact"] is None and not gap["reason"].endswith(_OTHER)]
    unknown = [value["path"] for value in report["coverage"]["unknown"] if value["decides"]]
    unread = [finding["path"] for finding in report["findings"] if finding["rule"] in _UNREAD]
    assert place in [*gaps, *unknown, *unread]


_OTHER = "its images are not known"
_UNREAD = ("yaml-syntax", "controller-check")
"""Rules that say that a file is too deep to be read, and user data too long for EC2."""


def test_each_budget_has_a_row() -> None:
    drawing = {
        path.relative_to(ROOT / "nodelint").as_posix()
        for path in (ROOT / "nodelint").rglob("*.py")
        if re.search(r"\b(?:WorkBudget|RUN\.draw)\(", path.read_text(encoding="utf-8"))
    }
    assert drawing - {"base/budget.py"} == {*EVALUATORS} - {""}


_WRONG = {"karpenter.sh/capacity-type": "spott", "kubernetes.io/os": "linxu", "kubernetes.io/arch": "arm46"}


@pytest.mark.parametrize("limit", ["_LARGEST_BUILT", "_MOST_BUILT", "_MOST_STEPS", "_MOST_JUDGED"])
def test_trials_of_fixes_are_limited(limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is built of many overlays, or given up, is not built again for each of many fixes."""
    built: list[str] = []
    build = Overlay.build
    monkeypatch.setattr(overlay_run, "_MOST_STEPS", 2_000)
    monkeypatch.setattr(f"nodelint.lint.trial_budget.{limit}", 20)
    monkeypatch.setattr(Overlay, "build", lambda overlay: (built.append(overlay.folder), build(overlay)))
    wrong = [f"key: {key}, operator: In, values: [{value}]" for key, value in _WRONG.items()]
    files = {f"o{n}/kustomization.yaml": f"{_KUSTOMIZE}resources: [../base]\n" for n in range(20)}
    files |= below("given-up", patched("- {op: add, path: /spec/x, value: a}\n", times=600))
    files |= {"base/kustomization.yaml": f"{_KUSTOMIZE}resources: [pool.yaml]\n", "base/pool.yaml": nodepool(*wrong)}
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **files})
    done = in_process.run(["check", "--format", "json", "."], tmp_path, {**os.environ, "NODELINT_JOBS": "1"})
    withheld = [finding["fixWithheld"] for finding in json.loads(done.stdout)["findings"]]
    assert "more objects would need to be rendered again" in str(withheld)
    assert len(built) < (1 + len(_WRONG)) * len(set(built))
