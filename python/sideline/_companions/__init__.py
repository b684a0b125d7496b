"""What connects sideline with programs of others.

_traces.py      spans and metrics of OpenTelemetry
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._traces import current_trace as current_trace, observe_stream as observe_stream, trace_sync as trace_sync
else:
    from .._lazy import open_door

    __getattr__ = open_door(__name__, {"_traces": "current_trace observe_stream trace_sync"})
