"""The server of `server/serve.rs` with its files, for as long as a block lasts."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson
from workloads import snapshots, workloads

HERE = Path(__file__).parent
EVENTS = {"snapshots": 2_000, "small": 20_000}
"""Events of each flood."""


@dataclass(frozen=True)
class Served:
    plain: str
    """Address of the listener that sends bodies as they are."""
    gzip: str
    """Address of the one that compresses them."""


def _binary() -> Path:
    made = HERE.parent / "target" / "bench" / "server"
    source = HERE / "server" / "serve.rs"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["rustc", "-O", "--edition", "2024", source, "-o", made], check=True)
    return made


@cache
def events() -> dict[str, list[bytes]]:
    """The documents of the event streams: as the service sends them (both teams, all players), and with the teams' totals alone."""
    whole = [text.encode() for text in snapshots()]
    small = []
    for text in whole:
        document = orjson.loads(text)
        for team in document["teams"]:
            team["player_stats"] = [line for line in team["player_stats"] if line["id"] == 0]
        small.append(orjson.dumps(document))
    return {"snapshots": whole, "small": small}


@contextmanager
def serving() -> Iterator[Served]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, work in (("game", "1.5 MB game"), ("small", "small")):
            raw = workloads()[work].raw
            (folder / f"{file}.json").write_bytes(raw)
            (folder / f"{file}.json.gz").write_bytes(gzip.compress(raw, 6))
        documents = events()
        for stream, count in EVENTS.items():
            # A chunk for each event, as a server that flushes each sends them.
            texts = [b"data: %s\n\n" % documents[stream][i % len(documents[stream])] for i in range(count)]
            framed = b"".join(b"%x\r\n%s\r\n" % (len(text), text) for text in texts)
            (folder / f"{stream}.sse").write_bytes(framed + b"0\r\n\r\n")
        (folder / "paced.json").write_bytes(documents["small"][-1])
        with subprocess.Popen([_binary(), folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin
            assert process.stdout
            ports = [int(process.stdout.readline()) for _ in range(2)]
            try:
                yield Served(*(f"http://127.0.0.1:{port}" for port in ports))
            finally:
                process.stdin.close()


if __name__ == "__main__":
    with serving() as served:
        print(served.plain, served.gzip)
        sys.stdin.read()
