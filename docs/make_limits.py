"""Measure the bounds of docs/limits.md and write their peaks into it: `python docs/make_limits.py` (Linux, a minute)."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "limits.md"
HEAD = """## Measured

<!-- Written by `python docs/make_limits.py` to the end of the page; do not edit. -->

By how much a process grows that meets a flood, at its peak. `tests/test_bounds.py` fails where it grows by more than is allowed, which
adds to the bound what the libraries and the allocator keep.

| flood | bound | allowed (MiB) | peak (MiB) |
|---|---|---:|---:|
"""


def main() -> None:
    """Measure each bound."""
    sys.path.insert(0, str(ROOT / "tests"))
    from bounds import BOUNDS, measure

    rows = []
    for bound in BOUNDS:
        rows.append(f"| {bound.flood} | {bound.limit} | {bound.allowed_mib:g} | {measure(bound):.0f} |")
        print(rows[-1], flush=True)
    text = PAGE.read_text(encoding="utf-8").partition("## Measured")[0].rstrip("\n")
    PAGE.write_text(text + "\n\n" + HEAD + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
