"""People's names, and how alike two of them are. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import NamedTuple

from .._client import APOSTROPHES, fold

_SUFFIXES = {
    "jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr", "ii": "2", "2nd": "2", "iii": "3", "3rd": "3",
    "iv": "4", "4th": "4", "v": "5", "5th": "5",
}  # fmt: skip

_TRANSCRIPTIONS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
"""The other usual spelling of letters with accents: "ue" for "ü", where dropping the accent gives "u"."""

_NICKNAMES = """
abe:abraham|al:albert alan allen alfred|alex:alexander alexis alejandro aleksandar|andy drew:andrew|angie:angela|
ant tony:anthony antonio|archie:archibald|art:arthur|ben benny benji:benjamin|bernie:bernard|
bill billy will willie:william|bob bobby rob robbie:robert|brad:bradley bradford|cal:calvin|cam:cameron|
cate kate katie kathy cathy:katherine catherine kathryn|charlie chuck chas:charles|
chris:christopher christian christina kristopher|kris:kristopher kristian|cliff:clifford clifton|clint:clinton|
dan danny:daniel|dave davey:david|deb debbie:deborah|dom:dominic dominick dominique|don donnie:donald|doug:douglas|
ed eddie ted:edward|ed eddie:edwin eduardo|eli:elijah elias|ernie:ernest|fran:frances francis|
frank frankie:francis franklin|fred freddie:frederick|gabe:gabriel|gene:eugene|geoff:geoffrey|
jeff:jeffrey jeffery geoffrey|gerry jerry:gerald jerome|greg:gregory|gus:august angus|hank harry:henry|harry:harold|
izzy:isaiah|zay:isaiah xavier|jack:john jackson|johnny jon:john jonathan johnathan|jake:jacob|jamie jim jimmy:james|
jay:jason|jen jenny:jennifer|jess jessie:jessica|joe joey:joseph|josh:joshua|ken kenny:kenneth|
larry:lawrence laurence|len lenny:leonard|leo:leonardo leonard|les:leslie|liz beth betsy:elizabeth|lou:louis|
maddie maddy:madison madeline|mandy:amanda|marty:martin|matt matty:matthew mathew|max:maxwell maximilian|
meg maggie peggy:margaret|mel:melvin melissa|mike mikey mickey mick:michael|mitch:mitchell|
mo:maurice mohamed mohammed mohammad muhammad|nate:nathan nathaniel|nick nicky nic:nicholas nicolas nikola dominic|
nikki:nicole|norm:norman|ollie:oliver|pat patty:patrick patricia|pete:peter|phil:philip phillip|ray:raymond|
reggie:reginald|rich rick ricky dick:richard|rick ricky:ricardo|ron ronnie:ronald|russ:russell|sal:salvatore|
sam sammy:samuel samantha|shaq:shaquille|sid:sidney sydney|stan:stanley|steph stef:stephen stephanie|
steve:stephen steven|sue:susan|tad:thaddeus|ted theo:theodore|tim timmy:timothy|tom tommy:thomas|
ty:tyler tyrone tyrese|val:valerie|vic:victor victoria|vin vince vinny:vincent|walt:walter|wes:wesley|
zach zack zac:zachary zachariah|zeke:ezekiel
"""
"""Short forms, and after the colon the full names. Two different full names are two people."""


class Name(NamedTuple):
    """A name without accents, punctuation, case and suffix; given names first."""

    words: tuple[str, ...]
    suffix: str | None
    spellings: frozenset[str]
    """The whole name without blanks, in each spelling of its letters."""


def parse(text: str) -> Name | None:
    """Parse "Last, First", "First Last Jr." or "LAST, FIRST III"; return `None` for a name without letters."""
    parts = [part.split() for part in _clean(text).split(",")]
    suffix = None
    for position, part in enumerate(parts):
        # "Hardaway, Jr" may be a family and a given name; "Tim Hardaway, Jr" and "Hardaway, Tim, Jr" are not.
        is_alone = len(part) == 1 and (not position or len(parts[0]) + position < 3)
        if part and part[-1] in _SUFFIXES and not is_alone:
            suffix = _SUFFIXES[part.pop()]
    parts = [part for part in parts if part]
    words = tuple(word for part in [*parts[1:], *parts[:1]] for word in part)
    folded_words = tuple(filter(None, map(_fold, words)))
    if not folded_words:
        return None
    spelled_words = (_fold(word.translate(_TRANSCRIPTIONS)) for word in words)
    return Name(folded_words, suffix, frozenset(("".join(folded_words), "".join(spelled_words))))


def grade(name: Name, other: Name, *, with_similar: bool = True) -> str | None:
    """Return the best way in which two names agree, or `None`. "suffix": one name lacks the other's Jr."""
    if name.suffix and other.suffix and name.suffix != other.suffix:
        return None
    grade_name = _grade(name, other)
    if grade_name is None and with_similar and _is_similar(name.words, other.words):
        grade_name = "similar name"
    return "suffix" if grade_name == "name" and name.suffix != other.suffix else grade_name


