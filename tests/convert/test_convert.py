"""Conversion to v1: what moves, what is said, what is refused; comments and everything else stay."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from nodelint.apiserver import Schemas
from nodelint.apiserver import check as schema_check
from nodelint.convert import Conversion, convert, settled, settled_kubelet
from nodelint.convert.relations import Relations
from nodelint.edits import apply
from nodelint.model.documents import objects
from nodelint.model.manifest import Object
from nodelint.model.releases import NEWEST, Version
from nodelint.text import Source

POOL = """\
# web nodes
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: web # the name
spec:
  template:
    metadata:
      labels: {team: web}
    spec:
      nodeClassRef:
        apiVersion: karpenter.k8s.aws/v1beta1 # old
        name: web
      requirements:
        - key: karpenter.sh/capacity-type
          operator: In
          values: ["spot"] # cheap
  limits:
    cpu: 100
  disruption:
    consolidationPolicy: WhenUnderutilized # pack
    expireAfter: 168h # a week
    budgets:
      - nodes: "10%"
"""

POOL_V1 = """\
# web nodes
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web # the name
spec:
  template:
    metadata:
      labels: {team: web}
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws # old
        kind: EC2NodeClass
        name: web
      requirements:
        - key: karpenter.sh/capacity-type
          operator: In
          values: ["spot"] # cheap
      expireAfter: 168h # a week
  limits:
    cpu: 100
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized # pack
    consolidateAfter: 0s
    budgets:
      - nodes: "10%"
"""

CLASS = """\
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata:
  name: web
spec:
  amiFamily: Bottlerocket # small
  role: "node-${CLUSTER}"
  subnetSelectorTerms:
    - tags:
        discovery: "${CLUSTER}"
  securityGroupSelectorTerms:
    - tags:
        discovery: "${CLUSTER}"
"""

CLASS_V1 = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: web
spec:
  amiFamily: Bottlerocket # small
  amiSelectorTerms:
    - alias: bottlerocket@latest
  role: "node-${CLUSTER}"
  subnetSelectorTerms:
    - tags:
        discovery: "${CLUSTER}"
  securityGroupSelectorTerms:
    - tags:
        discovery: "${CLUSTER}"
  metadataOptions:
    httpPutResponseHopLimit: 2
"""

KUBELET = """\
      # room for daemons
      kubelet:
        maxPods: ${PODS} # few
        # kept free
        kubeReserved:
          cpu: 100m
"""

PROVISIONER = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: batch
spec:
  # who pays
  labels:
    team: batch # them
  requirements:
    # no burstable ones
    - key: karpenter.k8s.aws/instance-category
      operator: NotIn
      values: [t]
    - key: karpenter.sh/capacity-type
      operator: In
      values: [spot, on-demand]
    - {key: kubernetes.io/arch, operator: In, values: [amd64]}
    - {key: kubernetes.io/os, operator: In, values: [linux]}
  taints:
  - key: batch
    effect: NoSchedule
  limits:
    resources:
      cpu: 1k # plenty
  ttlSecondsUntilExpired: 604800 # a week
  ttlSecondsAfterEmpty: 60 # soon
  weight: 5
  providerRef:
    name: batch # below
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata:
  name: batch
spec:
  instanceProfile: node
  subnetSelector:
    # all of them
    discovery: ${CLUSTER} # ours
  securityGroupSelector:
    aws-ids: sg-1, sg-2
  amiSelector:
    aws::name: base-*,extra-*
    aws::owners: self
"""

PROVISIONER_V1 = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch
spec:
  template:
    metadata:
      # who pays
      labels:
        team: batch # them
    spec:
      requirements:
        # no burstable ones
        - key: karpenter.k8s.aws/instance-category
          operator: NotIn
          values: [t]
        - key: karpenter.sh/capacity-type
          operator: In
          values: [spot, on-demand]
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: kubernetes.io/os, operator: In, values: [linux]}
      taints:
      - key: batch
        effect: NoSchedule
      expireAfter: 168h # a week
      nodeClassRef:
        name: batch # below
        group: karpenter.k8s.aws
        kind: EC2NodeClass
  limits:
    cpu: 1k # plenty
  disruption:
    consolidateAfter: 60s # soon
    consolidationPolicy: WhenEmpty
  weight: 5
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: batch
spec:
  instanceProfile: node
  subnetSelectorTerms:
    - tags:
        # all of them
        discovery: ${CLUSTER} # ours
  securityGroupSelectorTerms:
    - id: sg-1
    - id: sg-2
  amiFamily: AL2
  amiSelectorTerms:
    - name: base-*
      owner: self
    - name: extra-*
      owner: self
  metadataOptions:
    httpPutResponseHopLimit: 2
"""


