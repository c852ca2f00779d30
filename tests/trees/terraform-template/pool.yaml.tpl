apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: ${name}
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: ${name}
      requirements:
        - key: node.kubernetes.io/instance-category
          operator: In
          values: ${jsonencode(categories)}
%{ if length(zones) > 0 ~}
        - key: topology.kubernetes.io/zone
          operator: In
          values:
%{ for zone in zones ~}
            - ${zone}
%{ endfor ~}
%{ endif ~}
  limits:
    cpu: ${cpu}
