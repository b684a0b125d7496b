"""Answers from positions: `sideline.Tracking` on games whose truth is known, with sensors that are not perfect."""

from __future__ import annotations

import asyncio
import math
import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from needs import library

import sideline
from tracked_game import AWAY, HOME, START, Sensors, TrackedGame, place, player

pa = library("pyarrow")
np = library("numpy")

REASONS = {
    "shooter_not_tracked", "too_few_opponents", "lineup_unknown", "place_disagrees",
    "clock_unknown", "rate_too_low", "no_ball", "gap",
}  # fmt: skip


def tracking(game: TrackedGame, *, lineups: bool = True, shots: bool = True) -> sideline.Tracking:
    return sideline.Tracking(game.locations(), game.shots() if shots else None, possessions=game.possessions() if lineups else None)


def check_named(game: TrackedGame, rows: list[dict[str, Any]], min_share: float) -> None:
    """Never a player who is not on court, and nearly always the nearest."""
    near = 0
    pairs = [(row, shot) for row, shot in zip(rows, game.shots_at, strict=True) if row["defender_id"] is not None]
    for row, (t, slot) in pairs:
        assert AWAY * 100 <= row["defender_id"] < AWAY * 100 + 5
        near += game.distance(t, slot, row["defender_id"]) <= game.nearest(t, slot)[1] + 0.5
    assert len(pairs) >= min_share * len(rows), Counter(row["reason"] for row in rows)
    assert near >= 0.97 * len(pairs)
    assert {row["reason"] for row in rows if row["defender_id"] is None} <= REASONS
    assert all(row["reason"] is None for row, _ in pairs)


@pytest.fixture(scope="module")
def perfect() -> sideline.Tracking:
    return tracking(TrackedGame())


@pytest.mark.parametrize("at", [-0.5, timedelta(seconds=-0.5)])
def test_the_moment_of_a_defender_is_moved_by_a_duration(perfect: sideline.Tracking, at: float | timedelta) -> None:
    game = TrackedGame()
    for (t, slot), row in zip(game.shots_at, perfect.defenders(at=at).to_dicts(), strict=True):
        name, distance = game.nearest(t - 0.5, slot)
        assert (row["defender_id"], row["reason"]) == (name, None)
        assert row["distance_m"] == pytest.approx(distance, abs=0.03)


def test_a_complete_game_names_the_nearest_defender(perfect: sideline.Tracking) -> None:
    game = TrackedGame()
    rows = perfect.defenders().to_dicts()
    assert [row["row"] for row in rows] == list(range(len(game.shots_at)))
    for row, (t, slot) in zip(rows, game.shots_at, strict=True):
        defender, distance = game.nearest(t, slot)
        assert row["defender_id"] == defender
        assert row["distance_m"] == pytest.approx(distance, abs=0.03)
        assert row["second_distance_m"] >= row["distance_m"]
        assert row["service_defender_ids"] == [player(AWAY, slot)]
        limits = [(0.6096, "very_tight"), (1.2192, "tight"), (1.8288, "open"), (math.inf, "wide_open")]
        assert row["openness"] == next(name for limit, name in limits if row["distance_m"] < limit)
        assert abs(row["offset_s"]) < 0.02
        # Every defender stands between the attacker and the hoop.
        if defender == player(AWAY, slot):
            assert row["angle_deg"] < 3
            rate = 0.3 * math.cos(t / 3 + 2 * slot * math.tau / 5)
            assert row["closing_speed_mps"] == pytest.approx(-rate, abs=0.05)


