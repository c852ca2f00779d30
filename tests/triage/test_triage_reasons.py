"""Every reason that Karpenter writes into a condition, and messages of the tools around it, with their causes.

The reasons are those of the provider and of core at 1.0, 1.6 and 1.14.1 (`SetFalse` and `SetUnknownWithReason`).
"""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nodelint.triage import NoLog, Triage, triage
from nodelint.triage.causes import recognise
from tests.manifests import nodeclass, nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]

CLASS, POOL, CLAIM = "EC2NodeClass", "NodePool", "NodeClaim"

# Kind, condition, status, reason, message, cause.
REASONS = (
    (CLASS, "AMIsReady", "False", "AMINotFound", "AMISelector did not match any AMIs", "images-empty"),
    (
        CLASS,
        "AMIsReady",
        "False",
        "UnsupportedAlias",
        "AL2 aliases are no longer supported",
        "alias-family-gone",
    ),
    (CLASS, "SubnetsReady", "False", "SubnetsNotFound", "SubnetSelector did not match any Subnets", "subnets-empty"),
    (CLASS, "SecurityGroupsReady", "False", "SecurityGroupsNotFound", "no groups", "security-groups-empty"),
    (
        CLASS,
        "PlacementGroupReady",
        "False",
        "PlacementGroupNotFound",
        '"x" not found',
        "placement-group",
    ),
    (CLASS, "PlacementGroupReady", "False", "PlacementGroupResolutionFailed", "Failed to resolve", "placement-group"),
    (CLASS, "ValidationSucceeded", "False", "ClusterCIDRResolutionFailed", "Failed to detect", "cluster-cidr"),
    (CLASS, "ValidationSucceeded", "False", "InvalidKubeletConfiguration", 'unknown field "x"', "kubelet-refused"),
    (CLASS, "ValidationSucceeded", "False", "KubeletExpressionsDisabled", "gate", "kubelet-expressions-off"),
    (CLASS, "ValidationSucceeded", "False", "KubeletExpressionInvalid", "x", "kubelet-expression-invalid"),
    (CLASS, "ValidationSucceeded", "False", "KubeletExpressionEvaluationFailed", "x", "kubelet-expression-failed"),
    (CLASS, "ValidationSucceeded", "False", "UnsupportedKubeletConfiguration", "x", "kubelet-field-unsupported"),
    (CLASS, "ValidationSucceeded", "False", "UserDataSizeLimitExceeded", "too large", "user-data-size"),
    (CLASS, "ValidationSucceeded", "False", "InstanceProfileNotFound", "x", "profile-missing"),
    (CLASS, "ValidationSucceeded", "False", "TagValidationFailed", "tag a is not allowed", "class-refused-tags"),
    (CLASS, "ValidationSucceeded", "False", "DependenciesNotReady", "Awaiting", "validation-waits"),
    (CLASS, "ValidationSucceeded", "Unknown", "DependenciesNotReady", "Awaiting", "validation-waits"),
    (CLASS, "ValidationSucceeded", "False", "CreateFleetAuthCheckFailed", "x", "permission-refused"),
    (CLASS, "ValidationSucceeded", "False", "CreateLaunchTemplateAuthCheckFailed", "x", "permission-refused"),
    (CLASS, "ValidationSucceeded", "False", "RunInstancesAuthCheckFailed", "x", "permission-refused"),
    (CLASS, "ValidationSucceeded", "False", "SomethingNew", "x", "dry-run-refused"),
    (POOL, "ValidationSucceeded", "False", "NodePoolValidationFailed", "x", "pool-refused"),
    (POOL, "NodeClassReady", "False", "NodeClassNotFound", "NodeClass not found on cluster", "class-missing"),
    (POOL, "NodeClassReady", "False", "UnhealthyDependents", "ValidationSucceeded=False", "class-invalid"),
    (POOL, "NodeClassReady", "False", "UnhealthyDependents", "SubnetsReady=False", "subnets-empty"),
    (POOL, "NodeRegistrationHealthy", "False", "RegistrationFailed", "Failed to register node", "registration"),
    (CLAIM, "Registered", "False", "UnregisteredTaintNotFound", "Invariant violated", "startup-taint"),
    (CLAIM, "Registered", "Unknown", "NodeNotFound", "Node not registered with cluster", "not-registered"),
    (CLAIM, "Initialized", "Unknown", "StartupTaintsExist", "still exists", "not-initialized"),
    (CLAIM, "Initialized", "Unknown", "ResourceNotRegistered", "was requested", "not-initialized"),
    (CLAIM, "Initialized", "Unknown", "NodeNotReady", "Node status is NotReady", "not-initialized"),
    (POOL, "NodeClassReady", "Unknown", "NodeClassReadinessUnknown", "Node Class Readiness Unknown", "class-reading"),
    (POOL, "NodeClassReady", "False", "NodeClassTerminating", "NodeClass is Terminating", "class-terminating"),
    (CLASS, "AMIsReady", "False", "AMINotFound", "Ubuntu AMI discovery is not supported at v1", "ubuntu-retired"),
    (CLASS, "Ready", "False", "NodeClassNotReady", "Failed to detect the cluster CIDR", "cluster-cidr"),
    (CLAIM, "Registered", "False", "MultipleNodesFound", "Invariant violated", "several-nodes"),
    (CLAIM, "Registered", "Unknown", "RegistrationHookPending", "hook", "registration-hook"),
    (CLAIM, "Initialized", "Unknown", "KnownEphemeralTaintsExist", "still exists", "not-initialized"),
    (CLAIM, "Initialized", "Unknown", "DRADriverPoolsNotPublished", "x", "not-initialized"),
    ("NodeOverlay", "ValidationSucceeded", "False", "Conflict", "conflict with another overlay", "overlay-refused"),
    ("NodeOverlay", "ValidationSucceeded", "False", "RuntimeValidation", "x", "overlay-refused"),
    ("CapacityBuffer", "ReadyForProvisioning", "False", "PodTemplateNotFound", "x", "buffer-unresolved"),
    ("CapacityBuffer", "ReadyForProvisioning", "False", "ScalableRefNotFound", "x", "buffer-unresolved"),
    ("CapacityBuffer", "ReadyForProvisioning", "False", "ResolutionFailed", "x", "buffer-unresolved"),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "AMIAuthorizationFailure",
        "User is not authorized for AMI used in instance launch",
        "image-not-shared",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "Unauthorized",
        "User is not authorized to perform this operation due to a permission boundary",
        "permission-refused",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "Unauthorized",
        "User is not authorized to perform this operation due to a service control policy",
        "permission-refused",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "AMINotFound",
        "AMI used for instance launch either does not exist or you do not have permissions to use it",
        "image-gone",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "AccountPendingVerification",
        "still being verified",
        "account-pending",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "FleetQuotaExceeded",
        "A fleet launch was requested but this would exceed your fleet request quota",
        "quota",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "FreeTierIneligible",
        "The specified instance type is not eligible for Free Tier",
        "free-tier",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "InstanceProfileNameInvalid",
        "Instance profile name used from EC2NodeClass status does not exist",
        "profile-not-there",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "InsufficientFreeAddressesInSubnet",
        "There are not enough free IP addresses to launch an instance in this subnet",
        "addresses-used-up",
    ),
    (CLAIM, "Launched", "Unknown", "InternalError", "An internal error has occurred", "ec2-internal"),
    (CLAIM, "Launched", "Unknown", "InvalidAMIID", "AMI used for instance launch is invalid", "image-gone"),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "LaunchTemplateNotFound",
        "Launch template was not found",
        "launch-template-gone",
    ),
    (CLAIM, "Launched", "Unknown", "RequestLimitExceeded", "Request limit exceeded", "throttled"),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "SecurityGroupSubnetVPCMismatch",
        "Security groups and subnets must be in the same VPC.",
        "networks-differ",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "SpotQuotaExceeded",
        "A spot instance launch was requested but this would exceed your spot instance quota",
        "quota",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "SpotSLRCreationFailed",
        "no permission for the role",
        "spot-role",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "UserDataSizeLimitExceeded",
        "Rendered user data exceeds the EC2 user data size limit",
        "user-data-size",
    ),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "VCPULimitExceeded",
        "An instance was requested that would exceed your VCPU quota",
        "quota",
    ),
    (CLAIM, "Launched", "Unknown", "SubnetResolutionFailed", "Error getting subnets", "launch-failed"),
    (CLAIM, "Launched", "Unknown", "InstanceTypeResolutionFailed", "Error resolving instance types", "launch-failed"),
    (
        CLAIM,
        "Launched",
        "Unknown",
        "InstanceTypeFilteringFailed",
        "Error truncating instance types based on the passed-in requirements",
        "types-min-values",
    ),
    (CLAIM, "Launched", "Unknown", "NodeClassReadinessUnknown", "NodeClass is in Ready=Unknown", "class-reading"),
    (CLAIM, "Launched", "Unknown", "LaunchFailed", "Instance launch failed", "launch-failed"),
)


