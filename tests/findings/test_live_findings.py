"""Findings about live streams above the wire: the desired behaviour, and marks where today's code lacks it."""

from __future__ import annotations

import inspect
import json
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from journal_frames import Part, parts_of
from live_fakes import Answer, Connection, by_player, fake, take, updates

import sideline

ROOT = Path(__file__).parents[2]
QUICK: dict[str, Any] = {"retry_wait": 0.05, "max_wait": 0.2}

pytestmark = pytest.mark.timeout(60)


def odd(value: Any, name: str) -> Any:
    return pytest.param(value, id=name)


# 1. One odd row.

UNREADABLE = {
    "a text as a value": {"id": 8, "stats": {"PTS": "x"}},
    "an object as a value": {"id": 8, "stats": {"PTS": {"value": 3}}},
    "an array as a value": {"id": 8, "stats": {"LINEUP": [1, 2]}},
    "true as a value": {"id": 8, "stats": {"PTS": 1, "INJURED": True}},
    "a null id": {"id": None, "stats": {"PTS": 1}},
    "a text as an id": {"id": "abc", "stats": {"PTS": 1}},
    "a null row": None,
}
"""Rows that REST refuses with their path."""
WITHOUT_STATS = {"null stats": {"id": 8, "stats": None}, "no stats": {"id": 8}}
"""Rows that REST reads without values."""
READABLE = {"a number as text": {"id": 8, "stats": {"PTS": "3"}}, "a version as text": {"id": 8, "version": "1.0", "stats": {"PTS": 1}}}


def snapshot(points: int, *rows: Any) -> dict[str, Any]:
    """A snapshot of both streams and of REST, with two usual rows and others."""
    details = {"id": 7, "firstname": "a", "lastname": "b"}
    valid_rows = [{"id": 0, "version": points, "stats": {"PTS": points}}, {"id": 7, "player_details": details, "version": points, "stats": {"PTS": points}}]
    return {"home_team_id": 1, "away_team_id": 2, "teams": [{"id": 1, "name": "A", "player_stats": [*valid_rows, *rows]}]}


def after_snapshots(*snapshots: dict[str, Any]) -> sideline.LiveBoxScore:
    """The box score after the snapshots of an event stream."""
    score = sideline.LiveBoxScore()
    with fake(events(*snapshots)) as service, service.client() as client:
        items = take(client.live_stats("g1", **QUICK), 5, is_end)
    assert len(updates(items)) == len(snapshots) + 1
    score.feed_all(items)
    return score


def events(*documents: Any) -> Callable[[Connection], None]:
    def stream(connection: Connection) -> None:
        connection.begin_events()
        for document in (*documents, "end"):
            connection.event(document)
        connection.hold()

    return stream


def is_end(item: Any) -> bool:
    return isinstance(item, sideline.Update) and '"end"' in item.text


def rest_rows(*rows: Any) -> dict[int, Any]:
    payload = sideline.Payload.from_bytes("stats", json.dumps(snapshot(7, *rows)).encode(), session_id="s")
    return {row["player_id"]: row["PTS"] for row in payload.table("box_score").to_dicts()}


@pytest.mark.parametrize("row", (READABLE | UNREADABLE | WITHOUT_STATS).values(), ids=READABLE | UNREADABLE | WITHOUT_STATS)
def test_an_odd_row_of_a_snapshot_costs_only_itself(row: Any) -> None:
    rows = by_player(after_snapshots(*(snapshot(points, row) for points in range(1, 8))))
    assert (rows.get(0), rows.get(7)) == (7, 7)


@pytest.mark.parametrize("row", (READABLE | WITHOUT_STATS).values(), ids=READABLE | WITHOUT_STATS)
def test_a_row_that_rest_reads_is_read_live(row: Any) -> None:
    assert by_player(after_snapshots(snapshot(7, row))) == rest_rows(row)


