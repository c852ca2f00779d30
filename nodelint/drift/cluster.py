"""The objects of a cluster, as `kubectl get nodepools,ec2nodeclasses,nodeclaims` prints them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.drift.cluster_pods import PodBudget, RunningPod, read_budget, read_pod
from nodelint.drift.plain_values import Plain, condition, is_true, mapping, text, texts
from nodelint.model.gvk import CLASS_KIND

KINDS = ("nodepools.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws", "nodeclaims.karpenter.sh")
"""The resources to request from kubectl, by names that no other API has."""

NODEPOOL = "karpenter.sh/nodepool"
_TOO_DEEP = "nested more deeply than kubectl prints anything"


class Claim(NamedTuple):
    """A NodeClaim. `drifted` is the reason of its Drifted condition; None if it has not drifted.

    `node` is the name of its node. Empty if it has none yet.
    """

    name: str
    pool: str
    node_class: str
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: dict[str, Any]
    drifted: str | None
    deleting: bool
    node: str = ""


class Cluster(NamedTuple):
    """The pools and classes of a cluster by name, as plain objects, and its NodeClaims.

    `nodes` are the annotations of each node, by name. `pods` and `pod_budgets` are None if kubectl's output has none.
    """

    pools: dict[str, dict[str, Any]]
    classes: dict[str, dict[str, Any]]
    claims: list[Claim]
    nodes: dict[str, dict[str, str]]
    pods: list[RunningPod] | None = None
    pod_budgets: list[PodBudget] | None = None

    def of_pool(self, name: str) -> list[Claim]:
        """Return the NodeClaims of a pool."""
        return [claim for claim in self.claims if claim.pool == name]

    def usage_of(self, name: str) -> dict[str, str]:
        """Return the resources of the nodes of a pool (`status.resources`).

        Empty if the output of kubectl does not have them.
        """
        resources = mapping(self.pools.get(name), "status", "resources")
        return {str(key): str(value) for key, value in resources.items()}

    def of_class(self, name: str) -> list[Claim]:
        """Return the NodeClaims of a class."""
        return [claim for claim in self.claims if claim.node_class == name]


def read(*printed: str) -> Cluster:
    """Return the cluster in the output of kubectl, JSON or YAML. Raise ValueError if it is neither, or has none of
    the three kinds.
    """
    cluster = Cluster({}, {}, [], {})
    claims: dict[str, Claim] = {}
    workloads: dict[tuple[str, str, str], dict[str, Any]] = {}
    for obj in _objects([document for output in printed for document in _parsed(output)]):
        kind, meta = obj.get("kind"), mapping(obj.get("metadata"))
        name = meta.get("name")
        if not isinstance(name, str):
            continue
        if kind == "NodePool":
            cluster.pools[name] = obj
        elif kind == CLASS_KIND:
            cluster.classes[name] = obj
        elif kind == "NodeClaim":
            claims[name] = _claim(name, obj)
        elif kind == "Node":
            cluster.nodes[name] = texts(meta.get("annotations"))
        elif kind in ("Pod", "PodDisruptionBudget"):
            workloads[str(kind), str(meta.get("namespace", "default")), name] = obj
    cluster.claims.extend(claims.values())
    pods = [read_pod(obj) for (kind, *_), obj in workloads.items() if kind == "Pod"]
    limits = [read_budget(obj) for (kind, *_), obj in workloads.items() if kind == "PodDisruptionBudget"]
    if pods:
        cluster = cluster._replace(pods=[pod for pod in pods if pod is not None])
    if limits:
        cluster = cluster._replace(pod_budgets=limits)
    if not (cluster.pools or cluster.classes or cluster.claims):
        wanted = f"`kubectl get {','.join(KINDS)} -o yaml`"
        raise ValueError(f"no NodePool, {CLASS_KIND} or NodeClaim in it; {wanted} prints them")
    return cluster


def _parsed(printed: str) -> list[Any]:
    try:
        return [json.loads(printed)]
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError:
        pass  # kubectl prints YAML as well
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    failure: YAMLError | None = None
    # kubectl also takes `{image: a:1}`, which the fast parser refuses.
    for is_pure in (False, True):
        try:
            return list(YAML(typ="safe", pure=is_pure).load_all(printed))
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        except YAMLError as error:
            failure = error
    mark = getattr(failure, "problem_mark", None)
    where = f"line {mark.line + 1}: " if mark is not None else ""
    raise ValueError(f"{where}neither JSON nor YAML: {getattr(failure, 'problem', None) or failure}") from None


def _objects(documents: list[Any]) -> Iterator[dict[str, Any]]:
    for document in documents:
        if not isinstance(document, dict):
            continue
        items = document.get("items")
        if str(document.get("kind", "")).endswith("List") and isinstance(items, list):
            yield from (item for item in items if isinstance(item, dict))
        else:
            yield document


def _claim(name: str, obj: Plain) -> Claim:
    meta, spec, status = mapping(obj.get("metadata")), mapping(obj.get("spec")), mapping(obj.get("status"))
    labels = texts(meta.get("labels"))
    drifted = condition(obj, "Drifted") if is_true(obj, "Drifted") else None
    return Claim(
        name=name,
        pool=labels.get(NODEPOOL, ""),
        node_class=text(mapping(spec, "nodeClassRef").get("name")),
        labels=labels,
        annotations=texts(meta.get("annotations")),
        spec=spec,
        drifted=None if drifted is None else text(drifted.get("reason")) or "Drifted",
        deleting=meta.get("deletionTimestamp") is not None,
        node=text(status.get("nodeName")),
    )
