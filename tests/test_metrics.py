"""Metrics of two games worked by hand, of the simulator's own bookkeeping, and of a plain loop."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from itertools import combinations
from math import comb
from random import Random
from typing import Any

import pytest
from needs import library, require

import sideline
from polars_metrics import metrics

require("polars")
pl = library("polars")


# The game, in order of play. Team 1 has 11 to 15, then 16 for 15; team 2 has 21 to 25 throughout.
#
#   team  clock        who                          what                                                     1 : 2
#   1     20:00-19:40  11 12 13 14 15               11 makes a three, 12 assists                             3 : 0
#   2     19:40-19:20                               21 makes a two                                           3 : 2
#   1     19:20-19:10                               12 misses a two, 13 rebounds, makes a two, is fouled and
#                                                   makes the free throw; 24 makes a technical one           6 : 3
#   2     19:10-18:50                               22 loses the ball                                        6 : 3
#   1     18:50-18:40  11 12 13 14 16               14 had stolen it, 16 misses a two                        6 : 3
#   2     18:40-18:20                               22 had rebounded, 23 is fouled, makes one of two         6 : 4
FIRST, SECOND, OTHERS = [15, 11, 12, 13, 14], [11, 12, 13, 14, 16], [21, 22, 23, 24, 25]
THREE = ("FGA", ["FGA3", "FG", "FG3", "PTS"])
TWO = ("FGA", ["FGA2", "FG", "FG2", "PTS"])
MISS = ("FGA", ["FGA2"])
FREE_THROW = ("FTA", ["FT", "PTS"])
Event = tuple[int, tuple[str, list[str]]]
GAME: dict[int, list[tuple[str, str, list[int], list[int], list[Event]]]] = {
    1: [
        ("20:00.0", "19:40.0", FIRST, OTHERS, [(11, THREE), (12, ("AST", []))]),
        (
            *("19:20.0", "19:10.0", FIRST, OTHERS),
            [(12, MISS), (13, ("OFFENSIVE_REB", ["REB"])), (13, TWO), (22, ("FL", [])), (13, FREE_THROW), (24, FREE_THROW)],
        ),
        ("18:50.0", "18:40.0", SECOND, OTHERS, [(14, ("STL", [])), (16, MISS)]),
    ],
    2: [
        ("19:40.0", "19:20.0", OTHERS, FIRST, [(21, TWO)]),
        ("19:10.0", "18:50.0", OTHERS, FIRST, [(22, ("TO", ["LBTO"]))]),
        ("18:40.0", "18:20.0", OTHERS, SECOND, [(22, ("DEFENSIVE_REB", ["REB"])), (23, FREE_THROW), (23, ("FTA", []))]),
    ],
}
BOX: dict[int, dict[int, dict[str, int]]] = {
    1: {
        0: {"FG": 2, "FGA": 4, "FG2": 1, "FG3": 1, "FT": 1, "FTA": 1, "PTS": 6, "AST": 1, "STL": 1, "OFFENSIVE_REB": 1, "REB": 1},
        11: {"FG": 1, "FGA": 1, "FG3": 1, "PTS": 3},
        12: {"FGA": 1, "AST": 1},
        13: {"FG": 1, "FGA": 1, "FG2": 1, "FT": 1, "FTA": 1, "PTS": 3, "OFFENSIVE_REB": 1, "REB": 1},
        14: {"STL": 1},
        16: {"FGA": 1},
    },
    2: {
        0: {"FG": 1, "FGA": 1, "FG2": 1, "FT": 2, "FTA": 3, "PTS": 4, "TO": 1, "DEFENSIVE_REB": 1, "REB": 1, "FL": 1},
        21: {"FG": 1, "FGA": 1, "FG2": 1, "PTS": 2},
        22: {"TO": 1, "DEFENSIVE_REB": 1, "REB": 1, "FL": 1},
        23: {"FT": 1, "FTA": 2, "PTS": 1},
        24: {"FT": 1, "FTA": 1, "PTS": 1},
    },
}


def stats_body(box: dict[int, dict[int, dict[str, int]]] = BOX) -> dict[str, Any]:
    def lines(team: int) -> list[dict[str, Any]]:
        return [{"id": player, "stats": codes} for player, codes in box[team].items()]

    return {"teams": [{"id": team, "player_stats": lines(team)} for team in box]}


def possessions_body(game: dict[int, list[tuple[str, str, list[int], list[int], list[Event]]]] = GAME) -> dict[str, Any]:
    def possession(start: str, end: str, own_players: list[int], other: list[int], events: list[Event]) -> dict[str, Any]:
        stats = [{"player_id": player, "possession_type": kind, "details": details} for player, (kind, details) in events]
        clocks = {"start_game_clock": start, "end_game_clock": end}
        return {**clocks, "player_ids": own_players, "opposing_player_ids": other, "stats": stats}

    return {"teams": [{"id": team, "possessions": [possession(*line) for line in lines]} for team, lines in game.items()]}


def read(operation: str, body: object, session_id: str = "S") -> sideline.Payload:
    return sideline.Payload.from_bytes(operation, json.dumps(body).encode(), session_id=session_id)


STATS, POSSESSIONS = read("stats", stats_body()), read("possessions", possessions_body())


def row(table: pl.DataFrame, **keys: object) -> dict[str, Any]:
    rows = table.filter(**keys)
    assert len(rows) == 1, rows
    return rows.row(0, named=True)


def test_the_game_typed_here_agrees_with_itself() -> None:
    assert sideline.audit(player_stats=STATS, possessions=POSSESSIONS).to_dicts() == []


def test_shooting_by_hand() -> None:
    table = metrics.shooting(STATS)
    assert table.columns == ["team_id", "player_id", "player_name", "FG", "FGA", "FG3", "FTA", "PTS", "effective_field_goal", "true_shooting"]
    expected = {
        (1, 0): (2.5 / 4, 6 / 8.88),
        (2, 0): (1 / 1, 4 / 4.64),
        (1, 11): (1.5, 1.5),
        (1, 12): (0.0, 0.0),
        (1, 13): (1.0, 3 / 2.88),
        # No attempt is no share.
        (1, 14): (None, None),
        (2, 23): (None, 1 / 1.76),
    }
    for (team, player), shares in expected.items():
        line = row(table, team_id=team, player_id=player)
        for name, share in zip(("effective_field_goal", "true_shooting"), shares, strict=True):
            assert line[name] == (share if share is None else pytest.approx(share, rel=1e-12)), (team, player, name)
    half = metrics.shooting(STATS, free_throw_weight=0.5)
    assert row(half, team_id=1, player_id=13)["true_shooting"] == 1.0
    box = STATS.to_polars("box_score").with_columns(metrics.effective_field_goal().alias("efg"), metrics.true_shooting().alias("ts"))
    assert (row(box, player_id=13)["efg"], row(box, player_id=11)["ts"]) == (1.0, 1.5)


@pytest.mark.parametrize("metric", [metrics.effective_field_goal, metrics.true_shooting])
def test_a_shooting_metric_of_a_table_is_the_column_of_shooting(metric: Any) -> None:
    keys, name = ["team_id", "player_id", "player_name"], metric.__name__
    for source in (STATS, STATS.table(), STATS.table("box_score"), STATS.to_polars("box_score").lazy()):
        expected = metrics.shooting(source)
        assert metric(source).equals(expected.select(*(key for key in keys if key in expected.columns), name))
    by_session = metrics.true_shooting(STATS, by=["session_id"], free_throw_weight=0.5)
    assert by_session.columns[0] == "session_id" and row(by_session, team_id=1, player_id=13)["true_shooting"] == 1.0
    with pytest.raises(metrics.MissingStat, match=rf"{name} needs \w+, and no row"):
        metric(STATS.to_polars("box_score").drop("FG3", "FTA"))


def test_the_four_factors_by_hand() -> None:
    table = metrics.four_factors(STATS, POSSESSIONS)
    own_factors = {"effective_field_goal": 0.625, "turnover_rate": 0.0, "offensive_rebound_rate": 0.5, "free_throw_rate": 0.25}
    other = {"effective_field_goal": 1.0, "turnover_rate": 1 / 3, "offensive_rebound_rate": None, "free_throw_rate": 2.0}
    assert table.to_dicts() == [
        {"team_id": 1, **own_factors, **{f"opponent_{name}": share for name, share in other.items()}},
        {"team_id": 2, **other, **{f"opponent_{name}": share for name, share in own_factors.items()}},
    ]


def test_ratings_by_hand() -> None:
    first, second = metrics.ratings(POSSESSIONS).to_dicts()
    assert first == {
        "team_id": 1,
        "possessions": 3,
        "opponent_possessions": 3,
        "points": 6,
        "opponent_points": 4,
        "seconds": 100.0,
        "offensive_rating": 200.0,
        "defensive_rating": pytest.approx(400 / 3),
        "net_rating": pytest.approx(200 / 3),
        "reason": None,
    }
    assert (second["points"], second["opponent_points"], second["net_rating"]) == (4, 6, pytest.approx(-200 / 3))


def test_plus_minus_by_hand() -> None:
    table = metrics.plus_minus(POSSESSIONS)
    assert dict(table.select("player_id", "plus_minus").rows()) == {
        11: 2,
        12: 2,
        13: 2,
        14: 2,
        15: 3,
        16: -1,
        **dict.fromkeys(OTHERS, -2),
    }
    sixteen = row(table, player_id=16)
    assert (sixteen["possessions"], sixteen["opponent_possessions"], sixteen["points"], sixteen["opponent_points"]) == (1, 1, 0, 1)
    assert (sixteen["seconds"], sixteen["offensive_rating"], sixteen["defensive_rating"]) == (30.0, 0.0, 100.0)


def test_on_and_off_by_hand() -> None:
    table = metrics.on_off(POSSESSIONS)
    sixteen = row(table, player_id=16)
    assert sixteen["team_id"] == 1
    assert [sixteen[f"on_{name}"] for name in ("possessions", "points", "opponent_points", "net_rating")] == [1, 0, 1, -100.0]
    assert [sixteen[f"off_{name}"] for name in ("possessions", "points", "opponent_points", "seconds")] == [2, 6, 3, 70.0]
    assert (sixteen["off_net_rating"], sixteen["net_rating_difference"]) == (150.0, -250.0)
    eleven = row(table, player_id=11)
    assert (eleven["off_possessions"], eleven["off_net_rating"], eleven["net_rating_difference"]) == (0, None, None)


def test_lineups_by_hand() -> None:
    fives = metrics.lineups(POSSESSIONS).select("team_id", "lineup", "possessions", "points", "opponent_points", "plus_minus")
    assert fives.rows() == [
        (1, "11-12-13-14-15", 2, 6, 3, 3),
        (1, "11-12-13-14-16", 1, 0, 1, -1),
        (2, "21-22-23-24-25", 3, 4, 6, -2),
    ]
    assert set(fives["lineup"]) == set(POSSESSIONS.to_polars("possessions")["lineup_id"])
    counts = {5: 2, 4: 5 + 4, 3: 10 + 6, 2: 10 + 4}
    for size, count in counts.items():
        units = metrics.lineups(POSSESSIONS, size=size).filter(team_id=1)
        assert len(units) == count
        assert all(len(unit.split("-")) == size for unit in units["lineup"])
    pairs = metrics.lineups(POSSESSIONS, size=2).filter(team_id=1)
    assert {unit: row(pairs, lineup=unit)["plus_minus"] for unit in ("11-12", "11-15", "14-16")} == {"11-12": 2, "11-15": 3, "14-16": -1}
    assert pairs.filter(lineup="15-16").is_empty()


def test_every_kind_of_table_gives_the_same() -> None:
    possessions, events = (POSSESSIONS.table(name) for name in ("possessions", "possession_events"))
    expected = metrics.on_off(POSSESSIONS)
    assert metrics.on_off(possessions, events).equals(expected)
    assert metrics.on_off([events, possessions]).equals(expected)
    assert metrics.on_off(possessions.to_arrow(), events.to_polars().lazy()).equals(expected)
    factors = metrics.four_factors(STATS, POSSESSIONS)
    series = pl.from_arrow(STATS.table("box_score"))
    for box in (STATS.table("player_stats"), STATS.table("box_score"), STATS.to_arrow("box_score"), [STATS], series, [series]):
        assert metrics.four_factors(box, possessions).equals(factors)


def test_a_second_session_is_summed_or_kept_apart() -> None:
    other = read("possessions", possessions_body(), "T")
    possessions, stats = [POSSESSIONS, other], [STATS, read("stats", stats_body(), "T")]
    assert row(metrics.ratings(possessions), team_id=1)["points"] == 12
    assert row(metrics.ratings(possessions), team_id=1)["net_rating"] == pytest.approx(200 / 3)
    ratings = metrics.ratings(possessions, by=["session_id"])
    assert ratings.select("session_id", "team_id", "points").rows() == [("S", 1, 6), ("S", 2, 4), ("T", 1, 6), ("T", 2, 4)]
    expected = metrics.four_factors(STATS, POSSESSIONS)
    assert metrics.four_factors(stats, possessions).equals(expected)
    assert metrics.four_factors(stats, possessions, by=["session_id"]).filter(session_id="T").drop("session_id").equals(expected)
    assert row(metrics.shooting(stats), player_id=13)["PTS"] == 6
    assert row(metrics.on_off(possessions, by=["session_id"]), player_id=16, session_id="T")["off_points"] == 6
    assert len(metrics.lineups(possessions, by=["session_id"])) == 6


@pytest.mark.parametrize("code", ["FG", "FG3", "FGA", "TO", "OFFENSIVE_REB", "DEFENSIVE_REB", "FT"])
def test_a_code_that_was_never_sent_is_refused_by_name(code: str) -> None:
    box = {team: {player: {name: n for name, n in line.items() if name != code} for player, line in lines.items()} for team, lines in BOX.items()}
    stats = read("stats", stats_body(box))
    for source in (stats, stats.table("player_stats"), stats.to_polars("box_score").drop(code)):
        with pytest.raises(metrics.MissingStat, match=rf"the four factors needs {code}, and no row has it") as excinfo:
            metrics.four_factors(source, POSSESSIONS)
        assert excinfo.value.stats == (code,)
        assert isinstance(excinfo.value, sideline.SidelineError)
        assert str(pickle.loads(pickle.dumps(excinfo.value))) == str(excinfo.value)
    box_score = stats.to_polars("box_score").with_columns(pl.lit(0.0).alias(code))
    assert len(metrics.four_factors(box_score, POSSESSIONS)) == 2


def test_a_negative_id_of_a_player_is_that_player() -> None:
    def with_id(number: int) -> sideline.Payload:
        ids = {11: number}
        game: Any = {
            team: [(*line[:2], *([ids.get(player, player) for player in side] for side in line[2:4]), []) for line in lines] for team, lines in GAME.items()
        }
        return read("possessions", possessions_body(game))

    negative, positive = with_id(-11), with_id(11)
    for metric in (metrics.plus_minus, metrics.on_off, metrics.minutes):
        rows, expected = (metric(source).drop("player_name").sort(pl.col("player_id").abs()) for source in (negative, positive))
        assert -11 in rows["player_id"]
        assert rows.with_columns(pl.col("player_id").abs()).equals(expected)
    pairs = metrics.lineups(negative, size=2)
    assert "-11-12" in pairs["lineup"]
    assert "11-12" not in pairs["lineup"]
    assert pairs.height == metrics.lineups(positive, size=2).height
    assert set(pairs["player_names"].list.len()) == {2}
    assert metrics.lineups(positive, size=2.0).to_dicts() == metrics.lineups(positive, size=2).to_dicts()  # type: ignore[arg-type]


def test_a_season_without_a_game_has_no_rows_and_lacks_no_code() -> None:
    stats, possessions = read("stats", {"teams": []}), read("possessions", {"teams": []})
    for source in (stats, stats.table("player_stats"), stats.to_polars("box_score")):
        assert metrics.shooting(source).to_dicts() == metrics.effective_field_goal(source).to_dicts() == metrics.true_shooting(source).to_dicts() == []
        assert metrics.usage(source, possessions).to_dicts() == metrics.four_factors(source, possessions).to_dicts() == []
        assert metrics.four_factors(source, possessions, by="game_id").to_dicts() == metrics.per_36(source, possessions, stats="BLK").to_dicts() == []


def test_points_are_not_guessed() -> None:
    events = POSSESSIONS.to_polars("possession_events")

    def events_without(*codes: str) -> pl.DataFrame:
        return events.with_columns(pl.col("details").list.set_difference(list(codes)))

    with pytest.raises(metrics.MissingStat, match="a rating needs FG, FT, and no row has them"):
        metrics.ratings(POSSESSIONS.table("possessions"), events_without("PTS", "FG", "FG2", "FG3", "FT"))
    with pytest.raises(metrics.MissingStat, match="a lineup needs FT"):
        metrics.lineups(POSSESSIONS.table("possessions"), events_without("PTS", "FT"))
    # Any of the codes that tell a make is enough.
    expected = metrics.ratings(POSSESSIONS)
    for codes in (("PTS",), ("FG", "FG2", "FG3", "FT"), ("PTS", "FG"), ("PTS", "FG2", "FG3")):
        assert metrics.ratings(POSSESSIONS.table("possessions"), events_without(*codes)).equals(expected), codes
    by_flag = events_without("PTS", "FG3", "FGA3").with_columns(is_3point=pl.col("player_id") == 11)
    assert metrics.ratings(POSSESSIONS.table("possessions"), by_flag).equals(expected)


def test_players_without_a_lineup_are_together_and_nothing_is_lost() -> None:
    body = possessions_body()
    body["teams"][0]["possessions"][0]["player_ids"] = [11, 12, 13, 14]
    body["teams"][0]["possessions"][1]["player_ids"] = None
    possessions = read("possessions", body)
    fives = metrics.lineups(possessions).filter(team_id=1)
    assert dict(fives.select("lineup", "possessions").rows()) == {None: 2, "11-12-13-14-15": 0, "11-12-13-14-16": 1}
    assert fives["points"].sum() == 6
    players = metrics.plus_minus(possessions).filter(team_id=1)
    assert dict(players.select("player_id", "points").rows()) == {None: 3, 11: 3, 12: 3, 13: 3, 14: 3, 15: 0, 16: 0}
    assert None not in metrics.on_off(possessions)["player_id"]


def test_an_impossible_metric_is_refused(client: sideline.Client, session_id: str) -> None:
    practice = next(
        row["session_id"]
        for row in client.team_events(client.teams()["teams"][0]["id"], "2026-08-01", "2027-03-01").table().to_dicts()
        if row["game_id"] is None
    )
    with pytest.raises(ValueError, match="does not have possessions of two teams"):
        metrics.ratings(client.possessions(practice))
    with pytest.raises(ValueError, match="session S twice"):
        metrics.ratings([POSSESSIONS, POSSESSIONS])
    with pytest.raises(ValueError, match="are both needed"):
        metrics.ratings(POSSESSIONS.table("possessions"))
    with pytest.raises(ValueError, match=f"a possession of session {session_id} that is not in possessions"):
        metrics.ratings(POSSESSIONS.table("possessions"), client.possessions(session_id).table("possession_events"))
    with pytest.raises(ValueError, match="size is 6: a lineup has 5, 4, 3 or 2 players"):
        metrics.lineups(POSSESSIONS, size=6)
    with pytest.raises(ValueError, match="possessions cannot be grouped by season"):
        metrics.on_off(POSSESSIONS, by=["season"])
    with pytest.raises(ValueError, match="box_score cannot be grouped by game_id"):
        metrics.shooting(STATS, by=["game_id"])
    with pytest.raises(ValueError, match="does not have the totals .* of two teams in session S"):
        metrics.four_factors(STATS.to_polars("box_score").filter(team_id=1).with_columns(TO=1.0, DEFENSIVE_REB=1.0), POSSESSIONS)
    with pytest.raises(ValueError, match="does not have the totals .* of two teams in session S"):
        metrics.four_factors(STATS.to_polars("box_score").filter(pl.col("player_id") != 0), POSSESSIONS)
    with pytest.raises(ValueError, match="no row of one of the teams of box_score in session S"):
        metrics.four_factors(STATS, POSSESSIONS.to_polars("possessions").filter(team_id=1))
    games = sideline.Payload.from_bytes("stats", STATS.raw, game_id="G")
    with pytest.raises(ValueError, match="rows without a session_id"):
        metrics.four_factors(games, POSSESSIONS)
    with pytest.raises(ValueError, match="for box_score it lacks is_team_total"):
        metrics.shooting(STATS.to_polars("box_score").drop("is_team_total"))


# The second game: two halves, each a session of its own; team 7 brings 76 for 71 at half-time, team 9 brings 96 for 95.
#
#   team  clock        what                                                                                   7 : 9
#   7     10:00-9:45   71 makes a two, 72 assists                                                             2 : 0
#   9      9:45-9:25   91 makes a three                                                                       2 : 3
#   7      9:25-9:05   72 misses a three                                                                      2 : 3
#   9      9:05-8:50   94 had rebounded, 92 loses the ball                                                    2 : 3
#   7      8:50-8:30   73 had stolen it, is fouled by 95, makes both                                          4 : 3
#   9      8:30-8:10   93 misses a two, 91 rebounds, misses a two                                             4 : 3
#   half-time, 74 has the rebound
#   9     10:00-9:40   96 makes a two, is fouled by 72, misses the free throw                                 4 : 5
#   7      9:40-9:30   75 had rebounded, 76 makes a three, 73 assists                                         7 : 5
#   9      9:30-9:00   92 makes a three, 93 assists                                                           7 : 8
#   7      9:00-8:55   74 loses the ball                                                                      7 : 8
#   9      8:55-8:35   94 misses a three, 93 rebounds, makes a two                                            7 : 10
#   7      8:35-8:30   75 misses a two, 76 rebounds, makes a two                                              9 : 10
SEVEN, SEVEN_LATER, NINE, NINE_LATER = [71, 72, 73, 74, 75], [72, 73, 74, 75, 76], [91, 92, 93, 94, 95], [91, 92, 93, 94, 96]
MISSED_THREE, MISSED_FREE_THROW = ("FGA", ["FGA3"]), ("FTA", [])
OFFENSIVE, DEFENSIVE = ("OFFENSIVE_REB", ["REB"]), ("DEFENSIVE_REB", ["REB"])
ASSIST, STEAL, FOUL, TURNOVER = ("AST", []), ("STL", []), ("FL", []), ("TO", ["LBTO"])
HALVES: dict[str, dict[int, list[tuple[str, str, list[int], list[int], list[Event]]]]] = {
    "H1": {
        7: [
            ("10:00.0", "9:45.0", SEVEN, NINE, [(71, TWO), (72, ASSIST)]),
            ("9:25.0", "9:05.0", SEVEN, NINE, [(72, MISSED_THREE)]),
            ("8:50.0", "8:30.0", SEVEN, NINE, [(73, STEAL), (95, FOUL), (73, FREE_THROW), (73, FREE_THROW)]),
        ],
        9: [
            ("9:45.0", "9:25.0", NINE, SEVEN, [(91, THREE)]),
            ("9:05.0", "8:50.0", NINE, SEVEN, [(94, DEFENSIVE), (92, TURNOVER)]),
            ("8:30.0", "8:10.0", NINE, SEVEN, [(93, MISS), (91, OFFENSIVE), (91, MISS), (74, DEFENSIVE)]),
        ],
    },
    "H2": {
        7: [
            ("9:40.0", "9:30.0", SEVEN_LATER, NINE_LATER, [(75, DEFENSIVE), (76, THREE), (73, ASSIST)]),
            ("9:00.0", "8:55.0", SEVEN_LATER, NINE_LATER, [(74, TURNOVER)]),
            ("8:35.0", "8:30.0", SEVEN_LATER, NINE_LATER, [(75, MISS), (76, OFFENSIVE), (76, TWO)]),
        ],
        9: [
            ("10:00.0", "9:40.0", NINE_LATER, SEVEN_LATER, [(96, TWO), (72, FOUL), (96, MISSED_FREE_THROW)]),
            ("9:30.0", "9:00.0", NINE_LATER, SEVEN_LATER, [(92, THREE), (93, ASSIST)]),
            ("8:55.0", "8:35.0", NINE_LATER, SEVEN_LATER, [(94, MISSED_THREE), (93, OFFENSIVE), (93, TWO)]),
        ],
    },
}
BOXES: dict[str, dict[int, dict[int, dict[str, int]]]] = {
    "H1": {
        7: {
            0: {"FG": 1, "FGA": 2, "FG2": 1, "FT": 2, "FTA": 2, "PTS": 4, "AST": 1, "STL": 1, "DEFENSIVE_REB": 1, "REB": 1},
            71: {"FG": 1, "FGA": 1, "FG2": 1, "PTS": 2},
            72: {"FGA": 1, "AST": 1},
            73: {"FT": 2, "FTA": 2, "PTS": 2, "STL": 1},
            74: {"DEFENSIVE_REB": 1, "REB": 1},
        },
        9: {
            0: {"FG": 1, "FGA": 3, "FG3": 1, "PTS": 3, "TO": 1, "OFFENSIVE_REB": 1, "DEFENSIVE_REB": 1, "REB": 2, "FL": 1},
            91: {"FG": 1, "FGA": 2, "FG3": 1, "PTS": 3, "OFFENSIVE_REB": 1, "REB": 1},
            92: {"TO": 1},
            93: {"FGA": 1},
            94: {"DEFENSIVE_REB": 1, "REB": 1},
            95: {"FL": 1},
        },
    },
    "H2": {
        7: {
            0: {"FG": 2, "FGA": 3, "FG2": 1, "FG3": 1, "PTS": 5, "AST": 1, "TO": 1, "OFFENSIVE_REB": 1, "DEFENSIVE_REB": 1, "REB": 2, "FL": 1},
            72: {"FL": 1},
            73: {"AST": 1},
            74: {"TO": 1},
            75: {"FGA": 1, "DEFENSIVE_REB": 1, "REB": 1},
            76: {"FG": 2, "FGA": 2, "FG2": 1, "FG3": 1, "PTS": 5, "OFFENSIVE_REB": 1, "REB": 1},
        },
        9: {
            0: {"FG": 3, "FGA": 4, "FG2": 2, "FG3": 1, "FTA": 1, "PTS": 7, "AST": 1, "OFFENSIVE_REB": 1, "REB": 1},
            92: {"FG": 1, "FGA": 1, "FG3": 1, "PTS": 3},
            93: {"FG": 1, "FGA": 1, "FG2": 1, "PTS": 2, "AST": 1, "OFFENSIVE_REB": 1, "REB": 1},
            94: {"FGA": 1},
            96: {"FG": 1, "FGA": 1, "FG2": 1, "FTA": 1, "PTS": 2},
        },
    },
}
HALVES_STATS = [read("stats", stats_body(box), half) for half, box in BOXES.items()]
HALVES_POSSESSIONS = [read("possessions", possessions_body(lines), half) for half, lines in HALVES.items()]


def test_the_second_game_agrees_with_itself_too() -> None:
    for stats, possessions in zip(HALVES_STATS, HALVES_POSSESSIONS, strict=True):
        assert sideline.audit(player_stats=stats, possessions=possessions).to_dicts() == []


def test_a_game_is_its_halves_added_up_before_anything_is_divided() -> None:
    shooting = metrics.shooting(HALVES_STATS)
    seven, nine = (row(shooting, team_id=team, player_id=0) for team in (7, 9))
    assert [seven[code] for code in ("FG", "FGA", "FG3", "FTA", "PTS")] == [3, 5, 1, 2, 9]
    assert [nine[code] for code in ("FG", "FGA", "FG3", "FTA", "PTS")] == [4, 7, 2, 1, 10]
    assert [seven["effective_field_goal"], nine["effective_field_goal"]] == pytest.approx([3.5 / 5, 5 / 7])
    assert [seven["true_shooting"], nine["true_shooting"]] == pytest.approx([9 / (2 * 5.88), 10 / (2 * 7.44)])
    factors = ["effective_field_goal", "turnover_rate", "offensive_rebound_rate", "free_throw_rate"]
    game = metrics.four_factors(HALVES_STATS, HALVES_POSSESSIONS)
    assert row(game.select("team_id", *factors), team_id=7) == pytest.approx(dict(zip(["team_id", *factors], [7, 0.7, 1 / 6, 1 / 2, 2 / 5], strict=True)))
    assert row(game.select("team_id", *factors), team_id=9) == pytest.approx(dict(zip(["team_id", *factors], [9, 5 / 7, 1 / 6, 2 / 4, 0], strict=True)))
    halves = metrics.four_factors(HALVES_STATS, HALVES_POSSESSIONS, by=["session_id"])
    assert halves.select("session_id", "team_id", *factors).rows() == [
        ("H1", 7, 1 / 2, 0.0, 0 / 1, 2 / 2),
        ("H1", 9, 1.5 / 3, 1 / 3, 1 / 2, 0.0),
        ("H2", 7, 2.5 / 3, 1 / 3, 1 / 1, 0.0),
        ("H2", 9, 3.5 / 4, 0.0, 1 / 2, 0.0),
    ]


def test_the_second_games_ratings_are_by_its_six_possessions() -> None:
    table = metrics.ratings(HALVES_POSSESSIONS)
    assert table.select("team_id", "possessions", "opponent_possessions", "points", "opponent_points", "seconds").rows() == [
        (7, 6, 6, 9, 10, 200.0),
        (9, 6, 6, 10, 9, 200.0),
    ]
    assert table["offensive_rating"].to_list() == pytest.approx([150, 1000 / 6])
    assert table["net_rating"].to_list() == pytest.approx([-100 / 6, 100 / 6])


def test_a_substitution_at_half_time_splits_the_minutes() -> None:
    players = metrics.plus_minus(HALVES_POSSESSIONS)
    seven = {71: 4 - 3, 72: -1, 73: -1, 74: -1, 75: -1, 76: 5 - 7}
    nine = {91: 1, 92: 1, 93: 1, 94: 1, 95: 3 - 4, 96: 7 - 5}
    assert dict(players.select("player_id", "plus_minus").rows()) == seven | nine
    assert {player: row(players, player_id=player)["seconds"] for player in (71, 72, 76)} == {71: 110.0, 72: 200.0, 76: 90.0}
    on_off = metrics.on_off(HALVES_POSSESSIONS)
    expected = {71: (100 / 3, -200 / 3), 76: (-200 / 3, 100 / 3), 95: (-100 / 3, 200 / 3), 96: (200 / 3, -100 / 3)}
    for player, (on, off) in expected.items():
        line = row(on_off, player_id=player)
        assert [line["on_net_rating"], line["off_net_rating"], line["net_rating_difference"]] == pytest.approx([on, off, on - off]), player
    fives = metrics.lineups(HALVES_POSSESSIONS).filter(team_id=7)
    assert sorted(fives.select("lineup", "possessions", "opponent_possessions", "points", "opponent_points", "plus_minus").rows()) == [
        ("71-72-73-74-75", 3, 3, 4, 3, 1),
        ("72-73-74-75-76", 3, 3, 5, 7, -2),
    ]
    # Four stayed: what two fives share is counted once, with the possessions of both.
    for size, count in {4: 5 + 5 - 1, 3: 10 + 10 - 4, 2: 10 + 10 - 6}.items():
        assert len(metrics.lineups(HALVES_POSSESSIONS, size=size).filter(team_id=7)) == count
    pairs = metrics.lineups(HALVES_POSSESSIONS, size=2)
    assert (row(pairs, lineup="72-73")["possessions"], row(pairs, lineup="72-73")["plus_minus"]) == (6, -1)
    assert pairs.filter(lineup="71-76").is_empty()


def test_a_simulated_game_adds_up(client: sideline.Client, game: dict[str, Any]) -> None:
    sessions = [result["id"] for result in game["results"]]
    stats, possessions = [client.stats(session) for session in sessions], [client.possessions(session) for session in sessions]
    box = pl.concat([session_stats.to_polars("player_stats") for session_stats in stats]).filter(is_team_total=True, stat="PTS")
    points = dict(box.group_by("team_id").agg(pl.col("value").sum()).rows())
    ratings = metrics.ratings(possessions)
    assert dict(ratings.select("team_id", "points").rows()) == points
    assert ratings["possessions"].sum() == sum(possession.table("possessions").num_rows for possession in possessions)
    for size in (5, 4, 3, 2):
        units = metrics.lineups(possessions, size=size)
        for team in ratings.to_dicts():
            team_units = units.filter(team_id=team["team_id"])
            for name in ("possessions", "opponent_possessions", "points", "opponent_points", "seconds"):
                assert team_units[name].sum() == pytest.approx(comb(5, size) * team[name])
    first = metrics.lineups(possessions).filter(team_id=ratings["team_id"][0])
    assert (first["possessions"] + first["opponent_possessions"]).is_sorted(descending=True)
    on_off = metrics.on_off(possessions)
    for team in ratings.to_dicts():
        team_units = on_off.filter(team_id=team["team_id"])
        assert set(team_units["on_points"] + team_units["off_points"]) == {team["points"]}
        assert set(team_units["on_possessions"] + team_units["off_possessions"]) == {team["possessions"]}
    shooting = metrics.shooting(stats)
    players = shooting.filter(pl.col("player_id") != 0).group_by("team_id").agg(pl.col("FG", "FGA", "PTS").sum()).sort("team_id")
    assert players.equals(shooting.filter(player_id=0).select("team_id", "FG", "FGA", "PTS"))
    factors = metrics.four_factors(stats, possessions)
    assert factors.select(pl.exclude("team_id").is_between(0, 1).all()).row(0) == (True,) * 8


def test_a_plain_loop_over_the_body_says_the_same(client: sideline.Client, session_id: str) -> None:
    possessions = client.possessions(session_id)
    points_of_units: Counter[tuple[int, ...]] = Counter()
    for team in possessions["teams"]:
        for possession in team["possessions"]:
            points = sum(1 if "FT" in stat["details"] else 3 if "FG3" in stat["details"] else 2 for stat in possession["stats"] if "PTS" in stat["details"])
            for size in (1, 2, 5):
                points_of_units.update(dict.fromkeys(combinations(sorted(possession["player_ids"]), size), points))
                points_of_units.update(dict.fromkeys(combinations(sorted(possession["opposing_player_ids"]), size), -points))
    tables = {1: metrics.plus_minus(possessions), 2: metrics.lineups(possessions, size=2), 5: metrics.lineups(possessions)}
    for size, table in tables.items():
        name = "player_id" if size == 1 else "lineup"
        seen = {tuple(map(int, str(unit).split("-"))): points for unit, points in table.select(name, "plus_minus").rows()}
        assert seen == {unit: points for unit, points in points_of_units.items() if len(unit) == size}


@pytest.mark.parametrize("seed", range(8))
def test_odd_lineups_are_counted_as_a_plain_loop_counts_them(seed: int) -> None:
    """None, two, five, six and seven ids at one instant, and ids twice: the sums over players are those of the definitions."""
    dice = Random(seed)
    body = possessions_body()
    roster = {1: range(11, 19), 2: range(21, 29)}
    for team in body["teams"]:
        # Without the technical free throw: whose it is, the lineup alone says.
        rows = [{**row, "stats": [stat for stat in row["stats"] if stat["player_id"] != 24]} for row in team["possessions"]]
        team["possessions"] = [dict(row) for row in rows * 12]
        for number, possession in enumerate(team["possessions"]):
            for name, side in (("player_ids", team["id"]), ("opposing_player_ids", 3 - team["id"])):
                ids = dice.sample(roster[side], dice.choice((0, 2, 4, 5, 5, 6, 7)))
                possession[name] = None if number == 0 else [*ids, *ids[:1]] if number == 1 else ids
    possessions = read("possessions", body)
    sums: dict[tuple[int, int, str | None], Counter[str]] = {}
    on: dict[tuple[int, int], Counter[str]] = {}
    known_sums: dict[int, Counter[str]] = {1: Counter(), 2: Counter()}
    for team in body["teams"]:
        for possession in team["possessions"]:
            points = sum(1 if "FT" in stat["details"] else 3 if "FG3" in stat["details"] else 2 for stat in possession["stats"] if "PTS" in stat["details"])
            for side, ids, prefix in ((team["id"], possession["player_ids"], ""), (3 - team["id"], possession["opposing_player_ids"], "opponent_")):
                values = Counter({f"{prefix}possessions": 1, f"{prefix}points": points})
                court = sorted({*(ids or ())})
                units = {1: [str(player) for player in court] or [None]}
                units |= {
                    size: ["-".join(map(str, five)) for five in combinations(court, size)] if size <= len(court) <= 5 else [None] for size in (2, 3, 4, 5)
                }
                for size, names in units.items():
                    for name in names:
                        sums.setdefault((size, side, name), Counter()).update(values)
                if len(court) >= 5:
                    known_sums[side].update(values)
                    for player in court:
                        on.setdefault((side, player), Counter()).update(values)
    columns = ("possessions", "opponent_possessions", "points", "opponent_points")
    tables = {1: metrics.plus_minus(possessions), **{size: metrics.lineups(possessions, size=size) for size in (2, 3, 4, 5)}}
    for size, table in tables.items():
        rows = table.select("team_id", pl.col("player_id" if size == 1 else "lineup").cast(pl.String), *columns, "reason").rows()
        assert {(size, team, unit): values for team, unit, *values, _ in rows} == {
            key: [values[name] for name in columns] for key, values in sums.items() if key[0] == size
        }
        assert {reason for _, unit, *_, reason in rows if unit is None} == {"lineup_unknown"}
    minutes = metrics.minutes(possessions).select("team_id", pl.col("player_id").cast(pl.String)).rows()
    assert {(1, *unit) for unit in minutes} == {key for key in sums if key[0] == 1}
    halves = metrics.on_off(possessions).select("team_id", "player_id", *(f"off_{name}" for name in columns)).rows()
    players = {(team, int(unit)) for size, team, unit in sums if size == 1 and unit is not None}
    assert {(team, player): values for team, player, *values in halves} == {
        (team, player): [known_sums[team][name] - on.get((team, player), Counter())[name] for name in columns] for team, player in players
    }
