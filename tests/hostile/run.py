"""Runs cases until the time is over, or one of them.

    python tests/hostile/run.py [CASE]      HOSTILE_SECONDS (default 600), HOSTILE_SEED (default: drawn)

With CASE it runs that case alone: that is how a failure is replayed. Exit status 1: something was wrong; the case is named.
"""

from __future__ import annotations

import faulthandler
import itertools
import os
import random
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile.exercise import HEADROOM, all_of, resident, warm_up

LIMIT = 120
"""Seconds for a case. The longest takes about two on an idle machine."""


def main(arguments: list[str]) -> int:
    seed = int(os.environ.get("HOSTILE_SEED") or random.randrange(10**9))
    seconds = float(os.environ.get("HOSTILE_SECONDS") or 600)
    os.environ.pop("SIDELINE_SECRET", None)
    warm_up()
    before = resident()
    until = time.monotonic() + seconds
    counts: Counter[str] = Counter()
    numbers = map(int, arguments) if arguments else itertools.count()
    for number, case in all_of(seed, numbers):
        # Written before it runs: an abort tells nothing afterwards.
        print(f"case {number}: {case}; replay: HOSTILE_SEED={seed} python tests/hostile/run.py {number}", file=sys.stderr, flush=True)
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        start = time.monotonic()
        try:
            case.run()
        except BaseException:  # noqa: BLE001 - whatever escapes is the finding
            traceback.print_exc()
            print(f"FAILED: HOSTILE_SEED={seed} python tests/hostile/run.py {number}", file=sys.stderr)
            return 1
        finally:
            faulthandler.cancel_dump_traceback_later()
        counts[str(case).split()[0]] += 1
        if arguments:
            print(f"{time.monotonic() - start:.2f} s")
        if resident() > before + HEADROOM:
            print(f"FAILED: {(resident() - before) >> 20} MiB; HOSTILE_SEED={seed} python tests/hostile/run.py {number}", file=sys.stderr)
            return 1
        if time.monotonic() > until:
            break
    print(f"seed {seed}: {sum(counts.values())} cases, {dict(sorted(counts.items()))}, {(resident() - before) >> 20} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