BARE = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: a
spec:
  providerRef: {name: a}
"""


def world_of(texts: dict[str, str]) -> tuple[dict[str, Source], list[Object]]:
    sources = {path: Source.from_text(path, text) for path, text in texts.items()}
    assert not any(source.problems for source in sources.values())
    return sources, [obj for source in sources.values() for obj in objects(source)]


def converted(texts: dict[str, str]) -> tuple[dict[str, str], list[Conversion]]:
    """The texts after every object was converted, one after the other, and what was said on the way."""
    texts, message = dict(texts), []
    for _ in range(10):
        sources, world = world_of(texts)
        conversions = [convert(obj, world) for obj in world]
        message += conversions
        change = next((c for c in conversions if c.edits), None)
        if change is None:
            return texts, message
        assert change.blocked is None
        for path, source in sources.items():
            texts[path] = apply(source.text, [edit for edit in change.edits if edit.source is source])
    raise AssertionError("the conversion has no end")


def convert_file(text: str) -> str:
    """What a file becomes, where the classes that its pools name are v1 already and stand beside it."""
    named = r"(?:providerRef[\"{:\s]+name[\": ]+)(\$\{\w+\}|[^\s\"}]+)"
    names = [] if "AWSNodeTemplate" in text else re.findall(named, text)
    known = "---\n".join(CLASS_V1.replace("name: web", f"name: {name}") for name in names)
    return converted({"a.yaml": text, "known.yaml": known})[0]["a.yaml"]


def blocked(*texts: str) -> list[str]:
    _, world = world_of({f"{n}.yaml": text for n, text in enumerate(texts)})
    return [c.blocked for c in (convert(obj, world) for obj in world) if c.blocked is not None]


def plain(text: str) -> list[Any]:
    return [document.root.plain() for document in Source.from_text("a", text).documents if document.root is not None]


def assert_v1(text: str) -> None:
    for obj in objects(Source.from_text("a.yaml", text)):
        assert obj.version == "v1"
        for release in (Version(1, 0, 0), Version(1, 4, 0), NEWEST):
            assert [p.message for p in schema_check(obj, release, Schemas.bundled())] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (POOL, POOL_V1),
        (CLASS, CLASS_V1),
        (PROVISIONER, PROVISIONER_V1),
        (POOL + "---\n" + CLASS, POOL_V1 + "---\n" + CLASS_V1),
    ],
)
def test_byte_for_byte(old: str, new: str) -> None:
    assert convert_file(old) == new
    assert convert_file(new) == new
    assert_v1(new)


def disguised() -> list[tuple[str, str, str]]:
    cases = []
    for old, new in ((POOL, POOL_V1), (CLASS, CLASS_V1), (PROVISIONER, PROVISIONER_V1)):
        cases.append(("crlf", old.replace("\n", "\r\n"), new.replace("\n", "\r\n")))
        cases.append(("bom", "\ufeff" + old, "\ufeff" + new))
        cases.append(("document before", "a: 1\n---\n" + old, "a: 1\n---\n" + new))
        cases.append(("no newline at the end", old[:-1], new[:-1]))
    return cases


@pytest.mark.parametrize(("how", "old", "new"), disguised())
def test_disguises_commute(how: str, old: str, new: str) -> None:
    assert convert_file(old) == new


@pytest.mark.parametrize("text", [POOL, CLASS, PROVISIONER])
@pytest.mark.parametrize("indent", [None, 2, 4])
def test_json_means_the_same(text: str, indent: int | None) -> None:
    for document in re.split(r"^---\n", text, flags=re.MULTILINE):
        contents = document.replace("${CLUSTER}", "cluster")
        as_json = json.dumps(plain(contents)[0], indent=indent)
        result = convert_file(as_json)
        assert plain(result) == plain(convert_file(contents))
        json.loads(result)
        as_list = json.dumps({"apiVersion": "v1", "kind": "List", "items": plain(contents)}, indent=indent)
        assert plain(convert_file(as_list))[0]["items"] == plain(convert_file(contents))


def as_items(text: str, indent: str) -> str:
    """The documents as items of a List, in block style."""
    lines = []
    for document in text.split("---\n"):
        first = True
        for line in document.splitlines():
            dash = first and not line.startswith("#")
            lines.append(f"{indent}{'- ' if dash else '  '}{line}")
            first = first and not dash
    return "apiVersion: v1\nkind: List\nitems:\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(("old", "new"), [(POOL, POOL_V1), (CLASS, CLASS_V1), (PROVISIONER, PROVISIONER_V1)])
def test_items_of_a_list(old: str, new: str) -> None:
    assert convert_file(as_items(old, "  ")) == as_items(new, "  ")
    assert plain(convert_file(as_items(old, ""))) == plain(as_items(new, ""))


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("text", [POOL, CLASS, PROVISIONER])
def test_a_comment_of_every_line_stays_with_it(text: str, above: bool) -> None:
    lines = re.sub(r"(?m)^ *#.*\n| +#.*", "", text).splitlines()
    old = ""
    for n, line in enumerate(lines):
        pad = " " * (len(line) - len(line.lstrip()))
        old += f"{line}\n" if line == "---" else f"{pad}# c{n}\n{line}\n" if above else f"{line} # c{n}\n"
    new = convert_file(old)
    assert plain(new) == plain(convert_file(text))
    assert set(re.findall(r"# c\d+$", old, re.M)) == set(re.findall(r"# c\d+$", new, re.M))


def test_a_comment_of_a_selector_that_becomes_several_terms_stands_above_them() -> None:
    new = convert_file(
        PROVISIONER.replace("    aws::name: base-*,extra-*", "    aws::name: base-*,extra-* # base is first")
    )
    assert "  # base is first\n  amiSelectorTerms:\n" in new
    quoted = convert_file(PROVISIONER.replace("    aws::owners: self", "    Name: 'a #1, b'"))
    assert "\n  #" not in quoted.split("---")[1]


def test_an_object_that_is_v1_has_no_edits() -> None:
    _, world = world_of({"a.yaml": POOL_V1})
    assert convert(world[0], world) == Conversion()


# --- disruption ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "expire", "disruption"),
    [
        ("weight: 1", None, None),
        ("disruption: {expireAfter: Never}", "Never", None),
        ("disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s}", None, ("WhenEmpty", "30s")),
        ("disruption: {budgets: [{nodes: '1'}]}", None, (None, "0s")),
        (
            "disruption: {consolidationPolicy: WhenUnderutilized, consolidateAfter: Never}",
            None,
            ("WhenEmptyOrUnderutilized", "Never"),
        ),
    ],
)
def test_disruption_keeps_its_meaning(
    old: str, expire: str | None, disruption: tuple[str | None, str] | None
) -> None:
    text = POOL[: POOL.index("  disruption")] + f"  {old}\n"
    (new,) = plain(convert_file(text))
    assert new["spec"]["template"]["spec"].get("expireAfter") == expire
    found = new["spec"].get("disruption")
    if disruption is None:
        assert found is None
    else:
        assert (found.get("consolidationPolicy"), found["consolidateAfter"]) == disruption


@pytest.mark.parametrize(
    ("fields", "disruption", "expire"),
    [
        ("consolidation: {enabled: true}", ("WhenEmptyOrUnderutilized", "0s"), "Never"),
        ("consolidation: {enabled: false}", ("WhenEmpty", "Never"), "Never"),
        ("weight: 1", ("WhenEmpty", "Never"), "Never"),
        ("ttlSecondsAfterEmpty: 90", ("WhenEmpty", "90s"), "Never"),
        ("ttlSecondsUntilExpired: 7200", ("WhenEmpty", "Never"), "2h"),
        ("ttlSecondsUntilExpired: ${TTL}", ("WhenEmpty", "Never"), "${TTL}s"),
        (
            "consolidation:\n    enabled: true # pack\n  ttlSecondsUntilExpired: 90",
            ("WhenEmptyOrUnderutilized", "0s"),
            "90s",
        ),
    ],
)
def test_a_provisioners_times_to_live(fields: str, disruption: tuple[str, str], expire: str) -> None:
    text = f"{BARE}  {fields}\n"
    new = convert_file(text)
    spec = Source.from_text("a", new).documents[0].root.get("spec")
    assert spec.find("disruption", "consolidationPolicy").value == disruption[0]
    assert spec.find("disruption", "consolidateAfter").value == disruption[1]
    assert spec.find("template", "spec", "expireAfter").text.strip('"') == expire
    assert ("# pack" in new) == ("# pack" in text)


def test_a_provisioners_defaults_are_written_out() -> None:
    text = BARE
    (new,) = plain(convert_file(text))
    lines = {(r["key"], r["operator"], *r["values"]) for r in new["spec"]["template"]["spec"]["requirements"]}
    assert lines == {
        ("kubernetes.io/os", "In", "linux"),
        ("kubernetes.io/arch", "In", "amd64"),
        ("karpenter.sh/capacity-type", "In", "on-demand"),
        ("karpenter.k8s.aws/instance-category", "In", "c", "m", "r"),
        ("karpenter.k8s.aws/instance-generation", "Gt", "2"),
    }
    assert_v1(convert_file(text))


# --- kubelet ------------------------------------------------------------------------------------


def with_kubelet(pool: str = POOL, kubelet: str = KUBELET) -> str:
    return pool.replace("      requirements:\n", kubelet + "      requirements:\n", 1)


def test_kubelet_settings_move_to_the_class_with_their_comments() -> None:
    moved = "".join(line[4:] + "\n" for line in KUBELET.splitlines())
    assert convert_file(with_kubelet() + "---\n" + CLASS) == POOL_V1 + "---\n" + CLASS_V1 + moved


@pytest.mark.parametrize("cls", [CLASS, CLASS_V1])
@pytest.mark.parametrize("requested", [0, 1])
def test_kubelet_settings_move_to_another_file(cls: str, requested: int) -> None:
    sources, world = world_of({"pools/a.yaml": with_kubelet(), "classes/b.yaml": cls.replace("\n", "\r\n")})
    if cls == CLASS_V1 and requested:
        return  # the class has nothing to convert; the pool's edits reach into it
    conversion = convert(world[requested], world)
    assert conversion.blocked is None
    texts = {
        path: apply(source.text, [edit for edit in conversion.edits if edit.source is source])
        for path, source in sources.items()
    }
    assert texts["pools/a.yaml"] == POOL_V1
    assert "    maxPods: ${PODS} # few\r\n" in texts["classes/b.yaml"]
    assert "kubelet:" in texts["classes/b.yaml"]
    assert "\n" not in texts["classes/b.yaml"].replace("\r\n", "")
    assert_v1(texts["classes/b.yaml"])


def test_kubelet_settings_of_a_provisioner_move_too() -> None:
    text = PROVISIONER.replace(
        "  weight: 5\n", "  kubeletConfiguration:\n    containerRuntime: containerd\n    maxPods: 20 # few\n"
    )
    new = convert_file(text)
    assert new.endswith("  kubelet:\n    maxPods: 20 # few\n")
    assert "kubeletConfiguration" not in new
    assert "containerRuntime" not in new


def test_amounts_that_are_numbers_become_texts() -> None:
    kubelet = "      kubelet:\n        systemReserved:\n          cpu: 1 # one\n"
    new = convert_file(with_kubelet(kubelet=kubelet) + "---\n" + CLASS)
    assert new.endswith('  kubelet:\n    systemReserved:\n      cpu: "1" # one\n')
    assert_v1(new)


def test_a_blank_line_goes_with_what_was_moved() -> None:
    old = PROVISIONER.replace("  taints:\n", "\n  taints:\n").replace("  limits:\n", "\n  limits:\n")
    new = convert_file(old)
    assert new.count("\n\n") == 1
    assert "\n\n\n" not in new


def test_pools_that_share_a_class_and_agree() -> None:
    other = with_kubelet().replace("name: web # the name", "name: other")
    new = convert_file(with_kubelet() + "---\n" + other + "---\n" + CLASS)
    assert new.count("maxPods") == 1
    assert "v1beta1" not in new


@pytest.mark.parametrize("other", [with_kubelet(kubelet="      kubelet: {maxPods: 9}\n"), POOL, POOL_V1])
def test_pools_that_share_a_class_and_differ_need_a_class_each(other: str) -> None:
    first = with_kubelet()
    second = other.replace("name: web # the name", "name: other")
    reasons = blocked(first, second, CLASS)
    assert reasons
    assert all("differ" in reason for reason in reasons)
    texts, _ = converted({"a.yaml": first, "b.yaml": second, "c.yaml": CLASS})
    assert texts["a.yaml"] == first
    assert texts["c.yaml"] == CLASS_V1


def test_kubelet_settings_without_the_class_at_hand_or_with_two_of_its_name() -> None:
    (reason,) = blocked(with_kubelet())
    assert "web" in reason
    _, world = world_of({"x/a.yaml": with_kubelet(), "y/b.yaml": CLASS, "z/c.yaml": CLASS})
    assert convert(world[0], world).blocked is not None
    _, world = world_of({"x/a.yaml": with_kubelet(), "x/b.yaml": CLASS, "z/c.yaml": CLASS})
    assert {edit.source.path for edit in convert(world[0], world).edits} == {"x/a.yaml", "x/b.yaml"}


def test_a_class_that_stays_keeps_the_pool_that_would_move_kubelet_to_it() -> None:
    stuck = CLASS.replace("Bottlerocket", "Ubuntu")
    reasons = blocked(with_kubelet(), stuck)
    assert len(reasons) == 2
    assert ["EC2NodeClass/web" in reason for reason in reasons] == [True, False]
    assert "Ubuntu" in reasons[1]


def test_objects_of_old_apis_that_name_each_other_are_converted_together() -> None:
    template = "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: a}\nspec: {}\n"
    _, world = world_of({"a.yaml": BARE, "b.yaml": template})
    pair = Relations(world).pair(world[0])
    assert [obj.kind for obj in pair] == ["Provisioner", "AWSNodeTemplate"]
    world[0].partial = True
    assert Relations(world).pair(world[0]) == [world[0]]


# --- classes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "alias"),
    [("AL2", "al2"), ("AL2023", "al2023"), ("Windows2019", "windows2019"), ("Windows2022", "windows2022")],
)
def test_a_family_without_terms_means_its_newest_image(family: str, alias: str) -> None:
    new = convert_file(CLASS.replace("Bottlerocket", family))
    assert f"    - alias: {alias}@latest\n" in new
    assert_v1(new)


@pytest.mark.parametrize(
    ("old", "word"),
    [
        (CLASS.replace("Bottlerocket", "Ubuntu"), "Ubuntu"),
        (CLASS.replace("Bottlerocket", "Custom"), "Custom"),
        (CLASS.replace("Bottlerocket", "${FAMILY}"), "placeholder"),
        (CLASS + "  blockDeviceMappings: [{ebs: {volumeSize: 102400Mi}}]\n", "102400Mi"),
        (PROVISIONER.replace("  instanceProfile: node\n", ""), "instanceProfile"),
        (PROVISIONER.replace("  instanceProfile: node\n", "  launchTemplate: x\n"), "launchTemplate"),
        (PROVISIONER.replace("    aws-ids: sg-1, sg-2\n", "    aws-ids: sg-1\n    a: b\n"), "ids and tags"),
        (PROVISIONER.replace("sg-2", "sg_2"), "sg_2"),
        (
            PROVISIONER.replace("    name: batch # below\n", "    kind: Other\n    name: batch\n"),
            "providerRef",
        ),
        (PROVISIONER.replace("  providerRef:\n    name: batch # below\n", ""), "providerRef"),
        (PROVISIONER.replace("  weight: 5\n", "  provider: {amiFamily: AL2}\n"), "spec.provider"),
        (PROVISIONER.replace("  weight: 5\n", "  wieght: 5\n"), "wieght"),
        ("{{- if .Values.x }}\n" + CLASS + "{{- end }}\n", "template"),
    ],
)
def test_what_only_the_owner_can_decide_is_said(old: str, word: str) -> None:
    reasons = blocked(old)
    assert reasons
    assert all(word in reason for reason in reasons)


def test_ubuntu_with_terms_becomes_al2_with_its_own_volume() -> None:
    old = CLASS.replace("Bottlerocket # small", "Ubuntu\n  amiSelectorTerms: [{id: ami-1, name: x}]")
    new = convert_file(old)
    assert "amiFamily: AL2\n" in new
    (value,) = plain(new)
    assert value["spec"]["amiSelectorTerms"] == [{"id": "ami-1"}]
    assert value["spec"]["blockDeviceMappings"][0]["deviceName"] == "/dev/sda1"
    assert_v1(new)


def test_terms_and_options_that_are_there_stay() -> None:
    old = CLASS.replace(
        "  role:",
        "  amiSelectorTerms:\n    - name: a*\n  metadataOptions:\n    httpPutResponseHopLimit: 1\n  role:",
    )
    assert convert_file(old) == old.replace("v1beta1", "v1")


def test_tags_with_commas_become_terms() -> None:
    old = PROVISIONER.replace("discovery: ${CLUSTER} # ours", "Name: a, b\n    zone: x")
    (value,) = [v for v in plain(convert_file(old)) if v["kind"] == "EC2NodeClass"]
    assert value["spec"]["subnetSelectorTerms"] == [
        {"tags": {"Name": "a", "zone": "x"}},
        {"tags": {"Name": "b", "zone": "x"}},
    ]


def test_a_text_at_the_end_of_a_file_keeps_its_value() -> None:
    old = CLASS + "  userData: |\n    #!/bin/sh\n    echo"
    new = convert_file(old)
    assert new.endswith("  userData: |\n    #!/bin/sh\n    echo")
    both = convert_file(with_kubelet() + "---\n" + old)
    assert both.endswith("  userData: |\n    #!/bin/sh\n    echo")
    assert "maxPods" in both


def test_the_old_names_of_labels_and_annotations() -> None:
    old = POOL.replace(
        "      labels: {team: web}\n",
        "      labels:\n        karpenter.sh/provisioner-name: web\n"
        '      annotations:\n        karpenter.sh/do-not-consolidate: "true" # busy\n',
    )
    new = convert_file(old)
    assert "provisioner-name" not in new
    assert '        karpenter.sh/do-not-disrupt: "true" # busy\n' in new
    assert_v1(new)


def test_template_expressions_stay_as_they_are() -> None:
    new = convert_file(
        CLASS.replace('"node-${CLUSTER}"', "{{ .Values.role }} # {{ role }}").replace("name: web", "name: {{ .n }}")
    )
    assert new == CLASS_V1.replace('"node-${CLUSTER}"', "{{ .Values.role }} # {{ role }}").replace(
        "name: web", "name: {{ .n }}"
    )
    pool = PROVISIONER.split("---\n")[0].replace("cpu: 1k", "cpu: {{ .Values.cpu | quote }}")
    assert "\n    cpu: {{ .Values.cpu | quote }} # plenty\n" in convert_file(pool)
    flow = '{"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "spec": '
    flow += '{"labels": {"a": "${A}"}, "providerRef": {"name": "${N}"}}}'
    assert '"labels": {"a": "${A}"}' in convert_file(flow)
    assert '"kind": "NodePool"' in convert_file(flow)


def test_anchors_are_never_edited_through() -> None:
    shared = CLASS.replace('    - tags:\n        discovery: "${CLUSTER}"\n', "    - &a {tags: {x: y}}\n", 1)
    shared = shared.replace('    - tags:\n        discovery: "${CLUSTER}"\n', "    - *a\n", 1)
    assert convert_file(shared).count("*a") == 1
    merged = POOL.replace("  disruption:\n", "  disruption: &d\n") + "---\n" + CLASS
    assert "v1beta1" not in convert_file(merged)


def test_wrong_types_anywhere_raise_nothing() -> None:
    wrong = [None, 5, "x", True, [], {}, [1], {"a": 1}, "${X}"]
    number = 0
    for text in (with_kubelet(), CLASS, *PROVISIONER.split("---\n")):
        (whole,) = plain(re.sub(r"\$\{(\w+)\}", "9", text))
        for path in paths(whole):
            changed = json.loads(json.dumps(whole))
            at = changed
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = wrong[number % len(wrong)]
            number += 1
            source = Source.from_text("a.yaml", json.dumps(changed))
            for obj in objects(source):
                conversion = convert(obj, [obj])
                assert not (conversion.blocked and conversion.edits)
                if conversion.edits:
                    assert not Source.from_text("a.yaml", apply(source.text, conversion.edits)).problems


def paths(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    steps = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [p for step, part in steps for p in [(*before, step), *paths(part, (*before, step))]]


def test_quoted_keys_move_with_their_comments() -> None:
    new = convert_file(re.sub(r"(?m)^( *(?:- )?)(\w+):", r'\1"\2":', POOL.replace("{team: web}", '{"team": web}')))
    assert '      "expireAfter": 168h # a week\n' in new
    assert not re.search(r"(?m)^ *(?:- )?\w+:", new), "keys that are added are quoted as the others are"
    assert plain(new) == plain(POOL_V1)


def test_kubelet_settings_take_the_indent_of_the_class() -> None:
    flow = re.sub(r"(?s)requirements:\n.*?  limits", "requirements: []\n  limits", with_kubelet())
    wide = re.sub(r"(?m)^( +)(?!- )", lambda m: m[1] * 2, flow).replace("      - nodes", "            - nodes")
    narrow, _ = converted({"pool.yaml": flow, "class.yaml": CLASS})
    new, _ = converted({"pool.yaml": wide, "class.yaml": CLASS})
    assert new["class.yaml"] == narrow["class.yaml"]
    assert plain(new["pool.yaml"]) == plain(narrow["pool.yaml"])


def test_each_object_is_told_its_own_notes() -> None:
    _, message = converted({"pool.yaml": with_kubelet(), "class.yaml": CLASS})
    hop = [any("httpPutResponseHopLimit" in note for note in c.notes) for c in message]
    assert hop[:2] == [False, True]


def test_what_a_v1_pool_still_has_where_v1beta1_had_it() -> None:
    pool = POOL_V1.replace("      requirements:\n", KUBELET + "      requirements:\n", 1)
    sources, world = world_of({"pools/a.yaml": pool, "classes/b.yaml": CLASS_V1})
    edits = settled_kubelet(world[0], world)
    texts = {path: apply(s.text, [edit for edit in edits if edit.source is s]) for path, s in sources.items()}
    assert texts["pools/a.yaml"] == POOL_V1
    assert texts["classes/b.yaml"] == CLASS_V1 + "".join(line[4:] + "\n" for line in KUBELET.splitlines())
    _, shared = world_of({"a.yaml": pool, "b.yaml": CLASS_V1, "c.yaml": POOL_V1.replace("name: web #", "name: b #")})
    assert settled_kubelet(shared[0], shared) == [], "it would change what the other pool's nodes get"
    _, alone = world_of({"a.yaml": pool})
    assert settled_kubelet(alone[0], alone) == []


def test_expire_after_of_a_v1_pool_moves_with_its_comment() -> None:
    late = POOL_V1.replace("      expireAfter: 168h # a week\n", "").replace(
        "  disruption:\n", "  disruption:\n    # no longer\n    expireAfter: 168h # a week\n"
    )
    sources, world = world_of({"a.yaml": late})
    home = ("spec", "template", "spec", "expireAfter")
    new = apply(sources["a.yaml"].text, settled(world[0], ("spec", "disruption", "expireAfter"), home))
    assert "      # no longer\n      expireAfter: 168h # a week\n" in new
    assert plain(new) == plain(POOL_V1)


FLOW_POOL = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: web}
spec:
  template: {"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "web"}}}
  disruption: {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s", "expireAfter": AGE}
"""


