"""`sideline.metrics` for tests that compare polars frames: a `Table` that a metric returns is one."""

from __future__ import annotations

from functools import wraps
from typing import Any

import sideline


class _Metrics:
    def __getattr__(self, name: str) -> Any:
        member = getattr(sideline.metrics, name)
        if isinstance(member, (type, tuple)):
            return member

        @wraps(member)
        def measured(*arguments: Any, **options: Any) -> Any:
            found = member(*arguments, **options)
            return found.to_polars() if isinstance(found, sideline.Table) else found

        return measured


metrics: Any = _Metrics()
