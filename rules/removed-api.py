r"""An object has an API version that the target release does not serve, so `kubectl apply` refuses it.

Karpenter 1.0 and older serve `v1beta1`, and 1.0 converts it. 1.1 and later serve only `v1`. If the target is 1.0,
such an object still works, and its severity is info: the next release refuses the object.
0.32 is the last release that serves Provisioner and AWSNodeTemplate.

The fix writes the object as v1: it moves and renames fields, moves `kubelet` to the class of the pool, and adds
`group` and `kind` to the reference. Comments stay in place. The help names what v1 cannot express.

`v1` came with 1.0, and with the last patches of the five minor releases before 1.0. The CRDs of older charts do not
know v1, so they refuse such objects as well. nodelint judges these objects for the newest release.

The rule also reports a kind in Karpenter's API groups that no release had, such as `AWSNodeInstanceProfile`, and a
NodePool or EC2NodeClass without `kind` or `apiVersion`.

One fix converts a Provisioner together with its AWSNodeTemplate, also in two files, because a NodePool cannot point
to an AWSNodeTemplate.

The other rules judge the converted object and report at the lines of the old one. Apply their fixes after this one.

```yaml bad
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        name: default # the only class
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: ["amd64"]
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 30s
    expireAfter: 168h # a week
---
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-main
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  metadataOptions:
    httpPutResponseHopLimit: 2
```
"""

from nodelint.api import (
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    Object,
    Safety,
    Suggestion,
    apiserver,
    edits,
    gvk,
    manifest,
    messages,
    releases,
    rule,
)

_SUCCESSORS = {"Provisioner": "NodePool", "AWSNodeTemplate": gvk.CLASS_KIND}


@rule(
    on=Object,
    group="correctness",
    fix="safe",
    subject="migration",
    source=[
        "https://karpenter.sh/v1.0/upgrading/v1-migration/",
        "provider:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml@v0.37.0:24",
        "https://karpenter.sh/docs/upgrading/upgrade-guide/",
    ],
    tags=["admission", "retired-api"],
)
def check(obj: Object, context: Context) -> Findings:
    at = obj.node.get("apiVersion") or obj.node
    if manifest.served(obj, context.karpenter):
        if obj.version == "v1beta1":
            yield _ending(obj, at, context)
        elif obj.version == "v1" and isinstance(obj, (NodePool, EC2NodeClass)):
            yield from _too_early(obj, at, context)
        return
    if isinstance(obj, manifest.UnknownKind):
        yield _no_identity(obj) or _no_kind(obj, context)
        return
    if isinstance(obj, manifest.Retired):
        message = f"`{obj.kind}` was removed in Karpenter 0.33: `{_SUCCESSORS[obj.kind]}` replaces it"
    elif obj.version == "v1beta1" and obj.group == gvk.GROUPS[obj.kind]:
        unclear = context.chosen is not None and context.chosen.not_known is not None
        target = "later releases refuse it" if unclear else f"the target is {context.karpenter}"
        message = f"`{obj.api_version}` was removed in Karpenter 1.1, {target}"
    else:
        yield Finding(
            at=at,
            message=f"`{obj.api_version}` has no kind {obj.kind}: it belongs to `{gvk.GROUPS[obj.kind]}/v1`",
            edits=_moved(obj),
            help=None
            if obj.version in ("v1", "v1beta1")
            else "no release had this version: write v1, or v1beta1 for Karpenter before 1.0",
            suggestions=_as_v1(obj),
        )
        return
    conversion = context.conversion(obj)
    hint = _help(obj, context)
    ways = [Suggestion("convert only this object", conversion.alone)] if conversion.alone else []
    # Whoever runs a release that serves the object has no need of the conversion: only a release that is known has.
    safety: Safety | None = "unsafe" if context.is_assumed and conversion.edits else None
    note = _expiry(obj)
    if safety is not None:
        assumed = "no file sets the version of Karpenter: `--fix --karpenter-version` names it and converts"
        note = f"{note}; {assumed}" if note else assumed
    yield Finding(
        at=at, message=message, edits=conversion.edits, safety=safety, note=note, help=hint, suggestions=ways
    )
    yield from _refused_before(obj, context)


def _help(obj: Object, context: Context) -> str | None:
    """Return a help: why no fix converts the object, or what the conversion changes.

    None if there is nothing to note.
    """
    conversion = context.conversion(obj)
    if conversion.blocked is not None:
        return f"no fix converts it: {conversion.blocked}"
    return "; ".join(conversion.notes) or None


def _no_identity(obj: Object) -> Finding | None:
    """Return the finding for an object without an apiVersion or a kind. None if it has both."""
    wanted = {"apiVersion": f"{gvk.GROUPS.get(obj.kind)}/v1", "kind": obj.kind}
    for name, value in wanted.items():
        written = obj.node.get(name)
        if written is None or written.value is None:
            slip = next((entry for entry in obj.node.entries if (entry.name or "").lower() == name.lower()), None)
            stated = obj.node.get("apiVersion" if name == "kind" else "kind")
            return Finding(
                at=slip.key if slip is not None else stated or obj.node,
                message=f"the object has no `{name}`: the API server refuses it",
                help=f"the key is written `{name}`" if slip and slip.name != name else f"write `{name}: {value}`",
            )
    return None