def sort_by_cause(text: str) -> Triage:
    return triage(io.BytesIO(text.encode()))


def name_causes(text: str) -> list[str | None]:
    return [group.cause.id if group.cause else None for group in sort_by_cause(text).groups]


@pytest.mark.parametrize(("kind", "condition", "status", "reason", "message", "cause"), REASONS)
def test_each_reason_of_a_condition_has_a_cause_of_its_own(
    kind: str, condition: str, status: str, reason: str, message: str, cause: str
) -> None:
    described = f"""\
Name:         web
Kind:         {kind}
Status:
  Conditions:
    Last Transition Time:  2026-07-13T20:49:06Z
    Message:               {message}
    Reason:                {reason}
    Status:                {status}
    Type:                  {condition}
Events:  <none>
"""
    stored = f"""\
kind: {kind}
metadata: {{name: web}}
status:
  conditions:
  - {{type: {condition}, status: "{status}", reason: {reason}, message: '{message}'}}
"""
    assert name_causes(described) == name_causes(stored) == [cause]


# Kind, type, reason and message of each event that Karpenter writes at 1.0, 1.6 and 1.14.1, with its cause. None
# stands for an event that tells of no failure.
EVENTS = (
    (POOL, "Warning", "", "Failed resolving NodeClass", "class-missing"),
    (CLAIM, "Warning", "SpotSLRCreationFailed", "Attempted to launch a spot instance but failed due to \"AuthFailure."
     "ServiceLinkedRoleCreationNotPermitted\"", "spot-role"),
    ("Node", "Normal", "AwaitingVolumeDetachment", "Awaiting deletion of bound volumeattachments (a)",
     "volumes-attached"),
    (CLAIM, "Warning", "CapacityReservationInstanceInterrupted", "Capacity Reservation interruption warning was "
     "triggered", "interrupted"),
    ("Pod", "Normal", "Disrupted", "Deleting the pod to accommodate the terminationTime a of the node", None),
    (POOL, "Normal", "DisruptionBlocked", "No allowed disruptions due to blocking budget", "disruption-budget"),
    ("Node", "Normal", "DisruptionBlocked", 'Cannot disrupt Node: pdb "shop/web" prevents pod evictions',
     "disruption-blocked-pdb"),
    (CLAIM, "Normal", "DisruptionBlocked", "Cannot disrupt NodeClaim: state node isn't initialized",
     "disruption-starting"),
    (CLAIM, "Normal", "DisruptionLaunching", "Launching NodeClaim: Drifted", None),
    ("Node", "Normal", "DisruptionTerminating", "Disrupting Node: Empty", None),
    (CLAIM, "Normal", "DisruptionWaitingReadiness", "Waiting on readiness to continue disruption", None),
    ("Pod", "Normal", "DoNotDisruptGracePeriodElapsed", "The karpenter.sh/do-not-disrupt grace period", None),
    ("Pod", "Normal", "DoNotDisruptUntil", "The karpenter.sh/do-not-disrupt grace period will elapse at a", None),
    ("Pod", "Warning", "InvalidDoNotDisruptAnnotation", "Invalid karpenter.sh/do-not-disrupt annotation: a, ignoring "
     "annotation", "annotation-invalid"),
    ("Pod", "Normal", "Evicted", "Evicted pod: Drifted", None),
    (CLAIM, "Warning", "FailedConsistencyCheck", "expected 4 of resource memory, but found 2 (50.0% of expected)",
     "node-smaller"),
    ("Node", "Warning", "FailedDraining", "Failed to drain node, 2 pods are waiting to be evicted", "drain-waits"),
    ("Pod", "Warning", "FailedScheduling", "Failed to schedule pod, did not tolerate taint (taint=a:NoSchedule)",
     "pod-taints"),
    (POOL, "Warning", "FailedScheduling", "No matching instance types", "pool-empty"),
    (CLAIM, "Warning", "InstanceStopping", "Instance is stopping", "interrupted"),
    (CLAIM, "Warning", "InstanceTerminating", "Instance is terminating", "interrupted"),
    (CLAIM, "Warning", "InstanceUnhealthy", "An unhealthy warning was triggered for the instance", "interrupted"),
    (CLAIM, "Warning", "InsufficientCapacityError", "NodeClaim a event: creating instance, insufficient capacity",
     "capacity"),
    (CLAIM, "Warning", "NodeClassNotReady", "NodeClaim a event: NodeClassRef not ready", "class-not-ready"),
    ("Pod", "Normal", "Nominated", "Pod should schedule on: nodeclaim/web-abcde", None),
    (CLAIM, "Warning", "SpotInterrupted", "Spot interruption warning was triggered", "interrupted"),
    (CLAIM, "Normal", "SpotRebalanceRecommendation", "Spot rebalance recommendation was triggered", None),
    ("Node", "Warning", "TerminatingOnInterruption", "Interruption triggered termination", "interrupted"),
    ("Node", "Warning", "TerminationGracePeriodExpiring", "All pods will be deleted by a", "grace-period"),
    ("Node", "Normal", "Unconsolidatable", "Can't replace with a cheaper node", "not-cheaper"),
    (CLASS, "Normal", "WaitingOnNodeClaimTermination", "Waiting on NodeClaim termination for a", "class-in-use"),
    (POOL, "Warning", "ZonalShiftActive", "Zonal shift detected: offerings in zone a (b) are unavailable for this "
     "NodePool", "zonal-shift"),
    (POOL, "Normal", "ZonalShiftCleared", "Zonal shift cleared: offerings in zone a (b) are restored", None),
    ("Node", "Normal", "ConsolidationCandidate", "a", None),
    ("Node", "Normal", "ConsolidationRejected", "a", None),
    ("Node", "Normal", "ConsolidationApproved", "a", None),
    (POOL, "Warning", "NoCompatibleInstanceTypes", "NodePool requirements filtered out all compatible available "
     "instance types", "pool-empty"),
    ("Node", "Warning", "NodeRepairBlocked", "more than 20% nodes are unhealthy in the nodepool", "repair-blocked"),
    (CLAIM, "Warning", "UnregisteredTaintMissing", "Missing karpenter.sh/unregistered taint which prevents "
     "registration related race conditions on Karpenter-managed nodes", "startup-taint"),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "type_", "reason", "message", "cause"), EVENTS)
