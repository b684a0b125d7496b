"""The two clients, and what a call of them needs: arguments, timeouts, options, progress, names to find."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .access import (
        check_sync as check_sync,
        core_of as core_of,
        core_of_score as core_of_score,
        core_of_stream as core_of_stream,
        drift_of as drift_of,
        elements_of as elements_of,
        finding_of as finding_of,
        game_of as game_of,
        in_zone as in_zone,
        is_entered as is_entered,
        jersey_numbers_of as jersey_numbers_of,
        keep_alive as keep_alive,
        mask_id as mask_id,
        options_of as options_of,
        planned_units as planned_units,
        refusal_of as refusal_of,
        set_page as set_page,
        shape_of as shape_of,
        size_of as size_of,
        sport_of as sport_of,
        sport_of_score as sport_of_score,
        store_of as store_of,
        table_from_arrow as table_from_arrow,
        take_rows as take_rows,
        title_of as title_of,
        units_of as units_of,
        waits as waits,
        with_texts as with_texts,
    )
    from .arguments import (
        as_seconds as as_seconds,
        as_timedelta as as_timedelta,
        check_count as check_count,
        check_on_error as check_on_error,
        check_range as check_range,
        is_time as is_time,
        list_of_names as list_of_names,
        name_arguments as name_arguments,
    )
    from .async_client import AsyncClient as AsyncClient
    from .base import BaseClient as BaseClient
    from .client import Client as Client
    from .find import APOSTROPHES as APOSTROPHES, check_name as check_name, fold as fold, is_named as is_named
    from .headers import Headers as Headers
    from .ids import one_id as one_id, several as several
    from .options import ClientOptions as ClientOptions
    from .progress import (
        UPDATE_INTERVAL as UPDATE_INTERVAL,
        Progress as Progress,
        ProgressOption as ProgressOption,
        bar as bar,
        is_notebook as is_notebook,
        progress_text as progress_text,
        size_texts as size_texts,
    )
    from .season import AsyncSeason as AsyncSeason, Season as Season
    from .sizes import expected_bytes as expected_bytes
    from .streams import Overflow as Overflow, Recover as Recover
    from .timeout import CallLimits as CallLimits, Timeout as Timeout
    from .types import (
        ArchiveTable as ArchiveTable,
        CatchUpResource as CatchUpResource,
        Duration as Duration,
        Environment as Environment,
        GameIds as GameIds,
        Id as Id,
        Ids as Ids,
        Many as Many,
        OnError as OnError,
        Operation as Operation,
        Sport as Sport,
        SyncTable as SyncTable,
        TableName as TableName,
        Time as Time,
    )
    from .unpicklable import Unpicklable as Unpicklable
    from .wakeups import run_next_step as run_next_step
else:
    from .._lazy import open_door

    __getattr__ = open_door(
        __name__,
        {
            "access": (
                "check_sync core_of core_of_score core_of_stream drift_of elements_of finding_of game_of in_zone "
                "is_entered jersey_numbers_of keep_alive mask_id options_of planned_units refusal_of set_page shape_of "
                "size_of sport_of sport_of_score store_of table_from_arrow take_rows title_of units_of waits with_texts"
            ),
            "arguments": (
                "as_seconds as_timedelta check_count check_on_error check_range is_time list_of_names name_arguments"
            ),
            "async_client": "AsyncClient",
            "base": "BaseClient",
            "client": "Client",
            "find": "APOSTROPHES check_name fold is_named",
            "headers": "Headers",
            "ids": "one_id several",
            "unpicklable": "Unpicklable",
            "wakeups": "run_next_step",
            "options": "ClientOptions",
            "progress": "UPDATE_INTERVAL Progress ProgressOption bar is_notebook progress_text size_texts",
            "sizes": "expected_bytes",
            "season": "AsyncSeason Season",
            "streams": "Overflow Recover",
            "timeout": "CallLimits Timeout",
            "types": (
                "ArchiveTable CatchUpResource Duration Environment GameIds Id Ids Many OnError Operation Sport "
                "SyncTable TableName Time"
            ),
        },
    )
