r"""A NodePool or EC2NodeClass is a hook of Helm or Argo CD, which deletes it and creates it again.

A hook is not part of the Helm release. Unless `helm.sh/hook-delete-policy` says otherwise, Helm deletes the object
before it runs the hook again, so each `helm upgrade` deletes the NodePool. Karpenter then drains all its nodes at
once, and disruption budgets do not apply. An EC2NodeClass is deleted after no NodeClaim uses it. Argo CD does the
same at each sync, for its own hooks and for hooks of Helm. If an object is a hook of the installation only, Helm
never updates it, and `helm uninstall` does not remove it.

```yaml bad frame=pool
metadata.annotations:
  helm.sh/hook: post-install,post-upgrade
```

```yaml good frame=bad
metadata.annotations: null
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, Node, Object, messages, rule

HELM, ARGO = "helm.sh/hook", "argocd.argoproj.io/hook"
OF_INSTALL = {"pre-install", "post-install"}
AGAIN = {"pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback"}
KNOWN = OF_INSTALL | AGAIN | {"pre-delete", "post-delete", "test", "test-success"}
SYNCS = {"presync", "sync", "postsync"}
HELP = "remove the hook annotations; install what must come first, such as the CRDs, as a separate release"


@rule(
    on=Object,
    group="hazard",
    providers=EVERY_PROVIDER,
    mentions=["annotations"],
    subject="templates",
    source=[
        "https://helm.sh/docs/topics/charts_hooks/",
        "https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/",
    ],
)
def check(obj: Object, context: Context) -> Findings:
    annotations = obj.node.find("metadata", "annotations")
    if annotations is None:
        return
    for name in (HELM, ARGO):
        node = annotations.get(name)
        hooks = _words(node)
        if node is None or not hooks:
            continue
        explained = _of_helm(obj, hooks, annotations) if name == HELM else _of_argo(obj, hooks, annotations)
        if explained is not None:
            message, note = explained
            yield Finding(at=node, message=message, note=note, help=HELP)
            return


def _of_helm(obj: Object, hooks: set[str], annotations: Node) -> tuple[str, str | None] | None:
    unknown = sorted(hooks - KNOWN)
    if unknown:
        return (
            f"Helm does not install this {obj.kind}: it knows no hook `{messages.short(unknown[0], 30)}`",
            "nothing creates it",
        )
    policies = _words(annotations.get(f"{HELM}-delete-policy"))
    if "hook-succeeded" in policies and hooks & (OF_INSTALL | AGAIN):
        return f"Helm deletes this {obj.kind} as soon as the hook has created it", "the policy is `hook-succeeded`"
    if hooks & AGAIN and (not policies or "before-hook-creation" in policies):
        return f"each `helm upgrade` deletes this {obj.kind} and creates it again", _what_follows(obj)
    if hooks & OF_INSTALL and not hooks & AGAIN:
        left = "`helm uninstall` does not remove it either"
        return f"Helm creates this {obj.kind} when it installs the release and never updates it: it is a hook", left
    return None


def _of_argo(obj: Object, hooks: set[str], annotations: Node) -> tuple[str, str | None] | None:
    policies = _words(annotations.get(f"{ARGO}-delete-policy"))
    if not hooks & SYNCS:
        return None
    if "hooksucceeded" in policies:
        return f"Argo CD deletes this {obj.kind} as soon as the hook has created it", "the policy is `HookSucceeded`"
    if not policies or "beforehookcreation" in policies:
        return f"each sync of Argo CD deletes this {obj.kind} and creates it again", _what_follows(obj)
    return None


def _what_follows(obj: Object) -> str | None:
    if obj.kind in ("NodePool", "Provisioner"):
        return "Karpenter drains all its nodes at once; disruption budgets do not apply"
    return "Karpenter removes the class only after no node uses it" if obj.kind == "EC2NodeClass" else None


def _words(node: Node | None) -> set[str]:
    """Return the words of an annotation in lower case; empty for a placeholder."""
    if node is None or not isinstance(node.value, str):
        return set()
    return {word.strip().lower() for word in node.value.split(",") if word.strip()}
