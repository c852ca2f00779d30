"""tools/follow.py against small repositories of its own: what a new release brings is written, and the rest named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.repositories import write_files

Files = dict[str, str]
Follow = Callable[..., subprocess.CompletedProcess[str]]

APIS = 'var (\n\tGroup = "{}"\n)\n'
CORE_LABELS = """
const (
	CapacityTypeSpot     = "spot"
	CapacityTypeOnDemand = "on-demand"
	CapacityTypeLabelKey = apis.Group + "/capacity-type"
)
var (
	WellKnownLabels = sets.New(
		v1.LabelTopologyZone, // where it runs
		CapacityTypeLabelKey,
	)
	WellKnownValuesForRequirements = map[string]sets.Set[string]{
		CapacityTypeLabelKey: sets.New(
			CapacityTypeOnDemand,
			CapacityTypeSpot,
		),
	}
	NormalizedLabels = map[string]string{
		"beta.kubernetes.io/arch": v1.LabelArchStable,
	}
)
"""
LABELS = """
	karpv1.WellKnownLabels = karpv1.WellKnownLabels.Insert(
		LabelInstanceFamily,
%s	)
var (
	LabelInstanceFamily = apis.Group + "/instance-family"
	LabelSandbox        = apis.Group + "/sandbox"
)
"""
OPTIONS = """
	fs.StringVar(&o.FeatureGates.inputStr, "feature-gates", env.WithDefaultString("FEATURE_GATES", "{}"), "On, off")
	fs.DurationVar(&o.Idle, "batch-idle-duration", env.WithDefaultDuration("BATCH_IDLE_DURATION", {}time.Second), "x")
"""
NODECLASS = """
type EC2NodeClassSpec struct {{
	// Role is the role
	Role string `json:"role,omitempty"`
	Count *int32 `json:"count,omitempty"{}`
}}
const EC2NodeClassHashVersion = "{}"
"""
NODEPOOL = 'type NodeClaimTemplate struct {\n\tSpec Spec `json:"spec"`\n}\nconst NodePoolHashVersion = "v3"\n'
DOMAIN = 'self in [{}] || !self.find("^([^/]+)").endsWith("karpenter.k8s.aws")'
TEMPLATE = """
            - name: FEATURE_GATES
              value: "A={{ .Values.settings.featureGates.a }},B={{ .Values.settings.featureGates.b }}"
          {{- with .Values.settings.zonalShift }}
            - name: ZONAL_SHIFT
              value: "{{ . }}"
          {{- end }}
"""
MATRIX = """compatibility:
  - appVersion: 1.1.x
    minK8sVersion: 1.30
    maxK8sVersion: 1.34
"""
PAGE = """### `m5.large`
#### Labels
 | Label | Value |
 |--|--|
 |karpenter.k8s.aws/instance-cpu|2|
#### Resources
 | Resource | Quantity |
 |--|--|
 |cpu|1930m|
"""
LIMITS = """
	"m5.large": {
		Interface: 3,
		IPv4PerInterface: 10,
		IsTrunkingCompatible: true,
		BranchInterface: 9,
		DefaultNetworkCardIndex: 0,
		NetworkCards: []vpcLimits{
			{
				MaximumNetworkInterfaces: 3,
				NetworkCardIndex: 0,
			},
		},
	},
"""
PRICES = '// generated at 2026-01-02\n\t"{}": {{\n\t\t"m5.large": 0.096,\n\t}},\n'


def crd(kind: str, spec: dict[str, Any]) -> str:
    """A CRD as YAML, which JSON is."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    versions = [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}]
    return json.dumps({"spec": {"names": {"kind": kind}, "versions": versions}})


