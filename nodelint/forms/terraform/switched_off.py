"""Find objects of Terraform blocks without instances: `count` is 0, or `for_each` is empty."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.budget import BudgetSpent
from nodelint.forms.lib.chart_places import chart_of
from nodelint.forms.lib.file_patterns import match_files
from nodelint.forms.requests import BlockAddress
from nodelint.forms.terraform.block_instances import explain_no_instance, instances
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.fill import ENDS
from nodelint.forms.terraform.hcltree import HclExpression, list_calls
from nodelint.forms.terraform.template import Evaluator
from nodelint.forms.terraform.values import Modules
from nodelint.model.finding import span_of, written_place
from nodelint.model.manifest import Object
from nodelint.text import Source

_PATH = r'"(?:\$\{path\.\w+\}/)?([^"$]+)"'
_NAMED_FILE = re.compile(rf"\b(?:template)?file\s*\(\s*{_PATH}|^[ \t]*chart\s*=\s*{_PATH}", re.M)
"""A file that a block reads, or the chart that it installs, by a literal path."""
_MADE_NAME = re.compile(r"file\((?=[^)\n]{0,200}\beach\.)|\bpattern[ \t]{0,40}=")
"""A file that a block reads by the key or value of its instance, or by a pattern."""
_PATTERNS = (("kubectl_path_documents",), ("kubectl_filename_list",))


def find_addresses(
    objects: Sequence[Object], sources: Sequence[Source]
) -> Iterator[tuple[Object, BlockAddress, str]]:
    """Yield the objects that resources create: the object, the resource's address, and a reason.

    The reason says why the resource has no instance. It is empty if it has one. Objects are in a resource, in a file
    that it reads, or in a chart that it installs. A default of a variable counts as its value.
    """
    modules = Modules(sources)
    files: dict[str, str | None] = {}
    blocks: dict[tuple[str, int], str] = {}
    for obj in objects:
        path, file, block = _find_place(obj, modules)
        try:
            if file is not None and block is not None:
                if (path, block.start) not in blocks:
                    blocks[path, block.start] = _explain_none(file, block, modules)
                yield obj, BlockAddress(path, *block.names), blocks[path, block.start]
            elif file is not None:
                name = _find_local(file, span_of(written_place(obj.node)).start)
                reasons = [_explain_none(*user, modules) for user in _list_users_of_local(path, name, modules)]
                if reasons:
                    yield obj, BlockAddress(path, "local", name), reasons[0] if all(reasons) else ""
            else:
                if path not in files:
                    files[path] = _explain_unused(path, modules)
                if (is_off := files[path]) is not None:
                    yield obj, BlockAddress(path), is_off
        except BudgetSpent:
            continue


def list_blocks(obj: Object, modules: Modules) -> Iterator[tuple[TerraformFile, TerraformBlock]]:
    """Yield the blocks that create an object: the block around it, or blocks that use its file or chart."""
    path, file, block = _find_place(obj, modules)
    if file is not None and block is not None:
        yield file, block
    elif file is not None:
        yield from _list_users_of_local(path, _find_local(file, span_of(written_place(obj.node)).start), modules)
    else:
        yield from _list_users(path, modules)


def _find_place(obj: Object, modules: Modules) -> tuple[str, TerraformFile | None, TerraformBlock | None]:
    """Return the path of an object's file, or of its chart, and the Terraform file and block around it (or None)."""
    at = span_of(written_place(obj.node))
    path = os.path.abspath(at.source.path)
    file = modules.file(path) if path.endswith(ENDS) else None
    if file is None:
        return os.path.abspath(chart_of(path) or path), None, None
    return path, file, _find_block(file, at.start)


def _explain_unused(path: str, modules: Modules) -> str | None:
    """Return why no block that reads a file, or installs a chart, has an instance. Empty if one has.

    None if no block names the file.
    """
    found = None
    for file, block in _list_users(path, modules):
        reason = _explain_none(file, block, modules)
        if not reason:
            return ""
        found = found or reason
    return found


def _list_users(path: str, modules: Modules) -> Iterator[tuple[TerraformFile, TerraformBlock]]:
    """Yield the blocks that read a file, or install a chart."""
    for near in modules.near(os.path.dirname(path)):
        source, folder = modules.source(near), os.path.dirname(near)
        if source is None or (os.path.basename(path) not in source.text and not _MADE_NAME.search(source.text)):
            continue
        file = modules.file(near)
        if file is None:
            continue
        is_made = _MADE_NAME.search(source.text) is not None
        for block in file.blocks:
            named = _NAMED_FILE.finditer(source.text, block.start, block.end)
            is_named = any(os.path.normpath(os.path.join(folder, match[1] or match[2])) == path for match in named)
            if is_named or (is_made and _reads_each(file, block, path, modules)):
                yield file, block
            elif is_made and _reads_by_pattern(file, block, path, modules):
                yield from _list_users_of_name(folder, f"data.{'.'.join(block.names)}", modules)


