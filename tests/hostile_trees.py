"""One repository full of texts that name files outside of it, or git's own, and a child that watches what is opened.

`python -m tests.hostile_trees FOLDER` runs the commands over it. An audit hook, set before nodelint is imported,
reports each path that is opened or listed outside of the repository or in `.git`; the output shows what is printed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

WORD = "CANARYVALUE"
"""What every file holds that nobody may read, and the variable of the environment."""

VARIABLE = "NAME_OF_TOKEN"

POOL = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
"""
_SECRET = POOL.replace("amd64", WORD).replace("name: web", f"name: {WORD}")
_FILLED = POOL.replace("amd64", "{{ .Values.arch }}")
_CHART = "apiVersion: v2\nname: pools\nversion: 1.0.0\n"
_TEMPLATE = POOL.replace("amd64", "{{ %s }}")
_AT = "spec.template.spec.requirements.0.values.0"
_REPLACED = f"  targets: [{{select: {{kind: NodePool}}, fieldPaths: [{_AT}]}}]\n"
_OPERATION = f"[{{op: replace, path: /{_AT.replace('.', '/')}, value: {WORD}}}]\n"

CANARY = {
    "pool.yaml": _SECRET,
    "kustomization.yaml": "resources: [pool.yaml]\n",
    "component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: x-\n",
    "values.yaml": f"arch: {WORD}\n",
    "secret.txt": WORD,
    "x.env": f"A={WORD}\n",
    "patch.yaml": _OPERATION,
    "replacement.yaml": f"- sourceValue: {WORD}\n{_REPLACED}",
    "main.tf": f'output "o" {{ value = "{WORD}" }}\n',
    "x.tfvars": f'arch = "{WORD}"\n',
    "pool.tftpl": _SECRET,
    "terragrunt.hcl": f'locals {{ x = "{WORD}" }}\ninputs = {{ arch = "{WORD}" }}\n',
    "chart/Chart.yaml": _CHART,
    "chart/values.yaml": f"arch: {WORD}\n",
    "chart/templates/pool.yaml": _SECRET,
}


def _terraform(value: str, more: str = "") -> dict[str, str]:
    head = 'resource "kubectl_manifest" "p" {\n  yaml_body = yamlencode({\n    apiVersion = "karpenter.sh/v1", '
    pool = f'{head}kind = "NodePool", metadata = {{ name = "web" }}\n    spec = {{ template = {{ spec = {{\n'
    pool += '      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "web" }\n'
    pool += f'      requirements = [{{ key = "kubernetes.io/arch", operator = "In", values = [{value}] }}]\n'
    return {"main.tf": f"{pool}    }} }} }}\n  }})\n}}\n{more}\n"}


def _kustomization(text: str) -> dict[str, str]:
    return {"kustomization.yaml": f"resources: [pool.yaml]\n{text}", "pool.yaml": POOL}


def _generated(how: str, key: str) -> dict[str, str]:
    source = f"- source: {{kind: ConfigMap, name: cm, fieldPath: data.{key}}}\n{_REPLACED}"
    return _kustomization(f"configMapGenerator:\n- name: cm\n  {how}\nreplacements:\n{source}")


def _chart(template: str, more: str = "") -> dict[str, str]:
    return {"Chart.yaml": _CHART + more, "values.yaml": "arch: amd64\n", "templates/pool.yaml": template}


def _installed(path: str, text: str) -> dict[str, str]:
    return {**{f"chart/{name}": content for name, content in _chart(_FILLED).items()}, path: text}


