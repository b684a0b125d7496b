"""`sideline.Tracking`: answers from positions."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal

from .._client import Duration, Unpicklable, as_seconds, sport_of, table_from_arrow
from .._core import CoreTracking, Payload, Table, _epoch_ms
from .._rows import arrow_rows, did_you_mean, has_tables, is_number
from ..batch import BaseBatch
from ..court import COLLEGE_MEN, Court

LOAD_COLUMNS = ("player_id", "period", "session_id", "game_id")
QUALITY_COLUMNS = ("player_id", "team_id", "defender_id", "openness", "zone")

_FOOTBALL_SIZE = (24.384, 54.864, None)
"""Half of 160 feet, and half of 120 yards with both end zones."""

_TIMES = (("occurred_at", True), ("timestamp", True), ("start_timestamp", True), ("t", False))
"""Columns with the time of a row, and whether it is in the clock of the events."""

_MAX_RATE_HZ = 200.0


class Tracking(Unpicklable):
    """Positions of one session or many, with the shots, possessions and events of the same sessions.

    Made by `client.tracking(game_id)`, by `archive.tracking(game_id)`, or from tables. Every method but `window`
    returns a `Table` in metres and seconds, described in `sideline.SCHEMAS` (documentation: Positions to answers). A
    value that the positions do not support is null, and the column `reason` says why. It is immutable.

    Parameters:
        locations: the table `locations`: a response, a batch, a `Table`, a frame, any Arrow table, or a list of these.
        shots: the table `shots`. Without it the offset between the clocks of events and positions is unknown.
        stat_events: the table `stat_events`, for the periods.
        possessions: the table `possessions`, for line-ups and periods.
        players: names of players by id, or the table `players`; for plots.
        court: a `sideline.court.Court`, or "football"; default: "football" for responses of football, else a college
            court. A position more than 2 m off it is left out.

    Raises `ValueError` for a missing column and for shots or possessions that occur twice, `TypeError` for an argument
    that is no table.

    >>> locations = client.locations(session_id, session_start, session_start + 60_000)
    >>> tracking = sideline.Tracking(locations, shots=client.shots(session_id))
    >>> tracking.loads().column_names[:6]
    ['session_id', 'game_id', 'period', 'team_id', 'player_id', 'tracked_min']
    """

    _instead = "it never changes, and another process makes one of its tables"
    _core: CoreTracking
    _players: Any
    _court: "Court | Literal['football'] | None"

    def __init__(
        self,
        locations: object,
        shots: object = None,
        stat_events: object = None,
        possessions: object = None,
        players: object = None,
        *,
        court: "Court | Literal['football'] | None" = None,
    ) -> None:
        if court is None and _is_of_football(locations):
            court = "football"
        self._core = CoreTracking(
            list(_streams("locations", locations)),
            _unique_rows("shots", shots, ("player_id", "occurred_at", "hoop_player_x", "hoop_player_y")),
            list(_streams("stat_events", stat_events)),
            _unique_rows("possessions", possessions, ("team_id", "possession")),
            _court_size(court),
        )
        self._players, self._court = players, court

    @property
    def players(self) -> Any:
        """The names of players that were passed.

        >>> sideline.Tracking([], players={11: "Ezra Vance"}).players
        {11: 'Ezra Vance'}
        """
        return self._players

    @property
    def court(self) -> "Court | Literal['football'] | None":
        """The court that was passed, or that of the responses; `None` is a college court.

        >>> sideline.Tracking([], court="football").court
        'football'
        """
        return self._court

    def frames(self, rate: float | None = None, smoothing: Literal["auto"] | None = "auto") -> Table:
        """Return position, speed and acceleration of each player, and the ball, at each frame: `tracking_frames`.

        Parameters:
            rate: frames a second, on a curve through the positions; default: the frames of the sensors. Nothing is
                interpolated over a gap of more than a second.
            smoothing: "auto" is a zero-lag Butterworth filter (documentation: Positions to answers,
                "Smoothing"); `None` is exact.

        Raises `ValueError` for a rate that is not between 0 and 200.

        >>> locations = client.locations(session_id, session_start, session_start + 10_000)
        >>> frames = sideline.Tracking(locations).frames(rate=10)
        >>> len(set(frames["t"]))
        101
        """
        if smoothing not in ("auto", None):
            raise ValueError(f'smoothing is {smoothing!r}; it must be "auto" or None')
        return self._core.frames(_rate(rate), smoothing is None)

    def opponents(self, rate: float | None = None) -> Table:
        """Return the nearest opponent on court of each player at each frame: `tracking_opponents`.

        Parameters:
            rate: frames a second; default: the frames of the sensors.

        Raises `ValueError` for a rate that is not between 0 and 200.

        >>> locations = client.locations(session_id, session_start, session_start + 10_000)
        >>> sideline.Tracking(locations, possessions=client.possessions(session_id)).opponents().column_names[-3:]
        ['nearest_player_id', 'distance_m', 'reason']
        """
        return self._core.opponents(_rate(rate))

    def defenders(self, rows: object = None, at: "Literal['release'] | Duration" = "release") -> Table:
        """Return the two nearest opponents of each shooter at each shot: `tracking_defenders`.

        Parameters:
            rows: other rows with `player_id` and a time: `occurred_at`, `timestamp` or `start_timestamp` in the clock
                of the events, or `t` in that of the positions; default: the shots. The result has a row for each. Of
                a response the shots or, without these, the first table counts.
            at: "release" is the time of the row; seconds or a `timedelta` move it, such as -1 to a second before.

        Raises `ValueError` for rows without a time or a player.

        >>> locations = client.locations(session_id, session_start, session_start + 300_000)
        >>> shots = client.shots(session_id)
        >>> tracking = sideline.Tracking(locations, shots, possessions=client.possessions(session_id))
        >>> tracking.defenders().num_rows == shots.table().num_rows
        True
        """
        shift = 0.0 if at == "release" else as_seconds(at)
        if not (is_number(shift) and abs(shift) < 3600):
            raise ValueError(f'at is {at!r}; it must be "release", or seconds or a timedelta of less than an hour')
        tables = None if rows is None else list(_streams("rows", rows, is_any=True))
        return self._core.defenders(tables, float(shift))

    def matchups(self) -> Table:
        """Return how long and how close each defender guarded each attacker, with the shots: `tracking_matchups`.

        The interval is Wilson's, of makes / shots. A shot counts once, if its result, points and defender are known.
        Time needs possessions, and the line-ups of both teams; it is null where a session has none.

        >>> sideline.Tracking([]).matchups().num_rows
        0
        """
        return self._core.matchups()

    def shot_quality(self, by: str | Sequence[str] = ("player_id",)) -> Table:
        """Return effective field-goal shares beside those of shots of their kind: `tracking_shot_quality`.

        A shot counts if its defender is known. The expected share is that of all these shots of the same zone and
        openness, or of the same openness where fewer than 10 are. The interval is a bootstrap's, with a fixed seed.
        Rows are in the order of the ids, and from `very_tight` to `wide_open`.

        Parameters:
            by: one or several of `player_id`, `team_id`, `defender_id`, `openness`, `zone`.

        Raises `ValueError` for another column.

        >>> sideline.Tracking([]).shot_quality(by=("team_id", "openness")).num_rows
        0
        """
        return self._core.shot_quality(_columns(by, QUALITY_COLUMNS))

    def touches(self) -> Table:
        """Return the touches of the ball: `tracking_touches`.

        Without shots, none ends by a shot. Raises `ValueError` where a session has no ball, fewer than 5 frames a
        second, or shots whose clock could not be compared with that of the positions.

        >>> sideline.Tracking([]).touches().num_rows
        0
        """
        return self._core.touches()

    def passes(self) -> Table:
        """Return the passes between teammates: `tracking_passes`.

        Without shots, a missed shot and its rebound are a pass. Raises `ValueError` as `touches` does.

        >>> sideline.Tracking([]).passes().num_rows
        0
        """
        return self._core.passes()

    def spacing(self, by: Literal["possession", "frame"] = "possession") -> Table:
        """Return the room that a team's five players take: `tracking_spacing`.

        Parameters:
            by: "possession" is the mean over the possession of the team that has the ball; "frame" has both teams.

        Raises `ValueError` for another word.

        >>> sideline.Tracking([]).spacing(by="frame").num_rows
        0
        """
        if by not in ("possession", "frame"):
            raise ValueError(f'by is {by!r}; it must be "possession" or "frame"')
        return self._core.spacing(by == "frame")

    def loads(
        self,
        by: str | Sequence[str] = ("player_id", "period"),
        bands: Sequence[float] = (2, 4, 5.5, 7),
    ) -> Table:
        """Return distances by speed, sprints, accelerations and peak speed of each player: `tracking_loads`.

        Parameters:
            by: `player_id`, alone or with `period`, `session_id` and `game_id`.
            bands: the four speeds in m/s between the five bands.

        Raises `ValueError` for another column, or bands that are not four rising speeds.

        >>> locations = client.locations(session_id, session_start, session_start + 60_000)
        >>> loads = sideline.Tracking(locations).loads(by="player_id")
        >>> all(0 < row["distance_m"] < 600 for row in loads.to_dicts())
        True
        """
        columns = _columns(by, LOAD_COLUMNS)
        if "player_id" not in columns:
            raise ValueError("by has no player_id: a load is that of a player")
        return self._core.loads(columns, band_speeds(bands))

    def coverage(self) -> Table:
        """Return how completely each player was seen in each session: `tracking_coverage`.

        >>> locations = client.locations(session_id, session_start, session_start + 60_000)
        >>> set(sideline.Tracking(locations).coverage()["rate_hz"])
        {2.0}
        """
        return self._core.coverage()

    def window(self, row: object, before: Duration = 4, after: Duration = 2) -> "Tracking":
        """Return the positions around a row, as a small `Tracking` for plots.

        Parameters:
            row: a row with a time, as of `to_dicts()`, or a table or frame of one row. Its session is found by
                `session_id`, or by its game and time.
            before, after: seconds, or a `timedelta`.

        Raises `ValueError` if the row has no time, or its session no positions here.

        >>> locations = client.locations(session_id, session_start, session_start + 60_000)
        >>> tracking = sideline.Tracking(locations)
        >>> near = tracking.window({"session_id": session_id, "t": session_start + 20_000}, before=2, after=1)
        >>> len(set(near.frames()["t"]))
        7
        """
        record = _record(row)
        time, is_event_time = next(
            ((record[name], is_event) for name, is_event in _TIMES if record.get(name) is not None), (None, False)
        )
        if time is None:
            names = ", ".join(name for name, _ in _TIMES)
            raise ValueError(f"row has no time; it needs one of {names}")
        around = _milliseconds("before", before), _milliseconds("after", after)
        session, game = (None if record.get(name) is None else str(record[name]) for name in ("session_id", "game_id"))
        at = time if isinstance(time, int) else _epoch_ms("row", time)
        core = self._core.window((session, game), (at, is_event_time), around)
        if core is None:
            raise ValueError(f"row is of session {session}, which has no positions here")
        near = type(self).__new__(type(self))
        vars(near).update(vars(self), _core=core)
        return near

    def __repr__(self) -> str:
        sessions = self._core.sessions()
        rates = sorted({round(rate, 1) for _, _, rate, _, _ in sessions if rate is not None})
        parts = [
            f"{len(sessions)} session{'' if len(sessions) == 1 else 's'}",
            *([f"{' and '.join(map(str, rates))} Hz"] if rates else []),
            f"{self._core.shots} shot{'' if self._core.shots == 1 else 's'}",
            "ball" if any(has_ball for *_, has_ball in sessions) else "no ball",
        ]
        return f"<sideline.Tracking: {', '.join(parts)}>"


def _streams(argument: str, source: object, *, is_any: bool = False) -> Iterable[object]:
    """Yield the Arrow tables of an argument: of a response that of its name, or the shots or the first."""
    if source is None:
        return
    if isinstance(source, (list, tuple)):
        for part in source:
            yield from _streams(argument, part, is_any=is_any)
    elif has_tables(source):
        names = ("shots", *source.tables) if is_any else (argument,)
        name = next((name for name in names if name in source.tables), None)
        if name is None:
            raise ValueError(
                f"{argument} needs a table {names[0]}; this response has {', '.join(source.tables) or 'none'}"
            )
        yield source.table(name)
    else:
        yield arrow_rows(argument, source)


def _unique_rows(argument: str, source: object, keys: Sequence[str]) -> list[Table]:
    """Return the tables of an argument; raises if two have the same row of a session, which would be counted twice."""
    tables = [table_from_arrow(argument, stream) for stream in _streams(argument, source)]
    known_rows: set[tuple[Any, ...]] = set()
    names = [name for name in ("session_id", *keys) if all(name in table.column_names for table in tables)]
    # The first keys name a row; the others tell apart what has these in common.
    if len(tables) < 2 or names[:3] != ["session_id", *keys[:2]]:
        return tables
    for table in tables:
        rows = set(zip(*(table[name] for name in names), strict=True))
        for row in rows & known_rows:
            if None not in row[:3]:
                raise ValueError(f"{argument} has session {row[0]} twice: pass each session once")
        known_rows |= rows
    return tables


def _is_of_football(source: object) -> bool:
    """Return whether a response is of football; a table does not tell."""
    if isinstance(source, list | tuple | BaseBatch):
        return any(map(_is_of_football, source))
    return isinstance(source, Payload) and sport_of(source) == "football"


def _court_size(court: object) -> tuple[float, float, tuple[float, float] | None]:
    if court == "football":
        return _FOOTBALL_SIZE
    if court is None:
        court = COLLEGE_MEN
    if not isinstance(court, Court):
        raise ValueError(f'court is {court!r}; it must be a sideline.court.Court or "football"')
    paint = court.paint_width / 2000, court.baseline_to_free_throw_line / 1000
    return court.width / 2000, court.length / 2000, paint


def _rate(rate: float | None) -> float | None:
    if rate is None:
        return None
    if not (is_number(rate) and 0 < rate <= _MAX_RATE_HZ):
        raise ValueError(f"rate is {rate!r}; it must be more than 0 and at most {_MAX_RATE_HZ:g} frames a second")
    return float(rate)


def band_speeds(bands: Sequence[float]) -> list[float]:
    """Return the four speeds in m/s between five bands; raises if they are not."""
    try:
        speeds = [] if isinstance(bands, str) else [float(speed) for speed in bands]
    except (TypeError, ValueError):
        speeds = []
    if len(speeds) != 4 or not all(0 < low < high < 100 for low, high in pairwise(speeds)):
        raise ValueError(f"bands is {bands!r}; it must be four rising speeds in m/s, such as (2, 4, 5.5, 7)")
    return speeds


def _columns(by: str | Sequence[str], allowed_columns: Sequence[str]) -> list[str]:
    columns = list(by) if isinstance(by, Iterable) and not isinstance(by, str) else [by]
    if not columns:
        raise ValueError(f"by is empty; it must have one or several of {', '.join(allowed_columns)}")
    for column in columns:
        if column not in allowed_columns:
            hint = did_you_mean(str(column), allowed_columns)
            raise ValueError(f"by has {column!r}; it must be one or several of {', '.join(allowed_columns)}{hint}")
    return columns


def _milliseconds(argument: str, duration: Duration) -> int:
    seconds = as_seconds(duration)
    if not (is_number(seconds) and 0 <= seconds <= 86_400):
        raise ValueError(f"{argument} is {duration!r}; it must be 0 or more seconds, and at most a day")
    return round(seconds * 1000)


def _record(row: object) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    if not hasattr(row, "__arrow_c_stream__"):
        raise TypeError(f"row is a dict, or a table or frame of one row, not {type(row).__name__}")
    records = Table.from_arrow(row).to_dicts()
    if len(records) != 1:
        raise ValueError(f"row has {len(records)} rows; it must have one")
    record: Mapping[str, datetime | Any] = records[0]
    return record
