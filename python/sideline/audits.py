"""Whether the tables of the same sessions agree with each other.

`RULES` names each rule and says what it asks for. They are built on what the service documents and on nothing else: a
code that is measured or is a level (`NOT_COUNTED`) adds up to nothing, and a code that is left out is 0 (facts 6.1, 8).
"""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sideline._core import Table, _own_table
from sideline._frames import given, library

if TYPE_CHECKING:
    import polars

RULES: Mapping[str, str] = MappingProxyType(
    {
        "box_score_is_sum_of_events": "Each counted stat of a player, and of a team, is the sum of its stat events.",
        "team_is_sum_of_players": "Each counted stat of a team's own line (player 0) is the sum of its players'.",
        "points_from_makes": "PTS = 2 FG2 + 3 FG3 + FT in every line. Where the service does not send FG2 it is FG -"
        " FG3; where it does not send FG3 nothing is asked.",
        "possessions_match_events": "A player has as much of each counted stat in the possessions as in the stat"
        " events. PTS is left to the makes, which possessions name and do not value; a code that no possession has is"
        " asked for only where it is documented there: FGA, FGA3, REB, DEFENSIVE_REB, FGA_OTD, FGA3_OTD.",
        "shots_match_events": "A player has as many shots, makes, threes and made threes as FGA, FG, FGA3 and FG3 in"
        " the stat events.",
        "five_a_side": "A possession has five different players on either side, and nobody on both.",
        "clocks_never_rise": "Inside a period the game clock does not rise from one moment to the next.",
        "windows_touch": "A session's location windows follow each other without a hole and without an overlap.",
        "windows_cover": "A session's location windows reach from its start to its end.",
        "shot_frames_agree": "A shot seen from its hoop is the shot on the court: -sign(hoop_y) * (player - hoop), to"
        " 1 mm.",
    }
)

NOT_COUNTED = ("DIST", "TEAM_SCORE", "OPPOSING_TEAM_SCORE")
"""Codes that do not add up: a distance is measured apart from events, and a score is the level it stands at."""

_IN_POSSESSIONS = ("FGA", "FGA3", "REB", "DEFENSIVE_REB", "FGA_OTD", "FGA3_OTD")

_LINE = ("team_id", "player_id", "is_team_total")
_STATS = {"player_stats": (*_LINE, "stat", "value"), "box_score": (*_LINE, "FG", "FGA", "PTS")}
_DETAILS = {"stat_events": (*_LINE, "stat", "value", "occurred_at", "game_clock_s", "period")}
_POSSESSIONS = {
    "possessions": (
        *("session_id", "team_id", "possession", "start_timestamp", "end_timestamp", "start_game_clock_s"),
        *("end_game_clock_s", "period", "player_ids", "opposing_player_ids"),
    ),
    "possession_events": ("session_id", "player_id", "possession_type", "details", "timestamp"),
}
_SHOTS = {
    "shots": (
        *("team_id", "player_id", "occurred_at", "is_make", "is_3point", "player_x", "player_y", "hoop_x", "hoop_y"),
        *("hoop_player_x", "hoop_player_y", "game_clock_s", "period"),
    )
}
_GAME = {
    "location_windows": ("session_id", "start", "end"),
    "sessions": ("session_id", "started_at", "ended_at"),
}

# Clocks and coordinates are decimal fractions: what differs by less than this does not differ.
_NOISE = 1e-6


