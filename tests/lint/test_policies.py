"""Rules of a team's own: policies in the configuration, and folders of rules."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    metadata:
      labels: {team: %s}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: main}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, c7i]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: main}
spec:
  role: nodes
  amiSelectorTerms: [{alias: %s}]
  subnetSelectorTerms: [{id: subnet-0a1b2c3d4e5f6a7b8}]
  securityGroupSelectorTerms: [{id: sg-0a1b2c3d4e5f6a7b8}]
"""

RULE = '''\
"""A NodePool without a limit on memory.

```yaml bad
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, rule


@rule(on=NodePool, group="correctness")
def check(pool: NodePool, context: Context) -> Findings:
    if pool.node.find("spec", "limits", "memory") is None:
        yield Finding(at=pool.name_node, message="no limit on memory")
'''


def put(folder: Path, config: str, team: str = "blue", alias: str = "al2023@v20250807") -> None:
    (folder / "pool.yaml").write_text(POOL % (team, alias), encoding="utf-8")
    (folder / "nodelint.yaml").write_text(config, encoding="utf-8")


def policy(expr: str, **more: str) -> str:
    keys = {"name": "ours", "on": "NodePool", "expr": expr, "message": "not as we do it", **more}
    return json.dumps({"policies": [keys], "select": ["ours"]})


def findings_of(nodelint: Run, *flags: str) -> list[tuple[str, int, str]]:
    done = nodelint("check", "--format", "json", *flags)
    assert done.stderr == ""
    findings = json.loads(done.stdout)["findings"]
    return [(finding["rule"], finding["start"]["line"], finding["message"]) for finding in findings]


@pytest.mark.parametrize(
    ("expr", "holds"),
    [
        ('pool.instanceTypes.all(t, t.family in ["m7i", "c7i"])', True),
        ('pool.instanceTypes.all(t, t.family == "m7i")', False),
        ("has(self.spec.template.metadata.labels.team)", True),
        ("has(self.spec.limits)", False),
        ("pool.instanceTypes.all(t, t.price / double(t.cpu) < 0.06)", True),
        ("pool.cheapest.price < 0.01", False),
        ('pool.instanceTypes.exists(t, t.name == "c7i.large" && t.memoryMiB == 4096 && t.generation == 7)', True),
        ('class.spec.role == "nodes"', True),
        ('pool.images.exists(i, i.arch == "amd64")', True),
        ('self.metadata.name.matches("^[a-z]+$") && quantity("1Gi").isGreaterThan(quantity("1Mi"))', True),
        ("self.nothing.there == 1", False),
    ],
)
def test_a_policy_holds_where_its_expression_is_true(nodelint: Run, tmp_path: Path, expr: str, holds: bool) -> None:
    put(tmp_path, policy(expr))
    assert bool(findings_of(nodelint)) is not holds


def test_a_finding_points_at_the_field_and_says_the_message(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, policy("false", at="spec.template.spec.requirements", severity="warning"))
    assert findings_of(nodelint) == [("ours", 11, "not as we do it")]
    put(tmp_path, policy("false", at="spec.limits.cpu"))
    assert findings_of(nodelint) == [("ours", 5, "not as we do it")]


def test_a_group_decides_whether_a_policy_runs(nodelint: Run, tmp_path: Path) -> None:
    config = json.loads(policy("false", group="practice"))
    del config["select"]
    put(tmp_path, json.dumps(config))
    assert ("ours", 3, "not as we do it") not in findings_of(nodelint)
    assert ("ours", 3, "not as we do it") in findings_of(nodelint, "--profile", "strict")


@pytest.mark.parametrize(
    ("expr", "skipped"),
    [
        ("self.metadata.name.startsWith('x-')", 0),
        ("self.spec.template.metadata.labels.team != ''", 1),
        ("self.spec.template.metadata.labels.all(key, self.spec.template.metadata.labels[key] == 'a')", 1),
    ],
)
def test_a_placeholder_that_a_policy_does_not_read_is_no_matter(
    nodelint: Run, tmp_path: Path, expr: str, skipped: int
) -> None:
    put(tmp_path, policy(expr))
    text = BAD % ("batch", GOOD)
    pool = text.replace("{template: {", '{template: {metadata: {labels: {team: "${TEAM}"}}, ', 1)
    (tmp_path / "pool.yaml").write_text(pool, encoding="utf-8")
    done = nodelint("check", "--format", "json", "--select", "ours", "pool.yaml")
    found = json.loads(done.stdout)
    assert [finding["message"] for finding in found["findings"]] == ["not as we do it"] * (1 - skipped)
    assert len([entry for entry in found["skipped"] if "placeholder" in entry["reason"]]) == skipped


