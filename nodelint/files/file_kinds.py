"""What a file of a folder is read for, by its name."""

from __future__ import annotations

import os

from nodelint.files.globs import NOTHING, Globs
from nodelint.forms.registry import ASIDE, TABLE

YAML_ENDINGS = (".yaml", ".yml", ".json")
# Templates of YAML: of Go, of Jinja, of envsubst; `TABLE.templates` has those that a form fills in. A bare `.tpl`
# is a chart's helpers as often as a manifest. Pages of web sites end in `.erb` and the like: those of YAML say so.
TEMPLATES = (
    *(".tpl", ".tmpl", ".gotmpl", ".gomplate", ".j2", ".jinja", ".jinja2", ".envsubst"),
    *(f".{kind}.{ending}" for kind in ("yaml", "yml", "json") for ending in ("template", "erb", "mustache", "in")),
)
_TAKEN = YAML_ENDINGS + TEMPLATES
# Files that hold no manifest, but may state which release of Karpenter or Kubernetes runs.
_STATING = (
    *(".sh", ".bash", ".mk", "Makefile", "justfile", "Justfile"),
    *("Tiltfile", "Earthfile", "Jenkinsfile", "Dockerfile", "Containerfile"),
    *(".env", ".envrc", ".toml", ".conf", ".ini", ".cfg"),
)
SET_ASIDE = tuple(f".{kind}.{word}" for kind in ("yaml", "yml") for word in ASIDE)
"""How manifests end that somebody has set aside: no tool applies them; `TABLE.aside` has those of forms."""
# Texts and programs that may hold manifests, and are not read unless they are asked for, or at all.
_TEXTS = (
    *(".md", ".mdx", ".markdown", ".zsh", ".ts", ".tsx", ".js", ".mjs", ".py", ".go", ".cue", ".java", ".kt", ".cs"),
    *(".jsonnet", ".libsonnet", ".rb", ".nix", ".k", ".pkl", ".star", ".rs", *SET_ASIDE),
    *(".erb", ".mustache", ".hbs", ".handlebars", ".ejs", ".eex", ".liquid", ".ftl", ".vm"),
)
_OF_YAML = (".yaml.", ".yml.")
"""What stands in the name of a template of YAML, whatever fills it in."""
READ, GLANCE, UNREAD = 1, 2, 3
GIT_FILES, WORKFLOWS = (".git", ".gitignore"), (".github", ".circleci")
"""What of git says which files are ignored; the hidden folders of workflows, which are read."""


def may_hold_objects(path: str, include: Globs = NOTHING) -> bool:
    """Whether a file of a folder is read, by its path: for manifests, values of these, or what git ignores."""
    read = purpose_of(path, include)
    return read == READ or (read == GLANCE and not is_text_of_others(path)) or os.path.basename(path) in GIT_FILES


def is_text_of_others(path: str) -> bool:
    """Return whether a file is a text or a program that may hold manifests, and is not read."""
    lower = path.lower()
    return lower.endswith(_TEXTS) or lower.endswith(TABLE.aside) or is_template_of_yaml(lower)


def is_template_of_yaml(path: str) -> bool:
    """Return whether a file's name has another ending behind `.yaml`, such as `pool.yaml.ytt`."""
    name = os.path.basename(path)
    return any(kind in name for kind in _OF_YAML)


def purpose_of(path: str, include: Globs) -> int:
    """Return what a file is read for: manifests, only the release that it may state, or because it is named.

    0 if it is not read.
    """
    if path.endswith(TABLE.made) and not (include and include.match(path)):
        return UNREAD
    if path.endswith(_TAKEN) or path.endswith(TABLE.read) or os.path.basename(path) in TABLE.names:  # noqa: PIE810
        return READ
    if include and include.match(path):
        return READ
    if path.endswith(_STATING) or is_readme(path):
        return GLANCE
    if path.endswith(TABLE.glanced) and not path.endswith(TABLE.not_glanced):
        return GLANCE
    return UNREAD if is_text_of_others(path) else 0


def is_readme(path: str) -> bool:
    """Whether a file tells people about its folder; it holds no manifest, and may say which release to install."""
    return os.path.basename(path).lower().startswith("readme.") and path.lower().endswith(
        (".md", ".markdown", ".txt")
    )
