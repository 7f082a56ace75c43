"""The stand-in for AWS, DMS's answers included, with IAM in front.

    python -m sandbox.fakes.authorisation.enforcing --port 5601

Requests with the temporary credentials of a role that IAM has are held against the role's policies, and LF-tags against
its grants; all others are an administrator's, as on `sandbox.fakes.aws`. Policies of resources are not evaluated here.

GET /fake/authorisation      [{"role", "action", "resource", "allowed"}]: what was asked, the oldest first, each once
DELETE /fake/authorisation   forgets it
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sandbox.fakes.authorisation.cloudwatch import asked_of_cloudwatch
from sandbox.fakes.authorisation.dms import asked_of_dms
from sandbox.fakes.authorisation.glue import asked_of_glue
from sandbox.fakes.authorisation.lakeformation import asked_of_lakeformation
from sandbox.fakes.authorisation.lf_tags import seen_tags, ungranted_tag
from sandbox.fakes.authorisation.logs import asked_of_logs
from sandbox.fakes.authorisation.policies import Session, session_of, trusts
from sandbox.fakes.authorisation.request import Asked, Call, call_of
from sandbox.fakes.authorisation.s3 import asked_of_s3, listing_of_missing
from sandbox.fakes.authorisation.secretsmanager import asked_of_secrets_manager
from sandbox.fakes.authorisation.sns import asked_of_sns
from sandbox.fakes.authorisation.sts import asked_of_sts

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["Enforcing", "main"]

_SERVICES: Mapping[str, Callable[[Call], Iterable[Asked]]] = {
    "dms": asked_of_dms,
    "glue": asked_of_glue,
    "lakeformation": asked_of_lakeformation,
    "logs": asked_of_logs,
    "monitoring": asked_of_cloudwatch,
    "s3": asked_of_s3,
    "secretsmanager": asked_of_secrets_manager,
    "sns": asked_of_sns,
    "sts": asked_of_sts,
}
#: Services that speak AWS's query protocol, and refuse in XML.
_IN_XML = frozenset({"iam", "sns", "sts"})
_PATH = "/fake/authorisation"


class Enforcing:
    """The WSGI application: asks IAM, then hands the request on, or refuses it as the service would."""

    def __init__(self, aws: WSGIApplication) -> None:
        self._aws = aws
        self._decided: dict[tuple[str, str, str, bool], None] = {}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") == _PATH:
            return self._tell(environ, start_response)
        call = call_of(environ, "")
        session = session_of(call.key) if call is not None else None
        if call is None or session is None or not session.is_of_a_known_role:
            return self._aws(environ, start_response)
        call = Call(call.key, call.region, call.service, session.account, environ)
        for asked in _asked(call):
            if not self._may(session, asked):
                return _refused(call, session, asked, start_response)
        if call.service == "s3":
            return self._answered_by_s3(call, session, start_response)
        if call.service == "lakeformation":
            return self._answered_by_lakeformation(call, session, start_response)
        return self._aws(environ, start_response)

    def _may(self, session: Session, asked: Asked) -> bool:
        allowed = session.may(asked) and (asked.action != "sts:AssumeRole" or trusts(asked.resource, session))
        self._decided.setdefault((session.role, asked.action, _shown(asked), allowed))
        return allowed

    def _answered_by_s3(self, call: Call, session: Session, start_response: StartResponse) -> Iterable[bytes]:
        status, headers, body = self._answer(call)
        listing = listing_of_missing(call)
        if status.startswith("404") and listing is not None and not self._may(session, listing):
            return _refused(call, session, listing, start_response)
        start_response(status, headers)
        return [body]

    def _answered_by_lakeformation(
        self, call: Call, session: Session, start_response: StartResponse
    ) -> Iterable[bytes]:
        ungranted = ungranted_tag(call, session)
        if ungranted is not None:
            return _refused_in_json(f"Insufficient Lake Formation permission(s): Required {ungranted}", start_response)
        status, headers, body = self._answer(call)
        if call.operation == "ListLFTags" and status.startswith("200"):
            body = seen_tags(body, session)
            headers = [each for each in headers if each[0].lower() != "content-length"]
        start_response(status, headers)
        return [body]

    def _answer(self, call: Call) -> tuple[str, list[tuple[str, str]], bytes]:
        """What the stand-in says, whole, before anything of it is sent."""
        started: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], _: Any = None) -> Callable[[bytes], object]:
            started[:] = [status, headers]
            return lambda _: None  # WSGI's write(), which nobody calls

        body = b"".join(self._aws(call.environ, start))
        return started[0], started[1], body

    def _tell(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "DELETE":
            self._decided.clear()
            start_response("204 No Content", [])
            return []
        names = ("role", "action", "resource", "allowed")
        told = [dict(zip(names, decided, strict=True)) for decided in list(self._decided)]
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(told).encode()]


def _asked(call: Call) -> Iterator[Asked]:
    """What IAM is asked; of a service without a module of its own, whether everything of it is allowed."""
    service = _SERVICES.get(call.service)
    if service is None:
        yield Asked(f"{call.service}:{call.operation}")
    else:
        yield from service(call)


def _shown(asked: Asked) -> str:
    """The resource, and where in a bucket a listing was."""
    prefix = asked.context.get("s3:prefix")
    return asked.resource if prefix is None else f"{asked.resource}?prefix={prefix}"


def _refused(call: Call, session: Session, asked: Asked, start_response: StartResponse) -> Iterable[bytes]:
    reason = (
        f"User: {session.arn} is not authorized to perform: {asked.action} on resource: {asked.resource} "
        f"because no identity-based policy allows the {asked.action} action"
    )
    if call.service == "s3":
        text = f"<Error><Code>AccessDenied</Code><Message>{reason}</Message></Error>"
        start_response("403 Forbidden", [("Content-Type", "application/xml")])
        return [] if call.method == "HEAD" else [text.encode()]
    if call.service in _IN_XML:
        code = "AuthorizationError" if call.service == "sns" else "AccessDenied"
        error = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{reason}</Message></Error>"
        start_response("403 Forbidden", [("Content-Type", "text/xml")])
        return [f"<ErrorResponse>{error}</ErrorResponse>".encode()]
    return _refused_in_json(reason, start_response)


def _refused_in_json(reason: str, start_response: StartResponse) -> Iterable[bytes]:
    start_response(
        "400 Bad Request",
        [("Content-Type", "application/x-amz-json-1.1"), ("x-amzn-errortype", "AccessDeniedException")],
    )
    return [json.dumps({"__type": "AccessDeniedException", "Message": reason, "message": reason}).encode()]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.fakes.authorisation.enforcing", description="AWS with IAM."
    )
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args(argv)

    from moto.moto_server.werkzeug_app import MotoRequestHandler
    from werkzeug.serving import make_server

    from sandbox.fakes import dms
    from sandbox.fakes.aws import build_app

    dms.install()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    app: Any = Enforcing(build_app())
    make_server("127.0.0.1", arguments.port, app, threaded=True, request_handler=MotoRequestHandler).serve_forever()


if __name__ == "__main__":
    main()
