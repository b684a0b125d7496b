"""What is raised. Each message says what to do next, and none holds a secret."""

from collections.abc import Sequence

import sideline

__all__ = [
    "ApiError",
    "AuthenticationError",
    "ConfigurationError",
    "ConnectError",
    "DecodeError",
    "IncompleteError",
    "InvalidRequest",
    "NotFound",
    "PermissionDenied",
    "RateLimited",
    "RequestTimeout",
    "SchemaDriftWarning",
    "ServerError",
    "SidelineError",
    "StreamClosed",
    "TransportError",
]


class SidelineError(Exception):
    """The base of every exception of this package.

    >>> try:
    ...     client.roster(999_999)
    ... except sideline.NotFound as error:
    ...     print(error.status, error.request_id is not None)
    ... except sideline.SidelineError as error:
    ...     print("anything else that went wrong:", error)
    404 True
    """

    advice: str = ""
    """What to do next, in a sentence; empty where no request was involved."""
    _advice_kind: str = ""
    """A name for that advice, out of a closed set."""
    _found: str = ""
    """What happened, without the advice."""
    _payload: "sideline.Payload | None" = None

    @property
    def payload(self) -> "sideline.Payload | None":
        """The response, where one of status 200 arrived that is not what was requested: its `raw` is the body."""
        return self._payload

    @payload.setter
    def payload(self, payload: "sideline.Payload | None") -> None:
        self._payload = payload


class ConfigurationError(SidelineError):
    """The client is set up wrong, or a credential is missing."""


class ApiError(SidelineError):
    """The service answered with an error, or would: what can be checked before sending is."""

    status: int
    """The HTTP status."""
    message: str
    """The service's own words."""
    request_id: str | None
    """The service's id of the request; `None` where nothing was sent, or no id came."""
    method: str
    url: str
    """The address, without secrets."""
    attempts: int
    """How often it was sent."""
    elapsed: float = 0.0
    """Seconds that all attempts and the waits between them took."""

    def __init__(
        self,
        text: str = "",
        *,
        status: int = 0,
        message: str = "",
        request_id: str | None = None,
        method: str = "GET",
        url: str = "",
        attempts: int = 1,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.message = message
        self.request_id = request_id
        self.method = method
        self.url = url
        self.attempts = attempts


class AuthenticationError(ApiError):
    """401, or a gateway's 403: the signature was not accepted."""


class PermissionDenied(ApiError):
    """403 from the service: this credential may not read that."""


class NotFound(ApiError):
    """404: there is no such thing."""


class InvalidRequest(ApiError, ValueError):
    """400 or 422: the request breaks rules of the service."""

    rules: list[str]
    """The violated rules, in the service's words."""

    def __init__(
        self,
        text: str = "",
        *,
        rules: Sequence[str] = (),
        status: int = 0,
        message: str = "",
        request_id: str | None = None,
        method: str = "GET",
        url: str = "",
        attempts: int = 1,
    ) -> None:
        super().__init__(
            text, status=status, message=message, request_id=request_id, method=method, url=url, attempts=attempts
        )
        self.rules = list(rules)


class RateLimited(ApiError):
    """429: too many requests.

    >>> service.faults.add("/v1/data/teams", status=429, headers={"Retry-After": "30"})
    >>> try:
    ...     with service.client(max_retries=0) as hasty:
    ...         hasty.teams()
    ... except sideline.RateLimited as error:
    ...     print(error.retry_after)
    30.0
    >>> service.faults.clear()
    """

    retry_after: float | None
    """Seconds that the service asks to wait (`Retry-After`); `None` if it does not say."""

    def __init__(
        self,
        text: str = "",
        *,
        retry_after: float | None = None,
        status: int = 0,
        message: str = "",
        request_id: str | None = None,
        method: str = "GET",
        url: str = "",
        attempts: int = 1,
    ) -> None:
        super().__init__(
            text, status=status, message=message, request_id=request_id, method=method, url=url, attempts=attempts
        )
        self.retry_after = retry_after


class ServerError(ApiError):
    """5xx: the service failed."""


class TransportError(SidelineError):
    """No answer came, or none that can be read as HTTP and JSON.

    >>> service.faults.add("/v1/data/teams", reset=True)
    >>> try:
    ...     with service.client(max_retries=1) as patient:
    ...         patient.teams()
    ... except sideline.TransportError as error:
    ...     print(error.method, error.attempts, error.advice)
    GET 2 Try again
    >>> service.faults.clear()
    """

    method: str = "GET"
    url: str = ""
    """The address, without secrets; empty where it was no request that failed."""
    attempts: int = 0
    """How often it was sent."""
    elapsed: float = 0.0
    """Seconds that all attempts and the waits between them took."""


class ConnectError(TransportError):
    """No connection was made: name, port, proxy, certificate."""


class RequestTimeout(TransportError, TimeoutError):
    """The connect, read or total timeout passed."""


class SchemaDriftWarning(UserWarning):
    """The service sent an unknown field, which no schema has: one warning for each path.

    Nothing of it is lost: `to_dict()` has it.

    >>> import warnings
    >>> service.faults.add("/v1/data/teams", body={"teams": [{"id": 7, "mascot": "owl"}]}, times=1)
    >>> with warnings.catch_warnings(record=True, action="always") as told, service.client() as fresh:
    ...     mascot = fresh.teams()["teams"][0]["mascot"]
    >>> mascot, told[0].category is sideline.SchemaDriftWarning
    ('owl', True)
    """


class DecodeError(SidelineError):
    """A response that is not what was requested: its root is missing, or a value does not fit its column.

    >>> service.faults.add("/v1/data/teams", body={"squads": []}, times=1)
    >>> try:
    ...     client.teams()
    ... except sideline.DecodeError as error:
    ...     print(error.path, error.payload.raw)
    $.teams b'{"squads": []}'
    """

    path: str
    """Where in the JSON, such as `$.teams[0].id`."""
    offset: int
    """Where in the body, in bytes."""

    def __init__(
        self, text: str = "", *, path: str = "$", offset: int = 0, payload: "sideline.Payload | None" = None
    ) -> None:
        super().__init__(text)
        self.path = path
        self.offset = offset
        self.payload = payload


class IncompleteError(SidelineError):
    """Units of a batch or of a sync are missing.

    >>> try:
    ...     client.stats([session_id, "no-such-session"])
    ... except sideline.IncompleteError as error:
    ...     print(error.batch.counts["missing"], error.report)
    1 None
    """

    batch: "sideline.Batch | sideline.AsyncBatch | None"
    """Of a batch: what was fetched, and how each unit ended."""
    report: "sideline.SyncReport | None"
    """Of a sync: how each unit ended."""

    def __init__(
        self,
        text: str = "",
        *,
        batch: "sideline.Batch | sideline.AsyncBatch | None" = None,
        report: "sideline.SyncReport | None" = None,
    ) -> None:
        super().__init__(text)
        self.batch = batch
        self.report = report


class StreamClosed(SidelineError):
    """A live stream that cannot be read any further: it was read to its end or closed, its client was closed, or it was
    opened in another process."""
