"""The schemas of all tables, known without a request."""

from collections.abc import Iterator, Mapping

from sideline._core import Schema, _schemas


class Schemas(Mapping[str, Schema]):
    """A read-only mapping of table names to schemas.

    >>> sideline.SCHEMAS["shots"]["distance_cm"].unit
    'cm'
    """

    def __init__(self) -> None:
        self._schemas = _schemas()

    def __getitem__(self, name: str) -> Schema:
        return self._schemas[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def __contains__(self, name: object) -> bool:
        return name in self._schemas

    def __repr__(self) -> str:
        return f"<sideline.SCHEMAS: {len(self)} tables: {', '.join(self)}>"


SCHEMAS: Mapping[str, Schema] = Schemas()