def test_each_event_has_a_cause_or_tells_of_no_failure(
    kind: str, type_: str, reason: str, message: str, cause: str | None
) -> None:
    stored = f"""\
kind: Event
type: {type_}
reason: "{reason}"
message: '{message.replace("'", "''")}'
count: 2
source: {{component: karpenter}}
involvedObject: {{kind: {kind}, name: web}}
"""
    # A node that is fine beside it, so that an event which is left out leaves a report all the same.
    fine = "---\nkind: NodePool\nmetadata: {name: web}\nstatus: {}\n"
    assert name_causes(stored + fine) == ([cause] if cause else [])


LOGGED = '{"level":"%s","time":"2026-03-06T18:14:19.413Z","logger":"controller","message":"%s","commit":"b2a4bca"}\n'


@pytest.mark.parametrize(
    ("level", "message", "cause"),
    [
        ("ERROR", "validating cli flags / env vars, invalid MIN_VALUES_POLICY a", "setting-invalid"),
        ("ERROR", "validating cli flags / env vars, invalid PREFERENCE_POLICY a", "setting-invalid"),
        ("ERROR", "validating cli flags / env vars, invalid LOG_LEVEL a", "setting-invalid"),
        ("ERROR", "validating options, cluster endpoint URL is not valid", "setting-invalid"),
        ("ERROR", "validating options, vm-memory-overhead-percent cannot be negative", "setting-invalid"),
        ("ERROR", "validating options, reserved-enis cannot be negative", "setting-invalid"),
        ("ERROR", "validating options, ami-refresh-interval must be at least 1m", "setting-invalid"),
        ("ERROR", "ec2:DescribeInstanceStatus permission is not allowed, update the IAM policy",
         "permission-refused"),
        ("ERROR", r'creating node claim, NodeClaim.karpenter.sh \"a\" is invalid: spec.requirements[0].key',
         "claim-refused"),
        ("ERROR", "checking host port usage, pod hostport conflicts with existing hostport configuration",
         "pod-port"),
        ("ERROR", "allocating dynamic resources, no instance type can satisfy the allocation", "pod-claim"),
        ("ERROR", "validating claim a: claim b request c: DeviceClass d not found", "pod-claim"),
        ("ERROR", "failed to validate storage class, not found", "pod-volume"),
        ("ERROR", "duplicate taint Key/Effect pair a=NoSchedule", "pool-refused"),
        ("ERROR", "buffer a has neither podTemplateRef nor scalableRef in spec", "buffer-unresolved"),
        ("ERROR", "Failed to resolve subnets", "subnets-empty"),
        ("INFO", "skipped nodePools, not ready", "pool-not-ready"),
        ("INFO", "scheduling simulation timed out", "scheduling-timeout"),
        ("INFO", "spread placement group availability zone limit reached, marking all instance types unavailable",
         "placement-group-full"),
        ("INFO", "computed new nodeclaim(s) to fit pod(s)", None),
        ("INFO", "disrupting node(s)", None),
        ("INFO", "abandoning multi-node consolidation attempt due to pod churn, command is no longer valid", None),
        ("INFO", "deleting expired nodeclaim", None),
    ],
)  # fmt: skip
def test_lines_of_the_log_that_a_user_sees_have_causes(level: str, message: str, cause: str | None) -> None:
    assert name_causes(LOGGED % (level, message)) == ([cause] if cause else [])


