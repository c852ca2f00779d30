"""Which releases a repository's files state, and for which of its objects."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from nodelint.source import Source
from nodelint.target import Stated, evidence_of

STATED = {
    "release.yaml": (
        """\
        apiVersion: helm.toolkit.fluxcd.io/v2
        kind: HelmRelease
        metadata: {name: karpenter}
        spec:
          chart:
            spec: {chart: karpenter, version: "1.4.0"}
        """,
        ["1.4.0 release.yaml:6 the HelmRelease"],
    ),
    "patch.yaml": (
        """\
        kind: HelmRelease
        metadata: {name: karpenter}
        spec:
          chart:
            spec: {version: v1.4.1}
        """,
        ["1.4.1 patch.yaml:5 the HelmRelease"],
    ),
    "oci.yaml": (
        """\
        kind: OCIRepository
        spec:
          url: oci://public.ecr.aws/karpenter/karpenter
          ref: {tag: 1.5.1}
        """,
        ["1.5.1 oci.yaml:4 the OCIRepository"],
    ),
    "app.yaml": (
        """\
        kind: Application
        spec:
          source:
            repoURL: public.ecr.aws/karpenter
            chart: karpenter
            targetRevision: 1.6.0
        """,
        ["1.6.0 app.yaml:6 the Application"],
    ),
    "sources.yaml": (
        """\
        kind: Application
        spec:
          sources:
            - repoURL: https://example.com/values.git
              targetRevision: 1.0.0
              ref: values
            - repoURL: oci://public.ecr.aws/karpenter/karpenter
              path: .
              targetRevision: 1.6.1
        """,
        ["1.6.1 sources.yaml:9 the Application"],
    ),
    "set.yaml": (
        """\
        kind: ApplicationSet
        spec:
          generators:
            - list:
                elements:
                  - {cluster: prod, release: 1.3.3}
                  - {cluster: dev, release: 1.7.0}
          template:
            spec:
              source: {chart: karpenter, targetRevision: "{{ .release }}"}
        """,
        ["1.3.3 set.yaml:6 the ApplicationSet", "1.7.0 set.yaml:7 the ApplicationSet"],
    ),
    "addons.yaml": (
        """\
        karpenter:
          enabled: true
          chartName: karpenter
          defaultVersion: "1.4.3"
        """,
        ["1.4.3 addons.yaml:4 a chart's version"],
    ),
    "Chart.yaml": (
        """\
        apiVersion: v2
        name: karpenter
        version: 0.1.0
        dependencies:
          - name: karpenter
            version: 1.3.3
        """,
        ["1.3.3 Chart.yaml:6 the chart's dependency"],
    ),
    "copy/Chart.yaml": (
        """\
        apiVersion: v2
        name: karpenter
        version: 1.4.0
        appVersion: 1.4.0
        sources: ["https://github.com/aws/karpenter-provider-aws/"]
        """,
        ["1.4.0 copy/Chart.yaml:3 Karpenter's own chart"],
    ),
    "helmfile.yaml": (
        """\
        releases:
          - name: karpenter
            chart: karpenter/karpenter
            version: 1.2.3
          - name: pools
            chart: ./charts/karpenter
            version: 1.0.0
        """,
        ["1.2.3 helmfile.yaml:4 the helmfile"],
    ),
    "kustomization.yaml": (
        """\
        helmCharts:
          - name: karpenter
            repo: oci://public.ecr.aws/karpenter
            version: 1.8.0
        """,
        ["1.8.0 kustomization.yaml:4 the kustomization"],
    ),
    "rendered.yaml": (
        """\
        kind: Deployment
        metadata:
          labels:
            helm.sh/chart: karpenter-1.0.7
        spec:
          image: public.ecr.aws/karpenter/controller:1.0.7@sha256:abc
        """,
        ["1.0.7 rendered.yaml:4 the rendered chart", "1.0.7 rendered.yaml:6 the controller's image"],
    ),
    "values.yaml": (
        """\
        controller:
          image:
            repository: public.ecr.aws/karpenter/controller
            tag: 1.5.2
        """,
        ["1.5.2 values.yaml:4 the controller's image"],
    ),
    "install.sh": (
        """\
        # helm install karpenter oci://public.ecr.aws/karpenter/karpenter --version 0.30.0
        helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter \\
          --namespace kube-system \\
          --version "1.7.0" --wait
        """,
        ["1.7.0 install.sh:4 a helm command"],
    ),
    "Makefile": (
        "export KARPENTER_VERSION ?= x\nKARPENTER_VERSION := 1.8.1\n",
        ["1.8.1 Makefile:2 a variable"],
    ),
    ".env": ("KARPENTER_VERSION=v1.8.2\n", ["1.8.2 .env:1 a variable"]),
    "default.sh": ('version="${KARPENTER_VERSION:-1.8.3}"\n', ["1.8.3 default.sh:1 a variable"]),
    ".github/workflows/ci.yml": (
        "env:\n  KARPENTER_VERSION: '1.9.0'\n",
        ["1.9.0 .github/workflows/ci.yml:2 a variable"],
    ),
    "eksctl.yaml": (
        "kind: ClusterConfig\nkarpenter:\n  version: '1.0.6'\n",
        ["1.0.6 eksctl.yaml:3 eksctl's ClusterConfig"],
    ),
    "main.tf": (
        """\
        resource "helm_release" "other" {
          chart   = "metrics-server"
          version = "3.12.0"
        }
        resource "helm_release" "karpenter" {
          repository = "oci://public.ecr.aws/karpenter"
          chart      = "karpenter"
          version    = "1.2.1" # pinned
          set {
            name = "replicas"
          }
        }
        """,
        ["1.2.1 main.tf:8 a helm_release"],
    ),
    "addons.tf": (
        """\
        module "addons" {
          metrics_server = { chart_version = "3.12.0" }
          karpenter = {
            repository    = "oci://public.ecr.aws/karpenter"
            chart_version = "1.2.3"
          }
        }
        """,
        ["1.2.3 addons.tf:5 karpenter"],
    ),
    "module.tf": (
        'module "eks" {\n  source            = "./eks"\n  karpenter_version = "1.2.4"\n}\n',
        ["1.2.4 module.tf:3 module.eks"],
    ),
    "variables.tf": (
        'variable "karpenter_chart_version" {\n  type    = string\n  default = "1.2.5"\n}\n',
        ["1.2.5 variables.tf:3 the default of var.karpenter_chart_version"],
    ),
    "prod.tfvars": ('karpenter_version = "1.2.6"\n', ["1.2.6 prod.tfvars:1 karpenter_version"]),
    "terragrunt.hcl": (
        'inputs = {\n  karpenter_version = "1.2.7"\n}\n',
        ["1.2.7 terragrunt.hcl:2 karpenter_version"],
    ),
    "list.tf": (
        'locals {\n  chart_versions = {\n    karpenter = "1.2.8"\n  }\n}\n',
        ["1.2.8 list.tf:3 chart_versions"],
    ),
    "minor.yaml": (
        "kind: HelmRelease\nspec: {chart: {spec: {chart: karpenter, version: ~1.4.2}}}\n",
        ["1.4 minor.yaml:2 the HelmRelease"],
    ),
    "old.sh": ("KARPENTER_VERSION=v0.37.0\n", ["0.37.0 old.sh:1 a variable"]),
}

NOTHING = {
    "range.yaml": "kind: Application\nspec: {source: {chart: karpenter, targetRevision: 1.*}}\n",
    "head.yaml": "kind: Application\nspec: {source: {path: charts/karpenter, targetRevision: HEAD}}\n",
    "suffix.yaml": "kind: HelmRelease\nspec: {chart: {spec: {chart: karpenter, version: 1.4.0-rc.1}}}\n",
    "template.yaml": "kind: HelmRelease\nspec: {chart: {spec: {chart: karpenter, version: '${VERSION}'}}}\n",
    "other.yaml": "kind: HelmRelease\nspec: {chart: {spec: {chart: karpenter-exporter, version: 1.4.0}}}\n",
    "label.yaml": "kind: Deployment\nmetadata: {labels: {helm.sh/chart: karpenter-exporter-1.0.7}}\n",
    "broken.yaml": "kind: HelmRelease\nspec: {chart: karpenter, version: 1.4.0\n",
    "unset.tf": 'resource "helm_release" "k" {\n  chart = "karpenter"\n  version = var.karpenter\n}\n',
    "own.tf": 'resource "helm_release" "k" {\n  chart = "./charts/karpenter"\n  version = "1.0.0"\n}\n',
    "iam.tf": 'module "karpenter" {\n  source = "x/eks/aws//modules/karpenter"\n  version = "20.24.0"\n}\n',
    "broken.tf": 'resource "helm_release" {\n  version = "1.2.3\n',
    "other.sh": "helm upgrade prometheus repo/prometheus --version 25.0.0  # beside karpenter\n",
    "notes.md": "```sh\nKARPENTER_VERSION=1.0.0\n```\n",
}


def evidence(*files: tuple[str, str]) -> Stated:
    return evidence_of(Source.from_text(path, textwrap.dedent(text)) for path, text in files)


def told(found: Stated) -> list[str]:
    return [f"{each.version} {each.place} {each.by}" for each in found.all]


@pytest.mark.parametrize("path", STATED)
def test_a_release_is_read_where_it_stands(path: str) -> None:
    text, expected = STATED[path]
    assert told(evidence((path, text))) == expected


@pytest.mark.parametrize("path", NOTHING)
def test_what_pins_no_release_states_nothing(path: str) -> None:
    assert told(evidence((path, NOTHING[path]))) == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.tf", 'module "eks" {\n  cluster_version = "1.32"\n}\n', "1.32 a.tf:2 module.eks"),
        ("b.tf", 'resource "aws_eks_cluster" "m" {\n  version = "1.30"\n}\n', "1.30 b.tf:2 the aws_eks_cluster"),
        ("c.tf", 'locals {\n  kubernetes_version = "1.31"\n}\n', "1.31 c.tf:2 kubernetes_version"),
        (
            "d.yaml",
            "apiVersion: eksctl.io/v1\nkind: ClusterConfig\nmetadata: {version: '1.33'}\n",
            "1.33 d.yaml:3 eksctl's ClusterConfig",
        ),
        ("e.sh", "K8S_VERSION=1.34\neksctl create cluster\n", "1.34 e.sh:1 a variable"),
    ],
)
def test_the_version_of_the_cluster_is_read_where_it_stands(path: str, text: str, expected: str) -> None:
    assert told(evidence((path, text))) == [expected]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("database.tf", 'resource "aws_rds_cluster" "d" {\n  cluster_version = "8.0"\n}\n'),
        ("tools.sh", "K8S_VERSION=1.34\ncurl https://dl.k8s.io/kubectl\n"),
    ],
)
def test_versions_of_other_things_are_not_the_clusters(path: str, text: str) -> None:
    assert told(evidence((path, text))) == []


def test_variables_and_locals_are_followed_to_where_their_value_stands(tmp_path: Path) -> None:
    main = 'resource "helm_release" "k" {\n  chart = "karpenter"\n  version = local.pinned\n}\n'
    (tmp_path / "main.tf").write_text(main, encoding="utf-8")
    (tmp_path / "locals.tf").write_text('locals {\n  pinned = "${var.addon}"\n}\n', encoding="utf-8")
    (tmp_path / "variables.tf").write_text('variable "addon" {\n  default = "1.3.1"\n}\n', encoding="utf-8")
    path = f"{tmp_path}/main.tf"
    assert told(evidence((path, main))) == [f"1.3.1 {tmp_path}/variables.tf:2 the default of var.addon"]
    (tmp_path / "prod.tfvars").write_text('addon = "1.3.2"\n', encoding="utf-8")
    found = evidence((path, main)).for_path("karpenter", f"{tmp_path}/pool.yaml")
    assert [each.version for each in found] == ["1.3.2"], "what is set overrides a default"


def helm_release(version: str) -> str:
    return f"kind: HelmRelease\nspec: {{chart: {{spec: {{chart: karpenter, version: {version}}}}}}}\n"


NEAREST = [
    # For an object at this path, with these files (path: version), these versions count.
    ("clusters/prod/pools/a.yaml", {"clusters/prod/k.yaml": "1.2.1", "clusters/dev/k.yaml": "1.8.1"}, ["1.2.1"]),
    ("clusters/dev/pools/a.yaml", {"clusters/prod/k.yaml": "1.2.1", "clusters/dev/x/k.yaml": "1.8.1"}, ["1.8.1"]),
    ("base/a.yaml", {"clusters/prod/k.yaml": "1.2.1", "clusters/dev/x/k.yaml": "1.8.1"}, ["1.2.1", "1.8.1"]),
    ("base/a.yaml", {"clusters/prod/k.yaml": "1.2.1", "clusters/dev/k.yaml": "1.2.1"}, ["1.2.1"]),
    ("base/a.yaml", {"k.yaml": "1.2.1", "other/k.yaml": "1.8.1"}, ["1.2.1"]),
    ("base/a.yaml", {"k.yaml": "~1.2.1", "other/k.yaml": "1.8.1"}, ["1.8.1"]),
    ("base/a.yaml", {"archived/k.yaml": "1.2.1"}, []),
    ("archived/a.yaml", {"archived/k.yaml": "1.2.1", "k.yaml": "1.8.1"}, ["1.2.1"]),
    ("-", {"k.yaml": "1.2.1"}, []),
]


@pytest.mark.parametrize(("path", "files", "versions"), NEAREST)
def test_the_nearest_evidence_counts(path: str, files: dict[str, str], versions: list[str]) -> None:
    found = evidence(*((name, helm_release(version)) for name, version in files.items()))
    assert [each.version for each in found.for_path("karpenter", path)] == versions


def test_the_crds_chart_and_scripts_count_where_nothing_is_installed_as_near() -> None:
    crds = ("crds.yaml", "kind: Application\nspec: {source: {chart: karpenter-crd, targetRevision: 1.1.0}}\n")
    script = ("run.sh", "KARPENTER_VERSION=1.1.0\n")
    chart = ("chart.yaml", helm_release("1.4.0"))
    assert [e.version for e in evidence(crds, script).for_path("karpenter", "a.yaml")] == ["1.1.0"]
    assert [e.version for e in evidence(crds, script, chart).for_path("karpenter", "a.yaml")] == ["1.4.0"]


def test_the_default_of_a_module_gives_way_to_who_calls_it() -> None:
    module = ("modules/eks/variables.tf", 'variable "cluster_version" {\n  default = "1.28"\n}\n')
    caller = ("environments/prod/variables.tf", 'variable "cluster_version" {\n  default = "1.31"\n}\n')
    assert [e.version for e in evidence(module, caller).for_path("kubernetes", "k8s/a.yaml")] == ["1.31"]
    assert [e.version for e in evidence(module).for_path("kubernetes", "k8s/a.yaml")] == ["1.28"]


def test_releases_before_1_can_be_left_out() -> None:
    found = evidence(("new/k.yaml", helm_release("1.2.1")), ("k.yaml", helm_release("0.37.0")))
    assert [e.version for e in found.for_path("karpenter", "a.yaml")] == ["0.37.0"]
    assert [e.version for e in found.for_path("karpenter", "a.yaml", from_1=True)] == ["1.2.1"]
