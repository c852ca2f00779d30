"""Follow Karpenter from one release to a newer one: write what a machine can read, and name the rest.

    python tools/follow.py --provider ../karpenter-provider-aws --core ../karpenter --from v1.14.1 --to v1.15.0

Both folders are git directories (bare or not) with their release tags. Written are `nodelint/data/*.json` and
`schemas/`: releases, labels and their known values, fields and values of the CRDs with the release that brought
them, settings, feature gates, Kubernetes ranges, instance types, limits and prices. Printed is what was written, what
is to be done by hand (rules of the CRDs, hashed fields, the end of support), and what a person must read: changed
files that decide behaviour, commits, new errors.

`--to` may be a branch or a commit: its facts are those of the next minor version, which is then marked as not
released (`next` in `versions.json`). A second run changes nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from upstream import crds, texts, watch
from upstream.controller import Table, follow_gates, follow_settings, follow_support, matrix_at
from upstream.crds import Change
from upstream.facts import Release, Setting
from upstream.git import Repository, Unreadable
from upstream.history import differences, windows
from upstream.schemas import SchemaFile

ROOT = Path(__file__).resolve().parent.parent
PAGE = "reference/instance-types.md"
KINDS = ("NodePool", "EC2NodeClass")
SHORT = 7
MOST = 8
"""Instance types that a line names."""

_TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


def numbers(tag: str) -> tuple[int, ...]:
    found = _TAG.fullmatch(tag)
    return tuple(map(int, found.groups())) if found else ()


def told_types(file: Path, rows: Iterable[Any]) -> str:
    """Return how many instance types a catalogue has, and which are new, gone or changed compared with its file."""
    known = json.loads(file.read_text(encoding="utf-8"))["instanceTypes"]["rows"] if file.exists() else []
    old = {row[0]: row for row in known}
    new = {row[0]: json.loads(json.dumps(row)) for row in rows}
    parts = [f"{len(new)} instance type{'' if len(new) == 1 else 's'}"]
    changed = [name for name in new if name in old and new[name] != old[name]]
    for what, names in (("new", new.keys() - old), ("gone", old.keys() - new), ("with other facts", changed)):
        if names:
            listed = ", ".join(sorted(names)[:MOST]) + (" and more" if len(names) > MOST else "")
            parts.append(f"{len(names)} {what}: {listed}")
    return "; ".join(parts)


class Target(NamedTuple):
    """The target of a run: the revision, the release with which its facts are dated, and whether that release
    exists.
    """

    revision: str
    release: str
    released: bool


class Follower:
    """A run. `written` and `by_hand` describe the facts that were written and those that a person must change;
    `same` is the number of facts that are unchanged.
    """

    def __init__(self, provider: Repository, core: Repository, old: str, to: str, project: Path) -> None:
        self.provider = provider
        self.core = core
        self.old = old
        self.data = project / "nodelint" / "data"
        self.schemas = project / "schemas"
        if old not in provider.tags() or not numbers(old):
            raise Unreadable(f"{provider.git_dir}: no release tag {old}")
        newest = json.loads(self._text("versions"))["releases"][-1]
        if numbers(to):
            self.target = Target(to, to[1:], True)
        else:
            major, minor, _ = max(numbers(old), numbers(f"v{newest}"))
            self.target = Target(provider.commit(to), f"{major}.{minor + 1}.0", False)
        self.written: list[str] = []
        self.by_hand: list[str] = []
        self.same = 0
        self._texts: dict[Path, str] = {}

    # -- the releases

    def tags(self) -> list[str]:
        """Return all release tags from 1.0.0 to the target, oldest first."""
        tags = sorted((tag for tag in self.provider.tags() if numbers(tag) >= (1,)), key=numbers)
        return [tag for tag in tags if not self.target.released or numbers(tag) <= numbers(self.target.revision)]

    @cached_property
    def steps(self) -> list[tuple[str, str]]:
        """Return the releases from the old one to the target, each with its revision."""
        found = [(tag[1:], tag) for tag in self.tags() if numbers(tag) >= numbers(self.old)]
        return found if self.target.released else [*found, (self.target.release, self.target.revision)]

    @cached_property
    def history(self) -> list[tuple[str, Release]]:
        """Return every release from 1.0.0 on, and the target."""
        known = [(tag[1:], tag) for tag in self.tags()]
        if not self.target.released:
            known.append((self.target.release, self.target.revision))
        return [(release, Release(self.provider, self.core, revision)) for release, revision in known]

    @cached_property
    def _ahead(self) -> str | None:
        """Return the release that is recorded as the next one and is still not released. None if there is none."""
        following = json.loads(self._text("versions")).get("next")
        if following is None or numbers(f"v{following['release']}") <= numbers(f"v{self.target.release}"):
            return None
        return str(following["release"])

    # -- files

    def _text(self, name: str) -> str:
        return (self.data / f"{name}.json").read_text(encoding="utf-8")

    def _write(self, path: Path, text: str, what: str) -> None:
        if path.exists() and path.read_text(encoding="utf-8") == text:
            self.same += 1
            return
        self._texts[path] = text
        self.written.append(f"{path.name}: {what}")

    def write(self) -> None:
        """Write all changed files, after every fact was read."""
        for path, text in self._texts.items():
            path.write_text(text, encoding="utf-8")

    # -- one subject each

    def releases(self) -> None:
        text = self._text("versions")
        known: list[str] = json.loads(text)["releases"]
        tags = [tag[1:] for tag in self.tags()]
        missing = [release for release in tags if release not in known]
        every = sorted({*known, *tags}, key=lambda release: numbers(f"v{release}"))
        text = texts.with_block(text, "releases", texts.wrapped(texts.strings(every), 12))
        if not self.target.released or self._ahead is None:
            text = re.sub(r'^ "next": .*\n', "", text, flags=re.MULTILINE)
        if self.target.released:
            text = texts.with_newest(text, "origin", every[-1])
            text = texts.with_text(text, "date", self.provider.day(f"v{every[-1]}"))
        else:
            commit, day = self.target.revision[:9], self.provider.day(self.target.revision)
            following = {"release": self.target.release, "commit": commit, "date": day}
            text = text.replace(' "behaviour": {', f' "next": {json.dumps(following)},\n "behaviour": {{', 1)
        self._write(self.data / "versions.json", text, f"releases {', '.join(missing) or '(none new)'}")
        self._commits([tag for tag in self.tags() if numbers(tag) >= numbers(self.old)])

    def _commits(self, tags: list[str]) -> None:
        """Return the commit of each release, which a controller's log names."""
        text = self._text("triage")
        commits: dict[str, str] = json.loads(text)["commits"]
        commits |= {self.provider.commit(tag, SHORT): tag[1:] for tag in tags}
        ordered = dict(sorted(commits.items(), key=lambda item: numbers(f"v{item[1]}")))
        text = texts.with_block(text, "commits", texts.wrapped(texts.pairs(ordered), 6))
        self._write(self.data / "triage.json", text, f"commits of {', '.join(tag for tag in tags)}")

    def labels(self) -> None:
        text = self._text("labels")
        known = json.loads(text)
        found = [(release, facts.labels()) for release, facts in self.history]
        for release, labels in found:
            self.by_hand += [
                f"labels.go of {release}: `{expression}` cannot be read" for expression in labels.unresolved
            ]
        keys = windows((release, dict.fromkeys(labels.well_known, True)) for release, labels in found)
        well_known = {key: {k: rows[0][k] for k in ("since", "until") if k in rows[0]} for key, rows in keys.items()}
        well_known |= {key: fact for key, fact in known["well_known"].items() if fact["since"] == self._ahead}
        well_known = dict(sorted(well_known.items()))
        values: dict[str, Any] = {}
        for key, rows in windows((release, labels.known_values) for release, labels in found).items():
            old = known["known_values"].get(key, {}).get("values", [])
            now = old if set(old) == rows[-1]["is"] else sorted(rows[-1]["is"])
            values[key] = {"since": rows[0]["since"], "values": now}
            if len(rows) > 1:
                self.by_hand.append(f"labels.json: known values of {key} changed in {rows[-1]['since']}: {now}")
        values = {key: values[key] for key in sorted(values, key=[*known["known_values"], *sorted(values)].index)}
        normalized = dict(sorted(found[-1][1].normalized.items()))
        for name, table in (("well_known", well_known), ("normalized", normalized), ("known_values", values)):
            text = texts.with_block(text, name, texts.lines(table))
        if self.target.released:
            text = re.sub(r"(v1\.0\.0 to v)\d+\.\d+\.\d+", rf"\g<1>{self.target.release}", text, count=1)
        new = sorted(well_known.keys() - known["well_known"].keys())
        self._write(self.data / "labels.json", text, f"label keys {', '.join(new) or '(none new)'}")
        meanings = json.loads(self._text("label_words"))["meanings"]
        self.by_hand += [f"label_words.json: say what {key} means" for key in well_known if key not in meanings]

    def crds(self) -> None:
        files = {path.name: SchemaFile(path) for path in sorted(self.schemas.glob("*-v1*.schema.json"))}
        before = crds.read(self.provider, self.steps[0][1])
        for release, revision in self.steps[1:]:
            now = crds.read(self.provider, revision)
            for kind in sorted(before.keys() | now.keys()):
                if kind[0] in KINDS and kind in before and kind in now:
                    changes = crds.changes(kind, before[kind], now[kind])
                    self._apply(files, changes, release, bool(numbers(revision)))
                elif kind[0] in KINDS:
                    self.by_hand.append(f"{'/'.join(kind)} came or went in {release}")
            before = now
        if not self.target.released:
            self._apply(files, self._pending(), self.target.release, False)
        for schema in files.values():
            if self.target.released:
                schema.follow(self.target.release)
            if schema.text() != schema.before:
                self._texts[schema.path] = schema.text()

    def _pending(self) -> Iterator[Change]:
        """Yield the changes of core's NodePool since core's newest release: the provider gets them with the next
        one.
        """
        kind = ("NodePool", "v1")
        newest = max((tag for tag in self.core.tags() if numbers(tag)), key=numbers)
        old, new = (crds.read(self.core, at).get(kind) for at in (newest, "HEAD"))
        if old and new:
            yield from crds.changes(kind, old, new)

    def _apply(self, files: dict[str, SchemaFile], changes: Iterable[Change], release: str, released: bool) -> None:
        for change in changes:
            schema = files.get(f"{change.kind.lower()}-{change.version}.schema.json")
            if schema is None:
                self.by_hand.append(f"schemas/: none for {change.kind}/{change.version}")
                return
            result, what = schema.apply(change, release, released)
            self.same += result == "there"
            if result == "by hand":
                self.by_hand.append(f"{schema.path.name}: {what}")
            elif result == "written":
                self.written.append(f"{schema.path.name}: {release}: {what}")

    def controller(self, docs: str) -> None:
        """Follow settings, feature gates and supported Kubernetes versions of each release. Hashed fields are only
        printed.
        """
        steps = self.history[-len(self.steps) :]
        old, new = steps[0][1], steps[-1][1]
        changed_types: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]
        changed_types = [("hashes.json: versions", old.hash_versions(), self._unknown_versions(old, new))]
        if changed_types[0][1] != changed_types[0][2] or old.hash_versions() == new.hash_versions():
            changed_types.append(("hashes.json: fields", old.hash_fields(), new.hash_fields()))
        if self.target.released:
            self._settings(steps)
            self._support(steps, docs)
        else:
            changed_types += [
                ("settings", _settings(old), _settings(new)),
                ("feature gates", old.gates(), new.gates()),
            ]
        for what, first, second in changed_types:
            self.by_hand += [f"{what}: {line}" for line in differences(first, second)]

    def _unknown_versions(self, old: Release, new: Release) -> dict[str, str]:
        """Return the hash version of each kind for the new release. A kind whose new version `hashes.json` already
        has keeps the old one.
        """
        path = self.data / "hashes.json"
        annotations = json.loads(path.read_text(encoding="utf-8"))["annotations"] if path.exists() else {}
        before = old.hash_versions()
        return {
            kind: before[kind]
            if any(row["version"] == now for row in annotations.get(kind, {}).get("versions", []))
            else now
            for kind, now in new.hash_versions().items()
        }

    def _settings(self, steps: list[tuple[str, Release]]) -> None:
        text = self._text("settings")
        settings, gates = Table(text, "settings"), Table(text, "gates")
        for (_, old), (release, new) in pairwise(steps):
            follow_settings(settings, release, old, new)
            follow_gates(gates, release, old, new)
        text = gates.into(settings.into(text))
        text = texts.with_newest(texts.with_text(text, "date", self._day), "origin", self.target.release)
        self._write(self.data / "settings.json", text, ", ".join([*settings.news, *gates.news]) or "nothing new")
        self.by_hand += gates.by_hand

    def _support(self, steps: list[tuple[str, Release]], docs: str) -> None:
        text = self._text("support")
        support = Table(text, "releases")
        for release, at in steps[1:]:
            follow_support(support, release, self.provider.day(at.revision), matrix_at(at, docs))
        text = texts.with_text(support.into(text), "date", self._day)
        self._write(self.data / "support.json", text, ", ".join(support.news) or "nothing new")
        self.by_hand += support.by_hand

    @property
    def _day(self) -> str:
        """Return the day of the newest release."""
        return self.provider.day(f"v{self.target.release}")

    def dated(self) -> None:
        """Record, as work by hand, the files that a person writes and that still name an older release."""
        newest = self.target.release
        for path in sorted(self.data.glob("*.json")) if self.target.released else ():
            text = self._texts.get(path) or path.read_text(encoding="utf-8")
            match = re.search(r'"(?:origin|source)": "[^"]* to v?(\d+\.\d+\.\d+)', text[:2000])
            if match is not None and match[1] != newest:
                self.by_hand.append(f"{path.name}: of releases to {match[1]}; name {newest} when its part is done")

    def instance_types(self, docs: str) -> None:
        """Write the catalogue and the tables from the published page. A release that does not exist yet
        has no page.
        """
        if not self.target.released:
            self.by_hand.append("catalog.json: instance types are read when the release is out")
            return
        import make_catalog
        import make_columns
        import make_network_limits
        import make_tables

        from nodelint.ec2.snapshot import snapshot_text

        minor = self.target.release.rpartition(".")[0]
        page = f"website/content/en/v{minor}/{PAGE}"
        if not self.provider.contains(docs, page):
            self.by_hand.append(f"catalog.json: {docs} has no {page}; name a revision that has it with --docs")
            return
        checkout = make_catalog.Checkout(self.provider.git_dir)
        catalogue = make_catalog.make(checkout, self.target.revision, docs, page)
        text = snapshot_text(catalogue)
        self._write(self.data / "catalog.json", text, told_types(self.data / "catalog.json", catalogue.rows))
        columns = make_columns.columns_file(text.encode())
        self._write(self.data / "catalog_columns.json", columns, "the same by columns")
        tables = make_tables.make(checkout, self.target.revision, catalogue)
        self._write(self.data / "tables.json", snapshot_text(tables), f"{len(tables.rows)} further types")
        names = {row[0] for rows in (catalogue.rows, tables.rows) for row in rows}
        limits = make_network_limits.make(checkout, self.target.revision, names)
        self._write(self.data / "network_limits.json", limits, "network limits before a release")

    # -- manual work

    def read_by_a_person(self) -> Iterator[str]:
        pairs = (
            ("provider", self.provider, self.old, self.target.revision, watch.PROVIDER),
            ("core", self.core, self.history[-len(self.steps)][1].core_revision, self._core_target(), watch.CORE),
        )
        for name, repository, old, new, watched in pairs:
            yield f"\n## {name}: {old} to {new}"
            for title, found in (
                ("commits", watch.commits(repository, old, new)),
                (
                    "changed files",
                    (f"{subject:10} {line}" for subject, line in watch.files(repository, old, new, watched)),
                ),
                ("new errors (candidates for triage.json)", watch.messages(repository, old, new, watched)),
            ):
                lines = list(found)
                yield f"{title}: {len(lines)}"
                yield from (f"  {line}" for line in lines)

    def _core_target(self) -> str:
        return self.history[-1][1].core_revision if self.target.released else self.core.commit("HEAD", 12)


