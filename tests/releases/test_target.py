"""Which releases a repository's files state, and for which of its objects."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jsonschema
import pytest

from nodelint.config.release_selection import chooser
from nodelint.config.settings import Settings
from nodelint.lint.engine import LintRequest, Target, lint
from nodelint.model.documents import objects
from nodelint.model.ranges import Releases, releases_in, runs, turning_points
from nodelint.model.releases import NEWEST, OLDEST, RELEASES, Version
from nodelint.releases import Stated, evidence_of
from nodelint.rule.definition import Rule
from nodelint.rule.examples import examples
from nodelint.text import Source
from tests.code import called_name, nodes
from tests.conftest import ROOT, by_place
from tests.manifests import nodeclass, nodepool
from tests.plan.test_plan_command import git
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

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
    "rendered-binding.yaml": (
        """\
        kind: ClusterRoleBinding
        metadata:
          labels: {helm.sh/chart: karpenter-0.16.3}
        ---
        kind: ServiceAccount
        metadata:
          labels: {helm.sh/chart: karpenter-crd-1.0.8}
        """,
        ["0.16.3 rendered-binding.yaml:3 the rendered chart"],
    ),
    "setup.sh": (
        """\
        karpenter=${karpenter:-v1.2.1}
        helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version ${karpenter}
        """,
        ["1.2.1 setup.sh:1 a variable"],
    ),
    "deployment.yaml": (
        """\
        {{ if .Values.current }}
        image: "registry.example.com:5000/team/karpenter:1.6.3-build-7.patched"
        {{ else }}
        # image: registry.example.com/team/karpenter:1.5.0
        image: registry.example.com/tools/karpenter-exporter:1.4.0
        {{ end }}
        """,
        ["1.6.3 deployment.yaml:2 an image of the controller"],
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
    "unused.sh": (
        'export KARPENTER_VERSION="v0.34.0"\necho "Karpenter Version: $KARPENTER_VERSION"\n'
        "helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter -f values.yaml\n",
        [],
    ),
    "used.sh": (
        'export KARPENTER_VERSION="1.8.4"\nflags="--version $KARPENTER_VERSION"\n'
        "helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter $flags\n",
        ["1.8.4 used.sh:1 a variable"],
    ),
    "default.sh": ('version="${KARPENTER_VERSION:-1.8.3}"\n', ["1.8.3 default.sh:1 a variable"]),
    ".github/workflows/ci.yml": (
        "env:\n  KARPENTER_VERSION: '1.9.0'\n",
        ["1.9.0 .github/workflows/ci.yml:2 a variable"],
    ),
    "playbook.yml": (
        "- tasks:\n  - kubernetes.core.helm:\n      chart_ref: oci://public.ecr.aws/karpenter/karpenter\n"
        "      chart_version: 1.6.2\n"
        "  - kubernetes.core.helm: {name: karpenter, chart_ref: x/other, chart_version: 1.5.0}\n",
        ["1.6.2 playbook.yml:4 Ansible's helm task"],
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
    "addons-default.tf": (
        """\
        module "addons" {
          source           = "aws-ia/eks-blueprints-addons/aws"
          version          = "1.16.2"
          enable_karpenter = true
          karpenter        = { namespace = "kube-system" }
        }
        module "newest" {
          source           = "aws-ia/eks-blueprints-addons/aws"
          version          = "~> 1.16"
          enable_karpenter = true
          karpenter = {
            repository_username = "x"
          }
        }
        module "tag" {
          source           = "github.com/aws-ia/terraform-aws-eks-blueprints-addons?ref=v1.10.1"
          enable_karpenter = var.on
        }
        module "off" {
          source           = "aws-ia/eks-blueprints-addons/aws"
          enable_karpenter = false
        }
        """,
        [
            "0.35.0 addons-default.tf:2 the default of module.addons, version 1.16.2",
            "0.37.0 addons-default.tf:8 the default of module.newest, version 1.16",
            "0.32.1 addons-default.tf:16 the default of module.tag, version 1.10.1",
        ],
    ),
    "tilde.tf": (
        'resource "helm_release" "k" {\n  chart = "karpenter"\n  version = "~> 1.6"\n}\n',
        ["1.6 tilde.tf:3 a helm_release"],
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
    "tools.toml": (
        '[versions]\nterraform = "1.9.0"\nkarpenter = "1.3.1"\n[addons.karpenter]\nversion = "1.3.2"\n',
        ["1.3.1 tools.toml:3 [versions]", "1.3.2 tools.toml:5 [addons.karpenter]"],
    ),
    "inline.toml": (
        '[charts]\nkarpenter = { repo = "oci://x", version = "1.3.3" }\n',
        ["1.3.3 inline.toml:2 [charts]"],
    ),
    "install.conf": ("# karpenter\nKARPENTER_CHART_VERSION=1.3.4\n", ["1.3.4 install.conf:2 a variable"]),
    "prod.env": ("karpenter_version=1.3.5\n", ["1.3.5 prod.env:1 a variable"]),
    "README.md": (
        "```sh\nexport KARPENTER_VERSION=1.3.6\nhelm upgrade --install karpenter oci://x/karpenter/karpenter \\\n"
        '  --version "${KARPENTER_VERSION}" --namespace karpenter\n```\n',
        ["1.3.6 README.md:2 what a README installs"],
    ),
    "docs/readme.md": (
        "    helm upgrade --install karpenter karpenter/karpenter --version 1.3.7 -f values/prod.yaml\n",
        ["1.3.7 docs/readme.md:1 what a README installs"],
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
    "own-chart.sh": "helm install karpenter-nodes oci://ghcr.io/x/karpenter-nodepool --version 1.5.1\n",
    "crds.sh": "helm install karpenter oci://public.ecr.aws/karpenter/karpenter-crd --version 1.5.1\n",
    "local.sh": "helm install karpenter ./charts/own --version 1.5.1\n",
    "README.md": "KARPENTER_VERSION=1.5.1\nhelm install x oci://x/karpenter-nodepool --version 1.6.0\n",
    "other.toml": '[karpenter.image]\nversion = "1.5.1"\n[tools]\nkarpenter-cli = "1.5.1"\n# karpenter = "1.5.1"\n',
    "notes.md": "```sh\nKARPENTER_VERSION=1.0.0\n```\n",
}


def evidence(*files: tuple[str, str]) -> Stated:
    return evidence_of(Source.from_text(path, textwrap.dedent(text)) for path, text in files)


def describe_evidence(found: Stated) -> list[str]:
    return [f"{item.version} {item.place} {item.by}" for item in found.all]


@pytest.mark.parametrize("path", STATED)
def test_a_release_is_read_where_it_stands(path: str) -> None:
    text, expected = STATED[path]
    assert describe_evidence(evidence((path, text))) == expected


@pytest.mark.parametrize("path", NOTHING)
def test_what_pins_no_release_states_nothing(path: str) -> None:
    assert describe_evidence(evidence((path, NOTHING[path]))) == []


AS_RESOURCE = (
    "Parameters: {{V: {{Type: String, Default: '1.32'}}}}\nResources:\n  C:\n    Type: AWS::EKS::Cluster\n"
    "    Properties:\n      Version: {}\n"
)


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
        ("g.yaml", AS_RESOURCE.format("'1.33'"), "1.33 g.yaml:6 the AWS::EKS::Cluster"),
        ("h.yaml", AS_RESOURCE.format("!Ref V"), "1.32 h.yaml:1 the AWS::EKS::Cluster"),
        ("i.yaml", AS_RESOURCE.format('!Sub "${V}"'), "1.32 i.yaml:1 the AWS::EKS::Cluster"),
        (
            "j.template.json",
            '{"Resources": {"C": {"Type": "Custom::AWSCDK-EKS-Cluster", '
            '"Properties": {"Config": {"version": "1.33"}}}}}',
            "1.33 j.template.json:1 the CDK's cluster",
        ),
        (
            "k.yaml",
            "apiVersion: eks.aws.upbound.io/v1beta1\nkind: Cluster\nspec: {forProvider: {version: '1.33'}}\n",
            "1.33 k.yaml:3 Crossplane's Cluster",
        ),
        (
            "l.yaml",
            "kind: List\nitems:\n- apiVersion: eks.services.k8s.aws/v1alpha1\n  kind: Cluster\n"
            "  spec: {version: '1.33'}\n",
            "1.33 l.yaml:5 the Cluster of ACK",
        ),
        (
            "m.yaml",
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: AWSManagedControlPlane\n"
            "spec: {version: v1.33.4}\n",
            "1.33 m.yaml:3 the AWSManagedControlPlane",
        ),
        (
            "p.yaml",
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: AWSManagedControlPlaneTemplate\n"
            "spec: {template: {spec: {version: v1.33.4}}}\n",
            "1.33 p.yaml:3 the AWSManagedControlPlaneTemplate",
        ),
        (
            "Pulumi.yaml",
            "resources:\n  c:\n    type: eks:Cluster\n    properties: {version: '1.33'}\n",
            "1.33 Pulumi.yaml:4 Pulumi's cluster",
        ),
        ("n.sh", "aws eks create-cluster --name x \\\n  --kubernetes-version=1.33\n", "1.33 n.sh:2 a command"),
        ("o.sh", "V=1.33\neksctl upgrade cluster --name x --version $V --approve\n", "1.33 o.sh:1 a command"),
        ("e.sh", "K8S_VERSION=1.34\neksctl create cluster\n", "1.34 e.sh:1 a variable"),
        ("f.sh", 'export K8sversion="1.32"\neksctl create cluster\n', "1.32 f.sh:1 a variable"),
    ],
)
def test_the_version_of_the_cluster_is_read_where_it_stands(path: str, text: str, expected: str) -> None:
    assert describe_evidence(evidence((path, text))) == [expected]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("database.tf", 'resource "aws_rds_cluster" "d" {\n  cluster_version = "8.0"\n}\n'),
        ("addon.yaml", AS_RESOURCE.replace("EKS::Cluster", "EKS::Addon").format("'1.33'")),
        ("kind.yaml", "apiVersion: rds.services.k8s.aws/v1alpha1\nkind: Cluster\nspec: {version: '1.33'}\n"),
        ("asks.sh", "aws eks describe-addon-versions --kubernetes-version 1.33\n"),
        ("comment.sh", "# aws eks update-cluster-version --kubernetes-version 1.33\n"),
        (
            "patched.yaml",
            "kind: Composition\nbase:\n  apiVersion: eks.aws.upbound.io/v1beta1\n  kind: Cluster\n"
            "  spec: {forProvider: {version: '1.33'}}\npatches: [{toFieldPath: spec.forProvider.version}]\n",
        ),
        ("tools.sh", "K8S_VERSION=1.34\ncurl https://dl.k8s.io/kubectl\n"),
        ("table.tf", 'locals {\n  versions = {\n    "1.35" : {\n      "cluster_version" = "1.35"\n    }\n  }\n}\n'),
    ],
)
def test_versions_of_other_things_are_not_the_clusters(path: str, text: str) -> None:
    assert describe_evidence(evidence((path, text))) == []


def test_a_version_that_an_application_takes_from_the_values_of_its_chart(tmp_path: Path, nodelint: Run) -> None:
    application = """\
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: karpenter}
        spec:
          source:
            repoURL: public.ecr.aws/karpenter
            chart: karpenter
            targetRevision: {{ .Values.karpenter.chartVersion | quote }}
        """
    write(
        tmp_path,
        {
            "apps/Chart.yaml": "name: apps\n",
            "apps/values.yaml": "karpenter:\n  chartVersion: 1.2.1\n",
            "apps/templates/karpenter.yaml": textwrap.dedent(application),
            "pool.yaml": POOL,
            ".git/HEAD": "ref: refs/heads/main\n",
        },
    )
    line = "Target of 2 objects: Karpenter 1.2.1, by apps/values.yaml:2 (the Application)."
    assert line in nodelint("check", ".").stdout
    write(tmp_path, {"apps/values-prod.yaml": "karpenter:\n  chartVersion: 1.6.0\n"})
    assert (
        "1.2.1 and 1.6.0, by apps/values.yaml:2 (the Application) and apps/values-prod"
        in nodelint("check", ".").stdout
    )


def test_what_a_readme_installs_counts_where_nothing_else_does() -> None:
    readme = ("pools/README.md", "helm upgrade karpenter oci://x/karpenter --version 1.2.0\n")
    told_by_it = evidence(readme).for_path("karpenter", "pools/pool.yaml")
    assert [item.version for item in told_by_it] == ["1.2.0"]
    both = evidence(readme, ("argo/k.yaml", helm_release("1.6.0")))
    assert [item.version for item in both.for_path("karpenter", "pools/pool.yaml")] == ["1.6.0"]


def test_variables_and_locals_are_followed_to_where_their_value_stands(tmp_path: Path) -> None:
    main = 'resource "helm_release" "k" {\n  chart = "karpenter"\n  version = local.pinned\n}\n'
    (tmp_path / "main.tf").write_text(main, encoding="utf-8")
    (tmp_path / "locals.tf").write_text('locals {\n  pinned = "${var.addon}"\n}\n', encoding="utf-8")
    (tmp_path / "variables.tf").write_text('variable "addon" {\n  default = "1.3.1"\n}\n', encoding="utf-8")
    path = f"{tmp_path}/main.tf"
    assert describe_evidence(evidence((path, main))) == [f"1.3.1 {tmp_path}/variables.tf:2 the default of var.addon"]
    (tmp_path / "prod.tfvars").write_text('addon = "1.3.2"\n', encoding="utf-8")
    found = evidence((path, main)).for_path("karpenter", f"{tmp_path}/pool.yaml")
    assert [item.version for item in found] == ["1.3.2"], "what is set overrides a default"


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
    ("a.yaml", {"sample.yaml": "1.2.1", "example.prod.yaml": "1.4.0"}, []),
    ("a.yaml", {"sample.yaml": "1.2.1", "k/k.yaml": "1.8.1"}, ["1.8.1"]),
    ("-", {"k.yaml": "1.2.1"}, []),
]


@pytest.mark.parametrize(("path", "files", "versions"), NEAREST)
def test_the_nearest_evidence_counts(path: str, files: dict[str, str], versions: list[str]) -> None:
    found = evidence(*((name, helm_release(version)) for name, version in files.items()))
    assert [item.version for item in found.for_path("karpenter", path)] == versions


def cluster(version: str) -> str:
    return f'variable "cluster_version" {{\n  default = "{version}"\n}}\n'


A, B = "roots/a/", "roots/b/"
TWO = {A + "k.yaml": "1.0.2", A + "c.tf": "1.29", B + "k.yaml": "1.6.0"}
BESIDE = [
    # With these files, an object at this path is for these releases of Karpenter and Kubernetes.
    (A + "pools/a.yaml", TWO, ["1.0.2 1.29"]),
    (B + "pools/a.yaml", TWO, ["1.6.0 None"]),
    (B + "pools/a.yaml", {**TWO, "c.tf": "1.33"}, ["1.6.0 1.33"]),
    (B + "pools/a.yaml", {**TWO, "live/c.tf": "1.33"}, ["1.6.0 1.33"]),
    # An object of both roots is for each of the two clusters, and for no mixture of them.
    ("base/a.yaml", {**TWO, B + "c.tf": "1.33"}, ["1.0.2 1.29", "1.6.0 1.33"]),
    ("base/a.yaml", TWO, ["1.0.2 1.29", "1.6.0 None"]),
    # One cluster, of which each tool has a folder of its own.
    ("apps/pools/a.yaml", {"apps/karpenter/k.yaml": "1.6.0", "terraform/eks/c.tf": "1.33"}, ["1.6.0 1.33"]),
    ("pools/a.yaml", {"apps/k.yaml": "1.6.0", "apps/eks/c.tf": "1.33"}, ["1.6.0 1.33"]),
    ("pools/a.yaml", {"old-root/c.tf": "1.29"}, [f"{NEWEST} 1.29"]),
    # Of two roots, the one that installs Karpenter knows its cluster; one without says nothing against it.
    ("pools/a.yaml", {"tf/k.yaml": "1.6.0", "tf/c.tf": "1.29", "other/c.tf": "1.33"}, ["1.6.0 1.29"]),
    ("pools/a.yaml", {"tf/addons/k.yaml": "1.6.0", "tf/eks/c.tf": "1.29", "other/c.tf": "1.33"}, ["1.6.0 1.29"]),
    ("pools/a.yaml", {"apps/k.yaml": "1.6.0", "x/c.tf": "1.29", "y/c.tf": "1.33"}, ["1.6.0 1.29", "1.6.0 1.33"]),
    # A folder further down with a Karpenter of its own is another root.
    (B + "a.yaml", {B + "k.yaml": "1.6.0", B + "sub/k.yaml": "1.0.2", B + "sub/c.tf": "1.29"}, ["1.6.0 None"]),
]


@pytest.mark.parametrize(("path", "files", "expected"), BESIDE)
def test_karpenter_and_kubernetes_are_of_one_root(path: str, files: dict[str, str], expected: list[str]) -> None:
    texts = {name: cluster(value) if name.endswith(".tf") else helm_release(value) for name, value in files.items()}
    choose = chooser(Settings(), [Source.from_text(name, text) for name, text in texts.items()])
    (obj,) = objects(Source.from_text(path, nodepool()))
    assert choose is not None
    found = choose(obj)
    assert not isinstance(found, str)
    assert [f"{item.karpenter.last} {item.kubernetes}" for item in found] == expected


def test_the_kubernetes_of_another_root_makes_no_error(nodelint: Run, tmp_path: Path) -> None:
    texts = {A + "k.yaml": helm_release("1.6.0"), A + "c.tf": cluster("1.33"), B + "k.yaml": helm_release("1.6.0")}
    old = nodeclass(ami="alias: al2@v20240928")
    write(tmp_path, {**texts, B + "class.yaml": old, ".git/HEAD": "ref: refs/heads/main\n"})
    assert "error[unsupported-alias]" not in nodelint("check", ".").stdout
    write(tmp_path, {A + "class.yaml": old})
    assert f"{A}class.yaml" in nodelint("check", ".", "--select", "unsupported-alias").stdout


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
    assert [e.version for e in found.for_path("karpenter", "a.yaml", OLDEST)] == ["1.2.1"]


# -- a check of a repository

POOL = (
    nodepool(
        "key: kubernetes.io/arch, operator: In, values: [amd64]",
        "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]",
        inline=True,
    )
    + "---\n"
    + nodeclass(net="tags: {team: a}", inline=True)
)
"""Until Karpenter 1.4.0 this alias matches several images; since then there is nothing to say."""

OLD_CLASS = """\
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-main
  subnetSelectorTerms: [{tags: {team: a}}]
  securityGroupSelectorTerms: [{tags: {team: a}}]
