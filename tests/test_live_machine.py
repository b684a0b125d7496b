"""Random games against the second service: each message is delivered once and in order, or covered by a gap.

`LIVE_MACHINE_RUNS=2000 pytest tests/test_live_machine.py` runs more of them; a failure names its seed.
"""

from __future__ import annotations

import json
import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from service import Service
from service.live import Live, Sent

import sideline

RUNS = int(os.environ.get("LIVE_MACHINE_RUNS", "200"))
SHARDS = 10
LIMIT = 2_000
QUICK: dict[str, Any] = {"retry_wait": 0.002, "max_wait": 0.01, "max_event_bytes": LIMIT}
END = "the end of the run"


class Reader(threading.Thread):
    """Takes the items of a stream until the run ends."""

    def __init__(self, stream: sideline.LiveStream) -> None:
        super().__init__(daemon=True)
        self.stream = stream
        self.items: list[Any] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            for item in self.stream:
                self.items.append(item)
                if isinstance(item, sideline.Update) and END in item.text:
                    return
        except BaseException as error:  # noqa: BLE001 - raised again by `finish`
            self.error = error

    def finish(self, live: Live, end: Callable[[], object]) -> list[Any]:
        """Sends the end until it arrives: a connection may be lost under it."""
        for _ in range(200):
            end()
            self.join(0.1)
            if not self.is_alive():
                break
        assert self.error is None, self.error
        assert not self.is_alive(), f"the end does not arrive; {self.items[-3:]}"
        return self.items


class Schedule:
    """The steps of a game."""

    def __init__(self, dice: random.Random, live: Live) -> None:
        self.dice = dice
        self.live = live
        self.count = 0
        self.copies: Counter[bytes] = Counter()
        self.log: list[str] = []

    def data(self, size: int = 0) -> dict[str, Any]:
        self.count += 1
        return {"n": self.count, "pad": "x" * (size or self.dice.randrange(60))}

    def play(self, steps: int) -> None:
        names = [name for name in dir(self) if name.startswith("do_")]
        weights = [12 if name == "do_numbered" else 4 if name in ("do_unnumbered", "do_cut") else 1 for name in names]
        for name in self.dice.choices(names, weights, k=steps):
            self.log.append(name)
            getattr(self, name)()

    def note(self, message: Sent) -> Sent:
        self.copies[message.payload] += 1
        return message


class Websocket(Schedule):
    def do_numbered(self) -> None:
        for _ in range(self.dice.randrange(1, 6)):
            source = self.dice.choice(["stats", "shots", None])
            self.note(self.live.send(self.data(), source=source, numbered=True))

    def do_reordered(self) -> None:
        """The later number first; the connection may be lost between the two."""
        if self.live.seq < 2:
            return  # What lies before the first number of all is unknown.
        first, second = self.live.seq + 1, self.live.seq + 2
        for seq in (second, first):
            source = {first: "stats", second: "shots"}[seq]
            text = json.dumps({"source": source, "seq": seq, "data": self.data()})
            self.note(self.live.send_text(text, seq=seq, source=source))
            if seq == second and self.dice.random() < 0.3:
                self.live.cut()

    def do_unnumbered(self) -> None:
        self.note(self.live.send(self.data(), source="clock"))

    def do_number_of_something_else(self) -> None:
        self.note(self.live.send(self.data(), source="lineup", seq=self.dice.choice([3, 3, 3, 900])))

    def do_nested_number(self) -> None:
        self.note(self.live.send(self.data() | {"play": {"seq": 2}}, source="plays"))

    def do_repeat(self) -> None:
        """The same bytes again, on the same connection."""
        if self.live.history:
            old = self.dice.choice(self.live.history[-5:])
            self.note(self.live.send_text(old.payload, source=old.source))

    def do_oversized(self) -> None:
        self.note(self.live.send(self.data(LIMIT + self.dice.randrange(9_000)), source="stats", numbered=self.dice.random() < 0.5))

    def do_cut(self) -> None:
        count = len(self.live.connections)
        self.dice.choice([self.live.cut, self.live.reset, lambda: self.live.close_with(self.dice.choice([1000, 1001, 1008, 1011, 4401]))])()
        if self.dice.random() < 0.5:
            self.live.wait_for_connections(count + 1)

    def do_violation(self) -> None:
        self.live.send_raw(self.dice.choice([b"\x83\x00", b"\x81\x01\xff", b"\x82\x7f\x7f" + b"\xff" * 7]))

    def do_restart(self) -> None:
        self.live.restart()
        self.live.cut()

    def do_refuse(self) -> None:
        self.live.refuse(self.dice.choice([400, 404, 422, 500, 503]), times=1)

    def do_resume_otherwise(self) -> None:
        self.live.resume = self.dice.choice(["exclusive", "inclusive", "ignored"])


