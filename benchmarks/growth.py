"""Count how the calls of a run grow with its input: each command, on each input form, at n, 2n and 4n.

    python benchmarks/growth.py                     the whole table
    python benchmarks/growth.py --only terraform    the rows whose name holds a word

The exponent is that of what is added: the work between 2n and 4n, beside the work between n and 2n, so that the
start which all sizes share counts nothing. 1.0 is work that grows as the input does, 2.0 work that grows with its
square. Ends with code 1 where an exponent is above `--at-most`. `tests/project/test_growth_of_commands.py` holds some
of the rows.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

import inputs
import large_inputs

AT_MOST = 1.1
"""The exponent up to which work counts as growing with its input."""

CHECK = ("check", "--jobs", "1")
FIX = (*CHECK, "--diff", "--unsafe-fixes")
READERS = (CHECK, ("explain",), ("hash",), ("fit",), ("upgrade", "--from", "1.6.0", "--to", "1.14.1"))

Write = Callable[[Path, int], None]


class Row(NamedTuple):
    """A command over an input: what writes the input of a size, the smallest size, and the words of the run."""

    write: Write
    size: int
    words: tuple[str, ...]
    old: bool = False
    """Whether the run compares the input with a copy of which every object differs."""


WRONG = inputs.POOL.replace('["amd64"]', '["x86_64"]').replace('"spot"', '"spots"')
"""A pair with two mistakes that have a fix."""


def name_pair(text: str, n: int) -> str:
    """Give the objects of a pair a name of their own."""
    return text.replace("name: default", f"name: pool-{n}")


def write_files(folder: Path, count: int) -> None:
    """Files with a pair each."""
    inputs.write_pairs(folder, count)


def write_stream(folder: Path, count: int) -> None:
    """One file with all pairs."""
    inputs.write_stream_of_pairs(folder / "objects.yaml", count)


def write_wrong_files(folder: Path, count: int) -> None:
    """Files with a pair each, each with two mistakes."""
    for n in range(count):
        inputs.write_text(folder / f"pool-{n}.yaml", name_pair(WRONG, n))


def write_wrong_stream(folder: Path, count: int) -> None:
    """One file with all pairs, each with two mistakes."""
    inputs.write_text(folder / "objects.yaml", "---\n".join(name_pair(WRONG, n) for n in range(count)))


def write_workloads(folder: Path, count: int) -> None:
    """Four pairs, and workloads that each ask for more than the one before."""
    inputs.write_pairs(folder / "fleet", 4)
    inputs.write_workloads(folder / "apps", count)


def write_other_files(folder: Path, count: int) -> None:
    """One pair among files that hold no object of Karpenter's."""
    inputs.write_pairs(folder, 1)
    inputs.write_deployments(folder / "apps", count)


def write_overlay(folder: Path, count: int) -> None:
    """One overlay over a base of so many pairs."""
    inputs.write_overlay(folder, count)


def write_overlays(folder: Path, count: int) -> None:
    """So many overlays over a base of two pairs."""
    inputs.write_overlay(folder, 2)
    for n in range(count):
        text = inputs.OVERLAY.replace("../base", "../../base").replace("value: 100", f"value: {100 + n}")
        inputs.write_text(folder / "clusters" / f"c{n}" / "kustomization.yaml", text)


def write_chain(folder: Path, count: int) -> None:
    """Overlays that each stand on the one before."""
    inputs.write_overlay(folder, 1)
    before = "../base"
    for n in range(count):
        inputs.write_text(folder / f"layer-{n}" / "kustomization.yaml", f"resources:\n  - {before}\n")
        before = f"../layer-{n}"


def write_chart(folder: Path, count: int) -> None:
    """A chart whose templates make so many pairs."""
    inputs.write_chart(folder, count)


def write_range(folder: Path, count: int) -> None:
    """A chart with one template that makes a pair for each entry of its values."""
    entries = "".join(f"  - {{name: pool-{n}, cpu: {500 + n}}}\n" for n in range(count))
    text = inputs.POOL.replace("name: default", "name: {{ .name }}").replace("cpu: 1000", "cpu: {{ .cpu }}")
    inputs.write_text(folder / "Chart.yaml", "apiVersion: v2\nname: pools\nversion: 1.0.0\n")
    inputs.write_text(folder / "values.yaml", f"pools:\n{entries}")
    inputs.write_text(
        folder / "templates" / "pools.yaml", f"{{{{- range .Values.pools }}}}\n---\n{text}{{{{- end }}}}\n"
    )


