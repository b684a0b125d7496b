"""Writes the speeds of the README from REPORT.md; `make bench` runs it.

python benches/readme.py
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
START, END = "<!-- speeds: python benches/readme.py -->", "<!-- end of speeds -->"

ROWS = {
    "details": "| stat details of a game, bytes → Arrow, as pyarrow.Table | msgspec → pyarrow |",
    "dicts": "| bytes → dicts, geometric mean of 7 kinds of body | orjson |",
    "http": "| 300 games of 1.5 MB, plain → Arrow | aiohttp + msgspec → pyarrow, a process for each core |",
}
"""The rows of the report whose ratios the README has."""


def speeds(report: str) -> str:
    """Return the README's sentences about speed."""
    ratios = {}
    for name, row in ROWS.items():
        [line] = [line for line in report.splitlines() if line.startswith(row)]
        ratios[name] = re.findall(r"([\d.]+)×", line)[0]
    return (
        f"  Stat details of a game become an Arrow table {ratios['details']} times as fast as by msgspec and pyarrow, and dicts in\n"
        f"  {ratios['dicts']} of orjson's time. Games over HTTP arrive {ratios['http']} times as fast as with aiohttp and a decoding\n"
        "  process for each core. `make bench` writes these numbers, and those that miss their aim: [report](benches/REPORT.md)."
    )


def with_speeds(readme: str, report: str) -> str:
    """Return the README with the speeds of a report."""
    before, _, rest = readme.partition(START)
    return f"{before}{START}\n{speeds(report)}\n  {END}{rest.partition(END)[2]}"


def write() -> None:
    """Write the README's speeds."""
    readme = ROOT / "README.md"
    report = (ROOT / "benches" / "REPORT.md").read_text(encoding="utf-8")
    readme.write_text(with_speeds(readme.read_text(encoding="utf-8"), report), encoding="utf-8")


if __name__ == "__main__":
    write()