@pytest.mark.parametrize("offset", [-1.0, -0.4, 0.7, 1.0])
@pytest.mark.parametrize("lineups", [True, False])
def test_substitutes_noise_and_an_offset_at_two_frames_a_second(offset: float, *, lineups: bool) -> None:
    game = TrackedGame(Sensors(rate=2, noise_m=0.3, offset_s=offset, substitutes=5, seed=int(10 + offset * 10)))
    rows = tracking(game, lineups=lineups).defenders().to_dicts()
    check_named(game, rows, min_share=0.8)
    assert rows[0]["offset_s"] == pytest.approx(offset, abs=0.15)
    assert rows[0]["t"] == rows[0]["occurred_at"] + timedelta(seconds=rows[0]["offset_s"])


def test_dropouts_teleports_and_an_offset() -> None:
    game = TrackedGame(Sensors(noise_m=0.1, offset_s=0.7, dropouts=0.1, teleports=0.05, substitutes=5))
    game_tracking = tracking(game)
    check_named(game, game_tracking.defenders().to_dicts(), min_share=0.9)
    coverage = [row for row in game_tracking.coverage().to_dicts() if row["player_id"] is not None]
    frames = 10 * 300 + 1
    for row in coverage:
        assert row["frames_expected"] == pytest.approx(frames, abs=2)
        assert row["frames_seen"] == pytest.approx(0.9 * 0.95 * frames, rel=0.03)
        assert row["teleports"] + row["frames_off_court"] == pytest.approx(0.9 * 0.05 * frames, rel=0.3)
        assert row["longest_gap_s"] < 1
        assert row["rate_hz"] == pytest.approx(10, abs=0.05)


def test_a_missing_team_names_nobody() -> None:
    game = TrackedGame(Sensors(teams=(HOME,), substitutes=5))
    game_tracking = tracking(game)
    assert set(game_tracking.defenders()["reason"]) == {"too_few_opponents"}
    assert set(game_tracking.opponents(rate=1)["reason"]) == {"too_few_opponents"}
    assert set(game_tracking.loads()["reason"]) == {None}


def test_a_shot_that_a_table_has_twice_counts_once(perfect: sideline.Tracking) -> None:
    game = TrackedGame()
    shots = game.shots()
    twice = sideline.Tracking(game.locations(), pa.concat_tables([shots, shots]), possessions=game.possessions())
    assert twice.defenders().num_rows == 2 * perfect.defenders().num_rows
    assert twice.matchups().to_dicts() == perfect.matchups().to_dicts()
    assert twice.shot_quality(by="openness").to_dicts() == perfect.shot_quality(by="openness").to_dicts()


def test_only_the_opponents_lineup_must_be_known() -> None:
    game = TrackedGame()
    possessions = game.possessions()
    short_lists = pa.array([[1, 2]] * len(possessions), pa.list_(pa.int64()))
    of_home = pa.compute.equal(possessions["team_id"], HOME)
    home_possessions = possessions.set_column(possessions.column_names.index("player_ids"), "player_ids", short_lists).filter(of_home)
    other_team = game.locations().filter(pa.compute.not_equal(pa.compute.fill_null(game.locations()["player_id"], 0), player(HOME, 4)))
    rows = sideline.Tracking(other_team, game.shots(), possessions=home_possessions).defenders().to_dicts()
    reasons = {row["reason"] for row in rows if row["player_id"] != player(HOME, 4)}
    assert reasons == {None}
    assert {row["reason"] for row in rows if row["player_id"] == player(HOME, 4)} == {"shooter_not_tracked"}


def test_a_place_that_disagrees_is_not_answered(perfect: sideline.Tracking) -> None:
    game = TrackedGame()
    shots = game.shots()
    x = pa.array([value + (1500 if number == 3 else 0) for number, value in enumerate(shots["player_x"].to_pylist())])
    shots_elsewhere = shots.set_column(shots.column_names.index("player_x"), "player_x", x)
    reasons = sideline.Tracking(game.locations(), shots_elsewhere, possessions=game.possessions()).defenders()["reason"]
    assert [number for number, reason in enumerate(reasons) if reason] == [3]
    assert reasons[3] == "place_disagrees"


