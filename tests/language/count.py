"""Counts the words that the lexicon refuses, by file: names in Rust and Python, phrases in docstrings and comments.

python tests/language/count.py                 the total of each area
python tests/language/count.py PATH ..         each refused word of these files, with a better one
python tests/language/count.py --write         lower the stored counts; it refuses to raise one
python tests/language/count.py --baseline      store all counts, even higher ones: only after merging branches
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import sys
import tokenize
import tomllib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = next(folder for folder in HERE.parents if (folder / "pyproject.toml").exists())
COUNTS = HERE / "counts.json"
AREAS = {"rust": ("src", "crates"), "python": ("python",), "tests": ("tests",)}

KINDS = ("function", "value", "constant", "module")
RUST_KEYWORDS = {"mut", "ref", "box", "self", "true", "false", "if", "in", "move", "dyn", "impl", "const", "as", "_"}


@dataclass(frozen=True)
class Hit:
    """One refused word: its line, what it names (or "phrase"), and a better word."""

    line: int
    kind: str
    word: str
    better: str


class Lexicon:
    """The refused words by kind, and the refused phrases."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        participles = content["participles"]
        self._contract = set(content["contract"]["names"])
        self._participle = participles["better"]
        self._participle_kinds = set(participles["kinds"])
        self._irregular = set(participles["irregular"])
        self._regular = {*participles["nouns"], *participles["adjectives"]}
        self._words = {kind: content["words"]["any"] | content["words"].get(kind, {}) for kind in KINDS}
        self._phrases = [(re.compile(f"(?i:{pattern})"), better) for pattern, better in content["phrases"].items()]

    @classmethod
    def load(cls) -> Lexicon:
        return cls(tomllib.loads((HERE / "lexicon.toml").read_text(encoding="utf-8")))

    def better(self, kind: str, name: str) -> str | None:
        """Return what to use for a name, or `None` for a good one."""
        word = name.strip("_").lower()
        if word in self._contract:
            return None
        if kind in self._participle_kinds and self._is_participle(word):
            return self._words[kind].get(word, self._participle)
        return self._words[kind].get(word)

    def _is_participle(self, word: str) -> bool:
        return word in self._irregular or (re.fullmatch(r"[a-z]+ed", word) is not None and word not in self._regular)

    def phrases(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each refused phrase of a text, with a better one."""
        # `None` is a value of Python, not a pronoun.
        plain = re.sub(r"\bNone\b", "null", text)
        for pattern, better in self._phrases:
            yield from ((match[0], better) for match in pattern.finditer(plain))


# Python.


def python_names(nodes: list[ast.AST]) -> Iterator[tuple[int, str, str]]:
    """Yield line, kind and name of each declaration. The statements that name tests are not names."""
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not node.name.startswith("test_"):
                yield node.lineno, "function", node.name
            case ast.arg():
                yield node.lineno, "value", node.arg
            # The name of a type is no value.
            case ast.Name(ctx=ast.Store()) if node.id.isupper() or not node.id.strip("_")[:1].isupper():
                yield node.lineno, "constant" if node.id.isupper() else "value", node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, "value", node.attr
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, "value", name
            case _:
                pass


def python_texts(nodes: list[ast.AST], source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring and of each run of comments."""
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text
            case _:
                pass
    comments = [
        (token.start[0], token.string.lstrip("# ")) for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type == tokenize.COMMENT
    ]
    yield from _joined_lines(comments)


# Rust.

_LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|\bb?"(?:[^"\\]|\\.)*"|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\\n]|\\[^\n]{1,9}?)\'', re.DOTALL)
_TOKEN = re.compile(r"\$\w+|\w+|::|\.\.=?|->|=>|[^\s\w]")


def _without_literals(source: str) -> str:
    """Blank out comments and literals; lines keep their numbers."""

    def blank(match: re.Match[str]) -> str:
        return ('""' if '"' in match[0] and not match[0].startswith("/") else " ") + "\n" * match[0].count("\n")

    return _LITERAL.sub(blank, source)


