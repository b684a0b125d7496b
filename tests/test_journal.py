"""Recording and replay: a journal holds the items that its reader took, whatever the stream, the disk or the process did."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from needs import library

import sideline
from sideline import cli
from streams import HEAD, QUICK, Server, numbered_events, send, server, then_hold


def ticking(seconds: float) -> Callable[[socket.socket], None]:
    """A numbered event at this interval in seconds."""

    def connection(to: socket.socket) -> None:
        to.sendall(HEAD)
        n = 0
        while True:
            to.sendall(numbered_events(1, n))
            n += 1
            time.sleep(seconds)

    return connection


def seen(item: Any) -> object:
    """All that an item shows: two items are equal where this is."""
    if isinstance(item, sideline.Update):
        return (item.event, item.id, item.seq, item.source, item.raw, item.text, item.received_at)
    return item


def refuse(to: socket.socket) -> None:
    to.sendall(b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n")


def send_odd_events(to: socket.socket) -> None:
    """Other events, a text of any kind, bytes that are no UTF-8, and half an event at the end."""
    to.sendall(HEAD + "event: whistle\ndata: Žižek ❄ \t\0\ndata: two\n\n".encode() + b"data: \xff\xfe{\n\n" + b"data: hal")


FAULTS = [send(numbered_events(2)), refuse, send_odd_events, send(b""), then_hold(numbered_events(3, 2))]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "game.journal"


@pytest.fixture
def faults() -> Iterator[Server]:
    with server(FAULTS) as service:
        yield service


def until_the_last(items: Any) -> list[Any]:
    taken_items: list[Any] = []
    for item in items:
        taken_items.append(item)
        if isinstance(item, sideline.Update) and item.id == "4":
            break
    return taken_items


def replay_all(path: Path, **options: Any) -> list[Any]:
    return list(sideline.replay(path, None, **options))


def test_a_recording_with_faults_replayed_is_the_same_items(faults: Server, journal: Path) -> None:
    with faults.client() as client:
        items = until_the_last(client.live_stats("g1", **QUICK).record(journal))
    kinds = {type(item) for item in items}
    assert kinds == {sideline.live.Connected, sideline.Update, sideline.live.Disconnected, sideline.live.Gap}
    assert [seen(item) for item in replay_all(journal)] == [seen(item) for item in items]


def test_async_the_same_items_in_both_directions(faults: Server, journal: Path) -> None:
    async def record() -> list[Any]:
        items = []
        async with faults.async_client() as client, client.live_stats("g1", **QUICK).record(journal) as stream:
            async for item in stream:
                items.append(item)
                if isinstance(item, sideline.Update) and item.id == "4":
                    break
        return items

    async def read() -> list[Any]:
        return [item async for item in sideline.replay(str(journal), None)]

    items = asyncio.run(record())
    assert any(isinstance(item, sideline.live.Gap) for item in items)
    assert [seen(item) for item in asyncio.run(read())] == [seen(item) for item in items] == [seen(item) for item in replay_all(journal)]


def test_only_what_was_taken_is_recorded_also_in_batches(journal: Path) -> None:
    with server([then_hold(numbered_events(10))]) as service, service.client() as client, client.live_stats("g1").record(journal) as stream:
        assert next(stream.batches(max_rows=4).__iter__()).num_rows == 4
        assert next(stream).id == "3"
    kinds = [type(item).__name__ for item in replay_all(journal)]
    assert kinds == ["Connected", "Update", "Update", "Update", "Update"]


@pytest.mark.parametrize("is_awaited", [False, True])
def test_a_loop_over_tables_may_go_on_after_the_one_with_the_last_items(is_awaited: bool, faults: Server, journal: Path) -> None:
    with faults.client() as client:
        items = until_the_last(client.live_stats("g1", **QUICK).record(journal))

    def read() -> list[int]:
        batches = sideline.replay(journal, None).batches(max_seconds=5.0)
        return [next(iter(batches)).num_rows, *(table.num_rows for table in batches)]

    async def read_awaited() -> list[int]:
        batches = sideline.replay(journal, None).batches(max_seconds=5.0)
        return [(await anext(aiter(batches))).num_rows, *[table.num_rows async for table in batches]]

    assert (asyncio.run(read_awaited()) if is_awaited else read()) == [len(items)]


def test_a_replay_is_a_stream(faults: Server, journal: Path) -> None:
    with faults.client() as client:
        items = until_the_last(client.live_stats("g1", **QUICK).record(journal))
    updates = [seen(item) for item in items if isinstance(item, sideline.Update)]
    assert [seen(item) for item in replay_all(journal, notices=False)] == updates
    with sideline.replay(journal, None) as stream:
        assert "game.journal" in repr(stream)
        tables = list(stream.batches(max_rows=4, max_seconds=5.0))
        assert sum(table.num_rows for table in tables) == len(items)
        assert [table.num_rows for table in tables[:-1]] == [4] * (len(tables) - 1)
        stats = stream.stats
    assert (stats.updates, stats.gaps) == (len(updates), sum(isinstance(item, sideline.live.Gap) for item in items))
    assert stream.state == "closed"
    copy = journal.with_name("copy.journal")
    assert [seen(item) for item in sideline.replay(journal, None).record(copy)] == [seen(item) for item in replay_all(copy)]


def test_a_recording_continues_an_existing_journal(journal: Path) -> None:
    items: list[Any] = []
    for first in (0, 3):
        with server([then_hold(numbered_events(3, first))]) as service, service.client() as client, client.live_stats("g1").record(journal) as stream:
            items += [next(stream) for _ in range(4)]
    assert [item.id for item in items if isinstance(item, sideline.Update)] == list("012345")
    assert [seen(item) for item in replay_all(journal) if not isinstance(item, sideline.live.Gap)] == [seen(item) for item in items]


def test_the_time_between_two_recordings_is_a_gap(journal: Path) -> None:
    recordings: list[list[Any]] = []
    for connection in (then_hold(numbered_events(3)), refuse, then_hold(numbered_events(3, 3))):
        with server([connection]) as service, service.client() as client, client.live_stats("g1", **QUICK).record(journal) as stream:
            recordings.append([next(stream) for _ in range(1 if connection is refuse else 4)])
    first, outage, last = recordings
    replayed_items = replay_all(journal)
    gaps = [item for item in replayed_items if isinstance(item, sideline.live.Gap)]
    # From the last that was recorded to the first, though that be a refusal; each hole once.
    assert [(gap.start, gap.end) for gap in gaps] == [(first[-1].received_at, outage[0].at), (outage[0].at, last[0].at)]
    assert all("not recorded" in gap.reason for gap in gaps)
    assert [seen(item) for item in replayed_items] == [seen(item) for item in (*first, gaps[0], *outage, gaps[1], *last)]
    replay = sideline.replay(journal, None)
    assert [item.to_dicts()[0]["kind"] for item in replay.batches(max_rows=1)].count("gap") == 2
    assert replay.stats.gaps == 2


def test_without_notices_there_is_no_gap_between_recordings(journal: Path) -> None:
    for first in (0, 3):
        with server([then_hold(numbered_events(3, first))]) as service, service.client() as client:
            with client.live_stats("g1", notices=False).record(journal) as stream:
                [next(stream) for _ in range(3)]
    assert [item.id for item in replay_all(journal)] == list("012345")


def test_a_replay_into_its_own_journal_ends(journal: Path) -> None:
    for first in (0, 3):
        with server([then_hold(numbered_events(3, first))]) as service, service.client() as client, client.live_stats("g1").record(journal) as stream:
            [next(stream) for _ in range(4)]
    before = [seen(item) for item in replay_all(journal)]
    with sideline.replay(journal, None, buffer=1).record(journal) as stream:
        items = [next(stream)]
        size = journal.stat().st_size
        while journal.stat().st_size == size:  # Until the first item is written again, before the last was read.
            time.sleep(0.05)
        items += stream
    assert [seen(item) for item in items] == before
    assert [seen(item) for item in replay_all(journal)] == before * 2


def test_the_pace_is_that_of_the_receive_times(journal: Path) -> None:
    with server([ticking(0.1)]) as service, service.client() as client, client.live_stats("g1", notices=False).record(journal) as stream:
        items = [next(stream) for _ in range(11)]
    duration = (items[-1].received_at - items[0].received_at).total_seconds()
    assert duration > 0.9
    for speed in (1.0, 5.0):
        start = time.monotonic()
        at = [time.monotonic() - start for _ in sideline.replay(journal, speed)]
        assert duration / speed - 0.02 < at[-1] < duration / speed + 10
        assert at[5] > (items[5].received_at - items[0].received_at).total_seconds() / speed - 0.02
    # The fastest of some: the machine may be busy with something else.
    durations = []
    for _ in range(5):
        start = time.monotonic()
        assert len(replay_all(journal)) == 11
        durations.append(time.monotonic() - start)
    assert min(durations) < duration / 2


def test_a_close_in_the_middle_of_a_wait_is_prompt(journal: Path) -> None:
    with server([ticking(0.2)]) as service, service.client() as client, client.live_stats("g1", notices=False).record(journal) as stream:
        [next(stream) for _ in range(3)]
    replay = sideline.replay(journal, 0.001)
    rest = iter(replay)
    next(rest)
    threading.Timer(0.1, replay.close).start()
    start = time.monotonic()
    assert list(rest) == []
    assert time.monotonic() - start < 20


# Invalid journals.


def test_another_file_is_refused_and_unchanged(tmp_path: Path, faults: Server) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    with faults.client() as client:
        stream = client.live_stats("g1")
        for open_journal in (lambda: stream.record(path), lambda: sideline.replay(path)):
            with pytest.raises(sideline.DecodeError, match=r"no journal.*notes\.txt \(byte 0\)$") as excinfo:
                open_journal()
            assert (excinfo.value.offset, excinfo.value.path) == (0, str(path))
        with pytest.raises(IsADirectoryError):
            stream.record(tmp_path)
        for open_journal in (lambda: stream.record(os.devnull), lambda: sideline.replay(os.devnull)):
            with pytest.raises(sideline.DecodeError, match="something else"):
                open_journal()
        with pytest.raises(FileNotFoundError) as missing:
            stream.record(tmp_path / "no" / "game.journal")
        assert missing.value.filename == str(tmp_path / "no" / "game.journal")
        assert (missing.value.strerror, missing.value.errno) == ("No such file or directory", 2)
        stream.close()
        with pytest.raises(ValueError, match="closed"):
            stream.record(tmp_path / "game.journal")
    with pytest.raises(FileNotFoundError):
        sideline.replay(tmp_path / "none")
    for pause in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="max_pause"):
            sideline.replay(tmp_path / "none", max_pause=pause)
    with pytest.raises(TypeError, match="^max_pause is a number of seconds"):
        sideline.replay(tmp_path / "none", max_pause="1")  # type: ignore[arg-type]
    for speed in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="speed"):
            sideline.replay(tmp_path / "none", speed)
    with pytest.raises(TypeError, match="^speed is a number such as 2.0, or None"):
        sideline.replay(tmp_path / "none", "2")  # type: ignore[arg-type]
    assert path.read_text() == "my notes"


def test_a_journal_has_one_recorder(faults: Server, journal: Path) -> None:
    with faults.client() as client:
        first, second = client.live_stats("g1").record(journal), client.live_stats("g1")
        with pytest.raises(BlockingIOError, match="another recorder"):
            second.record(journal)
        with pytest.raises(ValueError, match="already"):
            first.record(journal.with_name("other.journal"))
        assert [item.reason for item in replay_all(journal)] == ["torn"], "it is being recorded"
        first.close()
        assert replay_all(journal) == []
        second.record(journal).close()


def test_damage_is_a_gap_and_the_rest_is_replayed(journal: Path) -> None:
    items: list[Any] = []
    sizes: list[int] = []
    for first in (0, 3, 6):
        with (
            server([then_hold(numbered_events(3, first))]) as service,
            service.client() as client,
            client.live_stats("g1", notices=False).record(journal) as stream,
        ):
            items += [next(stream) for _ in range(3)]
        sizes.append(journal.stat().st_size)
    content = bytearray(journal.read_bytes())
    # In the frame of the second recording's items: after its first frame, and before its last.
    content[(sizes[0] + sizes[1]) // 2] ^= 1
    journal.write_bytes(content)
    replayed_items = replay_all(journal)
    assert [item.id for item in replayed_items if isinstance(item, sideline.Update)] == list("012678")
    [gap] = [item for item in replayed_items if isinstance(item, sideline.live.Gap)]
    assert (gap.reason, replayed_items[3], gap.start < gap.end) == ("damaged", gap, True)
    assert gap.end == items[6].received_at
    replay = sideline.replay(journal, None, notices=False)
    assert [item.id for item in replay] == list("012678")
    assert (replay.stats.gaps, replay.stats.reconnects) == (1, 0)
    with server([then_hold(numbered_events(1, 9))]) as service, service.client() as client, client.live_stats("g1", notices=False).record(journal) as stream:
        next(stream)
    assert [item.id for item in replay_all(journal, notices=False)] == list("0126789"), "a damaged journal is continued"


def test_a_journal_of_the_first_version_is_refused(journal: Path, faults: Server) -> None:
    journal.write_bytes(b"P*M\x18\x14\0\0\0sideline journal\x01\0\0\0" + bytes(100))
    with faults.client() as client:
        for open_journal in (lambda: sideline.replay(journal), lambda: client.live_stats("g1").record(journal)):
            with pytest.raises(sideline.DecodeError, match="version 1 .* reads version 3: replay it with the sideline that recorded it"):
                open_journal()


def test_any_zstd_decoder_reads_a_journal_as_json_lines(journal: Path, faults: Server) -> None:
    with faults.client() as client, client.live_stats("g1", **QUICK).record(journal) as stream:
        items = [next(stream) for _ in range(3)]
    pa = library("pyarrow")
    lines = [json.loads(line) for line in pa.input_stream(str(journal), compression="zstd").read().splitlines()]
    assert [line["frame"] for line in lines if "frame" in line] == [0, 1, 2]
    assert [kind for line in lines if "item" in line for kind in line["item"]] == ["connected", "update", "update"]
    assert [line["item"]["update"]["text"] for line in lines if "update" in line.get("item", {})] == [item.text for item in items[1:]]


@pytest.mark.parametrize("sync_every", [0, 0.5, None])
def test_a_journal_is_synced_as_configured(sync_every: float | None, journal: Path) -> None:
    with server([then_hold(numbered_events(3))]) as service, service.client() as client:
        with client.live_stats("g1", notices=False).record(journal, sync_every=sync_every) as stream:
            [next(stream) for _ in range(3)]
        with pytest.raises(TypeError, match="sync_every is a number of seconds or a timedelta, not str"):
            client.live_stats("g1").record(journal, sync_every="5")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="sync_every"):
            client.live_stats("g1").record(journal, sync_every=-1.0)
    assert [item.id for item in replay_all(journal)] == list("012")


FULL = """
import resource, sys, sideline
base_url, path = sys.argv[1:]
with sideline.Client(api_key="k", broadcast_base_url=base_url) as client, client.live_stats("g1", notices=False).record(path) as stream:
    raised, ids = 0, []
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    while len(ids) < 40:
        try:
            ids.append(next(stream).id)
        except OSError as error:
            raised += 1
            assert error.filename == path, error
            if raised == 3:
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert raised == 3, raised
    print(" ".join(ids))
