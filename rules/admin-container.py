"""Bottlerocket's admin container is enabled, so every node of the class offers a root shell.

Bottlerocket has no shell. Its admin container adds one, with SSH and with `sheltie`, which gives root on the host.
The container is off by default. If you need to debug a node, enable it on that node from the control container (SSM).

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
        message="the admin container is enabled: every node of this class offers a root shell",
        edits=edits.if_editable(data.places.replace, *found.literal, "false") if found.literal else (),
        help="disable the admin container; to debug a node, enable it from the control container of that node",
    )
