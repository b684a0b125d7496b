"""Plans in Spark 4: the data source "sideline", and DataFrames of rows or of bodies.

See the documentation: Plans, scans and engines.

    spark.read.format("sideline").option("table", "shots").option("start", "2026-11-01").load()

The data source needs no registration. Credentials come from the environment of the driver, which plans, and of each
executor, which reads: `SIDELINE_SECRET`. Every action on a DataFrame requests its rows again, so persist it or write it
to files. Example, with `spark` a SparkSession:

    plan = client.plan("stat_events", start="2026-11-01")
    bodies = sideline.spark.fetch_bodies(spark, plan).persist()
    events = sideline.spark.decode(bodies, "stat_events")
    holes = bodies.filter("status not in ('fetched', 'empty', 'unavailable')")
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from ._client import Operation
from ._core import Payload
from ._engines import Part, Plan, bodies_schema, body_tables, operation_of, rows_of_unit, schema
from ._lazy import library

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from ._client import TableName

__all__ = ["decode", "fetch_bodies", "read"]

_DEFAULT_PARTS = 8
"""Number of parts if Spark does not say how many tasks it runs at once."""

Reading = Callable[[Part], "Iterator[pyarrow.RecordBatch]"]


def read(spark: "SparkSession", plan: Plan, *, parts: int | None = None) -> "DataFrame":
    """Return the rows of a plan as a DataFrame. A missing unit fails the job with `IncompleteError`.

    `parts` is the number of its partitions; default: the number of tasks that Spark runs at once. The tasks share the
    `requests_per_second` of the planning client. All columns are nullable, categories are strings, times are in
    microseconds, and the comment of each column is its meaning and unit.

    Raises `ValueError` for `box_score`, whose columns depend on the data.
    """
    library("pyspark", "spark")
    columns = None if plan.columns is None else list(plan.columns)
    target = arrow_schema(refused_box_score(plan.table), columns)
    return _frame(spark, plan, parts, struct(target), lambda part: conform(part.batches(), target))


def fetch_bodies(spark: "SparkSession", plan: Plan, *, parts: int | None = None) -> "DataFrame":
    """Return a row for each unit of a plan: the columns of `coverage`, `has_next` and the response's `body`.

    A missing unit is a row with its status and error, and does not fail the job. Persist the DataFrame or write it to
    files, and `decode` its tables: a response may have several, such as those of `stats`.
    """
    library("pyspark", "spark")
    target = plain(bodies_schema())
    return _frame(
        spark,
        plan,
        parts,
        struct(target),
        lambda part: conform(_record_batches(body_tables(part.plan, None)), target),
    )


def decode(bodies: "DataFrame", table: "TableName") -> "DataFrame":
    """Decode a table from the bodies of `fetch_bodies`, without a request. Missing units have no rows.

    Raises `ValueError` for `box_score`, and for a table that no plan reads.
    """
    library("pyspark", "spark")
    operation = operation_of(refused_box_score(table))
    target = arrow_schema(table, None)

    def decode_batches(batches: "Iterable[pyarrow.RecordBatch]") -> "Iterator[pyarrow.RecordBatch]":
        for batch in batches:
            for row in batch.to_pylist():
                if row["status"] not in ("fetched", "empty"):
                    continue
                if row["operation"] != operation:
                    raise ValueError(f"{table} is a table of {operation}, and the bodies are of {row['operation']}")
                keys = {name: row[name] for name in ("session_id", "game_id") if row[name] is not None}
                payload = Payload.from_bytes(cast("Operation", operation), bytes(row["body"]), **keys)
                until = round(row["end"].timestamp() * 1000) if row["has_next"] else None
                yield from conform(rows_of_unit(payload, table, None, until).to_arrow().to_batches(), target)

    return bodies.mapInArrow(decode_batches, struct(target))


def refused_box_score(table: str) -> str:
    """Return the table's name; raises `ValueError` for `box_score`."""
    if table == "box_score":
        raise ValueError(
            "box_score has columns that depend on the data, which a Spark DataFrame cannot have: read player_stats, "
            "which has a row for each player and stat"
        )
    return table


def _frame(spark: "SparkSession", plan: Plan, parts: int | None, schema: "StructType", reading: Reading) -> "DataFrame":
    tasks = _parallelism(spark)
    split = plan.split(parts or tasks or _DEFAULT_PARTS, tasks=tasks)

    def run(batches: "Iterable[pyarrow.RecordBatch]") -> "Iterator[pyarrow.RecordBatch]":
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from reading(split[number])

    # A partition for each part: only this source respects the number.
    return spark.range(0, len(split), 1, max(1, len(split))).mapInArrow(run, schema)


def _parallelism(spark: "SparkSession") -> int | None:
    """Return the number of concurrent tasks, or `None` if the session does not know it, as with Spark Connect."""
    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except Exception:  # noqa: BLE001 - Spark Connect has no context, and each version raises another class
        return None


def arrow_schema(table: str, columns: list[str] | None) -> "pyarrow.Schema":
    """Return the Arrow types of a table in Spark, with the metadata of its columns."""
    return plain(schema(table, columns).to_arrow())


def plain(source: "pyarrow.Schema") -> "pyarrow.Schema":
    """Convert a type: Spark has neither dictionaries nor milliseconds, and takes no batch with a non-null column."""
    pa = library("pyarrow", "spark")

    def of(kind: Any) -> Any:
        if pa.types.is_dictionary(kind):
            return kind.value_type
        if pa.types.is_timestamp(kind):
            return pa.timestamp("us", "UTC")
        return pa.list_(pa.field("element", kind.value_type)) if pa.types.is_list(kind) else kind

    return pa.schema([pa.field(field.name, of(field.type), metadata=field.metadata) for field in source])


def struct(target: "pyarrow.Schema") -> "StructType":
    """Return the same as Spark types, with meaning and unit as the column's comment."""
    types = library("pyspark.sql.types", "spark")
    pa = library("pyarrow", "spark")

    def of(kind: Any) -> "DataType":
        if pa.types.is_list(kind):
            return types.ArrayType(of(kind.value_type))
        if pa.types.is_map(kind):
            return types.MapType(of(kind.key_type), of(kind.item_type))
        return {
            pa.int64(): types.LongType,
            pa.int32(): types.IntegerType,
            pa.float64(): types.DoubleType,
            pa.bool_(): types.BooleanType,
            pa.string(): types.StringType,
            pa.binary(): types.BinaryType,
            pa.timestamp("us", "UTC"): types.TimestampType,
        }[kind]()

    fields = []
    for field in target:
        facts = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        comment = facts.get("description", "") + (f" [{facts['unit']}]" if facts.get("unit") else "")
        fields.append(types.StructField(field.name, of(field.type), True, {"comment": comment} if comment else None))
    return types.StructType(fields)


def conform(batches: "Iterable[pyarrow.RecordBatch]", target: "pyarrow.Schema") -> "Iterator[pyarrow.RecordBatch]":
    """Cast batches to the target's columns and types: Spark checks only the first batch."""
    pa = library("pyarrow", "spark")
    types = pa.schema([field.remove_metadata() for field in target])
    for batch in batches:
        yield from pa.Table.from_batches([batch]).select(target.names).cast(types).to_batches()


def _record_batches(tables: "Iterable[pyarrow.Table]") -> "Iterator[pyarrow.RecordBatch]":
    for table in tables:
        yield from table.to_batches()
