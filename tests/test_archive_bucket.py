"""An archive in an object store: S3 over a socket, as Delta Lake uses it."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archives import Store, archive_of, contents, different_tables, internal_schemas, season_clock, set_quantities
from canaries import leaks
from needs import library, needs

import sideline
from object_store import SECRET, Bucket, bucket
from sideline.archive import _commits
from sideline.archive._compaction import compact

ROOT = "s3://bucket/season"


@pytest.fixture(scope="module")
def client(league: sideline.Simulator) -> Iterator[sideline.Client]:
    with league.client() as client:
        yield client


@pytest.fixture
def store() -> Iterator[Bucket]:
    with bucket() as fake_bucket:
        yield fake_bucket


@pytest.fixture
def game(league: sideline.Simulator) -> str:
    return str(league.games[0]["event_id"])


SOME_TABLES = ("events", "player_stats", "shots")
"""What a test syncs that is about no table: each takes its time, in a bucket more than in a folder."""


def in_bucket(client: sideline.Client | None, store: Bucket) -> sideline.Archive:
    return sideline.Archive(ROOT, client, storage_options=store.options, clock=season_clock)


def test_an_archive_in_a_bucket_behaves_like_one_in_a_folder(tmp_path: Path, client: sideline.Client, store: Bucket, game: str) -> None:
    folder = archive_of(client, tmp_path)
    folder.sync(game_ids=[game], tables=SOME_TABLES).raise_if_incomplete()
    in_bucket(client, store).sync(game_ids=[game], tables=SOME_TABLES).raise_if_incomplete()
    archive = in_bucket(None, store)
    expected = contents(folder, SOME_TABLES)
    assert different_tables(expected, contents(archive, SOME_TABLES)) == []
    rows = folder.to_arrow("shots").num_rows
    assert archive.scan("shots").collect().height == archive.delta("shots").to_pyarrow_table().num_rows == rows > 0
    assert archive.sql("select count(*) as rows from shots")["rows"] == [rows]
    assert archive.audit().num_rows == 0
    assert archive.info().games == 1
    archive.rebuild("shots")
    archive.compact()
    assert different_tables(expected, contents(archive, SOME_TABLES)) == []
    assert {name.split("/")[0] for name in store.objects} == {"season"}


@pytest.mark.parametrize(
    ("name", "host", "reason"),
    [("bucket", "127.0.0.1:9", r"Connection refused \(os error 111\)"), ("bucket", "nowhere.invalid", ".*"), ("other", None, "NoSuchBucket")],
    ids=["stopped", "unknown host", "unknown bucket"],
)
def test_a_bucket_that_cannot_be_reached_is_named_in_one_line(
    client: sideline.Client, store: Bucket, game: str, name: str, host: str | None, reason: str
) -> None:
    options = store.options if host is None else {**store.options, "aws_endpoint_url": f"http://{host}"}
    archive = sideline.Archive(f"s3://{name}/season", client, storage_options={**options, "max_retries": "0"}, clock=season_clock)
    expected = rf"^s3://{name}/season cannot be reached \({reason}\): check the bucket, its endpoint and the network$"
    for call in (archive.info, lambda: archive.sync(game_ids=[game], tables=SOME_TABLES)):
        with pytest.raises(OSError, match=expected) as excinfo:
            call()
        assert str(excinfo.value).isprintable()


def test_a_correction_is_reported_from_a_bucket(league: sideline.Simulator, client: sideline.Client, store: Bucket) -> None:
    game = league.games[1]["event_id"]
    archive = in_bucket(client, store)
    archive.sync(game_ids=[game], tables=SOME_TABLES)
    player = client.game_stats_details(game).table().to_dicts()[-1]["player_id"]
    league.correct(game, player, "REB", 1)
    assert archive.sync(game_ids=[game], tables=SOME_TABLES, correction_window=None).corrections.num_rows == 1
    assert archive.corrections().num_rows == 1


def test_writers_of_one_bucket_at_once_lose_nothing(tmp_path: Path, league: sideline.Simulator, client: sideline.Client, store: Bucket) -> None:
    games: list[str] = []
    failed: list[BaseException] = []

    def run(game_ids: list[str]) -> None:
        try:
            in_bucket(client, store).sync(game_ids=game_ids, tables=SOME_TABLES).raise_if_incomplete()
        except BaseException as error:  # noqa: BLE001 - asserted on in the main thread
            failed.append(error)

    # By chance they may not meet.
    for first in range(2, 10, 2):
        first_game, second_game = (game["event_id"] for game in league.games[first : first + 2])
        threads = [threading.Thread(target=run, args=([game],)) for game in (first_game, second_game, first_game)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        games += [first_game, second_game]
        if store.refused_puts:
            break
    assert store.refused_puts > 0, "they never met"
    reference = archive_of(client, tmp_path)
    reference.sync(game_ids=games, tables=SOME_TABLES)
    expected, actual = contents(reference, SOME_TABLES), contents(in_bucket(None, store), SOME_TABLES)
    # Each may have kept the bodies that it fetched.
    assert set(expected.pop("raw")) == set(actual.pop("raw"))
    assert different_tables(expected, actual) == []


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


@pytest.fixture
def requests(store: Bucket, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that the bucket has received."""
    log: list[str] = []
    respond = Bucket.__call__

    def count(self: Bucket, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        log.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}?{environ['QUERY_STRING']}")
        return respond(self, environ, start_response)

    monkeypatch.setattr(Bucket, "__call__", count)
    return log


