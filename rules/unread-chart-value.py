"""A value for Karpenter's chart is not read by the chart of that release.

Helm accepts values that no template reads and reports nothing. If a setting is in the wrong place, or has the name of
an older chart, it has no effect, and the controller uses its default. Charts before 1.0 had
`settings.aws.interruptionQueueName` and `settings.defaultInstanceProfile`. Feature gates belong below `settings`, and
the resources of the pod below `controller`.

The rule reads the values in every form: `helm_release`, HelmReleases, Applications, helmfiles, `helm` commands and
values files. Of charts before 1.0, it reports only `clusterName`, `clusterEndpoint` and the name of the queue, which
were at the root before 0.19, below `settings.aws` before 0.32, and below `settings` since. If the release of the
chart is not known, it reports only values that no chart since 1.0 reads.

```yaml bad
# file: karpenter.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: karpenter
spec:
  chart: {spec: {chart: karpenter, version: 1.14.1}}
  values:
    settings:
      clusterName: main
      interruptionQueue: main
    featureGates:
      spotToSpotConsolidation: true
```

```yaml good diff=bad
-    featureGates:
-      spotToSpotConsolidation: true
+      featureGates:
+        spotToSpotConsolidation: true
```

The chart also ignores a value of the pod, such as `topologySpreadConstraints`, below `controller`. It copies
`controller.resources` into the Deployment, so Kubernetes refuses a key there other than `requests`, `limits` and
`claims`.

The rule also reports a misspelt key in the values with which an object or a command installs a chart of the
repository: no file of the chart has the name, and the chart has a value of nearly the same name that keeps its
default. A chart with dependencies, or one that reads all its values at once, is not judged.

The rule also reports an annotation key whose dots are not escaped. helm treats each dot of a `--set` as another
level, so the annotation becomes a mapping, which is not allowed.

```yaml bad
# file: main.tf
resource "helm_release" "karpenter" {
  repository = "oci://public.ecr.aws/karpenter"
  name       = "karpenter"
  chart      = "karpenter"
  version    = "1.14.1"

  set {
    name  = "settings.clusterName"
    value = "main"
  }
  set {
    name  = "settings.interruptionQueue"
    value = "main"
  }
  set {
    name  = "serviceAccount.annotations.eks.amazonaws.com/role-arn"
    value = "arn:aws:iam::640318552907:role/karpenter"
  }
}
```

```yaml good diff=bad
-    name  = "serviceAccount.annotations.eks.amazonaws.com/role-arn"
+    name  = "serviceAccount.annotations.eks\\\\.amazonaws\\\\.com/role-arn"
```
"""

from collections.abc import Iterator

from nodelint.api import (
    Context,
    Finding,
    Findings,
    Node,
    RuleCheck,
    Source,
    controller_settings,
    messages,
    releases,
    rule,
    run_checks,
    spelling,
)

_OF_TEXTS = frozenset({"annotations", "podAnnotations", "additionalAnnotations", "labels", "podLabels"})
"""Keys of the chart's values that are mappings of texts."""


@rule(
    on=Source,
    group="hazard",
    subject="objects",
    source=[
        "provider:charts/karpenter/values.yaml@v1.14.1:1",
        "https://karpenter.sh/docs/reference/settings/",
    ],
    tags=["installation"],
)
def check(source: Source, context: Context) -> Findings:
    yield from run_checks(source, context, RuleCheck(_check_controller), RuleCheck(_check_misspelt))


def _check_misspelt(source: Source, context: Context) -> Findings:
    places = set()
    for built in source.built_in:
        for key in built.unread_keys:
            meant = spelling.Words(key.unset).nearest(key.name, abbreviated=False)
            if meant is None or key.at.source.path != source.path or key.at.start in places:
                continue
            places.add(key.at.start)
            yield Finding(
                at=key.at,
                message=f"the chart reads no value `{messages.short(key.name, 60)}`: `{meant}` keeps its default",
                help=f"did you mean `{meant}`?",
            )


def _check_controller(source: Source, context: Context) -> Findings:
    if not any(word in source.text for word in controller_settings.MENTIONS):
        return
    places = set()
    for install in context.run_files.installs_in(source):
        release = install.release
        for path, node in _list_nested(install.values) if install.values is not None else ():
            at = controller_settings.place_in(source, context.files, install, node)
            if at is not None and (at.start, path) not in places:
                places.add((at.start, path))
                yield Finding(
                    at=at,
                    message=f"`{path}` becomes a mapping, but an annotation is a string: escape the dots of the key",
                    note="the API server refuses the chart's object, or the annotation is missing",
                    help="write a backslash before each dot of the key: `eks\\.amazonaws\\.com/role-arn`",
                )
        for name, node in controller_settings.refused_resources(install.values) if install.values is not None else ():
            at = controller_settings.place_in(source, context.files, install, node)
            if at is not None and (at.start, name) not in places:
                places.add((at.start, name))
                yield Finding(
                    at=at,
                    message=f"`{messages.short(name, 60)}` is no field of a container's resources",
                    note="the chart copies `controller.resources` into its Deployment, which Kubernetes refuses",
                    help=f"write it as `{name}`, at the root of the values"
                    if name == "extraVolumes"
                    else "move it out of `resources`",
                )
        if install.values is None or (release is not None and release > releases.NEWEST):
            continue
        chart = f"Karpenter's chart of {release}" if release is not None else "No chart of Karpenter since 1.0"
        for value in controller_settings.unread_values(install.values, release):
            at = controller_settings.place_in(source, context.files, install, value.node)
            if at is None or (at.start, value.path) in places:
                continue
            places.add((at.start, value.path))
            reads = "does not read" if release is not None else "reads"
            yield Finding(
                at=at,
                message=f"{chart} {reads} `{messages.short(value.path, 60)}`: the value has no effect",
                note="Karpenter gets no notice when EC2 reclaims a spot node"
                if value.path.endswith("interruptionQueueName")
                else None,
                help=value.advice,
            )


def _list_nested(values: Node) -> Iterator[tuple[str, Node]]:
    """Yield the annotations and labels of a chart's values that are mappings instead of texts: the path, and the
    first text in the mapping.
    """
    pending = [("", values)]
    while pending:
        above, node = pending.pop()
        for entry in node.entries:
            path = f"{above}.{entry.name}".lstrip(".")
            if above.rpartition(".")[2] in _OF_TEXTS and entry.value.kind == "mapping":
                within = entry.value
                while within.entries:
                    within = within.entries[0].value
                yield path, within
            elif entry.value.kind == "mapping":
                pending.append((path, entry.value))
