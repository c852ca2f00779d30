"""A file is there whole or not at all: whatever ends the writer, and whoever writes beside it."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nodelint.source.files import replace, sweep

from .conftest import ROOT

# Writes two contents in turns; its first argument is the file. Says so when it begins.
_WRITER = """\
import sys
from nodelint.ec2.cache import write
from nodelint.ec2.snapshot import Answer, Question, Region, Snapshot, snapshot_text
def content(mark):
    answers = {Question.of("parameters", ("name", f"/{mark}/{n}")): Answer("2026-11-20T12:00:00Z", (mark,), 1)
               for n in range(%d)}
    snapshot = Snapshot("EC2", "2026-11-20", regions=(Region("us-east-1", None, answers),))
    text = snapshot_text(snapshot)
    return type("Made", (), {"text": lambda self: text})()
contents = [content("a" * 400), content("b" * 400)]
print(len(contents[0].text()), flush=True)
n = 0
while True:
    n += 1
    write(sys.argv[1], contents[n %% 2])
"""


def writer(path: Path, size: int) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    code = _WRITER % size
    return subprocess.Popen([sys.executable, "-c", code, str(path)], env=env, stdout=subprocess.PIPE, text=True)


def begun(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline().strip().isdigit()


def wholes(path: Path, size: int) -> set[bytes]:
    """The contents that the writer writes, as one that is left alone writes them."""
    process = writer(path, size)
    begun(process)
    seen = set()
    until = time.monotonic() + 30
    while len(seen) < 2 and time.monotonic() < until:
        if path.exists():
            seen.add(path.read_bytes())
    process.kill()
    process.communicate()
    assert len(seen) == 2
    return seen


def test_a_killed_writer_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    """A writer that forks one child for each try: killing a child is quick, starting an interpreter is not."""
    path = tmp_path / "facts.json"
    good = wholes(path, 2000)
    chance = random.Random(7)
    code = _WRITER % 2000
    forking = code.replace(
        "n = 0\n",
        "import os\n"
        "for line in sys.stdin:\n"
        "    child = os.fork()\n"
        "    if child: print(child, flush=True); os.waitpid(child, 0); print('ended', flush=True); continue\n"
        "    break\n"
        "else: sys.exit()\n"
        "n = 0\n",
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen(
        [sys.executable, "-c", forking, str(path)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    begun(parent)
    assert parent.stdin is not None
    assert parent.stdout is not None
    left, kills = 0, 150
    for _ in range(kills):
        parent.stdin.write("go\n")
        parent.stdin.flush()
        child = int(parent.stdout.readline())
        time.sleep(chance.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        assert parent.stdout.readline() == "ended\n"
        assert path.read_bytes() in good
        left += sum(name.startswith(".nodelint-") for name in os.listdir(tmp_path))
        for temporary in tmp_path.glob(".nodelint-*"):
            temporary.unlink()
    parent.communicate()
    assert left > kills // 10, "most kills fell between two writings: nothing was tried"


def test_two_writers_at_once_and_a_reader_sees_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    good = wholes(path, 500)
    processes = [writer(path, 500) for _ in range(2)]
    for process in processes:
        begun(process)
    for _ in range(300):
        assert path.read_bytes() in good
    for process in processes:
        assert process.poll() is None, "neither fails for the other"
        process.kill()
        process.communicate()
    assert path.read_bytes() in good


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "facts.json"
    path.write_bytes(b"old")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    code = (
        "import sys\nfrom nodelint.ec2.cache import Unusable, write\nfrom nodelint.ec2.snapshot import Snapshot\n"
        "try: write(sys.argv[1], Snapshot('x' * 5000, '2026-11-20'))\n"
        "except Unusable as error: print(error); sys.exit(2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == f"{path}: not written: file too large\n"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["facts.json"]


def test_a_new_file_has_the_permissions_of_the_umask_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    before = os.umask(0o027)
    try:
        replace(str(path), b"new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        replace(str(path), b"newer")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert path.read_bytes() == b"newer"


def test_a_dangling_link_gets_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    replace(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["", "absent/file", "pipe"])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    if name == "pipe":
        os.mkfifo(tmp_path / name)
    with pytest.raises(OSError):
        replace(str(tmp_path / name), b"new")
    assert [p.name for p in tmp_path.iterdir()] == ([name] if name == "pipe" else [])


def test_temporaries_of_killed_runs_are_swept_and_nothing_else(tmp_path: Path) -> None:
    old = time.time() - 7200
    names = [
        ".nodelint-0123456789abcdef.tmp",
        ".nodelint-0123456789abcdef.tmp.yaml",
        ".nodelint-notours.tmp",
        "0123456789abcdef.tmp",
        "pool.yaml",
    ]
    for name in [*names, ".nodelint-fedcba9876543210.tmp"]:
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (old, old))
    (tmp_path / ".nodelint-00000000000000ff.tmp").write_bytes(b"of a run that still writes")
    (tmp_path / ".nodelint-00000000000000aa.tmp").symlink_to(tmp_path / "pool.yaml")
    sweep(str(tmp_path))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*names[1:], ".nodelint-00000000000000ff.tmp", ".nodelint-00000000000000aa.tmp"}
    sweep(str(tmp_path / "absent"))
