"""What programs write: templates of `cdk synth`, and plans and states of Terraform and Pulumi."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]


def make_pool(capacity: str = "spott", name: str = "a") -> dict[str, Any]:
    requirements = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": [capacity]}]
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"nodeClassRef": reference, "requirements": requirements}}},
    }


def make_class(**spec: Any) -> dict[str, Any]:
    terms = [{"tags": {"karpenter.sh/discovery": "prod"}}]
    full = {
        "role": "nodes",
        "amiSelectorTerms": [{"alias": "al2023@v20260618"}],
        "subnetSelectorTerms": terms,
        "securityGroupSelectorTerms": terms,
        **spec,
    }
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {key: value for key, value in full.items() if value is not None},
    }


def make_template(manifest: Any) -> dict[str, Any]:
    properties = {"Manifest": manifest, "ClusterName": {"Ref": "Cluster"}}
    return {"Resources": {"Pool": {"Type": "Custom::AWSCDK-EKS-KubernetesResource", "Properties": properties}}}


def join_at(text: str, mark: str, reference: dict[str, Any]) -> dict[str, Any]:
    before, after = text.split(mark)
    return {"Fn::Join": ["", [before, reference, after]]}


def as_yaml(template: dict[str, Any], *, tags: bool = False) -> str:
    """Return a template as the YAML that `cdk synth` prints, or with the short tags of CloudFormation."""
    manifest = template["Resources"]["Pool"]["Properties"]["Manifest"]
    head = "Resources:\n  Pool:\n    Type: Custom::AWSCDK-EKS-KubernetesResource\n    Properties:\n      Manifest:"
    if isinstance(manifest, str):
        return f"{head} '{manifest}'\n"
    _, parts = manifest["Fn::Join"]
    lines = [
        f"'{part}'" if isinstance(part, str) else "!Ref N" if tags else "\n                Ref: N" for part in parts
    ]
    items = "".join(f"\n            {'- -' if at == 0 else '  -'} {line}" for at, line in enumerate(lines))
    start = " !Join\n" if tags else "\n        Fn::Join:\n"
    return f'{head}{start}            - ""{items}\n'


TEXT = json.dumps([make_pool()], separators=(",", ":"))
JOINED = join_at(TEXT, "default", {"Ref": "N"})


def make_plan(kind: str, before: Any, after: Any, unknown: Any) -> str:
    address = f"{kind}.a"
    resource = {"address": address, "type": kind, "values": after}
    change = {"actions": ["update"], "before": before, "after": after, "after_unknown": unknown}
    plan = {
        "format_version": "1.2",
        "planned_values": {"root_module": {"resources": [resource]}},
        "resource_changes": [{"address": address, "change": change}],
        "prior_state": {"values": {"root_module": {"resources": [{**resource, "values": before}]}}},
    }
    return json.dumps(plan)


def as_text(manifest: dict[str, Any]) -> str:
    """Return a manifest as Terraform's JSON writes the text of a resource, with the escapes of Go for `<` and `&`."""
    return json.dumps(manifest, indent=2)


def make_stack(inputs: Any, outputs: Any) -> str:
    resource = {"urn": "u", "type": "kubernetes:karpenter.sh/v1:NodePool", "inputs": inputs, "outputs": outputs}
    return json.dumps({"version": 3, "deployment": {"manifest": {}, "resources": [resource]}}, indent=2)


def make_preview(old: Any, new: Any) -> str:
    return json.dumps(
        {"steps": [{"op": "update", "urn": "u", "oldState": {"inputs": old}, "newState": {"inputs": new}}]}
    )


def make_state(manifest: dict[str, Any]) -> str:
    instance = {"attributes": {"manifest": {"value": manifest, "type": "dynamic"}, "object": {"value": manifest}}}
    return json.dumps({"version": 4, "lineage": "x", "resources": [{"instances": [instance]}]}, indent=2)


OUTPUTS = {
    "string": json.dumps(make_template(TEXT), indent=1),
    "tabs": json.dumps(make_template(TEXT), indent="\t"),
    "join": json.dumps(make_template(JOINED), indent=1),
    "delimiter": json.dumps(make_template({"Fn::Join": [",", TEXT.split(",")]})),
    "sub": json.dumps(make_template({"Fn::Sub": TEXT.replace("default", "${N}")})),
    "yaml": as_yaml(make_template(TEXT)),
    "yaml-join": as_yaml(make_template(JOINED)),
    "yaml-tags": as_yaml(make_template(JOINED), tags=True),
    "plan-manifest": make_plan("kubernetes_manifest", make_pool("spot"), {"manifest": make_pool()}, {}),
    "plan-text": make_plan("kubectl_manifest", {}, {"yaml_body": as_text(make_pool()), "yaml_body_parsed": "x"}, {}),
    "stack": make_stack(make_pool(), make_pool()),
    "preview": make_preview(make_pool("spot"), make_pool()),
    "config-map": json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a.json": as_text(make_pool())}}),
    "config-map-quoted": f"apiVersion: v1\nkind: ConfigMap\ndata:\n  a.json: '{json.dumps(make_pool())}'\n",
    "block": json.dumps(
        {"a": f"apiVersion: v1\nkind: ConfigMap\ndata:\n  a.yaml: |\n    {json.dumps(make_pool())}\n"}
    ),
    "nested": json.dumps({"a": json.dumps([make_class(), {"b": json.dumps(make_pool())}])}),
}


