"""The examples of a rule's page: manifests in fences, written in full or as a few lines for a frame.

The lines of a fence `yaml bad frame=pool` are inserted into a complete, correct manifest of `data/frames/`:

    spec.limits: {cpu: 100}
    spec.template.spec.taints:
      - {key: gpu, effect: NoSchedule}

Each entry begins with the path of its field and replaces this field of the frame. `null` removes the field, as in a
JSON merge patch. `---` separates documents, `+` their frames, as in `frame=pool+class`. A document that begins with
`apiVersion` needs no frame. With `frame=bad`, the lines of a good example are inserted into the bad one before it.

With `diff=bad`, a good example is the bad one before it with lines removed (`-`) and added (`+`), in any language:

    -  version = "20.36.0"
    +  version = "21.2.0"

Lines that begin with a space are context, so that each group of lines occurs once. `@@` separates groups.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.data import DATA


class Example(NamedTuple):
    """A fenced manifest of a rule's page: `bad` or `good`, for the versions in the options of its fence.

    `facts` describes the AWS account in which it is judged (see `fake_account`): the last fence "yaml facts" before
    it. `today` is the date of the run.
    """

    good: bool
    text: str
    karpenter: str | None = None
    kubernetes: str | None = None
    facts: str | None = None
    today: str | None = None

    @property
    def files(self) -> dict[str, str]:
        """Return the texts of an example with several files, by their paths. Each text includes its `# file:`
        comment. Empty for other examples.
        """
        return split_files(self.text)


class FrameError(ValueError):
    """Raised if lines of an example cannot be inserted into their frame, with the reason."""


FENCE = re.compile(r"(?ms)^```ya?ml +(bad|good|facts)([^\n]*)\n(.*?)^```")
"""The fence of an example: its kind, its options, and its text."""
_FILE = r"# file: ([^ \r\n]+)"
_ENTRY = re.compile(r"([A-Za-z]\w*(?:\.[A-Za-z]\w*)*):(?= |$)(.*)")
_NOTHING = re.compile(r"\s*(#.*)?")


def split_files(text: str) -> dict[str, str]:
    """Return the files of a text, by path, if lines such as `# file: base/pool.yaml` begin each.

    Empty if there is no such line.
    """
    starts = [match.start() for match in re.finditer(rf"(?m)^\ufeff?{_FILE}", text)]
    ends = [*starts[1:], len(text)]
    parts = [text[start:end] for start, end in zip([0, *starts[1:]], ends, strict=True)] if starts else []
    return {re.findall(_FILE, part)[0]: part for part in parts}


def examples(page: str) -> Iterator[Example]:
    """Yield the examples of a page in their order, with the options of their fences: "yaml bad karpenter=1.2.1
    kubernetes=1.33".
    """
    facts: str | None = None
    for kind, options, body in FENCE.findall(whole_page(page)):
        if kind == "facts":
            facts = body
            continue
        words = _options(options)
        karpenter, kubernetes, today = map(words.get, ("karpenter", "kubernetes", "today"))
        yield Example(kind == "good", body, karpenter, kubernetes, facts, today)


def example_pairs(page: str) -> list[tuple[Example, Example | None]]:
    """Return each bad example of a page with its good one, or None if the page has none: then only the fix makes one.

    If there are as many good examples as bad ones, they are paired by their order. Otherwise a good example belongs
    to the bad one before it.
    """
    found = list(examples(page))
    bad, good = [e for e in found if not e.good], [e for e in found if e.good]
    if len(bad) == len(good):
        return list(zip(bad, good, strict=True))
    pairs: list[tuple[Example, Example | None]] = []
    for example in found:
        if not example.good:
            pairs.append((example, None))
        elif pairs:
            pairs[-1] = (pairs[-1][0], example)
    return pairs


@cache
def whole_page(page: str) -> str:
    """Return the page with every example written in full. An example that cannot be inserted into its frame stays as
    it is.
    """
    return _laid_page(page)[0]


def frame_errors(page: str) -> list[str]:
    """Return the reasons why examples of a page, as its file has them, cannot be inserted into their frames."""
    return _laid_page(page)[1]


def _laid_page(page: str) -> tuple[str, list[str]]:
    parts, errors, end, bad = [], [], 0, ""
    for match in FENCE.finditer(page):
        kind, options, body = match.groups()
        words = _options(options)
        way = next((word for word in ("frame", "diff") if word in words), None)
        if way is not None:
            name = words[way]
            try:
                below = bad if name == "bad" else _frames(name)
                body = insert_lines(below, body) if way == "frame" else apply_diff(below, body)
                options = options.replace(f" {way}={name}", "")
            except FrameError as error:
                errors.append(f"```yaml {kind}{options}: {error}")
        parts += [page[end : match.start()], f"```yaml {kind}{options}\n{body}```"]
        end, bad = match.end(), body if kind == "bad" else bad
    return "".join([*parts, page[end:]]), errors


def _options(words: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words.split())


def _frames(names: str) -> str:
    """Return the frames with names joined by `+`, each as one document. Raise FrameError for an unknown name."""
    known = sorted(name.removesuffix(".yaml") for name in os.listdir(os.path.join(DATA, "frames")))
    texts = []
    for name in names.split("+"):
        if name not in known:
            raise FrameError(f"there is no frame `{name}`; frames are {', '.join(known)}")
        with open(os.path.join(DATA, "frames", f"{name}.yaml"), encoding="utf-8") as file:
            texts.append(file.read())
    return "---\n".join(texts)


def insert_lines(frame: str, lines: str) -> str:
    """Return the documents of a frame in which the entries of `lines` replace fields. Raise FrameError if one
    of the entries does not fit.
    """
    over = _documents(lines)
    below: list[list[str]] = [*_documents(frame), *([] for _ in over)]
    texts = []
    for number, document in enumerate(below):
        entries = over[number] if number < len(over) else []
        if entries and entries[0].startswith("apiVersion:"):
            texts.append(entries)
        elif document:
            texts.append(_with_entries(document, entries))
        elif any(not _NOTHING.fullmatch(line) for line in entries):
            raise FrameError(f"no frame is left for the lines from `{entries[0]}` on")
    return "---\n".join("".join(f"{line}\n" for line in text) for text in texts)


def apply_diff(text: str, diff: str) -> str:
    """Return the text with the lines of a diff removed and added. Raise FrameError if the old lines of a group do not
    occur exactly once in the text.
    """
    for group in re.split(r"(?m)^@@\n", diff):
        lines = group.splitlines()
        old, new = ("".join(f"{line[1:]}\n" for line in lines if not line.startswith(sign)) for sign in ("+", "-"))
        if f"\n{text}".count(f"\n{old}") != 1:
            raise FrameError(
                f"the lines from `{lines[0] if lines else ''}` on do not occur exactly once in the bad example"
            )
        text = f"\n{text}".replace(f"\n{old}", f"\n{new}")[1:]
    return text


def _documents(text: str) -> list[list[str]]:
    return [part.splitlines() for part in re.split(r"(?m)^---\n", text)]


def _with_entries(document: list[str], entries: list[str]) -> list[str]:
    lines, block = list(document), list[str]()
    for line in [*entries, ""]:
        begins = not line.startswith((" ", "#")) and bool(line)
        has_entry = any(_ENTRY.match(block_lines) for block_lines in block)
        # A comment in the first column belongs to the entry below it.
        if has_entry and (begins or line.startswith("#")):
            lines, block = _with_entry(lines, block), []
        block.append(line)
    return _with_entry(lines, block[:-1])


def _with_entry(lines: list[str], block: list[str]) -> list[str]:
    if not block:
        return lines
    first = next((number for number, line in enumerate(block) if not line.startswith("#")), 0)
    match = _ENTRY.fullmatch(block[first])
    if match is None:
        raise FrameError(f"`{block[first]}` does not begin with the path of a field, such as `spec.limits:`")
    *above, key = match[1].split(".")
    start, end, indent = 0, len(lines), ""
    while above:
        found = _find_key(lines, start, end, indent, above[0])
        if found is None:
            break
        if not _NOTHING.fullmatch(lines[found[0]].split(":", 1)[1]):
            raise FrameError(f"`{above[0]}` is written in one line in the frame: lay all of it over")
        start, end = found[0] + 1, found[1]
        indent = _indent_of(lines[start:end], indent)
        above = above[1:]
    was = None if above else _find_key(lines, start, end, indent, key)
    if match[2].strip() == "null" and was is not None:
        return [*lines[: was[0]], *lines[was[1] :]]
    new = [f"{indent}{'  ' * depth}{name}:" for depth, name in enumerate(above)]
    pad = indent + "  " * len(above)
    body = [*block[:first], f"{key}:{match[2]}", *block[first + 1 :]]
    new += [f"{pad}{line}" if line else "" for line in body]
    # A new `metadata` is inserted at the beginning, as in every manifest, any other new field at the end.
    first_key = (above or [key])[0]
    at = was or ((start, start) if first_key == "metadata" else (end, end))
    return [*lines[: at[0]], *new, *lines[at[1] :]]


def _find_key(lines: list[str], start: int, end: int, indent: str, key: str) -> tuple[int, int] | None:
    """Return the first line of a field of a block mapping, and the line after its last one. None if there is no such
    field.
    """
    for number in range(start, end):
        if re.match(rf"{indent}{key}:( |$)", lines[number]):
            last = number + 1
            while last < end and (not lines[last] or lines[last].startswith((f"{indent} ", f"{indent}- "))):
                last += 1
            return number, last
    return None


def _indent_of(lines: list[str], above: str) -> str:
    first = next((line for line in lines if not _NOTHING.fullmatch(line)), f"{above}  ")
    return first[: len(first) - len(first.lstrip())]
