"""Define the table of input forms, in the order of rendering, and how to recognize the files of each.

The table is data: a form is loaded only if the run has a file for it. A new form is a package with the functions of
`forms.interface.Form` that it needs, and a row in this table.
"""

from __future__ import annotations

import sys

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any


ASIDE = ("backup", "bak", "disabled", "off", "old", "orig")
"""Words after the name of a file that somebody has disabled."""


class PathsInTexts:
    """How files of a form name other files.

    - `endings`: endings of files in its own language with such paths; `words`: words in YAML files with them;
      `script_words`: words in scripts with them.
    - `keys`: keys whose values are paths; `from_top`: whether paths in YAML are first relative to the top.
    - `module`: endings of the files that form a module together in a folder; `module_inputs`: those of its inputs.
    - `chosen`: part of the names of files next to `FormRow.heads` that are used only where they are named.
    - `object_words`: words in a file that names objects with values by their names.
    - `above`: endings of files whose paths may lead from any folder above them, and from the folder of a file that
      includes them; `above_default`: a word in such a file that stands for a file above it, and the file's name.
    """

    def __init__(
        self,
        endings: tuple[str, ...] = (),
        words: tuple[bytes, ...] = (),
        script_words: tuple[bytes, ...] = (),
        keys: tuple[str, ...] = (),
        from_top: bool = False,
        module: tuple[str, ...] = (),
        module_inputs: tuple[str, ...] = (),
        chosen: str = "",
        object_words: tuple[bytes, ...] = (),
        above: tuple[str, ...] = (),
        above_default: tuple[tuple[bytes, str], ...] = (),
    ) -> None:
        self.endings, self.words, self.script_words, self.keys = endings, words, script_words, keys
        self.from_top, self.chosen, self.object_words = from_top, chosen, object_words
        self.module, self.module_inputs = module, module_inputs
        self.above, self.above_default = above, above_default


class FormRow:
    """The data about a form that is known before it is loaded. `module` is its package.

    File endings:

    - `endings`: files in its own language that may hold objects; `read_too`: others that are searched for objects.
    - `inputs`: files in its own language without objects.
    - `templates`: texts that it renders; `fills`: whether it renders any.
    - `glanced`: files that may state a release; `not_glanced`: exceptions.
    - `made`: files from which another tool generates files of the form.

    File names:

    - `names`: files that represent their folder (`kustomization.yaml`); `heads`: files that describe it.
    - `folders`: folders whose files belong to the form if `owns` says so.

    Texts:

    - `words`: words in a text that it may render or change.
    - `hosts`: endings of texts, and languages of Markdown blocks, that contain manifests.
    - `styles`: styles of nodes that its `writer_of` edits.

    Requests:

    - `applies_folders`: it renders a folder as a controller changes it (`apply_folder`).
    - `installs`: words in a text that may pass values to a chart; `installing_name`: part of the name of such a file.
    - `applies`: words that occur together in a file that changes the objects of other files.
    - `kinds`: kinds of objects with values of a chart.
    - `uses`: words in a text that may use a remote chart or module.

    Statements:

    - `installing_words`: words in a text that installs Karpenter's controller; `commands`: programs and tasks with
      which scripts do.
    - `stating`: endings of files in its own language that may state a release; `stating_words`: such a file contains
      one of these if it does not name Karpenter; `states`: endings of other files that it searches for a release.
    - `state_marks`: words in any file that names Karpenter and states a release.

    Objects:

    - `pods`: a pattern of code that creates pods.
    - `values_keys`: words; whatever installs a chart, with values or by the path of its folder, has one of them.

    `paths`: how its files name others.

    Words for users:

    - `style`: how reports name the form.
    - `guide`: the name of a tool, and the page of the documentation about it.
    """

    def __init__(
        self,
        name: str,
        module: str = "",
        *,
        endings: tuple[str, ...] = (),
        read_too: tuple[str, ...] = (),
        inputs: tuple[str, ...] = (),
        templates: tuple[str, ...] = (),
        fills: bool = False,
        glanced: tuple[str, ...] = (),
        not_glanced: tuple[str, ...] = (),
        made: tuple[str, ...] = (),
        names: tuple[str, ...] = (),
        heads: tuple[str, ...] = (),
        folders: tuple[str, ...] = (),
        words: tuple[str, ...] = (),
        hosts: tuple[str, ...] = (),
        styles: tuple[str, ...] = (),
        applies_folders: bool = False,
        installs: tuple[str, ...] = (),
        installing_name: str = "",
        applies: tuple[bytes, ...] = (),
        kinds: tuple[str, ...] = (),
        installing_words: tuple[str, ...] = (),
        commands: tuple[str, ...] = (),
        stating: tuple[str, ...] = (),
        stating_words: tuple[bytes, ...] = (),
        states: tuple[str, ...] = (),
        uses: tuple[str, ...] = (),
        pods: str = "",
        state_marks: tuple[bytes, ...] = (),
        values_keys: tuple[bytes, ...] = (),
        paths: PathsInTexts | None = None,
        style: str = "",
        guide: tuple[str, str] | None = None,
    ) -> None:
        self.name, self.module = name, module or f"nodelint.forms.{name}"
        self.endings, self.read_too, self.inputs, self.templates = endings, read_too, inputs, templates
        self.fills, self.glanced, self.not_glanced, self.made = fills, glanced, not_glanced, made
        self.names, self.heads, self.folders = names, heads, folders
        self.words, self.hosts, self.styles = words, hosts, styles
        self.applies_folders, self.installs, self.installing_name = applies_folders, installs, installing_name
        self.applies, self.kinds = applies, kinds
        self.installing_words, self.commands = installing_words, commands
        self.stating, self.stating_words, self.states = stating, stating_words, states
        self.uses, self.pods, self.state_marks, self.values_keys = uses, pods, state_marks, values_keys
        self.style, self.guide, self.paths = style, guide, paths or PathsInTexts()
        self.language = (*endings, *stating, *[f"{ending}.json" for ending in inputs])

    def may_install(self, path: str, text: str) -> bool:
        """Return whether a file of the form may pass values to a chart. `text` is its content."""
        return (self.installing_name != "" and self.installing_name in path) or _holds_any(text, self.installs)

    def may_install_controller(self, path: str, text: str) -> bool:
        """Return whether a file of the form may install Karpenter's controller. `text` is its content."""
        words = self.commands or self.installing_words
        return (self.stating != () and path.endswith(self.stating)) or _holds_any(text, words)

    def may_use_elsewhere(self, text: str) -> bool:
        """Return whether a text may use a remote chart or module by this form."""
        return _holds_any(text, self.uses)

    def load(self) -> Any:
        """Return the form's package, loaded at first use.

        `forms.defaults` provides missing functions (see `Form`).
        """
        found = _LOADED.get(self.module)
        if found is None:
            __import__(self.module)
            found = _LOADED[self.module] = _LoadedForm(self.module)
        return found