@pytest.mark.parametrize("way", ["folder", "named", "stdin"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_the_mistake_in_an_output_is_found_at_its_place_once(
    nodelint: Run, tmp_path: Path, name: str, way: str
) -> None:
    text = OUTPUTS[name]
    file = "cdk.out/k.template.json" if text.startswith("{") else "template.yaml"
    write_files(tmp_path, {file: text})
    where = {"folder": ["."], "named": [file], "stdin": ["-"]}[way]
    found = nodelint("check", "--format", "json", *where, cwd=tmp_path, stdin=text if way == "stdin" else None)
    findings = [finding for finding in json.loads(found.stdout)["findings"] if finding["rule"] == "unknown-value"]
    assert len(findings) == 1
    line, column = findings[0]["start"]["line"], findings[0]["start"]["column"]
    assert text.splitlines()[line - 1][column - 1 :].lstrip('\\"').startswith("spott")


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_right_value_in_an_output_is_no_finding(nodelint: Run, tmp_path: Path, name: str) -> None:
    write_files(
        tmp_path,
        {"a.template.json" if OUTPUTS[name].startswith("{") else "a.yaml": OUTPUTS[name].replace("spott", "spot")},
    )
    found = nodelint("check", "--select", "correctness", cwd=tmp_path)
    assert (found.returncode, "Nothing" in found.stdout, "error" in found.stdout) == (0, False, False)


@pytest.mark.parametrize("name", ["string", "join", "plan-manifest", "plan-text", "stack", "preview"])
def test_no_edit_changes_an_output(nodelint: Run, tmp_path: Path, name: str) -> None:
    write_files(tmp_path, {"a.json": OUTPUTS[name]})
    found = nodelint("check", "--fix", "--unsafe-fixes", cwd=tmp_path)
    assert "change what writes it" in " ".join(found.stdout.split())
    assert (tmp_path / "a.json").read_text() == OUTPUTS[name]


def test_a_value_of_the_stack_is_not_known(nodelint: Run, tmp_path: Path) -> None:
    text = json.dumps([make_class(amiSelectorTerms=[{"alias": "ALIAS"}])])
    alias = {"Fn::GetAtt": ["Image", "Alias"]}
    write_files(tmp_path, {"a.template.json": json.dumps(make_template(join_at(text, "ALIAS", alias)))})
    found = nodelint("check", cwd=tmp_path)
    assert 'alias is `{"Fn::GetAtt": ["Image", "Alias"]}`' in " ".join(found.stdout.split())
    assert (found.returncode, "error" in found.stdout) == (0, False)
    write_files(tmp_path, {"a.template.json": json.dumps(make_template(text.replace("ALIAS", "al2033@latest")))})
    assert nodelint("check", cwd=tmp_path).returncode == 1


def test_user_data_with_escapes_in_a_template_is_read(nodelint: Run, tmp_path: Path) -> None:
    data = '#!/bin/bash\necho "a\tb" > /x\n'
    text = json.dumps([make_class(userData=data, rolle="x")])
    write_files(tmp_path, {"a.template.json": json.dumps(make_template(text))})
    found = nodelint("check", "--format", "concise", cwd=tmp_path)
    assert "unknown-field" in found.stdout
    assert "Skipped" not in found.stdout


def test_values_that_terraform_does_not_know_are_not_missing(nodelint: Run, tmp_path: Path) -> None:
    manifest = {"manifest": make_class(role=None)}
    write_files(
        tmp_path,
        {"plan.json": make_plan("kubernetes_manifest", {}, manifest, {"manifest": {"spec": {"role": True}}})},
    )
    assert nodelint("check", cwd=tmp_path).returncode == 0
    write_files(tmp_path, {"plan.json": make_plan("kubernetes_manifest", {}, manifest, {})})
    assert "role" in nodelint("check", cwd=tmp_path).stdout


def test_values_that_pulumi_does_not_know_are_not_judged(nodelint: Run, tmp_path: Path) -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "x"}
    for value in ("04da6b54-80e4-46f7-96ec-b56ff0331ba9", "[secret]", secret):
        pool = make_pool()
        pool["spec"]["template"]["spec"]["requirements"][0]["values"] = [value]
        write_files(tmp_path, {"stack.json": make_stack(pool, {})})
        found = nodelint("check", "--select", "correctness", cwd=tmp_path)
        assert (found.returncode, "Not known" in found.stdout) == (0, True)
    write_files(tmp_path, {"stack.json": make_stack(make_pool("[public]"), {})})
    assert nodelint("check", cwd=tmp_path).returncode == 1


def test_a_deleted_object_of_a_state_is_not_judged(nodelint: Run, tmp_path: Path) -> None:
    stack = json.loads(make_stack(make_pool(), {}))
    stack["deployment"]["resources"] += [
        {**stack["deployment"]["resources"][0], "inputs": make_pool("spot", "b")},
    ]
    write_files(tmp_path, {"stack.json": json.dumps(stack)})
    assert "spott" in nodelint("check", cwd=tmp_path).stdout
    stack["deployment"]["resources"][0]["delete"] = True
    write_files(tmp_path, {"stack.json": json.dumps(stack)})
    assert "spott" not in nodelint("check", cwd=tmp_path).stdout


def test_a_state_file_in_a_folder_is_named_as_not_read(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"terraform.tfstate": make_state(make_pool())})
    assert "Not read: 1 Terraform state file" in nodelint("check", cwd=tmp_path).stdout
    found = nodelint("check", "--format", "concise", "terraform.tfstate", cwd=tmp_path)
    assert found.stdout.count("error[unknown-value]") == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pool.ts", "addManifest('a', { apiVersion: 'karpenter.sh/v1', kind: 'NodePool' });\n"),
        ("pool.jsonnet", "{ apiVersion: 'karpenter.sh/v1', kind: 'NodePool', spec: {} }\n"),
        ("pool.cue", 'a: {\n\tapiVersion: "karpenter.sh/v1"\n\tkind: "NodePool"\n}\n'),
        ("pool.k", 'a = {\n    apiVersion = "karpenter.sh/v1"\n    kind = "NodePool"\n}\n'),
    ],
)
@pytest.mark.parametrize("command", ["check", "explain", "fit"])
def test_a_named_program_is_not_judged_as_yaml(
    nodelint: Run, tmp_path: Path, command: str, path: str, text: str
) -> None:
    write_files(tmp_path, {path: text, f"b/{path}": "a = 1\n"})
    found = nodelint(command, path, cwd=tmp_path)
    printed = " ".join((found.stdout + found.stderr).split())
    assert ("not read" in printed.casefold(), "yaml-syntax" in printed, "All good" in printed) == (True, False, False)
    assert "karpenter object" not in nodelint(command, f"b/{path}", cwd=tmp_path).stdout.casefold()


