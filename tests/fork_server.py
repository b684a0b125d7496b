"""Runs scripts in forks of one process that has imported the optional libraries: `python -W error tests/fork_server.py`.

Reads one JSON object a line from standard input: `path` of the script, `cwd`, `env`, `stdout` and `stderr` (files), `timeout` in
seconds, and `pytest`, true for a file of tests. Answers each with a line, the exit status; 124 if the time was over.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import sys
import time
import warnings
from typing import Any

LIBRARIES = ("numpy", "pandas", "polars", "pyarrow.parquet", "matplotlib.pyplot", "deltalake", "pytest", "hypothesis", "anyio")


def import_libraries() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each script meets the warnings of its own calls
        for name in LIBRARIES:
            try:
                importlib.import_module(name)
            except ImportError:
                continue  # a script that needs it reports it


def fork() -> int:
    """Forks. The threads that imports start (of memory allocators, of polars) only tidy up, and a fork does without them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12 and later, where there are threads
        return os.fork()


def run(job: dict[str, Any]) -> None:
    """Runs the script in this process, a fork, as `python -W error path` would."""
    os.setpgid(0, 0)
    sys.stdin.close()
    sys.stdout.flush()
    for stream, name in ((1, job["stdout"]), (2, job["stderr"])):
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, stream)
        os.close(file)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    sys.argv = [job["path"]]
    sys.path[0] = job["cwd"]
    if job["pytest"]:
        import pytest

        raise SystemExit(int(pytest.main(["-q", "-p", "no:cacheprovider", job["path"]])))
    runpy.run_path(job["path"], run_name="__main__")
    raise SystemExit(0)


def wait(child: int, seconds: float) -> int:
    """The exit status of the child, which is killed with its own children when the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 124


def serve() -> None:
    import_libraries()
    # What the process has is never garbage; no fork visits it, not even at its end.
    gc.freeze()
    for line in sys.stdin:
        job = json.loads(line)
        child = fork()
        if child == 0:
            run(job)
        print(wait(child, job["timeout"]), flush=True)


if __name__ == "__main__":
    serve()