LISTED = (
    '{"level":"INFO","time":"2025-03-06T18:14:19.413Z","logger":"controller","message":"reflector.go:251: %s",'
    '"commit":"058c665"}\n'
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (LISTED % r"failed to list *v1.NodePool: time: unknown unit \"hr\" in \"1hr\"", "objects-unreadable"),
        (LISTED % "failed to list *v1.EC2NodeClass: json: cannot unmarshal object", "objects-unreadable"),
        (LISTED % "failed to list *v1.NodeClaim: quantities must match the expression", "objects-unreadable"),
        ("key zone, topology.kubernetes.io/zone DoesNotExist not in topology.kubernetes.io/zone In [a]; incompatible "
         "requirements", "pod-contradiction"),
        ("Reconciler error: missing required startup taint, karpenter.sh/unregistered", "startup-taint"),
        ('Error: resource mapping not found: no matches for kind "NodePool" in version "karpenter.sh/v1"\n'
         "ensure CRDs are installed first", "crds-missing"),
        ("╷\n│ Error: default failed: resource [karpenter.sh/v1beta1/NodePool] isn't valid for cluster\n╵",
         "crds-missing"),
        ('error: the server doesn\'t have a resource type "nodepools"', "crds-missing"),
        ('Error: UPGRADE FAILED: Unable to continue: CustomResourceDefinition "nodepools.karpenter.sh" in '
         'namespace "" exists and cannot be imported into the current release: invalid ownership metadata',
         "crd-owned-elsewhere"),
        ("Error: unexpected status from HEAD request to https://public.ecr.aws/v2/karpenter/karpenter/manifests/1.8: "
         "403 Forbidden", "chart-not-pulled"),
        ('│ Error: API did not recognize GroupVersionKind from manifest (CRD may not be installed)\n│ no matches for '
         'kind "NodePool" in group "karpenter.sh"', "crds-missing"),
        ('The Kubernetes API could not find karpenter.sh/NodePool for requested resource default. Make sure the '
         '"NodePool" CRD is installed on the destination cluster.', "crds-missing"),
        ('NodePool/default dry-run failed: no matches for kind "NodePool" in version "karpenter.sh/v1beta1"',
         "crds-missing"),
        ('NodePool/default dry-run failed (Invalid): NodePool.karpenter.sh "default" is invalid: spec: Required',
         "object-refused"),
        ('The NodePool "a" is invalid: the sum of expireAfter and terminationGracePeriod may not exceed 21 days',
         "auto-mode-lifetime"),
    ],
)  # fmt: skip
def test_messages_of_reflectors_schedulers_and_other_tools_have_causes(text: str, cause: str) -> None:
    assert name_causes(text) == [cause]


