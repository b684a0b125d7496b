"""The plots of players: who assists whom, and two of them beside each other."""

from __future__ import annotations

from typing import Any

import pytest
from needs import library, needs

import sideline

Figure = library("matplotlib.figure").Figure
FancyArrowPatch = library("matplotlib.patches").FancyArrowPatch
pa = library("pyarrow")
pl = library("polars")
plot = library("sideline.plot")
assist_network, compare_players = plot.assist_network, plot.compare_players


def new() -> Any:
    return Figure().subplots()


def play(possession: int, *events: tuple[str, int, float], team: int = 11, session: str | None = "S") -> list[dict[str, Any]]:
    """A possession of events by kind, player and second; a make is an FGA with the code FG."""
    kinds = {"make": ("FGA", ["FGA2", "FG"]), "miss": ("FGA", ["FGA2"]), "AST": ("AST", [])}
    key = {"session_id": session, "team_id": team, "possession": possession}
    return [
        {**key, "possession_type": kinds[kind][0], "details": kinds[kind][1], "player_id": player, "timestamp": int(second * 1000)}
        for kind, player, second in events
    ]


def draw(rows: list[dict[str, Any]], **options: Any) -> Any:
    return assist_network({name: [row[name] for row in rows] for name in rows[0]}, new(), **options)


def assist_counts(ax: Any) -> dict[str, int]:
    """The assists at each name."""
    return {name: int(number) for name, _, number in (text.get_text().rpartition(" ") for text in ax.texts)}


def arrows(ax: Any) -> list[str]:
    return sorted(str(patch.get_gid()) for patch in ax.patches if isinstance(patch, FancyArrowPatch))


def test_an_assist_belongs_to_the_nearest_make_of_a_team_mate_in_its_possession() -> None:
    rows = [
        *play(0, ("make", 1, 5.0), ("AST", 2, 5.0)),
        # An own make is nearer, and a miss; the make of another possession, team or session is not counted.
        *play(1, ("miss", 3, 9.0), ("AST", 2, 9.0), ("make", 2, 9.0), ("make", 1, 11.0)),
        *play(2, ("make", 4, 20.0), ("make", 1, 24.0), ("AST", 2, 23.5), ("AST", 3, 20.1)),
    ]
    ax = draw(rows)
    assert assist_counts(ax) == {"1": 0, "2": 3, "3": 1, "4": 0}
    assert arrows(ax) == ["1 assist", "3 assists"]
    assert ax.get_xlabel() == "4 assists; numbers, order and size: assists given"
    assert ax.get_title(loc="left") == "Assists of team 11"


def test_a_time_that_python_has_not_is_drawn_as_any_other() -> None:
    rows = [*play(0, ("make", 1, 5.0), ("AST", 2, 5.0)), *play(1, ("make", 3, 9.0), ("AST", 2, 9.0))]
    columns = {name: pa.array([row[name] for row in rows]) for name in rows[0]}
    times = pa.array([row["timestamp"] for row in rows[:3]] + [2**60], pa.int64()).cast(pa.timestamp("ms", "UTC"))
    assert assist_counts(assist_network(pa.table(columns | {"timestamp": times}), new())) == assist_counts(draw(rows))


def test_an_assist_without_a_make_is_counted_and_a_make_has_one_assist() -> None:
    rows = [
        *play(0, ("AST", 2, 5.0), ("make", 1, 5.0), ("AST", 3, 5.0)),
        *play(1, ("AST", 2, 7.0)),
        *play(1, ("make", 1, 7.0), session="T"),
    ]
    ax = draw(rows)
    assert assist_counts(ax) == {"2": 1, "1": 0}
    assert ax.get_xlabel().endswith("; 2 without a made field goal, left out")


def test_a_session_that_is_there_twice_is_refused_though_its_rows_have_no_position() -> None:
    rows = play(0, ("make", 1, 5.0), ("AST", 2, 5.0))
    with pytest.raises(ValueError, match="possession_events has session S twice: pass each session once"):
        draw([*rows, *rows])


def test_rare_pairs_are_left_out_and_counted() -> None:
    rows = [*play(0, ("make", 1, 5.0), ("AST", 2, 5.0)), *play(1, ("make", 1, 6.0), ("AST", 2, 6.0)), *play(2, ("make", 3, 7.0), ("AST", 1, 7.0))]
    ax = draw(rows, min_count=2)
    assert assist_counts(ax) == {"2": 2, "1": 1}, "also those that are not drawn"
    assert "3 assists" in ax.get_xlabel() and "1 pair with fewer than 2, not drawn" in ax.get_xlabel()
    assert [text.get_text() for text in draw(rows, min_count=3).texts] == ["no assists"]
    with pytest.raises(ValueError, match="min_count is 0"):
        draw(rows, min_count=0)


def test_a_network_is_of_one_team() -> None:
    rows = [*play(0, ("make", 1, 5.0), ("AST", 2, 5.0)), *play(0, ("make", 8, 6.0), ("AST", 9, 6.0), team=12)]
    with pytest.raises(ValueError, match="possessions of 2 teams, team 11, The Twelve: pass team="):
        draw(rows, teams={12: "The Twelve"})
    ax = draw(rows, team="twelve", teams={12: "The Twelve"}, players={8: "Ada Bell", 9: "Cy van Bell"})
    assert assist_counts(ax) == {"Bell": 0, "van Bell": 1}
    assert ax.get_title(loc="left") == "Assists of The Twelve"
    assert set(assist_counts(draw(rows, team=11, players={1: "Ada Bell", 2: "Cy Bell"}))) == {"Ada Bell", "Cy Bell"}
    with pytest.raises(ValueError, match="without the column details"):
        assist_network({"session_id": ["S"], "team_id": [1], "possession": [1], "possession_type": ["AST"], "player_id": [1]}, new())