def pool(policies: list[str], labels: list[str], *, required: bool = True) -> str:
    disruption: dict[str, Any] = {
        "type": "object",
        "properties": {
            "policy": {"type": "string", "enum": policies},
            "after": {"type": "string", **({} if required else {"default": "0s"})},
        },
    }
    if required:
        disruption["required"] = ["after"]
    rule = DOMAIN.format(", ".join(f'"karpenter.k8s.aws/{label}"' for label in labels))
    return crd(
        "NodePool",
        {"disruption": disruption, "key": {"type": "string", "x-kubernetes-validations": [{"rule": rule}]}},
    )


def node_class(*, new: bool = False, opened: bool = False) -> str:
    kubelet: dict[str, Any] = {"type": "object", "properties": {"maxPods": {"type": "integer"}}}
    if opened:
        kubelet = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec: dict[str, Any] = {"role": {"type": "string", "maxLength": 64 if new else 32}, "kubelet": kubelet}
    if new:
        terms = {"id": {"type": "string", "description": "Their words.", "pattern": "^cr-"}}
        item = {"type": "object", "properties": terms, "x-kubernetes-validations": [{"rule": "has(self.id)"}]}
        spec["terms"] = {"type": "array", "maxItems": 30, "items": item}
    return crd("EC2NodeClass", spec)


def provider(core: str, **changed: str) -> Files:
    """The AWS provider's files at a release of one's own making."""
    files = {
        "go.mod": f"require (\n\tsigs.k8s.io/karpenter {core}\n)\n",
        "pkg/apis/apis.go": APIS.format("karpenter.k8s.aws"),
        "pkg/apis/v1/labels.go": LABELS % "",
        "pkg/apis/v1/ec2nodeclass.go": NODECLASS.format("", "v3"),
        "pkg/operator/options/options.go": "",
        "pkg/providers/version/version.go": 'MinK8sVersion = "1.29"\nMaxK8sVersion = "1.33"\n',
        "pkg/providers/amifamily/al2023.go": 'return fmt.Errorf("an old message")\n',
        "pkg/apis/crds/nodepools.yaml": pool(["WhenEmpty"], ["instance-family"]),
        "pkg/apis/crds/ec2nodeclasses.yaml": node_class(),
        "pkg/providers/instancetype/zz_generated.bandwidth.go": '\t"m5.large": 750,\n',
        "pkg/providers/instancetype/zz_generated.vpclimits.go": LIMITS,
        "pkg/providers/pricing/zz_generated.pricing_aws.go": PRICES.format("us-east-1"),
        "pkg/providers/pricing/zz_generated.pricing_aws_us_gov.go": PRICES.format("us-gov-east-1"),
    }
    return {**files, **{path: changed[name] for name, path in NAMES.items() if name in changed}}


