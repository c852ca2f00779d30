"""AWS is asked over HTTP, with boto3: moto's server answers, and a front before it spoils the answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import boto3
import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES, InstanceType, InstanceTypeBackend

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.client import Account, policy
from nodelint.ec2.client.price_lists import price_questions
from nodelint.ec2.instance_types import row, usage
from nodelint.ec2.questions import DEFAULT_OWNERS, ENCRYPTION, EVERYWHERE
from nodelint.ec2.snapshot import Answer, Offering, PlacementGroup, Question, Reply
from tests import ec2_front as aws
from tests.ec2_front import HOME, NOW, ONE_OF_EACH, OWN, PLACE, SMALL, STRANGER, ask_account


def client(service: str) -> Any:
    return boto3.client(service, region_name=HOME)  # type: ignore[call-overload]


def names(reply: Reply, question: Question) -> list[str]:
    """The names of the images that a question found, in their order."""
    return [reply.region.images[id].name for id in reply.region.answers[question].found]


# What moto can be made to hold


def test_an_image_pipeline_in_every_state(register: Callable[..., str]) -> None:
    """Three available images, a newer pending one, a failed and a deprecated one, and a stranger's look-alike."""
    tags = {"pipeline": "golden"}
    for day in (1, 2, 3):
        register(f"golden-{day}", creation_date=datetime(2026, 11, day), tags=tags)
    register("golden-4", state="pending", creation_date=datetime(2026, 11, 4), tags=tags)
    register("golden-0", state="failed", creation_date=datetime(2026, 10, 31), architecture="arm64", tags=tags)
    register("golden-old", deprecation_time="2026-01-01T00:00:00.000Z", creation_date=datetime(2024, 1, 1), tags=tags)
    register("golden-look", STRANGER, launch_permissions=[{"Group": "all"}], creation_date=datetime(2026, 11, 9))
    register("golden-aws", "099720109477", owner_alias="amazon", creation_date=datetime(2025, 1, 1))
    register("golden-win", platform="windows", creation_date=datetime(2023, 1, 1))
    by_name = Question.make("images", ("name", "golden-*"), owners=DEFAULT_OWNERS)
    by_tag = Question.make("images", ("tag:pipeline", "golden"))
    by_key = Question.make("images", ("tag-key", "pipeline"), ("name", "golden-?"), owners=("self",))
    strange = Question.make("images", ("name", "golden-*"), owners=(STRANGER,))
    nothing = Question.make("images", ("name", "silver-*"), owners=DEFAULT_OWNERS)
    reply = ask_account(by_name, by_tag, by_key, strange, nothing)
    own = ["golden-4", "golden-3", "golden-2", "golden-1", "golden-0"]
    assert names(reply, by_name) == [*own, "golden-aws", "golden-old", "golden-win"]
    assert names(reply, by_tag) == [*own, "golden-old"]
    assert names(reply, by_key) == own
    assert names(reply, strange) == ["golden-look"]
    assert reply.region.answers[nothing] == Answer(NOW)
    images = {image.name: image for image in reply.region.images.values()}
    assert {name: image.state for name, image in images.items() if image.state != "available"} == {
        "golden-4": "pending",
        "golden-0": "failed",
    }
    assert (images["golden-0"].arch, images["golden-1"].arch) == ("arm64", "amd64")
    assert images["golden-old"].deprecated == "2026-01-01T00:00:00Z"
    assert (images["golden-1"].created, images["golden-1"].owner) == ("2026-11-01T00:00:00Z", "self")
    assert (images["golden-look"].owner, images["golden-look"].public) == (STRANGER, True)
    assert (images["golden-aws"].owner, images["golden-win"].platform) == ("amazon", "windows")


def test_of_many_images_those_are_kept_that_decide(register: Callable[..., str]) -> None:
    for number in range(25):
        register(f"many-{number:02}", creation_date=datetime(2026, 1, 1 + number))
    question = Question.make("images", ("name", "many-*"), owners=DEFAULT_OWNERS)
    reply = ask_account(question)
    assert names(reply, question) == [f"many-{number:02}" for number in range(24, 14, -1)]
    assert reply.region.answers[question].total == 25
    assert len(reply.region.images) == 10


