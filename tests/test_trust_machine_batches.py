"""A batch accounts for every id, whatever the service sends: its rows are the truth of exactly the fetched ids."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from service import Service, differences
from trust import KINDS, LIES, describe, fault_options

import sideline

EXAMPLES = os.environ.get("HYPOTHESIS_EXAMPLES")
NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
TABLES = {
    "stats": ("player_stats", "box_score"),
    "stats_details": ("stat_events",),
    "possessions": ("possessions", "possession_events", "possession_players"),
    "shots": ("shots",),
}


@pytest.fixture(scope="module")
def second() -> Iterator[Service]:
    with Service(seed=9, now=NOW, possessions=4) as second:
        yield second


@pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")
@settings(
    max_examples=int(EXAMPLES or 60), derandomize=EXAMPLES is None, database=None, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    operation=st.sampled_from(sorted(TABLES)),
    faults=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 12), st.sampled_from((1, 2, None))), max_size=4),
    has_unknown=st.booleans(),
)
def test_rows_of_a_batch_are_the_truth_of_what_its_coverage_calls_fetched(
    second: Service, operation: str, faults: list[tuple[str, int, int | None]], has_unknown: bool
) -> None:
    sessions = [session.id for _, session in second.season.sessions()]
    requested_ids = [*sessions, "no-such-session"] if has_unknown else sessions
    second.faults.clear()
    false_faults = []
    for number, (kind, skip, times) in enumerate(faults):
        fault = second.faults.add(operation, skip=skip, times=times, **fault_options(kind, number))
        false_faults += [fault] if kind in LIES else []
    with sideline.Client(**second.client_options(), max_retries=0, timeout=5) as client:
        batch = getattr(client, operation)(requested_ids, on_error="keep")
    accounts = batch.coverage.to_dicts()
    assert [unit["session_id"] for unit in accounts] == requested_ids
    assert batch.complete == all(unit["status"] in ("fetched", "empty") for unit in accounts)
    assert all(unit["error"] for unit in accounts if unit["status"] not in ("fetched", "empty"))
    if any(fault.count for fault in false_faults):
        return
    assert not [unit for unit in accounts if unit["status"] == "empty"]
    fetched = [unit["session_id"] for unit in accounts if unit["status"] == "fetched"]
    truth = second.truth(session_ids=fetched)
    for table in TABLES[operation]:
        rows = batch.table(table)
        difference = differences(rows.to_dicts(), truth[table], columns=set(rows.column_names) - {"game_id"})
        assert not difference, describe([(table, "missing", row) for row in difference.missing] + [(table, "extra", row) for row in difference.extra])
