"""Charts that mention Karpenter and make no pool: none of their templates is filled in, and their workloads count."""

from __future__ import annotations

import pytest

from nodelint.forms.helm.other_kinds import makes_other_kinds
from nodelint.model.cluster_objects import PATTERN
from nodelint.text import Source

META = 'metadata:\n  name: {{ .Release.Name }}\n  labels:\n    {{- include "app.labels" . | nindent 4 }}\n'
SERVICE = f"# karpenter makes the nodes\napiVersion: v1\nkind: Service\n{META}"


def is_passed_over(text: str, also: str | None = None) -> bool:
    return makes_other_kinds(Source.from_text("chart/templates/a.yaml", text, also))


@pytest.mark.parametrize(
    "text",
    (
        SERVICE,
        "{{- if .Values.on }}\n" + SERVICE + "{{- end }}\n",
        SERVICE + "---\n" + SERVICE.replace("Service", "ServiceAccount"),
        SERVICE.replace("Service", "Deployment"),
        SERVICE.replace("Service", "ConfigMap") + "data:\n  replicas: {{ .Values.replicas | quote }}\n",
    ),
)
def test_kinds_that_are_none_of_karpenters(text: str) -> None:
    assert is_passed_over(text)


@pytest.mark.parametrize(
    "text",
    (
        SERVICE.replace("Service", "{{ .Values.kind }}"),
        SERVICE.replace("kind: Service\n", ""),
        SERVICE + '---\n{{ include "pool" . }}\n',
        SERVICE + "---\n{{ toYaml .Values.pool }}\n",
        SERVICE + "{{- range .Values.more }}\n---\n{{ toYaml . }}\n{{- end }}\n",
        SERVICE + '  {{- include "pool" . }}\n',
        SERVICE + "  {{- tpl .Values.more . | nindent 0 }}\n",
        SERVICE.replace("Service", "HelmRelease"),
        SERVICE.replace("Service", "Application"),
        SERVICE.replace("Service", "List") + "items:\n  {{- toYaml .Values.pools | nindent 2 }}\n",
        SERVICE.replace("Service", "ConfigMap") + "data:\n  pool: |\n    {{- toYaml .Values.pool | nindent 4 }}\n",
        SERVICE.replace("Service", "ConfigMap")
        + "data:\n  {{- range .Values.all }}\n  {{ .name }}: {{ .text }}\n{{ end }}",
        SERVICE.replace("Service", "Deployment").replace("metadata:", "image: karpenter:1.2.0\nmetadata:"),
        SERVICE.replace("{{ .Release.Name }}", "karpenter-global-settings"),
        SERVICE + "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: {{ .Values.name }}\n",
    ),
)
def test_what_may_make_a_pool_or_tell_of_the_controller_is_filled_in(text: str) -> None:
    assert not is_passed_over(text)


def test_a_workload_is_filled_in_where_it_is_asked_for() -> None:
    assert not is_passed_over(SERVICE.replace("Service", "Deployment"), PATTERN)
    assert is_passed_over(SERVICE, PATTERN)
