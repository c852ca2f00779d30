"""Which release counts for a pool in a repository of several clusters: every command takes that of its cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]


def _pool(name: str, spec: str = "") -> str:
    return f"""\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  {spec or "weight: 1"}
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}}
      expireAfter: 720h
      requirements: [{{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}}]
  limits: {{cpu: 10}}
"""


def _application(name: str, source: str, destination: str = "server: https://kubernetes.default.svc") -> str:
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {name}, namespace: argocd}}
spec:
  source: {{repoURL: https://git.example.com/acme/fleet.git, {source}}}
  destination: {{{destination}, namespace: kube-system}}
"""


def _karpenter(version: str, destination: str = "server: https://kubernetes.default.svc") -> str:
    made = _application("karpenter", f"chart: karpenter, targetRevision: {version}", destination)
    return made.replace("https://git.example.com/acme/fleet.git", "public.ecr.aws/karpenter")


def _helm_release(version: str) -> str:
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: karpenter, namespace: kube-system}}
spec:
  chart:
    spec: {{chart: karpenter, version: {version}, sourceRef: {{kind: HelmRepository, name: karpenter}}}}
"""


def _kustomization(name: str, path: str, more: str = "") -> str:
    return f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  path: {path}
  prune: true
  sourceRef: {{kind: GitRepository, name: fleet}}
{more}"""


def _helm_resource(version: str) -> str:
    return f"""\
resource "helm_release" "karpenter" {{
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "{version}"
}}
"""


def _manifest(name: str) -> str:
    return f'resource "kubectl_manifest" "{name}" {{\n  yaml_body = <<-EOT\n{_pool(name)}EOT\n}}\n'


_OVERLAYS = {
    "base/kustomization.yaml": "resources: [pool.yaml]\n",
    "base/pool.yaml": _pool("general"),
    "overlays/prod/kustomization.yaml": "resources: [../../base]\nnamePrefix: prod-\n",
    "overlays/staging/kustomization.yaml": "resources: [../../base]\nnamePrefix: staging-\n",
}
_PATCH = "  patches:\n    - {target: {kind: NodePool}, patch: '[{op: replace, path: /spec/weight, value: 2}]'}\n"
_TERRAFORM = {"terraform/main.tf": _helm_resource("1.8.1") + _manifest("dev")}
_CHART = {
    "charts/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "charts/pools/values.yaml": "name: general\n",
    "charts/pools/templates/pool.yaml": _pool("{{ .Values.name }}"),
}
_SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %s, namespace: argocd}
spec:
  generators:
    - list:
        elements:
          - {cluster: east, version: 1.9.0}
          - {cluster: west, version: 1.6.2}
  template:
    metadata: {name: 'x-{{cluster}}'}
    spec:
      source: {repoURL: %s}
      destination: {name: '{{cluster}}', namespace: kube-system}