def test_rows_of_another_clock_take_no_offset() -> None:
    game = TrackedGame(Sensors(offset_s=0.7))
    game_tracking = tracking(game)
    t = [row["t"] for row in game_tracking.defenders().to_dicts()]
    by_position = pa.table({"session_id": ["s-1"] * len(t), "t": t, "player_id": game.shots()["player_id"]})
    rows = game_tracking.defenders(by_position).to_dicts()
    assert [row["defender_id"] for row in rows] == game_tracking.defenders()["defender_id"]
    assert {row["offset_s"] for row in rows} == {None}
    # Shots that no offset of 3 s brings near: what they would say about the clocks is not believed.
    far_off = tracking(TrackedGame(Sensors(offset_s=-20)))
    assert set(far_off.defenders()["reason"]) == {"clock_unknown"}
    assert set(far_off.coverage()["offset_s"]) == {None}
    assert set(far_off.defenders(by_position)["reason"]) == {None}
    without_shots = tracking(game, shots=False)
    assert set(without_shots.defenders(by_position)["reason"]) == {None}
    assert set(without_shots.defenders(game.shots())["reason"]) == {"clock_unknown"}
    assert without_shots.defenders().num_rows == 0


def test_a_gap_is_not_bridged() -> None:
    game = TrackedGame()
    locations = game.locations()
    t = pa.compute.cast(locations["t"], pa.int64())
    is_hidden = pa.compute.and_(
        pa.compute.equal(pa.compute.fill_null(locations["player_id"], 0), player(HOME, 0)),
        pa.compute.and_(pa.compute.greater(t, START + 50_000), pa.compute.less(t, START + 58_000)),
    )
    game_tracking = sideline.Tracking(locations.filter(pa.compute.invert(is_hidden)), game.shots(), possessions=game.possessions())
    [row] = [row for row in game_tracking.coverage().to_dicts() if row["player_id"] == player(HOME, 0)]
    assert row["longest_gap_s"] == 8
    [load] = [row for row in game_tracking.loads(by="player_id").to_dicts() if row["player_id"] == player(HOME, 0)]
    assert load["tracked_min"] == pytest.approx(292 / 60, abs=0.01)
    assert load["seen_share"] == pytest.approx(292 / 300, abs=0.001)
    frames = game_tracking.frames(rate=5).to_dicts()
    rows_in_gap = [row for row in frames if row["player_id"] == player(HOME, 0) and 50_000 < _ms(row) < 58_000]
    assert rows_in_gap == []
    reasons = [row["reason"] for row, (second, slot) in zip(game_tracking.defenders().to_dicts(), game.shots_at, strict=True)
               if slot == 0 and 50 < second < 58]  # fmt: skip
    assert reasons == ["gap"] * len(reasons)


def _ms(row: dict[str, Any]) -> int:
    return round(row["t"].timestamp() * 1000) - START


