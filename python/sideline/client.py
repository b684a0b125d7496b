"""The two clients: one that waits, one that is awaited."""

import os
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from sideline._core import CoreClient, Payload, Table
from sideline._drift import check_drift
from sideline._find import (
    LOOKUP_OPTIONS,
    as_list,
    check_name,
    explain_game_id,
    players_named,
    possible_game_id,
    teams_named,
)
from sideline._progress import ProgressOption
from sideline._streams import Streams
from sideline._timeout import Limit, Timeout, call_limits, limits
from sideline.batch import Asking, Batch, OnError, Question, check
from sideline.errors import NotFound, SidelineError
from sideline.operations import B, Ids, Operations, T

if TYPE_CHECKING:
    import polars

    from sideline._plan import Plan
    from sideline._season import Season
    from sideline.doctor import Report
    from sideline.live import LiveStream
    from sideline.operations import Time

__all__ = ["AsyncClient", "Client"]

Many = Batch[Batch[Any]]
"""What many ids give, and what its `retry()` gives."""

ManyAwaited = Batch[Coroutine[Any, Any, Batch[Any]]]

Given = TypeVar("Given")


class _Client(Operations[T, B], Streams):
    """What both clients are: settings, and the core that has them."""

    def __init__(
        self,
        *,
        username: str | None = None,
        secret: str | None = None,
        api_key: str | None = None,
        environment: str | None = None,
        sport: str | None = None,
        base_url: str | None = None,
        websocket_url: str | None = None,
        broadcast_base_url: str | None = None,
        timeout: float | Timeout | None = None,
        max_retries: int = 3,
        max_concurrency: int = 16,
        requests_per_second: float | None = None,
        max_response_bytes: int | None = None,
        proxy: str | None = None,
        ca_bundle: str | os.PathLike[str] | None = None,
        user_agent: str | None = None,
        allow_http: bool = False,
        strict: bool = False,
        api_key_in: Literal["query", "header"] = "query",
        token_path: str | None = None,
        token_parameter: str | None = None,
    ) -> None:
        try:
            # What `repr` and `pickle` may see; the secrets stay in the core.
            self._options: dict[str, Any] = {
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
                "proxy": _without_password(proxy),
                "ca_bundle": None if ca_bundle is None else os.fspath(ca_bundle),
                "user_agent": user_agent,
                "allow_http": allow_http,
                "strict": strict,
                "api_key_in": api_key_in,
                "token_path": token_path,
                "token_parameter": token_parameter,
            }
            self._core = CoreClient({**self._options, "proxy": proxy, "secret": secret, "api_key": api_key})
        except BaseException:
            self._options = {}
            raise
        finally:
            # What a traceback shows of its frames must not be these; an address may hold a password by mistake.
            del secret, api_key, proxy, base_url, websocket_url, broadcast_base_url

    def drift(self) -> Table:
        """The unknown fields that this client met so far: those that the service added or renamed.

        The table `drift`: operation, path, when it was first seen, how many answers had it, JSON type of an example.
        Each new path is also a `SchemaDriftWarning`; with `strict=True` such an answer is a `DecodeError`. It asks the
        service nothing, and is not awaited. The first thousand paths are kept.

        >>> client.teams().status
        200
        >>> client.drift().num_rows
        0
        """
        return self._core.drift()

    def scan(
        self,
        table: str,
        *,
        team_ids: Any = None,
        game_ids: Any = None,
        session_ids: Any = None,
        start: "Time | None" = None,
        end: "Time | None" = None,
    ) -> "polars.LazyFrame":
        """A table of a season, lazily: a `polars.LazyFrame` that requests only what a query needs (docs/scale.md).

        The schema is known without a request. Columns, `head`, and terms of a filter on `session_id`, `game_id` and
        `team_id` become fewer requests; an id that the plan does not have gives no row. Times of rows narrow nothing:
        give `start` and `end`. It takes the arguments of `plan`, is never awaited, and the plan is made once, with the
        first rows. A query raises `IncompleteError` where a unit did not come.

        Raises `ValueError` for `box_score`, whose columns depend on the data: scan `player_stats`.

        >>> frame = client.scan("stat_events", start="2026-10-20", end="2026-10-27")
        >>> frame.filter(session_id=session_id).select("stat").collect().height > 0
        True
        >>> frame.filter(session_id="no-such-session").collect().height
        0
        """
        from sideline._planner import Selection
        from sideline._scan import scan

        selection = Selection(
            table, team_ids=team_ids, game_ids=game_ids, session_ids=session_ids, start=start, end=end
        )
        return scan(self._waiting(), selection)

    def _waiting(self) -> "Client":
        """The same client with calls that wait."""
        client = Client.__new__(Client)
        client._options, client._core = self._options, self._core
        return client

    def _live_by_token(self, token: str, seconds: float) -> "LiveStream":
        try:
            return self.live(token=token, silence_limit=seconds, give_up_on=range(300, 600))
        finally:
            del token  # as above

    def _arrived(self, payload: Payload) -> Payload:
        if payload._met:
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


