"""Judge the releases that files state if the run has no NodePool, such as for the file that installs Karpenter."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.lint.judging import RuleSetup, start_run
from nodelint.lint.release_results import split_stated
from nodelint.lint.results import Result
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool, Object
from nodelint.text import Source

_ANY_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: any}
spec: {template: {spec: {}}}
"""


def judge_alone(setup: RuleSetup, judged: Sequence[Object]) -> list[Result]:
    """Return the findings about releases that the files of a run state. Empty if the run has a NodePool: a finding is
    then about its release.
    """
    target = setup.target
    if target.list_alone is None or any(isinstance(obj, NodePool) for obj in judged):
        return []
    running = [rule for rule in setup.running if "stated-release" in rule.tags and rule.on is NodePool]
    found: list[Result] = []
    for choice in target.list_alone() if running else ():
        pools = list(objects(Source.from_text("", _ANY_POOL)))
        run = start_run(target.for_choice(choice), pools, setup._replace(running=running), None)
        run.judge(pools, running, ())
        about, _ = split_stated(run.results, {id(pool): (choice,) for pool in pools}, choice.bare)
        found += about
    return found
