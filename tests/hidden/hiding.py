"""Makes libraries seem not to be installed. No import of the project or of pytest: it runs at the start of child processes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

VARIABLE = "HIDDEN_LIBRARIES"
"""Their names, separated by commas, for child processes."""


class Without:
    """A finder that finds what another one does, except these libraries and their metadata."""

    def __init__(self, finder: Any, names: frozenset[str]) -> None:
        self._finder, self._names = finder, names

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)

    def find_spec(self, name: str, *arguments: Any, **options: Any) -> Any:
        return None if name.partition(".")[0] in self._names else self._finder.find_spec(name, *arguments, **options)

    def find_distributions(self, *arguments: Any, **options: Any) -> Iterable[Any]:
        if not hasattr(self._finder, "find_distributions"):
            return
        for distribution in self._finder.find_distributions(*arguments, **options):
            if distribution.name.lower().replace("-", "_") not in self._names:
                yield distribution


def hide(names: Iterable[str]) -> None:
    """From now on `import`, `find_spec` and `importlib.metadata` find none of these names."""
    sys.meta_path[:] = [Without(finder, frozenset(names)) for finder in sys.meta_path]
