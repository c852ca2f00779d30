"""Reports name an object of a chart as it is rendered, with the values that its finding is about."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

TEMPLATE = nodepool(
    "key: kubernetes.io/arch, operator: In, values: {{ toJson .Values.archs }}", name="{{ .Values.cluster }}-web"
)


def write_chart(folder: Path) -> None:
    files = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "templates/pool.yaml": TEMPLATE}
    values = {"values.yaml": "cluster: main\narchs: [amd64]\n"}
    values["values-prod.yaml"] = "cluster: prod\narchs: [x86_64]\n"
    write_files(folder, {**files, **values})


def test_json_names_the_rendered_object(nodelint: Run, tmp_path: Path) -> None:
    write_chart(tmp_path)
    found = json.loads(nodelint("check", "--select", "unknown-value", "--format", "json").stdout)["findings"]
    assert [finding["object"] for finding in found] == [{"kind": "NodePool", "name": "prod-web"}]


def test_a_page_names_rendered_objects_and_leads_to_their_findings(nodelint: Run, tmp_path: Path) -> None:
    write_chart(tmp_path)
    page = nodelint("check", "--select", "unknown-value", "--format", "html").stdout
    assert "NodePool/main-web, prod-web" in page
    assert '<h3 class=object id="NodePool-prod-web">' in page or 'NodePool-prod-web">NodePool/prod-web</h3>' in page
    anchor = page.partition('<a href="#')[2].partition('"')[0]
    assert f'id="{anchor}"' in page
