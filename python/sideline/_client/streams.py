"""The methods of a client that open live streams.

`sideline.live` is imported with the first stream, because it needs asyncio.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload
from urllib.parse import urlsplit

from .._lazy import LazyModule

if TYPE_CHECKING:
    from .. import live as streams
else:
    streams = LazyModule("sideline.live")
from .._core import CoreClient, Update, _event_stream, _live
from ..errors import ConfigurationError
from .arguments import as_seconds, list_of_names
from .types import Duration

Overflow = Literal["block", "drop_oldest", "latest"]
Recover = Literal["auto", "off"]


class LiveStatsOptions(TypedDict, total=False):
    """The keyword arguments of `live_stats` but for `notices`."""

    mock: bool
    silence_limit: Duration
    retry_wait: Duration
    max_wait: Duration
    overflow: Overflow
    buffer: int
    max_event_bytes: int
    max_buffer_bytes: int
    quiet_after: Duration
    give_up_on: Iterable[int] | int
    last_event_id: str | None
    recover: Recover


def _statuses(give_up_on: object) -> list[Any]:
    """Return a list of statuses, or of one. Raises `TypeError` for anything else."""
    if isinstance(give_up_on, int):
        return [give_up_on]
    if isinstance(give_up_on, str) or not isinstance(give_up_on, Iterable):
        raise TypeError(f"give_up_on is one or more statuses, such as (401, 403), not {type(give_up_on).__name__}")
    return list(give_up_on)


def check_websocket_url(core: CoreClient) -> None:
    """Raise `ConfigurationError` if a token that `base_url` issues would go to the documented host instead."""
    addresses = {name: (urlsplit(value or ""), source) for name, value, source in core.settings()}
    (base, base_source), (websocket, source) = addresses["base_url"], addresses["websocket_url"]
    if source == "default" and base_source != "default" and websocket.hostname != base.hostname:
        raise ConfigurationError(
            f"base_url is {base.geturl()}, but without websocket_url= (or SIDELINE_WEBSOCKET_URL) the stream and its "
            f"token would go to {websocket.geturl()}: give the websocket's address too"
        )


class Streams:
    """The methods of both clients that open streams; they are not awaited."""

    _core: CoreClient

    _recover_pause: float = 5.0
    """Seconds between two requests of one stream for what its gaps lack, at least. Only tests change it."""

    def _pause_of(self, recover: Recover, *, notices: bool) -> float | None:
        if recover not in ("auto", "off"):
            raise ValueError(f'recover is {recover!r}; it must be "auto" or "off"')
        # Without notices there is no gap to close.
        return self._recover_pause if recover == "auto" and notices else None

    @overload
    def live_stats(
        self, schedule_id: str, *, notices: Literal[False], **options: Unpack[LiveStatsOptions]
    ) -> "streams.LiveStream[Update]": ...
    @overload
    def live_stats(
        self, schedule_id: str, *, notices: bool = True, **options: Unpack[LiveStatsOptions]
    ) -> "streams.LiveStream": ...
    def live_stats(
        self,
        schedule_id: str,
        *,
        mock: bool = False,
        silence_limit: Duration = 30.0,
        retry_wait: Duration = 5.0,
        max_wait: Duration = 10.0,
        notices: bool = True,
        overflow: Overflow = "block",
        buffer: int = 1024,
        max_event_bytes: int = 16 * 1024 * 1024,
        max_buffer_bytes: int = 256 * 1024 * 1024,
        quiet_after: Duration = 60.0,
        give_up_on: Iterable[int] | int = (401, 403),
        last_event_id: str | None = None,
        recover: Recover = "auto",
    ) -> "streams.LiveStream[Any]":
        """Stream the live stats of a game from the Broadcast API (documentation: The wire, "Event stream").

        See the documentation: Live.

        It requires the API key. Each update is a whole snapshot. The stream connects at `with`, or at the first item.

        Parameters:
            mock: stream the service's sample game, which never ends, with the schedule id "mock-service".
            silence_limit: seconds without a byte after which the connection counts as lost.
            retry_wait, max_wait: seconds to wait after a failed attempt, and the limit to which they grow, plus up to a
                fifth of random jitter.
            notices: whether notices are among the items.
            overflow: what happens when updates arrive faster than you take them: "block" (the service waits),
                "drop_oldest" (a `Gap` counts them), "latest" (only the newest is kept).
            buffer: number of items that may wait to be taken.
            max_event_bytes: larger events are skipped; a `Gap` names their size.
            max_buffer_bytes: bytes of the items that may wait to be taken.
            quiet_after: seconds with heartbeats but no update until a `Quiet`.
            give_up_on: statuses that end the stream with their error; other statuses are retried. An untrusted
                certificate also ends it.
            last_event_id: sent with the first request.
            recover: "auto" requests snapshots (`broadcast_stats`) after a gap that the stream does not close itself
                within 2 s, until one closes it, and yields them as `Recovering` and `Recovered`; "off" requests
                nothing. Without notices nothing is requested (documentation: Streams in detail, "Recovery").

        >>> stream = client.live_stats(live_game_id)
        >>> type(next(stream)).__name__
        'Connected'
        >>> stream.close()
        """
        options = {
            "silence_limit": as_seconds(silence_limit),
            "retry_wait": as_seconds(retry_wait),
            "max_wait": as_seconds(max_wait),
            "notices": notices,
            "overflow": overflow,
            "buffer": buffer,
            "max_event_bytes": max_event_bytes,
            "max_buffer_bytes": max_buffer_bytes,
            "quiet_after": as_seconds(quiet_after),
            "give_up_on": _statuses(give_up_on),
            "last_event_id": last_event_id,
            "recover_pause": self._pause_of(recover, notices=notices),
        }
        from ..live import LiveStream

        core = _event_stream(self._core, "live_stats", {"schedule_id": schedule_id, "mock": mock}, options)
        sport, title = self._core.sport, f"live_stats {schedule_id}"
        return LiveStream(core, title, str(schedule_id), sport=sport, has_notices=notices)

    def live(
        self,
        game_id: str | None = None,
        *,
        token: str | None = None,
        sources: Iterable[str] = (),
        last_seq: int | None = None,
        broadcast_summary_level: str | None = None,
        silence_limit: Duration = 30.0,
        retry_wait: Duration = 5.0,
        max_wait: Duration = 10.0,
        notices: bool = True,
        overflow: Overflow = "block",
        buffer: int = 1024,
        max_event_bytes: int = 16 * 1024 * 1024,
        max_buffer_bytes: int = 256 * 1024 * 1024,
        quiet_after: Duration = 60.0,
        give_up_on: Iterable[int] | int = (401, 403),
        recover: Recover = "auto",
    ) -> "streams.LiveStream":
        """Stream the live websocket of a game (documentation: The wire, "Websocket").

        See the documentation: Live.

        After a lost connection it resumes after the highest number below which none is missing, and leaves out repeats
        (`stats.repeats` counts them). `batches(table="stat_updates")` returns rows of stats messages, and
        `sideline.LiveBoxScore` the current box score. The stream connects at `with`, or at the first item.

        Parameters:
            game_id: the game, by the schedule's `event_id`; its token is requested, and requested again when refused.
            token: a token from `subscription_token`; without `game_id` it cannot be renewed.
            sources: names of the sources to receive, such as "stats" or "broadcastsummary"; default: all that you may
                read. The service neither refuses an unknown name nor sends anything for it. So a stream with named
                sources yields a `Quiet` after `quiet_after` seconds of silence, until its first update even with
                `notices=False`.
            last_seq: resume after this number; without it sequenced sources begin with the game. The service may send
                this message again.
            broadcast_summary_level: the level of the source "broadcastsummary", such as "game_stats".
            silence_limit, retry_wait, max_wait, notices, overflow: as for `live_stats`; a refused token also counts as
                a failed attempt.
            buffer, max_event_bytes, max_buffer_bytes, quiet_after, give_up_on: as for `live_stats`.
            recover: "auto" requests the state of the game after a gap (`catch_up`; where that is refused, the stats of
                the game's sessions) at most once in 5 s, until it closes the gap, and yields it as `Recovering` and
                `Recovered`; "off" requests nothing. Without `game_id` or without notices nothing is requested
                (documentation: Streams in detail, "Recovery").

        >>> stream = client.live(live_game_id, sources=["stats"])
        >>> type(next(stream)).__name__
        'Connected'
        >>> stream.close()
        """
        try:
            request = {
                "game_id": game_id,
                "sources": list_of_names("sources", sources),
                "last_seq": last_seq,
                "broadcast_summary_level": broadcast_summary_level,
            }
            options = {
                "silence_limit": as_seconds(silence_limit),
                "retry_wait": as_seconds(retry_wait),
                "max_wait": as_seconds(max_wait),
                "notices": notices,
                "overflow": overflow,
                "buffer": buffer,
                "max_event_bytes": max_event_bytes,
                "max_buffer_bytes": max_buffer_bytes,
                "quiet_after": as_seconds(quiet_after),
                "give_up_on": _statuses(give_up_on),
                "recover_pause": self._pause_of(recover, notices=notices),
            }
            from ..live import LiveStream

            if game_id is not None:
                check_websocket_url(self._core)
            core = _live(self._core, request | {"token": token}, options)
        finally:
            # A traceback with locals must not show it.
            del token
        game = None if game_id is None else str(game_id)
        sport, title = self._core.sport, f"live {game_id or 'by token'}"
        return LiveStream(core, title, game, sport=sport, has_notices=notices)
