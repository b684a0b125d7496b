"""Each bound of memory in docs/limits.md holds in a process that is flooded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bounds import BOUNDS, Bound, measure

PAGE = Path(__file__).parents[1] / "docs" / "limits.md"

pytestmark = pytest.mark.timeout(120)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process as Linux shows it")
@pytest.mark.parametrize("flood", BOUNDS, ids=lambda case: case.flood)
def test_a_flooded_process_stays_within_the_bound(flood: Bound) -> None:
    assert measure(flood) <= flood.allowed_mib


@pytest.mark.source
def test_the_page_has_the_measured_peak_of_each_bound() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").partition("## Measured")[2].splitlines() if line.startswith("| ")][1:]
    assert [row.rsplit("|", 3)[0] for row in rows] == [f"| {case.flood} | {case.limit} " for case in BOUNDS]
