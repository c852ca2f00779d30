"""Decide by a file's name whether it is read for manifests, read only for releases, or not read."""

from __future__ import annotations

import os

from nodelint.files.globs import NOTHING, Globs
from nodelint.forms.registry import ASIDE, TABLE

YAML_ENDINGS = (".yaml", ".yml", ".json")
# Templates of YAML for Go, Jinja and envsubst. `TABLE.templates` has those of forms. A plain `.tpl` may be a chart's
# helper or a manifest. Web pages also end in `.erb` and the like: templates of YAML have `.yaml` before it.
TEMPLATES = (
    *(".tpl", ".tmpl", ".gotmpl", ".gomplate", ".j2", ".jinja", ".jinja2", ".envsubst"),
    *(f".{kind}.{ending}" for kind in ("yaml", "yml", "json") for ending in ("template", "erb", "mustache", "in")),
)
_TAKEN = YAML_ENDINGS + TEMPLATES
# Files without manifests that may state which release of Karpenter or Kubernetes runs.
_STATING = (".env", ".envrc", ".toml", ".conf", ".ini", ".cfg")
GENERATOR_INPUTS = (".env", ".properties", ".ini", ".conf", ".cfg")
"""Endings of texts with lines `KEY=value`. Tools generate ConfigMaps from them, whose values fill in manifests.

A kustomization may name a file with any ending. These are read only if they are named, by a user or by a text."""
SCRIPTS = (
    *(".sh", ".bash", ".mk", "Makefile", "justfile", "Justfile"),
    *("Tiltfile", "Earthfile", "Jenkinsfile", "Dockerfile", "Containerfile"),
)
"""Endings of files with commands. They may state a release, too."""
SET_ASIDE = tuple(f".{kind}.{word}" for kind in ("yaml", "yml") for word in ASIDE)
"""Endings of disabled manifests, which no tool applies. `TABLE.aside` has those of forms."""
PROGRAMS = {
    "TypeScript": (".ts", ".tsx"),
    "JavaScript": (".js", ".mjs"),
    "Python": (".py",),
    "Go": (".go",),
    "CUE": (".cue",),
    "Java": (".java",),
    "Kotlin": (".kt",),
    "C#": (".cs",),
    "Jsonnet": (".jsonnet", ".libsonnet"),
    "Ruby": (".rb",),
    "Nix": (".nix",),
    "KCL": (".k",),
    "Pkl": (".pkl",),
    "Starlark": (".star",),
    "Rust": (".rs",),
}
"""Endings of programs that may create manifests, by their language. A program is never read as YAML."""
WEB_TEMPLATES = (".erb", ".mustache", ".hbs", ".handlebars", ".ejs", ".eex", ".liquid", ".ftl", ".vm")
_PROGRAM_ENDINGS = tuple(ending for endings in PROGRAMS.values() for ending in endings)
# Texts that may hold manifests, and programs. Texts are read only if requested.
_TEXTS = (".md", ".mdx", ".markdown", ".zsh", ".tfstate", *_PROGRAM_ENDINGS, *SET_ASIDE, *WEB_TEMPLATES)
_OF_YAML = (".yaml.", ".yml.")
"""Part of the name of a YAML template, whatever tool renders it."""
READ, GLANCE, UNREAD = 1, 2, 3
GIT_FILES, WORKFLOWS = (".git", ".gitignore"), (".github", ".circleci")
"""Names that decide which files git ignores, and the hidden folders of workflows, which are read."""


def may_hold_objects(path: str, include: Globs = NOTHING) -> bool:
    """Return whether a file in a folder may be read, by its path: for manifests, values, or git's ignore rules."""
    read = purpose_of(path, include)
    return read == READ or (read == GLANCE and not is_unread_text(path)) or os.path.basename(path) in GIT_FILES


def is_unread_text(path: str) -> bool:
    """Return whether a file is a text or a program that may hold manifests, but is not read."""
    lower = path.lower()
    return lower.endswith(_TEXTS) or lower.endswith(TABLE.aside) or is_template_of_yaml(lower)


def is_program(path: str) -> bool:
    """Return whether a file is a program by its name: it may create manifests, but holds none as YAML."""
    return path.endswith(_PROGRAM_ENDINGS)


def is_template_of_yaml(path: str) -> bool:
    """Return whether a file name has another ending after `.yaml`, such as `pool.yaml.ytt`."""
    name = os.path.basename(path)
    return any(kind in name for kind in _OF_YAML)


def purpose_of(path: str, include: Globs) -> int:
    """Return READ (for manifests), GLANCE (only for a release that it states) or UNREAD (only reported).

    0 if the file is not of interest.
    """
    if path.endswith(TABLE.made) and not (include and include.match(path)):
        return UNREAD
    if path.endswith(_TAKEN) or path.endswith(TABLE.read) or os.path.basename(path) in TABLE.names:  # noqa: PIE810
        return READ
    if include and include.match(path):
        return READ
    if path.endswith(SCRIPTS) or path.endswith(_STATING) or is_readme(path):
        return GLANCE
    if path.endswith(TABLE.glanced) and not path.endswith(TABLE.not_glanced):
        return GLANCE
    return UNREAD if is_unread_text(path) else 0


def is_readme(path: str) -> bool:
    """Return whether a file is a readme: it holds no manifests, but may say which release to install."""
    return os.path.basename(path).lower().startswith("readme.") and path.lower().endswith(
        (".md", ".markdown", ".txt")
    )
