"""The forms in which objects are written, in the order in which they are rendered, and how files are told to be theirs.

All of it is data: nothing of a form is loaded before a file of the run is one of its own. A new form is a package with
the functions of `forms.interface.Form` that it needs, and a row here.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.interface import Form
    from nodelint.text import Source


class FormRow:
    """What is known of a form before it is loaded.

    Of its files: `endings` of files in its own language that hold objects, and `inputs` of those that hold none;
    `templates`, endings of texts that it fills in; `names` of files that stand for their folder; `heads` are the
    names of files that describe a folder; `folders` whose files are its own. `aside` are endings of files that a tool makes files of the form of, or leaves alone.

    Of texts: `words` of texts of other files that it may fill in or change; `hosts` are the endings, and the words of a
    Markdown fence, of texts in which manifests stand; `styles` of the nodes that its own `writer` edits.

    Of requests: `answers` are the names of those that it answers (`forms.requests`). `installs` are words of a file that may give values to a chart, and `installing_name` is in the
    name of one; `applies` are words that stand together in a file that changes what a folder makes. `kinds` are those
    of objects with values of a chart.

    `installing_words` are in a file that installs Karpenter's controller, `command` is the program by which scripts do.

    Of releases: `stating` are endings of files in its own language that may state one, `stating_words` what they hold
    then, and `states` the endings of other files in which it looks. `fills`: it fills in templates.
    """

    def __init__(
        self,
        name: str,
        module: str = "",
        *,
        endings: tuple[str, ...] = (),
        inputs: tuple[str, ...] = (),
        templates: tuple[str, ...] = (),
        names: tuple[str, ...] = (),
        heads: tuple[str, ...] = (),
        folders: tuple[str, ...] = (),
        aside: tuple[str, ...] = (),
        words: tuple[str, ...] = (),
        hosts: tuple[str, ...] = (),
        styles: tuple[str, ...] = (),
        answers: tuple[str, ...] = (),
        installs: tuple[str, ...] = (),
        installing_name: str = "",
        applies: tuple[bytes, ...] = (),
        kinds: tuple[str, ...] = (),
        installing_words: tuple[str, ...] = (),
        command: str = "",
        fills: bool = False,
        states: tuple[str, ...] = (),
        stating: tuple[str, ...] = (),
        stating_words: tuple[bytes, ...] = (),
    ) -> None:
        self.name = name
        self.module = module or f"nodelint.forms.{name}"
        self.endings = endings
        self.inputs = inputs
        self.templates = templates
        self.names = names
        self.heads = heads
        self.folders = folders
        self.aside = aside
        self.words = words
        self.hosts = hosts
        self.styles = styles
        self.answers = answers
        self.installs = installs
        self.installing_name = installing_name
        self.applies = applies
        self.kinds = kinds
        self.installing_words = installing_words
        self.command = command
        self.fills = fills
        self.states = states
        self.stating = stating
        self.stating_words = stating_words

    def may_install(self, source: Source) -> bool:
        """Whether a text may give values to a chart by this form."""
        if self.installing_name and self.installing_name in source.path:
            return True
        # A generator would cost more than the searches: this is asked of every file where there are charts.
        return any([word in source.text for word in self.installs])

    def may_install_controller(self, source: Source) -> bool:
        """Whether a text may install Karpenter's controller by this form."""
        words = (self.command,) if self.command else self.installing_words
        return source.path.endswith(self.stating or "\0") or any([word in source.text for word in words])

    def load(self) -> Form:
        """Load the form: its package, with `forms.defaults` for what it does not have."""
        found = _LOADED.get(self.module)
        if found is None:
            __import__(self.module)
            __import__("nodelint.forms.defaults")
            found = _LOADED[self.module] = _WithDefaults(
                sys.modules[self.module], sys.modules["nodelint.forms.defaults"]
            )
        return found  # type: ignore[return-value]


class _WithDefaults:
    """A form's package; what is not in it is that of the defaults."""

    def __init__(self, module: object, defaults: object) -> None:
        self._module = module
        self._defaults = defaults

    def __getattr__(self, name: str) -> object:
        own = getattr(self._module, name, None)
        return own if own is not None else getattr(self._defaults, name)


_LOADED: dict[str, _WithDefaults] = {}


