"""The NodePool and the EC2NodeClass that tests begin with, and what a test needs to be different."""

from __future__ import annotations


def nodepool(
    *requirements: str,
    name: str = "default",
    node_class: str = "default",
    ref: str | None = None,
    inline: bool = False,
    labels: str | None = None,
    spec: str = "",
    template: str = "",
) -> str:
    """A NodePool. Each requirement is one line, `key: a, operator: In, values: [b]`; `inline` puts the name beside
    `metadata`. `spec` and `template` are further lines of its spec and of its template's; `ref` is the reference of
    another class than an EC2NodeClass.
    """
    ref = ref or f"{{group: karpenter.k8s.aws, kind: EC2NodeClass, name: {node_class}}}"
    metadata = "" if labels is None else f"    metadata: {{labels: {labels}}}\n"
    lines = "".join(f"\n        - {{{line}}}" for line in requirements) or " []"
    return (
        f"apiVersion: karpenter.sh/v1\nkind: NodePool\n{_metadata(name, inline)}spec:\n{spec}"
        f"  template:\n{metadata}    spec:\n"
        f"      nodeClassRef: {ref}\n"
        f"{template}      requirements:{lines}\n"
    )


def pool(*requirements: str, name: str = "default", spec: str = "", labels: str = "{}", inline: bool = False) -> str:
    """A NodePool with requirements such as `key In [a, b]`."""
    lines = []
    for text in requirements:
        key, operator, *values = text.split(" ", 2)
        lines.append(f"key: {key}, operator: {operator}" + (f", values: {values[0]}" if values else ""))
    return nodepool(*lines, name=name, spec=spec, labels=labels, inline=inline)


def nodeclass(
    *more: str,
    name: str = "default",
    role: str = "KarpenterNodeRole-main",
    ami: str = "alias: al2023@v20250403",
    net: str = "tags: {karpenter.sh/discovery: main}",
    inline: bool = False,
) -> str:
    """An EC2NodeClass. `ami` is its one term for images, `net` that for subnets and security groups; `more` are
    further lines of its spec.
    """
    lines = "".join(f"  {line}\n" for line in more)
    return (
        f"apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\n{_metadata(name, inline)}spec:\n  role: {role}\n"
        f"  amiSelectorTerms: [{{{ami}}}]\n  subnetSelectorTerms: [{{{net}}}]\n"
        f"  securityGroupSelectorTerms: [{{{net}}}]\n{lines}"
    )


def _metadata(name: str, inline: bool) -> str:
    return f"metadata: {{name: {name}}}\n" if inline else f"metadata:\n  name: {name}\n"
