"""The life of a unit: every state and observation has a result, and the views of a state agree."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from sideline.archive._life import COMPLETE, PROBLEMS, SETTLED_STATUSES, SEVERITY, Observation, Phase, State, after, state_of, verdict

ABSENCES = (Observation.NOT_FOUND, Observation.NOT_FOUND_LINKED, Observation.UNLISTED_BY_EMPTY)
FINAL = {State.FETCHED_FINAL, State.EMPTY_FINAL, State.UNAVAILABLE_FINAL}


def life(observations: Iterable[Observation], state: State = State.EXPECTED) -> State:
    for observation in observations:
        state = after(state, observation)
    return state


@pytest.mark.parametrize(("state", "observation"), [*product(State, Observation)])
def test_every_pair_has_a_result_that_keeps_what_is_stored(state: State, observation: Observation) -> None:
    result = after(state, observation)
    assert isinstance(result, State)
    if state.has_rows and not result.has_rows:
        assert result is State.WITHDRAWN, "stored rows leave by a withdrawal alone"
    if result.has_rows and not state.has_rows:
        assert observation in (Observation.BODY, Observation.BODY_WITHOUT_ROWS)
    if result.is_final and not state.is_final:
        assert observation is Observation.LAST_LOOK


@pytest.mark.parametrize("absence", ABSENCES)
@pytest.mark.parametrize("body", [Observation.BODY, Observation.BODY_WITHOUT_ROWS])
def test_only_the_second_absence_in_a_row_withdraws(absence: Observation, body: Observation) -> None:
    assert life([body, absence]) is State.MISSING_STORED
    assert life([body, absence, absence]) is State.WITHDRAWN
    assert life([body, absence, Observation.SILENCE, absence]) is State.MISSING_STORED
    assert life([body, absence, body]) in (State.FETCHED, State.EMPTY)


def test_a_withdrawn_unit_returns_with_a_body_alone() -> None:
    gone = life([Observation.BODY, Observation.PARENT_WITHDRAWN])
    assert gone is State.WITHDRAWN
    assert life([Observation.LISTED, Observation.NOT_FOUND_LINKED], gone) is State.WITHDRAWN
    assert life([Observation.SILENCE, Observation.NOT_FOUND], gone) is State.WITHDRAWN
    assert life([Observation.LISTED, Observation.BODY], gone) is State.FETCHED


def test_a_final_unit_is_reopened_by_a_new_date_and_an_unavailable_one_by_a_link() -> None:
    assert life([Observation.BODY, Observation.LAST_LOOK, Observation.LISTED]).is_final
    assert life([Observation.BODY, Observation.LAST_LOOK, Observation.NEW_DATE]) is State.FETCHED
    assert life([Observation.NOT_FOUND, Observation.LAST_LOOK, Observation.LINKED]) is State.UNAVAILABLE
    assert {state for state in State if state.is_final} == FINAL


@pytest.mark.parametrize("state", [state for state in State if state is not State.EXPECTED])
def test_a_hole_is_a_problem_and_a_complete_unit_is_none(state: State) -> None:
    verdicts = {verdict(state, phase) for phase in Phase}
    assert verdicts <= {*SEVERITY}
    assert state.is_hole == (state.status not in SETTLED_STATUSES)
    # Later than the usual delay a hole, or what never came, is a problem; nothing else is.
    is_unavailable = state.status == "unavailable"
    assert (verdict(state, Phase.DUE) in PROBLEMS) == (state.is_hole or is_unavailable)
    assert ("available" in verdicts) == (state.is_final and state.status in COMPLETE)


def row(status: str, body_id: str | None, sequence: int | None) -> dict[str, Any]:
    return {"status": status, "body_id": body_id, "sequence": sequence}


def test_a_row_of_coverage_has_the_state_that_its_body_says() -> None:
    assert state_of(None) is State.EXPECTED
    assert state_of(row("fetched", "b", 1)) is State.FETCHED
    assert state_of(row("missing", "b", 1)) is State.MISSING_STORED
    assert state_of(row("failed", None, None)) is State.FAILED
    assert state_of(row("failed", None, 0)) is State.FAILED_STORED, "reserved, and perhaps stored"
    assert state_of(row("failed", None, 2)) is State.FAILED_WITHDRAWN
    assert state_of(row("forbidden", None, 2)) is State.FORBIDDEN_WITHDRAWN
    assert state_of(row("withdrawn", None, 2)) is State.WITHDRAWN
