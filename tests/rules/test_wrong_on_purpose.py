"""Manifests with one mistake each, in forms that the pages of the rules do not show, and what a strict run says."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from nodelint.lint.autofix import applicable
from nodelint.lint.engine import LintRequest, Selection, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import Source

# Fields in another order than on the pages: kind first, metadata last.
POOL = """\
kind: NodePool
apiVersion: karpenter.sh/v1
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 10m}
  SPEC
  template:
    spec:
      terminationGracePeriod: 24h
      TEMPLATE
      requirements:
      - {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
      REQUIREMENTS
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: "default"}
metadata:
    name: 'p'
"""
LIMITS, NOTHING = "limits: {cpu: '2000'}", "# nothing here"
AMD64 = "{key: kubernetes.io/arch, operator: In, values: ['amd64']}"
FAMILIES = "{key: karpenter.k8s.aws/instance-family, operator: In, values: [m6i, m6a, m7i, c7i, r7i]}"
SIZES = "{key: karpenter.k8s.aws/instance-size, operator: In, values: [large, xlarge, 2xlarge]}"
TWO = '- {operator: In, key: node.kubernetes.io/instance-type, values: ["t3.large", t3.medium]}'
POOLS = {
    "requirements below spec": POOL.replace("  SPEC", f"  {LIMITS}\n  requirements: [{AMD64}, {FAMILIES}, {SIZES}]")
    .replace("      requirements:\n", "      # requirements:\n")
    .replace('      - {"key": "karpenter.sh', '      # - {"key": "karpenter.sh')
    .replace("      REQUIREMENTS\n", ""),
    "limits in the template": POOL.replace("      TEMPLATE", f"      {LIMITS}"),
    "limit in capitals": POOL.replace("  SPEC", "  limits: {CPU: 100}"),
    "two types": POOL.replace("REQUIREMENTS", TWO),
    "key of another domain": POOL.replace("REQUIREMENTS", f"- {FAMILIES}".replace(".k8s.aws", ".aws")),
    "consolidation of a Provisioner": POOL.replace("10m}", "10m, consolidation: {enabled: true}}"),
}  # fmt: skip

CLASS = """\
kind: EC2NodeClass
apiVersion: "karpenter.k8s.aws/v1"
spec:
  securityGroupSelectorTerms: [{tags: {"karpenter.sh/discovery": prod}}]
  subnetSelectorTerms: [{tags: {"karpenter.sh/discovery": prod}}]
  role: 'KarpenterNodeRole-prod'
  metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}
  SPEC
metadata: {name: default}
"""
AL2023 = "amiSelectorTerms: [{name: amazon-eks-node-al2023-x86_64-standard-1.33-v20260714, owner: amazon}]"
BOTTLEROCKET = "amiSelectorTerms: [{ssmParameter: /aws/service/bottlerocket/aws-k8s-1.33/x86_64/1.46.0/image_id}]"
PINNED = "amiSelectorTerms: [{alias: al2023@v20260714}]"
CUSTOM = f"amiFamily: Custom\n  {AL2023}"
CLASSES = {
    "Custom, bootstrap.sh on AL2023": f'{CUSTOM}\n  userData: "#!/bin/bash\\n/etc/eks/bootstrap.sh prod\\n"',
    "Custom, script on Bottlerocket": f"amiFamily: Custom\n  {BOTTLEROCKET}\n  userData: |\n    #!/bin/sh\n    true",
    "Custom, blank": "amiFamily: Custom\n  amiSelectorTerms: [{id: ami-0aaaabbbbccccdddd}]\n  userData: '  '",
    "Custom, placeholder": "amiFamily: Custom\n  amiSelectorTerms: [{id: ami-0aaaabbbbccccdddd}]\n"
    "  userData: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh CLUSTER_NAME --apiserver-endpoint <endpoint>",
    "family left open, TOML": f"amiFamily: ${{FAMILY}}\n  {AL2023}\n  userData: |\n    [settings.kubernetes]\n",
    "al2@latest": "amiSelectorTerms: [{alias: al2@latest}]",
    "old pin": "amiSelectorTerms: [{alias: 'al2023@v20240807'}]",
    "mapping without ebs": f"{PINNED}\n  blockDeviceMappings: [{{deviceName: /dev/xvda}}]",
    "tag left": f"{PINNED}\n  tags: {{cluster: 'changeme'}}",
}


def findings_of(text: str, rules: dict[str, Rule]) -> list[str]:
    source = Source.from_text("a.yaml", text)
    report = lint([source], LintRequest(Target(NEWEST), rules, Selection(frozenset(rules))))
    assert not report.faults
    found = []
    for r in applicable([source], report).results:
        way = " fix" if r.fixable else ""
        found.append(f"{source.position(r.span.start).line}: {r.severity}[{r.rule.name}]{way}: {r.finding.message}")
    return found


@pytest.mark.parametrize("name", POOLS)
def test_pools(name: str, rules: dict[str, Rule], snapshot: SnapshotAssertion) -> None:
    text = POOLS[name]
    for part, lines in (("SPEC", LIMITS if "limits" not in name else NOTHING), ("TEMPLATE", NOTHING)):
        text = text.replace(part, lines)
    usual = "\n      ".join(f"- {line}" for line in (AMD64, FAMILIES, SIZES))
    assert findings_of(text.replace("REQUIREMENTS", usual), rules) == snapshot


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str, rules: dict[str, Rule], snapshot: SnapshotAssertion) -> None:
    assert findings_of(CLASS.replace("SPEC", CLASSES[name]), rules) == snapshot
