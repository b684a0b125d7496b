"""Options of an object store, which contain secrets."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from .._lazy import library

_PREFIXES = ("aws_", "google_", "azure_")
_UNSUPPORTED_OPTIONS = ("allow_http", "unsafe_rename", "locking_provider", "dynamo")
_OTHER_COMMITS = ("unsafe_rename", "locking_provider", "dynamo", "conditional_put", "copy_if_not_exists")
"""Parts of the names of options by which deltalake commits in another way."""


class Options:
    """Options for `deltalake` that no `repr`, traceback or pickle shows."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str] | None) -> None:
        try:
            if values is not None and not isinstance(values, Mapping):
                raise TypeError(f"storage_options is a mapping of names to values, not {type(values).__name__}")
            self._values = dict(values) if values else None
        finally:
            del values

    def __repr__(self) -> str:
        return "None" if self._values is None else f"<{len(self._values)} options>"

    def __reduce__(self) -> tuple[type["Options"], tuple[None]]:
        # Another process reads them from its environment, as `deltalake` does.
        return Options, (None,)

    def open(self, call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Return the result of `call` with these options as its `storage_options`."""
        try:
            return call(*arguments, storage_options=self._values, **keywords)
        except Exception as error:  # noqa: BLE001 - a traceback with locals would show the options in the library's frames
            raise error.with_traceback(None) from None

    def has(self, condition: Callable[[Mapping[str, str]], bool]) -> bool:
        """Return whether a condition on these options holds."""
        return condition(self._values or {})


def has_conditional_puts(storage_options: Mapping[str, str]) -> bool:
    """Return whether commits to a bucket are conditional puts, and not renames or guarded by a table of locks."""
    names = {name.lower() for name in (*storage_options, *os.environ)}
    return not any(name.startswith(_PREFIXES) and any(part in name for part in _OTHER_COMMITS) for name in names)


def open_bucket(root: str, storage_options: Mapping[str, str] | None) -> Any:
    """Return the bucket of an archive for obstore."""
    options = {name.lower(): value for name, value in (storage_options or {}).items()}
    environment = {name.lower(): value for name, value in os.environ.items()}
    allow = next(
        (
            values[name]
            for values in (options, environment)
            for name in ("aws_allow_http", "allow_http")
            if name in values
        ),
        "",
    )
    supported_options = {
        name: value
        for name, value in options.items()
        if name.startswith(_PREFIXES) and not any(part in name for part in _UNSUPPORTED_OPTIONS)
    }
    return library("obstore.store", "bucket").from_url(
        root, config=supported_options, client_options={"allow_http": allow.lower() in ("true", "1")}
    )
