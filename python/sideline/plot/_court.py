"""The lines of a court in millimetres, and the axes they are drawn on."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon

Kind = Literal["college", "pro", "international"]
Points = npt.NDArray[np.float64]

INCH = 25.4
FOOT = 12 * INCH


@dataclass(frozen=True, slots=True)
class Dimensions:
    """A court's measures, in millimetres. Depths are from the baseline's inner edge."""

    width: float
    length: float
    hoop: float
    """Depth of the hoop's centre."""
    backboard: float
    """Depth of the backboard's face."""
    arc: float
    """Hoop's centre to the three-point line."""
    corner: float
    """The same in the corners, straight across."""
    lane: float
    """Width of the lane."""
    free_throw: float
    """Depth of the free-throw line."""
    circle: float
    """Radius of the circles of free throws and of the centre."""
    restricted: float
    """Hoop's centre to the arc under the basket."""
    backboard_width: float = 6 * FOOT
    ring: float = 9 * INCH


COURTS: dict[Kind, Dimensions] = {
    # NCAA, Men's and Women's Basketball Court (the diagram of the rules books). The women's three-point line is the
    # men's since 2021-22, their restricted area since 2017-18: there is one court.
    "college": Dimensions(
        width=50 * FOOT,
        length=94 * FOOT,
        hoop=63 * INCH,
        backboard=4 * FOOT,
        arc=22 * FOOT + 1.75 * INCH,
        corner=21 * FOOT + 7.875 * INCH,
        lane=12 * FOOT,
        free_throw=19 * FOOT,
        circle=6 * FOOT,
        restricted=4 * FOOT,
    ),
    # NBA, Official Rules, rule 1: court and dimensions.
    "pro": Dimensions(
        width=50 * FOOT,
        length=94 * FOOT,
        hoop=63 * INCH,
        backboard=4 * FOOT,
        arc=23 * FOOT + 9 * INCH,
        corner=22 * FOOT,
        lane=16 * FOOT,
        free_throw=19 * FOOT,
        circle=6 * FOOT,
        restricted=4 * FOOT,
    ),
    # FIBA, Official Basketball Rules, article 2, and Basketball Equipment.
    "international": Dimensions(
        width=15_000,
        length=28_000,
        hoop=1_575,
        backboard=1_200,
        arc=6_750,
        corner=6_600,
        lane=4_900,
        free_throw=5_800,
        circle=1_800,
        restricted=1_250,
        backboard_width=1_800,
        ring=225,
    ),
}

MARGIN = 400.0
"""Around a court."""


def dimensions(kind: str) -> Dimensions:
    for name, found in COURTS.items():
        if name == kind:
            return found
    raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(COURTS)}")


def half_lines(of: Dimensions) -> dict[str, Points]:
    """The lines of one half in the frame of shot charts: origin the hoop, y towards mid-court."""
    baseline, face, middle = -of.hoop, of.backboard - of.hoop, of.length / 2 - of.hoop
    free_throw = of.free_throw - of.hoop
    bend = float(np.arccos(of.corner / of.arc))
    side, lane, board = of.width / 2, of.lane / 2, of.backboard_width / 2
    three = _arc(0, 0, of.arc, bend, np.pi - bend)
    under = _arc(0, 0, of.restricted, 0, np.pi)
    return {
        "outline": _line((side, middle), (side, baseline), (-side, baseline), (-side, middle)),
        "mid_court": _line((-side, middle), (side, middle)),
        "three_point": np.vstack([(of.corner, baseline), three, (-of.corner, baseline)]),
        "lane": _line((lane, baseline), (lane, free_throw), (-lane, free_throw), (-lane, baseline)),
        "free_throw_circle": _arc(0, free_throw, of.circle, 0, np.pi),
        "restricted": np.vstack([(of.restricted, face), under, (-of.restricted, face)]),
        "backboard": _line((-board, face), (board, face)),
        "ring": _arc(0, 0, of.ring, 0, 2 * np.pi),
        "centre_circle": _arc(0, middle, of.circle, np.pi, 2 * np.pi),
    }


def _line(*points: tuple[float, float]) -> Points:
    return np.array(points, dtype=np.float64)


def _arc(x: float, y: float, radius: float, start: float, end: float) -> Points:
    angles = np.linspace(start, end, 181)
    return np.column_stack([x + radius * np.cos(angles), y + radius * np.sin(angles)])


def court(
    ax: Axes | None = None, kind: Kind = "college", half: bool = True, *, color: Any = "0.55", linewidth: float = 1.0
) -> Axes:
    """Draw the lines of a court, to scale.

    A half court is in the frame of shot charts (`hoop_player_x`, `hoop_player_y`): the origin is the hoop, y runs to
    mid-court. The full court is in that of positions (`x`, `y`): the origin is the centre, x runs across and y along.
    Both are in millimetres. The hoops are where the rules have them; a venue's may be some centimetres off.

    Parameters:
        ax: default: a new one.
        kind: "college" (NCAA, men and women: the lines are the same), "pro" (NBA) or "international" (FIBA).
        color, linewidth: of the lines, as matplotlib takes them.

    >>> axes = sideline.plot.court(kind="international", half=False)
    >>> axes.set_title("An empty gym").get_text()
    'An empty gym'
    """
    of = dimensions(kind)
    if ax is None:
        ax = new_axes(5.5, 6.0 if half else 9.6)
    lines = half_lines(of)
    reach = of.length / 2 - of.hoop
    halves = [lines] if half else [_from_centre(lines, reach, sign) for sign in (1, -1)]
    for one in halves:
        ax.add_patch(Polygon(one["lane"], facecolor=color, edgecolor="none", alpha=0.08, zorder=0.5, gid="lane_floor"))
        for name, line in one.items():
            ax.add_line(Line2D(line[:, 0], line[:, 1], color=color, linewidth=linewidth, zorder=0.9, gid=name))
    bottom, top = (-of.hoop, reach) if half else (-of.length / 2, of.length / 2)
    ax.set(
        xlim=(-of.width / 2 - MARGIN, of.width / 2 + MARGIN),
        ylim=(bottom - MARGIN, top + MARGIN),
        aspect="equal",
        xticks=[],
        yticks=[],
    )
    ax.spines[:].set_visible(False)
    return ax


def on_half(of: Dimensions, x: Points, y: Points) -> npt.NDArray[np.bool_]:
    """Whether places in the frame of shot charts are on the picture of a half court."""
    return (np.abs(x) <= of.width / 2 + MARGIN) & (y >= -of.hoop - MARGIN) & (y <= of.length / 2 - of.hoop + MARGIN)


def _from_centre(lines: dict[str, Points], reach: float, sign: int) -> dict[str, Points]:
    """A half in the frame of positions; the far half is the near one turned about the centre."""
    return {name: sign * (line - (0, reach)) for name, line in lines.items()}


def new_axes(width: float, height: float) -> Axes:
    """An axes of a new figure of pyplot, which a notebook shows."""
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="compressed")[1]


def nothing(ax: Axes, what: str) -> None:
    """Say on an axes that there was nothing to draw."""
    place: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "va": "center"}
    behind = {"facecolor": "white", "edgecolor": "none"}
    ax.text(0.5, 0.5, f"no {what}", color="0.35", fontsize="large", bbox=behind, **place)
