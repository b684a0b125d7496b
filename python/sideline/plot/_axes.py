"""The axes that a plot is drawn on: the caller's, or those of a new figure."""

import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec

from matplotlib.axes import Axes

P = ParamSpec("P")


def draws(function: Callable[P, Axes]) -> Callable[P, Axes]:
    """Refuse an `ax` of another kind, and close the new figure of a plot that fails: a notebook would show it."""
    parameters = signature(function)
    names = list(parameters.parameters)
    next_name = names[names.index("ax") + 1]

    @wraps(function)
    def wrapper(*args: P.args, **options: P.kwargs) -> Axes:
        ax = parameters.bind_partial(*args, **options).arguments.get("ax")
        if ax is not None and not isinstance(ax, Axes):
            hint = f": write {next_name}={ax!r}" if isinstance(ax, str) else ""
            raise TypeError(f"ax is matplotlib's axes, not {ax!r}{hint}")
        before = _figures()
        try:
            return function(*args, **options)
        except BaseException:
            for number in _figures() - before:
                sys.modules["matplotlib.pyplot"].close(number)
            raise

    return wrapper


def _figures() -> set[int]:
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set() if pyplot is None else set(pyplot.get_fignums())


def new_axes(width: float, height: float) -> Axes:
    """Return axes of a new pyplot figure, which a notebook displays."""
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="compressed")[1]


def nothing(ax: Axes, kind: str) -> None:
    """Write on the axes that there was nothing to draw."""
    place: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "va": "center"}
    behind = {"facecolor": "white", "edgecolor": "none"}
    ax.text(0.5, 0.5, f"no {kind}", color="0.35", fontsize="large", bbox=behind, **place)
