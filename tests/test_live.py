"""Live streams in Python: delivery, cancelling, closing, forks; against a server that shares no code with them."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import os
import pickle
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import sideline
from streams import HEAD, QUICK, Server, numbered_events, send, server, then_hold


def updates(items: Any, count: int) -> list[sideline.Update]:
    found_updates: list[sideline.Update] = []
    for item in items:
        if isinstance(item, sideline.Update):
            found_updates.append(item)
            if len(found_updates) == count:
                return found_updates
    return found_updates


def collect(stream: sideline.LiveStream, into: list[Any]) -> None:
    for item in stream:
        into.append(item)


@pytest.fixture
def three() -> Iterator[Server]:
    with server([then_hold(numbered_events(3))]) as service:
        yield service


def test_for_gives_updates_and_notices(three: Server) -> None:
    before = datetime.now(UTC)
    with three.client() as client, client.live_stats("g1") as stream:
        items = [item for _, item in zip(range(4), stream, strict=False)]
    connected, *rest = items
    assert isinstance(connected, sideline.live.Connected)
    assert before <= connected.at <= datetime.now(UTC)
    assert [update.to_dict() for update in rest] == [{"n": 0}, {"n": 1}, {"n": 2}]
    first = rest[0]
    assert (first.event, first.id, first.text, first.raw, first.seq, first.source) == ("message", "0", '{"n":0}', b'{"n":0}', None, None)
    assert before <= first.received_at <= datetime.now(UTC)
    assert "7 bytes" in repr(first)
    assert stream.state == "closed"
    assert three.requests[0].startswith(b"GET /broadcast/v1/stats/event-stream?schedule_id=g1&apikey=canary")


def test_async_for_reads_the_same_object(three: Server) -> None:
    async def read() -> list[object]:
        async with three.async_client() as client, client.live_stats("g1", notices=False) as stream:
            return [(await anext(stream)).to_dict()["n"] for _ in range(3)]

    assert asyncio.run(read()) == [0, 1, 2]


def test_nothing_is_connected_before_the_first_item(three: Server) -> None:
    with three.client() as client:
        stream = client.live_stats("g1")
        assert stream.state == "new"
        time.sleep(0.1)
        assert three.requests == []
        next(stream)
        assert stream.state == "connected"
        stream.close()


def test_no_secret_is_in_any_text(three: Server) -> None:
    with three.client() as client, client.live_stats("g1") as stream:
        texts = [repr(stream), *(repr(item) for _, item in zip(range(4), stream, strict=False))]
        texts.append(stream._repr_html_())
        assert re.search(r"(?s)state</th><td[^>]*>connected<.*updates</th><td[^>]*>3<.*gaps</th><td[^>]*>0<", texts[-1])
    assert "canary" not in " ".join(texts)


def test_a_lost_connection_is_disconnected_gap_connected() -> None:
    with server([send(numbered_events(2)), then_hold(numbered_events(1, 2))]) as service, service.client() as client:
        seen: list[Any] = []
        for item in client.live_stats("g1", **QUICK):
            seen.append(item)
            if isinstance(item, sideline.Update) and item.id == "2":
                break
    assert [type(item).__name__ for item in seen] == ["Connected", "Update", "Update", "Disconnected", "Gap", "Connected", "Update"]
    loss, gap = seen[3], seen[4]
    assert (loss.status, loss.attempt) == (None, 0)
    assert loss.reason and loss.at <= loss.retry_at
    assert gap.start <= loss.at <= gap.end
    assert gap.end - gap.start < timedelta(seconds=5)


def test_a_refusal_that_stays_raises_once_and_ends(three: Server) -> None:
    refusal = b'HTTP/1.1 401 X\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"message":"no key!"}'[:-1]
    with server([lambda to: to.sendall(refusal)]) as service, service.client() as client:
        stream = client.live_stats("g1")
        items: list[Any] = []
        with pytest.raises(sideline.AuthenticationError) as excinfo:
            collect(stream, items)
        assert [type(item).__name__ for item in items] == ["Disconnected", "Gap"]
        assert items[0].status == 401 and items[0].retry_at is None and items[1].end is None
        assert excinfo.value.status == 401 and "canary" not in str(excinfo.value)
        with pytest.raises(sideline.StreamClosed, match="open another"):
            list(stream)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"overflow": "drop"}, "drop_oldest"),
        ({"silence_limit": -1.0}, "silence_limit"),
        ({"silence_limit": 0.0}, "silence_limit"),
        ({"buffer": 0}, "buffer"),
        ({"retry_wait": float("nan")}, "retry_wait"),
        ({"last_event_id": "a\nb"}, "last_event_id"),
        ({"max_buffer_bytes": 0}, "max_buffer_bytes"),
    ],
)
def test_a_wrong_option_is_refused_with_the_valid_values(three: Server, option: dict[str, Any], text: str) -> None:
    with three.client() as client, pytest.raises(ValueError, match=text):
        client.live_stats("g1", **option)


def test_a_missing_key_names_its_variable() -> None:
    with sideline.Client(broadcast_base_url="http://127.0.0.1:1") as client, pytest.raises(sideline.ConfigurationError, match="SIDELINE_API_KEY"):
        list(client.live_stats("g1"))


@pytest.mark.parametrize("stream", [lambda c: c.live_stats("g1"), lambda c: c.live("g1")])
def test_a_missing_credential_is_the_first_thing_that_a_stream_reports(stream: Callable[[sideline.Client], sideline.LiveStream]) -> None:
    with (
        sideline.Client(base_url="http://127.0.0.1:1", broadcast_base_url="http://127.0.0.1:1") as client,
        pytest.raises(sideline.ConfigurationError, match="SIDELINE_"),
    ):
        next(stream(client))


EVENT_COUNT = 1_000_000


def flood(to: socket.socket) -> None:
    to.sendall(HEAD)
    for first in range(0, EVENT_COUNT, 50_000):
        to.sendall(numbered_events(50_000, first))
    to.recv(1)


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")


@needs_proc
@pytest.mark.parametrize("pause", [pytest.param(0, marks=pytest.mark.extended), 20_000], ids=["fast", "slow"])
def test_a_million_events_come_once_in_order_and_in_flat_memory(pause: int) -> None:
    with server([flood]) as service, service.client() as client, client.live_stats("g1", notices=False) as stream:
        before, peak = resident(), 0
        for n in range(EVENT_COUNT):
            assert int(next(stream).id) == n
            if pause and n % pause == 0:
                time.sleep(0.02)
                peak = max(peak, resident())
        assert stream.stats.updates == EVENT_COUNT
        assert len(service.requests) == 1
        assert max(peak, resident()) - before < 100 << 20


@needs_proc
@pytest.mark.parametrize("pause", [pytest.param(0, marks=pytest.mark.extended), 20_000], ids=["fast", "slow"])
def test_a_million_events_come_once_in_order_and_in_flat_memory_to_async_for(pause: int) -> None:
    async def read(service: Server) -> None:
        async with service.async_client() as client, client.live_stats("g1", notices=False) as stream:
            n = 0
            async for update in stream:
                assert int(update.id) == n
                n += 1
                if pause and n % pause == 0:
                    await asyncio.sleep(0.02)
                if n == EVENT_COUNT:
                    return

    with server([flood]) as service:
        before = resident()
        asyncio.run(read(service))
        assert len(service.requests) == 1
        assert resident() - before < 100 << 20


def test_ten_thousand_waits_that_time_out_lose_nothing() -> None:
    stop = threading.Event()
    sent_count = 0

    def drip(to: socket.socket) -> None:
        nonlocal sent_count
        to.sendall(HEAD)
        while not stop.is_set():
            to.sendall(numbered_events(1, sent_count))
            sent_count += 1
            time.sleep(0.004)
        to.sendall(b"data: end\n\n")
        to.recv(1)

    async def read(service: Server) -> tuple[list[int], int]:
        ids: list[int] = []
        timeouts = 0
        async with service.async_client() as client, client.live_stats("g1", notices=False) as stream:
            while True:
                try:
                    update = await asyncio.wait_for(anext(stream), 0.0002)
                except TimeoutError:
                    timeouts += 1
                    if timeouts == 10_000:
                        stop.set()
                    continue
                if update.text == "end":
                    return ids, timeouts
                ids.append(int(update.id))

    with server([drip]) as service:
        ids, timeouts = asyncio.run(read(service))
    assert timeouts >= 10_000
    assert ids == list(range(sent_count))


@pytest.mark.parametrize("way", ["close", "break", "with", "client", "task", "garbage"])
def test_every_way_to_end_a_stream_closes_its_socket_at_once(way: str) -> None:
    client_is_gone = threading.Event()

    def hold(to: socket.socket) -> None:
        to.sendall(HEAD + numbered_events(1))
        to.recv(1)
        client_is_gone.set()

    async def cancel(service: Server) -> None:
        async def read() -> None:
            async for item in service.async_client().live_stats("g1"):
                if isinstance(item, sideline.Update):
                    ready.set()

        ready = asyncio.Event()
        task = asyncio.create_task(read())
        await ready.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with server([hold]) as service:
        client = service.client()
        began = time.perf_counter()
        match way:
            case "close":
                stream = client.live_stats("g1")
                updates(iter(stream), 1)
                began = time.perf_counter()
                stream.close()
                with pytest.raises(sideline.StreamClosed, match="open another"):
                    list(stream)
            case "break":
                stream = client.live_stats("g1")
                for item in stream:
                    if isinstance(item, sideline.Update):
                        break
                began = time.perf_counter()
            case "with":
                with client.live_stats("g1") as stream:
                    updates(stream, 1)
                    began = time.perf_counter()
            case "client":
                stream = client.live_stats("g1")
                next(stream)
                client.close()
                with pytest.raises(sideline.StreamClosed):
                    list(stream)
            case "task":
                asyncio.run(cancel(service))
            case "garbage":
                stream = client.live_stats("g1")
                next(stream)
                del stream
                gc.collect()
        assert client_is_gone.wait(20)
        if way in ("close", "break", "with"):
            assert time.perf_counter() - began < 5
        client.close()


def test_a_loop_inside_with_may_be_left_and_entered_again(three: Server) -> None:
    with three.client() as client, client.live_stats("g1") as stream:
        for item in stream:
            if isinstance(item, sideline.Update):
                break
        assert [update.id for update in updates(stream, 2)] == ["1", "2"]


def test_close_ends_a_wait_in_another_thread(three: Server) -> None:
    with three.client() as client:
        stream = client.live_stats("g1")
        done: list[int] = []
        reader = threading.Thread(target=lambda: done.append(len(list(stream))))
        reader.start()
        while stream.stats.updates < 3:
            time.sleep(0.01)
        began = time.perf_counter()
        stream.close()
        reader.join(20)
        assert time.perf_counter() - began < 5
        assert done


def test_a_stream_that_has_ended_says_so_when_it_is_read_again() -> None:
    async def read_again(stream: sideline.LiveStream) -> None:
        async for _ in stream:
            pass

    with server([then_hold(numbered_events(3))]) as service, service.client() as client:
        stream = client.live_stats("g1")
        for _ in stream:
            break
        for read in (lambda: list(stream), lambda: asyncio.run(read_again(stream)), lambda: list(stream.batches())):
            with pytest.raises(sideline.StreamClosed, match="open another"):
                read()


def test_under_trio_the_error_says_what_to_do() -> None:
    trio = pytest.importorskip("trio", reason="trio is not installed")

    async def read(stream: sideline.LiveStream) -> None:
        await anext(stream)

    with server([then_hold(numbered_events(3))]) as service, service.client() as client, client.live_stats("g1") as stream:
        with pytest.raises(RuntimeError, match="asyncio"):
            trio.run(read, stream)


@pytest.mark.parametrize("method", ["anext", "async for", "batches"])
def test_the_event_loop_has_its_turn_while_items_wait(method: str) -> None:
    """A timeout of a loop that never gets its turn does not fire before all items are taken."""
    taken_count = 0

    async def take(stream: sideline.LiveStream) -> None:
        nonlocal taken_count
        match method:
            case "anext":
                while True:
                    await anext(stream)
                    taken_count += 1
            case "async for":
                async for _ in stream:
                    taken_count += 1
            case "batches":
                async for table in stream.batches(max_rows=1_000_000, max_seconds=60.0):
                    taken_count += table.num_rows

    async def read(client: sideline.AsyncClient) -> None:
        async with client.live_stats("g1", notices=False) as stream:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(take(stream), 0.2)

    with server([flood]) as service:
        asyncio.run(read(service.async_client()))
    assert taken_count < EVENT_COUNT


def test_several_event_loops_and_uvloop_one_after_the_other(three: Server) -> None:
    uvloop = pytest.importorskip("uvloop", reason="there is no uvloop for this platform")

    async def read_id(stream: sideline.LiveStream) -> str:
        return (await anext(stream)).id

    with three.client() as client, client.live_stats("g1", notices=False) as stream:
        assert asyncio.run(read_id(stream)) == "0"
        assert uvloop.run(read_id(stream)) == "1"
        assert next(stream).id == "2"


class Proactor(asyncio.SelectorEventLoop):
    """A loop that watches no descriptors, as Windows' own does not."""

    def add_reader(self, *_: Any) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("factory", [asyncio.SelectorEventLoop, Proactor])
