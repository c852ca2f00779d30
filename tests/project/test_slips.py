"""Slips that no other test noticed when they were tried, each held by what a user sees of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from nodelint.ec2 import cache
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.instance_types import changes
from nodelint.ec2.snapshot.records import Answer, MachineImage, Question, Region
from nodelint.edits import add_item, apply
from nodelint.forms.lib.gotemplate.sprig import call
from nodelint.forms.terraform import variables as tfvars
from nodelint.forms.terraform.variables import environment_files
from nodelint.karpenter.images.choice import passed_over
from nodelint.karpenter.resolve.zones import LaunchPlaces, place_note
from nodelint.karpenter.taints import meant_taint
from nodelint.lint.engine import Report
from nodelint.lsp.buffers import Buffer
from nodelint.lsp.outline import spot
from nodelint.lsp.positions import LineIndex
from nodelint.lsp.skeletons import beginnings
from nodelint.model.ranges import releases_in
from nodelint.model.releases import NEWEST
from nodelint.model.requirement import Requirement
from nodelint.releases.scripts import evidence
from nodelint.report.snapshot import Asking, differences, refresh_text
from nodelint.text import Source
from nodelint.text.embedded_text import find_expansions
from nodelint.text.placeholders import mask
from tests.ec2.test_snapshot import SMALL
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[..., Report]

RESOURCE = """\
resource "kubernetes_manifest" "pool" {{
  manifest = {{
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = {meta}
    spec = {{
      template = {{
        spec = {{
          nodeClassRef = {{ group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }}
          requirements = []
        }}
      }}
    }}
  }}
}}
"""


def fixed_terraform(nodelint: Run, folder: Path, text: str) -> str:
    (folder / "main.tf").write_text(text, encoding="utf-8")
    nodelint("check", "main.tf", "--fix", "--unsafe-fixes", "--select", "exported-metadata")
    return (folder / "main.tf").read_text(encoding="utf-8")


def test_the_last_field_of_an_object_on_one_line_is_removed(nodelint: Run, tmp_path: Path) -> None:
    text = RESOURCE.format(meta='{ name = "a", uid = "x" }')
    assert fixed_terraform(nodelint, tmp_path, text) == RESOURCE.format(meta='{ name = "a" }')


@pytest.mark.parametrize("sign", ["#", "//"])
def test_a_field_is_removed_with_the_comment_above_it(nodelint: Run, tmp_path: Path, sign: str) -> None:
    remaining = '{\n      name = "a"\n'
    text = RESOURCE.format(meta=f'{remaining}      {sign} of the cluster\n      uid = "x"\n    }}')
    assert fixed_terraform(nodelint, tmp_path, text) == RESOURCE.format(meta=f"{remaining}    }}")


def test_a_range_holds_nothing_but_bounds() -> None:
    for text in ("", "nonsense", ">=1.0 or so", "1.3 || "):
        with pytest.raises(ValueError, match="is not a range"):
            releases_in(text)


def test_code_that_has_a_line_to_itself_leaves_a_blank_one() -> None:
    text = "a: 1\n{{- if .Values.x }}\nb: {{ .Values.y }}\n{{- end }}\n"
    masked, blank = mask(text)
    assert len(masked) == len(text)
    lines = [line for line in masked.splitlines() if line]
    assert lines[0] == "a: 1" and [line[:3] for line in lines[1:]] == ["b: "]
    assert blank == [5, text.index("{{- end")]


def test_numbers_of_templates_are_compared_as_go_compares_them() -> None:
    for name, expected in {"lt": [True, False, False], "le": [True, True, False], "ge": [False, True, True]}.items():
        assert [call(name, [1, other]) for other in (2, 1, 0)] == expected, name


def test_spaces_around_a_text_go() -> None:
    for text in (" a ", "a ", "\ta", "a"):
        assert str(call("trim", [text])) == "a"


def test_facts_of_the_root_folder_have_a_file_with_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NODELINT_CACHE_DIR", str(tmp_path))
    assert Path(cache.place("/")).name.startswith("root-")


def test_a_taint_is_meant_by_a_key_two_letters_away() -> None:
    key = "node.cilium.io/agent-not-ready"
    assert meant_taint(key, True) is None
    for wrong in ("node.cilium.io/agent-not-redy", "node.cilium.io/agnt-not-redy"):
        assert meant_taint(wrong, True) == key, wrong
    assert meant_taint("node.cilium.io/agnt-nt-redy", True) is None


@pytest.mark.parametrize(("key", "shown"), [("zone", "eu-west-1a, eu-west-1b"), ("zone-id", "euw1-az1, euw1-az2")])
def test_a_line_on_zones_names_them_as_it_does(key: str, shown: str) -> None:
    label = {"zone": "topology.kubernetes.io/zone", "zone-id": "topology.k8s.aws/zone-id"}[key]
    zones = {"eu-west-1a": "euw1-az1", "eu-west-1b": "euw1-az2"}
    places = LaunchPlaces("eu-west-1", zones, (), None, frozenset(), ())
    line = Requirement.parse(label, "In", ("x",), release=NEWEST)
    assert place_note(line, places) == f"the class has subnets in {shown}"


def test_the_label_of_neuron_types_before_it_was_mended() -> None:
    made = changes(["trn1.nonsense", "trn9.nonsense", "inf9.nonsense"], Catalog.bundled())
    names = next(change.values for change in made if {"trn9.nonsense", "inf9.nonsense"} <= change.values.keys())
    assert names["trn1.nonsense"] == names["inf9.nonsense"] == "inferentia"
    assert names["trn9.nonsense"] is None


def test_a_hop_limit_of_two_reaches_pods(check: Check) -> None:
    for hops, reached in ((1, False), (2, True)):
        options = f"metadataOptions: {{httpTokens: optional, httpPutResponseHopLimit: {hops}}}"
        (result,) = check(nodeclass(options), select=["imds-v1"]).results
        assert bool(result.finding.also) is reached, hops


def test_empty_texts_of_the_api_server_are_as_good_as_none(check: Check) -> None:
    text = nodeclass().replace("  name: default\n", "  name: default\n  uid: ''\n  resourceVersion: ''\n")
    assert check(text, select=["exported-metadata"]).results == ()
    (result,) = check(text.replace("uid: ''", "uid: x"), select=["exported-metadata"]).results
    assert "uid" in result.message


def test_a_call_over_several_lines_is_marked_on_its_first(check: Check) -> None:
    script = "  userData: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh main \\\n      --use-max-pods false\n"
    text = nodeclass(ami="id: ami-0123456789abcdef0") + "  amiFamily: AL2\n" + script
    (result,) = check(text, select=["repeated-bootstrap"]).results
    span = result.span
    assert "\n" not in span.source.text[span.start : span.end]


def test_as_many_replicas_as_the_limit_cannot_drift(check: Check) -> None:
    def messages_of(limit: int) -> list[str]:
        text = nodepool().replace("spec:\n", f"spec:\n  replicas: 3\n  limits: {{nodes: {limit}}}\n", 1)
        report = check(text, select=["replicas-beyond-limit"], karpenter="1.14.1")
        return [result.message for result in report.results]

    assert messages_of(2) and messages_of(3) and messages_of(2) != messages_of(3)
    assert messages_of(4) == []


@pytest.mark.parametrize(("names", "indexes"), [("a", 0), ("ab", 1)])
def test_a_plan_has_an_index_of_several_pools(nodelint: Run, tmp_path: Path, names: str, indexes: int) -> None:
    for side in ("old", "new"):
        pools = [
            nodepool(name=name).replace(
                "template:\n", f"template:\n    metadata: {{labels: {{is: {name}-{side}}}}}\n"
            )
            for name in names
        ]
        (tmp_path / side).mkdir()
        (tmp_path / side / "pools.yaml").write_text("---\n".join([nodeclass(), *pools]), encoding="utf-8")
    done = nodelint("plan", "--old", "old", "new", "--format=html")
    assert done.stdout.count("<ul class=index>") == indexes, done.stderr


def test_what_was_refused_for_good_is_not_counted_as_found() -> None:
    subnets = Question("subnets", (("tag:a", "b"),)), Question("subnets", (("tag:a", "c"),))
    at = "2026-09-20T00:00:00Z"
    answers = {subnets[0]: Answer(at, ("subnet-1",), 1), subnets[1]: Answer(at, failed="denied")}
    asking = Asking(Region("eu-west-1", None, answers), answers, 2, 1.0)
    text = refresh_text(asking, {})
    assert "1 found (1 query)" in text
    assert "not answered: " in text and "denied" in text and "may pass" not in text


def test_more_images_behind_the_same_ones_are_a_difference() -> None:
    question = Question("images", (("name", "a*"),))
    at = "2026-09-20T00:00:00Z"
    old, new = (
        SMALL._replace(regions=(Region("eu-west-1", None, {question: Answer(at, ("ami-1",), total)}),))
        for total in (1, 2)
    )
    (difference,) = differences(old, new)
    assert difference[1:3] == ("answers", "changed")


def test_a_position_below_the_last_line_is_the_end() -> None:
    lines = LineIndex("a: 1\nb: 2", "utf-16")
    assert [lines.offset(types.Position(line, 0)) for line in (0, 1, 2, 3)] == [0, 5, 9, 9]


def test_an_option_that_holds_a_slash_is_no_path_of_a_chart() -> None:
    text = "helm upgrade --install karpenter --set=a/b=c --version 1.4.0\n"
    assert [found.version for found in evidence("install.sh", text)] == ["1.4.0"]


CLASS_OF_RESERVATIONS = nodeclass("capacityReservationSelectorTerms: [{tags: {a: b}}]")


def test_reserved_capacity_comes_first_where_the_class_selects_some(check: Check) -> None:
    for text, first in ((nodeclass(), ""), (CLASS_OF_RESERVATIONS, "reserved, then ")):
        (result,) = check(nodepool(), text, select=["no-capacity-type"], karpenter="1.6.0").results
        assert f": Karpenter tries {first}spot before on-demand" in result.message


@pytest.mark.parametrize("values", [("required", "optional"), ("optional", "required")])
def test_what_every_branch_writes_is_judged(check: Check, values: tuple[str, str]) -> None:
    first, second = (f"    httpTokens: {value}" for value in values)
    lines = ("metadataOptions:", "{{- if .x }}", first, "{{- else }}", second, "{{- end }}")
    (result,) = check(nodeclass() + "  " + "\n".join(lines) + "\n", select=["imds-v1"]).results
    assert "optional" in result.span.source.text[result.span.start : result.span.end]


def test_what_a_branch_writes_is_judged_in_values_too(check: Check) -> None:
    lines = ("httpTokens: required", "{{- else }}", "httpTokens: optional", "{{- end }}")
    options = "metadataOptions:\n      {{- if .x }}\n" + "".join(f"      {line}\n" for line in lines)
    fields = nodeclass().partition("spec:\n")[2].replace("  ", "    ")
    (result,) = check(f"nodeClasses:\n  default:\n{fields}    {options}", select=["imds-v1"]).results
    assert result.span.source.text[result.span.start : result.span.end] == "optional"


def test_a_command_in_backticks_ends_behind_its_backtick() -> None:
    text = "a `date` b `id -u` c"
    assert [text[start:end] for start, end in find_expansions(text)] == ["`date`", "`id -u`"]


def test_files_of_variables_come_in_the_order_of_their_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfvars, "_MOST_FILES", 10)
    for number in range(12):
        (tmp_path / f"{number:02}.tfvars").write_text("a = 1\n", encoding="utf-8")
    found = environment_files(str(tmp_path), lambda path: Source.from_text(path, ""))
    assert [Path(source.path).name for source in found] == [f"{number:02}.tfvars" for number in range(10)]


@pytest.mark.parametrize(("entries", "names"), [(499, ["prod.tfvars"]), (500, [])])
def test_files_of_variables_are_looked_for_among_so_many_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int, names: list[str]
) -> None:
    monkeypatch.setattr(tfvars, "_MOST_ENTRIES", 500)
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "prod.tfvars").write_text("a = 1\n", encoding="utf-8")
    for number in range(entries - 1):
        (tmp_path / f"{number}.txt").touch()
    found = environment_files(str(tmp_path), lambda path: Source.from_text(path, ""))
    assert [Path(source.path).name for source in found] == names


def test_files_of_variables_of_a_module_below_are_its_own(tmp_path: Path) -> None:
    for name in ("a/main.tf", "a/prod.tfvars", "b/prod.tfvars", "b/readme.md", "c/main.tf", "d/terraform.tfvars"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a = 1\n", encoding="utf-8")
    found = environment_files(str(tmp_path), lambda path: Source.from_text(path, ""))
    assert [Path(source.path).relative_to(tmp_path).as_posix() for source in found] == [
        "b/prod.tfvars",
        "d/terraform.tfvars",
    ]


OTHERS = "others: [c, d, e, f]\nmore: [c, d, e, f]\n"


@pytest.mark.parametrize(("written", "fixed"), [("[a,b]", "[a,b,c]"), ("[a, b]", "[a, b, c]"), ("[a]", "[a, c]")])
def test_an_item_is_added_with_the_comma_of_its_neighbours(written: str, fixed: str) -> None:
    source = Source.from_text("a.yaml", f"karpenter: {written}\n{OTHERS}")
    root = source.documents[0].root
    assert root is not None
    assert apply(source.text, add_item(root.entries[0].value, "c")) == f"karpenter: {fixed}\n{OTHERS}"


@pytest.mark.parametrize(("items", "item"), [(('{"a": 1}', '{"a": 2}'), {"a": 3}), (('["a"]', '["b"]'), ["c"])])
def test_an_item_of_an_indented_list_is_as_broken_as_those_before_it(items: tuple[str, str], item: Any) -> None:
    lines = [f"    {text}" for text in items]
    shape = '{{\n  "karpenter": [\n{}\n  ]\n}}\n'
    source = Source.from_text("a.json", shape.format(",\n".join(lines)))
    root = source.documents[0].root
    assert root is not None
    fixed = shape.format(",\n".join([*lines, f"    {json.dumps(item)}"]))
    assert apply(source.text, add_item(root.entries[0].value, item)) == fixed


def test_an_image_behind_a_deprecated_one_is_older_and_not_deprecated() -> None:
    now = datetime(2026, 9, 20, tzinfo=UTC)
    images = [
        MachineImage(f"ami-{day}", "a", "amd64", "available", f"2026-01-0{day}T00:00:00Z", "1", deprecated)
        for day, deprecated in ((3, "2026-02-01T00:00:00Z"), (2, "2026-02-01T00:00:00Z"))
    ]
    (passed,) = passed_over(images, images[:1], NEWEST, now)
    assert passed.why == "older"
    (passed,) = passed_over(images, [images[0]._replace(deprecated=None)], NEWEST, now)
    assert passed.why == "deprecated"


def test_a_size_is_asked_for_by_its_own_key(check: Check) -> None:
    for value, message in (("metal", False), ("large", True)):
        line = f"key: karpenter.k8s.aws/instance-size, operator: NotIn, values: [{value}]"
        report = check(nodepool(line), nodeclass(), select=["bare-metal-left"])
        assert (
            any("large" not in result.message and result.severity == "info" for result in report.results) is message
        )


def test_of_classes_of_one_name_a_pool_has_the_one_with_which_it_shares_most_folders(
    nodelint: Run, tmp_path: Path
) -> None:
    classes = {
        f"{at}/class.yaml": nodeclass(ami=f"alias: {ami}")
        for at, ami in (("a/dev", "al2@v20250403"), ("a/b", "al2023@v20250403"))
    }
    write_files(tmp_path, {**classes, "a/b/c/pool.yaml": nodepool(), "a/pool.yaml": nodepool(name="between")})
    pools = json.loads(nodelint("explain", ".", "--format", "json").stdout)["nodePools"]
    found = {pool["name"]: {image["alias"] for image in pool["images"]} for pool in pools}
    assert found == {"default": {"al2023@v20250403"}, "between": {None}}


def test_a_comment_may_end_a_text_in_which_a_collection_is_open() -> None:
    text = nodepool().replace(" []\n", " [{key: kubernetes.io/arch,\n            # the first")
    assert spot(text, len(text)) is None, "nothing is offered in a comment"


def test_a_kind_that_is_begun_is_replaced_from_its_first_letter() -> None:
    text = "apiVersion: kar"
    (item, *_) = beginnings(Buffer("file:///pool.yaml", 1, text, "utf-16"), len(text))
    assert isinstance(item.text_edit, types.TextEdit)
    assert (item.text_edit.range.start.character, item.text_edit.range.end.character) == (12, len(text))
