"""A short run of the hostile peer's cases. `python tests/hostile/run.py` is a long one; README.md says how to replay a failure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from needs import ARCHIVE, PLOT, require

from .exercise import CALLS, SECRETS, Case, Texts, Violation
from .grammar import GOLDEN

require(*ARCHIVE, *PLOT, "pandas")

RUN = Path(__file__).with_name("run.py")
SECONDS = os.environ.get("HOSTILE_SECONDS", "10")
SEED = os.environ.get("HOSTILE_SEED", "1")


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    limit = float(env.get("HOSTILE_SECONDS", "0")) + 300
    return subprocess.run([sys.executable, RUN, *arguments], env={**os.environ, **env}, capture_output=True, text=True, timeout=limit)


@pytest.mark.skipif(sys.platform == "win32", reason="memory is read by getrusage")
@pytest.mark.timeout(float(SECONDS) + 330)
def test_no_peer_makes_the_client_abort_hang_leak_or_raise_what_is_not_documented() -> None:
    # A child: an abort would take the tests with it, and its memory is its own.
    done = run(HOSTILE_SECONDS=SECONDS, HOSTILE_SEED=SEED)
    assert done.returncode == 0, "\n".join(done.stderr.splitlines()[-60:])
    assert "panicked" not in done.stderr
    match = re.search(r"seed \d+: (\d+) cases", done.stdout)
    assert match
    assert int(match[1]) >= 5


@pytest.mark.skipif(sys.platform == "win32", reason="memory is read by getrusage")
@pytest.mark.timeout(330)
def test_a_failure_names_its_case_and_the_command_that_replays_it(tmp_path: Path) -> None:
    # With no room for memory the first case fails.
    script = tmp_path / "planted.py"
    tests = str(RUN.parents[1])
    script.write_text(
        f"import runpy, sys\nsys.path.insert(0, {tests!r})\nimport hostile.exercise\nhostile.exercise.HEADROOM = -(1 << 60)\n"
        f"sys.argv = ['run.py']\nrunpy.run_path({str(RUN)!r}, run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, script], env={**os.environ, "HOSTILE_SEED": "7"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert re.search(r"FAILED: .* MiB; HOSTILE_SEED=7 python tests/hostile/run.py 0", done.stderr)


def test_a_case_is_the_same_each_time() -> None:
    def draw(number: int) -> tuple[str, bytes]:
        case = Case(11, number)
        return str(case), case.grammar.response(case.operation) + case.grammar.event_stream() + case.grammar.websocket(b"key")

    assert [draw(number) for number in range(12)] == [draw(number) for number in range(12)]


def test_every_operation_and_place_of_a_secret_is_drawn() -> None:
    cases = [Case(1, number) for number in range(3_000)]
    assert {case.operation for case in cases} == set(CALLS)
    assert {case.kind.__name__ for case in cases} == {"_call", "_async_call", "_batch", "_events", "_websocket", "_archive"}
    assert {case.echoes for case in cases} == {"nowhere", "heads", "everywhere"}
    assert set(GOLDEN) <= set(CALLS)


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_that_is_shown_is_a_violation(name: str) -> None:
    texts = Texts(checks_data=True)
    texts.say("nothing", b"at all")
    texts.check()
    texts.say(f"at the {SECRETS[name].upper()} end")
    with pytest.raises(Violation, match=f"the {name} is shown"):
        texts.check()
