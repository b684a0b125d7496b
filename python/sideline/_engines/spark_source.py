"""The data source "sideline" of Spark 4. Spark imports it by `pyspark_sideline`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from .._rows import did_you_mean
from ..spark import arrow_schema, conform, refused_box_score, struct
from .plan import Part, Plan
from .planner import Selection, make_plan

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

    from ..archive import StoredPart

_OPTIONS = (
    "table",
    "start",
    "end",
    "team_ids",
    "game_ids",
    "session_ids",
    "plan",
    "parts",
    "tasks",
    "requests_per_second",
    "max_concurrency",
    "base_url",
    "archive",
)

_NOT_WITH_PLAN = ("start", "end", "team_ids", "game_ids", "session_ids", "base_url", "archive")

_SECRET_WORDS = ("secret", "api_key", "apikey", "password", "token", "credential")

_DEFAULT_PARTS = 8


class SidelineDataSource(DataSource):  # type: ignore[misc]
    """A table of a plan, read by the executors. See the documentation: Plans, scans and engines for its options."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `spark.read.format`."""
        return "sideline"

    def schema(self) -> "StructType":
        """Return the schema of the table, known without a request."""
        return struct(arrow_schema(_table(_check_options(self.options)), None))

    def reader(self, schema: "StructType") -> "SidelineReader":
        """Return a reader of the schema's columns."""
        options = _check_options(self.options)
        types = {field.name: field.dataType for field in struct(arrow_schema(_table(options), None))}
        for field in schema:
            if types.get(field.name) != field.dataType:
                own_type = types[field.name].simpleString() if field.name in types else "no such column"
                raise ValueError(
                    f"the given schema has {field.name} as {field.dataType.simpleString()}, and "
                    f"{_table(options)} has {own_type}: leave .schema(...) out, and cast or select afterwards"
                )
        return SidelineReader(options, [field.name for field in schema])


class Share(InputPartition):  # type: ignore[misc]
    """One part of the plan or of the archive, for one task."""

    def __init__(self, part: "Part | StoredPart") -> None:
        super().__init__(part)


# Without pushFilters: Spark shares a reader with its pushed filters, so other uses of the DataFrame would lack rows.
class SidelineReader(DataSourceReader):  # type: ignore[misc]
    """Plans in the driver, reads in the executors."""

    def __init__(self, options: Mapping[str, str], columns: list[str]) -> None:
        self._options, self._columns = dict(options), columns

    def partitions(self) -> "list[InputPartition]":
        """Request the lists of the service, or what the archive lacks, and return the parts of the rows."""
        options = self._options
        tasks, count = _positive_integer(options, "tasks"), _positive_integer(options, "parts") or _DEFAULT_PARTS
        if "archive" in options:
            return [Share(part) for part in _stored_parts(options, self._columns, count)]
        return [Share(part) for part in _plan(options, self._columns).split(count, tasks=tasks)]

    def read(self, partition: "InputPartition") -> "Iterator[pyarrow.RecordBatch]":
        """Yield the rows of a part. Raises `IncompleteError` if a unit is missing."""
        # For a plan without units, Spark reads a partition of None.
        part: Part | StoredPart | None = partition.value
        if part is not None:
            yield from conform(part.batches(), arrow_schema(part.table, self._columns))


def _check_options(raw: Mapping[str, str]) -> dict[str, str]:
    options = {name.lower(): value for name, value in raw.items()}
    for name in options:
        if any(word in name for word in _SECRET_WORDS):
            raise ValueError(
                f"{name} is not an option, because plans and event logs show options. Set the environment variable "
                f"SIDELINE_SECRET (and SIDELINE_USERNAME) of the driver and of every executor"
            )
        if name not in _OPTIONS and not name.startswith("__"):
            hint = did_you_mean(name, _OPTIONS)
            raise ValueError(f"there is no option {name}; there are {', '.join(_OPTIONS)}{hint}")
        if "plan" in options and name in _NOT_WITH_PLAN:
            raise ValueError(f"{name} and plan exclude each other: the plan has its range, ids and address: plan again")
    return options


def _table(options: Mapping[str, str]) -> Any:
    if "table" in options:
        return refused_box_score(options["table"])
    if "plan" in options:
        return refused_box_score(_stored_plan(options).table)
    raise ValueError('the option table is missing: .option("table", "stat_events")')


def _stored_plan(options: Mapping[str, str]) -> Plan:
    return Plan.from_json(Path(options["plan"]).read_text(encoding="utf-8"))


def _plan(options: Mapping[str, str], columns: list[str]) -> Plan:
    from dataclasses import replace

    if "plan" in options:
        plan = _stored_plan(options)
        if plan.table != _table(options):
            raise ValueError(f"the plan is of {plan.table}, but the option table is {options['table']}: leave it out")
        return replace(plan, columns=tuple(columns), service={**plan.service, **_limits(options)})
    from .._client import Client

    selection = Selection(
        _table(options),
        team_ids=_id_list(options, "team_ids"),
        game_ids=_id_list(options, "game_ids"),
        session_ids=_id_list(options, "session_ids"),
        start=_time(options, "start"),
        end=_time(options, "end"),
        columns=columns,
    )
    with Client(base_url=options.get("base_url"), **_limits(options)) as client:
        return make_plan(client, selection)


def _stored_parts(options: Mapping[str, str], columns: list[str], count: int) -> "list[StoredPart]":
    from .._client import Client
    from ..archive import Archive, PartScope, team_numbers

    teams = _id_list(options, "team_ids")
    scope = PartScope(
        team_ids=None if teams is None else team_numbers(teams),
        game_ids=_id_list(options, "game_ids"),
        session_ids=_id_list(options, "session_ids"),
        start=_time(options, "start"),
        end=_time(options, "end"),
    )
    with Client(base_url=options.get("base_url"), **_limits(options)) as client:
        archive = Archive(options["archive"], client)
        return archive._parts(_table(options), scope, columns, count)  # noqa: SLF001 - engines alone call it


def _limits(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the limits among the options."""
    text = options.get("requests_per_second")
    try:
        rate = None if text is None else float(text)
    except ValueError:
        raise ValueError(f"requests_per_second is {text!r}; it must be a number") from None
    limits = {"requests_per_second": rate, "max_concurrency": _positive_integer(options, "max_concurrency")}
    return {name: value for name, value in limits.items() if value is not None}


def _positive_integer(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError(f"{name} is {text!r}; it must be a whole number of at least 1")
    return int(text)


def _id_list(options: Mapping[str, str], name: str) -> list[str] | None:
    """Split ids separated by commas."""
    text = options.get(name)
    ids = None if text is None else [part.strip() for part in text.split(",") if part.strip()]
    if ids == []:
        raise ValueError(f"{name} is {text!r}, which names no id: name one, or leave the option out")
    return ids


def _time(options: Mapping[str, str], name: str) -> str | int | None:
    text = options.get(name)
    return int(text) if text is not None and text.isascii() and text.isdigit() else text
