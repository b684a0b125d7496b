"""The pages of the documentation, and their Python blocks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class Block(NamedTuple):
    page: Path
    line: int
    code: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(page, text.count("\n", 0, match.start()) + 2, match[1]) for match in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M)]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [block for page in PAGES for block in blocks(page)]