def test_image_ids_go_together_and_are_answered_each(front: aws.Front, register: Callable[..., str]) -> None:
    ids = [register(f"by-id-{number}") for number in range(2)]
    questions = [Question.make("images", ("image-id", id)) for id in (*ids, *(f"ami-none{n}" for n in range(248)))]
    reply = ask_account(*questions, *questions)
    described = [request for request in front.seen if request.operation == "DescribeImages"]
    assert sorted(len(values) for request in described for _, values in request.filters()) == [50, 200]
    assert [reply.region.answers[q].found for q in questions] == [(ids[0],), (ids[1],), *[()] * 248]
    assert not reply.region.answers[questions[-1]].failed


def test_images_are_asked_for_as_the_controller_does_but_in_every_state(front: aws.Front) -> None:
    filters = [("name", "golden-*"), ("tag-key", "a"), ("tag-key", "b"), ("tag:team", "x")]
    ask_account(Question.make("images", *filters, owners=DEFAULT_OWNERS))
    request = next(r for r in front.seen if r.operation == "DescribeImages")
    assert request.filters() == [(name, [value]) for name, value in filters]
    assert request.numbered("Owner") == ["self", "amazon"]
    fields = {key: request.fields.get(key) for key in ("IncludeDeprecated", "IncludeDisabled", "MaxResults")}
    assert fields == {"IncludeDeprecated": "true", "IncludeDisabled": "true", "MaxResults": "1000"}


def test_subnets_and_security_groups(front: aws.Front) -> None:
    ec2 = client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    tag = [{"Key": "karpenter.sh/discovery", "Value": "main"}]
    subnet = ec2.create_subnet(
        VpcId=vpc,
        CidrBlock="10.0.1.0/24",
        AvailabilityZone="us-east-1b",
        TagSpecifications=[{"ResourceType": "subnet", "Tags": [*tag, {"Key": "Name", "Value": "private-b"}]}],
    )["Subnet"]
    owned = [*tag, {"Key": "kubernetes.io/cluster/main", "Value": "owned"}]
    group = ec2.create_security_group(
        GroupName="nodes",
        Description="d",
        VpcId=vpc,
        TagSpecifications=[{"ResourceType": "security-group", "Tags": owned}],
    )["GroupId"]
    by_tag = Question.make("subnets", ("tag:karpenter.sh/discovery", "main"))
    by_id = [Question.make("subnets", ("subnet-id", id)) for id in (subnet["SubnetId"], "subnet-none")]
    groups = [Question.make("security-groups", ("group-name", name)) for name in ("nodes", "none", "no*")]
    reply = ask_account(by_tag, *by_id, *groups, Question.make("security-groups", ("group-id", group)))
    assert [reply.region.answers[q].found for q in (by_tag, *by_id)] == [(subnet["SubnetId"],)] * 2 + [()]
    assert [reply.region.answers[q].found for q in groups] == [(group,), (), (group,)]
    its = reply.region.subnets[subnet["SubnetId"]]
    assert (its.zone, its.zoneId, its.free, its.vpc, its.name) == (
        "us-east-1b",
        subnet["AvailabilityZoneId"],
        subnet["AvailableIpAddressCount"],
        vpc,
        "private-b",
    )
    assert reply.region.groups[group].clusters == ("main",)
    # Two names went together, the pattern alone; two ids of subnets together.
    assert front.counted()["ec2:DescribeSecurityGroups"] == 3
    assert sorted(map(len, (v for r in front.seen for n, v in r.filters() if n == "group-name"))) == [1, 2]


