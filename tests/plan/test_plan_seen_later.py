"""What a plan said wrongly, or did not know for no reason, of further changes that public repositories made."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_command import git
from tests.plan.test_plan_inputs import POOL, class_of
from tests.plan.test_plan_seen_in_public import plan
from tests.repositories import write_files

CLASS = class_of()
OLD = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec: {ttlSecondsAfterEmpty: 30}
"""
CHART = "apiVersion: v2\nname: nodes\nversion: 1.0.0\n"


def changed_places(nodelint: Run, folder: Path, old: dict[str, str], new: dict[str, str]) -> list[str]:
    found = plan(nodelint, folder, old, new)["notCompared"]
    return [str(place["what"]) for place in found if place["changed"]]


@pytest.mark.parametrize("new", [{"a.yaml": f"# {OLD}".replace("\n", "\n# ")}, {"a.yaml": OLD.replace("30", "60")}])
def test_one_of_several_old_objects_of_a_name_changes(nodelint: Run, tmp_path: Path, new: dict[str, str]) -> None:
    files = {"a.yaml": OLD, "b.yaml": OLD, "c.yaml": CLASS, "p.yaml": POOL}
    assert changed_places(nodelint, tmp_path, files, {**files, **new}) == ["Provisioner default"]
    moved = {name.replace("b.", "d."): text for name, text in files.items()}
    assert changed_places(nodelint, tmp_path / "moved", files, moved) == []


def test_the_version_of_kubernetes_names_no_cluster(nodelint: Run, tmp_path: Path) -> None:
    module = (
        'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  version = "20.0.0"\n  cluster_name = var.n\n'
        '  cluster_version = "1.31"\n}\nvariable "n" {}\nvariable "v" { default = "1.31" }\n'
    )
    body = "".join(
        f"    {line}\n" for line in CLASS.replace("role: nodes", "role: ${module.eks.cluster_name}").splitlines()
    )
    files = {
        "c.tf": f'resource "kubectl_manifest" "c" {{\n  yaml_body = <<-Y\n{body}  Y\n}}\n',
        "m.tf": module,
        "p.yaml": POOL,
    }
    same = {**files, "m.tf": module.replace('cluster_version = "1.31"', "cluster_version = var.v")}
    (pool,) = plan(nodelint, tmp_path, files, same)["nodePools"]
    assert pool["replaced"] == "none"
    for text in (module.replace("var.n\n", '"x-${var.n}"\n'), module.replace("20.0.0", "21.0.0")):
        (pool,) = plan(nodelint, tmp_path / str(hash(text)), files, {**files, "m.tf": text})["nodePools"]
        assert pool["replaced"] == "unknown"


@pytest.mark.parametrize(
    ("old", "new", "replaced"),
    [
        ('karpenter.sh/discovery: "${c}"', '"karpenter.sh/discovery/${c}": "${c}"', "all"),
        ('team: a\n    "x-${c}": b', '"x-${c}": b', "all"),
        ("x-1: b\n    team: a", '"x-${c}": b\n    team: a', "unknown"),
        ('"x-${c}": b', '"x-${d}": b', "unknown"),
        ('"${c}": b', "team: a", "unknown"),
    ],
)
def test_a_tag_with_a_placeholder_in_its_key(
    nodelint: Run, tmp_path: Path, old: str, new: str, replaced: str
) -> None:
    files = [{"p.yaml": POOL, "c.yaml": class_of(tags=tags)} for tags in (old, new)]
    (pool,) = plan(nodelint, tmp_path, *files)["nodePools"]
    assert pool["replaced"] == replaced


HELPERS = '{{- define "a" }}{{ include "b" . }}{{ end }}\n{{- define "b" }}b{{ end }}\n{{- define "c" }}c{{ end }}\n'


