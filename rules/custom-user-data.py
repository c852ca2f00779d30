r"""User data of the family `Custom` that is missing, or cannot let a node join its cluster.

User data of the family `Custom` that cannot let a node join its cluster.

For `Custom` the user data reaches the node as it is: Karpenter adds no bootstrap call, no cluster, no tags around
PowerShell. So all of it has to be there and fit the image: a call of `bootstrap.sh` for Amazon Linux 2, a NodeConfig
with name, endpoint, certificate and CIDR of the cluster for AL2023, `settings.kubernetes` for Bottlerocket.
cloud-init ignores a script that does not begin with `#!`, and a MIME archive behind a blank line or without a
boundary.

Which image it is, its published name, its SSM parameter or the alias tells. Of an image of your own only what holds
for every image is said. A script that runs or fetches something else may join in a way of its own, and is let alone.

There is no edit for a call of what the image lacks: which image is meant, or which script, the file does not tell.

```yaml bad frame=class
spec.amiFamily: Custom
spec.amiSelectorTerms:
  - name: amazon-eks-node-al2023-x86_64-standard-1.33-v20260801
    owner: amazon
spec.userData: |
  #!/bin/bash
  /etc/eks/bootstrap.sh main
```

```yaml good frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - name: amazon-eks-node-al2023-x86_64-standard-1.33-v20260801
    owner: amazon
```

```yaml bad frame=class
spec.amiFamily: Custom
spec.amiSelectorTerms:
  - id: ami-0a1b2c3d4e5f60718
spec.userData: |
  /etc/eks/bootstrap.sh main --kubelet-extra-args '--register-with-taints=karpenter.sh/unregistered:NoExecute'
```

A class of the family `Custom` without user data: its nodes do not learn which cluster to join.

For `Custom` Karpenter adds nothing to the user data: no bootstrap call, no labels, no taints, none of
`spec.kubelet`. Only an image that joins the cluster by itself works without. Where the images are those of a family
that Karpenter knows, leave `amiFamily` to it.

```yaml bad frame=class
spec.amiFamily: Custom
```

User data of the family `Custom` that lets a node join without the taint `karpenter.sh/unregistered`.

Karpenter asks for this taint so that no pod lands on a node before it has the labels and taints of its pool. Of a
node without it Karpenter logs an error, and pods that the pool's taints should keep away may start there. Some
releases never register such a node and replace it after 15 minutes: before 1.0.9, 1.1.4 and 1.2.2. For other families
Karpenter adds the taint itself.

```yaml bad frame=class karpenter=1.14.3
spec.amiFamily: Custom
spec.amiSelectorTerms:
  - id: ami-0a1b2c3d4e5f60718
spec.userData: |
  #!/bin/bash
  /etc/eks/bootstrap.sh main --kubelet-extra-args '--node-labels=team=payments'
```

```yaml good frame=bad
spec.userData: |
  #!/bin/bash
  /etc/eks/bootstrap.sh main --kubelet-extra-args '--register-with-taints=karpenter.sh/unregistered:NoExecute'
```
"""

import re

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    RuleCheck,
    edits,
    images,
    messages,
    releases,
    rule,
    run_checks,
    userdata,
)


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="unsafe",
    gives_way_to=["removed-api"],
    renamed=("custom-family-without-user-data",),
    mentions=["Custom"],
    subject="user data",
    source=[
        "provider:pkg/providers/amifamily/bootstrap/custom.go@v1.14.1:28",
        "core:pkg/controllers/nodeclaim/lifecycle/registration.go@v1.14.0:78",
        "core:pkg/controllers/nodeclaim/lifecycle/registration.go@v1.0.0:67",
        "https://karpenter.sh/docs/concepts/nodeclasses/",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    yield from run_checks(
        node_class,
        context,
        RuleCheck(_check_bootstrap),
        RuleCheck(_check_absent, severity="warning"),
        RuleCheck(_check_taint),
    )


def _check_bootstrap(node_class: EC2NodeClass, context: Context) -> Findings:
    if node_class.ami_family != "Custom":
        return
    found = context.images(node_class)
    data = userdata.read_custom(node_class, found.boots)
    for trouble in data.faults() if data is not None else ():
        assert data is not None
        yield Finding(
            at=data.places.locate(trouble.start, trouble.end),
            message=trouble.message,
            edits=edits.if_editable(data.places.replace, trouble.start, trouble.end, trouble.new)
            if trouble.new is not None
            else (),
            also=[Also(found.images[0].at, f"finds `{messages.short(found.images[0].label, 60)}`")]
            if data.image is not None and found.images
            else [],
            note=trouble.note,
            help=trouble.help,
        )


def _check_absent(node_class: EC2NodeClass, context: Context) -> Findings:
    field = node_class.ami_family_node
    data = node_class.user_data_node
    if field is None or field.value != "Custom" or node_class.partial:
        return
    if data is not None and not (isinstance(data.value, str) and not data.value.strip()) and data.value is not None:
        return
    alias = next((term for term in node_class.ami_terms if isinstance(term.alias, str)), None)
    known = alias is not None and str(alias.alias).partition("@")[0] in images.families()
    yield Finding(
        at=field,
        message="amiFamily `Custom` without userData: a node does not learn which cluster to join",
        severity="error" if known else None,
        edits=edits.if_editable(edits.remove, field) if known else (),
        help="remove amiFamily: it follows from the alias"
        if known
        else "add userData that joins the cluster, unless the image does that itself",
    )


_TAINT = "karpenter.sh/unregistered"
_ELSEWHERE = (
    r"\{\{|(?i:kubelet[_-]extra[_-]args|bootstrap[_-](?:extra[_-])?args)\S{0,60}[\s=\"']{1,8}\$|\beval\b|@file"
)
"""What may bring arguments of the kubelet that the text does not show."""


def _check_taint(node_class: EC2NodeClass, context: Context) -> Findings:
    if node_class.ami_family != "Custom":
        return
    found = context.images(node_class)
    data = userdata.read_custom(node_class, found.boots)
    if data is None or _TAINT in data.text or data.is_windows or re.search(_ELSEWHERE, data.text) or data.faults():
        return
    place = next(data.joining(), None)
    if place is None:
        return
    registers = releases.behaves("registers-without-taint", context.karpenter)
    start, end = place
    line_end = data.text.find("\n", start)
    yield Finding(
        at=data.places.locate(start, end if line_end < 0 else min(line_end, end)),
        message=f"the node joins without the taint `{_TAINT}`: pods may come before Karpenter's taints"
        if registers
        else f"the node joins without the taint `{_TAINT}`: Karpenter {context.karpenter} never registers it",
        severity="info" if registers else None,
        note="Karpenter logs an error for each node" if registers else "Karpenter deletes the node after 15 minutes",
        help=f"let the kubelet register with `{_TAINT}:NoExecute`, as Karpenter does for its own families",
    )
