"""The tools of an assistant that read an archive."""

import datetime
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from .._lazy import library, pl
from .._rows import SCHEMAS, did_you_mean
from ..archive import (
    ANSWERS,
    POSITION_TABLES,
    SEVERITY,
    TABLES,
    Archive,
    box_score_of,
    internal_schemas,
    public_schema,
)
from .names import Named, find_id
from .replies import NOT_SERVED, Result, Row
from .verdicts import Verdicts

MAX_ROWS = 200
"""Rows of an answer, but of a query with a larger limit."""

_GAME_COLUMNS = ("game_id", "tipoff_at", "status", "home_team_id", "home_team_name", "away_team_id", "away_team_name")
_SHOT_COLUMNS = (
    "game_id",
    "session_id",
    "occurred_at",
    "period",
    "game_clock",
    "team_id",
    "player_id",
    "is_make",
    "points",
    "zone",
    "distance_cm",
    "hoop_player_x",
    "hoop_player_y",
)


Team = Annotated[int | str | None, Field(description="Id of the team, or its name or a part of it")]
Player = Annotated[int | str | None, Field(description="Id of the player, or the name or a part of it")]
Game = Annotated[str, Field(description="Id of the game, from the tool games")]
OptionalGame = Annotated[str | None, Field(description="Id of the game; default: all games")]


