"""The client of a sports tracking data service: dicts, Arrow tables, pandas and polars frames, and a simulator.

    import sideline

    with sideline.Simulator(seed=7) as service, service.client() as client:
        print(client.teams().table())

Nothing happens at import: each name is loaded when it is first used.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import court as court, metrics as metrics, plot as plot, spark as spark

    # generated
    from ._answers import Clips, Tracking, audit, clips, crosswalk, moments
    from ._client import AsyncClient, AsyncSeason, Client, Progress, Season, Timeout
    from ._core import Field, Payload, Schema, Table, Update, __version__
    from ._engines import Part, Plan
    from ._rows import SCHEMAS
    from .archive import Archive, SyncReport
    from .batch import AsyncBatch, Batch
    from .errors import (
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
    from .journal import replay
    from .live import (
        Connected,
        Disconnected,
        Gap,
        LiveBoxScore,
        LivePage,
        LiveStream,
        Notice,
        Quiet,
        Recovered,
        Recovering,
    )
    from .simulator import Simulator
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
    "Recovering",
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
    "Tracking",
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
    "SCHEMAS": "_rows",
    "Archive": "archive",
    "AsyncBatch": "batch",
    "AsyncClient": "_client",
    "AsyncSeason": "_client",
    "Batch": "batch",
    "Client": "_client",
    "Clips": "_answers",
    "Connected": "live",
    "Disconnected": "live",
    "Field": "_core",
    "Gap": "live",
    "LiveBoxScore": "live",
    "LivePage": "live",
    "LiveStream": "live",
    "Notice": "live",
    "Part": "_engines",
    "Payload": "_core",
    "Plan": "_engines",
    "Progress": "_client",
    "Quiet": "live",
    "Recovered": "live",
    "Recovering": "live",
    "Schema": "_core",
    "Season": "_client",
    "Simulator": "simulator",
    "SyncReport": "archive",
    "Table": "_core",
    "Timeout": "_client",
    "Tracking": "_answers",
    "Update": "_core",
    "__version__": "_core",
    "audit": "_answers",
    "clips": "_answers",
    "crosswalk": "_answers",
    "moments": "_answers",
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