def audit(
    *,
    stats: object = None,
    details: object = None,
    possessions: object = None,
    shots: object = None,
    game: object = None,
) -> Table:
    """The table `violations`: one row for each place where a rule of `sideline.audits.RULES` does not hold.

    Each argument is an answer, a `Table`, a polars frame (a lazy one too), any other Arrow table, or a list of them:
    answers of several sessions are audited at once, each session by itself. A rule is tried where what it compares is
    given; what is given is taken as whole, so that a session which one of two tables lacks is itself a violation.

    Parameters:
        stats: box scores: `client.stats`, or a table `player_stats` or `box_score`.
        details: stat events: `client.stats_details`, or a table `stat_events`.
        possessions: `client.possessions`, or its tables `possessions` and `possession_events` in a list.
        shots: `client.shots` or `client.game_shots`, or a table `shots`.
        game: `client.game` or `client.team_events`, or its tables `sessions` and `location_windows` in a list.

    Needs polars. Raises `ValueError` for a table that has not the columns, or is of games where its partner is of
    sessions. Where the service corrected stats and details, and not yet possessions and shots (facts 8), they differ,
    and that is told.

    >>> sideline.audit(
    ...     stats=client.stats(session_id),
    ...     details=client.stats_details(session_id),
    ...     possessions=client.possessions(session_id),
    ...     shots=client.shots(session_id),
    ...     game=client.game(game_id),
    ... ).num_rows
    0
    """
    sources = {"stats": stats, "details": details, "possessions": possessions, "shots": shots, "game": game}
    wanted: dict[str, Mapping[str, tuple[str, ...]]]
    wanted = {"stats": _STATS, "details": _DETAILS, "possessions": _POSSESSIONS, "shots": _SHOTS, "game": _GAME}
    frames: dict[str, polars.DataFrame] = {}
    for argument, source in sources.items():
        if source is not None:
            frames.update(given(argument, source, wanted[argument]))
    if not frames:
        raise ValueError("nothing to audit: give one of stats, details, possessions, shots, game")
    rows = [row for rule in _Audit(frames).rules() for row in rule]
    return _own_table("violations", json.dumps(rows).encode())


_Rows = Iterator[dict[str, Any]]
_KEYS = ("game_id", "session_id")


