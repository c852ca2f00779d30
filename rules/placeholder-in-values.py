"""The values of Karpenter's chart contain a placeholder that nobody replaced, such as `<CLUSTER_ENDPOINT>`.

Helm installs the chart with any value. With a wrong cluster name or endpoint, the controller does not start, or nodes
never join the cluster. With a wrong queue the controller does not start. With a role of another account, the
controller has no credentials.

The rule reads the settings and the annotations of the service account: in values files, in `set` of Terraform, and in
the objects of Argo CD, Flux and helmfile. It also reports the accounts of AWS's documentation, such as `111122223333`
and `123456789012`, and a Terraform reference without `${}`, such as the text `var.cluster_name`. It
ignores `${X}` and `{{ x }}`, which a tool replaces, files that are named as an example or template, and the default
values of a chart in the repository. If a script replaces the text with `sed`, add the comment
`# nodelint: ignore[placeholder-in-values]`.

```yaml bad
# file: karpenter.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: karpenter
spec:
  source:
    repoURL: public.ecr.aws/karpenter
    chart: karpenter
    targetRevision: 1.14.1
    helm:
      values: |
        settings:
          clusterName: main
          clusterEndpoint: <CLUSTER_ENDPOINT>
          interruptionQueue: main
```

```yaml good diff=bad
-          clusterEndpoint: <CLUSTER_ENDPOINT>
```
"""

import re

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Source,
    Span,
    controller_settings,
    dummy_values,
    messages,
    rule,
)

_READ = ("settings.", "serviceAccount.annotations.", "serviceAccount.name")
_REFERENCE = re.compile(r"(?:var|local)\.[A-Za-z_]\w*|module\.[A-Za-z_][\w-]*\.[A-Za-z_][\w.]*")
"""A Terraform reference that is the whole value: text, without `${}`."""
_ACCOUNT = re.compile(r"\barn:aws[a-z-]*:iam::(111122223333|444455556666|123456789012):")


@rule(
    on=Source,
    group="hazard",
    subject="templates",
    source=[
        "provider:pkg/operator/options/options.go@v1.14.0:55",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html",
    ],
    mentions=(*controller_settings.MENTIONS, "role-arn"),
    tags=["installation", "names"],
)
def check(source: Source, context: Context) -> Findings:
    for install in context.run_files.installs_in(source):
        if install.values is None or _is_of_chart(install, context):
            continue
        found = []
        for path, _, node in controller_settings.chart_leaves(install.values):
            left = _placeholder(node.unquoted) if path.startswith(_READ) else None
            if path.startswith(_READ) and isinstance(node.value, str) and _REFERENCE.fullmatch(node.value):
                left = node.value
            if left is None or dummy_values.is_template_name(node.source.path):
                continue
            at = controller_settings.place_in(source, context.files, install, node)
            if at is not None:
                found.append((at, path, left))
        if found:
            yield _finding(sorted(found, key=lambda place: place[0].start))


def _finding(found: list[tuple[Span, str, str]]) -> Finding:
    at, path, left = found[0]
    more = f" and {messages.counted(len(found) - 1, 'other placeholder')}" if len(found) > 1 else ""
    return Finding(
        at=at,
        message=messages.first_fitting(
            f"nobody replaced the placeholder `{messages.short(left, 40)}` of `{path}`{more}",
            f"nobody replaced the placeholder `{messages.short(left, 40)}`{more}",
        ),
        also=[Also(place, f"a placeholder of `{name}`") for place, name, _ in found[1:] if place.start != at.start],
        note="no tool replaces it here, so Helm installs the chart with it",
        help=f"write `${{{left}}}`"
        if _REFERENCE.fullmatch(left) and at.source.path.endswith((".tf", ".tofu"))
        else None,
    )


def _is_of_chart(install: controller_settings.ControllerInstall, context: Context) -> bool:
    """Return whether the values are the defaults of a chart of the repository, which its user replaces."""
    path = install.at.source.path
    folder = path.rpartition("/")[0]
    chart = f"{folder}/Chart.yaml" if folder else "Chart.yaml"
    return path.endswith(("values.yaml", "values.yml")) and any(
        file.path == chart for file in context.run_files.files_around
    )


def _placeholder(value: str) -> str | None:
    """Return what a person was to replace in a value. None if nothing is."""
    if "${" in value or "{{" in value:
        return None
    account = _ACCOUNT.search(value)
    if account is not None:
        return account[1]
    return value if dummy_values.stand_in_name(value) else dummy_values.is_dummy_value(value)
