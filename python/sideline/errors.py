"""The exceptions and warnings. Each message says what to do next, and none contains a secret."""

from collections.abc import Sequence

import sideline

__all__ = [
    "ApiError",
    "AuthenticationError",
    "ConfigurationError",
    "ConnectError",
    "DecodeError",
    "IncompleteError",
    "InternalError",
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
    """The base of all exceptions of this package.

    >>> try:
    ...     client.roster(999_999)
    ... except sideline.NotFound as error:
    ...     print(error.status, error.request_id is not None)
    ... except sideline.SidelineError as error:
    ...     print("anything else that went wrong:", error)
    404 True
    """

    advice: str = ""
    """What to do next, in one sentence; empty if there was no request."""
    _advice_kind: str = ""
    """The kind of the advice, from a closed set."""
    _found: str = ""
    """What happened, without the advice."""
    _payload: "sideline.Payload | None" = None

    @property
    def payload(self) -> "sideline.Payload | None":
        """The response of status 200 that is not what was requested; its `raw` is the body. Otherwise `None`."""
        return self._payload

    @payload.setter
    def payload(self, payload: "sideline.Payload | None") -> None:
        self._payload = payload


class ConfigurationError(SidelineError):
    """A credential is missing, or an option is invalid."""


class ApiError(SidelineError):
    """The service responded with an error, or would: some arguments are checked before sending."""

    status: int
    """The HTTP status."""
    message: str
    """The service's message."""
    request_id: str | None
    """The service's id of the request; `None` if nothing was sent or the response has no id."""
    method: str
    url: str
    """The address, without secrets."""
    attempts: int
    """The number of attempts."""
    elapsed: float = 0.0
    """Seconds for all attempts and the waits between them."""

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
    """403 from the service: this credential lacks a privilege."""


class NotFound(ApiError):
    """404: the id does not exist."""


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
    """Seconds that the service requests to wait (`Retry-After`); `None` without that header."""

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
    """There was no response, or it could not be read as HTTP and JSON.

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
    """The address, without secrets; empty if no request failed."""
    attempts: int = 0
    """The number of attempts."""
    elapsed: float = 0.0
    """Seconds for all attempts and the waits between them."""


class ConnectError(TransportError):
    """The connection failed: name, port, proxy or certificate."""


class RequestTimeout(TransportError, TimeoutError):
    """The connect, read or total timeout expired."""


class SchemaDriftWarning(UserWarning):
    """The service sent an unknown field: one warning for each path.

    Nothing is lost: `to_dict()` has the field.

    >>> import warnings
    >>> service.faults.add("/v1/data/teams", body={"teams": [{"id": 7, "mascot": "owl"}]}, times=1)
    >>> with warnings.catch_warnings(record=True, action="always") as caught, service.client() as fresh:
    ...     mascot = fresh.teams()["teams"][0]["mascot"]
    >>> mascot, caught[0].category is sideline.SchemaDriftWarning
    ('owl', True)
    """


class DecodeError(SidelineError):
    """The response is not what was requested: its root is missing, or a value does not fit its column.

    >>> service.faults.add("/v1/data/teams", body={"squads": []}, times=1)
    >>> try:
    ...     client.teams()
    ... except sideline.DecodeError as error:
    ...     print(error.path, error.payload.raw)
    $.teams b'{"squads": []}'
    """

    path: str
    """The position in the JSON, such as `$.teams[0].id`."""
    offset: int
    """The position in the body, in bytes."""
    method: str = "GET"
    attempts: int = 1
    """The number of attempts."""

    def __init__(
        self, text: str = "", *, path: str = "$", offset: int = 0, payload: "sideline.Payload | None" = None
    ) -> None:
        super().__init__(text)
        self.path = path
        self.offset = offset
        self.payload = payload

    @property
    def url(self) -> str:
        """The address, without secrets; empty if no request returned the body: a saved body, a live message, a file."""
        return "" if self.payload is None else self.payload.url or ""

    @property
    def elapsed(self) -> float:
        """Seconds for all attempts and the waits between them."""
        elapsed = None if self.payload is None else self.payload.elapsed
        return 0.0 if elapsed is None else elapsed.total_seconds()


class InternalError(SidelineError):
    """A defect of sideline: please report it, with the text and the traceback."""


class IncompleteError(SidelineError):
    """Units of a batch or of a sync are missing.

    >>> try:
    ...     client.stats([session_id, "no-such-session"])
    ... except sideline.IncompleteError as error:
    ...     print(error.batch.counts["missing"], error.report)
    1 None
    """

    batch: "sideline.Batch | sideline.AsyncBatch | None"
    """The batch, with the fetched responses and how each unit ended; `None` for a sync."""
    report: "sideline.SyncReport | None"
    """The report of the sync; `None` for a batch."""

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
    """A live stream has ended: it was read to its end or closed, its client was closed, or it was opened in another
    process."""