def sources(store: Store) -> dict[str, str]:
    table = store.reopen("tracking_sources")
    batches = () if table is None else store.select(table)
    return {row["session_id"]: row["signature"] for batch in batches for row in batch.to_pylist()}


def add_sources(store: Store, *sessions: str) -> bool:
    """Commit rows to a table, unless another writer has since it was opened; the caller's table is current."""
    pa = library("pyarrow")
    table = store.open_or_create("tracking_sources", internal_schemas()["tracking_sources"])
    rows = [{"session_id": session, "signature": "1", "computed_at": None} for session in sessions]
    batches = pa.Table.from_pylist(rows, internal_schemas()["tracking_sources"]).to_batches()
    return _commits.try_commit(store, table, _commits.add_files(store, table, ((None, batch) for batch in batches)))


@needs("obstore")
def test_another_process_requests_no_entry_of_a_log_again(client: sideline.Client, store: Bucket, game: str, requests: list[str]) -> None:
    for _ in range(2):
        in_bucket(client, store).sync(game_ids=[game], tables=SOME_TABLES).raise_if_incomplete()
    requests.clear()
    in_bucket(client, store).sync(game_ids=[game], tables=SOME_TABLES).raise_if_incomplete()
    assert 0 < len(requests) <= 60
    assert [request for request in requests if request.startswith("GET") and "_delta_log/0" in request.partition("?")[0]] == []


def test_a_log_in_a_bucket_has_checkpoints_and_loses_old_entries(client: sideline.Client, store: Bucket, requests: list[str]) -> None:
    archive = set_quantities(in_bucket(None, store), kept_versions=5)
    own_store = archive._store
    for number in range(35):
        assert add_sources(own_store, str(number))
        compact(own_store, ["tracking_sources"])
    expected = {str(number): "1" for number in range(35)}
    log = [name.rpartition("/")[2] for name in store.objects if "_delta_log" in name]
    assert "_last_checkpoint" in log
    assert len(log) < 30, sorted(log)
    assert sources(own_store) == sources(in_bucket(None, store)._store) == expected
    # Without the copies, as any other reader of Delta tables.
    assert len(archive.delta("tracking_sources").to_pyarrow_table()) == 35


def test_a_commit_is_refused_if_another_writer_was_faster(store: Bucket) -> None:
    own_store, other_store = in_bucket(None, store)._store, in_bucket(None, store)._store
    assert add_sources(own_store, "a")
    table = own_store.open_or_create("tracking_sources", internal_schemas()["tracking_sources"])
    assert add_sources(other_store, "b")
    assert not _commits.try_commit(own_store, table, [])
    assert sources(own_store) == {"a": "1", "b": "1"}


def test_a_new_table_is_not_read_from_the_copy_of_its_predecessor(store: Bucket) -> None:
    own_store, other_store = in_bucket(None, store)._store, in_bucket(None, store)._store
    for number in range(3):
        assert add_sources(own_store, str(number))
    own_store.logs.save()  # type: ignore[union-attr]
    for name in store.objects:
        if name.startswith("season/tracking_sources/"):
            store.client.delete_object(Bucket="bucket", Key=name)
    for number in range(3):
        assert add_sources(other_store, f"new {number}")
    for reader in (own_store, in_bucket(None, store)._store):
        assert set(sources(reader)) == {"new 0", "new 1", "new 2"}


@pytest.mark.parametrize("damage", ["no archive", "other entries"])
def test_damaged_copies_of_a_log_cost_only_requests(store: Bucket, damage: str, tmp_path: Path) -> None:
    own_store = in_bucket(None, store)._store
    assert add_sources(own_store, "a")
    data = io.BytesIO(b"")
    if damage == "other entries":
        with zipfile.ZipFile(data, "w") as entries:
            for path in ("../escape", "tracking_sources/_delta_log/00000000000000000000.json"):
                entries.writestr(path, "{}")
    store.client.put_object(Bucket="bucket", Key="season/_logs.zip", Body=data.getvalue())
    assert sources(in_bucket(None, store)._store) == {"a": "1"}


@needs("obstore")
@pytest.mark.parametrize("option", ["aws_s3_locking_provider", "AWS_S3_ALLOW_UNSAFE_RENAME", "aws_conditional_put"])
def test_deltalake_commits_where_puts_are_not_conditional(store: Bucket, option: str) -> None:
    archive_store = sideline.Archive(ROOT, storage_options={**store.options, option: "x"})._store
    assert archive_store.logs is None
    assert in_bucket(None, store)._store.logs is not None


def test_a_pickled_archive_has_no_copies(store: Bucket) -> None:
    archive = in_bucket(None, store)
    assert add_sources(archive._store, "a")
    assert "logs" not in vars(pickle.loads(pickle.dumps(archive._store)))
