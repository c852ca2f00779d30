"""What scripts in user data do: systems that they join, secrets, variables, downloads and waits."""

from __future__ import annotations

import textwrap

import pytest

from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import bundled, load
from nodelint.text import Source
from tests.manifests import nodeclass

RULES = load(bundled())
NAMES = ("joins-another-cluster", "secret-in-user-data", "unset-variable", "unpinned-download", "slow-start")
CLASS = nodeclass(role="main", ami="alias: al2023@v20250403", net="tags: {a: b}", inline=True)


def judge(data: str, text: str = CLASS, path: str = "class.yaml") -> Report:
    whole = f"{text}  userData: |\n" + textwrap.indent(data, "    ")
    return lint(
        [Source.from_text(path, whole)], LintRequest(Target(NEWEST), RULES, Selection(select=frozenset(NAMES)))
    )


def marked_texts(data: str, rule: str, text: str = CLASS, path: str = "class.yaml") -> list[str]:
    """The characters that a rule points at."""
    report = judge(data, text, path)
    found = [r.finding for r in report.results if r.rule.name == rule]
    return [item.span.source.text[item.span.start : item.span.end] for item in found]


def script(*lines: str) -> str:
    return "\n".join(("#!/bin/bash", *lines, ""))


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("curl -sfL https://get.k3s.io | sh -", "https://get.k3s.io"),
        ("INSTALL_K3S_EXEC=agent K3S_URL=https://k3s:6443 /opt/install.sh", "K3S_URL="),
        ("k3s agent --server https://k3s:6443", "k3s agent"),
        ("curl -sfL https://get.rke2.io | INSTALL_RKE2_TYPE=agent sh -", "https://get.rke2.io"),
        ("systemctl enable --now rke2-agent.service", "rke2-agent"),
        ("microk8s join 10.0.0.1:25000/abc", "microk8s join"),
        ("k0s install worker --token-file /t", "k0s install worker"),
        ("sudo kubeadm join 10.0.0.1:6443 --config /etc/join.yaml", "kubeadm join"),
        ("nomad agent -client", "nomad agent"),
        ("docker swarm join 10.0.0.1:2377", "docker swarm join"),
        ("echo ECS_CLUSTER=main >> /etc/ecs/ecs.config", "ECS_CLUSTER="),
    ],
)
def test_another_system_is_joined(line: str, at: str) -> None:
    assert marked_texts(script(line), "joins-another-cluster") == [at]


@pytest.mark.parametrize(
    "line",
    [
        "# curl -sfL https://get.k3s.io | sh -",
        "curl -sfL https://get.k3s.io | sh -s - --kubelet-arg=cloud-provider=external",
        'k3s agent --kubelet-arg="provider-id=aws:///$ZONE/$ID"',
        "echo joined the cluster; kubectl get nodes",
        "/etc/eks/bootstrap.sh main; nomad agent -client",
        "cat > /etc/motd <<EOF\nthis node never ran kubeadm join\nEOF",
    ],
)
def test_a_node_that_karpenter_may_know_is_let_alone(line: str) -> None:
    assert marked_texts(script(line), "joins-another-cluster") == []


def test_kubeadm_is_a_warning_for_a_cloud_provider_may_name_its_nodes() -> None:
    severities = [r.severity for line in ("kubeadm join a:1", "k3s agent") for r in judge(script(line)).results]
    assert severities == ["warning", "error"]


@pytest.mark.parametrize(
    "line",
    [
        "export AWS_ACCESS_KEY_ID=AKIA" + "ABCDEFGHIJKLMNOP",
        "-----BEGIN RSA PRIVATE KEY-----",
        "git clone https://bot:" + "s3cr3tword@git.example.com/a.git",
        "docker login -u bot -p hunter2hunter2 registry.example.com",
        "kubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef",
        "echo 'ec2-user:Passw0rd!' | chpasswd",
        "curl -u bot:hunter2hunter2 https://example.com/agent.rpm",
        "K3S_TOKEN=${NODE_TOKEN} ./install.sh",
        'DD_API_KEY="{{ .Values.apiKey }}" ./install.sh',
        "mysql --password=hunter2hunter2",
        "password: hunter2hunter2",
        """echo '{"auths": {"r.example.com": {"auth": "Ym90Omh1bnRlcjI="}}}' > ~/.docker/config.json""",
        "export GITHUB_TOKEN=ghp_" + "a" * 36,
    ],
)
def test_a_secret_is_found_in_each_of_its_forms(line: str) -> None:
    assert len(marked_texts(script(line), "secret-in-user-data")) == 1


