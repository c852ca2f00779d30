r"""User data uses a variable such as `${CLUSTER_ENDPOINT}` that the script never sets.

`kubectl apply` and GitOps tools do not change the text, and Karpenter replaces no variables. When the script runs on
the node, the variable is empty: an address without a host, a flag without a value.

The rule ignores variables with a default (`${X:-y}`), variables of the shell, and scripts that read a file of
variables. It also ignores files that a template engine or `envsubst` fills in: templates, scripts, and objects with
variables in other fields. If a later program replaces the variable, escape it with `\$`.

```yaml bad frame=class
spec.userData: |
  #!/bin/bash
  echo "search.node=${NODE_TIER}" >> /etc/environment
```

```yaml good frame=bad
spec.userData: |
  #!/bin/bash
  NODE_TIER=hot
  echo "search.node=${NODE_TIER}" >> /etc/environment
```
"""

import re

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, rule

TEMPLATES = ("template", ".example", ".sample", "-example", "-sample", ".tpl", ".tftpl", ".tmpl", ".j2")
FILLED = r"\$\{[A-Za-z_][\w.]*[}:]|\{\{|\{%|%\{"


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=[
        "removed-api",
        "secret-in-user-data",
        "joins-another-cluster",
        "repeated-bootstrap",
        "user-data-family",
    ],
    mentions=["userData"],
    subject="user data",
    source="https://www.gnu.org/software/bash/manual/html_node/Shell-Parameter-Expansion.html",
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    script = context.script(node_class)
    if script is None or "$" not in script.text or "#!" not in script.text or script.is_windows or not script.unset:
        return
    if node_class.document.host is not None or node_class.document.templated or _is_filled_in(node_class, context):
        return
    first = script.unset[0]
    yield Finding(
        at=script.places.locate(first.start, first.end),
        message=f"the script never sets `{script.text[first.start : first.end]}`: it is empty on the node",
        also=[
            Also(script.places.locate(use.start, use.end), "the script does not set this either")
            for use in script.unset[1:6]
        ],
        note="neither kubectl nor Karpenter replaces variables of userData",
        help="set the variable in the script, or give it a default: `${X:-value}`",
    )


def _is_filled_in(node_class: EC2NodeClass, context: Context) -> bool:
    """Return whether another tool seems to fill in the variables of the file.

    The name of the file says so, or an object in its folder has variables outside of the user data.
    """
    path = node_class.source.path
    folder, _, name = path.rpartition("/")
    if any(word in name.lower() for word in TEMPLATES):
        return True
    for obj in context.objects:
        if obj.source.path.rpartition("/")[0] != folder:
            continue
        data = obj.node.find("spec", "userData")
        start, end = (data.start, data.end) if data is not None else (obj.node.end, obj.node.end)
        text = obj.source.text
        if re.search(FILLED, text[obj.node.start : start]) or re.search(FILLED, text[end : obj.node.end]):
            return True
    return False