@pytest.mark.parametrize(
    "written",
    [
        "${jsonencode(var.age)}",
        "${yamlencode(var.age)}",
        "${trimspace(file(var.age))}",
        "{{ .Values.age | toJson }}",
        "{{ toYaml .Values.age }}",
        "{{ .Values.age | quote }}",
        '{{ include "age" . }}',
        '"${var.age}"',
        "'{{ .Values.age }}h'",
        "${AGE}",
    ],
)
def test_a_placeholder_moves_as_it_is_written(written: str) -> None:
    new = convert_file(FLOW_POOL.replace("AGE", written))
    assert f"expireAfter: {written}}}" in new.replace('"expireAfter"', "expireAfter")
    block = FLOW_POOL.replace('{"consolidationPolicy": "WhenEmpty"', "\n    consolidationPolicy: WhenEmpty")
    block = block.replace(', "consolidateAfter": "30s", "expireAfter": AGE}', "\n    expireAfter: AGE")
    new = convert_file(block.replace("AGE", written))  # out of a block, where other signs end a value
    assert new.count(written) == 1
    assert (written[0] in "\"'") == ("apiVersion: karpenter.sh/v1\n" in new)


@pytest.mark.parametrize(
    ("written", "converted"),
    [
        ("${TTL}", True),
        ("{{ .Values.ttl }}", True),
        ("{{ .Values.ttl | default 30 }}", True),
        ("${jsonencode(var.ttl)}", False),
        ("{{ .Values.ttl | quote }}", False),
        ('{{ include "ttl" . }}', False),
        ("${var.a}${var.b}", False),
    ],
)
def test_a_unit_is_written_behind_a_value_alone(written: str, converted: bool) -> None:
    new = convert_file(f"{BARE}  ttlSecondsUntilExpired: {written}\n")
    assert ("apiVersion: karpenter.sh/v1\n" in new) == converted
    assert (f"{written}s" in new) == converted
