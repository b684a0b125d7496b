"""Texts that stay within their plot's share of a figure, whatever its size and layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import Bbox

FULL_WIDTH, FULL_HEIGHT = 230.0, 120.0
"""Points from which texts have their full size."""

MIN_SCALE = 0.6
"""Smaller letters could not be read."""

MAX_LOSS = 0.75
"""Of the width and of the height of axes, at a time, to their texts."""

GAP = 3.0
"""Points between texts and the end of the share."""


def fit(ax: Axes) -> Axes:
    """Keep the texts of the axes within its share of the figure each time the figure is drawn."""
    ax.set_axes_locator(_Fit(ax))
    return ax


class _Fit:
    """A locator of axes: it sets sizes and line breaks of texts, and makes the axes smaller where they need more room.

    Layout engines take the width of titles and the shape of a court into account only in part.
    """

    def __init__(self, ax: Axes) -> None:
        self._ax = ax
        self._trial: Bbox | None = None
        self._place = ax.get_position(original=True)
        legend = ax.get_legend()
        inside = [*ax.texts, *(legend.get_texts() if legend else ())]
        inside += [text for child in ax.child_axes for text in (*child.texts, *_titles(child))]
        self._outside = _Sizes([ax.xaxis.label, ax.yaxis.label, *_titles(ax)], [ax])
        self._inside = _Sizes(inside, ax.child_axes)
        ax.apply_aspect()
        self._width = self._court_width()
        self._unbroken: dict[Text, tuple[str, str]] = {}

    def get_subplotspec(self) -> Any:
        """Return the place in the grid, which tight layouts look for here."""
        return self._ax.get_subplotspec()

    def __call__(self, ax: Any, renderer: Any) -> Bbox:
        if self._trial is not None:
            return self._trial
        if renderer is None:
            # A figure that is saved without its margins: it has just been drawn.
            return self._place
        figure: Any = ax.figure
        to_pixels = figure.transSubfigure
        box = ax.get_position(original=True).transformed(to_pixels)
        share = _share(ax, box)
        width, height = share.width * 72 / figure.dpi, share.height * 72 / figure.dpi
        scale = min(1.0, width / FULL_WIDTH, height / FULL_HEIGHT)
        self._outside.scale(scale)
        # Where lines break depends on the place of the axes, and the place on the number of lines.
        for _ in range(5):
            self._trial = box.transformed(to_pixels.inverted())
            try:
                ax.apply_aspect(self._trial)
                self._inside.scale(scale * min(1.0, self._court_width() / self._width))
                self._break_lines(share, renderer)
                smaller_box = shrink(box, ax.get_tightbbox(renderer), share)
            finally:
                self._trial = None
            if smaller_box is box:
                break
            box = smaller_box
        self._place = box.transformed(to_pixels.inverted())
        return self._place

    def _court_width(self) -> float:
        """Return the width of a court in inches: the texts on it shrink with it. Other plots have no fixed shape."""
        figure: Any = self._ax.figure
        return 1.0 if self._ax.get_aspect() == "auto" else self._ax.get_window_extent().width / figure.dpi

    def _break_lines(self, share: Bbox, renderer: Any) -> None:
        inside = self._ax.get_window_extent(renderer)
        middle = (inside.x0 + inside.x1) / 2
        max_width = 2 * min(middle - share.x0, share.x1 - middle)
        for text in (*_titles(self._ax), self._ax.xaxis.label):
            complete_text, lines_text = self._unbroken.get(text, ("", ""))
            if text.get_text() != lines_text:
                complete_text = text.get_text()
            if complete_text:
                width = share.x1 - inside.x0 if text.get_horizontalalignment() == "left" else max_width
                lines_text = "\n".join(_lines(complete_text, width, text, renderer))
                self._unbroken[text] = complete_text, lines_text
                text.set_text(lines_text)


class _Sizes:
    """Sizes of texts and of the labels of ticks, which shrink and grow together."""

    def __init__(self, texts: Sequence[Text], axes: Sequence[Any]) -> None:
        self._texts, self._axes = texts, axes
        self._scale = 1.0

    def scale(self, scale: float) -> None:
        """Set the sizes relative to the full ones; sizes that the caller set meanwhile are full ones too."""
        scale = max(MIN_SCALE, scale)
        if abs(scale - self._scale) < 0.01:
            return
        change, self._scale = scale / self._scale, scale
        for text in self._texts:
            text.set_fontsize(float(text.get_fontsize()) * change)
        for axis in (axis for axes in self._axes for axis in (axes.xaxis, axes.yaxis)):
            for label in axis.get_ticklabels()[:1]:
                axis.set_tick_params(labelsize=float(label.get_fontsize()) * change)


def _titles(ax: Any) -> list[Text]:
    """Return the three titles of axes, which are their only texts outside `texts`."""
    return [child for child in ax.get_children() if isinstance(child, Text) and child not in ax.texts]


def _share(ax: Axes, box: Bbox) -> Bbox:
    """Return the part of the figure that axes may fill, in pixels: as far as its neighbours, or the figure's edge.

    The gap at the left of axes is their own, for the labels of ticks; a gap between rows is shared.
    """
    figure: Any = ax.figure
    gap = GAP * figure.dpi / 72
    x0, y0, x1, y1 = figure.bbox.extents
    for other in figure.axes:
        if other is ax or not other.get_visible():
            continue
        near = other.get_position(original=True).transformed(figure.transSubfigure)
        across = min(near.x1, box.x1) - max(near.x0, box.x0)
        along = min(near.y1, box.y1) - max(near.y0, box.y0)
        if max(across, along) <= 0 or (across > 0.9 * box.width and along > 0.9 * box.height):
            continue
        # Tight layouts let the boxes of courts overlap, which are wider than what is drawn.
        if across < along and near.x0 < box.x0:
            x0 = max(x0, min(near.x1, (near.x1 + box.x0) / 2))
        elif across < along:
            x1 = min(x1, box.x1, (box.x1 + near.x0) / 2)
        elif near.y0 < box.y0:
            y0 = max(y0, (near.y1 + box.y0) / 2)
        else:
            y1 = min(y1, (near.y0 + box.y1) / 2)
    return Bbox.from_extents(x0 + gap, y0 + gap / 2, x1 - gap / 2, y1 - gap / 2)


def shrink(box: Bbox, around: Bbox | None, share: Bbox) -> Bbox:
    """Return the box without what its texts need beyond the share; the same box where they fit."""
    if around is None:
        return box
    left, low = max(0.0, share.x0 - around.x0), max(0.0, share.y0 - around.y0)
    right, high = max(0.0, around.x1 - share.x1), max(0.0, around.y1 - share.y1)
    if max(left, low, right, high) < 0.5:
        return box
    across = min(1.0, MAX_LOSS * box.width / max(left + right, 1.0))
    along = min(1.0, MAX_LOSS * box.height / max(low + high, 1.0))
    return Bbox.from_extents(
        box.x0 + across * left, box.y0 + along * low, box.x1 - across * right, box.y1 - along * high
    )


def _lines(complete_text: str, width: float, text: Text, renderer: Any) -> list[str]:
    """Return the lines of a text, divided between words where one is wider than a number of pixels."""
    lines = []
    for line in complete_text.split("\n"):
        line_text = ""
        for word in line.split(" "):
            longer = f"{line_text} {word}" if line_text else word
            is_wide = renderer.get_text_width_height_descent(longer, text.get_fontproperties(), False)[0] > width
            if is_wide and line_text:
                lines.append(line_text)
                longer = word
            line_text = longer
        lines.append(line_text)
    return lines
