"""The simulator: the whole service on this machine."""

import weakref
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, Unpack

from sideline._access import keep_alive
from sideline._arguments import named
from sideline._async_client import AsyncClient
from sideline._client import Client
from sideline._core import CoreSimulator
from sideline._options import ClientOptions
from sideline._text import facts_html
from sideline._types import Sport, Time

__all__ = ["Credentials", "Faults", "SeenRequest", "Simulator", "StreamFaults"]


class SeenRequest(NamedTuple):
    """A request that the simulator received.

    >>> client.teams().status
    200
    >>> service.requests[-1].path, service.requests[-1].status
    ('/v1/data/teams', 200)
    """

    method: str
    path: str
    """Without the query."""
    query: dict[str, str | list[str]]
    """Decoded names and values; a name that was sent more than once has a list of values."""
    headers: Mapping[str, str]
    status: int
    """The status of the response; 0 if the connection was cut before it."""


_FAULT_OPTIONS = {
    "path": 'a str such as "/v1/data/teams"',
    "headers": 'a mapping of str to str, or pairs such as [("X-Odd", "1")]',
    "informational": "a list of statuses such as [103]",
    "gzip": '"whole", "damaged" or "cut"',
    **dict.fromkeys(("status", "cut_at", "content_length", "bytes_per_second", "burst", "times"), "a whole number"),
    **dict.fromkeys(("delay", "clock_offset"), "a number of seconds"),
    **dict.fromkeys(("requests_per_second", "probability"), "a number"),
    **dict.fromkeys(("reset", "stale", "retry_after"), "True or False"),
}


class Faults:
    """Faults that the simulator injects into responses.

    >>> service.faults.add("/v1/data/teams", status=503, times=1)
    >>> service.faults
    <sideline.simulator.Faults: add('/v1/data/teams', status=503, times=1)>
    """

    def __init__(self, core: CoreSimulator) -> None:
        self._core = core
        self._added: list[str] = []

    def __repr__(self) -> str:
        return f"<sideline.simulator.Faults: {', '.join(self._added) or 'none'}>"

    def add(
        self,
        path: str = "*",
        *,
        status: int | None = None,
        body: object = None,
        headers: Mapping[str, str] | Iterable[tuple[str, str]] | None = None,
        delay: float = 0.0,
        cut_at: int | None = None,
        reset: bool = False,
        content_length: int = 0,
        gzip: Literal["whole", "damaged", "cut"] | None = None,
        trailing: bytes = b"",
        informational: Sequence[int] = (),
        stale: bool = False,
        bytes_per_second: int | None = None,
        requests_per_second: float | None = None,
        burst: int | None = None,
        retry_after: bool = False,
        clock_offset: float = 0.0,
        times: int | None = None,
        probability: float = 1.0,
    ) -> None:
        """Inject a fault into requests for `path`; of several matching faults the first added applies.

        The arguments can be combined. Only `delay`, `headers`, `cut_at`, `bytes_per_second` and `clock_offset` apply to
        an open stream, which has no end.

        Parameters:
            path: the path of the requests; `*` matches any characters.
            status, body: replace those of the response; a body is bytes, text, or a value for JSON.
            headers: replace headers of the same name; pairs may repeat a name.
            delay: seconds before the response.
            cut_at: the connection ends after so many bytes of the body.
            reset: the connection ends with a reset, at `cut_at` or `stale`, or else before the response.
            content_length: is added to the true Content-Length (+5, -5). After a shorter body the connection ends; a
                longer body is sent completely.
            gzip: compresses the body, requested or not: "whole", "damaged" (one wrong digit, which only the checksum
                reveals) or "cut" (without its end).
            trailing: bytes after the response, on the same connection.
            informational: statuses of responses before the response, such as 103.
            stale: the connection stays open after the response, and closes on the next request.
            bytes_per_second: the speed of the response.
            requests_per_second: applies the fault only to requests beyond this rate, with status 429 by default. Up to
                `burst` (default 1) requests may come at once; `retry_after` adds the header.
            clock_offset: seconds added to the server's clock.
            times, probability: how often, and how likely.

        Raises:
            ValueError: an impossible fault, or an argument without the one that it depends on.

        >>> service.faults.add("/v1/data/teams", status=503, times=1)
        >>> client.teams().status  # retried
        200
        >>> service.faults.add(requests_per_second=50, burst=5, retry_after=True)
        """
        if not isinstance(trailing, (bytes, bytearray)):
            kind = type(trailing).__name__
            raise TypeError(f'trailing is bytes, not {kind}: write b"..."')
        pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
        with named(**_FAULT_OPTIONS):
            self._core.add_fault(
                path,
                status=status,
                body=body,
                headers=list(pairs),
                delay=delay,
                cut_at=cut_at,
                reset=reset,
                content_length=content_length,
                gzip=gzip,
                trailing=trailing,
                informational=informational,
                stale=stale,
                bytes_per_second=bytes_per_second,
                requests_per_second=requests_per_second,
                burst=burst,
                retry_after=retry_after,
                clock_offset=clock_offset,
                times=times,
                probability=probability,
            )
        values = {
            "status": status,
            "delay": delay or None,
            "cut_at": cut_at,
            "reset": reset or None,
            "gzip": gzip,
            "bytes_per_second": bytes_per_second,
            "requests_per_second": requests_per_second,
            "times": times,
        }
        options = "".join(f", {name}={value!r}" for name, value in values.items() if value is not None)
        self._added.append(f"add({path!r}{options})")

    def clear(self) -> None:
        """Remove all faults."""
        self._core.clear_faults()
        self._added.clear()