def test_tasks_that_wait_for_one_stream_at_once_get_an_item_each(factory: Callable[[], asyncio.EventLoop]) -> None:
    go = threading.Event()

    def wait(to: socket.socket) -> None:
        to.sendall(HEAD)
        go.wait(20)
        to.sendall(numbered_events(6))
        to.recv(1)

    async def take(stream: sideline.LiveStream) -> list[int]:
        # One of them gives up, and takes nothing with it.
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(aiter(stream)), 0.05)
        iterator = aiter(stream)
        waiting = [asyncio.create_task(source.__anext__()) for source in (iterator, iterator, stream, aiter(stream))]
        await asyncio.sleep(0.05)
        waiting[2].cancel()
        go.set()
        items = [await task for task in waiting[:2] + waiting[3:]] + [await anext(iterator) for _ in range(3)]
        return sorted(item.to_dict()["n"] for item in items)

    with (
        server([wait]) as service,
        service.client() as client,
        client.live_stats("g1", notices=False) as stream,
        asyncio.Runner(loop_factory=factory) as runner,
    ):
        assert runner.run(asyncio.wait_for(take(stream), 20)) == list(range(6))


@needs_proc
def test_a_closed_stream_that_was_awaited_leaves_no_descriptor() -> None:
    def descriptors() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    async def wait(client: sideline.Client) -> list[sideline.LiveStream]:
        streams = []
        for is_awaited in [True, False] * 10:
            async with client.live_stats("g1", notices=False) as stream:
                await anext(stream)
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(stream), 0.01)
                if is_awaited:
                    waiting = asyncio.create_task(anext(stream))
                    await asyncio.sleep(0)
            if is_awaited:
                with pytest.raises(StopAsyncIteration):
                    await waiting
            streams.append(stream)
        return streams

    with server([then_hold(numbered_events(1))]) as service, service.client() as client:
        asyncio.run(wait(client))
        before = descriptors()
        streams = asyncio.run(wait(client))
        until = time.monotonic() + 5
        while descriptors() > before + 1 and time.monotonic() < until:
            time.sleep(0.01)
        assert descriptors() <= before + 1, "the inbox of a loop is two"
        assert len(streams) == 20


