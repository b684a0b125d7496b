"""Summaries of a sync and of an archive."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .._client import take_rows
from .._core import Table
from .._rows import Part, count_text, facts_part, notebook_html, rows_part, visible
from ..batch import MAX_HOLES_SHOWN
from ..errors import IncompleteSync
from ._life import is_lacking


class SyncReport:
    """The planned units of a sync, how each of them ended, and what else the archive lacks in its range."""

    def __init__(self, coverage: Table, corrections: Table, drift: Table) -> None:
        self.coverage = coverage
        """The table `coverage`: a row for each planned unit with its status, and one for each other unit of the range
        that the archive lacks."""
        self.corrections = corrections
        """The table `corrections`: the changes of stored values that this sync found."""
        self.drift = drift
        """The table `drift`: the unknown fields in the responses of this sync, with their number. The bodies are kept
        in `raw`."""
        statuses = coverage.to_arrow(["status"])["status"].to_pylist()
        places = [place for place, status in enumerate(statuses) if is_lacking(status)]
        self.holes: list[dict[str, Any]] = take_rows(coverage, places).to_dicts()
        """The rows of `coverage` that are forbidden, missing or failed."""

    @property
    def complete(self) -> bool:
        """Whether there are no holes: in the range of the sync, the archive lacks nothing that it should have."""
        return not self.holes

    def raise_if_incomplete(self) -> None:
        """Raise `IncompleteSync`, with this report as its `report`, if there is a hole.

        >>> archive.sync(game_ids=[game_id]).raise_if_incomplete()
        """
        if self.holes:
            first_holes = "; ".join(hole_line(hole) for hole in self.holes[:5])
            more = f"; and {len(self.holes) - 5} more" if len(self.holes) > 5 else ""
            raise IncompleteSync(
                f"{len(self.holes)} of {self.coverage.num_rows} units are missing: {first_holes}{more}. The others are "
                "stored; sync again to request the missing ones",
                report=self,
            )

    def __repr__(self) -> str:
        state = "complete" if self.complete else count_text(len(self.holes), "hole")
        drift = f", {count_text(self.drift.num_rows, 'unknown field')}" if self.drift.num_rows else ""
        units = count_text(self.coverage.num_rows, "unit")
        corrections = count_text(self.corrections.num_rows, "correction")
        return f"<sideline.archive.SyncReport {units}, {state}, {corrections}{drift}>"

    def _repr_html_(self) -> str:
        statuses = Counter(self.coverage.to_arrow(["status"])["status"].to_pylist())
        facts = {"units": self.coverage.num_rows, **dict(sorted(statuses.items()))}
        facts |= {"corrections": self.corrections.num_rows, "unknown fields": self.drift.num_rows}
        title = "sync: complete" if self.complete else f"sync: {count_text(len(self.holes), 'hole')}"
        return notebook_html(facts_part(title, facts), _first_holes(self.holes))


def hole_line(hole: dict[str, Any]) -> str:
    """Describe a hole in one line."""
    return visible(f"{hole['unit']} {hole['status']}: {hole['error']}")


@dataclass(frozen=True)
class ArchiveInfo:
    """The contents of an archive; see `Archive.info`.

    >>> info = archive.info()
    >>> info.holes, info.rows["box_score"] > 0
    ([], True)
    """

    root: str
    rows: dict[str, int]
    """Number of rows of each table."""
    games: int
    sessions: int
    holes: list[dict[str, Any]]
    """Rows of the table `coverage` that are forbidden, missing or failed."""
    unfinished: int
    """Games that were not over at their last sync."""
    fetched_at: datetime | None
    """When the last unit was fetched, by the clock of the machine that fetched it."""
    corrections: int

    def __repr__(self) -> str:
        lines = [f"archive {self.root}"]
        lines += [f"  {name}: {value}" for name, value in self._facts().items()]
        lines += [f"  {name:<20}{rows:>12,} rows" for name, rows in self.rows.items()]
        lines += [f"  hole: {hole_line(hole)}" for hole in self.holes[:MAX_HOLES_SHOWN]]
        return "\n".join(lines)

    def _facts(self) -> dict[str, Any]:
        fresh = f"{self.fetched_at:%Y-%m-%d %H:%M:%S} UTC" if self.fetched_at else "nothing fetched yet"
        return {
            "games": self.games,
            "not over when last seen": self.unfinished,
            "sessions": self.sessions,
            "holes": len(self.holes),
            "corrections": self.corrections,
            "last fetched": fresh,
        }

    def _repr_html_(self) -> str:
        rows = rows_part("", "", ("table", "rows"), self.rows.items())
        return notebook_html(facts_part(f"archive {self.root}", self._facts()), rows, _first_holes(self.holes))


def _first_holes(holes: Sequence[dict[str, Any]]) -> Part:
    lines = [hole_line(hole) for hole in holes[:MAX_HOLES_SHOWN]]
    more = [f"and {len(holes) - MAX_HOLES_SHOWN:,} more"] if len(holes) > MAX_HOLES_SHOWN else []
    return {"lines": lines + more}
