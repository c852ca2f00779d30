r"""An installation of a chart does not give a value that the chart requires, so helm installs nothing of it.

A template stops helm with its own message: with `fail`, or with `required` if the value is null or an empty text. The
cluster keeps what is installed, or gets nothing.

The rule looks at installations whose values are all in the repository: by Argo CD, Flux, helmfile, Kustomize,
Terraform and `helm` commands. If nothing in the repository installs the chart, whoever installs it sets the value,
and the rule reports nothing.

There is no fix: only the author knows the value.

```yaml bad
# file: charts/pools/Chart.yaml
apiVersion: v2
name: pools
version: 1.0.0
# file: charts/pools/values.yaml
nodeRole: ""
# file: charts/pools/templates/class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: {{ required "set nodeRole" .Values.nodeRole }}
  amiSelectorTerms: [{alias: al2023@v20260618}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
# file: clusters/prod/pools.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: pools, namespace: kube-system}
spec:
  interval: 10m
  chart: {spec: {chart: ./charts/pools, sourceRef: {kind: GitRepository, name: fleet}}}
  values: {replicas: 2}
```

```yaml good
# file: charts/pools/Chart.yaml
apiVersion: v2
name: pools
version: 1.0.0
# file: charts/pools/values.yaml
nodeRole: ""
# file: charts/pools/templates/class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: {{ required "set nodeRole" .Values.nodeRole }}
  amiSelectorTerms: [{alias: al2023@v20260618}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
# file: clusters/prod/pools.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: pools, namespace: kube-system}
spec:
  interval: 10m
  chart: {spec: {chart: ./charts/pools, sourceRef: {kind: GitRepository, name: fleet}}}
  values: {nodeRole: KarpenterNodeRole-main}
```
"""

from nodelint.api import Context, Finding, Findings, Source, messages, rule


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    source="https://helm.sh/docs/howto/charts_tips_and_tricks/#using-the-required-function",
    mentions=["fail", "required"],
    tags=["syntax"],
)
def check(source: Source, context: Context) -> Findings:
    names: dict[tuple[int, int, str], list[str]] = {}
    places = {}
    for built in source.built_in:
        for refusal in built.refused:
            if refusal.at.source.path == source.path:
                key = refusal.at.start, refusal.at.end, refusal.reason
                places[key] = refusal.at
                names.setdefault(key, []).append(refusal.subject)
    for key, at in places.items():
        installs = messages.list_first(list(dict.fromkeys(names[key])), 3)
        yield Finding(
            at=at,
            message=key[2],
            note=f"helm installs nothing of the chart with the values of {installs}",
            help="set the value there, or give the chart a default",
        )
