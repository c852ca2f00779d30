"""Texts of files that an unknown value can depend on."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from nodelint.model.finding import Span


class InputText(NamedTuple):
    """An input: how it is called, what is written there without layout and comments, and where.

    `caller` says which call of a module gives it; empty for what holds for all calls. `is_call` is the call itself.
    """

    name: str
    text: str
    at: Span
    caller: str = ""
    is_call: bool = False


class RemoteUse(NamedTuple):
    """A use of a module or chart that is not in the repository and may make pools.

    `place` is the path of the file, or of the folder, in which its name is unique. `reason` says that an input of it
    changes, with `{}` for the name of the input.
    """

    place: str
    name: str
    inputs: Sequence[InputText]
    reason: str


def list_changed_inputs(old: Collection[InputText], new: Collection[InputText]) -> list[InputText]:
    """Return the inputs that one side alone has, those of the new side first.

    The file of an input does not count: a module that moves to another folder keeps its inputs. What one more call of
    a module gives it changes nothing of what the other calls make. A call that is gone is a change.
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
    """Return one input for texts that are too many to follow each: it changes where any of them does."""
    import hashlib

    found = hashlib.sha256()
    for text in texts:
        found.update(hashlib.sha256(text.encode(errors="surrogatepass")).digest())
    return InputText("one of many files", found.hexdigest(), at)
