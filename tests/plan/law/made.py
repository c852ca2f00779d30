"""What a generated tree is made of: files, the places that a hashed value depends on, and places that it does not."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

Change = tuple[str, str, str]
"""A file, a text that is in it once, and what takes its place."""

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: web
spec:
  role: nodes
  amiSelectorTerms:
    - alias: al2023@v20260618
  subnetSelectorTerms:
    - tags: {karpenter.sh/discovery: x}
  securityGroupSelectorTerms:
    - tags: {karpenter.sh/discovery: x}
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  template:
    METADATAspec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
"""


class Tree(NamedTuple):
    """Files, changes of inputs of a hashed value, and changes of what is no input of any."""

    about: str
    files: dict[str, str]
    inputs: list[Change]
    outside: list[Change]


class Maker:
    """Collects the files of a tree while it is made, and gives out texts that stand in it once."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.files: dict[str, str] = {}
        self.inputs: list[Change] = []
        self.outside: list[Change] = []
        self.steps: list[str] = []
        self._count = 0

    def name(self, begin: str = "n") -> str:
        """Return a name that nothing else in the tree has."""
        self._count += 1
        return f"{begin}{self._count}x"

    def input(self, path: str) -> str:
        """Return a text for a file on which the hashed value depends."""
        return self._text(path, self.inputs)

    def decoy(self, path: str) -> str:
        """Return a text for a file on which no hashed value depends."""
        return self._text(path, self.outside)

    def _text(self, path: str, changes: list[Change]) -> str:
        text = self.name("t")
        changes.append((path, text, text.replace("x", "y")))
        return text

    def add(self, path: str, text: str) -> None:
        """Add lines to a file."""
        self.files[path] = self.files.get(path, "") + text

    def pick(self, *choices: str) -> str:
        """Return one of several ways, and remember it."""
        found = self.random.choice(choices)
        self.steps.append(found)
        return found

    def tree(self, form: str) -> Tree:
        """Return what was made; without places that are not in a file."""
        inputs, outside = (
            [change for change in changes if change[1] in self.files.get(change[0], "")]
            for changes in (self.inputs, self.outside)
        )
        return Tree(f"{form}: {', '.join(self.steps)}", self.files, inputs, outside)


def objects_with(value: str, of_pool: bool) -> str:
    """Return a pool and its class, one of which has a value among its tags or labels."""
    if of_pool:
        return f"{pool_with(value)}---\n{CLASS}"
    return f"{POOL.replace('METADATA', '')}---\n{CLASS}  tags:\n    team: {value}\n"


def pool_with(value: str) -> str:
    """Return a pool whose nodes have a value as a label."""
    return POOL.replace("METADATA", f"metadata:\n      labels:\n        team: {value}\n    ")