@pytest.mark.parametrize("row", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_row_is_counted_and_named_with_the_path_of_rest(row: Any) -> None:
    with pytest.raises(sideline.DecodeError) as excinfo:
        rest_rows(row)
    score = after_snapshots(snapshot(7, row))
    problems = [problem.path for problem in score.problems]
    assert (score.unreadable, problems) == (1, [excinfo.value.path])


def test_the_page_shows_the_rows_beside_unreadable_ones() -> None:
    states = page_states(
        events(*(snapshot(points, UNREADABLE["a null id"]) for points in range(1, 8))), lambda state: state["updates"] == 8 and state["teams"] != []
    )
    assert [len(team["rows"]) for team in states[-1]["teams"]] == [1, 0]


def test_the_page_counts_unreadable_rows() -> None:
    [*_, state] = page_states(events(snapshot(7, UNREADABLE["a null id"])), lambda state: state["updates"] == 2)
    assert "unreadable" in json.dumps(state)


def test_the_terminal_counts_unreadable_rows(capsys: pytest.CaptureFixture[str]) -> None:
    with fake(events(snapshot(7, UNREADABLE["a null id"]))) as service, service.client() as client:
        stream = client.live_stats("g1", **QUICK)
        timer = threading.Timer(0.5, stream.close)
        timer.start()
        stream.display(every=0.1)
        timer.join()
    output = capsys.readouterr().out
    assert "2 updates" in output
    assert re.search(r"\b1 rows? unreadable", output)


def page_states(stream: Callable[[Connection], None], until: Callable[[dict[str, Any]], bool], seconds: float = 5.0, **rest: Any) -> list[dict[str, Any]]:
    """The states of the page of a stream, up to the first for which `until` holds."""
    states: list[dict[str, Any]] = []
    with fake(stream, **rest) as service, service.client() as client, open_stream(client, is_game="rest" in rest) as live, live.serve() as page:
        port = int(page.url.rstrip("/").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection, connection.makefile("rb") as lines, suppress(TimeoutError):
            connection.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            for line in lines:
                if line.startswith(b"data: "):
                    states.append((states[-1] if states else {}) | json.loads(line[6:]))
                    if until(states[-1]):
                        break
    return states


def open_stream(client: sideline.Client, *, is_game: bool) -> sideline.LiveStream:
    return client.live("g1", **QUICK) if is_game else client.live_stats("g1", **QUICK)


# 2 and 3. Recovery.

LINES = [{"pid": "7", "tid": "1", "totalStats": {"PTS": 10}}]


def catch_up(*lines: dict[str, Any], **parts: Any) -> Answer:
    return 200, json.dumps({"stats": [*LINES, *lines], "details": [], **parts}).encode()


def with_a_lost_message(connection: Connection) -> None:
    """Player 7 has 8 points; the message of the tenth is lost in a cut, and player 9 alone scores later."""
    connection.begin_messages()
    if connection.number == 1:
        connection.stats(7, 1, PTS=8)
        return
    points = 0
    while True:
        points += 1
        connection.stats(9, 10 + points, PTS=points)
        time.sleep(0.05)


def recovered(rest: Callable[[str], Answer | None], seconds: float, **options: Any) -> tuple[sideline.LiveBoxScore, list[Any]]:
    """Box score and items after a gap: when the lost value is there, a gap is final, or so many seconds have passed."""
    score = sideline.LiveBoxScore()

    def is_settled(item: Any) -> bool:
        score.feed(item)
        return by_player(score).get(7) == 10 or (isinstance(item, sideline.live.Gap) and item.is_final)

    with fake(with_a_lost_message, rest) as service, service.client(**options) as client:
        items = take(client.live("g1", **QUICK), seconds, is_settled)
    assert any(isinstance(item, sideline.live.Gap) for item in items)
    return score, items


def test_a_lost_value_is_recovered() -> None:
    score, _ = recovered(lambda _: catch_up(), 10)
    assert by_player(score)[7] == 10


ODD_LINES = {
    "a text as a value": {"pid": "8", "tid": "1", "totalStats": {"PTS": "x"}},
    "true as a value": {"pid": "8", "tid": "1", "totalStats": {"PTS": True}},
    "a text as an id": {"pid": "abc", "tid": "1", "totalStats": {"PTS": 1}},
    "no values": {"pid": "8", "tid": "1"},
}


@pytest.mark.parametrize("line", ODD_LINES.values(), ids=ODD_LINES)
def test_an_odd_line_of_a_recovery_costs_only_itself(line: dict[str, Any]) -> None:
    score, _ = recovered(lambda _: catch_up(line), 3)
    assert by_player(score)[7] == 10


def test_a_gap_is_not_recovered_by_a_response_with_an_unreadable_line() -> None:
    with fake(with_a_lost_message, lambda _: catch_up(ODD_LINES["a text as a value"])) as service, service.client() as client:
        stream = client.live("g1", **QUICK)
        items = take(stream, 1.5, lambda item: isinstance(item, sideline.live.Recovered))
    assert not any(isinstance(item, sideline.live.Recovered) for item in items)
    assert len(updates(items)) > 1


def pauses(stream: Callable[[Connection], None], seconds: float, consumer: float = 0.0, **options: Any) -> list[float]:
    """How long a reader of a stream waited for each update, the last wait included, while REST hangs."""
    times = []
    with fake(stream, lambda _: None) as service, service.client() as client:
        live = client.live("g1", **QUICK, **options)
        timer = threading.Timer(seconds, live.close)
        timer.start()
        for item in live:
            if isinstance(item, sideline.Update):
                times.append(time.monotonic())
                time.sleep(consumer)
        timer.join()
        times.append(time.monotonic())
    return [later - earlier for earlier, later in zip(times, times[1:], strict=False)]


def ticking(connection: Connection, cut_after: Callable[[int], float]) -> None:
    connection.begin_messages()
    end = time.monotonic() + cut_after(connection.number)
    number = 0
    while time.monotonic() < end:
        number += 1
        connection.message(source="clock", i=number)
        time.sleep(0.02)


@pytest.mark.parametrize(
    "cut_after",
    [
        odd(lambda number: 0.5 if number == 1 else 60.0, "one cut"),
        odd(lambda number: 0.6, "a cut every 0.6 s"),
    ],
)
def test_a_stream_goes_on_while_its_recovery_waits_for_rest(cut_after: Callable[[int], float]) -> None:
    assert max(pauses(lambda connection: ticking(connection, cut_after), 3.0)) < 1.5


def test_a_slow_reader_gets_updates_while_recovery_waits_for_rest() -> None:
    def flood(connection: Connection) -> None:
        connection.begin_messages()
        while True:
            for _ in range(20):
                connection.message(source="clock")
            time.sleep(0.02)

    assert max(pauses(flood, 3.0, consumer=0.01, overflow="drop_oldest", buffer=50)) < 1.5


FIRST: dict[str, Answer | None] = {
    "503": (503, b"{}"),
    "429": (429, b"{}"),
    "a hang": None,
    "a cut": (0, b""),
    "a body without data": (200, b'{"stats": [], "details": []}'),
    "an error document": (200, b'{"message": "Internal Server Error"}'),
}


@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_a_gap_is_requested_again_after_a_failed_attempt(first: Answer | None) -> None:
    responses = iter([first])
    score, _ = recovered(lambda _: next(responses, catch_up()), 6, timeout=1.0)
    assert by_player(score)[7] == 10


def test_right_stats_without_details_are_applied() -> None:
    score, _ = recovered(lambda _: (200, json.dumps({"stats": LINES}).encode()), 3)
    assert by_player(score)[7] == 10


def test_a_gap_is_not_final_as_long_as_it_is_tried_again() -> None:
    with fake(with_a_lost_message, lambda _: (503, b"{}")) as service, service.client() as client:
        items = take(client.live("g1", **QUICK), 1.5, lambda item: isinstance(item, sideline.live.Gap) and item.is_final)
    assert [item.reason for item in items if isinstance(item, sideline.live.Gap) and item.is_final] == []


# 4. Batches.


def batches_around_an_odd_value() -> tuple[int, list[Exception], Any]:
    """The rows of `stat_updates`, the errors on the way, and the counters, for 40 messages of which the 17th is odd."""

    def stream(connection: Connection) -> None:
        connection.begin_messages()
        for number in range(1, 41):
            connection.stats(2, number, PTS="n/a" if number == 17 else number)
        connection.hold()

    rows, errors = 0, []
    with fake(stream) as service, service.client() as client, client.live("g1", **QUICK) as live:
        tables = iter(live.batches(max_rows=10, max_seconds=0.3, table="stat_updates"))
        for _ in range(5):
            try:
                rows += next(tables).num_rows
            except sideline.DecodeError as error:
                errors.append(error)
            if live.stats.updates == 40 and rows >= 39:
                break
        return rows, errors, live.stats


def test_batches_do_not_raise_for_a_message() -> None:
    assert batches_around_an_odd_value()[1] == []


def test_batches_have_every_other_row() -> None:
    assert batches_around_an_odd_value()[0] == 39


def test_batches_count_the_rows_that_are_left_out() -> None:
    assert batches_around_an_odd_value()[2].unreadable == 1


def test_batches_log_a_row_that_is_left_out_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "sideline"):
        batches_around_an_odd_value()
    assert [record.levelname for record in caplog.records if "stats.PTS" in record.getMessage()] == ["WARNING"]


# 5. Two readers of numbers.

TEXTS = ["1e5", "-0", "1e-400", "1.", "+1", "1e400", "1e99999999999", "0." + "1" * 400, "1" * 400, " 1", "1 ", " 1 ", "1\n", "\t7 ", "01"]


@pytest.mark.parametrize("text", TEXTS, ids=[repr(text[:15]) for text in TEXTS])
def test_rest_and_the_live_box_score_read_a_number_alike(text: str) -> None:
    row = {"id": 8, "stats": {"PTS": text}}
    try:
        expected = rest_rows(row).get(8)
    except sideline.DecodeError:
        expected = None
    score = sideline.LiveBoxScore()
    with fake(with_message_of(text)) as service, service.client() as client:
        items = take(client.live("g1", **QUICK), 5, is_end)
    score.feed_all(items)
    try:
        live: Any = by_player(score).get(8)
    except sideline.DecodeError as error:
        live = error
    assert live == expected


def with_message_of(value: Any) -> Callable[[Connection], None]:
    def stream(connection: Connection) -> None:
        connection.begin_messages()
        connection.stats(5, 1, PTS=10)
        connection.stats(8, 1, PTS=value)
        connection.message(source="clock", data="end")
        connection.hold()

    return stream


# 6. The simulation.


def rust(folder: str) -> dict[str, str]:
    """Rust files below a folder of the source, without their unit tests."""
    paths = [path for path in sorted((ROOT / folder).rglob("*.rs")) if not re.search("tests|fuzz", path.stem)]
    files = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    assert files
    return {name: text.partition("#[cfg(test)]\nmod tests")[0] for name, text in files.items()}


@pytest.mark.source
def test_every_select_of_the_streams_is_biased() -> None:
    random = [name for name, text in rust("src/live").items() if re.search(r"select!\s*\{(?!\s*biased;)", text)]
    assert random == []


@pytest.mark.source
def test_the_journal_waits_on_the_simulated_clock() -> None:
    assert [name for name, text in rust("src/live").items() if re.search(r"\b(Condvar|std::time::\{?.*\bInstant)\b", text)] == []


SIMULATION_TERMS = {
    "recovery": r"recover_pause: Some|RecoverOption|recover: ",
    "box scores": r"\bBoxScore\b",
    "the journal": r"\b[Jj]ournal\b|\bRecorder\b",
    "lateness": r"fail\((format!\()?\"(late|lag)",
}


@pytest.mark.source
@pytest.mark.parametrize("feature", SIMULATION_TERMS)
def test_the_simulation_has(feature: str) -> None:
    assert [name for name, text in rust("src/simulation").items() if re.search(SIMULATION_TERMS[feature], text)] != []


# 7. Journals with lost and copied frames.


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal of several frames with 900 numbered updates."""
    path = tmp_path_factory.mktemp("journal") / "game.journal"
    padding = "".join(f"{number:x}" for number in range(350, 700))

    def stream(connection: Connection) -> None:
        connection.begin_events()
        connection.send(b"".join(b'data: {"n":%d,"x":"%d%s"}\n\n' % (n, n * 7919, padding.encode()) for n in range(900)))
        connection.event("end")
        connection.hold()

    with fake(stream) as service, service.client() as client:
        take(client.live_stats("g1", **QUICK).record(path), 10, is_end)
    data = path.read_bytes()
    before, parts, after = parts_of(data)
    assert before + b"".join(part.data for part in parts) + after == data
    assert [number for part in parts for number in part.numbers] == list(range(900))
    assert len(parts) >= 4
    return data


def replay_bytes(path: Path, data: bytes) -> tuple[list[int], list[str]]:
    """The numbers and gaps of a journal of these bytes."""
    path.write_bytes(data)
    items = list(sideline.replay(path, None))
    numbers = [json.loads(item.text)["n"] for item in updates(items) if not is_end(item)]
    return numbers, [item.reason for item in items if isinstance(item, sideline.live.Gap)]


def remove_part(index: int) -> Callable[[list[Part]], list[Part]]:
    return lambda parts: [part for part in parts if part is not parts[index]]


PART_REMOVALS = {"first": remove_part(0), "middle": remove_part(1), "last": remove_part(-1)}


def test_a_whole_journal_has_every_update_and_no_gap(journal: bytes, tmp_path: Path) -> None:
    assert replay_bytes(tmp_path / "game.journal", journal) == (list(range(900)), [])


@pytest.mark.parametrize("remove", PART_REMOVALS.values(), ids=PART_REMOVALS)
def test_a_lost_frame_of_a_journal_is_one_gap(remove: Callable[[list[Part]], list[Part]], journal: bytes, tmp_path: Path) -> None:
    before, parts, after = parts_of(journal)
    parts_left = remove(parts)
    numbers, gaps = replay_bytes(tmp_path / "game.journal", before + b"".join(part.data for part in parts_left) + after)
    assert (numbers, gaps) == ([number for part in parts_left for number in part.numbers], ["damaged"])


@pytest.mark.parametrize("place", [0, 2, -1])
def test_a_copied_frame_of_a_journal_is_one_gap_and_no_update_twice(place: int, journal: bytes, tmp_path: Path) -> None:
    before, parts, after = parts_of(journal)
    parts_with_copy = [*parts]
    parts_with_copy.insert(place if place >= 0 else len(parts), parts[1])
    numbers, gaps = replay_bytes(tmp_path / "game.journal", before + b"".join(part.data for part in parts_with_copy) + after)
    assert (sorted(numbers), gaps) == (list(range(900)), ["damaged"])


def test_swapped_frames_of_a_journal_are_one_gap(journal: bytes, tmp_path: Path) -> None:
    before, parts, after = parts_of(journal)
    parts[1], parts[2] = parts[2], parts[1]
    numbers, gaps = replay_bytes(tmp_path / "game.journal", before + b"".join(part.data for part in parts) + after)
    assert gaps == ["damaged"]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("index", [0, 1, -1], ids=["first", "middle", "last"])
def test_a_changed_frame_of_a_journal_is_one_gap(index: int, journal: bytes, tmp_path: Path) -> None:
    before, parts, after = parts_of(journal)
    expected = [number for part in remove_part(index)(parts) for number in part.numbers]
    data = bytearray(parts[index].data)
    data[-100] ^= 0xFF
    parts[index].data = bytes(data)
    assert replay_bytes(tmp_path / "game.journal", before + b"".join(part.data for part in parts) + after) == (expected, ["damaged"])


def test_a_torn_journal_ends_with_a_gap(journal: bytes, tmp_path: Path) -> None:
    numbers, gaps = replay_bytes(tmp_path / "game.journal", journal[:-10])
    assert numbers == list(range(len(numbers)))
    assert gaps == ["torn"]


# 8. Delivery stamps.


def send_times(connection: Connection) -> None:
    """Resumes with the last message, and stamps each delivery; it cuts two connections."""
    connection.begin_messages()
    for number in range(int(connection.query.get("last_seq", ["1"])[0]), min(connection.number * 100, 300) + 1):
        connection.message(source="details", seq=number, sent_at=time.time_ns(), data={"n": number})
    if connection.number >= 3:
        connection.message(source="clock", data="end")
        connection.hold()


def stamped_items() -> list[Any]:
    with fake(send_times) as service, service.client() as client:
        return take(client.live("g1", recover="off", **QUICK), 10, is_end)


def test_a_stamp_of_the_delivery_does_not_make_a_message_new() -> None:
    assert [item.to_dict()["data"]["n"] for item in updates(stamped_items())[:-1]] == list(range(1, 301))


def test_a_stamp_of_the_delivery_is_no_evidence_of_a_restarted_counter() -> None:
    assert "restarted" not in [item.reason for item in stamped_items() if isinstance(item, sideline.live.Gap)]


# 9. Waits and positions.


@pytest.mark.parametrize("method", ["live", "live_stats"])
@pytest.mark.parametrize("client", [sideline.Client, sideline.AsyncClient])
def test_waits_after_failed_attempts_grow_from_5_to_10_seconds(client: type, method: str) -> None:
    parameters = inspect.signature(getattr(client, method)).parameters
    assert (parameters["retry_wait"].default, parameters["max_wait"].default) == (5.0, 10.0)


@pytest.mark.parametrize("status", [503, 400, 404, 410])
def test_one_refusal_at_a_reconnect_keeps_the_position(status: int) -> None:
    def stream(connection: Connection) -> None:
        if connection.number == 2:
            connection.send(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
            return
        connection.begin_events()
        for number in range(int(connection.last_event_id or -1) + 1, 500 if connection.number == 1 else 600):
            connection.event({"n": number}, id=str(number))
        if connection.number > 2:
            connection.event("end")
            connection.hold()

    with fake(stream) as service, service.client() as client:
        items = take(client.live_stats("g1", recover="off", **QUICK), 10, is_end)
    assert [item.to_dict()["n"] for item in updates(items)[:-1]] == list(range(600))


# 10. Clocks of a replay, and a refusal whose body never ends.

STEPPING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
long step_seconds = 0;
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*original)(clockid_t, struct timespec *);
    if (!original) original = dlsym(RTLD_NEXT, "clock_gettime");
    int result = original(id, now);
    if (id == CLOCK_REALTIME) now->tv_sec += step_seconds;
    return result;
}
"""
RECORDING = """
import ctypes, os, sys, sideline
step = ctypes.c_long.in_dll(ctypes.CDLL(os.environ["LD_PRELOAD"]), "step_seconds")
client = sideline.Client(api_key="canary-key", broadcast_base_url=sys.argv[1])
with client.live_stats("g1").record(sys.argv[2]) as stream:
    times = []
    for item in stream:
        if isinstance(item, sideline.Update):
            times.append(item.received_at)
            step.value = 3600
        if len(times) == 2:
            break
print((times[1] - times[0]).total_seconds())
"""


def slow_pair(connection: Connection) -> None:
    connection.begin_events()
    connection.event({"n": 0})
    time.sleep(0.3)
    connection.event({"n": 1})
    connection.hold()


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="steps the clock by a preloaded C library: needs Linux and cc")
def test_a_replay_does_not_wait_for_a_step_of_the_wall_clock(tmp_path: Path) -> None:
    library, path = tmp_path / "stepping.so", tmp_path / "game.journal"
    subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", str(library), "-ldl"], input=STEPPING.encode(), check=True, timeout=30)
    with fake(slow_pair) as service:
        command = [sys.executable, "-c", RECORDING, service.base_url, str(path)]
        done = subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(library)}, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    if float(done.stdout) < 3600:
        pytest.fail("the clock made no step")
    assert len(updates(take(sideline.replay(path), 3))) == 2


