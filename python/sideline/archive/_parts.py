"""Parts of a stored table that an engine reads in other processes."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from . import _read
from ._libraries import pa, pl
from ._life import COMPLETE
from ._plan import RESOURCES
from ._storage_options import Options
from ._store import Store

if TYPE_CHECKING:
    from .._client import TableName


@dataclass(frozen=True)
class PartScope:
    """The rows of a part: those of these teams, games and sessions, that start in a range. `None`: of all."""

    team_ids: Collection[int] | None = None
    game_ids: Collection[str] | None = None
    session_ids: Collection[str] | None = None
    start: Any = None
    end: Any = None

    def predicate(self) -> "pl.Expr | None":
        """Return the games or sessions as a term that narrows what is brought up to date."""
        ids = {"session_id": self.session_ids, "game_id": self.game_ids}
        terms = [pl.col(name).is_in(list(values)) for name, values in ids.items() if values is not None]
        return terms[0] if terms else None

    def in_times(self, to_datetime: "Callable[[str, Any], datetime]") -> "PartScope":
        """Return it with `datetime` as start and end."""
        start, end = (
            None if at is None else to_datetime(name, at) for name, at in (("start", self.start), ("end", self.end))
        )
        return replace(self, start=start, end=end)

    def contains(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row of `coverage` belongs to it."""
        return (
            (self.team_ids is None or bool({*self.team_ids} & {*(row["teams"] or ())}))
            and (self.game_ids is None or row["game_id"] in self.game_ids)
            and (self.session_ids is None or row["session_id"] in self.session_ids)
            and (self.start is None or row["starts_at"] is None or self.start <= row["starts_at"])
            and (self.end is None or row["starts_at"] is None or row["starts_at"] < self.end)
        )


@dataclass(frozen=True)
class StoredPart:
    """Some sessions or games of a table of an archive. It pickles, and holds no credentials."""

    root: str
    table: "TableName"
    ids: Sequence[str] | Sequence[int]
    columns: Sequence[str]

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """Yield the rows, as they were when the parts were made or later."""
        frame = _read.scan(Store(self.root, Options(None)), self.table).filter(
            pl.col(key_of(self.table)).is_in(list(self.ids))
        )
        yield from frame.select(*self.columns).collect(engine="streaming").to_arrow().to_batches()


def key_of(table: str) -> str:
    """Return the column with the id of the response that a row is from."""
    return next(resource.key for resource in RESOURCES.values() if table in resource.tables)


def parts_of(
    store: Store, table: "TableName", scope: PartScope, columns: Sequence[str], count: int
) -> list[StoredPart]:
    """Return parts with about as many responses each; a part has at least one."""
    operations = {name for name, resource in RESOURCES.items() if table in resource.tables}
    units = [
        (row["starts_at"] is None, row["starts_at"], row["unit"].partition("/")[2])
        for row in _read.coverage(store)
        if row["operation"] in operations and row["status"] in COMPLETE and scope.contains(row)
    ]
    names = [name for *_, name in sorted(units)]
    ids = [int(name) for name in names] if key_of(table) == "team_id" else names
    size = -(-len(ids) // count) or 1
    return [StoredPart(store.root, table, ids[at : at + size], columns) for at in range(0, len(ids), size)]
