"""The implementation of `nodelint why`."""

from __future__ import annotations

import os
import sys

from nodelint.base.printable import escaped_json
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import discovered, now, session_of, settings_of, unreadable
from nodelint.commands._console import CLEAN, UNUSABLE, echo, say, stop
from nodelint.commands._dumps import ask_cluster, read_texts_of
from nodelint.commands._facts import facts_for
from nodelint.commands._flags import FactFlags
from nodelint.commands._gaps import say_gaps
from nodelint.commands._output import Output, outputs_of, write_outputs
from nodelint.commands._terminal import look

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from nodelint.commands._flags import WhyFlags
    from nodelint.config.session import Session
    from nodelint.config.settings import Settings
    from nodelint.files.folders import Discovery
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.manifest import NodePool
    from nodelint.model.releases import Version
    from nodelint.releases.settings import ControllerFacts
    from nodelint.why import Known
    from nodelint.why.answer import Answers
    from nodelint.why.dump import Dump
    from nodelint.why.objects import DumpObjects
    from nodelint.why.state import NodeState

    Wanted = tuple[frozenset[str], frozenset[str], tuple[str, ...]]

_PATH = "cluster.yaml"
"""The name of the generated text with the manifests of the objects of a dump."""


def explain_nodes(
    dumps: Sequence[str],
    from_cluster: bool,
    manifests: Sequence[str],
    wanted: Wanted,
    outputs: Sequence[Output],
    output: str | None,
    **flags: Unpack[WhyFlags],
) -> None:
    """Read the dump, explain its nodes, print the report, and end the run.

    `flags` are settings and flags about facts.
    """
    from nodelint.why.dump import read_dump

    fact_flags = FactFlags.read(flags)
    formats = outputs_of(outputs, output)
    if from_cluster and dumps:
        stop("--from-cluster and files cannot be used together: both say what the cluster holds")
    if not from_cluster and not dumps:
        stop("no dump is named: name a file of `kubectl get ... -o yaml`, - for standard input, or --from-cluster")
    settings = settings_of(flags, manifests)
    texts, complete_kinds = ask_cluster() if from_cluster else (read_texts_of(dumps), frozenset())
    try:
        dump = read_dump(texts)
    except ValueError as error:
        stop(str(error))
    if not (dump.has_kind("Node") or dump.has_kind("NodeClaim")):
        is_log = any('"level":"' in text for _, text in texts)
        log = "; `nodelint triage` reads the log of the controller" if is_log else ""
        stop(
            f"the dump contains no nodes and no NodeClaims{log}. Create it with `kubectl get"
            " nodes,nodeclaims,nodepools,ec2nodeclasses,pods,pdb,daemonsets,deployments,replicasets,pvc,pv,events"
            " -A -o yaml`"
        )
    run = _Run(dump, settings, session_of(settings, runs_rules=False), fact_flags, tuple(manifests), complete_kinds)
    answers = _filter(_explain(run, dumps, wanted), wanted)
    bad = write_outputs(
        formats,
        lambda form: _rendered(form, answers, to_file=True),
        lambda form: echo(_rendered(form, answers, to_file=False), nl=False),
    )
    for path, reason in bad:
        say(f"{path}: {reason}")
    sys.exit(UNUSABLE if bad else CLEAN)


class _Run(NamedTuple):
    """The input of one run of `nodelint why`.

    `complete_kinds`: the kinds whose objects were all fetched from the cluster.
    """

    dump: Dump
    settings: Settings
    session: Session
    fact_flags: FactFlags
    manifests: tuple[str, ...]
    complete_kinds: frozenset[str]


def _explain(run: _Run, dumps: Sequence[str], wanted: Wanted) -> Answers:
    from nodelint.why import explain
    from nodelint.why.objects import read_objects

    found = discovered(run.manifests, run.settings) if run.manifests else None
    if found is not None:
        unreadable(found)
    objects = read_objects(run.dump, _PATH)
    known = _known(run, objects, found)
    resolutions, unresolved = _resolve(run, objects, known.release, dumps)
    names, pools, _ = wanted

    def is_wanted(state: NodeState) -> bool:
        called = not names or state.name in names or state.claim_name in names
        return called and (not pools or state.pool in pools)

    answers = explain(run.dump, objects, resolutions, known._replace(unresolved=unresolved), is_wanted)
    if not answers.nodes and not answers.gaps and (names or pools):
        what = ", ".join(sorted([*names, *(f"NodePool/{pool}" for pool in pools)]))
        from nodelint.model.messages import list_first

        kind = "Node" if names else "NodePool"
        there = sorted(name for _, name in run.dump.objects_of(kind))
        stop(f"no node of the dump matches {what}; it holds {list_first(there, 10) if there else f'no {kind}'}")
    return answers


def _known(run: _Run, objects: DumpObjects, found: Discovery | None) -> Known:
    """Return the releases, settings and places of a run."""
    from nodelint.fit.pools import DEFAULT_POLICIES, read_policies
    from nodelint.why import Known
    from nodelint.why.objects import controller_facts, stated_release
    from nodelint.why.places import Places

    release, source = run.settings.karpenter, "the flag or the configuration"
    pools = _manifest_pools(run, found) if found is not None else []
    if not run.settings.karpenter_named:
        stated = stated_release(run.dump)
        of_files = _releases_of(run, found, pools) if stated is None else []
        if stated is not None:
            release, source = stated, "the Deployment in the dump"
        elif of_files:
            release, source = of_files[-1], "the manifests"
            if len(of_files) > 1:
                others = " and ".join(map(str, of_files[:-1]))
                source = f"the newest in the manifests, which also state {others}; name one by --karpenter-version"
        else:
            source = "nothing states it: the newest known"
    facts = controller_facts(objects, release) or _facts_of_files(run, found, pools, release)
    return Known(
        now(),
        release,
        source,
        facts.gate("SpotToSpotConsolidation") if facts is not None else None,
        read_policies(facts) if facts is not None else DEFAULT_POLICIES,
        Places(dict(_places(pools))),
        complete_kinds=run.complete_kinds,
    )