def test_frames_are_exact_without_smoothing(perfect: sideline.Tracking) -> None:
    rows = perfect.frames(smoothing=None).to_dicts()
    assert len(rows) == 11 * 3001
    for row in rows[:: len(rows) // 200]:
        if row["player_id"] is None:
            continue
        x, y = place(row["team_id"], row["player_id"] % 100, _ms(row) / 1000)
        assert (row["x_m"], row["y_m"]) == (pytest.approx(float(x), abs=0.001), pytest.approx(float(y), abs=0.001))
        assert row["game_clock_s"] == pytest.approx(600 - _ms(row) / 1000)
        assert row["frame"] == _ms(row) // 100
        assert not row["is_interpolated"]
    assert {row["period"] for row in rows} == {"Q1", "Q2"}


def test_speed_is_that_of_the_path(perfect: sideline.Tracking) -> None:
    rows = [row for row in perfect.frames(rate=4).to_dicts() if row["player_id"] is not None and 2_000 < _ms(row) < 298_000]
    for row in rows[:: len(rows) // 200]:
        t, slot = _ms(row) / 1000, row["player_id"] % 100
        (x0, y0), (x1, y1) = (place(row["team_id"], slot, t + shift) for shift in (-0.001, 0.001))
        assert row["speed_mps"] == pytest.approx(float(np.hypot(x1 - x0, y1 - y0)) / 0.002, abs=0.1)


def test_a_low_rate_has_no_accelerations_and_no_touches() -> None:
    game_tracking = tracking(TrackedGame(Sensors(rate=2)))
    for row in game_tracking.loads().to_dicts():
        assert row["distance_m"] > 0
        assert (row["sprints"], row["accelerations_2"], row["reason"]) == (None, None, "rate_too_low")
    assert set(game_tracking.frames()["acceleration_mps2"]) == {None}
    assert "rate_too_low" in game_tracking.frames()["reason"]
    for method in (game_tracking.touches, game_tracking.passes):
        with pytest.raises(ValueError, match="rate_too_low: session s-1 has 2"):
            method()


def test_without_a_ball() -> None:
    game_tracking = tracking(TrackedGame(Sensors(has_ball=False)))
    for method in (game_tracking.touches, game_tracking.passes):
        with pytest.raises(ValueError, match="no_ball: session s-1"):
            method()
    spacing = game_tracking.spacing().to_dicts()
    assert {(row["ball_side_share"], row["reason"]) for row in spacing} == {(None, "no_ball")}
    assert all(row["hull_area_m2"] > 5 for row in spacing)


def test_the_holder_of_the_ball_touches_it(perfect: sideline.Tracking) -> None:
    touches = perfect.touches().to_dicts()
    held_s = sum(row["duration_s"] for row in touches if row["player_id"] == player(HOME, 0))
    assert held_s > 200
    assert {row["ended_by"] for row in touches} <= {"pass", "shot", "turnover", "dead_ball", "other"}


def test_spacing_by_frame_and_by_possession(perfect: sideline.Tracking) -> None:
    by_frame = perfect.spacing(by="frame").to_dicts()
    assert len(by_frame) == 2 * 3001
    [row] = [row for row in by_frame if row["frame"] == 100 and row["team_id"] == HOME]
    places = [tuple(map(float, place(HOME, slot, 10.0))) for slot in range(5)]
    distances = [math.dist(a, b) for number, a in enumerate(places) for b in places[number + 1 :]]
    assert row["mean_teammate_distance_m"] == pytest.approx(sum(distances) / 10, abs=0.001)
    ball = float(place(HOME, 0, 10.0)[0]) + 0.3
    assert row["ball_side_share"] == sum(x * ball > 0 for x, _ in places) / 5
    possessions = perfect.spacing().to_dicts()
    assert [row["possession"] for row in possessions] == list(range(15))
    assert all(row["frame"] is None and row["reason"] is None for row in possessions)


def test_loads_add_up(perfect: sideline.Tracking) -> None:
    by_period = perfect.loads().to_dicts()
    assert {row["period"] for row in by_period} == {"Q1", "Q2"}
    for row in perfect.loads(by="player_id").to_dicts():
        parts = [part for part in by_period if part["player_id"] == row["player_id"]]
        assert row["distance_m"] == pytest.approx(sum(part["distance_m"] for part in parts))
        assert row["distance_m"] == pytest.approx(sum(row[f"distance_band_{band}_m"] for band in range(1, 6)))
        assert row["period"] is None
        seconds = np.arange(0, 300.0001, 0.005)
        x, y = place(row["team_id"], row["player_id"] % 100, seconds)
        truth = float(np.hypot(np.diff(x), np.diff(y)).sum())
        assert row["distance_m"] == pytest.approx(truth, rel=0.01)
        assert row["peak_speed_mps"] == pytest.approx(float(np.hypot(np.diff(x), np.diff(y)).max()) / 0.005, rel=0.02)


def test_matchups_and_shot_quality(perfect: sideline.Tracking) -> None:
    defenders = perfect.defenders().to_dicts()
    matchups = perfect.matchups().to_dicts()
    assert sum(row["shots"] for row in matchups) == len(defenders)
    assert sum(row["points"] for row in matchups) == sum(row["points"] for row in defenders)
    assert sum(row["guarded_s"] for row in matchups) == pytest.approx(5 * 300, abs=5)
    for row in matchups:
        if row["shots"]:
            assert 0 <= row["low_90"] <= row["makes"] / row["shots"] <= row["high_90"] <= 1
        else:
            assert (row["low_90"], row["high_90"]) == (None, None)
    [row] = perfect.shot_quality(by="team_id").to_dicts()
    values = [row["is_make"] * (1.5 if row["is_3point"] else 1) for row in defenders]
    assert row["efg"] == pytest.approx(sum(values) / len(values))
    assert row["difference"] == pytest.approx(0)
    assert row["low_90"] < row["efg"] < row["high_90"]
    assert row["player_id"] is None
    players = perfect.shot_quality().to_dicts()
    assert sum(row["shots"] for row in players) == len(defenders)
    assert perfect.shot_quality().to_dicts() == players


def test_the_order_of_rows_and_the_chunks_decide_nothing() -> None:
    game = TrackedGame(Sensors(noise_m=0.1, dropouts=0.05, substitutes=1, seconds=60))
    locations = game.locations()
    order = np.random.default_rng(3).permutation(len(locations))
    mixed = [locations.take(pa.array(part)) for part in np.array_split(order, 7)]
    first, second = (sideline.Tracking(source, game.shots(), possessions=game.possessions()) for source in (locations, mixed))
    for method in ("frames", "opponents", "defenders", "matchups", "shot_quality", "spacing", "loads", "coverage", "touches", "passes"):
        assert getattr(first, method)().to_dicts() == getattr(second, method)().to_dicts(), method


def test_sources_of_every_kind_are_accepted() -> None:
    game = TrackedGame(Sensors(seconds=30))
    expected = sideline.Tracking(game.locations()).loads().to_dicts()
    pl, pd = library("polars"), library("pandas")
    frame = pl.DataFrame(game.locations())
    for source in (sideline.Table.from_arrow(game.locations(), "locations"), frame, frame.lazy(), [frame], pd.DataFrame(game.locations().to_pandas())):
        assert sideline.Tracking(source).loads().to_dicts() == expected


def test_two_sessions_without_periods_are_two_periods() -> None:
    locations = TrackedGame(Sensors(seconds=30)).locations()
    second = locations.set_column(0, "session_id", pa.array(["s-2"] * len(locations)))
    later = second.set_column(2, "t", pa.compute.add(second["t"], pa.scalar(3_600_000, pa.duration("ms"))))
    game_tracking = sideline.Tracking([locations, later])
    assert game_tracking.loads().num_rows == 20
    assert game_tracking.loads(by=["player_id", "game_id"]).num_rows == 10
    assert {row["session_id"] for row in game_tracking.loads().to_dicts()} == {"s-1", "s-2"}
    assert {row["session_id"] for row in game_tracking.loads(by="player_id").to_dicts()} == {None}
    assert set(game_tracking.loads()["period"]) == {None}


def test_a_session_without_a_player_is_unseen_time() -> None:
    first = TrackedGame(Sensors(seconds=30)).locations()
    second = first.set_column(0, "session_id", pa.array(["s-2"] * len(first)))
    second = second.set_column(2, "t", pa.compute.add(second["t"], pa.scalar(3_600_000, pa.duration("ms"))))
    without = second.filter(pa.compute.not_equal(pa.compute.fill_null(second["player_id"], 0), player(HOME, 2)))
    both_halves = sideline.Tracking([first, without])
    shares = {row["player_id"]: row["seen_share"] for row in both_halves.loads(by="player_id").to_dicts()}
    assert shares.pop(player(HOME, 2)) == 0.5
    assert set(shares.values()) == {1.0}
    assert {row["seen_share"] for row in both_halves.loads(by=["player_id", "session_id"]).to_dicts()} == {1.0}
    # A session of another game does not count.
    other_game = without.set_column(1, "game_id", pa.array(["g-2"] * len(without)))
    assert {row["seen_share"] for row in sideline.Tracking([first, other_game]).loads(by="player_id").to_dicts()} == {1.0}


def test_a_share_is_of_time_and_not_of_frames() -> None:
    fine, coarse = (TrackedGame(Sensors(seconds=30, rate=rate)).locations() for rate in (10, 2))
    is_late = pa.compute.greater(pa.compute.cast(fine["t"], pa.int64()), START + 15_000)
    is_his = pa.compute.equal(pa.compute.fill_null(fine["player_id"], 0), player(HOME, 2))
    half_seen = fine.filter(pa.compute.invert(pa.compute.and_(is_late, is_his)))
    coarse = coarse.set_column(0, "session_id", pa.array(["s-2"] * len(coarse)))
    coarse = coarse.set_column(2, "t", pa.compute.add(coarse["t"], pa.scalar(3_600_000, pa.duration("ms"))))
    rows = sideline.Tracking([half_seen, coarse]).loads(by="player_id").to_dicts()
    shares = {row["player_id"]: row["seen_share"] for row in rows}
    assert shares.pop(player(HOME, 2)) == pytest.approx(0.75, abs=0.01)
    assert set(shares.values()) == {1.0}


def test_a_window_is_a_small_tracking(perfect: sideline.Tracking) -> None:
    row = perfect.defenders().to_dicts()[4]
    near = perfect.window(row, before=2, after=timedelta(seconds=1))
    times = sorted({row["t"] for row in near.frames().to_dicts()})
    assert times[0] >= row["t"] - timedelta(seconds=2.1)
    assert times[-1] <= row["t"] + timedelta(seconds=1.1)
    assert {row["period"] for row in near.frames().to_dicts()} == {"Q1"}
    assert near.defenders(pa.Table.from_pylist([row]).select(["session_id", "player_id", "t"]))["defender_id"] == [row["defender_id"]]
    for row_without_place in ({"session_id": "s-1"}, {"session_id": "other", "t": START}):
        with pytest.raises(ValueError, match="row "):
            perfect.window(row_without_place)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda source: source.frames(rate=0), "rate is 0"),
        (lambda source: source.frames(rate=1e9), "rate is 1000000000.0"),
        (lambda source: source.frames(smoothing="median"), "smoothing is 'median'"),
        (lambda source: source.loads(by="player"), "did you mean player_id"),
        (lambda source: source.loads(by="period"), "by has no player_id"),
        (lambda source: source.loads(bands=(2, 4)), "four rising speeds"),
        (lambda source: source.loads(bands=(2, 4, 4, 7)), "four rising speeds"),
        (lambda source: source.loads(bands=None), "bands is None; it must be four rising speeds"),
        (lambda source: source.loads(bands="2456"), "four rising speeds"),
        (lambda source: source.loads(by=None), "by has None; it must be one or several of player_id"),
        (lambda source: source.shot_quality(by=()), "by is empty"),
        (lambda source: source.spacing(by="game"), "by is 'game'"),
        (lambda source: source.defenders(at="catch"), "at is 'catch'"),
        (lambda source: source.defenders(at=timedelta(hours=1)), "less than an hour"),
        (lambda source: source.defenders(pa.table({"player_id": [1]})), "rows has no column occurred_at or t"),
        (lambda source: source.window({"t": START}, before=-1), "before is -1"),
        (lambda _: sideline.Tracking(pa.table({"t": [1]})), "locations has no column player_id and x and y"),
        (lambda _: sideline.Tracking([], court="hall"), "court is 'hall'"),
        (lambda _: sideline.Tracking(pa.table({"t": pa.array([1], pa.timestamp("ms")), "player_id": [1], "x": [1], "y": [1]})), "time zone"),
    ],
)
def test_wrong_input_says_what_to_write(perfect: sideline.Tracking, call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(perfect)


def test_an_argument_that_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match="locations is a response, a Table"):
        sideline.Tracking(7)