def _settings(release: Release) -> dict[str, Setting]:
    """Return a release's settings without those that only hold its feature gates."""
    return {name: setting for name, setting in release.settings().items() if not name.endswith("feature-gates")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provider", type=Path, required=True, metavar="DIR", help="aws/karpenter-provider-aws")
    parser.add_argument("--core", type=Path, required=True, metavar="DIR", help="kubernetes-sigs/karpenter")
    parser.add_argument("--from", dest="old", required=True, metavar="TAG", help="the release that the data is at")
    parser.add_argument("--to", required=True, metavar="REV", help="the release to go to, or a branch or commit")
    parser.add_argument(
        "--docs", default="HEAD", metavar="REV", help="revision of the provider with the page of types"
    )
    parser.add_argument("--project", type=Path, default=ROOT, metavar="DIR", help="the checkout of nodelint to write")
    options = parser.parse_args()
    try:
        run = Follower(
            Repository(options.provider), Repository(options.core), options.old, options.to, options.project
        )
        run.releases()
        run.labels()
        run.crds()
        run.controller(options.docs)
        run.instance_types(options.docs)
        run.dated()
        run.write()
        print(f"# Karpenter {options.old} to {options.to}: facts of {run.target.release}")
        for title, lines in (("written", run.written), ("by hand", run.by_hand)):
            print(f"\n## {title}: {len(lines)}", *(f"- {line}" for line in lines), sep="\n")
        print(f"\nthere already: {run.same}")
        print(*run.read_by_a_person(), sep="\n")
    except (Unreadable, OSError, ValueError) as error:
        print(f"follow.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
