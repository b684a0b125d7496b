"""Names of players beside their ids."""

import re
from typing import Any

from ..._lazy import pl
from ..._rows import has_tables

_ID = re.compile(r"(?<!\d)-?\d+")
"""An id of a lineup such as 11-12; a minus sign after another is that of the id."""


def player_names(*sources: object) -> "pl.DataFrame":
    """Return `player_id` and `player_name` from those arguments that have names."""
    columns = ["player_id", "first_name", "last_name"]
    parts = [pl.DataFrame(schema={"player_id": pl.Int64, "first_name": pl.String, "last_name": pl.String})]
    waiting = list(sources)
    while waiting:
        source: Any = waiting.pop(0)
        if isinstance(source, list | tuple):
            waiting[:0] = source
        elif has_tables(source):
            named_tables = [name for name in ("possession_players", "player_stats") if name in source.tables]
            parts += [pl.DataFrame(source.table(name, columns=columns)) for name in named_tables[:1]]
        elif source is not None:
            frame = source.collect() if isinstance(source, pl.LazyFrame) else pl.DataFrame(source)
            if "player_name" in frame.columns:
                players = frame.filter(pl.col("player_id") != 0)
                parts.append(players.select("player_id", first_name="player_name", last_name=pl.lit(None, pl.String)))
            elif set(columns) <= set(frame.columns):
                parts.append(frame.select(columns))
    name = pl.concat_str("first_name", "last_name", separator=" ", ignore_nulls=True)
    people = pl.concat([frame.cast(parts[0].schema) for frame in parts]).select("player_id", player_name=name)
    return people.filter(pl.col("player_name") != "").unique("player_id", keep="first", maintain_order=True)


def with_player_names(table: "pl.DataFrame", *sources: object) -> "pl.DataFrame":
    """Add `player_name` after `player_id`."""
    named_rows = table.join(player_names(*sources), on="player_id", how="left", maintain_order="left")
    place = table.columns.index("player_id") + 1
    return named_rows.select(*table.columns[:place], "player_name", *table.columns[place:])


def with_lineup_names(table: "pl.DataFrame", *sources: object) -> "pl.DataFrame":
    """Add `player_names`, a list, after `lineup`."""
    names = dict(player_names(*sources).iter_rows())
    lineups = [
        None if ids is None else [names.get(int(player_id)) for player_id in _ID.findall(ids)]
        for ids in table["lineup"]
    ]
    column = pl.Series("player_names", lineups, pl.List(pl.String))
    return table.insert_column(table.columns.index("lineup") + 1, column)
