"""Half a court as an SVG drawing, in the frame of shot charts."""

from math import sqrt

from ..court import Court

MARGIN = 300
"""Millimetres around the court."""


def half_court(court: Court) -> dict[str, str]:
    """Return the view box and the path of a half's lines: the hoop is the origin, at the bottom.

    Positions in `sideline.court.HOOP` fit there unchanged.
    """
    hoop, middle, side = court.baseline_to_hoop, court.length / 2 - court.baseline_to_hoop, court.width / 2
    face, free_throw = court.baseline_to_backboard - hoop, court.baseline_to_free_throw_line - hoop
    lane, board, rim, circle = (
        court.paint_width / 2,
        court.backboard_width / 2,
        court.rim_diameter / 2,
        court.centre_circle,
    )
    bend = sqrt(court.arc**2 - court.corner**2)
    lines = [
        f"M{-side:g} {-hoop:g}V{middle:g}H{side:g}V{-hoop:g}Z",
        f"M{-lane:g} {-hoop:g}V{free_throw:g}H{lane:g}V{-hoop:g}",
        f"M{-circle:g} {free_throw:g}{_arc(circle, circle, free_throw)}",
        f"M{-court.corner:g} {-hoop:g}V{bend:g}{_arc(court.arc, court.corner, bend)}V{-hoop:g}",
        f"M{-court.restricted_arc:g} {face:g}V0{_arc(court.restricted_arc, court.restricted_arc, 0)}V{face:g}",
        f"M{-board:g} {face:g}H{board:g}",
        f"M{-rim:g} 0{_arc(rim, rim, 0)}{_arc(rim, -rim, 0)}Z",
        f"M{circle:g} {middle:g}{_arc(circle, -circle, middle)}",
    ]
    box = (-side - MARGIN, -middle - MARGIN, court.width + 2 * MARGIN, court.length / 2 + 2 * MARGIN)
    return {"box": " ".join(f"{number:g}" for number in box), "lines": "".join(lines)}


def _arc(radius: float, x: float, y: float) -> str:
    """Return the command of a clockwise arc to a point, of at most half a circle; y points up."""
    return f"A{radius:g} {radius:g} 0 0 0 {x:g} {y:g}"
