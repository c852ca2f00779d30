"""User data as Karpenter, nodeadm and cloud-init take it: what is said of it, and where."""

from __future__ import annotations

import re
import subprocess
import textwrap
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.edits import apply
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.releases import NEWEST, Version
from nodelint.rule.definition import bundled, load
from nodelint.text import Source
from tests.manifests import nodeclass

Run = Callable[..., subprocess.CompletedProcess[str]]
RULES = load(bundled())
NAMES = (
    "custom-user-data",
    "user-data-family",
    "user-data-syntax",
    "repeated-bootstrap",
    "overridden-user-data",
    "hidden-kubelet-setting",
    "node-labels-in-user-data",
)
CLASS = nodeclass(role="main", ami="alias: ALIAS", net="tags: {a: b}", inline=True)
FAMILIES = {
    "al2": "al2@v20240807",
    "al2023": "al2023@v20250403",
    "bottlerocket": "bottlerocket@v1.46.0",
    "windows": "windows2022@latest",
}
ARCHIVE = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="B"

--B
Content-Type: text/x-shellscript

#!/bin/bash
true
--B--
"""
NODECONFIG = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n"


def class_with_data(family: str, data: str, style: str = "|") -> str:
    text = CLASS.replace("ALIAS", FAMILIES[family])
    return f"{text}  userData: {style}\n" + textwrap.indent(data, "    ")


def marked_findings(text: str) -> list[tuple[str, str, str]]:
    """Rule, the characters that it points at, and what it says."""
    results = judge(text).results
    return [(r.rule.name, text[r.finding.span.start : r.finding.span.end], r.finding.message) for r in results]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "data",
    ["#!/bin/bash\necho done\n", ARCHIVE, "[settings.kernel]\nlockdown = 'none'\n", NODECONFIG, "# a note\nx\n"],
)
def test_base64_is_no_user_data(family: str, data: str) -> None:
    encoded = b64encode(data.encode()).decode()
    messages = ("user-data-family", encoded, "the userData is base64: it must be plain text")
    text = class_with_data(family, encoded)
    assert (marked_findings(text) == [messages]) == (not data.startswith("# a note"))
    if "\n" not in data[:-1] or data.startswith("# a note"):
        return
    (way,) = judge(text).results[0].finding.suggestions
    assert way.name == "write the decoded text"
    assert data.splitlines()[0] in apply(text, way.edits) and encoded not in apply(text, way.edits)


@pytest.mark.parametrize("data", ["'{{ .Values.script | b64enc }}'", '"${base64encode(local.script)}"'])
def test_a_function_makes_base64(data: str) -> None:
    text = CLASS.replace("ALIAS", FAMILIES["al2023"]) + f"  userData: {data}\n"
    assert marked_findings(text) == [("user-data-family", data, "the userData is base64: it must be plain text")]
    assert marked_findings(text.replace(" | b64enc", "").replace("base64encode(local.script)", "local.script")) == []


def judge(text: str) -> Report:
    report = lint(
        [Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), RULES, Selection(select=frozenset(NAMES)))
    )
    assert not report.faults
    return report


@pytest.mark.parametrize(
    "family, data",
    [
        ("al2", "#!/bin/bash\nsysctl -w a=1\n"),
        ("al2", "#!/bin/bash\n# /etc/eks/bootstrap.sh is called by Karpenter\nsed -i s/a/b/ /etc/eks/bootstrap.sh\n"),
        ("al2", ARCHIVE),
        ("al2023", ARCHIVE),
        ("al2023", "#!/bin/bash\nif true; then\n  /usr/bin/nodeadm init\nfi\n"),
        ("al2023", ARCHIVE.replace("--B\n", "--B  \n")),
        ("al2023", ARCHIVE.replace("--B--\n", "--B\n")),
        ("al2023", ARCHIVE.replace("--B--\n", "--B\nContent-Type: text/plain\n")),
        ("al2023", ARCHIVE.replace("\n\n--B\nC", "\n\nignored\n--B\nC")),
        ("al2023", "#!/bin/bash\necho hi\n"),
        ("al2023", "#!/bin/bash\ncat /etc/kubernetes/kubelet/config.json\n"),
        ("al2", "#!/bin/bash\njq .a /etc/kubernetes/kubelet/kubelet-config.json\n"),
        (
            "al2",
            "#!/bin/bash\necho EnvironmentFile=/etc/sysconfig/kubelet > /etc/systemd/system/kubelet.service\n",
        ),
        ("al2023", NODECONFIG + "  kubelet:\n    config:\n      cpuManagerPolicy: static\n    flags: [--v=2]\n"),
        ("al2023", NODECONFIG + "  featureGates: {InstanceIdNodeName: true}\n"),
        ("bottlerocket", '[settings.kernel.sysctl]\n"vm.max_map_count" = "262144"\n'),
        ("bottlerocket", "settings.motd = 'hi'\n"),
        ("windows", "Write-Host hello\n"),
        ("al2", "#!/bin/bash\n/etc/eks/max-pods-calculator.sh\namazon-linux-extras\n"),
        ("al2023", "#!/bin/bash\nif [ -x /etc/eks/max-pods-calculator.sh ]; then true; fi\n"),
        ("al2023", "#!/bin/bash\ndnf install -y docker\nsystemctl enable --now docker\n"),
    ],
)
def test_user_data_that_fits_is_let_alone(family: str, data: str) -> None:
    assert marked_findings(class_with_data(family, data)) == []


@pytest.mark.parametrize(
    "family, data, rule, at, message",
    [
        ("al2", "echo hi\n", "user-data-family", "echo hi", "the script has no `#!`"),
        (
            "al2023",
            "#!/bin/bash\nset -e\nM=$(/etc/eks/max-pods-calculator.sh --cni-version 1.18.1)\n",
            "user-data-family",
            "/etc/eks/max-pods-calculator.sh",
            "AL2023 has no /etc/eks/max-pods-calculator.sh",
        ),
        (
            "al2023",
            "#!/bin/bash\nsystemctl restart docker\n",
            "user-data-family",
            "systemctl restart docker",
            "AL2023 has no docker",
        ),
        (
            "al2",
            "#cloud-config\nusers: []\n",
            "user-data-family",
            "#cloud-config",
            "a cloud-config without a MIME header",
        ),
        ("al2023", "#cloud-config\nusers: []\n", "user-data-family", "#cloud-config", "is read as a NodeConfig"),
        (
            "al2023",
            NODECONFIG + "  cluster: {name: main}\n",
            "overridden-user-data",
            "cluster",
            "Karpenter replaces name, endpoint and certificate of the cluster in userData",
        ),
        (
            "bottlerocket",
            '[settings.kubernetes]\napi-server = "${url}"\ncluster-name = "main"\n',
            "overridden-user-data",
            "api-server",
            "Karpenter replaces name, endpoint and certificate of the cluster in userData",
        ),
        (
            "al2",
            "#!/bin/bash\n# not /etc/sysconfig/kubelet\necho A=b >> /etc/sysconfig/kubelet\n",
            "user-data-family",
            "/etc/sysconfig/kubelet",
            "the kubelet of AL2 does not read /etc/sysconfig/kubelet",
        ),
        (
            "al2023",
            "#!/bin/bash\nf=/etc/kubernetes/kubelet/kubelet-config.json\njq .a $f\n",
            "user-data-family",
            "/etc/kubernetes/kubelet/kubelet-config.json",
            "the kubelet of AL2023 does not read /etc/kubernetes/kubelet/kubelet-config.json",
        ),
        ("al2", NODECONFIG, "user-data-family", "apiVersion: node.eks.aws/v1alpha1", "a NodeConfig is for AL2023"),
        (
            "al2",
            ARCHIVE.replace("text/x-shellscript", "application/node.eks.aws"),
            "user-data-family",
            "#!/bin/bash",
            "AL2",
        ),
        ("al2", "#!/bin/bash\nnodeadm init\n", "user-data-family", "nodeadm init", "AL2 has no nodeadm"),
        (
            "al2023",
            "[settings.kubernetes]\nmax-pods = 9\n",
            "user-data-family",
            "[settings.kubernetes]",
            "Bottlerocket",
        ),
        (
            "al2023",
            "#!/bin/sh\nsudo /etc/eks/bootstrap.sh x\n",
            "user-data-family",
            "/etc/eks/bootstrap.sh x",
            "AL2023",
        ),
        (
            "bottlerocket",
            ARCHIVE,
            "user-data-family",
            "MIME-Version: 1.0",
            "Bottlerocket does not take a MIME archive",
        ),
        (
            "bottlerocket",
            NODECONFIG,
            "user-data-family",
            "apiVersion: node.eks.aws/v1alpha1",
            "Bottlerocket does not take a NodeConfig",
        ),
        ("windows", "#!/bin/bash\n", "user-data-family", "#!/bin/bash", "Windows2022 does not take a shell script"),
        ("bottlerocket", "[settings.a]\nb = c\n", "user-data-syntax", "c", "invalid TOML: invalid value"),
        ("bottlerocket", "motd = 'x'\n", "user-data-syntax", "motd = 'x'", "the table `settings`"),
        ("al2023", ARCHIVE.replace('"B"', "=B="), "user-data-syntax", "=B=", "must be in quotes"),
        ("al2023", ARCHIVE.replace('"B"', '"C"'), "user-data-syntax", "MIME-Version: 1.0", "no line `--C` begins"),
        ("al2023", ARCHIVE.replace("; boundary", "; border"), "user-data-syntax", "multipart/mixed", "no boundary"),
        ("al2", ARCHIVE.replace("script\n\n#!", "script\n#!"), "user-data-syntax", "#!/bin/bash", "one is missing"),
        (
            "al2",
            ARCHIVE.replace("multipart/mixed", "text/plain"),
            "user-data-syntax",
            "text/plain",
            "says `text/plain`",
        ),
        (
            "al2023",
            NODECONFIG + "  kubelet: {config: [a]}\n",
            "user-data-syntax",
            "[",
            "spec.kubelet.config must be a mapping",
        ),
        (
            "al2023",
            NODECONFIG + "  kubelet: {flags: --v=2}\n",
            "user-data-syntax",
            "--v=2",
            "must be a list of texts",
        ),
        (
            "al2023",
            NODECONFIG.replace("alpha1", "beta1"),
            "user-data-syntax",
            "node.eks.aws/v1beta1",
            "does not know the apiVersion",
        ),
        ("al2023", "kind: NodeConfig\n", "user-data-syntax", "kind", "begins with `apiVersion"),
        (
            "al2023",
            ARCHIVE.replace("text/x-shellscript", "application/node.eks.aws").replace("true", "a: [b"),
            "user-data-syntax",
            "",
            "invalid YAML",
        ),
        (
            "windows",
            "& $EKSBootstrapScriptFile -EKSClusterName x\n",
            "repeated-bootstrap",
            "& $EKSBootstrapScriptFile -EKSClusterName x",
            "runs twice",
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_place(family: str, data: str, rule: str, at: str, message: str) -> None:
    found = marked_findings(class_with_data(family, data))
    assert [f[0] for f in found] == [rule]
    assert found[0][1].startswith(at) if at else found[0][1] == ""
    assert message in found[0][2]


def test_the_line_of_a_mistake_in_a_part_of_an_archive(nodelint: Run, tmp_path: Path) -> None:
    data = ARCHIVE.replace("text/x-shellscript", "application/node.eks.aws")
    text = class_with_data("al2023", data.replace("#!/bin/bash\ntrue", "a: b\nc: d: e\nf: g"))
    (tmp_path / "class.yaml").write_text(text)
    line = text[: text.index("c: d: e")].count("\n") + 1
    done = nodelint("check", "--select", "user-data-syntax", "--format", "concise", ".")
    assert re.findall(r"class.yaml:(\d+):", done.stdout) == [str(line)], done.stdout


FLAGS = NODECONFIG + "  kubelet:\n    flags:\n      - --v=2\n      - FLAG\n"


@pytest.mark.parametrize(
    "family, data, rule, at",
    [
        ("al2023", NODECONFIG + "  kubelet: {config: {maxPods: 9}}\n", "overridden-user-data", "maxPods"),
        (
            "al2023",
            NODECONFIG + "  kubelet: {config: {clusterDNS: [1.1.1.1]}}\n",
            "overridden-user-data",
            "clusterDNS",
        ),
        ("bottlerocket", "[settings.kubernetes]\nmax-pods = 9\n", "overridden-user-data", "max-pods"),
        (
            "bottlerocket",
            "settings.kubernetes.max-pods = 9\n",
            "overridden-user-data",
            "settings.kubernetes.max-pods",
        ),
        ("al2023", FLAGS.replace("FLAG", "--max-pods=9"), "hidden-kubelet-setting", "--max-pods=9"),
        ("bottlerocket", '[settings.kubernetes.eviction-hard]\n"a" = "5%"\n', "hidden-kubelet-setting", "settings.k"),
        (
            "al2023",
            FLAGS.replace("FLAG", "--node-labels=a=b,karpenter.sh/x=y"),
            "node-labels-in-user-data",
            "karpenter.sh/x",
        ),
        (
            "al2023",
            FLAGS.replace("FLAG", '"--node-labels=node-role.kubernetes.io/w="'),
            "node-labels-in-user-data",
            "node-role.kubernetes.io/w",
        ),
        (
            "al2023",
            FLAGS.replace("FLAG", "--register-with-taints=a=b:NoSchedule"),
            "node-labels-in-user-data",
            "--reg",
        ),
        (
            "windows",
            "$a = '--node-labels=karpenter.k8s.aws/x=y'\n",
            "node-labels-in-user-data",
            "karpenter.k8s.aws/x",
        ),
    ],
)
def test_what_the_kubelet_is_told_is_compared_with_what_karpenter_knows(
    family: str, data: str, rule: str, at: str
) -> None:
    ((found, place, _),) = marked_findings(class_with_data(family, data))
    assert found == rule
    assert place.startswith(at)


@pytest.mark.parametrize(
    "key", ["team", "example.com/a", "node.kubernetes.io/a", "topology.kubernetes.io/zone", "a.k8s.b/c"]
)
def test_labels_that_the_kubelet_may_set_are_let_alone(key: str) -> None:
    assert marked_findings(class_with_data("al2023", FLAGS.replace("FLAG", f"--node-labels={key}=x"))) == []


def test_of_a_setting_that_stands_twice_the_one_that_acts_is_named() -> None:
    text = class_with_data(
        "al2023", NODECONFIG + "  kubelet: {config: {kubeReserved: {cpu: 9m}, imageGCHighThresholdPercent: 9}}\n"
    )
    others = text.replace("  role:", "  kubelet: {kubeReserved: {cpu: 8m}}\n  role:")
    (result,) = judge(others).results
    assert result.rule.name == "overridden-user-data"
    assert not result.finding.edits
    assert [others[also.span.start : also.span.end] for also in result.finding.also] == ["kubeReserved"]
    assert [found[0] for found in marked_findings(text)] == ["hidden-kubelet-setting"]


def test_a_blank_line_above_the_header_keeps_karpenter_from_reading_it() -> None:
    text = class_with_data("al2023", ARCHIVE).replace("    MIME-Version", "\n    MIME-Version")
    assert [f[:1] for f in marked_findings(text)] == [("user-data-syntax",)]


def test_a_folded_or_double_quoted_text_is_judged_too() -> None:
    quoted = CLASS.replace("ALIAS", FAMILIES["al2"]) + '  userData: "#!/bin/bash\\n/etc/eks/bootstrap.sh x\\n"\n'
    assert marked_findings(quoted)[0][:2] == ("repeated-bootstrap", "/etc/eks/bootstrap.sh x")
    folded = CLASS.replace("ALIAS", FAMILIES["al2"]) + "  userData: >\n    echo\n    hi\n"
    assert [f[0] for f in marked_findings(folded)] == ["user-data-family"]


def test_placeholders_are_not_judged() -> None:
    text = class_with_data("al2", "echo hi\n")
    assert marked_findings(text.replace("echo hi", "{{ .Values.userData }}")) == []
    assert marked_findings(class_with_data("bottlerocket", "[settings.a]\nb = ${c}\n")) == []


def test_a_call_goes_with_its_lines_and_nothing_else() -> None:
    text = class_with_data("al2", "#!/bin/bash\n\n/etc/eks/bootstrap.sh \\\n  main\n\n# more\ntrue\n")
    (result,) = judge(text).results
    fixed = apply(text, result.finding.edits)
    assert fixed == class_with_data("al2", "#!/bin/bash\n\n\n# more\ntrue\n")
    with_flags = text.replace("  main", "  main --kubelet-extra-args --max-pods=9")
    (result,) = judge(with_flags).results
    assert not result.finding.edits


IMAGES = {
    "al2": "name: amazon-eks-node-1.30-v20240807, owner: amazon",
    "al2023": "name: amazon-eks-node-al2023-x86_64-standard-1.33-v20260801",
    "bottlerocket": "ssmParameter: /aws/service/bottlerocket/aws-k8s-1.33/x86_64/1.46.0/image_id",
    "windows": "alias: windows2022@latest",
    "own": "id: ami-0123456789abcdef0",
}
CLUSTER = "  cluster: {name: a, apiServerEndpoint: 'https://a', certificateAuthority: YQ==, cidr: 10.0.0.0/16}\n"
JOINS = '[settings.kubernetes]\ncluster-name = "a"\napi-server = "https://a"\ncluster-certificate = "YQ=="\n'
CALL = "#!/bin/bash\n/etc/eks/bootstrap.sh main\n"


def custom(image: str, data: str) -> str:
    text = class_with_data("al2", data).replace("alias: al2@v20240807", IMAGES[image])
    return text.replace("  role:", "  amiFamily: Custom\n  role:")


@pytest.mark.parametrize(
    ("image", "data", "message"),
    [
        ("al2", CALL, None),
        ("al2", NODECONFIG + CLUSTER, "no nodeadm to read a NodeConfig"),
        ("al2", "#!/bin/bash\nyum install -y htop\n", "nothing in the userData joins a node with the AL2 image to"),
        ("al2", "#!/bin/bash\ncurl https://example.com/join | sh\n", None),
        ("al2", JOINS, "the image is AL2, which cannot read TOML settings"),
        ("al2023", CALL, "the image has no bootstrap.sh"),
        ("al2023", NODECONFIG + CLUSTER, None),
        ("al2023", NODECONFIG + CLUSTER.replace(", cidr: 10.0.0.0/16", ""), "no NodeConfig sets spec.cluster.cidr"),
        ("al2023", NODECONFIG + "  kubelet: {flags: [a]}\n", "no NodeConfig sets spec.cluster.name"),
        ("al2023", NODECONFIG.replace("NodeConfig", "Config"), "does not know the kind `Config`"),
        ("bottlerocket", JOINS, None),
        ("bottlerocket", JOINS.replace("api-server", "max-pods"), "settings.kubernetes lacks `api-server`"),
        ("bottlerocket", CALL, "the image is Bottlerocket, which cannot read a shell script"),
        ("windows", "<powershell>\n& $EKSBootstrapScriptFile -EKSClusterName a\n</powershell>\n", None),
        ("windows", "& $EKSBootstrapScriptFile -EKSClusterName a\n", "without `<powershell>` around it"),
        ("own", CALL, None),
        ("own", NODECONFIG + "  kubelet: {flags: [a]}\n", "no NodeConfig sets spec.cluster.name"),
        ("own", "/etc/eks/bootstrap.sh main\n", "no `#!` in its first line"),
        ("own", "#include https://example.com/a\n", None),
        ("own", "#!/bin/bash\nyum install -y htop\n", None),
        # Python's parser of MIME takes what Go's refuses
        ("own", ARCHIVE, None),
        ("own", ARCHIVE.removesuffix("--B--\n"), None),
        ("own", ARCHIVE.replace('"B"', "=B="), None),
        ("own", ARCHIVE.replace("; boundary", "; border"), "the MIME header names no boundary"),
        ("own", ARCHIVE.replace('"B"', '"C"'), "no line `--C` begins a part"),
        ("own", ARCHIVE.replace("#!/bin/bash\n", ""), "no `#!` in its first line"),
    ],
)
def test_user_data_of_the_family_custom_has_to_let_the_node_join(image: str, data: str, message: str | None) -> None:
    # That the taint is lacking is told of what joins alone, and has a test of its own.
    found = [
        finding for finding in marked_findings(custom(image, data)) if "karpenter.sh/unregistered" not in finding[2]
    ]
    assert [f[0] for f in found] == ["custom-user-data"] * (message is not None)
    assert message is None or message in found[0][2]


@pytest.mark.parametrize(
    ("ami", "data", "severity"),
    [
        ("alias: al2@latest", "echo hi", "warning"),
        ("alias: al2023@v20250403", "echo hi; ls", "warning"),
        ("alias: al2023@v20250403", "#cloud-config", "error"),
        ("alias: bottlerocket@v1.46.0", "echo hi", "error"),
    ],
)
def test_a_script_that_is_lost_alone_is_a_warning(
    check: Callable[..., Report], ami: str, data: str, severity: str
) -> None:
    text = nodeclass("userData: |", f"  {data}", ami=ami)
    report = check(text, kubernetes="1.32", select=["user-data-family", "user-data-syntax"])
    assert [result.severity for result in report.results] == [severity]


@pytest.mark.parametrize("family", ["${FAMILY}", None])
def test_the_images_tell_the_family_that_a_placeholder_leaves_open(family: str | None) -> None:
    text = custom("al2023", CALL).replace("amiFamily: Custom", f"amiFamily: {family}" if family else "tags: {}")
    assert marked_findings(text)[0][:2] == ("user-data-family", "/etc/eks/bootstrap.sh main")


@pytest.mark.parametrize(
    ("release", "kubelet", "call", "severity", "message"),
    [
        (NEWEST, "", "main", "warning", "pods may land on the node"),
        (NEWEST, "  kubelet: {maxPods: 9}\n", "main", "error", "the settings of spec.kubelet have no effect"),
        (Version(1, 2, 1), "", "main", "error", "Karpenter 1.2.1 never registers a node"),
        (Version(1, 2, 2), "", "main", "warning", "pods may land"),
        (
            Version(1, 0, 8),
            "",
            "main --kubelet-extra-args '--register-with-taints=karpenter.sh/unregistered:NoExecute'",
            "warning",
            "the node uses the options of this call",
        ),
    ],
)
def test_a_second_bootstrap_is_an_error_where_nodes_or_settings_are_lost(
    release: Version, kubelet: str, call: str, severity: str, message: str
) -> None:
    text = class_with_data("al2", CALL.replace("main", call)).replace("  role:", f"{kubelet}  role:")
    selection = Selection(select=frozenset(["repeated-bootstrap"]))
    (result,) = lint([Source.from_text("a.yaml", text)], LintRequest(Target(release), RULES, selection)).results
    assert (result.severity, message in (result.finding.note or "")) == (severity, True)


@pytest.mark.parametrize(
    ("setting", "release", "says"),
    [
        ("memory-manager-reserved-memory = 1", "1.14.1", "drops settings.kubernetes.memory-manager-reserved-memory"),
        ("memory-manager-policy = 'Static'", "1.9.0", "drops settings.kubernetes.memory-manager-policy"),
        ("memory-manager-policy = 'Static'", "1.10.0", None),
        ("eviction-soft = {'memory.available' = '5%'}", "1.4.0", "drops settings.kubernetes.eviction-soft"),
        ("kubeReserved = {cpu = '1'}", "1.14.1", "did you mean `kube-reserved`?"),
        ("'cluster-dns' = '172.20.0.10'", "1.14.1", "did you mean `cluster-dns-ip`?"),
        ("image-gc-high-threshold-percent = 85", "1.14.1", 'must be a string: `"85"`'),
        ("image-gc-high-threshold-percent = '85'", "1.14.1", None),
        ("event-qps = '10'", "1.14.1", "must be an integer: `10`"),
        ("event-qps = 10.5", "1.14.1", "must be an integer"),
        ("seccomp-default = 'true'", "1.14.1", "must be a boolean: `true`"),
        ("allowed-unsafe-sysctls = 'net.core.somaxconn'", "1.14.1", "must be a list of strings"),
        ("node-labels = {a = true}", "1.14.1", "settings.kubernetes.node-labels.a must be a string"),
        ("node-labels = ['a=b']", "1.14.1", "settings.kubernetes.node-labels must be a table"),
        ("static-pods = {a = {enabled = true, manifest = 'x'}}", "1.14.1", None),
    ],
)
def test_what_karpenter_knows_of_bottlerockets_settings(setting: str, release: str, says: str | None) -> None:
    text = class_with_data("bottlerocket", f"[settings.kubernetes]\n{setting}\n[settings.pki.any]\ntrusted = true\n")
    target = Target(Version.parse(release))
    selection = Selection(select=frozenset(["user-data-syntax"]))
    report = lint([Source.from_text("a.yaml", text)], LintRequest(target, RULES, selection))
    name = setting.partition(" =")[0].strip("'")
    assert all(r.fixable == ("did you mean" in r.finding.message) for r in report.results)
    assert [says in r.finding.message for r in report.results if says] == ([True] if says else [])
    assert [text[r.finding.span.start : r.finding.span.end] in (name, "a") for r in report.results] == [True] * bool(
        says
    )


@pytest.mark.parametrize(
    ("data", "spec", "says"),
    [
        ("#!/bin/bash\n/etc/eks/bootstrap.sh main --kubelet-extra-args '--max-pods=110'\n", "", "without it"),
        (
            "#!/bin/bash\n/etc/eks/bootstrap.sh main --kubelet-extra-args '--max-pods=110'\n",
            "{maxPods: 58}",
            "with 58",
        ),
        ("#!/bin/bash\n/etc/eks/bootstrap.sh main --kubelet-extra-args '--max-pods=110'\n", "{maxPods: 110}", None),
        ("#!/bin/bash\nkubelet --max-pods=$(max-pods-calculator.sh)\n", "", None),
        ("#!/bin/bash\n# --max-pods=110\n/etc/eks/bootstrap.sh main\n", "", None),
        ("#!/bin/bash\nkubelet --kube-reserved=cpu=1,memory=2Gi\n", "", "`--kube-reserved`"),
        ("#!/bin/bash\nkubelet --kube-reserved cpu=1,memory=2Gi\n", "{kubeReserved: {cpu: '1', memory: 2Gi}}", None),
        (NODECONFIG + "  kubelet:\n    config:\n      maxPods: 110\n", "", "`maxPods`"),
        ("[settings.kubernetes]\nmax-pods = 110\n", "", "`max-pods`"),
    ],
)
def test_what_custom_user_data_sets_karpenter_has_to_be_told(data: str, spec: str, says: str | None) -> None:
    kubelet = f"  kubelet: {spec}\n" if spec else ""
    text = CLASS.replace("alias: ALIAS", "id: ami-0a1b2c3d4e5f60718") + "  amiFamily: Custom\n" + kubelet
    text += "  userData: |\n" + textwrap.indent(data, "    ")
    selection = Selection(select=frozenset(["hidden-kubelet-setting"]))
    report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), RULES, selection))
    assert [says in r.finding.message for r in report.results if says] == ([True] if says else [])
    assert bool(report.results) is bool(says)


@pytest.mark.parametrize(
    "behind, judged",
    [
        ("  {{- end }}\n", True),
        ("{{- end }}\n\n  {{- if .Values.tags }}\n  tags: {a: b}\n  {{- end }}\n", True),
        ("    {{- end }}\n", False),
        ("    {{ .Values.more }}\n{{- end }}\n", False),
    ],
)
def test_code_behind_user_data_is_no_part_of_it(behind: str, judged: bool) -> None:
    text = CLASS.replace("ALIAS", FAMILIES["bottlerocket"])
    text += "  {{- if .Values.data }}\n  userData: |\n    #!/bin/bash\n    true\n" + behind
    assert [rule for rule, _, _ in marked_findings(text)] == ["user-data-family"] * judged
