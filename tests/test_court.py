"""Frames: the vendor's own samples, exact transforms there and back, and every kind of number."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from needs import library, needs

import sideline
from sideline import court
from sideline.court import COURT, HOOP, Frame

pd = library("pandas")
pl = library("polars")
pa = library("pyarrow")

FRAMES = [
    COURT,
    Frame("centre", None, "ft"),
    *(
        Frame(origin, attacking, unit)
        for origin in ("centre", "hoop")
        for attacking in ("up", "down", "left", "right")
        for unit in ("mm", "cm", "m", "in", "ft")
    ),
]


# Facts 7: player, hoop, and the chart as the vendor has it, which was rounded apart.
@pytest.mark.parametrize(
    ("point", "hoop", "chart"),
    [((3117, 7899), (-44, 12783), (-3160, 4884)), ((-2516, -2511), (46, -12566), (-2562, 10055))],
)
def test_the_vendors_samples(point: tuple[int, int], hoop: tuple[int, int], chart: tuple[int, int]) -> None:
    seen = court.transform(*point, COURT, HOOP, hoop=hoop)
    assert max(abs(a - b) for a, b in zip(seen, chart, strict=True)) <= 1
    assert court.transform(*seen, HOOP, COURT, hoop=hoop) == point


@needs("polars")
def test_every_shot_of_a_game_is_in_its_chart(client: sideline.Client, session_id: str) -> None:
    shots = client.shots(session_id).to_polars()
    hoop = pl.col("hoop_x"), pl.col("hoop_y")
    x, y = court.transform(pl.col("player_x"), pl.col("player_y"), COURT, HOOP, hoop=hoop)
    assert shots.filter((x != pl.col("hoop_player_x")) | (y != pl.col("hoop_player_y"))).is_empty()
    x, y = court.transform(pl.col("hoop_player_x"), pl.col("hoop_player_y"), HOOP, COURT, hoop=hoop)
    assert shots.filter((x != pl.col("player_x")) | (y != pl.col("player_y"))).is_empty()
    assert set(shots["hoop_y"].sign()) == {1, -1}, "both halves"


@pytest.mark.parametrize("source", FRAMES, ids=str)
def test_the_way_there_and_back_is_exact(source: Frame) -> None:
    rng = random.Random(str(source))
    for target in FRAMES * 5:
        x, y = (Fraction(rng.randint(-(10**6), 10**6), rng.randint(1, 999)) for _ in "xy")
        hoop = rng.randint(-50, 50), rng.choice([1, -1]) * rng.randint(12_500, 12_800)
        point = court.transform(x, y, source, target, hoop=hoop)
        assert court.transform(*point, target, source, hoop=hoop) == (x, y)


@pytest.mark.parametrize("source", FRAMES, ids=str)
def test_indirect_and_direct_transformations_agree(source: Frame) -> None:
    rng = random.Random(str(source))
    for middle, target in rng.sample([*itertools.product(FRAMES, FRAMES)], 500):
        x, y = (Fraction(rng.randint(-(10**6), 10**6), 7) for _ in "xy")
        hoop = rng.randint(-50, 50), rng.choice([1, -1]) * 12_700
        round_about = court.transform(*court.transform(x, y, source, middle, hoop=hoop), middle, target, hoop=hoop)
        assert round_about == court.transform(x, y, source, target, hoop=hoop)


@pytest.mark.parametrize("frame", FRAMES, ids=str)
def test_floats_come_back_to_the_last_bits_and_whole_millimetres_stay_whole(frame: Frame) -> None:
    rng = np.random.default_rng(7)
    x, y = rng.integers(-15_000, 15_000, (2, 1000)).astype(float)
    hoop = rng.integers(-50, 50, 1000).astype(float), rng.choice([-12_700.0, 12_700.0], 1000)
    point = court.transform(x, y, COURT, frame, hoop=hoop)
    back = court.transform(*point, frame, COURT, hoop=hoop)
    off = max(np.abs(back[0] - x).max(), np.abs(back[1] - y).max())
    assert off < 1e-10
    if frame.unit == "mm":
        assert off == 0
        assert all(isinstance(value, int) for value in court.transform(17, -4, COURT, frame, hoop=(3, -12_700)))


PLACES = st.floats(-32_000, 32_000, allow_subnormal=False)


@hypothesis.given(PLACES, PLACES, st.sampled_from(FRAMES), st.integers(-150, 150), st.integers(12_000, 13_500), st.booleans())
def test_any_float_round_trips_within_the_documented_error(x: float, y: float, frame: Frame, hoop_x: int, hoop_y: int, is_far_hoop: bool) -> None:
    hoop = (hoop_x, -hoop_y if is_far_hoop else hoop_y)
    back = court.transform(*court.transform(x, y, COURT, frame, hoop=hoop), frame, COURT, hoop=hoop)
    # A float of the court's size is known to 4e-12.
    assert max(abs(back[0] - x), abs(back[1] - y)) <= 4e-11
    if frame.unit == "mm" and frame.origin == "centre":
        assert back == (x, y)


@pytest.mark.parametrize(("attacking", "free_throw"), [("up", (0, -15)), ("down", (0, 15)), ("right", (-15, 0)), ("left", (15, 0))])
def test_a_team_attacks_in_its_stated_direction(attacking: Any, free_throw: tuple[int, int]) -> None:
    from_hoop = court.transform(0, 4572, HOOP, Frame("hoop", attacking, "ft"))
    assert from_hoop == free_throw
    for hoop in ((0, 12_700), (0, -12_700)):
        # Seen from the centre, the hoop itself is ahead, and a player to the attackers' right stays to their right.
        ahead = court.transform(*hoop, COURT, Frame("centre", attacking), hoop=hoop)
        assert ahead == {"up": (0, 12_700), "down": (0, -12_700), "right": (12_700, 0), "left": (-12_700, 0)}[attacking]
        right_hand = (1, 0) if hoop[1] > 0 else (-1, 0)
        seen = court.transform(*right_hand, COURT, Frame("centre", attacking), hoop=hoop)
        assert seen == {"up": (1, 0), "down": (-1, 0), "right": (0, -1), "left": (0, 1)}[attacking]


def test_every_kind_of_number_gives_its_own_kind() -> None:
    x, y, hoop_x, hoop_y = [3117.0, -2516.0], [7899.0, -2511.0], [-44.0, 46.0], [12783.0, -12566.0]
    expected = [-3161.0, -2562.0], [4884.0, 10055.0]

    def chart(kind: Any) -> Any:
        return court.transform(kind(x), kind(y), COURT, HOOP, hoop=(kind(hoop_x), kind(hoop_y)))

    assert chart(list) == expected
    assert chart(tuple) == expected
    for kind in (np.array, pl.Series, pd.Series):
        seen = chart(kind)
        assert type(seen[0]) is type(kind([1.0]))
        assert tuple(list(values) for values in seen) == expected
    assert court.transform(np.float64(3117), np.int64(7899), COURT, HOOP, hoop=(np.int64(-44), np.int64(12783))) == (-3161, 4884)
    # One hoop for all.
    assert court.transform([0, 1], [0, 0], COURT, HOOP, hoop=(0, 12_700)) == ([0, -1], [12_700, 12_700])


INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("kind", INTEGERS)
def test_small_integers_do_not_overflow(kind: str) -> None:
    x, y, hoop_x, hoop_y = ([value % (127 if kind.endswith("t8") else 30_000) for value in values] for values in ([31, 117], [78, 7899], [2, 44], [12_783, 30]))
    dtype = getattr(pl, kind.replace("uint", "UInt").replace("int", "Int"))
    makers: list[Any] = [
        lambda values: np.array(values, dtype=kind),
        lambda values: pl.Series(values, dtype=dtype),
        lambda values: pd.Series(values, dtype=kind),
        lambda values: pd.Series(values, dtype=kind.replace("uint", "UInt").replace("int", "Int")),
        lambda values: [np.dtype(kind).type(value) for value in values],
    ]
    for source, target in itertools.permutations((COURT, HOOP, Frame("centre", "left", "ft"), Frame("hoop", "up", "in")), 2):
        expected = court.transform(x, y, source, target, hoop=(hoop_x, hoop_y))
        approximate = [pytest.approx(axis, rel=1e-12) for axis in expected]
        for make in makers:
            seen = court.transform(make(x), make(y), source, target, hoop=(make(hoop_x), make(hoop_y)))
            assert [list(axis) for axis in seen] == approximate
        frame = pl.DataFrame(dict(zip("xyhk", (pl.Series(values, dtype=dtype) for values in (x, y, hoop_x, hoop_y)), strict=True)))
        columns = court.transform(pl.col("x"), pl.col("y"), source, target, hoop=(pl.col("h"), pl.col("k")))
        in_frame = frame.select(x=columns[0], y=columns[1])
        assert [in_frame[name].to_list() for name in "xy"] == approximate
    for source_unit, target_unit in itertools.permutations(("mm", "cm", "m", "in", "ft"), 2):
        lengths = court.convert(y, source_unit, target_unit)
        for make in makers:
            assert list(court.convert(make(y), source_unit, target_unit)) == pytest.approx(lengths, rel=1e-12)


def test_floats_keep_their_size() -> None:
    for dtype in (np.float32, np.float64):
        assert court.convert(np.array([12_725], dtype=dtype), "mm", "ft").dtype == dtype
    assert court.convert(pl.Series([12_725], dtype=pl.Float32), "mm", "ft").dtype == pl.Float32


def test_missing_coordinates_stay_missing() -> None:
    assert court.transform([None, 1], [2, 2], HOOP, Frame("hoop", "up")) == ([None, -1], [None, -2])
    assert court.transform([1, 1], [2, 2], COURT, HOOP, hoop=([0, None], [9, 9])) == ([-1, None], [7, None])
    series = court.transform(pl.Series([None, 1.0]), pl.Series([2.0, 2.0]), HOOP, Frame("hoop", "left", "m"))[0]
    assert series.to_list() == [0.002, 0.002]
    assert court.convert(pl.Series([None, 1000]), "mm", "m").to_list() == [None, 1.0]


def test_lengths() -> None:
    assert court.convert(1, "ft", "in") == 12
    assert court.convert(Fraction(1), "in", "mm") == Fraction(254, 10)
    assert isinstance(court.convert(3, "m", "mm"), int)
    assert court.convert(581.7, "cm", "cm") == 581.7
    for unit, other in itertools.product(("mm", "cm", "m", "in", "ft"), repeat=2):
        assert court.convert(court.convert(Fraction(22, 7), unit, other), other, unit) == Fraction(22, 7)


def test_a_missing_number_is_missing_alone_and_in_a_list() -> None:
    up = Frame("centre", "up", "m")
    assert court.convert(None, "m", "ft") is None
    assert court.transform(None, 2.0, HOOP, Frame("hoop", "up")) == (None, None)
    for hoop in ((None, 12_725), (0, None)):
        assert court.transform(1, 2, COURT, HOOP, hoop=hoop) == (None, None)
    assert all(map(math.isnan, court.transform(1.0, 2.0, COURT, up, hoop=(0.0, math.nan))))
    assert all(map(math.isnan, court.transform(1.0, 2.0, COURT, HOOP, hoop=(0.0, math.nan))))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: court.convert("1", "m", "ft"), "a coordinate is a number, or a list, array or column of numbers, not str"),
        (lambda: court.transform("1", 2, HOOP, Frame("hoop", "up")), "a coordinate is a number, .* not str"),
        (lambda: court.transform(0, 0, "court", HOOP), "source is a frame, such as court.HOOP, not str"),
        (lambda: court.transform(0, 0, COURT, HOOP, hoop=5), r"hoop is a pair, \(hoop_x, hoop_y\), not 5"),
        (lambda: court.transform([1, 2], np.array([3, 4]), HOOP, Frame("hoop", "up")), "a list and a ndarray are mixed"),
        (lambda: court.transform(np.ones(2), np.ones(2), COURT, HOOP, hoop=([0, 0], [1, 2])), "a list and a ndarray are mixed"),
    ],
)
def test_what_is_no_coordinate_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_an_impossible_transformation_is_refused() -> None:
    with pytest.raises(ValueError, match="pass hoop="):
        court.transform(0, 0, COURT, HOOP)
    with pytest.raises(ValueError, match="pass hoop="):
        court.transform(0, 0, COURT, Frame("centre", "up"))
    with pytest.raises(ValueError, match="neither half of the court"):
        court.transform(0, 0, COURT, HOOP, hoop=(0, 0))
    with pytest.raises(ValueError, match="1, 2 numbers"):
        court.transform([0], [0, 1], HOOP, Frame("hoop", "up"))
    with pytest.raises(ValueError, match="a unit is one of mm, cm, m, in, ft, not 'yd'"):
        Frame("hoop", "up", "yd")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not 'yd'"):
        court.convert(1, "yd", "mm")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not 'north'"):
        Frame("hoop", "north")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="centre or hoop"):
        Frame("basket", "up")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs attacking"):
        Frame("hoop", None)


def test_every_coordinate_of_the_tables_says_its_frame() -> None:
    frames = {(table, field.name): field.frame for table, schema in sideline.SCHEMAS.items() for field in schema if field.unit == "mm"}
    # The service does not say where a screener's coordinates have their origin.
    places = {place for place, frame in frames.items() if frame is None}
    assert places == {("ball_screens", "screener_x"), ("ball_screens", "screener_y")}
    of_hoop = {place for place, frame in frames.items() if frame == "hoop"}
    assert of_hoop == {
        *((table, f"hoop_player_{axis}") for table in ("shots", "tracking_defenders") for axis in "xy"),
        *((table, f"hoop_to_event_{axis}") for table in ("stat_events", "play_by_play") for axis in "xy"),
    }
    assert set(frames.values()) == {"court", "hoop", None}
    assert sideline.SCHEMAS["shots"]["distance_cm"].frame is None


def test_every_x_y_and_z_has_its_unit_origin_and_direction_in_arrows_metadata() -> None:
    seen = 0
    for name, schema in sideline.SCHEMAS.items():
        for field in pa.schema(schema):
            if field.name.split("_")[-1] not in ("x", "y", "z") or name == "ball_screens":
                continue
            seen += 1
            metadata = {key.decode(): value.decode() for key, value in field.metadata.items()}
            assert (metadata["unit"], metadata["frame"]) == ("mm", "hoop" if field.name.startswith(("hoop_to", "hoop_player")) else "court"), (name, field.name)
            axis = field.name[-1]
            ways = {"court": {"x": "across the court", "y": "along the court", "z": "above the floor"}, "hoop": {"x": "to the right", "y": "towards mid-court"}}
            assert ways[metadata["frame"]][axis] in metadata["description"]
            origin = {"court": "the floor" if axis == "z" else "from its centre", "hoop": "from the hoop"}[metadata["frame"]]
            assert origin in metadata["description"]
    assert seen == 26


@pytest.mark.parametrize(
    ("rules", "arc", "corner", "straight"),
    [
        (court.COLLEGE_MEN, 22 + 1.75 / 12, 21 + 7.875 / 12, None),
        (court.COLLEGE_WOMEN, 22 + 1.75 / 12, 21 + 7.875 / 12, None),
        (court.PRO, 23.75, 22, 14.2),
        (court.INTERNATIONAL, 6750 / 304.8, 6600 / 304.8, 2990 / 304.8),
    ],
)
def test_courts_measure_what_their_rules_say(rules: court.Court, arc: float, corner: float, straight: float | None) -> None:
    def feet(value: float) -> float:
        return court.convert(value, "mm", "ft")

    assert (feet(rules.arc), feet(rules.corner)) == pytest.approx((arc, corner), abs=1e-6)
    if straight:
        assert feet(rules.corner_length) == pytest.approx(straight, abs=0.1)
    assert rules.width / 2 > rules.corner < rules.arc
    # 15 feet from the board to the free-throw line; FIBA: 4.6 m.
    assert feet(rules.baseline_to_free_throw_line - rules.baseline_to_backboard) == pytest.approx(15, abs=0.1)


@needs("polars")
def test_the_simulators_court_is_the_colleges(client: sideline.Client, session_id: str) -> None:
    shots = client.shots(session_id).to_polars()
    college = court.COLLEGE_MEN
    assert shots["player_x"].abs().max() <= college.width / 2
    assert shots["player_y"].abs().max() <= college.length / 2
    assert (shots["hoop_y"].abs() - college.hoop[1]).abs().max() <= 110, "facts 7: hoops are calibrated"
    beyond = (pl.col("distance_cm") * 10 >= college.arc) | (pl.col("hoop_player_x").abs() >= college.corner)
    assert shots.filter(beyond != pl.col("is_3point")).is_empty()
