"""Several machines on one archive in a bucket: units are requested once, and a machine that is killed is replaced."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from needs import ARCHIVE, library, needs
from service import Service
from trust import describe, untrue

import sideline
from object_store import Bucket, bucket
from sideline.archive._leases import Leases, leases

obstore = library("obstore")

ROOT = "s3://bucket/season"
NOW = datetime(2027, 3, 30, 12, tzinfo=UTC)
SPAN = {"start": "2027-01-01", "end": "2027-06-01"}
SIZE: dict[str, Any] = {"teams": 3, "players": 6, "games": 8, "sessions": (1, 1), "possessions": 2, "practices": 0, "upcoming": 0, "days": 25}
TABLES = ("events", "player_stats", "stat_events", "shots")
TRUE = ("events", "sessions", "player_stats", "stat_events", "shots")
OF_UNITS = ("stats", "stats_details", "possessions", "shots", "play_by_play", "ball_screens")

MACHINE = f"""
import sideline, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from archives import archive_with
with sideline.Client(max_retries=0) as client:
    archive = archive_with({ROOT!r}, client, lease_seconds=3.0, units_per_lease=10, max_step_units=10, max_chunk_units=10)
    report = archive.sync(**{SPAN!r}, tables={TABLES!r}, correction_window=None, progress=False)
    print(len(report.holes), report.coverage.num_rows)
"""

# Two machines and moto take seconds, or minutes where others keep the machine busy.
pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), pytest.mark.timeout(900)]


@pytest.fixture
def store() -> Iterator[Bucket]:
    with bucket() as fake_bucket:
        yield fake_bucket


@pytest.fixture
def league() -> Iterator[Service]:
    with Service(seed=5, now=NOW, **SIZE) as league:
        yield league


def machine(league: Service, store: Bucket, folder: Path) -> subprocess.Popen[str]:
    """A process with its own folder for temporary files."""
    folder.mkdir()
    environment = {**os.environ, **league.environ, **store.environment, "TMPDIR": str(folder)}
    return subprocess.Popen([sys.executable, "-c", MACHINE], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def count_requests(league: Service) -> Counter[str]:
    return Counter(request.path for request in league.requests.all() if request.operation in OF_UNITS)


def in_bucket(store: Bucket) -> sideline.Archive:
    return sideline.Archive(ROOT, storage_options=store.options)


def open_leases(store: Bucket, seconds: float, **options: Any) -> Leases:
    settings: dict[str, Any] = {name: value for name, value in store.options.items() if name != "aws_allow_http"}
    return Leases(obstore.store.from_url(ROOT, config=settings, client_options={"allow_http": True}), seconds, **options)


@needs("obstore", *ARCHIVE, extra="bucket")
def test_two_machines_request_each_unit_once(league: Service, store: Bucket, tmp_path: Path) -> None:
    league.faults.add("stats", delay=0.05)
    running = [machine(league, store, tmp_path / str(number)) for number in range(2)]
    outputs = [process.communicate(timeout=800) for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    counts = count_requests(league)
    assert len(counts) > 20
    assert {path: count for path, count in counts.items() if count > 1} == {}
    # Both account for all units, whoever requested them.
    assert len({out for out, _ in outputs}) == 1, outputs
    archive = in_bucket(store)
    difference = untrue(archive, league, TRUE)
    assert not difference, describe(difference)
    # A reader of the history would keep the bucket, which is in this process, from answering.
    commits = [data.decode() for name, data in store.objects.items() if "_delta_log/" in name and name.endswith(".json")]
    assert len({lease for commit in commits for lease in re.findall(r'"lease":"(\d+)"', commit)}) > 1, "both committed"


@needs("obstore", *ARCHIVE, extra="bucket")
def test_a_machine_that_is_killed_is_replaced_within_its_lease(league: Service, store: Bucket, tmp_path: Path) -> None:
    fault = league.faults.add("stats", delay=30.0, skip=3)
    first = machine(league, store, tmp_path / "first")
    deadline = time.monotonic() + 100
    while fault.count < 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert fault.count >= 1, "it never got there"
    league.faults.clear()
    second = machine(league, store, tmp_path / "second")
    output = second.communicate(timeout=800)
    assert second.returncode == 0, output
    difference = untrue(in_bucket(store), league, TRUE)
    assert not difference, describe(difference)


def test_a_part_has_one_holder_until_its_lease_ends(store: Bucket) -> None:
    now = [0.0]
    earlier, other = (open_leases(store, 60.0, clock=lambda: now[0]) for _ in range(2))
    assert earlier.take([1, 2, 3]) == [1, 2, 3]
    assert other.take([3, 4]) == [4]
    assert other.number > earlier.number
    earlier.release([2])
    assert other.take([1, 2, 3]) == [2]
    now[0] += 59
    assert other.take([1, 3]) == []
    now[0] += 2
    assert other.take([1, 3]) == [1, 3], "its holder did not renew"
    number = other.number
    assert earlier.take([1]) == []
    assert earlier.take([7]) == [7]
    assert earlier.number > number


def test_a_lease_is_renewed_and_given_back(store: Bucket) -> None:
    with open_leases(store, 0.2) as holder:
        holder.take([1])
        entry = store.objects["season/_leases.json"]
        deadline = time.monotonic() + 30
        while store.objects["season/_leases.json"] == entry and time.monotonic() < deadline:
            time.sleep(0.02)
        assert store.objects["season/_leases.json"] != entry
    assert open_leases(store, 60.0).take([1]) == [1]


@needs("obstore")
def test_a_folder_has_no_leases_and_a_bucket_that_obstore_cannot_open_none(tmp_path: Path, store: Bucket) -> None:
    assert leases(sideline.Archive(tmp_path)._store) is None
    assert leases(in_bucket(store)._store) is not None
    # deltalake ignores an option that it does not know, and obstore does not.
    options = {**store.options, "aws_no_such_option": "1"}
    assert leases(sideline.Archive(ROOT, storage_options=options)._store) is None