def _of_kustomize(out: str) -> Iterator[tuple[str, dict[str, str]]]:
    yield "resource", {"kustomization.yaml": f"resources: [{out}/pool.yaml]\n"}
    yield "base", {"kustomization.yaml": f"resources: [{out}]\n"}
    yield "bases", {"kustomization.yaml": f"bases: [{out}]\n"}
    yield "component", _kustomization(f"components: [{out}/component]\n")
    yield "patch", _kustomization(f"patches: [{{path: {out}/patch.yaml, target: {{kind: NodePool}}}}]\n")
    yield "merge", _kustomization(f"patchesStrategicMerge: [{out}/pool.yaml]\n")
    yield "replacement", _kustomization(f"replacements: [{{path: {out}/replacement.yaml}}]\n")
    yield "files", _generated(f"files: [a={out}/secret.txt]", "a")
    yield "envs", _generated(f"envs: [{out}/x.env]", "A")
    yield "configuration", _kustomization(f"configurations: [{out}/patch.yaml]\n")
    yield "crd", _kustomization(f"crds: [{out}/pool.yaml]\nopenapi: {{path: {out}/pool.yaml}}\n")
    yield "generator", _kustomization(f"generators: [{out}/pool.yaml]\ntransformers: [{out}/pool.yaml]\n")
    inflated = f"[{{name: chart, valuesFile: {out}/values.yaml, additionalValuesFiles: [{out}/values.yaml]}}]"
    yield "inflated", _kustomization(f"helmGlobals: {{chartHome: {out}}}\nhelmCharts: {inflated}\n")


def _of_terraform(out: str) -> Iterator[tuple[str, dict[str, str]]]:
    yield "file", _terraform(f'file("{out}/secret.txt")')
    yield "path", _terraform(f'file("${{path.module}}/{out}/secret.txt")')
    yield "base64", _terraform(f'base64decode(filebase64("{out}/secret.txt"))')
    yield "decode", _terraform(f'yamldecode(file("{out}/values.yaml")).arch')
    yield "exists", _terraform(f'fileexists("{out}/secret.txt") ? "{WORD[:6]}" : "amd64"')
    yield "fileset", _terraform(f'join(",", fileset("{out}", "*"))')
    yield "fileset-up", _terraform(f'join(",", fileset(".", "{out}/*"))')
    yield (
        "template",
        _terraform(
            '"amd64"', f'resource "kubectl_manifest" "q" {{ yaml_body = templatefile("{out}/pool.tftpl", {{}}) }}'
        ),
    )
    yield (
        "manifest",
        _terraform('"amd64"', f'resource "kubectl_manifest" "q" {{ yaml_body = file("{out}/pool.yaml") }}'),
    )
    yield "documents", _terraform('"amd64"', f'data "kubectl_path_documents" "d" {{ pattern = "{out}/*.yaml" }}')
    yield "module", _terraform("module.m.o", f'module "m" {{ source = "{out}" }}')
    body = {"m/main.tf": 'variable "arch" {}\n' + _terraform("var.arch")["main.tf"]}
    include = f'include "r" {{ path = "{out}/terragrunt.hcl" }}\nterraform {{ source = "../m" }}\n'
    yield "include", {**body, "live/terragrunt.hcl": include.replace(out, _deeper(out))}
    read = f'locals {{ c = read_terragrunt_config("{_deeper(out)}/terragrunt.hcl") }}\n'
    yield (
        "read",
        {
            **body,
            "live/terragrunt.hcl": read + 'terraform { source = "../m" }\ninputs = { arch = local.c.locals.x }\n',
        },
    )
    given = f'terraform {{ source = "../m" }}\ninputs = {{ arch = file("{_deeper(out)}/secret.txt") }}\n'
    yield "inputs", {**body, "live/terragrunt.hcl": given}
    given = f'chart = "./chart"\n values = [file("{out}/values.yaml")]'
    release = f'resource "helm_release" "h" {{\n name = "a"\n {given}\n}}\n'
    yield "release", _installed("main.tf", release)


def _deeper(out: str) -> str:
    return out if out.startswith("/") else f"../{out}"


_APPLICATION = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a}
spec:
  source:
    repoURL: https://example.com/y
"""
_RELEASE = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: a}
spec:
  chart: {spec: {chart: ./HERE/chart, sourceRef: {kind: GitRepository, name: x}, valuesFiles: [%s]}}
  values: {name: q}
"""
_SYNC = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: a}
spec:
  sourceRef: {kind: GitRepository, name: x}
