# The controller itself comes from a chart.
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.1"

  values = [<<-EOT
    settings:
      clusterName: ${module.eks.cluster_name}
      interruptionQueue: ${module.karpenter.queue_name}
    EOT
  ]
}

resource "kubectl_manifest" "node_class" {
  yaml_body = <<-YAML
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata:
      name: default
    spec:
      role: ${module.karpenter.node_iam_role_name}
      amiSelectorTerms:
        - alias: al2023@v20250403
      subnetSelectorTerms:
        - tags:
            karpenter.sh/discovery: ${module.eks.cluster_name}
      securityGroupSelectorTerms:
        - tags:
            karpenter.sh/discovery: ${module.eks.cluster_name}
      %{~ if var.proxy != null ~}
      userData: |
        #!/bin/bash
        export HTTPS_PROXY=${var.proxy}
      %{~ endif ~}
      tags: ${jsonencode({ for k, v in var.tags : k => v if v != "" })}
  YAML
  depends_on = [helm_release.karpenter]
}

resource "kubernetes_manifest" "node_pool" {
  manifest = yamldecode(<<YAML
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: ${kubectl_manifest.node_class.name}
      requirements:
        - key: node.kubernetes.io/instance-category
          operator: In
          values: ["c", "m"] # no burstable ones
        - key: kubernetes.io/arch
          operator: In
          values: ["${var.arch}"]
  limits:
    cpu: ${var.cpu_limit}
YAML
  )
}
