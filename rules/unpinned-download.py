r"""User data downloads programs without a version from the internet each time a node starts.

Each node gets the program of that day, so two nodes of one class can differ, and no commit shows it. If the server is
slow or gone, nodes start late or without the program. Whoever controls the server can run commands as root on every
node.

Put programs into the image or into a DaemonSet. If neither is possible, pin the version, verify a checksum, and serve
the file from S3 or your own mirror.

```yaml bad frame=class
spec.userData: |
  #!/bin/bash
  curl -sSL https://get.example.com/agent.sh | bash
```

```yaml good frame=bad
spec.userData: |
  #!/bin/bash
  aws s3 cp s3://main-node-files/agent-1.4.2.rpm /opt/agent.rpm
  rpm -i /opt/agent.rpm
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, messages, rule


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["removed-api"],
    mentions=["userData"],
    subject="user data",
    source="https://docs.aws.amazon.com/eks/latest/best-practices/protecting-the-infrastructure.html",
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    script = context.script(node_class)
    found = script.downloads() if script is not None else []
    if script is None or not found:
        return
    first = found[0]
    program = messages.short(" ".join(script.text[first.start : first.end].split()), 40)
    yield Finding(
        at=script.places.locate(first.start, first.end),
        message=f"`{program}` {first.what}, each time a node starts",
        also=[Also(script.places.locate(action.start, action.end), action.what) for action in found[1:6]],
        note="nodes of one class can differ; if the server cannot be reached, a node starts without it",
        help="put the program into the image, or pin its version and serve it from S3",
    )