class ArchivedSeason:
    """The tables of an archive, with names beside ids. Its public methods that return a `Result` are tools.

    The assistant reads their docstrings and the notes of their arguments.
    """

    def __init__(self, archive: Archive, verdicts: Verdicts, *, positions: bool) -> None:
        self._archive, self._verdicts, self._positions = archive, verdicts, positions

    def table_names(self) -> list[str]:
        """Return the tables that are served."""
        names = (*TABLES, *ANSWERS, *internal_schemas())
        return [name for name in names if self._positions or name not in POSITION_TABLES]

    def check_table(self, name: str) -> str:
        """Return the name of a table that is served; raise `ValueError` for any other."""
        if name in self.table_names():
            return name
        if name in POSITION_TABLES:
            raise ValueError(f"{name}: {NOT_SERVED}")
        raise ValueError(f"no table is named {name!r}{did_you_mean(name, self.table_names())}")

    def tables(self) -> Result:
        """List the tables of the archive, with their numbers of rows and what a row is."""
        rows = self._archive.info().rows
        return Result(
            [{"table": name, "rows": rows.get(name), "description": _description(name)} for name in self.table_names()]
        )

    def describe(self, table: Annotated[str, Field(description="Name of the table")]) -> Result:
        """List the columns of a table, with type, unit and meaning."""
        return Result(columns_of(self.check_table(table)))

    def games(
        self,
        team: Team = None,
        date: Annotated[str | None, Field(description="Day of the tip-off in UTC: YYYY-MM-DD")] = None,
    ) -> Result:
        """List games, the earliest first, of a team or a day."""
        rows = self._games()
        if team is not None:
            team_id = find_id("team", team, self._team_names())
            rows = [row for row in rows if team_id in (row["home_team_id"], row["away_team_id"])]
        if date is not None:
            try:
                day = datetime.date.fromisoformat(date)
            except ValueError:
                raise ValueError(f"date is {date!r}; write a day as YYYY-MM-DD") from None
            rows = [row for row in rows if row["tipoff_at"] is not None and row["tipoff_at"].date() == day]
        return _first(rows, {"games": [row["game_id"] for row in rows]})

    def status(
        self,
        game: OptionalGame = None,
        since: Annotated[str | None, Field(description="Games that start at this time or later: ISO 8601")] = None,
    ) -> Result:
        """Tell whether each table of each game is complete and final, with the reasons; the worst first."""
        rows = self._verdicts.rows() if since is None else self._archive.status(since=since).to_dicts()
        if game is not None:
            self._check_game(game)
            rows = [row for row in rows if row["game_id"] == game]
        rows = sorted(rows, key=lambda row: SEVERITY.index(row["status"]))
        games = list(dict.fromkeys(row["game_id"] for row in rows))
        return _first(rows, dict.fromkeys((row["table"] for row in rows), games))

    def box_score(self, game: Game) -> Result:
        """Return the box score of a game: a line for each player, and one for each team."""
        self._check_game(game)
        sports = {str(row["sport"]).lower() for row in self._rows("teams", "sport")}
        sport: Any = "football" if sports == {"football"} else "basketball"
        return _first(box_score_of(self._archive, game, sport).to_dicts(), {"box_score": [game]})

    def shots(
        self,
        game: OptionalGame = None,
        player: Player = None,
        picture: Annotated[bool, Field(description="Whether to draw them too")] = False,
    ) -> Result:
        """List field-goal attempts in games, of one game, a player, or both. Coordinates are from the hoop, in mm."""
        frame = self._plays("shots", game, player)
        rows = frame.select(_SHOT_COLUMNS).to_dicts()
        named_rows = self._with_names(rows)
        scope = {"shots": None if game is None else [game]}
        return _first(named_rows, scope, _picture(frame, self._team_names()) if picture else None)

    def clips(self, game: Game, player: Player = None) -> Result:
        """Tell where each play of a game is in its videos. It requests the videos from the service."""
        from .._answers import clips
        from .._client import Client

        name = "play_by_play"
        frame = self._plays(name, game, player)
        if not frame.height:
            name = "shots"
            frame = self._plays(name, game, player)
        with Client() as client:
            videos = client.videos(game).table()
        return _first(clips(frame, videos).to_dicts(), {name: [game]})

    def report(self) -> Result:
        """Summarise the archive: games, rows, verdicts, holes, violations, corrections."""
        info = self._archive.info()
        verdicts = Counter(row["status"] for row in self._verdicts.rows())
        violations = Counter(row["rule"] for row in self._archive.audit().to_dicts())
        facts = [
            *(("archive", name, getattr(info, name)) for name in ("games", "sessions", "unfinished", "fetched_at")),
            *(("rows", name, count) for name, count in info.rows.items() if name in self.table_names()),
            *(("verdicts", verdict, verdicts[verdict]) for verdict in SEVERITY if verdicts[verdict]),
            *(("hole", hole["unit"], hole["error"] or hole["status"]) for hole in info.holes),
            *(("violations", rule, count) for rule, count in violations.items()),
            ("archive", "corrections", info.corrections),
        ]
        rows = [{"section": section, "name": name, "value": value} for section, name, value in facts]
        return _first(rows, dict.fromkeys(row["table"] for row in self._verdicts.rows()))

    def _scan(self, name: Any) -> "pl.LazyFrame":
        return self._archive.scan(name)

    def _rows(self, name: str, *columns: str) -> list[Row]:
        return self._scan(name).select(columns).collect().to_dicts()

    def _games(self) -> list[Row]:
        """Return the games of the schedule, and those that only the teams' events list, the earliest first."""
        rows = self._rows("games", *_GAME_COLUMNS, "facility_name")
        ids = {row["game_id"] for row in rows}
        names = ("game_id", "started_at", *_GAME_COLUMNS[3:])
        for row in self._rows("events", "is_game_event", *names):
            if row["is_game_event"] and row["game_id"] not in ids:
                ids.add(row["game_id"])
                game = {name: row.get(name) for name in (*_GAME_COLUMNS, "facility_name")}
                rows.append(game | {"tipoff_at": row["started_at"]})
        return sorted(rows, key=lambda row: (row["tipoff_at"] is None, row["tipoff_at"], row["game_id"]))

    def _check_game(self, game: str) -> None:
        ids = {row["game_id"] for row in self._verdicts.rows()}
        if game not in ids:
            raise ValueError(f"the archive has no game {game!r}{did_you_mean(game, ids)}; the tool games lists them")

    def _plays(self, name: str, game: str | None, player: int | str | None) -> "pl.DataFrame":
        frame = self._scan(name).filter(pl.col("game_id").is_not_null())
        if game is not None:
            self._check_game(game)
            frame = frame.filter(game_id=game)
        if player is not None:
            frame = frame.filter(player_id=find_id("player", player, self._player_names(), self._player_teams()))
        return frame.collect().sort("occurred_at" if name == "shots" else "timestamp")

    def _team_names(self) -> Named:
        names: dict[int, dict[str, None]] = defaultdict(dict)
        for row in self._rows("teams", "team_id", "name"):
            names[row["team_id"]][row["name"]] = None
        for row in self._games():
            for side in ("home", "away"):
                if row[f"{side}_team_id"] and row[f"{side}_team_name"]:
                    names[row[f"{side}_team_id"]][row[f"{side}_team_name"]] = None
        return names

    def _player_names(self) -> Named:
        names: dict[int, dict[str, None]] = defaultdict(dict)
        for table in ("players", "box_score"):
            for row in self._rows(table, "player_id", "first_name", "last_name"):
                if row["player_id"] and (name := " ".join(filter(None, (row["first_name"], row["last_name"])))):
                    names[row["player_id"]][name] = None
        return names

    def _player_teams(self) -> dict[int, str]:
        teams = self._team_names()
        rows = self._rows("players", "player_id", "team_id")
        return {row["player_id"]: next(iter(teams.get(row["team_id"], ())), str(row["team_id"])) for row in rows}

    def _with_names(self, rows: Iterable[Row]) -> list[Row]:
        teams, players = self._team_names(), self._player_names()
        return [
            {
                **row,
                "team_name": next(iter(teams.get(row["team_id"], ())), None),
                "player_name": next(iter(players.get(row["player_id"], ())), None),
            }
            for row in rows
        ]


def columns_of(table: str) -> list[Row]:
    """Return a row for each column of a table, with its type, unit and meaning."""
    if table in SCHEMAS:
        return [
            {"column": column.name, "type": column.type, "unit": column.unit, "description": column.description}
            for column in SCHEMAS[table]
        ]
    return [
        {"column": column.name, "type": str(column.type), "unit": None, "description": None}
        for column in public_schema(table)
    ]


def _description(table: str) -> str | None:
    return SCHEMAS[table].description if table in SCHEMAS else None


def _first(rows: Sequence[Row], scope: Mapping[str, Sequence[str] | None], picture: bytes | None = None) -> Result:
    return Result(rows[:MAX_ROWS], scope, max(0, len(rows) - MAX_ROWS), picture)


def _picture(shots: "pl.DataFrame", teams: Named) -> bytes:
    """Return a shot chart as PNG."""
    from ..plot import shot_chart

    figure = library("matplotlib.figure", "plot").Figure(figsize=(6, 6))
    names = {team_id: next(iter(texts)) for team_id, texts in teams.items()}
    shot_chart(shots, figure.add_subplot(), teams=names)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    return buffer.getvalue()