def test_other_tasks_of_the_loop_run_while_events_flow() -> None:
    """Also when all events have already arrived and the reader never waits: it yields after 4 ms of work."""

    async def read(service: Server) -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        async with service.async_client() as client, client.live_stats("g1", notices=False, buffer=20_000) as stream:
            while stream.stats.updates < 20_000:
                await asyncio.sleep(0.01)
            ticking = asyncio.create_task(tick())
            n = 0
            async for _ in stream:
                n += 1
                if n % 20 == 0:
                    time.sleep(0.001)  # the reader's work: 1,000 times, so at least 200 turns
                if n == 20_000:
                    break
        ticking.cancel()
        return ticks

    with server([then_hold(numbered_events(20_000))]) as service:
        assert asyncio.run(read(service)) > 100


@pytest.mark.parametrize(("overflow", "kept_ids"), [("drop_oldest", list(range(92, 100))), ("latest", [99])])
def test_a_full_buffer_drops_as_its_policy_says_and_counts(overflow: Any, kept_ids: list[int]) -> None:
    with (
        server([then_hold(numbered_events(100))]) as service,
        service.client() as client,
        client.live_stats("g1", overflow=overflow, buffer=8, notices=False) as stream,
    ):
        while stream.stats.updates < 100:
            time.sleep(0.01)
        time.sleep(0.05)
        assert stream.stats.lag > 0
        assert [int(next(stream).id) for _ in kept_ids] == kept_ids
        assert stream.stats.dropped == 100 - len(kept_ids)
        assert stream.stats.lag == 0


