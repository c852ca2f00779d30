"""What the API server says of an object, per release."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.apiserver import Schemas, cel, check, refuses
from nodelint.apiserver.problems import last
from nodelint.lint.engine import Report
from nodelint.model.documents import objects
from nodelint.model.releases import NEWEST, RELEASES, Version, ahead
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool

POOL = nodepool()
CLASS = nodeclass(role="nodes")
BETA_POOL = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      kubelet: {maxPods: 20}
      nodeClassRef: {name: default}
      requirements: []
  disruption:
    consolidationPolicy: WhenUnderutilized
    expireAfter: 720h
"""
BETA_CLASS = """\
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiFamily: AL2
  role: nodes
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("spec.weight", "weight"),
        ("spec.requirements[0]", "requirements"),
        ("spec.requirements[0].values[12]", "values"),
        ("spec.rows[3][4]", "rows"),
        ('spec.limits["a.b/c"]', "a.b/c"),
        ('spec.limits[""]', "the empty key"),
        ("", "the object"),
    ],
)
def test_a_path_is_told_by_its_last_field(path, name):
    assert last(path) == name


CLOSED = "1.14.3"
"""The last release whose API server checks the kubelet's settings, and asks for consolidateAfter."""


def problems(text, release=str(NEWEST), partial=False, schemas=None):
    source = Source.from_text("x.yaml", text)
    assert not source.problems
    assert not source.set_aside
    (obj,) = objects(source)
    obj.partial = obj.partial or partial
    return check(obj, Version.parse(release), schemas or Schemas.bundled())


def pool(lines, **more):
    """A NodePool with more lines under spec."""
    return problems(POOL + "".join(f"  {line}\n" for line in lines.splitlines()), **more)


def requirement(line, **more):
    return problems(POOL.replace("requirements: []", f"requirements: [{{{line}}}]"), **more)


def ec2(lines, without=(), **more):
    """An EC2NodeClass with lines added under spec, or in place of those that have the same key."""
    keys = {line.split(":")[0] for line in lines.splitlines()} | set(without)
    remaining = [line for line in CLASS.splitlines() if line.strip().split(":")[0] not in keys]
    if "kubelet" in lines:
        more.setdefault("release", CLOSED)
    return problems("\n".join(remaining) + "\n" + "".join(f"  {line}\n" for line in lines.splitlines()), **more)


def only_problem(found):
    assert len(found) == 1, [p.message for p in found]
    return found[0]


def test_good_objects_are_taken_by_every_release():
    found = {str(r): problems(POOL, str(r)) + problems(CLASS, str(r)) for r in RELEASES}
    assert found == {str(r): [] for r in RELEASES} != {}


def test_the_old_version_is_taken_until_1_0():
    assert problems(BETA_POOL, "1.0.14") == []
    assert problems(BETA_CLASS, "1.0.0") == []
    problem = only_problem(problems(BETA_POOL, "1.1.0"))
    assert (problem.layer, problem.path, str(problem.until)) == ("release", "apiVersion", "1.1.0")
    assert problem.node.text == "karpenter.sh/v1beta1"


def test_an_api_version_that_never_was():
    problem = only_problem(problems(POOL.replace("karpenter.sh/v1", "karpenter.sh/v2")))
    assert (problem.layer, problem.suggestion) == ("structure", "karpenter.sh/v1")


# -- unknown fields


def test_a_misspelt_field_is_taken_for_the_one_meant():
    problem = only_problem(problems(POOL.replace("requirements:", "requirments:")))
    assert (problem.layer, problem.suggestion, problem.node.text) == (
        "unknown",
        "requirements",
        "requirments",
    )


@pytest.mark.parametrize("at", ["  ", "    "])
def test_a_field_in_the_wrong_place_is_not_missing_in_the_right_one(at):
    text = POOL.replace("      requirements: []\n", "").replace("    spec:\n", f"{at}requirements: []\n    spec:\n")
    if at == "  ":
        text = text.replace("  template:\n  requirements: []\n", "  requirements: []\n  template:\n")
    assert only_problem(problems(text)).belongs == "spec.template.spec"


@pytest.mark.parametrize("written", ["Nodepool", "nodePool"])
def test_a_kind_in_other_capitals_is_told_as_the_one_meant(written):
    found = only_problem(problems(POOL.replace("kind: NodePool", f"kind: {written}")))
    assert (found.node.text, found.suggestion) == (written, "NodePool")


def test_two_letters_changed_round_are_a_slip():
    found = only_problem(problems(CLASS.replace("role:", "roel:")))
    assert (found.layer, found.suggestion) == ("unknown", "role")


@pytest.mark.parametrize("field", ["subnetSelector", "securityGroupSelector", "amiSelector"])
def test_what_an_old_field_became_is_not_missing_too(field):
    assert only_problem(problems(CLASS.replace(f"{field}Terms:", f"{field}:"))).layer == "unknown"


