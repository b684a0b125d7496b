"""The small exact set of basketball's measures: from the tables, as polars frames.

Minutes, per 36, pace, shooting, usage, the four factors, ratings, plus-minus, on and off, lineups, the game's state.
Possessions are counted, never estimated. Several sessions are summed before anything is divided; `by` names columns
whose values are kept apart, such as `session_id`. Players have a `player_name` where the argument holds names.

Every argument is an answer, a `Table`, a polars frame (a lazy one too), any other Arrow table, or a list of them; needs
polars. A share or a rate is a fraction (0.5, not 50), a rating is points in 100 possessions; what would be divided by 0
is null.

What the service leaves out of a line is 0 where other lines have it. A code that no line has may be 0 or may be
unknown: that is `MissingStat`, which names it. Where it is known to be 0, say so: `box.with_columns(FT=pl.lit(0.0))`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sideline._frames import given, library
from sideline._types import LazyModule
from sideline.errors import SidelineError

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")

__all__ = [
    "MissingStat",
    "effective_field_goal",
    "four_factors",
    "game_state",
    "lineups",
    "minutes",
    "on_off",
    "pace",
    "per_36",
    "plus_minus",
    "possession_count",
    "ratings",
    "shooting",
    "true_shooting",
    "usage",
]


def __dir__() -> list[str]:
    return __all__


PER_36 = ("PTS", "REB", "AST", "FG", "FGA", "FG3", "FT", "FTA", "TO", "STL", "BLK", "FL")
"""The codes of `per_36`, where none are named."""

_LINE = ("team_id", "player_id", "is_team_total")
_BOXES = {"player_stats": (*_LINE, "stat", "value"), "box_score": _LINE}
_POSSESSION = ("session_id", "team_id", "possession")
_FIVES = ("player_ids", "opposing_player_ids", "start_game_clock_s", "end_game_clock_s")
_POSSESSIONS = {"possessions": (*_POSSESSION, *_FIVES)}
_EVENTS = {"possession_events": (*_POSSESSION, "player_id", "possession_type", "details")}

_SUMS = ("possessions", "opponent_possessions", "points", "opponent_points", "seconds")


class MissingStat(SidelineError, ValueError):
    """A measure needs a stat code that none of the rows has: its value would be a guess.

    `stats`: the codes.

    >>> box = client.stats(session_id).to_polars("box_score").drop("FG3")
    >>> try:
    ...     metrics.shooting(box)
    ... except metrics.MissingStat as error:
    ...     error.stats
    ('FG3',)
    """

    stats: tuple[str, ...]

    def __init__(self, measure: str, stats: Iterable[str]) -> None:
        self.stats = tuple(stats)
        self.measure = measure
        codes = ", ".join(self.stats)
        super().__init__(
            f"{measure} needs {codes}, and no row has {'it' if len(self.stats) == 1 else 'them'}: where that means 0, "
            "write the 0 into the frame first"
        )

    def __reduce__(self) -> tuple[type["MissingStat"], tuple[str, tuple[str, ...]]]:
        return type(self), (self.measure, self.stats)


def effective_field_goal() -> "polars.Expr":
    """(FG + 0.5 FG3) / FGA: a three counts as one and a half. A polars expression over the columns of `box_score`.

    An expression cannot see that a code was never sent: `shooting` can.

    >>> box = client.stats(session_id).to_polars("box_score")
    >>> box.select(metrics.effective_field_goal().is_between(0, 1.5).all()).item()
    True
    """
    return _share(_stat("FG") + 0.5 * _stat("FG3"), _stat("FGA"))


def true_shooting(free_throw_weight: float = 0.44) -> "polars.Expr":
    """PTS / (2 (FGA + 0.44 FTA)): a polars expression over the columns of `box_score`.

    Parameters:
        free_throw_weight: what share of free throws ends a chance to score; the stat lines do not say which did.

    >>> box = client.stats(session_id).to_polars("box_score")
    >>> box.select(metrics.true_shooting().is_between(0, 2).all()).item()
    True
    """
    return _share(_stat("PTS"), 2 * (_stat("FGA") + free_throw_weight * _stat("FTA")))


def shooting(box_score: object, *, by: Sequence[str] = (), free_throw_weight: float = 0.44) -> "polars.DataFrame":
    """Of each player, and of each team (player 0): shots, points, `effective_field_goal`, `true_shooting`.

    Columns: `team_id`, `player_id`, `player_name`, FG, FGA, FG3, FTA, PTS, and the two.

    Parameters:
        box_score: `client.stats` or `client.team_game_stats`, or a table `box_score` or `player_stats`.

    >>> metrics.shooting(client.stats(session_id)).columns[-2:]
    ['effective_field_goal', 'true_shooting']
    """
    codes = ("FG", "FGA", "FG3", "FTA", "PTS")
    boxes = _boxes(box_score, "shooting", codes, by)
    sums = _sum(boxes, [*by, "team_id", "player_id"], codes)
    shares = sums.with_columns(
        effective_field_goal=effective_field_goal(), true_shooting=true_shooting(free_throw_weight)
    )
    return _with_player_names(shares, box_score)


def four_factors(box_score: object, possessions: object, *, by: Sequence[str] = ()) -> "polars.DataFrame":
    """Of each team, and of its opponents (`opponent_…`), what wins games.

    - `effective_field_goal`: (FG + 0.5 FG3) / FGA;
    - `turnover_rate`: TO in a possession, counted;
    - `offensive_rebound_rate`: OFFENSIVE_REB / (OFFENSIVE_REB + the opponents' DEFENSIVE_REB);
    - `free_throw_rate`: FT / FGA.

    Parameters:
        box_score: sessions of both teams: `client.stats`, or a table `box_score` or `player_stats`. The teams' own
            lines (player 0) are read: they have what is nobody's, too.
        possessions: `client.possessions` of the same sessions, or their table `possessions`.
        by: columns of the box score.

    Raises `ValueError` where a session has not two teams, each with a line of its own.

    >>> metrics.four_factors(client.stats(session_id), client.possessions(session_id)).columns[:3]
    ['team_id', 'effective_field_goal', 'turnover_rate']
    """
    pl = library("polars", "polars")
    codes = ("FG", "FG3", "FGA", "TO", "OFFENSIVE_REB", "DEFENSIVE_REB", "FT")
    boxes = _boxes(box_score, "the four factors", codes, by)
    if "session_id" not in boxes.columns or boxes["session_id"].null_count():
        raise ValueError("box_score has lines of no session, and possessions are of sessions: ask for client.stats")
    played = given("possessions", possessions, {"possessions": _POSSESSION})["possessions"]
    counts = _once(played).group_by("session_id", "team_id").agg(n=pl.len())
    lines = _sum(boxes.filter("is_team_total"), [*dict.fromkeys((*by, "session_id", "team_id"))], codes)
    lines = lines.join(counts, on=["session_id", "team_id"], how="left")
    others = lines.select("session_id", other="team_id", **{f"opponent_{code}": code for code in (*codes, "n")})
    pairs = lines.join(others, on="session_id").filter(pl.col("team_id") != pl.col("other"))
    alone = boxes.join(pairs, on=["session_id", "team_id"], how="anti")["session_id"]
    crowded = pairs.filter(pl.struct("session_id", "team_id").is_duplicated())["session_id"]
    for session in (*alone, *crowded):
        raise ValueError(f"box_score has not the own lines (player 0) of two teams in session {session}")
    for session in lines.filter(pl.col("n").is_null())["session_id"]:
        raise ValueError(f"possessions has none of a team of the box score in session {session}")
    sums = _sum(pairs, [*by, "team_id"], [whose + code for whose in ("", "opponent_") for code in (*codes, "n")])

    def factors(own: str, other: str) -> "Iterator[polars.Expr]":
        of = {code: pl.col(own + code) for code in (*codes, "n")}
        rebounds = of["OFFENSIVE_REB"] + pl.col(f"{other}DEFENSIVE_REB")
        yield _share(of["FG"] + 0.5 * of["FG3"], of["FGA"]).alias(f"{own}effective_field_goal")
        yield _share(of["TO"], of["n"]).alias(f"{own}turnover_rate")
        yield _share(of["OFFENSIVE_REB"], rebounds).alias(f"{own}offensive_rebound_rate")
        yield _share(of["FT"], of["FGA"]).alias(f"{own}free_throw_rate")

    return sums.select(*by, "team_id", *factors("", "opponent_"), *factors("opponent_", ""))


def ratings(possessions: object, possession_events: object = None, *, by: Sequence[str] = ()) -> "polars.DataFrame":
    """Of each team: possessions, points and seconds of play, and points in 100 possessions, its own and its opponents'.

    Columns: `team_id`, `possessions`, `opponent_possessions`, `points`, `opponent_points`, `seconds`,
    `offensive_rating`, `defensive_rating`, `net_rating`. `seconds` is the game clock's time that possessions took.

    Parameters:
        possessions: `client.possessions`; or the table `possessions`, with
        possession_events: the table `possession_events` of the same sessions.
        by: columns of `possessions`.

    Points are counted from the events: a make scores 1, 2 or 3 for the side of the player who made it. Raises
    `MissingStat` where no event tells a make, and `ValueError` where a session has not possessions of two teams (a
    practice), or comes twice.

    >>> table = metrics.ratings(client.possessions(session_id))
    >>> table["points"].sum() == table["opponent_points"].sum()
    True
    """
    pl = library("polars", "polars")
    sides = _sides("a rating", possessions, possession_events, by)
    return sides.group_by(*by, "team_id").agg(pl.col(_SUMS).sum()).sort(*by, "team_id").with_columns(_ratings())


def plus_minus(possessions: object, possession_events: object = None, *, by: Sequence[str] = ()) -> "polars.DataFrame":
    """Of each player what happened while on court: the columns of `ratings` with `player_id`, and `plus_minus`.

    `plus_minus` is points less the opponents' points. A player whom a possession does not name is null. Parameters and
    errors are those of `ratings`.

    >>> table = metrics.plus_minus(client.possessions(session_id))
    >>> table["plus_minus"].sum()  # five players a side have what the other five have not
    0
    """
    players = _units(_sides("plus-minus", possessions, possession_events, by), [*by, "team_id"], 1)
    measured = players.sort(*by, "team_id", "player_id").with_columns(*_ratings(), _plus_minus())
    return _with_player_names(measured, possessions)


def on_off(possessions: object, possession_events: object = None, *, by: Sequence[str] = ()) -> "polars.DataFrame":
    """Of each player the team's ratings with the player on court (`on_…`) and off it (`off_…`), and the difference.

    Columns: `team_id`, `player_id`; with `on_` and `off_` before them `possessions`, `opponent_possessions`, `points`,
    `opponent_points`, `seconds`, `offensive_rating`, `defensive_rating`, `net_rating`; then `net_rating_difference`, on
    less off. Off is all else that the team played in what was given: leave out the games that a player missed, or not,
    as the question is. Parameters and errors are those of `ratings`.

    >>> table = metrics.on_off(client.possessions(session_id))
    >>> len(set(table["on_points"] + table["off_points"])) <= 2  # on and off are the team's, and there are two
    True
    """
    pl = library("polars", "polars")
    team, player = [*by, "team_id"], [*by, "team_id", "player_id"]
    sides = _sides("on and off", possessions, possession_events, by)
    whole = sides.group_by(team).agg(pl.col(_SUMS).sum())
    on = _units(sides, team, 1)
    off = on.join(whole, on=team, suffix="_whole").select(*player, *(pl.col(f"{n}_whole") - pl.col(n) for n in _SUMS))
    off = off.rename({f"{name}_whole": name for name in _SUMS})
    halves = [
        half.with_columns(_ratings()).select(*player, pl.exclude(player).name.prefix(prefix))
        for prefix, half in (("on_", on), ("off_", off))
    ]
    # Where nobody told who played there is no off: null joins with nothing.
    both = halves[0].join(halves[1], on=player).sort(player)
    difference = pl.col("on_net_rating") - pl.col("off_net_rating")
    return _with_player_names(both.with_columns(net_rating_difference=difference), possessions)


def lineups(
    possessions: object, possession_events: object = None, *, size: int = 5, by: Sequence[str] = ()
) -> "polars.DataFrame":
    """Of each five, or each four, three or two of a five, what happened while they were on court together.

    Columns: those of `ratings`, with `lineup` (the sorted player ids joined by `-`, as `lineup_id`) and `player_names`
    after `team_id`, and `plus_minus`; most possessions first. Where a possession does not name as many, or names more
    than five, the lineup is null. Parameters and errors are those of `ratings`, and

        size: how many players: 5, 4, 3 or 2.

    >>> possessions = client.possessions(session_id)
    >>> fives, pairs = metrics.lineups(possessions), metrics.lineups(possessions, size=2)
    >>> pairs["possessions"].sum() == 10 * fives["possessions"].sum()  # there are ten pairs in a five
    True
    """
    pl = library("polars", "polars")
    if size not in (2, 3, 4, 5):
        raise ValueError(f"a lineup is of 5, 4, 3 or 2 players, not {size!r}")
    keys = [*by, "team_id"]
    units = _units(_sides("a lineup", possessions, possession_events, by), keys, size)
    most_first = -(pl.col("possessions") + pl.col("opponent_possessions"))
    measured = units.sort(*keys, most_first, "lineup").with_columns(*_ratings(), _plus_minus())
    return _with_lineup_names(measured, possessions)


def possession_count(possessions: object, *, by: Sequence[str] = ()) -> "polars.DataFrame":
    """Of each team: `possessions` and `opponent_possessions`, as the service lists them.

    They are counted, not estimated from a box score (as FGA + 0.44 FTA - ORB + TO is).

    Parameters:
        possessions: `client.possessions`, or the table `possessions`.
        by: columns of `possessions`.

    Raises `ValueError` where a session has not possessions of two teams, or comes twice.

    >>> table = metrics.possession_count(client.possessions(session_id))
    >>> table["possessions"].sum() == table["opponent_possessions"].sum()
    True
    """
    pl = library("polars", "polars")
    teams = _played(possessions, by).group_by(*by, "team_id").agg(pl.col("possessions", "opponent_possessions").sum())
    return teams.sort(*by, "team_id")


def minutes(possessions: object, *, by: Sequence[str] = ()) -> "polars.DataFrame":
    """Of each player: `minutes` on court, by the game clock of the possessions that name the player.

    It is the time that possessions of either team took; what lies between two possessions is nobody's. A player whom a
    possession does not name is null. Parameters and errors are those of `possession_count`.

    >>> table = metrics.minutes(client.possessions(session_id))
    >>> table["minutes"].max() <= 20
    True
    """
    pl = library("polars", "polars")
    players = _units(_played(possessions, by), [*by, "team_id"], 1).sort(*by, "team_id", "player_id")
    timed = players.select(*by, "team_id", "player_id", minutes=pl.col("seconds") / 60)
    return _with_player_names(timed, possessions)


def pace(possessions: object, *, by: Sequence[str] = (), per: float = 40.0) -> "polars.DataFrame":
    """Of each team: `pace`, the possessions of a team in `per` minutes, the mean of its own and its opponents'.

    As basketball-reference.com defines it, per (possessions + opponent_possessions) / (2 minutes), of counted
    possessions and the time that they took by the game clock.

    Parameters:
        per: minutes of a game: 40 in college and international games, 48 in professional ones.

    The other parameters and errors are those of `possession_count`.

    >>> metrics.pace(client.possessions(session_id))["pace"].n_unique()  # both teams played the same game
    1
    """
    pl = library("polars", "polars")
    sums = ("possessions", "opponent_possessions", "seconds")
    teams = _played(possessions, by).group_by(*by, "team_id").agg(pl.col(sums).sum()).sort(*by, "team_id")
    both = pl.col("possessions") + pl.col("opponent_possessions")
    return teams.with_columns(pace=_share(per * 60 * both, 2 * pl.col("seconds")))


def per_36(
    box_score: object, possessions: object, *, stats: Sequence[str] = PER_36, by: Sequence[str] = ()
) -> "polars.DataFrame":
    """Of each player: `minutes`, and each stat code as it would be in 36 minutes: its sum times 36 / `minutes`.

    Parameters:
        box_score: `client.stats`, or a table `box_score` or `player_stats`.
        possessions: `client.possessions` of the same sessions, or their table: it tells the minutes (see `minutes`).
        stats: the codes. One of `PER_36` that no line has is null; of those named here it is `MissingStat`.
        by: columns of both.

    >>> table = metrics.per_36(client.stats(session_id), client.possessions(session_id), stats=["PTS"])
    >>> table.columns
    ['team_id', 'player_id', 'player_name', 'minutes', 'PTS']
    """
    pl = library("polars", "polars")
    boxes = _boxes(box_score, "per 36", () if stats is PER_36 else stats, by)
    known = [code for code in stats if code in boxes.columns and not boxes[code].is_null().all()]
    keys = [*by, "team_id", "player_id"]
    lines = _sum(boxes.filter(~pl.col("is_team_total")), keys, known)
    timed = lines.join(minutes(possessions, by=by).drop("player_name"), on=keys, how="left")
    unknown = pl.lit(None, pl.Float64)
    each = [(_share(36 * pl.col(code), pl.col("minutes")) if code in known else unknown).alias(code) for code in stats]
    return _with_player_names(timed.select(*keys, "minutes", *each).sort(keys), box_score, possessions)


def usage(
    box_score: object, possessions: object, *, by: Sequence[str] = (), free_throw_weight: float = 0.44
) -> "polars.DataFrame":
    """Of each player: `minutes`, and what share of the team's play went through the player while on court.

    With MP the player's minutes and T the team's (those of all its players) / 5, as basketball-reference.com defines
    them, as fractions:

    - `usage`: (FGA + 0.44 FTA + TO) T / (MP (team FGA + 0.44 team FTA + team TO));
    - `assist_share`: AST / (MP / T team FG - FG), the team mates' field goals that the player assisted;
    - `rebound_share`: REB T / (MP (team REB + opponents' REB)), null where the opponents' lines are missing.

    Parameters:
        box_score: `client.stats`, or a table `box_score` or `player_stats`; the teams' own lines (player 0) are read.
        possessions: `client.possessions` of the same sessions, or their table: it tells the minutes (see `minutes`).
        by: columns of both.
        free_throw_weight: what share of free throws ends a possession.

    >>> table = metrics.usage(client.stats(session_id), client.possessions(session_id))
    >>> table.columns[-4:]
    ['minutes', 'usage', 'assist_share', 'rebound_share']
    """
    pl = library("polars", "polars")
    codes = ("FG", "FGA", "FTA", "TO", "AST", "REB")
    boxes = _boxes(box_score, "usage", codes, by)
    keys = [*by, "team_id"]
    timed = minutes(possessions, by=by).drop("player_name")
    lines = _sum(boxes.filter(~pl.col("is_team_total")), [*keys, "player_id"], codes).join(
        timed, on=[*keys, "player_id"], how="left"
    )
    totals = _sum(boxes.filter("is_team_total"), keys, codes)
    opponents = pl.col("REB").sum().over(by) - pl.col("REB") if by else pl.col("REB").sum() - pl.col("REB")
    teams = totals.with_columns(other_REB=pl.when(pl.len().over(by or pl.lit(1)) == 2).then(opponents))
    fifth = timed.group_by(keys).agg(fifth=pl.col("minutes").sum() / 5)
    whole = teams.join(fifth, on=keys, how="left").rename({code: f"team_{code}" for code in codes})
    both = lines.join(whole, on=keys, how="left")

    def ends(prefix: str) -> Any:
        return pl.col(f"{prefix}FGA") + free_throw_weight * pl.col(f"{prefix}FTA") + pl.col(f"{prefix}TO")

    played, of_team = pl.col("minutes"), pl.col("fifth")
    mates = played / of_team * pl.col("team_FG") - pl.col("FG")
    rebounds = played * (pl.col("team_REB") + pl.col("other_REB"))
    shares = both.select(
        *keys,
        "player_id",
        "minutes",
        usage=_share(ends("") * of_team, played * ends("team_")),
        assist_share=_share(pl.col("AST"), mates),
        rebound_share=_share(pl.col("REB") * of_team, rebounds),
    )
    return _with_player_names(shares.sort(*keys, "player_id"), box_score, possessions)


def game_state(
    possessions: object, possession_events: object = None, *, period_minutes: float | None = None
) -> "polars.DataFrame":
    """Of each possession the state in which it began: seconds left and running margin, as win probability needs them.

    Columns: `game_id`, `session_id`, `team_id`, `possession`, `period`, `seconds_left` (of the game, in overtime of the
    overtime), `margin` (points less the opponents' before it), `points` and `opponent_points` (in it); in the order of
    play.

    Parameters:
        possessions: `client.possessions` of all sessions of a game, or of games whose `game_id` is filled; or the table
            `possessions`, with
        possession_events: the table `possession_events` of the same sessions.
        period_minutes: length of a period of regular time; default: 20 of halves; of quarters 10, or 12 where a clock
            of the game shows more than 10 minutes.

    Raises what `ratings` does, and `ValueError` for a period that is neither a half (H1), a quarter (Q1) nor an
    overtime (OT, OT1), and where two sessions without a `game_id` have the same period.

    >>> states = metrics.game_state(client.possessions(client.game(game_id)))
    >>> states["margin"][0], states["seconds_left"][0] > 2350
    (0, True)
    """
    pl = library("polars", "polars")
    played = _scored("the state of a game", possessions, possession_events, ())
    period = pl.col("period").cast(pl.String).str.to_uppercase()
    played = played.with_columns(
        kind=period.str.extract(r"^(H|Q|OT)\d*$"), number=period.str.extract(r"(\d+)$").cast(pl.Int64).fill_null(1)
    )
    for wrong in played.filter(pl.col("kind").is_null())["period"]:
        raise ValueError(f"the period {wrong!r} is no half (H1), quarter (Q1) or overtime (OT1)")
    game = pl.col("game_id").fill_null("")
    sessions = played.select(game.alias("game"), "period", "session_id").unique().filter(pl.col("game") == "")
    if sessions.select("period").is_duplicated().any():
        raise ValueError(
            "two sessions have the same period and no game_id: client.possessions(client.game(id)) fills it"
        )
    clock = pl.col("start_game_clock_s")
    if period_minutes is None:
        is_long = (pl.when(pl.col("kind") == "Q").then(clock).max() > 600).over(game)
        length = pl.when(pl.col("kind") == "H").then(1200.0).when(is_long.fill_null(False)).then(720.0).otherwise(600.0)
    else:
        length = pl.lit(60.0 * period_minutes)
    later = pl.when(pl.col("kind") == "OT").then(0).when(pl.col("kind") == "H").then(2 - pl.col("number"))
    later = later.otherwise(4 - pl.col("number"))
    played = played.with_columns(
        seconds_left=clock + later * length,
        order=pl.col("number") + pl.when(pl.col("kind") == "OT").then(10).otherwise(0),
    ).sort(game, "order", -clock, "start_timestamp", nulls_last=True, maintain_order=True)
    # Seen by the team with the lower id; turned for the other.
    first = pl.col("team_id").min().over(game) == pl.col("team_id")
    sign = pl.when(first).then(1).otherwise(-1)
    gained = (sign * (pl.col("own") - pl.col("other"))).alias("gained")
    played = played.with_columns(gained, sign=sign).with_columns(
        before=(pl.col("gained").cum_sum() - pl.col("gained")).over(game)
    )
    return played.select(
        "game_id",
        "session_id",
        "team_id",
        "possession",
        pl.col("period").cast(pl.String),
        "seconds_left",
        margin=pl.col("sign") * pl.col("before"),
        points="own",
        opponent_points="other",
    )


# What the measures are made of.


def _boxes(source: object, measure: str, codes: Sequence[str], by: Sequence[str]) -> "polars.DataFrame":
    """Box scores, a column for each code."""
    frames = given("box_score", source, _BOXES)
    if "box_score" in frames:
        boxes = frames["box_score"]
    else:
        lines = frames["player_stats"]
        keys = [name for name in lines.columns if name not in ("stat", "value")]
        boxes = lines.pivot("stat", index=keys, values="value")
    _kept(boxes, "box_score", by)
    missing = [code for code in codes if code not in boxes.columns or boxes[code].is_null().all()]
    if missing:
        raise MissingStat(measure, missing)
    return boxes


def _kept(frame: "polars.DataFrame", argument: str, by: Sequence[str]) -> None:
    if isinstance(by, str):
        raise TypeError(f"by is a list of columns: [{by!r}]")
    for column in by:
        if column not in frame.columns or frame[column].null_count():
            raise ValueError(f"{argument} cannot be kept apart by {column}: it is missing, or null in some rows")


def _once(possessions: "polars.DataFrame") -> "polars.DataFrame":
    for session in possessions.filter(possessions.select(_POSSESSION).is_duplicated())["session_id"]:
        raise ValueError(f"possessions has session {session} twice")
    return possessions


def _sides(measure: str, source: object, event_source: object, by: Sequence[str]) -> "polars.DataFrame":
    """Each possession twice: as the team that had it saw it, and as the other did."""
    return _both(_scored(measure, source, event_source, by), by)


def _played(source: object, by: Sequence[str]) -> "polars.DataFrame":
    """As `_sides`, of possessions alone: their points are null."""
    pl = library("polars", "polars")
    possessions = given("possessions", source, _POSSESSIONS)["possessions"]
    _kept(possessions, "possessions", by)
    points = {name: pl.lit(None, pl.Int64) for name in ("own", "other")}
    return _both(_of_two(_once(possessions).with_columns(**points)), by)


def _scored(measure: str, source: object, event_source: object, by: Sequence[str]) -> "polars.DataFrame":
    """Each possession with its points, `own` and `other`."""
    pl = library("polars", "polars")
    wanted: dict[str, tuple[str, ...]] = {**_POSSESSIONS, **({} if event_source is not None else _EVENTS)}
    frames = given("possessions", source, wanted)
    if event_source is not None:
        frames |= given("possession_events", event_source, _EVENTS)
    if len(frames) < 2:
        raise ValueError("possessions and possession_events are both needed: give the answer itself, or both tables")
    _kept(frames["possessions"], "possessions", by)
    possessions, events = _once(frames["possessions"]), _makes(frames["possession_events"], measure)
    for session in events.join(possessions, on=_POSSESSION, how="anti")["session_id"]:
        raise ValueError(f"possession_events has a possession of session {session} that possessions has not")
    fives = possessions.select(*_POSSESSION, "player_ids", "opposing_player_ids")
    own, other = (pl.col(ids).list.contains(pl.col("player_id")).fill_null(False) for ids in _FIVES[:2])
    against = other & ~own
    points = events.join(fives, on=_POSSESSION).group_by(_POSSESSION)
    scored = points.agg(own=pl.col("worth").filter(~against).sum(), other=pl.col("worth").filter(against).sum())
    played = possessions.join(scored, on=_POSSESSION, how="left")
    return _of_two(played.with_columns(pl.col("own", "other").fill_null(0)))


def _of_two(possessions: "polars.DataFrame") -> "polars.DataFrame":
    """With the `opponent` of each, in sessions of two teams."""
    pl = library("polars", "polars")
    teams = possessions.group_by("session_id").agg(pl.col("team_id").unique().alias("teams"))
    for session in teams.filter(pl.col("teams").list.len() != 2)["session_id"]:
        raise ValueError(f"session {session} has not possessions of two teams")
    opponent = pl.col("teams").list.sum() - pl.col("team_id")
    found: polars.DataFrame = possessions.join(teams, on="session_id", maintain_order="left")
    return found.with_columns(opponent=opponent)


def _both(played: "polars.DataFrame", by: Sequence[str]) -> "polars.DataFrame":
    pl = library("polars", "polars")
    played = played.with_columns(
        seconds=pl.col("start_game_clock_s") - pl.col("end_game_clock_s"),
        one=pl.lit(1, pl.Int64),
        none=pl.lit(0, pl.Int64),
    )
    views = [("team_id", "player_ids", "one", "none", "own", "other")]
    views.append(("opponent", "opposing_player_ids", "none", "one", "other", "own"))
    names = ("team_id", "ids", *_SUMS[:-1])
    sides: polars.DataFrame = pl.concat(
        [played.select(*by, **dict(zip(names, view, strict=True)), seconds="seconds") for view in views]
    )
    return sides


def _makes(events: "polars.DataFrame", measure: str) -> "polars.DataFrame":
    """The events that scored, and what each is worth."""
    pl = library("polars", "polars")
    codes = pl.concat_list(pl.col("possession_type").cast(pl.String), pl.col("details").fill_null([]))
    events = events.with_columns(codes=codes)
    sent = set(events["codes"].explode().drop_nulls())
    unknown = []
    if "PTS" not in sent:
        unknown += ["FG"] if "FGA" in sent and not sent & {"FG", "FG2", "FG3"} else []
        unknown += ["FT"] if "FTA" in sent and "FT" not in sent else []
    if unknown:
        raise MissingStat(measure, unknown)

    def has(*of: str) -> Any:
        return pl.any_horizontal(pl.col("codes").list.contains(code) for code in of)

    beyond = pl.col("is_3point").fill_null(False) if "is_3point" in events.columns else pl.lit(False)
    worth = pl.when(has("FT", "FTA")).then(1).when(has("FG3", "FGA3") | beyond).then(3).otherwise(2)
    return events.filter(has("PTS", "FG", "FG2", "FG3", "FT")).with_columns(worth=worth.cast(pl.Int64))


def _units(sides: "polars.DataFrame", keys: list[str], size: int) -> "polars.DataFrame":
    """Sums of each `size` players that were on court together: `lineup`, or `player_id` for one.

    Where fewer are told, or more than five, nobody knows: those are together, with null for the players.
    """
    pl = library("polars", "polars")
    five = pl.col("ids").list.unique().list.sort().cast(pl.List(pl.String)).list.join("-").fill_null("")
    fives = sides.with_columns(five=five).group_by(*keys, "five").agg(pl.col(_SUMS).sum())
    parts: list[tuple[str, str | None]] = []
    for ids in fives["five"].unique():
        players = ids.split("-") if ids else []
        known = size <= len(players) <= 5
        parts.extend((ids, "-".join(part)) for part in combinations(players, size) if known)
        if not known:
            parts.append((ids, None))
    name, kind = ("player_id", pl.Int64) if size == 1 else ("lineup", pl.String)
    split = pl.DataFrame(parts, schema={"five": pl.String, name: pl.String}, orient="row")
    split = split.with_columns(pl.col(name).cast(kind))
    return fives.join(split, on="five").group_by(*keys, name).agg(pl.col(_SUMS).sum())


def _player_names(*sources: object) -> "polars.DataFrame":
    """`player_id` and `player_name` of whatever of the arguments holds names."""
    pl = library("polars", "polars")
    columns = ["player_id", "first_name", "last_name"]
    found = [pl.DataFrame(schema={"player_id": pl.Int64, "first_name": pl.String, "last_name": pl.String})]
    waiting = list(sources)
    while waiting:
        source: Any = waiting.pop(0)
        if isinstance(source, list | tuple):
            waiting[:0] = source
        elif isinstance(tables := getattr(source, "tables", None), list):
            named = [name for name in ("possession_players", "player_stats") if name in tables]
            found += [pl.DataFrame(source.table(name, columns=columns)) for name in named[:1]]
        elif source is not None:
            frame = source.collect() if isinstance(source, pl.LazyFrame) else pl.DataFrame(source)
            found += [frame.select(columns)] if set(columns) <= set(frame.columns) else []
    name = pl.concat_str("first_name", "last_name", separator=" ", ignore_nulls=True)
    people: polars.DataFrame = pl.concat([frame.cast(dict(found[0].schema)) for frame in found]).select(
        "player_id", player_name=name
    )
    return people.filter(pl.col("player_name") != "").unique("player_id", keep="first", maintain_order=True)


def _with_player_names(table: "polars.DataFrame", *sources: object) -> "polars.DataFrame":
    """With `player_name` after `player_id`."""
    named = table.join(_player_names(*sources), on="player_id", how="left", maintain_order="left")
    place = table.columns.index("player_id") + 1
    return named.select(*table.columns[:place], "player_name", *table.columns[place:])


def _with_lineup_names(table: "polars.DataFrame", *sources: object) -> "polars.DataFrame":
    """With `player_names`, a list, after `lineup`."""
    pl = library("polars", "polars")
    names = dict(_player_names(*sources).iter_rows())
    lineups = [None if ids is None else [names.get(int(one)) for one in ids.split("-")] for ids in table["lineup"]]
    column = pl.Series("player_names", lineups, pl.List(pl.String))
    return table.insert_column(table.columns.index("lineup") + 1, column)


def _ratings() -> "list[polars.Expr]":
    pl = library("polars", "polars")
    offence = 100 * _share(pl.col("points"), pl.col("possessions"))
    defence = 100 * _share(pl.col("opponent_points"), pl.col("opponent_possessions"))
    return [
        offence.alias("offensive_rating"),
        defence.alias("defensive_rating"),
        (offence - defence).alias("net_rating"),
    ]


def _plus_minus() -> "polars.Expr":
    pl = library("polars", "polars")
    less: polars.Expr = pl.col("points") - pl.col("opponent_points")
    return less.alias("plus_minus")


def _sum(frame: "polars.DataFrame", keys: Sequence[str], columns: Sequence[str]) -> "polars.DataFrame":
    pl = library("polars", "polars")
    return frame.group_by(keys).agg(pl.col(columns).sum()).sort(keys)


def _stat(code: str) -> "polars.Expr":
    """A code of a line, 0 where the line leaves it out."""
    counted: polars.Expr = library("polars", "polars").col(code)
    return counted.fill_null(0)


def _share(part: "polars.Expr", whole: "polars.Expr") -> "polars.Expr":
    pl = library("polars", "polars")
    share: polars.Expr = pl.when(whole > 0).then(part / whole)
    return share