def _reads_each(file: TerraformFile, block: TerraformBlock, path: str, modules: Modules) -> bool:
    """Return whether an instance of a block reads a file whose name it takes from `each`."""
    given = file.attributes(block)
    calls = [call for value in given.values() for call in list_calls(value, ("file", "templatefile")) if call.parts]
    if "for_each" not in given or not any("each." in file.source.text[c.start : c.end] for c in calls):
        return False
    evaluators = (module.evaluator(file.source) for module in modules.variants(_folder_of(file)))
    return any(path in list_paths_read(call, file, block, own) for own in evaluators for call in calls)


def _folder_of(file: TerraformFile) -> str:
    return os.path.dirname(os.path.abspath(file.source.path))


def list_paths_read(
    call: HclExpression, file: TerraformFile, block: TerraformBlock, evaluator: Evaluator
) -> Iterator[str]:
    """Yield the paths that a call of a function such as `file` reads, in each instance of its block.

    A path that is not known is left out.
    """
    inside = [evaluator]
    given = file.attributes(block)
    if "for_each" in given and "each." in file.source.text[call.start : call.end]:
        inside = [evaluator.inside(names) for names in instances(given, evaluator)]
    for own in inside:
        written = own.value(call.parts[0]).value
        if isinstance(written, str):
            yield os.path.normpath(os.path.join(_folder_of(file), written))


def _reads_by_pattern(file: TerraformFile, block: TerraformBlock, path: str, modules: Modules) -> bool:
    """Return whether a data source that reads the files of a pattern reads a file."""
    pattern = file.attributes(block).get("pattern")
    if pattern is None or block.names[:1] not in _PATTERNS:
        return False
    folder = _folder_of(file)
    for module in modules.variants(folder):
        written = module.evaluator(file.source).value(pattern).value
        if isinstance(written, str):
            below = os.path.relpath(os.path.join(folder, written), folder).replace(os.sep, "/")
            found = match_files(folder, below, modules.budget)
            if found is None or os.path.relpath(path, folder).replace(os.sep, "/") in found:
                return True
    return False


def _find_block(file: TerraformFile, offset: int) -> TerraformBlock | None:
    """Return the resource around an offset. None if there is none."""
    for block in file.blocks:
        if block.kind == "resource" and len(block.names) == 2 and block.start <= offset < block.end:
            return block
    return None


def _find_local(file: TerraformFile, offset: int) -> str:
    """Return the name of the local around an offset. Empty if there is none."""
    for block in file.blocks:
        if block.kind == "locals" and block.start <= offset < block.end:
            values = file.attributes(block).items()
            return next((name for name, value in values if value.start <= offset < value.end), "")
    return ""


def _list_users_of_local(path: str, name: str, modules: Modules) -> Iterator[tuple[TerraformFile, TerraformBlock]]:
    """Yield the resources that refer to a local of a module, directly or by other locals."""
    return _list_users_of_name(os.path.dirname(path), f"local.{name}", modules) if name else iter(())


def _list_users_of_name(folder: str, name: str, modules: Modules) -> Iterator[tuple[TerraformFile, TerraformBlock]]:
    """Yield the resources of a module that refer to a name, directly or by locals."""
    pending, seen = [name], {name}
    while pending:
        use = re.compile(rf"\b{re.escape(pending.pop())}(?![\w-])")
        for file in modules.files(folder):
            for block in file.blocks:
                if (
                    block.kind == "resource"
                    and len(block.names) == 2
                    and use.search(file.source.text, block.start, block.end)
                ):
                    yield file, block
                for other, value in file.attributes(block).items() if block.kind == "locals" else ():
                    if f"local.{other}" not in seen and use.search(file.source.text, value.start, value.end):
                        seen.add(f"local.{other}")
                        pending.append(f"local.{other}")


def _explain_none(file: TerraformFile, block: TerraformBlock, modules: Modules) -> str:
    """Return why a block has no instance for any caller of its module. Empty if it has one."""
    outer = file.attributes(block)
    folder = os.path.dirname(os.path.abspath(file.source.path))
    if not {"count", "for_each"} & outer.keys() and not any(modules.list_calls(folder)):
        return ""
    callers = modules.variants(folder)
    reasons = [caller.is_off or explain_no_instance(outer, caller.evaluator(file.source)) for caller in callers]
    return reasons[0] if all(reasons) else ""
