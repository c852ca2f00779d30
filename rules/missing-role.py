r"""The account does not have the role, or the instance profile, that a class names.

Karpenter creates its own instance profile for `role`. If the role does not exist, IAM refuses it, and the class never
becomes ready. If an `instanceProfile` does not exist, every launch fails. From 1.3.0 on, the class waits for it and
does not become ready.

Role names belong to one account, in all regions. A path before the name (`/nodes/KarpenterNodeRole`) is not part of
it. If the account has a role whose name differs only in case or punctuation, the fix writes that name.

There is no fix if no role or profile of the account has a similar name: the file does not say which one is meant.

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
    for what, field, other, question in (
        ("role", "instanceProfile", "an instance profile", questions.role_question(node_class)),
        ("instance profile", "role", "a role", questions.profile_question(node_class)),
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
                else f"create the {what}; if this is the name of {other}, use `{field}`",
            )