"""


def write(folder: Path, files: dict[str, str]) -> None:
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    write_files(folder, files)


def judged(nodelint: Run, *words: str) -> dict[str, Any]:
    flags = ("--snapshot", "bundled", "--ignore", "out-of-support", "--format", "json")
    done = nodelint("check", *flags, *words)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(found, json.loads((ROOT / "schemas" / "check.schema.json").read_text(encoding="utf-8")))
    return found


def lines(done: CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith(("Target", "Found", "All good", "Skipped"))]


CLUSTERS = {
    "clusters/prod/pools/pool.yaml": POOL,
    "clusters/dev/pools/pool.yaml": POOL,
    "clusters/prod/karpenter.yaml": helm_release("1.2.1"),
    "clusters/dev/karpenter.yaml": helm_release("1.8.1"),
    "terraform/eks.tf": 'module "eks" {\n  cluster_version = "1.32"\n}\n',
}


def test_each_object_is_judged_for_the_release_of_its_folder(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, CLUSTERS)
    found = judged(nodelint)
    assert [(f["rule"], f["path"], f["releases"]) for f in found["findings"]] == [
        ("undiscovered-memory", "clusters/prod/pools/pool.yaml", [{"from": "1.2.1", "to": "1.2.1"}])
    ]
    assert (found["summary"]["karpenter"], found["summary"]["kubernetes"]) == ("1.8.1", "1.32")
    messages = {t["evidence"][0]["path"]: [o["path"] for o in t["objects"]] for t in found["summary"]["targets"]}
    assert messages == {
        f"clusters/{c}/karpenter.yaml": [f"clusters/{c}/pools/pool.yaml"] * 2 for c in ("dev", "prod")
    }


def test_the_summary_says_which_line_states_the_release(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, CLUSTERS)
    assert lines(nodelint("check", "--snapshot", "bundled")) == [
        "Target of 2 objects: Karpenter 1.8.1, by clusters/dev/karpenter.yaml:2 (the HelmRelease);"
        " Kubernetes 1.32, by terraform/eks.tf:2 (module.eks).",
        "Target of 2 objects: Karpenter 1.2.1, by clusters/prod/karpenter.yaml:2 (the HelmRelease);"
        " Kubernetes 1.32, by terraform/eks.tf:2 (module.eks).",
        "Found 4 info in 4 objects in 5 files, for Karpenter 1.2.1 and 1.8.1, Kubernetes 1.32; 1 fixable with --fix.",
    ]


def test_one_file_is_judged_by_what_the_repository_states(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, CLUSTERS)
    found = judged(nodelint, "clusters/prod/pools/pool.yaml")
    assert [f["rule"] for f in found["findings"]] == ["undiscovered-memory"]
    assert found["summary"]["karpenter"] == "1.2.1"


def test_scripts_are_read_for_the_release_and_not_counted(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {"pool.yaml": POOL, "install.sh": "KARPENTER_VERSION=1.2.1\n"})
    found = judged(nodelint)
    assert (found["summary"]["karpenter"], found["summary"]["files"]) == ("1.2.1", 1)
    write(tmp_path, {"Makefile": "KARPENTER_VERSION := 1.3.1\n"})
    [target] = judged(nodelint)["summary"]["targets"]
    assert "Makefile" in [finding["path"] for finding in target["evidence"]], "it lies in the very folder"


def test_what_another_repository_states_is_about_that_one(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path / "a", {"pool.yaml": POOL})
    write(tmp_path / "b", {"pool.yaml": POOL, "karpenter.yaml": helm_release("1.2.1")})
    found = judged(nodelint, "a", "b")
    assert [f["path"] for f in found["findings"]] == ["b/pool.yaml"]
    assert [t["assumed"] for t in found["summary"]["targets"]] == [True, False]


def test_what_states_a_release_that_cannot_be_it_is_named(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {"pool.yaml": POOL, "k.yaml": helm_release("2.1.0"), ".git/HEAD": "ref: refs/heads/main\n"})
    newest = f"Target of 2 objects: Karpenter {NEWEST} (newest known); "
    of_chart = "2.1.0 at k.yaml:2 (the HelmRelease) is no release of Karpenter and does not count.\n"
    assert newest + of_chart in nodelint("check", ".").stdout
    write(tmp_path, {"k.yaml": helm_release("0.37.0")})
    old = "0.37.0 at k.yaml:2 (the HelmRelease) is too old for these objects and does not count.\n"
    assert newest + old in nodelint("check", ".").stdout
    (group,) = json.loads(nodelint("check", ".", "--format", "json").stdout)["summary"]["targets"]
    assert group["passedOver"] == [{"version": "0.37.0", "path": "k.yaml", "line": 2, "by": "the HelmRelease"}]
    write(tmp_path, {"a/k.yaml": helm_release("1.6.0"), "a/pool.yaml": POOL})
    assert "by a/k.yaml:2 (the HelmRelease).\n" in nodelint("check", "a").stdout, "what is nearer counts alone"


@pytest.mark.parametrize("minor", ["33.5", "34.6", "35.5", "36.2", "37.0", "22.1"])
def test_objects_of_v1_beside_a_chart_that_has_no_v1_are_told(tmp_path: Path, nodelint: Run, minor: str) -> None:
    write(tmp_path, {"pool.yaml": POOL, "k.yaml": helm_release(f"0.{minor}"), ".git/HEAD": "ref: refs/heads/main\n"})
    number, _, patch = minor.partition(".")
    found = [f for f in judged(nodelint, ".")["findings"] if f["rule"] == "removed-api"]
    assert [(f["severity"], f["message"].partition(":")[0]) for f in found] == [
        ("warning", f"Karpenter 0.{minor} has no `karpenter.sh/v1`")
    ]
    assert found[0]["note"] == "k.yaml:2 (the HelmRelease) states that release"
    if number != "22":
        write(tmp_path, {"k.yaml": helm_release(f"0.{number}.{int(patch) + 1}")})
        rules = [f["rule"] for f in judged(nodelint, ".")["findings"]]
        assert "removed-api" not in rules, "the last patches before 1.0 serve v1"


def test_an_old_image_in_values_that_nothing_names_says_nothing_of_what_is_installed(
    tmp_path: Path, nodelint: Run
) -> None:
    image = "controller:\n  image: public.ecr.aws/karpenter/controller:v0.16.3\n"
    write(tmp_path, {"pool.yaml": POOL, "values/karpenter.yaml": image, ".git/HEAD": "ref: refs/heads/main\n"})
    assert "removed-api" not in [f["rule"] for f in judged(nodelint, ".")["findings"]]


def test_statements_that_differ_are_each_judged(tmp_path: Path, nodelint: Run) -> None:
    write(
        tmp_path, {"base/pool.yaml": POOL, "prod/k.yaml": helm_release("1.2.1"), "dev/k.yaml": helm_release("1.8.1")}
    )
    done = nodelint("check", "--snapshot", "bundled")
    assert "stays an estimate (Karpenter 1.2.1)\n" in done.stdout
    assert "unsafe" in done.stdout, "what one release needs another need not"
    assert lines(done)[-2] == (
        "Target of 2 objects: Karpenter 1.2.1 and 1.8.1, by prod/k.yaml:2 (the HelmRelease) and dev/k.yaml:2 (the"
        " HelmRelease); each of these releases may run, so each object is judged for all of them."
    )


def test_what_states_something_for_several_releases_is_named_once(tmp_path: Path, nodelint: Run) -> None:
    stated = {"prod/k.yaml": helm_release("1.2.1"), "dev/k.yaml": helm_release("1.8.1")}
    terraform = 'module "eks" {\n  cluster_version = "1.32"\n}\n'
    write(tmp_path, {"base/pool.yaml": POOL, "eks.tf": terraform, **stated})
    (target,) = judged(nodelint)["summary"]["targets"]
    assert target["kubernetes"] == ["1.32"]
    assert sorted(evidence["path"] for evidence in target["evidence"]) == ["dev/k.yaml", "eks.tf", "prod/k.yaml"]
    line = lines(nodelint("check", "--snapshot", "bundled"))[-2]
    assert "; Kubernetes 1.32, by eks.tf:2 (module.eks); each of these releases may run" in line


def test_what_differs_between_releases_by_numbers_alone_is_one_finding(tmp_path: Path, nodelint: Run) -> None:
    stated = {"prod/k.yaml": helm_release("1.0.8"), "dev/k.yaml": helm_release("1.3.3")}
    category = "        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}\n"
    write(tmp_path, {"base/pool.yaml": POOL.replace(category, ""), **stated})
    messages = judged(nodelint, "--select", "accelerator-by-accident")
    assert [finding["releases"] for finding in messages["findings"]] == [
        [{"from": v, "to": v} for v in ("1.0.8", "1.3.3")]
    ]
    text = nodelint("check", "--snapshot", "bundled", "--select", "accelerator-by-accident").stdout
    assert "(Karpenter 1.3.3; other numbers on Karpenter 1.0.8)\n" in text
    assert text.count("[accelerator-by-accident]") == messages["summary"]["warnings"] == 1


def test_flags_and_the_configuration_override_what_files_state(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, CLUSTERS)
    write(tmp_path, {"nodelint.yaml": 'per-path-versions:\n  clusters/prod: {karpenter-version: "1.9"}\n'})
    found = judged(nodelint)
    assert found["findings"] == []
    assert {t["karpenter"][0]["to"]: len(t["evidence"]) for t in found["summary"]["targets"]} == {
        "1.8.1": 2,
        "1.9.3": 1,
    }
    assert len(judged(nodelint, "--karpenter-version", "1.3")["findings"]) == 1
    write(tmp_path, {"nodelint.yaml": 'karpenter-version: "1.3"\nkubernetes-version: "1.31"\n'})
    summary = judged(nodelint)["summary"]
    assert (summary["infos"], summary["kubernetes"], summary["targets"]) == (1, "1.31", [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("per-path-versions: [x]\n", "`per-path-versions` must be a mapping, not a list"),
        ("per-path-versions: {a: {version: '1.2'}}\n", "unknown setting `version`"),
        ("per-path-versions: {a: {karpenter-version: 1.2}}\n", "must be a string, not `1.2`; put it in quotes"),
        ("per-path-versions: {a: {karpenter-version: 'x'}}\n", "`x` is not a Karpenter version"),
        ("karpenter-version: '>=1.0 nonsense'\n", "`>=1.0 nonsense` is not a range such as `>=1.0 <=1.14`"),
        ("karpenter-version: '>1.3 <1.3.1'\n", "no release known is in `>1.3 <1.3.1`"),
    ],
)
def test_versions_that_cannot_be_used_are_told_with_their_place(
    tmp_path: Path, nodelint: Run, text: str, message: str
) -> None:
    write(tmp_path, {"pool.yaml": POOL, "nodelint.yaml": text})
    done = nodelint("check")
    assert done.returncode == 2 and done.stderr.startswith("nodelint: nodelint.yaml:1:") and message in done.stderr


def test_what_a_release_before_1_serves_is_judged_for_the_oldest_release_known(tmp_path: Path, nodelint: Run) -> None:
    dropped = OLD_CLASS + "  scalingRequirements: {minCount: 1}\n"
    write(tmp_path, {"class.yaml": dropped, "k.yaml": helm_release("v0.37.0")})
    done = nodelint("check")
    assert "error[unknown-field]: `scalingRequirements`" in done.stdout
    assert "info[removed-api]" in done.stdout and "error[removed-api]" not in done.stdout, "0.37.0 serves v1beta1"
    assert (
        "Target of 1 object: Karpenter 1.0.0; k.yaml:2 (the HelmRelease) states 0.37.0, which is older than nodelint"
        " knows: judged by the oldest known.\n" in done.stdout
    )
    write(tmp_path, {"k.yaml": helm_release("v0.27.5")})
    assert "error[removed-api]" in nodelint("check").stdout, "0.27.5 does not serve it: another release runs"


OLD_POOL = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  requirements:
    - {key: node.kubernetes.io/instance-type, operator: In, values: [t3.medium]}
    - key: karpenter.sh/capacity-type
      operator: In
      values: ["spot"]
  providerRef: {name: default}
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec:
  instanceProfile: main
  subnetSelector: {karpenter.sh/discovery: main}
  securityGroupSelector: {karpenter.sh/discovery: main}
"""