@pytest.mark.parametrize("written", ["1.10", "on", "007", "true", "0x1F"])
def test_a_text_without_quotes_is_meant_as_it_is_written(written):
    labels = f"template:\n    metadata: {{labels: {{a: {written}}}}}\n"
    assert only_problem(problems(POOL.replace("template:\n", labels))).suggestion == written


def test_a_block_of_the_wrong_type_is_shown_at_its_key():
    found = only_problem(pool("limits:\n  resources:\n    cpu: 100\n"))
    assert found.node.text == "resources"


@pytest.mark.parametrize(("soft", "grace"), [("memory.availabl", "memory.available"), ("pid.available", "pid.avail")])
def test_a_misspelt_key_of_a_map_is_taken_for_the_one_meant(soft, grace):
    problem = only_problem(
        ec2(f"kubelet: {{evictionSoft: {{{soft}: 5%}}, evictionSoftGracePeriod: {{{grace}: 1m}}}}")
    )
    assert problem.suggestion is not None
    assert problem.node.text == min(soft, grace, key=len)


@pytest.mark.parametrize(
    "lines",
    ["subnetSelectorTerms: [{filter: x}]", "securityGroupSelectorTerms: [{id: sg-1}, {filter: {a: b}}]"],
)
def test_what_an_unknown_field_may_have_been_is_not_missing_too(lines):
    problem = only_problem(ec2(lines))
    assert (problem.layer, problem.node.text) == ("unknown", "filter")


def test_what_stands_under_a_misspelt_field_is_judged_too():
    found = problems(POOL.replace("requirements: []", "requirments: [{key: a, operator: Inn}]"))
    assert [p.layer for p in found] == ["unknown", "structure"]


def test_a_field_of_another_level_is_told_where_it_belongs():
    problem = only_problem(pool("taints: []"))
    assert (problem.layer, problem.belongs, problem.suggestion) == ("unknown", "spec.template.spec", None)
    assert "spec.template.spec" in problem.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (POOL.replace("requirements: []", "requirements: []\n      kubelet: {}"), "EC2NodeClass"),
        (POOL + "  disruption: {consolidateAfter: 1m, expireAfter: 1h}\n", "spec.template.spec"),
        (POOL.replace("group: karpenter.k8s.aws", "apiVersion: karpenter.k8s.aws/v1"), "group"),
        (CLASS.replace("alias: al2023@v20250403", "name: x, owners: self") + "  amiFamily: AL2\n", "owner"),
    ],
)
def test_known_misplacements_are_one_problem(text, words):
    problem = only_problem(problems(text))
    assert problem.layer == "unknown"
    assert words in problem.message.partition(" field: ")[2]


def test_unknown_fields_of_metadata():
    assert only_problem(problems(POOL.replace("metadata:", "metadata:\n  label: {}"))).suggestion == "labels"
    assert problems(POOL.replace("metadata:", "metadata:\n  creationTimestamp: null\n  uid: x")) == []


# -- releases


@pytest.mark.parametrize(
    ("text", "since"),
    [
        (POOL + "  replicas: 3\n", "1.8.0"),
        (POOL + "  disruption: {consolidateAfter: 1m, consolidationPolicy: Balanced}\n", "1.14.0"),
        (POOL.replace("[]", "[{key: a, operator: Gte, values: ['1']}]"), "1.9.0"),
        (POOL.replace("[]", "[{key: karpenter.k8s.aws/instance-tenancy, operator: Exists}]"), "1.9.0"),
        (
            POOL.replace("[]", "[{key: karpenter.k8s.aws/instance-capability-flex, operator: Exists}]"),
            "1.7.0",
        ),
        (POOL.replace("[]", "[{key: example.kubernetes.io/x, operator: Exists}]"), "1.9.0"),
        (POOL.replace("[]", "[{key: k8s.io/x, operator: Exists}]"), "1.9.0"),
        (
            POOL.replace("template:", "template:\n    metadata: {labels: {karpenter.k8s.aws/ec2nodeclass: a}}"),
            "1.1.0",
        ),
        (CLASS.replace("{alias: al2023@v20250403}", "{ssmParameter: /x}") + "  amiFamily: AL2\n", "1.4.0"),
        (CLASS.replace("al2023@v20250403", "windows2025@latest"), "1.9.0"),
        (CLASS + "  amiFamily: Windows2025\n", "1.9.0"),
        (CLASS + "  ipPrefixCount: 1\n", "1.8.0"),
        (CLASS + "  cpuOptions: {nestedVirtualization: enabled}\n", "1.13.0"),
        (CLASS + "  capacityReservationSelectorTerms: [{id: cr-1}]\n", "1.3.0"),
        (CLASS + "  capacityReservationSelectorTerms: [{instanceMatchCriteria: open}]\n", "1.8.0"),
        (CLASS + "  blockDeviceMappings: [{ebs: {snapshotID: s, volumeInitializationRate: 100}}]\n", "1.5.0"),
    ],
)
def test_what_a_release_brought_is_refused_before_and_taken_after(text, since):
    border = Version.parse(since)
    before = RELEASES[RELEASES.index(border) - 1]
    found = [p for p in problems(text, str(before)) if p.since == border]
    assert only_problem(found).layer == "release"
    assert f"needs Karpenter {since} or newer, the target is {before}" in found[0].message
    assert all(p.since != border for p in problems(text, since))


