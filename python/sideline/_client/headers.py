"""HTTP headers as a mapping."""

from collections.abc import Iterable, Iterator, Mapping


class Headers(Mapping[str, str]):
    """Header fields in their order. Names are case-insensitive; values of a repeated name are joined by `, `."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        self._fields: dict[str, str] = {}
        for name, value in fields:
            key = name.lower()
            self._fields[key] = f"{self._fields[key]}, {value}" if key in self._fields else value

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({self._fields!r})"
