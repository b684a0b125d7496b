"""Plots of answers from positions, measured on the drawn artists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from needs import library

import sideline
from tracked_game import HOME, Sensors, TrackedGame, player

matplotlib = library("matplotlib")
pa = library("pyarrow")
Figure = library("matplotlib.figure").Figure


pytestmark = pytest.mark.usefixtures("agg")


@pytest.fixture(scope="module")
def tracking() -> sideline.Tracking:
    game = TrackedGame(Sensors(rate=5))
    names = {player(HOME, 0): "Ezra Vance"}
    return sideline.Tracking(game.locations(), game.shots(), possessions=game.possessions(), players=names)


def texts(axes: Any) -> str:
    legend = axes.get_legend()
    labels = [text.get_text() for text in legend.get_texts()] if legend else []
    return "\n".join([axes.get_xlabel(), axes.get_title(loc="left"), *(text.get_text() for text in axes.texts), *labels])


def test_openness_is_a_colour_with_makes_and_attempts(tracking: sideline.Tracking) -> None:
    axes = sideline.plot.shot_chart(tracking.defenders(), Figure().subplots(), color="openness")
    rows = [row for row in tracking.defenders().to_dicts() if -1600 < row["hoop_player_y"] < 12_725]
    for name in ("very_tight", "tight", "open", "wide_open"):
        shots = [row for row in rows if row["openness"] == name]
        assert f"{name.replace('_', ' ')}: {sum(row['is_make'] for row in shots)} of {len(shots)}" in texts(axes)
    assert ("few shots" in texts(axes)) == (len(rows) < 20)
    count = sum(len(collection.get_offsets()) for collection in axes.collections)
    assert count == len(rows)


def test_a_color_needs_its_kind_and_its_column(tracking: sideline.Tracking) -> None:
    with pytest.raises(ValueError, match="color is 'openness'"):
        sideline.plot.shot_chart(tracking.defenders(), kind="hexbin", color="openness")
    with pytest.raises(ValueError, match="openness"):
        sideline.plot.shot_chart(TrackedGame().shots(), color="openness")


def test_bars_of_loads_are_as_long_as_the_distances(tracking: sideline.Tracking) -> None:
    loads = tracking.loads()
    axes = sideline.plot.loads(loads, Figure().subplots(), team=HOME, players=tracking.players)
    distances: dict[int, float] = {}
    for row in loads.to_dicts():
        if row["team_id"] == HOME:
            distances[row["player_id"]] = distances.get(row["player_id"], 0) + row["distance_m"]
    ends = sorted(max(patch.get_x() + patch.get_width() for patch in bars) for bars in zip(*axes.containers, strict=True))
    assert ends == pytest.approx(sorted(distances.values()))
    assert "Ezra Vance" in [label.get_text() for label in axes.get_yticklabels()]
    assert texts(axes).count("seen 100%") == 5
    assert {label.get_fontsize() for label in (*axes.get_xticklabels(), *axes.get_yticklabels(), axes.xaxis.label)} == {8}
    # Without a row for one of two periods of equal length, half of the time is unseen.
    is_absent = [row["player_id"] == player(HOME, 0) and row["period"] == "Q1" for row in loads.to_dicts()]
    axes = sideline.plot.loads(loads.to_polars().filter([not absent for absent in is_absent]), Figure().subplots(), team=HOME)
    assert (texts(axes).count("seen 100%"), texts(axes).count("seen 50%")) == (4, 1)
    with pytest.raises(ValueError, match="team 9 is not among these"):
        sideline.plot.loads(loads, team=9)


def test_the_legend_of_loads_has_the_speeds_of_their_bands(tracking: sideline.Tracking) -> None:
    def legend(**options: Any) -> list[str]:
        box = sideline.plot.loads(tracking.loads(), Figure().subplots(), **options).get_legend()
        assert box is not None
        return [label.get_text() for label in box.get_texts()]

    assert legend() == ["lowest band", "second", "third", "fourth", "highest band"]
    assert legend(bands=(2, 4, 5.5, 7)) == ["below 2 m/s", "2 to 4", "4 to 5.5", "5.5 to 7", "above 7"]
    for invalid_bands in ((2, 4), (4, 2, 5, 6), "2457", 7):
        with pytest.raises(ValueError, match="bands is .*; it must be four rising speeds"):
            legend(bands=invalid_bands)


def test_the_longest_loads_are_drawn_and_the_others_counted(tracking: sideline.Tracking) -> None:
    loads = tracking.loads()
    axes = sideline.plot.loads(loads, Figure().subplots(), limit=3)
    assert [len(bars) for bars in axes.containers] == [3] * 5
    assert axes.get_xlabel() == "distance (m)\nthe 3 of 10 players who ran most"
    longest = sorted(row["distance_m"] for row in tracking.loads(by="player_id").to_dicts())[-3:]
    assert [bar.get_x() + bar.get_width() for bar in axes.containers[-1]] == pytest.approx(longest)
    # As many as a season has.
    rows = [{**row, "player_id": 1000 * row["player_id"] + number} for row in loads.to_dicts() for number in range(250)]
    axes = sideline.plot.loads(pa.Table.from_pylist(rows), Figure().subplots())
    assert (len(axes.containers[0]), axes.get_xlabel().splitlines()[1]) == (100, "the 100 of 2500 players who ran most")
    with pytest.raises(ValueError, match="limit is 0"):
        sideline.plot.loads(loads, limit=0)


def test_matchups_have_their_interval_and_say_few_shots(tracking: sideline.Tracking) -> None:
    [first, *_] = rows_of_all = tracking.matchups().to_dicts()
    pair_without_shots = {**first, "defense_player_id": 999, "shots": 0, "makes": 0, "low_90": None, "high_90": None}
    matchups = pa.Table.from_pylist([*rows_of_all, pair_without_shots])
    axes = sideline.plot.matchups(matchups, Figure().subplots(), player=player(HOME, 0), players=tracking.players)
    rows = [row for row in matchups.to_pylist() if row["offense_player_id"] == player(HOME, 0) and row["shots"]]
    assert texts(axes).count("few shots") == len(rows)
    assert {label.get_fontsize() for label in (*axes.get_xticklabels(), *axes.get_yticklabels(), axes.xaxis.label)} == {8}
    assert all(f"{row['makes']} of {row['shots']}" in texts(axes) for row in rows)
    lows = sorted(segment[0][0] for container in axes.containers for segment in container[2][0].get_segments())
    assert lows == pytest.approx(sorted(row["low_90"] for row in rows))
    all_pairs = sideline.plot.matchups(matchups, Figure().subplots(), limit=100)
    assert len(all_pairs.containers) == sum(row["shots"] > 0 for row in matchups.to_pylist())
    with pytest.raises(ValueError, match="limit is 0"):
        sideline.plot.matchups(matchups, limit=0)


def test_an_animation_has_a_picture_for_each_moment(tracking: sideline.Tracking, tmp_path: Path) -> None:
    row = tracking.defenders().to_dicts()[3]
    animation = sideline.plot.animate(tracking.window(row, before=1, after=0.5), fps=4)
    animation.to_gif(tmp_path / "shot.gif")
    picture = (tmp_path / "shot.gif").read_bytes()
    # A graphic control extension precedes each picture; the size follows the signature.
    assert picture.count(b"\x21\xf9\x04") == 6
    assert (int.from_bytes(picture[6:8], "little"), int.from_bytes(picture[8:10], "little")) == (400, 740)
    html = animation.to_html(tmp_path / "shot.html")
    assert (tmp_path / "shot.html").read_text(encoding="utf-8") == html
    assert html.count("data:image/png") == 6
    assert "<script" in animation._repr_html_()
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(ValueError, match="not a regular file"):
        animation.to_gif(tmp_path / "folder.gif")


@pytest.mark.parametrize("fps", [0.4, 2.5])
def test_an_animation_runs_at_the_speed_of_the_game(tracking: sideline.Tracking, tmp_path: Path, fps: float) -> None:
    row = tracking.defenders().to_dicts()[3]
    animation = sideline.plot.animate(tracking.window(row, before=3, after=3), fps=fps)
    [interval] = re.findall(r"slider_id, ([0-9.]+),", animation.to_html())
    assert float(interval) == pytest.approx(1000 / fps, abs=1)
    animation.to_gif(tmp_path / "shot.gif")
    picture = (tmp_path / "shot.gif").read_bytes()
    # A graphic control extension has the duration in hundredths of a second.
    place = picture.index(b"\x21\xf9\x04") + 4
    assert int.from_bytes(picture[place : place + 2], "little") == int(100 / fps)


def test_an_animation_is_bounded(tracking: sideline.Tracking) -> None:
    with pytest.raises(ValueError, match="at most 1500"):
        sideline.plot.animate(tracking, fps=10)
    with pytest.raises(ValueError, match="fps is 0"):
        sideline.plot.animate(tracking, fps=0)


def test_nothing_to_draw_is_said() -> None:
    empty_tracking = sideline.Tracking([])
    assert "no loads" in texts(sideline.plot.loads(empty_tracking.loads(), Figure().subplots()))
    assert "no shots" in texts(sideline.plot.matchups(empty_tracking.matchups(), Figure().subplots()))
    assert len(sideline.plot.animate(empty_tracking).to_html()) > 1000