@pytest.mark.parametrize(
    ("lines", "release"),
    [
        ("networkInterfaces: [{deviceIndex: -1, interfaceType: efa, other: 1}]", "1.10.2"),
        ("connectionTracking: {udpTimeout: '30'}", "1.12.2"),
        ("capacityReservationSelectorTerms: []", "1.2.8"),
    ],
)
def test_what_a_release_does_not_have_is_not_judged_inside(lines, release):
    problem = only_problem(ec2(lines, release=release))
    assert (problem.layer, problem.node.text) == ("release", lines.split(":")[0])
    assert ec2(lines)


def test_a_long_label_keeps_its_release():
    label = "karpenter.k8s.aws/capacity-reservation-interruptible"
    problem = only_problem(requirement(f"key: {label}, operator: Exists", release="1.4.0"))
    assert problem.message == f"`{label}` needs Karpenter 1.10.0 or newer, the target is 1.4.0"


def test_keywords_that_changed_hold_for_their_releases():
    loose = POOL.replace("requirements: []", "requirements: []\n      expireAfter: 1hr")
    assert problems(loose, "1.3.8") == []
    assert only_problem(problems(loose, "1.4.0")).path == "spec.template.spec.expireAfter"
    twice = "disruption: {consolidateAfter: 1m, budgets: [{nodes: '1', reasons: [Empty, Empty]}]}"
    assert pool(twice, release="1.12.2") == []
    assert only_problem(pool(twice, release="1.13.0")).message == "`Empty` is listed twice"
    empty = POOL.replace("kind: EC2NodeClass", "kind: ''")
    assert problems(empty, "1.0.14") == []
    assert only_problem(problems(empty, "1.1.0")).path.endswith("nodeClassRef.kind")


def test_a_dropped_rule_gives_way_to_one_that_stays():
    found = requirement("key: kubernetes.io/hostname, operator: Exists", release="1.4.0")
    assert only_problem(found).layer == "validation"


# -- structure


@pytest.mark.parametrize(
    ("lines", "path", "words"),
    [
        ("weight: '10'", "spec.weight", "must be an integer, but is the string `10`"),
        ("weight: 101", "spec.weight", "`weight` is 101, the maximum is 100"),
        ("weight: 1.5", "spec.weight", "must be an integer"),
        ("limits: []", "spec.limits", "must be a mapping, but is a list"),
        ("limits: {cpu: lots}", "spec.limits.cpu", "`lots` is not a quantity"),
        ("limits: {cpu: true}", "spec.limits.cpu", "must be an integer or a string"),
        (
            "disruption: {}",
            "spec.disruption.consolidateAfter",
            "required field `consolidateAfter` is missing",
        ),
        ("disruption: {consolidateAfter: 1 h}", "spec.disruption.consolidateAfter", "`1 h` is not a duration"),
        ("replicas: -1", "spec.replicas", "the minimum is 0"),
        ("replicas: 9223372036854775808", "spec.replicas", "does not fit in 64 bits"),
    ],
)
def test_structure(lines, path, words):
    problem = only_problem(pool(lines, release=CLOSED))
    assert (problem.layer, problem.path) == ("structure", path)
    assert words in problem.message


def test_a_budget_of_repair_needs_the_release_that_has_it():
    budgets = "disruption: {consolidateAfter: 1m, budgets: [{nodes: '1', reasons: [Unhealthy]}]}"
    assert pool(budgets) == []
    problem = only_problem(pool(budgets, release=CLOSED))
    assert (problem.layer, str(problem.since)) == ("release", "1.15.0")


def test_enclaves_are_switched_on_or_off_where_they_are_named():
    assert ec2("enclaveOptions: {enabled: true}") == ec2("enclaveOptions: {enabled: false}") == []
    missing = only_problem(ec2("enclaveOptions: {}"))
    assert (missing.layer, missing.missing) == ("structure", "enabled")
    assert only_problem(ec2("enclaveOptions: {enabled: 'true'}")).layer == "structure"
    assert only_problem(ec2("enclaveOptions: {enabled: true, tpm: true}")).layer == "unknown"
    older = only_problem(ec2("enclaveOptions: {enabled: true}", release=CLOSED))
    assert (older.layer, str(older.since)) == ("release", "1.15.0")


def test_what_is_missing_names_the_field_and_its_holder():
    problem = only_problem(problems(POOL.replace("group: karpenter.k8s.aws, ", "")))
    assert (problem.missing, problem.node.text) == ("group", "nodeClassRef")
    assert problem.holder is not None
    assert problem.holder.get("kind") is not None


def test_an_enum_names_the_nearest_value():
    problem = only_problem(requirement("key: a, operator: in, values: [b]"))
    assert (problem.suggestion, problem.node.text) == ("In", "in")


