r"""Karpenter or the node cannot read the user data: a broken MIME archive, an invalid NodeConfig or invalid TOML.

Karpenter parses archives and TOML to add its own part. If it cannot, it launches nothing: because of a blank line
above the MIME header, a boundary without quotes, or a missing last boundary. It passes a NodeConfig to the node
unchanged. If the NodeConfig has a wrong type or `apiVersion`, nodeadm refuses it, and the node never joins. nodeadm
drops fields that it does not know.

In Bottlerocket's `settings.kubernetes`, Karpenter keeps the settings that its release knows and drops all others. If
a value has the wrong type, such as a number for `image-gc-high-threshold-percent`, the launch fails. Karpenter passes
other settings unchanged, and Bottlerocket reads them when the node starts. The values of `settings.kernel.sysctl` are
strings, even if they look like numbers.

nodelint does not parse shell and PowerShell.

There is no fix for settings that cannot be read, because their meaning is not clear.

```yaml bad frame=class
spec.userData: |
  MIME-Version: 1.0
  Content-Type: multipart/mixed; boundary="BOUNDARY"

  --BOUNDARY
  Content-Type: application/node.eks.aws

  apiVersion: node.eks.aws/v1alpha1
  kind: NodeConfig
  spec:
    kubelet:
      config:
        shutdownGracePeriod: 30s
```

```yaml bad frame=class
spec.userData: |
  apiVersion: node.eks.aws/v1alpha1
  kind: NodeConfig
  spec:
    kubeletConfig:
      shutdownGracePeriod: 30s
```

```yaml good frame=bad
spec.userData: |
  apiVersion: node.eks.aws/v1alpha1
  kind: NodeConfig
  spec:
    kubelet:
      config:
        shutdownGracePeriod: 30s
```

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.46.0
spec.userData: |
  [settings.kernel]
  lockdown = integrity
```

```yaml good frame=bad
spec.userData: |
  [settings.kernel]
  lockdown = "integrity"
```

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.46.0
spec.userData: |
  [settings.kernel.sysctl]
  "net.core.somaxconn" = 1024
```

```yaml good frame=bad
spec.userData: |
  [settings.kernel.sysctl]
  "net.core.somaxconn" = "1024"
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, remedies, rule


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="safe",
    gives_way_to=["removed-api"],
    mentions=["userData"],
    subject="user data",
    source=[
        "provider:pkg/providers/amifamily/bootstrap/nodeadm.go@v1.14.1:45",
        "provider:pkg/providers/amifamily/bootstrap/bottlerocketsettings.go@v1.14.1:26",
        "https://github.com/bottlerocket-os/bottlerocket-settings-sdk/blob/develop/"
        "bottlerocket-settings-models/settings-extensions/kernel/src/lib.rs",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    data = context.user_data(node_class)
    for trouble in (*data.broken(), *data.lost(context.karpenter)) if data is not None else ():
        assert data is not None
        yield Finding(
            at=data.places.locate(trouble.start, trouble.end),
            message=trouble.message,
            edits=edits.if_editable(data.places.replace, trouble.start, trouble.end, trouble.new)
            if trouble.new is not None
            else (),
            note=trouble.note,
            help=trouble.help,
            suggestions=remedies.list_suggestions(
                (f"write `{text}`", edits.if_editable(data.places.replace, trouble.start, trouble.end, text))
                for text in trouble.choices
            ),
        )
