"""ValidatingAdmissionPolicies made of rules that state their CEL."""