@pytest.mark.parametrize(("overflow", "kept_ids"), [("drop_oldest", list(range(92, 100))), ("latest", [99])])
def test_updates_dropped_by_a_full_buffer_are_a_gap_in_place_and_in_the_journal(overflow: Any, kept_ids: list[int], tmp_path: Path) -> None:
    path = tmp_path / "game.journal"
    with server([then_hold(numbered_events(100))]) as service, service.client() as client:
        with client.live_stats("g1", overflow=overflow, buffer=8).record(path) as stream:
            while stream.stats.updates < 100:
                time.sleep(0.01)
            items = [next(stream) for _ in range(2 + len(kept_ids))]
            stats = stream.stats
    connected, gap, *rest = items
    assert isinstance(connected, sideline.live.Connected)
    assert isinstance(gap, sideline.live.Gap)
    assert (gap.reason, gap.dropped, stats.dropped, stats.gaps) == ("overflow", 100 - len(kept_ids), 100 - len(kept_ids), 1)
    assert gap.end is not None
    assert connected.at <= gap.start <= gap.end <= rest[0].received_at
    assert [int(item.id) for item in rest] == kept_ids
    assert [type(item) for item in sideline.replay(path, None)] == [type(item) for item in items]


@needs_proc
def test_the_bytes_that_wait_are_bounded_whatever_their_number() -> None:
    def heavy(to: socket.socket) -> None:
        to.sendall(HEAD)
        event = b"data: " + b"x" * 1_000_000 + b"\n\n"
        while True:
            to.sendall(event)

    for overflow in ("block", "drop_oldest"):
        with server([heavy]) as service, service.client() as client:
            before = resident()
            with client.live_stats("g1", overflow=overflow, max_buffer_bytes=8 << 20, notices=False) as stream:
                until = time.monotonic() + 1.0
                while time.monotonic() < until:
                    assert resident() - before < 100 << 20
                    time.sleep(0.05)
                assert len(next(stream).raw) == 1_000_000


