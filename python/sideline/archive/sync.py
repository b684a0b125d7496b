"""One sync: discover, plan, fetch, keep, a chunk of events at a time."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from sideline._core import Payload
from sideline._progress import Told, bar
from sideline.archive import plan
from sideline.archive.fetch import OF_ONE, Came, Heed, Outcome, fetch, had, not_had, spread
from sideline.archive.keep import keep, torn
from sideline.archive.plan import Unit
from sideline.archive.read import coverage
from sideline.archive.store import Store, now
from sideline.errors import DecodeError

if TYPE_CHECKING:
    from sideline.client import Client

_CHUNK = 400
_CHUNK_BYTES = 64 * 1024 * 1024
"""Units, or bytes of bodies, fetched before they are stored: twice as many are in memory, and may be lost by a kill."""

_LOCATIONS = 16 * 1024 * 1024
"""Bytes of a body of locations, until one came; as many others as a chunk may have are taken to fit."""

_LATER = timedelta(days=240)

Event = dict[str, Any]


class Sync:
    """What one sync asks, and what came of it."""

    def __init__(
        self,
        store: Store,
        client: "Client",
        *,
        wanted: frozenset[str],
        window: timedelta | None,
        clock: Callable[[], datetime],
        progress: Told,
    ) -> None:
        self._store = store
        self._client = client
        self._wanted = wanted
        self._team_ids: list[int] = []
        self._window = window
        self._progress = progress
        self._at = clock()
        self._torn = torn(store)
        self.done = self.rows = 0
        self._teams: dict[int, Event] = {}
        self._games: dict[str, Event] = {}
        self._events: dict[str, tuple[Event, int | None]] = {}
        self._came: dict[str, tuple[datetime, str | None]] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        self.outcomes: list[Outcome] = []
        self.corrections: list[dict[str, Any]] = []

    def run(self, team_ids: Sequence[int] | None, game_ids: Sequence[str] | None, start: Any, end: Any) -> None:
        """Ask and store."""
        if game_ids is None:
            self._discover(team_ids, start, end)
        else:
            self._ask_games(game_ids)
            self._ask_later()
        self._at = plan.clock(self._at, (event for event, _ in self._events.values()))
        if game_ids is None:
            self._ask_games(plan.lost(self._games.values(), self._events, self._at))
        self._keep_requests()
        self._fetch_due(team_ids if game_ids is None else ())

    def _discover(self, team_ids: Sequence[int] | None, start: Any, end: Any) -> None:
        lists: list[tuple[Unit, Callable[[], Payload], str]] = [
            (Unit("schedule", "all"), lambda: self._client.schedule(start, end), "games")
        ]
        if team_ids is None or "teams" in self._wanted:
            lists.append((Unit("teams", "all"), lambda: self._client.teams(), "teams"))
        games, *teams = self._ask(lists)
        self._teams = {team["id"]: team for found in teams for team in found}
        # Where the teams did not come, the games name them.
        playing = {game[side] for game in games for side in ("home_team_id", "away_team_id") if game.get(side)}
        chosen = list(self._teams) or sorted(playing) if team_ids is None else list(team_ids)
        self._team_ids = chosen
        events = self._ask(
            [
                (
                    Unit("team_events", f"team {team}", team_id=team),
                    lambda team=team: self._client.team_events(team, start, end),  # type: ignore[misc]
                    "events",
                )
                for team in chosen
            ]
        )
        mine = set(chosen)
        self._games = {
            game["event_id"]: game for game in games if {game.get("home_team_id"), game.get("away_team_id")} & mine
        }
        for team, found in zip(chosen, events, strict=True):
            for event in found:
                # A game is in the events of both its teams; it is nobody's own.
                self._events[event["id"]] = (event, None if event.get("is_game_event") else team)

    def _ask_games(self, game_ids: Iterable[str]) -> None:
        asked: list[tuple[Unit, Callable[[], Payload], str]] = [
            (Unit("game", game, game_id=game), lambda game=game: self._client.game(game), "")  # type: ignore[misc]
            for game in game_ids
        ]
        for [event] in filter(None, self._ask(asked)):
            self._events[event["id"]] = (event, None)

    def _ask_later(self) -> None:
        """Where this machine's clock is behind the last end of a game, only what came after it tells the time there."""
        ends = [(over, event) for event, _ in self._events.values() if (over := plan.over_at(event)) is not None]
        over, event = max(ends, key=lambda one: one[0], default=(self._at, {}))
        teams = event.get("game_attributes") or {}
        if over <= self._at or teams.get("home_team_id") is None:
            return
        try:
            later = self._client.team_events(teams["home_team_id"], over, over + _LATER)
            self._at = plan.clock(self._at, _items(later, "events"))
        except OF_ONE:
            return

    def _ask(self, asked: Sequence[tuple[Unit, Callable[[], Payload], str]]) -> list[list[Event]]:
        """What each request lists; nothing where it failed, which the outcome tells."""
        heed = Heed(self._client)

        def one(unit: Unit, call: Callable[[], Payload], name: str) -> tuple[Outcome, list[Event]]:
            try:
                payload = call()
                items = _items(payload, name)
            except OF_ONE as error:
                heed(error)
                return not_had(unit, error), []
            at = payload.fetched_at or now()
            for item in items:
                self._came[str(item.get("id", item.get("event_id")))] = (at, payload.request_id)
            return Outcome(unit, "fetched" if items else "empty", at, request_id=payload.request_id), items

        answers = list(spread(lambda given: one(*given), asked, self._client._options["max_concurrency"]))
        self.outcomes += [outcome for outcome, _ in answers]
        return [items for _, items in answers]

    def _keep_fragments(self) -> None:
        fragments = iter(self._fragments())
        while chunk := list(islice(fragments, _CHUNK)):
            self._keep(chunk)

    def _fragments(self) -> "Iterable[Outcome]":
        """Teams, games and events came in lists: each is kept as a body of its own."""
        pieces: list[tuple[Unit, Any]] = []
        if "teams" in self._wanted:
            pieces += [(Unit("teams", str(key), team_id=key), {"teams": [team]}) for key, team in self._teams.items()]
        if "schedule" in self._wanted:
            pieces += [(Unit("schedule", key, game_id=key), {"games": [game]}) for key, game in self._games.items()]
        if "game" in self._wanted:
            for event, team in self._events.values():
                unit = plan.of_event(event, team)
                pieces.append((unit, event if unit.operation == "game" else {"events": [event]}))
        for unit, body in pieces:
            raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            at, request_id = self._came[unit.id]
            yield had(unit, raw, at, request_id)

    def _keep_requests(self) -> None:
        """Requests for lists that failed are holes until they succeed."""
        asked = [outcome for outcome in self.outcomes if outcome.unit.operation != "game"]
        keep_requests(self._store, asked)
        lost = [outcome for outcome in self.outcomes if outcome.unit.operation == "game" and outcome.error]
        self._keep(lost)

    def _keep(self, outcomes: Sequence[Outcome]) -> None:
        if outcomes:
            self.corrections += keep(self._store, outcomes, self._torn, self._at, now)

    def _fetch_due(self, team_ids: Sequence[int] | None) -> None:
        known = {row["unit"]: row for row in coverage(self._store, ("unit", "status", "final", "over_at"))}
        stored = {name: row for name, row in known.items() if name not in self._torn}
        groups = [[Unit("roster", str(team), team_id=team)] for team in self._rosters(team_ids)]
        events = sorted(self._events.values(), key=lambda one: (one[0].get("started_at") or 0, one[0]["id"]))
        new: list[Unit] = []
        for event, _ in events:
            again: list[Unit] = []
            for unit in plan.within(event, self._wanted):
                if plan.is_due(unit, stored.get(unit.name), self._at, self._window):
                    (again if unit.name in known or unit.name in self._torn else new).append(unit)
            groups.append(again)
        # By id, so that the files of one chunk need not be looked through for the next.
        groups += [[unit] for unit in sorted(new, key=lambda unit: unit.id)]
        shown = bar(self._progress, "sync", sum(map(len, groups)), self)  # type: ignore[arg-type]
        done = 0

        def tell(ended: int) -> None:
            self.done = done + ended
            if shown:
                shown()

        # One chunk is read and stored while the next is fetched; what the lists held is the first.
        with ThreadPoolExecutor(1) as storing:
            stored_last: Future[None] = storing.submit(self._keep_fragments)
            for chunk in _chunks(groups, self._size):
                came = deque(fetch(self._client, chunk, tell))
                done += len(chunk)
                self._weigh(came)
                stored_last.result()
                stored_last = storing.submit(self._read_and_keep, came)
            stored_last.result()
        if shown:
            shown(True)

    def _size(self, unit: Unit) -> int:
        """What its body is likely to weigh: the mean of its operation's."""
        unknown = _LOCATIONS if unit.operation == "locations" else _CHUNK_BYTES // _CHUNK
        count, size = self._sizes.get(unit.operation, (1, unknown))
        return size // count

    def _weigh(self, came: Iterable[Came]) -> None:
        for one in came:
            if one.size:
                count, size = self._sizes.get(one.operation, (0, 0))
                self._sizes[one.operation] = (count + 1, size + one.size)

    def _read_and_keep(self, came: deque[Came]) -> None:
        outcomes = []
        while came:
            # One after another, so that no body is held twice.
            outcomes.append(came.popleft().read())
        self._keep(outcomes)
        self.rows += sum(outcome.rows for outcome in outcomes)
        for outcome in outcomes:
            # Bodies and rows are stored, and would add up.
            outcome.forget()
        self.outcomes += outcomes

    def _rosters(self, team_ids: Sequence[int] | None) -> Sequence[int]:
        return [] if "roster" not in self._wanted or team_ids == () else self._team_ids