def write_values_files(folder: Path, count: int) -> None:
    """A chart of two pairs with so many values files beside its own."""
    inputs.write_chart(folder, 2)
    for n in range(count):
        inputs.write_text(folder / f"values-c{n}.yaml", f'generation: "{2 + n % 5}"\nlabels: {{cluster: c{n}}}\n')


def write_vendored_charts(folder: Path, count: int) -> None:
    """A pair beside charts that make none, and name Karpenter."""
    inputs.write_pairs(folder, 1)
    for n in range(count):
        home = folder / "charts" / f"app-{n}"
        inputs.write_text(home / "Chart.yaml", f"apiVersion: v2\nname: app-{n}\nversion: 1.0.0\n")
        inputs.write_text(home / "values.yaml", "replicas: 2\nimage: {tag: one}\n")
        text = inputs.DEPLOYMENT.format(n=n).replace("replicas: 2", "replicas: {{ .Values.replicas }}")
        inputs.write_text(home / "templates" / "app.yaml", f"# on nodes of karpenter\n{text}")
        text = "# beside karpenter\napiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\n"
        inputs.write_text(home / "templates" / "service.yaml", text)


def write_terraform(folder: Path, count: int) -> None:
    """A root module with so many pairs."""
    inputs.write_terraform(folder, count)


def write_wrong_terraform(folder: Path, count: int) -> None:
    """A root module with so many pairs, each with two mistakes."""
    blocks = []
    for n in range(count):
        pool, _, node_class = name_pair(WRONG, n).partition("---\n")
        for kind, text in (("pool", pool), ("class", node_class)):
            blocks.append(inputs.TERRAFORM.format(kind=kind, n=n, text=indent(text, "    ")))
    inputs.write_text(folder / "main.tf", "".join(blocks))


MODULE = 'variable "name" {}\nvariable "cpu" { default = 100 }\n' + "".join(
    inputs.TERRAFORM.format(kind=kind, n="one", text=indent(text, "    "))
    for kind, text in zip(
        ("pool", "class"),
        inputs.POOL.replace("name: default", "name: ${var.name}")
        .replace("cpu: 1000", "cpu: ${var.cpu}")
        .split("---\n"),
        strict=True,
    )
)


def write_calls(folder: Path, count: int) -> None:
    """A module with so many callers."""
    inputs.write_text(folder / "modules" / "pool" / "main.tf", MODULE)
    for n in range(count):
        text = f'module "pool" {{\n  source = "../../modules/pool"\n  name = "pool-{n}"\n  cpu = {100 + n}\n}}\n'
        inputs.write_text(folder / "live" / f"c{n}" / "main.tf", text)


def write_instances(folder: Path, count: int) -> None:
    """A module called for each of so many keys."""
    inputs.write_text(folder / "pool" / "main.tf", MODULE)
    pools = "".join(f"    pool-{n} = {100 + n}\n" for n in range(count))
    text = f'locals {{\n  pools = {{\n{pools}  }}\n}}\nmodule "pool" {{\n  for_each = local.pools\n'
    inputs.write_text(folder / "main.tf", f'{text}  source = "./pool"\n  name = each.key\n  cpu = each.value\n}}\n')


def write_variable_files(folder: Path, count: int) -> None:
    """A root module with so many files of variables."""
    inputs.write_text(folder / "main.tf", MODULE)
    for n in range(count):
        inputs.write_text(folder / f"c{n}.tfvars", f'name = "pool-{n}"\ncpu = {100 + n}\n')


def write_terragrunt(folder: Path, count: int) -> None:
    """A module with so many units of Terragrunt below one root."""
    inputs.write_text(folder / "modules" / "pool" / "main.tf", MODULE)
    inputs.write_text(folder / "live" / "root.hcl", 'locals {\n  team = "platform"\n}\ninputs = { cpu = 200 }\n')
    include = 'include "root" {\n  path = find_in_parent_folders("root.hcl")\n}\n'
    for n in range(count):
        text = f'{include}terraform {{\n  source = "../../modules/pool"\n}}\ninputs = {{ name = "pool-{n}" }}\n'
        inputs.write_text(folder / "live" / f"c{n}" / "terragrunt.hcl", text)


FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: c{n}, namespace: flux-system}}
spec:
  path: ./base
  sourceRef: {{kind: GitRepository, name: flux-system}}
  postBuild: {{substitute: {{cluster: c{n}}}}}
"""


def write_flux(folder: Path, count: int) -> None:
    """So many Kustomizations of Flux over one base."""
    inputs.write_overlay(folder, 1)
    for n in range(count):
        inputs.write_text(folder / "clusters" / f"c{n}.yaml", FLUX.format(n=n))


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: c{n}, namespace: karpenter}}
spec:
  chart: {{spec: {{chart: ./chart, sourceRef: {{kind: GitRepository, name: flux-system}}}}}}
  values: {{generation: "{generation}", labels: {{cluster: c{n}}}}}
"""


