"""What is wrong with a set-up, step by step: `client.doctor()` and `sideline doctor`.

Each step is made by the client's own core, so that the doctor and the client meet the same trouble. Only the
certificate of a server that the client refused is fetched apart, to say who issued it.
"""

import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

from sideline._core import CoreClient, Payload, _certificate
from sideline.errors import AuthenticationError, NotFound, PermissionDenied, SidelineError

if TYPE_CHECKING:
    from sideline.live import LiveStream

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
    """`missing`: a privilege that the service has not granted, no fault of the set-up. `skipped`: not tried, or
    not given and not needed for the rest."""
    found: str
    """What was found, or why it was skipped. Never a secret."""
    advice: str = ""
    """What to do, where something is to be done."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with the set-up here."""
        return self.state != "failed"


class Report:
    """What a doctor found: its text is for people, `ok` and `checks` for programs.

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
        rows = "".join(
            f"<tr><td>{check.state}</td><th>{escape(check.name)}</th><td>{escape(check.found)}"
            f"{'<br><b>' + escape(check.advice) + '</b>' if check.advice else ''}</td></tr>"
            for check in self.checks
        )
        return f"<div><b>{escape(self._summary())}</b><table><tbody>{rows}</tbody></table></div>"

    def _summary(self) -> str:
        count = {
            state: sum(check.state == state for check in self.checks) for state in ("failed", "missing", "skipped")
        }
        told = [f"{number} {state}" for state, number in count.items() if number]
        return f"sideline doctor: {len(self.checks)} checks, {', '.join(told) or 'all ok'}"


SKEWED = 60.0
"""Seconds. The service refuses 300 (docs/wire.md, "Signature"); an honest clock is far from either."""

_SOON = 14
"""Days before its end at which a certificate is worth a word."""


_SIGNS_THE_QUERY = (
    "calls without a query are accepted, and calls with a query are refused for their signature",
    "the gateway in front of the service computes the signature over the path and the query (Kong 3 does), where the "
    "service's specification has the path alone: ask its operator to change that. Username, secret and clock are right",
)


_OF_SETTINGS = {
    "proxy": "correct the address of the proxy, give another with proxy=, or list the host in NO_PROXY",
    "TLS": "give a file or folder of certificates with ca_bundle=, or install the system's (ca-certificates)",
}
"""What to do about settings that make no connection, by their step."""


class _Doctor:
    def __init__(self, core: CoreClient, is_async: bool) -> None:
        self.core = core
        self.is_async = is_async
        self.checks: list[Check] = []
        self.settings = {name: (value, source) for name, value, source in core.settings()}

    def note(self, name: str, state: State, found: str, advice: str = "") -> None:
        self.checks.append(Check(name, state, found, advice))

    def skip(self, names: tuple[str, ...], why: str) -> None:
        for name in names:
            self.note(name, "skipped", why)

    async def call(self, operation: str, arguments: dict[str, Any]) -> Payload:
        # Beside the client's own method: unknown fields are no matter here.
        if self.is_async:
            return await self.core.call_async(operation, arguments, None)
        return self.core.call_sync(operation, arguments, None)

    async def apart(self, function: Callable[..., T], *arguments: Any) -> T:
        """What blocks, in a thread where an event loop would wait."""
        if not self.is_async:
            return function(*arguments)
        import asyncio

        return await asyncio.to_thread(function, *arguments)

    def source(self, name: str) -> str:
        source = self.settings[name][1]
        return f"({source})" if source in ("argument", "default") else f"from {source}"

    def has(self, name: str) -> bool:
        return self.settings[name][0] is not None

    def failed(self, name: str, error: SidelineError) -> None:
        found, advice = _told(error)
        if isinstance(error, PermissionDenied):
            lacks = "these credentials lack the privilege: ask the service's operator for it"
            self.note(name, "missing", found, lacks)
        else:
            self.note(name, "failed", found, advice)

    # -- steps

    def look_at_settings(self) -> None:
        # Whoever has the key alone asks the Broadcast API alone.
        is_broadcast_alone = self.has("api_key") and not (self.has("username") or self.has("secret"))
        for name, (value, _) in self.settings.items():
            to_give = f"give {name}= or set SIDELINE_{name.upper()}"
            if value is not None:
                self.note(name, "ok", f"{value} {self.source(name)}")
            elif name == "api_key":
                self.note(name, "skipped", f"not given: only the Broadcast API needs it ({to_give})")
            elif name in ("username", "secret") and is_broadcast_alone:
                self.note(name, "skipped", f"not given: only the Broadcast API can be asked without it ({to_give})")
            elif name != "ca_bundle":
                self.note(name, "failed", "missing", f"{to_give}; every signed call needs it")

    async def look_at_the_way(self) -> bool:
        """Whether the service answers at all."""
        steps = ("proxy", "DNS", "TCP", "TLS", "answer", "clock")
        # Settings that make no connection: a proxy that cannot be used, a file of authorities that cannot be read.
        name = "proxy"
        try:
            proxy = self.core.proxy()
            name = "TLS"
            probe: dict[str, Any] = await self.core.probe_async() if self.is_async else self.core.probe_sync()
        except SidelineError as error:
            self.note(name, "failed", str(error), _OF_SETTINGS[name])
            self.skip(tuple(step for step in steps if step != name), "there is no way to the service")
            return False
        address = urlsplit(self.settings["base_url"][0] or "")
        host, plain = address.hostname or "", address.scheme == "http"
        stage, text, hint = probe["stopped"] or ("", "", "")
        behind = f"through {proxy[0]}" if proxy else "directly"

        if stage == "proxy":
            self.note("proxy", "failed", text, hint)
        else:
            # Of a proxy that only the operating system knows, the core knows nothing.
            none = "none given: as the system is set" if sys.platform in ("win32", "darwin") else "none: asked directly"
            self.note("proxy", "ok", f"{proxy[0]} (from {proxy[1]})" if proxy else none)
        whose = f"of the proxy {proxy[0]}" if proxy else f"of {host}"
        if stage == "name":
            self.note("DNS", "failed", text, f"the name {whose} is not known: check base_url and the network")
        elif proxy:
            self.note("DNS", "skipped", "the proxy looks the name up")
        else:
            self.note("DNS", "ok", f"{host} is {', '.join(probe['addresses'][:4]) or host}")
        if stage == "connection":
            self.note("TCP", "failed", text, hint)
        elif stage in ("name", "proxy"):
            self.note("TCP", "skipped", "the name is not known" if stage == "name" else "the proxy makes no connection")
        else:
            self.note("TCP", "ok", f"connected {behind}" + (f" to {probe['peer']}" if probe["peer"] else ""))
        if plain:
            self.note("TLS", "skipped", "plain http: nothing is encrypted")
        elif stage == "tls":
            issuer = None if proxy else await self.apart(_presented, host, address.port or 443)
            by = f" (the certificate was issued by {issuer[0]!r}, until {_day(issuer[1])})" if issuer else ""
            self.note("TLS", "failed", text + by, hint)
        elif stage in ("name", "connection", "proxy"):
            self.note("TLS", "skipped", "there is no connection")
        else:
            self.note("TLS", *_certified(probe["certificate"]))
        if stage == "answer":
            self.note("answer", "failed", text, hint)
        elif stage:
            self.note("answer", "skipped", "there is no connection")
        else:
            self.note("answer", "ok", f"answers, with {probe['status']} to a request without a signature")
        if stage:
            self.note("clock", "skipped", "the service gave no answer")
        else:
            self.look_at_the_clock(probe["ahead"])
        return not stage

    def look_at_the_clock(self, ahead: float | None) -> None:
        if ahead is None:
            self.note("clock", "skipped", "the answer bears no date")
        elif abs(ahead) < SKEWED:
            self.note("clock", "ok", f"within {max(1, round(abs(ahead)))} s of the service's")
        else:
            side = "behind" if ahead > 0 else "ahead of"
            self.note(
                "clock",
                "failed",
                f"this machine's clock is {abs(ahead) / 60:.1f} minutes {side} the service's",
                "set the clock: a signature is valid for 5 minutes (a client corrects up to 24 hours, after a refusal)",
            )

    async def look_at_the_signature(self) -> bool:
        def signed() -> str:
            # After the call: it may have learned the service's time.
            return f"signed: {self.core.string_to_sign()!r}"

        try:
            await self.call("teams", {})
        except PermissionDenied as error:
            self.note("signature", "ok", f"accepted; {signed()}")
            self.failed("teams", error)
        except AuthenticationError as error:
            found, advice = _told(error)
            sources = ", ".join(f"{name} {self.source(name)}" for name in ("username", "secret"))
            self.note("signature", "failed", f"{found}; {signed()}", f"{advice}; they are: {sources}")
            return False
        except SidelineError as error:
            # It says nothing of the signature: what answers is not the service, or the service is in trouble.
            self.checks = [check for check in self.checks if check.name != "answer"]
            if isinstance(error, NotFound):
                no_path = "check base_url: what answers there has no such path, and every client's teams are at it"
                self.note("answer", "failed", _told(error)[0], no_path)
            else:
                self.failed("answer", error)
            self.note("signature", "skipped", f"no answer to judge it by; {signed()}")
            return False
        else:
            self.note("signature", "ok", f"accepted; {signed()}")
        return True

    async def look_at_privileges(self) -> bool:
        """Whether the schedule can be read."""
        names = ("stats", "shots")
        try:
            session_id = await self.recent_session()
        except AuthenticationError as error:
            if await self.accepts_a_query():
                self.failed("schedule", error)
            else:
                self.note("query", "failed", *_SIGNS_THE_QUERY)
            self.skip(names, "there is no schedule to find a session by")
            return False
        except SidelineError as error:
            self.failed("schedule", error)
            self.skip(names, "there is no schedule to find a session by")
            return False
        if session_id is None:
            self.skip(names, "no game of the last 8 months has a session to ask for")
            return True
        for name in names:
            await self.may(name, self.call(name, {"session_id": session_id}), lambda _: "may be read")
        return True

    async def accepts_a_query(self) -> bool:
        """Whether the teams, which were accepted without a query, are accepted with one that means nothing."""
        try:
            await self.call("get", {"path": "/v1/data/teams", "params": {"sideline": "doctor"}})
        except AuthenticationError:
            return False
        except SidelineError:
            pass
        return True

    async def may(self, name: str, asked: Awaitable[T], found: Callable[[T], str]) -> T | None:
        try:
            got = await asked
        except SidelineError as error:
            self.failed(name, error)
            return None
        self.note(name, "ok", found(got))
        return got

    async def games(self, start: datetime, end: datetime) -> list[tuple[datetime, str]]:
        payload = await self.call("schedule", {"start": start, "end": end})
        rows = payload.table("games", columns=["game_id", "tipoff_at"]).to_dicts()
        return sorted((row["tipoff_at"], row["game_id"]) for row in rows if row["game_id"] and row["tipoff_at"])

    async def recent_session(self) -> str | None:
        now = datetime.now(UTC)
        # What tipped off so long ago is over. The second range is asked for only out of season.
        for days in (30, 240):
            games = await self.games(now - timedelta(days=days), now - timedelta(hours=4))
            for _, game_id in games[:-4:-1]:
                try:
                    sessions = (await self.call("game", {"game_id": game_id})).table("sessions")
                except (NotFound, PermissionDenied):
                    continue
                for row in sessions.to_dicts():
                    return str(row["session_id"])
        return None

    async def look_at_the_websocket(self, open_live: Callable[[str, float], "LiveStream"]) -> None:
        names = ("websocket token", "websocket")
        now = datetime.now(UTC)
        try:
            # The next game; where none is near, the last one.
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
        token = await self.may(names[0], self.token(game_id), lambda _: f"given for game {game_id}")
        if token is None:
            self.skip(names[1:], "there is no token")
            return
        try:
            trouble = await self.apart(_opened, open_live(token, 10.0))
        except SidelineError as error:
            self.failed(names[1], error)
            return
        finally:
            # Whoever interrupts it gets a traceback, which may show what its frames hold.
            del token
        where = self.settings["websocket_url"][0]
        if trouble is None:
            self.note(names[1], "ok", f"opened at {where}")
        else:
            advice = "check websocket_url, and that proxies and firewalls let a websocket through"
            self.note(names[1], "failed", f"not opened at {where}: {trouble}", advice)

    async def token(self, game_id: str) -> str:
        return await self.core.token_async(game_id, None) if self.is_async else self.core.token_sync(game_id, None)

    async def look_at_the_key(self) -> None:
        await self.may("Broadcast key", self.call("broadcast_teams", {}), lambda _: "accepted")


async def examine(core: CoreClient, open_live: Callable[[str, float], "LiveStream"], *, is_async: bool) -> Report:
    """Take all steps, in the order in which one builds on the other."""
    if core.closed:
        raise SidelineError("the client is closed; make a new one")
    doctor = _Doctor(core, is_async)
    doctor.look_at_settings()
    is_reached = await doctor.look_at_the_way()
    by_signature = ("stats", "shots", "websocket token", "websocket")
    if not (doctor.has("username") and doctor.has("secret")):
        doctor.skip(("signature", *by_signature), "there are no username and secret to sign with")
    elif not is_reached:
        doctor.skip(("signature", *by_signature), "the service cannot be reached")
    elif not await doctor.look_at_the_signature():
        doctor.skip(by_signature, "no signed request was answered")
    elif await doctor.look_at_privileges():
        await doctor.look_at_the_websocket(open_live)
    else:
        doctor.skip(by_signature[2:], "there is no schedule to find a game by")
    shares = doctor.settings["broadcast_base_url"][0] == doctor.settings["base_url"][0]
    if not doctor.has("api_key"):
        doctor.skip(("Broadcast key",), "there is no api_key")
    elif shares and not is_reached:
        doctor.skip(("Broadcast key",), "the service cannot be reached")
    else:
        await doctor.look_at_the_key()
    return Report(doctor.checks)


def waited_for(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing: each of its steps blocks."""
    try:
        steps.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise RuntimeError("a step was awaited")


