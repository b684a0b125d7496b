"""The lines of a court in millimetres."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon

from ..court import COLLEGE_MEN, INTERNATIONAL, PRO, Court
from ._axes import draws, new_axes
from ._field import draw_field

Rules = Literal["college", "pro", "international"]
Football = Literal["football"]
Points = npt.NDArray[np.float64]

# The lines of college courts are the same for men and women.
COURTS: dict[str, Court] = {"college": COLLEGE_MEN, "pro": PRO, "international": INTERNATIONAL}

MARGIN = 400.0
"""Around a court."""

LANE_MARK = 203.2
"""The length of a lane mark."""

# From the baseline. NCAA and NBA, rule 1: a block of 12 inches at 7 feet, then spaces of 3 feet between marks of 2
# inches. FIBA, article 2: a mark at 1.75 m, a space of 0.85 m, a block of 0.4 m, then spaces of 0.85 m.
SPACES = [(2133.6, 2438.4), (3352.8, 3403.6), (4318.0, 4368.8), (5283.2, 5334.0)]
INTERNATIONAL_SPACES = [(1750, 1800), (2600, 3000), (3850, 3900), (4750, 4800)]


def rules(court: Rules | Court) -> Court:
    if isinstance(court, Court):
        return court
    if not isinstance(court, str) or court not in COURTS:
        raise ValueError(f"court is {court!r}; it must be one of {', '.join(COURTS)}, or a Court")
    return COURTS[court]


def reach(dimensions: Court) -> float:
    """Return the distance from the hoop to mid-court."""
    return dimensions.length / 2 - dimensions.baseline_to_hoop


def half_lines(dimensions: Court) -> dict[str, Points]:
    """Return the lines of one half in the frame of shot charts: the origin is the hoop, y points to mid-court."""
    hoop, middle = dimensions.baseline_to_hoop, reach(dimensions)
    baseline, face, free_throw = (
        -hoop,
        dimensions.baseline_to_backboard - hoop,
        dimensions.baseline_to_free_throw_line - hoop,
    )
    bend = float(np.arccos(dimensions.corner / dimensions.arc))
    side, lane, board = dimensions.width / 2, dimensions.paint_width / 2, dimensions.backboard_width / 2
    three = _arc(0, 0, dimensions.arc, bend, np.pi - bend)
    under = _arc(0, 0, dimensions.restricted_arc, 0, np.pi)
    return {
        "outline": _line((side, middle), (side, baseline), (-side, baseline), (-side, middle)),
        "mid_court": _line((-side, middle), (side, middle)),
        "three_point": np.vstack([(dimensions.corner, baseline), three, (-dimensions.corner, baseline)]),
        "lane": _line((lane, baseline), (lane, free_throw), (-lane, free_throw), (-lane, baseline)),
        # In all three rules as wide as the centre circle.
        "free_throw_circle": _arc(0, free_throw, dimensions.centre_circle, 0, np.pi),
        "restricted": np.vstack([(dimensions.restricted_arc, face), under, (-dimensions.restricted_arc, face)]),
        "backboard": _line((-board, face), (board, face)),
        "ring": _arc(0, 0, dimensions.rim_diameter / 2, 0, 2 * np.pi),
        "centre_circle": _arc(0, middle, dimensions.centre_circle, np.pi, 2 * np.pi),
        **{f"lane_mark_{number}": mark for number, mark in enumerate(_lane_marks(dimensions), 1)},
    }


def _lane_marks(dimensions: Court) -> list[Points]:
    """Return the marks on both sides of the lane: those of its spaces, and the block between the first two."""
    lane, baseline = dimensions.paint_width / 2, -dimensions.baseline_to_hoop
    marks = []
    for side in (-1, 1):
        inner, outer = side * lane, side * (lane + LANE_MARK)
        for start, end in INTERNATIONAL_SPACES if dimensions.length == INTERNATIONAL.length else SPACES:
            low, high = baseline + start, baseline + end
            marks.append(_line((inner, low), (outer, low), (outer, high), (inner, high)))
    return marks


def _line(*points: tuple[float, float]) -> Points:
    return np.array(points, dtype=np.float64)


def _arc(x: float, y: float, radius: float, start: float, end: float) -> Points:
    angles = np.linspace(start, end, 181)
    return np.column_stack([x + radius * np.cos(angles), y + radius * np.sin(angles)])


@draws
def court(
    ax: Axes | None = None,
    court: Rules | Court | Football = "college",
    half: bool = True,
    *,
    color: Any = "0.55",
    linewidth: float = 1.0,
) -> Axes:
    """Draw the lines of a court, to scale.

    A half court uses the frame of shot charts (`hoop_player_x`, `hoop_player_y`): the origin is the hoop, y points to
    mid-court. The full court uses the frame of positions (`x`, `y`): the origin is the centre, x runs across and y
    along. Both are in millimetres. The hoops are at their place in the rules; a venue's may be some centimetres off.

    Parameters:
        ax: default: new axes.
        court: "college" (NCAA, men and women: the lines are the same), "pro" (NBA), "international" (FIBA), or a
            `sideline.court.Court`; "football" (NCAA) is a football field, which is always drawn whole, with the origin
            at its centre. The frame of the service's football is not documented: see the documentation: Football.
        color, linewidth: of the lines, as in matplotlib.

    >>> axes = sideline.plot.court(court="international", half=False)
    >>> axes.set_title("An empty gym").get_text()
    'An empty gym'
    """
    if court == "football":
        return draw_field(new_axes(5.5, 11.0) if ax is None else ax, color, linewidth)
    dimensions = rules(court)
    if ax is None:
        ax = new_axes(5.5, 6.0 if half else 9.6)
    lines = half_lines(dimensions)
    halves = [lines] if half else [_from_centre(lines, reach(dimensions), sign) for sign in (1, -1)]
    for half_court in halves:
        ax.add_patch(
            Polygon(half_court["lane"], facecolor=color, edgecolor="none", alpha=0.08, zorder=0.5, gid="lane_floor")
        )
        for name, line in half_court.items():
            ax.add_line(Line2D(line[:, 0], line[:, 1], color=color, linewidth=linewidth, zorder=0.9, gid=name))
    bottom, top = (
        (-dimensions.baseline_to_hoop, reach(dimensions)) if half else (-dimensions.length / 2, dimensions.length / 2)
    )
    ax.set(
        xlim=(-dimensions.width / 2 - MARGIN, dimensions.width / 2 + MARGIN),
        ylim=(bottom - MARGIN, top + MARGIN),
        aspect="equal",
        xticks=[],
        yticks=[],
    )
    ax.spines[:].set_visible(False)
    return ax


def on_half(dimensions: Court, x: Points, y: Points) -> npt.NDArray[np.bool_]:
    """Return whether positions in the frame of shot charts are on a half court."""
    across = np.abs(x) <= dimensions.width / 2 + MARGIN
    return across & (y >= -dimensions.baseline_to_hoop - MARGIN) & (y <= reach(dimensions) + MARGIN)


def _from_centre(lines: dict[str, Points], middle: float, sign: int) -> dict[str, Points]:
    """Return a half in the frame of positions; the far half is the near one rotated about the centre."""
    return {name: sign * (line - (0, middle)) for name, line in lines.items()}