def test_a_replay_waits_at_most_a_second_between_two_recordings(tmp_path: Path) -> None:
    path = tmp_path / "game.journal"
    for number in range(2):
        with fake(events({"n": number})) as service, service.client() as client:
            take(client.live_stats("g1", **QUICK).record(path), 5, is_end)
        time.sleep(3.5 * (1 - number))
    assert len(updates(take(sideline.replay(path), 2.5))) == 4


@pytest.mark.parametrize("is_silent", [True, False], ids=["silent", "trickling"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_whose_body_never_ends_ends_the_stream(status: int, is_silent: bool) -> None:
    def stream(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n{" % status)
        while not is_silent:
            connection.send(b" ")
            time.sleep(0.05)
        connection.hold()

    error: Exception | None = None
    with fake(stream) as service, service.client() as client:
        try:
            take(client.live_stats("g1", silence_limit=0.5, **QUICK), 2.5)
        except sideline.ApiError as refusal:
            error = refusal
    assert getattr(error, "status", None) == status


# 11. Other event loops.


def test_a_rest_call_without_asyncio_raises_the_error_of_streams() -> None:
    """No event loop of asyncio runs under trio either."""
    client = sideline.AsyncClient(username="user", secret="canary-secret", base_url="http://127.0.0.1:9")
    with pytest.raises(RuntimeError) as streams:
        client.live(token="canary-token").__anext__().send(None)
    assert "under trio" in str(streams.value)
    with pytest.raises(RuntimeError) as rest:
        client.teams().send(None)
    assert "under trio" in str(rest.value)


# 12. What the page says.


def test_a_recovered_gap_is_not_open() -> None:
    with fake(with_a_lost_message, lambda _: catch_up()) as service, service.client() as client:
        stream = client.live("g1", **QUICK)
        items = take(stream, 6, lambda item: isinstance(item, sideline.live.Recovered))
        stats = stream.stats
    assert isinstance(items[-1], sideline.live.Recovered)
    assert stats.open_gaps == 0


def test_the_page_shows_no_gap_after_all_were_recovered() -> None:
    states = page_states(
        with_a_lost_message,
        lambda state: any(notice["kind"] == "recovered" for notice in state["notices"]),
        seconds=6,
        rest=lambda _: catch_up(),
    )
    state = states[-1]
    assert [notice for notice in state["notices"] if notice["kind"] == "recovered"]
    assert state["open_gaps"] == 0


def test_a_stream_that_never_delivers_within_its_silence_limit_names_the_option() -> None:
    def send_buffered(connection: Connection) -> None:
        connection.begin_events()
        time.sleep(0.6)
        connection.event({"n": 0})

    with fake(send_buffered) as service, service.client() as client:
        items = take(client.live_stats("g1", silence_limit=0.3, recover="off", **QUICK), 2.0)
    reasons = [item.reason for item in items if isinstance(item, sideline.live.Disconnected)]
    assert len(reasons) >= 3
    assert any("silence_limit" in reason for reason in reasons)