def test_only_the_pool_whose_limits_are_reached_is_named() -> None:
    text = (
        'Failed to schedule pod, incompatible with nodepool "spot", no instance type has enough resources, '
        "requirements=karpenter.sh/nodepool In [spot]; all available instance types exceed limits for nodepool "
        "(NodePool=gpu)"
    )
    events = f"  Warning  FailedScheduling  3m50s (x58 over 4h48m)  karpenter  {text}\n"
    assert sort_by_cause(events).groups[0].names["NodePool"] == ("gpu",)


def test_a_message_wider_than_its_column_is_read_whole() -> None:
    heading = "LAST SEEN   TYPE      REASON             OBJECT      SUBOBJECT   SOURCE      MESSAGE   FIRST SEEN"
    heading += "   COUNT   NAME"
    row = "2m          Warning   FailedScheduling   pod/web-1               karpenter   Failed to schedule pod, all "
    row += "available instance types exceed limits for nodepool (NodePool=gpu)   9m   3   web-1.18"
    group = sort_by_cause(f"{heading}\n{row}\n").groups[0]
    assert (group.cause and group.cause.id, group.times, group.names["NodePool"]) == ("node-limits", 3, ("gpu",))


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ("NAME      NODECLASS   NODES   READY   AGE\ndefault   default     0       False   12m\n", "nodepools"),
        (
            "NAME   TYPE   CAPACITY   ZONE   NODE   READY   AGE\nweb-abcde  m7g.large  spot  a  n  True  9d\n",
            "nodeclaims",
        ),
        ("NAME      READY   AGE\ndefault   False   12m\n", "ec2nodeclasses"),
        ("NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE\nshop   web-1   0/1   Pending   0   9m\n", "pods"),
    ],
)
def test_a_table_without_reasons_says_what_to_run_instead(table: str, kind: str) -> None:
    with pytest.raises(NoLog, match=f"kubectl get {kind} -o yaml"):
        sort_by_cause(table)


