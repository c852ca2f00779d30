locals {
  discovery = { "karpenter.sh/discovery" = var.cluster_name }
}

resource "kubernetes_manifest" "node_class" {
  manifest = {
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = { name = "default" }
    spec = {
      role             = aws_iam_role.node.name
      amiSelectorTerms = [{ alias = "al2023@v20250403" }]
      subnetSelectorTerms = [
        for id in module.vpc.private_subnets : { id = id }
      ]
      securityGroupSelectorTerms = [{ tags = local.discovery }]
      tags                       = merge(var.tags, { Name = "${var.cluster_name}-node" })
    }
  }
}

resource "kubernetes_manifest" "node_pool" {
  manifest = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata = {
      name = "default"
    }
    spec = {
      template = {
        spec = {
          nodeClassRef = {
            group = "karpenter.k8s.aws"
            kind  = "EC2NodeClass"
            name  = kubernetes_manifest.node_class.manifest.metadata.name
          }
          requirements = [
            {
              key      = "node.kubernetes.io/instance-category" // general purpose
              operator = "In"
              values   = ["c", "m"]
            },
            {
              key      = "karpenter.sh/capacity-type"
              operator = "In"
              values   = var.spot ? ["spot", "on-demand"] : ["on-demand"]
            },
          ]
          expireAfter = "720h"
        }
      }
      limits = {
        cpu = 1000
      }
    }
  }

  # the controller writes these
  computed_fields = ["spec.template.spec.taints"]
}

resource "helm_release" "extra" {
  name  = "extra"
  chart = "raw"
  values = [yamlencode({
    resources = [{
      "apiVersion" : "karpenter.sh/v1",
      "kind" : "NodePool",
      "metadata" : { "name" : "burst" },
      "spec" : {
        "template" : { "spec" : {
          "nodeClassRef" : { "group" : "karpenter.k8s.aws", "kind" : "EC2NodeClass", "name" : "default" },
          "requirements" : [{ "key" : "karpenter.sh/capacity-typ", "operator" : "In", "values" : ["spot"] }]
        } }
      }
    }]
  })]
}