def test_nulls_are_dropped_and_defaults_filled_in():
    assert pool("weight: null\nlimits: null\ndisruption: null") == []
    gone = POOL.partition("  template:")[0] + "  template: null\n"
    assert only_problem(problems(gone)).missing == "template"
    assert only_problem(requirement("key: null, operator: Exists")).missing == "key"


def test_texts_of_yaml_1_1():
    assert only_problem(ec2("detailedMonitoring: 'true'")).suggestion == "true"
    assert ec2("detailedMonitoring: yes") == []
    labels = POOL.replace("template:", "template:\n    metadata: {labels: {a: yes}}")
    assert "must be a string, but is the boolean `true`" in only_problem(problems(labels)).message


def test_names():
    assert only_problem(problems(POOL.replace("name: default\nspec", "name: Default\nspec"))).path == "metadata.name"
    assert only_problem(problems(POOL.replace("  name: default\nspec", "  labels: {}\nspec"))).path == "metadata"
    assert problems(POOL.replace("  name: default\nspec", "  generateName: a-\nspec")) == []


def test_what_the_controller_reports_is_not_judged():
    assert problems(POOL + "status: {conditions: 3, foo: bar}\n") == []


# -- rules


@pytest.mark.parametrize(
    ("line", "path", "words"),
    [
        ("key: a, operator: In, values: []", ".values", "`In` of `a` needs at least one value"),
        ("key: a, operator: In", "", "`In` of `a` needs at least one value"),
        ("key: a, operator: Gt, values: [b]", ".values", "`Gt` of `a`"),
        ("key: a, operator: Lt, values: ['-1']", ".values", "`Lt` of `a`"),
        ("key: a, operator: Gte, values: ['1', '2']", ".values", "`Gte` of `a`"),
        ("key: a, operator: In, values: [b], minValues: 2", ".minValues", "minValues is 2 but `a` lists 1"),
        ("key: karpenter.sh/nodepool, operator: Exists", ".key", "`karpenter.sh/nodepool`"),
        ("key: my.karpenter.sh/x, operator: Exists", ".key", "`my.karpenter.sh/x`"),
        ("key: karpenter.k8s.aws/instance-famly, operator: Exists", ".key", "instance-famly"),
        ("key: kubernetes.io/hostname, operator: Exists", ".key", "kubernetes.io/hostname"),
    ],
)
def test_rules_of_requirements_point_at_the_value(line, path, words):
    problem = only_problem(requirement(line))
    assert (problem.layer, problem.path) == ("validation", f"spec.template.spec.requirements[0]{path}")
    assert words in problem.message


@pytest.mark.parametrize(
    ("lines", "path"),
    [
        ("instanceProfile: x", "spec"),
        ("amiFamily: AL2", "spec.amiFamily"),
        ("amiSelectorTerms: [{id: ami-1, name: x}]\namiFamily: AL2", "spec.amiSelectorTerms[0].id"),
        ("amiSelectorTerms: [{alias: al2@latest, tags: {a: b}}]", "spec.amiSelectorTerms[0].alias"),
        ("amiSelectorTerms: [{alias: al2@latest}, {id: ami-1}, {id: ami-2}]", "spec.amiSelectorTerms[0]"),
        ("amiSelectorTerms: [{id: ami-1}]", "spec.amiSelectorTerms"),
        ("amiSelectorTerms: [{alias: al2}]", "spec.amiSelectorTerms[0].alias"),
        ("amiSelectorTerms: [{alias: ubuntu@latest}]", "spec.amiSelectorTerms[0].alias"),
        ("amiSelectorTerms: [{alias: windows2022@v1}]", "spec.amiSelectorTerms[0].alias"),
        ("subnetSelectorTerms: [{}]", "spec.subnetSelectorTerms[0]"),
        ("subnetSelectorTerms: [{id: subnet-1, tags: {a: b}}]", "spec.subnetSelectorTerms[0]"),
        ("securityGroupSelectorTerms: [{id: sg-1, name: x}]", "spec.securityGroupSelectorTerms[0]"),
        ("securityGroupSelectorTerms: [{name: x, tags: {a: b}}]", "spec.securityGroupSelectorTerms[0]"),
        ("tags: {a: b, kubernetes.io/cluster/main: owned}", 'spec.tags["kubernetes.io/cluster/main"]'),
        ("blockDeviceMappings: [{ebs: {iops: 3000}}]", "spec.blockDeviceMappings[0].ebs"),
        ("kubelet: {systemReserved: {cpu: '-1'}}", "spec.kubelet.systemReserved.cpu"),
        ("kubelet: {imageGCHighThresholdPercent: 5, imageGCLowThresholdPercent: 5}", None),
        ("connectionTracking: {}", "spec.connectionTracking"),
        ("placementGroupSelector: {name: a, id: pg-1}", "spec.placementGroupSelector"),
    ],
)
def test_rules_of_classes(lines, path):
    problem = only_problem(ec2(lines))
    assert problem.layer == "validation"
    assert problem.path == path or path is None