@pytest.mark.parametrize(
    "text",
    [
        "Unable to connect to the server: dial tcp: lookup a.gr7.us-east-1.eks.amazonaws.com: no such host",
        'Error from server (NotFound): nodepools.karpenter.sh "a" not found',
        'Error from server (Forbidden): nodepools.karpenter.sh is forbidden: User "a" cannot list resource "a"',
        "error: You must be logged in to the server (Unauthorized)",
    ],
)
def test_an_error_of_kubectl_itself_is_no_log_and_says_what_to_do(text: str) -> None:
    with pytest.raises(NoLog, match="kubectl failed with"):
        sort_by_cause(f"{text}\n")


def test_errors_of_other_objects_are_not_karpenters() -> None:
    with pytest.raises(NoLog):
        sort_by_cause('Error: no matches for kind "Certificate" in version "cert-manager.io/v1"\n')


@pytest.mark.parametrize(
    ("reason", "way"),
    [("drifted", "`nodelint plan` shows which change"), ("empty", "`nodelint why` says of each node")],
)
def test_a_disruption_is_no_failure_and_leads_to_its_cause(
    nodelint: Run, tmp_path: Path, reason: str, way: str
) -> None:
    """As Karpenter logs it since 1.1, at the level of information."""
    line = {"level": "INFO", "time": "2026-05-08T10:00:00.000Z", "logger": "controller", "commit": "abc"}
    line |= {"message": "disrupting node(s)", "controller": "disruption", "reason": reason, "decision": "replace"}
    (tmp_path / "a.log").write_text("\n".join([json.dumps(line)] * 2) + "\n", encoding="utf-8")
    printed = " ".join(nodelint("triage", "a.log").stdout.split())
    assert f"No failures. Karpenter disrupted nodes 2 times ({reason} 2). This is no failure: {way}" in printed


