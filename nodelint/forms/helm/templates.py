"""Give rules access to a template: its code, and its chart with its values."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from nodelint.forms.helm.template_lint import Guarded
    from nodelint.forms.helm.template_scopes import Scopes
    from nodelint.text import Node, SourceText

    _T = TypeVar("_T")


class Templates:
    """Facts about the templates of charts, each computed at first use."""

    def __init__(self) -> None:
        self._defaults: dict[str, Node | None] = {}
        self._more_values: dict[str, list[Node]] = {}
        self._by_text: dict[tuple[str, int], Any] = {}
        self._texts: dict[tuple[str, bool], list[str]] = {}
        self._installing: dict[str, list[str]] = {}

    def default(self, source: SourceText, field: str) -> Node | None:
        """Return a chart's default for `.Values.a.b` in one of its templates. None if there is none."""
        names = field.removeprefix("$").split(".")
        if names[:2] != ["", "Values"]:
            return None
        values = self.values(source)
        return None if values is None else values.find(*names[2:])

    def values(self, source: SourceText) -> Node | None:
        """Return the default values of a template's chart. None if it has no chart, or the chart has none."""
        if source.path not in self._defaults:
            from nodelint.forms.helm.charts import default_values

            self._defaults[source.path] = default_values(source.path)
        return self._defaults[source.path]

    def more_values(self, source: SourceText) -> list[Node]:
        """Return the values of a template's chart in addition to the defaults."""
        if source.path not in self._more_values:
            from nodelint.forms.helm.charts import more_values

            self._more_values[source.path] = more_values(source.path)
        return self._more_values[source.path]

    def scopes(self, source: SourceText) -> Scopes | None:
        """Return the fields that a Helm template uses, and its loops and conditions. None for any other text."""
        if not source.holds("{{"):
            return None
        return self._read_once("scopes", source, _scopes)

    def _read_once(self, what: str, source: SourceText, read: Callable[[str], _T]) -> _T:
        """Return the result of a reader for a text. It is cached, because it is needed for every object of a file."""
        place = what, id(source)
        if place not in self._by_text:
            self._by_text[place] = read(source.text)
        found: _T = self._by_text[place]
        return found

    def loop_names(self, source: SourceText) -> frozenset[str]:
        """Return the variables of the loops in a Terraform template."""
        return self._read_once("loops", source, _loop_names)

    def stops_helm(self, source: SourceText) -> list[tuple[int, int, str]]:
        """Find template actions that fail in helm with default values because they read a field of nil."""
        values = self.values(source)
        return [] if values is None else self._read_once("stops", source, lambda text: _stops(text, values))

    def is_in_another_template(self, source: SourceText, word: str, templates: bool = True) -> bool:
        """Return whether another template of the chart contains a word.

        With `templates=False`, other YAML files count.
        """
        import re

        whole = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        return any(word in text and whole.search(text) for text in self._beside_in_chart(source, templates))

    def is_value_given(self, source: SourceText, word: str) -> bool:
        """Return whether Terraform or a script of the repository that installs a template's chart sets a value."""
        import re

        if source.path not in self._installing:
            from nodelint.forms.helm.charts import installing_texts

            self._installing[source.path] = installing_texts(source.path)
        given = re.compile(rf"(?<![\w-]){re.escape(word)}[\"']?\s*[=:]")
        return any(given.search(text) for text in self._installing[source.path])

    def class_switch(self, source: SourceText) -> str | None:
        """Return the condition with which a chart creates an EKS Auto Mode class instead of an EC2NodeClass."""

        def switch(own: str) -> str | None:
            from nodelint.forms.helm.template_scopes import alternative

            texts = (own, *self._beside_in_chart(source, True))
            return next((found for text in texts if (found := alternative(text, "NodeClass", "EC2NodeClass"))), None)

        return self._read_once("class-switch", source, switch)

    def _beside_in_chart(self, source: SourceText, templates: bool) -> list[str]:
        from nodelint.forms.helm.charts import other_files, other_templates

        where = source.path, templates
        if where not in self._texts:
            self._texts[where] = (other_templates if templates else other_files)(source.path)
        return self._texts[where]

    def guarded(self, source: SourceText) -> list[Guarded]:
        """Return the fields of a template that are the only content of a condition on a value."""
        if not source.holds("{{"):
            return []
        from nodelint.forms.helm.template_lint import guarded

        return self._read_once("guarded", source, guarded)

    def default_of(self, field: str) -> str | None:
        """Return the default of a boolean field of Karpenter's API if it is not `false`. None otherwise."""
        from nodelint.data import table

        meaning: str | None = table("templates")["false_differs"].get(field)
        return meaning

    def picked(self) -> dict[str, dict[str, str]]:
        """Return, by the name of a list, the fields of its items that templates often omit, and each one's effect."""
        from nodelint.data import table

        fields: dict[str, dict[str, str]] = table("templates")["picked"]
        return fields

    def repeated(self, source: SourceText) -> list[tuple[int, int, tuple[int, int]]]:
        """Return the keys that a loop of a template writes again in each iteration: start, end, the loop's range."""
        if not source.holds("{{") or not source.holds("range"):
            return []
        from nodelint.forms.helm.template_lint import repeated

        return self._read_once("repeated", source, repeated)

    def running_together(self, source: SourceText) -> list[tuple[int, int, tuple[int, int]]]:
        """Return the `apiVersion` of documents that a loop of a template writes without `---` in between."""
        if not source.holds("{{") or not source.holds("range"):
            return []
        from nodelint.forms.helm.template_lint import running_together

        return self._read_once("running_together", source, running_together)


def _scopes(text: str) -> Scopes | None:
    from nodelint.forms.helm.template_scopes import scopes

    return scopes(text)


def _loop_names(text: str) -> frozenset[str]:
    import re

    found = re.findall(r"%\{~?\s*+for\s+([\w-]++)(?:\s*+,\s*+([\w-]++))?\s+in\s", text)
    return frozenset(name for names in found for name in names if name)


def _stops(text: str, values: Node) -> list[tuple[int, int, str]]:
    from nodelint.base.budget import BudgetSpent
    from nodelint.forms.lib.gotemplate.evaluate import fill
    from nodelint.forms.lib.gotemplate.syntax import BadTemplate, parse

    try:
        broken = fill(text, parse(text), values, "nothing").broken
    except (BadTemplate, BudgetSpent):
        return []
    return [(code.start, code.end, ".".join(names)) for code, names in broken]
