"""The live box score."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from .._client import Sport, Unpicklable, check_count, name_arguments, sport_of
from .._core import CoreBoxScore, Payload, Table, Update
from .._rows import did_you_mean
from ..errors import DecodeError
from ._notices import NOTICES, Gap, Notice, Recovered
from ._situation import Side, Situation, clock_seconds


@dataclass(frozen=True, slots=True)
class Problem:
    """A row that a live box score leaves out.

    >>> sideline.live.LiveBoxScore().problems
    []
    """

    received_at: datetime
    path: str
    """The JSON path of the row, or of its unreadable value, in its message."""
    reason: str


class LiveBoxScore(Unpicklable):
    """The current box score of a game, kept from the items of either stream.

    A message has current values: they replace earlier ones and are never added. A correction has a higher `version`;
    late and repeated values are ignored. Each row is read on its own: one that is unreadable is left out, counted and
    named (`unreadable`, `problems`), and all others are applied. What was recovered after a gap never replaces what the
    stream delivered since the request, and lowers a count only if two requests agree. `seed` takes a REST response, at
    the start or after a gap. Its columns are those of `sport`, by default that of the first argument;
    without one it is basketball.

    >>> score = sideline.LiveBoxScore(client.team_game_stats(team_id, game_id=game_id))
    >>> score.table().name
    'box_score'
    """

    _instead = "take its table(), or feed a new one from a journal"

    def __init__(self, *seeds: Payload, sport: Sport | None = None) -> None:
        of_seeds: Sport = next((sport_of(payload) for payload in seeds if isinstance(payload, Payload)), "basketball")
        self._sport: Sport = of_seeds if sport is None else sport
        with name_arguments(sport='"basketball" or "football"'):
            self._core = CoreBoxScore(self._sport)
        self._situation = Situation()
        self._jersey_numbers: dict[int, str | None] = {}
        for payload in seeds:
            self.seed(payload)

    def feed(self, item: object) -> bool:
        """Apply an item of a stream; returns whether a value of the box score changed.

        Updates and notices belong here: without the notices, `stale` does not know of gaps. Raises `TypeError` for
        anything else, such as the dict of an update.
        """
        if isinstance(item, Update):
            self._read_situation(item)
        elif not isinstance(item, Notice):
            kind = type(item).__name__
            raise TypeError(f"feed takes an item of a stream (an Update or a notice), not {kind}: pass the item itself")
        elif not isinstance(item, NOTICES):
            return False
        # A final gap repeats one that came before, and nothing of the stream is older than its start.
        elif isinstance(item, Gap) and not item.is_final and item.reason != "started":
            self._situation.forget()
        elif isinstance(item, Recovered):
            for update in item.updates:
                self._recover_situation(update)
        return self._core.feed(item)

    def feed_all(self, items: Iterable[object]) -> int:
        """Apply items; returns how many of them changed the box score."""
        return sum(self.feed(item) for item in items)

    def seed(self, payload: Payload) -> None:
        """Take the rows of a response of `team_game_stats`, `stats` or `catch_up`, or the players of a `roster`.

        A roster names players whose messages have no name, and has the jersey numbers of a feed (`LiveStream.serve`).
        Rows with a version are taken unless the current ones are newer; those of `catch_up` have none and are always
        taken. A team's total is unknown after a `catch_up` that lacks it; the points of a side are then those of its
        `gameTotals`.

        Rows replace each other and are never added. So `stats`, which covers one session, is right only for the first
        session of a game: for a later one the box score has only that session's numbers.

        Raises `ValueError` for a body without such rows.
        """
        if not isinstance(payload, Payload):
            raise TypeError(f"seed takes one payload at a time, not a {type(payload).__name__}")
        if payload.operation == "roster":
            for player in payload.table("players").to_dicts():
                player_id = player["player_id"]
                self._core.name_player(player_id, player["first_name"], player["last_name"])
                self._jersey_numbers[player_id] = player["jersey_number_str"]
            return
        self._core.seed(payload.raw)
        if payload.operation == "catch_up":
            self._recover_situation(payload)

    def _read_situation(self, update: Update) -> None:
        if (message := _object_of(update)) is not None:
            self._situation.read(message, update.received_at, is_numbered=update.seq is not None)

    def _recover_situation(self, state: Payload | Update) -> None:
        if (message := _object_of(state)) is not None:
            self._situation.recover(message)

    @property
    def home(self) -> Side:
        """The home side: team id, name, points, fouls and time-outs left, where they are known.

        >>> sideline.LiveBoxScore().home.points is None
        True
        """
        return self._situation.side("home", self._core.table().to_dicts())

    @property
    def away(self) -> Side:
        """The away side, as `home`."""
        return self._situation.side("away", self._core.table().to_dicts())

    @property
    def period(self) -> str | None:
        """The period, as the service names it; `None`: no message had it."""
        return self._situation.period

    @property
    def clock(self) -> str | None:
        """The game clock as the service sent it."""
        return self._situation.clock

    @property
    def clock_s(self) -> float | None:
        """The game clock in seconds; `None` if it is unknown or of another shape."""
        return clock_seconds(self._situation.clock)

    def leaders(self, stat: str, count: int = 3) -> Table:
        """Return the players with the highest values of a stat code, the highest first: the table `live_leaders`.

        Its columns are `team_id`, `team_name`, `player_id`, `player_name` and `value`. Players without a value are left
        out. Raises `ValueError` for a code that is not documented and that no row has, once there are rows.

        >>> score = sideline.LiveBoxScore(client.team_game_stats(team_id, game_id=game_id))
        >>> score.leaders("PTS", 3).num_rows
        3
        """
        check_count("count", count)
        with name_arguments(stat='a code such as "PTS"', count="a whole number"):
            leaders = self._core.leaders(stat, count)
        if not leaders.num_rows and (table := self._core.table()).num_rows:
            codes = table.column_names[table.column_names.index("games_played") + 1 :]
            if stat not in codes:
                raise ValueError(f"no player has a value of {stat}{did_you_mean(stat, codes)}")
        return leaders

    @property
    def stale(self) -> bool:
        """Whether values may be missing.

        It is true while a gap is open, while the connection has been lost for a second, after a final gap until a
        later complete state covers it, and while the last snapshot lacks a line of the one before it.
        """
        return self._core.is_stale()

    @property
    def updated_at(self) -> datetime | None:
        """When the last item that changed a value was received."""
        return self._core.updated_at

    @property
    def ignored(self) -> int:
        """Number of updates that were late or repeated."""
        return self._core.ignored

    @property
    def unreadable(self) -> int:
        """Number of rows that were left out, because an id or a value was unreadable."""
        return self._core.unreadable

    @property
    def problems(self) -> list[Problem]:
        """The last 20 rows that were left out, the oldest first."""
        return [Problem(*problem) for problem in self._core.problems]

    def table(self) -> Table:
        """Return the table `box_score`: a row for each player and for each team's total."""
        return self._core.table()

    def to_dict(self) -> dict[str, Any]:
        """Return sides, period, clock, staleness, problems and the rows of the box score as one dict.

        >>> sorted(sideline.LiveBoxScore().to_dict())[:4]
        ['away', 'clock', 'clock_s', 'home']
        """
        rows = self._core.table().to_dicts()
        names = ("period", "clock", "clock_s", "stale", "updated_at", "unreadable")
        return {
            **{place: asdict(self._situation.side(place, rows)) for place in ("home", "away")},
            **{name: getattr(self, name) for name in names},
            "problems": [asdict(problem) for problem in self.problems],
            "rows": rows,
        }

    def __repr__(self) -> str:
        try:
            rows = f"{self._core.table().num_rows} rows"
        except DecodeError as error:
            rows = f"without a table: {error}"
        unreadable = f", {self.unreadable} unreadable" if self.unreadable else ""
        return f"<sideline.LiveBoxScore {rows}{unreadable}{', stale' if self.stale else ''}>"


def _object_of(body: Payload | Update) -> dict[str, Any] | None:
    """Return a body that is an object of JSON, else `None`."""
    try:
        content = body.to_dict()
    except DecodeError:
        return None
    return content if isinstance(content, dict) else None
