r"""User data gives people access to nodes: it fetches SSH keys at the start or allows `sudo` without a password.

Whoever controls the address of the keys can log in to every new node and reach each pod on it. A sudoers line with
`NOPASSWD` gives a user root rights. Session Manager needs neither keys nor users, and it records who did what.

The setting opens every node of the class. The rule ignores comments in a script.

```yaml bad frame=class
spec.userData: |
  #!/bin/bash
  echo 'deploy ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/deploy
  curl -fsSL https://keys.example.com/team.pub >> ~deploy/.ssh/authorized_keys
```

```yaml good frame=bad
spec.userData: |
  #!/bin/bash
  sysctl -w vm.max_map_count=262144
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, messages, rule

FETCHES = "fetches SSH keys when the node starts"
MAKES_ROOT = "gives a user root rights without a password"


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["removed-api", "secret-in-user-data"],
    mentions=["userData"],
    subject="security",
    source="https://docs.aws.amazon.com/eks/latest/best-practices/protecting-the-infrastructure.html",
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    script = context.script(node_class)
    if script is None:
        return
    text, found = script.text, list(_openings(script.text))
    if not found:
        return
    start, end, why = found[0]
    yield Finding(
        at=script.places.locate(start, end),
        message=f"`{messages.short(' '.join(text[start:end].split()), 50)}` {why}",
        also=[Also(script.places.locate(begin, stop), reason) for begin, stop, reason in found[1:6]],
        help="use Session Manager: the node's role needs the policy AmazonSSMManagedInstanceCore",
    )


def _openings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the effect of each command that gives people access to a node, line by line.

    Comment lines are skipped.
    """
    at = 0
    for line in text.split("\n"):
        if not line.lstrip().startswith("#"):
            for start, end, why in (*_fetched_keys(line), *_accounts(line)):
                yield at + start, at + end, why
        at += len(line) + 1


def _fetched_keys(line: str) -> Iterator[tuple[int, int, str]]:
    command = re.search(r"\b(?:curl|wget|aws\s+s3\s+cp)\b", line)
    end = line.rfind("authorized_keys")
    if command is not None and end > command.end():
        yield command.start(), end + len("authorized_keys"), FETCHES
    imported = re.search(r"\bssh-import-id(?:-gh|-lp)?\s+\S", line)
    if imported is not None:
        yield imported.start(), len(line.rstrip()), FETCHES


def _accounts(line: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the effect of an entry of sudoers without a password: `deploy ALL=(ALL) NOPASSWD:
    ALL`.
    """
    allowed = re.search(r"NOPASSWD:\s*ALL\b", line)
    host = line.find(" ALL", 0, allowed.start()) if allowed is not None else -1
    if allowed is None or host < 0 or "=" not in line[host : allowed.start()]:
        return
    start = host
    while start and (line[start - 1].isalnum() or line[start - 1] in "_%{}$-"):
        start -= 1
    if start < host:
        yield start, allowed.end(), MAKES_ROOT