def test_an_outage_that_nobody_takes_is_a_few_notices() -> None:
    unavailable_response = b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"
    quick: dict[str, Any] = {"retry_wait": 0.0, "max_wait": 0.005, "buffer": 4}
    with server([lambda to: to.sendall(unavailable_response)]) as service, service.client() as client, client.live_stats("g1", **quick) as stream:
        while len(service.requests) < 300:
            time.sleep(0.01)
        first = [stream._core.take() for _ in range(12)]
    reasons = [item.reason for item in first if isinstance(item, sideline.live.Disconnected)]
    assert any(int(match[1]) > 200 for reason in reasons if (match := re.search(r"the last of (\d+) such notices", reason))), reasons


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python 3.12 warns of any fork beside threads.
def test_an_inherited_stream_is_closed_in_the_child_and_lives_on_in_the_parent(three: Server) -> None:
    with three.client() as client, client.live_stats("g1", notices=False) as stream:
        next(stream)
        pid = os.fork()
        if pid == 0:
            try:
                next(stream)
            except sideline.StreamClosed:
                state = stream.state
                stream.close()
                os._exit(0 if state == "closed" else 2)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert next(stream).id == "1"


def test_batches_are_tables_of_all_items(three: Server) -> None:
    with three.client() as client, client.live_stats("g1") as stream:
        tables = stream.batches(max_rows=3, max_seconds=0.3)
        first, second = (table for _, table in zip(range(2), tables, strict=False))
    assert first.name == "live_items"
    assert [row["kind"] for row in first.to_dicts()] == ["connected", "update", "update"]
    assert second.num_rows == 1, "what came within the time"
    assert second.to_dicts()[0]["text"] == '{"n":2}'
    assert first.schema.names == sideline.SCHEMAS["live_items"].names


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_what_holds_a_connection_or_a_state_says_what_to_pickle_instead(take: Callable[[object], object], three: Server) -> None:
    with three.client() as client, client.live_stats("g1") as stream:
        cases = {
            "LiveStream": (stream, "its items can be pickled; record it for another process, or open another stream there"),
            "Batches": (stream.batches(), "its tables can be pickled"),
            "LiveBoxScore": (sideline.LiveBoxScore(), "take its table(), or feed a new one from a journal"),
        }
        for name, (thing, instead) in cases.items():
            with pytest.raises(TypeError) as excinfo:
                take(thing)
            assert str(excinfo.value) == f"a {name} cannot be pickled or copied: {instead}"


