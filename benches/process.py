"""What people feel: from the start of a process to its first printed table, plain and over TLS; a notebook's import and first call.

    target/bench/bin/python benches/process.py [--rounds 10]

Each contender is a process of its own that signs a request, reads a game and shows its sessions; over bare Python, its time less
that of a Python that does nothing. TLS is a server with a certificate of its own, trusted beside all of certifi's. In a notebook
IPython has loaded much of the standard library before, so that is loaded before the clock starts.
"""

from __future__ import annotations

import argparse
import http.server
import os
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import certifi
import trustme
from measure import Row, Times, faster, interleaved
from over_http import SECRET, USER
from serving import serving
from workloads import workloads

SIGN = f"""
import binascii, hmac, sys, time
base, path = sys.argv[1], "/v1/data/games/game-1"
date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
text = "date: " + date + "\\nhost: " + base.split("//")[1] + "\\nGET " + path + " HTTP/1.1"
signature = binascii.b2a_base64(hmac.digest({SECRET.encode()!r}, text.encode(), "sha1"), newline=False).decode()
headers = {{"Date": date, "Authorization": 'hmac username="{USER}",algorithm="hmac-sha1",headers="date host request-line",'
           'signature="' + signature + '"'}}
"""
BARE = "bare Python"
SCRIPTS = {
    "sideline": f"""
import sys, sideline
with sideline.Client(username={USER!r}, secret={SECRET!r}, base_url=sys.argv[1], environment="production", sport="basketball") as client:
    table = client.game("game-1").table()
""",
    "requests + pandas": f"""{SIGN}
import requests, pandas
table = pandas.DataFrame(requests.get(base + path, headers=headers).json()["results"])
""",
    "httpx + polars": f"""{SIGN}
import httpx, polars
table = polars.DataFrame(httpx.get(base + path, headers=headers).json()["results"])
""",
    "urllib + json": f"""{SIGN}
import json, urllib.request
with urllib.request.urlopen(urllib.request.Request(base + path, headers=headers)) as response:
    rows = json.load(response)["results"]
table = "\\n".join("  ".join(str(row[name])[:20].ljust(20) for name in ("id", "type", "started_at", "ended_at")) for row in rows)
""",
}
NOTEBOOK = """
import asyncio, concurrent.futures, datetime, email.utils, hmac, html, inspect, json, logging, pathlib, random, shutil, socket, ssl
import subprocess, sys, tempfile, threading, time, traceback, typing, urllib.request, uuid, zipfile
start = time.perf_counter()
{script}
shown = table._repr_html_()
print(time.perf_counter() - start, shown)
"""


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Or an answer waits until the tickets of the session are acknowledged: 40 ms for a client that does so later.
    disable_nagle_algorithm = True
    body = b""

    def do_GET(self) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(self.body)}\r\n\r\n"
        self.wfile.write(head.encode() + self.body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def over_tls(body: bytes) -> Iterator[tuple[str, Path]]:
    """The address of a server, and a file with its authority among those that certifi has."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with tempfile.TemporaryDirectory() as folder, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        bundle = Path(folder) / "authorities.pem"
        bundle.write_bytes(Path(certifi.where()).read_bytes() + authority.cert_pem.bytes())
        Service.body = body
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://localhost:{server.server_address[1]}", bundle
        server.shutdown()


def run(script: str, base: str, bundle: Path | None = None) -> str:
    trusted = {"SSL_CERT_FILE": str(bundle), "REQUESTS_CA_BUNDLE": str(bundle)} if bundle else {}
    command = [sys.executable, "-I", "-c", script, base]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **trusted}).stdout


def printed(base: str, bundle: Path | None) -> dict[str, Callable[[], str]]:
    scripts = {BARE: "pass"} | {name: f"{script}\nprint(table)" for name, script in SCRIPTS.items()}
    return {name: lambda script=script: run(script, base, bundle) for name, script in scripts.items()}


def shows_sessions(contenders: dict[str, Callable[[], str]], expected: list[str]) -> None:
    for name, show in contenders.items():
        if name != BARE and not all(session in show() for session in expected):
            raise SystemExit(f"{name}: the sessions are not shown, so nothing is timed")


def over_bare(times: Times) -> Times:
    return {
        name: [one - bare for one, bare in zip(of, times[BARE], strict=True)]
        for name, of in times.items()
        if name != BARE
    }


def told(work: str, times: Times, aims: dict[str, float]) -> list[Row]:
    return [faster("Process", work, peer, times, "sideline", aims.get(peer)) for peer in times if peer != "sideline"]


def rows(rounds: int) -> list[Row]:
    small = workloads()["small"]
    expected = [session["id"][:8] for session in small.payload().to_dict()["results"]]
    found = []
    with serving() as served, over_tls(small.raw) as (secure, bundle):
        for work, base, trusted, aims in (
            (
                "process start → first table printed, over bare Python",
                served.plain,
                None,
                {"requests + pandas": 15, "urllib + json": 1.3},
            ),
            ("the same, its request over TLS", secure, bundle, {}),
        ):
            contenders = printed(base, trusted)
            shows_sessions(contenders, expected)
            found += told(work, over_bare(interleaved(contenders, rounds)), aims)
        notebooks = {
            name: lambda script=script: run(NOTEBOOK.format(script=script), served.plain)
            for name, script in SCRIPTS.items()
            if name != "urllib + json"
        }
        shows_sessions(notebooks, expected)
        times: Times = {name: [] for name in notebooks}
        for _ in range(rounds):
            for name, show in notebooks.items():
                times[name].append(float(show().split()[0]))
        found += told("a notebook's import and first call, shown as HTML", times, {})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    for row in rows(parser.parse_args().rounds):
        print(f"{row.work} | {row.peer} | {row.measured} | {row.reach} {row.reached} | {row.times}", flush=True)


if __name__ == "__main__":
    main()