def test_objects_that_only_older_releases_serve_are_judged_as_what_they_become(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {"pool.yaml": OLD_POOL, "k.yaml": helm_release("v0.27.5")})
    done = nodelint("check", "--fix")
    assert done.returncode == 0, "that release serves v1alpha5"
    assert (tmp_path / "pool.yaml").read_text(encoding="utf-8") == OLD_POOL, "0.27.5 serves nothing newer"
    assert "pool.yaml:1:13: warning[removed-api]: `Provisioner` was removed in Karpenter 0.33" in by_place(
        done.stdout
    )
    assert "  note: Karpenter 0.27.5, which k.yaml:2 states, still serves it;" in done.stdout
    assert (
        "pool.yaml:9:15: warning[narrow-spot]: the Provisioner allows only spot capacity of 1 instance type"
        in by_place(done.stdout)
    )
    assert (
        f"Target of 2 objects: Karpenter {NEWEST}; k.yaml:2 (the HelmRelease) states 0.27.5, which is older than"
        " nodelint knows: they are judged as converted to v1.\n" in done.stdout
    )
    assert nodelint("check", "--fix", "--karpenter-version", "1.14.1").returncode == 0
    assert "kind: NodePool" in (tmp_path / "pool.yaml").read_text(encoding="utf-8")


