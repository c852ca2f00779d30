"""Overlays are built as kustomize builds them, and each value leads back to where it is written.

`overlays.json` holds what kustomize 5.7.1 (kubectl 1.34) makes of overlays at random; where kubectl is on the path,
further ones are compared with it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodelint.build.kustomize import BuiltOverlay, Outcome, build_overlays
from nodelint.build.kustomize.values import read_json, read_object
from nodelint.source import UNKNOWN, Node
from tests.overlays import FILE, RECORDED, digest, read_plain, read_results, run_kustomize, write_overlay

KUBECTL = shutil.which("kubectl")
RELEASE = "v5.7."


def has_release() -> bool:
    """Whether kubectl is there with the kustomize that this is held to: others differ in odd corners."""
    if KUBECTL is None:
        return False
    done = subprocess.run([KUBECTL, "version", "--client"], capture_output=True, text=True, check=False)
    return f"Kustomize Version: {RELEASE}" in done.stdout


def build_folder(overlay: Path) -> Outcome | None:
    outcomes = build_overlays([str(overlay / "kustomization.yaml")])
    return outcomes[0] if outcomes else None


def is_decided(outcome: Outcome | None) -> bool:
    """Whether it concerns Karpenter, and is known to nodelint."""
    return outcome is not None and (isinstance(outcome, BuiltOverlay) or outcome.fails)


def read_built(outcome: Outcome | None) -> dict[str, object] | None:
    """None where kustomize is said to refuse."""
    if not isinstance(outcome, BuiltOverlay):
        return None
    return read_results(outcome.built.source.text)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


# -- beside kustomize


def test_overlays_are_what_kustomize_makes_of_them(tmp_path: Path) -> None:
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    assert len(recorded) == RECORDED
    assert sum(result != "fails" for result in recorded.values()) > 100
    wrong, unknown = [], []
    for seed, result in recorded.items():
        outcome = build_folder(write_overlay(tmp_path / seed, int(seed)))
        if not is_decided(outcome):
            unknown.append(seed)
        elif digest(read_built(outcome)) != result:
            wrong.append(seed)
    assert not wrong
    assert len(unknown) < 5


@pytest.mark.skipif(not has_release(), reason=f"no kubectl with kustomize {RELEASE}x is on the path")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(min_value=RECORDED, max_value=1 << 30))
def test_further_overlays_are_what_kubectl_makes_of_them(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        overlay = write_overlay(Path(folder), seed)
        outcome = build_folder(overlay)
        if is_decided(outcome):
            command = [str(KUBECTL), "kustomize", "--load-restrictor", "LoadRestrictionsNone"]
            assert read_built(outcome) == run_kustomize(command, overlay)


# -- where values are written


def scalars(outcome: BuiltOverlay) -> Iterator[tuple[str, Node]]:
    for document in outcome.built.source.documents:
        assert document.root is not None
        spec = document.root.get("spec")
        kind, name = document.root.get("kind"), document.root.at("metadata", "name")
        for node in spec.walk() if spec is not None else ():
            is_key = node.parent is not None and any(entry.key is node for entry in node.parent.entries)
            if node.kind == "scalar" and not is_key:
                assert kind is not None and name is not None
                yield f"{kind.value} {name.value} {node.path}", node


def test_an_exact_origin_holds_the_value(tmp_path: Path) -> None:
    compared = 0
    for seed in range(60):
        outcome = build_folder(write_overlay(tmp_path / str(seed), seed))
        for _, node in scalars(outcome) if isinstance(outcome, BuiltOverlay) else ():
            origin = outcome.built.find_origin(node)  # type: ignore[union-attr]
            assert origin is not None
            if origin.exact:
                assert isinstance(origin.at, Node)
                written = {str(read_object(origin.at).value), str(read_json(origin.at).value)}
                assert node.value is UNKNOWN or {str(node.value), str(node.plain())} & written
                compared += 1
    assert compared > 500


def test_an_edit_of_an_exact_origin_changes_what_comes_from_there_and_nothing_else(tmp_path: Path) -> None:
    tried = 0
    for seed in range(40):
        overlay = write_overlay(tmp_path / str(seed), seed)
        outcome = build_folder(overlay)
        if not isinstance(outcome, BuiltOverlay):
            continue
        before = dict(scalars(outcome))
        places = {path: outcome.built.find_origin(node) for path, node in before.items()}
        for path in list(before)[:: max(1, len(before) // 4)]:
            origin = places[path]
            assert origin is not None
            if not origin.exact or not isinstance(origin.at, Node) or origin.at.style not in ("plain", "double"):
                continue
            source, text = origin.at.source, '"edited"'
            changed = source.text[: origin.at.start] + text + source.text[origin.at.end :]
            Path(source.path).write_text(changed, encoding="utf-8")
            again = build_folder(overlay)
            Path(source.path).write_text(source.text, encoding="utf-8")
            if not isinstance(again, BuiltOverlay):
                continue  # a patch tested for the value
            after = dict(scalars(again))
            if path not in after:
                continue  # it is the name of another object
            assert after[path].value == "edited", (seed, path)
            for other, node in before.items():
                place = places[other]
                if other in after and read_plain(node) != read_plain(after[other]):
                    assert place is not None and place.at is origin.at, (seed, path, other)
            tried += 1
    assert tried > 30
