"""Signs requests to API Gateway with IAM credentials (SigV4): no secret is configured anywhere."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import NoCredentialsError
from botocore.session import Session, get_session

__all__ = ["SigV4Signer"]

_SERVICE = "execute-api"


class SigV4Signer:
    """Signs POST requests, as the process's own identity or as `role_arn` assumed by it.

    Credentials are looked up at the first request and refreshed when they expire: a run may outlive them.
    """

    def __init__(self, region: str, role_arn: str | None = None, session: Session | None = None) -> None:
        self._region = region
        self._role_arn = role_arn
        self._session = session or get_session()

    def headers(self, url: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
        """These headers and the signature's. Raises botocore's errors where there are no usable credentials."""
        request = AWSRequest(method="POST", url=url, data=body, headers=headers)
        SigV4Auth(self._credentials.get_frozen_credentials(), _SERVICE, self._region).add_auth(request)
        return dict(request.headers.items())

    @cached_property
    def _credentials(self) -> Any:
        own = self._session.get_credentials()
        if own is None:
            raise NoCredentialsError
        if self._role_arn is None:
            return own
        fetcher = AssumeRoleCredentialFetcher(
            client_creator=self._client,
            source_credentials=own,
            role_arn=self._role_arn,
            extra_args={"RoleSessionName": "pipeline-runtime-lineage"},
        )
        return DeferredRefreshableCredentials(refresh_using=fetcher.fetch_credentials, method="assume-role")

    def _client(self, service: str, **arguments: Any) -> Any:
        return self._session.create_client(service, region_name=self._region, **arguments)
