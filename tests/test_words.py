"""The names of the Rust core: every type once, and no participles or adjectives as names of functions and constants."""

import re
from collections import defaultdict
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"
FILES = sorted(SRC.rglob("*.rs"))

TYPE = re.compile(r"^\s*(?:pub(?:\([a-z ]+\))? )?(?:struct|enum|trait|union) (\w+)", re.MULTILINE)
FUNCTION = re.compile(r"\bfn (\w+)")
CONSTANT = re.compile(r"\b(?:const|static) ([A-Z]\w*)\b")

FUNCTIONS = {
    "alike", "apart", "asked", "becomes", "came", "gains", "given", "gone", "had", "hear", "kept", "look", "looked", "meet",
    "meets", "met", "opened", "passed", "tell", "told", "usual", "what",
}  # fmt: skip
CONSTANTS = re.compile(r"MOST\w*|LONGEST\w*|SHORTEST\w*|FARTHEST\w*|DEEPEST\w*|SHORT|FEW|KEPT|SHOWN|NAMED|ENOUGH|NEAR|BEHIND|SOON|LONG|MANY|ROOM|TOLD")


def _names(pattern: re.Pattern[str]) -> dict[str, list[str]]:
    names = defaultdict(list)
    for path in FILES:
        for name in pattern.findall(path.read_text()):
            names[name].append(str(path.relative_to(SRC)))
    return names


def test_no_type_name_is_used_twice() -> None:
    assert {name: paths for name, paths in _names(TYPE).items() if len(paths) > 1} == {}


def test_functions_are_verbs_or_plain_nouns() -> None:
    assert {name: paths for name, paths in _names(FUNCTION).items() if name in FUNCTIONS} == {}


def test_constants_name_their_quantity() -> None:
    assert {name: paths for name, paths in _names(CONSTANT).items() if CONSTANTS.fullmatch(name)} == {}
