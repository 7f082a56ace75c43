"""Whether each product is as fresh as its contract promises, and who is told when it is not.

A command, and a Lambda in the domain's account: boto3 and this package's pure parts, no engine.
"""