@pytest.fixture(scope="module")
def service() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=7, now="2027-03-01T12:00:00Z") as service:
        yield service


def test_a_game_of_the_service_is_tracked(service: sideline.Simulator) -> None:
    game_id = service.games[0]["event_id"]
    with service.client() as client:
        game_tracking = client.tracking(client.game(game_id))  # a game's payload is its id
        shots = client.game_shots(game_id).table().num_rows
        for plays in (client.stats_details(client.game(game_id)), client.play_by_play(game_id)):
            expected = game_tracking.defenders(plays.table())
            for rows in (plays, list(plays) if isinstance(plays, sideline.Batch) else [plays]):
                assert game_tracking.defenders(rows).to_dicts() == expected.to_dicts()

    async def fetch() -> list[dict[str, Any]]:
        async with service.async_client() as client:
            return (await client.tracking(game_id, progress=False)).defenders().to_dicts()

    rows = game_tracking.defenders().to_dicts()
    assert rows == asyncio.run(fetch())
    assert len(rows) == shots
    assert sum(row["defender_id"] is not None for row in rows) > 0.5 * shots
    distances = {row["openness"]: row["distance_m"] for row in rows if row["openness"] is not None}
    kinds = [row["openness"] for row in game_tracking.shot_quality(by="openness").to_dicts()]
    assert len(kinds) == 4
    assert kinds == sorted(distances, key=distances.__getitem__)
    assert {row["game_id"] for row in game_tracking.loads().to_dicts()} == {game_id}
    periods = {row["period"] for row in game_tracking.loads().to_dicts()}
    assert periods >= {"H1", "H2"}
    assert f"{len(periods)} sessions" in repr(game_tracking)


