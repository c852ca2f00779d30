"""kustomize, kubectl and helm on files that attack: nothing is fetched, run, written or read elsewhere.

A server on the loopback counts who connects. Stand-ins try everything that they can; the real tools are tried
where they are on the path.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nodelint.forms.external import sandbox
from nodelint.forms.external.render import Rendering, render
from tests.forms.external.test_render import CHART, OVERLAY, POOL, real_helm, real_kustomize, write

isolated = pytest.mark.skipif(not sandbox.ISOLATES, reason="only Linux lets a process give its network away")

SECRET = "a-word-of-somebody-else"
SAFE = POOL.format(weight=10, capacity="spot")


class Server:
    """A listener on the loopback: how often somebody connected, and what it answers, a NodePool."""

    def __init__(self) -> None:
        self.asked = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.asked += 1
            with connection:
                connection.settimeout(5)
                connection.recv(4096)
                body = SAFE.encode()
                connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    listening = Server()
    yield listening
    listening.close()


def reaching(server: Server, unix: Path) -> str:
    """A tool that tries a server by name of its address, through no proxy, and a socket of the file system."""
    return f"""
    import socket, urllib.request
    got = []
    try:
        no_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
        got.append(no_proxy.open('http://127.0.0.1:{server.port}/x', timeout=5).status)
    except OSError as error:
        got.append(error)
    try:
        daemon = socket.socket(socket.AF_UNIX)
        daemon.connect({str(unix)!r})
        got.append('connected')
    except OSError as error:
        got.append(error)
    print('# karpenter', got)
    """


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        yield path


def result(rendering: Rendering) -> str:
    assert not rendering.problems, rendering.problems
    return rendering.builds[0].source.text


@isolated
def test_a_tool_has_no_network(
    here: Path,
    stand_in: Callable[[str, str], Path],
    server: Server,
    daemon: Path,
) -> None:
    write(here, OVERLAY)
    stand_in("kustomize", reaching(server, daemon))
    alone = subprocess.run([str(shutil.which("kustomize"))], capture_output=True, text=True, check=True).stdout
    assert server.asked == 1 and "[200, 'connected']" in alone, "the stand-in does reach what it is let reach"
    assert result(render(["."], kustomize=True, helm=False)).count("unreachable") == 2
    assert server.asked == 1


@isolated
@pytest.mark.parametrize("refused", ["_leave_network", "_refuse_sockets"])
def test_one_of_the_two_means_is_enough(
    here: Path,
    stand_in: Callable[[str, str], Path],
    server: Server,
    daemon: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: str,
) -> None:
    """Docker's own filter refuses namespaces; the filter here knows the machines of two architectures."""
    monkeypatch.setattr(sandbox, refused, lambda libc: None)
    write(here, OVERLAY)
    stand_in("kustomize", reaching(server, daemon))
    result(render(["."], kustomize=True, helm=False))
    assert server.asked == 0


def test_a_tool_has_nothing_of_the_users(
    here: Path,
    stand_in: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(here, OVERLAY)
    stand_in(
        "kustomize",
        """
        import shutil
        print('# karpenter', sorted(os.environ), shutil.which('git'), shutil.which('sh'))
        print('#', os.listdir(os.environ['HOME']), os.environ['HTTPS_PROXY'])
        """,
    )
    for name in (
        "AWS_SECRET_ACCESS_KEY",
        "KUBECONFIG",
        "SSH_AUTH_SOCK",
        "HELM_PLUGINS",
        "GIT_ASKPASS",
        "CI_JOB_TOKEN",
    ):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], "/usr/bin", "/bin"]))
    first, second = result(render(["."], kustomize=True, helm=False)).splitlines()[:2]
    assert first.endswith(" None None")
    for name in ("AWS_", "KUBECONFIG", "SSH_", "HELM_", "GIT_", "CI_"):
        assert name not in first
    assert second == "# [] http://127.0.0.1:9"


@pytest.mark.parametrize("entry", [".", "bin", ""])
def test_a_tool_that_the_repository_brings_is_not_called(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    entry: str,
    tmp_path: Path,
) -> None:
    """A relative entry of PATH is looked up where the tool runs: among the files of the repository."""
    ran = tmp_path / "ran"
    for folder in ("", "bin", "prod"):
        script = here / folder / "kustomize"
        write(here, {**OVERLAY, str(script.relative_to(here)): f"#!{sys.executable}\nopen({str(ran)!r}, 'w')\n"})
        script.chmod(0o755)
    monkeypatch.setenv("PATH", entry)
    found = [why for _, why in render(["."], kustomize=True, helm=False).problems]
    assert found == ["not rendered: neither kustomize nor kubectl is on the path"]
    assert not ran.exists()


