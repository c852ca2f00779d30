"""The controller needs CoreDNS, and CoreDNS needs a node that only the controller can launch.

If a cluster has no node group, and its CoreDNS does not run on Fargate, CoreDNS waits for the first node. The
controller runs on Fargate, but asks CoreDNS for the addresses of AWS's services (`dnsPolicy: ClusterFirst`, the
default of the chart). It gets no answer and launches no node. In a cluster that has nodes, this shows only when the
last of them is gone.

With `dnsPolicy: Default`, the controller asks the DNS of the VPC. Or let CoreDNS run on Fargate.

There is no fix: only the author knows where CoreDNS is meant to run.

```yaml bad
# file: main.tf
module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "21.9.0"
  name               = "main"
  kubernetes_version = "1.33"
  addons             = { coredns = {} }
  fargate_profiles   = { karpenter = { selectors = [{ namespace = "karpenter" }] } }
}
resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.1"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
}
```

```yaml good diff=bad
-  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
+  values = [
+    yamlencode({ dnsPolicy = "Default", settings = { clusterName = "main", interruptionQueue = "main" } }),
+  ]
```
"""

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Source,
    controller_settings,
    first_nodes,
    rule,
    terraform_trace,
)


@rule(
    on=Source,
    group="hazard",
    severity="warning",
    subject="objects",
    mentions=controller_settings.MENTIONS,
    tags=["root-module"],
    source=[
        "provider:charts/karpenter/values.yaml@v1.14.1:72",
        "https://karpenter.sh/docs/faq/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(terraform_trace.ENDINGS):
        return
    for install in context.run_files.installs_in(source):
        if install.at.source.path != source.path or install.values is None or install.has_gaps:
            continue
        policy, network = install.values.get("dnsPolicy"), install.values.get("hostNetwork")
        is_on_network = network is not None and network.value is not False
        if is_on_network or (policy is not None and policy.value != "ClusterFirst"):
            continue
        nodes = first_nodes.find_first_nodes(source.path, context.run_files.terraform)
        at = controller_settings.place_in(source, context.files, install, policy)
        if nodes is None or nodes.total or not (nodes.has_fargate and nodes.has_dns_on_nodes) or at is None:
            continue
        yield Finding(
            at=at,
            message="the controller waits for CoreDNS, and CoreDNS waits for a node of the controller",
            also=[Also(nodes.at, "creates no node, and CoreDNS does not run on Fargate")],
            help="set `dnsPolicy: Default` in the values of the chart",
        )
