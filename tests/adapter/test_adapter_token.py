"""The laws of the client token."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from adapter_samples import run_event
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage_adapter.event import parse
from lineage_adapter.token import client_token

# A busy machine must not fail a law.
LAW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
events = st.dictionaries(st.text(), values, max_size=6)


def shuffled(value: Any, order: random.Random) -> Any:
    """The same value with the keys of every object in another order."""
    if isinstance(value, list):
        return [shuffled(each, order) for each in value]
    if isinstance(value, dict):
        pairs = [(key, shuffled(each, order)) for key, each in value.items()]
        order.shuffle(pairs)
        return dict(pairs)
    return value


@LAW
@given(facets=events, order=st.randoms(), indent=st.sampled_from([None, 0, 4]), escaped=st.booleans())
def test_key_order_whitespace_and_escapes_never_change_the_token(facets, order, indent, escaped):
    event = run_event(run={"runId": "r", "facets": facets})

    written = json.dumps(shuffled(event, order), indent=indent, ensure_ascii=True if escaped else not _encodable(event))

    assert parse(written.encode()).client_token == client_token(event)


@LAW
@given(event=events, member=st.text(), value=values)
def test_events_that_differ_in_one_member_have_different_tokens(event, member, value):
    changed = {**event, member: value}
    same = json.dumps(event, sort_keys=True) == json.dumps(changed, sort_keys=True)

    assert (client_token(event) == client_token(changed)) == same


@LAW
@given(event=events)
def test_every_token_is_one_that_datazone_takes(event):
    assert re.fullmatch(r"[0-9a-f]{64}", client_token(event))
    assert re.fullmatch(r"[\x21-\x7E]{1,128}", client_token(event))


@LAW
@given(event=events, order=st.randoms())
def test_the_order_of_a_list_is_part_of_the_event(event, order):
    columns = [{"name": "tx_id"}, {"name": "fraud_score"}]

    forward, backward = ({**event, "fields": fields} for fields in (columns, columns[::-1]))

    assert client_token(forward) != client_token(backward)


def _encodable(event: dict[str, Any]) -> bool:
    """Whether the event's text is valid UTF-8; a lone surrogate exists in JSON only as an escape."""
    try:
        json.dumps(event, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