def test_a_session_without_times_is_no_session_that_was_read(service: sideline.Simulator) -> None:
    game_id = service.games[0]["event_id"]
    with service.client(max_retries=0) as client:
        game = client.game(game_id).to_dict()
        game["results"][1].update(started_at=None, ended_at=None, _locations=[])
        service.faults.add(f"/v1/data/games/{game_id}", body=game)
        try:
            with pytest.raises(sideline.IncompleteError, match=game["results"][1]["id"]):
                client.tracking(game_id)
        finally:
            service.faults.clear()


@pytest.mark.parametrize(("factor", "years"), [(1, -1), (1, -50), (1000, 0), (-1000, 0), (10**6, 0)])
@pytest.mark.parametrize("name", ["started_at", "ended_at"])
def test_a_wrong_time_of_a_session_costs_nothing_where_its_windows_are_known(service: sideline.Simulator, name: str, factor: int, years: int) -> None:
    game_id = service.games[0]["event_id"]
    with service.client(max_retries=0) as client:
        expected = client.tracking(game_id).loads().to_dicts()
        game = client.game(game_id).to_dict()
        game["results"][0][name] = game["results"][0][name] * factor + years * 365 * 86_400_000
        service.faults.add(f"/v1/data/games/{game_id}", body=game)
        try:
            assert client.tracking(game_id).loads().to_dicts() == expected
        finally:
            service.faults.clear()


