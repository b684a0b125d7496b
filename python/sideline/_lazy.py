"""Modules that are loaded when they are first used."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

__all__ = ["LazyModule", "library", "load_later", "open_door", "pa", "pc", "pl"]


def open_door(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a room, whose names are loaded when they are first used.

    `modules` has the names of each module, separated by spaces.
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> Any:
        from importlib import import_module

        if name not in places:
            text = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=sys.modules[package])
        value = getattr(import_module(f"{package}.{places[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def load_later(module: str, name: str) -> Any:
    """Return a name of a module that imports the caller's; tests/test_rooms.py lists each use."""
    from importlib import import_module

    return getattr(import_module(module), name)


def library(name: str, extra: str) -> Any:
    """Import an optional library; if it is missing, the error names the extra to install."""
    # Archives ask for each body. `import` looks here first too, but `import_module` takes a lock before.
    if (module := sys.modules.get(name)) is not None and not getattr(
        getattr(module, "__spec__", None), "_initializing", False
    ):
        return module
    from importlib import import_module

    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != package or not extra:
            raise
        message = f'{package} is not installed; install it with: pip install "sideline[{extra}]"'
        raise ModuleNotFoundError(message, name=package) from None


class LazyModule:
    """A module that is imported when a name of it is first used, for instance by an annotation that is evaluated.

    `extra`: what to install if it is missing.
    """

    def __init__(self, name: str, extra: str = "") -> None:
        self._name = name
        self._extra = extra

    def __getattr__(self, name: str) -> Any:
        # `inspect` and `doctest` ask everything for `__wrapped__`.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(library(self._name, self._extra), name)


if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    pa = LazyModule("pyarrow", "arrow")
    pc = LazyModule("pyarrow.compute", "arrow")
    pl = LazyModule("polars", "polars")