class Events(Schedule):
    def do_numbered(self) -> None:
        for _ in range(self.dice.randrange(1, 6)):
            self.note(self.live.send_event(self.data(), id=self.dice.choice([None, str(self.count), "a\x7fb", "i" * 1100])))

    def do_oversized(self) -> None:
        self.note(self.live.send_event(self.data(LIMIT + self.dice.randrange(9_000))))

    def do_comment(self) -> None:
        self.live.send_raw(b":" + b"c" * self.dice.choice([0, 10, LIMIT * 2]) + b"\n\n", "sse")

    def do_retry(self) -> None:
        self.note(self.live.send_event(self.data(), retry=0))

    def do_half(self) -> None:
        self.live.send_raw(b"data: ha", "sse")
        self.live.cut()

    def do_cut(self) -> None:
        count = len(self.live.connections)
        self.dice.choice([self.live.cut, self.live.reset])()
        if self.dice.random() < 0.5:
            self.live.wait_for_connections(count + 1)

    def do_refuse(self) -> None:
        self.live.refuse(self.dice.choice([400, 412, 500, 503]), times=1)


def by_connection(items: list[Any]) -> list[list[Any]]:
    """The items of each connection, those before the first one left out; every connection but the first is behind a gap."""
    connections: list[list[Any]] = []
    before: Any = None
    for item in items:
        if isinstance(item, sideline.live.Connected):
            assert isinstance(before, sideline.live.Gap) or not connections, "a connection without a gap before it"
            connections.append([])
        elif connections:
            connections[-1].append(item)
        before = item
    return connections


def check(schedule: Schedule, items: list[Any], stats: Any) -> None:
    live = schedule.live
    messages: dict[bytes, Sent] = {}
    order: dict[bytes, int] = {}
    for n, message in enumerate(live.sent):
        messages.setdefault(message.payload, message)
        order.setdefault(message.payload, n)
    updates = [item for item in items if isinstance(item, sideline.Update)]
    deliveries = Counter(item.raw for item in updates if END not in item.text)
    for payload, count in deliveries.items():
        assert count <= schedule.copies[payload], f"delivered {count} times: {payload!r}"

    # On each connection nothing is left out of what was read.
    written: dict[int, list[bytes]] = {}
    for message in live.sent:
        for number in message.receivers:
            written.setdefault(number, []).append(message.payload)
    seen: set[bytes] = set()
    skip_count = 0
    connections = by_connection(items)
    # The client does not count a connection that was lost within its handshake: then the updates show which connection it is.
    is_exact = len(connections) == len(live.connections)
    numbers = iter(connection.number for connection in live.connections)
    for items_of_connection in connections:
        payloads = [item.raw for item in items_of_connection if isinstance(item, sideline.Update) and END not in item.text]
        if not payloads and not is_exact:
            continue
        number = next((number for number in numbers if is_exact or set(payloads) <= set(written.get(number, []))), None)
        assert number is not None, "more than was written to any connection"
        seen.update(payloads)
        gaps = sum(isinstance(item, sideline.live.Gap) and item.dropped == 1 for item in items_of_connection)
        skip_count += gaps
        on_wire = written.get(number, [])
        read = -1
        for payload in payloads:
            read = on_wire.index(payload, read + 1)
        for payload in on_wire[: read + 1]:
            assert payload in seen or len(payload) > LIMIT, f"connection {number}: read and not delivered: {payload[:80]!r}"
        large = sum(len(payload) > LIMIT for payload in on_wire[: read + 1])
        assert gaps >= min(large, 1) or not is_exact, "skipped without a word"
    assert all(len(item.raw) <= LIMIT for item in updates)

    # What can be resumed is complete. A restarted service cannot know what a position of its old numbers means.
    for message in live.history if live.epoch == 0 else []:
        assert message.payload in seen or len(message.payload) > LIMIT, f"not recovered: {message.payload[:80]!r}"

    # Each source is in its order.
    last: dict[str | None, int] = {}
    payloads_before: set[bytes] = set()
    for item in updates:
        if END in item.text or item.raw in payloads_before:
            continue
        payloads_before.add(item.raw)
        source = messages[item.raw].source
        # What a position of old numbers hid from the client after a restart may come late.
        assert order[item.raw] > last.get(source, -1) or messages[item.raw].epoch > 0, f"out of order: {item.text[:80]}"
        last[source] = order[item.raw]
    assert stats.updates >= len(updates)
    assert stats.gaps >= sum(isinstance(item, sideline.live.Gap) for item in items)


def run(seed: int, kind: type[Schedule]) -> Any:
    dice = random.Random(seed)
    with Service(seed=1, teams=2, games=1, practices=0, upcoming=0) as service, sideline.Client(**service.client_options()) as client:
        live = service.live
        schedule = kind(dice, live)
        is_websocket = kind is Websocket
        with client.live(token="token-0", **QUICK) if is_websocket else client.live_stats("any", **QUICK) as stream:
            reader = Reader(stream)
            reader.start()
            live.wait_for_connections(1)
            schedule.play(dice.randrange(10, 40))
            service.faults.clear()
            end = (lambda: live.send(END, source="clock")) if is_websocket else (lambda: live.send_event(END))
            items = reader.finish(live, end)
            stats = stream.stats
    try:
        check(schedule, items, stats)
    except AssertionError as failure:
        raise AssertionError(f"seed {seed}: {failure}\n{schedule.log}") from None
    return stats


@pytest.mark.parametrize("shard", [shard if shard < 4 else pytest.param(shard, marks=pytest.mark.extended) for shard in range(SHARDS)])
def test_every_message_is_delivered_once_or_covered_by_a_gap(shard: int) -> None:
    repeat_count = 0
    for n in range(shard, RUNS, SHARDS):
        repeat_count += run(n, Events if n % 4 == 3 else Websocket).repeats
    assert repeat_count > 0, "no schedule repeated anything"