def _grade(name: Name, other: Name) -> str | None:
    has_initial = _has_initial(name.words) or _has_initial(other.words)
    if name.spellings & other.spellings:
        return "initial" if has_initial else "name"
    if min(len(name.words), len(other.words)) < 2:
        return None
    if len(name.words) == len(other.words) and sorted(name.words) == sorted(other.words):
        return "initial" if has_initial else "word order"
    same_family = "".join(name.words[1:]) == "".join(other.words[1:])
    if same_family and _is_nickname(name.words[0], other.words[0]):
        return "nickname"
    if name.words[0] == other.words[0] and (_is_within(name.words, other.words) or _is_within(other.words, name.words)):
        return "part of the name"
    if _is_initial(name.words, other.words) or _is_initial(other.words, name.words):
        return "initial"
    return None


def _is_within(fewer_words: Sequence[str], more_words: Sequence[str]) -> bool:
    """Return whether one name has all words of the other, in order."""
    rest = iter(more_words)
    return all(word in rest for word in fewer_words)


def _has_initial(words: Sequence[str]) -> bool:
    """Return whether the given name is one letter: "J Smith" or "Smith J", but not "D J Moore"."""
    return len(words) > 1 and 1 in (len(words[0]), len(words[-1])) and not (len(words) > 2 and len(words[1]) == 1)


def _is_initial(short: Sequence[str], long: Sequence[str]) -> bool:
    """Return whether one has initials of the other: "J Smith" and "Jalen Smith", "AJ Green" and "Alex James Green"."""
    first = short[0]
    if len(short) == 2 and 1 < len(first) <= 3 and len(long) == len(first) + 1:
        return short[1:] == long[-1:] and first == "".join(word[0] for word in long[:-1])
    return len(first) == 1 and first == long[0][0] and "".join(short[1:]) == "".join(long[1:])


def _is_similar(words: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether one part is equal, and the other one typing error away."""
    for own_words, other_words in ((words, other), (words[::-1], other[::-1])):
        if own_words[0] == other_words[0]:
            rest, others = "".join(own_words[1:]), "".join(other_words[1:])
            if min(len(rest), len(others)) >= 4 and SequenceMatcher(None, rest, others, autojunk=False).ratio() >= 0.8:
                return True
    return False


def _is_nickname(word: str, other: str) -> bool:
    """Return whether one is short for the other, or both are short for the same name."""
    short, full_names = _nicknames()
    return bool(
        short.get(word, frozenset()) & (short.get(other, frozenset()) | full_names.get(other, frozenset()))
        or short.get(other, frozenset()) & full_names.get(word, frozenset())
    )


@cache
def _nicknames() -> tuple[dict[str, frozenset[int]], dict[str, frozenset[int]]]:
    """Return the groups in which a name is a short form, and those in which it is a full name."""
    sides: tuple[dict[str, frozenset[int]], dict[str, frozenset[int]]] = {}, {}
    for number, group in enumerate(_NICKNAMES.split("|")):
        for side, words in zip(sides, group.split(":"), strict=True):
            for word in words.split():
                side[word] = side.get(word, frozenset()) | {number}
    return sides


def _clean(text: str) -> str:
    """Lower the case, remove apostrophes and dots, and replace other signs by blanks."""
    text = re.sub(f"[.{APOSTROPHES}]", "", unicodedata.normalize("NFC", text).casefold())
    return re.sub(r"[^\w,]|_", " ", text)


def _fold(word: str) -> str:
    return "".join(letter for letter in fold(word) if letter.isalnum())


def keys(name: Name) -> set[str]:
    """Return keys of which two names that agree share one, unless they are only similar: spellings, words, family
    names."""
    return {*name.spellings, " ".join(sorted(name.words)), *(name.words[1:] or name.words)}
