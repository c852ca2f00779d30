"""Coverage-guided fuzzing of everything that reads a file, with atheris (Linux; `pip install -e '.[fuzz]'`).

    python tools/fuzz.py TARGET [--corpus DIR] [-- libFuzzer's own flags, such as -max_total_time=3600 or -runs=10000]

Targets: loader, fixer, hcl, terraform, templates, filling, placeholders, gitignore, snapshot, configuration, log.
Inputs start from the examples of the rules and from `tests/trees`. What breaks a property is written to a file
`crash-…` that libFuzzer names; the same target takes it as its only argument behind `--`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nodelint.rule.definition import Rule

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def positions_hold(data: bytes, path: str) -> None:
    """Check that reading a file raises nothing, and that each node, problem and document lies in the text."""
    from nodelint.text import Source

    source = Source.from_bytes(path, data)
    length = len(source.text)
    for offset in (
        *(problem.offset for problem in source.problems),
        *(set_aside.offset for set_aside in source.set_aside),
    ):
        assert 0 <= offset <= length, f"a problem at {offset} of {length}"
        source.position(offset)
    for document in source.documents:
        assert 0 <= document.start <= document.end <= length
        for node in document.root.walk() if document.root is not None else ():
            assert 0 <= node.start <= node.end <= length, f"{node!r} lies outside"


def fixes_hold(data: bytes) -> None:
    """Check that all rules run without a fault, and that fixes end and leave a text that can be read."""
    from nodelint.lint.autofix import fix
    from nodelint.lint.engine import LintRequest, Selection, Target, lint
    from nodelint.model.releases import NEWEST
    from nodelint.text import Source

    rules = _rules()
    every = Selection(frozenset(rules))
    source = Source.from_bytes("pool.yaml", data)
    report = lint([source], LintRequest(Target(NEWEST), rules, every))
    assert not report.faults, report.faults
    fixed = fix([source], LintRequest(Target(NEWEST), rules, every), unsafe=True, report=report)
    assert not fixed.report.faults, fixed.report.faults
    (new,) = fixed.sources
    assert len(new.problems) <= len(source.problems), "a fix broke the file"
    if not fixed.applied:
        assert new.text == source.text, "a text has changed without a fix"
    again = fix(list(fixed.sources), LintRequest(Target(NEWEST), rules, every), unsafe=True)
    assert again.sources[0].text == new.text, "a fix does not settle"


def snapshot_holds(data: bytes) -> None:
    """Check that a snapshot is read, or refused by SnapshotError."""
    from nodelint.ec2.snapshot import SnapshotError, parse_snapshot, snapshot_text

    try:
        read = parse_snapshot(data)
    except SnapshotError:
        return
    assert parse_snapshot(snapshot_text(read).encode()) == read, "what is written is not what was read"


def configuration_holds(data: bytes) -> None:
    """Check that a configuration is read, or refused by ConfigError."""
    from nodelint.config import settings as config
    from nodelint.config.file import ConfigError

    with tempfile.TemporaryDirectory() as folder:
        for name in ("pyproject.toml", "nodelint.yaml"):
            path = os.path.join(folder, name)
            Path(path).write_bytes(data)
            try:
                config.load(path, {})
            except ConfigError:
                continue


def log_holds(data: bytes) -> None:
    """Check that any text is sorted into groups of log lines, or refused with NoLog."""
    from nodelint.triage import NoLog, triage

    with suppress(NoLog):
        triage(iter(data.splitlines(keepends=True)))


def modules_hold(data: bytes) -> None:
    """Check that objects rendered from Terraform, with and without defaults, can be read."""
    from nodelint.forms.terraform.rendered import filled_by_terraform
    from nodelint.text import Source

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "main.tf").write_bytes(data)
        source = Source.from_bytes(os.path.join(folder, "main.tf"), data)
        for built in filled_by_terraform([source]):
            for built_text in (built, *(built.settle() if built.settle is not None else ())):
                for document in built_text.source.documents:
                    for node in document.root.walk() if document.root is not None else ():
                        origin = built_text.find_origin(node)
                        assert origin is None or 0 <= origin.at.start <= origin.at.end <= len(origin.at.source.text)


def filling_holds(data: bytes) -> None:
    """Check that a template of a chart is parsed and filled, or refused by BadTemplate or BudgetSpent."""
    from nodelint.base.budget import BudgetSpent
    from nodelint.forms.lib.gotemplate.evaluate import fill
    from nodelint.forms.lib.gotemplate.syntax import BadTemplate, parse
    from nodelint.text import Source

    text = data.decode(errors="replace")
    values = Source.from_text("values.yaml", "# karpenter\na: {b: [1, x, null], c: true}\nd: ''\ne: 1e400\n")
    with suppress(BadTemplate, BudgetSpent):
        parts = parse(text)
        for holes in ("keys", "some keys", "code", "nothing"):
            filled = fill(text, parts, values.documents[0].root, holes)
            ends = [*(segment.at for segment in filled.segments[1:]), len(filled.text)]
            assert all(segment.at <= end for segment, end in zip(filled.segments, ends, strict=False))


def masks_hold(data: bytes) -> None:
    """Check that masking keeps the length of a text, and leaves no template code in it."""
    from nodelint.text import placeholders

    text = data.decode(errors="replace")
    for hcl in (False, True):
        for whole_lines in (False, True):
            masked, lines = placeholders.mask(text, whole_lines, hcl)
            assert len(masked) == len(text)
            assert all(0 <= line <= len(text) for line in lines)
    for question in (placeholders.holds_placeholder, placeholders.is_placeholder, placeholders.replaced):
        question(text)
    placeholders.left_by_hand(text, ["STAND_IN"])
    placeholders.branches(text, 0, len(text))


def ignoring_holds(data: bytes) -> None:
    """Check that any glob can be read, and matches a path or does not."""
    from nodelint.files.wildmatch import matches

    pattern, _, path = data.decode(errors="surrogateescape").partition("\n")
    assert matches(pattern, path) in (True, False)
    if pattern and not set(pattern) & set("*?[\\/") and "\0" not in pattern:
        assert matches(pattern, pattern), "a name does not match itself"


TARGETS: dict[str, Callable[[bytes], None]] = {
    "loader": lambda data: positions_hold(data, "pool.yaml"),
    "fixer": fixes_hold,
    "hcl": lambda data: positions_hold(data, "main.tf"),
    "templates": lambda data: positions_hold(b"# {{ karpenter }}\n" + data, "templates/pool.yaml"),
    "terraform": modules_hold,
    "filling": filling_holds,
    "placeholders": masks_hold,
    "gitignore": ignoring_holds,
    "snapshot": snapshot_holds,
    "configuration": configuration_holds,
    "log": log_holds,
}


@cache
def _rules() -> dict[str, Rule]:
    from nodelint.rule.definition import bundled, load

    return load(bundled())


def seeds(target: str) -> Iterator[bytes]:
    """Return the inputs with which a target starts."""
    trees = ROOT / "tests" / "trees"
    from nodelint.rule.examples import examples

    if target in ("loader", "fixer", "templates"):
        for rule in _rules().values():
            yield from (example.text.encode() for example in examples(rule.page) if not example.good)
        yield from (path.read_bytes() for path in sorted(trees.rglob("*.y*ml")) if path.is_file())
    elif target in ("filling", "placeholders"):
        yield from (path.read_bytes() for path in sorted(trees.rglob("*.y*ml")) if b"{{" in path.read_bytes())
        yield from (path.read_bytes() for path in sorted(trees.rglob("*.t*f*l")) if path.is_file())
    elif target == "gitignore":
        yield from (b"*.yaml\npool.yaml", b"/a/**/b/\na/x/b", b"!a[!b-d]?\nae1", b"**/x\\*\na/x*", b"[[:alpha:]]\nz")
    elif target in ("hcl", "terraform"):
        yield from (path.read_bytes() for path in sorted(trees.rglob("*.tf")) if path.is_file())
    elif target == "log":
        logs = sorted(p for p in (ROOT / "tests" / "triage").iterdir() if p.is_file() and p.suffix != ".py")
        yield from (path.read_bytes()[:20_000] for path in logs)
    elif target == "snapshot":
        from nodelint.data import DATA

        bundled = json.loads(Path(DATA, "catalog.json").read_text(encoding="utf-8"))
        yield json.dumps(
            {key: seed[:3] if isinstance(seed, list) else seed for key, seed in bundled.items()}
        ).encode()
    else:
        yield b'[tool.nodelint]\nkarpenter-version = "1.10"\nselect = ["all"]\nexclude = ["a/**"]\n'
        yield b'karpenter-version: "1.10"\nignore: [hazard]\npolicies:\n  - {name: x, on: NodePool, check: "true"}\n'


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz what reads files.")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--corpus", help="a folder that keeps the inputs that were worth keeping")
    # Cut off by hand: argparse refuses a `--` that follows an option behind the target.
    ours, flags = sys.argv[1:], []
    if "--" in ours:
        ours, flags = ours[: ours.index("--")], ours[ours.index("--") + 1 :]
    options = parser.parse_args(ours)
    import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

    with atheris.instrument_imports(include=["nodelint"]):
        import nodelint.config.settings
        import nodelint.ec2.snapshot
        import nodelint.files.wildmatch
        import nodelint.forms.lib.gotemplate.evaluate
        import nodelint.forms.terraform.hcl
        import nodelint.forms.terraform.rendered
        import nodelint.lint.engine
        import nodelint.text.embedded
        import nodelint.triage  # noqa: F401
    corpus = Path(options.corpus or tempfile.mkdtemp(prefix="nodelint-fuzz-"))
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(seeds(options.target)):
        (corpus / f"seed-{number}").write_bytes(seed)
    run = TARGETS[options.target]
    atheris.Setup([sys.argv[0], "-rss_limit_mb=2048", "-timeout=20", *flags, str(corpus)], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