def test_objects_that_the_stated_release_serves_no_more_are_errors(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {"pool.yaml": OLD_POOL, "k.yaml": helm_release("v0.36.1")})
    done = nodelint("check")
    assert done.returncode == 1 and "error[removed-api]: `Provisioner`" in done.stdout
    assert "still serves it" not in done.stdout


def test_an_api_that_no_release_had_is_served_by_none(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {"pool.yaml": nodepool().replace("karpenter.sh/v1\n", "karpenter.sh/v1alpha5\n")})
    write(tmp_path, {"k.yaml": helm_release("0.37.0")})
    done = nodelint("check")
    assert "error[removed-api]: `karpenter.sh/v1alpha5` has no kind NodePool" in done.stdout
    assert "no release had this version: write v1, or v1beta1" in " ".join(done.stdout.split())
    assert "still serves it" not in done.stdout


def test_the_nearest_release_that_serves_an_old_api_counts(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {"class.yaml": OLD_CLASS})
    write(tmp_path, {"other/k.yaml": helm_release("1.9.1"), "k.yaml": "", "older/k.yaml": helm_release("0.37.0")})
    assert "error[removed-api]" not in nodelint("check").stdout, "one of the two that are equally near serves it"
    write(tmp_path, {"class.yaml": POOL})
    assert "for Karpenter 1.9.1" in nodelint("check").stdout, "no release before 1.0.0 serves v1"