def test_roles_and_instance_profiles(front: aws.Front) -> None:
    iam = client("iam")
    iam.create_role(RoleName="KarpenterNodeRole", AssumeRolePolicyDocument="{}")
    iam.create_instance_profile(InstanceProfileName="nodes")
    there = [
        Question.make("roles", ("name", "KarpenterNodeRole")),
        Question.make("instance-profiles", ("name", "nodes")),
    ]
    not_there = [Question.make("roles", ("name", "nodes")), Question.make("instance-profiles", ("name", "None"))]
    answers = ask_account(*there, *not_there).region.answers
    assert [answers[q] for q in there] == [Answer(NOW, ("KarpenterNodeRole",), 1), Answer(NOW, ("nodes",), 1)]
    assert [answers[q] for q in not_there] == [Answer(NOW)] * 2


def test_parameters(front: aws.Front) -> None:
    ssm = client("ssm")
    ssm.put_parameter(Name="/golden", Value="ami-1", Type="String")
    ssm.put_parameter(Name="/golden", Value="ami-2", Type="String", Overwrite=True)
    ssm.label_parameter_version(Name="/golden", ParameterVersion=1, Labels=["prod"])
    ssm.put_parameter(Name="/secret", Value="ami-3", Type="SecureString")
    ssm.put_parameter(Name="/list", Value="ami-1,ami-2", Type="StringList")
    arn = f"arn:aws:ssm:{HOME}:{OWN}:parameter/golden"
    spelled = ["/golden", "/golden:1", "/golden:prod", arn, f"{arn}:1", "/none", "/none:7", "/secret", "/list"]
    spelled += [f"/more/{number}" for number in range(20)]
    questions = [Question.make("parameters", ("name", name)) for name in spelled]
    front.seen.clear()
    answers = ask_account(*questions).region.answers
    assert [answers[q].found for q in questions[:7]] == [(f"ami-{n}",) for n in (2, 1, 1, 2, 1)] + [(), ()]
    assert [(answers[q].failed, answers[q].transient) for q in questions[7:9]] == [
        ("the parameter is a SecureString, no String", False),
        ("the parameter is a StringList, no String", False),
    ]
    assert all(answers[q] == Answer(NOW) for q in questions[9:])
    sent = [request.fields for request in front.seen if request.operation == "GetParameters"]
    assert sorted(len(fields["Names"]) for fields in sent) == [1] * 5 + [4, 10, 10]
    assert not any(fields["WithDecryption"] for fields in sent)


def test_instance_types_and_where_they_are_offered(front: aws.Front, monkeypatch: pytest.MonkeyPatch) -> None:
    # moto takes seconds to tell of all
    sample = {*sorted(INSTANCE_TYPES)[::7], "m5.large", "mac1.metal"}
    monkeypatch.setattr(InstanceTypeBackend, "instance_types", [InstanceType(name) for name in sorted(sample)])
    places = INSTANCE_TYPE_OFFERINGS["availability-zone"]
    monkeypatch.setitem(places, HOME, [place for place in places[HOME] if place["InstanceType"] in sample])
    for operation in ("DescribeInstanceTypes", "DescribeInstanceTypeOfferings"):
        front.on(operation, aws.passed)
    reply = ask_account(*EVERYWHERE)
    known = Catalog.bundled()
    assert len(reply.rows) > 150
    assert list(reply.rows) == [row(INSTANCE_TYPES[name], known) for name in sorted(r[0] for r in reply.rows)]
    offered = reply.region.offerings["m5.large"]
    assert offered.capacity == usage(INSTANCE_TYPES["m5.large"]) == ("on-demand", "spot")
    assert len(offered.zones) > 1 and all(zone.startswith(HOME) for zone in offered.zones)
    assert set(reply.region.offerings) <= {r[0] for r in reply.rows}
    assert "mac1.metal" not in reply.region.offerings
    request = next(r for r in front.seen if r.operation == "DescribeInstanceTypes")
    assert request.filters() == [
        ("supported-virtualization-type", ["hvm"]),
        ("processor-info.supported-architecture", ["x86_64", "arm64"]),
    ]