"""
_SET = """apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: a}
spec:
  goTemplate: true
  generators:
  - git:
      repoURL: https://example.com/y
      files: [{path: "%s"}]
      directories: [{path: "../*"}]
  template:
    metadata: {name: a}
    spec:
      source: {repoURL: "https://example.com/y", path: HERE/chart, helm: {values: "arch: {{.arch}}"}}
"""
_HELMFILE = """releases:
- {name: a, chart: ./chart, values: [OUT/values.yaml]}
- {name: b, chart: OUT/chart}
"""


def _of_charts(out: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Charts, and what names them; Argo CD and Flux count from the top of the repository, two folders above."""
    yield "get", _chart(_TEMPLATE % f'.Files.Get "{out}/secret.txt"')
    yield "lines", _chart(_TEMPLATE % f'.Files.Lines "{out}/secret.txt" | first')
    needed = f'dependencies: [{{name: c, version: 1.0.0, repository: "file://{out}/chart"}}]\n'
    yield "dependency", _chart(_FILLED, needed)
    top = out.replace("../../", "../", 1)
    given = f"    path: HERE/chart\n    helm: {{valueFiles: [{_deeper(_deeper(top))}/values.yaml]}}\n"
    yield "argo", _installed("app.yaml", _APPLICATION + given)
    overlay = f"    path: {top}\n    kustomize: {{namePrefix: z, components: [{out}/component]}}\n"
    yield "argo-path", {"app.yaml": _APPLICATION + overlay, "pool.yaml": POOL}
    yield "flux", _installed("app.yaml", _RELEASE % f"{top}/values.yaml")
    filled = f"  path: {top}\n  postBuild: {{substitute: {{a: b}}}}\n"
    yield "flux-path", {"app.yaml": _SYNC + filled, "pool.yaml": POOL}
    taken = f"  path: ./HERE\n  components: [{out}/component]\n"
    yield "flux-component", {"app.yaml": _SYNC + taken, "pool.yaml": POOL}
    yield "helmfile", _installed("helmfile.yaml", _HELMFILE.replace("OUT", out))
    yield "set", _installed("app.yaml", _SET % f"{top}/values.yaml")


_VARIABLES = 'variable "arch" { default = file("OUT/secret.txt") }\n'
_INPUTS = 'terraform { source = "../m" }\ninputs = { arch = %s }\n'
_HELM = (
    "helm upgrade --install karpenter ./chart -f OUT/values.yaml --set-file arch=OUT/secret.txt -f <(cat OUT/x.env)\n"
)
_SOURCES = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a}
spec:
  sources:
  - {repoURL: https://example.com/y, ref: top}
  - repoURL: https://example.com/y
    path: HERE/chart
    helm:
      valueFiles: [$top/OUT/values.yaml, "$top/../OUT/values.yaml"]
      fileParameters: [{name: arch, path: OUT/secret.txt}]
"""
_FETCHED = """apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: x}
spec: {url: "file://OUT", include: [{repository: {name: x}, fromPath: OUT, toPath: HERE}]}
---
"""
_READ = """bases: [OUT/values.yaml]
helmfiles: [{path: OUT/values.yaml}]
environments: {default: {values: [OUT/values.yaml], secrets: [OUT/values.yaml]}}
releases:
- name: a
  chart: ./chart
  secrets: [OUT/values.yaml]
  values: [{arch: '{{ readFile "OUT/secret.txt" }}'}, {arch: '{{ exec "cat" (list "OUT/secret.txt") }}'}]
  set: [{name: arch, file: OUT/secret.txt}]
