"""The Rust core, as type checkers see it."""

from collections.abc import Awaitable, Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from datetime import datetime, timedelta
from logging import Logger
from os import PathLike
from typing import Any, Literal, Self, SupportsIndex, TypeAlias, final
from uuid import UUID

import pandas
import polars
import pyarrow
from typing_extensions import disjoint_base

from sideline._client import Environment, Operation, Sport, TableName
from sideline.errors import DecodeError

__version__: str

_Limits: TypeAlias = tuple[float | None, float | None, float]

@final
class CoreClient:
    """The settings of a client, and its connections in this process."""
    def __new__(cls, options: Mapping[str, object]) -> CoreClient: ...
    def call_sync(self, operation: str, arguments: dict[str, Any], timeout: _Limits | None) -> Payload: ...
    async def call_async(self, operation: str, arguments: dict[str, Any], timeout: _Limits | None) -> Payload: ...
    def token_sync(self, game_id: object, timeout: _Limits | None) -> str: ...
    async def token_async(self, game_id: object, timeout: _Limits | None) -> str: ...
    def settings(self) -> list[tuple[str, str | None, str]]:
        """Return the name, value without secrets, and source of each setting."""
    def proxy(self) -> tuple[str, str] | None:
        """Return the proxy of requests to the REST API, and the setting or variable that names it."""
    def mask_id(self, text: str) -> str:
        """Return an id as errors show it: short, without the client's secrets and without control characters."""
    def string_to_sign(self) -> str:
        """Return the string to sign of a request for the teams, at this moment."""
    def check_credentials(self, *, broadcast: bool = False) -> None:
        """Raise the error of the first signed request (or the first of the Broadcast API) if a credential is missing or
        the client is closed.
        """
    def probe_sync(self, timeout: _Limits | None) -> dict[str, Any]: ...
    async def probe_async(self, timeout: _Limits | None) -> dict[str, Any]: ...
    def drift(self) -> Table:
        """Return the table `drift`."""
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def base_url(self) -> str: ...
    @property
    def headers(self) -> list[tuple[str, str | None]]:
        """Return the names and values of `headers=`; `None` for a credential."""
    @property
    def username(self) -> str | None: ...
    @property
    def environment(self) -> Environment: ...
    @property
    def sport(self) -> Sport: ...

@final
class CoreProgress:
    """The progress of a running batch."""
    def __new__(cls) -> CoreProgress: ...
    @property
    def done(self) -> int: ...
    @property
    def rows(self) -> int: ...

@final
class CoreUnits:
    """The outcome of each unit of a batch. Python objects are made on first access: making a row and a payload for each
    unit takes a tenth of a small request, while no socket is served.
    """
    @property
    def plain(self) -> bool:
        """Whether every unit has a response without unknown fields, so that none needs a closer look."""
    def to_list(self) -> list[tuple[Payload | None, Exception | None, CoverageRow]]:
        """Return for each unit its response, its error, and its row of `coverage`."""