@pytest.mark.parametrize(
    ("tags", "template", "is_input"),
    [
        ("team: '{{ .Values.unset }}'", "b", False),
        ("team: '{{ .Values.unset }}{{ include \"a\" . }}'", "b", True),
        ('team: "{{ .Values.unset }}{{ include \\"a\\" . }}"', "c", False),
        ("", "c", True),
        ("team: '{{ .Values.unset }}{{ include .Values.which . }}'", "c", True),
    ],
)
def test_tpl_depends_on_the_templates_that_its_text_includes(
    nodelint: Run, tmp_path: Path, tags: str, template: str, is_input: bool
) -> None:
    code = "{{- tpl (toYaml .Values.tags) $ | nindent 4 }}"
    files = {
        "Chart.yaml": CHART,
        "values.yaml": f"tags: {{{tags}}}\n",
        "templates/_helpers.tpl": HELPERS,
        "templates/n.yaml": f"{CLASS}  tags:\n    {code}\n---\n{POOL}",
    }
    changed = {**files, "templates/_helpers.tpl": HELPERS.replace("}}" + template + "{{", "}}x{{")}
    (pool,) = plan(nodelint, tmp_path, files, changed)["nodePools"]
    assert pool["replaced"] == ("unknown" if is_input else "none")


def test_a_class_that_replaces_all_nodes_is_not_open_as_well(nodelint: Run, tmp_path: Path) -> None:
    body = "".join(
        f"    {line}\n"
        for line in class_of(tags="team: ${var.team}")
        .replace("role: nodes", "role: ${aws_iam_role.r.name}")
        .splitlines()
    )
    files = {
        "c.tf": f'resource "kubectl_manifest" "c" {{\n  yaml_body = <<-Y\n{body}  Y\n}}\n'
        'resource "aws_iam_role" "r" {\n  name_prefix = "n-${var.region}"\n}\nvariable "region" {}\n'
        'variable "team" {\n  default = "a"\n}\n',
        "p.yaml": POOL,
    }
    text = files["c.tf"].replace('"a"', '"b"').replace("n-$", "m-$")
    found = plan(nodelint, tmp_path, files, {**files, "c.tf": text})
    assert [pool["replaced"] for pool in found["nodePools"]] == ["all"] and found["notCompared"] == []


def test_values_of_another_chart_change_with_their_own_file_only(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "karpenter/Chart.yaml": CHART,
        "karpenter/values.yaml": "role: a\nclusterName: b\nlogLevel: c\n",
        "karpenter/templates/n.yaml": f"{CLASS.replace('nodes', '{{ .Values.role }}')}---\n{POOL}",
        "albc/albc.yaml": "clusterName: x\nlogLevel: y\nvpcId: z\n",
        "other.yaml": "a: 1\n",
    }
    assert changed_places(nodelint, tmp_path, files, {**files, "other.yaml": "a: 2\n"}) == []
    text = files["albc/albc.yaml"].replace("z", "w")
    assert changed_places(nodelint, tmp_path / "own", files, {**files, "albc/albc.yaml": text}) != []


SCRIPT = "#!/bin/bash\nsource ./env.sh\ncat <<EOF | kubectl apply -f -\n{}EOF\n"
MAKEFILE = 'ROLE ?= a\nOTHER = a\napply:\n\tsed "s/__ROLE__/$(ROLE)/" n.yaml | kubectl apply -f -\n'


@pytest.mark.parametrize(
    ("place", "text", "name"),
    [
        ("deploy.sh", SCRIPT.format(f"{CLASS.replace('role: nodes', 'role: $ROLE')}---\n{POOL}"), "env.sh"),
        ("n.yaml", f"{CLASS.replace('role: nodes', 'role: __ROLE__')}---\n{POOL}", "Makefile"),
    ],
)
def test_what_a_script_fills_in_is_an_input(nodelint: Run, tmp_path: Path, place: str, text: str, name: str) -> None:
    given = MAKEFILE if name == "Makefile" else "export ROLE=a\nOTHER=a\n"
    files = {place: text, name: given}
    changes = [given.replace("ROLE ?= a", "ROLE ?= b").replace("ROLE=a", "ROLE=b")]
    changes += [given.replace("s/__ROLE__/", "s/__ROLE__/x-")] if name == "Makefile" else []
    for number, changed in enumerate(changes):
        assert changed_places(nodelint, tmp_path / f"{number}", files, {**files, name: changed}) != []
    twin = given.replace("OTHER = a", "OTHER = b").replace("OTHER=a", "OTHER=b")
    assert changed_places(nodelint, tmp_path / "twin", files, {**files, name: twin}) == []