def test_items_travel_by_pickle_and_hold_no_secret(three: Server) -> None:
    with three.client() as client, client.live_stats("g1") as stream:
        items = [next(stream), next(stream)]
    with server([lambda to: to.sendall(HEAD + b"event: whistle\nid: 7\ndata: {}\n\n")]) as service, service.client() as client:
        items += list(islice(client.live_stats("g1", notices=False, last_event_id="5"), 1))
    assert items[-1].event == "whistle"
    pickle_bytes = pickle.dumps(items)
    assert b"canary" not in pickle_bytes
    for item, other in zip(items, pickle.loads(pickle_bytes), strict=True):
        assert repr(other) == repr(item)
        if isinstance(item, sideline.Update):
            assert (other.raw, other.event, other.id, other.seq, other.source) == (item.raw, item.event, item.id, item.seq, item.source)
            assert (other.to_dict(), other.received_at) == (item.to_dict(), item.received_at)
    assert copy.deepcopy(items[1]).text == items[1].text


def test_a_wrong_name_of_a_table_costs_no_item(three: Server) -> None:
    with three.client() as client, client.live_stats("g1") as stream:
        with pytest.raises(ValueError, match='no table "items"'):
            stream.batches(table="items")  # type: ignore[arg-type]
        assert type(next(stream)) is sideline.live.Connected


def test_batches_are_awaited_too(three: Server) -> None:
    async def read() -> list[int]:
        async with three.async_client() as client, client.live_stats("g1") as stream:
            rows = []
            async for table in stream.batches(max_rows=3, max_seconds=0.3):
                rows.append(table.num_rows)
                if sum(rows) == 4:
                    break
            return rows

    assert asyncio.run(read()) == [3, 1]


