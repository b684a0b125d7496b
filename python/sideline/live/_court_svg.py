"""Half a court as an SVG drawing, in the frame of shot charts."""

from math import sqrt

from ..court import Court

MARGIN = 300
"""Millimetres around the court."""


def half_court(of: Court) -> str:
    """Return an `<svg>` element with the lines of a half: the hoop is the origin, at the bottom.

    Its group of class `marks` is empty; positions in `sideline.court.HOOP` fit there as they are.
    """
    hoop, middle, side = of.baseline_to_hoop, of.length / 2 - of.baseline_to_hoop, of.width / 2
    face, free_throw = of.baseline_to_backboard - hoop, of.baseline_to_free_throw_line - hoop
    lane, board, rim, circle = of.paint_width / 2, of.backboard_width / 2, of.rim_diameter / 2, of.centre_circle
    bend = sqrt(of.arc**2 - of.corner**2)
    lines = [
        f"M{-side:g} {-hoop:g}V{middle:g}H{side:g}V{-hoop:g}Z",
        f"M{-lane:g} {-hoop:g}V{free_throw:g}H{lane:g}V{-hoop:g}",
        f"M{-circle:g} {free_throw:g}{_arc(circle, circle, free_throw)}",
        f"M{-of.corner:g} {-hoop:g}V{bend:g}{_arc(of.arc, of.corner, bend)}V{-hoop:g}",
        f"M{-of.restricted_arc:g} {face:g}V0{_arc(of.restricted_arc, of.restricted_arc, 0)}V{face:g}",
        f"M{-board:g} {face:g}H{board:g}",
        f"M{-rim:g} 0{_arc(rim, rim, 0)}{_arc(rim, -rim, 0)}Z",
        f"M{circle:g} {middle:g}{_arc(circle, -circle, middle)}",
    ]
    box = (-side - MARGIN, -middle - MARGIN, of.width + 2 * MARGIN, of.length / 2 + 2 * MARGIN)
    return (
        f'<svg viewBox="{" ".join(f"{number:g}" for number in box)}" role="img"><g transform="scale(1 -1)">'
        f'<path class="lines" d="{"".join(lines)}"/><g class="marks"></g></g></svg>'
    )


def _arc(radius: float, x: float, y: float) -> str:
    """Return the command of a clockwise arc to a point, of at most half a circle; y points up."""
    return f"A{radius:g} {radius:g} 0 0 0 {x:g} {y:g}"
