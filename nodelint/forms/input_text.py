"""Describe the texts on which an unknown value can depend, and compare them between two sides."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from nodelint.model.finding import Span


INSTANCE = "instance"
"""The text of an input that is one instance of a module."""


class InputText(NamedTuple):
    """An input on which an unknown value can depend.

    - `name`: its name.
    - `text`: its text without layout and comments.
    - `at`: its place.
    - `caller`: the module call that passes it; empty if it applies to all calls.
    - `is_call`: it is the call itself.
    """

    name: str
    text: str
    at: Span
    caller: str = ""
    is_call: bool = False


class RemoteUse(NamedTuple):
    """A use of a module or chart that is not in the repository and may create pools.

    - `place`: the path of the file, or of the folder, in which its name is unique.
    - `name`: the name.
    - `inputs`: its inputs.
    - `reason`: a text that an input changes, with `{}` for the input's name.
    """

    place: str
    name: str
    inputs: Sequence[InputText]
    reason: str


def list_changed_inputs(old: Collection[InputText], new: Collection[InputText]) -> list[InputText]:
    """Return the inputs that only one side has. Those of the new side come first.

    The file of an input does not count: a module that moves to another folder keeps its inputs. The inputs of an
    additional module call do not count, because they do not affect other calls. A removed call is a change.
    """
    found: list[InputText] = []
    for mine, others in ((new, old), (old, new)):
        theirs = {(other.name, other.text) for other in others}
        calls = {other.caller for other in others if other.caller}
        stay = calls & {own.caller for own in mine}
        for own in mine:
            if (own.name, own.text) in theirs:
                continue
            is_alone = bool(own.caller) and own.caller not in calls
            if own.is_call and (mine is new or (calls and not stay)):
                continue
            if own.is_call or not (is_alone and stay):
                found.append(own)
    return found


def make_rest(texts: Iterable[str], at: Span) -> InputText:
    """Return one input that represents many texts: its text, a hash, changes if any of them changes."""
    import hashlib

    found = hashlib.sha256()
    for text in texts:
        found.update(hashlib.sha256(text.encode(errors="surrogatepass")).digest())
    return InputText("one of many files", found.hexdigest(), at)
