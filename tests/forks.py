"""Runs Python scripts in forks of one process: each has an interpreter of its own, without the time that its imports take."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

SERVER = Path(__file__).with_name("fork_server.py")


class Done(NamedTuple):
    status: int
    stdout: str
    stderr: str


class Forks:
    """The process that is forked."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, path: Path, env: Mapping[str, str], *, is_pytest: bool = False, timeout: float = 60) -> Done:
        """Runs the script in its folder; a warning is an error."""
        streams = [path.with_suffix(".stdout"), path.with_suffix(".stderr")]
        job = {
            "path": path.name,
            "cwd": str(path.parent),
            "env": dict(env),
            "pytest": is_pytest,
            "timeout": timeout,
            "stdout": str(streams[0]),
            "stderr": str(streams[1]),
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(job), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, "the process that is forked has ended"
        return Done(int(line), *(stream.read_text(encoding="utf-8") for stream in streams))


@contextlib.contextmanager
def forks() -> Iterator[Forks]:
    """Starts the process, without a user's settings; ends it."""
    env = {**os.environ, "MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(SERVER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        yield Forks(process)
        assert process.stdin is not None
        process.stdin.close()
