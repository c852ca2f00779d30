r"""User data that opens a node to people: SSH keys fetched when it starts, or `sudo` without a password.

Whoever controls the address that keys come from reaches every new node, and each pod on it. A line with `NOPASSWD` in
sudoers makes an account as mighty as root. Session Manager needs neither keys nor accounts, and records who did what.

Each node of the class is opened in the same way. Comments in a script do not count.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  userData: |
    #!/bin/bash
    echo 'deploy ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/deploy
    curl -fsSL https://keys.example.com/team.pub >> ~deploy/.ssh/authorized_keys
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  userData: |
    #!/bin/bash
    sysctl -w vm.max_map_count=262144
```
"""

import re

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, messages, rule

OPENINGS = (
    (r"(?:curl|wget|aws\s+s3\s+cp)\b[^\n]*authorized_keys", "fetches SSH keys when the node starts"),
    (r"(?:ssh-import-id(?:-gh|-lp)?)\s+\S[^\n]*", "fetches SSH keys when the node starts"),
    (r"[\w%{}$-]+\s+ALL\s*=\s*\([^)\n]*\)\s*NOPASSWD:\s*ALL", "makes an account root without a password"),
)
"""What opens a node, and what is said of it."""


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["removed-api", "secret-in-user-data"],
    subject="security",
    source="https://docs.aws.amazon.com/eks/latest/best-practices/protecting-the-infrastructure.html",
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    script = context.script(node_class)
    if script is None:
        return
    text = re.sub(r"(?m)^[ \t]*#[^\n]*", lambda comment: " " * len(comment[0]), script.text)
    found = sorted((m.start(), m.end(), why) for pattern, why in OPENINGS for m in re.finditer(pattern, text))
    if not found:
        return
    start, end, why = found[0]
    yield Finding(
        at=script.places.at(start, end),
        message=f"`{messages.short(' '.join(text[start:end].split()), 50)}` {why}",
        also=[Also(script.places.at(begin, stop), reason) for begin, stop, reason in found[1:6]],
        help="use Session Manager: the node's role needs AmazonSSMManagedInstanceCore",
    )
