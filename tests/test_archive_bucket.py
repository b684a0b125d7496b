"""An archive in an object store: S3 over a socket, as Delta Lake uses it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from archives import archive_of, contents, frozen, same, small_season
from canaries import leaks
from needs import needs

import sideline
from object_store import SECRET, Bucket, bucket

ROOT = "s3://bucket/season"


@pytest.fixture(scope="module")
def league() -> Iterator[sideline.Simulator]:
    with small_season() as service:
        yield service


@pytest.fixture(scope="module")
def asks(league: sideline.Simulator) -> Iterator[sideline.Client]:
    with league.client() as client:
        yield client


@pytest.fixture
def store() -> Iterator[Bucket]:
    with bucket() as made:
        yield made


@pytest.fixture
def game(league: sideline.Simulator) -> str:
    return str(league.games[0]["event_id"])


FEW = ("events", "player_stats", "shots")
"""What a test syncs that is about no table: each takes its time, in a bucket more than in a folder."""


def in_bucket(client: sideline.Client | None, store: Bucket) -> sideline.Archive:
    return sideline.Archive(ROOT, client, storage_options=store.options, clock=frozen)


def test_an_archive_in_a_bucket_behaves_like_one_in_a_folder(tmp_path: Path, asks: sideline.Client, store: Bucket, game: str) -> None:
    folder = archive_of(asks, tmp_path)
    folder.sync(game_ids=[game], tables=FEW).raise_if_incomplete()
    in_bucket(asks, store).sync(game_ids=[game], tables=FEW).raise_if_incomplete()
    archive = in_bucket(None, store)
    expected = contents(folder, FEW)
    assert same(expected, contents(archive, FEW)) == []
    rows = folder.to_arrow("shots").num_rows
    assert archive.scan("shots").collect().height == archive.delta("shots").to_pyarrow_table().num_rows == rows > 0
    assert archive.sql("select count(*) as rows from shots")["rows"] == [rows]
    assert archive.audit().num_rows == 0
    assert archive.info().games == 1
    archive.rebuild("shots")
    archive.compact()
    assert same(expected, contents(archive, FEW)) == []
    assert {name.split("/")[0] for name in store.objects} == {"season"}


def test_a_correction_is_reported_from_a_bucket(league: sideline.Simulator, asks: sideline.Client, store: Bucket) -> None:
    game = league.games[1]["event_id"]
    archive = in_bucket(asks, store)
    archive.sync(game_ids=[game], tables=FEW)
    player = asks.game_stats_details(game).table().to_dicts()[-1]["player_id"]
    league.correct(game, player, "REB", 1)
    assert archive.sync(game_ids=[game], tables=FEW, correction_window=None).corrections.num_rows == 1
    assert archive.corrections().num_rows == 1


def test_writers_of_one_bucket_at_once_lose_nothing(tmp_path: Path, league: sideline.Simulator, asks: sideline.Client, store: Bucket) -> None:
    games: list[str] = []
    failed: list[BaseException] = []

    def run(game_ids: list[str]) -> None:
        try:
            in_bucket(asks, store).sync(game_ids=game_ids, tables=FEW).raise_if_incomplete()
        except BaseException as error:  # noqa: BLE001 - asserted on in the main thread
            failed.append(error)

    # By chance they may not meet.
    for first in range(2, 10, 2):
        one, other = (game["event_id"] for game in league.games[first : first + 2])
        threads = [threading.Thread(target=run, args=([game],)) for game in (one, other, one)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        games += [one, other]
        if store.refused:
            break
    assert store.refused > 0, "they never met"
    alone = archive_of(asks, tmp_path)
    alone.sync(game_ids=games, tables=FEW)
    whole, shared = contents(alone, FEW), contents(in_bucket(None, store), FEW)
    # Each may have kept the bodies that it fetched.
    assert set(whole.pop("raw")) == set(shared.pop("raw"))
    assert same(whole, shared) == []


@needs("obstore")
def test_the_command_has_its_keys_from_the_environment_and_shows_none(tmp_path: Path, league: sideline.Simulator, store: Bucket, game: str) -> None:
    command = [sys.executable, "-W", "error", "-m", "sideline", "sync", ROOT, "--games", game, "--tables", "shots"]
    environment = {**os.environ, **league.environ, **store.environment, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{ROOT}: complete; ")
    assert list(tmp_path.iterdir()) == [], "a bucket has leases, and no lock of this machine"
    secrets = {"bucket": SECRET, "service": league.secret}
    places = {"output": done.stdout + done.stderr, **store.objects}
    assert leaks(secrets, places) == []
    assert leaks(secrets, {"planted": f"x{SECRET}"})
