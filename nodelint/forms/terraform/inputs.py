"""Find the inputs on which an unknown Terraform value can depend, by following the references in its expression.

These are locals, variables with their default and the values from tfvars, callers of the module and Terragrunt,
outputs of modules, resources and files. Values from outside of the files (the workspace, the environment) are not
inputs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.budget import BudgetSpent
from nodelint.forms.input_text import INSTANCE, InputText, make_rest
from nodelint.forms.lib.file_patterns import match_files
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.files import may_name
from nodelint.forms.terraform.fill import ENDS, JSON_ENDS
from nodelint.forms.terraform.hclstrings import string_end
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.input_places import (
    ANY,
    COMMENT,
    InputPlace,
    list_arguments,
    list_steps,
    narrow,
    narrow_node,
    write_lookups_as_indexes,
)
from nodelint.forms.terraform.module_instances import list_environments, list_environments_of_file, list_instances
from nodelint.forms.terraform.modules import ModuleFiles
from nodelint.forms.terraform.nodes import is_unknown
from nodelint.forms.terraform.remote_states import STATES, find_roots_of_state
from nodelint.forms.terraform.remote_units import KNOWN_PUBLISHERS
from nodelint.forms.terraform.terragrunt_inputs import TerragruntInputs
from nodelint.forms.terraform.values import Modules
from nodelint.forms.terraform.variables import environment_files
from nodelint.model.finding import Span
from nodelint.text import Node, Source, SourceText

_REFERENCE = re.compile(r"(?<![\w.-])(data\.)?([A-Za-z_][\w-]*)\.([A-Za-z_][\w-]*)(?=((?:\.[\w-]+|\[[^\[\]\n]*\])*))")
"""A name with its prefix. The text after it is a lookahead, because an index may contain further references."""
_FILE = re.compile(r"\b(?:file|templatefile|filebase64|fileset)\s*\((?=([^\n]{0,300}))")
_FILE_ARGUMENT = re.compile(r"\b(?:source_file|filename|path|pattern)\s*=\s*\"((?:[^\"\\]|\\.)+)\"")
"""An argument of a data source with the path of a file."""
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_TYPE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_MOST = 2000
"""The most expressions that are followed for one value."""
_NOT_IN_IDENTITY = frozenset(
    ("assume_role_policy", "depends_on", "description", "inline_policy", "lifecycle", "managed_policy_arns", "policy")
) | {"provider", "providers", "tags", "tags_all", "timeouts"}
"""Attributes of a resource that do not affect its name, id or address."""
_IDENTITY = re.compile(r"(?:\w*_)?(?:name|arn|id|endpoint|url)")
_OF_NAMES = re.compile(
    r"^(?:source|version)$|(?:^|_)(?:create|enabled?$|(?:names?|prefix|suffix|id|arn|namespace|stage|environment)(?:_|$))"
)
_OF_NODES = re.compile(r"node_(?:instance_profile_name|iam_role_(?:arn|name))")

_OF_EXAMPLES = re.compile(r"(?:^|[/ ])(?:examples?|tests?)(?:/|$)")


class TerraformInputs:
    """Finds the inputs that determine unknown values, in the files of one side of a plan.

    Inputs are variables, locals, module arguments, and files.
    """

    def __init__(self, sources: Sequence[Source] | ModuleFiles) -> None:
        self.modules = sources if isinstance(sources, Modules) else Modules(sources)
        self._terragrunt = TerragruntInputs(self.modules, self._list_outputs)
        self._further: list[str] = []
        """The texts of files that a path with unknown parts may name, beyond the limit."""

    def list_inputs(self, node: Node) -> list[InputText]:
        """Return the inputs of an unknown value in a Terraform file or in a template."""
        built = node.source.built
        origin = built.find_origin(node) if built is not None else None
        at = origin.at if origin is not None else node
        path = os.path.abspath(at.source.path)
        call = str(built.label) if built is not None else ""
        pending: list[InputPlace] = []
        if path.endswith(ENDS):
            pending.append(self._place_in_file(path, at.source, at.start, at.end, call))
        else:
            pending += self._list_template_arguments(path, at.source.text[at.start : at.end], call)
        return self.follow(pending)

    def list_existence_inputs(self, node: Node, is_shared: bool = False) -> list[InputText]:
        """Return the inputs that decide whether an object exists: `count`, `for_each`, and calls of its module.

        Of an object whose name is shared by several instances, those that are known count, too.
        """
        built = node.source.built
        origin = built.find_origin(node) if built is not None else None
        at = origin.at if origin is not None else node
        path = os.path.abspath(at.source.path)
        if not path.endswith(ENDS):
            return list_environments_of_file(self.modules, path)
        file = self.modules.file(path)
        block = _find_block(file, at.start) if file is not None else None
        if file is None or block is None:
            return []
        call = str(built.label) if built is not None else ""
        found = self.follow(self._list_repetitions(file, block, call, is_shared))
        return [*found, *self._list_calls(os.path.dirname(path), call), *list_environments(self.modules, file, block)]

    def _list_calls(self, folder: str, call: str) -> Iterator[InputText]:
        """Yield the calls of a module and its instances, except those in examples and tests."""
        for caller, block in self._list_callers(folder, call):
            name = _name_call(caller, block, folder)
            if not _OF_EXAMPLES.search(name):
                yield InputText(name, "", Span(caller.source, block.start, block.start), name, True)
        for instance, caller, block in list_instances(self.modules, self._list_callers, folder, call):
            name = _name_call(caller, block, folder)
            if not _OF_EXAMPLES.search(name):
                yield InputText(instance, INSTANCE, Span(caller.source, block.start, block.start), name, True)

    def list_expression_inputs(
        self, file: TerraformFile, block: TerraformBlock, expressions: Sequence[HclExpression]
    ) -> list[InputText]:
        """Return some expressions of a block, and the inputs to which they refer."""
        folder = os.path.dirname(os.path.abspath(file.source.path))
        label = ".".join(block.names)
        return self.follow(
            [InputPlace(label, folder, file.source, part.start, part.end, block) for part in expressions]
        )

    def _list_repetitions(
        self, file: TerraformFile, block: TerraformBlock, call: str, with_known: bool = False
    ) -> Iterator[InputPlace]:
        given = file.attributes(block)
        folder = os.path.dirname(os.path.abspath(file.source.path))
        for key in ("count", "for_each"):
            if key in given and (with_known or self._is_unknown(file, given[key], folder)):
                yield InputPlace(key, folder, file.source, given[key].start, given[key].end, block, call)
        for caller, calling in self._list_callers(folder, call):
            yield from self._list_repetitions(caller, calling, "", with_known)

    def _is_unknown(self, file: TerraformFile, expression: HclExpression, folder: str) -> bool:
        try:
            variants = self.modules.variants(folder)
            return any(is_unknown(module.evaluator(file.source).value(expression)) for module in variants)
        except BudgetSpent:
            return True

    def _place_in_file(self, path: str, source: SourceText, start: int, end: int, call: str) -> InputPlace:
        file = self.modules.file(path)
        block = _find_block(file, start) if file is not None else None
        return InputPlace("the value", os.path.dirname(path), source, start, end, block, call)

    def _list_template_arguments(self, path: str, code: str, call: str) -> Iterator[InputPlace]:
        """Yield the arguments of `templatefile` that the code of a template uses.

        The arguments of each call that may be for the template are yielded.
        """
        name = os.path.basename(path)
        words = set(re.findall(r"[A-Za-z_][\w-]*", code))
        for near in self.modules.near(os.path.dirname(path)):
            file = self.modules.file(near)
            if file is None or not may_name(file.source.text, name):
                continue
            for block in file.blocks:
                text = file.source.text[block.start : block.end]
                if not may_name(text, name):
                    continue
                for argument in list_arguments(file, block, words):
                    folder = os.path.dirname(near)
                    yield InputPlace("the value", folder, file.source, argument.start, argument.end, block, call)

    # -- references of expressions

    def follow(self, places: Iterator[InputPlace] | Sequence[InputPlace]) -> list[InputText]:
        """Return the expressions at some places, and the inputs to which they refer."""
        pending = list(places)
        found: dict[tuple[object, ...], InputText] = {}
        self._further.clear()
        while pending and len(found) < _MOST:
            place = pending.pop()
            key = (place.name, place.source.path, place.start, place.end, place.steps, place.caller)
            if key in found:
                continue
            span = Span(place.source, place.start, place.end)
            found[key] = InputText(place.name, self._normalized(place), span, place.caller)
            pending += (
                child if child.caller else child._replace(caller=place.caller)
                for child in self._list_references(place)
            )
        if pending:  # any of the files may matter
            self._further += self.modules.texts()
        rest = [make_rest(self._further, next(iter(found.values())).at)] if self._further else []
        return [*found.values(), *rest]

    def _normalized(self, place: InputPlace) -> str:
        """Return the tokens of an expression as text, without comments and layout."""
        text = place.source.text
        file = self.modules.file(os.path.abspath(place.source.path)) if place.source.path.endswith(ENDS) else None
        if file is None or place.source.path.endswith(JSON_ENDS):
            return " ".join(COMMENT.sub("", text[place.start : place.end]).split())
        tokens = [token for token in file.words.tokens if place.start <= token.start and token.end <= place.end]
        tokens = [token for token in tokens if token.kind != "nl"]
        ends = [next(iter(tokens[index + 1 : index + 2]), token).kind in "])}" for index, token in enumerate(tokens)]
        # A comma after the last entry has no meaning.
        written = (token for token, is_last in zip(tokens, ends, strict=True) if not (is_last and token.kind == ","))
        words = [text[token.start : token.end] for token in written]
        return " ".join(words) or " ".join(text[place.start : place.end].split())

    def _list_references(self, place: InputPlace) -> Iterator[InputPlace]:
        if place.source.path.endswith(".hcl"):
            yield from self._terragrunt.list_references(place)
            return
        text = COMMENT.sub(lambda found: " " * len(found[0]), place.source.text[place.start : place.end])
        text = write_lookups_as_indexes(text)
        for data, word, name, after in dict.fromkeys(_REFERENCE.findall(text)):
            steps = list_steps(after)
            if f"{data}{word}.{name}{after}" == text.strip():
                steps += place.steps
            if data:
                yield from self._list_blocks(place, "data", (word, name), "")
                if word in STATES:
                    yield from self._list_state(place, word, name, steps)
            elif word == "local":
                yield from self._list_locals(place, name, steps)
            elif word == "var":
                yield from self._list_variable(place, name, steps)
            elif word == "module":
                yield from self._list_module(place, name, steps)
            elif word in ("each", "count", "self"):
                yield from self._list_repetition(place, word, [ANY, *steps] if name == "value" else [])
            elif _TYPE.fullmatch(word):
                yield from self._list_blocks(place, "resource", (word, name), next(iter(steps), ""))
        named = [f'"{name}"' for name in _FILE_ARGUMENT.findall(text)] if place.name.startswith("data.") else []
        for arguments in (*_FILE.findall(text), *named):
            yield from self._list_files(place, arguments)

    def _list_locals(self, place: InputPlace, name: str, steps: Sequence[str]) -> Iterator[InputPlace]:
        for file in self.modules.files(place.folder):
            for block in file.blocks:
                value = file.attributes(block).get(name) if block.kind == "locals" else None
                if value is not None:
                    at = place._replace(name=f"local.{name}", source=file.source, block=block)
                    yield from _list_parts(at, value, steps)

    def _list_repetition(self, place: InputPlace, word: str, steps: Sequence[str]) -> Iterator[InputPlace]:
        file = self.modules.file(os.path.abspath(place.source.path))
        given = file.attributes(place.block) if file is not None and place.block is not None else {}
        key = "for_each" if word == "each" else "count"
        if word != "self" and key in given:
            yield from _list_parts(place._replace(name=key), given[key], steps)

    def _list_variable(self, place: InputPlace, name: str, steps: Sequence[str]) -> Iterator[InputPlace]:
        """Yield the possible values of a variable: its default, and those of callers and variable files.

        Values that Terragrunt passes are included.
        """
        for file in self.modules.files(place.folder):
            for block in file.blocks:
                if block.kind == "variable" and block.names == (name,):
                    at = InputPlace(f"var.{name}", place.folder, file.source, 0, 0)
                    for key, value in file.attributes(block).items():
                        if key in ("default", "type", "nullable"):
                            yield from _list_parts(at, value, steps if key != "nullable" else ())
        called = False
        for caller, block in self._list_callers(place.folder, place.call):
            called = True
            argument = caller.attributes(block).get(name)
            if argument is not None:
                folder = os.path.dirname(os.path.abspath(caller.source.path))
                label = f"module.{'.'.join(block.names)}: {name}"
                by = _name_call(caller, block, place.folder)
                at = InputPlace(label, folder, caller.source, 0, 0, block, _name_var_file(place.call), caller=by)
                yield from _list_parts(at, argument, steps)
        if not called:
            yield from self._list_given(place, name, steps)

    def _list_callers(self, folder: str, call: str) -> Iterator[tuple[TerraformFile, TerraformBlock]]:
        address, is_call, around_call = call.partition(" of ")
        wanted = address.rpartition("].")[2].partition("[")[0].removeprefix("module.") if is_call else None
        written = around_call.partition(",")[0]
        home = os.path.normpath(os.path.join(folder, written)) if written else ""
        for path in self.modules.callers(folder):
            around = os.path.dirname(path)
            if around == folder or home not in ("", around):
                continue
            for called, file, block in self.modules.local_calls(path):
                if called == folder and (wanted is None or wanted == ".".join(block.names)):
                    yield file, block

    def _list_given(self, place: InputPlace, name: str, steps: Sequence[str]) -> Iterator[InputPlace]:
        """Yield the values of a root module's variable from variable files and Terragrunt."""
        folder = place.folder
        given = self.modules.variable_files(folder)
        sources = list(environment_files(folder, self.modules.source))
        own = [
            source for source in sources if os.path.relpath(source.path, folder).replace(os.sep, "/") == place.call
        ]
        for values in (given, *map(self.modules.variables_of, own or sources)):
            for node in narrow_node(values[name], steps) if name in values else ():
                yield InputPlace(f"var.{name}", folder, node.source, node.start, node.end)
        yield from self._terragrunt.list_given(folder, name, steps, place.call)

    def _list_module(self, place: InputPlace, name: str, output: Sequence[str]) -> Iterator[InputPlace]:
        """Yield the output of a module: its expression if the module is local, else all inputs of the call."""
        for file in self.modules.files(place.folder):
            for block in file.blocks:
                if block.kind != "module" or block.names != (name,):
                    continue
                given = file.attributes(block)
                where = given.get("source")
                if where is not None and isinstance(where.value, str) and where.value.startswith("."):
                    folder = os.path.normpath(os.path.join(place.folder, where.value))
                    yield from self._list_outputs(folder, f"module.{name} of ", output)
                    continue
                text = file.source.text
                public = where is not None and KNOWN_PUBLISHERS.match(text[where.start : where.end].strip('"'))
                for key, value in given.items():
                    if public and not _may_decide(key, output):
                        continue
                    if key not in ("depends_on", "providers", "tags"):
                        yield InputPlace(
                            f"module.{name}: {key}",
                            place.folder,
                            file.source,
                            value.start,
                            value.end,
                            block,
                            place.call,
                        )

    def _list_outputs(self, folder: str, call: str, output: Sequence[str]) -> Iterator[InputPlace]:
        """Yield the outputs of a module, or only the one named in `output`.

        `call` is the label of the only call that counts.
        """
        for file in self.modules.files(folder):
            for block in file.blocks:
                value = file.attributes(block).get("value") if block.kind == "output" else None
                if value is not None and (not output or output[0] == ANY or block.names == (output[0],)):
                    at = InputPlace(f"output {block.names[0]}", folder, file.source, 0, 0, block, call)
                    yield from _list_parts(at, value, output[1:])

    def _list_state(self, place: InputPlace, kind: str, name: str, steps: Sequence[str]) -> Iterator[InputPlace]:
        """Yield the outputs of other root modules whose state a data source may read."""
        blocks = [
            file.source.text[block.start : block.end]
            for file in self.modules.files(place.folder)
            for block in file.blocks
            if block.kind == "data" and block.names == (kind, name)
        ]
        for folder in find_roots_of_state(self.modules, place.folder, "\n".join(blocks), steps[1:2]):
            if not any(True for _ in self._list_callers(folder, "")):
                yield from self._list_outputs(folder, "", steps[1:])

    def _list_blocks(
        self, place: InputPlace, kind: str, names: tuple[str, str], attribute: str
    ) -> Iterator[InputPlace]:
        """Yield the used attribute of a resource if it is set, else all attributes that may affect it."""
        for file in self.modules.files(place.folder):
            for block in file.blocks:
                if block.kind != kind or block.names != names:
                    continue
                given = file.attributes(block)
                label = ".".join((*(("data",) if kind == "data" else ()), *names))
                if kind == "data":
                    yield InputPlace(label, place.folder, file.source, block.start, block.end, block, place.call)
                    continue
                wanted = [attribute] if attribute in given else [key for key in given if key not in _NOT_IN_IDENTITY]
                for key in wanted:
                    value = given[key]
                    yield InputPlace(
                        f"{label}: {key}", place.folder, file.source, value.start, value.end, block, place.call
                    )

    def _list_files(self, place: InputPlace, arguments: str) -> Iterator[InputPlace]:
        """Yield the files that a function reads, also those that match a path with unknown parts."""
        is_made = re.match(r"\s*(?:join|format)\b", arguments)
        texts = _LITERAL.findall(arguments if is_made else _take_first_argument(arguments))
        if not texts:
            return
        pattern = re.sub(r"\$\{path\.\w+\}/?", "", "/".join(texts))
        pattern = os.path.normpath(re.sub(r"\$\{[^{}]*\}|%s", "*", pattern))
        above = 0
        while pattern.startswith("../"):
            above, pattern = above + 1, pattern[3:]
        folder = os.path.normpath(os.path.join(place.folder, *[os.pardir] * above))
        named = match_files(folder, pattern) or ()
        for name in named[:_MOST_NAMED]:
            source = self.modules.source(os.path.join(folder, name))
            if source is not None:
                yield InputPlace(
                    os.path.basename(name), place.folder, source, 0, len(source.text), place.block, place.call
                )
        further = (self.modules.source(os.path.join(folder, name)) for name in named[_MOST_NAMED:])
        self._further += [source.text for source in further if source is not None]