"""

LAYOUTS: dict[str, tuple[Mapping[str, str], Mapping[str, set[str]]]] = {
    "Argo CD, one folder for each cluster": (
        {
            **_OVERLAYS,
            **_TERRAFORM,
            "clusters/prod/karpenter.yaml": _karpenter("1.9.0"),
            "clusters/prod/nodes.yaml": _application("nodes", "path: overlays/prod"),
            "clusters/staging/karpenter.yaml": _karpenter("1.6.2"),
            "clusters/staging/nodes.yaml": _application("nodes", "path: overlays/staging"),
        },
        {"prod-general": {"1.9.0"}, "staging-general": {"1.6.2"}, "dev": {"1.8.1"}},
    ),
    "Flux, with and without changes of the folder": (
        {
            **_OVERLAYS,
            **_TERRAFORM,
            "clusters/prod/karpenter.yaml": _helm_release("1.9.0"),
            "clusters/prod/nodes.yaml": _kustomization("nodes", "./overlays/prod", _PATCH),
            "clusters/staging/karpenter.yaml": _helm_release("1.6.2"),
            "clusters/staging/nodes.yaml": _kustomization("nodes", "./overlays/staging"),
        },
        {"prod-general": {"1.9.0"}, "staging-general": {"1.6.2"}, "dev": {"1.8.1"}},
    ),
    "Flux deploys the release, too": (
        {
            **_OVERLAYS,
            "infra/one/karpenter.yaml": _helm_release("1.9.0"),
            "infra/two/karpenter.yaml": _helm_release("1.6.2"),
            "clusters/alpha/all.yaml": _kustomization("infra", "./infra/one")
            + "---\n"
            + _kustomization("nodes", "./overlays/prod"),
            "clusters/beta/all.yaml": _kustomization("infra", "./infra/two")
            + "---\n"
            + _kustomization("nodes", "./overlays/staging"),
        },
        {"prod-general": {"1.9.0"}, "staging-general": {"1.6.2"}},
    ),
    "Argo CD in one folder, by destination": (
        {
            **_OVERLAYS,
            "argocd/a.yaml": _karpenter("1.9.0", "name: east"),
            "argocd/b.yaml": _karpenter("1.6.2", "name: west"),
            "argocd/c.yaml": _application("one", "path: overlays/prod", "name: east"),
            "argocd/d.yaml": _application("two", "path: overlays/staging", "name: west"),
        },
        {"prod-general": {"1.9.0"}, "staging-general": {"1.6.2"}},
    ),
    "an ApplicationSet by cluster": (
        {
            **_CHART,
            "argocd/karpenter.yaml": _SET
            % ("karpenter", "public.ecr.aws/karpenter, chart: karpenter, targetRevision: '{{version}}'"),
            "argocd/pools.yaml": _SET
            % (
                "pools",
                "https://git.example.com/f.git, path: charts/pools, helm: {valuesObject: {name: 'of-{{cluster}}'}}",
            ),
        },
        {"of-east": {"1.9.0"}, "of-west": {"1.6.2"}, "general": {"1.6.2", "1.9.0"}},
    ),
    "folders named for environments, without deployers": (
        {
            "karpenter/prod/release.yaml": _helm_release("1.9.0"),
            "karpenter/staging/release.yaml": _helm_release("1.6.2"),
            "pools/prod/pool.yaml": _pool("one"),
            "pools/staging/pool.yaml": _pool("two"),
        },
        {"one": {"1.9.0"}, "two": {"1.6.2"}},
    ),
    "a Terraform root for each environment": (
        {
            "environments/prod/main.tf": _helm_resource("1.9.0") + _manifest("one"),
            "environments/staging/main.tf": _helm_resource("1.6.2") + _manifest("two"),
            "environments/dev/main.tf": _manifest("three"),
        },
        {"one": {"1.9.0"}, "two": {"1.6.2"}, "three": {"newest"}},
    ),
    "nothing states a release for one of the clusters": (
        {
            **_OVERLAYS,
            **_TERRAFORM,
            "clusters/prod/karpenter.yaml": _helm_release("1.9.0"),
            "clusters/prod/nodes.yaml": _kustomization("nodes", "./overlays/prod", _PATCH),
            "clusters/staging/nodes.yaml": _kustomization("nodes", "./overlays/staging"),
        },
        {"prod-general": {"1.9.0"}, "staging-general": {"newest"}, "dev": {"1.8.1"}},
    ),
    "one cluster, and its pools elsewhere": (
        {
            **_OVERLAYS,
            "clusters/prod/karpenter.yaml": _helm_release("1.9.0"),
            "clusters/prod/nodes.yaml": _kustomization("nodes", "./overlays/prod"),
            "pools/extra.yaml": _pool("extra"),
        },
        {"prod-general": {"1.9.0"}, "extra": {"1.9.0"}, "staging-general": {"newest"}},
    ),
    "one root of Terraform installs Karpenter for all": (
        {
            **_OVERLAYS,
            "terraform/main.tf": _helm_resource("1.8.1"),
            "clusters/prod/nodes.yaml": _kustomization("nodes", "./overlays/prod"),
            "clusters/staging/nodes.yaml": _kustomization("nodes", "./overlays/staging"),
        },
        {"prod-general": {"1.8.1"}, "staging-general": {"1.8.1"}},
    ),
}
_NEWEST = "1.15.1"


def _expect(wanted: Mapping[str, set[str]]) -> dict[str, set[str]]:
    return {name: {_NEWEST if release == "newest" else release for release in of} for name, of in wanted.items()}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, str]], None]:
    def write_repository(files: Mapping[str, str]) -> None:
        (tmp_path / ".git").mkdir()
        write_files(tmp_path, files)

    return write_repository


def _releases_by_hash(nodelint: Run, *paths: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in json.loads(nodelint("hash", *paths, "--format", "json").stdout)["objects"]:
        if row["kind"] == "NodePool" and row["name"]:
            found.setdefault(row["name"], set()).add(row["karpenter"])
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_hash_takes_the_release_of_each_cluster(layout: str, nodelint: Run, write: Callable[..., None]) -> None:
    files, wanted = LAYOUTS[layout]
    write(files)
    newest = {name: {max(of, key=lambda r: [*map(int, r.split("."))])} for name, of in _expect(wanted).items()}
    assert _releases_by_hash(nodelint) == newest


def _releases_by_explain(nodelint: Run, *paths: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    name = ""
    for line in nodelint("explain", *paths).stdout.splitlines():
        if line.startswith("NodePool "):
            name = line.split()[1]
        elif line.startswith("Karpenter ") and name:
            found.setdefault(name, set()).add(line.split()[1].rstrip(","))
    return found


def _releases_by_check(nodelint: Run, *paths: str) -> set[str]:
    targets = json.loads(nodelint("check", *paths, "--format", "json").stdout)["summary"]["targets"]
    return {range_["to"] for target in targets for range_ in target["karpenter"]}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_explain_and_check_take_the_same_releases(layout: str, nodelint: Run, write: Callable[..., None]) -> None:
    files, wanted = LAYOUTS[layout]
    write(files)
    of_hash = _releases_by_hash(nodelint)
    of_hash.pop("general", None)  # a chart's defaults, which explain leaves out if the chart is installed
    assert _releases_by_explain(nodelint) == of_hash
    assert _releases_by_check(nodelint) == set().union(*_expect(wanted).values())


CLUSTERS = ["Argo CD, one folder for each cluster", "Flux, with and without changes of the folder"]


@pytest.mark.parametrize("layout", CLUSTERS)
@pytest.mark.parametrize(
    ("cluster", "other", "release"), [("prod", "staging", "1.9.0"), ("staging", "prod", "1.6.2")]
)
def test_the_folder_of_a_cluster_is_about_this_cluster(
    layout: str, cluster: str, other: str, release: str, nodelint: Run, write: Callable[..., None]
) -> None:
    write({**LAYOUTS[layout][0], "workloads/web.yaml": _WORKLOAD})
    folder = f"clusters/{cluster}"
    upgraded = nodelint("upgrade", folder)
    assert f"Karpenter {release} as {folder}/karpenter.yaml" in upgraded.stderr
    assert f"Karpenter {release} to {_NEWEST}: 1 object" in upgraded.stdout
    assert _releases_by_hash(nodelint, folder) == {f"{cluster}-general": {release}}
    assert _releases_by_explain(nodelint, folder) == {f"{cluster}-general": {release}}
    fit = nodelint("fit", folder, "workloads").stdout
    assert f"{cluster}-general" in fit
    assert f"{other}-general" not in fit
    assert "several NodePools" not in fit


_WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/capacity-type: on-demand}
      containers: [{name: web, image: web, resources: {requests: {cpu: 1}}}]
"""