NAMES = {
    "labels": "pkg/apis/v1/labels.go",
    "options": "pkg/operator/options/options.go",
    "version": "pkg/providers/version/version.go",
    "image": "pkg/providers/amifamily/al2023.go",
    "pools": "pkg/apis/crds/nodepools.yaml",
    "classes": "pkg/apis/crds/ec2nodeclasses.yaml",
    "page": "website/content/en/v1.1/reference/instance-types.md",
    "nodeclass": "pkg/apis/v1/ec2nodeclass.go",
    "template": "charts/karpenter/templates/deployment.yaml",
    "matrix": "hack/docs/compatibilitymatrix_gen/compatibility.yaml",
}
CORE: Files = {
    "pkg/apis/apis.go": APIS.format("karpenter.sh"),
    "pkg/apis/v1/labels.go": CORE_LABELS,
    "pkg/apis/v1/nodepool.go": NODEPOOL,
    "pkg/apis/v1/nodeclaim.go": "",
    "pkg/apis/crds/nodepools.yaml": pool(["WhenEmpty"], []),
    "pkg/operator/options/options.go": OPTIONS.format("A=false", ""),
}
ENVIRONMENT = {
    **os.environ,
    **{f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    **{f"GIT_{who}_DATE": "2026-01-02T03:04:05+00:00" for who in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True, env=ENVIRONMENT
    ).stdout.strip()


def commit(folder: Path, files: Files, message: str, tag: str | None = None) -> str:
    if not folder.exists():
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
    write_files(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    if tag:
        git(folder, "tag", tag)
    return git(folder, "rev-parse", "HEAD")


VERSIONS = """{
 "origin": "releases 1.0.0 to 1.0.1",
 "date": "2025-01-01",
 "releases": [
  "1.0.0", "1.0.1"
 ],
 "behaviour": {
 }
}
"""
TRIAGE = '{\n "commits": {\n  "0000000": "0.37.0"\n },\n "causes": []\n}\n'
SETTINGS = """{
 "origin": "tags v1.0.0 to v1.0.1",
 "date": "2025-01-01",
 "settings": [
  {"variable": "FEATURE_GATES", "flag": "feature-gates", "releases": ""},
  {"variable": "BATCH_IDLE_DURATION", "flag": "batch-idle-duration", "releases": ""}
 ],
 "gates": [
  {"gate": "A", "releases": "", "what": "a"}
 ]
}
"""
SUPPORT = """{
 "date": "2025-01-01",
 "releases": [
  {"minor": "1.0", "date": "2025-01-01", "lts": false, "until": "", "kubernetes": []}
 ]
}
"""
PROJECT_LABELS = """{
 "source": "labels.go, release tags v1.0.0 to v1.0.1",
 "well_known": {
 },
 "normalized": {
 },
 "known_values": {
  "karpenter.sh/capacity-type": {"since": "1.0.0", "values": ["spot", "on-demand"]}
 }
}
"""
RULE = "!self.matches('x') || self in ['karpenter.k8s.aws/instance-family']"
POOL_SCHEMA = {
    "$comment": "releases 1.0.0 to 1.0.1.",
    "properties": {
        "spec": {
            "properties": {
                "disruption": {
                    "type": "object",
                    "properties": {
                        "policy": {"type": "string", "enum": ["WhenEmpty"]},
                        "after": {"type": "string"},
                    },
                    "required": ["after"],
                },
                "key": {"$ref": "#/$defs/labelKey"},
            }
        }
    },
    "$defs": {"labelKey": {"type": "string", "x-kubernetes-validations": [{"rule": RULE}]}},
}
CLASS_SCHEMA = {
    "$comment": "releases 1.0.0 to 1.0.1.",
    "properties": {
        "spec": {
            "properties": {
                "role": {"type": "string", "maxLength": 32},
                "kubelet": {"$ref": "#/$defs/kubelet"},
            }
        }
    },
    "$defs": {"kubelet": {"type": "object", "properties": {"maxPods": {"type": "integer"}}}},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout of nodelint that knows 1.0.0 and 1.0.1."""
    data, schemas = tmp_path / "project" / "nodelint" / "data", tmp_path / "project" / "schemas"
    data.mkdir(parents=True)
    schemas.mkdir()
    meanings = {"meanings": {"karpenter.k8s.aws/instance-family": "…", "karpenter.sh/capacity-type": "…"}}
    texts = {
        "settings": SETTINGS,
        "support": SUPPORT,
        "versions": VERSIONS,
        "triage": TRIAGE,
        "labels": PROJECT_LABELS,
        "label_words": json.dumps(meanings),
    }
    for name, text in texts.items():
        (data / f"{name}.json").write_text(text, encoding="utf-8")
    for name, schema in (("nodepool", POOL_SCHEMA), ("ec2nodeclass", CLASS_SCHEMA)):
        (schemas / f"{name}-v1.schema.json").write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")
    return tmp_path / "project"


@pytest.fixture
def follow(tmp_path: Path, project: Path) -> Follow:
    """Both repositories with releases 1.0.0 to 1.1.0 and a branch ahead of them; runs the tool from 1.0.1 on."""
    of_core, of_provider = tmp_path / "core", tmp_path / "provider"
    commit(of_core, CORE, "start", "v1.0.0")
    pseudo = commit(
        of_core, {"pkg/operator/options/options.go": OPTIONS.format("A=true,B=false", "10*")}, "feat: gates"
    )
    commit(of_core, {}, "newest", "v1.1.0")
    commit(of_core, {"pkg/apis/crds/nodepools.yaml": pool(["WhenEmpty"], [], required=False)}, "chore: a default")
    commit(of_provider, provider("v1.0.0"), "start", "v1.0.0")
    commit(of_provider, {}, "docs: nothing", "v1.0.1")
    brought = provider(
        f"v1.0.1-0.20260102030405-{pseudo[:12]}",
        labels=LABELS % "\t\tLabelSandbox,\n",
        version='MinK8sVersion = "1.30"\nMaxK8sVersion = "1.34"\n',
        image='return fmt.Errorf("the image is of no use here")\n',
        pools=pool(["WhenEmpty", "Balanced"], ["instance-family", "sandbox"]),
        classes=node_class(new=True),
        nodeclass=NODECLASS.format(' hash:"ignore"', "v4"),
        options='fs.BoolVarWithEnv(&o.Shift, "zonal-shift", "ZONAL_SHIFT", false, "x")\n',
        template=TEMPLATE,
        matrix=MATRIX,
    )
    commit(of_provider, {}, "cherry-pick(v1.1.x): fix: images that are not ready (#8)")
    commit(of_provider, {}, "(Backport v1.1.x)fix: collisions (#9)")
    commit(of_provider, {}, "cherrypick: test: less of it (#10)")
    commit(of_provider, {}, "chore(deps)!: newer Kubernetes (#11)")
    commit(of_provider, {}, "Revert the other thing (#12)")
    commit(of_provider, brought, "feat!: balance (#7)\n\nBREAKING CHANGE: roles may be longer", "v1.1.0")
    commit(of_provider, {NAMES["page"]: PAGE, NAMES["classes"]: node_class(new=True, opened=True)}, "docs: a page")

    def run(to: str, old: str = "v1.0.1") -> subprocess.CompletedProcess[str]:
        folders = ("--provider", str(of_provider), "--core", str(of_core), "--project", str(project))
        command = [sys.executable, str(ROOT / "tools" / "follow.py"), *folders, "--from", old, "--to", to]
        return subprocess.run(command, capture_output=True, encoding="utf-8")

    return run


def data(project: Path, name: str) -> Any:
    return json.loads((project / "nodelint" / "data" / f"{name}.json").read_text(encoding="utf-8"))


def schema(project: Path, name: str) -> Any:
    return json.loads((project / "schemas" / f"{name}-v1.schema.json").read_text(encoding="utf-8"))


def test_facts_of_a_release_are_written(follow: Follow, project: Path) -> None:
    done = follow("v1.1.0")
    assert done.returncode == 0, done.stderr
    versions = data(project, "versions")
    assert versions["releases"] == ["1.0.0", "1.0.1", "1.1.0"]
    assert (versions["origin"], versions["date"]) == ("releases 1.0.0 to 1.1.0", "2026-01-02")
    assert sorted(data(project, "triage")["commits"].values()) == ["0.37.0", "1.0.1", "1.1.0"]
    labels = data(project, "labels")
    assert labels["well_known"] == {
        "karpenter.k8s.aws/instance-family": {"since": "1.0.0"},
        "karpenter.k8s.aws/sandbox": {"since": "1.1.0"},
        "karpenter.sh/capacity-type": {"since": "1.0.0"},
        "topology.kubernetes.io/zone": {"since": "1.0.0"},
    }
    assert labels["normalized"] == {"beta.kubernetes.io/arch": "kubernetes.io/arch"}
    assert labels["known_values"]["karpenter.sh/capacity-type"] == {"since": "1.0.0", "values": ["spot", "on-demand"]}


def test_settings_gates_and_support_are_written(follow: Follow, project: Path) -> None:
    follow("v1.1.0")
    settings = data(project, "settings")
    assert settings["origin"] == "tags v1.0.0 to v1.1.0"
    assert settings["settings"][2:] == [
        {
            "variable": "ZONAL_SHIFT",
            "flag": "zonal-shift",
            "releases": ">=1.1.0",
            "value": "settings.zonalShift",
            "chart": ">=1.1.0",
            "source": "provider pkg/operator/options/options.go@v1.1.0",
        }
    ]
    first, second = settings["gates"]
    assert first == {"gate": "A", "releases": "", "what": "a", "on": ">=1.1.0"}
    assert (second["gate"], second["releases"], second["value"]) == ("B", ">=1.1.0", "settings.featureGates.b")
    old, new = data(project, "support")["releases"]
    assert old["until"] == new["date"] == "2026-01-02"
    assert new["kubernetes"] == [{"from": "1.1.0", "min": "1.30", "max": "1.34"}]


def test_changes_of_the_crds_are_dated_in_the_schemas(follow: Follow, project: Path) -> None:
    follow("v1.1.0")
    pools, classes = schema(project, "nodepool"), schema(project, "ec2nodeclass")
    spec = classes["properties"]["spec"]["properties"]
    assert pools["$comment"] == "releases 1.0.0 to 1.1.0."
    assert pools["properties"]["spec"]["properties"]["disruption"]["properties"]["policy"] == {
        "type": "string",
        "enum": ["WhenEmpty", "Balanced"],
        "x-karpenter-values": {"Balanced": {"since": "1.1.0"}},
    }
    key = pools["$defs"]["labelKey"]
    assert (
        "['karpenter.k8s.aws/instance-family', 'karpenter.k8s.aws/sandbox']"
        in key["x-kubernetes-validations"][0]["rule"]
    )
    assert key["x-karpenter-values"] == {"karpenter.k8s.aws/sandbox": {"since": "1.1.0"}}
    assert spec["role"] == {"type": "string", "maxLength": 64, "x-karpenter-before": {"1.1.0": {"maxLength": 32}}}
    terms = spec["terms"]
    assert terms == {
        "type": "array",
        "maxItems": 30,
        "items": {
            "type": "object",
            "properties": {"id": {"type": "string", "pattern": "^cr-"}},
            "additionalProperties": False,
        },
        "x-karpenter-since": "1.1.0",
    }


def test_instance_types_come_from_the_page_and_the_tables(follow: Follow, project: Path) -> None:
    from nodelint.ec2.snapshot import parse_snapshot

    assert "catalog.json: 1 instance type; 1 new: m5.large" in follow("v1.1.0").stdout
    read = parse_snapshot((project / "nodelint" / "data" / "catalog.json").read_bytes())
    assert [tuple(row) for row in read.rows] == [
        ("m5.large", ["2"], ["1930m"], [3, 10, True, 9, [3]], [0.096, 0.096])
    ]


def test_what_a_person_must_do_and_read_is_printed(follow: Follow) -> None:
    output = follow("v1.1.0").stdout
    assert "label_words.json: say what karpenter.k8s.aws/sandbox means" in output
    assert "EC2NodeClass spec.terms: new; by hand: a description" in output
    assert "the rule of spec.terms[]: has(self.id)" in output
    assert "hashes.json: fields: EC2NodeClass spec.count: hashed -> ignored" in output
    assert "settings.json: say what the gate B turns on" in output
    assert "support.json: say until when 1.1 is supported" in output
    assert "hashes.json: versions: EC2NodeClass: v3 -> v4" in output
    assert "feat!: balance (#7)" in output
    assert "feat: gates" in output
    for number in (8, 9, 11, 12):
        assert f"(#{number})" in output
    assert "(#10)" not in output and "docs: nothing" not in output and "chore: a default" not in output
    assert "images     pkg/providers/amifamily/al2023.go  +1 -1" in output
    assert "the image is of no use here" in output
    assert "an old message" not in output


def test_a_second_run_changes_nothing(follow: Follow, project: Path) -> None:
    follow("v1.1.0")
    before = {path: path.read_bytes() for path in project.rglob("*.json")}
    again = follow("v1.1.0")
    assert "## written: 0" in again.stdout
    assert before == {path: path.read_bytes() for path in project.rglob("*.json")}


def test_a_branch_is_the_next_minor_and_not_released(follow: Follow, project: Path) -> None:
    follow("v1.1.0")
    done = follow("main", "v1.1.0")
    versions = data(project, "versions")
    assert versions["releases"][-1] == "1.1.0"
    assert versions["next"]["release"] == "1.2.0"
    assert versions["next"]["date"] == "2026-01-02"
    assert "ec2nodeclass-v1.schema.json: EC2NodeClass/v1 spec.kubelet: fields became a map" in done.stdout
    disruption = schema(project, "nodepool")["properties"]["spec"]["properties"]["disruption"]
    assert disruption["required"] == ["after"]  # as in the newest release
    assert disruption["x-karpenter-after"] == {"1.2.0": {"required": None}}
    assert disruption["properties"]["after"]["x-karpenter-after"] == {"1.2.0": {"default": "0s"}}


def test_a_patch_keeps_what_is_known_of_the_next_minor(tmp_path: Path, follow: Follow, project: Path) -> None:
    follow("v1.1.0")
    commit(tmp_path / "provider", {NAMES["labels"]: LABELS % "\t\tLabelSandbox,\n\t\tLabelLater,\n"}, "feat: a label")
    text = (tmp_path / "provider" / NAMES["labels"]).read_text(encoding="utf-8")
    commit(
        tmp_path / "provider", {NAMES["labels"]: text.replace(")\n", '\tLabelLater = "x/y"\n)\n')}, "fix: its name"
    )
    follow("main", "v1.1.0")
    git(tmp_path / "provider", "tag", "v1.1.1", "v1.1.0")
    assert follow("v1.1.1", "v1.1.0").returncode == 0
    assert data(project, "versions")["next"]["release"] == "1.2.0"
    assert data(project, "versions")["releases"][-1] == "1.1.1"
    assert data(project, "labels")["well_known"]["x/y"] == {"since": "1.2.0"}


def test_what_was_pending_becomes_the_releases(tmp_path: Path, follow: Follow, project: Path) -> None:
    follow("v1.1.0")
    follow("main", "v1.1.0")
    released = {NAMES["pools"]: pool(["WhenEmpty", "Balanced"], ["instance-family", "sandbox"], required=False)}
    commit(tmp_path / "provider", released, "chore: Release v1.2.0", "v1.2.0")
    done = follow("v1.2.0", "v1.1.0")
    assert done.returncode == 0, done.stderr
    assert "next" not in data(project, "versions")
    disruption = schema(project, "nodepool")["properties"]["spec"]["properties"]["disruption"]
    assert "required" not in disruption and "x-karpenter-after" not in disruption
    assert disruption["x-karpenter-before"] == {"1.2.0": {"required": ["after"]}}
    assert disruption["properties"]["after"] == {
        "type": "string",
        "default": "0s",
        "x-karpenter-before": {"1.2.0": {"default": None}},
    }


@pytest.mark.parametrize(
    ("old", "to", "message"),
    [("v9.9.9", "v1.1.0", "no release tag v9.9.9"), ("v1.0.1", "nowhere", "git rev-parse --verify nowhere")],
)
def test_a_revision_that_is_not_there_is_said(follow: Follow, project: Path, old: str, to: str, message: str) -> None:
    before = {path: path.read_bytes() for path in project.rglob("*.json")}
    done = follow(to, old)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr
    assert before == {path: path.read_bytes() for path in project.rglob("*.json")}
