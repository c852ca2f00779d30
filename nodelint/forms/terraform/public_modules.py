"""Read which arguments and outputs each version of public modules has, such as `terraform-aws-modules/eks/aws`."""

from __future__ import annotations

import re
from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_CONDITION = re.compile(r"(~>|>=|<=|!=|=|<|>|)\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?")
_END = (1 << 30,)
"""A version that is newer than all others."""


class ModuleVersion(NamedTuple):
    """The newest version that a constraint allows: `at` if `is_exact`, else the newest version before `at`."""

    at: tuple[int, ...]
    is_exact: bool

    def is_before(self, version: tuple[int, ...]) -> bool:
        """Return whether the version is older than `version`."""
        own, other = (*self.at, 0, 0)[:3], (*version, 0, 0)[:3]
        return own < other if self.is_exact else own <= other


class PublicModule(NamedTuple):
    """A module of the registry, with its versions. `row` is its entry in data/terraform_modules.json."""

    name: str
    row: dict[str, Any]

    def is_missing(self, version: ModuleVersion) -> bool:
        """Return whether a version no longer has the submodule."""
        gone = self.row.get("gone")
        return gone is not None and not version.is_before(_numbers(gone))

    def lacks(self, kind: str, name: str, version: ModuleVersion) -> bool:
        """Return whether a version certainly lacks an argument or output; `kind` is `arguments` or `outputs`.

        A version newer than the data may have new names.
        """
        if version.is_before(_numbers(self.row["first"])) or self.is_missing(version):
            return False
        found: Sequence[str] = self.row[kind].get(name, ())
        if not found:
            return version.at <= _numbers(self.row["newest"])
        has = False
        for index, edge in enumerate(found):
            if not edge or not version.is_before(_numbers(edge)):
                has = index % 2 == 0
        return not has

    def other_name(self, kind: str, name: str, version: ModuleVersion) -> str | None:
        """Return the current name of a renamed argument or output in a version. None if there is no probable one."""
        plain = name.removeprefix("cluster_").removeprefix("eks_")
        tries = [plain, f"irsa_{name}", f"node_iam_{name}", f"iam_{name}", name.replace("irsa_", "iam_role_")]
        tries += [name.replace("iam_role_additional", "node_iam_role_additional"), f"cluster_{name}"]
        names = [other for other in tries if other != name and other in self.row[kind]]
        return next((other for other in names if not self.lacks(kind, other, version)), None)

    def first_without(self, kind: str, name: str) -> str | None:
        """Return the version that removed an argument or output, the last one if several versions did.

        None if the newest version has it, or if it is not in the data.
        """
        found: Sequence[str] = self.row[kind].get(name, ())
        return found[-1] if found and len(found) % 2 == 0 else None


def public_module(source: str) -> PublicModule | None:
    """Return the module for a `source` of the registry. None if the data does not contain it."""
    row = _rows().get(source.removeprefix("registry.terraform.io/"))
    return PublicModule(row["module"], row) if row is not None else None


@cache
def _rows() -> dict[str, dict[str, Any]]:
    return {row["module"]: row for row in table("terraform_modules")["modules"]}


def read_constraint(text: str) -> ModuleVersion | None:
    """Return the newest version that a version constraint allows. None if the constraint cannot be read."""
    newest = ModuleVersion(_END, is_exact=False)
    for part in filter(str.strip, text.split(",")):
        found = _CONDITION.fullmatch(part.strip())
        if found is None:
            return None
        sign, *numbers = found.groups()
        version = tuple(int(number) for number in numbers if number is not None)
        whole = (*version, 0, 0)[:3]
        if sign in ("", "="):
            bound = ModuleVersion(whole, is_exact=True)
        elif sign == "~>":
            bound = ModuleVersion((*version[:-2], version[-2] + 1) if version[1:] else _END, is_exact=False)
        elif sign == "<":
            bound = ModuleVersion(version, is_exact=False)
        elif sign == "<=":
            bound = ModuleVersion(whole, is_exact=True)
        else:
            continue
        newest = min(newest, bound)
    return newest


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
