"""Options of an object store, which contain secrets."""

from collections.abc import Callable, Mapping
from typing import Any


class Options:
    """Options for `deltalake` that no `repr`, traceback or pickle shows."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str] | None) -> None:
        try:
            self._values = dict(values) if values else None
        finally:
            del values

    def __repr__(self) -> str:
        return "None" if self._values is None else f"<{len(self._values)} options>"

    def __reduce__(self) -> tuple[type["Options"], tuple[None]]:
        # Another process reads them from its environment, as `deltalake` does.
        return Options, (None,)

    def open(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return the result of `call` with these options as its `storage_options`."""
        try:
            return call(*arguments, storage_options=self._values, **named)
        except Exception as error:  # noqa: BLE001 - a traceback with locals would show the options in the library's frames
            raise error.with_traceback(None) from None
