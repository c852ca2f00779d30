"""What the rules about disruption say, and where they are silent."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from nodelint.lint.engine import Report
from tests.manifests import nodepool

Check = Callable[..., Report]

WEEKDAYS = {"nodes": '"0"', "schedule": '"0 9 * * mon-fri"', "duration": "8h"}
ROUND_THE_CLOCK = {"nodes": '"0"', "schedule": '"@daily"', "duration": "24h"}


def pool(*budgets: dict[str, str], expire: str = "720h", policy: str = "WhenEmptyOrUnderutilized") -> str:
    entries = "".join(f"    - {{{', '.join(f'{k}: {v}' for k, v in budget.items())}}}\n" for budget in budgets)
    disruption = f"  disruption:\n    consolidationPolicy: {policy}\n    consolidateAfter: 5m\n"
    return nodepool(
        "key: kubernetes.io/arch, operator: In, values: [amd64]",
        spec=disruption + (f"    budgets:\n{entries}" if budgets else ""),
        template=f"      expireAfter: {expire}\n",
    )


def rule_messages(report: Report) -> list[tuple[str, str]]:
    assert not report.faults
    return [(r.rule.name, r.finding.message) for r in report.results]


BUDGET_RULES = ["blocking-budget", "budget-gap", "never-patched"]


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        ([], []),
        ([{"nodes": '"10%"'}], []),
        ([{"nodes": '"10%"'}, WEEKDAYS], []),
        ([{"nodes": '"10%"'}, {"nodes": '"0"', "reasons": "[Underutilized]"}], []),
        (
            [{"nodes": '"0"'}],
            [
                (
                    "blocking-budget",
                    "a budget of `0` nodes applies at all times: Karpenter replaces no node for drift or "
                    "consolidation",
                )
            ],
        ),
        (
            [{"nodes": '"0%"', "reasons": "[Drifted]"}, {"nodes": '"1"'}],
            [
                (
                    "blocking-budget",
                    "a budget of `0%` nodes applies at all times: Karpenter replaces no node for drift",
                )
            ],
        ),
        (
            [{"nodes": '"0%"', "reasons": "[Underutilized, Drifted]"}, {"nodes": '"100%"', "reasons": "[Empty]"}],
            [
                (
                    "blocking-budget",
                    "a budget of `0%` nodes applies at all times: Karpenter replaces no node for drift "
                    "and consolidates only empty nodes",
                )
            ],
        ),
        (
            [{"nodes": '"0"', "reasons": "[Empty, Drifted]"}, {"nodes": '"1"'}],
            [
                (
                    "blocking-budget",
                    "a budget of `0` nodes applies at all times: Karpenter replaces no node for drift, "
                    "and removes no empty node",
                )
            ],
        ),
        (
            [{"nodes": '"10%"'}, ROUND_THE_CLOCK],
            [
                (
                    "blocking-budget",
                    "the budgets allow no disruption at any time of the week: Karpenter never replaces a node for "
                    "drift",
                )
            ],
        ),
        (
            [WEEKDAYS],
            [
                (
                    "budget-gap",
                    "for 128 of 168 hours a week no budget limits disruption: Karpenter may replace all nodes at "
                    "once",
                )
            ],
        ),
        (
            [{"nodes": '"5"', "reasons": "[Underutilized]"}],
            [("budget-gap", "no budget ever limits drift: Karpenter may replace all nodes at once")],
        ),
        (
            [{"nodes": '"5"', "reasons": "[Drifted]"}],
            [("budget-gap", "no budget ever limits consolidation: Karpenter may replace all nodes at once")],
        ),
        ([{"nodes": "${NODES}", "schedule": '"0 9 * * *"', "duration": "8h"}], []),
        # refused: the entry must become whole first
        ([{"nodes": '"20%"', "schedule": '"@weekly"'}], []),
        ([{"nodes": '"20%"', "duration": "4h"}], []),
    ],
)
def test_budgets_as_they_act_over_a_week(
    check: Check, budgets: list[dict[str, str]], expected: list[tuple[str, str]]
) -> None:
    assert rule_messages(check(pool(*budgets), select=BUDGET_RULES)) == expected


def test_a_window_that_was_meant_as_a_permission(check: Check) -> None:
    (result,) = check(pool({**WEEKDAYS, "nodes": '"20%"'}), select=["budget-gap"]).results
    assert str(result.finding.note).startswith("a budget with a schedule restricts only while its window is open")
    assert 'write a budget of `nodes: "0"` for all other times' in str(result.finding.help)


@pytest.mark.parametrize(("after", "count"), [("10s", 1), ("11s", 0), ("1m", 0)])
def test_defaults_alone_are_no_finding(check: Check, after: str, count: int) -> None:
    found = check(pool().replace("consolidateAfter: 5m", f"consolidateAfter: {after}"), select=["default-disruption"])
    assert [", 10% at once" in result.message for result in found.results] == [True] * count


def test_nodes_that_expire_at_once(check: Check) -> None:
    (result,) = check(pool(expire="0s"), select=["node-churn"]).results
    assert result.severity == "warning" and "as soon as it starts" in result.finding.message


DEVICES = "key: karpenter.k8s.aws/instance-family, operator: In, values: [{family}]"


@pytest.mark.parametrize(("family", "limit", "count"), [("g6, g5", "1", 1), ("gr6", "1", 1), ("gr6", "2", 0)])
def test_a_limit_of_gpus_that_one_node_uses_up(check: Check, family: str, limit: str, count: int) -> None:
    text = nodepool(DEVICES.format(family=family), spec=f"  limits: {{nvidia.com/gpu: {limit}}}\n")
    assert len(check(text, select=["limit-out-of-proportion"]).results) == count


@pytest.mark.parametrize(
    ("karpenter", "replicas", "count"), [("1.10.1", "", 1), ("1.11.0", "", 0), ("1.10.1", "2", 0)]
)
def test_a_limit_of_nodes_before_pending_pods_counted_them(
    check: Check, karpenter: str, replicas: str, count: int
) -> None:
    static = f"  replicas: {replicas}\n" if replicas else ""
    text = nodepool(
        "key: kubernetes.io/arch, operator: In, values: [amd64]", spec=f"{static}  limits: {{nodes: 3}}\n"
    )
    assert len(check(text, karpenter=karpenter, select=["overrun-node-limit"]).results) == count


@pytest.mark.parametrize(("limits", "severity"), [("nodes: 3", "warning"), ("nodes: 3, cpu: 10", "info")])
def test_a_limit_of_nodes_beside_another_is_a_hint(check: Check, limits: str, severity: str) -> None:
    text = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", spec=f"  limits: {{{limits}}}\n")
    (result,) = check(text, karpenter="1.10.1", select=["overrun-node-limit"]).results
    assert result.severity == severity


def test_the_hint_says_the_week_in_words(check: Check) -> None:
    (result,) = check(pool(WEEKDAYS), select=["budget-gap"]).results
    assert result.finding.note == "a week of these budgets: Mon-Fri 09:00-17:00 UTC: nothing; otherwise no limit"


@pytest.mark.parametrize(
    ("budgets", "safe", "added"),
    [
        ([WEEKDAYS], True, '- {nodes: "10%"}'),
        ([{**WEEKDAYS, "nodes": '"0%"'}], True, '- {nodes: "10%"}'),
        ([{"nodes": '"5"', "reasons": "[Underutilized, Empty]"}], True, '- {nodes: "10%", reasons: [Drifted]}'),
        ([{"nodes": '"50%"', "schedule": '"0 9 * * *"', "duration": "8h"}], False, '- {nodes: "10%"}'),
    ],
)
def test_a_gap_is_closed_for_the_reasons_that_are_open(
    check: Check, budgets: list[dict[str, str]], safe: bool, added: str
) -> None:
    (result,) = check(pool(*budgets), select=["budget-gap"]).results
    (edit,) = result.finding.edits
    assert edit.text.strip() == added
    assert (result.safety == "safe") == safe


def test_what_cannot_be_known_of_budgets_is_said(check: Check) -> None:
    report = check(pool({"nodes": "${NODES}", "schedule": '"0 9 * * *"', "duration": "8h"}), select=["budget-gap"])
    assert [skip.reason for skip in report.skipped if skip.rule == "budget-gap"] == ["a budget holds a placeholder"]


def test_a_pool_that_nothing_replaces_is_one_finding(check: Check) -> None:
    found = rule_messages(check(pool({"nodes": '"0"'}, expire="Never"), select=[*BUDGET_RULES, "never-expires"]))
    assert [name for name, _ in found] == ["never-patched"]


@pytest.mark.parametrize(
    ("policy", "expire", "expected"),
    [
        ("WhenEmptyOrUnderutilized", "720h", []),
        ("WhenEmpty", "24h", ["every node expires within `24h`, whatever the budgets allow"]),
        ("WhenEmpty", "72h", ["every node expires within `72h`, whatever the budgets allow"]),
        ("WhenEmpty", "73h", []),
    ],
)
def test_churn(check: Check, policy: str, expire: str, expected: list[str]) -> None:
    assert [
        message for _, message in rule_messages(check(pool(expire=expire, policy=policy), select=["node-churn"]))
    ] == expected


@pytest.mark.parametrize(("expire", "is_noted"), [("48h", True), ("", True), ("null", True), ("Never", False)])
def test_a_drain_without_a_limit_is_noted_for_nodes_that_expire(check: Check, expire: str, is_noted: bool) -> None:
    text = pool(expire=expire).replace("consolidateAfter: 5m", "consolidateAfter: 0s")
    (result,) = check(text, select=["default-disruption"]).results
    assert (result.finding.note is not None) is is_noted


def test_empty_nodes_may_go_at_once(check: Check) -> None:
    text = pool(policy="WhenEmpty").replace("consolidateAfter: 5m", "consolidateAfter: 0s")
    assert not any("0s" in message for _, message in rule_messages(check(text, select=["default-disruption"])))
    moved = text.replace("WhenEmpty", "WhenEmptyOrUnderutilized")
    [(_, message)] = rule_messages(check(moved, select=["default-disruption"]))
    assert message.startswith("underutilized nodes are consolidated `0s` after their pods change")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("7d", "168h"),
        ("1w", "168h"),
        ("1d12h", "36h"),
        ("1 day", "24h"),
        ("90min", "90m"),
        ("24H", "24h"),
        ("never", "Never"),
    ],
)
def test_a_duration_that_go_does_not_read_is_put_right(check: Check, written: str, meant: str) -> None:
    (result,) = check(pool(expire=f'"{written}"'), select=["invalid-field"]).results
    assert result.finding.message.endswith(f"(did you mean `{meant}`?)")
    assert [edit.text for edit in result.finding.edits] != []


@pytest.mark.parametrize("written", ["soon", "7", "1 fortnight", "d", "-7d", "7dd"])
def test_what_is_no_duration_is_not_guessed(check: Check, written: str) -> None:
    (result,) = check(pool(expire=f'"{written}"'), select=["invalid-field"]).results
    assert "did you mean" not in result.finding.message
    assert result.finding.edits == []


@pytest.mark.parametrize(
    ("field", "taint", "expected"),
    [
        ("startupTaints", "karpenter.sh/unregistered:NoExecute", ["info"]),
        ("startupTaints", "karpenter.sh/unregistered:NoSchedule", ["error"]),
        ("taints", "karpenter.sh/unregistered:NoExecute", ["warning"]),
        ("startupTaints", "node.kubernetes.io/not-ready:NoSchedule", ["info"]),
        ("taints", "node.kubernetes.io/not-ready:NoExecute", ["info"]),
        ("startupTaints", "node.cilium.io/agent-not-ready:NoExecute", []),
        ("taints", "karpenter.sh/unregistered:PreferNoSchedule", []),
    ],
)
def test_taints_that_others_set_and_remove(check: Check, field: str, taint: str, expected: list[str]) -> None:
    key, effect = taint.rsplit(":", 1)
    text = pool().replace(
        "      requirements:", f"      {field}: [{{key: {key}, effect: {effect}}}]\n      requirements:"
    )
    assert [r.severity for r in check(text, select=["misused-taint"]).results] == expected


@pytest.mark.parametrize(
    ("expire", "grace", "expected"),
    [
        ("720h", None, "`720h` plus a grace period of 24h is 744h: EKS Auto Mode allows at most 504h"),
        ("Never", None, "`Never` sets no limit: EKS Auto Mode allows at most 504h"),
        ("480h", None, None),
        ("480h", "48h", "`480h` plus a grace period of 48h is 528h: EKS Auto Mode allows at most 504h"),
        ("336h", "24h0m0s", None),
        ("${EXPIRE}", None, None),
    ],
)
def test_auto_mode_replaces_nodes_after_21_days(
    check: Check, expire: str, grace: str | None, expected: str | None
) -> None:
    drain = f"\n      terminationGracePeriod: {grace}" if grace else ""
    text = pool(expire=expire + drain).replace("karpenter.k8s.aws, kind: EC2", "eks.amazonaws.com, kind: ")
    found = [r.finding.message for r in check(text).results]
    assert found == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("expire", "note"),
    [
        ("240h", "new images and changed manifests reach running nodes only when the nodes expire (after `240h`)"),
        ("${AGE}", "new images and changed manifests reach running nodes only when the nodes expire"),
    ],
)
def test_expiration_asks_no_budget(check: Check, expire: str, note: str) -> None:
    (result,) = check(pool({"nodes": '"0"'}, expire=expire), select=["blocking-budget"]).results
    assert result.finding.note == note


def test_nodes_of_auto_mode_that_never_expire_are_never_reached(check: Check) -> None:
    text = pool({"nodes": '"0"'}, expire="Never").replace(
        "group: karpenter.k8s.aws, kind: EC2NodeClass", "group: eks.amazonaws.com, kind: NodeClass"
    )
    (result,) = check(text, select=["blocking-budget"]).results
    assert result.finding.note == "new images and changed manifests never reach running nodes"


@pytest.mark.parametrize(
    ("schedule", "duration", "expected"),
    [
        ("0 9-17 * * mon-fri", "8h", "active Mon-Fri 09:00-01:00 UTC"),
        ("*/30 9 * * mon", "45m", "active Mon 09:00-10:15 UTC"),
        ("* * * * *", "5m", "active at all times"),
        ("@hourly", "2h", "active at all times"),
        ("@hourly", "1h", None),  # one window follows the other: meant so
        ("0 9 * * *", "24h", None),
        ("0 9,17 * * mon-fri", "8h", None),
        ("0 9 * * mon", "1h30m", None),
    ],
)
def test_a_schedule_that_hits_again_too_soon(
    check: Check, schedule: str, duration: str, expected: str | None
) -> None:
    budget = {"nodes": '"1"', "schedule": f'"{schedule}"', "duration": duration}
    report = check(pool({"nodes": '"10%"'}, budget), select=["overlapping-budget-hits"])
    assert [r.finding.message.partition("this budget is ")[2] for r in report.results] == (
        [expected] if expected else []
    )


def in_zone(zone: str, schedule: str) -> str:
    budget = {"nodes": '"1"', "schedule": f'"{schedule}"', "duration": "8h"}
    text = pool({"nodes": '"10%"'}, budget)
    return f"{text}        - {{key: topology.kubernetes.io/zone, operator: In, values: [{zone}]}}\n"


@pytest.mark.parametrize(
    ("zone", "schedule", "message", "note"),
    [
        (
            "us-east-1a",
            "0 9 * * mon-fri",
            "Mon-Fri 09:00-17:00 UTC is 04:00-12:00 in us-east-1",
            "an hour later in summer",
        ),
        ("ap-south-1a", "30 9 * * *", "every day 09:30-17:30 UTC is 15:00-23:00 in ap-south-1", None),
        ('"${ZONE}"', "0 9 * * *", "active every day 09:00-17:00 UTC", None),
        ("us-east-1a, eu-west-1a", "0 9 * * *", "active every day 09:00-17:00 UTC", None),
    ],
)
def test_hours_are_told_in_the_regions_time(
    check: Check, zone: str, schedule: str, message: str, note: str | None
) -> None:
    [result] = check(in_zone(zone, schedule), select=["budget-in-utc"]).results
    assert result.finding.message == f"`{schedule}` is in UTC: {message}"
    assert result.finding.note == note


@pytest.mark.parametrize(
    "text",
    [
        in_zone("eu-west-1a", "0 9 * * mon-fri"),
        in_zone("ap-northeast-2a", "0 0 * * mon-fri"),  # 9 o'clock there
        in_zone("us-east-1a", "0 * * * *"),
        in_zone("us-east-1a", "0 9 * * *").replace("    budgets:", "    # in UTC\n    budgets:"),
        pool({"nodes": '"10%"'}),
    ],
)
def test_hours_that_were_thought_of_are_let_alone(check: Check, text: str) -> None:
    assert rule_messages(check(text, select=["budget-in-utc"])) == []


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        (
            "helm.sh/hook: post-install",
            "Helm creates this NodePool when it installs the release and never updates it: it is a hook",
        ),
        ("helm.sh/hook: crd-install", "Helm does not install this NodePool: it knows no hook `crd-install`"),
        (
            "helm.sh/hook: 'post-install, Post-Upgrade', helm.sh/hook-delete-policy: hook-succeeded",
            "Helm deletes this NodePool as soon as the hook has created it",
        ),
        (
            "helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: 'before-hook-creation,hook-failed'",
            "each `helm upgrade` deletes this NodePool and creates it again",
        ),
        ("argocd.argoproj.io/hook: PostSync", "each sync of Argo CD deletes this NodePool and creates it again"),
        ("argocd.argoproj.io/hook: Skip", None),
        ("argocd.argoproj.io/hook: Sync, argocd.argoproj.io/hook-delete-policy: HookFailed", None),
        ("helm.sh/hook: '{{ .Values.hook }}'", None),
        ("helm.sh/hook-weight: '1'", None),
    ],
)
def test_an_object_that_is_a_hook(check: Check, annotations: str, message: str | None) -> None:
    text = pool().replace("  name: default\nspec", f"  name: default\n  annotations: {{{annotations}}}\nspec", 1)
    found = [result.finding.message for result in check(text, select=["helm-hook"]).results]
    assert found == ([] if message is None else [message])


NIGHT = {"schedule": '"0 2 * * *"', "duration": "2h"}
ALWAYS = "always applies, and Karpenter uses the smallest budget"


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        (
            [{"nodes": '"1"'}, {"nodes": '"10%"', **NIGHT}],
            [("warning", "`1`", "`10%` never allows more")],
        ),
        ([{"nodes": '"1"', **NIGHT}, {"nodes": '"1"'}], [("info", "`1`", "`1` has no effect")]),
        ([{"nodes": '"10%"'}, {"nodes": '"10%"'}], [("info", "`10%`", "`10%` has no effect")]),
        ([{"nodes": '"2"'}, {"nodes": '"10%"', **NIGHT}], []),
        ([{"nodes": '"10%"'}, {"nodes": '"5"', **NIGHT}], []),
        ([{"nodes": '"10%"'}, {"nodes": '"0"', **NIGHT}], []),
        ([{"nodes": '"1"', "reasons": "[Drifted]"}, {"nodes": '"50%"', **NIGHT}], []),
        (
            [{"nodes": '"1"', "reasons": "[Drifted]"}, {"nodes": '"50%"', "reasons": "[Drifted]", **NIGHT}],
            [("warning", "`1`", "`50%` never allows more")],
        ),
        ([{"nodes": '"1"'}, {"nodes": '"${MOST}"', **NIGHT}], []),
    ],
)
def test_a_budget_that_never_counts(
    check: Check, budgets: list[dict[str, str]], expected: list[tuple[str, str, str]]
) -> None:
    report = check(pool(*budgets), select=["budget-without-effect"])
    messages = [
        (severity, f"the budget of {limit} {ALWAYS}: this budget of {words}") for severity, limit, words in expected
    ]
    assert [(r.severity, r.finding.message) for r in report.results] == messages


def test_of_budgets_that_stand_in_for_each_other_enough_stay(check: Check) -> None:
    by_twos = [{"nodes": '"10%"', "reasons": f"[{two}]"} for two in ("Drifted, Empty", "Empty, Underutilized")]
    text = pool(*by_twos, {"nodes": '"10%"', "reasons": "[Drifted, Underutilized]"})
    [result] = check(text, select=["budget-without-effect"]).results
    assert (result.span.start, result.fixable) == (text.rindex('"10%"'), True)


def test_the_budget_that_counts_is_named_in_the_order_of_the_reasons(check: Check) -> None:
    limits = {"Underutilized": "12%", "Empty": "11%", "Drifted": "10%"}
    by_reason = [{"nodes": f'"{limit}"', "reasons": f"[{reason}]"} for reason, limit in limits.items()]
    text = pool(*by_reason, {"nodes": '"50%"'})
    [result] = check(text, select=["budget-without-effect"], karpenter="1.14.3").results
    assert "the budget of `10%` always applies" in result.finding.message


def test_a_budget_of_repair_is_one_of_its_own_where_repair_keeps_to_budgets(check: Check) -> None:
    by_reason = [{"nodes": '"10%"', "reasons": f"[{reason}]"} for reason in ("Underutilized", "Empty", "Drifted")]
    every = pool(*by_reason, {"nodes": '"50%"'})
    found = {
        release: len(check(every, select=["budget-without-effect"], karpenter=release).results)
        for release in ("1.14.3", "1.15.0")
    }
    assert found == {"1.14.3": 1, "1.15.0": 0}
    repaired = pool({"nodes": '"10%"'}, {"nodes": '"20%"', "reasons": "[Unhealthy]"})
    assert len(check(repaired, select=["budget-without-effect"]).results) == 1


def test_a_budget_under_a_condition_of_a_template_may_not_be_there(check: Check) -> None:
    text = pool({"nodes": '"0"'}, {"nodes": '"10%"'}, {"nodes": '"20%"'})
    frozen = '    - {nodes: "0"}\n'
    assert frozen in text
    text = text.replace(frozen, "    {{- if .Values.frozen }}\n" + frozen + "    {{- end }}\n")
    [result] = check(text, select=["blocking-budget", "budget-without-effect"]).results
    assert result.finding.message == (
        "the budget of `10%` always applies, and Karpenter uses the smallest budget: this budget of `20%` "
        "never allows more"
    )


def test_a_window_that_a_budget_of_zero_closes_is_told_with_that(check: Check) -> None:
    both = ["blocking-budget", "budget-without-effect"]
    [result] = check(pool({"nodes": '"0"'}, {"nodes": '"30%"', **NIGHT}), select=both).results
    assert result.rule.name == "blocking-budget"
    assert [place.message for place in result.finding.also] == ["has no effect: the smallest active budget counts"]


def test_a_budget_of_the_same_hours_counts_no_less(check: Check) -> None:
    day = {"schedule": '"0 9 * * mon-fri"', "duration": "8h"}
    hour = {"schedule": '"0 12 * * mon"', "duration": "1h"}
    report = check(pool({"nodes": '"0"', **day}, {"nodes": '"5"', **hour}), select=["budget-without-effect"])
    assert [r.finding.message for r in report.results] == [
        "the budget of `0` applies whenever this one does, and Karpenter uses the smallest budget: this budget "
        "of `5` never allows more"
    ]
    assert report.results[0].finding.help == "to allow more, restrict the budget of `0` to other hours"


@pytest.mark.parametrize("slip", [{"reasons": "[Drift]"}, {"schedule": '"0 9 * * mon-fri"', "duration": "8hours"}])
def test_a_slip_in_a_budget_is_told_once(check: Check, slip: dict[str, str]) -> None:
    report = check(pool({"nodes": '"0"', **slip}), select=[*BUDGET_RULES, "invalid-field"])
    assert [name for name, _ in rule_messages(report)] == ["invalid-field"]


@pytest.mark.parametrize(
    ("name", "after", "expected"),
    [
        ("default", "5m", []),
        ("default", "1m", []),
        (
            "ci",
            "5m",
            [
                "Karpenter consolidates underutilized nodes after `5m`: jobs of this pool (`ci`) are evicted "
                "while they run"
            ],
        ),
        ("ci", "1h", []),
    ],
)
def test_what_runs_for_long_is_not_moved(check: Check, name: str, after: str, expected: list[str]) -> None:
    text = pool().replace("name: default\nspec", f"name: {name}\nspec").replace("After: 5m", f"After: {after}")
    assert [message for _, message in rule_messages(check(text, select=["node-churn"]))] == expected
    assert rule_messages(check(text.replace("WhenEmptyOrUnderutilized", "WhenEmpty"), select=["node-churn"])) == []


def v1beta1(text: str) -> str:
    old = text.replace("karpenter.sh/v1", "karpenter.sh/v1beta1").replace("WhenEmptyOr", "When")
    old = old.replace("group: karpenter.k8s.aws, kind: EC2NodeClass, ", "").replace("      expireAfter: 24h\n", "")
    return old.replace("    consolidateAfter: 5m\n", "    expireAfter: 24h\n")


@pytest.mark.parametrize("release", ["1.0.8", "1.14.1"])
def test_v1beta1_is_judged_by_what_it_becomes(check: Check, release: str) -> None:
    text = v1beta1(pool({"nodes": '"0"', **NIGHT}, {"nodes": '"10%"'}, expire="24h"))
    report = check(text, karpenter=release, select=["node-churn", "default-disruption", "removed-api"])
    assert {(r.rule.name, r.span.source.text[r.span.start : r.span.end]) for r in report.results} == {
        ("removed-api", "karpenter.sh/v1beta1"),
        ("default-disruption", "WhenUnderutilized"),
        ("node-churn", "24h"),
    }
    [ending] = [r for r in report.results if r.rule.name == "removed-api"]
    assert ending.severity == ("info" if release == "1.0.8" else "error")
    assert ending.finding.note == (
        "from 1.0 on, Karpenter drains expired nodes whatever the budgets say; before, budgets delayed expiry"
    )


def test_what_v1beta1_refused_of_consolidation_is_said_of_every_target(check: Check) -> None:
    text = v1beta1(pool(expire="24h")).replace("    expireAfter", "    consolidateAfter: 30s\n    expireAfter")
    words = "consolidateAfter cannot go with consolidationPolicy WhenUnderutilized"
    assert words in [message for _, message in rule_messages(check(text, karpenter="1.0.8"))]
    assert ("removed-api", f"v1beta1 refused this too: {words}") in rule_messages(check(text, karpenter="1.14.1"))


@pytest.mark.parametrize(
    ("name", "taint", "expected"),
    [
        ("apps", "{key: CriticalAddonsOnly, effect: NoSchedule}", True),
        ("apps", "{key: node-role.example/dedicated, value: system, effect: NoSchedule}", True),
        ("on-demand-system", "{key: dedicated, value: a, effect: NoSchedule}", True),
        ("apps", "{key: system.example/dedicated, value: batch, effect: NoSchedule}", False),
        ("apps", "{key: dedicated, value: arm64-runners, effect: NoSchedule}", False),
        ("apps", "{key: CriticalAddonsOnly, effect: NoSchedule}, {key: batch, effect: NoSchedule}", False),
    ],
)
def test_tainted_pools_of_services_that_consolidate_empty_nodes_only(
    check: Check, name: str, taint: str, expected: bool
) -> None:
    text = pool(policy="WhenEmpty").replace("    spec:", f"    spec:\n      taints: [{taint}]")
    text = re.sub(r"(?m)^  name: .*", f"  name: {name}", text, count=1)
    assert (
        any("small pod" in message for _, message in rule_messages(check(text, select=["default-disruption"])))
        == expected
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (pool(policy="WhenEmpty"), True),
        (pool(), False),
        (pool(policy="WhenEmpty").replace("consolidateAfter: 5m", "consolidateAfter: Never"), False),
        (
            pool(policy="WhenEmpty").replace("    spec:", "    spec:\n      taints: [{key: a, effect: NoSchedule}]"),
            False,
        ),
        (
            pool(policy="WhenEmpty").replace(
                "      requirements:\n",
                "      requirements:\n        - {key: karpenter.k8s.aws/instance-gpu-count, operator: Exists}\n",
            ),
            False,
        ),
    ],
)
def test_pools_that_consolidate_empty_nodes_only(check: Check, text: str, expected: bool) -> None:
    assert (
        any("small pod" in message for _, message in rule_messages(check(text, select=["default-disruption"])))
        == expected
    )


@pytest.mark.parametrize(
    ("limits", "families", "expected"),
    [
        ("cpu: 100", "c7a, x2iedn", True),
        ("cpu: 100", "c7a, r7a", False),  # four times the memory, less than twice the price
        ("cpu: 100", "c7a, m7a", False),
        ("cpu: 100", "c1, m7a", False),  # Xen-era shapes count for nothing
        ("cpu: 100", "r7a", False),
        ("cpu: 100, memory: 400Gi", "c7a, x2iedn", False),
        ("cpu: 100, nodes: 10", "c7a, x2iedn", False),
        ("memory: 400Gi", "c7a, x2iedn", False),
        ("cpu: '${CPUS}'", "c7a, x2iedn", False),
    ],
)
def test_cpus_that_may_come_with_little_or_much_memory(
    check: Check, limits: str, families: str, expected: bool
) -> None:
    line = f"        - {{key: karpenter.k8s.aws/instance-family, operator: In, values: [{families}]}}\n"
    text = pool().replace("spec:\n", f"spec:\n  limits: {{{limits}}}\n", 1)
    text = text.replace("      requirements:\n", f"      requirements:\n{line}")
    found = check(text, select=["no-limits"]).results
    assert [result.finding.message.partition(":")[0] for result in found] == (
        ["no limit on memory"] if expected else []
    )


def of_sizes(sizes: str, limits: str) -> str:
    lines = (
        "instance-family, operator: In, values: [m7i, c7i]}",
        f"instance-size, operator: In, values: [{sizes}]}}",
    )
    added = "".join(f"        - {{key: karpenter.k8s.aws/{line}\n" for line in lines)
    text = pool().replace("spec:\n", f"spec:\n  limits: {{{limits}}}\n", 1)
    return text.replace("      requirements:\n", f"      requirements:\n{added}")


def test_the_nodes_of_a_static_pool_are_not_consolidated(check: Check) -> None:
    rules = ["default-disruption", "late-consolidation", "node-churn"]
    text = pool(policy="WhenEmpty").replace("After: 5m", "After: 2h")
    assert [rule for rule, _ in rule_messages(check(text, select=rules))] == [
        "default-disruption",
        "late-consolidation",
    ]
    static = rule_messages(check(text.replace("spec:\n", "spec:\n  replicas: 2\n", 1), select=rules))
    assert not any("WhenEmpty" in message for _, message in static)


@pytest.mark.parametrize(
    ("sizes", "limits", "messages"),
    [
        ("large, 8xlarge", "cpu: 20", ["no node of instance-size `8xlarge` fits the cpu limit `20`"]),
        ("large, 8xlarge", "memory: 32Gi", ["no node of instance-size `8xlarge` fits the memory limit `32Gi`"]),
        (
            "large, 8xlarge, 12xlarge, 16xlarge",
            "cpu: 20",
            ["no node of instance-size `8xlarge`, `12xlarge` or 1 more fits the cpu limit `20`"],
        ),
        ("large, 8xlarge", "cpu: 32", []),
        ("large, 8xlarge", "memory: 64Gi", ["no `m7i.8xlarge` fits the memory limit `64Gi`"]),  # c7i.8xlarge does
        ("large, 8xlarge", "memory: 128Gi", []),
        ("8xlarge, 12xlarge", "cpu: 20", []),  # which limit-too-small says
        ("large, 8xlarge", "cpu: '${CPUS}'", []),
    ],
)
def test_values_beyond_a_limit(check: Check, sizes: str, limits: str, messages: list[str]) -> None:
    found = check(of_sizes(sizes, limits), select=["types-beyond-limit"]).results
    assert [result.finding.message for result in found] == messages


@pytest.mark.parametrize(
    ("place", "annotation", "message", "safety"),
    [
        ("template", "node.alpha.kubernetes.io/ttl: '0'", "`node.alpha.kubernetes.io/ttl` gives nodes no", "unsafe"),
        ("template", "karpenter.sh/do-not-evict: 'true'", "`karpenter.sh/do-not-evict` has no effect", "unsafe"),
        (
            "template",
            "karpenter.sh/do-not-disrupt: 'true'",
            "each node gets this annotation: Karpenter never consolidates",
            "unsafe",
        ),
        ("template", "karpenter.sh/do-not-disrupt: 'false'", None, None),
        ("object", "karpenter.sh/do-not-disrupt: 'true'", "`karpenter.sh/do-not-disrupt` has no effect on a", "safe"),
        ("object", "node.alpha.kubernetes.io/ttl: '0'", None, None),
        ("template", "example.com/ttl: '0'", None, None),
    ],
)
def test_annotations_that_do_not_what_they_seem_to(
    check: Check, place: str, annotation: str, message: str | None, safety: str | None
) -> None:
    annotations = f"annotations: {{example.com/owner: me, {annotation}}}\n"
    line, new = (
        ("  template:\n", f"  template:\n    metadata:\n      {annotations}")
        if place == "template"
        else ("  name: default\nspec", f"  name: default\n  {annotations}spec")
    )
    found = check(pool().replace(line, new, 1), select=["misplaced-annotation"]).results
    assert [(result.finding.message[: len(message or "")], result.safety) for result in found] == (
        [] if message is None else [(message, safety)]
    )


@pytest.mark.parametrize(
    ("categories", "limits", "expected"),
    [
        ("g, p", "cpu: 1000", True),  # g6f has a part of a GPU
        ("g, p", "cpu: 1000, nvidia.com/gpu: 8", False),
        ("g, p, c", "cpu: 1000", False),
    ],
)
def test_limits_that_count_no_gpu(check: Check, categories: str, limits: str, expected: bool) -> None:
    line = f"        - {{key: karpenter.k8s.aws/instance-category, operator: In, values: [{categories}]}}\n"
    text = pool().replace("spec:\n", f"spec:\n  limits: {{{limits}}}\n", 1)
    text = text.replace("      requirements:\n", f"      requirements:\n{line}")
    found = check(text, select=["no-limits"]).results
    assert [result.finding.message.partition(":")[0] for result in found] == (
        ["no limit covers GPUs"] if expected else []
    )


def test_a_pool_without_a_template_is_told_of_that_alone(check: Check) -> None:
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  limits: {cpu: 10}\n"
    assert [rule for rule, _ in rule_messages(check(text, select=["accelerator-by-accident", "invalid-field"]))] == [
        "invalid-field"
    ]


def test_a_missing_wait_is_offered(check: Check) -> None:
    text = pool().replace("    consolidateAfter: 5m\n", "")
    [result] = check(text, select=["invalid-field"], karpenter="1.14.3").results
    assert [suggestion.name for suggestion in result.finding.suggestions] == [
        "consolidateAfter 5m",
        "consolidateAfter 0s",
    ]
    assert all(suggestion.edits for suggestion in result.finding.suggestions)


@pytest.mark.parametrize(
    ("comment", "count"),
    [
        ("empty the pool, Monday to Friday", 1),
        ("empties all nodes at night", 1),
        ("from 20:00 on the whole pool may be taken down: nodes may be removed", 1),
        ("do not remove all nodes at once", 0),
        ("protect all nodes: nothing may remove every node", 0),
        ("empty nodes stay for the night", 0),
        ("office hours", 0),
    ],
)
@pytest.mark.parametrize("above", [True, False])
def test_a_budget_of_zero_whose_comment_says_that_it_empties(
    check: Check, comment: str, count: int, above: bool
) -> None:
    entry = '      - nodes: "0"\n        schedule: "0 20 * * 1-5"\n        duration: 11h\n'
    entry = f"      # {comment}\n{entry}" if above else entry.replace("\n", f" # {comment}\n", 1)
    text = nodepool(spec=f'  disruption:\n    budgets:\n{entry}      - nodes: "10%"\n')
    assert len(check(text, select=["comment-against-value"]).results) == count
