"""A value for Karpenter's chart that the chart of that release does not read.

Helm takes values that no template reads without a word, so a setting in the wrong place, or by the name that an older
chart had for it, has no effect: the controller runs with its default. Charts before 1.0 had
`settings.aws.interruptionQueueName` and `settings.defaultInstanceProfile`; feature gates stand below `settings`, and
the resources of the pod below `controller`.

The rule reads the values in every form: `helm_release`, HelmReleases, Applications, helmfiles, `helm` commands and
files of values. Where the release of the chart is not known, it reports only what no chart since 1.0 reads.

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

```yaml good
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
"""

from nodelint.api import Context, Finding, Findings, Source, controller_settings, messages, releases, rule


@rule(
    on=Source,
    group="hazard",
    subject="objects",
    source=[
        "provider:charts/karpenter/values.yaml@v1.14.1:1",
        "https://karpenter.sh/docs/reference/settings/",
    ],
    mentions=controller_settings.MENTIONS,
    tags=["installation"],
)
def check(source: Source, context: Context) -> Findings:
    places = set()
    for install in context.run_files.installs_in(source):
        release = install.release
        if install.values is None or (release is not None and not releases.OLDEST <= release <= releases.NEWEST):
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
                help=value.advice,
            )
