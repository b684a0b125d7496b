"""Each class of the extension, used by 16 threads at once: on a free-threaded Python nothing else keeps them apart.

What the threads get is compared with what one thread got before. tests/test_processes.py has forks, src/live/model.rs the interleavings.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sideline

pytestmark = pytest.mark.timeout(120)

THREADS, ROUNDS = 16, 25


def in_threads(work: Callable[[int], Any], rounds: int = ROUNDS) -> list[Any]:
    """What `work` returned in each round of each thread; they start together, and change often."""
    barrier = threading.Barrier(THREADS)
    results: list[Any] = []
    errors: list[BaseException] = []

    def run(thread: int) -> None:
        barrier.wait()
        try:
            for number in range(rounds):
                results.append(work(thread * rounds + number))
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    if errors:
        raise errors[0]
    assert len(results) == THREADS * rounds
    return results


def check(use: Callable[[], Any], rounds: int = ROUNDS) -> None:
    expected = use()
    assert all(result == expected for result in in_threads(lambda _: use(), rounds))


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded Python")
def test_the_extension_does_not_take_the_lock() -> None:
    assert not sys._is_gil_enabled()


def test_one_client(client: sideline.Client, service: sideline.Simulator, session_id: str) -> None:
    core = client._core
    check(lambda: client.stats(session_id).to_dict(), rounds=5)
    check(lambda: (core.base_url, core.sport, repr(client), core.settings(), core.proxy(), core.username))
    games = [game["event_id"] for game in service.games[:16]]
    expected = {game: client.game(game).to_dict() for game in games}
    for game, payload in in_threads(lambda number: (games[number % 16], client.game(games[number % 16])), rounds=5):
        assert payload.to_dict() == expected[game]
    assert client.drift().num_rows == 0


def test_one_client_that_is_closed_meanwhile(service: sideline.Simulator, session_id: str) -> None:
    client = service.client()

    def work(number: int) -> Any:
        if number == THREADS * 2 + 1:
            client.close()
        try:
            return client.stats(session_id).status
        except sideline.SidelineError as error:
            return type(error).__name__

    assert set(in_threads(work, rounds=4)) == {200, "SidelineError"}


def test_batches_of_one_client(client: sideline.Client, service: sideline.Simulator) -> None:
    sessions = [client.game(game["event_id"]).to_dict()["results"][0]["id"] for game in service.games[:6]]
    expected = client.stats(sessions).table("box_score").to_dicts()

    def work(_: int) -> Any:
        batch = client.stats(sessions)
        return batch.table("box_score").to_dicts(), batch.coverage.to_dicts()[0]["status"], batch.complete

    assert in_threads(work, rounds=2) == [(expected, "fetched", True)] * (THREADS * 2)


def test_an_event_loop_in_each_thread(service: sideline.Simulator, client: sideline.Client, session_id: str) -> None:
    expected = client.stats(session_id).to_dict()

    async def work() -> Any:
        async with service.async_client() as async_client:
            payloads = await asyncio.gather(*(async_client.stats(session_id) for _ in range(5)))
            return [payload.to_dict() for payload in payloads]

    assert in_threads(lambda _: asyncio.run(work()), rounds=2) == [[expected] * 5] * (THREADS * 2)


def test_one_payload(client: sideline.Client, session_id: str) -> None:
    def fresh() -> sideline.Payload:
        return client.stats_details(session_id)

    plain = fresh().to_dict()
    for _ in range(5):
        # Each time the dict is made by whichever thread comes first.
        payload = fresh()
        assert all(result == plain for result in in_threads(lambda _, payload=payload: payload.to_dict(), rounds=2))
    payload = fresh()
    check(lambda: (payload["teams"][:1], len(payload), list(payload), "teams" in payload, bool(payload), payload.get("no")))
    check(lambda: (payload.table().to_dicts()[:5], payload.tables, payload.unknown_fields, payload.headers, payload.url))
    check(lambda: pickle.loads(pickle.dumps(payload)).raw == payload.raw)
    check(lambda: (repr(payload), payload._repr_html_()), rounds=5)


def test_the_elements_of_a_body_are_each_taken_once(client: sideline.Client) -> None:
    payload = client.schedule("2026-11-01", "2027-04-01")
    expected = sorted(payload._elements("games") or ())
    elements = payload._elements("games")
    assert elements is not None
    elements_of_threads = [element for part in in_threads(lambda _: list(elements), rounds=1) for element in part]
    assert sorted(elements_of_threads) == expected
    assert len(expected) > THREADS


def test_bodies_read_at_once_share_their_caches_of_keys(client: sideline.Client, service: sideline.Simulator) -> None:
    games = [client.game(game["event_id"]) for game in service.games[:8]]
    bodies = [game.raw for game in games]
    expected = [game.to_dict() for game in games]

    def work(number: int) -> Any:
        return number % 8, sideline.Payload.from_bytes("game", bodies[number % 8]).to_dict()

    assert all(result == expected[place] for place, result in in_threads(work))


def test_one_table_and_its_schema(client: sideline.Client, session_id: str, tmp_path: Path) -> None:
    table = client.stats_details(session_id).table()
    places = list(range(0, len(table), 3))
    check(lambda: (table.to_dicts(), table.column_names, len(table), table["stat"], table.head(2).to_dicts()))
    check(lambda: (table._take(places).to_dicts(), table._select(["stat"]).to_dicts()))
    check(lambda: pickle.loads(pickle.dumps(table)).to_dicts())
    check(lambda: [(field.name, field.type, field.nullable, field.unit, field.description) for field in table.schema])
    check(lambda: ("stat" in table.schema, len(table.schema), repr(table.schema), table.schema == table.schema))
    check(lambda: (repr(table), table._repr_html_()), rounds=5)
    files = in_threads(lambda number: table.to_csv(tmp_path / f"{number}.csv") or tmp_path / f"{number}.csv", rounds=2)
    assert len({file.read_bytes() for file in files}) == 1


def test_columns_of_one_table_by_arrow(client: sideline.Client, session_id: str) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'sideline[arrow]'")
    table = client.stats_details(session_id).table()
    expected = pyarrow.table(table)
    assert all(pyarrow.table(copy).equals(expected) for copy in in_threads(lambda _: table))
    check(lambda: sideline.Table.from_arrow(expected).to_dicts(), rounds=5)


def test_one_simulator(session_id: str) -> None:
    with sideline.Simulator(seed=7, now="2027-03-01T12:00:00Z") as service, service.client() as client:

        def work(number: int) -> Any:
            match number % 4:
                case 0:
                    return client.stats(session_id).status
                case 1:
                    return service.faults.add("*/no-such-path", status=500) and None
                case 2:
                    return len(service.teams) > 0 and len(service.requests) >= 0
            return len(service.games) > 0

        in_threads(work, rounds=8)
        assert sum(request.path.endswith("stats") for request in service.requests) == THREADS * 2


def test_updates_of_one_stream_are_each_taken_once() -> None:
    with sideline.Simulator(seed=7, now="2027-03-01T19:05:00Z") as service, service.client() as client:
        game = service.games[-1]["event_id"]
        service.play(game, speed=400)
        updates: list[Any] = []
        with client.live(game) as stream:

            def work(_: int) -> None:
                while len(updates) < 300:
                    item = next(stream)
                    if isinstance(item, sideline.Update):
                        updates.append((item.seq, item.text))
                    assert stream.stats
                    assert stream.state in ("new", "connecting", "connected", "waiting", "closed")

            in_threads(work, rounds=1)
    assert len(set(updates)) == len(updates)


def test_one_update_and_one_box_score() -> None:
    with sideline.Simulator(seed=7, now="2027-03-01T19:05:00Z") as service, service.client() as client:
        game = service.games[-1]["event_id"]
        service.play(game, speed=400)
        with client.live(game) as stream:
            updates = [item for _, item in zip(range(200), stream, strict=False) if isinstance(item, sideline.Update)]
    for update in updates[:20]:
        check(lambda update=update: (update.to_dict(), update.text, update.raw, update.seq, update.source), rounds=1)
    single, shared = sideline.LiveBoxScore(), sideline.LiveBoxScore()
    for update in updates:
        single.feed(update)

    def work(number: int) -> None:
        for update in updates[number % THREADS :: THREADS]:
            shared.feed(update)
        shared.table().to_dicts()
        shared.leaders("PTS", 3).to_dicts()
        assert not shared.problems

    in_threads(work, rounds=THREADS)
    for update in updates:
        shared.feed(update)
    assert shared.table().to_dicts() == single.table().to_dicts()


def test_one_tracking() -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'sideline[arrow]'")
    with sideline.Simulator(seed=7, now="2027-03-01T12:00:00Z") as service, service.client() as client:
        tracking = client.tracking(service.games[0]["event_id"])
        check(lambda: (tracking.loads().to_dicts(), tracking.shot_quality().to_dicts()), rounds=1)
        check(lambda: (tracking.coverage().to_dicts(), tracking.matchups().to_dicts()), rounds=1)