"""


def _of_further(out: str) -> Iterator[tuple[str, dict[str, str]]]:
    """What reads files by functions and fields that few use."""
    for name, call in {
        "glob": f'range $p, $b := .Files.Glob "{out}/*" }}}}{{{{ $b }}}}{{{{ end',
        "config": f'(.Files.Glob "{out}/**").AsConfig',
        "bytes": f'.Files.GetBytes "{out}/secret.txt"',
        "secrets": f'(.Files.Glob "{out}/*.txt").AsSecrets',
        "lookup": 'lookup "v1" "Secret" "a" "b"',
        "host": 'getHostByName "example.com"',
        "tpl": f"""tpl (print "{{{{ .Files.Get `{out}/secret.txt` }}}}") .""",
    }.items():
        yield name, _chart(_TEMPLATE % call)
    whole = f"valuesFile: {out}/values.yaml, valuesMerge: override, releaseName: a, includeCRDs: true"
    yield "charts", _kustomization(f"helmCharts: [{{name: chart, repo: 'file://{out}', {whole}}}]\n")
    yield "open-api", _kustomization(f"openapi: {{path: {out}/values.yaml}}\nvalidators: [{out}/pool.yaml]\n")
    yield (
        "secret",
        _kustomization(f"secretGenerator: [{{name: s, files: [{out}/secret.txt], envs: [{out}/x.env]}}]\n"),
    )
    yield "json-patch", _kustomization(f"patchesJson6902: [{{path: {out}/patch.yaml, target: {{name: web}}}}]\n")
    yield (
        "nested",
        {"kustomization.yaml": "resources: [inner]\n", "inner/kustomization.yaml": f"resources: [../{out}]\n"},
    )
    decoded = {"hash": "filesha256", "md5": "filemd5", "path": "pathexpand", "whole": "abspath"}
    yield from ((name, _terraform(f'{call}("{out}/secret.txt")')) for name, call in decoded.items())
    yield "default", _terraform("var.arch", _VARIABLES.replace("OUT", out))
    yield "try", _terraform(f'try(file("{out}/none"), file("{out}/secret.txt"), "amd64")')
    yield (
        "local-file",
        _terraform("data.local_file.f.content", f'data "local_file" "f" {{ filename = "{out}/secret.txt" }}'),
    )
    yield "subfolder", _terraform("module.m.o", f'module "m" {{ source = "{out}//.//" }}')
    yield "for-each", _terraform(f'[for f in fileset("{out}/..", "**/secret.txt") : file(f)][0]')
    body = {"m/main.tf": 'variable "arch" {}\n' + _terraform("var.arch")["main.tf"]}
    above = _deeper(out)
    for name, call in {
        "parents": 'read_terragrunt_config(find_in_parent_folders("canary/terragrunt.hcl")).locals.x',
        "variables": f'read_tfvars_file("{above}/x.tfvars")',
        "decrypted": f'sops_decrypt_file("{above}/values.yaml")',
        "run": f'run_cmd("cat", "{above}/secret.txt")',
    }.items():
        yield name, {**body, "live/terragrunt.hcl": _INPUTS % call}
    more = f'dependency "d" {{ config_path = "{above}" }}\n' + _INPUTS % "dependency.d.inputs.arch"
    yield "dependency-of", {**body, "live/terragrunt.hcl": more}
    given = 'extra_arguments "a" { commands = ["plan"], required_var_files = ["OUT/x.tfvars"] }'.replace("OUT", above)
    yield "arguments", {**body, "live/terragrunt.hcl": f'terraform {{\n source = "../m"\n {given}\n}}\n'}
    yield "sources", _installed("app.yaml", _SOURCES.replace("OUT", out))
    yield "fetched", {"app.yaml": (_FETCHED + _SYNC).replace("OUT", out) + "  path: ./HERE\n", "pool.yaml": POOL}
    yield "read-file", _installed("helmfile.yaml", _READ.replace("OUT", out))
    yield "script", _installed("install.sh", f"# karpenter\n{_HELM.replace('OUT', out)}")
    yield "readme", {"README.md": f"# karpenter\n```bash\n{_HELM.replace('OUT', out)}```\n"}


def _odd() -> Iterator[tuple[str, dict[str, str]]]:
    """Files of git, of the system, and other spellings."""
    for number, path in enumerate(
        (".git/config", "./x/../.git/config", ".GIT/config", ".git/./HEAD", "sub/.git", "linked-git/config")
    ):
        yield f"git-file-{number}", _terraform(f'file("../../{path}")')
        yield f"git-files-{number}", _generated(f"files: [a=../../{path}]", "a")
        yield f"git-get-{number}", _chart(_TEMPLATE % f'.Files.Get "../../{path}"')
    for number, path in enumerate(
        (
            "/proc/self/environ",
            "/proc/self/cwd/../canary/secret.txt",
            "/dev/stdin",
            "/dev/zero",
            "/etc/passwd",
            "/proc/self/fd/0",
            "../../pipe",
            "../../loop",
            "/dev/fd/0",
            "~/secret.txt",
        )
    ):
        yield f"system-file-{number}", _terraform(f'file("{path}")')
        yield f"system-files-{number}", _generated(f"files: [a={path}]", "a")
    for number, url in enumerate(("file://OUT/pool.yaml", "git::file://OUT", "//OUT/pool.yaml")):
        yield f"url-{number}", {"kustomization.yaml": f"resources: ['{url}']\n"}
        yield f"url-module-{number}", _terraform("module.m.o", f'module "m" {{ source = "{url}" }}')
    variable = VARIABLE
    for number, call in enumerate(
        (f'get_env("{variable}")', f'get_env("{variable}", "")', f'run_cmd("printenv", "{variable}")')
    ):
        body = {"m/main.tf": 'variable "arch" {}\n' + _terraform("var.arch")["main.tf"]}
        yield (
            f"variable-{number}",
            {**body, "live/terragrunt.hcl": f'terraform {{ source = "../m" }}\ninputs = {{ arch = {call} }}\n'},
        )
    yield "variable-go", _chart(_TEMPLATE % f'env "{variable}"')
    yield "variable-expanded", _chart(_TEMPLATE % f'expandenv "${variable}"')
    yield "variable-env", _generated("envs: [own.env]", variable) | {"own.env": f"{variable}\n"}
    setting = f"[{{name: arch, value: '{{{{ requiredEnv \"{variable}\" }}}}'}}]"
    release = f"releases:\n- {{name: a, chart: ./chart, set: {setting}}}\n"
    yield "variable-helmfile", _installed("helmfile.yaml", release)


_LINKS = {
    "out": "../canary",
    "chain": "chained",
    "chained": "out",
    "linked-git": ".git",
    "loop": "loop",
    "linked.yaml": "../canary/pool.yaml",
    "linked-config.yaml": ".git/config",
    "values/Chart.yaml": "../../canary/chart/Chart.yaml",
    "values/values.yaml": "../../canary/values.yaml",
    "variables/terraform.tfvars": "../../canary/x.tfvars",
    "variables/prod.tfvars": "../../canary/x.tfvars",
    "variables/environments": "../../canary",
    "templates/templates/linked.yaml": "../../../canary/pool.yaml",
}
"""Links by their path in the repository: to what is outside of it, over others, and to git's own folder."""