class StreamFaults:
    """Faults that the simulator injects into open streams, and the streams' behaviour.

    Use `faults` to refuse a stream, or to cut it at a byte. In `path`, `*` matches any characters; `after` is the
    number of events before the fault, `times` the number of affected connections (`None`: all).
    """

    def __init__(self, core: CoreSimulator) -> None:
        self._core = core

    @property
    def heartbeat(self) -> float:
        """Seconds of silence after which the event stream sends a heartbeat."""
        return self._core.heartbeat

    @heartbeat.setter
    def heartbeat(self, seconds: float) -> None:
        self._core.heartbeat = seconds

    @property
    def with_ids(self) -> bool:
        """Whether events of the event stream have ids to resume from; the real service sends none."""
        return self._core.with_ids

    @with_ids.setter
    def with_ids(self, with_ids: bool) -> None:
        self._core.with_ids = with_ids

    def stall(
        self,
        path: str = "*",
        *,
        after: int = 0,
        seconds: float | None = None,
        heartbeats: bool = False,
        times: int | None = None,
    ) -> None:
        """Stop sending for `seconds`, or forever; without `heartbeats` the connection is half open.

        >>> service.streams.stall(after=3, heartbeats=True, times=1)
        """
        self._core.add_stall(path, after=after, times=times, seconds=seconds, heartbeats=heartbeats)

    def insert(self, data: bytes, path: str = "*", *, after: int = 0, times: int | None = None) -> None:
        """Send these bytes between two events, without framing.

        >>> service.streams.insert(bytes([0xFF, 0xFE]), times=1)
        """
        self._core.add_bytes(path, after=after, times=times, data=data)

    def slow(self, bytes_per_second: int, path: str = "*", *, times: int | None = None) -> None:
        """Limit the bytes per second.

        >>> service.streams.slow(10_000, times=1)
        """
        self._core.add_slowness(path, times=times, bytes_per_second=bytes_per_second)

    def cut(self, *, reset: bool = False) -> None:
        """End the connections of all open streams, with a close or a reset.

        >>> service.streams.cut()
        """
        self._core.cut_streams(reset)

    def clear(self) -> None:
        """Remove all faults of streams.

        >>> service.streams.clear()
        """
        self._core.clear_stream_faults()


class Credentials:
    """The credentials that the simulator accepts, with their privileges."""

    def __init__(self, core: CoreSimulator) -> None:
        self._core = core

    def add(self, username: str, secret: str, *, privileges: Mapping[str, Any] | Iterable[str] | None = None) -> None:
        """Add a username and secret that may sign requests.

        They have all privileges by default. `privileges` is a mapping of changes (`stats` and `shots`, True or False,
        and `restricted_teams`, the ids of teams that may not be read), or the names of the granted privileges:
        `["stats"]` grants stats but not shots, `[]` neither.

        >>> service.credentials.add("intern", "a secret", privileges={"stats": False})
        >>> service.client(username="intern", secret="a secret").stats(session_id)
        Traceback (most recent call last):
        sideline.errors.PermissionDenied: ...
        """
        try:
            stats, shots, restricted = _privileges(privileges)
            with named(username="a str", secret="a str", restricted="a list of teams' ids"):
                self._core.add_credentials(username, secret, stats, shots, restricted)
        finally:
            # A traceback with locals must not show it.
            del secret


