"""Frames of coordinates, dimensions of courts, and exact transforms between frames.

The tables' coordinates are millimetres in one of two frames, which each column's metadata names
(`sideline.SCHEMAS["shots"]["player_x"].frame`); `z` is the height above the floor in both.

- `court`, here `COURT`: the origin is the centre of the court, x goes across it, y along it. It does not depend on
  which team attacks: one hoop is at positive y, the other at negative y.
- `hoop`, here `HOOP`, for shot charts: the origin is the attacked hoop, y goes from it towards mid-court, and x to the
  right when looking that way. So a team attacks downwards, along -y.

Distances (`distance_cm`, `shot_distance_cm`, DIST) are centimetres, not millimetres.

>>> from sideline import court
>>> sideline.SCHEMAS["shots"]["player_x"].frame, sideline.SCHEMAS["shots"]["hoop_player_x"].frame
('court', 'hoop')
>>> court.transform(3117, 7899, court.COURT, court.HOOP, hoop=(-44, 12783))
(-3161, 4884)
>>> court.transform([0, 3048], [0, 3048], court.HOOP, court.Frame("hoop", "up", "ft"))
([0.0, -10.0], [0.0, -10.0])
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, sqrt
from numbers import Number, Real
from typing import Any, Literal, TypeAlias

__all__ = [
    "COLLEGE_MEN",
    "COLLEGE_WOMEN",
    "COURT",
    "HOOP",
    "INTERNATIONAL",
    "PRO",
    "Court",
    "Frame",
    "convert",
    "transform",
]


def __dir__() -> list[str]:
    return __all__


Unit: TypeAlias = Literal["mm", "cm", "m", "in", "ft"]
Attacking: TypeAlias = Literal["up", "down", "left", "right"]

Values: TypeAlias = Any
"""A number, `None` for a missing one, a list or tuple of these, a NumPy array, a polars expression or Series, a
pandas Series, or anything else with arithmetic. For a list the result is a list; integers of NumPy, polars and pandas
become floats of 64 bits."""

# Millimetres in a unit, as a fraction: a foot is exactly 304.8 mm.
_MILLIMETRES = {"mm": (1, 1), "cm": (10, 1), "m": (1000, 1), "in": (127, 5), "ft": (1524, 5)}
# Counterclockwise quarter turns from the x axis.
_TURNS: dict[str | None, int] = {"right": 0, "up": 1, "left": 2, "down": 3}


def _unit(unit: str) -> tuple[int, int]:
    if unit not in _MILLIMETRES:
        raise ValueError(f"a unit is one of {', '.join(_MILLIMETRES)}, not {unit!r}")
    return _MILLIMETRES[unit]


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the court's plane: its origin, the direction in which a team attacks, and its unit.

    `attacking` is the direction of the attacked hoop, with x to the right and y upwards; `None` is the court itself,
    which does not depend on the team. Frames differ by rotation, never by reflection: left and right stay.

    >>> court.Frame("centre", "right", "m")
    Frame(origin='centre', attacking='right', unit='m')
    """

    origin: Literal["centre", "hoop"]
    attacking: Attacking | None
    unit: Unit = "mm"

    def __post_init__(self) -> None:
        if self.origin not in ("centre", "hoop"):
            raise ValueError(f"the origin is centre or hoop, not {self.origin!r}")
        if self.attacking not in (*_TURNS, None):
            raise ValueError(f"a team attacks {', '.join(map(str, _TURNS))}, not {self.attacking!r}")
        if self.attacking is None and self.origin == "hoop":
            raise ValueError("a frame with the origin hoop needs attacking, such as up")
        _unit(self.unit)


COURT = Frame("centre", None)
"""The frame of x, y, player_x, hoop_x and similar columns (documentation: The wire, "Coordinates and units")."""

HOOP = Frame("hoop", "down")
"""The frame of shot charts: hoop_player_x, hoop_to_event_x and similar columns (documentation: The wire, "Coordinates
and units")."""


def transform(
    x: Values, y: Values, source: Frame, target: Frame, *, hoop: tuple[Values, Values] | None = None
) -> tuple[Values, Values]:
    """Transform points from one frame to another.

    Parameters:
        x, y: two values of one kind: see `Values`.
        hoop: the attacked hoop, `(hoop_x, hoop_y)` as in the tables: millimetres in `COURT`. Required between `COURT`
            and a frame with a direction of attack, and between the two origins. Use the service's values: hoops are
            calibrated at each venue, and differ from the rules by centimetres or more. Without them, use
            `COLLEGE_MEN.hoop` or that of another court.

    Transforms are exact: there and back gives the same value, and whole millimetres stay whole. Only a float that was
    divided into another unit, or a fraction that was moved to another origin, is rounded, by less than 1e-10 mm. Raises
    `ValueError` if the hoop is required but missing, or at y 0, and `TypeError` for what has no arithmetic.

    >>> shots = client.shots(session_id).to_polars()
    >>> import polars as pl
    >>> right = court.Frame("centre", "right", "m")
    >>> hoop = pl.col("hoop_x"), pl.col("hoop_y")
    >>> x, y = court.transform(pl.col("player_x"), pl.col("player_y"), court.COURT, right, hoop=hoop)
    >>> shots.select(x=x, y=y).select(pl.col("x").mean() > 5, pl.col("y").abs().max() < 7.62).row(0)
    (True, True)
    """
    for name, frame in (("source", source), ("target", target)):
        if not isinstance(frame, Frame):
            raise TypeError(f"{name} is a frame, such as court.HOOP, not {type(frame).__name__}")
    if hoop is not None and not (isinstance(hoop, list | tuple) and len(hoop) == 2):
        raise TypeError(f"hoop is a pair, (hoop_x, hoop_y), not {hoop!r}")
    values = (x, y, *(hoop or ()))
    if any(isinstance(value, list | tuple) for value in values):
        return _map_points(values, source, target)
    return _point(values, source, target)