def test_a_batch_that_is_cancelled_or_breaks_off_loses_nothing() -> None:
    unauthorized_response = b'HTTP/1.1 401 X\r\nContent-Type: application/json\r\nContent-Length: 19\r\nConnection: close\r\n\r\n{"message":"no key"}'

    async def read() -> tuple[list[Any], type[BaseException] | None]:
        texts: list[Any] = []
        async with service.async_client() as client, client.live_stats("g", retry_wait=0.01, notices=False) as stream:
            batches = stream.batches(max_rows=10, max_seconds=30)
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(batches), 0.1)
            resume.set()
            try:
                async for table in batches:
                    texts.append([row["text"] for row in table.to_dicts()])
            except sideline.ApiError as error:
                return texts, type(error)
        return texts, None

    resume = threading.Event()

    def slowly(to: socket.socket) -> None:
        to.sendall(HEAD + numbered_events(3))
        resume.wait(10)
        to.sendall(numbered_events(12, 3))

    with server([slowly, lambda to: to.sendall(unauthorized_response)]) as service:
        texts, error = asyncio.run(read())
    assert [text for batch in texts for text in batch] == [f'{{"n":{n}}}' for n in range(15)]
    assert [len(batch) for batch in texts] == [10, 5]
    assert error is sideline.AuthenticationError
    resume.clear()
    with server([send(numbered_events(5)), lambda to: to.sendall(unauthorized_response)]) as service, service.client() as client:
        batches = client.live_stats("g", retry_wait=0.01, notices=False).batches(max_rows=10, max_seconds=30)
        assert next(batches).num_rows == 5
        with pytest.raises(sideline.AuthenticationError):
            next(batches)
        with pytest.raises(StopIteration):
            next(batches)


def test_stats_messages_become_rows() -> None:
    message = {
        "type": "stats",
        "data": {
            "occurred_at": 1700000000000,
            "team_id": 1,
            "player_id": "11",
            "stats": {"FGA": 5.0, "PTS": 7.0},
            "classification": "TWO_POINT_MAKE",
            "version": 100,
        },
    }
    lines = [message, {"type": "clock"}, "ping"]
    data = b"".join(b"data: %s\n\n" % json.dumps(line).encode() for line in lines)
    with server([then_hold(data)]) as service, service.client() as client, client.live_stats("g1") as stream:
        table = next(iter(stream.batches(max_rows=4, max_seconds=5, table="stat_updates")))
    at = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    common = {"occurred_at": at, "team_id": 1, "player_id": 11, "classification": "TWO_POINT_MAKE", "version": 100, "seq": None, "source": None}
    assert table.to_dicts() == [{**common, "stat": "FGA", "value": 5.0}, {**common, "stat": "PTS", "value": 7.0}]


def test_a_message_that_is_no_json_is_a_decode_error_with_its_text_at_hand() -> None:
    with server([then_hold(b"data: {oops\n\n")]) as service, service.client() as client, client.live_stats("g1", notices=False) as stream:
        update = next(stream)
        with pytest.raises(sideline.DecodeError):
            update.to_dict()
        assert update.text == "{oops"


def test_no_thread_and_no_descriptor_is_left_behind_by_many_streams() -> None:
    with server([then_hold(numbered_events(1))]) as service, service.client() as client:

        def use() -> None:
            for item in client.live_stats("g1"):
                if isinstance(item, sideline.Update):
                    break

        def count_descriptors_and_threads() -> tuple[int, int]:
            return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

        if not os.path.exists("/proc/self/fd"):
            pytest.skip("descriptors are counted in /proc")
        for _ in range(5):
            use()
        settle = time.monotonic() + 5
        before = count_descriptors_and_threads()
        for _ in range(50):
            use()
        while count_descriptors_and_threads()[0] > before[0] + 5 and time.monotonic() < settle:
            time.sleep(0.05)
        # The server in this process gives up its side of a connection a little later than the client.
        assert count_descriptors_and_threads()[0] <= before[0] + 5
        assert count_descriptors_and_threads()[1] <= before[1] + 5
