"""Courts, shot charts, zones, possessions and tracking, with matplotlib: `pip install "sideline[plot]"`.

Each function draws on the `Axes` it is given, or on a new one, and returns it; what it drew can be gone on with in the
documented frame, in millimetres. No setting of matplotlib is changed, and with an `Axes` given pyplot is not loaded.

Data is a `Payload`, a `Batch`, a `Table`, a frame of polars, pandas or Arrow, whatever else `pyarrow.table` takes (a
dict of columns, say), or a list of these, such as the sessions of a game. `court=` is the court, `kind=` the chart;
teams and players are meant by id or by name.

>>> axes = sideline.plot.shot_chart(client.shots(session_id))
>>> axes.figure.savefig("shots.png")
"""

from sideline._frames import library

for _name in ("matplotlib", "pyarrow"):
    library(_name, "plot")

from sideline.plot._court import court  # noqa: E402
from sideline.plot._margin import score_margin  # noqa: E402
from sideline.plot._possessions import possession_timeline  # noqa: E402
from sideline.plot._shots import shot_chart, zones  # noqa: E402
from sideline.plot._tracking import tracking  # noqa: E402

__all__ = ["court", "possession_timeline", "score_margin", "shot_chart", "tracking", "zones"]


def __dir__() -> list[str]:
    return __all__