def test_a_file_that_neither_side_can_read_is_named_once(nodelint: Run, tmp_path: Path) -> None:
    files = {"c.yaml": CLASS, "p.yaml": POOL, "x.tf": 'locals {\n  karpenter = "a" $\n}\n'}
    write_files(tmp_path, files)
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "a")):
        git(tmp_path, *arguments)
    done = nodelint("plan", "--against", "HEAD", cwd=tmp_path)
    assert done.stderr.count("x.tf:2") == 1 and done.returncode == 2


def test_values_for_objects_of_another_kind_count_with_their_templates(nodelint: Run, tmp_path: Path) -> None:
    values = "global:\n  nodePools:\n    a: {type: karpenter, consolidateAfter: 5m, architecture: arm64}\n"
    template = (
        "{{- range $n, $p := .Values.nodePools }}\napiVersion: x.example.com/v1\nkind: MachinePool\n"
        "metadata: {name: {{ $n }}}\nspec: {taint: karpenter-a}\n{{- end }}\n"
    )
    files = {
        "c/Chart.yaml": CHART,
        "c/values.yaml": "x: 1\n",
        "c/templates/_m.tpl": template,
        "c/templates/m.yaml": template,
        "c/ci/a-values.yaml": values,
        "d/Chart.yaml": CHART,
        "d/templates/m.yaml": "a: karpenter\n",
        "b.yaml": POOL,
        "n.yaml": CLASS,
    }
    for number, name in enumerate(("c/templates/_m.tpl", "c/templates/m.yaml", "c/values.yaml")):
        new = {**files, name: files[name].replace("karpenter-a", "karpenter-b").replace("x: 1", "x: 2")}
        assert changed_places(nodelint, tmp_path / f"{number}", files, new) == ["new/c/ci/a-values.yaml"], name
    other = {**files, "d/templates/m.yaml": "b: karpenter\n"}
    assert changed_places(nodelint, tmp_path / "other", files, other) == []


@pytest.mark.parametrize(("old", "new", "replaced"), [('"a"', '"b"', "all"), ("x = 1", "x = 2", "none")])
def test_the_first_list_that_is_not_empty_may_hold_unknown_values(
    nodelint: Run, tmp_path: Path, old: str, new: str, replaced: str
) -> None:
    text = (
        'variable "classes" {\n  type    = list(any)\n  default = []\n}\nlocals {\n  x = 1\n  classes = '
        'coalescelist(var.classes, [{ name = "web", team = "a", role = aws_iam_role.r.name }])\n}\n'
        'resource "kubectl_manifest" "c" {\n  for_each = { for c in local.classes : c.name => c }\n'
        '  yaml_body = yamlencode({ apiVersion = "karpenter.k8s.aws/v1", kind = "EC2NodeClass", '
        "metadata = { name = each.value.name }, spec = { role = each.value.role, tags = { team = each.value.team }, "
        'amiSelectorTerms = [{ alias = "al2023@v20260618" }], subnetSelectorTerms = [{ id = "subnet-1" }], '
        'securityGroupSelectorTerms = [{ id = "sg-1" }] } })\n}\n'
    )
    files = {"m.tf": text, "p.yaml": POOL}
    (pool,) = plan(nodelint, tmp_path, files, {**files, "m.tf": text.replace(old, new)})["nodePools"]
    assert pool["replaced"] == replaced


def test_json_of_terraform_is_no_values_file(nodelint: Run, tmp_path: Path) -> None:
    spec = (
        '{"amiSelectorTerms": [{"alias": "al2023@v20260618"}], "role": "r", '
        '"subnetSelectorTerms": [{"id": "subnet-0123456789abcdef0"}], '
        '"securityGroupSelectorTerms": [{"id": "sg-0123456789abcdef0"}]}'
    )
    text = (
        '{"resource": {"kubernetes_manifest": {"karpenter": {"manifest": {"apiVersion": "karpenter.k8s.aws/v1", '
        '"kind": "EC2NodeClass", "metadata": {"name": "web"}, "spec": ' + spec + "}}}}}"
    )
    files = {"main.tf.json": text, "p.yaml": POOL}
    new = {**files, "main.tf.json": text.replace("v20260618", "v20260714")}
    found = plan(nodelint, tmp_path, files, new)
    assert (found["nodePools"][0]["replaced"], found["notCompared"]) == ("all", [])


