"""The cost of importing the package, and side effects that it must not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sideline


def in_a_new_process(code: str, *options: str) -> Any:
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


NOTHING_YET = """
import builtins, json, os, socket, sys
before = set(sys.modules)
read = []
class Watched(dict):
    def __getitem__(self, name): read.append(name); return dict.__getitem__(self, name)
    def get(self, name, default=None): read.append(name); return dict.get(self, name, default)
    def __contains__(self, name): read.append(name); return dict.__contains__(self, name)
os.environ = Watched(os.environ)
os.getenv = os.environ.get
events = []
sys.addaudithook(lambda event, arguments: events.append(event))
import sideline
print(json.dumps({
    "modules": sorted(set(sys.modules) - before), "read": read,
    "events": sorted({event for event in events if event.split(".")[0] in ("socket", "subprocess", "ctypes")}),
    "threads": len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1,
}))
"""


def test_import_loads_one_module_and_does_nothing() -> None:
    seen = in_a_new_process(NOTHING_YET)
    assert seen == {"modules": ["sideline"], "read": [], "events": [], "threads": 1}


def test_import_takes_a_few_milliseconds() -> None:
    code = "import time; start = time.perf_counter(); import sideline; print((time.perf_counter() - start) * 1000)"
    assert min(in_a_new_process(code) for _ in range(5)) < 5


def test_asyncio_is_not_loaded_for_a_client_that_waits() -> None:
    code = "import json, sys, sideline; client = sideline.Client(username='a', secret='b');print(json.dumps('asyncio' in sys.modules))"
    assert in_a_new_process(code) is False


def test_pandas_is_not_loaded_for_arrow_and_parquet(tmp_path: Path) -> None:
    code = f"""
import json, sys, sideline
table = sideline.Payload.from_bytes("teams", b'{{"teams": []}}').table()
table.to_arrow()
table.to_parquet({str(tmp_path / "teams.parquet")!r})
print(json.dumps(["pyarrow" in sys.modules, "pandas" in sys.modules]))
"""
    assert in_a_new_process(code) == [True, False]


def test_printing_a_table_loads_none_of_what_takes_longer_than_that() -> None:
    code = """
import json, sys
from sideline import Client, Payload
Client(username="a", secret="b")
str(Payload.from_bytes("teams", b'{"teams": [{"id": 1, "name": "One"}]}').table())
slow = ["html", "importlib.util", "logging", "shutil", "unicodedata"]
print(json.dumps([name for name in slow if name in sys.modules]))
"""
    assert in_a_new_process(code) == []


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_loads_what_runs_only_when_it_runs(option: str) -> None:
    code = f"""
import contextlib, io, json, sys
from sideline.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main([{option!r}])
rooms = ["archive", "batch", "journal", "live", "plot", "simulator"]
libraries = ["asyncio", "http", "ssl", "matplotlib", "numpy", "pandas", "polars", "pyarrow"]
print(json.dumps([name for name in [*(f"sideline.{{room}}" for room in rooms), *libraries] if name in sys.modules]))
"""
    assert in_a_new_process(code) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(("columns", "expected"), [(None, 67), ("53", 53), ("0", 67), ("wide", 67)])
def test_a_printed_table_is_as_wide_as_the_terminal(columns: str | None, expected: int) -> None:
    import pty
    import termios

    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 67))
    code = "import shutil, sys; from sideline._rows.text import _terminal_width as width; print([width(), shutil.get_terminal_size((120, 24)).columns], file=sys.stderr)"
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | ({"COLUMNS": columns} if columns else {})
    for out, width in ((terminal, expected), (subprocess.DEVNULL, expected if columns == "53" else 120)):
        done = subprocess.run([sys.executable, "-c", code], env=env, check=True, stdout=out, stderr=subprocess.PIPE, text=True)
        assert json.loads(done.stderr) == [width, width]
    os.close(controller)
    os.close(terminal)


def test_building_a_client_starts_no_thread() -> None:
    code = "import json, os, sideline; client = sideline.Client(username='a', secret='b');print(json.dumps(len(os.listdir('/proc/self/task'))))"
    if sys.platform != "linux":
        pytest.skip("threads are counted in /proc")
    assert in_a_new_process(code) == 1


@pytest.mark.parametrize("name", sideline.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    public = getattr(sideline, name)
    assert name in dir(sideline)
    if isinstance(public, type):
        assert public.__doc__
        assert public.__module__.startswith("sideline")


def test_completion_offers_public_names_alone() -> None:
    assert [name for name in dir(sideline) if name.startswith("_")] == ["__version__"]
    assert {"court", "errors", "live", "metrics", "plot", "typing"} < set(dir(sideline))


def test_the_top_level_is_small() -> None:
    assert len(set(sideline.__all__) - {"__version__"}) <= 48


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Clinet"):
        sideline.Clinet  # noqa: B018


def test_the_version_is_the_distributions() -> None:
    from importlib.metadata import version

    assert sideline.__version__ == version("sideline")
