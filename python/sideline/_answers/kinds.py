"""The kind of rows that a function over tables returns: that of its first argument."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from .._client import list_of_names
from .._core import Payload, Table
from .._lazy import pl
from ..batch import BaseBatch
from .frames import table_of


class ArrowRows(Protocol):
    """Rows with Arrow's C interface: a `Table`, a frame of pandas or polars, a table of pyarrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object:
        """Export the rows."""


class PandasRows(Protocol):
    """A frame of pandas, which has no types of its own where its stubs are not installed."""

    @property
    def iloc(self) -> Any:
        """Rows by position."""

    @property
    def dtypes(self) -> Any:
        """The types of the columns."""


if TYPE_CHECKING:
    Source: TypeAlias = ArrowRows | PandasRows | Payload | BaseBatch | pl.LazyFrame | list[Any] | tuple[Any, ...]
    """One argument of a function over tables: rows, or several of them in a list."""
else:
    # To name its LazyFrame would import polars.
    Source = ArrowRows | PandasRows | Payload | BaseBatch | list | tuple

Frame = TypeVar("Frame", bound="PandasRows | pl.DataFrame")
P = ParamSpec("P")


class KeepsKind(Protocol[P]):
    """A function over tables: pandas for pandas, polars for polars, a `Table` for anything else."""

    @overload
    def __call__(self, rows: Frame, /, *args: P.args, **options: P.kwargs) -> Frame: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, rows: "pl.LazyFrame", /, *args: P.args, **options: P.kwargs
    ) -> "pl.DataFrame": ...
    @overload
    def __call__(self, rows: Source, /, *args: P.args, **options: P.kwargs) -> Table: ...
    @overload
    def __call__(self, **options: Any) -> Any: ...


def keeps_kind(function: "Callable[Concatenate[Source, P], pl.DataFrame]") -> KeepsKind[P]:
    """Make a function that returns a polars frame return the kind of its first argument."""

    first = function.__code__.co_varnames[0]

    @wraps(function)
    def wrapper(*args: Any, **options: Any) -> Any:
        if "by" in options:
            options["by"] = grouping(options["by"])
        frame = function(*args, **options)
        return of_kind(args[0] if args else options[first], function.__name__, frame)

    return wrapper


def grouping(by: str | Sequence[str]) -> list[str]:
    """Return the columns of `by`, each once, without `team_id`: every metric has it."""
    return [name for name in list_of_names("by", by) if name != "team_id"]


def of_kind(source: object, name: str, frame: "pl.DataFrame") -> Any:
    """Return a polars frame in the kind of `source`; `name` is that of the `Table` otherwise."""
    return frame if kind_of(source) == "polars" else table_of_kind(source, table_of(name, frame))


def table_of_kind(source: object, table: Table) -> Any:
    """Return a table in the kind of `source`."""
    kind = kind_of(source)
    return table.to_polars() if kind == "polars" else table.to_pandas() if kind == "pandas" else table


def kind_of(source: object) -> str:
    """Return "pandas" or "polars" for their frames, else ""; of a list that of its first element."""
    while isinstance(source, list | tuple) and source:
        source = source[0]
    library = type(source).__module__.partition(".")[0]
    is_frame = type(source).__name__ in ("DataFrame", "LazyFrame")
    return library if is_frame and library in ("pandas", "polars") else ""
