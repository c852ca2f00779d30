r"""Nodes get public IP addresses, or they run in subnets for internet-facing load balancers.

With `associatePublicIPAddress: true`, every node has an address on the internet, and only its security groups protect
the kubelet. A subnet with the tag `kubernetes.io/role/elb` is for internet-facing load balancers: its default route
goes to an internet gateway. A node in it either has a public address or, with `associatePublicIPAddress: false`,
cannot reach the internet. It then cannot pull images or reach a public API endpoint, unless the VPC has endpoints for
all of it.

The rule also reports subnets that are selected by a name with the word `public`, and subnets that Terraform calls
`aws_subnet.public` or `public_subnets`.

Choose private subnets, for example by `kubernetes.io/role/internal-elb` or by a custom tag.

```yaml bad frame=class
spec.associatePublicIPAddress: true
```

```yaml good frame=class
```

```yaml bad frame=class
spec.subnetSelectorTerms: [{tags: {kubernetes.io/role/elb: "1"}}]
```

```yaml good frame=bad
spec.subnetSelectorTerms: [{tags: {kubernetes.io/role/internal-elb: "1"}}]
```
"""

import re

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, messages, rule

PUBLIC = "kubernetes.io/role/elb"
REFERENCE = r"\baws_subnet\.public(?:_\w+)?|\bmodule\.[\w-]+(?:\[[^\[\]\n]{0,80}\])?\.public_subnets?\b"


@rule(
    on=EC2NodeClass,
    group="practice",
    subject="network",
    source=[
        "https://docs.aws.amazon.com/eks/latest/best-practices/protecting-the-infrastructure.html",
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:33",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    public = node_class.node.find("spec", "associatePublicIPAddress")
    given = public.value if public is not None and isinstance(public.value, bool) else None
    tags = [label for term in node_class.subnet_terms for label in term.tags if label.key == PUBLIC]
    if given and public is not None:
        yield Finding(
            at=public,
            message="every node gets a public IP address: only security groups protect it",
            also=[Also(tag.key_node, "subnets of public load balancers") for tag in tags],
            help="use private subnets with a NAT gateway or VPC endpoints",
        )
        return
    for tag in tags:
        if given is False and public is not None:
            yield Finding(
                at=tag.key_node,
                message=f"nodes in subnets with `{PUBLIC}` and without a public address cannot reach the internet",
                also=[Also(public, "no public address")],
                note="such a subnet routes to an internet gateway, and a node without a public address cannot use "
                "that",
                help="select private subnets",
            )
        else:
            yield Finding(
                at=tag.key_node,
                message=f"`{PUBLIC}` marks public subnets: nodes run in subnets with a route from the internet",
                help="select private subnets by `kubernetes.io/role/internal-elb`",
            )
    for term in () if tags else node_class.subnet_terms:
        for label in term.tags:
            name = label.value if label.key == "Name" and isinstance(label.value, str) else ""
            if "public" in re.split("[^a-z]+", name.lower()):
                yield Finding(
                    at=label.node,
                    message=f"`{messages.short(name, 40)}`: public subnets have a route from the internet to the "
                    "nodes",
                    help="select private subnets",
                )
    written = node_class.subnet_terms_node
    for node in written.walk() if written is not None and not tags else ():
        # A comment may name what the terms leave out: only values count.
        if node.kind == "scalar" and (named := re.search(REFERENCE, node.text)):
            yield Finding(
                at=node,
                message=f"`{messages.short(named[0], 40)}`: public subnets have a route from the internet to the "
                "nodes",
                help="use the private subnets",
            )
            return
