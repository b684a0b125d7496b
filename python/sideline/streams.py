"""The methods of a client that open live streams.

What streams are made of is loaded with the first of them: it needs asyncio.
"""

from collections.abc import Iterable
from typing import Literal

import sideline
from sideline._core import CoreClient, _live, _live_stats

__all__ = ["Streams"]

Overflow = Literal["block", "drop_oldest", "latest"]


class Streams:
    """The streams of a client: given at once, by either client, and not awaited."""

    _core: CoreClient

    def live_stats(
        self,
        schedule_id: str,
        *,
        mock: bool = False,
        silence_limit: float = 30.0,
        retry_wait: float = 5.0,
        max_wait: float = 60.0,
        notices: bool = True,
        overflow: Overflow = "block",
        buffer: int = 1024,
        max_event_bytes: int = 16 * 1024 * 1024,
        max_buffer_bytes: int = 256 * 1024 * 1024,
        quiet_after: float = 60.0,
        give_up_on: Iterable[int] = (401, 403),
        last_event_id: str | None = None,
    ) -> "sideline.LiveStream":
        """Streams the live stats of a game from the Broadcast API (docs/live.md, docs/wire.md, "Event stream").

        It takes the API key. Each update is a whole snapshot. The stream connects at `with`, or when the first item is
        taken.

        Parameters:
            mock: stream the service's sample game, which never ends, with the schedule id "mock-service".
            silence_limit: seconds without a byte after which the connection counts as lost.
            retry_wait, max_wait: seconds to wait after a failed attempt, and the limit to which they grow. Up to a
                fifth is added at random.
            notices: whether notices are among the items.
            overflow: what happens when updates come faster than they are taken: "block" (the service waits),
                "drop_oldest" (a `Gap` counts them), "latest" (only the newest is kept).
            buffer: items that may wait to be taken.
            max_event_bytes: an event beyond it is skipped; a `Gap` names its size.
            max_buffer_bytes: bytes of the items that may wait to be taken.
            quiet_after: seconds without an update, while heartbeats come, after which `Quiet` comes.
            give_up_on: statuses that end the stream with their error; any other is tried again. A certificate that
                cannot be trusted ends it too.
            last_event_id: sent with the first request.

        >>> stream = client.live_stats(live_game_id)
        >>> type(next(stream)).__name__
        'Connected'
        >>> stream.close()
        """
        options = {
            "silence_limit": silence_limit,
            "retry_wait": retry_wait,
            "max_wait": max_wait,
            "notices": notices,
            "overflow": overflow,
            "buffer": buffer,
            "max_event_bytes": max_event_bytes,
            "max_buffer_bytes": max_buffer_bytes,
            "quiet_after": quiet_after,
            "give_up_on": list(give_up_on),
            "last_event_id": last_event_id,
        }
        from sideline.live import LiveStream

        core = _live_stats(self._core, {"schedule_id": schedule_id, "mock": mock}, options)
        return LiveStream(core, f"live_stats {schedule_id}")

    def live(
        self,
        game_id: str | None = None,
        *,
        token: str | None = None,
        sources: Iterable[str] = (),
        last_seq: int | None = None,
        broadcast_summary_level: str | None = None,
        silence_limit: float = 30.0,
        retry_wait: float = 5.0,
        max_wait: float = 60.0,
        notices: bool = True,
        overflow: Overflow = "block",
        buffer: int = 1024,
        max_event_bytes: int = 16 * 1024 * 1024,
        max_buffer_bytes: int = 256 * 1024 * 1024,
        quiet_after: float = 60.0,
        give_up_on: Iterable[int] = (401, 403),
    ) -> "sideline.LiveStream":
        """Streams the live websocket of a game (docs/live.md, docs/wire.md, "Websocket").

        After a lost connection it resumes behind the highest number below which none is missing, and leaves out what an
        earlier connection delivered (`stats.repeats` counts it). `batches(table="stat_updates")` makes rows of stats
        messages, and `sideline.LiveBoxScore` the current box score. The stream connects at `with`, or when the first
        item is taken.

        Parameters:
            game_id: the game, by the schedule's `event_id`: its token is asked for, and asked for again when it is
                refused.
            token: one that `subscription_token` gave; without `game_id` it cannot be renewed.
            sources: names of what to receive, such as "stats" or "broadcastsummary"; none: all that you may see. The
                service sends nothing for a name that it does not know, and does not refuse it. So a stream of named
                sources gives a `Quiet` once nothing came for `quiet_after` seconds, with `notices=False` too until
                its first update.
            last_seq: resume behind this number; without it sequenced sources begin with the game. The service may
                send this one again.
            broadcast_summary_level: how much of the source "broadcastsummary", such as "game_stats".
            silence_limit, retry_wait, max_wait, notices, overflow: as for `live_stats`; a refused token is a failed
                attempt too.
            buffer, max_event_bytes, max_buffer_bytes, quiet_after, give_up_on: as for `live_stats`.

        >>> stream = client.live(live_game_id, sources=["stats"])
        >>> type(next(stream)).__name__
        'Connected'
        >>> stream.close()
        """
        try:
            if isinstance(sources, str):
                raise TypeError(f"sources is a list of names: write [{sources!r}]")
            what = {
                "game_id": game_id,
                "sources": list(sources),
                "last_seq": last_seq,
                "broadcast_summary_level": broadcast_summary_level,
            }
            options = {
                "silence_limit": silence_limit,
                "retry_wait": retry_wait,
                "max_wait": max_wait,
                "notices": notices,
                "overflow": overflow,
                "buffer": buffer,
                "max_event_bytes": max_event_bytes,
                "max_buffer_bytes": max_buffer_bytes,
                "quiet_after": quiet_after,
                "give_up_on": list(give_up_on),
            }
            from sideline.live import LiveStream

            core = _live(self._core, what | {"token": token}, options)
        finally:
            # What a traceback shows of its frames must not be this.
            del token
        return LiveStream(core, f"live {game_id or 'by token'}")