@pytest.mark.parametrize("privilege", ["stats", "shots"])
def test_a_game_that_may_not_be_read_is_incomplete(service: sideline.Simulator, privilege: str) -> None:
    game_id, username = service.games[0]["event_id"], f"without {privilege}"
    service.credentials.add(username, "secret", privileges={privilege: False})
    with service.client(username=username, secret="secret", max_retries=0) as client, pytest.raises(sideline.IncompleteError, match="forbidden"):
        client.tracking(game_id)


def test_shots_and_possessions_of_a_session_are_passed_once(service: sideline.Simulator) -> None:
    pl = library("polars")
    with service.client() as client:
        session_id = client.game(service.games[0]["event_id"]).table("sessions").to_dicts()[0]["session_id"]
        shots, possessions = client.shots(session_id), client.possessions(session_id)
    frame = pl.DataFrame(shots.table())
    parts = [frame.head(9), frame.tail(-9)]
    assert repr(sideline.Tracking([], parts, possessions=possessions)) == repr(sideline.Tracking([], shots, possessions=possessions))
    for source in ([shots, shots], [*parts, frame.tail(1)]):
        with pytest.raises(ValueError, match=f"shots has session {session_id} twice: pass each session once"):
            sideline.Tracking([], source)
    as_sent = pl.concat([frame, frame.tail(1)])
    assert f"{len(as_sent)} shots" in repr(sideline.Tracking([], as_sent)), "the service may send a shot twice"
    with pytest.raises(ValueError, match=f"possessions has session {session_id} twice: pass each session once"):
        sideline.Tracking([], shots, possessions=[possessions, possessions.table()])