def _pattern_names(pattern: str) -> Iterator[str]:
    """Yield the bindings of a pattern: lower-case identifiers that are no path, field or call. A type ends it."""
    tokens = _TOKEN.findall(pattern)
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token in ("(", "[", "{")) - (token in (")", "]", "}"))
        before, after = tokens[place - 1] if place else "", tokens[place + 1] if place + 1 < len(tokens) else ""
        if token == ":" and depth == 0:
            return
        if re.fullmatch(r"[a-z_]\w*", token) and token not in RUST_KEYWORDS:
            is_path = before in ("::", "'", ".") or after in ("::", "(", "{", "!", ".")
            is_field = depth > 0 and after == ":"
            if not is_path and not is_field:
                yield token


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a list between commas outside of brackets."""
    depth, start = 0, 0
    for place, sign in enumerate(text):
        if sign in "([{<":
            depth += 1
        elif sign in ")]}" or (sign == ">" and text[place - 1] not in "-="):
            depth -= 1
        elif sign == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _text_in_brackets(code: str, start: int) -> str:
    """Return the text inside the bracket that opens at `start`."""
    opening, closing = code[start], {"(": ")", "{": "}"}[code[start]]
    depth = 0
    for place in range(start, len(code)):
        depth += (code[place] == opening) - (code[place] == closing)
        if depth == 0:
            return code[start + 1 : place]
    return ""


def _generics_end(code: str, start: int) -> int:
    """Return the end of the generic parameters that begin at `start`, if any do."""
    depth = 0
    for place in range(start, len(code)):
        depth += (code[place] == "<") - (code[place] == ">" and code[place - 1] != "-")
        if depth == 0 and not code[place].isspace():
            return place
    return start


def rust_names(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, kind and name of each declaration."""
    code = _without_literals(source)
    line = _line_numbers(code)

    for match in re.finditer(r"\bfn (\w+)", code):
        yield line(match.start()), "function", match[1]
        start = code.find("(", _generics_end(code, match.end()))
        for part in _parts(_text_in_brackets(code, start)) if start >= 0 else ():
            yield from ((line(match.start()), "value", name) for name in _pattern_names(part))
    for match in re.finditer(r"\b(?:const|static)(?: mut)? ([A-Z]\w*)\s*:", code):
        yield line(match.start()), "constant", match[1]
    for match in re.finditer(r"\bmod (\w+)", code):
        yield line(match.start()), "module", match[1]
    for match in re.finditer(r"\blet\s+((?:[^=;]|(?<=\.)=)+?)(?==|;)", code):
        yield from ((line(match.start()), "value", name) for name in _pattern_names(match[1]))
    for match in re.finditer(r"\bfor\s+([^{;]+?)\s+in\b", code):
        if not match[1].lstrip().startswith("<"):
            yield from ((line(match.start()), "value", name) for name in _pattern_names(match[1]))
    for match in re.finditer(r"(?:[(,={]|\bmove|\breturn|=>)\s*\|([^|\n]+)\|", code):
        for part in _parts(match[1]):
            yield from ((line(match.start()), "value", name) for name in _pattern_names(part))
    for match in re.finditer(r"^[ \t]*(?:\|\s*)?([^\n]+?)(?: if [^\n]*?)?\s*=>", code, re.MULTILINE):
        yield from ((line(match.start()), "value", name) for name in _pattern_names(match[1]))
    for match in re.finditer(r"\b(?:struct|enum|union) \w+[^;({]*\{", code):
        for field in re.finditer(r"(?:^|[{,\n])\s*(?:pub(?:\([\w: ]+\))? )?([a-z_]\w*)\s*:(?!:)", _text_in_brackets(code, match.end() - 1)):
            yield line(match.end() - 1 + field.start(1)), "value", field[1]


