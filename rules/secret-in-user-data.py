r"""User data contains a password, token or key.

Everybody who may call `ec2:DescribeInstanceAttribute` can read user data. The metadata service shows it to each
process on the node, and to pods if the hop limit allows it. It is also in the launch template, in the object in the
cluster, and in the repository.

The rule also reports a secret that a template or a tool fills in, because it ends up in the user data. It does not
report a secret that the script fetches at run time, from Secrets Manager or Parameter Store.

```yaml bad frame=class
spec.userData: |
  #!/bin/bash
  DATADOG_API_KEY=0123456789abcdef0123456789abcdef /opt/install-agent.sh
```

```yaml good frame=bad
spec.userData: |
  #!/bin/bash
  DATADOG_API_KEY=$(aws secretsmanager get-secret-value --secret-id datadog --query SecretString --output text)
  DATADOG_API_KEY="$DATADOG_API_KEY" /opt/install-agent.sh
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, messages, rule


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["removed-api"],
    mentions=["userData"],
    subject="security",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html",
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    script = context.script(node_class)
    found = script.secrets() if script is not None else []
    if script is None or not found:
        return
    first = found[0]
    what = f"{first.what}, `{messages.short(first.name, 30)}`," if first.name else first.what
    yield Finding(
        at=script.places.locate(first.start, first.end),
        message=f"userData contains {what} which the metadata service and EC2's API show",
        also=[Also(script.places.locate(secret.start, secret.end), secret.what) for secret in found[1:6]],
        note="each process on the node and everybody with ec2:DescribeInstanceAttribute can read it",
        help="store it in Secrets Manager or Parameter Store, and fetch it with the node's role",
    )