@final
class CoverageRow:
    """The row of `coverage` of one unit."""
    def __new__(cls, state: str) -> CoverageRow: ...
    def __getnewargs__(self) -> tuple[str]: ...
    @property
    def status(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def attempts(self) -> int: ...
    def with_status(self, status: str) -> CoverageRow:
        """Return the same row with another status."""

@final
class CoreSimulator:
    """The core of `sideline.Simulator`."""
    def __new__(
        cls,
        *,
        seed: int,
        sport: str,
        teams: int,
        games: int,
        now: object,
        port: int,
        location_rate: int,
        noise_m: float,
        dropout: float,
        clock_offset_s: float,
        wrong_defenders: float,
        bench_tags: bool,
        recording: tuple[
            list[tuple[str, list[tuple[str, str]], int, bytes]], list[tuple[str, str, list[tuple[int, bytes]]]]
        ]
        | None,
    ) -> CoreSimulator: ...
    @property
    def base_url(self) -> str: ...
    @property
    def websocket_url(self) -> str: ...
    @property
    def broadcast_base_url(self) -> str: ...
    @property
    def username(self) -> str: ...
    @property
    def secret(self) -> str: ...
    @property
    def api_key(self) -> str: ...
    def teams(self) -> list[dict[str, Any]]: ...
    def games(self) -> list[dict[str, Any]]: ...
    def requests(self) -> list[dict[str, Any]]:
        """Return the request log: a dict for each request that got a response or was cut."""
    def add_fault(self, options: dict[str, object]) -> None:
        """Add a fault; `options` are the arguments of `faults.add`, by name."""
    def unused_faults(self) -> list[int]:
        """Return the positions of the faults that no request met."""
    def clear_faults(self) -> None: ...
    heartbeat: float
    with_ids: bool
    def play(self, game_id: object, speed: float | None) -> None:
        """Play a game; with `None` for `speed`, at the pace of the readers."""
    def correct(self, game_id: object, player_id: int, stat: str, delta: int) -> None: ...
    def revoke_tokens(self, token: str | None) -> None: ...
    def add_stall(
        self, path: str, *, after: int, times: int | None, seconds: float | None, heartbeats: bool
    ) -> None: ...
    def add_bytes(self, path: str, *, after: int, times: int | None, data: bytes) -> None: ...
    def add_slowness(self, path: str, *, times: int | None, bytes_per_second: int) -> None: ...
    def unused_stream_faults(self) -> list[int]:
        """Return the positions of the faults that no stream met."""
    def clear_stream_faults(self) -> None: ...
    def cut_streams(self, reset: bool) -> None: ...
    def add_credentials(
        self, username: str, secret: str, stats: bool, shots: bool, restricted_teams: Sequence[int]
    ) -> None: ...
    def close(self) -> None: ...

@final
class Elements(Iterator[bytes]):
    """The elements of a list of a body, as iterator over their bytes."""

    def __len__(self) -> int: ...
    def __next__(self) -> bytes: ...

@final
class Payload:
    """One response of the service: `to_dict()` loses nothing, `table()` and `to_*()` have fixed, typed columns.

    It is read as the body's dict is: by key, `len`, iteration.

    >>> stats = client.stats(session_id)
    >>> stats.status, stats.tables
    (200, ['player_stats', 'box_score'])
    >>> len(stats["teams"])
    2
    """
    @classmethod
    def from_bytes(
        cls,
        operation: Operation,
        raw: bytes | bytearray | memoryview,
        *,
        session_id: str | int | UUID | None = None,
        game_id: str | int | UUID | None = None,
        team_id: int | str | None = None,
        sport: str = "basketball",
    ) -> Payload:
        """Make a payload from a body in a file: ``Payload.from_bytes("stats", raw, session_id="...")``.

        The ids are those of the request, which the body does not repeat. Neither does a body of stats show its sport,
        which decides the columns of `box_score`. Raises `ValueError` for an unknown operation or sport.

        >>> teams = sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 7, "name": "Comets"}]}')
        >>> teams.table(columns=["team_id", "name"]).to_dicts()
        [{'team_id': 7, 'name': 'Comets'}]
        """
    def to_dict(self) -> Any:
        """Return the JSON as Python objects, with nothing dropped; a new object at each call.

        >>> client.teams().to_dict()["teams"][0]["sport"]
        'BASKETBALL'
        """
    @property
    def raw(self) -> bytes:
        """The bytes of the body."""
    def _elements(self, name: str | None) -> Elements | None:
        """Return the elements of a list of the body, each as its bytes, or `None` if it has none of this name.

        Without a name they are the elements of the body itself, or the body if it is an object. The whole body is checked
        first, and no element is converted: a long list takes no more memory than its bytes.
        """
    @property
    def _size(self) -> int:
        """Number of bytes received, in all responses; merges nothing."""
    @property
    def _drift_fields(self) -> list[tuple[str, str | None, int, bool]]:
        """The unknown fields found on arrival: path, JSON type, byte offset, and whether they are new to the client."""
    def _refusal(self) -> DecodeError | None:
        """Return the exception that `strict=True` raises; `None` without unknown fields."""
    def table(
        self,
        name: TableName | None = None,
        columns: Sequence[str] | None = None,
        names: bool = False,
        tz: str | None = None,
    ) -> Table:
        """Return one table of the body, by default the first. `columns` limits and orders the columns.

        With `tz`, such as "America/New_York", timestamps are shown in that zone; the instants stay.

        With `names=True` each column of ids is followed, at the end of the table, by one of names: `team_name`,
        `player_name`, or of lists of ids `player_names`. They are those of the same body; where it has none they are null.
        Raises `DecodeError` where the body does not fit, `ValueError` where there is no such table or column.

        >>> client.stats(session_id).table("box_score", columns=["team_id", "player_id", "PTS"]).column_names
        ['team_id', 'player_id', 'PTS']

        >>> client.shots(session_id).table(columns=["player_id", "points"], names=True).column_names
        ['player_id', 'points', 'player_name']
        """
    def all_tables(self) -> dict[TableName, Table]:
        """Return every table of the body by name, the default first: like `table(name)` for each, but in one pass.

        Raises `DecodeError` where one of them does not fit; `table(name)` still returns the others.

        >>> tables = client.possessions(session_id).all_tables()
        >>> list(tables)
        ['possessions', 'possession_events', 'possession_players']
        """
    def to_arrow(self, name: TableName | None = None, columns: Sequence[str] | None = None) -> pyarrow.Table:
        """Return a `pyarrow.Table`, like ``table(name, columns).to_arrow()``.

        >>> client.teams().to_arrow().schema.field("team_id").type
        DataType(int64)
        """
    def to_polars(self, name: TableName | None = None, columns: Sequence[str] | None = None) -> polars.DataFrame:
        """Return a `polars.DataFrame`, like ``table(name, columns).to_polars()``.

        >>> client.teams().to_polars()["team_id"].is_unique().all()
        True
        """
    def to_pandas(self, name: TableName | None = None, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """Return a `pandas.DataFrame`, like ``table(name, columns).to_pandas()``.

        >>> client.teams().to_pandas().team_id.is_unique
        True
        """
    @property
    def tables(self) -> list[TableName]:
        """The names of the tables in this body, the default first."""
    def unknown_fields(self) -> list[str]:
        """Return the paths of the unknown fields in the body: fields that the service added or renamed.

        >>> sideline.Payload.from_bytes("teams", b'{"teams": [{"id": 7, "mascot": "owl"}]}').unknown_fields()
        ['teams[].mascot']
        """
    @property
    def parts(self) -> list[Payload]:
        """The single responses if several were merged, else this one alone."""
    @property
    def operation(self) -> str:
        """The operation that returned the payload."""
    @property
    def _sport(self) -> Literal["basketball", "football"]:
        """The sport whose columns `box_score` has."""
    @property
    def status(self) -> int | None:
        """The HTTP status; `None` for a body from a file. For merged responses this and the following are those of the
        first one.
        """
    @property
    def headers(self) -> Mapping[str, str]:
        """The response headers: a mapping with case-insensitive names. A repeated header has its values joined by `, `;
        `request_id` is the first one that is not empty.
        """
    @property
    def request_id(self) -> str | None:
        """The service's request id, if any."""
    @property
    def url(self) -> str | None:
        """The URL that responded, without secrets."""
    @property
    def elapsed(self) -> timedelta | None:
        """Time from the start of the first attempt to the last byte: a `datetime.timedelta`."""
    @property
    def fetched_at(self) -> datetime | None:
        """Time of the complete response: an aware `datetime.datetime`."""
    def __getitem__(self, key: Any, /) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __bool__(self) -> bool: ...
    def keys(self) -> KeysView[str]:
        """Return the keys of `to_dict()`."""
    def values(self) -> ValuesView[Any]:
        """Return the values of `to_dict()`."""
    def items(self) -> ItemsView[str, Any]:
        """Return the items of `to_dict()`."""
    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key of `to_dict()`, or the default.

        >>> client.teams().get("no such key", "nothing")
        'nothing'
        """
    def _repr_html_(self) -> str: ...

@disjoint_base
class Table:
    """A named Arrow table. pyarrow, polars, DuckDB and others read it without conversion: ``pl.DataFrame(table)``,
    ``pa.table(table)``, ``duckdb.sql("from table")``.

    >>> table = client.stats(session_id).table("box_score")
    >>> import polars as pl
    >>> pl.DataFrame(table).height == table.num_rows == len(table)
    True
    """
    def __new__(cls, name: str, data: object) -> Self: ...
    @staticmethod
    def from_arrow(data: object, name: str | None = None) -> Table:
        """Make a `Table` from pyarrow, polars, pandas, DuckDB, or any object with `__arrow_c_stream__`.

        Raises `TypeError` for anything else, and for a column of a type that has no Python form (a union, runs);
        `ValueError` for two columns of one name, and for a time zone that Python does not know.

        >>> import pyarrow as pa
        >>> sideline.Table.from_arrow(pa.table({"team_id": [7]}), "teams").to_dicts()
        [{'team_id': 7}]
        """
    @staticmethod
    def _from_arrow(name: str, data: object) -> Table:
        """Make a table with a name from any Arrow table."""
    @staticmethod
    def _restore(name: str, state: object) -> Table: ...
    @property
    def name(self) -> str:
        """The table's name, as in `sideline.SCHEMAS`."""
    @property
    def num_rows(self) -> int:
        """The number of rows."""
    @property
    def column_names(self) -> list[str]:
        """The column names, in order."""
    @property
    def schema(self) -> Schema:
        """Names, types, units and descriptions of the columns."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def to_arrow(self, columns: Sequence[str] | None = None) -> pyarrow.Table:
        """Return a `pyarrow.Table` of all or of the named columns.

        >>> client.teams().table().to_arrow().column_names[:2]
        ['team_id', 'name']
        """
    def to_polars(self, columns: Sequence[str] | None = None) -> polars.DataFrame:
        """Return a `polars.DataFrame` of all or of the named columns; needs no pyarrow.

        >>> client.teams().table().to_polars(["team_id"]).dtypes
        [Int64]
        """
    def to_pandas(self, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """Return a `pandas.DataFrame` with categoricals, aware times, and nullable types for columns that may be null.

        >>> client.teams().table(columns=["sport"]).to_pandas().sport.dtype.name
        'category'
        """
    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write a Parquet file, with pyarrow or, without it, with polars.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     client.teams().table().to_parquet(f"{folder}/teams.parquet")
        """
    def to_csv(
        self, path: str | PathLike[str], *, formulas: Literal["keep", "escape"] = "keep", bom: bool = False
    ) -> None:
        """Write a CSV file with a header, in UTF-8; needs no library. Times are ISO 8601, lists and maps JSON, null is
        empty, bytes base64, durations ISO 8601. "-" is standard output.

        A spreadsheet takes a name such as "=cmd" for a formula: for one, pass `formulas="escape"`, which puts an
        apostrophe before texts that begin with =, +, -, @, a tab or a carriage return. Excel reads accents only with
        `bom=True`, which begins the file with a byte order mark.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     client.teams().table().to_csv(f"{folder}/teams.csv")
        """
    def __getitem__(self, column: str, /) -> list[Any]: ...
    def _select(self, columns: Sequence[str] | None) -> Table:
        """Return some columns, in the order named."""
    def _take(self, places: Sequence[int]) -> Table:
        """Return the rows at these positions, in this order."""
    def _in_zone(self, zone: str) -> Table:
        """Return the table with its timestamps in another time zone: the instants stay."""
    def _with_texts(self, columns: Sequence[tuple[str, str, list[Any], bool]]) -> Table:
        """Add columns of texts or lists of texts: name, description, a value for each row."""
    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a list with a dict for each row; times are aware datetimes. Needs no library.

        A time before the year 1 or after 9999, or with a part of a microsecond, which no datetime can hold, is a text:
        as ISO 8601 writes it, or ``<out of range>`` beyond that. `to_arrow()` keeps it unchanged,
        `to_polars()` as far as polars can show it: beyond 260,000 years it is null. An interval, whose months have no
        fixed length, is a text too.

        >>> client.teams().table(columns=["gender", "sport"]).to_dicts()[0]
        {'gender': 'MEN', 'sport': 'BASKETBALL'}
        """
    def head(self, rows: int = 5) -> Table:
        """Return the first rows.

        >>> client.teams().table().head(2).num_rows
        2
        """
    def __copy__(self) -> Table: ...
    def __deepcopy__(self, _memo: object, /) -> Table: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def _repr_html_(self) -> str: ...

@final
class Schema:
    """The columns of a table: a sequence of `Field`, also by name.

    >>> sideline.SCHEMAS["teams"].names[:3]
    ['team_id', 'name', 'gender']
    >>> sideline.SCHEMAS["shots"]["distance_cm"].unit
    'cm'
    """
    @property
    def name(self) -> str:
        """The name of the table."""
    @property
    def names(self) -> list[str]:
        """The column names, in order."""
    @property
    def fields(self) -> list[Field]:
        """The columns, in order."""
    @property
    def description(self) -> str | None:
        """The meaning of a row."""
    def __arrow_c_schema__(self) -> object: ...
    def to_arrow(self) -> pyarrow.Schema:
        """Return a `pyarrow.Schema`, with unit and description in the metadata of its fields.

        >>> sideline.SCHEMAS["locations"].to_arrow().field("x").metadata[b"unit"]
        b'mm'
        """
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Field]: ...
    def __contains__(self, key: str, /) -> bool: ...
    def __getitem__(self, key: str | SupportsIndex, /) -> Field: ...
    def _repr_html_(self) -> str: ...

@final
class Field:
    """One column of a schema.

    >>> x = sideline.SCHEMAS["locations"]["x"]
    >>> x.type, x.nullable, x.unit, x.frame
    ('double', True, 'mm', 'court')
    """
    @property
    def name(self) -> str:
        """The column's name."""
    @property
    def type(self) -> str:
        """The Arrow type, as pyarrow writes it."""
    @property
    def nullable(self) -> bool:
        """Whether the column may be null."""
    @property
    def unit(self) -> str | None:
        """The unit, such as `cm` or `s`, if any."""
    @property
    def frame(self) -> str | None:
        """For a coordinate, ``court`` or ``hoop``, as `sideline.court` describes them; else `None`."""
    @property
    def description(self) -> str | None:
        """The description of the column."""

@final
class CoreStream:
    """A live stream. It belongs to one process: a forked child has neither its thread nor its socket."""
    def open(self) -> None:
        """Connect; only the first call has an effect."""
    def take(self) -> Any:
        """Return the next item if there is one, else `None`; see `has_ended`."""
    def next(self) -> Any:
        """Wait for the next item; `None` at the end. Ctrl-C ends the wait."""
    def next_within(self, seconds: float) -> Any:
        """Wait for the next item for at most `seconds`; `None` if it does not come."""
    def wait(self) -> Awaitable[None]:
        """Complete when there is an item. The call takes no item, so cancelling it loses none."""
    def take_in_turn(self) -> Any:
        """Return the next item like `take`, but `None` if the event loop is due for a turn; see `is_turn_due`."""
    @property
    def is_turn_due(self) -> bool:
        """Whether items were taken for so long that other tasks of the event loop should run."""
    def begin_turn(self) -> None:
        """Record that the event loop had its turn."""
    def push_start_gap(self) -> bool:
        """Push a gap that ends now; returns whether what happened before is requested."""
    def record(self, path: str | PathLike[str], sync_every: float | None) -> None:
        """Append all later items to a journal."""
    def close(self) -> None:
        """Close the stream; raises if the last items of a journal could not be written."""
    @property
    def has_ended(self) -> bool:
        """Whether the stream has ended and all items were taken."""
    @property
    def state(self) -> Literal["new", "connecting", "connected", "waiting", "closed"]: ...
    @property
    def last(self) -> datetime | None:
        """Time of receipt of the newest update: an aware `datetime.datetime`."""
    @property
    def stats(self) -> dict[str, Any]:
        """The counters of `sideline.live.StreamStats`."""
    def count_unreadable(self, rows: int) -> None:
        """Count rows that a display could not read."""
    def items_table(self, items: Sequence[object], name: str) -> Table:
        """Return items of the stream as a table: `live_items` or `stat_updates`. A row that is unreadable is left out, counted, and
        logged once.
        """

@final
class Update:
    """One message of a live stream, as received: `to_dict()`, `text`, `raw`.

    >>> with client.live_stats(live_game_id, notices=False) as stream:
    ...     update = next(stream)
    >>> update.event, len(update.raw) == len(update.text.encode()), update.received_at.tzinfo is not None
    ('message', True, True)
    """
    def to_dict(self) -> Any:
        """Return the JSON as Python objects, with nothing dropped; a new object at each call.

        Raises `DecodeError` if the message is not JSON; `text` returns it unparsed.

        >>> with client.live_stats(live_game_id, notices=False) as stream:
        ...     next(stream).to_dict()["schedule_id"] == live_game_id
        True
        """
    @property
    def text(self) -> str:
        """The message as text; invalid UTF-8 is replaced, and only `raw` has the original bytes."""
    @property
    def raw(self) -> bytes:
        """The message as received, in bytes."""
    @property
    def event(self) -> str:
        """The event type; "message" if the service sends none."""
    @property
    def id(self) -> str | None:
        """The last event id; `None` if the stream has none."""
    @property
    def seq(self) -> int | None:
        """The sequence number of a websocket message."""
    @property
    def source(self) -> str | None:
        """The source of a websocket message."""
    @property
    def received_at(self) -> datetime:
        """Time of receipt: an aware `datetime.datetime`."""

@final
class CoreBoxScore:
    """A box score maintained from updates."""
    def __new__(cls, sport: str) -> CoreBoxScore: ...
    def feed(self, item: object) -> bool:
        """Apply an item of a stream; returns whether the box score changed."""
    def seed(self, raw: bytes) -> None: ...
    def name_player(self, player_id: int, first: str | None, last: str | None) -> None:
        """Name a player whose messages have no name."""
    def table(self) -> Table: ...
    def leaders(self, stat: str, count: int) -> Table: ...
    @property
    def ignored(self) -> int: ...
    @property
    def unreadable(self) -> int: ...
    @property
    def problems(self) -> list[tuple[datetime, str, str]]:
        """Time of receipt, path and reason of the last rows that were left out."""
    def is_stale(self, delay_s: float = 0.0) -> bool:
        """Return whether values may be missing, of a box score whose items are applied this many seconds late."""
    @property
    def updated_at(self) -> datetime | None: ...

@final
class CoreTracking:
    """The sessions of a `Tracking`, and its shots."""
    def __new__(
        cls,
        locations: Sequence[object],
        shots: Sequence[object],
        stat_events: Sequence[object],
        possessions: Sequence[object],
        court: tuple[float, float, tuple[float, float] | None],
    ) -> CoreTracking: ...
    def sessions(self) -> list[tuple[str | None, str | None, float | None, float | None, bool]]: ...
    @property
    def shots(self) -> int: ...
    def frames(self, rate: float | None, is_exact: bool) -> Table: ...
    def opponents(self, rate: float | None) -> Table: ...
    def defenders(self, rows: Sequence[object] | None, shift_s: float) -> Table:
        """Move the time of each row by `shift_s`."""
    def matchups(self) -> Table: ...
    def shot_quality(self, by: Sequence[str]) -> Table: ...
    def touches(self) -> Table:
        """Raise `ValueError` where a session has no ball, or a low rate."""
    def passes(self) -> Table:
        """Raise `ValueError` where a session has no ball, or a low rate."""
    def spacing(self, by_frame: bool) -> Table: ...
    def loads(self, by: Sequence[str], bands: Sequence[float]) -> Table: ...
    def coverage(self) -> Table: ...
    def window(
        self, session: tuple[str | None, str | None], time: tuple[int, bool], around_ms: tuple[int, int]
    ) -> CoreTracking | None:
        """Return the part of a session around a time, with its offset; `None` if there is no such session."""

@final
class _Templates:
    def __new__(cls, folder: PathLike[str]) -> _Templates: ...
    def render(self, name: str, values: dict[str, Any]) -> str:
        """Render a template with a dict of texts, numbers, lists and dicts."""

def _certificate(der: bytes) -> tuple[str, int] | None:
    """Return issuer and expiry (epoch seconds) of a DER certificate; `None` if the bytes are not a certificate."""

def _arrow_ids(name: str, data: object) -> list[int | str | None] | None:
    """Return the ids of an Arrow array, from any library; `None` if the object has no Arrow data."""

def _check_range(start: object, end: object) -> None:
    """Raise `ValueError` for a range that is swapped, empty or outside the years 1990 to 2100."""

def _epoch_ms(name: str, time: object) -> int:
    """Return a time in epoch milliseconds; accepts the same values as operations."""

def _ids(name: str, values: Sequence[object]) -> list[int | str]:
    """Return ids as plain integers and texts. Any other id is kept unchanged if it is hashable, else converted to text; it
    fails only its own unit.
    """

def _batch_sync(
    client: CoreClient,
    arguments: tuple[str, str, Sequence[object], dict[str, Any], _Limits | None, Sequence[object] | None],
    strict: bool,
    progress: CoreProgress,
    tick: Callable[[], object] | None,
) -> tuple[Payload, CoreUnits]:
    """Wait for all units. `tick` is called about twenty times a second, and an exception in it ends the call."""

def _batch_async(
    client: CoreClient,
    arguments: tuple[str, str, Sequence[object], dict[str, Any], _Limits | None, Sequence[object] | None],
    strict: bool,
    progress: CoreProgress,
) -> Awaitable[tuple[Payload, CoreUnits]]: ...
def _contents(payload: Payload) -> list[tuple[TableName, int, list[str], bool]]:
    """Return for each table of a body its name, its number of rows, its extra columns, and whether `datetime` has each of its times.

    Raises the errors of `all_tables`.
    """

def _batch_table(shape: Payload, payloads: Sequence[Payload], name: str | None, columns: Sequence[str] | None) -> Table:
    """Return one table over many payloads; `shape` gives the schema if there are none."""

def _coverage_table(rows: Sequence[CoverageRow]) -> Table:
    """Return the table `coverage` with these rows."""

def _live(client: CoreClient, fields: dict[str, Any], options: dict[str, Any]) -> CoreStream:
    """Create a stream without connecting. `what` are the parameters of `live` that select the updates, `options` the
    others.
    """

def _event_stream(client: CoreClient, name: str, arguments: dict[str, Any], options: dict[str, Any]) -> CoreStream:
    """Create the event stream of this name without connecting. `options` are the parameters of `live_stats`."""

def _fault_options() -> list[tuple[str, str, str, str]]:
    """Return every option as name, type and default in Python, and meaning; in order."""

def _logger() -> Logger:
    """Return the logger of the Python side. It is set up like that of records once there is a client."""

def _operations() -> list[dict[str, Any]]:
    """Return every operation that is a method of the clients, in order."""

def _own_table(name: str, json: bytes, sport: Sport = "basketball") -> Table:
    """Return a table of the package's own, from rows as a JSON array."""

def _replay(path: str | PathLike[str], speed: float | None, max_pause: float, options: dict[str, Any]) -> CoreStream:
    """Open a journal as a stream and read its beginning. `options` are the parameters of `replay`."""

def _schemas(sport: str) -> dict[str, Schema]:
    """Return the schemas of all tables of a sport, by name."""

def _shutdown() -> None:
    """Stop the threads; registered with `atexit`. Otherwise a thread that attaches during the exit can crash the process."""
