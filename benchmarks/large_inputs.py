"""Time nodelint over inputs that were slow once, each at two sizes, and print how the time grows.

    python benchmarks/large_inputs.py --only comments,types
    python benchmarks/large_inputs.py --against origin/main --scale 0.1

For each fault there is one generator. A row gives CPU seconds and peak memory of a whole process at half the size and
at the full size, the least of some runs, and the exponent between them once the start of a process is taken off: 1 is
linear, 2 is quadratic. With `--against`, two columns give the CPU seconds of that revision at the full size. The last
columns are the CPU seconds and the memory to stay below.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from measures import LIMIT, TooSlow, Unable, hold_to_exit_code
from trees import Tree, add_against, describe_load, describe_run, lay_out_trees

HEAD = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p%s}\nspec:\n"
REF = "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}"
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""


class Case(NamedTuple):
    """Writes files of a size into a folder; `arguments` follow `nodelint <command> .`.

    `seconds` of CPU and `megabytes` are what a run is to stay below.
    """

    size: int
    make: Callable[[Path, int], None]
    arguments: tuple[str, ...] = ()
    seconds: float | None = None
    megabytes: int | None = None
    command: str = "check"


def make_pool(name: object, *requirements: str, more: str = "") -> str:
    """A NodePool with requirements in flow style."""
    lines = "".join(f"        - {requirement}\n" for requirement in requirements)
    return f"{HEAD % name}{more}  template:\n    spec:\n      {REF}\n      requirements:\n{lines}"


ARM = "{key: kubernetes.io/arch, operator: In, values: [%s]}"
FAULTY = (
    "{key: karpenter.k8s.aws/instance-categorie, operator: In, values: [m]}",
    "{key: node.kubernetes.io/instance-type, operator: In, values: [m5.larg, m5.large]}",
    ARM % "x86_64",
)


def write_findings(folder: Path, size: int) -> None:
    """Pools of one file with three findings each, `size` in all."""
    pools = [make_pool(n, *FAULTY) for n in range(max(1, size // 3))]
    (folder / "pools.yaml").write_text("---\n".join([*pools, CLASS]))


def write_fixable_tree(folder: Path, size: int) -> None:
    """A tree with a fix in every file."""
    (folder / "class.yaml").write_text(CLASS)
    for n in range(size):
        (folder / f"pool{n}.yaml").write_text(make_pool(n, ARM % "x86_64"))


def write_not_in(folder: Path, size: int) -> None:
    """Lines `NotIn` of one key."""
    lines = [f"{{key: node.kubernetes.io/instance-type, operator: NotIn, values: [m5.x{n}]}}" for n in range(size)]
    (folder / "pool.yaml").write_text(make_pool("p", *lines) + "---\n" + CLASS)


def write_old_version(folder: Path, size: int) -> None:
    """A NodePool of v1beta1 with many labels."""
    labels = "".join(f"        team/k{n}: v\n" for n in range(size))
    (folder / "pool.yaml").write_text(
        "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: p}\nspec:\n  template:\n    metadata:\n"
        f"      labels:\n{labels}    spec:\n      nodeClassRef: {{name: default}}\n      requirements: []\n"
        "  disruption: {consolidationPolicy: WhenUnderutilized, expireAfter: 720h}\n"
    )


def write_types(folder: Path, size: int) -> None:
    """Instance types that there are none of."""
    values = ", ".join(f"m5.{n}xlarg" for n in range(size))
    line = f"{{key: node.kubernetes.io/instance-type, operator: In, values: [{values}]}}"
    (folder / "pool.yaml").write_text(make_pool("p", line) + "---\n" + CLASS)


def write_comments(folder: Path, size: int) -> None:
    """Comments that silence a rule at the end of lines, all of them needless."""
    limits = "".join(f"    r{n}: 1 # nodelint: ignore[no-image]\n" for n in range(size))
    (folder / "pool.yaml").write_text(make_pool("p", ARM % "amd64", more=f"  limits:\n{limits}") + "---\n" + CLASS)


def write_comments_above(folder: Path, size: int) -> None:
    """The same on lines of their own."""
    limits = "".join(f"    # nodelint: ignore[no-image]\n    r{n}: 1\n" for n in range(size))
    (folder / "pool.yaml").write_text(make_pool("p", ARM % "amd64", more=f"  limits:\n{limits}") + "---\n" + CLASS)


def write_unknown_fields(folder: Path, size: int) -> None:
    """Fields that there are none of."""
    fields = "".join(f"  notAField{n}: 1\n" for n in range(size))
    (folder / "pool.yaml").write_text(make_pool("p", ARM % "amd64", more=fields) + "---\n" + CLASS)


def write_unknown_labels(folder: Path, size: int) -> None:
    """Requirements with keys of Karpenter's domain that there are none of."""
    lines = [f"{{key: karpenter.k8s.aws/instance-x{n}, operator: Exists}}" for n in range(size)]
    (folder / "pool.yaml").write_text(make_pool("p", *lines) + "---\n" + CLASS)


