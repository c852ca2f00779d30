"""A file is there whole or not at all: whatever ends the writer, and whoever writes beside it."""

from __future__ import annotations

import os
import random
import signal
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nodelint.files import atomic_write
from nodelint.files.atomic_write import replace, sweep
from tests.conftest import ROOT

# Writes two contents in turns; its first argument is the file. Says so when it begins.
_WRITER = """\
import sys
from nodelint.files.atomic_write import replace
from nodelint.ec2.snapshot import Answer, Question, Region, Snapshot, snapshot_text
def content(mark):
    answers = {Question.make("parameters", ("name", f"/{mark}/{n}")): Answer("2026-11-20T12:00:00Z", (mark,), 1)
               for n in range(%d)}
    snapshot = Snapshot("EC2", "2026-11-20", regions=(Region("us-east-1", None, answers),))
    return snapshot_text(snapshot).encode()
contents = [content("a" * 400), content("b" * 400)]
print(len(contents[0]), flush=True)
n = 0
while True:
    n += 1
    replace(sys.argv[1], contents[n %% 2])
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


@pytest.mark.slow
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
        "import sys\nfrom nodelint.ec2.cache import UnusableSnapshot, write\n"
        "from nodelint.ec2.snapshot import Snapshot\n"
        "try: write(sys.argv[1], Snapshot('x' * 5000, '2026-11-20'))\n"
        "except UnusableSnapshot as error: print(error); sys.exit(2)\n"
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


def test_a_link_may_lead_anywhere_within_the_repository(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "a").mkdir()
    (tmp_path / "repo" / "a" / "link").symlink_to("../file")
    (tmp_path / "repo" / "up").symlink_to("a/..")
    replace(str(tmp_path / "repo" / "a" / "link"), b"new")
    replace(str(tmp_path / "repo" / "up" / "other"), b"new")
    (tmp_path / "above").symlink_to("repo")
    replace(str(tmp_path / "above" / "third"), b"new")
    assert {p.name for p in (tmp_path / "repo").iterdir() if p.is_file()} == {"file", "other", "third"}


@pytest.mark.parametrize("repository", [True, False])
@pytest.mark.parametrize("link", ["file", "dangling", "folder", "nested", "twice", ".git"])
def test_a_link_out_of_the_repository_is_not_written_through(
    link: str, repository: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, out = tmp_path / "repo", tmp_path / "out"
    repo.mkdir()
    (out / ".git").mkdir(parents=True)
    (out / "there").write_bytes(b"theirs")
    (repo / ".git").mkdir()
    path = repo / "link"
    if link == "file":
        path.symlink_to("../out/there")
    elif link == "dangling":
        path.symlink_to(out / "new")
    elif link == "folder":
        path.symlink_to("../out")
        path = path / "there"
    elif link == "nested":
        (repo / "a").mkdir()
        (repo / "a" / "b").symlink_to(out)
        path = repo / "a" / "b" / "there"
    elif link == "twice":
        (repo / "inner").symlink_to("../out/there")
        path.symlink_to("inner")
    else:
        path.symlink_to(".git/config")
    if not repository:
        (repo / ".git").rmdir()
        monkeypatch.chdir(repo)
        if link == ".git":
            path.unlink()
            path.symlink_to(out / ".git" / "config")
    with pytest.raises(PermissionError, match="is a link that leads out of"):
        replace(str(path), b"ours")
    assert (out / "there").read_bytes() == b"theirs"
    assert sorted(p.name for p in out.iterdir()) == [".git", "there"]
    assert not list(tmp_path.glob("**/.git/*"))


def test_what_was_saved_or_removed_meanwhile_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"saved")
    with pytest.raises(OSError, match="changed since it was read; run nodelint again"):
        replace(str(path), b"fixed", before=b"read")
    assert path.read_bytes() == b"saved"
    replace(str(path), b"fixed", before=b"saved")
    assert path.read_bytes() == b"fixed"
    replace(str(path), b"fixed", before=b"another name of it was fixed just now")
    path.unlink()
    with pytest.raises(FileNotFoundError, match="removed since it was read"):
        replace(str(path), b"fixed", before=b"read")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("swaps", [True, False])
def test_a_save_at_the_very_moment_is_not_lost(swaps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each of the moments between two looks at the file, somebody saves it or removes it."""
    if swaps and not atomic_write.exchange(str(make_empty(tmp_path / "one")), str(make_empty(tmp_path / "two"))):
        pytest.skip("this system cannot exchange files")
    path = tmp_path / "file"
    real = {name: getattr(atomic_write, name) for name in ("_identity", "exchange")}
    tried = 0
    for moment in range(12):
        for act in ("save", "save in place", "remove"):
            path.unlink(missing_ok=True)
            path.write_bytes(b"read")
            count = 0

            def meddle(moment: int = moment, act: str = act) -> None:
                nonlocal count, tried
                count += 1
                if count != moment + 1:
                    return
                tried += 1
                if act == "remove":
                    path.unlink(missing_ok=True)
                elif act == "save in place":
                    path.write_bytes(b"saved")
                else:
                    (tmp_path / "new").write_bytes(b"saved")
                    os.replace(tmp_path / "new", path)

            def identity(name: str) -> object:
                meddle()
                found = real["_identity"](name)
                meddle()
                return found

            def exchange(first: str, other: str) -> bool:
                if not swaps:
                    return False
                meddle()
                done: bool = real["exchange"](first, other)
                meddle()
                return done

            monkeypatch.setattr(atomic_write, "_identity", identity)
            monkeypatch.setattr(atomic_write, "exchange", exchange)
            message = ""
            try:
                replace(str(path), b"fixed", before=b"read")
            except OSError as error:
                message = str(error)
            left = path.read_bytes() if path.exists() else None
            if count <= moment:
                assert (message, left) == ("", b"fixed")
            elif act == "remove":
                assert left is None
            else:
                # A save that comes after the replacement is the last word, too.
                assert left == b"saved", (moment, act, message)
            assert [n for n in os.listdir(tmp_path) if n.startswith(".nodelint")] == []
    assert tried >= 3


