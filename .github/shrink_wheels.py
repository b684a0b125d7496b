"""Compress wheels again, as tightly as their format allows: python .github/shrink_wheels.py dist.

maturin compresses with zlib, whose best takes 3 % more than Zopfli's deflate, which any Python reads alike. Needs zopflipy.
"""

import sys
import zipfile
from pathlib import Path

import zopfli


def shrink(wheel: Path) -> None:
    """Write each file of a wheel anew; its content, order and times stay."""
    smaller = wheel.with_suffix(".partial")
    with (
        zipfile.ZipFile(wheel) as old,
        zopfli.ZipFile(smaller, "w", zipfile.ZIP_DEFLATED, iterations=5, block_splitting_max=0) as new,
    ):
        for info in old.infolist():
            new.writestr(info, old.read(info))
    smaller.replace(wheel)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        for wheel in sorted(Path(folder).glob("*.whl")):
            shrink(wheel)
