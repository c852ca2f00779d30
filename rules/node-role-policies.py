"""The role of the nodes lacks a policy without which a node does not join the cluster, or never becomes ready.

A node needs three permissions of AWS. With `AmazonEKSWorkerNodePolicy` it finds out about itself before it joins.
With `AmazonEC2ContainerRegistryPullOnly` (or `ReadOnly`) it pulls the images of `kube-proxy` and the CNI. With
`AmazonEKS_CNI_Policy` the VPC CNI gives pods their addresses, unless the CNI has a role of its own or another CNI is
installed. Karpenter launches nodes anyway, and deletes those that do not join after 15 minutes.

The rule reads the policies that Terraform attaches to the role of a class: `aws_iam_role_policy_attachment`,
`managed_policy_arns`, and lists that a module for roles gets. It reports nothing if the role gets a policy that is
not one of AWS's, if a policy is not known, or if the role is given to another module.

There is no fix: the file that attaches the policies is not that of the class.

```yaml bad
# file: main.tf
resource "aws_iam_role" "karpenter_nodes" {
  name = "karpenter-nodes"
}
resource "aws_iam_role_policy_attachment" "nodes" {
  for_each = toset([
    "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
    "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy",
  ])
  role       = aws_iam_role.karpenter_nodes.name
  policy_arn = each.value
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: karpenter-nodes
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good diff=bad
     "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy",
+    "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
```
"""

import re
from collections.abc import Collection

from nodelint.api import Also, Context, Finding, Findings, Source, node_roles, role_policies, rule

_NEEDED = (
    (
        "AmazonEKSWorkerNodePolicy",
        ("AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy"),
        "nodes do not join the cluster",
    ),
    (
        "AmazonEC2ContainerRegistryPullOnly",
        (
            *("AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly"),
            *("AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryFullAccess"),
        ),
        "nodes cannot pull images of EKS",
    ),
    (
        "AmazonEKS_CNI_Policy",
        ("AmazonEKS_CNI_Policy", "AmazonEKS_CNI_IPv6_Policy"),
        "pods get no addresses, and nodes are never ready",
    ),
)
"""For each needed policy: its name, the policies that replace it, and the effect if a role has none of these."""
_EVERYTHING = ("AdministratorAccess", "PowerUserAccess", "AmazonEC2FullAccess")
_OWN_CNI_ROLE = re.compile(
    r"(?i)\baws-node(?![\w-])|attach_vpc_cni|cilium|calico|CNI_IPv6|service_account_role_arn[^\n]{0,200}?cni"
    r"|vpc[-_]cni[^}]{0,400}?(?:service_account_role_arn|pod_identity)"
)


@rule(
    on=Source,
    group="correctness",
    subject="security",
    mentions=["karpenter.k8s.aws/v1"],
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html",
        "https://docs.aws.amazon.com/eks/latest/userguide/cni-iam-role.html",
        "core:pkg/controllers/nodeclaim/lifecycle/liveness.go@v1.14.0:62",
    ],
    tags=["terraform"],
)
def check(source: Source, context: Context) -> Findings:
    specs = [spec for obj in context.run_files.classes_of(source) if (spec := obj.node.get("spec")) is not None]
    roles = [role for spec in specs if (role := spec.get("role") or spec.get("instanceProfile")) is not None]
    if not roles:
        return
    blocks = context.run_files.terraform
    for role in roles:
        made = node_roles.find_made_role(role, blocks)
        policies = role_policies.find_policies(made, blocks) if made is not None else None
        if made is None or not policies or policies.intersection(_EVERYTHING):
            continue
        lacking = [
            (name, effect)
            for name, granting, effect in _NEEDED
            if not policies.intersection(granting) and not (name.endswith("CNI_Policy") and _has_own_cni(context))
        ]
        if lacking:
            name, effect = lacking[0]
            yield Finding(
                at=role,
                message=f"the nodes' role has no policy `{name}`: {effect}",
                also=[Also(made.block.at, "creates the role")],
                help=f"attach {_list_names([name for name, _ in lacking])} to the role",
                once=True,
            )


def _list_names(names: Collection[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _has_own_cni(context: Context) -> bool:
    """Return whether a file may give the VPC CNI its own role, or install another CNI."""
    return context.run_files.is_in_files(_OWN_CNI_ROLE, around=True) or any(
        _OWN_CNI_ROLE.search(file.text) for file in context.run_files.terraform.files
    )
