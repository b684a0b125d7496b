"""Settled entries of lists, which a sync leaves in files: it requests and stores the same as one that reads every row."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from archives import OWN_TIMES, archive_with
from needs import ARCHIVE, require
from service import Service

import sideline

require(*ARCHIVE, extra="archive")

NOW = "2027-03-01T12:00:00+00:00"
SIZE: dict[str, Any] = {"seed": 3, "now": NOW, "teams": 3, "players": 6, "games": 5, "sessions": (1, 2), "possessions": 3}
SIZE |= {"practices": 1, "upcoming": 1, "days": 40, "link_base": "https://service.invalid"}
SPAN: dict[str, Any] = {"start": "2027-01-01", "end": "2027-08-01", "tables": ("games", "events", "shots", "player_stats"), "on_error": "keep"}
STEPS = 8


def coverage(archive: sideline.Archive) -> list[dict[str, Any]]:
    """What is known of each unit, without what two syncs need not have in common: times, and ids of requests."""
    rows = archive.scan("coverage").drop(OWN_TIMES | {"error"}, strict=False).collect().sort("unit")
    return rows.to_dicts()


@pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")
@pytest.mark.parametrize("seed", [2, 16, *(pytest.param(seed, marks=pytest.mark.extended) for seed in (21, 35, 37))])
def test_a_sync_without_settled_rows_in_memory_does_what_a_complete_one_does(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    with Service(**SIZE) as league, sideline.Client(**league.client_options(), max_retries=0) as client:
        archives = [archive_with(tmp_path / f"{is_used}", client, has_settled_entries=is_used) for is_used in (True, False)]
        changes = sorted(league.change.all.items())
        for step in range(STEPS):
            requests = []
            for archive in archives:
                league.requests.clear()
                archive.sync(**SPAN)
                requests.append(Counter(request.target for request in league.requests.all()))
            assert requests[0] == requests[1], (step, requests[0] - requests[1], requests[1] - requests[0])
            assert coverage(archives[0]) == coverage(archives[1]), step
            # Beyond the correction window, of seven days, games are settled.
            league.advance(timedelta(days=rng.choice((1, 9))))
            if step % 2:
                _, change = rng.choice(changes)
                change()
