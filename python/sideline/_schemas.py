"""The schemas of all tables, known without a request."""

from collections.abc import Iterator, Mapping
from typing import Any

from sideline._core import Schema, _schemas
from sideline._types import TableName


class Schemas(Mapping[str, Schema]):
    """A read-only mapping of table names to schemas.

    >>> sideline.SCHEMAS["shots"]["distance_cm"].unit
    'cm'
    """

    def __init__(self) -> None:
        self._schemas: Any = _schemas()

    def __getitem__(self, name: str) -> Schema:
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


SCHEMAS = Schemas()