def rust_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each run of comments."""
    line = _line_numbers(source)
    matches = [match for match in _LITERAL.finditer(source) if match[0].startswith("//")]
    yield from _joined_lines([(line(match.start()), match[0].lstrip("/! ")) for match in matches])


def _line_numbers(text: str) -> Callable[[int], int]:
    """Return the function from a position of the text to its line."""
    ends = [match.start() for match in re.finditer("\n", text)]
    return lambda place: bisect_left(ends, place) + 1


def _joined_lines(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Join lines that follow each other, so that a phrase may be broken."""
    start, end, texts = 0, 0, []
    for number, text in lines:
        if texts and number != end + 1:
            yield start, " ".join(texts)
            texts = []
        start = start if texts else number
        end = number
        texts.append(text)
    if texts:
        yield start, " ".join(texts)


# Files.


def hits(path: str, source: str, lexicon: Lexicon) -> list[Hit]:
    """Return each refused word of a file, in order of lines."""
    if path.endswith(".rs"):
        names, texts = rust_names(source), rust_texts(source)
    else:
        nodes = list(ast.walk(ast.parse(source)))
        names, texts = python_names(nodes), python_texts(nodes, source)
    names = chain([(1, "module", Path(path).stem)], names)
    of_names = [Hit(line, kind, name, better) for line, kind, name in names if (better := lexicon.better(kind, name))]
    of_texts = [Hit(line, "phrase", phrase, better) for line, text in texts for phrase, better in lexicon.phrases(" ".join(text.split()))]
    return sorted([*of_names, *of_texts], key=lambda hit: (hit.line, hit.word))


def files() -> dict[str, list[str]]:
    """Return the paths of each area."""
    paths = {
        area: sorted(path.relative_to(ROOT).as_posix() for folder in folders for suffix in ("rs", "py") for path in (ROOT / folder).rglob(f"*.{suffix}"))
        for area, folders in AREAS.items()
    }
    assert paths["rust"], ROOT
    return paths


def count() -> dict[str, dict[str, int]]:
    """Return the number of refused words of each file that has any, by area."""
    lexicon = Lexicon.load()
    counts: dict[str, dict[str, int]] = {}
    for area, paths in files().items():
        numbers = {path: len(hits(path, (ROOT / path).read_text(encoding="utf-8"), lexicon)) for path in paths}
        counts[area] = {path: number for path, number in numbers.items() if number}
    return counts


def load() -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = json.loads(COUNTS.read_text(encoding="utf-8"))
    return counts


Change = tuple[str, int, int]


def compare(previous: Mapping[str, Mapping[str, int]], current: Mapping[str, Mapping[str, int]]) -> tuple[list[Change], list[Change]]:
    """Return the files whose count is higher than the stored one, and those whose count is lower: path, stored, current.

    A file without a stored count, such as a new or moved one, has zero.
    """
    before = {path: number for area in previous.values() for path, number in area.items()}
    after = {path: number for area in current.values() for path, number in area.items()}
    changes = [(path, before.get(path, 0), after.get(path, 0)) for path in sorted({*before, *after})]
    return [change for change in changes if change[2] > change[1]], [change for change in changes if change[2] < change[1]]


def store(counts: Mapping[str, Mapping[str, int]]) -> None:
    COUNTS.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="files to list")
    parser.add_argument("--write", action="store_true", help="lower the stored counts")
    parser.add_argument("--baseline", action="store_true", help="store all counts, for merges only")
    options = parser.parse_args(arguments)
    if options.paths:
        lexicon = Lexicon.load()
        for path in options.paths:
            for hit in hits(path, Path(path).read_text(encoding="utf-8"), lexicon):
                print(f"{path}:{hit.line}: {hit.kind} {hit.word}: {hit.better}")
        return 0
    current = count()
    if options.baseline:
        store(current)
    elif options.write:
        higher, _ = compare(load(), current)
        for path, previous, number in higher:
            print(f"{path}: {previous} before, {number} now; list them: python tests/language/count.py {path}")
        if higher:
            return 1
        store(current)
    totals = Counter({area: sum(numbers.values()) for area, numbers in current.items()})
    print(", ".join(f"{area} {number}" for area, number in sorted(totals.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
