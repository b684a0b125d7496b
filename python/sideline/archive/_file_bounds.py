"""The bounds of ids that the log of a table has for each of its files, so that readers skip files."""

import json
from typing import Any

from ._libraries import pa, pc

_BOUNDED_COLUMNS = ("game_id", "session_id", "event_id", "team_id", "player_id", "unit", "entry")

_ENDS = ("minValues", "maxValues")


def configuration(schema: "pa.Schema") -> dict[str, str]:
    """Return the properties of a table whose files all have bounds of the same columns, whoever writes them.

    Where one file has bounds of a column and another has none, deltalake's dataset takes the latter for empty.
    """
    names = _bounded_columns(schema)
    return {"delta.dataSkippingStatsColumns": ",".join(names)} if names else {"delta.dataSkippingNumIndexedCols": "0"}


def _bounded_columns(schema: "pa.Schema") -> list[str]:
    return [name for name in _BOUNDED_COLUMNS if name in schema.names]


class Bounds:
    """What a commit says of a file: its rows, and the bounds of its ids."""

    def __init__(self) -> None:
        self.rows = 0
        self.bounds: dict[str, tuple[Any, Any]] = {}
        self.nulls: dict[str, int] = {}

    def add(self, rows: "pa.Table") -> None:
        self.rows += rows.num_rows
        for name in _bounded_columns(rows.schema):
            self.nulls[name] = self.nulls.get(name, 0) + rows[name].null_count
            ends = pc.min_max(rows[name])
            least, greatest = ends["min"].as_py(), ends["max"].as_py()
            if least is not None:
                first, last = self.bounds.get(name, (least, greatest))
                self.bounds[name] = min(first, least), max(last, greatest)

    def text(self) -> str:
        bounds = {key: {name: ends[at] for name, ends in self.bounds.items()} for at, key in enumerate(_ENDS)}
        return json.dumps({"numRecords": self.rows, **bounds, "nullCount": self.nulls}, separators=(",", ":"))