def test_what_a_placeholder_hides_is_not_judged(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, policy('self.spec.template.metadata.labels.team == "blue"'), team="${TEAM}")
    done = nodelint("check", "--format", "json")
    assert json.loads(done.stdout)["findings"] == []
    assert "placeholder" in json.loads(done.stdout)["skipped"][0]["reason"]
    put(tmp_path, policy("self.metadata.name == 'other'"), team="${TEAM}")
    assert len(findings_of(nodelint)) == 1


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (
            "self.spec.wieght < 5",
            "the policy cannot be evaluated: there is no `wieght` here; ask by `has(...)` first",
        ),
        (
            "self.metadata.name.first == 'a'",
            "the policy cannot be evaluated: a field is read of a value that has none, such as null",
        ),
        ("self.metadata.name", "the policy's expression yields neither true nor false"),
    ],
)
def test_an_expression_that_fails_says_why(nodelint: Run, tmp_path: Path, expr: str, expected: str) -> None:
    put(tmp_path, policy(expr))
    assert [message for *_, message in findings_of(nodelint)] == [expected]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("policies: {}", "nodelint.yaml:1:11: `policies` must be a list, not a mapping"),
        ("policies: [5]", "nodelint.yaml:1:12: an item of `policies` must be a mapping, not `5`"),
        ("policies:\n  - name: a\n    on: NodePool\n    expr: 'true'", "nodelint.yaml:2:5: `message` is missing"),
        (
            "policies:\n  - {name: a, on: Pod, expr: 'true', message: m}",
            "nodelint.yaml:2:19: `on` is `Pod`, must be NodePool or EC2NodeClass",
        ),
        (
            "policies:\n  - {name: a, on: NodePool, expr: 'true', message: m, when: never}",
            "nodelint.yaml:2:55: unknown setting `when`",
        ),
        (
            "policies:\n  - name: a\n    on: NodePool\n    message: m\n    expr: self.a = 1",
            "nodelint.yaml:5:18: policy `a`: Syntax error",
        ),
        (
            "policies:\n  - name: a\n    on: NodePool\n    message: m\n    expr: |\n      true &&\n      self.a = 1",
            "nodelint.yaml:7:14: policy `a`: Syntax error",
        ),
        (
            "policies:\n  - name: a\n    on: NodePool\n    message: m\n    expr: pool.types == 1",
            "nodelint.yaml:5:16: policy `a`: pool has no `types`, but instanceTypes,",
        ),
        (
            "policies:\n  - name: a\n    on: NodePool\n    message: m\n"
            "    expr: |\n      pool.images.all(i, i.arch != 'pool.x' &&\n      i.kind == 1)",
            "nodelint.yaml:7:9: policy `a`: an item of `pool.images` has no `kind`, but alias,",
        ),
        (
            "policies:\n  - name: a\n    on: NodePool\n    message: m\n    expr: 1 + 1",
            "nodelint.yaml:5:11: policy `a`: the expression yields INT, and has to yield true or false",
        ),
        (
            "policies:\n  - {name: A_B, on: NodePool, expr: 'true', message: m}",
            "nodelint.yaml:2:12: `A_B` is not a rule's name",
        ),
    ],
)
def test_what_is_wrong_with_a_policy_has_its_place(nodelint: Run, tmp_path: Path, config: str, message: str) -> None:
    put(tmp_path, config)
    done = nodelint("check")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_rules_of_ones_own_are_listed_and_have_pages(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, policy("false", group="hazard"))
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "memory-limit.py").write_text(RULE, encoding="utf-8")
    listed = nodelint("rule", "--rules", "team").stdout.splitlines()
    names = [line.split()[0] for line in listed if line]
    assert "memory-limit" in names
    assert names.index("migration:") < names.index("more:") < names.index("ours")
    assert "not as we do it" in nodelint("rule", "ours").stdout
    assert nodelint("rule", "memory-limit").returncode == 2, "nobody named its folder"