def test_a_release_that_serves_an_old_api_is_no_error(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {"class.yaml": OLD_CLASS, "k.yaml": helm_release("1.0.8")})
    done = nodelint("check")
    assert done.returncode == 0
    assert "info[removed-api]: Karpenter 1.0 is the last release with `karpenter.k8s.aws/v1beta1`: 1.1" in done.stdout
    write(tmp_path, {"k.yaml": helm_release("1.1.0")})
    assert "error[removed-api]" in nodelint("check").stdout


def test_a_finding_of_a_range_says_for_which_releases_it_holds(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {"pool.yaml": POOL})
    [finding] = judged(nodelint, "--karpenter-version", ">=1.0 <=1.14")["findings"]
    assert finding["releases"] == [{"from": "1.1.0", "to": "1.3.8"}]
    done = nodelint("check", "--karpenter-version", ">=1.0 <=1.14")
    assert "stays an estimate (Karpenter 1.1.0 to 1.3.8)\n" in done.stdout
    (line,) = lines(done)
    assert line.startswith("Found 1 info in 2 objects in 1 file, for Karpenter 1.0.0 to 1.14.3; ")
    all_of_it = nodelint("check", "--karpenter-version", ">=1.1, <1.4")
    assert "stays an estimate\n" in all_of_it.stdout, "nothing is said of releases where it holds for all"
    assert judged(nodelint, "--karpenter-version", ">=1.4")["findings"] == []


