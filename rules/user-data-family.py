r"""The user data is for another image family, or cloud-init cannot run it.

Each family accepts its own kind of user data. AL2023 accepts a NodeConfig, a script, or a MIME archive of them. AL2
accepts a script or an archive, Bottlerocket TOML settings, and Windows PowerShell. Karpenter adds its own part and
checks nothing else. What does not fit fails on the node without a notice: AL2023 has no `bootstrap.sh`, and AL2 has
no `nodeadm`. cloud-init starts no script without `#!` in its very first line, and it does not recognise a
`#cloud-config` without a MIME header. The kubelet of these images does not read `/etc/sysconfig/kubelet`, and on
AL2023 not `kubelet-config.json`.

A script that cannot start is a warning: cloud-init logs it and runs the next part, which is Karpenter's. If Karpenter
cannot read Bottlerocket's settings, it launches nothing. No family accepts base64, because Karpenter encodes the text
itself.

The rule does not judge the family `Custom`, whose user data is your own.

```yaml bad frame=class
spec.userData: |
  #!/bin/bash
  /etc/eks/bootstrap.sh main --kubelet-extra-args '--max-pods=58'
```

```yaml good frame=class
spec.kubelet.maxPods: 58
```

```yaml bad frame=class
spec.userData: |
  MIME-Version: 1.0
  Content-Type: multipart/mixed; boundary="BOUNDARY"

  --BOUNDARY
  Content-Type: text/x-shellscript; charset="us-ascii"

  echo 'vm.max_map_count = 262144' > /etc/sysctl.d/90-search.conf
  sysctl --system
  --BOUNDARY--
```

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.46.0
spec.userData: |
  #!/bin/bash
  sysctl -w vm.max_map_count=262144
```

```yaml good frame=bad
spec.userData: |
  [settings.kernel.sysctl]
  "vm.max_map_count" = "262144"
```
"""

import base64
import re

from nodelint.api import (
    UNKNOWN,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    Suggestion,
    edits,
    remedies,
    rule,
    userdata,
)

JOINS = "the node joins without it"
"""A note: Karpenter adds its own part of the user data, which runs in any case."""

ENCODING = r"(?:\$\{\s*)?base64encode\(|\{\{-?[^{}]*\|\s*b64enc\s*-?\}\}"
"""A call of a Terraform or Helm function that encodes a text in base64."""


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="unsafe",
    gives_way_to=["removed-api"],
    mentions=["userData"],
    subject="user data",
    source=[
        "https://karpenter.sh/docs/concepts/nodeclasses/",
        "provider:pkg/providers/amifamily/bootstrap/nodeadm.go@v1.14.1:40",
        "https://cloudinit.readthedocs.io/en/latest/explanation/format.html",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    node = node_class.user_data_node
    if node is not None and node.value is UNKNOWN and re.match(ENCODING, node.unquoted):
        if node_class.ami_family != "Custom":  # there the text is passed on as it is
            yield Finding(
                at=node,
                message="the userData is base64: it must be plain text",
                note="Karpenter encodes it again, so nothing on the node runs it",
                help="remove the function that encodes it",
            )
        return
    data = context.user_data(node_class)
    for trouble in userdata.misfits(data) if data is not None else ():
        assert data is not None
        yield Finding(
            at=data.places.locate(trouble.start, trouble.end),
            message=trouble.message,
            severity="warning" if trouble.joins else None,
            edits=edits.if_editable(data.places.replace, trouble.start, trouble.end, trouble.new)
            if trouble.new is not None
            else (),
            note=f"{trouble.note}; {JOINS}" if trouble.joins else trouble.note,
            help=trouble.help,
            suggestions=_ways(node_class, node, data, trouble) if trouble.new is None and node is not None else [],
        )


def _ways(
    node_class: EC2NodeClass, node: Node, data: "userdata.UserData", trouble: "userdata.UserDataProblem"
) -> list[Suggestion]:
    """Return suggestions for user data of the wrong form: remove it, remove or move the failing call, or write the
    decoded text of base64.
    """
    if trouble.start == 0 and trouble.message.startswith("the userData is base64") and isinstance(node.value, str):
        plain = base64.b64decode(node.value).decode(errors="replace")
        readable = plain.replace("\n", "").replace("\t", "").isprintable() and "\ufffd" not in plain
        changes = edits.if_editable(edits.replace, node, plain) if readable else []
        return [Suggestion("write the decoded text", changes)] if changes else []
    if data.is_windows or data.family == "Bottlerocket" or data.looks == "toml":
        changes = edits.if_editable(edits.remove, node)
        return [Suggestion("remove the userData: Karpenter joins the node without it", changes)] if changes else []
    call = data.text[trouble.start : trouble.end]
    if "call fails" not in trouble.message or call.rstrip().endswith("\\") or re.search(r"[;&|)]", call):
        return []
    moved = remedies.list_suggestions(remedies.move_kubelet_flags(node_class, data, trouble.start, trouble.end))
    changes = edits.if_editable(data.places.replace, trouble.start, trouble.end, ":")
    return moved or ([Suggestion("remove the call: `:` does nothing", changes)] if changes else [])
