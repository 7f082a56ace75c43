"""IAM between a role's session and the stand-in for AWS: what a role's policies do not allow is refused.

One module a service says which actions a request is, and on which resources, as IAM's service authorisation reference
has it; moto has neither. `sandbox.fakes.authorisation.enforcing` evaluates the role's own policies, as they are kept in
the stand-in's IAM.
"""