class _Audit:
    """The rules, over frames by the names of their tables. `scope` is the session, or the game, that rows are of."""

    def __init__(self, frames: "dict[str, polars.DataFrame]") -> None:
        self.pl = library("polars", "polars")
        self.frames = {name: self._keyed(frame) for name, frame in frames.items()}
        if "player_stats" in self.frames:
            self.frames["stats"] = self.frames.pop("player_stats")
        elif "box_score" in self.frames:
            self.frames["stats"] = self._long(self.frames["box_score"])

    def rules(self) -> Iterator[_Rows]:
        frames = self.frames
        if "stats" in frames:
            yield self._team_is_sum_of_players(frames["stats"])
            yield self._points_from_makes(frames["stats"])
        if "stats" in frames and "stat_events" in frames:
            yield self._box_score_is_sum_of_events(frames["stats"], frames["stat_events"])
        if "possession_events" in frames and "stat_events" in frames:
            yield self._possessions_match_events(frames["possession_events"], frames["stat_events"])
        if "shots" in frames and "stat_events" in frames:
            yield self._shots_match_events(frames["shots"], frames["stat_events"])
        if "possessions" in frames:
            yield self._five_a_side(frames["possessions"])
        yield from self._clocks_never_rise()
        if "location_windows" in frames:
            yield self._windows_touch(frames["location_windows"])
            if "sessions" in frames:
                yield self._windows_cover(frames["location_windows"], frames["sessions"])
        if "shots" in frames:
            yield self._shot_frames_agree(frames["shots"])

    # Sums.

    def _box_score_is_sum_of_events(self, stats: "polars.DataFrame", events: "polars.DataFrame") -> _Rows:
        keys = ["team_id", "player_id", "stat"]
        stats, events = self._common(stats, events)
        for row in self._differences(self._sums(events, keys), self._sums(stats, keys), ["scope"]):
            message = "{who}: {stat} is {found} in the box score, its stat events sum to {expected}"
            yield self._row("box_score_is_sum_of_events", row, message, "stat events", "a box score")

    def _team_is_sum_of_players(self, stats: "polars.DataFrame") -> _Rows:
        keys = ["team_id", "stat"]
        stats = self._scoped(stats)
        total = self.pl.col("is_team_total")
        players, own = self._sums(stats.filter(~total), keys), self._sums(stats.filter(total), keys)
        for row in self._differences(players, own, ["scope", "team_id"]):
            message = "{who}: {stat} is {found} in its own line, its players sum to {expected}"
            yield self._row("team_is_sum_of_players", row, message, "players", "a line of its own")

    def _points_from_makes(self, stats: "polars.DataFrame") -> _Rows:
        pl = self.pl
        sent = set(stats["stat"].unique())
        if not {"PTS", "FG3"} <= sent or not sent & {"FG", "FG2"}:
            return
        of = {code: pl.col("stat") == code for code in ("PTS", "FG", "FG2", "FG3", "FT")}
        codes = {code: pl.col("value").filter(rows).sum() for code, rows in of.items()}
        lines = self._scoped(stats).group_by("scope", "team_id", "player_id", maintain_order=True).agg(**codes)
        twos = pl.col("FG2") if "FG2" in sent else pl.col("FG") - pl.col("FG3")
        lines = lines.with_columns(twos=twos).with_columns(
            expected=2 * pl.col("twos") + 3 * pl.col("FG3") + pl.col("FT"), found=pl.col("PTS")
        )
        for row in lines.filter((pl.col("expected") - pl.col("found")).abs() > _NOISE).iter_rows(named=True):
            makes = f"{_number(row['twos'])} twos, {_number(row['FG3'])} threes and {_number(row['FT'])} free throws"
            yield self._row("points_from_makes", row, f"{{who}}: PTS is {{found}}, but {makes} make {{expected}}")

    def _possessions_match_events(self, possessed: "polars.DataFrame", events: "polars.DataFrame") -> _Rows:
        pl = self.pl
        possessed, events = self._common(possessed, events)
        codes = pl.concat_list(pl.col("possession_type").cast(pl.String), pl.col("details").fill_null([]))
        # Once, should a possession name its type among the details too.
        possessed = possessed.drop_nulls("player_id").with_columns(stat=codes.list.unique(), value=1.0).explode("stat")
        compared = {*_IN_POSSESSIONS, *possessed["stat"].drop_nulls()} - {"PTS"}
        events = events.filter(~pl.col("is_team_total"), pl.col("stat").is_in(list(compared)))
        found = self._sums(possessed.filter(pl.col("stat").is_in(list(compared))), ["player_id", "stat"])
        for row in self._differences(self._sums(events, ["player_id", "stat"]), found, ["scope"], self._teams(events)):
            message = "{who}: {stat} is {found} in the possessions, {expected} in the stat events"
            yield self._row("possessions_match_events", row, message, "stat events", "events of possessions")

    def _shots_match_events(self, shots: "polars.DataFrame", events: "polars.DataFrame") -> _Rows:
        pl = self.pl
        shots, events = self._common(shots, events)
        made, three = pl.col("is_make").fill_null(False), pl.col("is_3point").fill_null(False)
        counts = {"FGA": pl.lit(True), "FG": made, "FGA3": three, "FG3": made & three}
        found = pl.concat(
            [shots.filter(when).with_columns(stat=pl.lit(code), value=1.0) for code, when in counts.items()],
        )
        events = events.filter(~pl.col("is_team_total"), pl.col("stat").is_in(list(counts)))
        keys = ["player_id", "stat"]
        for row in self._differences(self._sums(events, keys), self._sums(found, keys), ["scope"], self._teams(events)):
            message = "{who}: {stat} is {found} by the shots, {expected} in the stat events"
            yield self._row("shots_match_events", row, message, "stat events", "shots")

    # One row alone, or one after the other.

    def _five_a_side(self, possessions: "polars.DataFrame") -> _Rows:
        pl = self.pl
        own, other = pl.col("player_ids"), pl.col("opposing_player_ids")
        fives = self._scoped(possessions).with_columns(
            own_ok=((own.list.len() == 5) & (own.list.n_unique() == 5)).fill_null(False),
            other_ok=((other.list.len() == 5) & (other.list.n_unique() == 5)).fill_null(False),
            both=own.list.set_intersection(other),
        )
        apart = (pl.col("both").list.len() == 0).fill_null(True)
        wrong = fives.filter(~pl.col("own_ok") | ~pl.col("other_ok") | ~apart)
        for row in wrong.iter_rows(named=True):
            where = f"{{who}}: possession {row['possession']} has"
            for ok, ids, side in (
                (row["own_ok"], row["player_ids"], "on its side"),
                (row["other_ok"], row["opposing_player_ids"], "on the other side"),
            ):
                if not ok:
                    found = None if ids is None else ", ".join(map(str, ids))
                    told = row | {"expected": "five different players", "found": found}
                    message = f"{where} {found or 'nobody'} {side}, not five different players"
                    yield self._row("five_a_side", told, message)
            if row["both"]:
                both = ", ".join(map(str, row["both"]))
                told = row | {"expected": "nobody on both sides", "found": both}
                yield self._row("five_a_side", told, f"{where} {both} on both sides")

    def _clocks_never_rise(self) -> Iterator[_Rows]:
        pl, frames = self.pl, self.frames
        read: dict[str, list[tuple[polars.DataFrame, str, str]]] = {}
        if "stat_events" in frames:
            read["stat events"] = [(frames["stat_events"], "occurred_at", "game_clock_s")]
        if "shots" in frames:
            read["shots"] = [(frames["shots"], "occurred_at", "game_clock_s")]
        if "possessions" in frames:
            ends = ("start_timestamp", "start_game_clock_s"), ("end_timestamp", "end_game_clock_s")
            read["possessions"] = [(frames["possessions"], at, clock) for at, clock in ends]
        if {"possessions", "possession_events"} <= frames.keys():
            keys = ["session_id", "team_id", "possession"]
            events = frames["possession_events"]
            if {*keys, "game_clock_s"} <= {*events.columns}:
                periods = frames["possessions"].select(*keys, "period").unique(keys)
                events = events.join(periods, on=keys, how="left")
                read["events of possessions"] = [(events, "timestamp", "game_clock_s")]
        for name, parts in read.items():
            moments = pl.concat(
                [self._scoped(part).select("scope", "period", at=at, clock=clock) for part, at, clock in parts],
                how="vertical_relaxed",
            )
            yield self._rises(name, moments)

    def _rises(self, name: str, moments: "polars.DataFrame") -> _Rows:
        pl = self.pl
        keys = ["scope", "period"]
        # What happens at one moment has one clock, or no order in which it could rise.
        by_moment = moments.drop_nulls(["at", "clock"]).group_by(*keys, "at")
        ordered = by_moment.agg(low=pl.min("clock"), high=pl.max("clock")).sort(*keys, "at")
        ordered = ordered.with_columns(before=pl.col("low").shift(1).over(keys))
        for row in ordered.filter(pl.col("high") > pl.col("before") + _NOISE).iter_rows(named=True):
            high, before = _number(row["high"]), _number(row["before"])
            told = row | {"expected": f"at most {before} s", "found": f"{high} s"}
            where = f"{name}: at {_time(row['at'])} the game clock of {row['period'] or 'a period'}"
            yield self._row("clocks_never_rise", told, f"{where} rises from {before} s to {high} s")

    def _windows_touch(self, windows: "polars.DataFrame") -> _Rows:
        pl = self.pl
        once = self._once(windows).sort("session_id", "start", "end")
        after = once.with_columns(before=pl.col("end").shift(1).over("session_id"))
        for row in after.filter(pl.col("start") != pl.col("before")).iter_rows(named=True):
            start, before = _time(row["start"]), _time(row["before"])
            what = "a hole" if row["start"] > row["before"] else "an overlap"
            told = row | {"expected": before, "found": start}
            message = f"{what}: a window of locations starts at {start}, the one before it ends at {before}"
            yield self._row("windows_touch", told, message)

    def _windows_cover(self, windows: "polars.DataFrame", sessions: "polars.DataFrame") -> _Rows:
        pl = self.pl
        reach = windows.group_by("session_id").agg(start=pl.min("start"), end=pl.max("end"))
        sessions = sessions.drop_nulls(["started_at", "ended_at"]).filter(pl.col("started_at") < pl.col("ended_at"))
        sessions = sessions.unique("session_id", maintain_order=True).join(reach, on="session_id", how="left")
        covered = (pl.col("start") <= pl.col("started_at")) & (pl.col("end") >= pl.col("ended_at"))
        for row in self._scoped(sessions.filter(~covered.fill_null(False))).iter_rows(named=True):
            expected = f"{_time(row['started_at'])} to {_time(row['ended_at'])}"
            found = f"{_time(row['start'])} to {_time(row['end'])}" if row["start"] else None
            told = row | {"expected": expected, "found": found}
            message = f"the session is from {expected}, its windows of locations {'from ' + found if found else 'none'}"
            yield self._row("windows_cover", told, message)

    def _once(self, windows: "polars.DataFrame") -> "polars.DataFrame":
        """Each team's answer has a game's windows: as often as the session itself is listed, they are one."""
        pl, frames = self.pl, self.frames
        if "sessions" not in frames:
            return windows
        listed = frames["sessions"].group_by("session_id").agg(listed=pl.len())
        place = pl.int_range(pl.len()).over("session_id", "start", "end")
        counted = windows.join(listed, on="session_id", how="left").with_columns(place=place)
        return counted.filter(pl.col("place") % pl.col("listed").fill_null(1) == 0)

    def _shot_frames_agree(self, shots: "polars.DataFrame") -> _Rows:
        pl = self.pl
        side = pl.col("hoop_y").sign()
        seen = self._scoped(shots).with_columns(
            chart_x=-side * (pl.col("player_x") - pl.col("hoop_x")),
            chart_y=-side * (pl.col("player_y") - pl.col("hoop_y")),
        )
        off = pl.max_horizontal((pl.col(f"chart_{axis}") - pl.col(f"hoop_player_{axis}")).abs() for axis in "xy")
        for row in seen.filter(off > 1 + _NOISE).iter_rows(named=True):
            chart = f"({_number(row['chart_x'])}, {_number(row['chart_y'])})"
            found = f"({_number(row['hoop_player_x'])}, {_number(row['hoop_player_y'])})"
            when = f"at {_time(row['occurred_at'])}" if row["occurred_at"] else "of a time unknown"
            message = f"{{who}}: the shot {when} is {chart} mm from the hoop, and {found} by its hoop_player"
            yield self._row("shot_frames_agree", row | {"expected": chart, "found": found}, message)

    # What the rules are made of.

    def _keyed(self, frame: "polars.DataFrame") -> "polars.DataFrame":
        absent = [self.pl.lit(None, self.pl.String).alias(key) for key in _KEYS if key not in frame.columns]
        return frame.with_columns(*absent).with_columns(self.pl.col(*_KEYS).cast(self.pl.String))

    def _long(self, boxes: "polars.DataFrame") -> "polars.DataFrame":
        keys = [*_KEYS, *_LINE]
        about = {*keys, "team_name", "first_name", "last_name", "version", "games_played"}
        codes = [name for name in boxes.columns if name not in about]
        long: polars.DataFrame = boxes.unpivot(codes, index=keys, variable_name="stat", value_name="value")
        return long.drop_nulls("value")

    def _scoped(self, frame: "polars.DataFrame", key: str | None = None) -> "polars.DataFrame":
        """With `scope`: `session_id`, or `game_id` where there is none; the key's name stands before it."""
        session, game = (self.pl.format(f"{name} {{}}", name) for name in ("session_id", "game_id"))
        scope = {"session_id": session, "game_id": game}[key] if key else self.pl.coalesce(session, game)
        return frame.with_columns(scope=scope.fill_null(""))

    def _common(
        self, left: "polars.DataFrame", right: "polars.DataFrame"
    ) -> "tuple[polars.DataFrame, polars.DataFrame]":
        """Both by session where both have one in every row, else by game."""
        for key in ("session_id", "game_id"):
            if not left[key].null_count() and not right[key].null_count():
                return self._scoped(left, key), self._scoped(right, key)
        if left["session_id"].is_null().all() and right["session_id"].is_null().all():
            return self._scoped(left), self._scoped(right)
        raise ValueError("some tables are of sessions and some of games: what is compared must be of the same")

    def _sums(self, frame: "polars.DataFrame", keys: list[str]) -> "polars.DataFrame":
        counted = frame.filter(~self.pl.col("stat").is_in(NOT_COUNTED))
        sums = counted.group_by("scope", *keys).agg(self.pl.col("value").sum())
        return sums.filter(self.pl.col("value").abs() > _NOISE)

    def _teams(self, events: "polars.DataFrame") -> "polars.DataFrame":
        return events.select("scope", "player_id", "team_id").unique(["scope", "player_id"])

    def _differences(
        self,
        expected: "polars.DataFrame",
        found: "polars.DataFrame",
        whole: list[str],
        teams: "polars.DataFrame | None" = None,
    ) -> _Rows:
        """Where two sums differ. That one of them has nothing of a whole (a session) is told once, without `stat`."""
        pl = self.pl
        keys = [name for name in expected.columns if name != "value"]
        for own, other, lacks in ((expected, found, "found"), (found, expected, "expected")):
            lonely = own.join(other, on=whole, how="anti").select(whole).unique().sort(whole)
            for row in lonely.iter_rows(named=True):
                yield {**row, "stat": None, "lacks": lacks}
        shared = expected.select(whole).unique().join(found.select(whole).unique(), on=whole)
        expected, found = expected.rename({"value": "expected"}), found.rename({"value": "found"})
        both = expected.join(found, on=keys, how="full", coalesce=True)
        both = both.join(shared, on=whole, how="semi").with_columns(pl.col("expected", "found").fill_null(0.0))
        if teams is not None:
            both = both.join(teams, on=["scope", "player_id"], how="left")
        different = both.filter((pl.col("expected") - pl.col("found")).abs() > _NOISE)
        yield from different.sort(keys).iter_rows(named=True)

    def _row(self, rule: str, row: dict[str, Any], message: str, one: str = "", other: str = "") -> dict[str, Any]:
        key, _, scope = row["scope"].partition(" ") if "scope" in row else ("session_id", "", row["session_id"])
        player, team = row.get("player_id"), row.get("team_id")
        who = f"player {player}" if player else f"team {team}" if team is not None else "the session"
        if "lacks" in row:
            lacks_found = row["lacks"] == "found"
            expected, found = (one, None) if lacks_found else ("none", other)
            message = f"{who} has {one} but not {other}" if lacks_found else f"{who} has {other} but no {one}"
        else:
            expected, found = _number(row.get("expected")), _number(row.get("found"))
            # Not `format`: a period, as it came, may have braces.
            for name, text in (("who", who), ("stat", row.get("stat")), ("expected", expected), ("found", found)):
                message = message.replace(f"{{{name}}}", str(text))
        return {
            "rule": rule,
            "team_id": team,
            "game_id": scope if key == "game_id" else None,
            "session_id": scope if key == "session_id" else None,
            "player_id": player,
            "expected": expected,
            "found": found,
            "message": message,
        }


def _number(value: Any) -> Any:
    """A number as people write it; what is none as it is."""
    return f"{value:.10g}" if isinstance(value, float | int) else value


def _time(value: Any) -> Any:
    return value.isoformat(timespec="milliseconds")
