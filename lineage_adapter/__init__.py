"""The lineage adapter: a Lambda that hands OpenLineage run events to Amazon DataZone.

It wraps, it does not translate: the body goes to PostLineageEvent byte for byte, under a client token that is a
hash of the event, so that a repeated delivery is one event. Nothing is renamed, trimmed or dropped: what cannot be
accepted is answered with the reason. Depends on boto3 only.
"""
