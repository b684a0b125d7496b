"""The lines of a football field in millimetres: the origin is the centre, x runs across and y along."""

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Polygon
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

Points = npt.NDArray[np.float64]

# NCAA, rule 1: 360 by 160 feet with both end zones; hash marks 60 feet from the sidelines and 24 inches long; numbers
# of 6 feet whose tops are 9 yards from the sideline.
YARD = 914.4
HALF_WIDTH, HALF_LENGTH, GOAL_LINE = 80 * YARD / 3, 60 * YARD, 50 * YARD
HASH, MARK = 20 * YARD / 3, 609.6
NUMBER, NUMBER_TOP = 2 * YARD, HALF_WIDTH - 9 * YARD
MARGIN = 1500.0


def field_lines() -> dict[str, Points]:
    """Return the lines by name; a name with several has NaN between them."""
    corners = [
        (HALF_WIDTH, HALF_LENGTH),
        (HALF_WIDTH, -HALF_LENGTH),
        (-HALF_WIDTH, -HALF_LENGTH),
        (-HALF_WIDTH, HALF_LENGTH),
    ]
    fives = [yard * YARD for yard in range(-45, 50, 5)]
    single_yards = [yard * YARD for yard in range(-49, 50) if yard % 5]
    starts = (-HALF_WIDTH, -HASH - MARK / 2, HASH - MARK / 2, HALF_WIDTH - MARK)
    return {
        "outline": np.array([*corners, corners[0]], dtype=np.float64),
        "goal_lines": _across([-GOAL_LINE, GOAL_LINE], -HALF_WIDTH, HALF_WIDTH),
        "yard_lines": _across(fives, -HALF_WIDTH, HALF_WIDTH),
        "hash_marks": np.vstack([_across(single_yards, start, start + MARK) for start in starts]),
        # Where a yard line crosses, the mark runs along the field.
        "hash_crosses": np.vstack([_along(fives, x) for x in (-HASH, HASH)]),
    }


def _across(ys: list[float], start: float, end: float) -> Points:
    return np.array([point for y in ys for point in ((start, y), (end, y), (np.nan, np.nan))], dtype=np.float64)


def _along(ys: list[float], x: float) -> Points:
    ends = [((x, y - MARK / 2), (x, y + MARK / 2), (np.nan, np.nan)) for y in ys]
    return np.array([point for three in ends for point in three], dtype=np.float64)


def draw_field(ax: Axes, color: Any, linewidth: float) -> Axes:
    """Draw the field, to scale."""
    for sign in (-1, 1):
        low, high = sorted((sign * GOAL_LINE, sign * HALF_LENGTH))
        corners = [(-HALF_WIDTH, low), (HALF_WIDTH, low), (HALF_WIDTH, high), (-HALF_WIDTH, high)]
        ax.add_patch(Polygon(corners, facecolor=color, edgecolor="none", alpha=0.18, zorder=0.5, gid="end_zone"))
    for name, line in field_lines().items():
        width = linewidth if name in ("outline", "goal_lines") else linewidth * 0.6
        ax.add_line(Line2D(line[:, 0], line[:, 1], color=color, linewidth=width, zorder=0.9, gid=name))
    for yard in range(-40, 50, 10):
        for side in (-1, 1):
            ax.add_patch(_number(50 - abs(yard), yard * YARD, side, color))
    ax.set(
        xlim=(-HALF_WIDTH - MARGIN, HALF_WIDTH + MARGIN),
        ylim=(-HALF_LENGTH - MARGIN, HALF_LENGTH + MARGIN),
        aspect="equal",
        xticks=[],
        yticks=[],
    )
    ax.spines[:].set_visible(False)
    return ax


def _number(number: int, y: float, side: int, color: Any) -> PathPatch:
    """Return a number to be read from its sideline, with the yard line between its digits."""
    path = TextPath((0, 0), str(number), size=100, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = path.get_extents()
    middle, scale = (box.x0 + box.x1) / 2, NUMBER / box.height
    # The top of a number points to the middle of the field.
    turn = Affine2D().translate(-middle, -box.y1).scale(scale).rotate_deg(side * 90).translate(side * NUMBER_TOP, y)
    return PathPatch(path.transformed(turn), facecolor=color, edgecolor="none", alpha=0.45, zorder=0.6, gid="number")
