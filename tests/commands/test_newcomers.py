"""What somebody meets who uses nodelint for the first time, or as they use another linter."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.ec2.region_names import find_unknown_region_note, refuse_region
from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]

TYPOS = (ROOT / "examples" / "bad" / "typos.yaml").read_text(encoding="utf-8")
POOL, CLASS = nodepool(), nodeclass()


def put(folder: Path, text: str, name: str = "pool.yaml") -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "-"],
        ["check", "--fix", "--format", "json", "-"],
        ["check", "-", "."],
        ["plan", "--old", ".", "-"],
        ["fit", "-", "."],
        ["explain", "-"],
        ["hash", "-"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_pipe_is_no_all_clear(nodelint: Run, tmp_path: Path, arguments: list[str], text: str) -> None:
    put(tmp_path, POOL)
    done = nodelint(*arguments, stdin=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("nodelint: standard input is empty: run the command in front of the pipe alone")


FORBIDDEN = (
    'Error from server (Forbidden): nodepools.karpenter.sh is forbidden: User "x" cannot list resource "nodepools"'
)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('error: the server doesn\'t have a resource type "nodepools"', "the cluster has no CRDs of Karpenter"),
        ("Unable to connect to the server: dial tcp 127.0.0.1:6443: refused", "kubectl does not reach the cluster"),
        ("The connection to the server localhost:8080 was refused", "kubectl does not reach the cluster"),
        (FORBIDDEN, "your user needs get and list on nodepools.karpenter.sh"),
        (f"{POOL}{FORBIDDEN}", "not all objects are on standard input: kubectl failed with"),
        ("error: You must be logged in to the server (Unauthorized)", "log in to the cluster again"),
        ("NAME      NODECLASS   NODES   READY   AGE\ndefault   default     3       True    10d", "add `-o yaml`"),
        ("No resources found", "the cluster has none"),
        ("hello world", "standard input holds no Kubernetes object: run the command in front of the pipe alone"),
    ],
)
@pytest.mark.parametrize("command", [["check"], ["plan", "--old", "."], ["explain"], ["hash"], ["fit"]], ids=" ".join)
def test_a_pipe_without_objects_is_no_all_clear(
    nodelint: Run, tmp_path: Path, command: list[str], text: str, advice: str
) -> None:
    done = nodelint(*command, "-", stdin=f"{text}\n")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert advice in done.stderr


@pytest.mark.parametrize("text", ["kind: List\napiVersion: v1\nitems: []\n", '{"apiVersion": "v1", "kind": "Pod"}'])
def test_a_pipe_with_other_objects_has_nothing_to_check(nodelint: Run, tmp_path: Path, text: str) -> None:
    done = nodelint("check", "-", stdin=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Nothing to check")


@pytest.mark.parametrize("command", ["triage", "why"])
@pytest.mark.parametrize(
    "text",
    [FORBIDDEN, 'Error from server (NotFound): deployments.apps "karpenter" not found'],
    ids=["refused", "absent"],
)
def test_an_error_of_kubectl_is_no_log_and_no_dump(nodelint: Run, tmp_path: Path, command: str, text: str) -> None:
    done = nodelint(command, "-", stdin=f"{text}\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "kubectl failed with `Error from server" in done.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{POOL}{CLASS}", POOL.count("\n") + 1),
        (f"{POOL.rstrip()}{CLASS}", POOL.count("\n")),
        (f"{POOL.rstrip()}---\n{CLASS}", POOL.count("\n")),
        ('{"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}\n' * 2, 2),
        (f"{POOL}---\n{CLASS}", None),
        (POOL.replace("metadata:", "metadata: {name: b}\nmetadata:"), None),
    ],
    ids=["glued", "no line break", "dashes", "JSON", "two", "one key twice"],
)
@pytest.mark.parametrize("command", ["check", "explain", "hash"])
def test_a_pipe_that_joins_files_says_where(
    nodelint: Run, tmp_path: Path, command: str, text: str, line: int | None
) -> None:
    done = nodelint(command, "-", stdin=text)
    note = f"nodelint: a second file begins in line {line} of standard input, without a line `---` in front of it"
    assert (note in done.stderr) == (line is not None), done.stderr
    assert line is not None or "second file" not in done.stderr


def test_a_file_that_cannot_be_read_is_no_object_that_was_judged(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, POOL + CLASS)
    last = nodelint("check").stdout.splitlines()[-1]
    assert last.startswith("Found 1 error: 1 file could not be read, and nothing in it was judged")
    put(tmp_path, POOL + CLASS, "other.yaml")
    last = nodelint("check", "--format", "markdown").stdout
    assert "2 errors: 2 files could not be read, and nothing in them was judged" in last


@pytest.mark.parametrize("text", [POOL, CLASS, POOL + "---\n" + CLASS], ids=["pool", "class", "both"])
def test_triage_of_a_manifest_is_no_all_clear(nodelint: Run, tmp_path: Path, text: str) -> None:
    put(tmp_path, text)
    done = nodelint("triage", "pool.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pool.yaml holds objects without `status`: `nodelint check` judges manifests" in done.stderr
    put(tmp_path, text + "status: {conditions: [{type: Ready, status: 'True'}]}\n")
    done = nodelint("triage", "pool.yaml")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "No failures.")


CHART = {
    "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
    "c/values.yaml": "pool: {name: a}\n",
    "c/templates/pool.yaml": nodepool().replace("name: default", "name: {{ .Values.pool.name }}", 1),
}


def test_the_values_files_that_were_used_are_named(nodelint: Run, tmp_path: Path) -> None:
    for name, text in CHART.items():
        put(tmp_path, text, name)
    assert "Rendered without helm: 1 chart with its values; to judge the result:" in nodelint("check").stdout
    put(tmp_path, "pool: {name: prod}\n", "c/values-prod.yaml")
    output = nodelint("check").stdout
    assert "Rendered without helm: 1 chart with its values and c/values-prod.yaml; to judge the result:" in output
    shown = nodelint("check", "--show-files").stdout
    assert "  line 2: NodePool/a\n  line 2: NodePool/prod with values-prod.yaml\n" in shown, shown


@pytest.mark.parametrize("home", ["charts", "deploy/charts"])
def test_a_chart_that_is_named_may_stand_in_a_folder_charts(nodelint: Run, tmp_path: Path, home: str) -> None:
    for name, text in CHART.items():
        put(tmp_path, text, f"{home}/{name}")
    put(tmp_path, "pool: {name: prod}\n", "prod.yaml")
    done = nodelint("check", f"{home}/c", "--values", "prod.yaml", "--show-files")
    assert "NodePool/prod with" in done.stdout, done.stdout + done.stderr


WRONG = {
    "check --region eu-mars-1": "`eu-mars-1` is not a region such as us-east-1 (did you mean `eu-west-1`?)",
    "refresh --region eu-cental-1 --catalog": "did you mean `eu-central-1`?",
    "plan --old nosuch .": "nodelint: --old nosuch: no such file or directory",
    "plan --old nosuch/a .": "name the file or folder from before the change; `--against REVISION` takes it from git",
    "check . --snapshot nosuch.json": "`nodelint refresh --output nosuch.json` writes a snapshot of what AWS says",
    "check . --config nosuch.yaml": "nosuch.yaml: no such file or directory; `nodelint init` writes a nodelint.yaml",
    "upgrade --from 1.9 --to 1.5 .": "name them the other way around: --from 1.5.8 --to 1.9.3",
    "plan --old . nosuch": "nodelint: nosuch: no such file or directory",
    "hash nosuch.yaml": "nodelint: nosuch.yaml: no such file or directory",
    "explain nosuch.yaml": "nodelint: nosuch.yaml: no such file or directory",
    "upgrade --from 1.0 nosuch": "nodelint: nosuch: no such file or directory",
    "fit --nodepool nosuch": "`nodelint explain` and `nodelint why` have it",
    "hash --region us-east-1": "`nodelint baseline`, `nodelint check` and others have it",
    "check --selct x": "did you mean `--select`?",
    "check --zzz": "`nodelint check --help` lists the options",
    "explain --json": "write `--format json`",
    "check --dry-run": "write `--diff`, which prints the edits and writes nothing",
    "check --format conciese": "did you mean `concise`?",
    "check --profile stric": "did you mean `strict`?",
    "check --fail-on eror": "did you mean `error`?",
    "check --color alwys": "did you mean `always`?",
    "plan --fail-on drft": "did you mean `drift`?",
    "plan --format htm": "did you mean `html`?",
    "fit --format markdwn": "did you mean `markdown`?",
    "completion bsh": "did you mean `bash`?",
    "hash --live kubctl": "did you mean `kubectl`?",
    "check --select ALLL": "did you mean `all`?",
    "check --select imges": "did you mean `images`?",
    "rule wildcard-valu": "(did you mean `wildcard-value`?); `nodelint rule` lists the rules",
    "check --isolated --config a.yaml": "--isolated and --config cannot be used together",
    "check --stdin-filename a.yaml .": "give `-` as a path too",
    "check *.yml": "a pattern that the shell matched with no file: name a folder, such as `.`",
    "explain clusters/**/pool-?.yaml": "name a folder, such as `clusters`",
    "check - -": "nodelint: `-` is named twice: standard input can be read once",
    "plan --old . - -": "`-` is named twice",
    "upgrade 1.9.2 1.15.1": "a release is named by an option: --karpenter-version, or --from and --to",
    "upgrade --from 0.30": "--from: Karpenter 0.30 is too old: upgrade takes 0.32 and newer",
    "check --select ,": "select names no rule: nothing would be judged",
    "check --offline": "nodelint asks AWS only with `--live`",
    "check --severity error": "write `--fail-on`",
    "check --kube 1.33": "did you mean `--kubernetes-version`?",
    "check --new": "`nodelint check --help` lists the options",
    "lint .": "write `nodelint check`",
    "version": "write `nodelint --version`",
    "CHECK": "did you mean `check`?",
    "rules": "did you mean `rule`?",
    "snapshot list": "there are diff and show",
    "snapshot shw": "did you mean `show`?",
    "check --output json": "`json` is a format: write --format json",
    "check --output sarif:out.sarif": "write --format sarif --output out.sarif",
    "check --output nosuch/x.json": "nosuch/x.json: not written: the folder nosuch does not exist",
    "check --baseline .": "is a folder: name a file",
    "check --baseline pool.yaml": "pool.yaml: not a baseline: line 1 is not JSON",
    "check --config main.tf": "main.tf: a configuration is a file of YAML, or pyproject.toml",
    "check --rules nosuch": "nosuch: no such file or directory; name a folder of rules",
    "check --snapshot pool.yaml": "not a snapshot: not JSON; `nodelint refresh --output FILE` writes one",
    "check --jobs 0": "`0` is neither a number of processes, from 1 on, nor auto",
    "check --karpenter-version latest": "the newest known, or 1.4",
    "check pol.yaml": "pol.yaml: no such file or directory (did you mean `pool.yaml`?)",
    "check sub/nosuch/a.yaml": "sub/nosuch/a.yaml: no such file or directory",
    "explain ./poool.yaml": "did you mean `pool.yaml`?",
    "check --exclude": "write a value: --exclude GLOB,...",
    "plan --against": "write a value: --against REVISION",
    "migrate --to": "write a value: --to [auto-mode|karpenter]",
    "hash --live nosuch": "`--live kubectl` asks the cluster that kubectl is set to",
    "why nosuch": "no such file; `kubectl get nodes,nodeclaims,nodepools,pods -A -o yaml` prints a dump",
    "triage": "is empty: `kubectl logs -n kube-system deploy/karpenter | nodelint triage` reads the log",
    "fit pod/api": "an object is named by an option: `nodelint fit --workload pod/api`",
    "explain --nodepool defualt": "(did you mean `default`?); they hold default",
    "triage .": ".: is a folder: name a file",
    "triage k.log pool.yaml": "name manifests by `--manifests PATH`",
    "snapshot prod.json": "to see what it holds: `nodelint snapshot show prod.json`",
    "baseline --output x.json": "write `--baseline`",
    "check --ignore all .": "`ignore` leaves out every rule: nothing would be judged",
    "check -A": "a folder is read with everything below it",
    "check -n karpenter .": "NodePools and EC2NodeClasses are in no namespace",
    "check -o yaml .": "write `--format`",
    "check --exit-zero .": "write `--fail-on never`",
    "check --max-warnings 0 .": "write `--fail-on warning`",
    "check -p pool.yaml": "write the path without an option",
    "check --context prod .": "`kubectl get nodepools,ec2nodeclasses -o yaml | nodelint check -`",
    "check -f pool.yaml": "to check its objects, name it as a path, without the option",
    "check --output folder .": "folder: not written: is a folder: name a file",
    "check binary.yaml": "binary.yaml: is not a text: name a file with manifests",
    "check link.txt": "link.txt: a link to a file that is not there",
    "check https://example.com/pool.yaml": "`curl -sL https://example.com/pool.yaml | nodelint check -`",
    "check git@github.com:acme/pools.git": "files and folders of this machine: download it first",
    "explain default": "a NodePool is named by an option: `--nodepool default`",
    "explain nodepool/default": "a NodePool is named by an option: `--nodepool default`",
    "fit --pod web .": "write `--workload`, such as `--workload deployment/web`",
    "fit --cpu 2 .": "write a Pod with these requests into a file, and name the file",
    "plan --base main .": "write `--against`",
    "refresh --profile prod .": "write `--aws-profile`",
    "migrate .": "write `--to auto-mode` or `--to karpenter`",
    "completion": "write `bash`, `zsh` or `fish`",
    "snapshot diff a.json": "too few arguments: `nodelint snapshot diff OLD NEW`",
    "init sub": "it sets up the folder that you are in: change into the repository first",
    "policy .": "it prints the policies of the rules, and reads no manifest",
    "fit --workload nosuch": "nodelint: the files contain no workload `nosuch`; they contain no workloads",
    "--versoin": "did you mean `--version`?",
    "check pools.zip": "pools.zip: is compressed (zip): unpack it first",
    "why pools.zip": "pools.zip: is compressed (zip): unpack it first",
    "why empty.json": "empty.json is empty: `kubectl get nodes,nodeclaims,nodepools,pods -A -o yaml` prints a dump",
    "check help": "help: no such file or directory (did you mean `--help`?)",
    "baseline --baseline nosuch/b.json .": "not written: the folder nosuch does not exist",
    "refresh --region eu-west-1 --output nosuch/a.json": "not written: the folder nosuch does not exist",
    "snapshot show nosuch.json": "no such file or directory; `nodelint refresh --output FILE` writes one",
}


@pytest.mark.parametrize("text", ["apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n", "{}"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
def test_a_text_in_another_encoding_is_a_text(nodelint: Run, tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "pool.yaml").write_bytes(text.encode(encoding))
    assert "is not a text" not in nodelint("check", "pool.yaml").stderr


def test_rules_that_are_left_are_enough(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, POOL + "---\n" + CLASS)
    assert nodelint("check", "--ignore", "hazard").returncode == 0
    done = nodelint("check", "--ignore", "hazard,correctness")
    assert (done.returncode, done.stdout) == (2, "")
    assert nodelint("check", "--ignore", "hazard,correctness", "--profile", "strict").returncode == 0


def test_nothing_is_counted_where_nothing_is_read(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    put(tmp_path, "", "none.yaml")
    for command in ("check", "hash"):
        done = nodelint(command, "empty")
        assert done.stdout == f"Nothing to {command}: there is no file that nodelint reads.\n", done.stdout
    assert nodelint("check", "none.yaml").stdout.endswith("in 1 file.\nnone.yaml is empty.\n")


UNREAD = ["hash", "explain", "upgrade --from 1.9.2", "migrate --to auto-mode"]


@pytest.mark.parametrize("words", UNREAD)
def test_of_what_could_not_be_read_nothing_is_said_to_be_missing(nodelint: Run, tmp_path: Path, words: str) -> None:
    put(tmp_path, f"{POOL}  broken: [\n")
    done = nodelint(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "nodelint: pool.yaml:" in done.stderr and "Nothing" not in done.stderr


def test_a_kubernetes_that_is_not_known_is_said(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, POOL)
    assert (
        "Kubernetes 1.99 is newer than the versions that nodelint knows"
        in nodelint("check", "--kubernetes-version", "1.99").stderr
    )


def test_a_revision_among_the_paths_of_a_plan_is_named_by_its_option(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, POOL)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    done = nodelint("plan", "HEAD")
    assert (done.returncode, done.stdout) == (2, "")
    assert "HEAD is a revision, not a path: use --against HEAD" in done.stderr


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_use_is_answered_with_the_right_one(nodelint: Run, tmp_path: Path, words: str) -> None:
    put(tmp_path, POOL)
    put(tmp_path, 'variable "a" {\n  type = string\n}\n: a\n', "main.tf")
    put(tmp_path, "PK\x03\x04 karpenter.sh", "pools.zip")
    put(tmp_path, "", "empty.json")
    (tmp_path / "binary.yaml").write_bytes(bytes(range(256)))
    (tmp_path / "link.txt").symlink_to("nowhere.yaml")
    (tmp_path / "folder").mkdir()
    done = nodelint(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert WRONG[words] in done.stderr.splitlines()[-1]


def test_words_of_a_closed_list_are_taken_in_any_case(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, TYPOS)
    found = nodelint("check", "--format", "concise", "--profile", "strict", "--select", "all").stdout
    assert "practice" not in found and "[no-limits]" in found
    assert nodelint("check", "--output-format", "Concise", "--profile", "STRICT", "--select", "ALL").stdout == found


def test_regions_that_are_newer_than_nodelint_are_taken() -> None:
    for name in (
        "us-east-1",
        "eusc-de-east-1",
        "us-iso-east-1",
        "us-isob-east-1",
        "ap-southeast-12",
        "us-gov-west-1",
    ):
        assert refuse_region(name) is None
    assert find_unknown_region_note("us-east-1") is None
    assert "not known here" in str(find_unknown_region_note("eusc-de-east-1"))


def rules_found(done: subprocess.CompletedProcess[str]) -> set[str]:
    return {finding["rule"] for finding in json.loads(done.stdout)["findings"]}


def test_rules_are_selected_by_subject_and_added_to_the_profile(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, TYPOS)

    def find_rules(*arguments: str) -> set[str]:
        return rules_found(nodelint("check", "--format", "json", *arguments))

    default = find_rules()
    assert find_rules("--select", "Objects,instance-types") == {"node-class-ref", "unknown-field"}
    assert find_rules("--ignore", "objects") == default - {"node-class-ref", "unknown-field"}
    assert find_rules("--extend-select", "no-limits,spot") == default | {"no-limits", "spot-only"}
    put(tmp_path, "select: [spot]\nextend-select: [no-limits]\n", "nodelint.yaml")
    assert find_rules() == {"no-limits", "spot-only"}
    assert find_rules("--extend-select", "unknown-field") == find_rules() | {"unknown-field"}
    assert find_rules("--isolated") == default


def test_a_fix_says_what_it_fixed(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, TYPOS)
    line = "  pool.yaml:23:7: unknown-field: `expiresAfter` is not a known field (did you mean `expireAfter`?)"
    assert line in nodelint("check", "--diff", "--show-fixes").stderr.splitlines()
    lines = nodelint("check", "--fix").stdout.splitlines()
    assert "Fixed 4 findings:" in lines and line in lines


def test_of_many_fixes_some_are_named_unless_all_are_asked_for(nodelint: Run, tmp_path: Path) -> None:
    def fix(*arguments: str) -> str:
        for number in range(6):
            put(tmp_path, TYPOS.replace("name: workers", f"name: workers{number}"), f"pool{number}.yaml")
        return nodelint("check", "--fix", *arguments).stdout

    assert "  and 14 more; --show-fixes names all" in fix()
    named = [line for line in fix("--show-fixes").splitlines() if line.startswith("  pool")]
    assert len(named) == 24


def test_standard_input_stands_for_the_file_that_an_editor_holds(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, POOL, "sub/pool.yaml")
    named = ("check", "--stdin-filename", "sub/pool.yaml", "--format", "concise")
    done = nodelint(*named, stdin=TYPOS)
    assert "sub/pool.yaml:23:7: error[unknown-field]" in done.stdout
    assert done.stdout == nodelint(*named, "-", stdin=TYPOS).stdout
    both = nodelint(*named, "-", ".", stdin=TYPOS).stdout
    assert both.count("unknown-field") == 1 and "in 1 object in" in both  # not the one on disk too
    fixed = nodelint(*named, "--fix", stdin=TYPOS)
    assert "expireAfter: 720h" in fixed.stdout and "unknown-label" in fixed.stderr
    assert (tmp_path / "sub" / "pool.yaml").read_text(encoding="utf-8") == POOL
    assert nodelint(*named, stdin="").returncode == 0  # an editor may hold an empty file
    put(tmp_path, "per-path-ignores: {sub: all}\n", "nodelint.yaml")
    assert nodelint(*named, stdin=TYPOS).returncode == 0


@pytest.mark.parametrize(
    ("comment", "names"),
    [
        ("# noqa", "unknown-value"),
        ("# noqa: unknown-value", "unknown-value"),
        ("# nodelint:disable=unknown-value", "unknown-value"),
        ("# nodelint: disable=no-limits, unknown-value", "no-limits, unknown-value"),
        ("# nodelint-disable-line", "unknown-value"),
        ("# pylint: disable=unknown-value", "unknown-value"),
        ("# nodelint ignore[unknown-value]", "unknown-value"),
        ("# noqa: E501", None),
        ("# yamllint disable-line rule:line-length", None),
        ("# checkov:skip=CKV_AWS_1: why", None),
        ("# please ignore: this", None),
        ("# we skip unknown-value here", None),
        ("# nodelint: reads this file", None),
        ("#" + " -" * 20000 + " ignore", None),
    ],
)
def test_a_comment_of_another_linter_gets_the_right_form(
    nodelint: Run, tmp_path: Path, comment: str, names: str | None
) -> None:
    put(tmp_path, TYPOS.replace("[m7i, m7i.flex]", f"[m7i, m7i.flex] {comment}"))
    done = nodelint("check", "--format", "json", "--select", "unknown-value,unused-suppression,no-limits")
    messages = [f["message"] for f in json.loads(done.stdout)["findings"] if f["rule"] == "unused-suppression"]
    wanted = f"this comment silences nothing here: write `# nodelint: ignore[{names}] reason`"
    assert messages == ([] if names is None else [wanted])


def test_a_comment_of_another_linter_is_about_the_line_from_its_first_character(
    nodelint: Run, tmp_path: Path
) -> None:
    put(tmp_path, POOL + "weigth: 3 # noqa\n---\n" + CLASS)
    done = nodelint("check", "--format", "json", "--select", "unknown-field,unused-suppression")
    messages = [f["message"] for f in json.loads(done.stdout)["findings"] if f["rule"] == "unused-suppression"]
    assert messages == ["this comment silences nothing here: write `# nodelint: ignore[unknown-field] reason`"]


def test_a_comment_of_another_linter_where_nothing_is_found_is_left_in_peace(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, POOL.replace("\n", " # noqa\n", 1) + "---\n" + CLASS)
    assert nodelint("check", "--select", "unused-suppression").returncode == 0


def test_clean_removes_the_cache_and_nothing_else(nodelint: Run, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    put(cache, '{"nodelint-snapshot": 1', "a-0123.json")
    put(cache, "{}", "notes.json")
    (cache / "link.json").symlink_to(cache / "a-0123.json")
    environment = {"NODELINT_CACHE_DIR": str(cache)}
    assert "Would remove" in nodelint("clean", "--dry-run", env=environment).stdout
    assert (cache / "a-0123.json").exists()
    assert nodelint("clean", env=environment).stdout.endswith("Removed 1 file.\n")
    assert sorted(path.name for path in cache.iterdir()) == ["link.json", "notes.json"]
    assert nodelint("clean", env=environment).stdout.startswith("Nothing to remove")


def test_the_rules_are_json_by_the_short_flag_too(nodelint: Run) -> None:
    assert nodelint("rule", "--json").stdout == nodelint("rule", "--format", "json").stdout


def test_a_folder_of_a_repository_says_that_workloads_elsewhere_are_not_compared(
    nodelint: Run, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    put(tmp_path, f"{POOL}---\n{CLASS}", "pools/pool.yaml")
    part = nodelint("check", "pools").stdout
    assert (
        "Not compared: workloads with these NodePools, as other parts of the repository may have pools for them; "
        in part
    )
    assert "`nodelint check .`" in part
    for paths in ([], ["."], ["pools/pool.yaml"], ["--profile", "minimal", "pools/pool.yaml"]):
        assert "Not compared" not in nodelint("check", *paths).stdout
