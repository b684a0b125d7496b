"""A new PostgreSQL server on a free port, for tests of what an export leaves there."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@contextmanager
def postgres_server() -> Iterator[str]:
    """Its address; it runs as another user if the tests run as root. Without PostgreSQL the test is skipped."""
    if not BINARIES:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    # Not below pytest's folder, which is closed to other users.
    folder = Path(tempfile.mkdtemp(prefix="sideline-postgres-"))
    as_user: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
        as_user = ["setpriv", "--reuid=nobody", "--clear-groups"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(name: str, *arguments: str) -> None:
        subprocess.run([*as_user, str(BINARIES[-1] / name), *arguments], check=True, capture_output=True, timeout=120, cwd="/")

    data = str(folder / "data")
    try:
        run("initdb", "-D", data, "-U", "sideline", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        run(
            "pg_ctl",
            "-D",
            data,
            "-w",
            "-t",
            "100",
            "-l",
            str(folder / "log"),
            "-o",
            f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off",
            "start",
        )
        try:
            yield f"postgresql://sideline@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "-t", "100", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_database(server: str) -> str:
    """The address of a new database of a server."""
    name = f"test_{uuid.uuid4().hex}"
    query(server, f"create database {name}")
    return server.replace("/postgres", f"/{name}")


def query(address: str, text: str) -> list[list[str]]:
    """The rows of a query by PostgreSQL's own client, with values as text."""
    done = subprocess.run([BINARIES[-1] / "psql", address, "-XAtF", "\t", "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]
