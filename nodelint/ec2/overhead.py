"""The memory of a node of an instance type, and the resources that the kubelet reserves by default.

From `pkg/providers/instancetype/types.go` of the AWS provider, 1.0.0 to 1.14.1, with the setting
VM_MEMORY_OVERHEAD_PERCENT at its default of 0.075.
"""

from __future__ import annotations

MIB = 1 << 20

EVICTION_MEMORY = 100 * MIB
"""Bytes of free memory below which pods are evicted."""

STORAGE_RESERVED = 1 << 30
"""Bytes of the root volume that the kubelet reserves."""

EVICTION_STORAGE_PERCENT = 10
"""The percentage of the root volume below which pods are evicted."""

_CPU_RESERVED = ((0, 1000, 0.06), (1000, 2000, 0.01), (2000, 4000, 0.005), (4000, 1 << 31, 0.0025))
"""Slices of the millicores (begin, end), with the fraction that the kubelet reserves."""


def ceiling(number: float) -> int:
    """Return the smallest integer that is not below a number. This avoids loading the module `math`."""
    return int(-(-number // 1))


def memory(mib: int, arm: bool) -> int:
    """Return the bytes of a type's memory (`mib`, in MiB) without the part of the hypervisor."""
    if arm:
        mib -= 64
    # In the controller's order of operations, for the ceiling depends on how floats round.
    return (mib - ceiling(float(mib * MIB) * 0.075 / 1024 / 1024)) * MIB


def memory_reserved(pods: int) -> int:
    """Return the bytes of memory that the kubelet reserves by default for a number of pods."""
    return (11 * pods + 255) * MIB


def cpu_reserved(millicores: int) -> int:
    """Return the millicores that the kubelet reserves by default."""
    return sum(
        int(float(min(millicores, end) - start) * part) for start, end, part in _CPU_RESERVED if millicores >= start
    )