def _no_kind(obj: Object, context: Context) -> Finding:
    """Return the finding for an object of a kind that no release of Karpenter has."""
    spec, meant = obj.node.get("spec"), None
    if "pool" in obj.kind.lower() or (spec is not None and (spec.get("template") or spec.get("requirements"))):
        meant = "NodePool"
    elif obj.group != gvk.GROUPS["NodePool"] or obj.kind.lower().endswith(("class", "template")):
        meant = gvk.CLASS_KIND
    way = f"write it as {meant} of `{gvk.GROUPS[meant]}/v1`" if meant else "remove the object"
    return Finding(
        at=obj.node.get("kind") or obj.node,
        message=f"no release of Karpenter has a kind `{messages.short(obj.kind, 30)}`: the API server refuses it",
        help=f"{way}; Karpenter's kinds are NodePool, EC2NodeClass, NodeClaim and NodeOverlay",
        suggestions=_as_kind(obj, meant),
    )


def _as_kind(obj: Object, kind: str | None) -> list[Suggestion]:
    """Return a suggestion to write the kind that was probably meant, with its group. Empty if no kind is given."""
    at, version = obj.node.get("kind"), obj.node.get("apiVersion")
    if kind is None or at is None or version is None:
        return []
    named = edits.if_editable(edits.set_value, at, kind)
    moved = edits.if_editable(edits.set_value, version, f"{gvk.GROUPS[kind]}/v1")
    return [Suggestion(f"make it a {kind} of v1", [*named, *moved])] if named else []


def _ending(obj: Object, at: Node, context: Context) -> Finding:
    """Return the finding that Karpenter 1.0 is the last release with the object's apiVersion."""
    conversion = context.conversion(obj)
    return Finding(
        at=at,
        message=f"Karpenter 1.0 is the last release with `{obj.api_version}`: 1.1 and later refuse the object",
        severity="info",
        note=_expiry(obj),
        help=_help(obj, context),
        suggestions=[Suggestion("write it as v1", conversion.edits)] if conversion.edits else (),
    )


def _too_early(obj: Object, at: Node, context: Context) -> Findings:
    """Yield a finding for each installed release that the files state and that does not have v1, although the object
    is of v1.
    """
    for evidence in context.chosen.passed_over if context.chosen is not None else ():
        exact = evidence.version.count(".") == 2 and evidence.karpenter < releases.OLDEST
        if exact and evidence.installs and not releases.serves_v1(evidence.karpenter):
            yield Finding(
                at=at,
                message=f"Karpenter {evidence.version} has no `{obj.api_version}`: its CRDs know no such version",
                severity="warning",
                note=f"{evidence.place} ({evidence.by}) states that release",
                help="upgrade Karpenter to 1.0 or later; if nothing uses that installation, remove its files",
                once="too early",
            )


def _refused_before(obj: Object, context: Context) -> Findings:
    """Yield a finding for each field of a v1beta1 object that v1beta1 refuses and v1 accepts.

    If no file states the release, the cluster may still have v1beta1. Fields that only v1 has are then reported, too.
    """
    if obj.version != "v1beta1" or obj.partial:
        return
    block = obj.node.find("spec", "disruption")
    last = [release for release in releases.RELEASES if releases.behaves("serves-v1beta1", release)][-1]
    names = ("consolidateAfter", "consolidationPolicy")
    own = {id(node) for node in (block, *(block.get(name) for name in names))} if block is not None else set()
    for problem in apiserver.check(obj, last, context.schemas):
        if problem.layer == "unknown" and context.is_assumed:
            yield Finding(
                at=problem.node,
                message=f"v1beta1 refuses this as well: {problem.message}",
                severity="warning",
                help="convert the object to v1, or write the field as v1beta1 has it",
            )
        elif problem.layer == "validation" and id(problem.node) in own:
            yield Finding(
                at=problem.node,
                message=f"v1beta1 refused this too: {problem.message}",
                severity="info",
                note="v1 accepts it; no cluster that serves v1beta1 can have stored the object as it is written here",
            )


def _expiry(obj: Object) -> str | None:
    """Return a note that budgets do not delay the expiry of nodes from 1.0 on.

    None if the object has no budgets or no expiry.
    """
    disruption = obj.node.find("spec", "disruption")
    expire = disruption.get("expireAfter") if disruption is not None else None
    if expire is None or disruption is None or disruption.get("budgets") is None or expire.value == "Never":
        return None
    return "from 1.0 on, Karpenter drains expired nodes whatever the budgets say; before, budgets delayed expiry"


def _as_v1(obj: Object) -> list[Suggestion]:
    """Return a suggestion to write the apiVersion of v1, if no release had the written version. Else empty."""
    node, version = obj.node.get("apiVersion"), f"{gvk.GROUPS[obj.kind]}/v1"
    if node is None or obj.version in ("v1", "v1beta1"):
        return []
    changes = edits.if_editable(edits.set_value, node, version)
    return [Suggestion(f"write `{version}`", changes)] if changes else []


def _moved(obj: Object) -> list[Edit]:
    """Return edits that write the right group, if the version is v1 or v1beta1. Else empty.

    The version stays: another fix converts v1beta1.
    """
    node = obj.node.get("apiVersion")
    if node is None or obj.version not in ("v1", "v1beta1"):
        return []
    return edits.if_editable(edits.set_value, node, f"{gvk.GROUPS[obj.kind]}/{obj.version}")
