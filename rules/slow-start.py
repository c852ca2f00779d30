r"""User data delays the start of a node: it waits, updates all packages, restarts the node or probes the network.

Pods wait for a new node, so each second of a `sleep` delays them. `dnf update` takes minutes, and two nodes of one
image then differ: update the image instead. The kubelet retries until it reaches its cluster, so a probe before its
start has no use. If the node does not join within 15 minutes, Karpenter deletes the instance.

Commands after the call that joins the cluster delay nothing, and the rule does not report them. A `sleep` of a
variable length is shown only if `--select` or `--extend-select` asks for the rule. The rule does not report a pause
of less than 15 seconds.

```yaml bad frame=class
spec.userData: |
  #!/bin/bash
  sleep 30
  sysctl -w vm.max_map_count=262144
```

```yaml good frame=bad
spec.userData: |
  #!/bin/bash
  sysctl -w vm.max_map_count=262144
```
"""

import re

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, messages, rule


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["removed-api"],
    mentions=["userData"],
    options={"seconds": "the shortest pause, in seconds, that is reported"},
    subject="user data",
    source="core:pkg/controllers/nodeclaim/lifecycle/liveness.go@v1.14.0:48",
)
def check(node_class: EC2NodeClass, context: Context, *, seconds: int = 15) -> Findings:
    script = context.script(node_class)
    found = script.waits() if script is not None else []
    found = [wait for wait in found if script is None or not _is_short(script.text[wait.start : wait.end], seconds)]
    if script is None or not found:
        return
    first = found[0]
    written = messages.short(" ".join(script.text[first.start : first.end].strip(" \t\n;&|").split()), 40)
    yield Finding(
        at=script.places.locate(first.start, first.end),
        message=f"`{written}`, {first.what}, delays the start of every node",
        on_request=all("$" in script.text[action.start : action.end] for action in found),
        also=[
            Also(script.places.locate(action.start, action.end), f"{action.what} as well") for action in found[1:6]
        ],
        note="pods wait for the node, and Karpenter deletes a node that does not join within 15 minutes",
        help="remove the pause, or wait in the background for what the script needs"
        if "pause" in first.what
        else "do this when you build the image, or start it in the background",
    )


def _is_short(command: str, seconds: int) -> bool:
    """Return whether a command is a pause of fewer seconds."""
    pause = re.search(r"\bsleep[ \t]+(\d+)s?(?=[\s;&|)]|$)", command)
    return pause is not None and int(pause[1]) < seconds
