"""Which NodePool takes a workload's pods, decided as Karpenter's scheduler decides it for one pod and empty pools."""
