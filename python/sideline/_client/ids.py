"""Ids as people pass them: one, several in a container, or a table, payload or batch that has a column of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .._core import Payload, Table, _arrow_ids, _ids
from .._rows import shorten
from ..batch import BaseBatch, Query
from .timeout import Timeout, call_limits
from .types import Duration, TableName


class IdColumns(NamedTuple):
    """The distinct ids of a table, and the game of each session."""

    ids: list[Any]
    games: list[Any] | None


def id_columns(name: str, value: object) -> IdColumns | None:
    """Return the ids of a payload, batch or table that has a column of them; `None` for any other value."""
    if not isinstance(value, (Payload, BaseBatch, Table)):
        return None
    table_name: TableName | None = None
    if isinstance(value, Table):
        names = value.column_names
    else:
        from .._rows import SCHEMAS

        table_name = next((table for table in value.tables if name in SCHEMAS[table].names), None)
        names = (
            []
            if table_name is None
            else [column for column in dict.fromkeys((name, "game_id")) if column in SCHEMAS[table_name].names]
        )
    if name not in names:
        kind = type(value).__name__
        hint = ""
        if name == "session_id" and isinstance(value, (Payload, BaseBatch)) and value.operation == "schedule":
            hint = ". A schedule has games: client.game(schedule) requests their sessions, and can be passed here"
        raise TypeError(
            f"{name} is one id, a list or column of ids, or a table with a column {name}: this {kind} has none{hint}"
        )
    table = value if isinstance(value, Table) else value.table(table_name, columns=names)
    # By column: a large table as dicts would need many times its memory.
    ids = table[name]
    games: dict[Any, Any] = {}
    for unit, game in zip(ids, table["game_id"] if "game_id" in names else [None] * len(ids), strict=True):
        games[unit] = games.get(unit) or game
    has_games = name == "session_id" and "game_id" in names
    return IdColumns(list(games), list(games.values()) if has_games else None)


def one_id(name: str, value: Any, argument: str | None = None) -> Any:
    """Return the only id of a payload, batch or table with a column of them; any other value unchanged.

    `argument`: what errors call it, if that is not its name.

    Raises `ValueError` if it has none or several.
    """
    if value is None or isinstance(value, (str, int)) or not name.endswith("_id"):
        return value
    if (columns := id_columns(name, value)) is None:
        return value
    ids, kind = columns.ids, type(value).__name__
    if not ids:
        raise ValueError(f"{argument or name} takes one id, and this {kind} has no row: nothing was found")
    if len(ids) > 1:
        raise ValueError(f"{argument or name} takes one id, and this {kind} has {len(ids)}: pass one of {ids[:10]}")
    return ids[0]


def only_id(method: str, name: str, value: Any) -> Any:
    """As `one_id`; raises `TypeError` for a list too."""
    only = one_id(name, value)
    if many(name, only) is not None:
        kind = type(value).__name__
        raise TypeError(f"{name} is one id, not {kind}: call client.{method} once for each of its ids")
    return only


def plain_arguments(operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a request, with ids instead of tables. Raises `ValueError` for a team's name."""
    reference = arguments.get("reference")
    _check_teams(operation, [arguments.get("team_id")], reference)
    plain = {name: one_id(name, value) for name, value in arguments.items()}
    if "team_ids" in plain:
        teams = several("team_ids", plain["team_ids"])
        plain["team_ids"] = plain["team_ids"] if teams is None else teams
        _check_teams(operation, [plain["team_ids"]] if teams is None else teams, reference)
    return plain


def _check_teams(operation: str, teams: Iterable[object], reference: object) -> None:
    """Raise `ValueError` for the name of a team: the service would respond with no games, a 404 or a 500.

    Ids of another system, which `reference` names, may be words. Without it a roster may be requested by such an id
    too, which is no name if it has a digit or a sign.
    """
    if reference not in (None, "SHOTTRACKER"):
        return
    for team in teams:
        if not isinstance(team, str) or team.strip().isdecimal():
            continue
        if operation != "roster" or team.replace(" ", "").isalpha():
            text = repr(shorten(team, 80))
            raise ValueError(f"team_id is {text}, and it must be a number: client.find_team({text}) finds it")


def many(name: str, value: object) -> list[int | str] | None:
    """Return the ids of an ordered container; `None`: it is one id, or no container."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        # Python reads them as numbers.
        kind = type(value).__name__
        raise TypeError(f"{name} is an id (int, str or UUID) or several in a list, not {kind}: decode it to str")
    if isinstance(value, (str, int)):
        return None
    if hasattr(value, "collect"):
        kind = type(value).__name__
        text = f"{name} is one id or several in a list or a column, not a {kind}: write .collect() and name a column"
        raise TypeError(text)
    if not hasattr(value, "__iter__"):
        arrow = _arrow_ids(name, value)
        return None if arrow is None else _ids(name, arrow)
    if isinstance(value, (set, frozenset)):
        raise TypeError(f"{name} is a {type(value).__name__}, which has no order: write sorted({name})")
    if isinstance(value, Mapping) or hasattr(value, "columns"):
        kind = type(value).__name__
        text = f"{name} is one id or several in a list or a column, not a {kind}: name a column, such as [{name!r}]"
        raise TypeError(text)
    if getattr(value, "ndim", 1) == 0:
        # NumPy's array of no dimension is one value.
        return None
    to_pylist = getattr(value, "to_pylist", None)
    values: Iterable[Any] = value if to_pylist is None else to_pylist()
    return _ids(name, list(values))


def several(name: str, value: object) -> list[int | str] | None:
    """Return the ids of an argument such as `team_ids`: a container, or a table with a column `team_id`."""
    columns = id_columns(name.removesuffix("s"), value)
    return many(name, value) if columns is None else _ids(name, columns.ids)


def query(operation: str, arguments: Mapping[str, Any], timeout: Timeout | Duration | None) -> Query | None:
    """Return the query of a call with many ids as its first argument; `None`: it is one id."""
    (name, value), *others = arguments.items()
    if value is None or isinstance(value, (str, int)):
        return None
    columns = id_columns(name, value)
    ids, games = (many(name, value), None) if columns is None else (_ids(name, columns.ids), columns.games)
    if ids is None:
        return None
    rest = dict(others)
    _check_teams(operation, [*(ids if name == "team_id" else ()), rest.get("team_id")], rest.get("reference"))
    if name == "session_id" and (of_user := rest.get("game_id")) is not None:
        games = _games(of_user, len(ids))
        if games is not None:
            rest["game_id"] = None
    # An iterator is read now, so that a retry sends the same.
    options = {
        name: list(argument) if isinstance(argument, Iterator) else one_id(name, argument)
        for name, argument in rest.items()
    }
    return Query(operation, name, ids, options, call_limits(timeout), games)


def _games(value: object, count: int) -> list[Any] | None:
    """Return the game of each of `count` ids; `None`: one for all."""
    columns = id_columns("game_id", value)
    games = many("game_id", value) if columns is None else columns.ids
    if games is not None and len(games) != count:
        raise ValueError(f"game_id has {len(games)} ids for {count} sessions: give one for all, or one for each")
    return games