def test_a_fix_for_one_release_of_several_breaks_none(tmp_path: Path, nodelint: Run) -> None:
    text = POOL.replace("alias: al2023@v20250403", "ssmParameter: /images/mine").replace(
        "role:", "amiFamily: AL2023\n  role:"
    )
    write(tmp_path, {"pool.yaml": text})
    found = judged(nodelint, "--karpenter-version", "1.3 || 1.5")["findings"]
    assert [f["releases"] for f in found if f["severity"] == "error"] == [[{"from": "1.3.0", "to": "1.3.8"}]]
    nodelint("check", "--fix", "--karpenter-version", "1.3 || 1.5")
    assert (tmp_path / "pool.yaml").read_text(encoding="utf-8") == text


# -- ranges


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        (">=1.0 <=1.14", "1.0.0", "1.14.3"),
        (">1.2,<1.4", "1.3.0", "1.3.8"),
        (">= 1.2.2 < v1.2.5", "1.2.2", "1.2.4"),
        ("=1.3", "1.3.0", "1.3.8"),
        ("1.3 || 1.5", "1.3.0", "1.5.8"),
        ("<1.1 || ==1.3.1", "1.0.0", "1.3.1"),
    ],
)
def test_a_version_in_a_range_stands_for_all_that_begin_with_it(text: str, first: str, last: str) -> None:
    found = releases_in(text)
    assert (str(found[0]), str(found[-1])) == (first, last)


