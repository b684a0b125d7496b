"""Tables as the frames of other libraries. None of them is needed: each is loaded when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from sideline._core import Schema, Table


def library(name: str, extra: str) -> Any:
    """An optional library; where it is missing, the error says what to install."""
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        message = f'{package} is not installed; install it with: pip install "sideline[{extra}]"'
        raise ModuleNotFoundError(message, name=package) from None


def to_arrow(table: "Table") -> "pyarrow.Table":
    return library("pyarrow", "arrow").table(table)


def schema_to_arrow(schema: "Schema") -> "pyarrow.Schema":
    return library("pyarrow", "arrow").schema(schema)


def to_polars(table: "Table") -> "polars.DataFrame":
    frame: polars.DataFrame = library("polars", "polars").DataFrame(table)
    return frame


def to_pandas(table: "Table") -> "pandas.DataFrame":
    pandas: Any = library("pandas", "pandas")
    pyarrow = library("pyarrow", "pandas")
    arrow = pyarrow.table(table)
    # What may be null gets a type that has nulls, whether there is one or not: else an id would be an integer in one
    # body and a float in the next.
    nullable = {
        pyarrow.int32(): pandas.Int32Dtype(),
        pyarrow.int64(): pandas.Int64Dtype(),
        pyarrow.bool_(): pandas.BooleanDtype(),
    }
    # Without "strict" a map would be a list of pairs.
    columns = {
        field.name: column.to_pandas(types_mapper=nullable.get if field.nullable else None, maps_as_pydicts="strict")
        for field, column in zip(arrow.schema, arrow.columns, strict=True)
    }
    return pandas.DataFrame(columns)
