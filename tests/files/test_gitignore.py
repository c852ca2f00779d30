"""What git ignores is not read in folders; git itself is asked what that is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nodelint.files.discover import context, discover
from nodelint.files.globs import Excluded
from nodelint.files.release_files import read_stating_files
from tests.repositories import write_files

POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"
RESPECT = Excluded(gitignore=True)

Tree = dict[str, str]
Run = Callable[..., subprocess.CompletedProcess[str]]


def git(folder: Path, *arguments: str, sent: str = "") -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], input=sent, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def write_tree(folder: Path, tree: Tree) -> Path:
    write_files(folder, tree)
    return folder


def read(folder: Path, exclude: Excluded = RESPECT) -> list[str]:
    return [Path(source.path).relative_to(folder).as_posix() for source in discover([str(folder)], exclude).sources]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    yield folder


names = st.sampled_from(["a", "b", "ab", "a.yaml", "b.yaml", "build", "a b", "é.yaml"])
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
words = st.sampled_from(
    ["a", "b", "build", "*.yaml", "*", "?", "a*", "*b", "**", "[ab]", "[!a]", "a.yaml", "é*", "a\\*"]
)
patterns = st.builds(
    lambda negated, anchored, steps, end: f"{negated}{anchored}{'/'.join(steps)}{end}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(words, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/*", "/**", " ", "\\ "]),
)
lines = st.lists(patterns | st.sampled_from(["", "# a", "\\#a", "!", "/", "\\!a", "a\\", "[a"]), max_size=5)
ignore_files = st.dictionaries(
    st.sampled_from([".gitignore", "a/.gitignore", "a/b/.gitignore", "build/.gitignore", ".git/info/exclude"]),
    lines.map(lambda names: "".join(f"{line}\n" for line in names)),
    max_size=3,
)


@given(st.sets(paths, max_size=12), ignore_files)
@example({"foo/keep.yaml", "foo/other.yaml"}, {".gitignore": "foo/**\n!foo/keep.yaml\n"})
@example({"foo/keep.yaml"}, {".gitignore": "foo/\n!foo/keep.yaml\n"})
@example({"a/b.yaml", "b.yaml"}, {".gitignore": "/b.yaml\r\n", "a/.gitignore": "!b.yaml\n"})
def test_what_is_read_is_what_git_does_not_ignore(repository: Path, files: set[str], ignored: Tree) -> None:
    taken = lay(repository, files, ignored)
    messages = git(repository, "check-ignore", "--no-index", "-z", "--stdin", sent="\0".join(taken)).split("\0")
    assert sorted(read(repository)) == sorted(set(taken) - set(messages))


def lay(repository: Path, files: set[str], ignored: Tree) -> list[str]:
    """Make the work tree anew of files, as far as they go together, and of ignore files; the manifests of it."""
    for entry in repository.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    (repository / ".git" / "info" / "exclude").write_text("", encoding="utf-8")
    folders = {path.rpartition("/")[0] for path in files}
    tree = [path for path in sorted(files) if not any(f"{folder}/".startswith(f"{path}/") for folder in folders)]
    taken = [path for path in tree if path.endswith(".yaml")]
    write_tree(repository, dict.fromkeys(taken, POOL))
    folders = {folder for path in taken for folder in map(str, Path(path).parents)}
    write_tree(
        repository,
        {path: text for path, text in ignored.items() if str(Path(path).parent) in {*folders, ".git/info"}},
    )
    return taken


@settings(max_examples=max(30, settings().max_examples // 4))
@given(st.sets(paths, max_size=12), ignore_files, st.lists(st.booleans(), max_size=12), st.sampled_from(["2", "4"]))
@example({"foo/keep.yaml", "foo/other.yaml"}, {".gitignore": "foo/\n"}, [True], "2")
@example({"a/b/a.yaml", "a/b.yaml", "b.yaml"}, {".gitignore": "*\n"}, [True, False, True], "4")
def test_what_git_tracks_is_read_whatever_is_ignored(
    repository: Path, files: set[str], ignored: Tree, tracked: list[bool], version: str
) -> None:
    taken = lay(repository, files, ignored)
    (repository / ".git" / "index").unlink(missing_ok=True)
    added = [path for path, wanted in zip(taken, tracked, strict=False) if wanted]
    git(repository, "-c", f"index.version={version}", "add", "-f", "--", *added) if added else None
    listed = git(repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    assert sorted(read(repository)) == sorted(path for path in listed if path.endswith(".yaml"))


@pytest.mark.parametrize(
    "data", [b"", b"DIRC", b"DIRC\0\0\0\4\0\0\0\5" + b"\xff" * 90, b"DIRC\0\0\0\2" + b"a.yaml" * 9]
)
def test_a_broken_index_tracks_nothing(repository: Path, data: bytes) -> None:
    write_tree(repository, {".gitignore": "a.yaml\n", "a.yaml": POOL, "b.yaml": POOL})
    (repository / ".git" / "index").write_bytes(data)
    assert read(repository) == ["b.yaml"]


def test_files_that_are_named_and_folders_that_are_named_are_read(repository: Path) -> None:
    write_tree(
        repository, {".gitignore": "build\nb.yaml\n", "build/a.yaml": POOL, "build/b.yaml": POOL, "b.yaml": POOL}
    )
    assert read(repository) == []
    assert read(repository / "build") == ["a.yaml"], "the folder was named, a file in it was not"
    assert read(repository / "b.yaml") == ["."]
    assert read(repository, Excluded()) == ["b.yaml", "build/a.yaml", "build/b.yaml"]


def test_patterns_of_folders_above_the_one_that_is_named_count(repository: Path) -> None:
    write_tree(repository, {".gitignore": "/a/b/x.yaml\n", "a/.gitignore": "y.*\n", "a/b/.gitignore": "z.yaml\n"})
    write_tree(repository, {f"a/b/{name}.yaml": POOL for name in "wxyz"})
    assert read(repository / "a" / "b") == ["w.yaml"]


def test_the_users_own_file(repository: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_tree(repository, {"a.yaml": POOL, "b.yaml": POOL})
    write_tree(home, {"config/git/ignore": "a.yaml\n", "own": "b.yaml\n"})
    assert read(repository) == ["b.yaml"]
    write_tree(home, {".gitconfig": "[user]\n\texcludesFile = none\n[core]\n\texcludesFile = ~/own  # mine\n"})
    assert read(repository) == ["a.yaml"]
    assert git(repository, "check-ignore", "a.yaml", "b.yaml").split() == ["b.yaml"]


def test_another_work_tree_has_the_excludes_of_the_repository(repository: Path, tmp_path: Path) -> None:
    git(repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "worktree", "add", "-q", str(tmp_path / "other"))
    write_tree(repository, {".git/info/exclude": "a.yaml\n"})
    assert read(write_tree(tmp_path / "other", {"a.yaml": POOL, "b.yaml": POOL})) == ["b.yaml"]
    git(tmp_path / "other", "add", "-f", "a.yaml")
    assert read(tmp_path / "other") == ["a.yaml", "b.yaml"], "its index is its own"


def test_repositories_within_a_folder_each_have_their_own(repository: Path, tmp_path: Path) -> None:
    write_tree(tmp_path, {".gitignore": "b.yaml\n", "b.yaml": POOL, "repository/.gitignore": "a.yaml\n"})
    write_tree(repository, {"a.yaml": POOL, "b.yaml": POOL, "inner/a.yaml": POOL})
    git(repository / "inner", "init", "-q")
    assert read(tmp_path) == ["b.yaml", "repository/b.yaml", "repository/inner/a.yaml"]


def test_a_link_is_no_ignore_file(repository: Path, tmp_path: Path) -> None:
    write_tree(tmp_path, {"elsewhere": "a.yaml\n"})
    write_tree(repository, {"a.yaml": POOL})
    (repository / ".gitignore").symlink_to(tmp_path / "elsewhere")
    assert read(repository) == ["a.yaml"]


def test_what_is_read_beside_is_not_what_git_ignores(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = "helm upgrade karpenter --version 1.2.0 # karpenter\n"
    write_tree(
        repository, {".gitignore": "out\n", "out/b.yaml": POOL, "out/up.sh": version, "a.yaml": POOL, "c.yaml": POOL}
    )
    monkeypatch.chdir(repository)
    found = discover(["a.yaml"], RESPECT)
    assert [source.path for source in context(found, RESPECT)] == ["c.yaml"]
    assert [source.path for source in read_stating_files(found, RESPECT)] == []
    assert [source.path for source in read_stating_files(found, Excluded())] == ["out/up.sh"]


def test_the_flag_and_the_setting(repository: Path, nodelint: Run) -> None:
    write_tree(repository, {".gitignore": "out\n", "out/a.yaml": POOL, "b.yaml": "respect-gitignore: false\n"})
    message = "Nothing to check: no NodePool or EC2NodeClass in 1 file.\n"
    assert nodelint("check", cwd=repository).stdout == message
    for flags in (["--no-ignore"], ["--config", "b.yaml"]):
        assert "out/a.yaml" in nodelint("check", *flags, cwd=repository).stdout


def test_the_matcher_is_loaded_for_a_wildcard_that_may_match(repository: Path) -> None:
    write_tree(repository, {"a.yaml": POOL, ".gitignore": "build/\n*.log\n**/.terraform/*\n/out/**\n*.tfvars\n"})
    code = (
        "import sys\nfrom nodelint.files.discover import discover\n"
        "from nodelint.files.globs import Excluded\n"
        "assert len(discover(['.'], Excluded(gitignore=True)).sources) == {}\n"
        "assert ('nodelint.files.wildmatch' in sys.modules) is {}"
    )
    subprocess.run([sys.executable, "-c", code.format(1, False)], cwd=repository, check=True)
    write_tree(repository, {".gitignore": "a*.yaml\n"})
    subprocess.run([sys.executable, "-c", code.format(0, True)], cwd=repository, check=True)


SHAPES = "a b c ab * ** *** ? / [ab] [!a] [^b] [a-c] [b-a] [--0] []a] [\\]] [a\\-z] [[:alpha:]] [[:digit:]b] [[:x:]]"
MORE = "[a- [[: [ ] \\ \\* \\/ - ! # é [é] x.y"
parts = st.sampled_from([*SHAPES.split(), *MORE.split()])
steps = st.sampled_from(
    ["a", "b", "ab", "abc", "c", "é", "*", "x.y", "a-b", "-", "]", "[", "1", "a b", "\\", "zz", "#"]
)


@given(
    st.lists(parts, min_size=1, max_size=7).map("".join), st.sets(st.lists(steps, min_size=1, max_size=5).map(tuple))
)
@example("**\\/a", {("a",), ("b", "a"), ("b", "c", "a")})
@example("a**b/***", {("ab", "c"), ("a", "b", "c")})
def test_patterns_match_what_git_says(repository: Path, pattern: str, tried: set[tuple[str, ...]]) -> None:
    from nodelint.files import gitignore

    write_tree(repository, {".gitignore": pattern + "\n"})
    level = gitignore._level(str(repository / ".gitignore"), "")
    names = sorted("/".join(value) for value in tried)
    sent = "".join(f"{name}\0" for name in names)
    fields = git(repository, "check-ignore", "-z", "-v", "-n", "--no-index", "--stdin", sent=sent).split("\0")
    by_git = {fields[n + 3]: fields[n + 2] != "" and fields[n + 2][0] != "!" for n in range(0, len(fields) - 3, 4)}
    for name in names:
        path = name.split("/")
        decided = [
            level.decides("/".join(path[: n + 1]), path[n], folder=n + 1 < len(path)) if level is not None else None
            for n in range(len(path))
        ]
        assert any(decided) == by_git[name], (pattern, name)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("a*" * 10 + "b", "a"), ("a*" * 2000 + "b", "a"), ("**/a" * 8 + "b", "a/"), ("**/*a*b*/**/*c*d*/e", "abcd/")],
)
def test_matching_takes_time_in_proportion(pattern: str, path: str) -> None:
    import time

    from nodelint.files.wildmatch import matches

    def taken(count: int) -> float:
        name = (path * count).rstrip("/")
        before = time.process_time()
        for _ in range(20):
            assert not matches(pattern, name)
        return time.process_time() - before

    taken(10)
    assert taken(8000) < 0.5 or taken(8000) < 2.5 * taken(4000)
