"""Live streams, their items, and the live box score.

_streams.py     streams, and batches of their items
_stats.py       counters of a stream
_notices.py     the items that are not updates
_box_score.py   the live box score
_situation.py   sides, period and clock of a live game
_follow.py      the items of a stream for what shows it
_scoreboard.py  a watched game as one view
_display.py     a stream in a notebook, or as lines
_terminal.py    a scoreboard in a terminal
_watched.py     a watched game, with a delay
_page.py        a scoreboard in a browser, and the feed
_feed.py        the score as JSON, CSV and XML
_court_svg.py   half a court as a drawing
"""

from typing import TYPE_CHECKING

from ._box_score import LiveBoxScore, Problem
from ._notices import Connected, Disconnected, Gap, Notice, Quiet, Recovered, Recovering
from ._situation import Side
from ._stats import StreamStats
from ._streams import Batches, LiveStream

if TYPE_CHECKING:
    from ._display import describe_notice as describe_notice, describe_update as describe_update
    from ._follow import follow as follow
    from ._page import LivePage as LivePage, PageOptions as PageOptions
    from ._terminal import can_redraw as can_redraw, in_terminal as in_terminal, is_screen as is_screen
else:
    from .._lazy import open_door

    __getattr__ = open_door(
        __name__,
        {
            "_display": "describe_notice describe_update",
            "_follow": "follow",
            "_page": "PageOptions LivePage",
            "_terminal": "can_redraw in_terminal is_screen",
        },
    )

__all__ = [
    "Batches",
    "Connected",
    "Disconnected",
    "Gap",
    "LiveBoxScore",
    "LiveStream",
    "Notice",
    "Problem",
    "Quiet",
    "Recovered",
    "Recovering",
    "Side",
    "StreamStats",
]
