"""A pool with which nothing is launched is no pool that takes pods, whatever its requirements leave."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

API = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      containers: [{name: api, image: api, resources: {requests: {cpu: "1"}}}]
"""
LINE = "key: karpenter.k8s.aws/instance-family, operator: In, values: %s"


@pytest.mark.parametrize("values", ['[m7i-flex, "*"]', '["m7i.*", m7i]'])
def test_no_command_takes_it_for_one_that_works(nodelint: Run, tmp_path: Path, values: str) -> None:
    pool = nodepool(LINE % values)
    write_files(tmp_path, {"pool.yaml": pool, "class.yaml": nodeclass(), "api.yaml": API})
    checked = nodelint("check", ".")
    assert "never becomes ready" in checked.stdout
    assert "no-pool-for-workload" not in checked.stdout
    explained = nodelint("explain", ".")
    assert re.search(r"=> nothing is launched with NodePool/\w+: the value", explained.stdout)
    assert "nothing is launched with NodePool/" in explained.stderr
    (in_json,) = json.loads(nodelint("explain", "--format", "json", ".").stdout)["nodePools"]
    assert "is not a valid label value" in in_json["notLaunched"]
    fit = nodelint("fit", ".")
    assert "=> no pool takes it" in fit.stdout
    assert re.search(r"nothing is launched with NodePool/\w+: the value", " ".join(fit.stdout.split()))


def test_the_page_of_a_rule_names_each_severity_of_its_findings() -> None:
    for page in (ROOT / "docs" / "rules").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        header = re.search(r"(?m)^.*· severity: ([a-z, ]+) ·", text)
        if header is not None:
            named = set(re.findall("[a-z]+", header[1])) - {"or"}
            assert set(re.findall(rf"(?m)^(error|warning|info)\[{page.stem}\]", text)) <= named, page.stem