"""

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits as POSIX has them")


@posix
def test_an_item_that_cannot_be_written_raises_and_is_not_lost(journal: Path) -> None:
    # Random text: it does not get smaller, so that each few items are a frame.
    text = b"".join(b"id: %d\ndata: %s\n\n" % (n, random.Random(n).randbytes(25_000).hex().encode()) for n in range(40))
    with server([then_hold(text)]) as service:
        done = subprocess.run([sys.executable, "-c", FULL, service.base_url, str(journal)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [str(n) for n in range(40)]
    assert [item.id for item in replay_all(journal)] == [str(n) for n in range(40)]


AT_CLOSE = """
import resource, sys, sideline
base_url, path = sys.argv[1:]
with sideline.Client(api_key="k", broadcast_base_url=base_url) as client:
    stream = client.live_stats("g1").record(path)
    next(stream)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
    try:
        stream.close()
    except OSError as error:
        print(stream.state, type(error).__name__)
    stream.close()
"""


@posix
def test_a_close_that_cannot_write_raises_once(journal: Path) -> None:
    with server([then_hold(numbered_events(1))]) as service:
        done = subprocess.run([sys.executable, "-c", AT_CLOSE, service.base_url, str(journal)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed OSError\n", "")
    assert [item.reason for item in replay_all(journal)] == ["torn"]


# What a killed recorder leaves.

RECORDER = """
import sys, time, sideline
base_url, path, sync_every = sys.argv[1:]
with sideline.Client(api_key="k", broadcast_base_url=base_url) as client:
    for item in client.live_stats("g1", notices=False).record(path, sync_every=float(sync_every)):
        print(item.id, time.time(), flush=True)
