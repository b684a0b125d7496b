"""Minutes, per 36, pace, usage and the state of the game: the game of test_metrics.py worked by hand, and the second service's truth."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from needs import library, require
from service import Service

import sideline
from polars_metrics import metrics
from test_metrics import BOX, POSSESSIONS, STATS, possessions_body, read, row, stats_body

require("polars")
pl = library("polars")


# By the game clock: 11 to 14 played 100 s, 15 played 70, 16 played 30, and each of the other team 100.
FULL_MINUTES = 100 / 60


def test_minutes_by_hand() -> None:
    table = metrics.minutes(POSSESSIONS)
    assert table.columns == ["team_id", "player_id", "player_name", "minutes", "reason"]
    expected = {
        11: FULL_MINUTES,
        12: FULL_MINUTES,
        13: FULL_MINUTES,
        14: FULL_MINUTES,
        15: 70 / 60,
        16: 0.5,
        **dict.fromkeys((21, 22, 23, 24, 25), FULL_MINUTES),
    }
    assert dict(table.select("player_id", "minutes").rows()) == pytest.approx(expected)


def test_possessions_and_pace_by_hand() -> None:
    assert metrics.possession_count(POSSESSIONS).rows() == [(1, 3, 3), (2, 3, 3)]
    # (3 + 3) / 2 possessions in 100 s are 72 in 2400 s.
    assert metrics.pace(POSSESSIONS)["pace"].to_list() == pytest.approx([72, 72])
    assert metrics.pace(POSSESSIONS, per=48)["pace"].to_list() == pytest.approx([86.4, 86.4])
    uneven = possessions_body()
    uneven["teams"][1]["possessions"].pop()
    # (3 + 2) / 2 in 80 s.
    assert metrics.pace(read("possessions", uneven))["pace"].to_list() == pytest.approx([75, 75])
    assert metrics.possession_count(read("possessions", uneven)).rows() == [(1, 3, 2), (2, 2, 3)]


def test_possessions_kept_apart_by_session() -> None:
    two = [POSSESSIONS, read("possessions", possessions_body(), "T")]
    assert metrics.possession_count(two)["possessions"].to_list() == [6, 6]
    assert metrics.possession_count(two, by=["session_id"]).rows() == [("S", 1, 3, 3), ("S", 2, 3, 3), ("T", 1, 3, 3), ("T", 2, 3, 3)]
    assert metrics.pace(two)["pace"].to_list() == pytest.approx([72, 72])
    with pytest.raises(ValueError, match="twice"):
        metrics.possession_count([POSSESSIONS, POSSESSIONS])
    body = possessions_body()
    del body["teams"][1]
    with pytest.raises(ValueError, match="two teams"):
        metrics.pace(read("possessions", body))


def test_per_36_by_hand() -> None:
    table = metrics.per_36(STATS, POSSESSIONS)
    eleven, sixteen = row(table, player_id=11), row(table, player_id=16)
    assert (eleven["minutes"], sixteen["minutes"]) == pytest.approx((FULL_MINUTES, 0.5))
    # 3 points in 100 s are 64.8 in 2160 s; one attempt in 30 s is 72.
    assert (eleven["PTS"], eleven["FG3"], sixteen["FGA"], sixteen["PTS"]) == pytest.approx((64.8, 21.6, 72, 0))
    assert table["BLK"].null_count() == len(table), "no line has it"
    assert 0 not in table["player_id"].to_list()
    with pytest.raises(metrics.MissingStat, match="BLK"):
        metrics.per_36(STATS, POSSESSIONS, stats=["BLK"])


def test_usage_and_shares_by_hand() -> None:
    table = metrics.usage(STATS, POSSESSIONS)
    # Team 1 ends 4 FGA + 0.44 FTA = 4.44 in 500 / 60 player minutes, a fifth of which is WHOLE.
    expected = {11: 1 / 4.44, 12: 1 / 4.44, 13: 1.44 / 4.44, 14: 0, 16: FULL_MINUTES / (0.5 * 4.44)}
    assert {player: row(table, player_id=player)["usage"] for player in expected} == pytest.approx(expected)
    # Team 2: 1 FGA + 0.44 * 3 FTA + 1 TO.
    assert row(table, player_id=22)["usage"] == pytest.approx(1 / (1 + 1.32 + 1))
    # The team made two field goals, 12 assisted one and made none.
    assert row(table, player_id=12)["assist_share"] == pytest.approx(1 / 2)
    # Two rebounds in the game, one is 13's and one is 22's.
    assert (row(table, player_id=13)["rebound_share"], row(table, player_id=22)["rebound_share"]) == pytest.approx((0.5, 0.5))
    assert row(metrics.usage(STATS, POSSESSIONS, free_throw_weight=0.5), player_id=13)["usage"] == pytest.approx(1.5 / 4.5)
    shares = metrics.usage(read("stats", stats_body({1: BOX[1]})).to_polars("box_score").with_columns(TO=pl.lit(0.0)), POSSESSIONS)
    assert shares["rebound_share"].to_list() == [None] * 5, "the opponents' lines are missing"


def test_a_total_that_a_session_lacks_is_not_summed_from_the_others() -> None:
    partial = stats_body({1: {player: codes for player, codes in BOX[1].items() if player}, 2: BOX[2]})
    boxes, possessions = [STATS, read("stats", partial, "T")], [POSSESSIONS, read("possessions", possessions_body(), "T")]
    complete_rows = metrics.shooting([STATS, read("stats", stats_body(), "T")])
    is_total_of_1 = (pl.col("team_id") == 1) & (pl.col("player_id") == 0)
    assert metrics.shooting(boxes).equals(complete_rows.filter(~is_total_of_1))
    for metric in ("effective_field_goal", "true_shooting"):
        assert getattr(metrics, metric)(boxes).equals(complete_rows.filter(~is_total_of_1).select("team_id", "player_id", "player_name", metric))
    by_session = metrics.shooting(boxes, by=["session_id"])
    assert by_session.filter(player_id=0).select("session_id", "team_id").rows() == [("S", 1), ("S", 2), ("T", 2)]
    reasons = metrics.usage(boxes, possessions).group_by("team_id").agg(pl.col("reason").unique()).sort("team_id")
    assert reasons.rows() == [(1, ["no_team_total"]), (2, [None])]


def test_every_null_of_a_player_has_its_reason() -> None:
    box = read("stats", stats_body({**BOX, 1: {**BOX[1], 17: {"FGA": 1}}})).to_polars("box_score")
    shares = ["minutes", "usage", "rebound_share"]
    player_line = row(metrics.usage(box, POSSESSIONS), player_id=17)
    assert [player_line[name] for name in (*shares, "reason")] == [None, None, None, "not_listed"]
    player_line = row(metrics.per_36(box, POSSESSIONS), player_id=17)
    assert (player_line["minutes"], player_line["FGA"], player_line["reason"]) == (None, None, "not_listed")
    assert metrics.usage(box, POSSESSIONS).filter(pl.col("player_id") != 17)["reason"].is_null().all()

    no_totals = metrics.usage(box.filter(~pl.col("is_team_total")), POSSESSIONS)
    assert dict(no_totals.select("player_id", "reason").rows()) == {
        **dict.fromkeys(no_totals["player_id"], "no_team_total"),
        17: "not_listed",
    }
    assert no_totals.filter(pl.col("player_id") != 17)["minutes"].is_not_null().all()
    one_total = metrics.usage(box.filter(~pl.col("is_team_total") | (pl.col("team_id") == 1)), POSSESSIONS)
    assert one_total.filter(pl.col("player_id") != 17).group_by("team_id").agg(pl.col("reason").unique()).sort("team_id").rows() == [
        (1, [None]),
        (2, ["no_team_total"]),
    ]

    # The clock of the third possession of team 1, in which 15 is off court, is unknown: 15's minutes are not.
    body = possessions_body()
    body["teams"][0]["possessions"][2]["end_game_clock"] = None
    table = metrics.usage(box, read("possessions", body))
    assert set(table.filter(pl.col("player_id") != 17)["reason"]) == {"clock_unknown"}
    assert row(metrics.minutes(read("possessions", body)), player_id=15)["minutes"] is not None


def with_periods(**periods: str) -> list[sideline.Payload]:
    """The same game, once in each session, under a period."""
    payloads = []
    for session, period in periods.items():
        body = copy.deepcopy(possessions_body())
        for team in body["teams"]:
            for possession in team["possessions"]:
                possession["period"] = period
        payloads.append(sideline.Payload.from_bytes("possessions", json.dumps(body).encode(), session_id=session, game_id="G"))
    return payloads


@pytest.mark.parametrize("kind", ["payload", "player_stats", "box_score"])
def test_a_session_of_box_scores_is_not_counted_twice(kind: str) -> None:
    first: Any = STATS if kind == "payload" else STATS.to_polars(kind)
    other: Any = read("stats", stats_body(), "T")
    other = other if kind == "payload" else other.to_polars(kind)
    assert metrics.shooting([first, other])["FGA"].sum() == 2 * metrics.shooting(first)["FGA"].sum()
    for metric in (metrics.shooting, metrics.effective_field_goal, metrics.true_shooting):
        with pytest.raises(ValueError, match="box_score has session S twice: pass each session once"):
            metric([first, other, first])
    if kind == "box_score":  # sums over ranges have no ids, and may be added up
        sums = first.with_columns(session_id=pl.lit(None, pl.String))
        assert metrics.shooting([sums, sums])["FGA"].sum() == 2 * metrics.shooting(first)["FGA"].sum()


def test_tables_of_different_sessions_in_one_list_count_each(client: sideline.Client, game: dict[str, Any]) -> None:
    other = read("stats", stats_body(), "T")
    expected = metrics.shooting([STATS, other], by="session_id").rows()
    for first in (STATS, STATS.to_polars("box_score"), STATS.to_polars("player_stats")):
        for second in (other, other.to_polars("box_score"), other.to_polars("player_stats")):
            assert metrics.shooting([first, second], by="session_id").rows() == expected
    box, stats = client.box_score(game["id"]), client.stats(client.game(game["id"]))
    with pytest.raises(ValueError, match=f"box_score has game {game['id']} twice, whole and by session"):
        metrics.shooting([box, stats.table("player_stats")])


@pytest.mark.parametrize("metric", [metrics.shooting, metrics.effective_field_goal, metrics.true_shooting])
def test_a_game_of_a_teams_box_scores_is_not_counted_twice(client: sideline.Client, game: dict[str, Any], metric: Any) -> None:
    home, away = (game["game_attributes"][f"{side}_team_id"] for side in ("home", "away"))
    home_stats, away_stats = (client.team_game_stats(team, game_id=game["id"]) for team in (home, away))
    sessions = client.stats(client.game(game["id"]))
    repeated_game, mixed_game = f"box_score has game {game['id']} twice: pass", f"box_score has game {game['id']} twice, whole and by session"
    for table in ("player_stats", "box_score"):
        lines, parts = home_stats.to_polars(table), sessions.to_polars(table)
        assert lines["session_id"].is_null().all()
        with pytest.raises(ValueError, match=repeated_game):
            metric([lines, lines])
        for frames in ([lines, parts], [parts, lines], [lines.drop("session_id"), parts]):
            with pytest.raises(ValueError, match=mixed_game):
                metric(frames)
        other_game = lines.with_columns(game_id=pl.lit("another"))
        assert metric([parts, other_game]).height == metric(parts).height
        lines = lines.filter(pl.col("team_id") == home)
        assert metric([lines, away_stats.to_polars(table).filter(pl.col("team_id") == away)]).height == metric(parts).height


def test_a_game_is_not_counted_whole_and_by_period(client: sideline.Client, game: dict[str, Any]) -> None:
    whole_game, by_period = client.box_score(game["id"]), client.box_score(game["id"], periods=True)
    for tables in ([whole_game, by_period], [by_period.to_polars(), [whole_game.to_pandas()]]):
        with pytest.raises(ValueError, match=f"box_score has game {game['id']} twice, whole and by period: pass one of the two"):
            metrics.shooting(tables)
    other_game = sideline.Table.from_arrow(whole_game.to_polars().with_columns(game_id=pl.lit("another")), "game_box_score")
    assert metrics.shooting([other_game, by_period])["PTS"].sum() == 2 * metrics.shooting(whole_game)["PTS"].sum()


def test_a_table_of_another_name_is_known_by_its_columns() -> None:
    possessions, events = (sideline.Table.from_arrow(TABLES[name]) for name in ("possessions", "possession_events"))
    assert metrics.ratings(possessions, events).equals(metrics.ratings(POSSESSIONS))
    with pytest.raises(ValueError, match=r"possessions is not a table possessions: it is a table shots"):
        metrics.minutes(sideline.Table.from_arrow(TABLES["possessions"], "shots"))


@pytest.mark.parametrize("metric", [metrics.per_36, metrics.usage])
def test_a_game_of_a_teams_box_scores_is_that_of_the_possessions(client: sideline.Client, game: dict[str, Any], metric: Any) -> None:
    box = client.team_game_stats(game["game_attributes"]["home_team_id"], game_id=game["id"]).to_polars("box_score")
    possessions = client.possessions(client.game(game["id"])).to_polars("possessions")
    assert metric(box, possessions)["minutes"].sum() > 0
    with pytest.raises(ValueError, match=f"game {game['id']} of box_score is not in possessions"):
        metric(box, possessions.with_columns(game_id=pl.lit("other")))


@pytest.mark.parametrize("metric", [metrics.per_36, metrics.usage])
def test_box_scores_and_possessions_are_of_the_same_sessions(metric: Any) -> None:
    other_stats, other_possessions = read("stats", stats_body(), "T"), read("possessions", possessions_body(), "T")
    assert metric([STATS, other_stats], [other_possessions, POSSESSIONS])["minutes"].sum() > 0
    with pytest.raises(ValueError, match="session T of box_score is not in possessions: pass the same sessions"):
        metric([STATS, other_stats], POSSESSIONS)
    with pytest.raises(ValueError, match="session T of possessions is not in box_score: pass the same sessions"):
        metric(STATS, [POSSESSIONS, other_possessions])
    # A player's own lines have no session that the player missed.
    without = possessions_body()
    for team in without["teams"]:
        for possession in team["possessions"]:
            for ids in ("player_ids", "opposing_player_ids"):
                possession[ids] = [17 if player == 16 else player for player in possession[ids]]
    lines = STATS.to_polars("box_score").filter((pl.col("player_id") == 16) | pl.col("is_team_total"))
    lines = lines.filter(~pl.col("is_team_total")) if metric is metrics.per_36 else lines
    rest = read("possessions", without, "T")
    assert metric(lines, [POSSESSIONS, rest]).filter(pl.col("player_id") == 16)["minutes"].to_list() == [0.5]


def test_the_box_score_of_a_game_is_one_too(client: sideline.Client, game: dict[str, Any]) -> None:
    box, session_ids = client.box_score(game["id"], periods=True), [session["id"] for session in game["results"]]
    stats, possessions = client.stats(session_ids), client.possessions(session_ids)
    assert metrics.shooting(box).rows() == metrics.shooting(box.to_polars()).rows() == metrics.shooting(stats).rows()
    halves = metrics.shooting(box, by="period").filter(player_id=0)
    assert halves["period"].to_list() == ["H1", "H1", "H2", "H2"]
    assert halves["effective_field_goal"].to_list() == metrics.shooting(stats, by="session_id").filter(player_id=0)["effective_field_goal"].to_list()
    assert metrics.per_36(box, possessions).rows() == metrics.per_36(stats, possessions).rows()
    backwards = possessions.table("possessions").to_polars().reverse()
    assert metrics.minutes(backwards)["minutes"].to_list() == metrics.minutes(possessions)["minutes"].to_list()
    with pytest.raises(ValueError, match=f"box_score has game {game['id']} twice"):
        metrics.shooting([box, box])
    with pytest.raises(ValueError, match=f"game {game['id']} of box_score is not in possessions"):
        metrics.usage(box.to_polars(), possessions.to_polars().with_columns(game_id=pl.lit("other")))


def test_by_may_name_a_column_that_is_always_there() -> None:
    for table in (metrics.ratings(POSSESSIONS, by=["session_id", "team_id", "session_id"]), metrics.minutes(POSSESSIONS, by="team_id")):
        assert len(set(table.columns)) == len(table.columns)
    assert metrics.ratings(POSSESSIONS, by=["session_id", "team_id"]).equals(metrics.ratings(POSSESSIONS, by="session_id"))
    assert metrics.shooting(STATS, by=["team_id", "player_id"]).equals(metrics.shooting(STATS))
    assert metrics.true_shooting(STATS, by="team_id").equals(metrics.true_shooting(STATS))
    assert metrics.four_factors(STATS, POSSESSIONS, by="team_id").equals(metrics.four_factors(STATS, POSSESSIONS))


def test_the_state_of_the_game_by_hand() -> None:
    columns = ["team_id", "seconds_left", "margin", "points", "opponent_points"]
    states = metrics.game_state(with_periods(S="H1"))
    assert states.select(columns).rows() == [
        (1, 2400.0, 0, 3, 0),
        (2, 2380.0, -3, 2, 0),
        (1, 2360.0, 1, 3, 1),
        (2, 2350.0, -3, 0, 0),
        (1, 2330.0, 3, 0, 0),
        (2, 2320.0, -3, 1, 0),
    ]
    # The first half ended 6 : 4; overtime began after two of them.
    states = metrics.game_state(with_periods(T="OT1", R="H2", S="H1"))
    assert states["period"].unique(maintain_order=True).to_list() == ["H1", "H2", "OT1"]
    assert states["margin"].to_list()[::6] == [0, 2, 4]
    assert states["seconds_left"].to_list()[::6] == [2400.0, 1200.0, 1200.0]


@pytest.mark.parametrize(("period", "left"), [("Q1", 3 * 720 + 1200), ("Q3", 720 + 1200), ("OT", 1200), ("q4", 1200)])
def test_periods_have_the_seconds_left(period: str, left: float) -> None:
    # A clock of 20 minutes is more than 10: such quarters are of 12.
    assert metrics.game_state(with_periods(S=period))["seconds_left"][0] == left


def test_the_length_of_a_period_is_an_option() -> None:
    assert metrics.game_state(with_periods(S="Q2"), period_minutes=10)["seconds_left"][0] == 2 * 600 + 1200


@pytest.mark.parametrize("place", range(6))
def test_a_possession_without_a_clock_is_in_order_by_its_time(place: int) -> None:
    complete_rows = with_times(pl.concat(session.to_polars("possessions") for session in with_periods(S="H1", T="H2")))
    events = pl.concat(session.to_polars("possession_events") for session in with_periods(S="H1", T="H2"))
    clockless = (pl.col("session_id") == "S") & (pl.col("turn") == place)
    rows_without_clock = complete_rows.with_columns(pl.when(~clockless).then(pl.col("start_game_clock_s")))
    columns = ["session_id", "team_id", "possession", "margin", "points", "opponent_points"]
    states, expected = (metrics.game_state(rows.drop("turn").reverse(), events) for rows in (rows_without_clock, complete_rows))
    assert states.select(columns).rows() == expected.select(columns).rows()
    assert states["seconds_left"].to_list() == [None if row == place else left for row, left in enumerate(expected["seconds_left"])]
    nowhere = metrics.game_state(complete_rows.with_columns(pl.lit(None, pl.Float64).alias("start_game_clock_s")), events)
    assert nowhere.select(columns).rows() == expected.select(columns).rows(), "times alone give the order too"


def with_times(possessions: pl.DataFrame) -> pl.DataFrame:
    """Give each possession its `turn` in its session, and a time by it."""
    turn = 2 * pl.col("possession") + pl.col("team_id") - 1
    moment = (20_000 * turn).cast(pl.Int64).cast(pl.Datetime("ms", "UTC"))
    return possessions.with_columns(turn=turn, start_timestamp=moment)


@pytest.mark.parametrize("period", ["P1", "Q0", "Q5", "Q", "H0", "H3", "H12", "H", "OT0", "1", "", "Q1 ", "OT" + "9" * 30])
def test_an_unknown_period_is_refused(period: str) -> None:
    with pytest.raises(ValueError, match=f"'{period}' is not a half"):
        metrics.game_state(with_periods(S=period))


def test_a_repeated_period_is_refused() -> None:
    without = [
        sideline.Payload.from_bytes("possessions", payload.raw, session_id=name) for payload, name in zip(with_periods(S="H1", T="H1"), "ST", strict=True)
    ]
    with pytest.raises(ValueError, match="no game_id"):
        metrics.game_state(without)
    assert len(metrics.game_state(without[:1])) == 6


TABLES = {
    name: payload.to_polars(name)
    for payload in (STATS, with_periods(S="H1")[0])
    for name in ("box_score", "possessions", "possession_events")
    if name in payload.tables
}
POSSESSION_METRICS = ("ratings", "plus_minus", "on_off", "lineups", "game_state")


@pytest.mark.parametrize("metric", POSSESSION_METRICS)
def test_an_event_that_occurs_twice_is_not_counted_twice(metric: str) -> None:
    possessions, events = TABLES["possessions"], TABLES["possession_events"]
    for twice in ([events, events], pl.concat([events, events.head(1)])):
        with pytest.raises(ValueError, match="possession_events has session S twice"):
            getattr(metrics, metric)(possessions, twice)


@pytest.mark.parametrize("clock", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["start_game_clock_s", "end_game_clock_s"])
def test_a_nan_or_infinite_clock_is_unknown(name: str, clock: float) -> None:
    is_first = (pl.col("team_id") == 1) & (pl.col("possession") == 0)
    possessions = TABLES["possessions"].with_columns(pl.when(is_first).then(clock).otherwise(name).alias(name))
    paces, minutes = metrics.pace(possessions), metrics.minutes(possessions)
    assert paces.select("seconds", "pace", "reason").rows() == [(None, None, "clock_unknown")] * 2
    assert row(minutes, player_id=11)["reason"] == "clock_unknown"
    assert row(minutes, player_id=16)["minutes"] == 0.5
    states = metrics.game_state(possessions, TABLES["possession_events"])
    assert not states["seconds_left"].is_nan().any()


@pytest.mark.parametrize("name", ["session_id", "team_id", "possession"])
def test_a_possession_without_a_key_is_refused(name: str) -> None:
    possessions = TABLES["possessions"].with_columns(pl.when(pl.col("team_id") != 2).then(name).alias(name))
    with pytest.raises(ValueError, match=f"possessions has rows without {name}"):
        metrics.possession_count(possessions)


def test_a_null_among_the_players_is_nobody() -> None:
    """Four known players are no known lineup."""

    def of_four(last: Any) -> pl.DataFrame:
        return TABLES["possessions"].with_columns(player_ids=pl.concat_list(pl.col("player_ids").list.head(4), *last))

    for metric in POSSESSION_METRICS:
        with_null, without = (getattr(metrics, metric)(of_four(last), TABLES["possession_events"]) for last in ([pl.lit(None, pl.Int64)], []))
        assert with_null.equals(without), metric


def test_the_types_of_other_programs_give_the_same() -> None:
    """Floats for ids (pandas, of a column that had nulls), enums, decimals (sums in SQL), and flags as 0 and 1."""
    kinds = {"team_id": pl.Float64, "player_id": pl.Float64, "possession": pl.Float64, "is_team_total": pl.Int64, "session_id": pl.Enum(["S"])}
    kinds |= dict.fromkeys(("FG", "FGA", "FT", "FTA", "PTS", "TO"), pl.Decimal(20, 0))
    box, possessions, events = (TABLES[name] for name in ("box_score", "possessions", "possession_events"))
    others = {id(frame): frame.cast({name: kind for name, kind in kinds.items() if name in frame.columns}) for frame in (box, possessions, events)}
    needs = {"four_factors": (box, possessions), "usage": (box, possessions), "per_36": (box, possessions), "shooting": (box,), "minutes": (possessions,)}
    for metric, frames in {**needs, **dict.fromkeys(POSSESSION_METRICS, (possessions, events))}.items():
        expected = getattr(metrics, metric)(*frames)
        assert getattr(metrics, metric)(*(others[id(frame)] for frame in frames)).equals(expected), metric
        assert getattr(metrics, metric)(others[id(frames[0])], *frames[1:]).equals(expected), metric


@pytest.mark.parametrize(("name", "kind"), [("team_id", "String"), ("player_ids", "List(String)")])
def test_ids_without_numbers_are_refused(name: str, kind: str) -> None:
    text = pl.lit("one") if name == "team_id" else pl.lit(["one"])
    with pytest.raises(ValueError, match=rf"possessions: the column {name} is of type {re.escape(kind)}"):
        metrics.minutes(TABLES["possessions"].with_columns(text.alias(name)))


@pytest.mark.parametrize("name", ["game_id", "period", "start_timestamp"])
def test_the_state_of_a_game_names_the_column_that_it_lacks(name: str) -> None:
    with pytest.raises(ValueError, match=f"possessions has no column {name}"):
        metrics.game_state(TABLES["possessions"].drop(name), TABLES["possession_events"])


@pytest.mark.parametrize("flag", [None, False])
def test_player_0_is_the_team_whatever_its_flag_says(flag: bool | None) -> None:
    """A flag that is unknown loses no player."""
    box, possessions = TABLES["box_score"], TABLES["possessions"]
    rows_without_flag = box.with_columns(is_team_total=pl.lit(flag, pl.Boolean))
    for metric in ("usage", "per_36", "four_factors"):
        assert getattr(metrics, metric)(rows_without_flag, possessions).equals(getattr(metrics, metric)(box, possessions)), metric


def test_arguments_that_are_no_numbers_or_codes_are_refused() -> None:
    box, possessions = TABLES["box_score"], TABLES["possessions"]
    assert metrics.per_36(box, possessions, stats=["PTS", "PTS"]).columns == metrics.per_36(box, possessions, stats="PTS").columns
    with pytest.raises(ValueError, match="the column team_name is of type String; numbers are needed"):
        metrics.per_36(box.with_columns(team_name=pl.lit("Bears")), possessions, stats="team_name")
    for length in (0, -5, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="per is .*; it must be a number of minutes above 0"):
            metrics.pace(possessions, per=length)
        with pytest.raises(ValueError, match="period_minutes is .*; it must be a number of minutes above 0"):
            metrics.game_state(possessions, TABLES["possession_events"], period_minutes=length)


def test_per_36_by_player_is_refused_as_minutes_are() -> None:
    with pytest.raises(ValueError, match="cannot be grouped by player_id"):
        metrics.per_36(STATS, POSSESSIONS, by="player_id")


@pytest.fixture(scope="module")
def second() -> Iterator[Service]:
    with Service(seed=11, teams=4, games=2, practices=0, upcoming=0) as service:
        yield service


@pytest.fixture(scope="module")
def second_client(second: Service) -> Iterator[sideline.Client]:
    with sideline.Client(**second.client_options()) as client:
        yield client


def test_the_margin_is_that_of_the_second_services_truth(second: Service, second_client: sideline.Client) -> None:
    event = second.season.played[0]
    states = metrics.game_state(second_client.possessions(second_client.game(event.id)))
    assert states["game_id"].unique().to_list() == [event.id]
    points = dict.fromkeys(event.team_ids, 0)
    rows: Iterator[dict[str, Any]] = iter(states.to_dicts())
    for session in event.sessions:
        for possession in sorted(session.possessions, key=lambda item: item.start):
            state = next(rows)
            other = next(team for team in event.team_ids if team != possession.team_id)
            assert (state["session_id"], state["team_id"]) == (session.id, possession.team_id)
            assert state["margin"] == points[possession.team_id] - points[other]
            points[possession.team_id] += state["points"]
            points[other] += state["opponent_points"]
    assert next(rows, None) is None
    truth = [line for line in second.truth()["box_score"] if line["game_id"] == event.id and line["is_team_total"]]
    assert points == {team: sum(line["PTS"] or 0 for line in truth if line["team_id"] == team) for team in event.team_ids}


def test_players_have_their_names(second: Service, second_client: sideline.Client) -> None:
    event = second.season.played[0]
    stats, possessions = second_client.stats(second_client.game(event.id)), second_client.possessions(second_client.game(event.id))
    full = {player.id: f"{player.first_name} {player.last_name}" for player in second.season.players}
    for table in (
        metrics.minutes(possessions),
        metrics.per_36(stats, possessions),
        metrics.usage(stats, possessions),
        metrics.plus_minus(possessions),
        metrics.on_off(possessions),
        metrics.shooting(stats.to_polars("box_score").with_columns(FG3=pl.lit(0.0))).filter(pl.col("player_id") != 0),
    ):
        assert table["player_name"].to_list() == [full[player] for player in table["player_id"]]
    for lineup, names in metrics.lineups(possessions, size=2).select("lineup", "player_names").iter_rows():
        assert names == [full[int(player)] for player in lineup.split("-")]
    # Of tables alone, whoever holds names gives them.
    tables = [possessions.table("possessions"), possessions.table("possession_events")]
    assert metrics.plus_minus(*tables)["player_name"].null_count() == len(metrics.plus_minus(*tables))


@pytest.mark.parametrize("metric", POSSESSION_METRICS)
def test_equal_events_need_their_position_to_count_once(metric: str) -> None:
    """Without it, two free throws of a player and one event that occurs twice are the same rows."""
    possessions, events = TABLES["possessions"], TABLES["possession_events"].drop("position")
    assert getattr(metrics, metric)(possessions, events).equals(getattr(metrics, metric)(possessions, TABLES["possession_events"]))
    with pytest.raises(ValueError, match="possession_events has equal rows of session .*: pass the column position"):
        getattr(metrics, metric)(possessions, [events, events])


@pytest.mark.parametrize(("name", "text"), [("details", "FG,PTS"), ("is_3point", "yes")])
def test_a_column_of_events_as_text_is_named(name: str, text: str) -> None:
    events = TABLES["possession_events"].with_columns(pl.lit(text).alias(name))
    with pytest.raises(ValueError, match=f"possession_events: the column {name} is of type String; it must have values of"):
        metrics.ratings(TABLES["possessions"], events)


def test_flags_of_threes_may_be_numbers() -> None:
    possessions, events = TABLES["possessions"], TABLES["possession_events"].with_columns(is_3point=pl.lit(True))
    assert metrics.ratings(possessions, events.cast({"is_3point": pl.Int64})).equals(metrics.ratings(possessions, events))


@pytest.mark.parametrize("name", ["start_game_clock_s", "end_game_clock_s"])
def test_a_clock_as_text_is_read_or_named(name: str) -> None:
    possessions = TABLES["possessions"]
    assert metrics.minutes(possessions.cast({name: pl.String})).equals(metrics.minutes(possessions))
    with pytest.raises(ValueError, match=f"possessions: the column {name} is of type String"):
        metrics.minutes(possessions.with_columns(pl.lit("20:00").alias(name)))


@pytest.mark.parametrize("name", ["team_id", "possession"])
def test_a_fraction_is_no_id(name: str) -> None:
    possessions = TABLES["possessions"].with_columns(pl.col(name).cast(pl.Float64) + 0.5)
    with pytest.raises(ValueError, match=f"possessions: the column {name} is of type Float64"):
        metrics.minutes(possessions)


@contextmanager
def suppress_refusal(name: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        if f"cannot be grouped by {name}: " not in str(error):
            raise


def _frames_with(name: str, value: str) -> dict[str, pl.DataFrame]:
    return {table: frame if name in frame.columns else frame.with_columns(pl.lit(value).alias(name)) for table, frame in TABLES.items()}


METRIC_TABLES = {
    **dict.fromkeys(("shooting", "effective_field_goal", "true_shooting"), ("box_score",)),
    **dict.fromkeys(("four_factors", "usage", "per_36"), ("box_score", "possessions")),
    **dict.fromkeys(("minutes", "possession_count", "pace"), ("possessions",)),
    **dict.fromkeys(("ratings", "plus_minus", "on_off", "lineups"), ("possessions", "possession_events")),
}


@pytest.mark.parametrize("metric", METRIC_TABLES)
def test_a_column_of_the_caller_groups_by_its_own_values(metric: str) -> None:
    """Its name may be that of a column of the result, or of one that the metric adds on its way."""
    function = getattr(metrics, metric)
    results = function(*(TABLES[table] for table in METRIC_TABLES[metric])).columns
    internal = ("opponent", "own", "other", "one", "none", "ids", "teams", "five", "lineup", "n", "fifth", "is_listed")
    internal += ("team_FGA", "other_REB", "opponent_FG", "points", "points_whole", "seconds", "own_TO", "minutes", "reason", "worth", "codes", "against")
    for name in dict.fromkeys((*internal, *results)):
        if name in ("team_id", "player_id"):
            continue
        frames = [_frames_with(name, "A")[table] for table in METRIC_TABLES[metric]]
        with suppress_refusal(name):
            assert set(function(*frames, by=name)[name]) == {"A"}, name
    assert set(function(*(_frames_with("quarter", "A")[table] for table in METRIC_TABLES[metric]), by="quarter")["quarter"]) == {"A"}


def test_the_kind_is_that_of_the_first_parameter_in_any_order_of_keywords() -> None:
    possessions, events = TABLES["possessions"], TABLES["possession_events"]
    pandas = library("pandas")
    frame = sideline.metrics.game_state(possession_events=events, possessions=possessions.to_pandas())  # type: ignore[call-overload]
    assert isinstance(frame, pandas.DataFrame)
    assert isinstance(sideline.metrics.minutes(by="session_id", possessions=possessions), pl.DataFrame)  # type: ignore[call-overload]


@pytest.mark.parametrize("seed", [9, 74, 166, 249])
def test_no_field_goal_of_a_mate_is_no_share_whatever_the_minutes_sum_to(seed: int) -> None:
    """Player 11 plays throughout and makes all field goals: the others' 0 is a difference of two sums."""
    dice, clock, rows = Random(seed), 600.0, []
    others = [21, 22, 23, 24, 25]
    for number in range(7):
        length, fifth_player = round(dice.uniform(5, 30), 1), 15 if number % 2 else 16
        sides = ([11, 12, 13, 14, fifth_player], others) if number % 2 else (others, [11, 12, 13, 14, fifth_player])
        row = {"session_id": "S", "team_id": 2 - number % 2, "possession": number, "start_game_clock_s": clock, "end_game_clock_s": clock - length}
        rows.append({**row, "player_ids": sides[0], "opposing_player_ids": sides[1]})
        clock -= length
    codes = {"FGA": 9.0, "FTA": 1.0, "TO": 1.0, "AST": 1.0, "REB": 1.0}
    keys = [(1, 0, 7.0), (1, 11, 7.0), (2, 0, 3.0), (2, 21, 3.0)]
    box = pl.DataFrame(
        [
            {"session_id": "S", "team_id": team, "player_id": player, "is_team_total": not player, "FG": field_goals, **codes}
            for team, player, field_goals in keys
        ]
    )
    assert metrics.usage(box, pl.DataFrame(rows)).filter(pl.col("player_id") != 0)["assist_share"].to_list() == [None, None]
