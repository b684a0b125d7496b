"""The catalogue of rules: names, meanings, tables and tolerances, and the functions that check them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from . import places, positions, presence, sums, timing

if TYPE_CHECKING:
    from .tables import Rows, Tables

_ROWS = ("player_stats", "stat_events", "possessions", "shots")


class Rule(NamedTuple):
    """One rule of an audit.

    >>> sideline.audit.rules()[0].rule, sideline.audit.rules()[0].tables
    ('box_score_is_sum_of_events', ('player_stats', 'stat_events'))
    """

    rule: str
    """The name, as in the column `rule` of `violations`."""
    meaning: str
    """What must hold, and when the rule does not apply."""
    tables: tuple[str, ...]
    """The required tables. `box_score` can replace `player_stats`."""
    any_of: tuple[str, ...]
    """Further tables of which it needs at least one; it checks those that were passed."""
    tolerance: float | None
    """The largest allowed difference, or distance outside a range; `None` if values are compared exactly."""
    unit: str | None
    """The unit of the tolerance: `ms`, `s`, `mm`, `m`, or `count` for statistics and positions."""


Check: TypeAlias = "Callable[[Tables], Rows]"


def _rule(
    check: Check,
    meaning: str,
    tables: tuple[str, ...],
    any_of: tuple[str, ...] = (),
    *,
    tolerance: float | None = None,
    unit: str | None = None,
) -> tuple[Rule, Check]:
    """Return the rule of a check, whose function has its name."""
    return Rule(check.__name__, meaning, tables, any_of, tolerance, unit), check


_CATALOGUE = (
    _rule(
        sums.box_score_is_sum_of_events,
        "Each counted stat of a player, and of a team, is the sum of its stat events.",
        ("player_stats", "stat_events"),
        tolerance=1e-6,
        unit="count",
    ),
    _rule(
        sums.team_is_sum_of_players,
        "Each counted stat of a team's own row (player 0) is the sum of its players'.",
        ("player_stats",),
        tolerance=1e-6,
        unit="count",
    ),
    _rule(
        presence.rows_occur_once,
        "A session has one line for each player of a team, and no possession or shot twice. Other rules count a"
        " repeated line once.",
        (),
        ("player_stats", "possessions", "shots"),
    ),
    _rule(
        sums.points_from_makes,
        "PTS = 2 FG2 + 3 FG3 + FT in every row. If the service does not send FG2, it is FG - FG3; if it does not"
        " send FG3, the rule does not apply.",
        ("player_stats",),
        tolerance=1e-6,
        unit="count",
    ),
    _rule(
        sums.possessions_match_events,
        "A player has the same counted stats in the possessions and in the stat events. PTS is not compared,"
        " because possessions list makes without their value. A code that no possession has is compared only if it"
        " is documented for possessions: FGA, FGA3, REB, DEFENSIVE_REB, FGA_OTD, FGA3_OTD.",
        ("possession_events", "stat_events"),
        tolerance=1e-6,
        unit="count",
    ),
    _rule(
        sums.shots_match_events,
        "A player's shots, makes, threes and made threes are as many as FGA, FG, FGA3 and FG3 in the stat events.",
        ("shots", "stat_events"),
        tolerance=1e-6,
        unit="count",
    ),
    _rule(
        sums.plays_match_events,
        "A player's counted stats are the same in the plays and in the stat events, in sessions that have both. A"
        " code that no play has is not compared.",
        ("play_by_play", "stat_events"),
        tolerance=1e-6,
        unit="count",
    ),
    _rule(
        sums.turnovers_match_events,
        "A possession's attribute `turnover` is the number of TO among its events, or 1 if there are several. A"
        " team's turnover may be only among the stat events, within 5 s of the possession. A session without any"
        " TO is not compared.",
        ("possessions", "possession_events"),
        tolerance=5,
        unit="s",
    ),
    _rule(
        places.five_a_side,
        "A possession has five different players on each side, and nobody on both.",
        ("possessions",),
    ),
    _rule(
        timing.events_inside_possession,
        "An event of a possession happens between the start and the end of the possession, within 5 s.",
        ("possessions", "possession_events"),
        tolerance=timing.POSSESSION_TOLERANCE_S,
        unit="s",
    ),
    _rule(
        timing.possessions_follow_each_other,
        "No possession is missing: if at least nine of ten possessions of a session start at the game clock at"
        " which the one before ended, all do, and the last one of a finished period ends at 0:00. Services that"
        " leave time between possessions are not checked, nor is a last one that ends above 36 s.",
        ("possessions",),
        tolerance=timing.ADJACENT_TOLERANCE_S,
        unit="s",
    ),
    _rule(
        timing.clocks_never_rise,
        "Inside a period the game clock does not rise from one moment to the next. Clocks out of range, and moments"
        " outside their session or possession, are covered by other rules.",
        (),
        ("stat_events", "shots", "possessions"),
        tolerance=1e-6,
        unit="s",
    ),
    _rule(
        timing.game_clock_in_range,
        "A game clock shows at most 25 minutes in a game (no period is longer than 20), and at most 60 elsewhere.",
        (),
        ("stat_events", "shots", "possessions"),
        tolerance=300,
        unit="s",
    ),
    _rule(
        timing.shot_clock_in_range,
        "A shot clock shows at most 36 s: the longest in use is 35. Practices and football are not checked.",
        (),
        ("stat_events", "shots", "possession_events"),
        tolerance=1,
        unit="s",
    ),
    _rule(
        timing.sessions_end_after_start,
        "A session does not end before it starts. One without duration is not a violation.",
        ("sessions",),
        tolerance=0,
        unit="ms",
    ),
    _rule(
        timing.happens_inside_session,
        "Stat events, shots and possessions happen between the start and the end of their session, within 5"
        " minutes. An unknown end is not checked.",
        ("sessions",),
        ("stat_events", "shots", "possessions"),
        tolerance=timing.SESSION_TOLERANCE_S,
        unit="s",
    ),
    _rule(
        timing.periods_in_order,
        "The sessions of a game's regular time have its periods in order, and the rows of one session have one"
        " period. Only H1, H2 and Q1 to Q4 are compared; other labels, and overtime, are not checked.",
        ("sessions", "events"),
        ("stat_events", "shots", "possessions"),
    ),
    _rule(
        timing.windows_touch,
        "A session's location windows follow each other without a hole and without an overlap.",
        ("location_windows",),
        tolerance=0,
        unit="ms",
    ),
    _rule(
        timing.windows_cover,
        "A session's location windows reach from its start to its end.",
        ("location_windows", "sessions"),
        tolerance=0,
        unit="ms",
    ),
    _rule(
        places.shot_frames_agree,
        "A shot's position from the hoop agrees with that on the court: -sign(hoop_y) * (player - hoop), to 1 mm.",
        ("shots",),
        tolerance=places.FRAME_TOLERANCE_MM,
        unit="mm",
    ),
    _rule(
        places.shots_on_court,
        "A shooter is on the court or at most 5 m outside it. The hoop that the service sent with the shot gives"
        " the court's length. Football is not checked.",
        ("shots",),
        tolerance=places.MAX_OFF_COURT_MM,
        unit="mm",
    ),
    _rule(
        places.shot_values_match_distance,
        "A three is taken at least 5.52 m from the hoop that the service sent, a two at most 7.74 m: half a metre"
        " beyond the nearest (6.02 m) and the farthest (7.24 m) three-point lines in use. Football is not checked.",
        (),
        ("shots", "possession_events", "stat_events"),
        tolerance=places.LINE_TOLERANCE_MM,
        unit="mm",
    ),
    _rule(
        presence.players_are_on_a_roster,
        "A player with rows is on one of the rosters, if the roster of the player's team was passed. Only the"
        " rosters of games list players who left: a roster requested without a game is compared with later"
        " sessions.",
        ("players",),
        _ROWS,
    ),
    _rule(
        presence.players_have_one_team,
        "All rows of a player in a session are of one team. Practices are not checked.",
        (),
        _ROWS,
    ),
    _rule(
        presence.teams_of_a_game_play,
        "Both teams that a game's event names have players in its sessions, if any two teams have.",
        ("sessions", "events"),
        _ROWS,
    ),
    _rule(
        presence.sessions_are_listed,
        "A session that has rows is a session of an event. All events that concern the rows must be in `game`.",
        ("sessions",),
        _ROWS,
    ),
    _rule(
        presence.sessions_have_rows,
        "A session of a game that is over, and lasted more than 5 minutes, has rows in one of the tables. It is"
        " not applied if coverage says why there are none, or, without coverage, if the responses are of a"
        " single session.",
        ("sessions",),
        _ROWS,
        tolerance=presence.MIN_SESSION_WITH_ROWS_S,
        unit="s",
    ),
    _rule(
        presence.games_have_all_sessions,
        "A game of halves has two sessions and one of quarters has four, if its sessions leave more than 10 minutes"
        " in a row between its start and its end uncovered. Games that are not over, or that have a session"
        " withdrawn by coverage, are not checked.",
        ("sessions", "events"),
        tolerance=presence.MAX_UNCOVERED_S,
        unit="s",
    ),
    _rule(
        presence.both_teams_have_possessions,
        "A session of a game with at least ten possessions has some of two teams.",
        ("possessions",),
    ),
    _rule(
        presence.withdrawn_sessions_have_no_rows,
        "A session that coverage calls withdrawn has no rows in the table of that operation.",
        ("coverage",),
        _ROWS,
    ),
    _rule(
        positions.shooter_is_at_the_shot,
        "The shooter's position at a shot is where the shot was taken.",
        ("shots", "locations"),
        tolerance=positions.THRESHOLDS["shooter_is_at_the_shot"],
        unit="m",
    ),
    _rule(
        positions.named_defender_is_near,
        "The defender that the service names at a shot stands hardly farther from the shooter than the nearest"
        " opponent. Of several, the nearest is compared. Shots whose nearest opponent is unknown are not checked.",
        ("shots", "locations"),
        tolerance=positions.THRESHOLDS["named_defender_is_near"],
        unit="m",
    ),
    _rule(
        positions.ball_is_with_its_player,
        "At a shot, or in a frame within two standard errors of its time, the ball is near the shooter. Where the"
        " ball has no position, nothing is checked.",
        ("shots", "locations"),
        tolerance=positions.THRESHOLDS["ball_is_with_its_player"],
        unit="m",
    ),
    _rule(
        positions.no_teleport,
        "No position of a player needs more than 12 m/s. The threshold is the number of them that is accepted.",
        ("locations",),
        tolerance=positions.THRESHOLDS["no_teleport"],
        unit="count",
    ),
)

CHECKS: Mapping[Rule, Check] = dict(_CATALOGUE)