"""


@posix
@pytest.mark.parametrize("count", [20, pytest.param(200, marks=[pytest.mark.extended, pytest.mark.timeout(900)])])
def test_a_killed_recorder_loses_at_most_what_it_may(count: int, tmp_path: Path) -> None:
    # They do little but wait.
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(killed_twice, seed, tmp_path / f"{seed}.journal") for seed in range(count // 2)]:
            done.result()


def killed_twice(seed: int, journal: Path) -> None:
    """The second recorder continues where the first was killed."""
    chance = random.Random(seed)
    sync_every = chance.choice([0, 0.1, 5.0])
    previous_ids: list[str] = []
    with server([ticking(0.005)]) as service:
        for number in (1, 2):
            taken_items, killed_at = killed_recorder(service.base_url, journal, sync_every, chance.uniform(0.0, 2.0))
            items = replay_all(journal)
            assert [item.reason for item in items if isinstance(item, sideline.live.Gap)] == ["torn"] * number
            assert isinstance(items[-1], sideline.live.Gap)
            ids = [item.id for item in items if isinstance(item, sideline.Update)]
            assert ids[: len(previous_ids)] == previous_ids
            ids, previous_ids = ids[len(previous_ids) :], ids
            # The last item may be written and not yet printed.
            assert ids[: len(taken_items)] == [number for number, _ in taken_items][: len(ids)]
            assert len(ids) <= len(taken_items) + 1
            # Half a second for a busy machine.
            assert all(at > killed_at - min(sync_every, 1.0) - 0.5 for _, at in taken_items[len(ids) :]), (seed, sync_every)


def killed_recorder(base_url: str, journal: Path, sync_every: float, seconds: float) -> tuple[list[tuple[str, float]], float]:
    """Record until so many seconds after the first item; what was taken and when, and when the recorder was killed."""
    command = [sys.executable, "-c", RECORDER, base_url, str(journal), str(sync_every)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        first = running.stdout.readline()
        killer = threading.Timer(seconds, running.kill)
        killer.start()
        lines = [first, *running.stdout]
        killed_at = time.time()
        killer.join()
    # The last line may be cut, as the process was killed.
    return [(words[0], float(words[1])) for words in (line.split() for line in lines if line.endswith("\n"))], killed_at


# The command.

COMMAND = [sys.executable, "-W", "error", "-m", "sideline", "record"]


def environment(service: Server) -> dict[str, str]:
    return {**os.environ, "SIDELINE_API_KEY": "canary-key", "SIDELINE_BROADCAST_BASE_URL": service.base_url}


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_records_until_a_signal_and_sums_up(number: signal.Signals, journal: Path) -> None:
    with server([send(numbered_events(5)), then_hold(numbered_events(5, 5))]) as service:
        command = [*COMMAND, "--schedule-id", "g1", str(journal)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(service)) as running:
            deadline = time.monotonic() + 20
            while not (journal.exists() and sum(isinstance(item, sideline.Update) for item in replay_all(journal)) == 10):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            start = time.monotonic()
            running.send_signal(number)
            out, errors = running.communicate(timeout=60)
            assert time.monotonic() - start < 20
        assert (running.returncode, errors) == (0, "")
    assert re.fullmatch(r"recorded 10 updates, \d+ bytes, 1 gap to .*game\.journal\n", out), out
    assert [item.id for item in replay_all(journal, notices=False)] == [str(n) for n in range(10)]


@posix
def test_the_command_sums_up_what_is_in_the_journal_and_not_what_waited(journal: Path) -> None:
    with server([then_hold(numbered_events(200_000))]) as service:
        command = [*COMMAND, "--schedule-id", "g1", str(journal)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(service)) as running:
            deadline = time.monotonic() + 20
            while not (journal.exists() and journal.stat().st_size > 10_000):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=60)
    updates = replay_all(journal, notices=False)
    size = sum(len(item.raw) for item in updates)
    assert 0 < len(updates) < 200_000
    assert out == f"recorded {len(updates):,} updates, {size / 1e3:.1f} kB, 0 gaps to {journal}\n" or size >= 1e6
    assert out.startswith(f"recorded {len(updates):,} updates, ")


@posix
def test_the_command_says_why_nothing_comes_and_fails(journal: Path) -> None:
    with sideline.Simulator(seed=7) as service:
        command = [*COMMAND, "--schedule-id", "no-such-game", str(journal)]
        env = {**os.environ, **service.environ}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as running:
            deadline = time.monotonic() + 20
            while len(service.requests) < 2:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            running.send_signal(signal.SIGINT)
            out, errors = running.communicate(timeout=10)
    assert (running.returncode, out.startswith("recorded 0 updates")) == (1, True)
    assert re.fullmatch(r"not connected: .*404.*\nsideline: nothing was received: .*404.*\n", errors), errors


@posix
def test_on_a_terminal_there_is_one_progress_line(journal: Path) -> None:
    import pty

    primary, secondary = pty.openpty()
    with server([ticking(0.05)]) as service:
        command = [*COMMAND, "--schedule-id", "g1", str(journal)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=secondary, env=environment(service)) as running:
            os.close(secondary)
            text = ""
            while text.count("\r") < 4:
                text += os.read(primary, 65536).decode()
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=10)
        os.close(primary)
    assert running.returncode == 0
    assert re.search(r"\r\d+ updates, [\d.]+ (bytes|kB), 0 gaps, last received \d\d:\d\d:\d\d", text), text
    assert "\n" not in text


@posix
def test_elsewhere_a_line_comes_now_and_then(journal: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sideline.cli._record._LINE_INTERVAL", 0.3)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with server([ticking(0.05)]) as service:
        for name, value in environment(service).items():
            monkeypatch.setenv(name, value)
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        assert cli.main(["record", "--schedule-id", "g1", str(journal)]) == 0
    out, errors = capsys.readouterr()
    lines = errors.splitlines()
    assert 2 <= len(lines) <= 4
    assert all(re.fullmatch(r"\d+ updates, [\d.]+ (bytes|kB), 0 gaps, last received .*", line) for line in lines), errors
    assert out.startswith("recorded ")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_an_error_of_the_command_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    unauthorized_response = b'HTTP/1.1 401 X\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n{"message":"no key"}'
    with server([lambda to: to.sendall(unauthorized_response)]) as service:
        for name, value in environment(service).items():
            monkeypatch.setenv(name, value)
        assert cli.main(["record", "--schedule-id", "g1", str(path)]) == 1
        assert "no journal" in capsys.readouterr().err
        assert cli.main(["record", "--schedule-id", "g1", str(tmp_path / "game.journal")]) == 1
        text = capsys.readouterr().err
        assert text.startswith("sideline: ") and "401" in text and "canary" not in text and text.count("\n") == 1
    assert [type(item).__name__ for item in replay_all(tmp_path / "game.journal")] == ["Disconnected", "Gap"]
    with pytest.raises(SystemExit):
        cli.main(["record", str(path)])
    for name in ("API_KEY", "USERNAME", "SECRET"):
        monkeypatch.delenv(f"SIDELINE_{name}", raising=False)
    for option, missing in (("--schedule-id", "SIDELINE_API_KEY"), ("--game-id", "SIDELINE_USERNAME")):
        assert cli.main(["record", option, "g1", str(tmp_path / "new.journal")]) == 1
        assert missing in capsys.readouterr().err
    assert not (tmp_path / "new.journal").exists(), "nothing is left behind"


def test_receive_times_are_kept_to_the_microsecond(faults: Server, journal: Path) -> None:
    before = datetime.now(UTC)
    with faults.client() as client, client.live_stats("g1").record(journal) as stream:
        items = [next(stream) for _ in range(2)]
    replayed_items = replay_all(journal)
    assert replayed_items[1].received_at == items[1].received_at
    assert before - timedelta(seconds=1) < replayed_items[1].received_at < datetime.now(UTC)
