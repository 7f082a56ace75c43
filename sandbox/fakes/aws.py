"""One process that answers as AWS does: moto's server, plus the rules of AWS that moto 5.2.5 lacks.

    python -m sandbox.fakes.aws --port 5600 [--state-file aws.json]

`--port 0` takes a free port; `--state-file` receives {"pid", "port", "endpoint"} once the server listens.

Accounts
    models an access key of 12 digits as one of that account's (a convention of stand-ins, not of AWS);
    credentials of an assumed role belong to the role's account, as moto has it.
    CatalogId in a request to Glue or Lake Formation models another account's catalog.
Glue
    models optimistic locking: UpdateTable with a `VersionId` that is not the current one is a
    ConcurrentModificationException and changes nothing;
    models version numbers: from 0, one more with every UpdateTable;
    models the archive: UpdateTable keeps the version it replaces unless `SkipArchive` is true; GetTableVersion
    and GetTableVersions know the current version and the archived ones, newest first, in pages;
    models resource links: GetTable, UpdateTable, GetPartitions and the version calls follow one link of a
    table (TargetTable) or of its database (TargetDatabase). Behind a link of a database they answer with the target's
    CatalogId, DatabaseName and Name; GetTable of a link to a table with the link's own, with TargetTable, and with the
    target's columns, Parameters and version, where the caller may see these. DeleteTable removes the link;
    models grants on other accounts' tables (see Lake Formation): without one, GetTable, GetDatabase, GetPartitions, the
    version calls and UpdateTable (which takes ALTER) are an AccessDeniedException, and lists leave the table out;
    models names: databases and tables are lower case, whatever the request's spelling;
    models paging of GetDatabases, GetTables, GetTableVersions (100 a page) and GetPartitions (1000);
    models job runs: the newest first, in pages (200), in the state that StartJobRun's argument --fake-state names
    (test-only; RUNNING without) or that POST /fake/job-runs has said since, with a CompletedOn only once ended;
    models BatchStopJobRun: a run under way is STOPPING until POST /fake/job-runs says that it has stopped; one that has
    ended, or is not known, is an error inside a 200 answer.
Lake Formation
    models the ontology: keys and values are kept in lower case, ListLFTags comes in pages (50), a second
    CreateLFTag of a key is an AlreadyExistsException;
    models AddLFTagsToResource: merges by key, one value a key; an unknown key or value is a failure inside a
    200 answer while the other tags of the request are applied; a resource that does not exist is an
    EntityNotFoundException;
    models GetResourceLFTags: nothing for an untagged resource; a table shows its database's tags too, unless
    ShowAssignedLFTags is set;
    models grants of every kind of resource: they add up, are listed in pages (100), and revoking what is not held is
    an InvalidInputException;
    models what grants on tables allow to other accounts, of tables in an account whose data lake settings give new
    tables to nobody (no IAM_ALLOWED_PRINCIPALS in CreateTableDefaultPermissions): a role reads such a table where its
    owner granted it to the role, or granted it to the role's account and that account, in its own catalog, to the role;
    without a role, and as a data lake administrator, the account's grant is enough. Any permission gives DESCRIBE.
    Not modelled: grants inside one account, on databases, by LF-tags; data access: S3 hands out files all the same;
    tables of an account that leaves access to IAM, which here every account may see.
IAM
    models conditions: a statement whose conditions do not hold does not apply (moto takes it for a denial). Known are
    aws:SecureTransport (always true), s3:prefix, s3:if-none-match and s3:ObjectCreationOperation, besides what moto
    passes; any other has no value.
S3
    models emptying a bucket whose versioning was suspended: a delete marker goes as well (moto fails with a 500).
DataZone
    requests signed for `datazone`, and unsigned ones below /fake/, go to `sandbox.fakes.datazone.DataZoneFake`,
    which says what it models.

POST /moto-api/reset forgets everything, DataZone included.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

    from sandbox.fakes.datazone import DataZoneFake

__all__ = ["AwsFake", "build_app", "main"]

_CREDENTIAL = re.compile(r"Credential=(?P<key>[^/,\s]+)/\d{8}/[^/]+/(?P<service>[^/]+)/aws4_request")


class AwsFake:
    """The WSGI application: chooses the account and the service, then hands the request on."""

    def __init__(self, moto: WSGIApplication, datazone: DataZoneFake) -> None:
        self._moto = moto
        self._datazone = datazone

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/moto-api/reset":
            self._datazone.reset()
        if path == "/fake/job-runs":
            from sandbox.fakes.job_runs import move

            return move(environ, start_response)
        credential = _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
        if credential is None:
            service = "datazone" if path.startswith("/fake/") else None
        else:
            service = credential["service"]
            if re.fullmatch(r"\d{12}", credential["key"]):
                environ.setdefault("HTTP_X_MOTO_ACCOUNT_ID", credential["key"])
        return (self._datazone if service == "datazone" else self._moto)(environ, start_response)


def build_app() -> AwsFake:
    """The application of one process; moto's backends are global, so a process has one."""
    from moto.glue import models as glue_models
    from moto.glue import urls as glue_urls
    from moto.iam import access_control
    from moto.lakeformation import urls as lakeformation_urls
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from moto.s3 import models as s3_models

    from sandbox.fakes.datazone import DataZoneFake
    from sandbox.fakes.glue import GlueFake, VersionedTable
    from sandbox.fakes.iam import ConditionalStatement
    from sandbox.fakes.job_runs import ChosenJobRun
    from sandbox.fakes.lakeformation import LakeFormationFake

    access_control.IAMPolicyStatement = ConditionalStatement  # type: ignore[misc]
    # Every version that goes is asked to free its content; a delete marker has none, and moto 5.2.5 forgot to say so.
    s3_models.FakeDeleteMarker.dispose = lambda _self: None  # type: ignore[attr-defined]
    glue_models.FakeTable = VersionedTable  # type: ignore[misc]
    glue_models.FakeJobRun = ChosenJobRun  # type: ignore[misc]
    glue_urls.url_paths.update(dict.fromkeys(glue_urls.url_paths, GlueFake.dispatch))
    lakeformation_urls.url_paths.update(dict.fromkeys(lakeformation_urls.url_paths, LakeFormationFake.dispatch))
    return AwsFake(DomainDispatcherApplication(create_backend_app), DataZoneFake())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m sandbox.fakes.aws", description="A stand-in for AWS.")
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    parser.add_argument("--state-file", type=Path, help="receives pid, port and endpoint as JSON")
    arguments = parser.parse_args(argv)

    from moto.moto_server.werkzeug_app import MotoRequestHandler
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    app: Any = build_app()
    server = make_server("127.0.0.1", arguments.port, app, threaded=True, request_handler=MotoRequestHandler)
    os.environ.setdefault("MOTO_PORT", str(server.port))
    if arguments.state_file is not None:
        state = {"pid": os.getpid(), "port": server.port, "endpoint": f"http://127.0.0.1:{server.port}"}
        arguments.state_file.write_text(json.dumps(state) + "\n", encoding="utf-8")
    server.serve_forever()


if __name__ == "__main__":
    main()
