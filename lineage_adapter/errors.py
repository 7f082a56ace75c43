"""Every way in which an event is not accepted, in one rooted tree; the class decides what a caller may do.

AdapterError
├── Refused                    final: the same bytes can never be accepted
│   ├── CallerUnknown          nothing in the request proves who sends
│   ├── DomainForeign          the event belongs to a domain that the caller does not
│   ├── BodyUnreadable         the request's base64 or gzip is broken, or there is no body
│   ├── EncodingUnknown        a Content-Encoding other than gzip
│   ├── EventMalformed         the bytes are not one JSON object in UTF-8
│   ├── EventSkipped           a DatasetEvent or JobEvent: DataZone takes run events only
│   ├── EventIncomplete        a run event without producer, run or job
│   ├── EventTooLarge          over DataZone's 300,000 bytes
│   ├── EventRejected          DataZone validated the event and said no
│   └── QuotaExceeded          DataZone's quota for this domain is used up
├── Unavailable                retryable: the same bytes may be accepted later
│   ├── Throttled              DataZone asks for fewer requests
│   └── DeadLetterFailed       the event was refused, and could not be put among the dead letters
└── Misconfigured              the deployment must be mended before any event is accepted
    ├── ConfigurationError     a setting is missing or wrong
    └── AccessRefused          DataZone does not know this domain, or this role may not post to it
"""

from __future__ import annotations

__all__ = [
    "AccessRefused",
    "AdapterError",
    "BodyUnreadable",
    "CallerUnknown",
    "ConfigurationError",
    "DeadLetterFailed",
    "DomainForeign",
    "EncodingUnknown",
    "EventIncomplete",
    "EventMalformed",
    "EventRejected",
    "EventSkipped",
    "EventTooLarge",
    "Misconfigured",
    "QuotaExceeded",
    "Refused",
    "Throttled",
    "Unavailable",
]


class AdapterError(Exception):
    """Base of all. `status` is the word in the answer and the log, `http` the answer's status code."""

    status = "failed"
    http = 500


class Refused(AdapterError):
    """Final: the same bytes can never be accepted, so they go to the dead letters, with the reason."""

    status = "refused"
    http = 400


class CallerUnknown(Refused):
    """Nothing in the request proves who sends; not kept, or anybody could fill the dead letters."""

    http = 401


class DomainForeign(Refused):
    """The event's job namespace belongs to a domain that the caller does not belong to."""

    http = 403


class BodyUnreadable(Refused):
    """The request has no body, or its base64 or gzip is broken."""


class EncodingUnknown(Refused):
    """The request names a Content-Encoding that the adapter does not unpack."""

    http = 415


class EventMalformed(Refused):
    """The body is not one JSON object in UTF-8."""


class EventSkipped(Refused):
    """An OpenLineage event of a kind that DataZone does not take."""

    status = "skipped"
    http = 422


class EventIncomplete(Refused):
    """A run event lacks what identifies it."""

    http = 422


class EventTooLarge(Refused):
    """The event is longer than DataZone accepts."""

    http = 413


class EventRejected(Refused):
    """DataZone validated the event and rejected it."""


class QuotaExceeded(Refused):
    """DataZone's quota is used up; waiting does not help, a higher quota does."""

    http = 402


class Unavailable(AdapterError):
    """Retryable: DataZone did not answer, or answered with an error of its own."""

    status = "unavailable"
    http = 503


class Throttled(Unavailable):
    """DataZone asks for fewer requests."""

    http = 429


class DeadLetterFailed(Unavailable):
    """The event was refused, and could not be put among the dead letters: it is not done yet."""


class Misconfigured(AdapterError):
    """No event can be accepted until the deployment is mended."""

    status = "misconfigured"


class ConfigurationError(Misconfigured, ValueError):
    """A setting is missing or wrong."""


class AccessRefused(Misconfigured):
    """DataZone does not know the domain, or refuses this role."""