def tricks(canary: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The tricks by their folders, each with its files."""
    for way, out in {"up": "../../../canary", "whole": canary, "link": "../../out"}.items():
        for group, found in (
            ("k", _of_kustomize(out)),
            ("t", _of_terraform(out)),
            ("c", _of_charts(out)),
            ("f", _of_further(out)),
        ):
            yield from ((f"{way}/{group}-{name}", files) for name, files in found)
    few = ("resource", "base", "files", "file", "decode", "module", "read", "get", "flux")
    for way, out in {
        "another": "../../../other",
        "linked-twice": "../../chain",
        "past": "../../sub/../../canary",
    }.items():
        for group, found in (("k", _of_kustomize(out)), ("t", _of_terraform(out)), ("c", _of_charts(out))):
            yield from ((f"{way}/{group}-{name}", files) for name, files in found if name in few)
    yield from ((f"odd/{name}", files) for name, files in _odd())
    yield "values", {"templates/pool.yaml": _FILLED}
    yield "templates", {"Chart.yaml": _CHART, "values.yaml": "arch: amd64\n", "templates/pool.yaml": _FILLED}
    yield "variables", {"main.tf": 'variable "arch" {}\n' + _terraform("var.arch")["main.tf"]}


def write(folder: Path) -> Path:
    """Write the repository and what nobody may read beside it; give the repository."""
    home = folder / "home"
    for place in ("canary", "other"):
        _write(folder / place, CANARY)
    _write(folder / "other", {".git/HEAD": "ref: refs/heads/main\n"})
    secret = f"[core]\n\tbare = {WORD}\n[http]\n\textraheader = {WORD}\n# karpenter\n"
    _write(home, {".git/HEAD": "ref: refs/heads/main\n", ".git/config": secret, "pool.yaml": POOL})
    _write(home, {"sub/.git": f"gitdir: {folder}/canary # {WORD}\n", "sub/pool.yaml": POOL})
    for name, files in tricks(str(folder / "canary")):
        shown = {
            path: text.replace("HERE", name).replace("OUT", str(folder / "canary")) for path, text in files.items()
        }
        _write(home / name, shown)
    for path, target in _LINKS.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).symlink_to(target)
    os.mkfifo(home / "pipe")
    _write(folder / "before", {".git/HEAD": "ref: refs/heads/main\n", "pool.yaml": POOL})
    return home


def _write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


COMMANDS = (
    # A fix of a rule of practice is proven over all files of a run, again and again: a few of them are enough.
    ["check", "--verbose", "--format", "text", "--format", "json=../report.json", "."],
    ["check", "--select", "all", "up/k-patch", "link/t-include"],
    # All commands read by the same call: `check` does over all, each other one over tricks of its own.
    ["check", "--unsafe-fixes", "--diff", "link", "another"],
    ["explain", "up"],
    ["hash", "whole"],
    ["fit", "link"],
    ["plan", "--old", "../before", "--format", "markdown", "up"],
    ["upgrade", "--from", "1.0.0", "--to", "1.9.0", "odd", "past"],
    ["migrate", "--to", "auto-mode", "odd"],
    ["policy"],
    ["init", "--dry-run"],
    ["rule", "../../canary/pool"],
    ["triage", "--manifests", "up", "pool.yaml"],
    ["why", "--manifests", "linked-twice", "pool.yaml"],
)
_GIT_READS = ("/.git/HEAD", "/.git/index", "/.git/info/exclude")
"""What nodelint reads of git to know what is ignored and tracked."""


_STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "socket.connect", "socket.getaddrinfo")
"""Events of Python for a program that is started, and for a connection."""


def _watch(folder: Path) -> None:
    """Report what is opened or listed outside of the repository, or in `.git`, on standard error."""
    home, canary = os.path.join(folder, "home"), [os.path.join(folder, name) for name in ("canary", "other")]
    special = ("/proc/self/environ", "/etc/passwd", "/dev/", "/proc/self/fd/0")
    pipe, temporary = os.path.join(home, "pipe"), (os.devnull, tempfile.gettempdir())

    own = tuple(os.path.join(place, "") for place in (os.getcwd(), sys.prefix, sys.base_prefix))  # code and tables

    real_path = cache(os.path.realpath)  # no command makes a link

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event in _STARTS:
            os.write(2, f"STARTED {event} {args[0]}\n".encode())
        if event not in ("open", "os.scandir", "os.listdir") or not args or not isinstance(args[0], (str, bytes)):
            return
        path = os.path.abspath(os.fsdecode(args[0]))
        if path.startswith(own):
            return
        flags = args[2] if event == "open" and isinstance(args[2], int) else 0
        real = real_path(path)
        if flags & os.O_NOFOLLOW:  # a link is refused
            real = os.path.join(real_path(os.path.dirname(path)), os.path.basename(path))
        outside = any(real == place or real.startswith(place + os.sep) for place in canary)
        of_git = real.startswith(os.path.join(home, ".git", "")) and not path.endswith(_GIT_READS)
        is_special = path == pipe or (path.startswith(special) and not path.startswith(temporary))
        if outside or of_git or is_special:
            os.write(2, f"OPENED {event} {path}\n".encode())

    sys.addaudithook(hook)


def main() -> None:
    """Run the commands over the repository below a folder."""
    folder = Path(sys.argv[1])
    _watch(folder)
    from tests import in_process

    for command in COMMANDS:
        done = in_process.run(command, folder / "home", os.environ, f"{WORD}\n")
        print(f"RAN {' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}", flush=True)
    print((folder / "report.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