COUNTED = """\
variable "on" { type = bool }
resource "kubectl_manifest" "p" {
  count     = var.on ? 1 : 0
  yaml_body = file("${path.module}/p.yaml")
}
"""


@pytest.mark.parametrize(
    ("name", "text", "replaced"),
    [
        ("dev.tfvars", "on = false\n", ["all", "none"]),
        ("dev.tfvars", "on = true # here\n", ["none"]),
        ("new.tfvars", "on = false\n", ["none"]),
        ("new.tfvars", "on = true\n", ["none"]),
    ],
)
def test_an_environment_that_no_longer_creates_a_pool(
    nodelint: Run, tmp_path: Path, name: str, text: str, replaced: list[str]
) -> None:
    files = {
        "m.tf": COUNTED,
        "p.yaml": POOL,
        "c.yaml": CLASS,
        "dev.tfvars": "on = true\n",
        "prod.tfvars": "on = true\n",
    }
    found = plan(nodelint, tmp_path, files, {**files, name: text})
    assert sorted(str(pool["replaced"]) for pool in found["nodePools"]) == replaced
    assert not any(place["changed"] for place in found["notCompared"])


@pytest.mark.parametrize(("on", "replaced"), [("false", ["all", "none"]), ("true", ["none"])])
def test_a_unit_of_terragrunt_that_no_longer_creates_a_pool(
    nodelint: Run, tmp_path: Path, on: str, replaced: list[str]
) -> None:
    body = "".join(f"    {line}\n" for line in POOL.splitlines())
    module = (
        'variable "on" { type = bool }\nresource "kubectl_manifest" "p" {\n  count = var.on ? 1 : 0\n'
        f"  yaml_body = <<-Y\n{body}  Y\n}}\n"
    )
    unit = 'terraform {\n  source = "../../modules/k"\n}\ninputs = { on = true }\n'
    files = {
        "modules/k/m.tf": module,
        "c.yaml": CLASS,
        "live/dev/terragrunt.hcl": unit,
        "live/prod/terragrunt.hcl": unit,
        ".git/HEAD": "ref: refs/heads/main\n",
    }
    new = {**files, "live/dev/terragrunt.hcl": unit.replace("on = true", f"on   = {on}")}
    found = plan(nodelint, tmp_path, files, new)
    assert sorted(str(pool["replaced"]) for pool in found["nodePools"]) == replaced


KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: nodes, namespace: flux-system}
spec: {interval: 10m, path: ./nodes, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""


def test_one_of_two_clusters_no_longer_applies_a_folder(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "nodes/p.yaml": POOL,
        "nodes/c.yaml": CLASS,
        "clusters/dev/n.yaml": KUSTOMIZATION,
        "clusters/prod/n.yaml": KUSTOMIZATION,
    }
    fewer = {name: text for name, text in files.items() if "dev" not in name}
    moved = {name.replace("dev", "stage"): text for name, text in files.items()}
    (place,) = plan(nodelint, tmp_path / "a", files, fewer)["notCompared"]
    assert (place["changed"], "one that applies `nodes` is gone" in str(place["reason"])) == (True, True)
    assert str(place["path"]).endswith("clusters/dev/n.yaml")
    assert changed_places(nodelint, tmp_path / "b", files, moved) == []
    assert changed_places(nodelint, tmp_path / "c", fewer, files) == []


@pytest.mark.parametrize(("path", "code"), [("a/p.yaml", 1), ("a", 1), ("b/p.yaml", 2)])
def test_a_named_path_that_the_change_deletes(nodelint: Run, tmp_path: Path, path: str, code: int) -> None:
    write_files(tmp_path, {"a/p.yaml": POOL, "c.yaml": CLASS})
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "a")):
        git(tmp_path, *arguments)
    (tmp_path / "a" / "p.yaml").unlink()
    (tmp_path / "a").rmdir()
    done = nodelint("plan", "--against", "HEAD", path, cwd=tmp_path)
    assert (done.returncode, "no such file" in done.stderr) == (code, code == 2), done.stderr


