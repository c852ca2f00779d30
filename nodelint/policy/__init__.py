"""ValidatingAdmissionPolicies for the rules that have a CEL expression."""
