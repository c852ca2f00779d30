"""What kubectl prints, sorted by cause: events as tables, YAML and JSON, conditions, describe, and a bare message."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodelint.model.releases import Version
from nodelint.report.triage import triage_json, triage_text
from nodelint.triage import NoLog, Triage, triage
from nodelint.triage.causes import causes
from tests.conftest import ROOT
from tests.plain_yaml import dump_all_yaml, dump_yaml

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "schemas" / "triage.schema.json").read_text(encoding="utf-8"))
)

TOO_LARGE = (
    'Failed to schedule pod, incompatible with nodepool "default", daemonset overhead={"cpu":"150m"}, no instance '
    'type satisfied resources {"cpu":"4000"} and requirements kubernetes.io/arch In [amd64] (no instance type has '
    "enough resources)"
)
TABLE = f"""\
LAST SEEN   TYPE      REASON                      OBJECT                    MESSAGE
3m12s       Warning   FailedScheduling            pod/inflate-7d5f8-x2x8z   0/3 nodes are available: unbound pvc
3m10s       Warning   FailedScheduling            pod/inflate-7d5f8-x2x8z   {TOO_LARGE}
2m          Normal    Nominated                   pod/web-1                 Pod should schedule on: nodeclaim/d-a0x90
90s         Warning   InsufficientCapacityError   nodeclaim/d-a0x90         NodeClaim d-a0x90 event: creating instance
5s          Normal    DisruptionBlocked           node/ip-10-0-0-1          Node isn't disruptable
"""
EVENTS_COMMAND = f"""\
NAMESPACE   LAST SEEN                TYPE      REASON             OBJECT        MESSAGE
shop        2m10s (x14 over 31m)     Warning   FailedScheduling   Pod/cart-0    {TOO_LARGE}
"""
COLUMNS = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "SUBOBJECT", "SOURCE", "MESSAGE", "FIRST SEEN", "COUNT", "NAME")
WIDE = "\n".join(
    "   ".join(cell.ljust(len(TOO_LARGE) if n == 6 else 20) for n, cell in enumerate(row)).rstrip()
    for row in (
        COLUMNS,
        ("3m", "Warning", "FailedScheduling", "pod/cart-0", "", "karpenter", TOO_LARGE, "31m", "14", "cart-0.1"),
        (
            "3m",
            "Warning",
            "FailedScheduling",
            "pod/cart-0",
            "",
            "default-scheduler",
            TOO_LARGE,
            "31m",
            "90",
            "cart-0.2",
        ),
    )
)
DESCRIBED = """\
Name:         default-a0x90
Namespace:
Labels:       karpenter.sh/nodepool=default
API Version:  karpenter.sh/v1
Kind:         NodeClaim
Spec:
  Node Class Ref:
    Kind:  EC2NodeClass
    Name:  default
Status:
  Conditions:
    Last Transition Time:  2026-02-10T05:00:05Z
    Message:               launching nodeclaim, no instance types satisfy requirements of amis [ami-0c1f7a2b9d3e4f5a6]
    Observed Generation:   1
    Reason:                LaunchFailed
    Status:                Unknown
    Type:                  Launched
    Last Transition Time:  2026-02-10T05:00:05Z
    Message:               Node not registered with cluster
    Reason:                NodeNotFound
    Status:                Unknown
    Type:                  Registered
    Last Transition Time:  2026-02-10T05:00:05Z
    Message:               Initialized=Unknown, Launched=Unknown, Registered=Unknown
    Reason:                ReconcilingDependents
    Status:                Unknown
    Type:                  Ready
Events:
  Type     Reason                     Age                From       Message
  ----     ------                     ----               ----       -------
  Warning  InsufficientCapacityError  3m (x10 over 30m)  karpenter  NodeClaim event: no instance types found
"""
DESCRIBED_POD = f"""\
Name:             cart-0
Namespace:        shop
Status:           Pending
Containers:
  cart:
    Image:  shop/cart
