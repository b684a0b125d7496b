"""Checks released wheels: python .github/check_wheels.py dist. Exit status 1: a path of the build machine, or too large."""

import re
import sys
import zipfile
from pathlib import Path

# Home and work folders of build machines, and where cargo keeps the sources of other crates.
PATHS = re.compile(rb"(?:/home|/root|/Users|/github|/work|:\\Users)[/\\][\w.+@/\\-]{1,80}|\.cargo[/\\]registry")

# A crate that brings more than it is used for is noticed here; benches/README.md, "Wheel", says what fills a wheel. Only that of x86_64
# Linux was measured. Those of other systems, which other linkers make, may be larger.
MEASURED = re.compile(r"-abi3-manylinux\w+_x86_64\.whl$")
LIMIT, LIMIT_OF_OTHERS = 4_300_000, 4_700_000


def faults_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        found = [(name, match[0]) for name in archive.namelist() for match in PATHS.finditer(archive.read(name))]
    faults = [f"{wheel.name}: {name}: {path.decode()}" for name, path in dict.fromkeys(found)]
    size, limit = wheel.stat().st_size, LIMIT if MEASURED.search(wheel.name) else LIMIT_OF_OTHERS
    return [*faults, f"{wheel.name}: {size:,} bytes, more than {limit:,}"] if size > limit else faults


if __name__ == "__main__":
    lines = [
        line for folder in sys.argv[1:] for wheel in sorted(Path(folder).glob("*.whl")) for line in faults_in(wheel)
    ]
    sys.exit("\n".join(lines[:20]) or 0)
