"""Modules that are loaded when they are first used."""

from collections.abc import Callable, Mapping
from typing import Any


def open_door(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a room, whose names are loaded when they are first used.

    `modules` has the names of each module, separated by spaces.
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> Any:
        from importlib import import_module
        from sys import modules as loaded

        if name not in places:
            text = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=loaded[package])
        value = getattr(import_module(f"{package}.{places[name]}"), name)
        setattr(loaded[package], name, value)
        return value

    return load


def load_later(module: str, name: str) -> Any:
    """Return a name of a module that imports the caller's; tests/test_rooms.py lists each use."""
    from importlib import import_module

    return getattr(import_module(module), name)


class LazyModule:
    """A module for annotations alone: it is imported when one of them is evaluated."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        # `inspect` and `doctest` ask everything for `__wrapped__`.
        if name.startswith("__"):
            raise AttributeError(name)
        from importlib import import_module

        return getattr(import_module(self._name), name)
