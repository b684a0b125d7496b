"""Print the measures of the house: `python tools/house.py [--before ROOT] [ROOT]`, or its picture: `--picture`.

They are lines by room, long functions, arrows between rooms, unsafe code. Lines are all lines of a file, its unit tests
aside; those of a function go from its signature to its closing brace. `ROOT` is a folder with the project, such as a
worktree of another commit.
"""

import argparse
import ast
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOMS = ["operation", "transport", "resource", "fetch", "live", "simulation"]
"""The rooms of `src/`, from the lowest to the highest: an arrow leads from a room to one before it."""

LOWER = {
    "operation": {"resource"},
    "transport": {"operation", "resource"},
    "resource": set(),
    "fetch": {"operation", "transport", "resource"},
    "live": {"operation", "transport", "resource", "fetch"},
    "simulation": {"operation", "transport", "resource", "fetch", "live"},
}
"""The rooms that each room may use. What lies beside them in `src/` (errors, settings, the scrubber) is for all."""

SIGNATURE = re.compile(r"^\s*(?:pub(?:\([a-z ]+\))? )?(?:const |async |unsafe |extern \"C\" )*fn (\w+)")
TESTS = re.compile(r"(^|/)(tests?|\w+_tests?|fuzz|simulation)(/|\.rs$)")


def without_tests(text: str) -> list[str]:
    """Return the lines of a file before its module of unit tests."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("mod tests {"):
            while number and lines[number - 1].startswith("#["):
                number -= 1
            return lines[:number]
    return lines


def rust_functions(lines: list[str]) -> list[tuple[str, int, int]]:
    """Return name, line and length of each function that has a body; the code is formatted by rustfmt."""
    found = []
    for start, line in enumerate(lines):
        match = SIGNATURE.match(line)
        if not match:
            continue
        indent = len(line) - len(line.lstrip())
        for end in range(start, len(lines)):
            text = lines[end]
            if text.rstrip().endswith(";") and end == start and "{" not in text:
                break
            if end == start and text.rstrip().endswith("}"):
                found.append((match[1], start + 1, 1))
                break
            if len(text) - len(text.lstrip()) == indent and text.strip() in ("}", "};"):
                found.append((match[1], start + 1, end - start + 1))
                break
    return found


def python_functions(text: str) -> list[tuple[str, int, int]]:
    """Return name, line and length of each function, its docstring aside."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                length -= (first.end_lineno or first.lineno) - first.lineno + 1
            found.append((node.name, node.lineno, length))
    return found


def room(path: Path) -> str:
    """Return the room of a file of `src/`, or of a crate or folder of the package."""
    parts = path.parts
    if parts[0] == "src":
        name = parts[1].removesuffix(".rs")
        return f"src/{name}" if name in ROOMS else "src (beside the rooms)"
    if parts[0] == "crates":
        return "/".join(parts[:2])
    return "/".join(parts[:3]) if len(parts) > 3 else "python/sideline"


def arrows(path: Path, lines: list[str]) -> set[str]:
    """Return the rooms that a file of `src/` uses."""
    return set(re.findall(r"\bcrate::(\w+)", "\n".join(lines))) & set(ROOMS) - {path.parts[1].removesuffix(".rs")}


@dataclass
class Measures:
    """What is measured of a project."""

    code: Counter[str] = field(default_factory=Counter)
    tests: Counter[str] = field(default_factory=Counter)
    long: list[tuple[int, str, str]] = field(default_factory=list)
    """Lines, language and place of each function of more than 40 lines."""
    unsafe: Counter[str] = field(default_factory=Counter)
    upward: list[str] = field(default_factory=list)

    def add(self, root: Path, path: Path) -> None:
        """Add a file."""
        at = path.relative_to(root)
        text = path.read_text(encoding="utf-8")
        lines = without_tests(text) if at.suffix == ".rs" else text.splitlines()
        if TESTS.search(at.as_posix()):
            self.tests[room(at)] += len(text.splitlines())
            return
        self.code[room(at)] += len(lines)
        self.tests[room(at)] += len(text.splitlines()) - len(lines)
        functions = rust_functions(lines) if at.suffix == ".rs" else python_functions(text)
        self.long += [(length, at.suffix, f"{at}:{line} {name}") for name, line, length in functions if length > 40]
        if at.suffix == ".rs":
            if here := sum(bool(re.search(r"\bunsafe (\{|impl|fn|extern)", line)) for line in lines):
                self.unsafe[str(at)] += here
            name = at.parts[1].removesuffix(".rs")
            if at.parts[0] == "src" and name in ROOMS:
                self.upward += [f"{at} → {other}" for other in sorted(arrows(at, lines) - LOWER[name])]

    def longer_than(self, lines: int, suffix: str) -> int:
        """Return how many functions of a language are longer."""
        return sum(length > lines and kind == suffix for length, kind, _ in self.long)

    def table(self) -> dict[str, int]:
        """Return the figures by which two states of the project are compared."""
        rooms = dict(sorted(self.code.items()))
        client = sum(lines for name, lines in rooms.items() if name.startswith("src"))
        return {
            **{f"lines of `{name}`": lines for name, lines in rooms.items()},
            "lines of `src/`": client,
            "lines of Rust": sum(lines for name, lines in rooms.items() if not name.startswith("python")),
            "lines of Python": sum(lines for name, lines in rooms.items() if name.startswith("python")),
            "lines of tests in Rust": sum(self.tests.values()),
            "Rust functions of more than 40 lines": self.longer_than(40, ".rs"),
            "Rust functions of more than 60 lines": self.longer_than(60, ".rs"),
            "Python functions of more than 40 lines": self.longer_than(40, ".py"),
            "Python functions of more than 60 lines": self.longer_than(60, ".py"),
            "unsafe blocks": sum(self.unsafe.values()),
            "files with unsafe blocks": len(self.unsafe),
            "upward arrows": len(self.upward),
        }