def convert(value: Values, source: Unit, target: Unit) -> Values:
    """Convert a length to another unit: a height, a distance, a dimension of a court.

    >>> court.convert(3048, "mm", "ft"), court.convert([581.7, None], "cm", "m")
    (10.0, [5.817, None])
    """
    if isinstance(value, list | tuple):
        return [None if number is None else convert(number, source, target) for number in value]
    (above, below), (other_above, other_below) = _unit(source), _unit(target)
    if source == target or value is None:
        return value
    value = _without_overflow(value)
    multiplier, divisor = above * other_below, below * other_above
    if multiplier % divisor == 0:
        return value * (multiplier // divisor)
    return value * multiplier / divisor


def _without_overflow(value: Values) -> Values:
    """Return integers of a fixed size as floats of 64 bits; floats keep their size, and numbers of Python are exact."""
    if isinstance(value, Number) and not hasattr(value, "dtype"):
        return value
    try:
        return value * 1.0
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"a coordinate is a number, or a list, array or column of numbers, not {kind}") from None


def _point(values: Sequence[Values], source: Frame, target: Frame) -> tuple[Values, Values]:
    """Transform a point, or several in arrays: x, y, and the hoop if there is one."""
    if any(value is None for value in values):
        return None, None
    x, y, *hoop = map(_without_overflow, values)
    moves_origin, turns = source.origin != target.origin, (source.attacking is None) != (target.attacking is None)
    if (moves_origin or turns) and not hoop:
        raise ValueError("the attacked hoop is required: pass hoop=(hoop_x, hoop_y), as the service sends them")
    hoop_x, hoop_y = hoop or (None, None)
    if not moves_origin and not turns and source.attacking == target.attacking:
        return convert(x, source.unit, target.unit), convert(y, source.unit, target.unit)
    if not moves_origin:
        x, y = _turn(x, y, source.attacking, target.attacking, hoop_y)
        return convert(x, source.unit, target.unit), convert(y, source.unit, target.unit)
    # In millimetres, attacking down: there the vector to the hoop is the one on the court, rotated.
    x, y = convert(x, source.unit, "mm"), convert(y, source.unit, "mm")
    x, y = _turn(x, y, source.attacking, "down", hoop_y)
    ahead_x, ahead_y = _turn(hoop_x, hoop_y, None, "down", hoop_y)
    if target.origin == "hoop":
        x, y = x - ahead_x, y - ahead_y
    else:
        x, y = x + ahead_x, y + ahead_y
    x, y = _turn(x, y, "down", target.attacking, hoop_y)
    return convert(x, "mm", target.unit), convert(y, "mm", target.unit)


def _turn(x: Values, y: Values, source: str | None, target: str | None, hoop_y: Values) -> tuple[Values, Values]:
    """Rotate about the origin. On the court itself a team attacks up if its hoop is at positive y, else down."""
    if source is None and target is None:
        return x, y
    if source is None or target is None:
        side = _side(hoop_y)
        x, y = x * side, y * side
    turns = (_TURNS[target or "up"] - _TURNS[source or "up"]) % 4
    return [(x, y), (-y, x), (-x, -y), (y, -x)][turns]


def _side(hoop_y: Values) -> Values:
    if isinstance(hoop_y, Real):  # includes NumPy's scalars
        hoop_y = float(hoop_y)
        if not hoop_y:
            raise ValueError("a hoop at y 0 is on neither half of the court")
        if isnan(hoop_y):
            return hoop_y
        return 1 if hoop_y > 0 else -1
    return hoop_y / abs(hoop_y)


def _map_points(values: Sequence[Values], source: Frame, target: Frame) -> tuple[list[Values], list[Values]]:
    lengths = {len(value) for value in values if isinstance(value, list | tuple)}
    if len(lengths) > 1:
        counts = ", ".join(map(str, sorted(lengths)))
        raise ValueError(f"the lists have {counts} numbers: pass one for each point")
    for value in values:
        if not (value is None or isinstance(value, list | tuple | Number)):
            raise TypeError(f"a list and a {type(value).__name__} are mixed: pass lists alone, or neither")
    count = lengths.pop()
    rows = zip(*(value if isinstance(value, list | tuple) else [value] * count for value in values), strict=True)
    points = [_point(row, source, target) for row in rows]
    return [x for x, _ in points], [y for _, y in points]


