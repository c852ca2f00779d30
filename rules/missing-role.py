r"""The role, or the instance profile, that a class names is not in the account.

From `role` Karpenter makes an instance profile of its own; IAM refuses to put a role into it that is not there, so
that the class never becomes ready. An `instanceProfile` that is not there is taken as it is, and every launch fails;
from 1.3.0 on the class waits for it and does not become ready.

Names of roles are of one account, whatever the region. A path before the name (`/nodes/KarpenterNodeRole`) is not
part of it. Where a class of the snapshot has the same name in other capitals or punctuation, and it is there, the fix
writes it so.

There is no edit where no role or profile of the account has a name that is near: which is meant is not in the file.

```yaml facts
roles: [KarpenterNodeRole-main]
instanceProfiles: []
```

```yaml bad frame=class
spec.role: KarpenterNodeRole-mian
```

```yaml good frame=class
```

```yaml bad frame=class+class
---
metadata.name: gpu
spec.role: "karpenterNodeRole-main"
```

```yaml bad frame=class
spec.instanceProfile: KarpenterNodeRole-main
spec.role: null
```

```yaml good frame=class
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, messages, questions, rule, selectors


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="unsafe",
    needs=("roles", "instance-profiles"),
    subject="security",
    source="provider:pkg/controllers/nodeclass/instanceprofile.go@v1.14.1:59",
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    selectors.check_region(context.pools(node_class), context.facts, "roles")
    for what, field, question in (
        ("role", "instanceProfile", questions.role_question(node_class)),
        ("instance profile", "role", questions.profile_question(node_class)),
    ):
        if question is not None and question.question is not None and not context.facts.exists(question.question):
            right = selectors.spelt_right(question.question, context.facts)
            meant = right.value("name") if right is not None else None
            yield Finding(
                at=question.node,
                message=f"the account has no {what} `{messages.short(str(question.node.value), 60)}`",
                edits=edits.if_editable(edits.set_value, question.node, meant) if meant is not None else [],
                help=f"`{meant}` exists"
                if meant is not None
                else f"create it, or set `{field}` if the name belongs there",
            )