def test_events_name_the_node_its_pool_and_the_time(nodelint: Run) -> None:
    """A NodeClaim is named after its NodePool; one that is launched replaces another."""
    event = {"kind": "Event", "reason": "DisruptionTerminating", "lastTimestamp": "2026-05-08T10:00:00Z"}
    events = [
        {**event, "involvedObject": {"kind": kind, "name": name}, "message": f"Disrupting {kind}: Drifted/Replace"}
        for kind, name in (("Node", "ip-10-0-0-1"), ("NodeClaim", "general-q8z7x"))
    ]
    launched = {"kind": "NodeClaim", "name": "general-zzzzz"}
    events.append(
        {**event, "reason": "DisruptionLaunching", "involvedObject": launched, "message": "Launching: Drifted"}
    )
    text = json.dumps({"kind": "List", "items": events})
    (disrupted,) = json.loads(nodelint("triage", "-", "--format", "json", stdin=text).stdout)["disrupted"]
    assert (disrupted["node"], disrupted["nodePool"]) == ("ip-10-0-0-1", "general")
    printed = " ".join(nodelint("triage", "-", stdin=text).stdout.split())
    assert "2026-05-08 10:00:00 drifted node ip-10-0-0-1 (NodePool general, NodeClaim general-q8z7x)" in printed


@pytest.mark.parametrize(
    ("amounts", "allowed", "advice"),
    [
        ({"cpu": "3150m", "memory": "1Gi"}, "kubernetes.io/arch In [amd64]", "A limit, or a requirement that"),
        ({"cpu": "200"}, "karpenter.k8s.aws/instance-family In [m5 c5]", "help: Allow a larger type in the NodePool"),
        ({"cpu": "1", "nvidia.com/gpu": "1"}, "karpenter.k8s.aws/instance-category In [c m]", "such as g"),
    ],
)
def test_the_amounts_of_a_message_decide_about_the_advice(
    nodelint: Run, tmp_path: Path, amounts: dict[str, str], allowed: str, advice: str
) -> None:
    error = (
        'incompatible with nodepool "general", daemonset overhead={"pods":"1"}, no instance type satisfied resources '
        f"{json.dumps(amounts, separators=(',', ':'))} and requirements karpenter.sh/nodepool In [general], "
        f"{allowed} "
        "(no instance type has enough resources)"
    )
    line = {"level": "ERROR", "time": "2026-05-08T10:00:00.000Z", "logger": "controller", "commit": "abc"}
    line |= {"message": "could not schedule pod", "controller": "provisioner", "error": error}
    (tmp_path / "a.log").write_text(json.dumps(line) + "\n", encoding="utf-8")
    text = " ".join(nodelint("triage", "a.log").stdout.split())
    assert f"ask for {next(iter(amounts))} {next(iter(amounts.values()))}" in text
    assert advice in text


@pytest.mark.parametrize(
    "text",
    [
        'INFO disrupting node(s) {"reason":"drifted"}\n',
        '2026-05-08T10:00:00.000Z INFO controller disrupting node(s) {"commit":"abc", "reason":"drifted"}\n',
        '2026-05-08T10:00:00.000Z\tINFO\tcontroller\tdisrupting node(s)\t{"commit":"abc", "reason":"drifted"}\n',
        "LAST SEEN   TYPE     REASON                  OBJECT         MESSAGE\n"
        "5m          Normal   DisruptionTerminating   node/ip-10-0-1-1      Disrupting Node: Drifted/Delete\n"
        "5m          Normal   DisruptionTerminating   nodeclaim/web-abcde   Disrupting NodeClaim: Drifted/Delete\n",
        "5m   Normal   DisruptionLaunching   nodeclaim/web-abcde   Launching NodeClaim: Drifted/Replace\n",
        json.dumps(
            {
                "kind": "Event",
                "involvedObject": {"kind": "Node", "name": "ip-10-0-1-1"},
                "reason": "DisruptionTerminating",
                "message": "Disrupting Node: Drifted/Replace",
                "source": {"component": "karpenter"},
                "type": "Normal",
            }
        ),
    ],
    ids=["shortened", "spaces", "console", "table", "launching", "object"],
)
def test_a_disruption_is_read_in_each_form(nodelint: Run, text: str) -> None:
    done = nodelint("triage", "-", stdin=text)
    printed = " ".join(done.stdout.split())
    assert "No failures. Karpenter disrupted nodes 1 time (drifted 1). This is no failure: `nodelint plan`" in printed
    assert done.returncode == 0
    assert json.loads(nodelint("triage", "-", "--format", "json", stdin=text).stdout)["disruptions"] == {"drifted": 1}