def test_what_a_tool_prints_without_end_is_cut_off(
    here: Path,
    stand_in: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(here, OVERLAY)
    monkeypatch.setattr(sandbox, "LARGEST", 1 << 20)
    stand_in("kustomize", "while True: print('karpenter' * 1000)")
    ((_, why),) = render(["."], kustomize=True, helm=False).problems
    assert why == "not rendered: kustomize printed more than 1 MiB, which no cluster takes"


@isolated
def test_a_tool_does_not_fill_the_memory(
    here: Path,
    stand_in: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(here, OVERLAY)
    monkeypatch.setattr(sandbox, "MEMORY", 1 << 28)
    stand_in("kustomize", "held = b'x' * (1 << 30)")
    ((_, why),) = render(["."], kustomize=True, helm=False).problems
    assert why.startswith("not rendered: kustomize: ")


# -- links


LINKED = {
    "templates/leak.yaml": "chart",
    "values-leak.yaml": "chart",
    "charts/sub/templates/leak.yaml": "chart",
    "files/leak.txt": None,
    "crds/leak.yaml": None,
}


@pytest.mark.parametrize("place", LINKED)
@pytest.mark.parametrize("target", ["outside", "beside"])
def test_a_link_out_of_a_chart_is_neither_read_nor_printed(
    here: Path,
    tmp_path: Path,
    stand_in: Callable[[str, str], Path],
    nodelint: Callable[..., subprocess.CompletedProcess[str]],
    place: str,
    target: str,
) -> None:
    write(here, CHART)
    secret = tmp_path / "secret.txt" if target == "outside" else here / "secret.txt"
    secret.write_text(POOL.format(weight=SECRET, capacity=SECRET), encoding="utf-8")
    link = here / "chart" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(secret)
    calls = stand_in("helm", "print(open('.' + sys.argv[-1]).read())")
    path = {"PATH": os.environ["PATH"]}
    done = nodelint("check", "--helm", "--format=json", cwd=here, env=path)
    plain = nodelint("check", cwd=here)
    assert not calls.exists()
    assert done.returncode == 2
    assert f"chart/Chart.yaml: not rendered: `{place}` is a link out of the chart" in done.stderr
    assert SECRET not in done.stdout + done.stderr + plain.stdout + plain.stderr
    output = f"chart/{place}: a link out of the chart, which is not followed" in plain.stderr
    assert output == (LINKED[place] is not None)


def test_a_link_within_a_chart_is_a_file_of_it(here: Path, stand_in: Callable[[str, str], Path]) -> None:
    write(here, CHART)
    (here / "chart" / "values-test.yaml").symlink_to("values-prod.yaml")
    calls = stand_in("helm", "print('# karpenter')")
    assert render(["."], kustomize=False, helm=True).problems == ()
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 3


def test_a_link_out_of_the_repository_is_not_followed(
    here: Path,
    tmp_path: Path,
    nodelint: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    write(here, {"pools/pool.yaml": SAFE, "pools/other.yaml": ""})
    (tmp_path / "secret.yaml").write_text(POOL.format(weight=SECRET, capacity="spot"), encoding="utf-8")
    (here / "pools" / "leak.yaml").symlink_to(tmp_path / "secret.yaml")
    (here / "inner.yaml").symlink_to("pools/pool.yaml")
    done = nodelint("check", cwd=here)
    assert done.returncode == 2 and SECRET not in done.stdout
    assert "pools/leak.yaml: a link out of the repository, which is not followed" in done.stderr
    assert "inner.yaml" not in done.stderr
    named = nodelint("check", "pools/leak.yaml", cwd=here)
    assert SECRET in named.stdout, "whoever names a link means it"


@pytest.mark.parametrize("named", ["../../elsewhere", "linked", "../../elsewhere/pool.yaml"])
def test_an_overlay_does_not_leave_the_repository(
    here: Path,
    tmp_path: Path,
    stand_in: Callable[[str, str], Path],
    named: str,
) -> None:
    write(tmp_path, {"elsewhere/kustomization.yaml": "resources: [pool.yaml]\n", "elsewhere/pool.yaml": SAFE})
    write(here, {"prod/kustomization.yaml": f"resources: [{named}]  # karpenter\n"})
    (here / "prod" / "linked").symlink_to(tmp_path / "elsewhere")
    calls = stand_in("kustomize", "print('# karpenter')")
    rendering = render(["prod"], kustomize=True, helm=False)
    assert rendering.problems == (
        ("prod/kustomization.yaml", f"not rendered: `{named}` is outside of the repository"),
    )
    assert not calls.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_not_waited_for(here: Path, stand_in: Callable[[str, str], Path]) -> None:
    write(here, {**CHART, "prod/kustomization.yaml": "patches: [{path: pipe}]  # karpenter\n"})
    os.mkfifo(here / "prod" / "pipe")
    os.mkfifo(here / "chart" / "values-pipe.yaml")
    for tool in ("kustomize", "helm"):
        stand_in(tool, "print('# karpenter')")
    assert render(["."], kustomize=True, helm=True).problems == (
        ("chart/Chart.yaml", "not rendered: `values-pipe.yaml` is neither a file nor a folder"),
    )


# -- what stands in files is not an option


HOSTILE = [
    "--post-renderer=sh",
    "--output-dir=..",
    "--values=http://127.0.0.1:{port}/x",
    "--dependency-update",
    "-f=http://127.0.0.1:{port}/x",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_argument_comes_from_a_file(
    here: Path,
    stand_in: Callable[[str, str], Path],
    name: str,
) -> None:
    """Names of charts, folders and files, with all that a tool may take for something else."""
    name = name.format(port=1)
    folder = name.replace("/", "_")
    chart = {path.replace("chart/", f"{folder}/"): text for path, text in CHART.items()}
    chart[f"{folder}/Chart.yaml"] = f"apiVersion: v2\nname: '{name}'\nversion: 0.1.0\n"
    chart[f"{folder}/ci/a,{folder},-values.yaml"] = "weight: 2\n"
    write(here, {**chart, f"{folder}/kustomization.yaml": "resources: [templates/pool.yaml]\n"})
    calls = stand_in("helm", "print('# karpenter')")
    stand_in("kustomize", "print('# karpenter')")
    assert render(["."], kustomize=True, helm=True).problems == ()
    words = [line.split(": ", 1)[1].split() for line in calls.read_text(encoding="utf-8").splitlines()]
    served = {word for line in words for word in line if word.startswith("--api-versions=karpenter.")}
    assert len(words) == 4
    assert {word for line in words for word in line} - served == {
        "build", "template", "--values=-", "--", "release-name", "."
    }  # fmt: skip


@real_helm
@pytest.mark.parametrize("name", HOSTILE)
def test_the_real_helm_runs_fetches_and_writes_nothing(here: Path, tmp_path: Path, server: Server, name: str) -> None:
    name = name.format(port=server.port)
    write(here, {**CHART, "chart/Chart.yaml": f"apiVersion: v2\nname: '{name}'\nversion: 0.1.0\n"})
    (here / "chart/templates/run.yaml").write_text(f"# $(touch {tmp_path}/ran)\n", encoding="utf-8")
    before = sorted(path for path in tmp_path.rglob("*"))
    render(["."], kustomize=False, helm=True)
    assert server.asked == 0
    assert sorted(path for path in tmp_path.rglob("*")) == before


@real_helm
@isolated
def test_the_schema_of_a_charts_values_is_not_fetched(here: Path, server: Server) -> None:
    """helm follows references of values.schema.json to anywhere."""
    write(here, {**CHART, "chart/values.schema.json": f'{{"$ref": "http://127.0.0.1:{server.port}/x"}}'})
    rendering = render(["."], kustomize=False, helm=True)
    assert rendering.builds == () and len(rendering.problems) == 2
    assert server.asked == 0


@real_helm
def test_the_real_helm_takes_values_from_any_name(here: Path) -> None:
    """A comma in the name of a file of values is not a list of two files."""
    write(here, {**CHART, "chart/values-a,b.yaml": "capacity: reserved\n"})
    rendering = render(["."], kustomize=False, helm=True)
    assert rendering.problems == ()
    assert [("reserved" in build.source.text) for build in rendering.builds].count(True) == 1


FETCHING = {
    "flow": "resources: [{url}]",
    "mixed": "resources: [pool.yaml, {url}]",
    "dollar": "resources:\n- {url}$(x)",
    "brace": "resources:\n- {url}${{x}}",
    "angle": "resources:\n- {url}<x>",
    "template": "resources:\n- {url}{{{{x}}}}",
    "patch": "resources: [pool.yaml]\npatches:\n- path: {url}$(x)",
    "tag": "resources:\n- !foo {url}",
    "case": "Resources:\n- {url}",
    "git": "resources:\n- git::{url}",
    "git-file": "resources:\n- git::file://{here}/.git",
    "env": "resources: [pool.yaml]\nconfigMapGenerator:\n- name: x\n  env: {url}",
    "component": "resources: [pool.yaml]\ncomponents:\n- {url}",
    "folder": "resources:\n- http:/127.0.0.1:{port}/x",
    "openapi": "resources: [pool.yaml]\nopenapi: {{path: '{url}'}}",
    "crds": "resources: [pool.yaml]\ncrds: ['{url}']",
    "transformer": """\
resources: [pool.yaml]
transformers:
- |-
  apiVersion: builtin
  kind: PatchTransformer
  metadata: {{name: x}}
  path: {url}
""",
    "transformer-file": "resources: [pool.yaml]\ntransformers: [transformer.yaml]",
    "generator": "resources: [pool.yaml]\ngenerators: [generator.yaml]",
    "helm": "resources: [pool.yaml]\nhelmCharts: [{{name: x, repo: '{url}'}}]",
}


@real_kustomize
@isolated
@pytest.mark.parametrize(
    ("case", "base"),
    [*((case, False) for case in FETCHING), ("flow", True), ("git", True), ("transformer-file", True)],
)
def test_the_real_kustomize_fetches_nothing(here: Path, server: Server, case: str, base: bool) -> None:
    url = f"http://127.0.0.1:{server.port}/x"
    text = FETCHING[case].format(url=url, port=server.port, here=here)
    folder = "base" if base else "prod"
    builtin = "apiVersion: builtin\nkind: {}\nmetadata: {{name: x}}\n{}\n"
    write(
        here,
        {
            f"{folder}/kustomization.yaml": f"# karpenter\n{text}\n",
            f"{folder}/pool.yaml": SAFE,
            f"{folder}/transformer.yaml": builtin.format("PatchTransformer", f"path: {url}"),
            f"{folder}/generator.yaml": builtin.format("ConfigMapGenerator", f"envs: ['{url}']"),
            f"{folder}/http:/127.0.0.1:{server.port}/x/kustomization.yaml": "resources: [../p.yaml]\n",
            **({"prod/kustomization.yaml": "resources: [../base]\n"} if base else {}),
        },
    )
    render(["."], kustomize=True, helm=False)
    assert server.asked == 0


@real_kustomize
@isolated
def test_what_is_on_this_disk_is_judged_all_the_same(
    here: Path, server: Server, nodelint: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """An overlay that cannot be built covers none of its files, and does not keep the others from being built."""
    url = f"http://127.0.0.1:{server.port}/x"
    write(
        here,
        {
            "prod/kustomization.yaml": f"resources: [../base, '{url}']\n",
            **{path: text for path, text in OVERLAY.items() if path.startswith("base/")},
            "test/kustomization.yaml": "resources: [pool.yaml]\nnamePrefix: test-\n",
            "test/pool.yaml": SAFE,
        },
    )
    done = nodelint("check", "--kustomize", cwd=here)
    assert done.returncode == 2 and server.asked == 0
    assert f"prod/kustomization.yaml: not rendered: `{url}` is not on this disk, and is not fetched" in done.stderr
    assert "base/pool.yaml:16:" in done.stdout and "spott" in done.stdout
    assert "test/" not in done.stderr


@real_kustomize
def test_the_environment_does_not_get_into_an_overlay(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name without a value in an `env` file stands for a variable of the environment."""
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    generated = "resources: [pool.yaml]\nconfigMapGenerator: [{name: x, envs: [x.env]}]\n"
    write(here, {"kustomization.yaml": generated, "pool.yaml": SAFE, "x.env": "DEPLOY_TOKEN\n"})
    text = result(render(["."], kustomize=True, helm=False))
    assert "NodePool" in text and SECRET not in text