class _LoadedForm:
    """The package of a form. Its `IN_MODULES` names functions that are in its modules, as `module` or `module.name`.

    `forms.defaults` provides missing functions.
    """

    def __init__(self, module: str) -> None:
        self._package = sys.modules[module]

    def __getattr__(self, name: str) -> Any:
        """Return a function of the form. It is cached."""
        holder, own_name = self._package, name
        if not hasattr(holder, name):
            module, _, other_name = getattr(holder, "IN_MODULES", {}).get(name, "").partition(".")
            path = f"{holder.__name__}.{module}" if module else "nodelint.forms.defaults"
            __import__(path)
            holder, own_name = sys.modules[path], other_name or name
        found = self.__dict__[name] = getattr(holder, own_name)
        return found


_LOADED: dict[str, _LoadedForm] = {}


def _holds_any(text: str, words: Iterable[str]) -> bool:
    # Called for every file: a generator would take longer than the searches.
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


class FormTable:
    """Rows in order, with their joined data for checks that run for every file."""

    rows: tuple[FormRow, ...]

    def __init__(self, rows: Sequence[FormRow]) -> None:
        self.set_rows(rows)

    def set_rows(self, rows: Sequence[FormRow]) -> None:
        """Replace the rows of the table, and compute the joined data again."""
        self.rows = tuple(rows)
        self.endings = _join([row.endings for row in rows])
        self.read_too = _join([row.read_too for row in rows])
        self.module_files = (*self.endings, *_join([row.inputs for row in rows]))
        self.templates = _join([row.templates for row in rows])
        self.glanced = _join([row.glanced for row in rows])
        self.not_glanced = _join([row.not_glanced for row in rows])
        self.made = _join([row.made for row in rows])
        self.read = (*self.endings, *self.read_too, *self.templates)
        self.set_aside = tuple([f"{ending}.{word}" for ending in self.endings for word in ASIDE])
        self.aside = (*self.made, *self.set_aside)
        self.names = _join([row.names for row in rows])
        self.heads = _join([row.heads for row in rows])
        self.package_heads = _join([row.heads for row in rows if row.folders])
        self.stating = _join([row.stating for row in rows])
        others = [(ending, [*self.stating[:at], *self.stating[at + 1 :]]) for at, ending in enumerate(self.stating)]
        self.stating_in_names = tuple([ending for ending, rest in others if not _holds_any(ending, rest)])
        self.stating_words = tuple([word for row in rows for word in row.stating_words])
        self.installs = tuple([word.encode() for row in rows for word in row.installs])
        self.installing_names = tuple([row.installing_name for row in rows if row.installing_name])
        self.installing_words = _join([row.installing_words for row in rows])
        self.applies = tuple([row.applies for row in rows if row.applies])
        self.embedding = tuple([row.name for row in rows if row.hosts])
        self.no_yaml = _join([row.glanced for row in rows if row.stating])
        self.host_names = _join([(row.name, *row.styles) for row in rows if row.hosts])
        self.kinds = _join([row.kinds for row in rows])
        self.pods = tuple([row.pods for row in rows if row.pods])
        self.state_marks = tuple([mark for row in rows for mark in row.state_marks])
        self.values_keys = tuple([key for row in rows for key in row.values_keys])
        paths = [row.paths for row in rows]
        self.naming = _join([path.endings for path in paths])
        self.controllers = tuple([word for path in paths if path.from_top for word in path.words])
        self.naming_words = tuple([word for path in paths for word in path.words])
        self.script_words = tuple([word for path in paths for word in path.script_words])
        self.object_words = tuple([word for path in paths for word in path.object_words])
        self.path_keys = tuple(dict.fromkeys(_join([path.keys for path in paths])))
        self.module = _join([path.module for path in paths])
        self.module_inputs = _join([path.module_inputs for path in paths])
        self.above = _join([path.above for path in paths])
        self.above_default = tuple([default for path in paths for default in path.above_default])
        self.chosen = tuple([path.chosen for path in paths if path.chosen])
        self.related = (*self.naming, *self.module_inputs, *self.templates)

    def is_part(self, path: str) -> bool | None:
        """Return whether the objects of a file are parts of other objects. None if a form cannot tell."""
        for row in self.rows:
            if row.names:
                found: bool | None = row.load().is_part(path)
                return found
        return False

    def find_patched_folder(self, path: str) -> str | None:
        """Return the folder whose own file names a file as a patch. None if there is none."""
        found = (row.load().find_patched_folder(path) for row in self.rows if row.names)
        return next((folder for folder in found if folder is not None), None)

    def builds_on(self, patch: str, base: str) -> bool:
        """Return whether a folder that names a patch includes the file of another object."""
        return any(row.load().builds_on(patch, base) for row in self.rows if row.names)

    def forget(self) -> None:
        """Clear the caches of forms. A server calls it when files change."""
        for row in self.rows:
            if row.names:
                row.load().forget()

    def of_host(self, word: str) -> FormRow | None:
        """Return the form for an ending of texts, a language of a Markdown block, or a name. None for all others."""
        for row in self.rows:
            if row.hosts and (word in row.hosts or word == row.name):
                return row
        return None

    def of_style(self, style: str) -> FormRow | None:
        """Return the form that edits nodes of a style; None for YAML."""
        for row in self.rows:
            if style in row.styles:
                return row
        return None

    def of_language(self, path: str) -> FormRow | None:
        """Return the form in whose own language a file is written, with or without objects. None for other files."""
        for row in self.rows:
            if row.endings and path.endswith((*row.endings, *row.inputs, *row.heads, *row.paths.above)):
                return row
        return None

    def of_languages(self, paths: Iterable[str]) -> list[FormRow]:
        """Return the forms in whose own languages, or in their JSON, some of the files may be written."""
        rows = [row for row in self.rows if row.language]
        return [row for row in rows if any(path.endswith(row.language) for path in paths)] if rows else []

    def stating_form(self, path: str) -> FormRow | None:
        """Return the form in whose own language a file may state a release. None for YAML and other texts."""
        for row in self.rows:
            if row.stating and path.endswith(row.stating):
                return row
        return None

    def form_of_texts(self, path: str) -> FormRow | None:
        """Return the form that reads the releases in a file that is in no form's own language.

        None if there is none.
        """
        for row in self.rows:
            if row.states and path.endswith(row.states):
                return row
        return None


