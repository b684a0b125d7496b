"""Private members of public classes, for the other modules of this package.

They would be public API under a public name, so other modules reach them only through here (ruff: SLF).
"""

from typing import TYPE_CHECKING, Any

from .._core import CoreClient, Elements, Payload, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeVar

    from .._core import CoreBoxScore, CoreStream
    from .._engines import Plan, PlanUnit
    from ..archive import Archive, Store
    from ..batch import BaseBatch
    from ..errors import DecodeError, SidelineError
    from ..live import LiveBoxScore, LiveStream
    from .base import BaseClient
    from .client import Client
    from .types import Sport

    # Otherwise the bound is compiled, and the first `compile` of a process takes a millisecond.
    _C = TypeVar("_C", bound=BaseClient)

table_from_arrow = Table._from_arrow


def waits(client: object) -> bool | None:
    """Return whether a client's calls wait, without loading the classes; `None`: the value is no client."""
    return getattr(type(client), "_waits", None)


def waiting_client(client: "BaseClient") -> "Client":
    """Return a client whose calls wait, with the options of this one."""
    return client._waiting()


def core_of(client: "BaseClient") -> CoreClient:
    """Return a client's half in Rust."""
    return client._core


def keep_alive(client: "_C", service: object) -> "_C":
    """Return the client, which now refers to the service: it is not collected before the client."""
    client._service = service
    return client


def options_of(client: "BaseClient") -> "Mapping[str, Any]":
    """Return a client's resolved options."""
    return client._options


def units_of(batch: "BaseBatch") -> "Sequence[Any]":
    """Return how each unit of a batch ended."""
    return batch._units


def shape_of(batch: "BaseBatch") -> Any:
    """Return an empty payload of a batch's operation, or `None`."""
    return batch._shape


def mask_id(batch: "BaseBatch", text: str) -> str:
    """Return an id as the errors of a batch show it."""
    return core_of(batch._client).mask_id(text)


def planned_units(plan: "Plan") -> "tuple[PlanUnit, ...]":
    """Return the units of a plan."""
    return plan._units


def core_of_stream(stream: "LiveStream") -> "CoreStream":
    """Return a stream's half in Rust."""
    return stream._core


def core_of_score(score: "LiveBoxScore") -> "CoreBoxScore":
    """Return a live box score's half in Rust."""
    return score._core


def sport_of_score(score: "LiveBoxScore") -> "Sport":
    """Return a live box score's sport."""
    return score._sport


def jersey_numbers_of(score: "LiveBoxScore") -> "Mapping[int, str | None]":
    """Return the jersey number of each player of the rosters that a live box score has, by id."""
    return score._jersey_numbers


def game_of(stream: "LiveStream") -> str | None:
    """Return the id of a stream's game, if it is known."""
    return stream._game_id


def title_of(stream: "LiveStream") -> str:
    """Return what a stream shows as its name."""
    return stream._title


def is_entered(stream: "LiveStream") -> bool:
    """Return whether a `with` block will close the stream."""
    return stream._life.is_entered


def set_page(stream: "LiveStream", *, has_page: bool) -> None:
    """Record whether a page reads a stream, which then has no other reader."""
    stream._life.has_page = has_page


def size_of(payload: Payload) -> int:
    """Return the bytes of a body, without copying it."""
    return payload._size


def elements_of(payload: Payload, name: str | None) -> Elements | None:
    """Return the bytes of each element of a list of a body, without a name of the body itself; `None` without list."""
    return payload._elements(name)


def sport_of(payload: Payload) -> "Sport":
    """Return the sport whose columns a payload's box score has."""
    return payload._sport


def drift_of(payload: Payload) -> list[tuple[str, str | None, int, bool]]:
    """Return path, JSON type and count of each unknown field, and whether the client found it first."""
    return payload._drift_fields


def refusal_of(payload: Payload) -> "DecodeError | None":
    """Return the error that a strict client raises for the payload."""
    return payload._refusal()


def finding_of(error: "SidelineError") -> str:
    """Return what happened, without the advice."""
    return error._found


def take_rows(table: Table, places: "Sequence[int]") -> Table:
    """Return some rows of a table."""
    return table._take(places)


def in_zone(table: Table, zone: str) -> Table:
    """Return a table with its timestamps in another time zone."""
    return table._in_zone(zone)


def with_texts(table: Table, columns: "Sequence[tuple[str, str, list[Any], bool]]") -> Table:
    """Return a table with more columns of strings."""
    return table._with_texts(columns)


def store_of(archive: "Archive") -> "Store":
    """Return the location of an archive."""
    return archive._store


def check_sync(archive: "Archive", *arguments: Any) -> None:
    """Raise for invalid arguments of a sync, before anything is written."""
    archive._check_sync(*arguments)