@needs("polars")
def test_the_assists_of_a_game_are_those_of_its_box_score(client: sideline.Client, game: dict[str, Any]) -> None:
    sessions = client.game(game["id"])
    possessions = client.possessions(sessions)
    rows = [row for row in client.stats(sessions).table("box_score").to_dicts() if not row["is_team_total"] and row["AST"]]
    for team in (game["game_attributes"]["home_team_id"], game["game_attributes"]["away_team_id"]):
        ax = assist_network(possessions, new(), team=team)
        expected: dict[int, int] = {}
        for row in rows:
            if row["team_id"] == team:
                expected[row["player_id"]] = expected.get(row["player_id"], 0) + int(row["AST"])
        counts = {int(text.get_gid().split()[1]): int(text.get_text().split()[-1]) for text in ax.texts}
        assert {player: number for player, number in counts.items() if number} == expected
        assert ax.get_xlabel().startswith(f"{sum(expected.values())} assists;")


LINES: dict[str, list[Any]] = {
    "game_id": ["G", "G", "G", "H", "H"],
    "player_id": [1, 1, 2, 1, 2],
    "player_name": ["Ada Bell", "Ada Bell", "Cy Roe", "Ada Bell", "Cy Roe"],
    "PTS": [4, 6, 8, 2, None],
    "TO": [1, 0, 3, 2, None],
    "FG": [2, 3, 3, 1, None],
    "FGA": [4, 5, 12, 1, None],
    "FT": [0, 0, 0, 0, None],
    "FTA": [0, 0, 4, 0, None],
}


def values(ax: Any) -> dict[str, tuple[str, str]]:
    texts = {text.get_gid(): text for text in ax.texts if text.get_gid()}
    stats = dict.fromkeys(gid.rpartition(" ")[0] for gid in texts)
    return {stat: (texts[f"{stat} left"].get_text(), texts[f"{stat} right"].get_text()) for stat in stats}


def better(ax: Any) -> set[str]:
    return {text.get_gid() for text in ax.texts if text.get_gid() and text.get_weight() == "bold"}


def test_a_comparison_is_per_game_played() -> None:
    ax = compare_players(LINES, ["bell", 2], new())
    assert values(ax) == {"PTS": ("6.0", "8.0"), "TO": ("1.5", "3.0"), "FG%": ("60 %", "25 %"), "FT%": ("no attempt", "0 %")}
    assert better(ax) == {"PTS right", "TO left", "FG% left", "FT% right"}
    assert ax.get_xlabel() == "per game; 2 and 1 played; bold: the better value; not in the rows: REB, AST, STL, BLK, FG3%"
    widths = [patch.get_width() for patch in ax.patches]
    assert widths[:4] == pytest.approx([-0.75, 1, -0.5, 1])
    assert ax.get_title(loc="left") == "Ada Bell and Cy Roe"


def test_a_game_played_without_a_chosen_statistic_counts() -> None:
    """A code that is zero may be null: one steal in two games is half a steal per game."""
    rows = {**LINES, "STL": [1, None, 2, None, None], "FL": [None, None, None, None, 3], "DIST": [9.0] * 5}
    ax = compare_players(rows, [1, 2], new(), stats=["STL"])
    assert values(ax) == {"STL": ("0.5", "1.0")}
    assert ax.get_xlabel() == "per game; 2 and 2 played; bold: the better value"


def test_a_comparison_without_games_has_the_values_of_the_rows() -> None:
    rates = {"player_id": [1, 2], "PTS": [17.25, 12.0], "minutes": [31.0, 20.0]}
    ax = compare_players(rates, [2, 1], new(), stats=["PTS"], names={1: "Ada Bell"})
    assert values(ax) == {"PTS": ("12.0", "17.2")}
    assert ax.get_xlabel() == "as in the rows; bold: the better value"
    assert ax.get_title(loc="left") == "player 2 and Ada Bell"
    with pytest.raises(ValueError, match="player 1 has 2 rows without game_id"):
        compare_players({"player_id": [1, 1, 2], "PTS": [1, 2, 3]}, [1, 2], new())


@pytest.mark.parametrize(
    ("players", "options", "message"),
    [
        ([1], {}, r"players is \[1\]; it must be two ids or names"),
        ("ada", {}, "players is 'ada'; it must be two ids or names"),
        ([1, "ada"], {}, "the same player twice: name two"),
        ([1, "rue"], {}, "player 'rue' matches no name"),
        ([1, 3], {"names": {3: "Eve Fox"}}, "player Eve Fox has no row"),
        ([1, 2], {"stats": ["PTS", "DIST"]}, "box_score without the column DIST"),
        ([1, 2], {"stats": ["FG3%"]}, "box_score without the column FG3, FGA3"),
    ],
)
def test_a_comparison_that_cannot_be_drawn_is_refused(players: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare_players(LINES, players, new(), **options)


@needs("polars")
def test_two_players_of_a_game_are_compared_by_its_box_score(client: sideline.Client, game: dict[str, Any]) -> None:
    lines = pl.DataFrame(client.box_score(game["id"])).filter(~pl.col("is_team_total"), ~pl.col("did_not_play"))
    first, second = lines.sort("PTS")["player_id"].to_list()[-2:]
    points = dict(zip(lines["player_id"], lines["PTS"], strict=True))
    ax = compare_players(client.stats(client.game(game["id"])), [first, second], new(), stats=["PTS"])
    assert values(ax) == {"PTS": (f"{points[first]:.1f}", f"{points[second]:.1f}")} == values(compare_players(lines, [first, second], new(), stats=["PTS"]))
