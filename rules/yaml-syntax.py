r"""A document that is not valid YAML: kubectl cannot read it, or kustomize and Flux cannot.

nodelint reads YAML as kubectl does: tabs do not indent, and a document is read whole or not at all. Where a key is
twice in one mapping, kubectl keeps the last value and drops the first without a word, and kustomize refuses the
file (Flux builds with it). nodelint reports that and judges nothing else of the document. Other documents of the
same file are still checked.

A file that does not parse because it is a template (Helm, Terraform, Jinja) is set aside, not reported, and
documents that mention Karpenter but hold none of its objects are left to others.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  role: KarpenterNodeRole-main
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

from nodelint.api import Also, Context, Finding, Findings, Source, Span, rule


@rule(on=Source, group="correctness")
def check(source: Source, context: Context) -> Findings:
    for problem in source.problems:
        if not source.concerns_karpenter(problem.offset):
            continue
        end = min(len(source.text), problem.offset + problem.length)
        first, opened = problem.first, problem.opened
        also = [] if first is None else [Also(Span(source, first, first + problem.length), "the first one")]
        also += [] if opened is None else [Also(Span(source, opened, opened + 1), "still open here")]
        yield Finding(
            at=Span(source, problem.offset, end),
            message=problem.message,
            also=also,
            note=None
            if first is None
            else "kubectl drops the first without a word; kustomize and Flux refuse the file",
            help=None if first is None else "keep one of them",
        )