class Client(_Client[Payload, Many]):
    """A client whose calls wait for their answer.

    Ctrl-C ends a waiting call. It may be used by several threads, in Jupyter, and after `os.fork`; it pickles without
    its secrets. What is not given is read from `SIDELINE_USERNAME`, `SIDELINE_SECRET`, `SIDELINE_API_KEY`,
    `SIDELINE_ENVIRONMENT`, `SIDELINE_SPORT`, `SIDELINE_BASE_URL`, `SIDELINE_WEBSOCKET_URL` and
    `SIDELINE_BROADCAST_BASE_URL`, when the client is built.

    Parameters:
        username, secret: the pair that signs requests.
        api_key: the key of the Broadcast API.
        environment: "production" (default) or "development".
        sport: "basketball" (default) or "football"; with `environment` it picks the documented addresses.
        base_url, websocket_url, broadcast_base_url: other addresses than those; origins, without a path.
        timeout: seconds for a call with all its attempts, or `sideline.Timeout(connect=10, read=30, total=120)`.
        max_retries: how often a request is sent again where that can help.
        max_concurrency: how many requests are in flight at once.
        requests_per_second: an upper limit; default: none.
        max_response_bytes: the most bytes of response bodies, decompressed, that this client receives at once; default:
            512 MiB (docs/batches.md, "Memory").
        proxy: its address, such as "http://user:password@proxy.example:3128"; default: what `HTTPS_PROXY` and its kin
            say, but for the hosts of `NO_PROXY` and this machine.
        ca_bundle: a file or folder of certificates to trust besides the system's; default: `REQUESTS_CA_BUNDLE`.
        user_agent: default: `sideline/<version>`.
        allow_http: let requests go over plain http to a host that is not this machine.
        strict: raise a `DecodeError` for a response with unknown fields, instead of a warning for each.
        api_key_in: where the Broadcast key goes: "query" (default, as the service's specification says) or "header",
            which keeps it out of addresses and of the logs of proxies.
        token_path: where `live` and `subscription_token` request a token; default:
            "/v1/data/schedule/games/{game_id}/_subscribe".
        token_parameter: the query parameter that carries the token to the websocket; default: "token".

    >>> import sideline
    >>> with sideline.Client(username="analyst", secret="...") as client:
    ...     client
    <sideline.Client analyst at https://api.shottracker.com, production, basketball>
    """

    def _call(self, operation: str, required: dict[str, Any], optional: dict[str, Any]) -> Payload:
        try:
            return self._arrived(self._core.call_sync(operation, required, optional))
        except NotFound as error:
            if looks := possible_game_id(operation, required):
                with suppress(SidelineError):
                    found = self._core.call_sync("game", {"game_id": looks}, LOOKUP_OPTIONS)
                    explain_game_id(error, operation, looks, found)
            raise
        finally:
            del required, optional  # as above

    def plan(
        self,
        table: str,
        *,
        team_ids: Any = None,
        game_ids: Any = None,
        session_ids: Any = None,
        start: "Time | None" = None,
        end: "Time | None" = None,
        columns: Sequence[str] | None = None,
    ) -> "Plan":
        """What a table takes: every request, by session or game, before the first is sent (docs/scale.md).

        Give `start` (with `end` where it is not now) and perhaps `team_ids`, or `game_ids`, or `session_ids`; default:
        all teams. Locations are planned in windows of 30 minutes. `columns` are those that are read.

        Planning requests the teams and their events, and is strict: it raises `IncompleteError`, which names what is
        missing, rather than leave out a session. Raises `ValueError` for a table that is none of sessions or games.

        >>> plan = client.plan("shots", game_ids=[game_id])
        >>> plan
        <sideline.Plan shots, 2 units of 1 game, 2026-10-23 to 2026-10-23>
        >>> sum(part.read(client).num_rows for part in plan.split(2)) > 0
        True
        """
        from sideline import _planner

        selection = _planner.Selection(
            table,
            team_ids=team_ids,
            game_ids=game_ids,
            session_ids=session_ids,
            start=start,
            end=end,
            columns=columns,
        )
        return _planner.make_plan(self, selection)

    def season(self, season: str | int, *, team_ids: Any = None) -> "Season[Plan]":
        """A season by its name, "2026-27", or by the year in which it begins: July to June.

        The `Season` plans and scans tables over its range. It requests nothing by itself.

        >>> client.season("2026-27").scan("shots").filter(game_id=game_id).collect().height > 0
        True
        """
        from sideline._season import Season

        return Season(self, season, team_ids)

    def _many(
        self, question: Question, on_error: OnError, progress: ProgressOption, before: Batch[Any] | None = None
    ) -> Many:
        check(on_error)
        batch = Asking(self, question, progress, before).wait(self._core)
        if on_error == "raise":
            batch.raise_if_incomplete()
        return batch

    def subscription_token(self, game_id: str, *, timeout: Limit = None) -> str:
        """A token that opens the websocket of one game, to come or going on (docs/wire.md, "Websocket").

        `live(game_id)` asks for one by itself. Treat it as a secret. Raises `TransportError` where the answer holds no
        token that can be read.

        >>> len(client.subscription_token(game_id)) > 20
        True
        """
        return self._core.token_sync(game_id, {"timeout": call_limits(timeout)})

    def find_team(self, name: str, *, timeout: Limit = None) -> Table:
        """The teams whose name has these words, without regard to case and accents: a `Table` `teams`.

        Each word of `name` begins a word of the team's name; all matches are returned, which may be none. One request.
        Raises `ValueError` for a name without a letter or digit.

        >>> client.find_team("mariners")["name"]
        ['Elkhorn Mariners']
        """
        check_name(name)
        return teams_named(self.teams(timeout=timeout), name)

    def find_player(self, name: str, *, team_id: Ids | None = None, timeout: Limit = None) -> Table:
        """The players whose name has these words, without regard to case and accents: a `Table` `players`.

        Parameters:
            name: each of its words begins a word of the player's first, last or displayed name.
            team_id: look in the roster of this team, or of several; default: of all teams, which is a request for each.
                Teams whose roster this credential may not read are left out.

        Raises `ValueError` for a name without a letter or digit, `IncompleteError` where a roster could not be read.

        >>> client.find_player("vance", team_id=team_id)["first_name"]
        ['Ezra']
        """
        check_name(name)
        teams = as_list(self.teams(timeout=timeout) if team_id is None else team_id)
        return players_named(self.roster(teams, on_error="keep", progress=False, timeout=timeout), name)

    def doctor(self) -> "Report":
        """Look at the set-up step by step: settings, way to the service, clock, signature, privileges, key, websocket.

        It says for each what was found and, where something is wrong, what to do; it raises nothing for that. It makes
        about ten small requests. `sideline doctor` is the same on the command line.

        >>> report = client.doctor()
        >>> report.ok
        True
        >>> report["username"]
        Check(name='username', state='ok', found='... (argument)', advice='')
        """
        from sideline.doctor import examine, run_sync

        return run_sync(examine(self._core, self._live_by_token, is_async=False))

    def close(self) -> None:
        """Close the connections; a call in flight ends with an error. It may be called again."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _named(operation: str, coroutine: Coroutine[Any, Any, Given]) -> Coroutine[Any, Any, Given]:
    """So that the warning of one that is never awaited says what was called."""
    coroutine.__qualname__ = f"AsyncClient.{operation}"  # type: ignore[attr-defined]
    return coroutine


class AsyncClient(_Client[Coroutine[Any, Any, Payload], Coroutine[Any, Any, ManyAwaited]]):
    """A client whose calls are coroutines, on asyncio or uvloop. It takes what `Client` takes.

    Cancelling a task cancels its request. One client may serve several event loops, one after the other or at once.

    >>> import asyncio, sideline
    >>> async def count():
    ...     async with service.async_client() as client:
    ...         return (await client.teams()).table().num_rows
    >>> asyncio.run(count())
    16
    """

    def _call(self, operation: str, required: dict[str, Any], optional: dict[str, Any]) -> Coroutine[Any, Any, Payload]:
        return _named(operation, self._come(operation, required, optional))

    async def plan(
        self,
        table: str,
        *,
        team_ids: Any = None,
        game_ids: Any = None,
        session_ids: Any = None,
        start: "Time | None" = None,
        end: "Time | None" = None,
        columns: Sequence[str] | None = None,
    ) -> "Plan":
        """What a table takes: every request, by session or game, before the first is sent (docs/scale.md).

        Give `start` (with `end` where it is not now) and perhaps `team_ids`, or `game_ids`, or `session_ids`; default:
        all teams. Locations are planned in windows of 30 minutes. `columns` are those that are read.

        Planning requests the teams and their events, and is strict: it raises `IncompleteError`, which names what is
        missing, rather than leave out a session. Raises `ValueError` for a table that is none of sessions or games.

        >>> import asyncio
        >>> async def planned():
        ...     async with service.async_client() as client:
        ...         return await client.plan("shots", game_ids=[game_id])
        >>> asyncio.run(planned())
        <sideline.Plan shots, 2 units of 1 game, 2026-10-23 to 2026-10-23>
        """
        import asyncio

        from sideline import _planner

        selection = _planner.Selection(
            table,
            team_ids=team_ids,
            game_ids=game_ids,
            session_ids=session_ids,
            start=start,
            end=end,
            columns=columns,
        )
        return await asyncio.to_thread(_planner.make_plan, self._waiting(), selection)

    def season(self, season: str | int, *, team_ids: Any = None) -> "Season[Coroutine[Any, Any, Plan]]":
        """A season by its name, "2026-27", or by the year in which it begins: July to June.

        The `Season` plans and scans tables over its range; its `plan` is awaited. It requests nothing by itself.

        >>> service.async_client().season(2026).name
        '2026-27'
        """
        from sideline._season import Season

        return Season(self, season, team_ids)

    def _many(
        self, question: Question, on_error: OnError, progress: ProgressOption, before: Batch[Any] | None = None
    ) -> Coroutine[Any, Any, ManyAwaited]:
        return _named(question.operation, self._come_all(question, on_error, progress, before))

    async def _come(self, operation: str, required: dict[str, Any], optional: dict[str, Any]) -> Payload:
        try:
            return self._arrived(await self._core.call_async(operation, required, optional))
        except NotFound as error:
            if looks := possible_game_id(operation, required):
                with suppress(SidelineError):
                    found = await self._core.call_async("game", {"game_id": looks}, LOOKUP_OPTIONS)
                    explain_game_id(error, operation, looks, found)
            raise
        finally:
            del required, optional  # as above

    async def _come_all(
        self, question: Question, on_error: OnError, progress: ProgressOption, before: Batch[Any] | None
    ) -> ManyAwaited:
        check(on_error)
        batch = await Asking(self, question, progress, before).come(self._core)
        if on_error == "raise":
            batch.raise_if_incomplete()
        return batch

    async def subscription_token(self, game_id: str, *, timeout: Limit = None) -> str:
        """A token that opens the websocket of one game, to come or going on (docs/wire.md, "Websocket").

        `live(game_id)` asks for one by itself. Treat it as a secret. Raises `TransportError` where the answer holds no
        token that can be read.

        >>> import asyncio
        >>> async def token():
        ...     async with service.async_client() as client:
        ...         return await client.subscription_token(game_id)
        >>> len(asyncio.run(token())) > 20
        True
        """
        return await self._core.token_async(game_id, {"timeout": call_limits(timeout)})

    async def find_team(self, name: str, *, timeout: Limit = None) -> Table:
        """The teams whose name has these words, without regard to case and accents: a `Table` `teams`.

        As `Client.find_team`.

        >>> import asyncio
        >>> async def find():
        ...     async with service.async_client() as client:
        ...         return await client.find_team("mariners")
        >>> asyncio.run(find())["name"]
        ['Elkhorn Mariners']
        """
        check_name(name)
        return teams_named(await self.teams(timeout=timeout), name)

    async def find_player(self, name: str, *, team_id: Ids | None = None, timeout: Limit = None) -> Table:
        """The players whose name has these words, without regard to case and accents: a `Table` `players`.

        As `Client.find_player`.

        >>> import asyncio
        >>> async def find():
        ...     async with service.async_client() as client:
        ...         return await client.find_player("vance", team_id=team_id)
        >>> asyncio.run(find())["first_name"]
        ['Ezra']
        """
        check_name(name)
        teams = as_list(await self.teams(timeout=timeout) if team_id is None else team_id)
        return players_named(await self.roster(teams, on_error="keep", progress=False, timeout=timeout), name)

    async def doctor(self) -> "Report":
        """Look at the set-up step by step: settings, way to the service, clock, signature, privileges, key, websocket.

        It says for each what was found and, where something is wrong, what to do; it raises nothing for that. It makes
        about ten small requests. `sideline doctor` is the same on the command line.

        >>> import asyncio
        >>> async def look():
        ...     async with service.async_client() as client:
        ...         return await client.doctor()
        >>> asyncio.run(look()).ok
        True
        """
        from sideline.doctor import examine

        return await examine(self._core, self._live_by_token, is_async=True)

    async def aclose(self) -> None:
        """Close the connections; a call in flight ends with an error. It may be called again."""
        self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
