"""Print the measures of the house: `python tools/house.py [ROOT]`.

They are lines by room, long functions, arrows between rooms, unsafe code. Lines are all lines of a file, its unit tests
aside; those of a function go from its signature to its closing brace.
"""

import ast
import re
import sys
from collections import Counter
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
TESTS = re.compile(r"(^|/)(tests?|\w+_tests?|fuzz|sse_cases|conformance|live/model|simulation)(/|\.rs$)")


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


def main(root: Path) -> None:
    """Print the measures of the project in `root`."""
    code, tests, long, upward = Counter[str](), Counter[str](), [], []
    unsafe, unsafe_files = 0, set()
    patterns = ("src/**/*.rs", "crates/**/*.rs", "python/**/*.py")
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        at = path.relative_to(root)
        text = path.read_text(encoding="utf-8")
        is_test = bool(TESTS.search(at.as_posix())) or at.parts[:1] == ("target",)
        lines = without_tests(text) if at.suffix == ".rs" else text.splitlines()
        if is_test:
            tests[room(at)] += len(text.splitlines())
            continue
        code[room(at)] += len(lines)
        tests[room(at)] += len(text.splitlines()) - len(lines)
        functions = rust_functions(lines) if at.suffix == ".rs" else python_functions(text)
        long += [(length, at.suffix, f"{at}:{line} {name}") for name, line, length in functions if length > 40]
        if at.suffix == ".rs":
            here = sum(bool(re.search(r"\bunsafe (\{|impl|fn|extern)", line)) for line in lines)
            unsafe += here
            unsafe_files |= {str(at)} if here else set()
            if at.parts[0] == "src" and at.parts[1].removesuffix(".rs") in ROOMS:
                name = at.parts[1].removesuffix(".rs")
                upward += [f"{at} → {other}" for other in sorted(arrows(at, lines) - LOWER[name])]
    print("| room | lines | lines of tests |\n|---|---:|---:|")
    for name in sorted(code | tests):
        print(f"| `{name}` | {code[name]:,} | {tests[name]:,} |")
    for suffix, language in ((".rs", "Rust"), (".py", "Python")):
        sizes = [length for length, kind, _ in long if kind == suffix]
        longest = sum(size > 60 for size in sizes)
        print(f"\n{language}: {len(sizes)} functions of more than 40 lines, {longest} of more than 60.")
    for length, _, where in sorted(long, reverse=True):
        print(f"{length:5} {where}")
    print(f"\nUnsafe: {unsafe} in {len(unsafe_files)} files: {', '.join(sorted(unsafe_files))}")
    print(f"Upward arrows: {len(upward)}", *upward, sep="\n  ")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent)
