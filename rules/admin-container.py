"""Bottlerocket's admin container is enabled: a root shell on every node of the class, for whoever reaches it.

Bottlerocket has no shell. Its admin container brings one, with SSH and with `sheltie` as a way to root on the host.
It is off by default, and can be enabled on a single node from the control container (SSM) while somebody debugs it.

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.46.0
spec.userData: |
  [settings.host-containers.admin]
  enabled = true
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, rule, userdata


@rule(
    on=EC2NodeClass,
    group="practice",
    fix="unsafe",
    gives_way_to=["user-data-syntax", "removed-api"],
    mentions=["host-containers"],
    subject="security",
    source=[
        "https://github.com/bottlerocket-os/bottlerocket/blob/develop/README.md#admin-container",
        "https://docs.aws.amazon.com/eks/latest/best-practices/protecting-the-infrastructure.html",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    written = node_class.user_data_node
    if written is None or "host-containers" not in str(written.value):
        return
    data = context.user_data(node_class) or userdata.read_custom(node_class, None)
    found = data.setting("host-containers", "admin", "enabled") if data is not None else None
    if data is None or found is None or found.value is not True:
        return
    yield Finding(
        at=data.places.locate(found.start, found.end),
        message="the admin container is enabled: a root shell on every node of this class",
        edits=edits.if_editable(data.places.replace, *found.literal, "false") if found.literal else (),
        help="leave it off, and enable it from the control container of the node that you debug",
    )