def _join(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple([word for words in parts for word in words])


KUSTOMIZE = FormRow(
    "kustomize",
    names=("kustomization.yaml", "kustomization.yml", "Kustomization"),
    paths=PathsInTexts(keys=("path",)),
    applies_folders=True,
    style="Kustomize",
    installs=("helmCharts",),
    installing_words=("helmCharts", "HelmChartInflationGenerator"),
)
FLUX = FormRow(
    "flux",
    words=("kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"),
    installs=("helm.toolkit.fluxcd.io/",),
    applies=(b"kustomize.toolkit.fluxcd.io",),
    paths=PathsInTexts(
        words=(b"toolkit.fluxcd.io",),
        keys=("path", "chart"),
        from_top=True,
        object_words=(b"valuesFrom", b"substituteFrom"),
    ),
    kinds=("HelmRelease",),
    style="values of Flux HelmReleases",
    guide=("Flux", "docs/ci/flux.md"),
    installing_words=("HelmRelease",),
)
ARGOCD = FormRow(
    "argocd",
    words=("argoproj.io/",),
    installs=("argoproj.io/",),
    applies=(b"repoURL", b"argoproj.io/"),
    values_keys=(b"path:",),
    paths=PathsInTexts(words=(b"argoproj.io/",), keys=("path", "chart"), from_top=True),
    kinds=("Application", "ApplicationSet"),
    style="values of Argo CD Applications",
    guide=("Argo CD", "docs/ci/argo-cd.md"),
    installing_words=("Application",),
)
HELMFILE = FormRow(
    "helmfile",
    installing_name="helmfile",
    installing_words=("releases:",),
    paths=PathsInTexts(words=(b"releases:",), keys=("chart",)),
)
HELM = FormRow(
    "helm",
    fills=True,
    glanced=("Chart.lock",),
    heads=("Chart.yaml",),
    folders=("templates",),
    kinds=("HelmChart", "HelmChartConfig", "Release"),
    installs=("AWSCDK-EKS-HelmChart", "kubernetes:helm.sh/v"),
    installing_words=(
        *("helm upgrade", "helm install", "helm template", "helm.cattle.io", "helm.crossplane.io", "valuesFiles:"),
        *("karpenter/karpenter", "AWSCDK-EKS-HelmChart"),
    ),
    commands=("helm", "HelmDeploy", "AWSCDK-EKS-HelmChart"),
    states=(".yaml", ".yml", ".json", ".gotmpl", ".tpl", ".tmpl", ".j2", ".lock"),
    uses=("chart", "Chart", "dependencies"),
    state_marks=(b"helm.sh/chart", b"EKS-HelmChart"),
    values_keys=(b"helm", b"-HelmChart"),
    paths=PathsInTexts(script_words=(b"helm ",), chosen="values"),
    style="a Helm chart",
)
TERRAFORM = FormRow(
    "terraform",
    endings=(".tf", ".tofu"),
    read_too=(".tm.hcl", "terragrunt.hcl", "terragrunt.stack.hcl"),
    inputs=(".tfvars",),
    templates=(".tftpl",),
    fills=True,
    glanced=(".tfvars", ".hcl"),
    not_glanced=(".tftest.hcl", ".terraform.lock.hcl"),
    made=(".j2.tf", ".jinja.tf", ".jinja2.tf", ".j2.tofu"),
    heads=("terragrunt.hcl",),
    words=("${",),
    hosts=("tf", "tofu", "hcl", "opentofu"),
    styles=("hcl", "hcl-blocks"),
    installing_words=("helm_release", "enable_karpenter", "argocd_application"),
    applies=(b'_manifest"',),
    installs=('"helm_release"',),
    paths=PathsInTexts(
        endings=(".tf", ".tofu", ".tf.json", ".tofu.json", ".hcl"),
        script_words=(b"-var-file",),
        keys=("source", "chart"),
        module=(".tf", ".tofu", ".tf.json", ".tofu.json"),
        module_inputs=(".tfvars",),
        above=(".hcl",),
        above_default=((b"find_in_parent_folders()", "terragrunt.hcl"),),
    ),
    stating=(".tf", ".tofu", ".tfvars", ".hcl", ".tf.json", ".tofu.json"),
    stating_words=(
        *(b"_version", b"-version", b"aws_eks_cluster", b"charts.karpenter.sh", b"terraform-aws-", b"AmazonEKS"),
        b'"aws_subnet"',
    ),
    uses=("module", "helm_release", "terraform {"),
    pods=(
        r"resource[ \t]+\"kubernetes_"
        r"(?:deployment|stateful_set|daemon_?set|replication_controller|cron_job|job|pod)(?:_v|\")"
    ),
    style="Terraform",
)

FORMS = (KUSTOMIZE, FLUX, ARGOCD, HELMFILE, HELM, TERRAFORM)
"""In the order of rendering: overlays, controllers that change them, charts, and templates of any kind."""

TABLE = FormTable(FORMS)
"""The table of all forms."""
