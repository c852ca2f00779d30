r"""An image alias, or its version, does not exist for the target Kubernetes or Karpenter.

The class then finds no image and launches nothing. These aliases exist:

- `al2` up to Kubernetes 1.32: EKS publishes no Amazon Linux 2 images for 1.33 and newer. From Karpenter 1.6.0 on, the
  status of the class says so. Before, the class only has no images
- `al2023` and `al2` with a version such as `v20250403`, or `latest`
- `bottlerocket` with a version such as `v1.46.0`, or `latest`
- `windows2019` and `windows2022` with `latest` only, and `windows2025` from Karpenter 1.9.0 and Kubernetes 1.35 on

Without `--kubernetes-version`, a finding that depends on the Kubernetes version is a warning.

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: "al2023@lates" # follow EKS
```

```yaml bad kubernetes=1.33
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiFamily: AL2
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml bad frame=class
spec.amiSelectorTerms: [{alias: 'AL2023@20250403'}]
```

The rule also reports a version that was never published for the cluster's Kubernetes version.

The images of an alias are in AWS's public SSM parameters, one set for each Kubernetes minor version. If a version is
too old for the minor version, or has a typo, the class finds no image and never becomes ready. This often happens
after an upgrade of the control plane with a pinned alias. Without facts, nodelint knows the first version for each
minor version from the changelogs.

With facts from AWS it knows all versions: `nodelint refresh --kubernetes-version 1.33`. The fix writes the newest
published version.

```yaml facts
parameters:
  /aws/service/bottlerocket/aws-k8s-1.33/x86_64/latest/image_id: ami-0a1
  /aws/service/bottlerocket/aws-k8s-1.33/x86_64/1.50.0/image_id: ami-0a1
images:
  - {id: ami-0a1, name: bottlerocket-aws-k8s-1.33-x86_64-v1.50.0-5d2f1c3a, owner: amazon}
```

```yaml bad frame=class kubernetes=1.33
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.5.0
```
"""

import re

