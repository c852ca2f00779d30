"""The NodePools that EKS creates in each Auto Mode cluster unless the cluster turns them off; they are in no file."""

from __future__ import annotations

import json

from nodelint.data import table
from nodelint.model.documents import objects
from nodelint.model.gvk import AUTO_MODE_GROUP, AUTO_MODE_KIND, CORE_GROUP
from nodelint.model.manifest import NodePool
from nodelint.text import Source

PATH = "built into EKS Auto Mode"


def built_in_pools() -> list[NodePool]:
    """Return the built-in pools as NodePool objects, from the table `auto_mode` (source: the EKS user guide)."""
    texts = [json.dumps(_manifest(name, **stated)) for name, stated in table("auto_mode")["built_in"].items()]
    source = Source.from_text(PATH, "\n---\n".join(texts))
    return [obj for obj in objects(source, foreign=True) if isinstance(obj, NodePool)]


def _manifest(name: str, arch: list[str], taints: list[dict[str, str]]) -> dict[str, object]:
    wanted = {
        "karpenter.sh/capacity-type": ("In", ["on-demand"]),
        "kubernetes.io/arch": ("In", arch),
        f"{AUTO_MODE_GROUP}/instance-category": ("In", ["c", "m", "r"]),
        f"{AUTO_MODE_GROUP}/instance-generation": ("Gt", ["4"]),
    }
    lines = [{"key": key, "operator": operator, "values": values} for key, (operator, values) in wanted.items()]
    ref = {"group": AUTO_MODE_GROUP, "kind": AUTO_MODE_KIND, "name": "default"}
    template = {"spec": {"nodeClassRef": ref, "requirements": lines, "taints": taints}}
    return {
        "apiVersion": f"{CORE_GROUP}/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template},
    }
