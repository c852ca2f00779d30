"""Facts about EC2: the questions to AWS, the files that store the answers, and the labels that Karpenter derives from
them.
"""