def write_releases(folder: Path, count: int) -> None:
    """So many HelmReleases of a chart of two pairs."""
    inputs.write_chart(folder / "chart", 2)
    for n in range(count):
        inputs.write_text(folder / "clusters" / f"c{n}.yaml", RELEASE.format(n=n, generation=2 + n % 5))


INSTALL = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: karpenter, namespace: karpenter}}
spec:
  chart: {{spec: {{chart: karpenter, version: 1.14.{patch}}}}}
  values: {{settings: {{clusterName: c{n}, interruptionQueue: c{n}}}}}
"""


def write_installs(folder: Path, count: int) -> None:
    """So many clusters in folders of their own, each with a pair and what installs Karpenter."""
    for n in range(count):
        inputs.write_text(folder / "clusters" / f"c{n}" / "karpenter.yaml", INSTALL.format(n=n, patch=n % 2))
        inputs.write_text(folder / "clusters" / f"c{n}" / "objects.yaml", inputs.make_pair(n))


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: c{n}, namespace: argocd}}
spec:
  source:
    repoURL: https://git.example/repository.git
    path: chart
    helm: {{valuesObject: {{generation: "{generation}"}}}}
  destination: {{name: c{n}}}
"""


def write_applications(folder: Path, count: int) -> None:
    """So many Applications of Argo CD of a chart of two pairs."""
    inputs.write_chart(folder / "chart", 2)
    for n in range(count):
        inputs.write_text(folder / "clusters" / f"c{n}.yaml", APPLICATION.format(n=n, generation=2 + n % 5))


def write_generator(folder: Path, count: int) -> None:
    """One ApplicationSet with so many elements."""
    inputs.write_chart(folder / "chart", 2)
    elements = "".join(f'          - {{name: c{n}, generation: "{2 + n % 5}"}}\n' for n in range(count))
    text = f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: clusters}}
spec:
  goTemplate: true
  generators:
    - list:
        elements:
{elements}  template:
    metadata: {{name: '{{{{.name}}}}'}}
    spec:
      source:
        repoURL: https://git.example/repository.git
        path: chart
        helm: {{valuesObject: {{generation: '{{{{.generation}}}}'}}}}
      destination: {{name: '{{{{.name}}}}'}}
"""
    inputs.write_text(folder / "clusters.yaml", text)


GIT_GENERATOR = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: clusters}
spec:
  goTemplate: true
  generators:
    - git:
        repoURL: https://git.example/repository.git
        files:
          - path: clusters/*/config.yaml
  template:
    metadata: {name: '{{.name}}'}
    spec:
      source:
        repoURL: https://git.example/repository.git
        path: chart
        helm: {valuesObject: {generation: '{{.generation}}'}}
      destination: {name: '{{.name}}'}
"""


def write_generator_files(folder: Path, count: int) -> None:
    """One ApplicationSet with so many files that its generator reads."""
    inputs.write_chart(folder / "chart", 2)
    inputs.write_text(folder / "clusters.yaml", GIT_GENERATOR)
    for n in range(count):
        inputs.write_text(folder / "clusters" / f"c{n}" / "config.yaml", f'name: c{n}\ngeneration: "{2 + n % 5}"\n')


def write_helmfile(folder: Path, count: int) -> None:
    """A helmfile with so many releases of a chart of two pairs."""
    inputs.write_chart(folder / "chart", 2)
    releases = "".join(
        f'  - name: c{n}\n    chart: ./chart\n    values:\n      - generation: "{2 + n % 5}"\n' for n in range(count)
    )
    inputs.write_text(folder / "helmfile.yaml", f"releases:\n{releases}")


def with_mistakes(write: Write) -> Write:
    """Return a function that writes the same input with two mistakes in each pair, each with a fix."""

    def write_wrong(folder: Path, count: int) -> None:
        write(folder, count)
        for path in folder.rglob("*"):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                path.write_text(
                    text.replace('["amd64"]', '["x86_64"]').replace('"spot"', '"spots"'), encoding="utf-8"
                )

    return write_wrong