@pytest.mark.parametrize(
    "line",
    [
        'TOKEN=$(curl -X PUT "http://169.254.169.254/latest/api/token" -H "X-aws-ec2-metadata-token-ttl: 60")',
        'TOKEN=`curl -X PUT http://169.254.169.254/latest/api/token`\ncurl -H "X-aws-ec2-metadata-token: $TOKEN" a',
        "PASSWORD=$(aws secretsmanager get-secret-value --secret-id db --query SecretString --output text)",
        "aws ecr get-login-password | docker login --username AWS --password-stdin 1.dkr.ecr.eu-west-1.amazonaws.com",
        "DB_SECRET=prod/db/password",
        "DB_SECRET=arn:aws:secretsmanager:eu-west-1:123456789012:secret:db",
        "TOKEN_TTL=21600 METADATA_TOKEN=required",
        "export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
        "sed -i 's/^PasswordAuthentication yes/PasswordAuthentication no/' /etc/ssh/sshd_config",
        "TOKEN=$1\nNODE_TOKEN=$(cat /t)\nK3S_TOKEN=$NODE_TOKEN ./install.sh",
        "API_KEY_FILE=/etc/agent/key",
    ],
)
def test_what_is_fetched_when_the_script_runs_is_no_secret(line: str) -> None:
    assert marked_texts(script(line), "secret-in-user-data") == []


def test_the_secret_itself_is_not_repeated() -> None:
    [result] = judge(script("DD_API_KEY=0123456789abcdef ./install.sh")).results
    assert "0123456789abcdef" not in result.finding.message
    assert "DD_API_KEY" in result.finding.message


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (["echo ${NODE_NAME}"], ["${NODE_NAME}"]),
        (["echo $NODE_NAME"], ["$NODE_NAME"]),
        (['echo "it\'s ${NODE_NAME}"'], ["${NODE_NAME}"]),
        (["cat > /a <<EOF", "${NODE_NAME}", "EOF"], ["${NODE_NAME}"]),
        (["cat > /a <<'EOF'", "${NODE_NAME}", "EOF", "echo $OTHER"], ["$OTHER"]),
        (["# $NODE_NAME", "awk '{print $NF}' a", r"echo \$NODE_NAME ${A:-b} ${C:=d} $C $HOME $1 $$ $?"], []),
        (["A=1", "export B=2", "for C in a; do read -r D E; done", "local F=3", "echo $A $B $C $D $E $F"], []),
        (["source /etc/environment", "echo $NODE_NAME"], []),
        (["set -a; . /etc/os-release", "echo $ID"], []),
        (["readarray -t LINES_OF < <(ls)", 'printf -v OUT "%s" a', "echo ${#LINES_OF[@]} $OUT"], []),
        (["COUNT=$((1 << 2))", "echo ${COUNT}"], []),
    ],
)
def test_a_variable_counts_where_nothing_sets_it(lines: list[str], names: list[str]) -> None:
    assert marked_texts(script(*lines), "unset-variable") == names


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (CLASS.replace("role: main", "role: ${ROLE}"), "class.yaml"),
        (CLASS, "class.yaml.tpl"),
        (CLASS, "ec2nodeclass-template.yaml"),
    ],
)
def test_variables_of_a_file_that_a_tool_fills_in_are_let_alone(text: str, path: str) -> None:
    assert "role" in text
    assert marked_texts(script("echo ${NODE_NAME}"), "unset-variable", text, path) == []


@pytest.mark.parametrize(
    "line",
    [
        "curl -sSL https://example.com/a.sh | sudo bash",
        'bash -c "$(curl -fsSL https://example.com/a.sh)"',
        "bash <(curl -s https://example.com/a.sh)",
        "yum install -y https://example.com/agent.x86_64.rpm",
        "rpm -Uvh https://example.com/agent.rpm",
        "wget https://s3.amazonaws.com/agent/linux/latest/agent.rpm",
        "pip3 install boto3",
        "npm install -g pm2",
        "docker pull example/agent:latest",
        "git clone https://github.com/a/b",
    ],
)
def test_a_download_without_a_version_is_told(line: str) -> None:
    assert len(marked_texts(script(line), "unpinned-download")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "curl http://169.254.169.254/latest/meta-data/instance-id",
        "dnf install -y https://example.com/agent-1.4.2.rpm",
        "pip3 install boto3==1.34.0",
        "pip install -r requirements.txt",
        "git clone --branch v1.2.0 https://github.com/a/b",
        "aws s3 cp s3://bucket/latest/agent.rpm .",
        "cat > /run.sh <<'EOF'\ncurl https://example.com/a.sh | bash\nEOF",
        "yum install -y amazon-cloudwatch-agent",
    ],
)
def test_a_pinned_download_is_none(line: str) -> None:
    assert marked_texts(script(line), "unpinned-download") == []


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        (["sleep 30"], ["sleep 30"]),
        (["a; sleep 2m"], ["; sleep 2m"]),
        (["sleep 15"], ["sleep 15"]),
        (["sleep 5"], []),
        (["until curl -s https://a; do", "  sleep 2", "done"], ["until curl -s https://a; do"]),
        (["yum update -y"], ["yum update -y"]),
        (["apt-get upgrade -y"], ["apt-get upgrade"]),
        (["reboot"], ["reboot"]),
        (["sleep 1", "sleep 60 &", "apt-get update", "# sleep 30"], []),
        (["cat > /run.sh <<'EOF'", "sleep 30", "EOF"], []),
        (["nodeadm init", "sleep 30"], []),
    ],
)
def test_what_delays_the_node_is_told(lines: list[str], at: list[str]) -> None:
    assert marked_texts(script(*lines), "slow-start") == at
