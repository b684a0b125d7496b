"""The schemas of all tables, known without a request."""

from collections.abc import Iterator, Mapping
from typing import Any

from .._client import Sport, TableName
from .._core import Schema, _schemas


class Schemas(Mapping[str, Schema]):
    """A read-only mapping of table names to schemas.

    They are those of basketball; `SCHEMAS.of_sport("football")` has those of football, where the box scores differ.

    >>> sideline.SCHEMAS["shots"]["distance_cm"].unit
    'cm'
    """

    def __init__(self, sport: Sport = "basketball") -> None:
        self._schemas: Any = _schemas(sport)

    def of_sport(self, sport: Sport) -> "Schemas":
        """Return the schemas of a sport, "basketball" or "football": only the columns of box scores differ.

        Raises `ValueError` for another sport. See the documentation: Football.

        >>> sideline.SCHEMAS.of_sport("football")["box_score"].names[-2:]
        ['version', 'games_played']
        """
        return Schemas(sport)

    def __getitem__(self, name: str) -> Schema:
        if name not in self._schemas:
            from .suggestions import did_you_mean

            raise KeyError(f"there is no table {name!r}{did_you_mean(str(name), self._schemas)}")
        schema: Schema = self._schemas[name]
        return schema

    def __iter__(self) -> Iterator[TableName]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def __contains__(self, name: object) -> bool:
        return name in self._schemas

    def __repr__(self) -> str:
        return f"<sideline.SCHEMAS: {len(self)} tables: {', '.join(self)}>"


SCHEMAS: Schemas = Schemas()
"""The schema of every table by its name: columns, types, units and meanings, known without a request."""