def make_empty(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def test_owner_group_mode_and_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"read")
    os.chmod(path, 0o4640)
    try:
        os.setxattr(path, "user.mime_type", b"text/yaml")
        os.setxattr(path, "system.posix_acl_access", _ACL)
        os.setxattr(tmp_path, "system.posix_acl_default", _ACL)
    except OSError:
        pytest.skip("the file system has no extended attributes or ACLs")
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
        os.chmod(path, 0o4664)
    before, acl = path.stat(), os.getxattr(path, "system.posix_acl_access")
    for given in (b"read", None):
        replace(str(path), b"fixed" if given else b"read", before=given)
        after = path.stat()
        assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
        assert os.getxattr(path, "user.mime_type") == b"text/yaml"
        assert os.getxattr(path, "system.posix_acl_access") == acl
    os.removexattr(path, "system.posix_acl_access")
    replace(str(path), b"fixed", before=b"read")
    assert os.listxattr(path) == ["user.mime_type"], "the folder's default does not become the file's ACL"


def _entry(tag: int, may: int, id: int = 0xFFFFFFFF) -> bytes:
    return struct.pack("<HHI", tag, may, id)


_ACL = struct.pack("<I", 2) + b"".join(
    [_entry(0x01, 6), _entry(0x02, 4, 1000), _entry(0x04, 4), _entry(0x10, 6), _entry(0x20, 0)]
)
"""user::rw-, user:1000:r--, group::r--, mask::rw-, other::--- (linux/posix_acl_xattr.h)"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else")
def test_a_file_whose_owner_cannot_be_kept_is_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"read")
    os.chmod(path, 0o666)
    os.chown(path, 1234, 4321)
    for folder in (tmp_path, *tmp_path.parents[:6]):
        os.chmod(folder, 0o777)
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        code = 1
        try:
            replace(str(path), b"fixed", before=b"read")
        except OSError as error:
            code = 0 if "its group 4321 cannot be kept: operation not permitted" in str(error) else 2
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert path.read_bytes() == b"read"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_with_hard_links_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"read")
    os.link(tmp_path / "file", tmp_path / "other")
    with pytest.raises(OSError, match="has 2 hard links, and the others would keep the old content"):
        replace(str(tmp_path / "file"), b"fixed", before=b"read")
    assert (tmp_path / "file").read_bytes() == (tmp_path / "other").read_bytes() == b"read"
