"""Each operation of the service, typed and documented once, for both clients.

The examples run against the simulator; `client`, `team_id`, `game_id` and `session_id` are at hand in them.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, Generic, TypeVar

from sideline._core import Table
from sideline._progress import ProgressOption
from sideline._timeout import Limit, call_limits
from sideline.batch import Batch, OnError, Question, question

__all__ = ["Operations"]

T = TypeVar("T")
"""What one id gives: a `Payload`, or a coroutine of one."""

B = TypeVar("B")
"""What many ids give: a `Batch`, or a coroutine of one."""

Time = datetime | date | str | int
"""An aware `datetime`, a `date`, an ISO 8601 string (a date alone means midnight UTC) or epoch milliseconds."""


Id = int | str
Many = Iterable[Any] | Table
"""Ids in an order, or what has a column of them."""

Ids = Id | Many
"""One id, or many."""

GameIds = Id | Iterable[Any]
"""The game of a session, or of each of many."""


class Operations(Generic[T, B]):
    """What the service can be asked; each method gives a `Payload`, or a coroutine of one.

    Any of them raises `ConfigurationError` where a credential is missing, `AuthenticationError` where it is not
    accepted, `ValueError` for an id or a time that can never be right, and `TransportError` where no answer came.

    An id in first place may be many: a list, a tuple, a range, a generator, a column of NumPy, pandas, polars or Arrow
    (no set: it has no order), or a payload, batch or table with a column of that name. They are asked for at once and
    give a `Batch`, in their order. Such a call takes
    `on_error`, "raise" (default: `IncompleteError` where any did not come; what did is in its `.batch`) or "keep", and
    `progress`: True, False, a function that takes a `Progress`, or None: a bar on a terminal and in a notebook.

    Every call takes `timeout`: seconds for this call with all its attempts (of many ids: for each), or a
    `sideline.Timeout`; default: the client's.

    >>> batch = client.stats([session_id, session_id])
    >>> len(batch), batch.table().num_rows == 2 * client.stats(session_id).table().num_rows
    (2, True)
    """

    def _call(self, operation: str, required: dict[str, Any], optional: dict[str, Any]) -> T:
        raise NotImplementedError

    def _many(
        self, question: Question, on_error: OnError, progress: ProgressOption, before: Batch[Any] | None = None
    ) -> B:
        raise NotImplementedError

    def _ask(
        self,
        operation: str,
        required: dict[str, Any],
        optional: dict[str, Any],
        on_error: OnError,
        progress: ProgressOption,
        timeout: Limit = None,
    ) -> T | B:
        """One id or many, in the first of `required`."""
        optional = {**optional, "timeout": call_limits(timeout)}
        asked = question(operation, required, optional)
        if asked is not None:
            return self._many(asked, on_error, progress)
        if on_error != "raise" or progress is not None:
            raise TypeError("on_error and progress are for many ids: write [id] for a batch of one")
        return self._call(operation, required, optional)

    def teams(self, *, timeout: Limit = None) -> T:
        """All teams that this credential may see (docs/wire.md, "List teams").

        Table: `teams`, a row for each team.

        >>> client.teams().table().column_names[:2]
        ['team_id', 'name']
        """
        return self._call("teams", {}, {"timeout": call_limits(timeout)})

    def roster(
        self,
        team_id: Ids,
        *,
        game_id: str | None = None,
        reference: str | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """The current players of a team, or those at the time of a game (docs/wire.md, "Team roster").

        Tables: `players` (those who left have `is_active` false), `special_services`, `team`. `reference` names the
        system that the ids are of, where it is not the service's own. Raises `PermissionDenied` for a restricted team,
        `NotFound` for an unknown team or game.

        >>> client.roster(team_id).table("team").to_dicts()[0]["team_id"] == team_id
        True
        """
        return self._ask(
            "roster", {"team_id": team_id}, {"game_id": game_id, "reference": reference}, on_error, progress, timeout
        )

    def schedule(
        self,
        start: Time,
        end: Time | None = None,
        *,
        sport: str | None = None,
        team_id: int | str | None = None,
        location_id: str | None = None,
        season_type: str | None = None,
        week: int | None = None,
        timeout: Limit = None,
    ) -> T:
        """The games whose tip-off lies from `start` to `end`, by default one day (docs/wire.md, "Game schedule").

        Table: `games`, a row for each game; a game to come has a row too. `sport` is "basketball" or "football"
        (default: the client's), `season_type` one of EXH, PRE, REG, POST and applies together with `week` (from 1).

        >>> client.schedule("2026-11-01", "2027-04-15", team_id=team_id).table().num_rows > 0
        True
        """
        optional = {
            "end": end,
            "sport": sport,
            "team_id": team_id,
            "location_id": location_id,
            "season_type": season_type,
            "week": week,
        }
        return self._call("schedule", {"start": start}, {**optional, "timeout": call_limits(timeout)})

    def matchup(
        self,
        team_ids: int | str | Iterable[int | str],
        start: Time,
        end: Time | None = None,
        *,
        reference: str,
        gender: str,
        timeout: Limit = None,
    ) -> T:
        """The games of one team, or of two against each other, by the ids of another system (docs/wire.md, "Matchup").

        Table: `games`. `reference` names the system that `team_ids` (one id, or a list of one or two) are of;
        SHOTTRACKER is the service's own. `gender` is MEN or WOMEN. Raises `ValueError` for another number of teams.

        >>> games = client.matchup(team_id, "2026-11-01", "2027-04-15", reference="SHOTTRACKER", gender="MEN")
        >>> all(team_id in (game["home_team_id"], game["away_team_id"]) for game in games.table().to_dicts())
        True
        """
        required = {"team_ids": team_ids, "start": start, "reference": reference, "gender": gender}
        return self._call("matchup", required, {"end": end, "timeout": call_limits(timeout)})

    def team_events(
        self,
        team_id: Ids,
        start: Time,
        end: Time,
        *,
        games_only: bool = False,
        workouts_only: bool = False,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """Games and practices of a team, with their sessions (docs/wire.md, "Team events").

        Tables: `sessions` (a row for each period or drill; its `session_id` is what `stats`, `possessions` and `shots`
        take), `events`, `location_windows`. A range over 8 months is asked for in pieces and joined. Raises
        `InvalidRequest` (its `.rules` say which) for a range that is empty or lies before 1970.

        >>> events = client.team_events(team_id, "2026-11-01", "2027-03-01", games_only=True)
        >>> {session["event_id"] for session in events.table("sessions").to_dicts()} <= {
        ...     event["event_id"] for event in events.table("events").to_dicts()
        ... }
        True
        """
        optional = {"games_only": games_only or None, "workouts_only": workouts_only or None}
        return self._ask(
            "team_events", {"team_id": team_id, "start": start, "end": end}, optional, on_error, progress, timeout
        )

    def team_game_stats(
        self,
        team_id: Ids,
        *,
        game_id: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """A team's box score of one game, or summed over a range (docs/wire.md, "Team game stats").

        Tables: `player_stats` (a row for each player and stat code), `box_score` (a row for each player, a column for
        each code). DIST is in centimetres. Give either `game_id`, or `start` and `end`. Raises `PermissionDenied`
        without access to stats, `InvalidRequest` for a range over 8 months: a sum over it cannot be put together from
        pieces.

        >>> box_score = client.team_game_stats(team_id, game_id=game_id).table("box_score")
        >>> {row["team_id"] for row in box_score.to_dicts()} == {team_id}
        True
        """
        return self._ask(
            "team_game_stats",
            {"team_id": team_id},
            {"game_id": game_id, "start": start, "end": end},
            on_error,
            progress,
            timeout,
        )

    def game_events(
        self,
        game_id: Ids,
        *,
        team_id: int | str | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """The events of a whole game, as the service has them (docs/wire.md, "Full game events").

        No table: what the body holds is not documented. Raises `PermissionDenied`.

        >>> client.game_events(game_id).tables
        []
        """
        return self._ask("game_events", {"game_id": game_id}, {"team_id": team_id}, on_error, progress, timeout)

    def game(
        self, game_id: Ids, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> T | B:
        """One game with its sessions (docs/wire.md, "Game").

        Tables: `sessions` (a row for each period), `events`, `location_windows`. Raises `NotFound`.

        >>> client.game(game_id).table("events").to_dicts()[0]["game_id"] == game_id
        True
        """
        return self._ask("game", {"game_id": game_id}, {}, on_error, progress, timeout)

    def stats(
        self,
        session_id: Ids,
        *,
        game_id: GameIds | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """The box score of one session: a period, a drill (docs/wire.md, "Stats").

        Tables: `player_stats` (a row for each player and stat code), `box_score` (a row for each player). A team's own
        totals have player id 0 and `is_team_total`: never add them to the players'. Raises `PermissionDenied` without
        access to stats, `NotFound` for an unknown session.

        A response names neither session nor game: the column `game_id` is filled from the argument of that name (with
        many sessions one id for all, or one for each). `client.stats(client.game(game_id))` takes both from the game.

        >>> box_score = client.stats(session_id, game_id=game_id).table("box_score").to_dicts()
        >>> {row["is_team_total"] for row in box_score} == {True, False}
        True
        >>> {row["game_id"] for row in client.stats(client.game(game_id)).table().to_dicts()} == {game_id}
        True
        """
        return self._ask("stats", {"session_id": session_id}, {"game_id": game_id}, on_error, progress, timeout)

    def stats_details(
        self,
        session_id: Ids,
        *,
        game_id: GameIds | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """Each occurrence of each stat in a session, with clocks and place (docs/wire.md, "Stats details").

        Table: `stat_events`. x, y, z are millimetres from the centre of the court, `hoop_to_event_x` and `_y` from the
        hoop. `game_id` and errors are as in `stats`.

        >>> "hoop_to_event_x" in client.stats_details(session_id).table().column_names
        True
        """
        return self._ask("stats_details", {"session_id": session_id}, {"game_id": game_id}, on_error, progress, timeout)

    def possessions(
        self,
        session_id: Ids,
        *,
        game_id: GameIds | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """The possessions of a session, one by one (docs/wire.md, "Possessions").

        Tables: `possessions` (a row for each, with lineups and attributes), `possession_events` (a row for each stat in
        it), `possession_players`. `game_id` and errors are as in `stats`.

        >>> client.possessions(session_id).tables
        ['possessions', 'possession_events', 'possession_players']
        """
        return self._ask("possessions", {"session_id": session_id}, {"game_id": game_id}, on_error, progress, timeout)

    def shots(
        self,
        session_id: Ids,
        *,
        game_id: GameIds | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """The shots of a session (docs/wire.md, "Shots").

        Table: `shots`. Coordinates are millimetres, `distance_cm` is centimetres; `hoop_player_x` and `_y` are the shot
        chart: the hoop at (0, 0), y towards mid-court. Raises `PermissionDenied` without access to shots, which is a
        privilege of its own, and `NotFound` for an unknown session. `game_id` is as in `stats`.

        >>> all(shot["points"] == 0 for shot in client.shots(session_id).table().to_dicts() if not shot["is_make"])
        True
        """
        return self._ask("shots", {"session_id": session_id}, {"game_id": game_id}, on_error, progress, timeout)

    def locations(
        self,
        session_id: Ids,
        start: Time,
        end: Time,
        *,
        game_id: GameIds | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """Where players and ball were, step by step (docs/wire.md, "Sensor locations").

        Table: `locations`, a row for each tag and time; x, y, z in millimetres. Any range: it is asked for in windows
        of at most 30 minutes and joined in order. `game_id` and errors are as in `stats`.

        >>> locations = client.locations(session_id, session_start, session_start + 2_000)
        >>> locations.table().column_names[:3]
        ['session_id', 'game_id', 't']
        """
        required = {"session_id": session_id, "start": start, "end": end}
        return self._ask("locations", required, {"game_id": game_id}, on_error, progress, timeout)

    def game_stats_details(
        self, game_id: Ids, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> T | B:
        """Each occurrence of each stat in a whole game (docs/wire.md, "Game stats details").

        Table: `stat_events`. Raises `PermissionDenied`.

        >>> client.game_stats_details(game_id).table().num_rows > 0
        True
        """
        return self._ask("game_stats_details", {"game_id": game_id}, {}, on_error, progress, timeout)

    def game_shots(
        self, game_id: Ids, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> T | B:
        """The shots of a whole game (docs/wire.md, "Game shots").

        Table: `shots`, the same as of `shots(session_id)`; `session_id` says in which period. Coordinates are
        millimetres, `distance_cm` is centimetres. Raises `PermissionDenied`.

        >>> shots = client.game_shots(game_id).table()
        >>> {shot["game_id"] for shot in shots.to_dicts()} == {game_id}
        True
        """
        return self._ask("game_shots", {"game_id": game_id}, {}, on_error, progress, timeout)

    def play_by_play(
        self, game_id: Ids, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> T | B:
        """The events of a whole game, one after the other (docs/wire.md, "Play-by-play").

        Table: `play_by_play`; its `stats` is a map of stat code to what the event adds. Coordinates are millimetres.
        Raises `PermissionDenied`.

        >>> plays = client.play_by_play(game_id).table(columns=["event_id", "team_id", "description", "stats"])
        >>> plays.num_rows > 0
        True
        """
        return self._ask("play_by_play", {"game_id": game_id}, {}, on_error, progress, timeout)

    def ball_screens(
        self, game_id: Ids, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> T | B:
        """The predicted ball screens of a whole game (docs/wire.md, "Ball screens").

        Table: `ball_screens`; `offensive_actions` and `defensive_actions` are maps of action to probability (0 to 1).
        Raises `PermissionDenied`.

        >>> client.ball_screens(game_id).table().column_names[:3]
        ['game_id', 'session_id', 'event_id']
        """
        return self._ask("ball_screens", {"game_id": game_id}, {}, on_error, progress, timeout)

    def videos(
        self, game_id: Ids, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> T | B:
        """The videos of a whole game, which `sideline.clips` searches (docs/wire.md, "Videos").

        Table: `videos`, one row for each part of a recording. Raises `PermissionDenied`.

        >>> client.videos(game_id).table().column_names[:3]
        ['game_id', 'session_id', 'hls_file']
        """
        return self._ask("videos", {"game_id": game_id}, {}, on_error, progress, timeout)

    def catch_up(
        self,
        game_id: Ids,
        resources: str | Iterable[str] = ("stats", "details", "shots", "possessions"),
        *,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """Several resources of a whole game in one response (docs/wire.md, "Catch-up").

        Tables, in the order asked: `player_stats` and `box_score` of "stats", `play_by_play` of "details", `shots` of
        "shots", `possessions`, `possession_events` and `possession_players` of "possessions". Raises `ValueError` for
        another name, `PermissionDenied`.

        >>> client.catch_up(game_id, ["shots", "stats"]).tables
        ['shots', 'player_stats', 'box_score']
        """
        return self._ask("catch_up", {"game_id": game_id}, {"resources": resources}, on_error, progress, timeout)

    def follow(self, link: str, *, timeout: Limit = None) -> T:
        """What a link in a response leads to, requested from this client's host (docs/wire.md, "Links").

        The tables are those of the resource that it leads to. Raises `ValueError` for a link whose path does not begin
        with `/v1/data/`.

        >>> link = client.game(game_id).table("sessions").to_dicts()[0]["stats_link"]
        >>> client.follow(link).tables
        ['player_stats', 'box_score']
        """
        try:
            return self._call("follow", {"link": link}, {"timeout": call_limits(timeout)})
        finally:
            # What a traceback shows of its frames must not be this: a link may hold a key or a password.
            del link

    def get(self, path: str, params: Mapping[str, object] | None = None, *, timeout: Limit = None) -> T:
        """Any path of the service, for what has no method here. No table.

        The request is signed; a path below `/broadcast/` takes the API key instead.

        >>> sorted(client.get("/v1/data/teams"))
        ['teams']
        """
        try:
            return self._call("get", {"path": path}, {"params": params, "timeout": call_limits(timeout)})
        finally:
            # As above.
            del path, params

    def broadcast_schedule(
        self, start: Time | None = None, end: Time | None = None, *, mock: bool = False, timeout: Limit = None
    ) -> T:
        """The Broadcast API's games; without a range those of the coming day. It takes the API key.

        No table: what the body holds is not documented (docs/wire.md, "Broadcast API"). `mock` requests the service's
        sample game instead, whose schedule id is "mock-service".

        >>> client.broadcast_schedule().status
        200
        """
        optional = {"start": start, "end": end, "mock": mock or None, "timeout": call_limits(timeout)}
        return self._call("broadcast_schedule", {}, optional)

    def broadcast_teams(self, *, timeout: Limit = None) -> T:
        """The Broadcast API's teams. It takes the API key.

        No table: what the body holds is not documented (docs/wire.md, "Broadcast API").

        >>> client.broadcast_teams().status
        200
        """
        return self._call("broadcast_teams", {}, {"timeout": call_limits(timeout)})

    def broadcast_roster(
        self,
        team_id: Ids,
        *,
        game_id: str | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """The Broadcast API's roster of a team, or that of a game. It takes the API key.

        Tables: `players`, `special_services`, `team`, as of `roster`; columns that the Broadcast API does not have are
        null (docs/wire.md, "Broadcast API").

        >>> client.broadcast_roster(team_id).table("team").to_dicts()[0]["team_id"] == team_id
        True
        """
        return self._ask("broadcast_roster", {"team_id": team_id}, {"game_id": game_id}, on_error, progress, timeout)

    def broadcast_stats(
        self,
        schedule_id: Ids,
        *,
        mock: bool = False,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """The Broadcast API's statistics of a game as they stand. It takes the API key.

        No table: what the body holds is not documented (docs/wire.md, "Broadcast API"). `mock` requests the service's
        sample game, which is played in an endless loop.

        >>> client.broadcast_stats(game_id).status
        200
        >>> client.broadcast_stats("mock-service", mock=True)["schedule_id"]
        'mock-service'
        """
        return self._ask(
            "broadcast_stats", {"schedule_id": schedule_id}, {"mock": mock or None}, on_error, progress, timeout
        )

    def broadcast_colors(
        self, schedule_id: Ids, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> T | B:
        """The jersey colours worn in a game that is being played. It takes the API key.

        No table: what the body holds is not documented (docs/wire.md, "Broadcast API"). Before and after the game the
        service has no colours; the simulator then raises `NotFound`.

        >>> with sideline.Simulator(seed=7) as season, season.client() as viewer:
        ...     upcoming = season.games[-1]["event_id"]
        ...     season.play(upcoming)
        ...     sorted(viewer.broadcast_colors(upcoming))
        ['away', 'home']
        """
        return self._ask("broadcast_colors", {"schedule_id": schedule_id}, {}, on_error, progress, timeout)

    def broadcast_locomotion(
        self,
        schedule_id: Ids,
        team_id: int | str,
        *,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> T | B:
        """How a team's players moved in a game. It takes the API key.

        No table: what the body holds is not documented (docs/wire.md, "Broadcast API").

        >>> client.broadcast_locomotion(game_id, team_id).status
        200
        """
        required = {"schedule_id": schedule_id, "team_id": team_id}
        return self._ask("broadcast_locomotion", required, {}, on_error, progress, timeout)
