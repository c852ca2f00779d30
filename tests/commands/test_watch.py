"""`check --watch`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.manifests import nodepool


def _obey_interrupts() -> None:
    """What runs in the background of a shell ignores Ctrl-C, and so does what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_change_is_checked_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    file = tmp_path / "pool.yaml"
    file.write_text(nodepool("key: karpenter.sh/capacity-typ, operator: Exists", inline=True), encoding="utf-8")
    command = [sys.executable, "-m", "nodelint", "check", "--watch", "pool.yaml"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=_obey_interrupts,
    ) as process:
        assert process.stdout is not None
        first, second = [], []
        for text, lines in ((None, first), ("kind: ConfigMap\n", second)):
            if text is not None:
                file.write_text(text, encoding="utf-8")
            for line in process.stdout:
                lines.append(line)
                if "watching for changes" in line:
                    break
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.returncode == 130
    assert "capacity-typ" in "".join(first)
    assert "Nothing to check" in "".join(second)
    assert "\033" not in "".join(first)


def test_standard_input_cannot_be_watched(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nodelint", "check", "--watch", "-"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--watch needs files" in done.stderr