def test_an_encoded_manifest_of_a_secret_is_named_as_not_read(nodelint: Run, tmp_path: Path) -> None:
    for text, known in ((json.dumps(make_pool()), True), (json.dumps({"kind": "x" * 200}), False)):
        data = base64.b64encode(text.encode()).decode()
        write_files(tmp_path, {"a.yaml": f"kind: Secret\nmetadata: {{name: karpenter}}\ndata:\n  a: {data}\n"})
        for where in ([], ["a.yaml"]):
            assert ("Not read" in nodelint("check", *where, cwd=tmp_path).stdout) is known
        piped = nodelint("check", "-", cwd=tmp_path, stdin="apiVersion: v1\n" + (tmp_path / "a.yaml").read_text())
        assert ("Not read" in piped.stdout) is known


def make_helm_chart(version: str, values: Any) -> str:
    properties = {
        "Chart": "karpenter",
        "Repository": "oci://x/karpenter/karpenter",
        "Version": version,
        "Values": values,
    }
    template = make_template(json.dumps([make_pool("spot")]))
    template["Resources"]["Karpenter"] = {"Type": "Custom::AWSCDK-EKS-HelmChart", "Properties": properties}
    return json.dumps(template, indent=1)


@pytest.mark.parametrize("is_joined", [True, False])
def test_the_release_and_the_settings_of_a_helm_chart_of_a_template_are_read(
    nodelint: Run, tmp_path: Path, is_joined: bool
) -> None:
    gates = {"featureGates": {"spotToSpotConsolidation": True}}
    for given, is_found in (
        ({"settings": {"clusterName": "NAME", **gates}}, False),
        ({"settings": {"clusterName": "NAME"}, **gates}, True),
    ):
        text = json.dumps(given)
        values = join_at(text, "NAME", {"Ref": "Cluster"}) if is_joined else text
        write_files(tmp_path, {"a.template.json": make_helm_chart("1.13.0", values)})
        found = json.loads(nodelint("check", "--format", "json", cwd=tmp_path).stdout)
        assert "for Karpenter 1.13.0" in nodelint("check", cwd=tmp_path).stdout
        assert any("featureGates" in finding["message"] for finding in found["findings"]) is is_found
