"""Seasons: twelve months from July."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, Any, SupportsIndex

from .._engines import ids
from .._lazy import LazyModule, load_later
from .._rows import count_text
from .access import waiting_client
from .timeout import Timeout
from .types import Duration, TableName

if TYPE_CHECKING:
    import polars

    from .. import _engines
else:
    _engines, polars = LazyModule("sideline._engines"), LazyModule("polars")

_FIRST_MONTH = 7


class BaseSeason:
    """The part that `Season` and `AsyncSeason` share."""

    def __init__(
        self, client: Any, season: str | int, team_ids: Any, store: "str | PathLike[str] | None" = None
    ) -> None:
        if store is not None and team_ids is not None:
            raise ValueError("a season with a store has all teams: leave team_ids out, and filter by team_id")
        self._client = client
        self._store = store
        self._year = first_year(season)
        # Read now: an iterator would have no ids for the second table.
        self._team_ids = None if team_ids is None else ids("team_ids", team_ids)

    @property
    def name(self) -> str:
        """Such as "2026-27"."""
        return f"{self._year}-{(self._year + 1) % 100:02d}"

    @property
    def range(self) -> tuple[datetime, datetime]:
        """The start of July, and of the next July, in UTC: `start` and `end` of other calls.

        >>> [f"{moment:%Y-%m-%d}" for moment in client.season(2026).range]
        ['2026-07-01', '2027-07-01']
        """
        return datetime(self._year, _FIRST_MONTH, 1, tzinfo=UTC), datetime(self._year + 1, _FIRST_MONTH, 1, tzinfo=UTC)

    def scan(self, table: TableName) -> "polars.LazyFrame":
        """Return a table as a polars LazyFrame over the season, like the client's `scan`.

        With a `store` it is read through that archive, as by its `scan` with `refresh=True`.

        >>> client.season("2026-27").scan("possessions").collect_schema().names()[:3]
        ['session_id', 'game_id', 'team_id']
        """
        start, end = self.range
        if self._store is not None:
            frame: polars.LazyFrame = self._archive().scan(table, refresh=True, start=start, end=end)
        else:
            frame = self._client.scan(table, team_ids=self._team_ids, start=start, end=end)
        return frame

    def _archive(self) -> Any:
        return load_later("sideline.archive", "Archive")(self._store, waiting_client(self._client))

    def __repr__(self) -> str:
        count = None if self._team_ids is None else len(self._team_ids)
        teams = "all teams" if count is None else count_text(count, "team")
        return f"<sideline.{type(self).__name__} {self.name}, {teams}>"


class Season(BaseSeason):
    """One season of some or all teams, from July to June. `Client.season` returns it, without a request.

    >>> season = client.season("2026-27", team_ids=[team_id])
    >>> season
    <sideline.Season 2026-27, 1 team>
    >>> season.scan("shots").select("points").sum().collect().item() > 0
    True
    """

    def plan(
        self,
        table: TableName,
        *,
        columns: Sequence[str] | None = None,
        timeout: "Timeout | Duration | None" = None,
    ) -> "_engines.Plan":
        """Return the plan of a table, as `Client.plan` over the season's range.

        >>> len(client.season("2026-27", team_ids=[team_id]).plan("shots")) > 0
        True
        """
        start, end = self.range
        plan: _engines.Plan = self._client.plan(
            table, team_ids=self._team_ids, start=start, end=end, columns=columns, timeout=timeout
        )
        return plan


class AsyncSeason(BaseSeason):
    """One season of some or all teams, as a `Season`. `AsyncClient.season` returns it, and `plan` is a coroutine.

    >>> client.season("2026-27", team_ids=[team_id])
    <sideline.AsyncSeason 2026-27, 1 team>
    """

    async def plan(
        self,
        table: TableName,
        *,
        columns: Sequence[str] | None = None,
        timeout: "Timeout | Duration | None" = None,
    ) -> "_engines.Plan":
        """Return the plan of a table, as `AsyncClient.plan` over the season's range.

        >>> plan = await client.season("2026-27", team_ids=[team_id]).plan("shots")
        >>> len(plan) > 0
        True
        """
        start, end = self.range
        plan: _engines.Plan = await self._client.plan(
            table, team_ids=self._team_ids, start=start, end=end, columns=columns, timeout=timeout
        )
        return plan


def first_year(season: object) -> int:
    """Return the year in which a season begins. Raises `ValueError` for an invalid season."""
    if isinstance(season, SupportsIndex) and not isinstance(season, bool):
        year, second = index(season), None
    elif isinstance(season, str) and (match := re.fullmatch(r"(\d{4})(?:[-/](\d{2}|\d{4}))?", season)):
        year, second = int(match[1]), match[2]
    else:
        raise ValueError(f'the season is {season!r}; write "2026-27", or the year in which it begins, 2026')
    if not 1990 <= year <= 2099:
        raise ValueError(f"the season begins in {year}; give a year from 1990 to 2099")
    if second is not None and second != str(year + 1)[-len(second) :]:
        raise ValueError(
            f'the season {season!r} does not end a year after it begins: write "{year}-{(year + 1) % 100:02d}"'
        )
    return year