class TestFoldersOfRules:
    def test_run_beside_those_that_come_with_nodelint(self, nodelint: Run, tmp_path: Path) -> None:
        put(tmp_path, "rules: [team]\n")
        (tmp_path / "team").mkdir()
        (tmp_path / "team" / "memory-limit.py").write_text(RULE, encoding="utf-8")
        ours = ("memory-limit", 3, "no limit on memory")
        assert ours in findings_of(nodelint, "--rules", "team")
        assert ours in findings_of(nodelint, "--config", "nodelint.yaml", "--repository-rules")
        assert findings_of(nodelint, "--rules", "team", "--select", "memory-limit") == [ours]

    def test_that_break_down_are_told_from_faults_of_nodelint(self, nodelint: Run, tmp_path: Path) -> None:
        put(tmp_path, "")
        (tmp_path / "team").mkdir()
        broken = RULE.replace("    if pool", "    len(1)\n    if pool")
        assert broken != RULE
        (tmp_path / "team" / "memory-limit.py").write_text(broken, encoding="utf-8")
        done = nodelint("check", "--rules", "team", "--select", "memory-limit")
        line = broken.splitlines().index("    len(1)") + 1
        assert f"team/memory-limit.py:{line}: memory-limit on NodePool/" in done.stderr.replace("\\", "/")
        assert "object of type 'int' has no len()" in done.stderr
        assert "please report" not in done.stderr + done.stdout
        assert "your rule raised an error on it (memory-limit)" in done.stdout
        assert done.returncode == 2, "what the rule would have found is not known"
        spot = RULE.replace(
            "    if pool", '    any("spot" in line.values for line in pool.requirements)\n    if pool'
        )
        (tmp_path / "team" / "memory-limit.py").write_text(spot, encoding="utf-8")
        done = nodelint("check", "--rules", "team", "--select", "memory-limit")
        assert "TypeError: a value is no text: compare `value.text` with 'spot'" in done.stderr

    def test_of_a_configuration_that_was_only_found_do_not_run(self, nodelint: Run, tmp_path: Path) -> None:
        put(tmp_path, "rules: [team]\n")
        (tmp_path / "team").mkdir()
        (tmp_path / "team" / "evil.py").write_text("open('ran', 'w')\n", encoding="utf-8")
        for command in ("check", "baseline"):
            done = nodelint(command)
            assert (done.returncode, done.stdout) == (2, "")
            assert "rules are code" in done.stderr
            assert "--rules team" in done.stderr
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("no-instance-type", RULE, "there is a rule `no-instance-type` already"),
            ("broken", "def (", "SyntaxError"),
            ("empty", '"""A page."""\n', "a rule file holds one function marked with @rule"),
            ("wrong", RULE.replace("import Context,", "import Nonsense, Context,"), "nodelint.api"),
        ],
    )
    def test_that_cannot_be_used_are_one_line(
        self, nodelint: Run, tmp_path: Path, name: str, text: str, message: str
    ) -> None:
        put(tmp_path, "")
        (tmp_path / "team").mkdir()
        (tmp_path / "team" / f"{name}.py").write_text(text, encoding="utf-8")
        done = nodelint("check", "--rules", "team")
        assert done.returncode == 2
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1

    def test_that_are_not_there(self, nodelint: Run, tmp_path: Path) -> None:
        put(tmp_path, "")
        assert "nowhere: no such file or directory" in nodelint("check", "--rules", "nowhere").stderr

    def test_of_a_folder_without_any(self, nodelint: Run, tmp_path: Path) -> None:
        put(tmp_path, "")
        (tmp_path / "team" / "rules").mkdir(parents=True)
        for command in (("check", "--rules", "team"), ("test-rules", "team"), ("rule", "--rules", "team")):
            done = nodelint(*command)
            message = "nodelint: rules: team: there is no rule: each is a file that ends with `.py`\n"
            assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


BAD, GOOD = (
    "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: %s}, spec: {template: {spec: {%s}}}}",
    """\
nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: main},
 requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, c7i]}]""",
)
OWN_RULE = '''\
"""A NodePool without the name of the team.

```yaml bad
{bad}
```

```yaml good
{good}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, rule


@rule(on=NodePool, group="correctness")
def check(pool: NodePool, context: Context) -> Findings:
    if {condition}:
        yield Finding(at=pool.name_node, message="{message}")
'''


def put_rule(folder: Path, condition: str, message: str = "no team is named", **names: str) -> None:
    pages = {key: BAD % (names.get(key, name), GOOD) for key, name in (("bad", "batch"), ("good", "team-batch"))}
    (folder / "team-rules").mkdir(exist_ok=True)
    text = OWN_RULE.format(**pages, condition=condition, message=message)
    (folder / "team-rules" / "team-name.py").write_text(text, encoding="utf-8")


HOLDS = "not pool.name.startswith('team-')"


