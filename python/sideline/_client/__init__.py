"""The two clients, and what a call of them needs: arguments, timeouts, options, progress, names to find."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .access import (
        check_sync,
        core_of,
        core_of_stream,
        drift_of,
        finding_of,
        is_entered,
        keep_alive,
        options_of,
        planned_units,
        refusal_of,
        shape_of,
        size_of,
        sport_of,
        store_of,
        table_from_arrow,
        title_of,
        units_of,
        waits,
        with_texts,
    )
    from .arguments import check_range, named
    from .async_client import AsyncClient
    from .base import BaseClient
    from .client import Client
    from .find import check_name, is_named
    from .headers import Headers
    from .inbox import hear
    from .options import ClientOptions
    from .progress import UPDATE_INTERVAL, Progress, ProgressOption, bar, progress_text
    from .season import AsyncSeason, Season
    from .streams import Overflow
    from .timeout import Timeout, call_limits
    from .types import Ids, OnError, Sport, TableName, Time
else:
    from .._lazy import open_door

    __getattr__ = open_door(
        __name__,
        {
            "access": (
                "check_sync core_of core_of_stream drift_of finding_of is_entered keep_alive options_of "
                "planned_units refusal_of shape_of size_of sport_of store_of table_from_arrow title_of units_of "
                "waits with_texts"
            ),
            "arguments": "check_range named",
            "async_client": "AsyncClient",
            "base": "BaseClient",
            "client": "Client",
            "find": "check_name is_named",
            "headers": "Headers",
            "inbox": "hear",
            "options": "ClientOptions",
            "progress": "UPDATE_INTERVAL Progress ProgressOption bar progress_text",
            "season": "AsyncSeason Season",
            "streams": "Overflow",
            "timeout": "Timeout call_limits",
            "types": "Ids OnError Sport TableName Time",
        },
    )
