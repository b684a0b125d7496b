"""Long seasons as lists alone: what a night costs without downloading thousands of games."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from service import Service
from service.bodies import Bodies

TABLES = ("games", "sessions")
DAYS = {"start": "2026-09-01", "end": "2027-03-01"}

_NIGHT = """
import json, sys, tracemalloc
import deltalake, polars, pyarrow, sideline.archive

root, options = sys.argv[1], json.loads(sys.argv[2])
with sideline.Client() as client:
    archive = sideline.Archive(root, client)
    tracemalloc.start()
    report = archive.sync(**options, progress=False)
print(json.dumps({"complete": report.complete, "peak": tracemalloc.get_traced_memory()[1]}))
"""


def serve_long_season(service: Service, games: int) -> None:
    """The lists of a team have so many games, all over for weeks; the service itself has one of them."""
    bodies = Bodies(service.season, service.links, service.features)
    game = service.season.games[0]
    template, event = bodies.schedule_entry(game), bodies.event(game)
    first = service.season.now - 150 * 86_400_000
    starts = [first + index * 130 * 86_400_000 // games for index in range(games)]

    def shift(entry: dict[str, Any], by: int) -> dict[str, Any]:
        return {**entry, "started_at": entry["started_at"] + by, "ended_at": entry["ended_at"] + by}

    def game_event(index: int) -> dict[str, Any]:
        by = starts[index] - event["started_at"]
        results = [{**shift(result, by), "id": f"{result['id'][:8]}-{index}"} for result in event["results"]]
        return {**shift(event, by), "id": f"game-{index}", "results": results}

    schedule = {"games": [{**template, "event_id": f"game-{index}", "tipoff_at": start} for index, start in enumerate(starts)]}
    events = json.dumps({"events": [game_event(index) for index in range(games)]}).encode()
    service.faults.add("schedule", body=json.dumps(schedule).encode())
    for team in game.team_ids:
        service.faults.add("team_events", path=f"/{team}/", body=events)


def python_peak_of_a_night(service: Service, root: Path, **options: Any) -> int:
    """The bytes that the Python objects of a sync in a process of its own take at most."""
    arguments = json.dumps({**DAYS, "tables": TABLES, **options})
    environment = {**os.environ, **service.environ}
    done = subprocess.run([sys.executable, "-c", _NIGHT, str(root), arguments], env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["complete"]
    return int(result["peak"])
