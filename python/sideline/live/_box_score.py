"""The live box score."""

from collections.abc import Iterable

from .._client import Sport, sport_of
from .._core import CoreBoxScore, Payload, Table, Update
from ..errors import DecodeError
from ._notices import Recovered


class LiveBoxScore:
    """The current box score of a game, kept from the updates of either stream.

    A message has current values: they replace earlier ones and are never added. A correction has a higher `version`;
    late and repeated messages are ignored. What was recovered after a gap replaces the lines that it has. `seed` takes
    a REST response, at the start or after a gap. Its columns are those of `sport`, by default that of the first seed;
    without a seed it is basketball.

    >>> score = sideline.LiveBoxScore(client.team_game_stats(team_id, game_id=game_id))
    >>> score.table().name
    'box_score'
    """

    def __init__(self, *seeds: Payload, sport: Sport | None = None) -> None:
        of_seeds = next((sport_of(payload) for payload in seeds if isinstance(payload, Payload)), "basketball")
        self._core = CoreBoxScore(of_seeds if sport is None else sport)
        for payload in seeds:
            self.seed(payload)

    def feed(self, item: object) -> bool:
        """Apply an item of a stream; returns whether the box score changed.

        Only stats messages, snapshots and `Recovered` change it.
        """
        if isinstance(item, Update):
            return self._core.feed(item)
        return isinstance(item, Recovered) and self.feed_all(item.updates) > 0

    def feed_all(self, items: Iterable[object]) -> int:
        """Apply items; returns how many of them changed the box score."""
        return sum(self.feed(item) for item in items)

    def seed(self, payload: Payload) -> None:
        """Take the rows of a response of `team_game_stats`, `stats` or `catch_up`.

        Rows with a version are taken unless the current ones are newer; those of `catch_up` have none and are always
        taken. A team's total is unknown after a `catch_up` that lacks it.

        Rows replace each other and are never added. So `stats`, which covers one session, is right only for the first
        session of a game: for a later one the box score has only that session's numbers.

        Raises `ValueError` for a body without such rows.
        """
        if not isinstance(payload, Payload):
            raise TypeError(f"seed takes one payload at a time, not a {type(payload).__name__}")
        self._core.seed(payload.raw)

    @property
    def ignored(self) -> int:
        """Number of updates that were late or repeated."""
        return self._core.ignored

    @property
    def unreadable(self) -> int:
        """Number of stats messages and snapshots that were not applied, because of an odd value or code."""
        return self._core.unreadable

    def table(self) -> Table:
        """Return the table `box_score`: a row for each player and for each team's total."""
        return self._core.table()

    def __repr__(self) -> str:
        try:
            lines = f"{self.table().num_rows} lines"
        except DecodeError as error:
            lines = f"without a table: {error}"
        return f"<sideline.LiveBoxScore {lines}>"
