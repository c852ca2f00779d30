#!/usr/bin/env bash
set -euo pipefail
CLUSTER_NAME="${1:?cluster}"
# cat <<EOF of an older version is gone

helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.14.1 --set settings.interruptionQueue=main

cat <<MANIFESTS | envsubst | kubectl apply -f -
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: "KarpenterNodeRole-${CLUSTER_NAME}"
  amiSelectorTerms:
    - alias: "al2023@$(aws ssm get-parameter --name /ours/image --query 'Parameter.Value' --output text)"
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: $cluster
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: "${CLUSTER_NAME}"
---
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
        name: default
      requirements:
        - key: node.kubernetes.io/instance-category
          operator: In
          values: ["c", "m"]
MANIFESTS

if [ "${SPOT:-}" = yes ]; then
	kubectl apply -f - <<-'EOF'
	apiVersion: karpenter.sh/v1
	kind: NodePool
	metadata:
	  name: spot
	spec:
	  template:
	    spec:
	      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
	      requirements:
	        - key: karpenter.sh/capacity-typ
	          operator: In
	          values: [spot]
	EOF
fi