@pytest.mark.parametrize("first", EVERYWHERE)
def test_an_offering_is_never_half_known(front: aws.Front, first: Question) -> None:
    """Where it is sold comes from one question and how from another: asking for one asks for both."""
    front.on("DescribeInstanceTypes", aws.answer({"InstanceTypes": [SMALL]}))
    front.on("DescribeInstanceTypeOfferings", aws.answer({"InstanceTypeOfferings": [PLACE]}))
    reply = ask_account(first)
    assert set(reply.region.answers) == set(EVERYWHERE)
    assert reply.region.offerings == {"t9.small": Offering("t9.small", ("us-east-1a",), ("on-demand",))}
    front.on("DescribeInstanceTypeOfferings", aws.error("UnauthorizedOperation", 403))
    reply = ask_account(first)
    assert not reply.region.offerings and [r[0] for r in reply.rows] == ["t9.small"]


def test_capacity_reservations(front: aws.Front) -> None:
    """Moto has none. In every state, where the controller asks for active ones alone."""
    item = {
        "CapacityReservationId": "cr-1",
        "OwnerId": OWN,
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-east-1a",
        "AvailableInstanceCount": 3,
        "State": "active",
        "ReservationType": "capacity-block",
        "InstanceMatchCriteria": "targeted",
        "EndDate": "2026-12-01T11:30:00.000Z",
    }
    other = {**item, "CapacityReservationId": "cr-2", "OwnerId": STRANGER, "State": "expired"}
    del other["EndDate"]
    by_id = {"cr-1": aws.answer({"CapacityReservations": [item]})}
    unknown = aws.error("InvalidCapacityReservationId.NotFound")

    def step(request: aws.Request, front: aws.Front) -> aws.Response | None:
        ids = request.numbered("CapacityReservationId")
        if ids:
            return by_id.get(ids[0], unknown)(request, front)
        return aws.listed("CapacityReservations", [item, other])(request, front)

    front.on("DescribeCapacityReservations", step)
    by_ids = [Question.make("capacity-reservations", ("capacity-reservation-id", id)) for id in ("cr-1", "cr-0")]
    by_tag = Question.make("capacity-reservations", ("tag:team", "ml"), ("owner-id", OWN))
    region = ask_account(*by_ids, by_tag).region
    assert [region.answers[q].found for q in (*by_ids, by_tag)] == [("cr-1",), (), ("cr-1", "cr-2")]
    assert region.reservations["cr-1"] == (
        (
            "cr-1",
            "p5.48xlarge",
            "us-east-1a",
            "active",
            3,
            "self",
            "capacity-block",
            "targeted",
            "2026-12-01T11:30:00Z",
        )
    )
    assert region.reservations["cr-2"][3:] == ("expired", 3, STRANGER, "capacity-block", "targeted", None)
    request = next(r for r in front.seen if r.filters())
    assert request.filters() == [("owner-id", [OWN]), ("tag:team", ["ml"])]


def test_placement_groups(front: aws.Front) -> None:
    item = {
        "GroupId": "pg-1",
        "GroupName": "near",
        "Strategy": "partition",
        "State": "available",
        "PartitionCount": 7,
    }
    there = aws.answer({"PlacementGroups": [item]})
    unknown = aws.error("InvalidPlacementGroup.Unknown")

    def step(request: aws.Request, front: aws.Front) -> aws.Response | None:
        wanted = request.numbered("GroupId") + request.numbered("GroupName")
        return (there if wanted in (["pg-1"], ["near"]) else unknown)(request, front)

    front.on("DescribePlacementGroups", step)
    filters = [("group-id", "pg-1"), ("group-name", "near"), ("group-name", "far")]
    questions = [Question.make("placement-groups", value) for value in filters]
    region = ask_account(*questions).region
    assert [region.answers[q].found for q in questions] == [("pg-1",), ("pg-1",), ()]
    assert region.placements == {"pg-1": PlacementGroup("pg-1", "near", "partition", "available", 7)}


