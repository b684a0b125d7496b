"""The catalogue of rules: names, meanings, tables and tolerances, and the functions that check them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sideline._audit import places, presence, sums, timing

if TYPE_CHECKING:
    from sideline._audit.tables import Rows, Tables

_ROWS = ("player_stats", "stat_events", "possessions", "shots")


class Rule(NamedTuple):
    """One rule of an audit.

    >>> sideline.audit.rules()[0].rule, sideline.audit.rules()[0].tables
    ('box_score_is_sum_of_events', ('player_stats', 'stat_events'))
    """

    rule: str
    """Its name, as in the column `rule` of `violations`."""
    meaning: str
    """What must hold, and when the rule is silent."""
    tables: tuple[str, ...]
    """The tables that it needs, all of them. `box_score` does as well as `player_stats`."""
    any_of: tuple[str, ...]
    """Further tables of which it needs one, and checks each that is there."""
    tolerance: float | None
    """How far values may differ, or be outside, before it fires; `None` where it compares exactly."""
    unit: str | None
    """Of the tolerance: `ms`, `s`, `mm`, or `count` for statistics."""


Check: TypeAlias = "Callable[[Tables], Rows]"

_CATALOGUE: tuple[tuple[Rule, Check], ...] = (
    (
        Rule(
            "box_score_is_sum_of_events",
            "Each counted stat of a player, and of a team, is the sum of its stat events.",
            ("player_stats", "stat_events"),
            (),
            1e-6,
            "count",
        ),
        sums.box_score_is_sum_of_events,
    ),
    (
        Rule(
            "team_is_sum_of_players",
            "Each counted stat of a team's own line (player 0) is the sum of its players'.",
            ("player_stats",),
            (),
            1e-6,
            "count",
        ),
        sums.team_is_sum_of_players,
    ),
    (
        Rule(
            "points_from_makes",
            "PTS = 2 FG2 + 3 FG3 + FT in every line. Where the service does not send FG2 it is FG - FG3; where it does"
            " not send FG3 the rule is silent.",
            ("player_stats",),
            (),
            1e-6,
            "count",
        ),
        sums.points_from_makes,
    ),
    (
        Rule(
            "possessions_match_events",
            "A player has as much of each counted stat in the possessions as in the stat events. PTS is not compared:"
            " possessions name makes and do not value them. A code that no possession has is compared only where it is"
            " documented there: FGA, FGA3, REB, DEFENSIVE_REB, FGA_OTD, FGA3_OTD.",
            ("possession_events", "stat_events"),
            (),
            1e-6,
            "count",
        ),
        sums.possessions_match_events,
    ),
    (
        Rule(
            "shots_match_events",
            "A player has as many shots, makes, threes and made threes as FGA, FG, FGA3 and FG3 in the stat events.",
            ("shots", "stat_events"),
            (),
            1e-6,
            "count",
        ),
        sums.shots_match_events,
    ),
    (
        Rule(
            "turnovers_match_events",
            "A possession's attribute `turnover` is the number of TO among its events, or 1 where there are several. A"
            " team's turnover may be among the stat events alone, within 5 s of the possession. A session without any"
            " TO is not compared.",
            ("possessions", "possession_events"),
            (),
            5,
            "s",
        ),
        sums.turnovers_match_events,
    ),
    (
        Rule(
            "five_a_side",
            "A possession has five different players on either side, and nobody on both.",
            ("possessions",),
            (),
            None,
            None,
        ),
        places.five_a_side,
    ),
    (
        Rule(
            "events_inside_possession",
            "An event of a possession happens between the start and the end of the possession, give or take 5 s.",
            ("possessions", "possession_events"),
            (),
            timing.POSSESSION_TOLERANCE_S,
            "s",
        ),
        timing.events_inside_possession,
    ),
    (
        Rule(
            "possessions_follow_each_other",
            "No possession is missing: where at least nine of ten possessions of a session start with the game clock at"
            " which the one before ended, all do, and the last one of a period that is over ends at 0:00. Services"
            " that leave time between possessions are not checked, nor a last one that ends above 36 s.",
            ("possessions",),
            (),
            timing.TILE_S,
            "s",
        ),
        timing.possessions_follow_each_other,
    ),
    (
        Rule(
            "clocks_never_rise",
            "Inside a period the game clock does not rise from one moment to the next. Clocks out of range, and moments"
            " outside their session or possession, are left to the rules about these.",
            (),
            ("stat_events", "shots", "possessions"),
            1e-6,
            "s",
        ),
        timing.clocks_never_rise,
    ),
    (
        Rule(
            "game_clock_in_range",
            "A game clock shows at most 25 minutes in a game (no period is longer than 20), and at most 60 elsewhere.",
            (),
            ("stat_events", "shots", "possessions"),
            300,
            "s",
        ),
        timing.game_clock_in_range,
    ),
    (
        Rule(
            "shot_clock_in_range",
            "A shot clock shows at most 36 s: the longest in use is 35. Practices and football are not checked.",
            (),
            ("stat_events", "shots", "possession_events"),
            1,
            "s",
        ),
        timing.shot_clock_in_range,
    ),
    (
        Rule(
            "sessions_end_after_start",
            "A session does not end before it starts. One without duration is no violation.",
            ("sessions",),
            (),
            0,
            "ms",
        ),
        timing.sessions_end_after_start,
    ),
    (
        Rule(
            "happens_inside_session",
            "Stat events, shots and possessions happen between the start and the end of their session, give or take 5"
            " minutes. An end that is not known is not checked.",
            ("sessions",),
            ("stat_events", "shots", "possessions"),
            timing.SESSION_TOLERANCE_S,
            "s",
        ),
        timing.happens_inside_session,
    ),
    (
        Rule(
            "periods_in_order",
            "The sessions of a game's regular time have its periods in order, and the rows of one session have one"
            " period. Only H1, H2 and Q1 to Q4 are compared; other labels, and overtime, are not checked.",
            ("sessions", "events"),
            ("stat_events", "shots", "possessions"),
            None,
            None,
        ),
        timing.periods_in_order,
    ),
    (
        Rule(
            "windows_touch",
            "A session's location windows follow each other without a hole and without an overlap.",
            ("location_windows",),
            (),
            0,
            "ms",
        ),
        timing.windows_touch,
    ),
    (
        Rule(
            "windows_cover",
            "A session's location windows reach from its start to its end.",
            ("location_windows", "sessions"),
            (),
            0,
            "ms",
        ),
        timing.windows_cover,
    ),
    (
        Rule(
            "shot_frames_agree",
            "A shot seen from its hoop is the shot on the court: -sign(hoop_y) * (player - hoop), to 1 mm.",
            ("shots",),
            (),
            places.FRAME_TOLERANCE_MM,
            "mm",
        ),
        places.shot_frames_agree,
    ),
    (
        Rule(
            "shots_on_court",
            "A shooter is on the court or at most 5 m outside it. The hoop that the service sent with the shot tells"
            " the court's length. Football is not checked.",
            ("shots",),
            (),
            places.OFF_COURT_MM,
            "mm",
        ),
        places.shots_on_court,
    ),
    (
        Rule(
            "shot_values_match_distance",
            "A three is taken at least 5.52 m from the hoop that the service sent, a two at most 7.74 m: half a metre"
            " beyond the nearest (6.02 m) and the farthest (7.24 m) three-point lines in use. Football is not checked.",
            (),
            ("shots", "possession_events", "stat_events"),
            places.LINE_TOLERANCE_MM,
            "mm",
        ),
        places.shot_values_match_distance,
    ),
    (
        Rule(
            "players_are_on_a_roster",
            "A player with rows is on one of the rosters, if his team's is among them. Only the rosters of the games"
            " know players who left: one that was requested without a game is compared with sessions from then on.",
            ("players",),
            _ROWS,
            None,
            None,
        ),
        presence.players_are_on_a_roster,
    ),
    (
        Rule(
            "sessions_are_listed",
            "A session that has rows is a session of an event. All events that concern the rows must be in `game`.",
            ("sessions",),
            _ROWS,
            None,
            None,
        ),
        presence.sessions_are_listed,
    ),
    (
        Rule(
            "sessions_have_rows",
            "A session of a game that is over, and lasted more than 5 minutes, has rows in one of the tables. It is"
            " silent where coverage says why there are none, and, without coverage, where the responses are of a"
            " single session.",
            ("sessions",),
            _ROWS,
            presence.SHORT_SESSION_S,
            "s",
        ),
        presence.sessions_have_rows,
    ),
    (
        Rule(
            "games_have_all_sessions",
            "A game of halves has two sessions and one of quarters has four, if its sessions leave more than 10 minutes"
            " in a row between its start and its end uncovered. Games that are not over, or of which coverage"
            " calls a session withdrawn, are not checked.",
            ("sessions", "events"),
            (),
            presence.UNCOVERED_S,
            "s",
        ),
        presence.games_have_all_sessions,
    ),
    (
        Rule(
            "withdrawn_sessions_have_no_rows",
            "A session that coverage calls withdrawn has no rows in the table of that operation.",
            ("coverage",),
            _ROWS,
            None,
            None,
        ),
        presence.withdrawn_sessions_have_no_rows,
    ),
)

RULES: tuple[Rule, ...] = tuple(rule for rule, _ in _CATALOGUE)
CHECKS: Mapping[str, Check] = {rule.rule: check for rule, check in _CATALOGUE}