def _manifest_pools(run: _Run, found: Discovery) -> list[NodePool]:
    """Return the NodePools of the manifests, and print the gaps."""
    from nodelint.inventory import read_inventory
    from nodelint.model.manifest import NodePool

    inventory = run.session.keep_requested(read_inventory(found), found)
    say_gaps(found, inventory)
    return [o for o in inventory.objects() if isinstance(o, NodePool) and isinstance(o.name, str)]


def _releases_of(run: _Run, found: Discovery | None, pools: Sequence[NodePool]) -> list[Version]:
    """Return the releases that files state for the pools of the dump, the oldest first."""
    if found is None or not pools:
        return []
    there = {name for _, name in run.dump.objects_of("NodePool")}
    ours = [pool for pool in pools if pool.name in there] or pools
    target = run.session.target(choose=run.session.choose(found))
    return sorted({chosen.karpenter for pool in ours for chosen in target.for_object(pool) if not chosen.assumed})


def _facts_of_files(
    run: _Run, found: Discovery | None, pools: Sequence[NodePool], release: Version
) -> ControllerFacts | None:
    """Return the controller settings that manifests state. None without manifests."""
    if found is None or not pools:
        return None
    target = run.session.target(choose=run.session.choose(found))
    return target.stated().for_path(pools[0].source.path, release) if target.stated is not None else None


def _places(pools: Sequence[NodePool]) -> list[tuple[tuple[str, str], str]]:
    """Return the places of the pools' fields that a suggestion may edit, by object and field."""
    from nodelint.model.finding import find_object_place, span_of, written_place

    found = []
    for pool in pools:
        target = f"NodePool/{pool.name}"
        path, line = find_object_place(pool)
        found.append(((target, ""), f"{path}:{line}"))
        for field in _FIELDS:
            node = pool.node.find(*field.split("."))
            if node is not None:
                at = span_of(written_place(node))
                found.append(((target, field), f"{at.source.path}:{at.source.position(at.start).line}"))
    return found


_FIELDS = (
    "spec.replicas",
    "spec.limits",
    "spec.limits.nodes",
    "spec.disruption",
    "spec.disruption.budgets",
    "spec.disruption.consolidateAfter",
    "spec.disruption.consolidationPolicy",
    "spec.template.spec.requirements",
    "spec.template.spec.terminationGracePeriod",
)


def _resolve(
    run: _Run, objects: DumpObjects, release: Version, dumps: Sequence[str]
) -> tuple[list[Resolution], tuple[str, ...]]:
    """Return the resolution of each NodePool of the dump, and the reasons why some are not known."""
    from nodelint.model.manifest import EC2NodeClass, NodePool, served
    from nodelint.rule.context import Context
    from nodelint.why.objects import stated_kubernetes

    pools = [o for o in objects.found if isinstance(o, NodePool) and isinstance(o.name, str)]
    ours = [o for o in objects.found if not (isinstance(o, NodePool) and o.provider == "auto-mode")]
    foreign = [o for o in objects.found if isinstance(o, NodePool) and o.provider == "auto-mode"]
    classes = [o for o in objects.found if isinstance(o, EC2NodeClass)]
    paths = [*run.manifests, *(path for path in dumps if path != "-")] or [os.curdir]
    facts, _ = facts_for(run.fact_flags, run.session, paths, classes, None)
    kubernetes = run.settings.kubernetes or stated_kubernetes(run.dump)
    target = run.session.target()._replace(karpenter=release, kubernetes=kubernetes, facts=facts)
    context = Context(ours, target, foreign=foreign)
    found, unresolved = [], []
    for pool in pools:
        if not served(pool, release):
            unresolved.append(f"what NodePool/{pool.name} ({pool.api_version}) launches under Karpenter {release}")
            continue
        found.append(context.resolution_with_overlays(pool))
    return found, tuple(unresolved)


def _filter(answers: Answers, wanted: Wanted) -> Answers:
    """Return the answers with one of the wanted causes. End the run if a name is no cause."""
    reasons = wanted[2]
    if not reasons:
        return answers
    from nodelint.model.messages import did_you_mean
    from nodelint.why.answer import TITLES

    for word in reasons:
        if not any(word in code for code in TITLES):
            stop(
                f"--reason {word}: there is no such reason{did_you_mean(word, TITLES)}; there are {', '.join(TITLES)}"
            )
    remaining = [a for a in answers.nodes if any(word in a.cause.code for word in reasons)]
    return answers._replace(nodes=tuple(remaining))


def _rendered(form: str, answers: Answers, to_file: bool) -> str:
    if form == "json":
        import json

        from nodelint.report.why_json import why_json

        return escaped_json(json.dumps(why_json(answers), indent=2, ensure_ascii=False) + "\n")
    if form == "markdown":
        from nodelint.report.why_markdown import why_markdown

        return why_markdown(answers)
    if form == "html":
        from nodelint.report.why_html import why_html

        return why_html(answers)
    from nodelint.report.style import PAGE
    from nodelint.report.why_text import why_text

    return why_text(answers, PAGE if to_file else look(page=True)) + "\n"
