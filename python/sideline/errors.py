"""The exceptions and warnings. Each message says what to do next, and none contains a secret.

From these classes and their docstrings `make generate` writes the exports, the reference and the table of
the page Errors of the documentation.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._lazy import LazyModule

if TYPE_CHECKING:
    from . import _core, archive, batch as batches
else:
    _core, archive, batches = map(LazyModule, ("sideline._core", "sideline.archive", "sideline.batch"))

__all__ = [
    "ApiError",
    "AuthenticationError",
    "ConfigurationError",
    "ConnectError",
    "DecodeError",
    "IncompleteBatch",
    "IncompleteError",
    "IncompleteSync",
    "InternalError",
    "InvalidRequest",
    "NotFound",
    "PermissionDenied",
    "QueryError",
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
    _payload: "_core.Payload | None" = None

    @property
    def payload(self) -> "_core.Payload | None":
        """The response of status 200 that is not what was requested; its `raw` is the body. Otherwise `None`."""
        return self._payload

    @payload.setter
    def payload(self, payload: "_core.Payload | None") -> None:
        self._payload = payload


class ConfigurationError(SidelineError):
    """A credential or an address is missing, or an option is invalid.

    What to do: set the variable or the option that it names.
    """


class ApiError(SidelineError):
    """The service responded with an error, or would: some arguments are checked before sending. The base of every error
    with a status, and the class of a status without a class of its own.

    What to do: check the base address and the proxy.
    """

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
    """401, or a gateway's 403: the signature was not accepted. It ends a batch or a sync early.

    What to do: check username and secret. If the clock is the cause, the message says by how much it is off; offsets up
    to 24 hours are corrected (documentation: The wire, "Signature").
    """


class PermissionDenied(ApiError):
    """403 from the service: this credential lacks a privilege or a team.

    What to do: ask for the privilege.
    """


class NotFound(ApiError):
    """404: the id does not exist.

    What to do: check where the id came from.
    """


class InvalidRequest(ApiError, ValueError):
    """400 or 422: the request breaks rules of the service, which `rules` lists. It is also a `ValueError`.

    What to do: correct the request. Team events and team game stats are checked before sending.
    """

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
    """429: too many requests, after the retries; `retry_after` has the seconds that the service requested.

    What to do: lower `requests_per_second` or `max_concurrency`.

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
    """5xx: the service failed, after the retries.

    What to do: check the ids (statistics of an unknown team may be a 500); try later; send the vendor the `request_id`.
    """


class TransportError(SidelineError):
    """There was no response, or it could not be read as HTTP and JSON. The base of `ConnectError` and `RequestTimeout`.

    What to do: try again.

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
    """The connection failed: name, port, proxy or certificate.

    What to do: run `sideline doctor`; see the documentation: Networks.
    """


class RequestTimeout(TransportError, TimeoutError):
    """The connect, read or total timeout expired. It is also a `TimeoutError`.

    What to do: raise `timeout`, or request less.
    """


class DecodeError(SidelineError):
    """The response is not what was requested: its root is missing, or a value does not fit its column. `path` and
    `offset` say where.

    What to do: look at the body in `payload`, and report it.

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
        self, text: str = "", *, path: str = "$", offset: int = 0, payload: "_core.Payload | None" = None
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
    """A defect of sideline.

    What to do: report it, with the text and the traceback.
    """


class IncompleteError(SidelineError):
    """Units of a batch, a sync or a plan are missing. A batch raises `IncompleteBatch`, a sync `IncompleteSync`.

    What to do: request the missing units again, or leave out those that the message names.

    >>> try:
    ...     client.plan("shots", game_ids=["no-such-game"])
    ... except sideline.IncompleteError as error:
    ...     print("no-such-game" in str(error))
    True
    """


class IncompleteBatch(IncompleteError):
    """Units of a batch are missing.

    What to do: use the rest, in `batch` (documentation: Many ids at once), and request the missing units again:
    `error.batch.retry()`.

    >>> try:
    ...     client.stats([session_id, "no-such-session"])
    ... except sideline.IncompleteBatch as error:
    ...     print(error.batch.counts["missing"])
    1
    """

    batch: "batches.Batch | batches.AsyncBatch"
    """The batch, with the fetched responses and how each unit ended."""

    def __init__(self, text: str, batch: "batches.Batch | batches.AsyncBatch") -> None:
        super().__init__(text)
        self.batch = batch

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.batch), self.__dict__


class IncompleteSync(IncompleteError):
    """Units of a sync are missing; the others are stored.

    What to do: read the holes of `report` (documentation: Trust), and sync again to request them.

    >>> try:
    ...     sideline.Archive("season", client).sync(game_ids=["no-such-game"], tables="shots")
    ... except sideline.IncompleteSync as error:
    ...     print(len(error.report.holes))
    1
    """

    report: "archive.SyncReport"
    """The report of the sync."""

    def __init__(self, text: str, report: "archive.SyncReport") -> None:
        super().__init__(text)
        self.report = report

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.report), self.__dict__


class QueryError(SidelineError, ValueError):
    """A query of `archive.sql` is refused, is mistaken or exceeds a limit, which the message names.

    What to do: select fewer rows or raise the limit; `archive.connect()` runs statements that `sql` refuses.

    >>> try:
    ...     archive.sql("copy shots to 'shots.csv'")
    ... except sideline.QueryError as error:
    ...     print(error)
    archive.sql takes one select, not copy; archive.connect() is an open connection
    """


class StreamClosed(SidelineError):
    """A live stream has ended: it was read to its end or closed, its client was closed, or it was opened in another
    process.

    What to do: open it again.
    """


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