@pytest.mark.parametrize(
    ("condition", "message", "law", "difference"),
    [
        ("False", "none", "The rule reports the bad example", "nothing is found in the bad example"),
        ("True", "none", "The rule reports the bad example", "in the good example: line 1: none"),
        (HOLDS, "None is named", "A message is one line, short, begins in lower case", "None is named"),
        (HOLDS, "no team is named.", "A message is one line, short", "no team is named."),
        (HOLDS, "team name is missing", "does not repeat the rule's name", "it says the rule's name again"),
        ("1 / 0", "none", "The rule judges both examples without an error", "ZeroDivisionError"),
    ],
)
def test_a_rule_of_ones_own_that_breaks_a_law_is_told_which(
    nodelint: Run, tmp_path: Path, condition: str, message: str, law: str, difference: str
) -> None:
    put_rule(tmp_path, condition, message)
    done = nodelint("test-rules", "team-rules")
    assert (done.returncode, done.stderr) == (1, "")
    head, found, *_ = done.stdout.splitlines()
    assert head.startswith("team-name: example 1: ") and law in head
    assert difference in found
    assert done.stdout.endswith("1 of 1 rule, 1 pair of examples: tests fail.\n")


def test_a_rule_of_ones_own_that_keeps_the_laws(nodelint: Run, tmp_path: Path) -> None:
    put_rule(tmp_path, HOLDS)
    done = nodelint("test-rules", "team-rules")
    assert (done.returncode, done.stdout, done.stderr) == (0, "All good: 1 rule, 1 pair of examples.\n", "")


def test_a_rule_of_ones_own_that_is_edited_acts_at_once(nodelint: Run, tmp_path: Path) -> None:
    """Two texts of one size, saved within a second, are one to Python's cache of bytecode."""
    codes = []
    for message in ("no team is named", "No team is named"):
        put_rule(tmp_path, HOLDS, message)
        os.utime(tmp_path / "team-rules" / "team-name.py", (1_700_000_000, 1_700_000_000))
        codes.append(nodelint("test-rules", "team-rules").returncode)
    assert codes == [0, 1]


def test_a_good_example_that_another_rule_finds_fault_with_is_not_good(nodelint: Run, tmp_path: Path) -> None:
    put_rule(tmp_path, HOLDS, good="team-Batch")
    done = nodelint("test-rules", "team-rules")
    assert done.returncode == 1
    assert "error[invalid-field]: line 1:" in done.stdout


def test_rules_that_cannot_be_tried_end_with_2(nodelint: Run, tmp_path: Path) -> None:
    assert nodelint("test-rules").returncode == 2
    assert nodelint("test-rules", "nowhere").returncode == 2
    put_rule(tmp_path, "not valid python")
    done = nodelint("test-rules", "team-rules")
    assert done.returncode == 2
    assert "SyntaxError" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("expr", "code", "expected"),
    [
        ("self.metadata.name.startsWith('team-')", 0, "All good: 1 rule, 1 pair of examples."),
        ("self.metadata.name.startsWith('t')", 0, "All good"),
        ("self.metadata.name.startsWith('b')", 1, "in the good example: line 1: not as we do it"),
        ("true", 1, "nothing is found in the bad example"),
        (
            "self.metadata.nothing == 'a'",
            1,
            "bad example: the policy cannot be evaluated: there is no `nothing` here",
        ),
    ],
)
def test_a_policy_is_tried_over_its_examples(
    nodelint: Run, tmp_path: Path, expr: str, code: int, expected: str
) -> None:
    put(tmp_path, policy(expr, bad=BAD % ("batch", GOOD), good=BAD % ("team-batch", GOOD)))
    done = nodelint("test-rules")
    assert (done.returncode, done.stderr) == (code, "")
    assert expected in done.stdout


def test_a_policy_has_both_examples_or_none(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, policy("true"))
    done = nodelint("test-rules")
    assert done.returncode == 2
    assert done.stdout == "ours: not tried: the policy has no `bad` and `good`\n"
    put(tmp_path, policy("true", bad="a: 1"))
    done = nodelint("test-rules")
    assert done.returncode == 2
    assert "examples come in pairs: `bad` and `good`" in done.stderr


def test_policies_of_a_team_do_not_judge_the_examples_of_its_rules(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, policy("false", bad=BAD % ("batch", GOOD), good=BAD % ("batch", GOOD)))
    put_rule(tmp_path, HOLDS)
    done = nodelint("test-rules", "team-rules")
    assert "team-name" not in done.stdout