def measured(root: Path) -> Measures:
    """Return the measures of the project in `root`."""
    measures = Measures()
    patterns = ("src/**/*.rs", "crates/**/*.rs", "python/**/*.py")
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        measures.add(root, path)
    return measures


def report(root: Path, before: Path | None) -> None:
    """Print the measures of the project in `root`, beside those of another state of it."""
    now = measured(root)
    then = {} if before is None else measured(before).table()
    print("| measure | before | now |\n|---|---:|---:|" if then else "| measure | now |\n|---|---:|")
    for name in sorted(then | now.table(), key=lambda name: (not name.startswith("lines of `"), name)):
        figures = [table.get(name) for table in (then, now.table())][0 if then else 1 :]
        print(f"| {name} | {' | '.join('–' if figure is None else f'{figure:,}' for figure in figures)} |")
    print()
    for length, _, where in sorted(now.long, reverse=True):
        print(f"{length:5} {where}")
    print(f"\nUnsafe: {', '.join(f'{path} ({count})' for path, count in sorted(now.unsafe.items()))}")
    print(f"Upward arrows: {len(now.upward)}", *now.upward, sep="\n  ")


def picture(root: Path) -> str:
    """Return a line for each crate and each room of `src/`, the lowest first, with what it uses."""
    uses: dict[str, set[str]] = {}
    for manifest in sorted(root.glob("crates/*/Cargo.toml")):
        named = tomllib.loads(manifest.read_text(encoding="utf-8")).get("dependencies", {})
        crates = {"sideline": "src", "sideline-python": "crates/python", "sideline-simulator": "crates/simulator"}
        crates |= {name: f"crates/{name}" for name in ("reader", "tables", "tracking")}
        uses[f"crates/{manifest.parent.name}"] = {crates[name] for name in named if name in crates}
    for name in ROOMS:
        texts = ["\n".join(without_tests(path.read_text(encoding="utf-8"))) for path in files_of_room(root, name)]
        rooms = {f"src/{other}" for text in texts for other in re.findall(r"\bcrate::(\w+)", text) if other in ROOMS}
        crates = {f"crates/{other}" for text in texts for other in re.findall(r"\b(reader|tables)::", text)}
        uses[f"src/{name}"] = (rooms | crates) - {f"src/{name}"}
    order = sorted(uses, key=lambda name: (len(reached(uses, name)), name))
    width = max(map(len, order))
    return "\n".join(
        f"{name:{width}}  {'← ' + ', '.join(sorted(uses[name])) if uses[name] else ''}".rstrip() for name in order
    )


def files_of_room(root: Path, name: str) -> list[Path]:
    """Return the files of a room of `src/`, its tests aside."""
    paths = sorted((root / "src" / name).rglob("*.rs"))
    return [path for path in paths if not TESTS.search(path.relative_to(root).as_posix()) or name == "simulation"]


def reached(uses: dict[str, set[str]], name: str) -> set[str]:
    """Return all that a room uses, by way of others too; the client is the sum of its rooms."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        for other in {room for room in uses if room.startswith("src/")} if one == "src" else uses.get(one, set()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def main() -> None:
    """Print what the arguments ask for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    parser.add_argument("--before", type=Path, help="the folder of another state of the project")
    parser.add_argument("--picture", action="store_true", help="print the rooms and what each of them uses")
    options = parser.parse_args()
    if options.picture:
        print(picture(options.root))
    else:
        report(options.root, options.before)


if __name__ == "__main__":
    main()
