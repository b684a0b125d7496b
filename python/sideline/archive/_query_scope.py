"""Reads from the syntax tree of a query which tables it names, and to which games it narrows them."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any

from ._plan import ANSWERS, TABLES
from ._schemas import internal_schemas

if TYPE_CHECKING:
    import duckdb

Node = dict[str, Any]
Scope = Mapping[str, Set[str] | None]
"""For each table that a query names the ids of its games; `None`: all of its rows."""

_DYNAMIC_FUNCTIONS = {"query", "query_table"}
"""Functions that read tables by computed names."""

_FILTERS = {"SEMI", "ANTI"}
"""Joins of which only the left side has columns."""


def read_scope(connection: "duckdb.DuckDBPyConnection", query: str) -> Scope:
    """Return the scope of one `select`. A table is narrowed only where the tree proves it."""
    names = (*TABLES, *ANSWERS, *internal_schemas())
    scope: dict[str, Set[str] | None] = {}
    try:
        [(text,)] = connection.execute("select json_serialize_sql(?)", [query]).fetchall()
        tree = json.loads(text)
        for name, games in () if tree["error"] else _tables(tree):
            # A stored table is registered with an underscore, behind the view of its public columns.
            table = name.lower() if name.lower() in names else name.lower().removeprefix("_")
            if table in names:
                others = scope.get(table, frozenset())
                scope[table] = None if games is None or others is None else games | others
        is_dynamic = tree["error"] or not _DYNAMIC_FUNCTIONS.isdisjoint(_functions(tree))
    except RecursionError:
        is_dynamic = True
    return dict.fromkeys(names) if is_dynamic else scope


def _nodes(tree: object) -> Iterator[Node]:
    if isinstance(tree, dict):
        yield tree
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(child)


def _functions(tree: object) -> Iterator[str]:
    return (str(node.get("function_name", "")).lower() for node in _nodes(tree))


def _tables(tree: Node) -> Iterator[tuple[str, Set[str] | None]]:
    """Yield each occurrence of a table, with the ids of its games."""
    games: dict[int, Set[str]] = {}
    for node in _nodes(tree):
        if node.get("type") == "SELECT_NODE":
            games |= _narrow(node)
    for node in _nodes(tree):
        if node.get("type") == "BASE_TABLE":
            yield node["table_name"], games.get(id(node))


def _narrow(select: Node) -> dict[int, Set[str]]:
    """Return the games of the tables after one `from`, by the identity of their nodes, where `where` proves them."""
    joins, tables = _joins_and_tables(select.get("from_table"))
    aliases = list(map(_alias, tables))
    # Sets of tables with equal game ids.
    groups = [{alias} for alias in aliases]

    def merge(names: Set[str]) -> None:
        merged_groups = [group for group in groups if group & names]
        groups[:] = [group for group in groups if not group & names]
        groups.append(set().union(*merged_groups))

    # A name without a table is of the only one that has it, or the column that tables share.
    owners_of_name = set(map(_alias, _visible_tables(select.get("from_table"))))
    for join in joins:
        if "game_id" in (name.lower() for name in join.get("using_columns") or ()):
            shared = {_alias(table) for side in ("left", "right") for table in _visible_tables(join[side])}
            merge(shared)
            owners_of_name &= shared
        elif join["ref_type"] == "NATURAL":
            owners_of_name.clear()
    games: dict[str, Set[str]] = {}
    conditions = [select.get("where_clause"), *(join.get("condition") for join in joins)]
    for place, condition in enumerate(conditions):
        for term in _terms(condition):
            columns, values = _comparison(term)
            owners = [column[-2].lower() if len(column) > 1 else None for column in columns]
            if len(owners) == 2 and not values and None not in owners:
                merge({owner for owner in owners if owner is not None})
            elif len(owners) == 1 and values and place == 0:
                for alias in owners_of_name if owners[0] is None else [owners[0]]:
                    games[alias] = games[alias] & values if alias in games else values
    by_alias: dict[str, list[int]] = defaultdict(list)
    for alias, table in zip(aliases, tables, strict=True):
        by_alias[alias].append(id(table))
    ids_by_node: dict[int, Set[str]] = {}
    for group in groups:
        if ids_of_group := [games[alias] for alias in group if alias in games]:
            ids = frozenset.intersection(*map(frozenset, ids_of_group))
            ids_by_node |= {place: ids for alias in group for place in by_alias[alias]}
    return ids_by_node


def _joins_and_tables(node: Node | None) -> tuple[list[Node], list[Node]]:
    """Return the joins and the tables of one `from`, without those of subqueries or with renamed columns."""
    if node is None or node.get("type") != "JOIN":
        is_table = node is not None and node.get("type") == "BASE_TABLE" and not node.get("column_name_alias")
        return [], [node] if node is not None and is_table else []
    sides = [_joins_and_tables(node.get(side)) for side in ("left", "right")]
    return [node, *sides[0][0], *sides[1][0]], [*sides[0][1], *sides[1][1]]


def _visible_tables(node: Node | None) -> list[Node]:
    """Return the tables of one `from` whose columns are there after it."""
    if node is None or node.get("type") != "JOIN":
        return _joins_and_tables(node)[1]
    sides = ("left",) if node["join_type"] in _FILTERS else ("left", "right")
    return [table for side in sides for table in _visible_tables(node.get(side))]


def _alias(table: Node) -> str:
    name: str = table.get("alias") or table["table_name"]
    return name.lower()


def _terms(condition: Node | None) -> Iterator[Node]:
    """Yield what a condition joins by `and`."""
    if condition is not None and condition.get("type") == "CONJUNCTION_AND":
        for child in condition["children"]:
            yield from _terms(child)
    elif condition is not None:
        yield condition


def _comparison(term: Node) -> tuple[list[list[str]], Set[str]]:
    """Return the columns `game_id` and the texts of an equality or an `in`; nothing for any other term."""
    sides = []
    if term.get("type") == "COMPARE_EQUAL":
        sides = [term["left"], term["right"]]
    elif term.get("type") == "COMPARE_IN":
        sides = term["children"]
    columns = [
        side["column_names"]
        for side in sides
        if side["type"] == "COLUMN_REF" and side["column_names"][-1].lower() == "game_id"
    ]
    literals = [side.get("literal") or {} for side in sides if side["type"] == "VALUE_CONSTANT"]
    texts = {literal["text"] for literal in literals if literal.get("kind") == "STRING"}
    is_known = len(columns) + len(literals) == len(sides) and all(
        literal.get("kind") == "STRING" for literal in literals
    )
    return (columns, texts) if is_known else ([], frozenset())
