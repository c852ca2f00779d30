"""The user data of a class: its kind, which of it works with the class's AMI family, and its settings.

Karpenter merges user data with its own, differently for each AMI family. This package follows its AWS provider 1.0.0
to 1.14.1 (`pkg/providers/amifamily/bootstrap`), nodeadm of the EKS images, and cloud-init. The facts are in
`data/nodeconfig.json`. Shell and PowerShell are searched for certain calls, and not parsed.
"""

from __future__ import annotations

from nodelint.karpenter.userdata.custom import CustomUserData, read_custom
from nodelint.karpenter.userdata.family_mismatch import misfits
from nodelint.karpenter.userdata.parts import Part, UserDataProblem
from nodelint.karpenter.userdata.reading import UserData, read
from nodelint.karpenter.userdata.scripts import Script, script_of
from nodelint.karpenter.userdata.settings import BootstrapCall, KubeletSetting, NodeLabel, TomlSetting
from nodelint.karpenter.userdata.source_map import ScalarPlaces

__all__ = [
    "BootstrapCall",
    "CustomUserData",
    "KubeletSetting",
    "NodeLabel",
    "Part",
    "ScalarPlaces",
    "Script",
    "TomlSetting",
    "UserData",
    "UserDataProblem",
    "misfits",
    "read",
    "read_custom",
    "script_of",
]
