"""Colours for every kind of colour vision (Okabe and Ito), and the scale of efficiency."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize

from ._data import check_by_id

MAKE = "#0072B2"
MISS = "#D55E00"
TEAMS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
# From dark to light, as a shot gets more open.
OPENNESS = {"very_tight": "#440154", "tight": "#31688E", "open": "#35B779", "wide_open": "#E69F00"}
BALL = "#F0E442"
OTHER = "0.5"

# Violet is cold and orange is hot in every kind of colour vision; the middle is about the mean value of a shot. The
# ends of the scale are left out, because they are nearly black.
EFFICIENCY = ScalarMappable(
    norm=Normalize(0.5, 1.5), cmap=ListedColormap(matplotlib.colormaps["PuOr_r"](np.linspace(0.14, 0.86, 256)))
)

# From transparent to many, in every kind of colour vision.
_HEAT = matplotlib.colormaps["YlOrRd"](np.linspace(0.0, 0.95, 256))
_HEAT[:, 3] = 0.85 * np.minimum(1, np.linspace(0, 5, 256))
DENSITY = ListedColormap(_HEAT)


def team_colours(teams: Sequence[float], colours: Mapping[int, Any] | None) -> list[Any]:
    """Return a colour for each team: the chosen one, or that of its position."""
    check_by_id("colors", colours)
    return [(colours or {}).get(int(team), TEAMS[place % len(TEAMS)]) for place, team in enumerate(teams)]


def efficiency_scale(ax: Axes) -> None:
    """Add the scale of points per shot in the court's far corner, without changing the caller's layout."""
    inset = ax.inset_axes((0.64, 0.9, 0.3, 0.022))
    scale = ax.figure.colorbar(EFFICIENCY, cax=inset, orientation="horizontal", ticks=[0.5, 1.0, 1.5], extend="both")
    scale.ax.tick_params(labelsize=7, length=2, pad=1)
    scale.ax.set_title("points per shot", fontsize=7, pad=2)
    scale.outline.set_linewidth(0.4)


def text_on(colour: Sequence[float]) -> str:
    """Return black or white, whichever is readable on the colour."""
    red, green, blue = colour[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
