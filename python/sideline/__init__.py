"""The client of a sports tracking data service: dicts, Arrow tables, pandas and polars frames, and a simulator.

    import sideline

    with sideline.Simulator(seed=7) as service, service.client() as client:
        print(client.teams().table())

Nothing happens at import: each name is loaded when it is first used.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sideline import court as court
    from sideline import metrics as metrics
    from sideline import plot as plot
    from sideline import spark as spark

    # generated
    from sideline._answers.clips import Clips, clips
    from sideline._answers.crosswalk import crosswalk
    from sideline._answers.moments import moments
    from sideline._async_client import AsyncClient
    from sideline._audit import audit
    from sideline._client import Client
    from sideline._core import Field, Payload, Schema, Table, Update, __version__
    from sideline._plan import Part, Plan
    from sideline._progress import Progress
    from sideline._schemas import SCHEMAS
    from sideline._season import AsyncSeason, Season
    from sideline._serve import LivePage
    from sideline._timeout import Timeout
    from sideline.archive import Archive, SyncReport
    from sideline.batch import AsyncBatch, Batch
    from sideline.errors import (
        ApiError,
        AuthenticationError,
        ConfigurationError,
        ConnectError,
        DecodeError,
        IncompleteError,
        InternalError,
        InvalidRequest,
        NotFound,
        PermissionDenied,
        RateLimited,
        RequestTimeout,
        SchemaDriftWarning,
        ServerError,
        SidelineError,
        StreamClosed,
        TransportError,
    )
    from sideline.journal import replay
    from sideline.live import Connected, Disconnected, Gap, LiveBoxScore, LiveStream, Notice, Quiet, Recovered
    from sideline.simulator import Simulator
    # end

# generated
__all__ = [
    "SCHEMAS",
    "ApiError",
    "Archive",
    "AsyncBatch",
    "AsyncClient",
    "AsyncSeason",
    "AuthenticationError",
    "Batch",
    "Client",
    "Clips",
    "ConfigurationError",
    "ConnectError",
    "Connected",
    "DecodeError",
    "Disconnected",
    "Field",
    "Gap",
    "IncompleteError",
    "InternalError",
    "InvalidRequest",
    "LiveBoxScore",
    "LivePage",
    "LiveStream",
    "NotFound",
    "Notice",
    "Part",
    "Payload",
    "PermissionDenied",
    "Plan",
    "Progress",
    "Quiet",
    "RateLimited",
    "Recovered",
    "RequestTimeout",
    "Schema",
    "SchemaDriftWarning",
    "Season",
    "ServerError",
    "SidelineError",
    "Simulator",
    "StreamClosed",
    "SyncReport",
    "Table",
    "Timeout",
    "TransportError",
    "Update",
    "__version__",
    "audit",
    "clips",
    "crosswalk",
    "moments",
    "replay",
]
# end

# The module of each public name, but for those of `errors.__all__`. `make generate` writes the imports and `__all__`.
_MODULES = {
    "SCHEMAS": "_schemas",
    "Archive": "archive",
    "AsyncBatch": "batch",
    "AsyncClient": "_async_client",
    "AsyncSeason": "_season",
    "Batch": "batch",
    "Client": "_client",
    "Clips": "_answers.clips",
    "Connected": "live",
    "Disconnected": "live",
    "Field": "_core",
    "Gap": "live",
    "LiveBoxScore": "live",
    "LivePage": "_serve",
    "LiveStream": "live",
    "Notice": "live",
    "Part": "_plan",
    "Payload": "_core",
    "Plan": "_plan",
    "Progress": "_progress",
    "Quiet": "live",
    "Recovered": "live",
    "Schema": "_core",
    "Season": "_season",
    "Simulator": "simulator",
    "SyncReport": "archive",
    "Table": "_core",
    "Timeout": "_timeout",
    "Update": "_core",
    "__version__": "_core",
    "audit": "_audit",
    "clips": "_answers.clips",
    "crosswalk": "_answers.crosswalk",
    "moments": "_answers.moments",
    "replay": "journal",
}


# Not in __all__, so that "import *" works without their optional libraries.
_SUBMODULES = ("court", "metrics", "plot", "spark")


def __getattr__(name: str) -> object:
    if name not in __all__ and name not in _SUBMODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})
