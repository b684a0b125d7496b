"""The client of a sports tracking data service: dicts, Arrow tables, pandas and polars frames, and a simulator.

    import sideline

    with sideline.Simulator(seed=7) as service, service.client() as client:
        print(client.teams().table())

Nothing happens at import: each name is loaded when it is first used.
"""

# Not `False`, and not from `typing`: completion by jedi skips what `False` hides, and importing `typing` takes time.
TYPE_CHECKING = not __name__
if TYPE_CHECKING:
    from . import (
        archive as archive,
        batch as batch,
        cli as cli,
        court as court,
        doctor as doctor,
        errors as errors,
        journal as journal,
        live as live,
        metrics as metrics,
        plot as plot,
        simulator as simulator,
        spark as spark,
        typing as typing,
    )

    # generated
    from ._answers import Clips, Tracking, audit, clips, crosswalk, moments
    from ._client import AsyncClient, AsyncSeason, Client, Progress, Season, Timeout
    from ._core import Field, Payload, Schema, Table, Update, __version__
    from ._engines import Part, Plan
    from ._rows import SCHEMAS
    from .archive import Archive
    from .batch import AsyncBatch, Batch
    from .errors import (
        ApiError,
        AuthenticationError,
        ConfigurationError,
        ConnectError,
        DecodeError,
        IncompleteBatch,
        IncompleteError,
        IncompleteSync,
        InternalError,
        InvalidRequest,
        NotFound,
        PermissionDenied,
        QueryError,
        RateLimited,
        RequestTimeout,
        SchemaDriftWarning,
        ServerError,
        SidelineError,
        StreamClosed,
        TransportError,
    )
    from .journal import replay
    from .live import LiveBoxScore, LiveStream
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
    "DecodeError",
    "Field",
    "IncompleteBatch",
    "IncompleteError",
    "IncompleteSync",
    "InternalError",
    "InvalidRequest",
    "LiveBoxScore",
    "LiveStream",
    "NotFound",
    "Part",
    "Payload",
    "PermissionDenied",
    "Plan",
    "Progress",
    "QueryError",
    "RateLimited",
    "RequestTimeout",
    "Schema",
    "SchemaDriftWarning",
    "Season",
    "ServerError",
    "SidelineError",
    "Simulator",
    "StreamClosed",
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
    "Field": "_core",
    "LiveBoxScore": "live",
    "LiveStream": "live",
    "Part": "_engines",
    "Payload": "_core",
    "Plan": "_engines",
    "Progress": "_client",
    "Schema": "_core",
    "Season": "_client",
    "Simulator": "simulator",
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
_SUBMODULES = (
    *("archive", "batch", "cli", "court", "doctor", "errors", "journal"),
    *("live", "metrics", "plot", "simulator", "spark", "typing"),
)


# Hidden from type checkers, which would accept any name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__ and name not in _SUBMODULES:
            from sys import modules

            # With the module, Python's traceback suggests the name that resembles it.
            text = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=modules[__name__])
        from importlib import import_module

        if name in _SUBMODULES:
            return import_module(f"{__name__}.{name}")
        value: object = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})
