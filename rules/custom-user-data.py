r"""A class of the family `Custom` has no user data, or user data that cannot join a node to the cluster.

For `Custom`, Karpenter passes the user data to the node unchanged. It adds no bootstrap call, no cluster settings and
no tags around PowerShell. So the user data must contain everything, and it must fit the image: a call of
`bootstrap.sh` for Amazon Linux 2, a NodeConfig with name, endpoint, certificate and CIDR of the cluster for AL2023,
and `settings.kubernetes` for Bottlerocket. cloud-init ignores a script that does not begin with `#!`. It also ignores
a MIME archive after a blank line or without a boundary.

The rule identifies the image by its published name, its SSM parameter or the alias. For your own images it reports
only what is wrong for every image. It ignores scripts that run or download something else, because they may join in
their own way.

There is no fix for a call of a program that the image lacks: the file does not say which image or script is meant.

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

The rule also reports a class of the family `Custom` without user data: its nodes do not know which cluster to join.

For `Custom`, Karpenter adds nothing to the user data: no bootstrap call, no labels, no taints, nothing from
`spec.kubelet`. This works only if the image joins the cluster by itself. If the images belong to a family that
Karpenter knows, remove `amiFamily`.

```yaml bad frame=class
spec.amiFamily: Custom
```

The rule also reports user data that joins a node without the taint `karpenter.sh/unregistered`.

Karpenter needs this taint so that no pod starts on a node before the node has the labels and taints of its pool. If
the taint is missing, Karpenter logs an error, and pods that the pool's taints exclude may start on the node. Releases
before 1.0.9, 1.1.4 and 1.2.2 never register such a node and replace it after 15 minutes. For other families,
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
        message="amiFamily is `Custom` and the class has no userData: a node does not know which cluster to join",
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
"""A pattern of expressions that may add kubelet arguments which the text does not contain."""


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
        message=f"the node joins without the taint `{_TAINT}`: pods may start before Karpenter's taints"
        if registers
        else f"the node joins without the taint `{_TAINT}`: Karpenter {context.karpenter} never registers it",
        severity="info" if registers else None,
        note="Karpenter logs an error for each node" if registers else "Karpenter deletes the node after 15 minutes",
        help=f"let the kubelet register with `{_TAINT}:NoExecute`, as Karpenter does for its own families",
    )