def test_an_expiry_leads_to_the_field_that_asks_for_it(nodelint: Run) -> None:
    line = '2026-05-08T10:00:00.000Z\tDEBUG\tcontroller\tdeleting expired nodeclaim\t{"commit":"abc"}\n'
    printed = " ".join(nodelint("triage", "-", stdin=line).stdout.split())
    assert "(expired 1). This is no failure: a node that expires has reached `expireAfter`" in printed


def test_a_fix_is_as_safe_as_check_says(nodelint: Run, tmp_path: Path) -> None:
    """The class has images for amd64 alone: a requirement that says so replaces nodes."""
    pool = nodepool("key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, m7g]", name="web")
    image = "name: amazon-eks-node-al2023-x86_64-standard-1.33-v20250807, owner: amazon"
    (tmp_path / "pools.yaml").write_text(f"{pool}---\n{nodeclass('amiFamily: AL2023', ami=image)}", encoding="utf-8")
    line = {"level": "ERROR", "time": "2026-05-08T10:00:00.000Z", "logger": "controller", "commit": "abc"}
    line |= {"message": "Reconciler error", "NodePool": {"name": "web"}}
    line["error"] = "no instance types satisfy requirements of amis ami-1"
    (tmp_path / "a.log").write_text(f"{json.dumps(line)}\n", encoding="utf-8")
    printed = nodelint("triage", "a.log", "--manifests", "pools.yaml", "--karpenter-version", "1.5.0").stdout
    (labelled,) = set(re.findall(r"fix \(unsafe: [^)]+", " ".join(printed.split())))
    assert labelled in " ".join(nodelint("check", "pools.yaml", "--karpenter-version", "1.5.0").stdout.split())


DISRUPTION = (
    '{"level":"INFO","time":"2026-01-01T10:00:00.000Z","logger":"controller","message":"disrupting node(s)",'
    '"commit":"abc","controller":"disruption","reason":"drifted","disrupted-nodes":[%s]}\n'
)
NODE = '{"Node":{"name":"ip-10-0-0-%s"},"NodeClaim":{"name":"web-q8z%02d"},"instance-type":"m7i.large"}'


def test_the_nodes_of_a_disruption_are_named(nodelint: Run) -> None:
    text = DISRUPTION % ",".join(NODE % (n, n) for n in range(2)) + DISRUPTION % ""
    text += "".join(DISRUPTION % (NODE % (n, n)) for n in range(2, 12))
    printed = nodelint("triage", "-", stdin=text).stdout
    assert (
        "\n  2026-01-01 10:00:00  drifted  node ip-10-0-0-1 (NodePool web, NodeClaim web-q8z01, m7i.large)\n"
        in printed
    )
    assert "ip-10-0-0-10" not in printed and "  and 2 more nodes; `--format json` lists them\n" in printed
    found = json.loads(nodelint("triage", "-", "--format", "json", stdin=text).stdout)
    assert found["disruptions"] == {"drifted": 12} and len(found["disrupted"]) == 12
    assert found["disrupted"][11] == {
        "reason": "drifted",
        "time": "2026-01-01T10:00:00Z",
        "node": "ip-10-0-0-11",
        "nodeClaim": "web-q8z11",
        "nodePool": "web",
        "instanceType": "m7i.large",
    }


_TAINT = 'incompatible with nodepool "gpu", did not tolerate taint (taint=nvidia.com/gpu=true:NoSchedule)'
_NAME = 'incompatible with nodepool "{0}", incompatible requirements, key karpenter.sh/nodepool, {1}'
_OTHER = _NAME.format("general", "karpenter.sh/nodepool In [gpu] not in karpenter.sh/nodepool In [general]")
_LABEL = 'incompatible with nodepool "general", incompatible requirements, label "team" does not have known values'


@pytest.mark.parametrize(
    ("refusals", "cause"),
    [
        ((_TAINT, _OTHER), "pod-taints"),
        ((_OTHER, _TAINT), "pod-taints"),
        ((_TAINT, _LABEL), "pod-reasons"),
        ((_OTHER, _LABEL), "pod-requirements"),
        ((_OTHER,), "pod-requirements"),
        ((_TAINT,), "pod-taints"),
    ],
)
def test_the_cause_is_what_the_selected_nodepool_says(refusals: Sequence[str], cause: str) -> None:
    found = recognise(f"could not schedule pod {'; '.join(refusals)}")
    assert found is not None and found.id == cause
