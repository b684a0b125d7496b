"""Captures a service: each operation and each stream once, with what was received, in a folder."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from .._client import core_of, is_time
from .._core import Payload, Update
from ..errors import (
    ApiError,
    DecodeError,
    RateLimited,
    ServerError,
    SidelineError,
    StreamClosed,
    TransportError,
)
from .capture_folder import PAGE, Capture, CaptureFolder, Exchange, Outcome, Stream, payload_of, text_of
from .late_names import replace_late
from .masks import clock_offset, mask_body, mask_members, shown_headers, spellings, token_of
from .pseudonyms import MASK, Pseudonyms

if TYPE_CHECKING:
    from .._client import Client
    from ..live import LiveStream

MAX_REQUESTS = 200

_LIVE, _LIVE_STATS, _TOKEN = "/live/v2/games", "/broadcast/v1/stats/event-stream", "_subscribe"

_TICK = 0.05
"""Seconds between two looks at a stream's counter of bytes, which shows heartbeats."""
_MAX_RETRY_WAIT = 30.0
_GAME_LENGTH = timedelta(hours=3)
_MAX_GAMES_TRIED = 3
_MIN_SECRET_LENGTH = 4
_REPEATED_STEPS = ("stats", "stats_details", "possessions", "shots", "team_game_stats")
"""Steps of several requests, whose names have the ids."""


def capture(
    client: "Client",
    folder: Path,
    *,
    pseudonyms: Pseudonyms | None,
    secrets: Iterable[str] = (),
    team_id: int | None = None,
    live_seconds: float = 30.0,
    max_requests: int = MAX_REQUESTS,
    write_line: Callable[[str], None] = lambda _: None,
) -> Capture:
    """Walk the service, and write the folder; a stopped walk resumes.

    Without `pseudonyms` bodies stay byte for byte, except tokens and `secrets`. Raises `ValueError` for a folder with
    the capture of another service, mode or key, or with other files.
    """
    settings = {name: value for name, value, _ in core_of(client).settings()}
    addresses = "|".join(str(settings[name]) for name in ("base_url", "websocket_url", "broadcast_base_url"))
    identity = Pseudonyms(b"sideline capture") if pseudonyms is None else pseudonyms
    store = CaptureFolder(folder)
    fresh = Capture(
        "plain" if pseudonyms is None else "pseudonyms",
        identity.fingerprint(addresses),
        core_of(client).sport,
        round(time.time() * 1000),
    )
    state = _resume(store, fresh)
    state.requests = 0
    walk = _Walk(client, store, state, pseudonyms, [secret for secret in secrets if secret], max_requests, write_line)
    if settings["username"] is None and settings["api_key"] is None:
        core_of(client).check_credentials()
    try:
        walk.run(settings, team_id, live_seconds)
    finally:
        if pseudonyms is not None:
            replace_late(store, state, pseudonyms)
    from .capture_page import page
    from .capture_report import report

    write_line("writing the report")
    content = report(store, state)
    store.write(state, content)
    (folder / PAGE).write_text(page(state, content), encoding="utf-8")
    return state


def _resume(store: CaptureFolder, fresh: Capture) -> Capture:
    """Return the capture in the folder, or a fresh one in a new folder."""
    state = store.read()
    if state is None:
        if store.path.exists() and any(store.path.iterdir()):
            raise ValueError(f"{store.path} is not empty and holds no capture: name a new folder")
        store.path.mkdir(parents=True, exist_ok=True)
        return fresh
    if (state.mode, state.service) != (fresh.mode, fresh.service):
        raise ValueError(
            f"{store.path} holds the capture of another service, mode or key: name a new folder, or delete this one"
        )
    return state


