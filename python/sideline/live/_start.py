"""What happened before a feed's first connection: it is requested beside the stream, as what a gap lacks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from random import random
from time import monotonic
from typing import TYPE_CHECKING, Any

from .._client import StateRequest, game_of, sport_of_score, state_of
from .._core import Payload, Update
from ..errors import ApiError, DecodeError
from ._box_score import LiveBoxScore
from ._notices import Connected, Gap, Recovered, Recovering
from ._situation import whole

if TYPE_CHECKING:
    from ._streams import LiveStream

REFUSALS = (403, 404, 422)
"""Statuses that the same request would get again."""

LATE = 4
"""Pauses after which a response whose rows have versions is late enough; the longest wait after a failure."""


class StartRecovery:
    """The recovery of the time before the first connection, as a gap that ends there."""

    def __init__(
        self, stream: "LiveStream", score: LiveBoxScore, add: Callable[[object], object], wait: Callable[[float], bool]
    ) -> None:
        self._stream = stream
        self._state = state_of(stream)
        self._score = score
        self._add = add
        self._wait = wait
        self._newest_version = -1
        self._is_over = False
        self._gap: Gap | None = None

    def add(self, item: object) -> bool:
        """Take an item of the stream, after the page; returns whether `run` should begin."""
        if isinstance(item, Update) and not self._is_over:
            self._newest_version = max(self._newest_version, _version(item))
        if self._gap is not None or not isinstance(item, Connected) or self._state is None:
            return False
        self._gap = Gap(item.at, item.at, "the time before the connection")
        self._add(self._gap)
        return self._state.pause is not None

    def run(self) -> None:
        """Request the state of the game until it closes the gap, it is refused, or the wait says that the page ends."""
        state, gap = self._state, self._gap
        if state is not None and state.pause is not None and gap is not None:
            self._close(gap, state, state.pause)
        self._is_over = True

    def _close(self, gap: Gap, state: StateRequest, pause: float) -> None:
        start, delay, version, has_answer = monotonic(), 0.0, -1, False
        while not self._wait(delay * (1 + random() / 5)) and self._stream.state != "closed" and self._score.stale:
            requested_at, age = datetime.now(UTC), monotonic() - start
            earlier_version, version = version, self._newest_version
            try:
                updates = self._request(state)
            except ApiError as error:
                if error.status in REFUSALS:
                    reason = f"not recovered: status {error.status} (gap: {gap.reason})"
                    self._add(replace(gap, reason=reason, is_final=True))
                    return
                updates = ()
            except Exception:  # noqa: BLE001 - the gap stays open, and the feed stale
                updates = ()
            rows, is_readable = self._read(updates)
            delay = pause if rows else min(max(2 * delay, pause), LATE * pause)
            if not rows:
                continue
            versions = [row["version"] for row in rows if row["version"] is not None]
            # What it lags, it has made up for by then, or shows by a version that the stream delivered before.
            is_late = age >= pause * (LATE if versions else 1) or -1 < earlier_version <= max(versions, default=-1)
            # A lower count needs two answers.
            if is_late and is_readable and has_answer:
                self._add(Recovered(gap, updates, requested_at))
                return
            self._add(Recovering(gap, updates, ("stats",), requested_at))
            has_answer = True

    def _request(self, state: StateRequest) -> tuple[Update, ...]:
        """Return the state by the first route that has the total of each team, or by the last one."""
        game_id = game_of(self._stream)

        def call(operation: str, arguments: dict[str, Any]) -> Payload:
            return state.client.call_sync(operation, arguments, None)

        if state.is_snapshot:
            return (_update(call("broadcast_stats", {"schedule_id": game_id, "mock": False})),)
        catch_up: tuple[Update, ...] = ()
        try:
            catch_up = (_update(call("catch_up", {"game_id": game_id, "resources": ["stats"]}), "catch_up"),)
            rows, _ = self._read(catch_up)
            totals = {row["team_id"] for row in rows if row["is_team_total"] and _has_values(row)}
            if rows and totals >= {row["team_id"] for row in rows}:
                return catch_up
        except ApiError as error:
            if error.status not in REFUSALS:
                raise
        try:
            sides = call("game", {"game_id": game_id}).to_dict().get("game_attributes") or {}
            teams = [team for team in map(sides.get, ("home_team_id", "away_team_id")) if team is not None]
            lines = [call("team_game_stats", {"team_id": team, "game_id": game_id}) for team in teams]
        except ApiError:
            if not catch_up:
                raise
            return catch_up
        return tuple(map(_update, lines)) or catch_up

    def _read(self, updates: Sequence[Update]) -> tuple[list[dict[str, Any]], bool]:
        """Return the rows of updates, and whether all are readable."""
        score = LiveBoxScore(sport=sport_of_score(self._score))
        score.feed_all(updates)
        rows = score.table().to_dicts()
        return rows, not score.unreadable


def _has_values(row: Mapping[str, Any]) -> bool:
    return any(value is not None for name, value in row.items() if name.isupper())


def _version(update: Update) -> int:
    try:
        message = update.to_dict()
    except DecodeError:
        return -1
    data = message.get("data") if isinstance(message, dict) else None
    version = whole(data.get("version")) if isinstance(data, dict) else None
    return -1 if version is None else version


def _update(payload: Payload, source: str | None = None) -> Update:
    restore: Callable[..., Update] = getattr(Update, "_restore")  # noqa: B009
    now = datetime.now(UTC) - datetime.fromtimestamp(0, UTC)
    return restore(None, "", payload.raw.decode(), None, None, source, now)
