"""The same promises when the machine itself does harm: killed writers, and a wrong clock."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from needs import ARCHIVE, require
from service import Service
from trust import describe, untrue

import sideline

require(*ARCHIVE, extra="archive")

pytestmark = pytest.mark.timeout(300)
"""Each starts several processes: seconds on an idle machine, more on a busy one."""

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
SEASON: dict[str, Any] = {"start": "2027-02-01", "end": "2027-04-15", "tables": ("events", "player_stats", "stat_events", "possessions")}
COMPARED_TABLES = ("events", "sessions", "player_stats", "box_score", "stat_events", "possessions", "possession_events")

SYNC = f"""
import sys, sideline
client = sideline.Client()
report = sideline.Archive(sys.argv[1], client).sync(**{SEASON!r}, correction_window=None, on_error="keep", progress=False)
print([hole for hole in report.holes if hole["status"] != "unavailable"])
"""

SHIFTED_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long shift(void) { const char *text = getenv("CLOCK_SHIFT"); return text ? atol(text) : 0; }

int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = next(id, at);
    if (id == CLOCK_REALTIME) at->tv_sec += shift();
    return status;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""


SIZE: dict[str, Any] = {"seed": 4, "now": NOW, "teams": 3, "players": 6, "games": 3, "sessions": (1, 2), "possessions": 3, "practices": 1, "days": 5}


@pytest.fixture
def second() -> Iterator[Service]:
    with Service(**SIZE) as service:
        yield service


@pytest.fixture(scope="module")
def commits_of_a_sync(tmp_path_factory: pytest.TempPathFactory) -> int:
    root = tmp_path_factory.mktemp("archives") / "whole"
    with Service(**SIZE) as service, sideline.Client(**service.client_options()) as client:
        sideline.Archive(root, client).sync(**SEASON, correction_window=None, on_error="keep", progress=False)
    return commits(root)


def start(service: Service, root: Path, **environ: str) -> subprocess.Popen[str]:
    """One sync in a separate process."""
    return subprocess.Popen([sys.executable, "-c", SYNC, str(root)], env={**os.environ, **service.environ, **environ}, stdout=subprocess.PIPE, text=True)


def commits(root: Path) -> int:
    return sum(1 for _ in root.glob("*/_delta_log/*.json"))


def assert_truth(service: Service, root: Path) -> None:
    with sideline.Client(**service.client_options()) as client:
        archive = sideline.Archive(root, client)
        for _ in range(2):
            archive.sync(**SEASON, correction_window=None, on_error="keep", progress=False)
        assert not (rows := untrue(archive, service, COMPARED_TABLES)), describe(rows)


@pytest.mark.parametrize("share", [*(pytest.param(share, marks=pytest.mark.extended) for share in (0.1, 0.7, 0.95)), 0.4])
def test_a_sync_that_the_system_kills_while_it_writes_resumes_where_it_was(second: Service, commits_of_a_sync: int, tmp_path: Path, share: float) -> None:
    target = max(1, int(commits_of_a_sync * share))
    root = tmp_path / "killed"
    for _ in range(2):
        process = start(second, root)
        before = commits(root)
        while process.poll() is None and commits(root) < before + target:
            time.sleep(0.005)
        process.kill()
        process.communicate()
        second.change.correct_stat()
        second.change.insert_possession()
        second.change.reissue_session()
    assert_truth(second, root)


@pytest.fixture(scope="session")
def shifted_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that moves the clock of a process that loads it by CLOCK_SHIFT seconds."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler on Linux")
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(SHIFTED_CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", folder / "clock.so", folder / "clock.c", "-ldl"], check=True)
    return folder / "clock.so"


def test_the_shifted_clock_is_what_a_process_sees(shifted_clock: Path) -> None:
    code = "import time; print(int(time.time()))"
    environ = {**os.environ, "LD_PRELOAD": str(shifted_clock), "CLOCK_SHIFT": "86400"}
    seen = int(subprocess.run([sys.executable, "-c", code], env=environ, stdout=subprocess.PIPE, check=True).stdout)
    assert 86_000 < seen - time.time() < 87_000


@pytest.mark.parametrize("shift", [timedelta(days=1), *(pytest.param(timedelta(days=days), marks=pytest.mark.extended) for days in (-1, 400))])
def test_a_sync_with_a_wrong_clock_neither_loses_nor_shadows_anything(second: Service, tmp_path: Path, shifted_clock: Path, shift: timedelta) -> None:
    """One sync of a machine whose clock is wrong, then one of a machine whose clock is right, and the reverse."""
    wrong_clock = {"LD_PRELOAD": str(shifted_clock), "CLOCK_SHIFT": str(int(shift.total_seconds()))}
    root = tmp_path / "season"
    for environ in (wrong_clock, {}, wrong_clock):
        process = start(second, root, **environ)
        text, _ = process.communicate()
        assert (process.returncode, text.strip()) == (0, "[]")
        with sideline.Client(**second.client_options()) as client:
            assert not (rows := untrue(sideline.Archive(root, client), second, COMPARED_TABLES)), describe(rows)
        second.change.correct_stat()
        second.change.add_game()
        second.change.insert_possession()
        second.advance(timedelta(seconds=1))
