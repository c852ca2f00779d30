"""A patch of a kustomization has a target that matches no object, so the patch changes nothing.

If a patch without `target` names a missing object, kustomize fails. A patch with a `target` applies to all objects
that match, and kustomize accepts that there are none. It silently builds the overlay without the change.

The rule looks at the folders and files that the kustomization of the patch includes. A patch of a component that
several overlays include must match an object in one of them. The rule ignores targets of other kinds, such as
Deployment.

```yaml bad
# file: base/pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
# file: base/kustomization.yaml
resources: [pool.yaml]
# file: prod/kustomization.yaml
resources: [../base]
patches:
  - target: {kind: NodePool, name: generel}
    patch: |-
      - op: add
        path: /spec/weight
        value: 10
```

```yaml good frame=pool
# file: base/pool.yaml
apiVersion: karpenter.sh/v1
metadata.name: general
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
# file: base/kustomization.yaml
resources: [pool.yaml]
# file: prod/kustomization.yaml
resources: [../base]
patches:
  - target: {kind: NodePool, name: general}
    patch: |-
      - op: add
        path: /spec/weight
        value: 10
```
"""

from nodelint.api import Context, Edit, Finding, Findings, Node, Source, Suggestion, edits, messages, objects, rule

_KINDS = ("NodePool", "EC2NodeClass", "NodeOverlay", "NodeClaim", "Provisioner", "AWSNodeTemplate")


@rule(
    on=Source,
    group="hazard",
    subject="templates",
    source="https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/",
)
def check(source: Source, context: Context) -> Findings:
    built = source.built
    for patch in built.unmatched if built is not None else ():
        if not _is_about_nodes(patch.at):
            continue
        nearest = _find_nearest(source, patch.at)
        meant = f" (did you mean `{nearest}`?)" if nearest else ""
        begin = "the patch changes nothing: no object"
        yield Finding(
            at=patch.at,
            message=messages.first_fitting(f"{begin} has {patch.wanted}{meant}", f"{begin} meets its target{meant}"),
            note="kustomize builds the overlay without the change and prints no error",
            suggestions=_correct(patch.at, nearest) if nearest else [],
        )


def _is_about_nodes(target: Node) -> bool:
    """Return whether the target of a patch may mean objects of Karpenter. False for targets such as Deployments."""
    from difflib import get_close_matches

    kind, group = (target.get(field) for field in ("kind", "group"))
    if kind is not None and isinstance(kind.value, str) and kind.value:
        words = kind.value.replace("(", "|").replace(")", "|").split("|")
        return any(get_close_matches(word.lower(), [kind.lower() for kind in _KINDS], 1, 0.8) for word in words)
    if group is not None and isinstance(group.value, str) and group.value:
        return "karpenter" in group.value
    return target.get("name") is not None


def _find_nearest(source: Source, target: Node) -> str:
    """Return the only object name that is similar to the name of the target. "" if none or several are similar."""
    from difflib import get_close_matches

    name, kind = target.get("name"), target.get("kind")
    if name is None or not isinstance(name.value, str):
        return ""
    known = set()
    for obj in objects(source, foreign=True):
        origin = source.built.find_origin(obj.name_node) if kind is None or kind.value == obj.kind else None
        if origin is not None and isinstance(origin.at, Node) and isinstance(origin.at.value, str):
            known.add(origin.at.value)
    near = get_close_matches(name.value, sorted(known - {name.value}), 2, 0.8)
    return near[0] if len(near) == 1 else ""


def _correct(target: Node, name: str) -> list[Suggestion]:
    at = target.get("name")
    made: list[Edit] = edits.if_editable(edits.set_value, at, name) if at is not None else []
    return [Suggestion(f"patch `{name}`", made)] if made else []