def _items(payload: Payload, name: str) -> list[Event]:
    body = payload.to_dict()
    items = [body] if not name else body.get(name) if isinstance(body, dict) else None
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and ("id" in item or "event_id" in item) for item in items
    ):
        raise DecodeError(f"{payload.operation}: the answer has no list of {name or 'events'} with ids; see to_dict()")
    return items


def _chunks(groups: Iterable[Sequence[Unit]], size: Callable[[Unit], int]) -> Iterable[list[Unit]]:
    """Whole events, so that a correction is seen in all that it changes."""
    chunk: list[Unit] = []
    held = 0
    for group in groups:
        chunk += group
        held += sum(map(size, group))
        if len(chunk) >= _CHUNK or held >= _CHUNK_BYTES:
            yield chunk
            chunk, held = [], 0
    if chunk:
        yield chunk


def keep_requests(store: Store, asked: Sequence[Outcome]) -> None:
    """Account for requests that have no body of their own: a row for each that failed, none for the others."""
    from sideline._frames import library
    from sideline.archive.keep import told
    from sideline.archive.store import one_of, own_schemas

    failed = [{**told(outcome), "final": False} for outcome in asked if outcome.error]
    names = {outcome.unit.name for outcome in asked}
    before = {row["unit"] for row in coverage(store, ("unit",), names)}
    if failed or before:
        rows = library("pyarrow", "archive").Table.from_pylist(failed, own_schemas()["coverage"])
        store.replace("coverage", rows, one_of("unit", names))