_MOST_NAMED = 50
"""The most files that may match one path with unknown parts."""


def _list_parts(at: InputPlace, value: HclExpression, steps: Sequence[str]) -> Iterator[InputPlace]:
    """Yield the parts of an expression that determine its value at some steps. `at` has the name and the file."""
    for part, left in narrow(value, steps, at.source.text):
        yield at._replace(start=part.start, end=part.end, steps=tuple(left))


def _take_first_argument(text: str) -> str:
    """Return the first argument of a call, up to its comma or to the closing bracket."""
    depth, at = 0, 0
    while at < len(text):
        if text[at] == '"':
            at = string_end(text, at, len(text))
            continue
        if (text[at] in ",)" and depth == 0) or depth < 0:
            break
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    return text[:at]


def _name_var_file(call: str) -> str:
    """Return the variable file in the label of a module call, relative to the root module. Empty if it names none."""
    return call.rpartition(", ")[2] if ", " in call or not call.startswith("module.") else ""


def _may_decide(key: str, output: Sequence[str]) -> bool:
    """Return whether an argument of a public module may decide about an output.

    Of a map of outputs such as `karpenter` only names and ARNs for nodes are known: `karpenter_node` decides about
    them, `karpenter` about the chart. Source: aws-ia/terraform-aws-eks-blueprints-addons outputs.tf and main.tf.
    """
    if output and _IDENTITY.fullmatch(output[0]) is not None:
        return _OF_NAMES.search(key) is not None
    if len(output) > 1 and _OF_NODES.fullmatch(output[1]) is not None:
        return _OF_NAMES.search(key) is not None or key == f"enable_{output[0]}" or key.startswith(f"{output[0]}_")
    return True


def _name_call(caller: TerraformFile, block: TerraformBlock, folder: str) -> str:
    """Return the name of a module call, with its folder relative to the module."""
    around = os.path.relpath(os.path.dirname(os.path.abspath(caller.source.path)), folder).replace(os.sep, "/")
    return f"module.{'.'.join(block.names)} of {around}"


def _find_block(file: TerraformFile, offset: int) -> TerraformBlock | None:
    return next((block for block in file.blocks if block.start <= offset < block.end), None)
