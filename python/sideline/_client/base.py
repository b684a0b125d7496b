"""What both clients share: options, pickling, drift, scans; nothing of it waits for a response."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from .._core import CoreClient, Payload, Table
from .._lazy import LazyModule
from .._rows import check_drift
from .streams import Streams, check_websocket_url
from .timeout import Timeout, call_limits, limits
from .types import Duration, Environment, Sport, TableName, Time

if TYPE_CHECKING:
    import polars

    from .. import live as streams
    from .._engines import Plan, Selection
    from ..doctor import Report
    from .async_client import AsyncClient
    from .client import Client
else:
    streams, polars = LazyModule("sideline.live"), LazyModule("polars")


class BaseClient(Streams):
    """The options of a client, and the core that holds them."""

    _waits: ClassVar[bool]
    """Whether calls wait, instead of being awaited."""

    _service: object = None
    """The simulator that made the client, if one did."""

    _options: dict[str, Any]
    """What `repr` and `pickle` may see; the secrets stay in the core."""

    def __init__(
        self,
        *,
        username: str | None = None,
        secret: str | None = None,
        api_key: str | None = None,
        environment: Environment | None = None,
        sport: Sport | None = None,
        base_url: str | None = None,
        websocket_url: str | None = None,
        broadcast_base_url: str | None = None,
        timeout: Timeout | Duration | None = None,
        max_retries: int = 3,
        max_concurrency: int = 16,
        requests_per_second: float | None = None,
        max_response_bytes: int | None = None,
        max_memory: int | None = None,
        proxy: str | None = None,
        ca_bundle: str | os.PathLike[str] | None = None,
        user_agent: str | None = None,
        headers: Mapping[str, str] | None = None,
        allow_http: bool = False,
        strict: bool = False,
        api_key_in: Literal["query", "header"] = "query",
        token_path: str | None = None,
        token_parameter: str | None = None,
    ) -> None:
        try:
            self._options = {
                "username": username,
                "environment": environment,
                "sport": sport,
                "base_url": base_url,
                "websocket_url": websocket_url,
                "broadcast_base_url": broadcast_base_url,
                "timeout": limits(timeout),
                "max_retries": max_retries,
                "max_concurrency": max_concurrency,
                "requests_per_second": requests_per_second,
                "max_response_bytes": max_response_bytes,
                "max_memory": max_memory,
                "proxy": _without_password(proxy),
                "ca_bundle": None if ca_bundle is None else os.fspath(ca_bundle),
                "user_agent": user_agent,
                "allow_http": allow_http,
                "strict": strict,
                "api_key_in": api_key_in,
                "token_path": token_path,
                "token_parameter": token_parameter,
            }
            secrets = {"proxy": proxy, "secret": secret, "api_key": api_key, "headers": headers}
            self._core = CoreClient({**self._options, **secrets})
            self._options.update(headers=dict(self._core.headers), strict=bool(strict))
        except BaseException:
            self._options = {}
            raise
        finally:
            # What a traceback shows of its frames must not be these; an address may hold a password by mistake.
            secrets = {}
            del secret, api_key, proxy, headers, base_url, websocket_url, broadcast_base_url

    def drift(self) -> Table:
        """Return the unknown fields in this client's responses so far: fields that the service added or renamed.

        The table `drift`: operation, path, time of the first response, number of responses, JSON type of an example.
        Each new path is also a `SchemaDriftWarning`; with `strict=True` such a response is a `DecodeError`. The call
        sends no request and is not awaited. The first thousand paths are kept.

        >>> client.teams().status
        200
        >>> client.drift().num_rows
        0
        """
        return self._core.drift()

    def scan(
        self,
        table: TableName,
        *,
        team_ids: Any = None,
        game_ids: Any = None,
        session_ids: Any = None,
        start: Time | None = None,
        end: Time | None = None,
    ) -> "polars.LazyFrame":
        """Return a table of a season as a `polars.LazyFrame`, which requests only the data of a query.

        See the documentation: Plans, scans and engines.

        The schema is known without a request. `head`, and terms of a filter on `session_id` and `game_id`, become fewer
        requests; an id that the plan does not have gives no row. Columns, `team_id` and times of rows narrow nothing:
        give `team_ids`, `start` and `end`. It takes the arguments of `plan`, is never awaited, and the plan is made
        once, with the first rows. A query raises `IncompleteError` if a unit is missing.

        Raises `ValueError` for `box_score`, whose columns depend on the data: scan `player_stats`.

        >>> frame = client.scan("stat_events", start="2026-10-20", end="2026-10-27")
        >>> frame.filter(session_id=session_id).select("stat").collect().height > 0
        True
        >>> frame.filter(session_id="no-such-session").collect().height
        0
        """
        from .._engines import Selection, scan

        selection = Selection(
            table, team_ids=team_ids, game_ids=game_ids, session_ids=session_ids, start=start, end=end
        )
        return scan(self._waiting(), selection)

    def _waiting(self) -> "Client":
        """Return the same client with calls that wait."""
        raise NotImplementedError

    def _as(self, kind: "type[Client]") -> "Client":
        """Return the same client as an object of another class."""
        client = kind.__new__(kind)
        client._options, client._core, client._service = self._options, self._core, self._service
        return client

    def _live_by_token(self, token: str, seconds: float) -> "streams.LiveStream":
        try:
            check_websocket_url(self._core)
            return self.live(token=token, silence_limit=seconds, give_up_on=range(300, 600))
        finally:
            del token  # as above

    def _report_drift(self, payload: Payload) -> Payload:
        """Return the payload, after a report of its unknown fields."""
        if payload._drift_fields:
            check_drift(payload, strict=self._options["strict"])
        return payload

    def __repr__(self) -> str:
        core: CoreClient | None = getattr(self, "_core", None)
        if core is None:
            return f"<sideline.{type(self).__name__}, not built>"
        closed = ", closed" if core.closed else ""
        return (
            f"<sideline.{type(self).__name__} {core.username or 'without username'} at {core.base_url}, "
            f"{core.environment}, {core.sport}{closed}>"
        )

    # Unlike what is pickled, a copy stays here and may keep its secrets: it is the same client.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self._options, "closed": self._core.closed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._options = state["options"]
        # A secret that the environment lacks is an error of the first call that needs it, as for any client. Raised
        # here, in a worker of multiprocessing, it would kill the worker and leave its pool waiting.
        self._core = CoreClient({**self._options, "unpickled": True})
        if state["closed"]:
            self._core.close()


def _without_password(address: object) -> str | None:
    if address is not None and not isinstance(address, str):
        # Its type alone: it may hold a password.
        kind, address = type(address).__name__, None
        raise TypeError(f'proxy is an address such as "http://proxy.example:3128", not {kind}')
    if not address or "@" not in address:
        return address
    scheme, separator, rest = address.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def plan_sync(client: "Client", selection: "Selection", timeout: "Timeout | Duration | None") -> "Plan":
    """Make the plan of a selection in this thread."""
    from .._engines import make_plan

    return make_plan(client, selection, timeout)


async def plan_async(client: "AsyncClient", selection: "Selection", timeout: "Timeout | Duration | None") -> "Plan":
    """Make the plan of a selection in another thread."""
    import asyncio

    from .._engines import make_plan

    waiting = client._waiting()
    try:
        return await asyncio.to_thread(make_plan, waiting, selection, timeout)
    except asyncio.CancelledError:
        waiting.__dict__["_core"] = _Cancelled()
        raise


class _Cancelled:
    """Stands for the core of a client for which nobody waits any more: the next use ends the thread that makes it."""

    def __getattr__(self, name: str) -> object:
        from asyncio import CancelledError

        raise CancelledError


def doctor_sync(client: "Client", timeout: "Timeout | Duration | None") -> "Report":
    """Return the report of `doctor` and wait for it."""
    from ..doctor import examine, run_sync

    return run_sync(examine(client._core, client._live_by_token, call_limits(timeout), is_async=False))


async def doctor_async(client: "AsyncClient", timeout: "Timeout | Duration | None") -> "Report":
    """Return the report of `doctor` on the event loop."""
    from ..doctor import examine

    return await examine(client._core, client._live_by_token, call_limits(timeout), is_async=True)
