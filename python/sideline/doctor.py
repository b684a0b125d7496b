"""Checks a set-up step by step: `client.doctor()` and `sideline doctor`.

The client's own core makes each step, so that the doctor meets the same problems as the client. Only the certificate of
a server that the client refused is fetched separately, to name its issuer.
"""

import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

from ._client import CallLimits, core_of_stream, finding_of, is_time
from ._core import CoreClient, Payload, _certificate
from .errors import AuthenticationError, NotFound, PermissionDenied, SidelineError

if TYPE_CHECKING:
    from .live import LiveStream

__all__ = ["Check", "Report"]

T = TypeVar("T")

State = Literal["ok", "failed", "missing", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One step.

    >>> check = client.doctor()["username"]
    >>> check.state, check.found == f"{service.username} (argument)"
    ('ok', True)
    """

    name: str
    state: State
    """`missing`: a privilege that the service has not granted; the set-up is fine. `skipped`: not tried, or not given
    and not needed for the rest."""
    found: str
    """The finding, or why the step was skipped. Never a secret."""
    advice: str = ""
    """What to do, if anything."""

    @property
    def ok(self) -> bool:
        """Whether the check did not fail."""
        return self.state != "failed"


class Report:
    """The result of the doctor: its text is for people, `ok` and `checks` for programs.

    >>> report = client.doctor()
    >>> [check.name for check in report.checks if check.state == "failed"]
    []
    """

    def __init__(self, checks: list[Check]) -> None:
        self.checks = checks

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.ok for check in self.checks)

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def __repr__(self) -> str:
        width = max((len(check.name) for check in self.checks), default=0)
        lines = [self._summary()]
        for check in self.checks:
            lines.append(f"{check.state:7}  {check.name:{width}}  {check.found}".rstrip())
            if check.advice:
                lines.append(f"{'':{width + 9}}  -> {check.advice}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ._rows import notebook_html

        checks = [
            {"state": check.state, "name": check.name, "found": check.found, "advice": check.advice}
            for check in self.checks
        ]
        return notebook_html({"title": self._summary(), "about": "", "checks": checks})

    def _summary(self) -> str:
        count = {
            state: sum(check.state == state for check in self.checks) for state in ("failed", "missing", "skipped")
        }
        counts = [f"{number} {state}" for state, number in count.items() if number]
        return f"sideline doctor: {len(self.checks)} checks, {', '.join(counts) or 'all ok'}"


MAX_CLOCK_SKEW = 60.0
"""Seconds. The service refuses 300 (documentation: The wire, "Signature"); a correct clock is far from either."""

_EXPIRY_WARNING_DAYS = 14
"""A certificate with fewer days left is mentioned."""


_LOCATIONS_WINDOW_S = 10
"""Seconds of positions that are requested."""

_OPEN_S = 10.0
"""Seconds that the websocket may take to open."""

_CAPTURE_ADVICE = "run sideline capture FOLDER: its report says what the service sends, without names and ids"

_QUERY_IS_SIGNED = (
    "calls without a query are accepted, and calls with a query are refused for their signature",
    "the gateway in front of the service signs the path and the query (Kong 3 does), but the service's specification "
    "has only the path: ask its operator to change that. Username, secret and clock are right",
)


_SETTINGS_ADVICE = {
    "proxy": "correct the address of the proxy, pass another with proxy=, or list the host in NO_PROXY",
    "TLS": "pass a file or folder of certificates with ca_bundle=, or install the system's (ca-certificates)",
}
"""What to do about settings that prevent a connection, by their step."""


class _Doctor:
    def __init__(self, core: CoreClient, limits: CallLimits, is_async: bool) -> None:
        self.core = core
        self.limits = limits
        self.is_async = is_async
        self.checks: list[Check] = []
        self.settings = {name: (value, source) for name, value, source in core.settings()}

    def note(self, name: str, state: State, finding: str, advice: str = "") -> None:
        self.checks.append(Check(name, state, finding, advice))

    def skip(self, names: tuple[str, ...], reason: str) -> None:
        for name in names:
            self.note(name, "skipped", reason)

    async def call(self, operation: str, arguments: dict[str, Any]) -> Payload:
        # Not through the client's own method, because unknown fields do not matter here.
        if self.is_async:
            return await self.core.call_async(operation, arguments, self.limits)
        return self.core.call_sync(operation, arguments, self.limits)

    async def run_blocking(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a blocking function, in a thread if an event loop is running."""
        if not self.is_async:
            return function(*arguments)
        import asyncio

        return await asyncio.to_thread(function, *arguments)

    def source(self, name: str) -> str:
        source = self.settings[name][1]
        return f"({source})" if source in ("argument", "default") else f"from {source}"

    def has(self, name: str) -> bool:
        return self.settings[name][0] is not None

    def failed(self, name: str, error: SidelineError | ValueError) -> None:
        finding, advice = _describe(error) if isinstance(error, SidelineError) else (str(error), _CAPTURE_ADVICE)
        if isinstance(error, PermissionDenied):
            lacks = "these credentials lack the privilege: ask the service's operator for it"
            self.note(name, "missing", finding, lacks)
        else:
            self.note(name, "failed", finding, advice)

    def check_settings(self) -> None:
        # With only an API key, only the Broadcast API is used.
        uses_only_broadcast = self.has("api_key") and not (self.has("username") or self.has("secret"))
        for name, (value, _) in self.settings.items():
            how_to_set = f"give {name}= or set SIDELINE_{name.upper()}"
            if value is not None:
                self.note(name, "ok", f"{value} {self.source(name)}")
            elif name == "api_key":
                self.note(name, "skipped", f"not given: only the Broadcast API needs it ({how_to_set})")
            elif name in ("username", "secret") and uses_only_broadcast:
                self.note(name, "skipped", f"not given: without it only the Broadcast API works ({how_to_set})")
            elif name != "ca_bundle":
                self.note(name, "failed", "missing", f"{how_to_set}; every signed call needs it")

    async def check_connection(self) -> bool:
        """Check the connection; return whether the service responds."""
        steps = ("proxy", "DNS", "TCP", "TLS", "answer", "clock")
        # An unusable proxy or an unreadable file of certificates fails before any connection.
        name = "proxy"
        try:
            proxy = self.core.proxy()
            name = "TLS"
            probe: dict[str, Any] = (
                await self.core.probe_async(self.limits) if self.is_async else self.core.probe_sync(self.limits)
            )
        except SidelineError as error:
            self.note(name, "failed", str(error), _SETTINGS_ADVICE[name])
            self.skip(tuple(step for step in steps if step != name), "no connection to the service is possible")
            return False
        stage, text, hint = probe["stopped"] or ("", "", "")
        self.check_route(probe, proxy)
        await self.check_encryption(probe, has_proxy=proxy is not None)
        if stage == "answer":
            self.note("answer", "failed", text, hint)
        elif stage:
            self.note("answer", "skipped", "there is no connection")
        else:
            self.note("answer", "ok", f"responds with status {probe['status']} to a request without a signature")
        if stage:
            self.note("clock", "skipped", "the service did not respond")
        else:
            self.check_clock(probe["ahead"])
        return not stage

    def check_route(self, probe: dict[str, Any], proxy: tuple[str, str] | None) -> None:
        """Check the proxy, the name and the connection."""
        host = urlsplit(self.settings["base_url"][0] or "").hostname or ""
        stage, text, hint = probe["stopped"] or ("", "", "")
        if stage == "proxy":
            self.note("proxy", "failed", text, hint)
        else:
            # The core does not know a proxy of the operating system's own settings.
            none = "none given: the system's settings apply" if sys.platform in ("win32", "darwin") else "none: direct"
            self.note("proxy", "ok", f"{proxy[0]} (from {proxy[1]})" if proxy else none)
        owner = f"of the proxy {proxy[0]}" if proxy else f"of {host}"
        if stage == "name":
            self.note("DNS", "failed", text, f"the name {owner} is unknown: check base_url and the network")
        elif proxy:
            self.note("DNS", "skipped", "the proxy looks the name up")
        else:
            self.note("DNS", "ok", f"{host} is {', '.join(probe['addresses'][:4]) or host}")
        if stage == "connection":
            self.note("TCP", "failed", text, hint)
        elif stage in ("name", "proxy"):
            self.note("TCP", "skipped", "the name is unknown" if stage == "name" else "the proxy does not connect")
        else:
            behind = f"through {proxy[0]}" if proxy else "directly"
            self.note("TCP", "ok", f"connected {behind}" + (f" to {probe['peer']}" if probe["peer"] else ""))

    async def check_encryption(self, probe: dict[str, Any], *, has_proxy: bool) -> None:
        address = urlsplit(self.settings["base_url"][0] or "")
        stage, text, hint = probe["stopped"] or ("", "", "")
        if address.scheme == "http":
            self.note("TLS", "skipped", "plain HTTP is not encrypted")
        elif stage == "tls":
            server = address.hostname or "", address.port or 443
            issuer = None if has_proxy else await self.run_blocking(_fetch_certificate, *server)
            by = f" (the certificate was issued by {issuer[0]!r}, until {_day(issuer[1])})" if issuer else ""
            self.note("TLS", "failed", text + by, hint)
        elif stage in ("name", "connection", "proxy"):
            self.note("TLS", "skipped", "there is no connection")
        else:
            self.note("TLS", *_describe_certificate(probe["certificate"]))

    def check_clock(self, offset: float | None) -> None:
        if offset is None:
            self.note("clock", "skipped", "the response has no date")
        elif abs(offset) < MAX_CLOCK_SKEW:
            self.note("clock", "ok", f"within {max(1, round(abs(offset)))} s of the service's")
        else:
            side = "behind" if offset > 0 else "ahead of"
            self.note(
                "clock",
                "failed",
                f"this machine's clock is {abs(offset) / 60:.1f} minutes {side} the service's",
                "set the clock: a signature is valid for 5 minutes (a client corrects up to 24 hours, after a refusal)",
            )

    async def check_signature(self) -> bool:
        def signed() -> str:
            # After the call, which may have learned the service's clock.
            return f"signed: {self.core.string_to_sign()!r}"

        try:
            await self.call("teams", {})
        except PermissionDenied as error:
            self.note("signature", "ok", f"accepted; {signed()}")
            self.failed("teams", error)
        except AuthenticationError as error:
            finding, advice = _describe(error)
            sources = ", ".join(f"{name} {self.source(name)}" for name in ("username", "secret"))
            self.note("signature", "failed", f"{finding}; {signed()}", f"{advice}; they are: {sources}")
            return False
        except SidelineError as error:
            # The error is not about the signature: another server responds, or the service has a problem.
            self.checks = [check for check in self.checks if check.name != "answer"]
            if isinstance(error, NotFound):
                no_path = "check base_url: this server does not have the path of the list of teams"
                self.note("answer", "failed", _describe(error)[0], no_path)
            else:
                self.failed("answer", error)
            self.note("signature", "skipped", f"no response to judge it by; {signed()}")
            return False
        else:
            self.note("signature", "ok", f"accepted; {signed()}")
        return True

    async def check_privileges(self) -> bool:
        """Check the privileges; return whether the schedule can be read."""
        names = ("stats", "table", "shots", "locations")
        try:
            session = await self.recent_session()
        except AuthenticationError as error:
            if await self.accepts_query():
                self.failed("schedule", error)
            else:
                self.note("query", "failed", *_QUERY_IS_SIGNED)
            self.skip(names, "without the schedule no session can be found")
            return False
        except SidelineError as error:
            self.failed("schedule", error)
            self.skip(names, "without the schedule no session can be found")
            return False
        if session is None:
            self.skip(names, "no game of the last 8 months has a session")
            return True
        session_id = session["session_id"]
        stats = await self.try_call("stats", self.call("stats", {"session_id": session_id}), lambda _: "may be read")
        if stats is None:
            self.skip(("table",), "there are no stats to decode")
        else:
            self.check_table(stats)
        await self.try_call("shots", self.call("shots", {"session_id": session_id}), lambda _: "may be read")
        start = session["started_at"]
        if not is_time(start):
            self.skip(("locations",), "the session has no start")
            return True
        window = {"session_id": session_id, "start": start, "end": start + timedelta(seconds=_LOCATIONS_WINDOW_S)}
        await self.try_call("locations", self.call("locations", window), _describe_locations)
        return True

    def check_table(self, stats: Payload) -> None:
        """Decode a response of stats, which needs no request."""
        try:
            rows = stats.table("box_score").num_rows
            unknown_fields = stats.unknown_fields()
        except SidelineError as error:
            self.note("table", "failed", _describe(error)[0], _CAPTURE_ADVICE)
            return
        names = ", ".join(unknown_fields[:3])
        fields = f"{len(unknown_fields)} unknown fields ({names}): sideline capture lists all of them"
        fields = fields if unknown_fields else "no unknown field"
        self.note("table", "ok", f"box_score of one session: {rows} rows, {fields}")

    async def accepts_query(self) -> bool:
        """Return whether the list of teams, accepted without a query, is accepted with a meaningless one."""
        try:
            await self.call("get", {"path": "/v1/data/teams", "params": {"sideline": "doctor"}})
        except AuthenticationError:
            return False
        except SidelineError:
            pass
        return True

    async def try_call(self, name: str, call: Awaitable[T], describe: Callable[[T], str]) -> T | None:
        try:
            result = await call
        except (SidelineError, ValueError) as error:
            # An id of the service that cannot be sent is a `ValueError`.
            self.failed(name, error)
            return None
        self.note(name, "ok", describe(result))
        return result

    async def games(self, start: datetime, end: datetime) -> list[tuple[datetime, str]]:
        payload = await self.call("schedule", {"start": start, "end": end})
        rows = payload.table("games", columns=["game_id", "tipoff_at"]).to_dicts()
        return sorted(
            (row["tipoff_at"], row["game_id"]) for row in rows if row["game_id"] and is_time(row["tipoff_at"])
        )

    async def recent_session(self) -> dict[str, Any] | None:
        now = datetime.now(UTC)
        # These games are over. The second range is needed only out of season.
        for days in (30, 240):
            games = await self.games(now - timedelta(days=days), now - timedelta(hours=4))
            for _, game_id in games[:-4:-1]:
                try:
                    sessions = (await self.call("game", {"game_id": game_id})).table("sessions")
                except (NotFound, PermissionDenied, ValueError):
                    # Also an id that cannot be sent.
                    continue
                for row in sessions.to_dicts():
                    if row["session_id"]:
                        return row
        return None

    async def check_websocket(self, open_live: Callable[[str, float], "LiveStream"]) -> None:
        names = ("websocket token", "websocket")
        now = datetime.now(UTC)
        try:
            # The next game, or the last one if none is near.
            games = await self.games(now - timedelta(hours=4), now + timedelta(days=30))
            games = games[:1] or (await self.games(now - timedelta(days=240), now))[-1:]
        except SidelineError as error:
            self.failed(names[0], error)
            self.skip(names[1:], "there is no token")
            return
        if not games:
            self.skip(names, "no game is scheduled for the next 30 days, and none was played in the last 8 months")
            return
        game_id = games[0][1]
        token = await self.try_call(names[0], self.token(game_id), lambda _: f"given for game {game_id}")
        if token is None:
            self.skip(names[1:], "there is no token")
            return
        seconds = min(_OPEN_S, self.limits[2]) if self.limits else _OPEN_S
        try:
            problem = await self.run_blocking(_open_error, open_live(token, seconds), seconds)
        except (SidelineError, ValueError) as error:
            self.failed(names[1], error)
            return
        finally:
            # A traceback with locals must not show it.
            del token
        address = self.settings["websocket_url"][0]
        if problem is None:
            self.note(names[1], "ok", f"opened at {address}")
        else:
            advice = "check websocket_url, and that proxies and firewalls let a websocket through"
            self.note(names[1], "failed", f"not opened at {address}: {problem}", advice)

    async def token(self, game_id: str) -> str:
        if self.is_async:
            return await self.core.token_async(game_id, self.limits)
        return self.core.token_sync(game_id, self.limits)

    async def check_broadcast_key(self) -> None:
        await self.try_call("Broadcast key", self.call("broadcast_teams", {}), lambda _: "accepted")


async def examine(
    core: CoreClient, open_live: Callable[[str, float], "LiveStream"], limits: CallLimits, *, is_async: bool
) -> Report:
    """Run all steps, in the order of their dependencies."""
    if core.closed:
        raise SidelineError("the client is closed; create a new one")
    doctor = _Doctor(core, limits, is_async)
    doctor.check_settings()
    is_reached = await doctor.check_connection()
    by_signature = ("stats", "table", "shots", "locations", "websocket token", "websocket")
    if not (doctor.has("username") and doctor.has("secret")):
        doctor.skip(("signature", *by_signature), "username or secret is missing")
    elif not is_reached:
        doctor.skip(("signature", *by_signature), "the service cannot be reached")
    elif not await doctor.check_signature():
        doctor.skip(by_signature, "no signed request succeeded")
    elif await doctor.check_privileges():
        await doctor.check_websocket(open_live)
    else:
        doctor.skip(by_signature[4:], "without the schedule no game can be found")
    shares = doctor.settings["broadcast_base_url"][0] == doctor.settings["base_url"][0]
    if not doctor.has("api_key"):
        doctor.skip(("Broadcast key",), "there is no api_key")
    elif shares and not is_reached:
        doctor.skip(("Broadcast key",), "the service cannot be reached")
    else:
        await doctor.check_broadcast_key()
    return Report(doctor.checks)


def run_sync(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine whose steps block instead of waiting."""
    try:
        steps.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise RuntimeError("a step was awaited")


def _describe(error: SidelineError) -> tuple[str, str]:
    """Return what happened, and what to do."""
    advice = error.advice or "see the message; the page on errors of the documentation says what to do"
    return finding_of(error) or str(error), advice


def _describe_locations(payload: Payload) -> str:
    try:
        rows = payload.table("locations", columns=["t", "type"]).to_dicts()
    except SidelineError as error:
        return f"may be read, but not decoded: {_describe(error)[0]}"
    types = ", ".join(dict.fromkeys(str(row["type"]) for row in rows)) or "no positions"
    times = len({row["t"] for row in rows})
    return f"may be read: {types}, at {times} times of the first {_LOCATIONS_WINDOW_S} s"


def _describe_certificate(certificate: tuple[str, int] | None) -> tuple[State, str]:
    if certificate is None:
        return "ok", "the certificate is valid"
    issuer, end = certificate
    days = int((end - datetime.now(UTC).timestamp()) // 86_400)
    soon = ": its operator must renew it soon" if days < _EXPIRY_WARNING_DAYS else ""
    return "ok", f"the certificate is valid, issued by {issuer!r}, for {days} more days (until {_day(end)}){soon}"


def _day(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def _fetch_certificate(host: str, port: int) -> tuple[str, int] | None:
    """Return issuer and end of a server's certificate, trusted or not. Nothing is sent to the server."""
    import socket
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), timeout=5) as connection,
            context.wrap_socket(connection, server_hostname=host) as secure,
        ):
            certificate = secure.getpeercert(binary_form=True)
    except OSError:
        return None
    return _certificate(certificate) if certificate else None


def _open_error(stream: "LiveStream", seconds: float) -> str | None:
    """Return why a stream cannot be opened, or `None` if it stays open for longer than a service needs to refuse it."""
    from .live import Connected, Disconnected

    core = core_of_stream(stream)
    core.open()
    try:
        is_open = False
        # The service may refuse a token by closing the connection right after opening it.
        for wait in (seconds, 0.3):
            item = core.next_within(wait)
            if isinstance(item, Disconnected):
                return item.reason
            is_open = is_open or isinstance(item, Connected)
            if not is_open:
                return f"it did not open within {seconds:g} s"
        return None
    finally:
        stream.close()