class FormTable:
    """Rows in their order, and what they say together, for what is asked of every file."""

    def __init__(self, rows: Sequence[FormRow]) -> None:
        self.rows = tuple(rows)
        self.endings = _join(row.endings for row in rows)
        self.module_files = (*self.endings, *_join(row.inputs for row in rows))
        self.templates = _join(row.templates for row in rows)
        self.aside = _join(row.aside for row in rows)
        self.names = _join(row.names for row in rows)
        self.heads = _join(row.heads for row in rows)
        self.stating = _join(row.stating for row in rows)
        self.stating_words = _join(row.stating_words for row in rows)
        self.installs = tuple([word.encode() for row in rows for word in row.installs])
        self.installing_names = tuple(row.installing_name for row in rows if row.installing_name)
        self.applies = tuple(row.applies for row in rows if row.applies)
        self.kinds = _join(row.kinds for row in rows)
        self.installing_words = _join(row.installing_words for row in rows)

    def stating_form(self, path: str) -> FormRow | None:
        """The form whose language states releases in a file; None for YAML and for texts."""
        for row in self.rows:
            if row.stating and path.endswith(row.stating):
                return row
        return None

    def form_of_texts(self, path: str) -> FormRow | None:
        """The form that reads what a text of no language of a form states."""
        for row in self.rows:
            if row.states and path.endswith(row.states):
                return row
        return None

    def is_part(self, path: str) -> bool | None:
        """Whether the objects of a file are parts of others, as a form says; None where they have to tell."""
        for row in self.rows:
            if row.names:
                return row.load().is_part(path)
        return False

    def of_host(self, word: str) -> FormRow | None:
        """The form of texts with this ending, or in a fence of this word, or whose name it is; None for all others."""
        for row in self.rows:
            if row.hosts and (word in row.hosts or word == row.name):
                return row
        return None

    def of_style(self, style: str) -> FormRow | None:
        """The form that edits nodes of a style; None for YAML."""
        for row in self.rows:
            if style in row.styles:
                return row
        return None

    def of_language(self, path: str) -> FormRow | None:
        """The form in whose own language a file is written, or holds its inputs; None for all other files."""
        for row in self.rows:
            if row.endings and (path.endswith((*row.endings, *row.inputs, *row.heads))):
                return row
        return None


def _join(parts: Iterator[tuple]) -> tuple:  # type: ignore[type-arg]
    return tuple([part for several in parts for part in several])


KUSTOMIZE = FormRow(
    "kustomize",
    names=("kustomization.yaml", "kustomization.yml", "Kustomization"),
    installs=("helmCharts",),
    installing_words=("helmCharts",),
    answers=("ApplyFolder",),
)
FLUX = FormRow(
    "flux",
    words=("kustomize.toolkit.fluxcd.io",),
    installs=("helm.toolkit.fluxcd.io/",),
    installing_words=("HelmRelease",),
    applies=(b"kustomize.toolkit.fluxcd.io",),
    kinds=("HelmRelease",),
)
ARGOCD = FormRow(
    "argocd",
    words=("argoproj.io/",),
    installs=("argoproj.io/",),
    installing_words=("Application",),
    applies=(b"kustomize:", b"argoproj.io/"),
    kinds=("Application", "ApplicationSet"),
)
HELMFILE = FormRow("helmfile", installing_name="helmfile", installing_words=("releases:",))
HELM = FormRow(
    "helm",
    answers=("InstallChart",),
    heads=("Chart.yaml",),
    folders=("templates",),
    kinds=("HelmChart", "HelmChartConfig", "Release"),
    installing_words=("helm upgrade", "helm install"),
    command="helm",
    fills=True,
    states=(".yaml", ".yml", ".json", ".gotmpl", ".tpl", ".tmpl", ".j2", ".lock"),
)
TERRAFORM = FormRow(
    "terraform",
    endings=(".tf", ".tofu"),
    inputs=(".tfvars",),
    heads=("terragrunt.hcl",),
    templates=(".tftpl",),
    answers=("FillTemplate",),
    fills=True,
    words=("${",),
    hosts=("tf", "tofu", "hcl", "opentofu"),
    styles=("hcl", "hcl-blocks"),
    installing_words=("helm_release",),
    stating=(".tf", ".tofu", ".tfvars", ".hcl", ".tf.json", ".tofu.json"),
    stating_words=(b"_version", b"-version", b"aws_eks_cluster"),
)

FORMS = (KUSTOMIZE, FLUX, ARGOCD, HELMFILE, HELM, TERRAFORM)
"""In the order of rendering: what is applied, what changes that, what is installed, what makes it."""

TABLE = FormTable(FORMS)
"""The forms of this run; a test may put another table in its place."""
