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
        def measure(*arguments: Any, **options: Any) -> Any:
            result = member(*arguments, **options)
            return result.to_polars() if isinstance(result, sideline.Table) else result

        return measure


metrics: Any = _Metrics()