@pytest.mark.parametrize(("group", "replaced"), [("karpenter.k8s.aws/v1", "none"), ("karpenter.k8s.aws", "all")])
def test_an_object_that_was_never_stored_is_not_updated(
    nodelint: Run, tmp_path: Path, group: str, replaced: str
) -> None:
    old = POOL.replace("group: karpenter.k8s.aws", f"group: {group}").replace(
        "nodeClassRef", "expireAfter: 1h\n      nodeClassRef"
    )
    files = {"c.yaml": CLASS, "p.yaml": old}
    (pool,) = plan(nodelint, tmp_path, files, {"c.yaml": CLASS, "p.yaml": POOL})["nodePools"]
    assert (pool["replaced"], pool["refused"]) == (replaced, [])


def pack(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(text.encode())
            archive.addfile(about, io.BytesIO(text.encode()))
    return made.getvalue()


@pytest.mark.parametrize(
    ("old", "new", "is_change"),
    [
        (POOL, POOL.replace("on-demand", "spot"), True),
        (POOL, POOL, False),
        ("a: karpenter\n", "b: karpenter\n", False),
        ("a: karpenter\n", POOL, True),
        (POOL, None, True),
    ],
)
def test_a_vendored_chart_in_an_archive(
    nodelint: Run, tmp_path: Path, old: str, new: str | None, is_change: bool
) -> None:
    place = tmp_path / "c" / "charts" / "nodes-1.0.0.tgz"
    write_files(tmp_path, {"c/Chart.yaml": CHART, "c/charts/.keep": "", "c.yaml": CLASS, "p.yaml": POOL})
    place.write_bytes(pack({"nodes/templates/p.yaml": old}))
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "a")):
        git(tmp_path, *arguments)
    shutil.copytree(tmp_path / "c", tmp_path / "old" / "c")
    if new is None:
        place.unlink()
    else:
        place.write_bytes(pack({"nodes/templates/p.yaml": new}))
    for flags in (("--against", "HEAD", "c", "c.yaml", "p.yaml"), ("--old", "old/c", "c")):
        done = nodelint("plan", *flags, cwd=tmp_path)
        assert ("the archive of a chart" in " ".join(done.stdout.split())) is is_change, (flags, done.stdout)
        assert (done.returncode == 1) is is_change, done.stdout


def test_an_archive_that_is_none(nodelint: Run, tmp_path: Path) -> None:
    for side, data in (("old", b"\x1f\x8b\x08"), ("new", b"x")):
        write_files(tmp_path / side, {"Chart.yaml": CHART, "charts/.keep": "", "c.yaml": CLASS, "p.yaml": POOL})
        (tmp_path / side / "charts" / "a-1.0.0.tgz").write_bytes(data)
    assert nodelint("plan", "--old", "old", "new", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("name", "old", "new", "places"),
    [
        ("pools.yaml", "a: 1", "a: 2", 1),
        ("m.tf", "taints = 1", "taints = 2", 1),
        ("m.tf", "x = 1", "x = 2", 0),
        ("other.yaml", "a: 1", "a: 2", 0),
    ],
)
def test_a_file_that_a_module_elsewhere_is_given(
    nodelint: Run, tmp_path: Path, name: str, old: str, new: str, places: int
) -> None:
    module = (
        'module "karpenter_nodes" {\n  source = "app.terraform.io/acme/karpenter-nodes/aws"\n  version = "1.0.0"\n'
        '  nodepools = { a = { taints = 1, more = yamldecode(file("${path.module}/pools.yaml")) } }\n}\n'
    )
    files = {"m.tf": module, "v.tf": "locals {\n  x = 1\n}\n", "pools.yaml": "a: 1\n", "other.yaml": "a: 1\n"}
    files["c.yaml"], files["p.yaml"] = CLASS, POOL
    name = "v.tf" if old == "x = 1" else name
    changed = changed_places(nodelint, tmp_path, files, {**files, name: files[name].replace(old, new)})
    assert len(changed) == places, changed