@dataclass(frozen=True, slots=True, kw_only=True)
class Court:
    """The dimensions of a court in the rules, in millimetres. The service's hoops differ from them: see `transform`.

    >>> court.COLLEGE_MEN.hoop
    (0, 12725.4)
    >>> round(court.convert(court.PRO.arc, "mm", "ft"), 2), court.INTERNATIONAL.length
    (23.75, 28000)
    """

    name: str
    length: float
    """Between the inner edges of the baselines."""
    width: float
    """Between the inner edges of the sidelines."""
    baseline_to_hoop: float
    """To the point on the floor below the centre of the rim."""
    baseline_to_backboard: float
    """To the face of the board."""
    backboard_width: float
    rim_diameter: float
    """Inner diameter."""
    rim_height: float
    arc: float
    """Radius of the three-point line about the hoop, to its outer edge."""
    corner: float
    """From the line between the hoops to the straight parts of the three-point line, to their outer edge."""
    baseline_to_free_throw_line: float
    """To the edge nearer to mid-court."""
    paint_width: float
    """Outer width."""
    restricted_arc: float
    """Radius about the hoop."""
    centre_circle: float
    """Radius, to the outer edge."""

    @property
    def hoop(self) -> tuple[float, float]:
        """The hoop at positive y in `COURT`; the other one is at negative y."""
        return 0, self.length / 2 - self.baseline_to_hoop

    @property
    def corner_length(self) -> float:
        """The distance from the baseline to where the straight parts of the three-point line end."""
        return self.baseline_to_hoop + sqrt(self.arc**2 - self.corner**2)


def _feet(feet: int, inches: float = 0.0) -> float:
    return round((12 * feet + inches) * 25.4, 4)


# NCAA Men's Basketball Rules, rule 1, and the NCAA's court diagram of 17 June 2019: 94 by 50 feet; the face of the
# backboard 4 feet, the middle of the rim 63 inches from the end line; a rim of 18 inches; the three-point line at 22
# feet 1 3/4 inches (outside edge), in the corners 40 1/8 inches from the sideline, which is 21 feet 7 7/8 inches; the
# free-throw line at 19 feet (outside edge); a lane of 12 feet (outside); the restricted area at 4 feet (inner edge); a
# centre circle of 6 feet (outside edge).
COLLEGE_MEN = Court(
    name="college men",
    length=_feet(94),
    width=_feet(50),
    baseline_to_hoop=_feet(5, 3),
    baseline_to_backboard=_feet(4),
    backboard_width=_feet(6),
    rim_diameter=_feet(0, 18),
    rim_height=_feet(10),
    arc=_feet(22, 1.75),
    corner=_feet(25, -40.125),
    baseline_to_free_throw_line=_feet(19),
    paint_width=_feet(12),
    restricted_arc=_feet(4),
    centre_circle=_feet(6),
)

# NCAA Women's Basketball Rules, rule 1: the same court; since 2021-22 its three-point line is the men's (before: 20
# feet 9 inches).
COLLEGE_WOMEN = replace(COLLEGE_MEN, name="college women")

# NBA Official Rules, rule 1 (court dimensions and equipment): the three-point line at 23 feet 9 inches, 3 feet from the
# sideline in the corners; a lane of 16 feet; the restricted area at 4 feet; a centre circle of 6 feet.
PRO = Court(
    name="pro",
    length=_feet(94),
    width=_feet(50),
    baseline_to_hoop=_feet(5, 3),
    baseline_to_backboard=_feet(4),
    backboard_width=_feet(6),
    rim_diameter=_feet(0, 18),
    rim_height=_feet(10),
    arc=_feet(23, 9),
    corner=_feet(22),
    baseline_to_free_throw_line=_feet(19),
    paint_width=_feet(16),
    restricted_arc=_feet(4),
    centre_circle=_feet(6),
)

# FIBA Official Basketball Rules, article 2, and Basketball Equipment: 28 by 15 m; the middle of the ring 1.575 m, the
# board 1.2 m from the endline; the three-point line at 6.75 m (outer edge), in the corners 0.9 m from the sideline; the
# free-throw line 5.8 m from the endline to its farther edge; a restricted area of 4.9 m; no-charge semi-circles of
# 1.25 m (inner edge); a centre circle of 1.8 m (outer edge); a ring of 450 to 459 mm at 3.05 m; a board of 1.8 m.
INTERNATIONAL = Court(
    name="international",
    length=28_000,
    width=15_000,
    baseline_to_hoop=1575,
    baseline_to_backboard=1200,
    backboard_width=1800,
    rim_diameter=450,
    rim_height=3050,
    arc=6750,
    corner=6600,
    baseline_to_free_throw_line=5800,
    paint_width=4900,
    restricted_arc=1250,
    centre_circle=1800,
)
