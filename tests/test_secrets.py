"""No secret in anything that is shown, stored or passed on: one list of situations, one check."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import pickle
import socket
import ssl
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import trustme
from canaries import PACKAGE_FOLDER, forms, leaks, texts_of
from independent import Asked, as_json, server
from needs import ARCHIVE, library, require
from wire import answering, listener, over_tls, proxy, saying_nothing

import sideline
import streams

pa = library("pyarrow")


SECRET, KEY, TOKEN, PASSWORD = "s3cret/canary+one=", "key/canary+two=", "token/canary+three=", "proxy/canary+four="
NOW = "2027-03-01T12:00:00Z"
QUICK: dict[str, Any] = {"retry_wait": 0.01, "max_wait": 0.02}
ZSTD = b"\x28\xb5\x2f\xfd"
"""How a file of zstd begins."""


@dataclass
class World:
    """The resources of a situation."""

    service: sideline.Simulator
    folder: Path
    canaries: dict[str, str] = field(default_factory=lambda: {"secret": SECRET, "key": KEY, "token": TOKEN, "password": PASSWORD})

    def __post_init__(self) -> None:
        self.canaries["the simulator's key"] = self.service.api_key
        self.game = self.service.games[0]["event_id"]
        self.team = self.service.games[0]["home_team_id"]

    @property
    def options(self) -> dict[str, Any]:
        return {"username": "ann", "secret": SECRET, "max_retries": 1, "timeout": 3}

    def client(self, **more: Any) -> sideline.Client:
        return self.service.client(**self.options | more)

    def of(self, base_url: str, **more: Any) -> sideline.Client:
        """A client of another server than the simulator."""
        addresses = {"base_url": base_url, "broadcast_base_url": base_url, "websocket_url": base_url.replace("http", "ws", 1)}
        return sideline.Client(**self.options | {"api_key": KEY} | addresses | more)

    def session(self) -> str:
        return str(self.client().game(self.game).to_dict()["results"][0]["id"])


def attempt(call: Callable[..., Any], *arguments: Any, **kwargs: Any) -> Any:
    """The result of a call, or its exception."""
    try:
        return call(*arguments, **kwargs)
    except Exception as error:  # noqa: BLE001 - whatever is raised is searched for secrets
        return error


def catch(call: Callable[..., Any], *arguments: Any, **kwargs: Any) -> BaseException:
    error = attempt(call, *arguments, **kwargs)
    assert isinstance(error, Exception), "nothing was raised"
    return error


Situation = Callable[[World], Any]
SITUATIONS: dict[str, Situation] = {}


def situation(name: str) -> Callable[[Situation], Situation]:
    def add(function: Situation) -> Situation:
        SITUATIONS[name] = function
        return function

    return add


@situation("an object store that refuses its options")
def _(world: World) -> Any:
    world.canaries["bucket"] = bucket = "bucket/canary+five="
    results: list[Any] = []
    with world.client() as client:
        for root in ("s3://bucket/season", "s3:wrong", "ftp://bucket/season"):
            # The machine's own credentials are not looked for, and nothing answers there.
            options = {"aws_secret_access_key": bucket, "aws_access_key_id": "a", "aws_region": "r", "aws_endpoint": "http://127.0.0.1:9"}
            options |= {"aws_allow_http": "true", "max_retries": "0", "timeout": "1s"}
            archive = attempt(sideline.Archive, root, client, storage_options=options)
            results += [archive, *([catch(archive.info), vars(archive)] if isinstance(archive, sideline.Archive) else [])]
    return results


@situation("parameters of get, and the simulator's credentials")
def _(world: World) -> Any:
    with world.client(max_retries=0) as client:
        results = [catch(client.get, f"/v1/data/none?x={quote(SECRET)}"), catch(client.get, "/v1/data/none", params={"apikey": KEY, "x": SECRET})]
        results += [catch(client.get, "/v1/data/none", params={"x": SECRET, "y": object()})]
    return [*results, catch(world.service.credentials.add, "a\nb", SECRET), catch(world.service.credentials.add, "ann", SECRET, privileges={"x": 1})]


# An archive.


@situation("an archive, with all that is in its files")
def _(world: World) -> Any:
    folder = world.folder / "season"
    world.canaries["bucket"] = "bucket/canary+five="
    with world.client() as client:
        archive = sideline.Archive(folder, client, storage_options={"aws_secret_access_key": world.canaries["bucket"]})
        world.service.faults.add("*/shots", status=403, body={"message": f"no {SECRET[:4]}"})
        first = archive.sync(game_ids=[world.game, "no-such-game"], on_error="keep")
        world.service.faults.clear()
        line = next(line for line in client.stats(world.session()).table("box_score").to_dicts() if not line["is_team_total"])
        world.service.correct(world.game, line["player_id"], "AST", 1)
        second = archive.sync(game_ids=[world.game], correction_window=None)
        incomplete = catch(first.raise_if_incomplete)
    # Compressed content is read here; the check reads the raw files, with their logs and footers.
    tables = [str(archive.to_arrow(name).to_pylist()) for name in archive.info().rows]
    texts = [str(archive.to_arrow(name).to_pylist()) for name in ("coverage", "corrections", "raw")]
    assert len(tables) > 5
    assert all(len(text) > 200 for text in texts)
    reports = [part for report in (first, second) for part in (report, report.coverage.to_dicts(), report.corrections.to_dicts(), report.holes)]
    return [archive, archive.info(), archive._repr_html_(), *map(str, reports), first, second, incomplete, *tables, *texts]


@situation("an export to a target that cannot be reached, or is none")
def _(world: World) -> Any:
    world.canaries["target"] = password = "target+canary six="
    with world.client() as client:
        archive = sideline.Archive(world.folder / "season", client)
        archive.sync(game_ids=[world.game], tables=["games"])
        results = []
        for written in (password, quote(password, safe="")):
            for address in (f"postgresql://me:{written}@127.0.0.1:9/x", f"mysql://me:{written}@127.0.0.1/x", f"postgresql://[me:{written}@/x"):
                results.append(catch(archive.export, address))
    for error in results:
        if isinstance(error, ModuleNotFoundError):
            raise error  # conftest skips a test that lacks a library
    assert {type(error) for error in results} == {ConnectionError, ValueError}
    return results


@situation("the sync command")
def _(world: World) -> Any:
    require(*ARCHIVE, extra="archive")
    environment = {**os.environ, **world.service.environ, "SIDELINE_SECRET": SECRET, "SIDELINE_USERNAME": "ann"}
    command = [sys.executable, "-m", "sideline", "sync", str(world.folder / "season"), "--games", world.game, "--games", "no-such-game"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done.stderr
    return [done.stdout, done.stderr]


# Answers.


@situation("every kind of answer")
def _(world: World) -> Any:
    with world.client() as client:
        session = world.session()
        payloads = [client.teams(), client.roster(world.team), client.schedule("2026-11-01"), client.game(world.game), client.stats(session)]
        payloads += [client.team_events(world.team, "2025-11-01", "2027-03-01"), client.get("/v1/data/teams"), client.matchup(world.team, "2026-11-01", reference="SHOTTRACKER", gender="MEN")]  # fmt: skip
        broadcasts = [client.broadcast_teams(), client.broadcast_stats(world.game), client.broadcast_schedule(), client.broadcast_roster(world.team)]
        world.canaries["a token that was given"] = client.subscription_token(world.game)
        return [client, *payloads, *broadcasts, [payload.table() for payload in payloads if payload.tables], client.drift()]


@situation("the asynchronous client")
def _(world: World) -> Any:
    async def fetch_all() -> list[Any]:
        async with world.service.async_client(**world.options) as client:
            link = f"https://far.invalid/x?apikey={quote(KEY)}"
            calls = [client.teams(), client.broadcast_teams(), client.stats("no-such-session"), client.follow(link)]
            results = await asyncio.gather(*calls, return_exceptions=True)
            del calls
            return [client, *results]

    return asyncio.run(fetch_all())


@situation("fields that no table knows")
def _(world: World) -> Any:
    body = {"teams": [{"id": 1, "name": "a", "brand_new": 1}]}
    world.service.faults.add("/v1/data/teams", status=200, body=body)
    with world.client() as client, world.client(strict=True) as strict:
        return [client.teams(), client.drift(), catch(strict.teams)]


# Refusals.


def each_status(world: World, call: Callable[[sideline.Client], Any]) -> list[Any]:
    errors: list[Any] = []
    for status in (400, 401, 403, 404, 409, 418, 422, 429, 500, 502, 503):
        for body in ({"status": status, "message": "no"}, b"<html>no</html>"):
            world.service.faults.clear()
            world.service.faults.add(status=status, body=body, headers={"Retry-After": "0"})
            with world.client() as client:
                errors.append(catch(call, client))
    return errors


@situation("every status to a signed request")
def _(world: World) -> Any:
    return each_status(world, lambda client: client.teams())


@situation("every status to a request with the key")
def _(world: World) -> Any:
    return each_status(world, lambda client: client.broadcast_teams())


@situation("wrong credentials, and none")
def _(world: World) -> Any:
    results = [catch(client.teams) for client in (world.client(username="eve"), world.client(secret=TOKEN), world.client(username=None))]
    return [*results, catch(world.client(api_key=KEY).broadcast_teams), catch(world.service.client, username="", secret=SECRET)]


def repeating(request: Asked) -> Any:
    """The response of a verbose gateway: the request, in every spelling."""
    spellings = [KEY, SECRET, quote(KEY, safe=""), quote(KEY), quote(KEY, safe="").lower(), base64.b64encode(KEY.encode()).decode(), request.target]
    spellings += [SECRET.encode().hex(), KEY.encode().hex().upper()]
    return as_json({"status": 400, "message": " ".join([*spellings, str(request.headers)])}, 400, x_request_id=KEY)


@situation("a service that repeats the request in its refusal")
def _(world: World) -> Any:
    with server(repeating) as host, world.of(host.base_url) as client:
        return [catch(client.teams), catch(client.broadcast_teams), client.roster([1, 2], on_error="keep"), catch(client.game, ["a", "b"])]


# Connections.

FAULTS: list[dict[str, Any]] = [
    {"reset": True}, {"cut_at": 20}, {"cut_at": 0}, {"content_length": 5}, {"content_length": -5}, {"gzip": "damaged"}, {"gzip": "cut"},
    {"status": 200, "body": b"<html>portal</html>"}, {"status": 200, "body": b'{"teams": [{"id": "x'}, {"status": 200, "body": {"teams": [{"id": "x"}]}},
    {"delay": 5.0}, {"bytes_per_second": 1}, {"clock_offset": 4000.0}, {"clock_offset": -4000.0},
]  # fmt: skip


@situation("answers that break on the way")
def _(world: World) -> Any:
    results: list[Any] = []
    for fault in FAULTS:
        world.service.faults.clear()
        world.service.faults.add(**fault)
        with world.client(timeout=0.4) as client:
            for payload in (attempt(client.teams), attempt(client.broadcast_teams)):
                results.append(payload)
                if isinstance(payload, sideline.Payload):
                    results += [attempt(payload.to_dict), attempt(payload.table)]
    return results


@situation("nothing listens, no such name, no TLS")
def _(world: World) -> Any:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
    plain = world.service.base_url.replace("http://", "https://")
    clients = [world.of(address) for address in (f"http://127.0.0.1:{port}", "https://service.invalid", plain)]
    return [[catch(client.teams), catch(client.broadcast_teams), catch(client.roster, [1, 2])] for client in clients]


@situation("redirects")
def _(world: World) -> Any:
    results: list[Any] = []
    with server(lambda request: as_json({"at": "elsewhere"})) as elsewhere:
        for to in (
            f"https://ann:{quote(PASSWORD, safe='')}@far.invalid{{}}",
            elsewhere.base_url + "{}",
            "http://far.invalid{}",
            "ftp://far{}",
            "{}",
            "//far.invalid{}",
        ):
            turn = lambda request, to=to: (302, {"location": to.format(request.target)}, b"")  # noqa: E731
            with server(turn) as host, world.of(host.base_url) as client:
                results += [catch(client.teams), catch(client.broadcast_teams)]
        assert elsewhere.requests == [], "nothing is sent elsewhere"
    return results


@situation("foreign links")
def _(world: World) -> Any:
    with world.client() as client:
        results: list[Any] = [client.follow(f"https://far.invalid/v1/data/teams?apikey={quote(KEY)}&token={quote(TOKEN, safe='')}")]
        assert {request.path for request in world.service.requests} == {"/v1/data/teams"}
        secret = f"ann:{quote(PASSWORD, safe='')}@"
        for link in (f"https://{secret}far.invalid/x", "file:///v1/data/teams", f"//{secret}far.invalid/v2?token={quote(TOKEN)}", ""):
            results.append(catch(client.follow, link))
        return results


@situation("plain http to a host that is not this machine")
def _(world: World) -> Any:
    addresses: list[dict[str, Any]] = [{"base_url": "http://far.invalid"}, {"broadcast_base_url": "http://far.invalid"}, {"websocket_url": "ws://far.invalid"}]
    for address in addresses:
        error = catch(world.service.client, **address)
        assert isinstance(error, sideline.ConfigurationError)
        assert "allow_http" in str(error)
    return [catch(world.of, "http://far.invalid"), catch(world.of("http://far.invalid", allow_http=True, timeout=2).teams)]


# Proxies.


@situation("proxies")
def _(world: World) -> Any:
    results: list[Any] = []
    userinfo = f"ann:{quote(PASSWORD, safe='')}@"
    place = "service.invalid"
    port = int(world.service.base_url.rpartition(":")[2])
    with proxy({place: port, f"{place}:443": port}, credentials=f"ann:{PASSWORD}") as accepting, proxy({}, credentials="ann:another") as refusing:
        for between in (accepting.address, refusing.address):
            for base in (f"http://{place}", f"https://{place}"):
                through = between.replace("//", f"//{userinfo}")
                with world.of(base, proxy=through, allow_http=True) as client:
                    results += [client, client.doctor(), attempt(client.teams), attempt(client.broadcast_teams)]
        assert len(accepting.heads) > 4
        assert len(refusing.heads) > 2
    return results


@situation("a proxy that repeats its credentials, and one that says nothing")
def _(world: World) -> Any:
    def repeat(connection: socket.socket) -> None:
        head = connection.recv(65536)
        # The credentials first: of a long answer the end is not shown.
        head = head[head.lower().index(b"proxy-authorization") :]
        connection.sendall(b"HTTP/1.1 407 No\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(head) + head)

    results: list[Any] = []
    for serve in (repeat, saying_nothing):
        with listener(serve) as between:
            address = f"http://ann:{quote(PASSWORD, safe='')}@127.0.0.1:{between.port}"
            for base in ("http://service.invalid", "https://service.invalid"):
                with world.of(base, proxy=address, allow_http=True, timeout=1) as client:
                    results += [client, catch(client.teams)]
    return results


@situation("calls and streams over TLS, through a proxy, beside bad certificates")
def _(world: World) -> Any:
    known_ca, other_ca = trustme.CA(), trustme.CA()
    known_ca.cert_pem.write_to_path(world.folder / "known.pem")
    heads: list[bytes] = []
    results: list[Any] = []
    for authority, host in ((known_ca, "service.invalid"), (other_ca, "service.invalid"), (known_ca, "another.invalid")):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(host).configure_cert(context)
        with listener(over_tls(context, answering(heads))) as tls, proxy({"service.invalid:443": tls.port}, credentials=f"ann:{PASSWORD}") as between:
            address = between.address.replace("//", f"//ann:{quote(PASSWORD, safe='')}@")
            with world.of("https://service.invalid", proxy=address, ca_bundle=world.folder / "known.pem") as client:
                results += [client, client.doctor(), attempt(client.teams), attempt(client.broadcast_teams), attempt(client.roster, [1, 2])]
                results += [items(client.live_stats("g", **QUICK), 2), items(client.live("g", **QUICK), 2), items(client.live(token=TOKEN, **QUICK), 2)]
            results.append(bytes(between.client_bytes).replace(b"Proxy-Authorization: Basic", b"").replace(base64.b64encode(f"ann:{PASSWORD}".encode()), b""))
    assert any(b"token=" in head for head in heads)
    assert not any(b"proxy-authorization" in head.lower() or b"referer" in head.lower() for head in heads)
    return results


# Settings.


@situation("settings that cannot be")
def _(world: World) -> Any:
    code = quote(PASSWORD, safe="")
    invalid_options: list[dict[str, Any]] = [
        {"secret": f"{SECRET}\n"}, {"api_key": f"{KEY}\0"}, {"secret": SECRET.encode()}, {"api_key": [KEY]}, {"proxy": f"socks5://ann:{code}@h:1"},
        {"proxy": f"ann:{code}@h"}, {"proxy": f"http://ann:{code}@[h"}, {"proxy": f"http://ann:{code}@".encode()}, {"proxy": [f"http://ann:{code}@h"]},
        {"proxy": f"http://ann:{PASSWORD}@h:x"}, {"base_url": f"https://ann:{code}@h"}, {"base_url": f"https://h/?apikey={quote(KEY, safe='')}"}, {"websocket_url": f"wss://h/?token={quote(TOKEN)}"},
        {"timeout": "soon"}, {"timeout": -1}, {"sport": "chess"}, {"ca_bundle": "no-such-file"}, {"max_retries": -1}, {"max_concurrency": 0}, {"no_such": 1},
    ]  # fmt: skip
    base = world.options | {"api_key": KEY, "proxy": f"http://ann:{code}@127.0.0.1:9"}
    results: list[Any] = []
    for more in invalid_options:
        results += [catch(sideline.Client, **base | more), catch(sideline.AsyncClient, **base | more), catch(world.service.client, **base | more)]
    return results


@situation("a client that is copied, pickled and closed")
def _(world: World) -> Any:
    client = world.client(proxy=f"http://ann:{quote(PASSWORD, safe='')}@127.0.0.1:9")
    copy = pickle.loads(pickle.dumps(client))
    results = [client, copy, catch(copy.teams), copy.doctor()]
    client.close()
    return [*results, client, catch(client.teams), catch(client.live_stats, "x"), catch(client.doctor)]


# Many.


@situation("batches and what they raise")
def _(world: World) -> Any:
    session = world.session()
    with world.client() as client:
        batch = client.stats([session, "no-such-session", session], on_error="keep")
        failed = catch(client.stats, [session, "none"])
        broadcast_batch = client.broadcast_stats([world.game, "none"], on_error="keep", progress=True)
        world.service.faults.add(status=503, headers={"Retry-After": "0"})
        down = catch(client.broadcast_stats, [world.game] * 3)
        retry_error = catch(batch.retry)
    return [batch, failed, broadcast_batch, down, retry_error, pickle.loads(pickle.dumps(failed)), pickle.loads(pickle.dumps(batch))]


# Streams.


def items(stream: sideline.LiveStream, count: int) -> list[Any]:
    results: list[Any] = [stream]
    with stream:
        for _ in range(count):
            try:
                item = stream._core.next_within(1.5)
            except Exception as error:  # noqa: BLE001 - whatever is raised is searched for secrets
                return [*results, error]
            results.append(item)
    return results


@situation("streams, cut, refused and recorded")
def _(world: World) -> Any:
    results: list[Any] = []
    for place, fault in enumerate([{}, {"cut_at": 400}, {"status": 401}, {"status": 500}, {"status": 403, "body": {"message": "no"}}, {"reset": True}]):
        world.service.faults.clear()
        if fault:
            world.service.faults.add("*stream*", **fault)
            world.service.faults.add("/live/v2/*", **fault)
        with world.client() as client:
            for name, stream in (("sse", client.live_stats(world.game, **QUICK)), ("ws", client.live(world.game, sources=["stats"], **QUICK))):
                path = world.folder / f"{name}-{place}.journal"
                results.append(items(stream.record(path), 6))
                results.append(list(sideline.replay(path, None)))
    assert any("apikey" in request.query for request in world.service.requests)
    assert any("token" in request.query for request in world.service.requests)
    return results


@situation("a server of streams that repeats the request")
def _(world: World) -> Any:
    results: list[Any] = []

    def repeat(connection: socket.socket) -> None:
        request = host.requests[-1].decode()
        # A server knows what it was given, and may spell it as it likes.
        credential = TOKEN if "token=" in request else KEY
        spellings = [credential, quote(credential, safe=""), quote(credential).lower(), base64.b64encode(credential.encode()).decode()]
        body = json.dumps({"message": f"{request} {' '.join(spellings)}"}).encode()
        connection.sendall(b"HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    with streams.server([repeat]) as host, world.of(host.base_url) as client:
        results += [items(client.live_stats("g", **QUICK), 4), items(client.live("g", token=TOKEN, **QUICK), 4), catch(client.subscription_token, "g")]
        results += [items(client.live(token=TOKEN, give_up_on=[400]), 4), items(client.live_stats("g", give_up_on=[400]), 4)]
    assert any(b"token=" in request for request in host.requests)
    return results


@situation("an answer that holds a token where none looks for it")
def _(world: World) -> Any:
    results: list[Any] = []
    for body in ({"tokens": [TOKEN]}, [TOKEN], {"token": f" {TOKEN} "}):
        with server(lambda request, body=body: as_json(body)) as host, world.of(host.base_url) as client:
            results += [catch(client.subscription_token, "g"), items(client.live("g", **QUICK), 2), client.doctor()]
    return results


@situation("a token that is wrong, revoked, or beside wrong options")
def _(world: World) -> Any:
    with world.client() as client:
        results: list[Any] = [items(client.live(token=TOKEN), 3), items(client.live(token=TOKEN, give_up_on=(), **QUICK), 3)]
        stream = client.live(world.game, sources=["stats"], **QUICK)
        with stream:
            results += [stream, next(stream), next(stream)]
            world.service.revoke_tokens()
            results += [item for _, item in zip(range(200), stream, strict=False) if isinstance(item, sideline.live.Notice)]
        for options in ({"buffer": 0}, {"overflow": "x"}, {"silence_limit": -1.0}, {"sources": [5]}, {"sources": 5}, {"last_seq": -1}, {"give_up_on": 5}):
            results.append(attempt(client.live, token=TOKEN, **options))
        for token in (f"{TOKEN}\n", TOKEN.encode(), [TOKEN]):
            results.append(catch(lambda token=token: next(client.live(token=token))))
        assert sum(isinstance(item, Exception) for item in results) >= 8
        return [*results, catch(client._live_by_token, TOKEN, -1.0)]


# Tools.


@situation("the doctor")
def _(world: World) -> Any:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
    clients = [
        world.client(),
        world.client(secret=f" {SECRET}"),
        world.client(api_key=KEY),
        world.of(f"http://127.0.0.1:{port}"),
        world.of("https://service.invalid"),
    ]
    reports: list[Any] = [client.doctor() for client in clients]
    assert reports[0].ok
    for status in (401, 403, 500):
        world.service.faults.add(status=status)
        reports.append(world.client().doctor())
        world.service.faults.clear()
    return [*reports, [report.checks for report in reports]]


@situation("the command line")
def _(world: World) -> Any:
    good = {**os.environ, **world.service.environ, "SIDELINE_USERNAME": "ann", "SIDELINE_SECRET": SECRET, "SIDELINE_LOG": "debug", "RUST_LOG": "trace"}
    with_proxy = good | {"HTTPS_PROXY": f"http://ann:{quote(PASSWORD)}@127.0.0.1:9", "SIDELINE_BASE_URL": "https://far.invalid", "SIDELINE_API_KEY": KEY}
    runs = [
        (good, ["doctor"], 0),
        (good | {"SIDELINE_API_KEY": KEY}, ["doctor"], 1),
        (good | {"SIDELINE_SECRET": f"{SECRET}\n"}, ["doctor"], 1),
        (good | {"SIDELINE_BASE_URL": f"https://ann:{quote(PASSWORD)}@h"}, ["doctor"], 1),
        (with_proxy, ["doctor"], 1),
        (good | {"SIDELINE_API_KEY": KEY}, ["record", "--schedule-id", world.game, str(world.folder / "a.journal")], 1),
        (good | {"SIDELINE_SECRET": TOKEN}, ["record", "--game-id", world.game, str(world.folder / "b.journal")], 1),
    ]
    results = []
    for environment, arguments, status in runs:
        done = subprocess.run([sys.executable, "-X", "dev", "-m", "sideline", *arguments], env=environment, capture_output=True, timeout=30)
        assert done.returncode == status, (arguments, done.stdout, done.stderr)
        results += [done.stdout, done.stderr]
    return results


# The check.


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with sideline.Simulator(seed=7, teams=4, games=8, now=NOW) as service:
        service.credentials.add("ann", SECRET)
        yield World(service, tmp_path)


@pytest.fixture
def find_leaks(world: World, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Callable[[Situation], list[str]]:
    """The secrets that a situation leaks, in any output that people read."""

    def find_leaks(situation: Situation) -> list[str]:
        caplog.set_level(1)
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("sideline")]:
            caplog.set_level(1, logger=name)
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always")
            things = situation(world)
        places: dict[str, str | bytes] = {}
        for place, text in texts_of(things):
            places[f"{place} ({len(places)})"] = text
        for place, text in zip(("stdout", "stderr"), capfd.readouterr(), strict=True):
            places[place] = text
        # Of the libraries below ours nothing is passed on: what they tell of requests is all that was sent.
        assert {record.name.partition(".")[0] for record in caplog.records} <= {"sideline", "asyncio"}
        for record in caplog.records:
            places[f"log {len(places)}"] = f"{record.getMessage()} {vars(record)}"
        for warning in caught_warnings:
            places[f"warning {len(places)}"] = str(warning)
        for path in world.folder.rglob("*"):
            if path.is_file():
                places[str(path.name)] = path.read_bytes()
                if path.read_bytes().startswith(ZSTD):
                    places[f"{path.name}, unpacked"] = pa.input_stream(path, compression="zstd").read()
        tokens = {request.query["token"] for request in world.service.requests if "token" in request.query}
        canaries = world.canaries | {f"token {place}": token for place, token in enumerate(tokens) if isinstance(token, str)}
        return leaks(canaries, places)

    return find_leaks


@pytest.mark.parametrize("name", SITUATIONS)
def test_no_secret_is_reported(name: str, find_leaks: Callable[[Situation], list[str]]) -> None:
    assert find_leaks(SITUATIONS[name]) == []


def raise_with_secret(world: World) -> Any:
    frame = "def planted(ask, secret):\n    ask()\n"
    scope: dict[str, Any] = {}
    exec(compile(frame, f"{PACKAGE_FOLDER}/planted.py", "exec"), scope)
    return catch(scope["planted"], lambda: [][0], SECRET)


def write_journal(world: World, text: str) -> None:
    with streams.server([streams.then_hold(f'data: "{text}"\n\n'.encode())]) as host, host.client() as client:
        with client.live_stats("g").record(world.folder / "j") as stream:
            _ = [next(stream), next(stream)]


class _Kept:
    def __init__(self, secret: str) -> None:
        self.secret = secret


LEAKS: dict[str, Situation] = {
    "stdout": lambda world: sys.stdout.write(SECRET),
    "stderr of the process": lambda world: os.write(2, KEY.encode()),
    "log": lambda world: logging.getLogger("sideline.planted").debug("at %s", quote(KEY, safe="")),
    "warning": lambda world: warnings.warn(f"Basic {base64.b64encode(f'ann:{PASSWORD}'.encode()).decode()}", stacklevel=1),
    "locals": raise_with_secret,
    "text of an error": lambda world: ValueError(TOKEN),
    "attribute": lambda world: _Kept(SECRET),
    "file": lambda world: (world.folder / "f").write_bytes(b"\0" + KEY.encode()),
    "journal": lambda world: write_journal(world, SECRET),
    "part of a list": lambda world: [None, [f"x{quote(SECRET).lower()}x"]],
}


@pytest.mark.parametrize("place", LEAKS)
def test_the_check_sees_a_secret_that_was_planted(place: str, find_leaks: Callable[[Situation], list[str]]) -> None:
    assert find_leaks(LEAKS[place])


@pytest.mark.parametrize("before", ["", "a", "ab", "ann:"])
def test_base64_is_seen_wherever_the_secret_is_in_it(before: str) -> None:
    assert leaks({"it": PASSWORD}, {"there": base64.b64encode(f"{before}{PASSWORD} and more".encode()).decode()})
    assert len(forms(PASSWORD)) >= 8
