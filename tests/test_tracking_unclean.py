"""`sideline.Tracking` on small tables with known answers, which are not clean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from needs import library

import sideline

pl = library("polars")
START = datetime(2027, 1, 15, 8, tzinfo=UTC)
Position = tuple[float, int | None, int | None, float, float]
"""Seconds, team and player (none for the ball), x and y in metres."""

FIVES = {(1, 10 + i): (-4.0 + 2 * i, 5.0) for i in range(5)} | {(2, 20 + i): (-4.0 + 2 * i, 6.0 + 0.1 * i) for i in range(5)}


def at(seconds: float) -> datetime:
    return START + timedelta(milliseconds=round(seconds * 1000))


def locations(positions: Sequence[Position], session: str = "S", game: str = "G") -> Any:
    columns: dict[str, Any] = {
        "session_id": [session] * len(positions),
        "game_id": [game] * len(positions),
        "t": [at(position[0]) for position in positions],
        "type": ["BALL" if position[2] is None else "PLAYER" for position in positions],
        "team_id": pl.Series([position[1] for position in positions], dtype=pl.Int64),
        "player_id": pl.Series([position[2] for position in positions], dtype=pl.Int64),
        "x": [position[3] * 1000.0 for position in positions],
        "y": [position[4] * 1000.0 for position in positions],
        "z": [1000.0] * len(positions),
    }
    return pl.DataFrame(columns)


def standing(places: Mapping[tuple[int, int], tuple[float, float]], seconds: float, start: float = 0.0) -> list[Position]:
    """Positions of players who stand, ten a second."""
    times = [start + i / 10 for i in range(int(seconds * 10) + 1)]
    return [(t, team, player, x, y) for t in times for (team, player), (x, y) in places.items()]


def shot(seconds: float, **columns: Any) -> dict[str, Any]:
    row = {"session_id": "S", "game_id": "G", "team_id": 1, "player_id": 10, "occurred_at": at(seconds), "is_make": True, "is_3point": False}
    return row | {"points": 2, "player_x": None, "player_y": None} | columns


def shots(*rows: dict[str, Any]) -> Any:
    types = {"player_x": pl.Float64, "player_y": pl.Float64, "is_make": pl.Boolean, "points": pl.Int64}
    return pl.DataFrame(rows, schema_overrides=types)


def possession(team: int, number: int, start: float, end: float) -> dict[str, Any]:
    fives = [[player for side, player in FIVES if side == other] for other in (team, 3 - team)]
    times = {"start_timestamp": at(start), "end_timestamp": at(end)}
    return {"session_id": "S", "team_id": team, "possession": number, **times, "player_ids": fives[0], "opposing_player_ids": fives[1]}


def flight(t: float) -> tuple[float, float]:
    """The ball at player 10, from 3 s to the hoop at 4 s, off it to player 11 at 5 s."""
    if t <= 3:
        return 0.0, 5.0
    if t < 4:
        return 0.0, 5 + 7.7 * (t - 3)
    return (2 * (t - 4), 12.7 - 0.7 * (t - 4)) if t < 5 else (2.0, 12.0)


def test_a_missed_shot_without_a_known_time_is_no_pass_to_the_rebounder() -> None:
    places = FIVES | {(1, 10): (0.0, 5.0), (1, 11): (2.0, 12.0)}
    positions = locations(standing(places, 12) + [(i / 10, None, None, *flight(i / 10)) for i in range(121)])
    with_time = sideline.Tracking(positions, shots(shot(3.0, player_x=0.0, player_y=5000.0, is_make=False, points=0)))
    assert (with_time.touches()["ended_by"], with_time.passes().num_rows) == (["shot", "dead_ball"], 0)
    elsewhere = sideline.Tracking(positions, shots(shot(3.0, player_x=7000.0, player_y=5000.0, is_make=False, points=0)))
    for table in (elsewhere.touches, elsewhere.passes):
        with pytest.raises(ValueError, match="clock_unknown: session S"):
            table()


def test_a_touch_ends_where_the_ball_is_no_longer_seen() -> None:
    ball = [(i / 10, None, None, 0.3, 0.0) for i in range(901) if i <= 10 or i >= 700]
    tracking = sideline.Tracking(locations(standing({(1, 10): (0.0, 0.0)}, 90) + ball))
    assert tracking.touches()["duration_s"] == pytest.approx([1.0, 20.0])


def test_a_shot_of_unknown_result_or_points_is_not_counted_for_a_matchup() -> None:
    positions = locations(standing(FIVES, 20))
    rows = [shot(3.0, points=3, is_3point=True), shot(6.0, is_make=None), shot(9.0, is_make=False, points=0)]
    frame = shots(*rows).with_columns(player_x=pl.lit(-4000.0), player_y=pl.lit(5000.0))
    for source in (frame, frame.drop("points")):
        [row] = [row for row in sideline.Tracking(positions, source).matchups().to_dicts() if row["shots"]]
        assert (row["shots"], row["makes"], row["points"]) == (2, 1, 3)
    frame_of_nulls = frame.head(1).with_columns(is_3point=pl.lit(None, pl.Boolean), points=pl.lit(None, pl.Int64))
    assert all(row["shots"] == 0 for row in sideline.Tracking(positions, frame_of_nulls).matchups().to_dicts())


def test_shots_without_a_chart_are_passed_once_too() -> None:
    frame = shots(shot(3.0))
    with pytest.raises(ValueError, match="shots has session S twice"):
        sideline.Tracking(locations(standing(FIVES, 12)), [frame, frame])


def longest_guarding(tracking: sideline.Tracking) -> dict[int, float | None]:
    """By team of the attacker, the longest time that one defender guarded."""
    rows = tracking.matchups().to_dicts()
    return {team: max(row["guarded_s"] for row in rows if row["offense_team_id"] == team) for team in (1, 2)}


def test_a_possession_goes_on_after_one_within_it() -> None:
    possessions = pl.DataFrame([possession(1, 0, 0, 30), possession(2, 1, 10, 12)])
    seconds = longest_guarding(sideline.Tracking(locations(standing(FIVES, 30)), None, possessions=possessions))
    assert seconds == pytest.approx({1: 28.0, 2: 2.0}, abs=0.41)


def test_the_time_of_a_matchup_is_unknown_where_a_session_has_no_possessions() -> None:
    positions = pl.concat([locations(standing(FIVES, 30)), locations(standing(FIVES, 30, start=60), session="T")])
    possessions = pl.DataFrame([possession(1, 0, 0, 30)])
    rows = sideline.Tracking(positions, None, possessions=possessions).matchups().to_dicts()
    assert rows
    assert {(row["guarded_s"], row["mean_distance_m"]) for row in rows} == {(None, None)}


def test_a_row_without_a_session_is_of_the_one_whose_time_it_has() -> None:
    first, second = locations(standing(FIVES, 60), "A"), locations(standing(FIVES, 60, start=60.1), "B")
    tracking = sideline.Tracking(pl.concat([first, second]))
    rows = pl.DataFrame({"game_id": ["G"] * 2, "player_id": [10, 10], "t": [at(30), at(90)]})
    assert [(row["session_id"], row["reason"]) for row in tracking.defenders(rows).to_dicts()] == [("A", None), ("B", None)]
    assert tracking.window({"game_id": "G", "t": at(90)}).frames().num_rows > 0


def test_a_player_whose_team_is_null_in_some_rows_is_one_player() -> None:
    positions = [(i / 10, None if i % 3 == 0 else 1, 10, 0.02 * i - 6, 0.0) for i in range(601)]
    [row] = sideline.Tracking(locations(positions).with_columns(type=pl.lit("PLAYER"))).loads(by="player_id").to_dicts()
    assert row["team_id"] == 1
    assert row["distance_m"] == pytest.approx(12.0, rel=0.03)


def test_seconds_are_no_milliseconds() -> None:
    frame = locations(standing(FIVES, 60))
    with pytest.raises(ValueError, match="the column t has seconds"):
        sideline.Tracking(frame.with_columns(pl.col("t").dt.epoch("s")))
    with pytest.raises(ValueError, match="the time of row is in seconds"):
        sideline.Tracking(frame).window({"session_id": "S", "t": int(START.timestamp()) + 30})


def test_a_possession_of_which_most_is_unseen_has_no_spacing() -> None:
    ball = [(i / 10, None, None, -1.0, 0.0) for i in range(401)]
    possessions = pl.DataFrame([possession(1, 0, 0, 10), possession(1, 1, 10, 40), possession(1, 2, 40, 70)])
    partial_positions = [position for position in standing(FIVES, 40) if position[0] < 15 or position[2] != 14]
    for positions in (standing(FIVES, 15) + ball, partial_positions + ball):
        rows = sideline.Tracking(locations(positions), possessions=possessions).spacing().to_dicts()
        assert [row["reason"] for row in rows] == [None, "gap", "gap"]
        assert [row["hull_area_m2"] for row in rows] == [0.0, None, None]
    rows = sideline.Tracking(locations(standing(FIVES, 70) + ball[:150]), possessions=possessions).spacing().to_dicts()
    assert [row["reason"] for row in rows] == [None, "no_ball", "no_ball"]
    assert [row["ball_side_share"] for row in rows] == [pytest.approx(0.6), None, None]


def test_the_middle_line_is_of_both_halves() -> None:
    possessions = pl.DataFrame([possession(1, 0, 0, 10)])
    for x, share in ((-1.0, 0.6), (1.0, 0.6), (0.0, 1.0)):
        ball = [(i / 10, None, None, x, 0.0) for i in range(101)]
        tracking = sideline.Tracking(locations(standing(FIVES, 10) + ball), possessions=possessions)
        assert tracking.spacing()["ball_side_share"] == pytest.approx([share])


def without_team(positions: Any, *players: int) -> Any:
    is_known = ~pl.col("player_id").is_in(players)
    return positions.with_columns(pl.when(is_known).then("team_id").alias("team_id"))


def test_players_without_a_team_are_no_team() -> None:
    ball = [(i / 10, None, None, *(FIVES[1, 10 if i < 100 else 11])) for i in range(201)]
    positions = locations(standing(FIVES, 20) + ball)
    row = pl.DataFrame({"player_id": [10, 20], "t": [at(10)] * 2})
    for players in ((10,), (20, 21, 22, 23, 24), (10, 11, 20), tuple(player for _, player in FIVES)):
        tracking = sideline.Tracking(without_team(positions, *players))
        for table in (tracking.frames(), tracking.opponents(), tracking.loads(), tracking.coverage(), tracking.touches()):
            rows = [row for row in table.to_dicts() if row["player_id"] is not None]
            assert all((row["team_id"] is None) == (row["player_id"] in players) for row in rows)
        assert {row["reason"] for row in tracking.defenders(row).to_dicts() if row["player_id"] in players} == {"lineup_unknown"}
        assert set(tracking.opponents()["reason"]) <= {"lineup_unknown", None}
        if 10 in players:
            assert tracking.touches()["ended_by"] == ["other", "dead_ball"]
            assert tracking.passes().num_rows == 0
    assert sideline.Tracking(positions).touches()["ended_by"] == ["pass", "dead_ball"]


def test_possessions_name_the_teams_of_players_without_one() -> None:
    positions, possessions = locations(standing(FIVES, 60)), pl.DataFrame([possession(1, 0, 0, 30), possession(2, 0, 30, 60)])
    expected = sideline.Tracking(positions, possessions=possessions).opponents().to_dicts()
    unnamed_teams = without_team(positions, *(player for _, player in FIVES))
    assert sideline.Tracking(unnamed_teams, possessions=possessions).opponents().to_dicts() == expected


def test_a_closing_speed_that_is_not_known_has_a_reason() -> None:
    tracking = sideline.Tracking(locations(standing(FIVES, 20)))
    rows = pl.DataFrame({"player_id": [10] * 3, "t": [at(0.1), at(10), at(19.9)]})
    defenders = tracking.defenders(rows).to_dicts()
    assert [(row["closing_speed_mps"], row["reason"]) for row in defenders] == [(None, "gap"), (0.0, None), (None, "gap")]
    assert all(row["distance_m"] == pytest.approx(1.0) for row in defenders)


def test_two_places_at_one_time_are_no_place_between_them() -> None:
    other = [(i / 10, 1, 10, 5.0, -9.0) for i in range(100, 121)]
    tracking = sideline.Tracking(locations(standing(FIVES, 20) + other))
    [row] = [row for row in tracking.coverage().to_dicts() if row["player_id"] == 10]
    assert (row["frames_seen"], row["teleports"]) == (180, 42)
    assert {row["x_m"] for row in tracking.frames(smoothing=None).to_dicts() if row["player_id"] == 10} == {-4.0}


def test_a_possession_without_its_times_is_not_lost() -> None:
    positions = locations(standing(FIVES, 30))
    for times in ({"end_timestamp": None}, {"start_timestamp": None}, {"end_timestamp": at(5)}):
        possessions = pl.DataFrame([possession(1, 0, 0, 10), possession(2, 0, 10, 20) | times, possession(1, 1, 20, 30)])
        tracking = sideline.Tracking(positions, possessions=possessions)
        assert [row["reason"] for row in tracking.spacing().to_dicts()].count("clock_unknown") == 1
        assert tracking.spacing().num_rows == 3
        assert set(tracking.matchups()["guarded_s"]) == {None}


@pytest.mark.parametrize("unit", [1000, 304.8, 25.4, 10])
def test_metres_feet_inches_and_centimetres_are_no_millimetres(unit: float) -> None:
    positions = locations(standing(FIVES, 5))
    with pytest.raises(ValueError, match="they must be millimetres"):
        sideline.Tracking(positions.with_columns(pl.col("x", "y") / unit))


def ball_path(*points: tuple[float, float, float]) -> list[Position]:
    """The ball at 25 frames a second, on lines between points (seconds, x, y)."""
    np = library("numpy")
    seconds, x, y = zip(*points, strict=True)
    times = [i / 25 for i in range(int(seconds[-1] * 25) + 1)]
    return [(t, None, None, float(np.interp(t, seconds, x)), float(np.interp(t, seconds, y))) for t in times]


def test_a_shot_ends_one_touch() -> None:
    """Player 10 passes to 11 and shoots a second later, after the pass back."""
    ball = ball_path((0, 0, 5), (2, 0, 5), (2.25, 3, 5), (2.5, 3, 5), (2.75, 0, 5), (3, 0, 5), (4, 0, 12.7), (8, 0, 12.7))
    places = {(1, 10): (0.0, 5.0), (1, 11): (3.0, 5.0)}
    players = [(t, team, player, x, y) for t, *_ in ball for (team, player), (x, y) in places.items()]
    tracking = sideline.Tracking(locations(ball + players), shots(shot(3.0, player_x=0.0, player_y=5000.0)))
    assert [(row["player_id"], row["ended_by"]) for row in tracking.touches().to_dicts()] == [(10, "pass"), (11, "pass"), (10, "shot")]
    assert list(zip(tracking.passes()["passer_id"], tracking.passes()["receiver_id"], strict=True)) == [(10, 11), (11, 10)]


@pytest.mark.parametrize("rate", [2, 5, 10, 25, 50])
@pytest.mark.parametrize(("speed", "band"), [(2.0, 2), (4.0, 3), (5.5, 4), (7.0, 5)])
def test_a_speed_at_a_limit_is_in_the_band_above(rate: int, speed: float, band: int) -> None:
    line = [(i / rate, 1, 10, 0.0, speed * i / rate - 10) for i in range(int(20 / speed * rate) + 1)]
    [row] = sideline.Tracking(locations(line)).loads(by="player_id").to_dicts()
    assert row[f"distance_band_{band}_m"] == row["distance_m"]
    assert row["sprints"] == (None if rate < 5 else int(band == 5))


def test_numbers_that_are_not_numbers_are_nulls() -> None:
    nan = float("nan")
    positions = locations(standing(FIVES, 20)).with_columns(game_clock_s=pl.lit(nan), shot_clock_s=pl.lit(5.0))
    with_place = shot(3.0, player_x=-4000.0, player_y=5000.0, hoop_x=nan, hoop_y=0.0)
    without = [shot(t, player_x=nan, player_y=nan, hoop_x=0.0, hoop_y=0.0) for t in (6.0, 9.0)]
    tracking = sideline.Tracking(positions, shots(with_place, *without))
    assert set(tracking.frames()["game_clock_s"]) == {None}
    rows = tracking.defenders().to_dicts()
    assert [row["defender_id"] for row in rows] == [20, 20, 20]
    assert [row["place_error_m"] for row in rows] == [pytest.approx(0), None, None]
    assert rows[0]["angle_deg"] is None


def test_lists_of_ids_beside_nulls_are_read() -> None:
    positions = locations(standing(FIVES | {(2, 25): (0.0, 5.5)}, 20))
    frame = shots(shot(3.0, player_x=-4000.0, player_y=5000.0, defender_ids=[20.0]))
    floats = pl.List(pl.Float64)
    possessions = pl.DataFrame([possession(1, 0, 0, 20)]).cast({"player_ids": floats, "opposing_player_ids": floats})
    [row] = sideline.Tracking(positions, frame, possessions=possessions).defenders().to_dicts()
    assert (row["defender_id"], row["service_defender_ids"]) == (20, [20])
    with pytest.raises(ValueError, match="shots: the column defender_ids .* must have lists of whole numbers"):
        sideline.Tracking(positions, frame.cast({"defender_ids": pl.List(pl.String)}))


def test_a_possession_without_a_number_has_none() -> None:
    possessions = pl.DataFrame([possession(1, 0, 0, 5), possession(2, 1, 5, 10), possession(1, 2, 10, 15)]).drop("possession")
    for source in (possessions, [possessions.head(1), possessions.tail(2)], possessions.reverse()):
        assert sideline.Tracking(locations(standing(FIVES, 20)), possessions=source).spacing()["possession"] == [None] * 3


def test_the_ball_is_where_it_is_at_the_time_of_a_frame() -> None:
    ball = [(i / 2, None, None, -4.0 + i / 2, 5.0) for i in range(21)]
    tracking = sideline.Tracking(locations(standing(FIVES, 10) + ball))
    rows = tracking.defenders(pl.DataFrame({"player_id": [10, 10], "t": [at(2), at(3)]})).to_dicts()
    assert [row["ball_distance_m"] for row in rows] == pytest.approx([2.0, 3.0])


def test_positions_without_a_session_are_those_of_the_events() -> None:
    frame, possessions = shots(shot(3.0, player_x=-4000.0, player_y=5000.0, period="Q1")), pl.DataFrame([possession(1, 0, 0, 20)])
    positions = locations(standing(FIVES, 20)).drop("session_id")
    tracking = sideline.Tracking(positions, frame, possessions=possessions)
    [row] = tracking.defenders().to_dicts()
    assert (row["defender_id"], row["reason"], row["period"], str(row["offset_s"])) == (20, None, "Q1", "0.0")
    assert tracking.spacing().num_rows == 1


def test_times_at_the_end_of_the_calendar_break_nothing() -> None:
    ends = (-(2**63), 2**63 - 1)
    epochs = [pl.col(name).dt.epoch("ms") for name in ("start_timestamp", "end_timestamp")]
    possessions = pl.DataFrame([possession(1, 0, 0, 20)]).with_columns(epochs)
    others = [
        possessions.with_columns(start_timestamp=pl.lit(end), end_timestamp=pl.lit(end), possession=pl.lit(number + 1, pl.Int64))
        for number, end in enumerate(ends)
    ]
    positions = locations(standing(FIVES, 20)).with_columns(pl.col("t").dt.epoch("ms"), game_clock_s=pl.lit(600.0))
    rows = [positions.head(1).with_columns(t=pl.lit(end)) for end in ends]
    tracking = sideline.Tracking(pl.concat([positions, *rows]), possessions=pl.concat([possessions, *others]))
    assert set(tracking.frames(rate=5)["game_clock_s"]) == {600.0}
    assert [row["hull_area_m2"] is not None for row in tracking.spacing().to_dicts() if row["possession"] == 0] == [True]
    assert [row["teleports"] for row in tracking.coverage().to_dicts() if row["teleports"]] == [2]


def test_the_rate_of_positions_without_a_ball_is_named() -> None:
    slow = [(t, team, player, x, y) for t, team, player, x, y in standing(FIVES, 10) if t % 0.5 == 0]
    with pytest.raises(ValueError, match=r"rate_too_low: session S has 2\.000 frames a second"):
        sideline.Tracking(locations(slow)).touches()


@pytest.mark.parametrize("y", [0.0, 1.3, 5.0, -7.7])
def test_a_distance_at_a_limit_is_not_below_it(y: float) -> None:
    for feet, openness in ((2, "tight"), (4, "open"), (6, "wide_open")):
        places = {(1, 10 + i): (-4.0 + 2 * i, y) for i in range(5)} | {(2, 20 + i): (-4.0 + 2 * i, y - feet * 0.3048) for i in range(5)}
        frame = shots(shot(3.0, player_x=-4000.0, player_y=(y + 1) * 1000))
        [row] = sideline.Tracking(locations(standing(places, 20)), frame).defenders().to_dicts()
        assert (row["distance_m"], row["openness"], row["reason"]) == (pytest.approx(feet * 0.3048), openness, None)


@pytest.mark.parametrize("rate", [5, 10, 25, 50])
@pytest.mark.parametrize("frames", [2, 3, 4, 6, 12])
def test_a_line_stays_a_line_however_short_it_is(rate: int, frames: int) -> None:
    """Six times some frames of a player at 4 m/s, a second and a half apart."""
    times = [(number * (frames / rate + 1.5), i / rate) for number in range(6) for i in range(frames)]
    positions = [(start + t, 1, 10, 2.4 * t - 5, 3.2 * t - 10) for start, t in times]
    tracking = sideline.Tracking(locations(positions))
    rows = tracking.frames().to_dicts()
    assert [row["speed_mps"] for row in rows] == pytest.approx([4.0] * len(rows), abs=1e-4)
    assert [(row["x_m"], row["y_m"]) for row in rows] == [pytest.approx(position[3:], abs=1e-4) for position in positions]
    [load] = tracking.loads(by="player_id").to_dicts()
    assert load["distance_m"] == pytest.approx(6 * 4 * (frames - 1) / rate)
    # A peak is a mean over a fifth of a second.
    has_peak = (frames - 1) / rate > 0.199
    assert (load["peak_speed_mps"], load["reason"]) == ((pytest.approx(4.0), None) if has_peak else (None, "gap"))


def test_a_contact_too_short_for_a_touch_ends_none() -> None:
    """The ball is a tenth of a second nearer to a defender, out of the dribbler's reach."""
    ball = ball_path((0, 0, 5), (2.04, 0, 5), (2.08, 1.2, 5), (2.16, 1.2, 5), (2.2, 0, 5), (4, 0, 5))
    players = [(t, team, player, x, 5.0) for t, *_ in ball for team, player, x in ((1, 10, 0.0), (2, 20, 1.4))]
    [touch] = sideline.Tracking(locations(ball + players)).touches().to_dicts()
    assert (touch["player_id"], touch["duration_s"]) == (10, pytest.approx(4.0))