def _privileges(privileges: Mapping[str, Any] | Iterable[str] | None) -> tuple[bool, bool, list[Any]]:
    """Return whether stats and shots may be read, and the teams that may not."""
    settings: dict[str, Any] = {"stats": True, "shots": True, "restricted_teams": ()}
    if isinstance(privileges, Mapping):
        settings |= {name.lower(): value for name, value in privileges.items()}
    elif isinstance(privileges, str):
        raise TypeError(f"privileges is a mapping or a list of names: write [{privileges!r}]")
    elif privileges is not None:
        granted = {name.lower() for name in privileges}
        settings |= {"stats": "stats" in granted, "shots": "shots" in granted} | dict.fromkeys(granted, True)
        if "restricted_teams" in granted:
            raise ValueError('restricted_teams is not a privilege: write privileges={"restricted_teams": [..]}')
    stats, shots, restricted = settings.pop("stats"), settings.pop("shots"), settings.pop("restricted_teams")
    if settings:
        raise ValueError(f"privileges are stats, shots and restricted_teams, not {', '.join(settings)}")
    return bool(stats), bool(shots), list(restricted)


class Simulator:
    """A simulator of the whole service on loopback.

    It checks signatures and the service's rules, and serves a season that is simulated possession by possession.

    Parameters:
        seed: selects the season; if `now` is given, the same seed gives the same bodies.
        sport: "basketball" or "football". Of football the codes (`INVENTED_…`), plays, scores and coordinates are
            invented, because the service's are unknown: see docs/football.md.
        teams, games: the size of the season.
        now: the season's clock, frozen; default: the real clock. It is late in the season.
        port: default: any free port.
        tracking_hz: locations per second, in steps of whole milliseconds: 20, 25, 50, ..; default: 2, as in the
            vendor's sample.

    >>> import sideline
    >>> with sideline.Simulator(seed=7, teams=4, games=8) as small, small.client() as asks:
    ...     asks.teams().table().num_rows
    4
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        sport: Sport = "basketball",
        teams: int = 16,
        games: int = 240,
        now: Time | None = None,
        port: int = 0,
        tracking_hz: int = 2,
    ) -> None:
        numbers = dict.fromkeys(("seed", "teams", "games", "port", "tracking_hz"), "a whole number")
        with named(sport='"basketball" or "football"', **numbers):
            self._core = CoreSimulator(
                seed=seed, sport=sport, teams=teams, games=games, now=now, port=port, tracking_hz=tracking_hz
            )
        self._sport: Sport = sport
        # Close before the interpreter exits: the simulator's threads may log, and log records need Python.
        self._finalizer = weakref.finalize(self, self._core.close)
        self.faults: Faults = Faults(self._core)
        self.streams: StreamFaults = StreamFaults(self._core)
        self.credentials: Credentials = Credentials(self._core)

    @property
    def base_url(self) -> str:
        """The address of the REST API."""
        return self._core.base_url

    @property
    def websocket_url(self) -> str:
        """The address of the websocket."""
        return self._core.websocket_url

    @property
    def broadcast_base_url(self) -> str:
        """The address of the Broadcast API."""
        return self._core.broadcast_base_url

    @property
    def username(self) -> str:
        """The username that signs requests."""
        return self._core.username

    @property
    def secret(self) -> str:
        """The secret that signs requests."""
        return self._core.secret

    @property
    def api_key(self) -> str:
        """The key of the Broadcast API."""
        return self._core.api_key

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that lead `sideline.Client()` to the simulator."""
        return {
            "SIDELINE_USERNAME": self.username,
            "SIDELINE_SECRET": self.secret,
            "SIDELINE_API_KEY": self.api_key,
            "SIDELINE_SPORT": self._sport,
            "SIDELINE_BASE_URL": self.base_url,
            "SIDELINE_WEBSOCKET_URL": self.websocket_url,
            "SIDELINE_BROADCAST_BASE_URL": self.broadcast_base_url,
        }

    @property
    def teams(self) -> list[dict[str, Any]]:
        """The season's teams, in the wire format."""
        return self._core.teams()

    @property
    def games(self) -> list[dict[str, Any]]:
        """The season's games by tip-off, in the wire format."""
        return self._core.games()

    @property
    def requests(self) -> list[SeenRequest]:
        """The request log: the last 100,000 requests in order."""
        return [SeenRequest(**request) for request in self._core.requests()]

    def play(self, game_id: str, speed: float | None = 1.0) -> None:
        """Play a game from its tip-off or its current state; streams and responses follow its clock.

        `speed` 60 plays a minute per second; `None` is as fast as its streams are read. Returns at once.

        >>> import sideline
        >>> with sideline.Simulator(seed=7, teams=4, games=8) as small:
        ...     small.play(small.games[-1]["event_id"], speed=600)
        """
        self._core.play(game_id, speed)

    def correct(self, game_id: str, player_id: int, stat: str, delta: int) -> None:
        """Correct a player's stat of a finished game: in streams, stats, details and the score.

        Possessions and shots stay unchanged.

        Raises `ValueError` for an unknown game, player or stat, or if the count would become negative.

        >>> import sideline
        >>> with sideline.Simulator(seed=7, teams=4, games=8) as small, small.client() as asks:
        ...     game, team = small.games[0]["event_id"], small.games[0]["home_team_id"]
        ...     lines = asks.team_game_stats(team, game_id=game).table("box_score").to_dicts()
        ...     small.correct(game, lines[-1]["player_id"], "AST", +1)
        """
        self._core.correct(game_id, player_id, stat, delta)

    def revoke_tokens(self, token: str | None = None) -> None:
        """Revoke a token of the websocket, or all tokens: their connections close, and new ones are refused.

        >>> service.revoke_tokens()
        """
        self._core.revoke_tokens(token)

    def client(self, **options: Unpack[ClientOptions]) -> Client:
        """Return a client of this service, which runs as long as it; `options` are those of `sideline.Client`."""
        try:
            merged: ClientOptions = {**self._options(), **options}
            return keep_alive(Client(**merged), self)
        finally:
            # A traceback with locals must not show secrets.
            options, merged = {}, {}

    def async_client(self, **options: Unpack[ClientOptions]) -> AsyncClient:
        """Return an asynchronous client, as `client`; `options` are those of `sideline.AsyncClient`."""
        try:
            merged: ClientOptions = {**self._options(), **options}
            return keep_alive(AsyncClient(**merged), self)
        finally:
            # As above.
            options, merged = {}, {}

    def _options(self) -> ClientOptions:
        return {
            "username": self.username,
            "secret": self.secret,
            "api_key": self.api_key,
            # Passed explicitly, so that no environment variable is read.
            "environment": "production",
            "sport": self._sport,
            "base_url": self.base_url,
            "websocket_url": self.websocket_url,
            "broadcast_base_url": self.broadcast_base_url,
        }

    def close(self) -> None:
        """Stop the service. It may be called again."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if not hasattr(self, "_finalizer"):
            return "<sideline.Simulator, not built>"
        state = "" if self._finalizer.alive else ", closed"
        return f"<sideline.Simulator {self._sport} at {self.base_url}{state}>"

    def _repr_html_(self) -> str:
        games = self.games
        return facts_html(
            f"Simulator of {self._sport}",
            {
                "state": "serving" if self._finalizer.alive else "closed",
                "teams": len(self.teams),
                "games": len(games),
                "season": f"{_day(games[0])} to {_day(games[-1])}" if games else None,
                "REST": self.base_url,
                "websocket": self.websocket_url,
                "Broadcast": self.broadcast_base_url,
                "requests answered": len(self._core.requests()),
            },
        )


def _day(game: Mapping[str, Any]) -> str:
    return f"{datetime.fromtimestamp(game['tipoff_at'] / 1000, UTC):%Y-%m-%d}"
