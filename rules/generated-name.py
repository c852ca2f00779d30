r"""The class contains a role or instance profile name that Terraform, CloudFormation or EKS generated.

A generated name belongs to one creation of the role. If you create the stack again, or in another account, the role
has another name and the class never becomes ready. EKS deletes the instance profile of a managed node group together
with the node group. Give the role a fixed name, or let the tool that creates it write its name into the class.

```yaml bad frame=class
spec.role: Karpenter-main-20250517163215895000000005
```

```yaml good frame=bad
spec.role: Karpenter-main
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, messages, rule

HEX = frozenset("0123456789abcdef")
UPPER = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
FIXED = "give it a fixed name, or let the tool that creates it write the name into the class"


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    subject="security",
    source=[
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:33",
        "https://karpenter.sh/docs/concepts/nodeclasses/",
    ],
    cel=(
        "(!has(object.spec.role) || !object.spec.role.matches('20[0-9]{16}[0-9a-f]{8}$') && "
        "(!(object.spec.role.matches('.-[0-9A-Z]{12,13}$') || "
        "object.spec.role.matches('^eksctl-.*-?[0-9A-Za-z]{12,13}$')) || "
        "object.spec.role.matches('-([0-9]{12,13}|[A-Za-z]{12,13})$') || "
        "!object.spec.role.matches('-[0-9A-Za-z]{12,13}$'))) && (!has(object.spec.instanceProfile) || "
        "(!object.spec.instanceProfile.matches('20[0-9]{16}[0-9a-f]{8}$') && "
        "(!(object.spec.instanceProfile.matches('.-[0-9A-Z]{12,13}$') || "
        "object.spec.instanceProfile.matches('^eksctl-.*-?[0-9A-Za-z]{12,13}$')) || "
        "object.spec.instanceProfile.matches('-([0-9]{12,13}|[A-Za-z]{12,13})$') || "
        "!object.spec.instanceProfile.matches('-[0-9A-Za-z]{12,13}$')) && "
        "!object.spec.instanceProfile.matches('^eks-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')))"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    for field, what in (("role", "role"), ("instanceProfile", "instance profile")):
        node = node_class.node.find("spec", field)
        if node is None or not isinstance(node.value, str):
            continue
        made = _made_up(node.value)
        if field == "instanceProfile" and _is_of_node_group(node.value):
            name = messages.short(node.value, 42)
            yield Finding(
                at=node,
                message=f"`{name}` belongs to a managed node group: EKS deletes it with the node group",
                help="set `role` instead: Karpenter then creates its own instance profile",
            )
        elif made is not None:
            maker, end = made
            yield Finding(
                at=node,
                message=f"{maker} generated the end of this name (`{end}`): a new {what} has another name",
                help=FIXED,
            )


def _made_up(name: str) -> tuple[str, str] | None:
    """Return the tool that generates names with such an end, and the end; None if no known tool does."""
    unique = name[-26:]
    if len(unique) == 26 and unique.startswith("20") and unique[:18].isdigit() and HEX.issuperset(unique[18:]):
        return "Terraform", unique
    start, _, end = name.rpartition("-")
    if not start or len(end) not in (12, 13) or end.isdigit() or end.isalpha():
        return None
    if UPPER.issuperset(end) or (name.startswith("eksctl-") and end.isalnum()):
        return "CloudFormation", end
    return None


def _is_of_node_group(name: str) -> bool:
    """Return whether a name is that of a managed node group's instance profile: `eks-` and a UUID."""
    parts = name.split("-")
    return (
        parts[0] == "eks" and [len(p) for p in parts[1:]] == [8, 4, 4, 4, 12] and HEX.issuperset("".join(parts[1:]))
    )
