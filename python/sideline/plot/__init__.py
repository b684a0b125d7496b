"""Courts and fields, shot charts, zones, possessions and tracking, with matplotlib: `pip install "sideline[plot]"`.

Each function draws on the given `Axes`, or on a new one, and returns it. The axes use the documented frame in
millimetres, so that you can add to them. Matplotlib's settings are not changed, and pyplot is not loaded if you pass an
`Axes`.

Data is a `Payload`, a `Batch`, a `Table`, a frame of polars, pandas or Arrow, anything else that `pyarrow.table`
accepts (such as a dict of columns), or a list of these, such as the sessions of a game. `court=` selects the court,
`kind=` the chart; teams and players are selected by id or by name.

>>> axes = sideline.plot.shot_chart(client.shots(session_id))
>>> axes.figure.savefig("shots.png")
"""

from .._lazy import library

for _name in ("matplotlib", "pyarrow"):
    library(_name, "plot")

from ._animation import Animation, animate  # noqa: E402
from ._assists import assist_network  # noqa: E402
from ._comparison import compare_players  # noqa: E402
from ._court import court  # noqa: E402
from ._loads import loads, matchups  # noqa: E402
from ._margin import score_margin  # noqa: E402
from ._possessions import possession_timeline  # noqa: E402
from ._shots import shot_chart, zones  # noqa: E402
from ._tracking import tracking  # noqa: E402

__all__ = [
    "Animation",
    "animate",
    "assist_network",
    "compare_players",
    "court",
    "loads",
    "matchups",
    "possession_timeline",
    "score_margin",
    "shot_chart",
    "tracking",
    "zones",
]


def __dir__() -> list[str]:
    return __all__
