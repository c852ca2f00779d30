"""Search files for keywords that show what they may contain, so that other files are not parsed."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.contents import read_content
from nodelint.files.file_kinds import SCRIPTS, TEMPLATES
from nodelint.forms.registry import TABLE
from nodelint.text.keywords import bytes_hold_keyword

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import AnyStr

# A file that states a Karpenter release contains one of these and the keyword `karpenter`.
_STATES = (
    *(b"version", b"targetRevision", b"tag:", b"semver", b"karpenter/controller", b"/karpenter:"),
    *(b"rterVersion", b"artVersion", b"defaultVersion", b"settings"),
    *TABLE.state_marks,
)
# Files that affect nodes without naming Karpenter are read together with those that state a release.
_AROUND = (
    *(b"mapRoles", b"aws_auth_roles", b"access_entr", b"AccessEntr", b"accessEntr"),
    b"aws-load-balancer-controller",
)
CLUSTERS = (
    *(b"eksctl.io/", b"AWS::EKS::Cluster", b"AWSCDK-EKS-Cluster", b"AWSManagedControlPlane"),
    *(b"eks.aws.upbound.io/", b"eks.aws.m.upbound.io/", b"eks.aws.crossplane.io/", b"eks.services.k8s.aws/"),
    *(b"aws:eks:Cluster", b"aws:eks/cluster:Cluster", b": eks:Cluster"),
)
"""An object that creates a cluster, and has its Kubernetes version, contains one of these."""
CLUSTER_COMMANDS = (
    *(b"eks update-cluster-version", b"eks create-cluster"),
    *(b"eksctl upgrade cluster", b"eksctl create cluster"),
)
"""A script whose commands give a cluster its Kubernetes version contains one of these."""
_STATES_ALONE = (b"KARPENTER_", *CLUSTERS, *CLUSTER_COMMANDS, *_AROUND)

# A file that creates pods, or that sets the zone of their volumes, contains one of these.
_WORKLOADS = (
    *(b"Deployment", b"StatefulSet", b"DaemonSet", b"ReplicaSet", b"CronJob", b"Rollout"),
    *(b": Job", b": Pod\n", b'"Pod"', b'"Job"'),
    *(b": PersistentVolume", b": StorageClass"),
)
_CHART_KEY = b"chart:"
_WORKLOADS_OF_BLOCKS = b'"kubernetes_'
_PATCHED = b"/spec/"
_BUFFERS, _BUFFER_GROUP = b"CapacityBuffer", b"autoscaling.x-k8s.io/v"
_LAUNCHES = b"ec2:CreateFleet"
_NAME, _OF_CONTROLLER = b"arpenter", (b"pricing:GetProducts", b"ssm:GetParameter")
"""A policy that launches nodes is the controller's if it has the name with a capital, or all of these actions."""
# A file that declares nodes of other tools than Karpenter contains one of these. The common parts are searched first.
NODE_GROUPS = (
    *(b"anagedNodeGroups", b"nodeGroups:", b"managed_node_group", b"aws_eks_node_group", b"aws_eks_fargate_profile"),
    *(b"argateProfiles", b"fargate_profiles", b"NodegroupName", b"AWSManagedMachinePool", b"AWS::EKS::Nodegroup"),
)
NODE_GROUP_PARTS = (b"roup", b"argate", b"MachinePool")
OBJECTS_WITH_VALUES = (
    *(b"kind: ConfigMap", b"kind: Secret", b'"ConfigMap"', b'"Secret"', b"configMapGenerator", b"secretGenerator"),
)
"""A file with an object that may hold values for others contains one of these."""
# These are below the key `settings` of the chart, also if a value is set by its path.
_ABOVE_SETTINGS, _SETTINGS = (
    b"settings",
    (
        *(b"featureGates:", b"minValuesPolicy:", b"preferencePolicy:", b"interruptionQueue:"),
        *(b"ignoreDRARequests:", b"enableDRA:"),
    ),
)


def find_keywords(data: AnyStr, keywords: Iterable[AnyStr]) -> tuple[AnyStr, ...]:
    """Return the keywords that occur in a content."""
    return tuple([keyword for keyword in keywords if data.find(keyword) >= 0])