def write_excludes(folder: Path, size: int) -> None:
    """Globs that exclude nothing, over fifty files."""
    globs = ", ".join(f'"generated/{size}-{n}/**"' for n in range(size))
    (folder / "nodelint.yaml").write_text(f"exclude: [{globs}]\n")
    for n in range(50):
        (folder / f"pool{n}.yaml").write_text(make_pool(n, ARM % "amd64"))
    (folder / "class.yaml").write_text(CLASS)


def write_stream(folder: Path, size: int) -> None:
    """A stream of `size` MB with twenty of Karpenter's objects."""
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n" + "  key: some value or other\n" * 400
    count = size * 1_000_000 // (len(other) + 4)
    with (folder / "stream.yaml").open("w") as file:
        for n in range(count):
            file.write("---\n" + other)
            if n % max(1, count // 20) == 0:
                file.write("---\n" + make_pool(n, ARM % "amd64"))
        file.write("---\n" + CLASS)


CATEGORY = "{key: karpenter.k8s.aws/instance-category, operator: In, values: [%s]}"


def write_pairs(folder: Path, size: int) -> None:
    """Files with a pool and its class each."""
    for n in range(size):
        text = make_pool(n, ARM % "amd64", CATEGORY % "cmrt"[n % 4]) + "---\n" + CLASS
        (folder / f"pool{n}.yaml").write_text(text.replace("name: default", f"name: class-{n}"))


CASES = {
    "findings": Case(4000, write_findings, seconds=2),
    "findings --diff": Case(4000, write_findings, ("--diff", "--unsafe-fixes"), seconds=3),
    "findings --fix": Case(4000, write_findings, ("--unsafe-fixes",)),
    "findings json": Case(4000, write_findings, ("--format", "json")),
    "tree --fix": Case(10_000, write_fixable_tree, ("--unsafe-fixes",)),
    "NotIn": Case(4000, write_not_in),
    "v1beta1": Case(8000, write_old_version),
    "v1beta1 --diff": Case(8000, write_old_version, ("--diff", "--unsafe-fixes")),
    "types": Case(200_000, write_types),
    "comments": Case(100_000, write_comments),
    "comments above": Case(100_000, write_comments_above),
    "unknown fields": Case(100_000, write_unknown_fields),
    "unknown labels": Case(20_000, write_unknown_labels),
    "excludes": Case(50_000, write_excludes),
    "stream": Case(200, write_stream, megabytes=64),
    "explain json": Case(300, write_pairs, ("--format", "json"), megabytes=80, command="explain"),
}


class Taken(NamedTuple):
    """CPU seconds, peak memory in MB and exit code of a run."""

    seconds: float
    megabytes: int
    code: int


_MEASURE = """\
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, done.returncode)
sys.stderr.buffer.write(done.stderr)
"""
"""Runs a command as the one child of a small process, so that the peak of memory is the command's own."""


def run_case(case: Case, size: int, limit: float, tree: Tree) -> Taken:
    """What a run over an input of some size takes.

    Raises Unable where it cannot do its work, TooSlow where it takes more than `limit` seconds of a clock.
    """
    with tempfile.TemporaryDirectory() as folder:
        case.make(Path(folder), size)
        command = tree.command(case.command, ".", *case.arguments)
        process = subprocess.Popen(
            [sys.executable, "-c", _MEASURE, *command.words],
            cwd=folder,
            env=command.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        late = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        output, errors = process.communicate()
        late.cancel()
    if process.returncode == -signal.SIGKILL:
        raise TooSlow(f"> {limit:.0f} s")
    if process.returncode:
        raise Unable(f"could not be started: {errors.strip()}")
    seconds, kilobytes, code = output.split()
    hold_to_exit_code(int(code), errors)
    return Taken(float(seconds), int(kilobytes) // 1024, int(code))


def run_repeatedly(case: Case, size: int, limit: float, runs: int, tree: Tree) -> Taken | Unable:
    """The least of some runs, or why there is none. Raises SystemExit for a tree of now that cannot do the work."""
    try:
        taken = [run_case(case, size, limit, tree) for _ in range(runs)]
    except Unable as reason:
        if tree.name == "now" and not isinstance(reason, TooSlow):
            raise SystemExit(f"nodelint {case.command} {reason}") from None
        return reason
    return Taken(min(run.seconds for run in taken), min(run.megabytes for run in taken), taken[0].code)


def format_seconds(taken: Taken | Unable) -> str:
    return str(taken).replace("|", "/") if isinstance(taken, Unable) else f"{taken.seconds:.2f}"


def format_row(name: str, sizes: tuple[int, int], taken: Sequence[Taken | Unable], start: float) -> str:
    """The row of a case: `taken` at half the size, at the full size, and by the other tree at the full size.

    A run over nothing much takes `start` seconds.
    """
    case, (half, whole, *then) = CASES[name], taken
    exponent, memory, quotient = "", ["", ""], ""
    if isinstance(whole, Taken):
        memory = [str(whole.megabytes), str(whole.code)]
        # What is near to nothing has no growth to speak of.
        if isinstance(half, Taken) and whole.seconds > 2 * start:
            growth = math.log2(max(whole.seconds - start, 0.01) / max(half.seconds - start, 0.01))
            exponent = f"{growth / math.log2(sizes[1] / sizes[0]):.2f}"
        if then and isinstance(then[0], Taken):
            quotient = f"{whole.seconds / then[0].seconds:.2f}"
    others = [format_seconds(then[0]), quotient] if then else []
    aims = ["" if aim is None else f"{aim:g}" for aim in (case.seconds, case.megabytes)]
    cells = [name, f"{sizes[1]:,}", format_seconds(half), format_seconds(whole), *others, exponent, *memory, *aims]
    return f"| {' | '.join(cells)} |"


def print_table(
    trees: Sequence[Tree], names: Sequence[str] = (), scale: float = 1.0, limit: float = LIMIT, runs: int = 1
) -> None:
    """Print the table of some cases, or of all."""
    smallest = Case(1, write_not_in)
    for tree in trees:
        run_repeatedly(smallest, 1, limit, 1, tree)  # compiles the modules
    start = run_repeatedly(smallest, 1, limit, runs, trees[0])
    if isinstance(start, Unable):
        raise SystemExit(f"nodelint over one pool {start}")
    print(f"a run over one pool takes {start.seconds:.2f} s of CPU; load {describe_load()}\n")
    columns = ["input", "size", "CPU s, half", "CPU s", *(["CPU s, then", "now / then"] if trees[1:] else [])]
    columns += ["exponent", "MB", "exit", "s at most", "MB at most"]
    print(f"| {' | '.join(columns)} |\n| --- |{' ---: |' * (len(columns) - 1)}", flush=True)
    for name in names or CASES:
        case = CASES[name]
        size = max(2, int(case.size * scale))
        sizes = size // 2, size
        taken = [run_repeatedly(case, part, limit, runs, trees[0]) for part in sizes]
        taken += [run_repeatedly(case, size, limit, runs, tree) for tree in trees[1:]]
        print(format_row(name, sizes, taken, start.seconds), flush=True)


def split_names(text: str) -> list[str]:
    """The names of cases that an option asks for. Raises ArgumentTypeError for one that there is not."""
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in CASES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of: {', '.join(CASES)}")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_against(parser)
    parser.add_argument("--only", type=split_names, default=(), metavar="NAME,...", help="Cases, parted by commas.")
    parser.add_argument("--scale", type=float, default=1.0, help="Size of the inputs: 0.1 for a tenth of each.")
    parser.add_argument("--limit", type=float, default=LIMIT, help="Seconds after which a run is given up.")
    parser.add_argument("--runs", type=int, default=1, help="Runs of each, of which the least is shown.")
    options = parser.parse_args()
    with lay_out_trees(options.against) as trees:
        print(f"{describe_run(trees)}\n", flush=True)
        print_table(trees, options.only, options.scale, options.limit, options.runs)


if __name__ == "__main__":
    main()