from nodelint.api import (
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    Node,
    RuleCheck,
    Safety,
    Suggestion,
    edits,
    fixes,
    images,
    manifest,
    messages,
    questions,
    releases,
    rule,
    run_checks,
    selectors,
)


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="safe",
    may_need=("parameters",),
    renamed=("unpublished-alias",),
    subject="images",
    source=[
        "provider:pkg/providers/amifamily/al2023.go@v1.14.1:39",
        "provider:pkg/providers/amifamily/al2.go@v1.14.1:43",
    ],
    tags=["admission", "release-dependent", "controller"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    yield from run_checks(
        node_class,
        context,
        RuleCheck(_check_known),
        RuleCheck(_check_age),
        RuleCheck(_check_published, needs_facts=True),
    )


def _check_age(node_class: EC2NodeClass, context: Context) -> Findings:
    """Yield a finding for a pinned version that is no date, or is older than all images for the Kubernetes
    version.
    """
    image_set = context.images(node_class)
    alias, node = image_set.alias, image_set.alias_node
    if alias is None or node is None or alias.family not in images.families(context.karpenter, context.kubernetes):
        return
    if not images.alias_version_valid(alias) or alias.version == "latest":
        return
    age = images.version_order(alias.version)
    if age is None:
        message = f"the version of `{alias.family}@{messages.short(alias.version)}` is not a date: no image has it"
        changes = _newest(image_set, alias.family, context)
        yield Finding(at=node, message=message, edits=changes, help="name a version that EKS has published")
        return
    first = images.first_for(alias.family, context.kubernetes) if context.kubernetes is not None else None
    if first is not None and age < (images.version_order(first) or ()):
        yield Finding(
            at=node,
            message=f"no image of `{alias.family}@{alias.version}` is for Kubernetes {context.kubernetes}",
            edits=_newest(image_set, alias.family, context),
            note="the class finds no image and never becomes ready",
            help=f"the first version for Kubernetes {context.kubernetes} is `{alias.family}@{_version_tag(first)}`",
        )


def _newest(image_set: images.ImageSet, family: str, context: Context) -> list[Edit]:
    return edits.if_editable(_moved, image_set, images.newest_known(family, context.kubernetes))


def _version_tag(version: str) -> str:
    return version if version.startswith("v") else f"v{version}"


def _check_known(node_class: EC2NodeClass, context: Context) -> Findings:
    image_set = context.images(node_class)
    if image_set.alias is None or image_set.alias_node is None:
        return
    for problem in image_set.problems:
        if problem.kind in ("missing", "unpublished") or problem.at is not image_set.alias_node:
            continue
        covers: list[Node] = [image_set.alias_node]
        field = node_class.ami_family_node
        if field is not None and problem.kind == "family":
            covers.append(field)
        safety: Safety = "safe" if problem.active and not _guesses(image_set.alias, problem) else "unsafe"
        mended = _mended(node_class, image_set, image_set.alias, problem, context)
        ways = _choices(node_class, image_set, image_set.alias, problem, context)
        yield Finding(
            at=problem.at,
            message=_message(problem, image_set.alias),
            severity=None if problem.active else "warning",
            edits=mended,
            safety=safety,
            covers=covers,
            help=_hint(problem, image_set.alias, context.karpenter, context.kubernetes),
            suggestions=[way for way in ways if list(way.edits) != mended],
        )


def _choices(
    node_class: EC2NodeClass,
    image_set: images.ImageSet,
    alias: manifest.Alias,
    problem: images.ImageProblem,
    context: Context,
) -> list[Suggestion]:
    """Return suggestions of image aliases, among which only the author can choose.

    Empty if the family is only misspelled.

    If the family has no image for the Kubernetes version, the suggestion is the successor of the family.
    """
    successor = images.successor_of(alias.family)
    if problem.kind == "kubernetes" and successor is not None:
        newest = "latest" if alias.version == "latest" else images.newest_known(successor, context.kubernetes)
        moved = edits.if_editable(fixes.move_alias, node_class, image_set, successor, newest or "", any_script=True)
        return [Suggestion(f"use {successor}@{newest}", moved)] if newest and moved else []
    if problem.kind != "family" or _family(alias.family, context) is not None:
        return []
    if "ubuntu" in alias.family.lower() and context.kubernetes is not None:
        return _ubuntu(node_class, context.kubernetes)
    windows = "win" in alias.family.lower()
    found = []
    for family in images.families(context.karpenter, context.kubernetes):
        if family.startswith("windows") == windows and images.ended(images.ami_family_of(family)) is None:
            pinned = None if alias.version in ("", "latest") else images.newest_known(family, context.kubernetes)
            meant = manifest.Alias(family, alias.version)
            version = alias.version if images.alias_version_valid(meant) else pinned or "latest"
            changes = edits.if_editable(fixes.move_alias, node_class, image_set, family, version)
            if changes:
                found.append(Suggestion(f"use {family}@{version}, {images.family_title(family)}", changes))
    return found


def _ubuntu(node_class: EC2NodeClass, kubernetes: releases.KubernetesVersion) -> list[Suggestion]:
    """Return a suggestion that selects the Ubuntu images of Canonical for a Kubernetes version by name.

    Empty if the class cannot be edited.
    """
    terms, family = node_class.ami_terms_node, node_class.ami_family_node
    spec = node_class.node.get("spec")
    if terms is None or spec is None:
        return []
    named = [{"name": f"ubuntu-eks/k8s_{kubernetes}/images/*", "owner": images.canonical()}]
    changes = edits.if_editable(edits.replace, terms, named)
    if family is not None:
        other = edits.if_editable(edits.set_value, family, "AL2") if family.value != "AL2" else changes[:0]
    else:
        other = edits.if_editable(edits.add_key, spec, "amiFamily", "AL2", "amiSelectorTerms")
    if not changes or (not other and (family is None or family.value != "AL2")):
        return []
    return [Suggestion(f"select Canonical's images for Kubernetes {kubernetes}", [*changes, *other])]


def _message(problem: images.ImageProblem, alias: manifest.Alias) -> str:
    if not alias.family:
        return f"the alias `@{messages.short(alias.version)}` lacks a family"
    return problem.message if alias.version else f"the alias `{messages.short(alias.family)}` lacks `@` and a version"


def _mended(
    node_class: EC2NodeClass,
    image_set: images.ImageSet,
    alias: manifest.Alias,
    problem: images.ImageProblem,
    context: Context,
) -> list[Edit]:
    """Return the edits that write the right alias. Empty if the right alias is not certain."""
    try:
        successor = images.successor_of(alias.family)
        if problem.kind == "kubernetes" and successor is not None:
            return fixes.move_alias(node_class, image_set, successor, _pin(alias, successor, context))
        if problem.kind == "version":
            return fixes.set_alias(image_set, alias.family, _version(alias))
        if problem.kind == "family":
            family = _family(alias.family, context)
            if family is not None:
                meant = manifest.Alias(family, alias.version)
                return fixes.set_alias(image_set, family, _version(meant))
    except edits.NotEditable:
        pass
    return []


def _pin(alias: manifest.Alias, successor: str, context: Context) -> str:
    """Return the version of the successor: `latest` for an alias with `latest`, else a pinned version.

    Raise NotEditable if no version is known.
    """
    if alias.version == "latest":
        return "latest"
    version = questions.latest_version(successor, context.karpenter, context.kubernetes, context.facts)
    if version is None:
        raise edits.NotEditable("the alias is pinned, and nodelint does not know the successor's versions")
    return version


def _family(written: str, context: Context) -> str | None:
    """Return the alias family that a misspelled text means: the two differ in case, in dashes or by a letter.

    None if no family, or more than one, is similar.
    """
    from difflib import get_close_matches

    known = {
        _plain(name): family
        for family in images.families(context.karpenter)
        for name in (family, images.family_title(family))
    }
    plain = _plain(written)
    if plain in known:
        return known[plain]
    # Another year is another system, no slip.
    alike = get_close_matches(plain, known, 4, cutoff=0.85)
    near = {known[name] for name in alike if re.sub(r"\D", "", name) == re.sub(r"\D", "", plain)}
    return near.pop() if len(near) == 1 else None


def _plain(name: str) -> str:
    """Return a name in lower case without separators: `amazonlinux2023` for `Amazon Linux 2023`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _version(alias: manifest.Alias) -> str:
    """Return the valid version that the written one means in another form, such as a date with dashes. Else
    `latest`.
    """
    written = alias.version.lower()
    digits = re.sub(r"\D", "", written)
    # A date with separators, a Bottlerocket release without its last number or with half of its commit.
    for form in (written, f"v{written}", f"v{digits}", f"{written}.0", written.partition("-")[0]):
        if images.alias_version_valid(manifest.Alias(alias.family, form)):
            return form
    return "latest"


def _guesses(alias: manifest.Alias, problem: images.ImageProblem) -> bool:
    """Return whether the version of the fix is another one than the written: the author may mean any version."""
    if problem.kind != "version" or not alias.version or not _takes_versions(alias.family):
        return False
    return re.sub(r"\D", "", _version(alias)) not in (re.sub(r"\D", "", part) for part in _readings(alias.version))


def _readings(version: str) -> tuple[str, str]:
    """Return a version as written, and without what follows a dash, such as a commit."""
    return version, version.partition("-")[0]


def _takes_versions(family: str) -> bool:
    """Return whether an alias of a family may name another version than `latest`."""
    return any(images.alias_version_valid(manifest.Alias(family, form)) for form in ("v20250403", "v1.46.0"))


def _hint(
    problem: images.ImageProblem,
    alias: manifest.Alias,
    release: releases.Version,
    kubernetes: releases.KubernetesVersion | None,
) -> str | None:
    if problem.kind == "family":
        if "ubuntu" in alias.family.lower():
            version = kubernetes or "<version>"
            name = f'`name: ubuntu-eks/k8s_{version}/images/*`, `owner: "{images.canonical()}"`'
            return f"Ubuntu has no alias: set `amiFamily: AL2`, whose user data it takes, and select {name}"
        return f"use one of {', '.join(f'`{family}`' for family in images.families(release, kubernetes))}"
    if problem.kind == "release" and problem.since is not None:
        return f"upgrade to Karpenter {problem.since}"
    if problem.kind == "kubernetes":
        successor = images.successor_of(alias.family)
        if successor is not None:
            way = f"move to {images.family_title(successor)}, whose userData differs (nodeadm)"
            if alias.version in ("", "latest"):
                return way
            return f"{way}, and pin a version that EKS publishes for {kubernetes or 'your Kubernetes version'}"
        return f"it needs Kubernetes {problem.kubernetes}"
    return None


def _check_published(node_class: EC2NodeClass, context: Context) -> Findings:
    image_set = context.images(node_class)
    if image_set.alias is None:
        return
    selectors.check_region(context.pools(node_class), context.facts, "parameters")
    for term in image_set.terms:
        yield from term.skips()
    version = questions.latest_version(image_set.alias.family, context.karpenter, context.kubernetes, context.facts)
    for problem in image_set.problems:
        if problem.kind == "unpublished":
            yield Finding(
                at=problem.at,
                message=problem.message,
                edits=edits.if_editable(_moved, image_set, version),
                help=_hint_published(image_set.alias.family, version, context),
            )


def _hint_published(family: str, version: str | None, context: Context) -> str:
    if version is not None:
        return f"the newest published version is `{family}@{version}`"
    region = context.facts.region.name if context.facts.region is not None else ""
    return f"{region} has none of its SSM parameters: set --kubernetes-version if the cluster has another version"


def _moved(image_set: images.ImageSet, version: str | None) -> list[Edit]:
    return fixes.set_alias(image_set, image_set.alias.family, version) if image_set.alias and version else []
