"""A plan as a polars LazyFrame, which does not request what a query excludes by a key."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from threading import Lock
from typing import TYPE_CHECKING, Any

from .._client import planned_units
from .._lazy import library, pl
from .._rows import SCHEMAS, terms
from .parts import BATCH_SIZE, tables
from .plan import Plan, PlanUnit
from .planner import Selection, make_plan

if TYPE_CHECKING:
    from .._client import Client

_KEYS = {"session_id", "game_id"}
"""The keys in a unit's address. A body may have rows of a team that its event does not list."""


def scan(client: "Client", selection: Selection) -> "pl.LazyFrame":
    """Return the table of a selection lazily; its plan is made at the first rows, once for each frame."""
    if selection.table == "box_score":
        raise ValueError(
            "box_score has columns that depend on the data, which a LazyFrame cannot have: scan "
            '"player_stats", which has a row for each player and stat'
        )
    version = library("polars", "polars").__version__
    try:
        from polars.io.plugins import register_io_source

        types = pl.Schema(SCHEMAS[selection.table])
    except (ImportError, TypeError, ValueError):
        raise ImportError(f"scan requires polars 1.32 or later, not {version}: update polars") from None
    return register_io_source(_Source(client, selection, types), schema=types, is_pure=False)


class _Source:
    """The function that polars calls for rows."""

    def __init__(self, client: "Client", selection: Selection, types: "pl.Schema") -> None:
        self._client, self._selection, self._types = client, selection, types
        self._complete_plan: Plan | None = None
        self._one_plans = Lock()

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: "pl.Expr | None",
        n_rows: int | None,
        batch_size: int | None,  # noqa: ARG002
    ) -> "Iterator[pl.DataFrame]":
        columns = list(self._types) if with_columns is None else list(with_columns)
        if n_rows == 0:
            yield pl.DataFrame(schema={name: self._types[name] for name in columns})
            return
        needed_columns = columns if predicate is None else list(dict.fromkeys((*columns, *predicate.meta.root_names())))
        # A limit with a predicate counts the rows before it, which must then be the same rows.
        key_terms = [] if predicate is None or n_rows is not None else _terms_of_keys(predicate)
        complete_plan = self._plan()
        units = tuple(unit for unit in planned_units(complete_plan) if _may_hold(unit, key_terms))
        narrowed_plan = replace(complete_plan, columns=tuple(needed_columns), _units=units)
        # The first unit probably has enough rows for a `head`, which an engine may apply after this.
        sizes = chain((2**power for power in range(1, 5)), repeat(BATCH_SIZE))
        left = n_rows
        yield pl.DataFrame(schema={name: self._types[name] for name in columns})
        for table in tables(narrowed_plan, self._client, sizes):
            frame = table.to_polars().select(pl.col(name).cast(self._types[name]) for name in needed_columns)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield (frame if predicate is None else frame.filter(predicate)).select(columns)
            if left == 0:
                return

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_one_plans"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _one_plans=Lock())

    def _plan(self) -> Plan:
        with self._one_plans:
            if self._complete_plan is None:
                self._complete_plan = make_plan(self._client, self._selection)
            return self._complete_plan


def _may_hold(unit: PlanUnit, key_terms: "Sequence[pl.Expr]") -> bool:
    """Return whether a row of the unit may match the terms, by evaluating the terms on the keys that are known."""
    keys_of_unit: dict[str, str | None] = {} if unit.session_id is None else {"session_id": unit.session_id}
    if unit.event_id is not None:
        keys_of_unit["game_id"] = unit.game_id
    if not keys_of_unit:
        return True
    keys = pl.DataFrame([keys_of_unit], schema=dict.fromkeys(keys_of_unit, pl.String))
    for term in key_terms:
        try:
            keys = keys.filter(term) if set(term.meta.root_names()) <= keys_of_unit.keys() else keys
        except pl.exceptions.PolarsError:
            continue  # the whole predicate is applied to the rows
    return bool(keys.height)


def _terms_of_keys(predicate: "pl.Expr") -> "list[pl.Expr]":
    """Return the terms of an AND that use only keys."""
    return [term for term in terms(predicate) if _KEYS.issuperset(term.meta.root_names()) and term.meta.root_names()]
