"""The plots: measured on the drawn artists, and compared with reviewed pictures."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needs import library, needs

import sideline

matplotlib = library("matplotlib")
pd = library("pandas")
pl = library("polars")
pa = library("pyarrow")
Axes = library("matplotlib.axes").Axes
FigureCanvasAgg = library("matplotlib.backends.backend_agg").FigureCanvasAgg
PathCollection = library("matplotlib.collections").PathCollection
PolyCollection = library("matplotlib.collections").PolyCollection
to_rgba = library("matplotlib.colors").to_rgba
Figure = library("matplotlib.figure").Figure
imread = library("matplotlib.image").imread
imsave = library("matplotlib.image").imsave
compare_images = library("matplotlib.testing.compare").compare_images
Text = library("matplotlib.text").Text
plot = library("sideline.plot")
court, possession_timeline, score_margin = plot.court, plot.possession_timeline, plot.score_margin
shot_chart, tracking, zones = plot.shot_chart, plot.tracking, plot.zones
BANDS = library("sideline.plot._loads").BANDS
assist_network, compare_players = plot.assist_network, plot.compare_players
separate, hexagons = library("sideline.plot._shots").separate, library("sideline.plot._shots").hexagons

BASELINES = Path(__file__).parent / "baselines"


@pytest.fixture(autouse=True)
def _agg() -> Iterator[None]:
    """Without a screen and with matplotlib's defaults: the pictures depend on neither the machine's fonts nor its settings."""
    backend = matplotlib.get_backend()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.use("agg")
        yield
    from matplotlib import pyplot

    pyplot.close("all")
    matplotlib.use(backend)


def new(width: float = 4.0, height: float = 4.2, box: tuple[float, ...] = (0.03, 0.14, 0.94, 0.78)) -> Axes:
    """An axes with a fixed position, so that a slightly wider font moves no line."""
    figure = Figure(figsize=(width, height), dpi=70)
    FigureCanvasAgg(figure)
    return figure.add_axes(box)


# Data. By hand, or by arithmetic that is the same everywhere: no picture changes with the simulator.


def some_shots(count: int = 260) -> dict[str, list[Any]]:
    dice = random.Random(6)
    rows = []
    for number in range(count):
        angle, away = math.pi * dice.random(), (300 + 2300 * dice.random(), 3000 + 3400 * dice.random(), 6800 + 700 * dice.random())[number % 3]
        three, is_make = number % 3 == 2, dice.random() < (0.6, 0.4, 0.35)[number % 3]
        zone = (1, 3, 9)[number % 3] + int(4.99 * angle / math.pi)
        rows.append((away * math.cos(angle), away * math.sin(angle) * 0.95, is_make, (2 + three) * is_make, zone, 11 + number % 2))
    names = ("hoop_player_x", "hoop_player_y", "is_make", "points", "zone", "team_id")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


START = datetime(2027, 3, 1, 19, 0, tzinfo=UTC)
PLAYERS = {100 + number: str(number) for number in range(10)}
TEAMS = {11: "Elkhorn Mariners", 12: "Harrow Rangers"}


def some_locations(seconds: int = 10) -> pa.Table:
    rows = []
    for step in range(2 * seconds + 1):
        for number in range(11):
            turn = 0.6 * number + 0.05 * step * (1 + number % 3)
            ball = number == 10
            rows.append(
                {
                    "t": START + timedelta(milliseconds=500 * step),
                    "x": 5500 * math.sin(turn),
                    "y": 9000 + 3600 * math.cos(turn) if not ball else 9000.0 - 200 * step,
                    "tag": f"t{number}",
                    "type": "BALL" if ball else "PLAYER",
                    "team_id": None if ball else 11 + number % 2,
                    "player_id": None if ball else 100 + number,
                    "game_clock": f"12:{30 - step / 2:04.1f}",
                }
            )
    return pa.Table.from_pylist(rows)


def some_possessions() -> pa.Table:
    rows, at, clock = [], START, 1200.0
    for number in range(40):
        long = timedelta(seconds=8 + 5 * (number % 5))
        clock = 1200.0 if number == 20 else clock
        rows.append(
            {
                "team_id": 11 + number % 2,
                "team_name": TEAMS[11 + number % 2],
                "start_timestamp": at,
                "end_timestamp": at + long,
                "start_game_clock_s": clock,
                "end_game_clock_s": clock - long.total_seconds(),
                "period": "H1" if number < 20 else "H2",
                "turnover": int(number % 7 == 3),
            }
        )
        clock -= long.total_seconds()
        at += long if number != 19 else timedelta(minutes=5)
    return pa.Table.from_pylist(rows)


def some_formation() -> pa.Table:
    """Two teams at the line of scrimmage, and the ball."""
    places = [(0, -4), (1, -7), (-20, -1), (20, -1), (6, -1), (-4, -1), (-2, -1), (0, -1), (2, -1), (4, -1), (-12, -2)]
    rows = [{"t": START, "tag": "ball", "type": "BALL", "x": 2000.0, "y": 9144.0, "team_id": None, "player_id": None}]
    for number, (across, along) in enumerate(places):
        for team, side in ((11, 1), (12, -1)):
            x, y = 2000 + side * across * 914.4, 9144 + side * along * 914.4 * (1 if side == 1 else 1.5)
            rows.append({"t": START, "tag": f"{team} {number}", "type": "PLAYER", "x": x, "y": y, "team_id": team, "player_id": number + 1})
    return pa.Table.from_pylist(rows)


def some_assists() -> dict[str, list[Any]]:
    """Possessions of a made shot and its assist, more of them for lower numbers of players."""
    rows = []
    for number in range(40):
        passer, scorer = 101 + min(number * 7 % 11, number * 5 % 7), 101 + (number * 3 + number // 6) % 7
        if passer != scorer:
            key = {"session_id": "S", "team_id": 11, "team_name": TEAMS[11], "possession": number, "timestamp": START}
            rows.append({**key, "possession_type": "FGA", "details": ["FGA2", "FG", "FG2", "PTS"], "player_id": scorer})
            rows.append({**key, "possession_type": "AST", "details": [], "player_id": passer})
    return {name: [row[name] for row in rows] for name in rows[0]}


def some_box_scores() -> dict[str, list[Any]]:
    """Two halves of a game, and a game of player 101 alone."""
    codes = ("PTS", "REB", "AST", "TO", "FG", "FGA", "FT", "FTA")
    rows = [
        ("G", 101, "Ada Bell", (8, 3, 2, 1, 3, 7, 2, 2)),
        ("G", 102, "Cy Bell", (4, 6, None, 2, 2, 9, 0, 0)),
        ("G", 101, "Ada Bell", (6, 1, 4, 2, 3, 6, 0, 1)),
        ("G", 102, "Cy Bell", (9, 5, 1, None, 4, 7, 1, 4)),
        ("H", 101, "Ada Bell", (11, 2, 3, 0, 4, 9, 3, 4)),
        ("H", 102, "Cy Bell", (None,) * 8),
    ]
    table: dict[str, list[Any]] = {"game_id": [], "player_id": [], "player_name": [], **{code: [] for code in codes}}
    for game_id, player_id, name, counts in rows:
        for column, value in zip(table, (game_id, player_id, name, *counts), strict=True):
            table[column].append(value)
    return table


def line(ax: Axes, name: str, index: int = 0) -> Any:
    return [artist for artist in ax.lines if artist.get_gid() == name][index].get_xydata()


def dots(ax: Axes) -> list[tuple[float, float]]:
    return sorted(
        tuple(place) for collection in ax.collections if isinstance(collection, PathCollection) for place in np.asarray(collection.get_offsets()).tolist()
    )


def written(ax: Axes) -> str:
    return " | ".join(text.get_text() for text in ax.texts)


# Courts.

FOOT, INCH = 304.8, 25.4
# As the rules have them; distances from the hoop's centre, which is 63 inches or 1.575 m from the baseline.
RULES = {
    "college": {
        "width": 50 * FOOT,
        "length": 94 * FOOT,
        "arc": 22 * FOOT + 1.75 * INCH,
        "corner": 21 * FOOT + 7.875 * INCH,
        "corner to sideline": 40.125 * INCH,
        "lane": 12 * FOOT,
        "free throw to board": 15 * FOOT,
        "circle": 6 * FOOT,
        "restricted": 4 * FOOT,
        "board to hoop": 15 * INCH,
        "board": 72 * INCH,
        "ring": 18 * INCH,
    },
    "pro": {
        "width": 50 * FOOT,
        "length": 94 * FOOT,
        "arc": 23.75 * FOOT,
        "corner": 22 * FOOT,
        "corner to sideline": 3 * FOOT,
        "lane": 16 * FOOT,
        "free throw to board": 15 * FOOT,
        "circle": 6 * FOOT,
        "restricted": 4 * FOOT,
        "board to hoop": 15 * INCH,
        "board": 72 * INCH,
        "ring": 18 * INCH,
    },
    "international": {
        "width": 15_000,
        "length": 28_000,
        "arc": 6_750,
        "corner": 6_600,
        "corner to sideline": 900,
        "lane": 4_900,
        "free throw to board": 4_600,
        "circle": 1_800,
        "restricted": 1_250,
        "board to hoop": 375,
        "board": 1_800,
        "ring": 450,
    },
}


@pytest.mark.parametrize("kind", RULES)
def test_a_court_has_the_measures_of_its_rules(kind: Any) -> None:
    ax = court(new(), kind)
    outline, three, lane, under = (line(ax, name) for name in ("outline", "three_point", "lane", "restricted"))
    circle, ring, board, middle = (line(ax, name) for name in ("free_throw_circle", "ring", "backboard", "centre_circle"))
    from_hoop = np.hypot(*three[1:-1].T)
    assert np.ptp(from_hoop) < 1e-6
    dimensions = {
        "width": np.ptp(outline[:, 0]),
        "length": 2 * np.ptp(outline[:, 1]),
        "arc": from_hoop[0],
        "corner": three[0, 0],
        "corner to sideline": outline[:, 0].max() - three[:, 0].max(),
        "lane": np.ptp(lane[:, 0]),
        "free throw to board": lane[:, 1].max() - board[0, 1],
        "circle": np.ptp(circle[:, 0]) / 2,
        "restricted": under[:, 1].max(),
        "board to hoop": -board[0, 1],
        "board": np.ptp(board[:, 0]),
        "ring": np.ptp(ring[:, 0]),
    }
    assert dimensions == pytest.approx(RULES[kind], abs=1e-6)
    # The straight lines of the corners end where the arc begins, the circles lie where they belong.
    assert three[0, 0] == pytest.approx(three[1, 0])
    assert three[0, 1] == outline[:, 1].min() < three[1, 1]
    assert circle[0, 1] == lane[:, 1].max()
    assert middle[:, 1].max() == pytest.approx(outline[:, 1].max())
    assert np.ptp(middle[:, 0]) / 2 == pytest.approx(RULES[kind]["circle"])
    assert ax.get_aspect() == 1


def test_the_full_court_is_in_the_frame_of_positions() -> None:
    """Specification: origin the centre, x across, y along; facts: the hoops of a college court at 12725."""
    ax = court(new(), "college", half=False)
    for end, sign in enumerate((-1, 1)):
        ring = line(ax, "ring", end)
        assert (ring.max(axis=0) + ring.min(axis=0)) / 2 == pytest.approx([0, sign * 12725.4], abs=0.5)
        assert sign * line(ax, "outline", end)[:, 1] == pytest.approx([0, 14325.6, 14325.6, 0], abs=0.1)
        # Each end's arc is 6750 from its own hoop, and towards the centre.
        arc = line(ax, "three_point", end)[1:-1]
        assert np.hypot(arc[:, 0], arc[:, 1] - sign * 12725.4) == pytest.approx(6750.05, abs=0.1)
        assert (sign * arc[:, 1]).min() == pytest.approx(12725.4 - 6750.05, abs=0.1)
    low, high = ax.get_ylim()
    assert low == -high < -14325.6


def test_an_unknown_court_is_refused() -> None:
    with pytest.raises(ValueError, match="court is 'nba'; it must be one of college, pro, international, or a Court"):
        court(new(), "nba")  # type: ignore[arg-type]


def test_a_court_of_other_rules_is_drawn_by_its_measures() -> None:
    old = replace(sideline.court.COLLEGE_WOMEN, arc=20.75 * FOOT, corner=20.75 * FOOT)
    three = line(shot_chart(some_shots(), new(), court=old), "three_point")
    assert np.hypot(*three[1:-1].T) == pytest.approx(20.75 * FOOT)


YARD = 914.4


def test_a_football_field_has_the_measures_of_the_rules() -> None:
    """NCAA, rule 1: 360 by 160 feet, a line every 5 yards, hash marks 60 feet from the sidelines."""
    ax = court(new(), "football")
    outline = line(ax, "outline")
    assert (np.ptp(outline[:, 0]), np.ptp(outline[:, 1])) == (pytest.approx(160 * FOOT), pytest.approx(360 * FOOT))
    assert sorted({*line(ax, "goal_lines")[::3, 1]}) == pytest.approx([-50 * YARD, 50 * YARD])
    assert line(ax, "yard_lines")[::3, 1] == pytest.approx([yard * YARD for yard in range(-45, 50, 5)])
    hashes = line(ax, "hash_marks")
    assert len(hashes) == 4 * 80 * 3
    inner = hashes[np.abs(hashes[:, 0]) < 30 * FOOT]
    assert {round(abs(x) / FOOT) for x in inner[:, 0]} == {19, 21}
    numbers = [patch.get_path().get_extents() for patch in ax.patches if patch.get_gid() == "number"]
    assert len(numbers) == 18
    assert max(max(abs(box.x0), abs(box.x1)) for box in numbers) == pytest.approx(160 * FOOT / 2 - 7 * YARD, abs=1)
    assert [patch.get_gid() for patch in ax.patches].count("end_zone") == 2
    assert ax.get_aspect() == 1


def test_shots_are_not_drawn_on_a_football_field() -> None:
    with pytest.raises(ValueError, match="court is 'football'; it must be one of college, pro, international, or a Court"):
        shot_chart(some_shots(), new(), court="football")  # type: ignore[arg-type]


# An axes in, an axes out.

CALLS: dict[str, Callable[[Axes | None], Axes]] = {
    "court": lambda ax: court(ax),
    "full": lambda ax: court(ax, "pro", half=False),
    "field": lambda ax: court(ax, "football"),
    "makes": lambda ax: shot_chart(some_shots(), ax),
    "hexbin": lambda ax: shot_chart(some_shots(), ax, kind="hexbin"),
    "heatmap": lambda ax: shot_chart(some_shots(), ax, kind="heatmap"),
    "zones": lambda ax: zones(some_shots(), ax),
    "margin": lambda ax: score_margin(*some_possessions_and_events(), ax),
    "timeline": lambda ax: possession_timeline(some_possessions(), ax),
    "tracking": lambda ax: tracking(some_locations(), ax, trail=3),
    "assists": lambda ax: assist_network(some_assists(), ax),
    "comparison": lambda ax: compare_players(some_box_scores(), [101, 102], ax),
}


@needs("polars")
@pytest.mark.parametrize("name", CALLS)
def test_an_axes_in_is_the_axes_out_and_no_setting_is_changed(name: str) -> None:
    from matplotlib import pyplot

    before, figures = dict(matplotlib.rcParams), pyplot.get_fignums()
    ax = new()
    assert CALLS[name](ax) is ax
    assert ax.figure.axes == [ax]
    assert (dict(matplotlib.rcParams), pyplot.get_fignums()) == (before, figures)
    pyplot_ax = CALLS[name](None)
    assert len(pyplot.get_fignums()) == len(figures) + 1
    assert pyplot_ax.figure is pyplot.gcf()


def in_a_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()


def test_matplotlib_is_loaded_with_the_first_use_and_pyplot_only_for_a_new_axes() -> None:
    code = """
