"""Time nodelint over inputs that were slow once, each at two sizes, and print how the time grows.

    python benchmarks/large_inputs.py [--only NAME,...] [--scale 1.0] [--limit 120] [--runs 1]

For each fault there is one generator. A row gives CPU seconds and peak memory of a whole process at half the size and
at the full size, the least of some runs, and the exponent between them once the start of a process is taken off: 1 is
linear, 2 is quadratic. The last columns are the CPU seconds and the memory to stay below.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

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


NODELINT = (sys.executable, "-c", "from nodelint.__main__ import main; main()")
"""The command of the interpreter that runs this, whether or not it is on the path."""


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


def pool(name: object, *requirements: str, more: str = "") -> str:
    """A NodePool with requirements in flow style."""
    lines = "".join(f"        - {requirement}\n" for requirement in requirements)
    return f"{HEAD % name}{more}  template:\n    spec:\n      {REF}\n      requirements:\n{lines}"


ARM = "{key: kubernetes.io/arch, operator: In, values: [%s]}"
FAULTY = (
    "{key: karpenter.k8s.aws/instance-categorie, operator: In, values: [m]}",
    "{key: node.kubernetes.io/instance-type, operator: In, values: [m5.larg, m5.large]}",
    ARM % "x86_64",
)


def findings(folder: Path, size: int) -> None:
    """Pools of one file with three findings each, `size` in all."""
    each = [pool(n, *FAULTY) for n in range(max(1, size // 3))]
    (folder / "pools.yaml").write_text("---\n".join([*each, CLASS]))


def tree(folder: Path, size: int) -> None:
    """A tree with a fix in every file."""
    (folder / "class.yaml").write_text(CLASS)
    for n in range(size):
        (folder / f"pool{n}.yaml").write_text(pool(n, ARM % "x86_64"))


def not_in(folder: Path, size: int) -> None:
    """Lines `NotIn` of one key."""
    lines = [f"{{key: node.kubernetes.io/instance-type, operator: NotIn, values: [m5.x{n}]}}" for n in range(size)]
    (folder / "pool.yaml").write_text(pool("p", *lines) + "---\n" + CLASS)


def old_version(folder: Path, size: int) -> None:
    """A NodePool of v1beta1 with many labels."""
    labels = "".join(f"        team/k{n}: v\n" for n in range(size))
    (folder / "pool.yaml").write_text(
        "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: p}\nspec:\n  template:\n    metadata:\n"
        f"      labels:\n{labels}    spec:\n      nodeClassRef: {{name: default}}\n      requirements: []\n"
        "  disruption: {consolidationPolicy: WhenUnderutilized, expireAfter: 720h}\n"
    )


def types(folder: Path, size: int) -> None:
    """Instance types that there are none of."""
    values = ", ".join(f"m5.{n}xlarg" for n in range(size))
    line = f"{{key: node.kubernetes.io/instance-type, operator: In, values: [{values}]}}"
    (folder / "pool.yaml").write_text(pool("p", line) + "---\n" + CLASS)


def comments(folder: Path, size: int) -> None:
    """Comments that silence a rule at the end of lines, all of them needless."""
    limits = "".join(f"    r{n}: 1 # nodelint: ignore[no-image]\n" for n in range(size))
    (folder / "pool.yaml").write_text(pool("p", ARM % "amd64", more=f"  limits:\n{limits}") + "---\n" + CLASS)


def comments_above(folder: Path, size: int) -> None:
    """The same on lines of their own."""
    limits = "".join(f"    # nodelint: ignore[no-image]\n    r{n}: 1\n" for n in range(size))
    (folder / "pool.yaml").write_text(pool("p", ARM % "amd64", more=f"  limits:\n{limits}") + "---\n" + CLASS)


def unknown_keys(folder: Path, size: int) -> None:
    """Fields that there are none of."""
    fields = "".join(f"  notAField{n}: 1\n" for n in range(size))
    (folder / "pool.yaml").write_text(pool("p", ARM % "amd64", more=fields) + "---\n" + CLASS)


def unknown_labels(folder: Path, size: int) -> None:
    """Requirements with keys of Karpenter's domain that there are none of."""
    lines = [f"{{key: karpenter.k8s.aws/instance-x{n}, operator: Exists}}" for n in range(size)]
    (folder / "pool.yaml").write_text(pool("p", *lines) + "---\n" + CLASS)


def excludes(folder: Path, size: int) -> None:
    """Globs that exclude nothing, over fifty files."""
    globs = ", ".join(f'"generated/{n}/**"' for n in range(size))
    (folder / "nodelint.toml").write_text(f"exclude = [{globs}]\n")
    for n in range(50):
        (folder / f"pool{n}.yaml").write_text(pool(n, ARM % "amd64"))
    (folder / "class.yaml").write_text(CLASS)