def test_one_bad_term_beside_a_good_one_is_taken():
    both = "{id: subnet-1, tags: {a: b}}"
    assert ec2(f"subnetSelectorTerms: [{both}, {{id: subnet-1}}]") == []


def test_two_broken_rules_of_one_place_are_both_told():
    found = ec2("instanceProfile: x\namiSelectorTerms: [{id: ami-1}]")
    assert [p.layer for p in found] == ["validation", "validation"]


def test_rules_do_not_wait_for_a_sound_structure():
    found = ec2("instanceProfile: x\ntags: []")
    assert [(item.layer, item.path) for item in found] == [("validation", "spec"), ("structure", "spec.tags")]


def test_rules_of_static_pools():
    assert only_problem(pool("replicas: 1\nweight: 5")).path == "spec.weight"
    assert only_problem(pool("replicas: 1\nlimits: {cpu: 5}")).path == "spec.limits"
    assert pool("replicas: 1\nlimits: {nodes: 5}") == []
    assert only_problem(pool("replicas: 1\nweight: 5", release="1.8.0")).path == "spec.weight"


def test_a_rule_that_ends_in_an_error_for_what_is_told_already_is_not_told():
    assert only_problem(ec2("amiFamily: Al2023")).suggestion == "AL2023"


# -- what is not known


def test_placeholders_satisfy_what_could_hold():
    assert ec2("role: ${ROLE}\namiSelectorTerms: [{alias: 'al2023@${VERSION}'}]") == []
    assert requirement("key: '${KEY}', operator: '${OP}', values: ['${A}'], minValues: 1") == []
    assert requirement("key: a, operator: '${OP}', values: []") == []
    assert ec2("amiFamily: '${FAMILY}'") == []
    assert pool("weight: ${WEIGHT}\nlimits: ${LIMITS}") == []


def test_two_placeholders_may_differ():
    assert ec2("kubelet: {imageGCHighThresholdPercent: '${A}', imageGCLowThresholdPercent: '${B}'}") == []
    interface = "{deviceIndex: '${A}', networkCardIndex: 0, interfaceType: '${B}'}"
    assert ec2(f"networkInterfaces: [{interface}]") == []
    assert (
        only_problem(ec2(f"networkInterfaces: [{interface.replace('0', '1')}]")).path == "spec.networkInterfaces[0]"
    )


def test_a_rule_that_fails_whatever_the_placeholder_is_told():
    assert only_problem(ec2("role: ${ROLE}\ninstanceProfile: x")).path == "spec"
    assert only_problem(requirement("key: '${KEY}', operator: In, values: []")).path.endswith("values")


def test_placeholders_do_not_hide_what_stands_beside_them():
    found = ec2("role: ${ROLE}\ntags: {karpenter.sh/nodepool: x}")
    assert only_problem(found).path == 'spec.tags["karpenter.sh/nodepool"]'


def test_parts_are_not_told_of_what_they_lack():
    part = CLASS.partition("  role")[0] + "  kubelet: {evictionSoft: {memory.available: 5%}}\n"
    assert problems(part, partial=True) == []
    assert problems(part + "  amiSelectorTerms: []\n  amiFamily: AL2\n", partial=True) == []
    assert problems(POOL.partition("  template")[0] + "  disruption: {}\n", partial=True) == []
    for line in ("key: a, operator: In", "key: a, operator: Gt", "operator: In, values: []", "key: a"):
        assert requirement(line, partial=True) == []
    assert ec2("subnetSelectorTerms: [{}, {}]\nkubelet: {evictionSoft: {a: 1%}}", partial=True) != []
    assert ec2("subnetSelectorTerms: [{}, {}]\nkubelet: {evictionSoft: {}}", partial=True) == []


@pytest.mark.parametrize(
    ("opens", "turns", "ends"),
    [
        ("{{- if .Values.role }}", "{{- else }}", "{{- end }}"),
        ("%{ if role ~}", "%{ else ~}", "%{ endif ~}"),
        ("{% if role %}", "{% else %}", "{% endif %}"),
    ],
)
def test_branches_of_a_template_are_not_all_rendered(opens, turns, ends):
    both = f"  {opens}\n  role: nodes\n  {turns}\n  instanceProfile: ${{x}}\n  {ends}\n"
    assert problems(CLASS.replace("  role: nodes\n", both)) == []
    plain = CLASS.replace("  role: nodes\n", f"  role: nodes\n  instanceProfile: x\n  {opens}\n  {ends}\n")
    assert "cannot go together" in only_problem(problems(plain)).message, (
        "what stands outside of the branches is always there"
    )
    doubled = CLASS.replace("  role: nodes\n", "  role: nodes\n  instanceProfile: x\n")
    found = problems(f"{opens}\n{doubled}{ends}\n")
    assert "cannot go together" in only_problem(found).message, (
        "a condition around the whole is none between its fields"
    )


def test_directives_of_patches_are_no_fields():
    part = POOL.partition("  template")[0] + "  limits: {cpu: 5}\n  $patch: replace\n"
    assert problems(part, partial=True) == []
    assert "`$patch`" in [p.message.split()[0] for p in problems(part)]