QoS Class:        Burstable
Events:
  Type     Reason            Age                 From               Message
  ----     ------            ----                ----               -------
  Warning  FailedScheduling  35m                 default-scheduler  0/3 nodes are available: 3 Insufficient cpu.
  Warning  FailedScheduling  5m (x9 over 35m)    karpenter          {TOO_LARGE}
"""


def event(**expected: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "x.1", "namespace": "shop"},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "cart-0"},
        "source": {"component": "karpenter"},
        "type": "Warning",
        **expected,
    }


def condition(kind: str, status: str, reason: str, message: str = "") -> dict[str, str]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-02-10T05:00:05Z",
    }


OBJECTS: list[dict[str, object]] = [
    event(
        reason="FailedScheduling",
        message=TOO_LARGE,
        count=14,
        firstTimestamp="2026-02-10T05:00:00Z",
        lastTimestamp="2026-02-10T05:31:00Z",
    ),
    event(reason="FailedScheduling", message="0/3 nodes", source={"component": "default-scheduler"}, count=90),
    {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "default-a0x90"},
        "status": {
            "conditions": [
                condition("Launched", "True", "Launched"),
                condition("Registered", "Unknown", "NodeNotFound", "Node not registered with cluster"),
                condition("Initialized", "Unknown", "NodeNotFound", "Node not registered with cluster"),
                condition("Consolidatable", "False", "NotYet"),
                condition("Ready", "Unknown", "ReconcilingDependents", "Initialized=Unknown, Registered=Unknown"),
            ]
        },
    },
    {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "web"},
        "status": {
            "conditions": [condition("AMIsReady", "False", "AMINotFound", "AMISelector did not match any AMIs")]
        },
    },
    {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "web"},
        "status": {
            "conditions": [
                condition("ValidationSucceeded", "False", "NodePoolValidationFailed", "invalid value: a*b"),
                condition("NodeClassReady", "True", "NodeClassReady"),
                condition("Ready", "False", "UnreadyDependents", "ValidationSucceeded=False"),
            ]
        },
    },
]


def read(text: str, release: Version | None = None) -> Triage:
    found = triage(text.encode().splitlines(keepends=True), release)
    SCHEMA.validate(triage_json(found, "-"))
    return found


def groups_by_cause(found: Triage) -> dict[str, tuple[str, int]]:
    return {group.cause.id if group.cause else group.title: (group.verdict, group.times) for group in found.groups}


def test_a_table_of_events_has_karpenters_alone() -> None:
    found = read(TABLE)
    assert groups_by_cause(found) == {
        "pod-too-large": ("stays", 1),
        "capacity": ("passes", 1),
        "DisruptionBlocked: Node isn't disruptable": ("unclear", 1),  # no words of Karpenter's that are known
    }
    assert (found.kind, found.read, found.unread, found.releases) == ("objects", 4, 1, ())
    large = next(group for group in found.groups if group.cause and group.cause.id == "pod-too-large")
    assert large.names["Pod"] == ("inflate-7d5f8-x2x8z",)
    text = triage_text(found, "events.txt")
    assert text.startswith(
        "events.txt: 4 events and unmet conditions of Karpenter (release not known), without times"
    )


def test_the_other_tables_of_kubectl_tell_how_often() -> None:
    assert groups_by_cause(read(EVENTS_COMMAND)) == {"pod-too-large": ("stays", 14)}
    [group] = read(EVENTS_COMMAND).groups
    assert group.names["Pod"] == ("shop/cart-0",)
    assert groups_by_cause(read(WIDE)) == {"pod-too-large": ("stays", 14)}


def test_describe_tells_conditions_and_events() -> None:
    assert groups_by_cause(read(DESCRIBED)) == {"image-none-fits": ("stays", 1), "no-types-known": ("unclear", 10)}
    assert groups_by_cause(read(DESCRIBED, Version(1, 7, 0)))["no-types-known"] == ("stays", 10)
    assert groups_by_cause(read(DESCRIBED_POD)) == {"pod-too-large": ("stays", 9)}
    assert {group.names["Pod"] for group in read(DESCRIBED_POD).groups} == {("shop/cart-0",)}


@pytest.mark.parametrize(
    "written",
    [
        lambda objects: dump_yaml({"apiVersion": "v1", "items": objects, "kind": "List"}),
        lambda objects: dump_all_yaml(objects),
        lambda objects: json.dumps({"apiVersion": "v1", "items": objects, "kind": "List"}, indent=4),
        lambda objects: "\n".join(map(json.dumps, objects)),
        lambda objects: json.dumps(objects, indent=2),
    ],
    ids=["YAML list", "YAML documents", "JSON list", "JSON lines", "JSON array"],
)
def test_events_and_conditions_in_any_form_tell_the_same(written: Callable[[list[dict[str, object]]], str]) -> None:
    found = read(written(OBJECTS))
    assert groups_by_cause(found) == {
        "pod-too-large": ("stays", 14),
        "not-registered": ("unclear", 1),
        "images-empty": ("stays", 1),
        "pool-refused": ("stays", 1),
    }
    assert "2026-02-10 05:00:00 to 05:31:00 UTC" in triage_text(found, "-")
    large = next(group for group in found.groups if group.cause and group.cause.id == "pod-too-large")
    assert large.first is not None and large.last is not None and large.last - large.first == 31 * 60


def test_objects_that_are_well_have_no_failures() -> None:
    well = {**OBJECTS[3], "status": {"conditions": [condition("Ready", "True", "Ready")]}}
    assert triage_text(read(json.dumps(well)), "-").endswith("No failures.")


def test_events_show_the_same_launch_again_and_again() -> None:
    events: list[dict[str, object]] = []
    for n in range(3):
        claim = {"kind": "NodeClaim", "name": f"web-{n}x7k2"}
        nominated = event(
            type="Normal",
            reason="Nominated",
            message=f"Pod should schedule on: nodeclaim/web-{n}x7k2",
            lastTimestamp=f"2026-02-10T05:0{n * 2}:00Z",
        )
        ready = event(
            type="Normal", reason="Initialized", involvedObject=claim, lastTimestamp=f"2026-02-10T05:0{n * 2 + 1}:00Z"
        )
        events += [ready, nominated]
    assert groups_by_cause(read(json.dumps({"apiVersion": "v1", "items": events}))) == {
        "launched-again": ("stays", 3)
    }
    only_nominated = [event for event in events if event["reason"] == "Nominated"]
    assert groups_by_cause(read(json.dumps({"apiVersion": "v1", "items": only_nominated}))) == {}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("no instance types satisfy requirements of amis [ami-1]\n", "image-none-fits"),
        (
            "launching nodeclaim, creating instance,\n no instance types satisfy requirements\n of amis\n",
            "image-none-fits",
        ),
        ("AMISelector did not match any AMIs", "images-empty"),
    ],
)
def test_a_bare_message_is_read(text: str, cause: str) -> None:
    found = read(text)
    assert (found.kind, groups_by_cause(found)) == ("messages", {cause: ("stays", 1)})


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('label domain "kubernetes.io" is restricted', "label-restricted"),
        ('label "kubernetes.io/hostname" is restricted', "label-restricted"),
        (
            'The NodePool "web" is invalid: spec.template.spec.requirements[0].key: Invalid value: "string": '
            'label domain "karpenter.sh" is restricted',
            "label-restricted",
        ),
        (
            "  Warning  NodePoolValidationFailed  3m  karpenter  using label kubernetes.io/role is not allowed as it "
            "might interfere with the internal provisioning logic; specify a well known label",
            "label-restricted",
        ),
        ('The EC2NodeClass "web" is invalid: spec: Invalid value: "object": must specify a role', "object-refused"),
        (
            'Error from server (BadRequest): error when creating "pool.yaml": NodePool in version "v1" cannot be '
            'handled as a NodePool: strict decoding error: unknown field "spec.template.spec.startupTaint"',
            "object-refused",
        ),
    ],
)
def test_what_kubectl_apply_says_is_read(text: str, cause: str) -> None:
    assert [group.cause.id for group in read(text + "\n").groups if group.cause] == [cause]


def test_text_without_anything_of_karpenters_is_refused() -> None:
    for text in ("hello\n", "apiVersion: v1\nkind: Pod\n", json.dumps(OBJECTS[1]), TABLE.splitlines()[1], "a\n" * 50):
        with pytest.raises(NoLog, match="and no event or condition that Karpenter wrote"):
            read(text)
    with pytest.raises(NoLog, match=r"is not YAML at line 2, column \d+: "):
        read("apiVersion: v1\nitems: [}\n")
    with pytest.raises(NoLog, match="Expecting"):
        read('{"apiVersion": "v1", "items": [')


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(["kind", "metadata", "involvedObject", "source", "count", "series", "reason", "status", "items"]),
    st.integers(0, len(OBJECTS) - 1),
)
def test_values_of_any_type_in_an_object_never_raise(value: object, key: str, which: int) -> None:
    try:
        read(json.dumps({"apiVersion": "v1", **OBJECTS[which], key: value}))
    except NoLog:
        return


def test_the_command_reads_events(nodelint: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = nodelint("triage", "-", stdin=TABLE)
    assert done.returncode == 1, done.stderr
    assert "STAYS  a pod is too large for every instance type  [pod-too-large]" in done.stdout
    broken = nodelint("triage", "-", stdin="apiVersion: v1\nitems: [}\n")
    assert broken.returncode == 2
    assert broken.stderr.startswith("nodelint: standard input is not YAML at line 2, column ")


POSTED = json.loads((ROOT / "tests" / "triage" / "posted.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("posted", POSTED, ids=[f"{n}: {row['from']}" for n, row in enumerate(POSTED)])
def test_a_message_in_the_form_in_which_people_post_it_has_its_cause(posted: dict[str, str]) -> None:
    found = read(posted["text"] + "\n")
    assert [(group.cause.id if group.cause else "cannot-tell", group.verdict) for group in found.groups] == [
        (posted["cause"], posted["verdict"])
    ]


def test_a_message_that_is_not_known_has_a_next_step() -> None:
    found = read('no kind "NodePoolList" is registered for version "karpenter.sh/v1" in scheme\n')
    text = triage_text(found, "-")
    assert "CANNOT TELL  a message that nodelint does not know" in text
    assert "help: kubectl get nodepools,ec2nodeclasses,nodeclaims -o yaml | nodelint triage" in " ".join(text.split())
    assert triage_json(found, "-")["groups"][0]["do"].startswith("kubectl get nodepools,")


def test_events_keep_what_blocks_a_disruption_apart() -> None:
    table = """\
