"""What tests read from the Rust source: files without their unit tests, functions, and rooms with their imports."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FUNCTION = re.compile(r'( *)(?:pub(?:\([a-z: ]+\))? )?(?:default |const |async |unsafe |extern "C" )*fn (\w+)')


@dataclass(frozen=True)
class Function:
    path: str
    name: str
    lines: int
    depth: int
    """The deepest level of indentation below its own."""


UNIT_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#!?\[.*\]\s*)?mod \w+ \{")


@cache
def whole_files() -> dict[str, str]:
    """The Rust files of all crates by their path, without tests and fuzz targets."""
    paths = [path for folder in ("src", "crates") for path in sorted((ROOT / folder).rglob("*.rs"))]
    files = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    assert files
    return {name: UNIT_TESTS.split(text)[0] for name, text in files.items() if not re.search("test|fuzz", name)}


@cache
def rust_files() -> dict[str, str]:
    """The same without the simulation and without comments of whole lines."""
    return {name: re.sub(r"(?m)^ *//.*\n", "", text) for name, text in whole_files().items() if "/simulation/" not in name}


def files_with(pattern: str, within: str = "") -> list[str]:
    """The files in which a pattern occurs."""
    return [name for name, text in rust_files().items() if within in name and re.search(pattern, text)]


def functions() -> Iterator[Function]:
    """Functions as rustfmt writes them: the end has the indentation of the beginning."""
    for path, text in whole_files().items():
        lines = text.split("\n")
        for index, line in enumerate(lines):
            match = FUNCTION.match(line)
            if not match or line.rstrip().endswith((";", "}")):
                continue
            end = next((last for last in range(index + 1, len(lines)) if lines[last] in (match[1] + "}", match[1] + "};")), None)
            if end is None:
                continue
            inner = [len(row) - len(row.lstrip()) for row in lines[index : end + 1] if row.strip()]
            yield Function(path, match[2], end - index + 1, (max(inner) - len(match[1])) // 4)


def imports() -> dict[str, set[str]]:
    """The modules of `src/` and the modules that each of them uses."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for path, text in rust_files().items():
        if not path.startswith("src/") or path == "src/lib.rs":
            continue
        module = path.split("/")[1].removesuffix(".rs")
        rooms[module] |= set(re.findall(r"\bcrate::(\w+)", text))
        for group in re.findall(r"use crate::\{(.*?)\};", text, re.DOTALL):
            rooms[module] |= set(re.findall(r"(?:^|,)\s*(\w+)", group))
    return {module: used - {module} for module, used in rooms.items()}