def test_parts_are_told_of_what_they_hold():
    part = CLASS.partition("  role")[0]
    found = problems(part + "  role: a\n  instanceProfile: b\n  tag: {}\n", partial=True)
    assert sorted(p.layer for p in found) == ["unknown", "validation"]
    found = problems(part + "  amiSelectorTerms: [{id: ami-1, name: x}]\n", partial=True)
    assert only_problem(found).path == "spec.amiSelectorTerms[0].id"


def test_what_the_api_server_drops_does_not_count_against_an_object():
    def refused(text, release):
        (obj,) = objects(Source.from_text("x.yaml", text))
        return refuses(obj, Version.parse(release), Schemas.bundled())

    # `resources` may hold nothing; of an object of the wrong shape there is more than what is dropped.
    text = BETA_POOL.replace("      kubelet:", "      resources: {a: 1}\n      kubelet:")
    assert not refused(text, "1.0.0")
    assert refused(text.replace("20}", "many}"), "1.0.0")
    # A term whose one field came with 1.4.0 is an empty term before.
    of_parameter = nodeclass("amiFamily: AL2023", role="nodes", ami="ssmParameter: /x")
    assert [refused(of_parameter, release) for release in ("1.0.0", "1.4.0")] == [True, False]


# -- other schemas


CRD = """\
apiVersion: v1
kind: List
items:
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: nodepools.karpenter.sh}
  spec:
    group: karpenter.sh
    names: {kind: NodePool, plural: nodepools}
    versions:
    - name: v1
      served: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              x-kubernetes-validations:
              - {rule: "self == oldSelf", message: never}
              - {rule: "self.a.lowerAscii() == self.a", message: a is lower case}
              - {rule: "authorizer.serviceAccount('a', 'b').check('c')", message: cannot be judged}
              required: [a]
              properties:
                a: {type: string, enum: [x, X, yy], default: yy}
                namespace: {type: string, x-kubernetes-validations: [{rule: "self != 'z'", message: is taken}]}
                list:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [k]
                  items: {type: object, required: [k], properties: {k: {type: string}}}
                  x-kubernetes-validations: [{rule: "self.all(x, x.k != 'bad')", message: bad is not good}]
                flag: {enum: [true, 2]}
                filled: {type: array, items: {type: string, default: bad, enum: [good]}}
                choice:
                  type: object
                  properties: {b: {type: integer}}
                  x-kubernetes-validations: [{rule: "!has(self.b) || self.b > 1 ? false : true", message: no choice}]
                set: {type: array, x-kubernetes-list-type: set, items: {}}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
                none: {type: string, nullable: true}
                some: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}
"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crds")
    (folder / "crds.yaml").write_text(CRD)
    (folder / "other.yaml").write_text("a: [")
    return Schemas.from_crds(folder)


def own(lines, foreign):
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n"
    return problems(text + "".join(f"  {line}\n" for line in lines.splitlines()), schemas=foreign)


def test_crds_of_a_cluster(foreign):
    assert own("a: x\nfree: {b: 1}\nnone: null\nsome: 5\nnamespace: w", foreign) == []
    assert own("free: {}", foreign) == []
    assert only_problem(own("a: X", foreign)).message == "a is lower case"
    assert only_problem(own("namespace: z", foreign)).message == "is taken: `z`"
    assert only_problem(own("c: z", foreign)).layer == "unknown"
    assert only_problem(own("list: [{k: a}, {k: bad}]", foreign)).path == "spec.list[1]"
    assert only_problem(own("list: [{k: a}, {k: a}]", foreign)).message == "an entry is listed twice"
    assert only_problem(own("some: true", foreign)).layer == "structure"
    assert own("flag: true", foreign) == []
    assert only_problem(own("flag: 1", foreign)).path == "spec.flag"
    assert own("set: [1, true, '1', {a: 1}, {a: true}, [1]]", foreign) == []
    assert only_problem(own("set: [{a: [1], b: 2}, {b: 2, a: [1.0]}]", foreign)).path == "spec.set[1]"
    assert own("set: ['${A}', '${A}', '${B}']", foreign) == []
    assert only_problem(own("set: ['${A}', b, b]", foreign)).path == "spec.set[2]"


def test_a_null_in_a_list_becomes_the_default(foreign):
    assert own("filled: [good, null]", foreign) == []
    assert only_problem(own("filled: [good, 'null']", foreign)).path == "spec.filled[1]"


def test_the_first_part_of_a_condition_does_not_decide_it(foreign):
    # `||` binds closer than `?`: what holds leads to the first branch.
    assert only_problem(own("choice: {}", foreign)).message == "no choice"
    assert own("choice: {b: 1}", foreign) == []


def test_rules_that_do_not_compile_are_said(foreign):
    (skipped,) = foreign.skipped
    assert skipped.startswith("rule `authorizer")


def test_crds_without_a_kind_say_nothing_of_it(foreign):
    assert problems(CLASS, schemas=foreign) == []
    assert only_problem(problems(BETA_POOL, schemas=foreign)).path == "apiVersion"


def test_a_folder_without_crds(tmp_path):
    (tmp_path / "a.yaml").write_text("kind: Deployment\n")
    with pytest.raises(ValueError, match="holds no CustomResourceDefinition"):
        Schemas.from_crds(tmp_path)
    (tmp_path / "a.yaml").write_text("kind: CustomResourceDefinition # karpenter\na: [")
    with pytest.raises(
        ValueError, match=r"^a\.yaml is not YAML at line 3, column 1: did not find expected node content$"
    ):
        Schemas.from_crds(tmp_path)
    (tmp_path / "a.yaml").write_text("kind: CustomResourceDefinition # karpenter\na:\n" + "- " * 200_000)
    with pytest.raises(ValueError, match="200 levels deep"):
        Schemas.from_crds(tmp_path)
    with pytest.raises(OSError, match="absent"):
        Schemas.from_crds(tmp_path / "absent.yaml")


# -- the files

FILES = sorted((Path(__file__).parents[2] / "schemas").glob("*-v1*.schema.json"))


def places(value):
    if isinstance(value, dict):
        yield value
        for one_value in value.values():
            yield from places(one_value)
    elif isinstance(value, list):
        for one_value in value:
            yield from places(one_value)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_the_files_are_json_schema_and_their_rules_compile(file):
    schema = json.loads(file.read_text())
    following = ahead()
    known = {*RELEASES, following.version} if following else set(RELEASES)
    jsonschema.Draft202012Validator.check_schema(schema)
    for place in places(schema):
        for rule in place.get("x-kubernetes-validations") or []:
            cel.compile(rule["rule"])
            assert re.fullmatch(r"[^A-Z].{0,98}[^.]", rule["message"]) or rule["message"][0] == "K"
            if "messageExpression" in rule:
                cel.compile(rule["messageExpression"])
        for key in ("x-karpenter-since", "x-karpenter-until"):
            assert key not in place or Version.parse(place[key]) in known
        for border in place.get("x-karpenter-before", {}):
            assert Version.parse(border) in RELEASES
        for border in place.get("x-karpenter-after", {}):
            assert Version.parse(border) in known and Version.parse(border) not in RELEASES
        for value, window in place.get("x-karpenter-values", {}).items():
            assert Version.parse(window["since"]) in known
            assert value in place.get("enum", [value])


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_every_field_is_described(file):
    schema = json.loads(file.read_text())
    for place in places(schema):
        for name, field in (place.get("properties") or {}).items() if place.get("type") == "object" else ():
            assert field.get("description") or "$ref" in field, name


@pytest.mark.parametrize("text", [POOL, CLASS], ids=["pool", "class"])
def test_the_files_serve_any_validator(text):
    """An editor judges by the same files: what it says of types, enums and patterns is what we say."""
    source = Source.from_text("x.yaml", text)
    plain = source.documents[0].root.plain()
    name = f"{plain['kind'].lower()}-v1.schema.json"
    schema = json.loads((FILES[0].parent / name).read_text())
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(plain)
    assert not validator.is_valid({**plain, "spec": {**plain["spec"], "foo": 1}})
    assert not validator.is_valid({**plain, "spec": {}}) or plain["kind"] == "EC2NodeClass"


# -- whatever comes

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(
        st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\ufeff\u2028\u2029"),
        max_size=8,
    ),
    st.sampled_from(["In", "Never", "1h", "al2@latest", "karpenter.sh/x", "${X}", "ami-1"]),
)
KEYS = st.sampled_from(
    [
        *("spec", "template", "requirements", "key", "operator", "values", "limits", "kubelet", "role", "tags"),
        *("amiSelectorTerms", "alias", "labels", "metadata", "disruption", "budgets", "nodeClassRef", "replicas"),
        *("x/y", "a b", ""),
    ]
)
ANYTHING = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=4), max_leaves=12
)


@given(
    spec=ANYTHING,
    kind=st.sampled_from(["NodePool", "EC2NodeClass"]),
    version=st.sampled_from(["v1", "v1beta1"]),
    release=st.sampled_from(["1.0.0", "1.4.0", "1.14.1"]),
    partial=st.booleans(),
)
def test_whatever_stands_there_is_judged_in_short_messages(spec, kind, version, release, partial):
    group = {"NodePool": "karpenter.sh", "EC2NodeClass": "karpenter.k8s.aws"}[kind]
    whole = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    source = Source.from_text("x.json", json.dumps(whole))
    for obj in objects(source):
        obj.partial = partial
        for problem in check(obj, Version.parse(release), Schemas.bundled()):
            assert problem.message == problem.message.strip()
            assert len(problem.message) <= 120
            assert not problem.message.endswith(".") or problem.message.endswith("...")
            assert not partial or problem.missing is None


class TestOneWrongValue:
    """An API server stops before its rules where a value has the wrong type: here one mistake hides no other."""

    POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  weight: WEIGHT
  limits: LIMITS
  REPLICAS
  disruption: {consolidateAfter: 5m, budgets: [{nodes: "1", schedule: "0 0 * * *"}]}
  template:
    metadata: {labels: {karpenter.sh/nodepool: x}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
"""

    def layers_and_messages(
        self, weight: str = "10", limits: str = "{cpu: 1}", replicas: str = "{}"
    ) -> list[tuple[str, str]]:
        text = self.POOL.replace("WEIGHT", weight).replace("LIMITS", limits)
        text = text.replace("REPLICAS", "replicas: 2" if replicas == "2" else f"disruptions: {replicas}")
        return [(p.layer, p.message) for p in problems(text) if p.layer != "unknown"]

    HIDDEN = (
        ("validation", "a budget has `schedule` and `duration` together or neither"),
        (
            "validation",
            "label `karpenter.sh/nodepool` is Karpenter's own; of karpenter.sh only capacity-type may be used",
        ),
    )
    WEIGHT = ("structure", "`weight` must be an integer, but is the string `10`")
    BOTH = ("validation", "`weight` and `replicas` cannot go together")

    def test_a_rule_about_other_values_is_judged(self) -> None:
        assert self.layers_and_messages('"10"') == [self.WEIGHT, *self.HIDDEN]

    def test_a_rule_that_breaks_whatever_the_value_is_judged(self) -> None:
        assert self.layers_and_messages('"10"', "{nodes: 3}", "2") == [self.WEIGHT, self.BOTH, *self.HIDDEN]

    def test_a_rule_that_hangs_on_the_value_is_named(self) -> None:
        limits = ("structure", "`limits` must be a mapping, but is a list")
        words = "a field that it needs is missing or has the wrong type: with `replicas` the only limit is `nodes`"
        unjudged = ("unjudged", words)
        messages = self.layers_and_messages(limits="[1]", replicas="2")
        assert sorted(messages) == sorted([limits, unjudged, self.BOTH, *self.HIDDEN])


