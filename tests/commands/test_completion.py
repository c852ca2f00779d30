"""Completion in real shells, with the script that `nodelint completion` prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

# What somebody has typed, and what the shell has to offer; `pool.yaml` and `pools/` are in the folder.
TYPED = {
    "nodelint ch": {"check"},
    "nodelint snapshot ": {"diff", "show"},
    "nodelint check --fail-on n": {"never"},
    "nodelint check --fi": {"--fix"},
    "nodelint rule unpinned-i": {"unpinned-image"},
    "nodelint check --select wildcard-value,unpinned-i": {"wildcard-value,unpinned-image"},
    "nodelint check poo": {"pool.yaml", "pools"},
    "nodelint explain --config poo": {"pool.yaml", "pools"},
    "nodelint completion z": {"zsh"},
}

# Each prints what completing the last word of TYPED offers, one a line.
BASH = r"""
eval "$(nodelint completion bash)"
COMP_LINE=$TYPED COMP_POINT=${#TYPED}
read -ra COMP_WORDS <<< "$TYPED"
[[ $TYPED == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
# Outside of a command line compopt has nothing to set; "default" is what asks for files.
compopt() { [[ "$1 $2" == "-o default" ]] && COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); }
_nodelint_completion nodelint
printf '%s\n' "${COMPREPLY[@]}"
"""

FISH = r"""
nodelint completion fish | source
complete --do-complete "$TYPED" | string split --fields 1 \t; true
"""

# zsh completes only for somebody who types: in a terminal of its own, Ctrl-X Ctrl-L lists what there is.
ZSH = r"""
import os, pty, re, select, time

def until(*marks):
    seen, end = "", time.monotonic() + 30
    while time.monotonic() < end and not all(mark in seen for mark in marks):
        if select.select([fd], [], [], 0.1)[0]:
            seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]", " ", os.read(fd, 65536).decode())
    return seen

pid, fd = pty.fork()
if pid == 0:
    os.execvp("zsh", ["zsh", "-f", "-i"])
setup = (
    "PS1=; autoload -Uz compinit && compinit -u -D; "
    'eval "$(nodelint completion zsh)"; '
    "bindkey '^X^L' list-choices; stty -echo; print READ''Y\n"
)
os.write(fd, setup.encode())
until("READY")
time.sleep(0.3)
os.write(fd, os.environ["TYPED"].encode() + b"\x18\x0c")
print(until(*os.environ["WANTED"].split()).replace(os.environ["TYPED"], " ", 1))
os.close(fd)
"""


def offered(shell: str, typed: str, tmp_path: Path) -> str:
    program = tmp_path / "bin" / "nodelint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nodelint "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    folder = tmp_path / "here"
    (folder / "pools").mkdir(parents=True)
    (folder / "pool.yaml").write_text("", encoding="utf-8")
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "TERM": "xterm"}
    environment |= {"TYPED": typed, "WANTED": " ".join(TYPED[typed])}
    how = {"bash": ["bash", "--norc", "-c", BASH], "fish": ["fish", "--no-config", "-c", FISH]}
    done = subprocess.run(
        how.get(shell, [sys.executable, "-c", ZSH]),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def require_shell(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} is here")


@pytest.mark.parametrize("typed", TYPED)
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_shell_offers_what_fits(shell: str, typed: str, tmp_path: Path) -> None:
    require_shell(shell)
    if shell == "fish" and "," in typed:
        pytest.skip("click's script for fish cuts a value at its comma")
    lines = {line.rstrip("/") for line in offered(shell, typed, tmp_path).split("\n") if line}
    assert lines == TYPED[typed]


@pytest.mark.parametrize("typed", ["nodelint snapshot ", "nodelint check poo"])
def test_zsh_offers_what_fits(typed: str, tmp_path: Path) -> None:
    require_shell("zsh")
    words = offered("zsh", typed, tmp_path).split()
    assert {word.rstrip("/") for word in words} >= TYPED[typed]


def test_each_script_is_one_for_its_shell(tmp_path: Path) -> None:
    for shell, says in {"bash": "complete -o nosort", "zsh": "compdef", "fish": "complete --no-files"}.items():
        done = subprocess.run(
            [sys.executable, "-m", "nodelint", "completion", shell], capture_output=True, text=True, check=True
        )
        assert says in done.stdout
        assert "_NODELINT_COMPLETE" in done.stdout