def _told(error: SidelineError) -> tuple[str, str]:
    """What happened, and what to do."""
    advice = error.advice or "see the message; the documentation's page on errors says what to do"
    return error._found or str(error), advice


def _certified(certificate: tuple[str, int] | None) -> tuple[State, str]:
    if certificate is None:
        return "ok", "the certificate is valid"
    issuer, end = certificate
    days = int((end - datetime.now(UTC).timestamp()) // 86_400)
    soon = ": its operator must renew it soon" if days < _SOON else ""
    return "ok", f"the certificate is valid, issued by {issuer!r}, for {days} more days (until {_day(end)}){soon}"


def _day(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def _presented(host: str, port: int) -> tuple[str, int] | None:
    """Issuer and end of the certificate that a server shows, to be trusted or not. Nothing is sent to it."""
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
            shown = secure.getpeercert(binary_form=True)
    except OSError:
        return None
    return _certificate(shown) if shown else None


def _opened(stream: "LiveStream") -> str | None:
    """Why a stream does not stand; `None`: it does, for the moment in which a service refuses a token at the latest."""
    from sideline.live import Connected, Disconnected

    core = stream._core
    core.open()
    try:
        is_open = False
        # A token may be refused by a close right after the connection stands.
        for wait in (10.0, 0.3):
            item = core.next_within(wait)
            if isinstance(item, Disconnected):
                return item.reason
            is_open = is_open or isinstance(item, Connected)
            if not is_open:
                return "it did not open within 10 s"
        return None
    finally:
        stream.close()