import sys, sideline
def loaded(): return int("matplotlib" in sys.modules), int("matplotlib.pyplot" in sys.modules)
print(*loaded(), int("plot" in dir(sideline)), end=" ")
from matplotlib.figure import Figure
one = {name: [1] for name in ("hoop_player_x", "hoop_player_y", "is_make", "points", "zone", "t", "x", "y")}
for kind in ("scatter", "hexbin", "heatmap", "zones"): sideline.plot.shot_chart(one, Figure().add_subplot(), kind=kind)
sideline.plot.zones(one, Figure().add_subplot())
sideline.plot.tracking(one, Figure().add_subplot(), trail=1)
print(*loaded(), end=" ")
sideline.plot.court()
print(*loaded())
"""
    assert in_a_new_process(code) == "0 0 1 1 0 1 1"


@pytest.mark.parametrize("missing", ["matplotlib", "pyarrow"])
def test_without_the_extra_the_error_says_what_to_install(missing: str) -> None:
    code = f"""
import sys, sideline
sys.modules[{missing!r}] = None
try: sideline.plot
except ModuleNotFoundError as error: print(error)
from sideline import *
"""
    assert in_a_new_process(code) == f'{missing} is not installed; install it with: pip install "sideline[plot]"'


# Data in.


@needs("polars")
def test_the_same_shots_are_drawn_whatever_holds_them(client: sideline.Client, game: dict[str, Any]) -> None:
    payload = client.game_shots(str(game["id"]))
    table = payload.table()
    rows = table.to_dicts()
    expected = sorted((row["hoop_player_x"], row["hoop_player_y"]) for row in rows)
    assert len(expected) > 50
    columns = {name: [row[name] for row in rows] for name in ("hoop_player_x", "hoop_player_y", "is_make")}
    for data in (
        payload,
        table,
        table.to_polars(),
        table.to_pandas(),
        table.to_arrow(),
        pd.DataFrame(columns),
        columns,
        [payload],
        (table.head(10), table.to_polars()[10:]),
        table.to_polars().with_columns(pl.col(pl.Int64).cast(pl.Int128)),
    ):
        assert dots(shot_chart(data, new())) == expected


def test_sessions_of_a_game_come_together(client: sideline.Client, game: dict[str, Any]) -> None:
    ids = [result["id"] for result in game["results"]]
    sessions = [client.shots(session_id) for session_id in ids]
    assert dots(shot_chart(sessions, new())) == dots(shot_chart(client.game_shots(game["id"]), new()))
    assert len(possession_timeline([client.possessions(session_id) for session_id in ids], new()).lines) == len(ids)


@pytest.mark.parametrize(
    ("draw", "operation", "table"),
    [
        (plot.shot_chart, "shots", "shots"),
        (plot.zones, "shots", "shots"),
        (lambda rows: plot.assist_network(rows, team=1011), "possessions", "possession_events"),
        (lambda rows: plot.compare_players(rows, [200641, 200642]), "stats", "box_score"),
    ],
    ids=["shot_chart", "zones", "assist_network", "compare_players"],
)
def test_a_session_is_not_counted_twice(client: sideline.Client, game: dict[str, Any], draw: Any, operation: str, table: str) -> None:
    first, second = (getattr(client, operation)(session["id"], game_id=game["id"]) for session in game["results"][:2])
    frame = first.to_polars(table)
    draw([first, second])
    draw([frame.head(len(frame) // 2), frame.tail(-(len(frame) // 2))])
    if table == "shots":
        draw(pl.concat([frame, frame.tail(1)]))  # the service may send a shot twice
    for rows in ([first, second, first], [frame, second, frame.tail(5)] if table == "shots" else [frame, second, frame]):
        with pytest.raises(ValueError, match=f"{table} has session {game['results'][0]['id']} twice: pass each session once"):
            draw(rows)


def test_teams_have_the_names_of_the_body_else_of_the_caller_else_their_ids(client: sideline.Client, game: dict[str, Any], session_id: str) -> None:
    home = game["game_attributes"]["home_team_id"]
    name = game["game_attributes"]["home_team_name"]
    payload = client.shots(session_id)

    def title(*data: Any, **more: Any) -> str:
        return shot_chart(*data, new(), team=home, **more).get_title(loc="left")

    assert title(payload) == name
    assert title(payload.table()) == f"team {home}"
    assert title(payload.table(), teams={home: "We"}) == title(payload, teams={home: "We"}) == "We"
    player = payload.table().to_dicts()[0]["player_id"]
    player_chart = shot_chart(payload, new(), player=player)
    player_name = {row["player_id"]: f"{row['first_name']} {row['last_name']}" for row in client.stats(session_id).table().to_dicts()}[player]
    assert player_chart.get_title(loc="left").startswith(f"{player_name}, ")
    assert title(payload.table(), player=player, players={player: "Me"}) == f"Me, team {home}"
    assert 0 < len(dots(player_chart)) < len(dots(shot_chart(payload, new(), team=home))) < payload.table().num_rows


@pytest.mark.parametrize(
    ("draw", "without"),
    [
        (lambda data: shot_chart(data, new()), "is_make"),
        (lambda data: shot_chart(data, new(), kind="hexbin"), "points"),
        (lambda data: shot_chart(data, new(), team=11), "team_id"),
        (lambda data: zones(data, new()), "zone"),
        (lambda data: zones({**data, "zone": data.get("zone", [])}, new(), advanced=True), "advanced_zone"),
    ],
)
def test_a_missing_column_is_named(draw: Any, without: str) -> None:
    data = {name: column for name, column in some_shots().items() if name != without}
    with pytest.raises(ValueError, match=f"shots without the column {without}; there are: hoop_player_x, "):
        draw(data)
    with pytest.raises(ValueError, match="possessions without the column start_game_clock_s, end_game_clock_s; there are: team_id"):
        possession_timeline({"team_id": [1]}, new())
    with pytest.raises(ValueError, match="possessions without the column start_timestamp, end_timestamp; there are: team_id"):
        possession_timeline({"team_id": [1]}, new(), clock="wall")
    with pytest.raises(ValueError, match="locations without the column t; there are: x, y"):
        tracking({"x": [1.0], "y": [1.0]}, new())


def test_an_object_without_rows_is_refused() -> None:
    with pytest.raises(TypeError, match="shots is a Payload, a Batch, a Table or a frame with the Arrow C interface, not LazyFrame: write .collect"):
        shot_chart(pl.LazyFrame(some_shots()), new())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the column hoop_player_x is of type string; numbers or times are needed"):
        shot_chart({"hoop_player_x": ["a"], "hoop_player_y": [1.0], "is_make": [True]}, new())
    with pytest.raises(ValueError, match="kind is 'dots'; it must be one of scatter, hexbin, heatmap, zones; court= selects the court"):
        shot_chart(some_shots(), new(), kind="dots")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cell is 0; it must be a number of millimetres above 0"):
        shot_chart(some_shots(), new(), kind="hexbin", cell=0)


NO_SHOTS = {name: column[:0] for name, column in some_shots().items()}


@pytest.mark.parametrize(
    ("draw", "note"),
    [
        (lambda ax: shot_chart(NO_SHOTS, ax), "no shots"),
        (lambda ax: shot_chart(NO_SHOTS, ax, kind="hexbin"), "no shots"),
        (lambda ax: shot_chart(NO_SHOTS, ax, kind="heatmap"), "no shots"),
        (lambda ax: shot_chart(some_shots(), ax, team=99, teams={99: "On the roster"}), "no shots"),
        (lambda ax: shot_chart([], ax), "no shots"),
        (lambda ax: zones(NO_SHOTS, ax), "no shots"),
        (lambda ax: tracking(some_locations().slice(0, 0), ax), "no positions"),
        (lambda ax: tracking(some_locations(), ax, at=START - timedelta(hours=1)), "no positions at this moment"),
    ],
)
def test_nothing_to_draw_is_an_empty_court_that_says_so(draw: Any, note: str) -> None:
    ax = draw(new())
    assert written(ax) == note
    assert len(line(ax, "three_point")) > 100
    assert not dots(ax)


def test_without_possessions_an_empty_axis_says_so() -> None:
    assert written(possession_timeline(some_possessions().slice(0, 0), new())) == "no possessions"


# Shots.


def test_makes_are_circles_and_misses_crosses() -> None:
    shots = {"hoop_player_x": [1.0, 2.0, 3.0], "hoop_player_y": [5.0, 6.0, 7.0], "is_make": [True, False, True]}
    marks = {collection.get_label(): np.asarray(collection.get_offsets()).tolist() for collection in shot_chart(shots, new()).collections}
    assert marks == {"make": [[1.0, 5.0], [3.0, 7.0]], "miss": [[2.0, 6.0]]}


def test_shots_outside_the_chart_are_counted() -> None:
    shots = {"hoop_player_x": [0.0, 1.0, None, 0.0, 8100.0], "hoop_player_y": [0.0, 14_000.0, 5.0, 1.0, 0.0], "is_make": [True, True, True, None, True]}
    assert shot_chart(shots, new()).get_xlabel() == "1 of 1 made; 2 outside this half, left out; 2 incomplete, left out"


def test_each_shot_is_in_the_hexagon_that_is_nearest() -> None:
    shots = some_shots()
    x, y, cell = np.array(shots["hoop_player_x"]), np.array(shots["hoop_player_y"]), 700.0
    centres, indices = hexagons(x, y, cell)
    grid = [(cell * (column + row % 2 / 2), cell * math.sqrt(3) / 2 * row) for row in range(-3, 17) for column in range(-15, 16)]
    for px, py, centre in zip(x, y, centres[indices], strict=True):
        assert min(grid, key=lambda place: math.hypot(place[0] - px, place[1] - py)) == pytest.approx(tuple(centre), abs=1e-5)
    assert sorted(set(indices.tolist())) == list(range(len(centres)))


def test_a_label_of_a_hexagon_is_its_made_and_attempted_shots() -> None:
    shots = {
        "hoop_player_x": [0.0, 10.0, -10.0, 7000.0],
        "hoop_player_y": [0.0, 0.0, 10.0, 2000.0],
        "is_make": [True, True, False, True],
        "points": [2, 2, 0, 3],
    }

    def labels(**options: Any) -> dict[str, tuple[float, float]]:
        ax = shot_chart(shots, new(), kind="hexbin", labels=True, **options)
        return {text.get_text(): text.get_position() for text in ax.texts if text.get_gid() == "hexagon label"}

    assert labels(cell=1200) == {"2/3": (0.0, 0.0)}
    counts = labels(cell=1200, min_count=1)
    assert counts.keys() == {"2/3", "1/1"} and np.hypot(*np.subtract(counts["1/1"], (7000, 2000))) < 1200 / np.sqrt(3)
    with pytest.raises(ValueError, match='pass kind="hexbin"; kind="zones" always has labels'):
        shot_chart(shots, new(), labels=True)


def test_a_hexagons_colour_is_points_a_shot_and_its_size_the_number_of_shots() -> None:
    # At the hoop three shots for four points, far away one for three, which is too few to say what it is worth.
    shots = {
        "hoop_player_x": [0.0, 10.0, -10.0, 7000.0],
        "hoop_player_y": [0.0, 0.0, 10.0, 2000.0],
        "is_make": [True, True, False, True],
        "points": [2, 2, 0, 3],
    }
    ax = shot_chart(shots, new(), kind="hexbin", cell=800)
    assert ax.get_xlabel().endswith("grey: fewer than 2 shots")
    ax = shot_chart(shots, new(), kind="hexbin", cell=800, min_count=1, edgecolors="red")
    assert "grey" not in ax.get_xlabel()
    cells, key = [collection for collection in ax.collections if isinstance(collection, PolyCollection)]
    assert matplotlib.colors.to_hex(cells.get_edgecolor()[0]) == "#ff0000"
    assert (key.get_gid(), len(key.get_paths()), written(ax)) == ("size_key", 3, "1 | 2 | 3+ | shots")
    near_path, far_path = sorted(cells.get_paths(), key=lambda path: path.vertices[:, 0].mean())
    width = {name: np.ptp(path.vertices[:, 0]) for name, path in (("near", near_path), ("far", far_path))}
    assert 0.3 * 800 < width["far"] < width["near"] <= 0.95 * 800 + 1e-6
    from sideline.plot._look import EFFICIENCY

    assert cells.get_facecolor().tolist() == EFFICIENCY.to_rgba([4 / 3, 3.0]).tolist()
    assert [label.get_text() for label in ax.child_axes[0].get_xticklabels()] == ["0.5", "1.0", "1.5"]


def test_a_zone_is_at_the_mean_of_its_shots() -> None:
    shots = {
        "hoop_player_x": [0.0, 200.0, 5000.0],
        "hoop_player_y": [100.0, 300.0, 6000.0],
        "is_make": [True, False, True],
        "points": [2, 0, 3],
        "zone": [1, 1, 11],
    }
    ax = zones(shots, new())
    assert {text.get_gid(): (text.get_text(), text.get_position()) for text in ax.texts} == {
        "zone 1": ("50%\n1/2", (100.0, 200.0)),
        "zone 11": ("100%\n1/1", (5000.0, 6000.0)),
    }
    assert "zone borders are not published" in ax.get_xlabel()


def overlapping(boxes: list[Any]) -> list[tuple[int, int]]:
    return [(index, other) for index in range(len(boxes)) for other in range(index) if boxes[index].overlaps(boxes[other])]


def test_zones_that_would_meet_give_way_and_all_can_be_read() -> None:
    ax = zones(some_shots(), new())
    ax.figure.canvas.draw()
    assert overlapping([text.get_bbox_patch().get_window_extent() for text in ax.texts]) == []
    rng = np.random.default_rng(3)
    places, sizes = rng.uniform(-6000, 6000, (23, 2)), np.tile([1500.0, 600.0], (23, 1))
    new_places = separate(places, sizes)
    clear = np.abs(new_places[:, None] - new_places[None]) >= (sizes[:, None] + sizes[None]) / 2
    assert (clear.any(axis=2) | np.eye(23, dtype=bool)).all()
    # Boxes that overlap no other stay where they are.
    distant_places = np.array([[0.0, 0.0], [9000.0, 0.0]])
    assert (separate(distant_places, sizes[:2]) == distant_places).all()
    assert places.tolist() == np.random.default_rng(3).uniform(-6000, 6000, (23, 2)).tolist()
    # Two at one place part, too.
    assert len({tuple(place) for place in separate(np.zeros((2, 2)), sizes[:2]).tolist()}) == 2


def test_the_zones_of_a_game_hold_each_shot_once(client: sideline.Client, game: dict[str, Any]) -> None:
    shots = client.game_shots(game["id"])
    for is_advanced in (False, True):
        texts = [text.get_text().partition("\n")[2].split("/") for text in zones(shots, new(), advanced=is_advanced).texts]
        assert sum(int(attempts) for _, attempts in texts) == shots.table().num_rows
        assert sum(int(makes) for makes, _ in texts) == sum(row["is_make"] for row in shots.table().to_dicts())


# Possessions.


def test_possessions_are_bars_of_their_minutes_in_the_row_of_their_team() -> None:
    ax = possession_timeline(some_possessions(), new(), clock="wall")
    assert [label.get_text() for label in ax.get_yticklabels()] == list(TEAMS.values())
    first, second = (collection for collection in ax.collections if not isinstance(collection, PathCollection))
    spans = [
        [path.vertices[:, 0].min() * 60, path.vertices[:, 0].max() * 60, round(path.vertices[:, 1].mean())]
        for path in (*first.get_paths()[:2], *second.get_paths()[:2])
    ]
    assert np.array(spans) == pytest.approx(np.array([[0, 8, 0], [21, 39, 0], [8, 21, 1], [39, 62, 1]]), abs=0.21)
    assert len(first.get_paths()) == len(second.get_paths()) == 20
    assert len(dots(ax)) == 6
    assert written(ax) == "H1 | H2"
    assert ax.get_xlabel() == "minutes from 2027-03-01 19:00:00 UTC; x: turnover"


def test_a_possession_without_an_end_is_counted_and_a_team_without_a_name_has_its_id() -> None:
    table = pl.from_arrow(some_possessions()).drop("team_name", "turnover", "period")
    cut = table.with_columns(end_timestamp=pl.when(pl.int_range(pl.len()) > 0).then("end_timestamp"))
    ax = possession_timeline(cut, new(), clock="wall", teams={12: "They"})
    assert ax.get_xlabel().endswith("UTC; 1 incomplete, left out")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["team 11", "They"]


def test_on_the_game_clock_periods_follow_each_other_and_pauses_take_no_time() -> None:
    ax = possession_timeline(some_possessions(), new())
    assert ax.get_xlim() == (0, 40)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["20:00", "15:00", "10:00", "5:00"] * 2 + ["0:00"]
    assert [text.xy[0] for text in ax.texts] == [0, 20]
    assert written(ax) == "H1 | H2"
    second = [collection for collection in ax.collections if not isinstance(collection, PathCollection)][1]
    assert np.array([[path.vertices[:, 0].min() * 60, path.vertices[:, 0].max() * 60] for path in second.get_paths()[:1]]) == pytest.approx(
        np.array([[8, 21]]), abs=0.21
    )
    assert ax.get_xlabel() == "game clock; x: turnover"
    with pytest.raises(ValueError, match="clock is 'sun'"):
        possession_timeline(some_possessions(), new(), clock="sun")  # type: ignore[arg-type]
    games = some_possessions().append_column("game_id", pa.array(["a", "b"] * 20))
    with pytest.raises(ValueError, match="of 2 games: pass those of one game"):
        possession_timeline(games, new())
    # The responses of a session do not name its game.
    sessions = some_possessions().append_column("session_id", pa.array(["a", "b"] * 20))
    with pytest.raises(ValueError, match="two sessions have the same period and no game_id: pass those of one game"):
        possession_timeline(sessions, new())
    possession_timeline(sessions, new(), clock="wall")


def some_possessions_and_events() -> tuple[pa.Table, pa.Table]:
    """The same possessions; each third is worth a two, and each tenth a three."""
    table = some_possessions()
    rows = table.drop_columns("team_name").to_pylist()
    events = []
    for number, row in enumerate(rows):
        players, opponents = ([101, 102], [201, 202])[:: 1 if row["team_id"] == 11 else -1]
        row |= {"session_id": row["period"], "game_id": "G", "possession": number, "player_ids": players, "opposing_player_ids": opponents}
        if number % 3 == 0 or number % 10 == 0:
            details = ["FG", "FG3", "PTS"] if number % 10 == 0 else ["FG", "FG2", "PTS"]
            key = {**{name: row[name] for name in ("session_id", "team_id", "possession")}, "position": 0}
            events.append({**key, "player_id": players[0], "possession_type": "FGA", "details": details})
    return pa.Table.from_pylist(rows), pa.Table.from_pylist(events)


@needs("polars")
def test_the_score_margin_is_a_line_over_the_game() -> None:
    ax = score_margin(*some_possessions_and_events(), new(**WIDE), teams=TEAMS, linestyle="--")
    worth = [3 if number % 10 == 0 else 2 if number % 3 == 0 else 0 for number in range(40)]
    margin_changes = [points * (1 if number % 2 == 0 else -1) for number, points in enumerate(worth)]
    [step, *_] = ax.lines
    assert step.get_ydata().tolist() == [0, *np.cumsum(margin_changes).tolist()]
    assert step.get_linestyle() == "--"
    assert (step.get_xdata()[0], step.get_xdata()[20], step.get_xdata()[-1]) == pytest.approx((0, 20, 40))
    first, second = sum(worth[::2]), sum(worth[1::2])
    assert ax.get_title(loc="left") == f"Elkhorn Mariners {first}, Harrow Rangers {second}"
    assert "H1 | H2 | Elkhorn Mariners lead | Harrow Rangers lead" in written(ax)
    two = [part.set_column(part.column_names.index("session_id"), "session_id", part["session_id"]) for part in some_possessions_and_events()]
    other = two[0].set_column(two[0].column_names.index("game_id"), "game_id", pa.array(["G"] * 20 + ["H"] * 20))
    with pytest.raises(ValueError, match="of 2 games"):
        score_margin(other, two[1], new())
    assert written(score_margin({"team_id": []}, None, new())) == "no possessions"


@needs("polars")
@pytest.mark.parametrize("places", [[5], [0], [39], [19, 20, 39], range(20), range(20, 40)])
def test_possessions_without_a_clock_are_left_out_of_the_score_margin(places: Sequence[int]) -> None:
    possessions, events = some_possessions_and_events()
    [full, *_] = score_margin(possessions, events, new(**WIDE)).lines
    rows = possessions.to_pylist()
    for place in places:
        rows[place]["start_game_clock_s"] = None
    ax = score_margin(pa.Table.from_pylist(rows), events, new(**WIDE))
    other_places = [place for place in range(41) if place not in places]
    assert ax.lines[0].get_ydata().tolist() == full.get_ydata()[other_places].tolist()
    assert ax.get_title(loc="left") == full.axes.get_title(loc="left")
    assert ax.get_xlabel() == f"minutes played; {len(places)} without a clock, left out"
    if len(places) < 20:
        assert ax.lines[0].get_xdata().tolist() == full.get_xdata()[other_places].tolist()


@needs("polars")
def test_without_any_clock_there_is_no_score_margin() -> None:
    possessions, events = some_possessions_and_events()
    rows = [row | {"start_game_clock_s": None} for row in possessions.to_pylist()]
    rows[0]["start_game_clock_s"] = float("nan")
    ax = score_margin(pa.Table.from_pylist(rows), events, new())
    assert written(ax) == "no possessions" and ax.get_xlabel() == "40 without a clock, left out"


@needs("polars")
def test_teams_have_the_chosen_colours() -> None:
    navy, gold = to_rgba("navy"), to_rgba("gold")
    ids = sorted(TEAMS)
    ax = score_margin(*some_possessions_and_events(), new(**WIDE), teams=TEAMS, colors={ids[0]: "gold", ids[1]: "navy"})
    assert [tuple(fill.get_facecolor()[0][:3]) for fill in ax.collections] == [gold[:3], navy[:3]]
    assert [text.get_color() for text in ax.texts if text.get_text().endswith("lead")] == ["0.25", "navy"], "readable on white"
    bars = possession_timeline(some_possessions_and_events()[0], new(), clock="wall", colors={ids[0]: "navy"}).collections[0]
    assert tuple(bars.get_facecolor()[0]) == navy
    positions = {"t": [0, 0], "x": [0, 1], "y": [0, 1], "team_id": ids, "player_id": [1, 2]}
    ax = tracking(positions, new(), colors={ids[0]: "gold", ids[1]: navy[:3]})
    assert [tuple(dot.get_facecolor()[0]) for dot in ax.collections][-2:] == [gold, navy]
    assert {text.get_text(): text.get_color() for text in ax.texts} == {"1": "black", "2": "white"}


@needs("polars")
def test_a_batch_is_drawn_as_its_payloads(client: sideline.Client, game: dict[str, Any]) -> None:
    sessions = client.game(game["id"])
    shots, possessions = client.shots(sessions), client.possessions(sessions)
    assert dots(shot_chart(shots, new())) == dots(shot_chart(list(shots), new())) == dots(shot_chart(shots.table(), new()))
    names = [game["game_attributes"][f"{side}_team_name"] for side in ("home", "away")]
    assert shot_chart(shots, new()).get_title(loc="left") == " and ".join(sorted(names))
    assert [label.get_text() for label in possession_timeline(possessions, new()).get_yticklabels()] == sorted(names)
    assert all(name in score_margin(possessions, None, new()).get_title(loc="left") for name in names)


def test_teams_and_players_are_meant_by_id_or_name(client: sideline.Client, game: dict[str, Any]) -> None:
    shots = client.shots(client.game(game["id"]))
    home = game["game_attributes"]["home_team_id"]
    roster = client.roster(home)
    player = next(row for row in roster.table().to_dicts() if row["player_id"] in shots.table()["player_id"])
    full = f"{player['first_name']} {player['last_name']}"
    by_id = shot_chart(shots, new(), player=player["player_id"])
    assert by_id.get_title(loc="left").startswith(f"{full}, ")
    assert dots(by_id) == dots(shot_chart(shots, new(), player=full.upper()))
    # Bodies of a game's shots have ids alone: a roster and the list of teams have the names.
    game_shots = client.game_shots(game["id"])
    by_name = shot_chart(game_shots, new(), player=full, players=roster, teams=client.teams())
    assert by_name.get_title(loc="left") == by_id.get_title(loc="left")
    of_home = dots(shot_chart(shots, new(), team=home))
    team_row = client.find_team(game["game_attributes"]["home_team_name"])
    for team in (game["game_attributes"]["home_team_name"], str(home), np.int64(home), float(home), team_row, roster):
        assert dots(shot_chart(shots, new(), team=team)) == of_home
    assert dots(shot_chart(shots, new(), player=client.find_player(full))) == dots(by_id)


@pytest.mark.parametrize("choice", [7.5, float("nan"), True, [7], {"id": 7}, pl.DataFrame({"team_id": [7]})])
def test_what_is_no_team_or_player_is_refused_with_what_to_write(choice: Any) -> None:
    loads = pl.DataFrame({"player_id": [7], "team_id": [7], **dict.fromkeys(BANDS, 1.0)})
    calls: list[tuple[str, Callable[[], object]]] = [
        ("team", lambda: shot_chart(some_shots(), new(), team=choice)),
        ("player", lambda: zones({**some_shots(), "player_id": some_shots()["team_id"]}, new(), player=choice)),
        ("team", lambda: plot.loads(loads, new(), team=choice)),
    ]
    for kind, call in calls:
        with pytest.raises(TypeError, match=rf"{kind} is one id, a name, or a table of one {kind}, such as client\.find_{kind}\(name\), not"):
            call()


def test_loads_and_pairs_take_a_name() -> None:
    loads = pl.DataFrame({"player_id": [7, 8], "team_id": [1, 2], **{band: [1.0, 2.0] for band in BANDS}})
    teams = {1: "Elkhorn Mariners", 2: "Harrow Rangers"}
    assert [label.get_text() for label in plot.loads(loads, new(), team="rangers", teams=teams).get_yticklabels()] == ["8"]
    with pytest.raises(ValueError, match=r"give teams=, a roster or a mapping"):
        plot.loads(loads, new(), team="rangers")
    pairs = {"offense_player_id": [7, 8], "defense_player_id": [9, 9], "shots": [2, 3], "makes": [1, 1], "low_90": [0.1, 0.1], "high_90": [0.9, 0.9]}
    labels = plot.matchups(pl.DataFrame(pairs), new(), player="bell", players={7: "Ada Bell", 9: "Cy Dunn"}).get_yticklabels()
    assert [label.get_text() for label in labels] == ["Cy Dunn on Ada Bell"]


def test_loads_and_pairs_take_a_table_of_one() -> None:
    loads = pl.DataFrame({"player_id": [7, 8], "team_id": [1, 2], **{band: [1.0, 2.0] for band in BANDS}})
    team_row = sideline.Table.from_arrow(pl.DataFrame({"team_id": [2]}))
    for team in (2, "2", team_row):
        assert [label.get_text() for label in plot.loads(loads, new(), team=team).get_yticklabels()] == ["8"]
    with pytest.raises(ValueError, match="team takes one id, and this Table has 2"):
        plot.loads(loads, new(), team=sideline.Table.from_arrow(pl.DataFrame({"team_id": [1, 2]})))


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"player": 99}, "player 99 is not among these: 7 Ada Bell, 8"),
        ({"team": 99}, "team 99 is not among these: 11"),
        ({"player": "nobody"}, "player 'nobody' matches no name; there are: 7 Ada Bell, 8"),
        ({"team": "rangers"}, "team 'rangers' matches no name: the rows have only ids; give teams=, a roster or a mapping of names by id"),
    ],
)
def test_an_unknown_or_ambiguous_player_is_refused(selection: dict[str, Any], message: str) -> None:
    shots = {"hoop_player_x": [0.0, 1.0], "hoop_player_y": [0.0, 1.0], "is_make": [True, False], "player_id": [7, 8], "team_id": [11, 11]}
    with pytest.raises(ValueError, match=message):
        shot_chart(shots, new(), players={7: "Ada Bell"}, **selection)
    with pytest.raises(ValueError, match="matches 2 names, 7 Ada Bell, 8 Cy Bell: pass the id, or more of the name"):
        shot_chart(shots, new(), players={7: "Ada Bell", 8: "Cy Bell"}, player="bell")
    with pytest.raises(ValueError, match="not one of stats"):
        shot_chart(shots, new(), teams=sideline.Payload.from_bytes("stats", b"{}"))


def test_a_heat_map_is_darkest_where_most_shots_are_and_stays_on_the_court() -> None:
    shots = some_shots()
    ax = shot_chart(shots, new(), kind="heatmap", alpha=0.5)
    [image] = ax.images
    heat = np.asarray(image.get_array())
    left, right, low, high = image.get_extent()
    row, column = np.unravel_index(int(heat.argmax()), heat.shape)
    at = left + (column + 0.5) * (right - left) / heat.shape[1], low + (row + 0.5) * (high - low) / heat.shape[0]
    near = [
        sum(math.hypot(x - place[0], y - place[1]) < 600 for x, y in zip(shots["hoop_player_x"], shots["hoop_player_y"], strict=True))
        for place in (at, (5000.0, 9000.0))
    ]
    assert near[0] > 10 > near[1]
    assert (image.get_clip_box().width, image.get_clip_box().height) < (ax.bbox.width, ax.bbox.height)
    assert image.get_alpha() == 0.5
    assert ax.get_xlim() == court(new()).get_xlim()


def test_options_go_to_the_artists() -> None:
    marks = shot_chart(some_shots(), new(), s=77, alpha=0.25).collections
    assert [(mark.get_sizes().tolist(), mark.get_alpha()) for mark in marks] == [([77], 0.25)] * 2
    assert zones(some_shots(), new(), fontsize=5).texts[0].get_fontsize() == 5
    assert shot_chart(some_shots(), new(), kind="zones", fontsize=5).texts[0].get_fontsize() == 5
    bars = possession_timeline(some_possessions(), new(), alpha=0.5).collections[0]
    assert bars.get_alpha() == 0.5


# Tracking.


def at_step(step: int) -> list[tuple[float, float]]:
    return sorted((row["x"], row["y"]) for row in some_locations().to_pylist() if row["t"] == START + timedelta(milliseconds=500 * step))


@pytest.mark.parametrize(
    ("at", "step"),
    [
        (None, 20),
        (START + timedelta(seconds=5), 10),
        (int(START.timestamp() * 1000) + 5499, 10),
        ("2027-03-01T20:00:05+01:00", 10),
        (START + timedelta(seconds=11), 20),
    ],
)
def test_positions_are_the_last_ones_at_the_moment(at: Any, step: int) -> None:
    assert dots(tracking(some_locations(), new(), at=at)) == at_step(step)


def test_a_position_that_is_old_is_not_shown() -> None:
    rows = some_locations().to_pylist()
    left = [row for row in rows if row["tag"] != "t3" or row["t"] <= START + timedelta(seconds=8)]
    ax = tracking(pa.Table.from_pylist(left), new())
    assert len(dots(ax)) == 10
    assert ax.get_xlabel() == "2027-03-01 19:00:10.000 UTC\n10 positions; game clock 12:20.0"
    trailing = tracking(pa.Table.from_pylist(left), new(), trail=5)
    assert dots(trailing) == dots(ax)
    assert len([artist for artist in trailing.lines if artist.get_gid() is None]) == 11
    assert not dots(tracking(some_locations(), new(), at=START + timedelta(seconds=12)))


def test_neither_the_order_of_rows_nor_rows_without_a_place_change_the_picture() -> None:
    rows = some_locations().to_pylist()
    rows_without_place = [{**row, "x": None} for row in rows if row["t"] == START + timedelta(seconds=9)]
    for mixed in (rows[::-1], [*rows[:100], *rows_without_place, *rows[100:]], random.Random(3).sample([*rows, *rows_without_place], len(rows) + 11)):
        tables = [pa.Table.from_pylist(mixed[:70]), pl.DataFrame(mixed[70:], infer_schema_length=None)]
        ax = tracking(tables, new(), at=START + timedelta(seconds=9.5), trail=3)
        assert dots(ax) == at_step(19)
        assert [len(artist.get_xydata()) for artist in ax.lines if artist.get_gid() is None] == [7] * 11


def test_trails_are_as_long_as_requested_and_broken_where_nothing_was_sent() -> None:
    def trails(locations: pa.Table, trail: Any) -> list[Any]:
        return [artist.get_xydata() for artist in tracking(locations, new(), trail=trail).lines if artist.get_gid() is None]

    for trail in (4, timedelta(seconds=4)):
        assert [len(path) for path in trails(some_locations(), trail)] == [9] * 11
    assert trails(some_locations(), 0) == []
    gap = pl.from_arrow(some_locations()).filter(~pl.col("t").is_between(START + timedelta(seconds=7), START + timedelta(seconds=8)))
    trails_with_gap = trails(gap, 4)
    assert [int(np.isnan(path[:, 0]).sum()) for path in trails_with_gap] == [1] * 11
    assert [len(path) for path in trails_with_gap] == [9 - 3 + 1] * 11


def test_players_are_marked_by_the_given_names_else_by_their_ids() -> None:
    ax = tracking(some_locations(), new(), teams=TEAMS, players=PLAYERS)
    assert sorted(text.get_text() for text in ax.texts) == sorted(PLAYERS.values())
    assert sorted(text.get_text() for text in ax.get_legend().get_texts()) == ["Elkhorn Mariners", "Harrow Rangers", "ball"]
    ids = tracking(some_locations(), new())
    assert sorted(text.get_text() for text in ids.texts) == sorted(map(str, PLAYERS))
    assert sorted(text.get_text() for text in ids.get_legend().get_texts()) == ["ball", "team 11", "team 12"]


def test_a_moment_without_a_time_zone_and_a_trail_below_nothing_are_refused() -> None:
    for at, problem in {
        "2027-03-01T19:00:00": "write 2027-03-01T19:00:00Z for UTC",
        START.timestamp(): "reads like seconds",
        np.datetime64("2027-03-01T19:00"): "which has no time zone",
    }.items():
        with pytest.raises(ValueError, match=problem):
            tracking(some_locations(), new(), at=at)
    with pytest.raises(ValueError, match="trail is -1; it must be 0 or more seconds"):
        tracking(some_locations(), new(), trail=-1)


# Pictures. `python tests/test_plot.py` writes them; look at them before they are committed.

TALL = {"width": 3.6, "height": 6.0, "box": (0.03, 0.06, 0.94, 0.86)}
WIDE = {"width": 6.4, "height": 1.9, "box": (0.2, 0.28, 0.78, 0.6)}
PICTURES: dict[str, Callable[[], Axes]] = {
    "court_college": lambda: court(new()),
    "court_pro_full": lambda: court(new(**TALL), "pro", half=False),
    "court_international": lambda: court(new(), "international"),
    "field": lambda: tracking(some_formation(), new(4.6, 9.4, (0.03, 0.05, 0.94, 0.9)), "football", teams=TEAMS),
    "shots_makes": lambda: shot_chart(some_shots(), new(), teams=TEAMS),
    "shots_hexbin": lambda: shot_chart(some_shots(), new(), "hexbin", court="pro", team=11, teams=TEAMS),
    "shots_hexbin_labels": lambda: shot_chart(some_shots(), new(), "hexbin", cell=1400, labels=True, teams=TEAMS),
    "shots_heatmap": lambda: shot_chart(some_shots(), new(), "heatmap", court="international", teams=TEAMS),
    "score_margin": lambda: score_margin(*some_possessions_and_events(), new(6.4, 2.4, (0.1, 0.2, 0.86, 0.6)), teams=TEAMS),
    "shots_empty": lambda: shot_chart(NO_SHOTS, new()),
    "zones": lambda: zones(some_shots(), new(), teams=TEAMS),
    "possessions": lambda: possession_timeline(some_possessions(), new(**WIDE)),
    "tracking": lambda: tracking(some_locations(), new(**TALL), trail=4, teams=TEAMS, players=PLAYERS),
    "assists": lambda: assist_network(some_assists(), new()),
    "comparison": lambda: compare_players(some_box_scores(), ["ada", "cy"], new(6.4, 3.0, (0.05, 0.12, 0.9, 0.76))),
}


def test_every_plot_is_called_and_has_its_picture() -> None:
    """Those of `Tracking` and animations are measured in tests/test_plot_tracking.py."""
    source = Path(__file__).read_text(encoding="utf-8")
    calls, _, pictures = source.partition("CALLS: dict")[2].partition("PICTURES: dict")
    for name in set(plot.__all__) - {"Animation", "animate", "loads", "matchups"}:
        assert f": {name}(" in calls.partition("\n}\n")[0], f"{name} has no call in CALLS"
        assert f": {name}(" in pictures.partition("\n}\n")[0], f"{name} has no picture in PICTURES"


# Measured: letters drawn by FreeType 2.6 (matplotlib 3.8) and by 2.14 (3.11) differ by up to 24, so comparing them proves little;
# the tests above check the texts. Beside letters the difference is up to 4.9. A three-point line that is off by 300 mm differs by
# 5.8, and by 7.6 in a picture without letters.
WITH_LETTERS, BESIDE_LETTERS, NO_LETTERS = 28.0, 5.4, 1.0


def pixels(figure: Figure) -> Any:
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[:, :, :3].copy()  # type: ignore[attr-defined]


def find_letters(figure: Figure) -> Any:
    """Where letters are, and three pixels around them."""
    original = pixels(figure)
    for text in figure.findobj(Text):
        text.set_color("none")
    letters = (original != pixels(figure)).any(axis=2)
    return np.any([np.roll(letters, (down, right), (0, 1)) for down in range(-3, 4) for right in range(-3, 4)], axis=0)


@needs("polars")
@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_the_one_that_was_looked_at(name: str, tmp_path: Path) -> None:
    actual, baseline = tmp_path / f"{name}.png", BASELINES / f"{name}.png"
    figure = PICTURES[name]().figure
    figure.savefig(actual)
    assert baseline.stat().st_size < 60_000
    assert compare_images(str(baseline), str(actual), WITH_LETTERS) is None
    letters = find_letters(figure)
    paths_without_letters = []
    for picture in (baseline, actual):
        image = imread(picture)[:, :, :3].copy()
        image[letters] = 1
        paths_without_letters.append(str(tmp_path / f"{len(paths_without_letters)} {name}.png"))
        imsave(paths_without_letters[-1], image)
    assert compare_images(paths_without_letters[0], paths_without_letters[1], BESIDE_LETTERS if letters.any() else NO_LETTERS) is None


def write() -> None:
    BASELINES.mkdir(exist_ok=True)
    matplotlib.rcdefaults()
    for name, picture in PICTURES.items():
        picture().figure.savefig(BASELINES / f"{name}.png")


if __name__ == "__main__":
    write()