def test_a_field_is_refused_by_the_cluster_that_runs_an_older_release(
    nodelint: Run, write: Callable[..., None]
) -> None:
    files = {
        **LAYOUTS[CLUSTERS[0]][0],
        "base/pool.yaml": _pool("general", "replicas: 2").replace("cpu: 10", "nodes: 4"),
    }
    write(files)
    errors = [line for line in nodelint("check").stdout.splitlines() if line.startswith("error")]
    assert errors == [
        "error[field-of-another-release]: field `replicas` needs Karpenter 1.8.0 or newer, the target is 1.6.2"
    ]


def test_values_of_one_cluster_bring_no_finding_of_another(nodelint: Run, write: Callable[..., None]) -> None:
    helm = "path: charts/pools, helm: {valueFiles: [../../envs/staging.yaml]}"
    write(
        {
            **LAYOUTS[CLUSTERS[0]][0],
            **_CHART,
            "envs/staging.yaml": "name: of-staging\n",
            "clusters/staging/pools.yaml": _application("pools", helm),
        }
    )
    assert "1.8.1" not in nodelint("check", "envs/staging.yaml").stdout


def test_the_file_that_installs_karpenter_has_its_finding_alone_too(
    nodelint: Run, write: Callable[..., None]
) -> None:
    write(LAYOUTS[CLUSTERS[0]][0])
    message = "info[out-of-support]: Karpenter 1.6.2 is out of support since"
    for paths in (["clusters/staging/karpenter.yaml"], ["clusters/staging"], []):
        assert nodelint("check", *paths).stdout.count(message) == 1, paths


_DUMP = """\
apiVersion: v1
kind: Node
metadata: {name: n, labels: {karpenter.sh/nodepool: staging-general}}
---
"""


def test_why_takes_the_release_of_the_pools_in_the_dump(
    tmp_path: Path, nodelint: Run, write: Callable[..., None]
) -> None:
    write(LAYOUTS[CLUSTERS[0]][0])
    (tmp_path / "dump.txt").write_text(_DUMP + _pool("staging-general"), encoding="utf-8")
    assert "Karpenter 1.6.2" in nodelint("why", "dump.txt", "--manifests", ".").stdout
    (tmp_path / "dump.txt").write_text(_DUMP + _pool("another"), encoding="utf-8")
    assert "1.9.0" in (output := nodelint("why", "dump.txt", "--manifests", ".").stdout)
    assert "which also state 1.6.2 and 1.8.1; name one by --karpenter-version" in " ".join(output.split())
