"""Queries of an assistant that try to reach more than the archive. strace watches the process that runs them, and is the witness."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from assistants import Assistant, assistant
from escapes import ESCAPES

import sideline

pytestmark = [
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: apt-get install strace"),
    pytest.mark.timeout(600),
]

NOW = "2027-03-01T12:00:00Z"
HARMLESS = ("from shots limit 1", "select 1", "show tables", "select count(*) from raw", "select * from nothing", "drop view shots", "select * from 'a.csv'")
"""What their processes read outside the archive is that of Python and its libraries."""

POSITIONS = ("from locations", "from _locations", "from tracking_loads", "from query('from locations')")
"""Tables that are not served."""
DIRECT = (
    "copy shots to '{out}'",
    "attach '{out}' as other",
    "install httpfs",
    "select * from read_csv('{secret}')",
    "select * from 'https://example.com/a.csv'",
    *POSITIONS,
)
"""One query for each thing that could be reached: a new file, a database, an extension, a file, an address, a table."""

CALLS = "%file,%network,%process,io_uring_setup,open_by_handle_at,process_vm_writev,ptrace"
LINE = re.compile(r"^(?P<pid>\d+) +(?P<call>\w+)\((?P<arguments>.*)$")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
NUMBER = re.compile(r"\d+")
WRITES = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND")
CHANGES = {"mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "link", "linkat", "symlink", "symlinkat", "truncate", "mknod"}
CHANGES |= {"chmod", "fchmodat", "chown", "lchown", "fchownat", "utimensat", "creat", "io_uring_setup", "open_by_handle_at", "process_vm_writev", "ptrace"}


@dataclass
class Trace:
    """What a process did to files and sockets."""

    reads: set[str] = field(default_factory=set)
    """Paths outside the archive, with `#` for each number."""
    changes: list[str] = field(default_factory=list)
    """Calls that write, or could."""
    sockets: set[str] = field(default_factory=set)
    programs: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, archive: Path) -> Trace:
        trace = cls()
        for line in path.read_text(errors="replace").splitlines():
            match = LINE.match(line)
            if match is None or "resumed>" in line:
                continue
            call, arguments = match["call"], match["arguments"]
            paths = TEXT.findall(arguments)
            if call in ("execve", "execveat"):
                trace.programs += paths[:1]
            elif call in ("socket", "connect", "bind", "sendto", "sendmsg"):
                trace.sockets.add(arguments.partition(",")[0] if call == "socket" else call)
            elif call in CHANGES or (any(flag in arguments for flag in WRITES) and "/dev/null" not in paths):
                trace.changes.append(line)
            trace.reads |= {NUMBER.sub("#", name) for name in paths if not Path(name).is_relative_to(archive)}
        return trace


@dataclass
class Season:
    """An archive, and a server whose query processes run under strace."""

    archive: Path
    traces: Path
    server: Assistant
    reads: set[str] = field(default_factory=set)

    def run(self, query: str) -> tuple[Any, Trace]:
        """Return the reply, and what the process of the query did."""
        before = {*self.traces.iterdir()}
        reply = self.server.call("query", sql=query)
        [path] = {*self.traces.iterdir()} - before
        return reply, Trace.read(path, self.archive)


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Season]:
    folder = tmp_path_factory.mktemp("escapes")
    archive, traces = folder / "season", folder / "traces"
    traces.mkdir()
    with sideline.Simulator(seed=7, teams=4, games=8, now=NOW) as service, service.client() as client:
        sideline.Archive(archive, client).sync(game_ids=[service.games[0]["event_id"]], tables=("shots", "locations"), progress=False)
    strace = folder / "python"
    strace.write_text(f'#!/bin/sh\nexec strace -f --seccomp-bpf -s 4096 -e trace={CALLS} -o {traces}/$$ {sys.executable} "$@"\n', encoding="utf-8")
    strace.chmod(0o755)
    # Only the processes of queries run under strace.
    start = f"import sys; sys.executable = {str(strace)!r}; from sideline.cli import main; sys.exit(main(sys.argv[1:]))"
    with assistant(archive, folder / "state", command=[sys.executable, "-P", "-c", start, "mcp"]) as server:
        season = Season(archive, traces, server)
        for query in HARMLESS:
            season.reads |= season.run(query)[1].reads
        yield season


@pytest.mark.parametrize("query", [pytest.param(query, marks=() if query in DIRECT else pytest.mark.extended) for query in (*ESCAPES, *POSITIONS)])
def test_a_query_of_an_assistant_reaches_nothing_but_the_archive(query: str, season: Season, tmp_path: Path) -> None:
    secret, out = tmp_path / "secret.csv", tmp_path / "out"
    secret.write_text("a,b\n1,2\n", encoding="utf-8")
    files_before = {path: path.stat().st_mtime_ns for path in season.archive.rglob("*")}
    reply, trace = season.run(query.format(secret=secret, out=out, folder=tmp_path))
    assert reply.is_error
    assert "Error executing tool query: " in reply.text
    assert trace.reads - season.reads == set()
    assert trace.changes == []
    assert len(trace.programs) == 1
    assert not any("INET" in socket for socket in trace.sockets)
    assert not out.exists()
    assert {path: path.stat().st_mtime_ns for path in season.archive.rglob("*")} == files_before


OPEN_QUERIES = {
    "reads": "select * from read_csv('{folder}/secret.csv')",
    "changes": "copy (select 1) to '{folder}/out.csv'",
}


@pytest.mark.parametrize("kind", OPEN_QUERIES)
def test_the_witness_sees_what_an_open_connection_does(kind: str, season: Season, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    code = f"import sideline; sideline.Archive({str(season.archive)!r}).connect().sql({OPEN_QUERIES[kind].format(folder=tmp_path)!r})"
    path = tmp_path / "trace"
    subprocess.run(["strace", "-f", "--seccomp-bpf", "-s", "4096", "-e", f"trace={CALLS}", "-o", path, sys.executable, "-c", code], check=True)
    trace = Trace.read(path, season.archive)
    if kind == "reads":
        assert NUMBER.sub("#", str(tmp_path / "secret.csv")) in trace.reads - season.reads
    else:
        assert any("out.csv" in line for line in trace.changes)


def test_the_witness_sees_a_connection(season: Season, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    code = "import socket; socket.socket().connect_ex(('127.0.0.1', 9))"
    subprocess.run(["strace", "-f", "--seccomp-bpf", "-e", f"trace={CALLS}", "-o", path, sys.executable, "-c", code], check=True)
    assert {"AF_INET", "connect"} <= Trace.read(path, season.archive).sockets