class FileKeywords:
    """The keywords that a group of files contains. The files are searched together.

    Most keywords occur in few files. A keyword that is not in the joined content is not searched in each file.
    """

    installs: Sequence[bytes] = ()
    applies: Sequence[tuple[bytes, ...]] = ()
    installing_names: Sequence[str] = ()

    def __init__(self, block: bytes, names: str) -> None:
        """Search the joined contents of files, and their joined names."""
        self.alone = find_keywords(block, _STATES_ALONE)
        self.settings = find_keywords(block, _SETTINGS) if block.find(_ABOVE_SETTINGS) >= 0 else ()
        self.buffers = block.find(_BUFFERS) >= 0
        self.policies = block.find(_LAUNCHES) >= 0
        """Whether a file may be an IAM policy of the controller."""
        self.patches = block.find(_PATCHED) >= 0
        """Whether a file may patch the spec of an object by path."""
        self.node_group_parts = find_keywords(block, NODE_GROUP_PARTS)
        self.may_be_stated = bool(self.alone or self.settings) or find_keywords(names, TABLE.stating_in_names) != ()
        """Whether a file that does not name Karpenter may state a release."""

    def search_forms(self, block: bytes, names: str) -> None:
        """Search for the keywords with which any form installs charts or changes folders."""
        self.installs = find_keywords(block, TABLE.installs)
        self.applies = [words for words in TABLE.applies if block.find(words[0]) >= 0 and holds_all(block, words)]
        self.installing_names = find_keywords(names, TABLE.installing_names)

    def may_state(self, file: str, data: bytes, ours: bool) -> bool:
        """Return whether a file may state a release. `ours`: the file names Karpenter."""
        if (self.alone and holds_any(data, self.alone)) or (
            file.endswith(TABLE.stating) and holds_any(data, TABLE.stating_words)
        ):
            return True
        # In a values file that does not name Karpenter, these keys are sufficient.
        keywords = _STATES if ours else self.settings
        return bool(keywords) and holds_any(data, keywords)

    def may_patch(self, data: bytes) -> bool:
        """Return whether a file may have a JSON6902 patch of the spec of an object."""
        return self.patches and data.find(_PATCHED) >= 0

    def may_hold_buffers(self, data: bytes) -> bool:
        """Return whether a file may hold CapacityBuffers."""
        return self.buffers and data.find(_BUFFERS) >= 0

    def may_install_charts(self, file: str, data: bytes) -> bool:
        """Return whether a file may install a chart with values."""
        if self.installs and holds_any(data, TABLE.values_keys) and holds_any(data, self.installs):
            return True
        return data.find(_CHART_KEY) >= 0 and find_keywords(file, self.installing_names) != ()

    def may_change_overlays(self, data: bytes) -> bool:
        """Return whether a file may change the objects of a folder that it applies."""
        for words in self.applies:  # noqa: SIM110
            if holds_all(data, words):
                return True
        return False

    def may_state_node_groups(self, data: bytes) -> bool:
        """Return whether a file may declare nodes of other tools than Karpenter."""
        return holds_any(data, self.node_group_parts) and holds_any(data, NODE_GROUPS)


def holds_any(data: bytes, keywords: Iterable[bytes]) -> bool:
    """Return whether a content contains one of the keywords."""
    # This is called for each file: a generator would take longer than the searches, and `in` of bytes first tries to
    # read its left side as a number, which raises a hidden error.
    for keyword in keywords:  # noqa: SIM110
        if data.find(keyword) >= 0:
            return True
    return False


def holds_all(data: bytes, keywords: Iterable[bytes]) -> bool:
    """Return whether a content contains all of the keywords."""
    for keyword in keywords:  # noqa: SIM110
        if data.find(keyword) < 0:
            return False
    return True


def may_make_pods(file: str, data: bytes) -> bool:
    """Return whether a file may create pods or place their volumes, by a manifest or by a Terraform block."""
    return holds_any(data, _WORKLOADS) or (file.endswith(TABLE.stating) and data.find(_WORKLOADS_OF_BLOCKS) >= 0)


def may_state(file: str, data: bytes, ours: bool) -> bool:
    """Return whether a file may state a release. `ours`: the file names Karpenter."""
    return FileKeywords(data, file).may_state(file, data, ours)


def find_unnamed(data: bytes) -> str | None:
    """Return a pattern for documents that concern Karpenter without its name, if a file may hold any. None otherwise.

    They are CapacityBuffers and IAM policies of the controller.
    """
    if data.find(_BUFFERS) >= 0 and data.find(_BUFFER_GROUP) >= 0:
        return r"\bCapacityBuffer\b"
    if data.find(_LAUNCHES) < 0 or bytes_hold_keyword(data):
        return None
    return _LAUNCHES.decode() if data.find(_NAME) >= 0 or holds_all(data, _OF_CONTROLLER) else None


def may_be_related(path: str) -> bool:
    """Return whether a file may be rendered together with files of other folders."""
    if path.endswith(TABLE.related) or path.endswith(TEMPLATES) or os.path.basename(path) in TABLE.names:  # noqa: PIE810
        return True
    data = read_content(path, []) if path.endswith((".yaml", ".yml", ".json", *SCRIPTS)) else None
    if not isinstance(data, bytes):
        return False
    if path.endswith(SCRIPTS):
        return holds_any(data, TABLE.script_words)
    if data.find(b"apiVersion") < 0 and data.find(b"kind:") < 0:
        return True  # values
    return bytes_hold_keyword(data) or holds_any(data, (*TABLE.controllers, *OBJECTS_WITH_VALUES))