def test_a_range_is_parted_where_something_changes() -> None:
    assert [str(run) for run in runs(releases_in(">=1.2 <1.5"))] == [
        "1.2.0 to 1.2.1",
        "1.2.2 to 1.2.8",
        "1.3.0 to 1.3.8",
        "1.4.0 to 1.4.4",
    ]


@pytest.mark.slow
def test_releases_that_the_code_tells_apart_are_known_as_such() -> None:
    found = set()
    for path in [*(ROOT / "nodelint").rglob("*.py"), *(ROOT / "rules").glob("*.py")]:
        for node in nodes(path):
            if isinstance(node, ast.Call) and called_name(node.func) == "Version" and len(node.args) == 3:
                if all(isinstance(arg, ast.Constant) for arg in node.args):
                    found.add(Version(*(ast.literal_eval(arg) for arg in node.args)))
            elif isinstance(node, ast.keyword) and node.arg == "releases" and isinstance(node.value, ast.Constant):
                numbers = re.findall(r"\d+\.\d+\.\d+", str(node.value.value))
                found.update(Version.parse(number) for number in numbers)
    assert found, "the code names releases"
    missing = sorted(map(str, found - set(turning_points())))
    assert not missing, f"nodelint/model/ranges.py lists them in IN_CODE: {missing}"


Said = list[tuple[str, str, int, str]]


@pytest.fixture(scope="module")
def results_at(rules: dict[str, Rule]) -> Callable[[Version, int], Said]:
    """What is found at a release in half of the first bad examples of each rule, and of those for a release."""
    bad = {name: [e for e in examples(rule.page) if not e.good] for name, rule in rules.items()}
    texts = [e.text for value in bad.values() for n, e in enumerate(value) if n == 0 or e.karpenter]
    sources = [Source.from_text(f"{n}.yaml", text) for n, text in enumerate(texts)]

    @cache
    def judge(release: Version, half: int) -> Said:
        results = lint(sources[half::2], LintRequest(Target(release), rules)).results
        return [(r.rule.name, r.span.source.path, r.span.start, r.severity) for r in results]

    return judge