def test_football_has_loads() -> None:
    with sideline.Simulator(seed=7, sport="football", now="2027-03-01T12:00:00Z") as service, service.client() as client:
        game_tracking = client.tracking(service.games[0]["event_id"], progress=False)
        assert game_tracking.court == "football"
        assert all(row["distance_m"] > 0 for row in game_tracking.loads(by="player_id").to_dicts())
        assert game_tracking.defenders().num_rows == 0
        quarter = client.game(service.games[0]["event_id"]).table("sessions").to_dicts()[0]
        payload = client.locations(quarter["session_id"], quarter["started_at"], quarter["ended_at"])
        batch = client.locations([quarter["session_id"]], quarter["started_at"], quarter["ended_at"])
    field_loads = sideline.Tracking(payload.table(), court="football").loads().to_dicts()
    for source in (payload, batch, [payload]):
        assert sideline.Tracking(source).court == "football"
        assert sideline.Tracking(source).loads().to_dicts() == field_loads
    assert sideline.Tracking(payload.table()).court is None, "a table does not tell its sport"
    assert sideline.Tracking(payload, court=sideline.court.PRO).court == sideline.court.PRO


@pytest.mark.extended
@pytest.mark.source
def test_the_table_of_bias_is_current() -> None:
    module = runpy.run_path(str(Path(__file__).parent.parent / "docs" / "make_tracking.py"))
    assert module["PAGE"].read_text(encoding="utf-8") == module["page"](), "run python docs/make_tracking.py"


MEMORY = """
import resource, sys
import numpy as np, pyarrow as pa, sideline
frames, count = 48 * 60 * 25, 11
t = np.repeat(np.arange(frames) * 40, count)
player = np.tile(np.arange(count), frames)
phase = t / 1000 / (3 + player)
table = pa.table({
    "session_id": ["14875c2b-8f32-4f4c-afa1-112f3ecad216"] * len(t),
    "t": pa.array(t + 1_790_000_000_000, pa.timestamp("ms", "UTC")),
    "type": pa.array(np.where(player == 10, "BALL", "PLAYER")),
    "team_id": np.where(player < 5, 1, 2), "player_id": player,
    "x": 5000 * np.sin(phase), "y": 10_000 * np.cos(phase), "z": np.zeros(len(t)),
})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tracking = sideline.Tracking(table)
assert tracking.loads(by="player_id").num_rows == 10
assert tracking.opponents().num_rows == 10 * frames
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / table.nbytes)
"""


@pytest.mark.extended
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
def test_a_game_of_25_frames_a_second_takes_at_most_three_times_its_memory() -> None:
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(done.stdout) <= 3
