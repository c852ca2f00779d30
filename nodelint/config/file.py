"""The configuration file: its values, and the place of each."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.safe_read import error_reason, read

if TYPE_CHECKING:
    from nodelint.text import Node


_LARGEST = 1 << 20
"""The largest size of a configuration file, in bytes."""


class ConfigError(Exception):
    """Raised with one line for each invalid setting.

    A line names the file and, if it is known, the place. `str` is the first line.
    """

    def __init__(self, *messages: str) -> None:
        super().__init__(messages[0])
        self.messages = messages


class PackageMissing(ConfigError):
    """Raised if a policy of the configuration needs a package that is not installed. Commands that run no rules do
    not need it.
    """


_ON = {"true": "on"}


class ConfigFile(NamedTuple):
    """The values of a configuration file, its path, and its root node (None for TOML)."""

    values: dict[str, object]
    path: str
    root: Node | None

    def plain(self) -> dict[str, object]:
        """Return the values, with the key `on` of a policy as it is written: YAML 1.1 reads it as true."""
        policies = self.values.get("policies")
        if not isinstance(policies, list):
            return self.values
        named = [{_ON.get(key, key): v for key, v in p.items()} if isinstance(p, dict) else p for p in policies]
        return {**self.values, "policies": named}

    def place(self, key: str) -> str:
        node = self.root and (self.root.key(key) or self.root)
        if not node:
            return f"{self.path} [tool.nodelint]"
        return self._position(node)

    def words(self, key: str) -> dict[str, str]:
        """Return the texts and keys below a setting, each with the place of its first use. A text with commas is
        split.
        """
        node = self.root and self.root.get(key)
        found: dict[str, str] = {}
        for scalar in node.walk() if node else ():
            if scalar.kind == "scalar" and isinstance(scalar.value, str):
                found.update(
                    {part.strip(): self._position(scalar) for part in scalar.value.split(",") if part not in found}
                )
        return found

    def place_in(self, key: str, number: int, inner: str, line: int = 1, column: int = 1) -> str:
        """Return the place of a character (line and column, from 1) of the text at the key `inner`, in an item of the
        list `key`.
        """
        listed = self.root and self.root.get(key)
        if not listed or number >= len(listed.items):
            return self.place(key)
        item = listed.items[number]
        node = item.get("true" if inner == "on" and item.get("true") else inner) or item
        if node.style in ("literal", "folded"):
            start = node.source.position(node.start).line + line
            text = node.source.text.splitlines()[start - 1]
            return f"{self.path}:{start}:{len(text) - len(text.lstrip()) + column}"
        return self._position(node, column if node.style in ("single", "double") else column - 1)

    def _position(self, node: Node, further: int = 0) -> str:
        position = node.source.position(node.start)
        return f"{self.path}:{position.line}:{position.column + further}"


def read_config(path: str) -> ConfigFile:
    if path.endswith(".toml"):
        return ConfigFile(table_of(path) or {}, path, None)
    from nodelint.text import Source
    from nodelint.text.syntax_errors import Unreadable
    from nodelint.text.yaml.compose import compose

    try:
        source = Source(path, read(path, _LARGEST).decode("utf-8-sig"))
        roots = compose(source, source.text, 0, masked=False)
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: {error_reason(error)}; `nodelint init` writes a nodelint.yaml") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the file is not UTF-8") from error
    except Unreadable as error:
        if not path.endswith((".yaml", ".yml", ".json")):
            raise ConfigError(f"{path}: a configuration is a file of YAML, or pyproject.toml") from error
        position = source.position(error.offset)
        raise ConfigError(f"{path}:{position.line}:{position.column}: {error.message}") from error
    root = roots[0] if roots else None
    values = root.plain() if root is not None else {}
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: settings must be a mapping, such as `fail-on: warning`")
    return ConfigFile(values, path, root)


def table_of(path: str) -> dict[str, object] | None:
    try:
        data = read(path, _LARGEST)
        if b"nodelint" not in data:
            return None  # most are the project's own, and the parser is slow to load
        import tomllib

        tools = tomllib.loads(data.decode()).get("tool")
    except ValueError as error:  # no TOML, or no UTF-8
        raise ConfigError(f"{path}: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error_reason(error)}") from error
    table = tools.get("nodelint") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: `tool.nodelint` must be a table")
    return table
