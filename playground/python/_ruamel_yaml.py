"""What nodelint needs of ruamel.yaml's C extension, by PyYAML's reader in Python: a browser has no such extension."""

from __future__ import annotations

import re
from typing import Any

from yaml.error import MarkedYAMLError, YAMLError
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

__all__ = ["CParser", "YAMLError"]

_PROBLEMS = (
    (r"expected '<document start>', but found .*", "did not find expected <document start>"),
    (r"expected (.*), but got .*", r"did not find expected \1"),
    (r"expected the node content, but found .*", "did not find expected node content"),
    (r"expected (alphabetic or numeric character), but found .*", r"did not find expected \1"),
    (r"mapping values are not allowed here", "mapping values are not allowed in this context"),
)
_BLOCK = {"while parsing a block mapping": "did not find expected key"}
"""How the extension words what PyYAML's reader words in another way."""


class CParser(Reader, Scanner, Parser):
    """A parser of events under the name that the extension gives it."""

    def __init__(self, stream: str) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)

    def get_event(self) -> Any:
        """Return the next event; an error is worded as the extension does."""
        try:
            return super().get_event()
        except MarkedYAMLError as error:
            problem = error.problem or ""
            if problem.startswith("expected <block end>, but found"):
                error.problem = _BLOCK.get(error.context or "", "did not find expected '-' indicator")
            for pattern, words in _PROBLEMS:
                error.problem = re.sub(f"^{pattern}$", words, error.problem or "", flags=re.DOTALL)
            raise