RUNS = [run for run in runs(RELEASES) if run.first != run.last]


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_nothing_changes_within_a_run_of_releases(run: Releases, results_at: Callable[[Version, int], Said]) -> None:
    half = RUNS.index(run) % 2
    assert results_at(run.first, half) == results_at(run.last, half)


def test_releases_do_differ(results_at: Callable[[Version, int], Said]) -> None:
    first, *_, last = runs(RELEASES)
    assert results_at(first.first, 0) != results_at(last.last, 0)


# -- what an older release would find


STATIC = POOL.replace("spec:\n  template", "spec:\n  replicas: 2\n  template", 1)


def last_line(done: CompletedProcess[str]) -> str:
    """The line above the verdict."""
    return done.stdout.splitlines()[-2]


def test_where_no_file_states_a_release_one_line_says_what_an_older_one_would_find(
    tmp_path: Path, nodelint: Run
) -> None:
    write(tmp_path, {"pool.yaml": STATIC})
    message = "On Karpenter 1.7 and older: 1 more finding; `--karpenter-version 1.7` shows details."
    assert last_line(nodelint("check")) == message
    assert judged(nodelint)["summary"]["older"] == {"release": "1.7.6", "findings": 1, "least": False}
    assert judged(nodelint, "--karpenter-version", "1.7")["summary"]["errors"] == 1, "it does"
    write(tmp_path, {"k.yaml": helm_release("1.9.1")})
    assert judged(nodelint)["summary"]["older"] is None, "the release is known"


def test_the_release_up_to_which_all_of_it_holds_is_named(tmp_path: Path, nodelint: Run) -> None:
    only_since_1_8 = STATIC.replace("amd64", "amd64, arm64")
    write(tmp_path, {"pool.yaml": only_since_1_8})
    older = judged(nodelint, "--ignore", "undiscovered-memory")["summary"]["older"]
    assert older is not None and older["release"] == "1.7.6"
    versions = ("1.7.6", "1.8.0")
    errors = [judged(nodelint, "--karpenter-version", version)["summary"]["errors"] for version in versions]
    assert errors == [older["findings"], 0]


def test_of_many_objects_a_few_are_tried(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {f"{n}/pool.yaml": STATIC for n in range(5)})
    assert last_line(nodelint("check")) == (
        "On Karpenter 1.7 and older: at least 2 more findings; `--karpenter-version 1.7` shows details."
    )


def test_nothing_is_said_of_older_releases_where_they_would_find_nothing(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {"pool.yaml": POOL.replace("alias: al2023@v20250403", "id: ami-0a1b2c3d4e5f60718")})
    assert "older" not in nodelint("check", "--ignore", "unused-suppression").stdout
    write(tmp_path, {"pool.yaml": POOL})
    assert "older" not in nodelint("check", "--ignore", "undiscovered-memory").stdout


def test_explain_is_for_the_release_of_each_pool(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, CLUSTERS)
    output = [line for line in nodelint("explain").stdout.splitlines() if line.startswith("Karpenter ")]
    assert output == ["Karpenter 1.8.1, Kubernetes 1.32", "Karpenter 1.2.1, Kubernetes 1.32"]


AUTO_MODE = nodepool(
    "key: eks.amazonaws.com/instance-category, operator: In, values: [c]",
    name="batch",
    ref="{group: eks.amazonaws.com, kind: NodeClass, name: default}",
)


def test_pools_of_another_controller_have_not_its_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodelint: Run
) -> None:
    write(tmp_path, {"karpenter.yaml": helm_release("1.2.1"), "pool.yaml": POOL, "auto.yaml": AUTO_MODE})
    monkeypatch.chdir(tmp_path)
    of = {
        obj["path"]: (target["karpenter"][0]["from"], [entry["version"] for entry in target["evidence"]])
        for target in judged(nodelint)["summary"]["targets"]
        for obj in target["objects"]
    }
    assert of == {"pool.yaml": ("1.2.1", ["1.2.1"]), "auto.yaml": (str(NEWEST), [])}
    named = judged(nodelint, "--karpenter-version", "1.4.0")["summary"]
    assert named["karpenter"] == "1.4.0"


def test_a_pool_of_a_chart_has_one_release_in_all_commands(tmp_path: Path, nodelint: Run) -> None:
    """Another folder has a pool of the name, with the release: the chart is of no cluster's folder."""
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\n"
        "spec: {chart: {spec: {chart: karpenter, version: 1.6.2, sourceRef: {kind: HelmRepository, name: k}}}}\n"
    )
    template = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", name="{{ $name }}")
    write_files(
        tmp_path,
        {
            "charts/fleet/Chart.yaml": "apiVersion: v2\nname: fleet\nversion: 0.1.0\n",
            "charts/fleet/values.yaml": "pools: {web: {}}\n",
            "charts/fleet/templates/pools.yaml": (
                f"{{{{ range $name, $p := .Values.pools }}}}\n---\n{template}{{{{ end }}}}\n"
            ),
            "charts/fleet/templates/class.yaml": nodeclass(),
            "infrastructure/karpenter/base/pool.yaml": nodepool(name="web"),
            "infrastructure/karpenter/base/release.yaml": release,
        },
    )
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    outputs = [
        nodelint("check", "--show-files", "charts/fleet/templates").stdout,
        nodelint("explain", "charts", "--nodepool", "web").stdout,
        nodelint("plan", "charts").stdout,
    ]
    assert ["Karpenter 1.6.2" in text for text in outputs] == [True] * 3, outputs
    assert not [text for text in outputs if "no file states" in text]
