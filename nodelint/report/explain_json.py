"""The output of `nodelint explain` as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.karpenter.images import Image
from nodelint.karpenter.resolve.readiness import launch_steps, why_none_launched
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model.finding import find_object_place, label_of
from nodelint.model.providers import providers_key
from nodelint.report.explain_facts import facts_json, image_json, pool_json
from nodelint.report.explain_types import TypeRows
from nodelint.report.explain_verdict import explain_not_launched
from nodelint.report.json_text import JsonLine

VERSION = 1
"""The version of the JSON that `explain_json` gives."""


def explain_json(resolutions: Sequence[Resolution], facts: AwsFacts = NOTHING) -> dict[str, Any]:
    """Return the resolutions as plain data for JSON.

    Instance types are sorted by name. An image that only AWS knows has no `arch` and no variants. `requirements` are
    in the order of the file, followed by the labels of the template. `facts` are those of the resolutions.
    """
    rows = TypeRows()
    return {
        "version": VERSION,
        **facts_json(facts),
        "nodePools": [_pool_json(resolution, rows) for resolution in resolutions],
    }


def _pool_json(resolution: Resolution, rows: TypeRows) -> dict[str, Any]:
    pool, catalog = resolution.pool, resolution.catalog
    ref = pool.class_ref
    without = [(name, gap.reason) for gap in resolution.unlaunchable for name in catalog.names_in(gap.types)]
    later = [step for step in launch_steps(resolution) if step.removed & resolution.launchable]
    without += [(name, step.words) for step in later for name in catalog.names_in(step.removed)]
    return {
        "name": pool.name if isinstance(pool.name, str) else None,
        "path": find_object_place(pool)[0],
        **({"with": label} if (label := label_of(pool.source)) else {}),
        "nodeClass": ref.name if ref is not None and isinstance(ref.name, str) else None,
        "images": [_image_json(image) for image in resolution.images.images],
        "instanceTypes": rows.list_types(resolution),
        "launchOrder": rows.launch_order(resolution),
        "unlaunchable": [JsonLine({"name": name, "reason": reason}) for name, reason in sorted(without)],
        "requirements": [
            {
                "key": providers_key(line.key, pool.provider),
                "operator": line.operator,
                "values": list(line.values),
                "removed": line.removed,
                "removedAlone": line.removed_alone,
            }
            for line in resolution.lines
        ],
        **({"nodeOverlays": list(resolution.overlay_names)} if resolution.overlay_names else {}),
        **(
            {"notLaunched": why}
            if (why := explain_not_launched(resolution) or why_none_launched(resolution)) is not None
            else {}
        ),
        **dict(pool_json(resolution)),
    }


def _image_json(image: Image) -> dict[str, Any]:
    requested = {"id": image.id, "alias": image.alias, "arch": image.arch, "variants": list(image.variants)}
    return requested if image.found is None else {**requested, **image_json(image.found)}
