"""What a pod of a cluster requests is what `fit` reads of its manifest."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from nodelint.fit.pods import requests_of
from nodelint.model.cluster_objects import PATTERN, Workload
from nodelint.model.documents import objects
from nodelint.text import Source
from nodelint.why.requests import read_requests

AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi"]),
    st.sampled_from(["100m", "1", "1.5", "2Gi", "1e3", "-1", "x", "", 2, 0, True, None, 0.25]),
    max_size=3,
)
RESOURCES = st.fixed_dictionaries({}, optional={"requests": AMOUNTS, "limits": AMOUNTS})
CONTAINER = st.fixed_dictionaries(
    {}, optional={"resources": RESOURCES, "restartPolicy": st.sampled_from(["Always", "Never"])}
)
SPEC = st.fixed_dictionaries(
    {"containers": st.lists(CONTAINER, max_size=3)},
    optional={"initContainers": st.lists(CONTAINER, max_size=3), "overhead": AMOUNTS, "resources": RESOURCES},
)


@example(
    {
        "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
        "resources": {"requests": {"memory": "2Gi"}, "limits": {"cpu": "4", "memory": "3Gi"}},
    }
)
@given(SPEC)
def test_requests_of_a_cluster_are_those_of_a_manifest(spec: dict[str, Any]) -> None:
    written = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec})
    (pod,) = [o for o in objects(Source.from_text("a.yaml", written, PATTERN), more=True) if isinstance(o, Workload)]
    assert read_requests(spec)[0] == dict(requests_of(pod))