LAST SEEN   TYPE     REASON              OBJECT             MESSAGE
4m          Normal   DisruptionBlocked   nodepool/default   No allowed disruptions due to blocking budget
4m          Normal   DisruptionBlocked   node/ip-10-0-0-1   Cannot disrupt Node: PDB "a/b" prevents pod evictions
3m          Normal   Unconsolidatable    node/ip-10-0-0-2   Can't replace with a cheaper node
2m          Normal   DisruptionBlocked   node/ip-10-0-0-3   Node is nominated for a pending pod
"""
    assert groups_by_cause(read(table)) == {
        "disruption-budget": ("unclear", 1),
        "disruption-blocked-pdb": ("unclear", 1),
        "not-cheaper": ("passes", 1),
        "disruption-nominated": ("passes", 1),
    }


@pytest.mark.parametrize("status", ["Unknown -> True", "False -> Unknown"])
def test_a_condition_that_did_not_become_false_is_no_failure(status: str) -> None:
    message = f"Status condition transitioned, Type: ValidationSucceeded, Status: {status}, Reason: X, Message: y"
    row = f"1m  Normal  ValidationSucceeded  ec2nodeclass/default  {message}\n"
    assert groups_by_cause(read("LAST SEEN  TYPE  REASON  OBJECT  MESSAGE\n" + row)) == {}


def test_the_largest_instance_type_is_none_smaller_than_the_catalogue_knows() -> None:
    from nodelint.data import table

    catalog = table("catalog")["instanceTypes"]
    cpu, memory = (catalog["labels"].index(f"karpenter.k8s.aws/instance-{key}") for key in ("cpu", "memory"))
    beyond = next(cause.beyond for cause in causes() if cause.beyond)
    types = [row[1] for row in catalog["rows"]]
    assert max(float(labels[cpu]) for labels in types) <= beyond.cpu
    assert max(float(labels[memory]) / 1024 for labels in types) <= beyond.memory_gib


HELD = "  Normal  DisruptionBlocked  3m55s (x590 over 22h)  karpenter  "


@pytest.mark.parametrize(
    ("text", "cause", "verdict"),
    [
        (f"{HELD}Not all pods would schedule, shop/web", "disruption-unschedulable", "unclear"),
        (
            'Could not schedule pod, incompatible with nodepool "default", daemonset overhead={}, key'
            " kubernetes.io/hostname, kubernetes.io/hostname DoesNotExist not in kubernetes.io/hostname In"
            " [hostname-placeholder-740854]",
            "pod-bound-to-host",
            "stays",
        ),
        (
            'Internal error occurred: failed calling webhook "validation.webhook.karpenter.sh": failed to call'
            " webhook: the server rejected our request for an unknown reason",
            "admission-webhook",
            "unclear",
        ),
        ('secret "karpenter-cert" is missing "ca-cert.pem" key', "webhook-certificate", "unclear"),
        (
            "panic: AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist.",
            "queue-missing",
            "stays",
        ),
        (
            '{"eventNamespace":"default","involvedObject":{"kind":"Node","name":"a"},"reason":"DisruptionBlocked",'
            '"eventMessage":"Cannot disrupt Node: Pod \\"a/b\\" has \\"karpenter.sh/do-not-disrupt\\" annotation",'
            '"source":{"component":"karpenter"},"type":"Normal"}',
            "disruption-blocked-annotation",
            "unclear",
        ),
    ],
)
def test_messages_of_public_reports_have_an_answer(text: str, cause: str, verdict: str) -> None:
    (found,) = groups_by_cause(read(text)).items()
    assert (found[0], found[1][0]) == (cause, verdict)


def test_a_drifted_claim_and_an_interruption_are_named() -> None:
    """Both are no failures, and a run that reads them never says that nothing was found."""
    claim = {**OBJECTS[3], "kind": "NodeClaim", "metadata": {"name": "web-1x7k2"}}
    drifted = {**claim, "status": {"conditions": [condition("Drifted", "True", "NodePoolDrifted")]}}
    found = read(json.dumps(drifted))
    assert groups_by_cause(found) == {"node-drifted": ("passes", 1)}
    assert "NodeClaim web-1x7k2" in triage_text(found, "-")
    line = {
        "level": "INFO",
        "time": "2026-11-20T10:16:00.000Z",
        "logger": "controller",
        "message": "initiating delete from interruption message",
        "commit": "1c39126",
        "messageKind": "spot_interrupted",
        "NodeClaim": {"name": "web-1x7k2"},
    }
    found = read(json.dumps(line) + "\n")
    assert groups_by_cause(found) == {"interrupted": ("passes", 1)}
    assert "NodeClaim web-1x7k2" in triage_text(found, "-")
