"""In a template with variables, a known field for which the API server refuses the object is certain: no node of it
runs, so that the fix of `check` replaces none.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan_missing_references import Run
from tests.repositories import write_files

_REF = "        group: karpenter.k8s.aws\n"
_OLD_REF = "        apiVersion: karpenter.k8s.aws/v1\n"
_OBJECTS = f"""\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: web
spec:
  amiSelectorTerms:
    - alias: al2023@v20260714
  role: nodes
  subnetSelectorTerms: [{{id: subnet-12345678}}]
  securityGroupSelectorTerms: [{{id: sg-12345678}}]
  tags:
    place: "VALUE"
    team: web
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  template:
    metadata:
      labels:
        place: "VALUE"
    spec:
      nodeClassRef:
{_REF}        kind: EC2NodeClass
        name: web
      requirements:
        - key: karpenter.sh/capacity-type
          operator: In
          values: [on-demand]
"""
_FORMS = {
    "guarded": ("roles/n/templates/a.yaml.j2", "{% if enabled | default(true) %}\n@{% endif %}\n", "{{ place }}"),
    "loop": ("a.yaml.j2", "{% for c in clusters %}\n---\n@{% endfor %}\n", "{{ c.place }}"),
    "setting": ("a.yaml.j2", "{% set c = 1 %}\n---\n@", "{{ c }}"),
    "Terraform": ("a.yaml.tftpl", "@", "${place}"),
    "envsubst": ("a.yaml", "@", "${PLACE}"),
    "Go": ("a.yaml.tmpl", "{{ if .on }}\n@{{ end }}\n", "{{ .place }}"),
}
_FAULTS = {
    "reference": (_REF, _OLD_REF),
    "tag": ("team: web", "team: 8"),
    "values": ("[on-demand]", "[8]"),
}


def _compare(nodelint: Run, folder: Path, form: str, old: str, new: str) -> tuple[int, str]:
    path, frame, value = _FORMS[form]
    for side, text in (("old", old), ("new", new)):
        write_files(folder / side, {".git/HEAD": "", path: frame.replace("@", text.replace("VALUE", value))})
    done = nodelint("plan", "--old", "old", "new", cwd=folder)
    return done.returncode, " ".join(done.stdout.split())


@pytest.mark.parametrize("fault", _FAULTS)
@pytest.mark.parametrize("form", _FORMS)
def test_no_node_of_a_refused_object_runs(nodelint: Run, tmp_path: Path, form: str, fault: str) -> None:
    assert _FAULTS[fault][0] in _OBJECTS
    code, shown = _compare(nodelint, tmp_path, form, _OBJECTS.replace(*_FAULTS[fault]), _OBJECTS)
    assert "as it was:" in shown and "No node is replaced" in shown and code == 0, shown


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ("guarded", "{% if old %}\n" + _OLD_REF + "{% else %}\n" + _REF + "{% endif %}\n"),
        ("guarded", "        {{ reference }}\n" + _OLD_REF),
        ("Terraform", "        ${indent(8, reference)}\n" + _OLD_REF),
        ("Terraform", "%{ if old }\n" + _OLD_REF + "%{ else }\n" + _REF + "%{ endif }\n"),
        ("Go", _OLD_REF + '        {{ template "reference" }}\n'),
    ],
    ids=["other branch", "printed field", "interpolated field", "other branch of Terraform", "printed below"],
)
def test_code_may_add_the_field(nodelint: Run, tmp_path: Path, form: str, code: str) -> None:
    status, shown = _compare(nodelint, tmp_path, form, _OBJECTS.replace(_REF, code), _OBJECTS)
    assert "as it was:" not in shown and status == 1, shown


@pytest.mark.parametrize("form", _FORMS)
def test_an_accepted_object_has_nodes(nodelint: Run, tmp_path: Path, form: str) -> None:
    code, shown = _compare(nodelint, tmp_path, form, _OBJECTS.replace("role: nodes", "role: others"), _OBJECTS)
    assert code == 1 and "NodeClassDrift" in shown, shown