def write_large(name: str) -> Write:
    """What a writer of `large_inputs` makes, under the signature of the others."""

    def write(folder: Path, count: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        getattr(large_inputs, name)(folder, count)

    return write


FORMS: Mapping[str, tuple[Write, int]] = {
    "files": (write_files, 8),
    "stream": (write_stream, 8),
    "workloads": (write_workloads, 12),
    "overlay": (write_overlay, 6),
    "overlays": (write_overlays, 10),
    "chain of overlays": (write_chain, 6),
    "chart": (write_chart, 6),
    "chart with range": (write_range, 6),
    "values files": (write_values_files, 8),
    "vendored charts": (write_vendored_charts, 16),
    "terraform": (write_terraform, 6),
    "callers of a terraform module": (write_calls, 8),
    "instances of a terraform module": (write_instances, 8),
    "terraform variable files": (write_variable_files, 8),
    "terragrunt": (write_terragrunt, 8),
    "flux": (write_flux, 8),
    "flux releases": (write_releases, 8),
    "installs": (write_installs, 40),
    "argocd applications": (write_applications, 8),
    "argocd generator": (write_generator, 8),
    "argocd generator of files": (write_generator_files, 8),
    "helmfile": (write_helmfile, 8),
    "other files": (write_other_files, 40),
}

ROWS: Mapping[str, Row] = {
    **{f"{words[0]}, {form}": Row(write, size, words) for form, (write, size) in FORMS.items() for words in READERS},
    **{f"plan, {form}": Row(write, size, ("plan",), old=True) for form, (write, size) in FORMS.items()},
    "strict, files": Row(write_files, 8, (*CHECK, "--profile", "strict")),
    "fixes, files": Row(write_wrong_files, 6, FIX),
    "fixes, stream": Row(write_wrong_stream, 6, FIX),
    "fixes, terraform": Row(write_wrong_terraform, 6, FIX),
    **{
        f"fixes, {form}": Row(with_mistakes(FORMS[form][0]), FORMS[form][1], FIX)
        for form in (
            "overlay", "chart", "flux releases", "argocd applications", "argocd generator of files", "helmfile",
            "callers of a terraform module", "terragrunt",
        )
    },
    **{
        f"check, {name.removeprefix('write_').replace('_', ' ')}": Row(write_large(name), size, CHECK)
        for name, size in (
            ("write_findings", 20), ("write_not_in", 20), ("write_old_version", 10), ("write_types", 60),
            ("write_comments", 40), ("write_comments_above", 40), ("write_unknown_fields", 30),
            ("write_unknown_labels", 20), ("write_excludes", 20),
        )
    },
}  # fmt: skip


def write_sides(row: Row, folder: Path, size: int) -> list[str]:
    """Write the input of a row below a folder; return the words of its run there."""
    row.write(folder / "new", size)
    (folder / "new" / ".git").mkdir(exist_ok=True)
    if not row.old:
        return [*row.words, str(folder / "new")]
    row.write(folder / "old", size)
    for path in (folder / "old").rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("720h", "700h").replace("cpu: 2", "cpu: 3"), encoding="utf-8")
    return [*row.words, "--old", str(folder / "old"), str(folder / "new")]


def count_work(words: list[str], folder: Path) -> int:
    """Return the calls of a run, made in a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("calls.py")), "--count", *words]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONHASHSEED": "0"}, capture_output=True, text=True
    )
    if done.returncode or not done.stdout.strip().isdigit():
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip() or done.stdout}")
    return int(done.stdout)


def find_exponent(calls: list[int]) -> float:
    """Return by which power of the input the work between its sizes grows; 0 for work that hardly grows at all."""
    first, second = calls[1] - calls[0], calls[2] - calls[1]
    return math.log2(second / first) if first > 0 and second > 0 and second > calls[0] / 50 else 0.0


def measure_rows(word: str) -> Iterator[tuple[str, list[int], float]]:
    """Each row whose name holds a word: its calls at n, 2n and 4n, and the exponent."""
    for name, row in ROWS.items():
        if word not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            calls = []
            for times in (1, 2, 4):
                home = Path(folder, str(times))
                calls.append(count_work(write_sides(row, home, row.size * times), Path(folder)))
        yield name, calls, find_exponent(calls)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD", help="Rows whose name holds this word.")
    parser.add_argument("--at-most", type=float, default=AT_MOST, metavar="EXPONENT", help="What is let pass.")
    options = parser.parse_args()
    print(
        "| work | n | calls at n | at 2n | at 4n | exponent |\n| --- | ---: | ---: | ---: | ---: | ---: |", flush=True
    )
    steep = []
    for name, calls, exponent in measure_rows(options.only):
        counts = " | ".join(f"{count:,}" for count in calls)
        print(f"| {name} | {ROWS[name].size} | {counts} | {exponent:.2f} |", flush=True)
        if exponent > options.at_most:
            steep.append(name)
    if steep:
        raise SystemExit(f"grows faster than its input: {', '.join(steep)}")


if __name__ == "__main__":
    main()