def test_a_rule_that_was_not_judged_is_a_skip(check: Callable[..., Report]) -> None:
    text = TestOneWrongValue.POOL.replace("REPLICAS", "replicas: 2").replace("  weight: WEIGHT\n", "")
    report = check(text.replace("LIMITS", "[1]"))
    assert [s.reason for s in report.skipped if s.rule == "refused-combination"] == [
        "a field that it needs is missing or has the wrong type: with `replicas` the only limit is `nodes`"
    ]


def test_skips_that_begin_alike_are_one_line(
    tmp_path: Path, nodelint: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    wrong = re.sub(r"securityGroupSelectorTerms:.*", "securityGroupSelectorTerms: [sg-0123456789abcdef0]", CLASS)
    assert wrong != CLASS
    (tmp_path / "class.yaml").write_text(wrong)
    folded = [line for line in nodelint("check").stdout.splitlines() if line.startswith("Skipped")]
    listed = [line for line in nodelint("check", "--verbose").stdout.splitlines() if line.startswith("Skipped")]
    assert len(folded) == 1 < len(listed)
    assert f"; and {len(listed) - 1} more (refused-combination)." in folded[0]


def test_a_list_may_have_as_many_entries_as_the_schema_says():
    def terms(count):
        return ec2(f"subnetSelectorTerms: [{', '.join(f'{{id: subnet-{n:x}}}' for n in range(count))}]")

    assert terms(30) == []
    assert only_problem(terms(31)).message.startswith("`subnetSelectorTerms` has 31 entries")


def test_of_a_text_that_is_too_long_no_rule_is_asked():
    """An API server that refuses an object for its structure in this way does not ask the rules."""
    lines = "amiFamily: AL2\namiSelectorTerms: [{{alias: al2023@{}}}]"
    assert only_problem(ec2(lines.format("latest"))).layer == "validation"
    assert {p.layer for p in ec2(lines.format("a" * 31))} == {"unjudged", "structure"}


LOOP = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirements:
        - key: karpenter.k8s.aws/instance-family
          operator: In
          minValues: 2
          values:
            START
            - ITEM
            END
"""


@pytest.mark.parametrize(
    ("start", "item", "end"),
    [
        ("%{ for family in families ~}", "${family}", "%{ endfor ~}"),
        ("{{- range .Values.families }}", "{{ . }}", "{{- end }}"),
        ("{% for family in families %}", "{{ family }}", "{% endfor %}"),
    ],
)
def test_what_a_loop_prints_is_not_counted(start: str, item: str, end: str) -> None:
    text = LOOP.replace("START", start).replace("ITEM", item).replace("END", end)
    assert problems(text) == []
    few = LOOP.replace("            START\n", "").replace("            END\n", "").replace("ITEM", "m5")
    assert [problem.layer for problem in problems(few)] == ["validation"]


def test_a_field_that_may_be_null_has_a_type_all_the_same(foreign):
    assert own("none: null", foreign) == own("none: text", foreign) == []
    assert only_problem(own("none: [text]", foreign)).message == "`none` must be a string, but is a list"
    assert only_problem(own("none: 5", foreign)).message.startswith("`none` must be a string")