class _Walk:
    """One run over the operations."""

    def __init__(
        self,
        client: "Client",
        store: CaptureFolder,
        state: Capture,
        pseudonyms: Pseudonyms | None,
        secrets: list[str],
        max_requests: int,
        write_line: Callable[[str], None],
    ) -> None:
        self._client, self._store, self._state = client, store, state
        self._pseudonyms, self._secrets = pseudonyms, secrets
        self._max_requests, self._write_line = max_requests, write_line
        self._at = datetime.fromtimestamp(state.started_at / 1000, UTC)

    # The walk

    def run(self, settings: Mapping[str, str | None], team_id: int | None, live_seconds: float) -> None:
        """Request everything, lists first: their ids and names are known before other bodies come."""
        is_signed = settings["username"] is not None and settings["secret"] is not None
        has_key = settings["api_key"] is not None
        client = self._client
        games: list[dict[str, Any]] = []
        if is_signed:
            teams = _rows(self._list("teams", client.teams), "teams")
            team_id = team_id or next((row["team_id"] for row in teams if row["team_id"]), None)
            games = self._games(team_id)
        else:
            self._skip("teams", "username or secret is missing: only the Broadcast API was captured")
        past_games = [game for game in games if game["tipoff_at"] < self._at - _GAME_LENGTH]
        if is_signed:
            self._team(team_id, past_games)
            game = self._game(past_games)
        else:
            game = None
        if has_key:
            self._broadcast(game, team_id)
        else:
            self._skip("broadcast_teams", "SIDELINE_API_KEY is missing: the Broadcast API was not captured")
        if game is not None:
            self._resources(game)
        now = datetime.now(UTC)
        current = [game for game in games if now - _GAME_LENGTH <= game["tipoff_at"] <= now + timedelta(minutes=15)]
        upcoming = [game for game in games if game["tipoff_at"] > now]
        game_to_watch = next(iter(current or upcoming or past_games), None)
        if game_to_watch is None and game is not None:
            game_to_watch = {"game_id": game["event_id"]}
        if game_to_watch is None:
            self._skip("live", "no game is known")
            return
        if current and has_key:
            self._call("broadcast_colors", client.broadcast_colors, current[0]["game_id"])
        if is_signed:
            self._websocket(game_to_watch["game_id"], live_seconds)
        if has_key:
            self._event_stream(game_to_watch["game_id"], live_seconds)

    def _games(self, team_id: int | None) -> list[dict[str, Any]]:
        """Return the games of the last and the coming days, or of the season if no recent one is over."""
        games: list[dict[str, Any]] = []
        for step, days, ahead in (("schedule", 30, 7), ("schedule_season", 240, 0)):
            start, end = self._at - timedelta(days=days), self._at + timedelta(days=ahead)
            payload = self._list(step, self._client.schedule, start, end)
            rows = [row for row in _rows(payload, "games") if row["game_id"] and is_time(row["tipoff_at"])]
            games = sorted(games + rows, key=lambda row: row["tipoff_at"])
            own_games = [row for row in games if team_id in (row["home_team_id"], row["away_team_id"])]
            if any(row["tipoff_at"] < self._at - _GAME_LENGTH for row in own_games or games):
                return own_games or games
        return games

    def _team(self, team_id: int | None, past_games: Sequence[dict[str, Any]]) -> None:
        client = self._client
        if team_id is None:
            self._skip("roster", "no team is known")
            return
        self._list("roster", client.roster, team_id, context={"team_id": team_id})
        start = self._at - timedelta(days=60)
        events = self._list("team_events", client.team_events, team_id, start, self._at, context={"team_id": team_id})
        for row in _rows(events, "events"):
            if row["is_practice_event"] and row["self_link"]:
                self._call("practice", client.follow, row["self_link"], context={"team_id": team_id})
                break
        self._list(
            "team_workouts",
            client.team_events,
            team_id,
            start,
            self._at,
            workouts_only=True,
            context={"team_id": team_id},
        )
        self._list(
            "team_stats", client.team_game_stats, team_id, start=start, end=self._at, context={"team_id": team_id}
        )
        if past_games:
            last = past_games[-1]
            teams = [str(last[side]) for side in ("home_team_id", "away_team_id") if last[side]]
            gender = last["gender"] if last["gender"] in ("MEN", "WOMEN") else "MEN"
            day = last["tipoff_at"]
            self._list(
                "matchup",
                client.matchup,
                teams,
                day - timedelta(days=1),
                day + timedelta(days=1),
                reference="SHOTTRACKER",
                gender=gender,
            )

    def _game(self, past_games: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """Return the event of a finished game with sessions, and its rows."""
        for row in list(reversed(past_games))[:_MAX_GAMES_TRIED]:
            payload = self._list("game", self._client.game, row["game_id"], context={"game_id": row["game_id"]})
            sessions = [session for session in _rows(payload, "sessions") if session["session_id"]]
            if payload is None or not sessions:
                continue
            game = {**row, "event_id": row["game_id"], "sessions": sessions, "payload": payload}
            for step, team_id in (("roster_home", row["home_team_id"]), ("roster_away", row["away_team_id"])):
                if team_id:
                    context = {"team_id": team_id}
                    self._list(step, self._client.roster, team_id, game_id=row["game_id"], context=context)
            link = row["results_link"]
            if link and not urlsplit(link).path.endswith(f"/{row['game_id']}"):
                self._call("game_by_link", self._client.follow, link)
            return game
        self._skip("game", "no finished game with sessions was found")
        return None

    def _resources(self, game: dict[str, Any]) -> None:
        client, game_id = self._client, game["event_id"]
        of_game = {"game_id": game_id}
        for step in ("game_events", "game_stats_details", "game_shots", "play_by_play", "ball_screens", "videos"):
            self._call(step, getattr(client, step), game_id, context=of_game)
        self._call("catch_up", client.catch_up, game_id, ["stats", "details", "shots", "possessions"], context=of_game)
        for side in ("home_team_id", "away_team_id"):
            if team_id := game[side]:
                context = {**of_game, "team_id": team_id}
                self._call("team_game_stats", client.team_game_stats, team_id, game_id=game_id, context=context)
        self._call("assignments_history", client.get, f"/v1/data/games/{game_id}/sensor/assignments/history")
        for place, session in enumerate(game["sessions"]):
            session_id = session["session_id"]
            context = {**of_game, "session_id": session_id}
            for step in ("stats", "stats_details", "possessions", "shots"):
                self._call(step, getattr(client, step), session_id, context=context)
            if place == 0:
                self._locations(game, session, context)
        if link := next(_links(game["payload"], "_possessions_summary"), None):
            self._call("possessions_summary", client.follow, link)

    def _locations(self, game: dict[str, Any], session: dict[str, Any], context: dict[str, Any]) -> None:
        links = [
            row["link"]
            for row in _rows(game["payload"], "location_windows")
            if row["session_id"] == session["session_id"]
        ]
        if links and links[0]:
            self._call("locations", self._client.follow, links[0], context=context)
        elif is_time(session["started_at"]) and is_time(session["ended_at"]):
            start = session["started_at"]
            end = min(session["ended_at"], start + timedelta(minutes=10))
            if start < end:
                self._call("locations", self._client.locations, session["session_id"], start, end, context=context)

    def _broadcast(self, game: dict[str, Any] | None, team_id: int | None) -> None:
        client = self._client
        self._list("broadcast_teams", client.broadcast_teams)
        self._list("broadcast_schedule", client.broadcast_schedule)
        if team_id is not None:
            self._list("broadcast_roster", client.broadcast_roster, team_id, context={"team_id": team_id})
        if game is not None:
            day = game["tipoff_at"]
            around = day - timedelta(days=1), day + timedelta(days=1)
            self._list("broadcast_schedule_range", client.broadcast_schedule, *around)
            self._call("broadcast_stats", client.broadcast_stats, game["event_id"])
            if team_id is not None:
                self._call("broadcast_locomotion", client.broadcast_locomotion, game["event_id"], team_id)

    # Streams

    def _websocket(self, game_id: str, seconds: float) -> None:
        payload = self._list(_TOKEN, self._client.get, f"/v1/data/schedule/games/{game_id}/_subscribe")
        token = None if payload is None else token_of(payload)
        if token is None:
            self._skip("live", "no token was received")
            return
        self._secrets.append(token)
        self._watch("live", _LIVE, game_id, seconds, lambda: self._client.live(game_id, token=token, recover="off"))

    def _event_stream(self, game_id: str, seconds: float) -> None:
        self._watch(
            "live_stats",
            _LIVE_STATS,
            game_id,
            seconds,
            lambda: self._client.live_stats(game_id, recover="off"),
        )

    def _watch(
        self, step: str, path: str, game_id: str, seconds: float, open_stream: "Callable[[], LiveStream[Any]]"
    ) -> None:
        if any(stream.step == step and stream.outcome in ("fetched", "refused") for stream in self._state.streams):
            return
        if seconds == 0:
            self._skip(step, "not watched: 0 seconds were asked for")
            return
        self._write_line(f"{step}: watching for {seconds:g} s")
        self._state.requests += 1
        lines: list[dict[str, Any]] = []
        outcome: Outcome = "failed"
        finding, status = "", None
        try:
            stream = open_stream()
        except (SidelineError, ValueError) as error:
            self._add(Exchange(step, step, "failed", path, finding=self._error(error)))
            return
        start = time.monotonic()
        try:
            for after, item, size in _items(stream, start, seconds):
                if isinstance(item, Update):
                    raw = self._replace(item.raw)
                    line = {"after_ms": after, "event": item.event, "seq": item.seq}
                    lines.append({**line, "text": text_of(raw)})
                elif item is not None:
                    name = type(item).__name__
                    status = getattr(item, "status", None) or status
                    outcome = "fetched" if name == "Connected" else outcome
                    lines.append({"after_ms": after, "notice": name, **self._reason(item)})
                else:
                    lines.append({"after_ms": after, "heartbeat": size})
        except (SidelineError, StreamClosed) as error:
            finding = self._error(error)
            status = getattr(error, "status", None) or status
        finally:
            stream.close()
        if outcome != "fetched" and status is not None:
            outcome = "refused"
        name = self._store.write_lines(f"{step}.jsonl", lines)
        duration = round(time.monotonic() - start, 1)
        self._note_stream(Stream(step, path, self._text(game_id), outcome, name, duration, finding), status)

    def _note_stream(self, stream: Stream, status: int | None) -> None:
        step, outcome = stream.step, stream.outcome
        self._state.streams = [other for other in self._state.streams if other.step != step] + [stream]
        if outcome != "fetched":
            query = [("schedule_id", stream.game_id)] if stream.path == _LIVE_STATS else []
            finding = stream.finding or "the stream did not open"
            self._add(Exchange(step, step, outcome, stream.path, query, status, finding))
        else:
            self._state.exchanges = [other for other in self._state.exchanges if other.step != step]
            self._store.write(self._state)

    def _reason(self, notice: Any) -> dict[str, Any]:
        reason = getattr(notice, "reason", None)
        if reason is None:
            return {}
        code = re.search(r"close code ([0-9]+)", reason)
        return {"status": getattr(notice, "status", None), "close_code": int(code[1]) if code else None}

    # Requests

    def _list(self, step: str, function: Callable[..., Payload], *arguments: Any, **options: Any) -> Payload | None:
        """Request a list, whose ids lead further: a resumed walk requests it again."""
        return self._request(step, function, arguments, options, is_list=True)

    def _call(self, step: str, function: Callable[..., Payload], *arguments: Any, **options: Any) -> Payload | None:
        return self._request(step, function, arguments, options, is_list=False)

    def _request(
        self,
        step: str,
        function: Callable[..., Payload],
        arguments: Sequence[Any],
        options: dict[str, Any],
        *,
        is_list: bool,
    ) -> Payload | None:
        context = {name: self._id(value) for name, value in options.pop("context", {}).items()}
        ids = "/".join(str(value) for value in context.values())
        name = f"{step}/{ids}" if ids and step in _REPEATED_STEPS else step
        earlier = self._earlier(name)
        if not is_list and earlier is not None and earlier.outcome in ("fetched", "refused", "broken"):
            return None
        if self._state.requests >= self._max_requests:
            self._skip(name, f"the limit of {self._max_requests} requests is reached")
            return None
        for attempt in (1, 2):
            self._state.requests += 1
            try:
                payload = function(*arguments, **options)
            except (RateLimited, ServerError, TransportError) as error:
                if attempt == 1 and self._state.requests < self._max_requests:
                    time.sleep(min(getattr(error, "retry_after", None) or 1.0, _MAX_RETRY_WAIT))
                    continue
                self._note_error(name, step, error, context)
            except DecodeError as error:
                self._note_payload(name, error.payload, context, error)
            except (SidelineError, ValueError) as error:
                self._note_error(name, step, error, context)
            else:
                # A long range is several requests.
                self._state.requests += len(payload.parts) - 1
                self._note_payload(name, payload, context, _decode_error(payload))
                return payload
            return None
        return None

    def _note_payload(self, name: str, payload: Any, context: dict[str, Any], error: DecodeError | None) -> None:
        if payload is None or (error is not None and not isinstance(payload, Payload)):
            self._note_error(name, name, error or DecodeError("no response"), context)
            return
        raw = payload.raw
        if urlsplit(payload.url or "").path.endswith(f"/{_TOKEN}"):
            if token := token_of(payload):
                self._secrets.append(token)
            raw = mask_body(raw)
        raw = self._replace(raw)
        earlier = self._earlier(name)
        file = earlier.body if earlier and earlier.body else f"{self._slug(name)}.json"
        file = self._store.write_body(file.removeprefix("bodies/"), raw)
        elapsed = payload.elapsed
        finding = "" if error is None else self._decode_finding(error, payload.operation, raw, context)
        self._add(
            Exchange(
                name,
                payload.operation,
                "fetched" if error is None else "broken",
                *self._place(payload.url),
                payload.status,
                finding,
                file,
                len(raw),
                shown_headers(payload.headers),
                None if elapsed is None else round(elapsed.total_seconds() * 1000, 1),
                clock_offset(payload),
                context,
            )
        )

    def _note_error(self, name: str, step: str, error: Exception, context: dict[str, Any]) -> None:
        status = getattr(error, "status", None) if isinstance(error, ApiError) else None
        is_refusal = status is not None and 400 <= status < 500 and status != 429
        file = None
        if isinstance(error, ApiError) and status is not None:
            # The client shows the message and the id of a refusal, from which its body is made again.
            document: dict[str, Any] = {"message": error.message}
            if error.request_id is not None:
                document = {"status": status, **document, "shottrackerRequestId": error.request_id}
            raw = self._replace(json.dumps(document, ensure_ascii=False).encode())
            file = self._store.write_body(f"{self._slug(name)}-{status}.json", raw)
        self._add(
            Exchange(
                name,
                step.partition("/")[0],
                "refused" if is_refusal else "failed",
                *self._place(getattr(error, "url", None)),
                status,
                self._error(error),
                file,
                context=context,
            )
        )

    def _earlier(self, name: str) -> Exchange | None:
        return next((exchange for exchange in self._state.exchanges if exchange.step == name), None)

    def _slug(self, name: str) -> str:
        """Return the next number of an exchange and its step, for the name of a file."""
        return f"{len(self._state.exchanges) + 1:03}-{re.sub(r'[^a-z_]+', '', name.partition('/')[0])}"

    def _skip(self, step: str, finding: str) -> None:
        if not any(exchange.step == step and exchange.outcome != "skipped" for exchange in self._state.exchanges):
            self._add(Exchange(step, step.partition("/")[0], "skipped", finding=finding))

    def _add(self, exchange: Exchange) -> None:
        """Store an exchange, in the place of an earlier one of its step."""
        places = [place for place, other in enumerate(self._state.exchanges) if other.step == exchange.step]
        if places:
            self._state.exchanges[places[0]] = exchange
        else:
            self._state.exchanges.append(exchange)
        self._store.write(self._state)
        detail = f"{exchange.size} bytes" if exchange.outcome == "fetched" else exchange.finding
        self._write_line(f"{exchange.step}: {exchange.outcome}{f', {detail}' if detail else ''}")

    # Replacements

    def _replace(self, raw: bytes) -> bytes:
        """Return a body without secrets, and with pseudonyms if they are wanted."""
        for secret in self._secrets:
            if len(secret) >= _MIN_SECRET_LENGTH:
                for spelling in spellings(secret):
                    raw = raw.replace(spelling, MASK.encode())
        if self._pseudonyms is None:
            return mask_members(raw)
        self._pseudonyms.learn(raw)
        return self._pseudonyms.body(raw)

    def _place(self, address: str | None) -> tuple[str, list[tuple[str, str]]]:
        """Return the path and the query of a request's address, as the folder has them."""
        parts = urlsplit(address or "")
        pairs = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "apikey"]
        if self._pseudonyms is None:
            return parts.path, pairs
        return self._pseudonyms.path(parts.path), self._pseudonyms.query(pairs)

    def _text(self, text: str) -> str:
        return text if self._pseudonyms is None else self._pseudonyms.text(text)

    def _id(self, value: Any) -> Any:
        if self._pseudonyms is None:
            return value
        return self._pseudonyms.field("id", value)

    def _error(self, error: Exception) -> str:
        """Return what happened, in words without a value of the service."""
        message = getattr(error, "message", None) if isinstance(error, ApiError) else None
        if message is not None:
            message = message if self._pseudonyms is None else self._pseudonyms.message(message)
            return f"{getattr(error, 'status', '')}: {message}"
        advice = getattr(error, "advice", None)
        return f"{type(error).__name__}{f': {advice}' if advice else ''}"

    def _decode_finding(self, error: DecodeError, operation: str, raw: bytes, context: dict[str, Any]) -> str:
        """Return why a body cannot be read, found in the body in the folder."""
        try:
            payload = payload_of(operation, raw, context, self._state.sport)
            for table in payload.tables:
                payload.table(table)
        except (SidelineError, ValueError) as second_error:
            return str(second_error).partition(". Look at")[0][:300]
        # Only the request says which tables the body has.
        names = self._pseudonyms
        path = error.path
        if names is not None:
            path = re.sub(r"[^\W\d]\w*", lambda match: names.object_key(match[0]), path)
        return f"unreadable at {path}"


def _items(stream: "LiveStream[Any]", start: float, seconds: float) -> Iterator[tuple[int, Any, int]]:
    """Yield the items of a stream, each with its milliseconds since the start and its bytes; `None` is a heartbeat."""
    from ..live import follow

    size = 0
    for item in follow(stream, lambda: time.monotonic() - start >= seconds, _TICK):
        after = round((time.monotonic() - start) * 1000)
        size_before, size = size, stream.stats.bytes
        if item is not None or size > size_before:
            yield after, item, size - size_before


def _decode_error(payload: Payload) -> DecodeError | None:
    """Return why the body or one of its tables cannot be read, which shows only now."""
    try:
        _ = payload.all_tables() if payload.tables else payload.to_dict()
    except DecodeError as error:
        return error
    return None


def _rows(payload: Payload | None, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table, or none where the body does not fit."""
    if payload is None:
        return []
    try:
        return payload.table(table).to_dicts()  # type: ignore[arg-type]
    except (SidelineError, ValueError):
        return []


def _links(payload: Payload, name: str) -> Iterator[str]:
    """Yield the links of a name anywhere in a body."""
    stack = [payload.to_dict()]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if isinstance(value.get(name), str):
                yield value[name]
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