def test_a_dropout_has_as_many_frames_as_the_tag_lost() -> None:
    """Ten tags, each a hundredth of a second after the one before; one loses two frames of ten a second."""
    positions = [(t + number / 100, *key, x, y) for number, (key, (x, y)) in enumerate(FIVES.items()) for t in (i / 10 for i in range(101))]
    others = [position for position in positions if position[2] != 12 or not 3.01 < position[0] < 3.19]
    assert len(positions) - len(others) == 2
    tracking = sideline.Tracking(locations(others))
    rows = [row for row in tracking.frames().to_dicts() if row["is_interpolated"]]
    assert [row["player_id"] for row in rows] == [12, 12]
    assert [(row["t"] - START).total_seconds() for row in rows] == pytest.approx([3.02, 3.12], abs=0.051)
    assert tracking.opponents().num_rows == len(positions)


@pytest.mark.parametrize("place", [0, 3, 6, 9])
@pytest.mark.parametrize("label", ["Q9", "OT", "", "Q1"])
def test_a_label_that_one_row_has_is_no_period(label: str, place: int) -> None:
    """The possession at its time has the period of all others."""
    positions = locations(standing(FIVES, 100))
    possessions = pl.DataFrame([possession(1 + number % 2, number // 2, 10 * number, 10 * number + 10) | {"period": "Q2"} for number in range(10)])
    rows = [shot(10 * number + 5, period=label if number == place else "Q2", player_x=-4000.0, player_y=5000.0) for number in range(10)]
    loads = sideline.Tracking(positions, shots(*rows), possessions=possessions).loads()
    assert set(loads["period"]) == {"Q2"}


@pytest.mark.parametrize("seconds", [-36_000.0, -3600.0, -30.0, 130.0, 3600.0, 36_000.0])
@pytest.mark.parametrize("players", [1, 10])
def test_a_frame_far_from_all_others_makes_no_session_longer(players: int, seconds: float) -> None:
    places = standing(FIVES, 100)
    odd_places = [(seconds, *position[1:]) for position in places[:players]]
    without, with_frames = (sideline.Tracking(locations(positions)) for positions in (places, [*places, *odd_places]))
    assert with_frames.loads().to_dicts() == without.loads().to_dicts()
    assert with_frames.frames(2).to_dicts() == without.frames(2).to_dicts()
    assert sum(with_frames.coverage()["teleports"]) == players
