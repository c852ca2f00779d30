"""Write nodelint/data/terraform_modules.json: arguments and outputs of public modules by version.

python tools/make_terraform_modules.py FOLDER

FOLDER holds a clone with tags of each repository of `_REPOSITORIES`, by the name of the repository.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "nodelint" / "data" / "terraform_modules.json"
_REPOSITORIES = {
    "terraform-aws-eks": (
        "terraform-aws-modules/eks/aws",
        17,
        ("", "modules/karpenter", "modules/aws-auth", "modules/eks-managed-node-group", "modules/fargate-profile"),
    ),
    "terraform-aws-vpc": ("terraform-aws-modules/vpc/aws", 3, ("", "modules/vpc-endpoints")),
    "terraform-aws-eks-blueprints-addons": ("aws-ia/eks-blueprints-addons/aws", 1, ("",)),
    "terraform-aws-iam": (
        "terraform-aws-modules/iam/aws",
        5,
        (
            *("modules/iam-role-for-service-accounts-eks", "modules/iam-role-for-service-accounts"),
            *("modules/iam-assumable-role-with-oidc", "modules/iam-assumable-role"),
        ),
    ),
}
"""Each repository with its name in the registry, its first major version that is read, and its modules."""


def main() -> None:
    """Write the versions of the public Terraform modules to `nodelint/data/`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    rows = []
    for repository, (name, major, modules) in _REPOSITORIES.items():
        tags = list_tags(folder / repository, major)
        rows += [
            read_module(folder / repository, f"{name}//{module}" if module else name, module, tags)
            for module in modules
        ]
    note = (
        "Arguments and outputs of modules of Terraform. Each has the first version that has it, and the first one "
        "without it; an empty first version stands for the oldest one that is read. Written by "
        "tools/make_terraform_modules.py from variables.tf and outputs.tf at the tags."
    )
    text = ",\n".join(f"  {json.dumps(row, sort_keys=False)}" for row in rows)
    DATA.write_text(f'{{\n "note": {json.dumps(note)},\n "modules": [\n{text}\n ]\n}}\n', encoding="utf-8")


def list_tags(repository: Path, major: int) -> list[tuple[int, ...]]:
    """Return the versions of a repository from a major version on, the oldest first."""
    found = re.findall(r"(?m)^v(\d+)\.(\d+)\.(\d+)$", git(repository, "tag"))
    return sorted(version for numbers in found if (version := tuple(map(int, numbers)))[0] >= major)


def read_module(repository: Path, name: str, folder: str, tags: list[tuple[int, ...]]) -> dict[str, object]:
    """Return the row of a module for the data file: its versions, and the versions of each argument and output."""
    path = f"{folder}/" if folder else ""
    has = [version for version in tags if read(repository, version, f"{path}variables.tf")]
    row: dict[str, object] = {"module": name, "first": show(has[0]), "newest": show(tags[-1])}
    if has[-1] != tags[-1]:
        row["last"], row["gone"] = show(has[-1]), show(tags[tags.index(has[-1]) + 1])
    for kind, file in (("arguments", "variables.tf"), ("outputs", "outputs.tf")):
        word = "variable" if kind == "arguments" else "output"
        names = [
            (version, set(re.findall(rf'(?m)^{word} "([\w-]+)"', read(repository, version, path + file))))
            for version in has
        ]
        row[kind] = {name: spans(name, names) for name in sorted(set[str]().union(*(found for _, found in names)))}
    return row


def spans(name: str, names: list[tuple[tuple[int, ...], set[str]]]) -> list[str]:
    """Return the versions at which a name appears in a module and disappears from it, in turn."""
    found: list[str] = []
    had = False
    for index, (version, present) in enumerate(names):
        if (name in present) is not had:
            found.append(show(version) if index else "")
            had = not had
    return found


def show(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def read(repository: Path, version: tuple[int, ...], path: str) -> str:
    """Return a file at a tag; an empty text if it does not exist there."""
    command = ["git", "-C", str(repository), "show", f"v{show(version)}:{path}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    return shown.stdout if not shown.returncode else ""


def git(repository: Path, *args: str) -> str:
    return subprocess.run(["git", "-C", str(repository), *args], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
