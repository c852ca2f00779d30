"""Templates that no form fills in: Jinja, ERB, Mustache, gomplate, envsubst, ytt. None is good unseen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

BLOCKS = {
    "jinja": ("pool.yaml.j2", "{% if x %}", "{% for a in b %}", "{% endif %}", "{% endfor %}"),
    "jinja2": ("pool.jinja2", "{%- if x -%}", "{%- for a in b %}", "{%- endif %}", "{% endfor -%}"),
    "jinja in comments": ("pool.yml.j2", "# {% if x %}", "# {% for a in b %}", "# {% endif %}", "# {% endfor %}"),
    "erb": ("pool.yaml.erb", "<% if x %>", "<% b.each do |a| %>", "<% end %>", "<% end %>"),
    "mustache": ("pool.yaml.mustache", "{{^x}}", "{{#b}}", "{{/x}}", "{{/b}}"),
    "gomplate": ("pool.yaml.tmpl", '{{ if has (ds "c") "x" }}', '{{ range (ds "b") }}', "{{ end }}", "{{ end }}"),
    "terraform": ("pool.tftpl", "%{ if x ~}", "%{ for a in b ~}", "%{ endif ~}", "%{ endfor ~}"),
}
"""A file's name, and how a condition and a loop begin and end."""


def judge(nodelint: Run, folder: Path, files: dict[str, str]) -> str:
    write_files(folder, files)
    return nodelint("check", str(folder)).stdout


@pytest.mark.parametrize("language", BLOCKS)
def test_a_block_within_an_object_and_one_around_it(nodelint: Run, tmp_path: Path, language: str) -> None:
    path, condition, loop, end_of_condition, end_of_loop = BLOCKS[language]
    limits, other = "  limits: {cpu: 100}\n", {"class.yaml": nodeclass()}
    for word, begin, end in (("condition", condition, end_of_condition), ("loop", loop, end_of_loop)):
        text = nodepool(spec=f"{begin}\n{limits}{end}\n")
        output = judge(nodelint, tmp_path / word, {path: text, **other})
        line = text.splitlines().index(begin) + 1
        assert f"spec.limits depends on a {word} of the template (" in output
        assert f"/{path}:{line})" in output
        assert "1 pool not judged in full" in output
    around = f"{loop}\n---\n{nodepool(spec=limits)}{end_of_loop}\n"
    assert "All good" in judge(nodelint, tmp_path / "around", {path: around, **other})


@pytest.mark.parametrize(
    "path",
    [
        *("pool.jinja", "pool.yaml.envsubst", "pool.gomplate", "pool.yml.erb", "pool.yaml.mustache", "pool.yaml.in"),
        *("pool.mustache", "pool.erb", "pool.yaml.ytt", "pool.hbs", "pool.yml.eex"),
    ],
)
def test_a_template_is_read_or_said_not_to_be(nodelint: Run, tmp_path: Path, path: str) -> None:
    wrong = nodepool("key: kubernetes.io/arch, operator: In, values: [arm46]")
    output = judge(nodelint, tmp_path, {path: wrong})
    assert ("no instance type has arch `arm46`" in output) != (
        "Not read: 1 Karpenter object in 1 template file" in output
    )


def test_code_of_ytt_is_no_comment(nodelint: Run, tmp_path: Path) -> None:
    text = nodeclass(role="#@ data.values.role")
    assert "a template of ytt" in judge(nodelint, tmp_path / "ytt", {"class.yaml": text})
    assert "a template of ytt" not in judge(
        nodelint, tmp_path / "plain", {"class.yaml": nodeclass() + "#@ a remark\n"}
    )


@pytest.mark.parametrize(
    ("program", "count"),
    [
        ("import { Karpenter } from 'cdk-karpenter'\nkarpenter.addNodePool('x', {})\n", 1),
        ("addons.KarpenterV1AddOn({ nodePoolSpec: { weight: 1 } }) // karpenter\n", 1),
        ("gcp.container.NodePool('x') // Karpenter is elsewhere\n", 0),
    ],
)
def test_a_call_that_makes_an_object_is_not_read(nodelint: Run, tmp_path: Path, program: str, count: int) -> None:
    output = judge(nodelint, tmp_path, {"stack.ts": program})
    assert ("Not read: 1 Karpenter object in 1 TypeScript file" in output) == bool(count)