def test_whether_the_account_encrypts_volumes(front: aws.Front) -> None:
    """By region, as EC2 holds it."""
    ec2 = boto3.client("ec2", region_name=HOME)
    assert ask_account(ENCRYPTION).region.answers[ENCRYPTION].found == ("false",)
    ec2.enable_ebs_encryption_by_default()
    assert ask_account(ENCRYPTION).region.answers[ENCRYPTION].found == ("true",)
    ec2.disable_ebs_encryption_by_default()
    front.on("GetEbsEncryptionByDefault", aws.body("<GetEbsEncryptionByDefaultResponse/>"))
    assert ask_account(ENCRYPTION).region.answers[ENCRYPTION].failed is not None


# The account, and what is asked once


def test_the_account_is_a_hash_and_asked_for_once(front: aws.Front) -> None:
    account = Account(NOW)
    role = Question.make("roles", ("name", "nobody"))
    replies = [account.region(name)((role,)) for name in (HOME, "eu-west-1", HOME)]
    assert {reply.region.account for reply in replies} == {"sha256:2a33349e7e606a8a"}
    assert all(reply.region.answers == {role: Answer(NOW)} for reply in replies)
    # IAM knows no regions either.
    assert account.calls == front.counted() == {"sts:GetCallerIdentity": 1, "iam:GetRole": 1}


def test_no_question_tells_the_account(front: aws.Front) -> None:
    account = Account(NOW)
    assert account.region(HOME)(()).region.account == "sha256:2a33349e7e606a8a"
    assert account.calls == {"sts:GetCallerIdentity": 1}


def test_without_the_account_the_rest_is_answered(front: aws.Front, register: Callable[..., str]) -> None:
    front.on("GetCallerIdentity", aws.error("AccessDenied", 403))
    id = register("nameless")
    by_name = Question.make("images", ("name", "nameless"), owners=DEFAULT_OWNERS)
    by_id = Question.make("images", ("image-id", id))
    reply = ask_account(by_name, by_id)
    assert reply.region.account is None
    assert names(reply, by_name) == names(reply, by_id) == ["nameless"]
    assert reply.region.images[id].owner == "self"


def test_the_region_of_the_environment(front: aws.Front, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Account(NOW).default_region is None
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    assert Account(NOW).default_region == "eu-central-1"


def test_progress_and_calls_are_told(front: aws.Front) -> None:
    calls: list[tuple[int, int, str]] = []
    account = Account(NOW, on_progress=lambda *call: calls.append(call))
    ask = account.region(HOME)
    ask([Question.make("subnets", ("tag-key", "a")), Question.make("subnets", ("tag-key", "b"))])
    ask([Question.make("roles", ("name", "nobody"))])
    assert [call[:2] for call in calls] == [(1, 3), (2, 3), (3, 3), (4, 4)]
    assert sorted(call[2] for call in calls) == ["roles", "subnets", "subnets", "the account"]
    assert account.calls == front.counted()


def test_the_policy_allows_what_can_be_asked_and_no_more(front: aws.Front) -> None:
    front.on("DescribeInstanceTypes", aws.answer({"InstanceTypes": [SMALL]}))
    front.on("DescribeInstanceTypeOfferings", aws.answer({"InstanceTypeOfferings": [PLACE]}))
    for operation, key in (
        ("DescribeCapacityReservations", "CapacityReservations"),
        ("DescribePlacementGroups", "PlacementGroups"),
    ):
        front.on(operation, aws.answer({key: []}))
    account = Account(NOW)
    answers = account.region(HOME)([*EVERYWHERE, *ONE_OF_EACH.values(), *price_questions(HOME)]).region.answers
    assert not [answer.failed for answer in answers.values() if answer.failed]
    statements = policy()["Statement"]
    assert sorted(a for s in statements for a in s["Action"]) == sorted({*account.calls} - {"sts:GetCallerIdentity"})
    resources = {s["Resource"] for s in statements if s["Action"] == ["ssm:GetParameters"]}
    assert resources == {"arn:aws:ssm:*::parameter/aws/service/*"}
