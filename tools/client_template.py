"""The hand-written part of the clients. `generate.py` makes both of it: the synchronous one is without `await`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from .._core import Payload, Table
from .._lazy import LazyModule
from ..batch import AsyncBatch, fetch_async
from ..errors import NotFound, SidelineError
from .base import BaseClient, doctor_async, plan_async
from .find import (
    LOOKUP_LIMITS,
    as_list,
    check_name,
    check_teams,
    explain_game_id,
    game_teams,
    players_named,
    teams_named,
    tracked_spans,
)
from .ids import only_id, plain_arguments, query
from .progress import ProgressOption
from .timeout import Timeout, call_limits
from .types import CatchUpResource, Duration, GameIds, Id, Ids, Many, OnError, TableName, Time

if TYPE_CHECKING:
    from .. import _answers as _tracking, _client, _engines, doctor
    from . import season as _season
else:
    _tracking, _engines, doctor = map(LazyModule, ("sideline._answers", "sideline._engines", "sideline.doctor"))
    _season = LazyModule("sideline._client.season")

__all__ = ["AsyncClient"]


class AsyncClient(BaseClient):
    """{summary}

    {use}

    Options that are not given are read when the client is built, from `SIDELINE_USERNAME`, `SIDELINE_SECRET`,
    `SIDELINE_API_KEY`, `SIDELINE_ENVIRONMENT`, `SIDELINE_SPORT`, `SIDELINE_BASE_URL`, `SIDELINE_WEBSOCKET_URL` and
    `SIDELINE_BROADCAST_BASE_URL`. It pickles without its secrets.

    Every request raises `ConfigurationError` where a credential is missing, `AuthenticationError` where it is not
    accepted, `ValueError` for an id or a time that can never be right, and `TransportError` where no response came.

    Where the first parameter is an id, it takes several too: a list, a tuple, a range, a generator, a column of NumPy,
    pandas, polars or Arrow (a set has no order), or a payload, batch or table with a column of that name. Such a call
    returns an `AsyncBatch`, in the order of the ids (documentation: Many ids at once).

    Parameters:
        username, secret: the pair that signs requests.
        api_key: the key of the Broadcast API.
        environment: "production" (default) or "development".
        sport: "basketball" (default) or "football"; with `environment` it picks the documented addresses.
        base_url, websocket_url, broadcast_base_url: other addresses than those; a path is the prefix of a proxy.
        timeout: seconds (or a `timedelta`) for a call with all its attempts, or
            `sideline.Timeout(connect=10, read=30, total=120)`.
        max_retries: how often a request is sent again where that can help.
        max_concurrency: how many requests are in flight at once.
        requests_per_second: an upper limit; default: none.
        max_response_bytes: the most bytes of response bodies, decompressed, that this client receives at once; default:
            512 MiB (documentation: Many ids at once, "Memory").
        max_memory: the most bytes that one table or one dict of a response may take, as estimated from its body; beyond
            it decoding raises `MemoryError`. Default: what the process can get.
        proxy: its address, such as "http://user:password@proxy.example:3128"; default: that of `HTTPS_PROXY` and the
            like, except for the hosts of `NO_PROXY` and this machine.
        ca_bundle: a file or folder of certificates to trust besides the system's; default: `REQUESTS_CA_BUNDLE`.
        user_agent: default: `sideline/<version>`.
        headers: further headers of every request and stream; not those of the signature and of the protocol. The value
            of a name that holds "auth", "key", "token" or the like is shown nowhere, and not pickled.
        allow_http: let requests go over plain http to a host that is not this machine.
        strict: raise a `DecodeError` for a response with unknown fields, instead of a warning for each.
        api_key_in: where the Broadcast key goes: "query" (default, as the service's specification says) or "header",
            which keeps it out of addresses and of the logs of proxies.
        token_path: where `live` and `subscription_token` request a token; default:
            "/v1/data/schedule/games/{game_id}/_subscribe".
        token_parameter: the query parameter that carries the token to the websocket; default: "token".

    {example}
    """

    async def _request(
        self,
        operation: str,
        arguments: dict[str, Any],
        timeout: Timeout | Duration | None = None,
    ) -> Payload:
        try:
            arguments = plain_arguments(operation, arguments)
            return self._report_drift(await self._core.call_async(operation, arguments, call_limits(timeout)))
        except NotFound as error:
            if suspect := arguments.get("session_id"):
                with suppress(SidelineError):
                    game = await self._core.call_async("game", {"game_id": suspect}, LOOKUP_LIMITS)
                    explain_game_id(error, operation, suspect, game)
            raise
        finally:
            # A traceback shows what its frames hold, and a link may hold a credential.
            del arguments

    async def _request_many(
        self,
        operation: str,
        arguments: dict[str, Any],
        on_error: OnError,
        progress: ProgressOption,
        timeout: Timeout | Duration | None,
    ) -> Payload | AsyncBatch:
        """Return a payload for one id, a batch for several."""
        batch_query = query(operation, arguments, timeout)
        if batch_query is not None:
            return await fetch_async(self, batch_query, on_error, progress)
        if on_error != "raise" or progress is not None:
            raise TypeError("on_error and progress are for many ids: write [id] for a batch of one")
        return await self._request(operation, arguments, timeout)

    # operations

    async def subscription_token(self, game_id: Id, *, timeout: Timeout | Duration | None = None) -> str:
        """Return a token that opens the websocket of one game (documentation: The wire, "Websocket").

        `live(game_id)` requests one by itself. Treat it as a secret.

        Parameters:
            game_id: the game, upcoming or in progress.
            timeout: seconds for this call with all its attempts, or a `sideline.Timeout`; default: the client's.

        Raises `TransportError` where the response holds no token that can be read.

        >>> token = await client.subscription_token(game_id)
        >>> len(token) > 20
        True
        """
        return await self._core.token_async(game_id, call_limits(timeout))

    async def find_team(self, name: str, *, timeout: Timeout | Duration | None = None) -> Table:
        """Return the teams whose name has these words, as the table `teams`.

        Each word of `name` begins a word of the team's name, whatever its case and accents. All matches are returned,
        which may be none. It sends one request.

        Raises `ValueError` for a name without a letter or digit.

        >>> teams = await client.find_team("mariners")
        >>> teams["name"]
        ['Elkhorn Mariners']
        """
        check_name(name)
        return teams_named(await self.teams(timeout=timeout), name)

    async def find_player(
        self,
        name: str,
        *,
        team_id: Ids | None = None,
        timeout: Timeout | Duration | None = None,
    ) -> Table:
        """Return the players whose name has these words, as the table `players` with a column `team_name`.

        Parameters:
            name: each of its words begins a word of the player's first, last or displayed name, whatever its case and
                accents.
            team_id: look in the roster of this team, or of several; default: of all teams, which is a request for each.
                Teams whose roster this credential may not read are left out.
            timeout: seconds for each request with all its attempts, or a `sideline.Timeout`; default: the client's.

        Raises `ValueError` for a name without a letter or digit, `IncompleteError` where a roster could not be read or
        none may be.

        >>> players = await client.find_player("vance", team_id=team_id)
        >>> players["first_name"]
        ['Ezra']
        """
        check_name(name)
        teams = as_list(await self.teams(timeout=timeout) if team_id is None else team_id)
        return players_named(await self.roster(teams, on_error="keep", progress=False, timeout=timeout), name)

    async def box_score(
        self,
        game_id: Id,
        *,
        periods: bool = False,
        timeout: Timeout | Duration | None = None,
    ) -> Table:
        """Return the box score of a whole game, of both teams, as the table `game_box_score`.

        It has the service's own sums (`source` is "service"), which take one request for each team. For a team without
        them, and with `periods`, it requests the sessions of the game ("sessions"), which it sums unless `periods` is
        set.

        Parameters:
            game_id: the game.
            periods: return a row for each period instead, with a column `period` at the end.
            timeout: seconds for each request with all its attempts, or a `sideline.Timeout`; default: the client's.

        A team total has the player name "Team total"; it is left out if a summed session lacks it. A code that a row
        of the game has is 0 for a player who played; all are null for one who did not (`did_not_play`).

        Raises `NotFound` for an unknown game, `IncompleteBatch` if a session could not be read or is forbidden, and the
        error of a team's sums if no session has the team either.

        >>> box = await client.box_score(game_id)
        >>> box.column_names[:8]
        ['game_id', 'team_id', 'team_name', 'player_id', 'player_name', 'is_team_total', 'did_not_play', 'source']
        """
        from .._answers import game_box_score, session_periods

        game_id = only_id("box_score", "game_id", game_id)
        game = await self.game(game_id, timeout=timeout)
        sessions, teams = game.table("sessions"), game_teams(game)
        sums = None
        if teams and not periods:
            options: Any = {"game_id": game_id, "on_error": "keep", "progress": False, "timeout": timeout}
            sums = await self.team_game_stats(teams, **options)
        service = [payload.table("box_score") for payload in sums or ()]
        parts: list[Payload] = []
        if len({team for table in service for team in table["team_id"]} & {*teams}) < 2:
            parts = list(await self.stats(sessions, progress=False, timeout=timeout))
        names: dict[str, str | None] | None = None
        if periods:
            unknown_ids = [row["session_id"] for row in sessions.to_dicts() if row["name"] is None]
            details = await self.stats_details(unknown_ids, progress=False, timeout=timeout)
            names = session_periods(sessions, [payload.table("stat_events") for payload in details])
        boxes = [payload.table("box_score") for payload in parts]
        box = game_box_score(str(game_id), teams, service, boxes, names, self._core.sport)
        if sums is not None:
            check_teams(sums.errors, box)
        return box

    async def tracking(
        self, game_id: Id, *, progress: ProgressOption = None, timeout: Timeout | Duration | None = None
    ) -> _tracking.Tracking:
        """Return the positions of a game, which answer who guarded whom, how open a shot was and who ran how much.

        It requests the game, its rosters, and positions, shots, possessions and stat events of each session.

        Parameters:
            game_id: the game.
            progress: True, False or a function that takes a `Progress`; default: a bar on a terminal and in a notebook.
            timeout: seconds for each request with all its attempts, or a `sideline.Timeout`; default: the client's.

        Raises `NotFound` for an unknown game, `IncompleteError` where a session could not be read or is forbidden. A
        roster that cannot be read only leaves names out.

        See the documentation: Positions to answers.

        >>> tracking = await client.tracking(game_id)
        >>> defenders = tracking.defenders()
        """
        from .._answers import Tracking

        game_id = only_id("tracking", "game_id", game_id)
        game = await self.game(game_id, timeout=timeout)
        spans, teams = tracked_spans(game), game_teams(game)
        sessions = [session_id for session_id, _, _ in spans]
        locations = [
            await self.locations([session_id], start, end, game_id=game_id, progress=progress, timeout=timeout)
            for session_id, start, end in spans
        ]
        details = await self.stats_details(sessions, game_id=game_id, progress=progress, timeout=timeout)
        players = await self.roster(teams, game_id=game_id, on_error="keep", progress=progress, timeout=timeout)
        if self._core.sport == "football":
            return Tracking(locations, stat_events=details, players=players, court="football")
        shots = await self.shots(sessions, game_id=game_id, progress=progress, timeout=timeout)
        possessions = await self.possessions(sessions, game_id=game_id, progress=progress, timeout=timeout)
        return Tracking(locations, shots, details, possessions, players)

    async def plan(
        self,
        table: TableName,
        *,
        team_ids: Any = None,
        game_ids: Any = None,
        session_ids: Any = None,
        start: Time | None = None,
        end: Time | None = None,
        columns: Sequence[str] | None = None,
        timeout: Timeout | Duration | None = None,
    ) -> _engines.Plan:
        """Return the plan of a table: every request that it takes, before the first is sent.

        See the documentation: Plans, scans and engines.

        Planning itself requests the teams and their events. It raises `IncompleteError`, which names what is missing,
        rather than leave out a session. Locations are planned in windows of 30 minutes.

        Parameters:
            table: one of a session's or a game's.
            team_ids: only these teams, with `start`; default: all.
            game_ids, session_ids: only these, instead of a range.
            start, end: the range; default of `end`: now.
            columns: those that are read; default: all.
            timeout: seconds for each request with all its attempts, or a `sideline.Timeout`; default: the client's.

        Raises `ValueError` for a table of neither sessions nor games.

        >>> await client.plan("shots", game_ids=[game_id])
        <sideline.Plan shots, 2 units of 1 game, 2026-10-23 to 2026-10-23>
        """
        from .._engines import Selection

        selection = Selection(
            table,
            team_ids=team_ids,
            game_ids=game_ids,
            session_ids=session_ids,
            start=start,
            end=end,
            columns=columns,
        )
        return await plan_async(self, selection, timeout)

    def season(
        self, season: str | int, *, team_ids: Any = None, store: str | PathLike[str] | None = None
    ) -> _season.AsyncSeason:
        """Return a season, July to June, by its name, "2026-27", or by the year in which it begins.

        The season plans and scans tables over its range. This sends no request. With a `store`, the folder or address
        of an archive, its scans keep what they read there, and a second query sends nothing
        (`sideline.Archive.scan`, `refresh=True`).

        >>> client.season("2026-27").name
        '2026-27'
        """
        from .season import AsyncSeason

        return AsyncSeason(self, season, team_ids, store)

    _waits = False

    def _waiting(self) -> _client.Client:
        from .client import Client

        return self._as(Client)

    async def doctor(self, *, timeout: Timeout | Duration | None = None) -> doctor.Report:
        """Check the set-up step by step: settings, connection, clock, signature, privileges, key, websocket.

        Each check of the report says what was found and, where something is wrong, what to do; nothing is raised for
        that. It sends about ten small requests, each with this `timeout`, seconds or a `sideline.Timeout`; default: the
        client's. `sideline doctor` is the same on the command line.

        >>> report = await client.doctor()
        >>> report.ok
        True
        >>> report["username"]
        Check(name='username', state='ok', found='... (argument)', advice='')
        """
        return await doctor_async(self, timeout)

    async def aclose(self) -> None:
        """Close the connections; a call in flight ends with an error. It may be called again."""
        self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