def stream(folder: Path, size: int) -> None:
    """A stream of `size` MB with twenty of Karpenter's objects."""
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n" + "  key: some value or other\n" * 400
    count = size * 1_000_000 // (len(other) + 4)
    with (folder / "stream.yaml").open("w") as file:
        for n in range(count):
            file.write("---\n" + other)
            if n % max(1, count // 20) == 0:
                file.write("---\n" + pool(n, ARM % "amd64"))
        file.write("---\n" + CLASS)


CATEGORY = "{key: karpenter.k8s.aws/instance-category, operator: In, values: [%s]}"


def pairs(folder: Path, size: int) -> None:
    """Files with a pool and its class each."""
    for n in range(size):
        text = pool(n, ARM % "amd64", CATEGORY % "cmrt"[n % 4]) + "---\n" + CLASS
        (folder / f"pool{n}.yaml").write_text(text.replace("name: default", f"name: class-{n}"))


CASES = {
    "findings": Case(4000, findings, seconds=2),
    "findings --diff": Case(4000, findings, ("--diff", "--unsafe-fixes"), seconds=3),
    "findings --fix": Case(4000, findings, ("--unsafe-fixes",)),
    "findings json": Case(4000, findings, ("--format", "json")),
    "tree --fix": Case(10_000, tree, ("--unsafe-fixes",)),
    "NotIn": Case(4000, not_in),
    "v1beta1": Case(8000, old_version),
    "v1beta1 --diff": Case(8000, old_version, ("--diff", "--unsafe-fixes")),
    "types": Case(200_000, types),
    "comments": Case(100_000, comments),
    "comments above": Case(100_000, comments_above),
    "unknown fields": Case(100_000, unknown_keys),
    "unknown labels": Case(20_000, unknown_labels),
    "excludes": Case(50_000, excludes),
    "stream": Case(200, stream, megabytes=64),
    "explain json": Case(300, pairs, ("--format", "json"), megabytes=80, command="explain"),
}


class Taken(NamedTuple):
    """CPU seconds, peak memory in MB and exit code of a run; the code is -1 for one that took longer than allowed."""

    seconds: float
    megabytes: int
    code: int


def run(case: Case, size: int, limit: float) -> Taken:
    """What a run over an input of some size takes; `limit` are seconds of a clock."""
    folder = Path(tempfile.mkdtemp())
    try:
        case.make(folder, size)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [*NODELINT, case.command, ".", *case.arguments]
        # Of its own parent, so that the peak of memory is its own.
        measure = (
            "import resource, subprocess, sys\n"
            "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, code)"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", measure, *command], cwd=folder, stdout=subprocess.PIPE, start_new_session=True
        )
        late = threading.Timer(limit, lambda: os.killpg(process.pid, 9))
        late.start()
        said = process.communicate()[0].split()
        late.cancel()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if said:
            hold_to_exit_code(int(said[1]), command)
        elif process.returncode != -signal.SIGKILL:
            raise SystemExit(f"{' '.join(command)} could not be started")
        return Taken(seconds, int(said[0]) // 1024, int(said[1])) if said else Taken(limit, 0, -1)
    finally:
        shutil.rmtree(folder)


def hold_to_exit_code(code: int, command: Sequence[str]) -> None:
    """Raise SystemExit for a run that could not do its work: what it took says nothing."""
    if code not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {code}")


def row(name: str, sizes: tuple[int, int], least: tuple[Taken, Taken], start: float, limit: float) -> str:
    """The row of a case, whose runs took `least` at two sizes; a run over nothing much takes `start`."""
    case, (half, whole) = CASES[name], least
    times = math.log2(sizes[1] / sizes[0])
    grows = math.log2(max(whole.seconds - start, 0.01) / max(half.seconds - start, 0.01)) / times
    # What is near to nothing has no growth to tell of.
    known = half.code >= 0 and whole.code >= 0 and whole.seconds > 2 * start
    seconds = [f"{each.seconds:.2f}" if each.code >= 0 else f"> {limit:.0f}" for each in least]
    aims = ["" if aim is None else f"{aim:g}" for aim in (case.seconds, case.megabytes)]
    shown = [name, f"{sizes[1]:,}", *seconds, f"{grows:.2f}" if known else "", str(whole.megabytes), str(whole.code)]
    return f"| {' | '.join([*shown, *aims])} |"


def rows(names: Sequence[str], scale: float = 1.0, limit: float = 120.0, runs: int = 1) -> Iterator[str]:
    """The table of some cases, line by line."""

    def least(case: Case, size: int) -> Taken:
        taken = [run(case, size, limit) for _ in range(runs)]
        return Taken(min(each.seconds for each in taken), min(each.megabytes for each in taken), taken[0].code)

    one = Case(1, not_in)
    run(one, 1, limit)  # compiles the modules
    start = least(one, 1).seconds
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    yield f"load {load}; a run over one pool takes {start:.2f} s of CPU\n"
    yield "| input | size | CPU s, half | CPU s | exponent | MB | exit | s at most | MB at most |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name in names:
        case = CASES[name]
        size = max(2, int(case.size * scale))
        sizes = size // 2, size
        yield row(name, sizes, (least(case, sizes[0]), least(case, sizes[1])), start, limit)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time nodelint over large inputs.")
    parser.add_argument("--only", help="names of cases, parted by commas")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of a run")
    parser.add_argument("--runs", type=int, default=1, help="the least of so many is shown")
    asked = parser.parse_args()
    names = [name.strip() for name in asked.only.split(",")] if asked.only else list(CASES)
    for line in rows(names, asked.scale, asked.limit, asked.runs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
