"""Matching players: names as people write them, people with the same name, and rosters that disagree."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from needs import library

import sideline
from sideline._answers.matching import MIN_CONFIDENCE
from sideline._answers.names import grade, parse

pl = library("polars")

ROSTERS = int(os.environ.get("CROSSWALK_ROSTERS", "120"))
"""A thousand by hand."""

Row = dict[str, Any]


@pytest.mark.parametrize(
    ("text", "other_text", "expected"),
    [
        ("José Álvarez", "JOSE ALVAREZ", "name"),
        ("Nikola Jokić", "Jokic, Nikola", "name"),
        ("D'Angelo Russell", "D\u2019Angelo Russell", "name"),
        ("D.J. Moore", "DJ Moore", "name"),
        ("Kentavious Caldwell-Pope", "Kentavious Caldwell Pope", "name"),
        ("Kevin De Bruyne", "Kevin Debruyne", "name"),
        ("Thomas Müller", "Thomas Mueller", "name"),
        ("Thomas Müller", "Thomas Muller", "name"),
        ("Łukasz Żółty", "Lukasz Zolty", "name"),
        ("J.R. Smith", "Smith, J.R.", "name"),
        ("Ishmael Wainright V", "Wainright, Ishmael, V", "name"),
        ("Tim Hardaway Jr.", "Hardaway Jr., Tim", "name"),
        ("Tim Hardaway Jr.", "Hardaway, Tim Jr", "name"),
        ("Yao Ming", "Ming Yao", "word order"),
        ("Tim Hardaway Jr.", "Tim Hardaway", "suffix"),
        ("Robert Williams III", "Rob Williams III", "nickname"),
        ("Bob Smith", "Rob Smith", "nickname"),
        ("Luis García López", "Luis García", "part of the name"),
        ("J. Smith", "Jalen Smith", "initial"),
        ("AJ Green", "Alexander James Green", "initial"),
        ("J. Smith", "J Smith", "initial"),
        ("J. Smith", "Smith J.", "initial"),
        ("J.", "J.", "name"),
        ("Giannis Antetokounmpo", "Giannis Antetokoumpo", "similar name"),
        ("Robert Williams II", "Robert Williams III", None),
        ("Christian Wood", "Christopher Wood", None),
        ("Edward Nash", "Edwin Nash", None),
        ("Marcus Morris", "Markieff Morris", None),
        ("Marcus Smart", "Marcus Allen", None),
    ],
)
def test_names_agree_as_far_as_they_do(text: str, other_text: str, expected: str | None) -> None:
    name, other_name = parse(text), parse(other_text)
    assert name is not None and other_name is not None
    assert grade(name, other_name) == grade(other_name, name) == expected


def test_a_text_without_letters_is_no_name() -> None:
    assert parse(" - ,. ") is None


def players(*rows: tuple[Any, ...]) -> pl.DataFrame:
    schema = {"player_id": pl.Int64, "team_id": pl.Int64, "first_name": pl.String, "last_name": pl.String, "jersey_number_str": pl.String}
    return pl.DataFrame(list(rows), schema, orient="row")


def matches(result: sideline.Table) -> list[tuple[Any, str]]:
    return [(row["player_id"], row["method"]) for row in result.to_dicts()]


def test_each_row_of_both_sides_is_there() -> None:
    own_players = players((1, 10, "Ann", "Lee", "4"), (2, 10, "Bea", "Moss", "5"), (3, 11, "Cleo", "Park", "6"))
    other = pl.DataFrame({"name": ["Moss, Bea", "Dora Quill", None], "player_id": ["x1", "x2", "x3"], "points": [7, 8, 9]})
    result = sideline.crosswalk(own_players, other)
    assert result.columns == ["player_id", "name", "other_player_id", "points", "method", "confidence", "candidates"]
    assert matches(result) == [(2, "name"), (None, "unmatched"), (None, "unmatched"), (1, "unmatched"), (3, "unmatched")]
    rows = result.to_dicts()
    assert [row["points"] for row in rows] == [7, 8, 9, None, None]
    assert rows[0]["confidence"] >= MIN_CONFIDENCE and rows[1]["confidence"] is None


def test_an_initial_is_no_name_also_where_the_roster_has_it() -> None:
    players = pl.DataFrame(
        {"player_id": [1], "first_name": ["Amari"], "last_name": ["Keller"], "display_name": ["A. Keller"], "team_name": ["Elkhorn Mariners"]}
    )
    other = pl.DataFrame({"name": ["A. Keller"], "team": ["Elkhorn Mariners"]})
    row = sideline.crosswalk(players, other).row(0, named=True)
    assert (row["player_id"], row["method"], row["candidates"]) == (None, "unmatched", [1])
    match = sideline.crosswalk(players, other, team="team").row(0, named=True)
    assert (match["player_id"], match["method"], match["confidence"]) == (1, "initial+team", 0.925)


@pytest.mark.parametrize(
    ("team", "method"), [("Elkhorn Mariners", "name+team"), ("Mariners", "name"), ("The Elkhorn Mariners", "name"), ("Birch Falls Cranes", "name-team")]
)
def test_part_of_a_teams_name_is_no_other_team(team: str, method: str) -> None:
    players = pl.DataFrame({"player_id": [1], "name": ["Amari Keller"], "team_name": ["Elkhorn Mariners"]})
    other = pl.DataFrame({"name": ["Amari Keller"], "team": [team]})
    assert sideline.crosswalk(players, other, team="team")["method"].to_list() == [method]


def test_no_guess_is_made_between_namesakes() -> None:
    own_players = players((1, 10, "Jo", "Smith", "4"), (2, 11, "Jo", "Smith", "4"))
    other = pl.DataFrame({"name": ["Jo Smith"], "team": [11]})
    rows = sideline.crosswalk(own_players, other.drop("team")).to_dicts()
    assert [(row["player_id"], row["method"], row["candidates"]) for row in rows] == [
        (None, "ambiguous", [1, 2]),
        (1, "ambiguous", None),
        (2, "ambiguous", None),
    ]
    assert matches(sideline.crosswalk(own_players, other, team="team")) == [(2, "name+team"), (1, "unmatched")]


def test_one_player_is_not_two_people() -> None:
    own_players = players((1, 10, "Jo", "Smith", "4"))
    other = pl.DataFrame({"name": ["Jo Smith", "Jo Smith"], "team": [10, 12]})
    assert matches(sideline.crosswalk(own_players, other, team="team")) == [(1, "name+team"), (None, "unmatched")]
    without = sideline.crosswalk(own_players, other.with_columns(born=pl.Series([date(2004, 1, 1), date(2005, 1, 1)])))
    assert matches(without) == [(1, "name"), (1, "name")], "rows of which nothing is compared but the same name are one"
    father_and_son = pl.DataFrame({"name": ["Jo Smith", "Jo Smith Jr.", "Jo Smith Sr."]})
    assert matches(sideline.crosswalk(own_players, father_and_son)) == [(None, "ambiguous")] * 3 + [(1, "ambiguous")]


def test_a_birth_date_decides() -> None:
    own_players = players((1, 10, "Jo", "Smith", "4"), (2, 11, "Jo", "Smith", "5")).with_columns(birth_date=pl.Series([date(2004, 1, 2), date(2005, 3, 4)]))
    other = pl.DataFrame({"name": ["Joe Smith", "Jo Smith", "Jo Smith"], "team": [99, 99, 99], "born": ["2004-01-02", "2005-03-04", "1999-01-01"]})
    result = sideline.crosswalk(own_players, other, team="team", birth_date="born")
    assert matches(result)[1:3] == [(2, "name-team+birth_date"), (None, "unmatched")]
    other_person = pl.DataFrame({"name": ["Jo Smith"], "team": [10], "born": [date(1999, 1, 1)]})
    assert matches(sideline.crosswalk(own_players, other_person, team="team", birth_date="born"))[0] == (None, "unmatched")


def test_a_player_who_changed_teams_is_found_by_the_other_columns() -> None:
    own_players = players((1, 10, "Zebulon", "Quist", "4"), (2, 10, "Sam", "Jones", "7"))
    own_players.extend(players(*((10 + number, 11, "Sam", family, "1") for number, family in enumerate(["Hill", "Moss", "Park"]))))
    own_players.extend(players(*((20 + number, 13, first_name, "Jones", "1") for number, first_name in enumerate(["Tim", "Abe", "Lou"]))))
    other = pl.DataFrame({"name": ["Zebulon Quist", "Sam Jones"], "team": [12, 12]})
    rows = sideline.crosswalk(own_players, other, team="team").to_dicts()
    assert [row["player_id"] for row in rows[:2]] == [1, None], "where there are many Sams and Joneses there may be two of the name"
    assert rows[1]["candidates"] == [2]


def test_jersey_numbers_are_compared_as_they_are_worn() -> None:
    own_players = players((1, 10, "Jo", "Smith", "0"), (2, 10, "Jo", "Smith", "00"))
    other = pl.DataFrame({"name": ["Jo Smith", "Jo Smith"], "team": [10, 10], "number": ["#00", "0"]})
    assert matches(sideline.crosswalk(own_players, other, team="team", jersey="number"))[:2] == [(2, "name+team+jersey"), (1, "name+team+jersey")]


def test_nan_is_a_missing_jersey_team_or_birth_date() -> None:
    """Pandas writes NaN for a missing number, and polars keeps it."""
    roster = players((1, 10, "Jo", "Smith", "4"), (2, 11, "Ann", "Lee", "5")).with_columns(born=pl.lit(None, pl.String))
    other = pl.DataFrame({"name": ["Jo Smith", "Ann Lee"], "number": [4.0, float("nan")], "team": [float("nan"), 11.0], "born": [float("nan")] * 2})
    rows = sideline.crosswalk(roster, other, team="team", jersey="number", birth_date="born")
    assert matches(rows) == [(1, "name+jersey"), (2, "name+team")]


def test_columns_of_every_kind_come_back() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_901)
    other = pl.DataFrame({"name": ["Jo Smith"], "at": [moment]})
    table = sideline.Table.from_arrow(players((1, 10, "Jo", "Smith", "4")))
    assert sideline.crosswalk(table, other).to_dicts()[0]["at"] == moment
    with pytest.raises(ValueError, match="other has columns player_id and other_player_id"):
        sideline.crosswalk(table, pl.DataFrame({"name": ["Jo Smith"], "player_id": [1], "other_player_id": [2]}))


def test_a_number_in_another_is_another_number() -> None:
    other = pl.DataFrame({"name": ["Jo Smith"], "number": ["2"]})
    assert matches(sideline.crosswalk(players((1, 10, "Jo", "Smith", "23")), other, jersey="number")) == [(1, "name-jersey")]


def test_rosters_bring_the_names_of_their_teams(client: sideline.Client, service: sideline.Simulator) -> None:
    ids = [team["id"] for team in service.teams[:3]]
    rosters = client.roster(ids)
    truth = pl.concat([client.roster(team_id).to_polars("players") for team_id in ids])
    names = {team_id: client.roster(team_id).to_dict()["name"] for team_id in ids}
    rows = [{"name": f"{row['last_name'].upper()}, {row['first_name']}", "club": names[row["team_id"]], "id": row["player_id"]} for row in truth.to_dicts()]
    for source in (rosters, [client.roster(team_id) for team_id in ids]):
        result_rows = sideline.crosswalk(source, pl.DataFrame(rows), team="club").to_dicts()
        assert len(result_rows) == len(rows) and {row["method"] for row in result_rows} == {"name+team"}
        assert all(row["player_id"] == row["id"] for row in result_rows)


def test_an_empty_text_is_a_missing_birth_date() -> None:
    """CSV has no other nulls."""
    own_players = players((1, 10, "Jo", "Smith", "4")).with_columns(born=pl.lit("2004-02-01"))
    for born in (None, "", " "):
        [row] = sideline.crosswalk(own_players, pl.DataFrame({"name": ["Jo Smith"], "born": [born]}), birth_date="born").to_dicts()
        assert (row["player_id"], row["method"]) == (1, "name")


def test_missing_columns_and_dates_are_refused_with_what_to_write() -> None:
    own_players, other = players((1, 10, "Jo", "Smith", "4")), pl.DataFrame({"name": ["Jo Smith"], "club": ["Bears"], "born": ["2.1.2004"]})
    for options, text in [
        ({"name": "player"}, "other has no column 'player' for name; it has name, club, born"),
        ({"team": "club"}, "pass the rosters, or a column team_name"),
        ({"birth_date": "born"}, "players has no column 'born'"),
    ]:
        with pytest.raises(ValueError, match=text):
            sideline.crosswalk(own_players, other, **options)
    with pytest.raises(ValueError, match="write it as 2004-02-29"):
        sideline.crosswalk(own_players.with_columns(born=pl.lit("2004-02-01")), other, birth_date="born")
    with pytest.raises(ValueError, match="players has no column player_id"):
        sideline.crosswalk(other, other)
    with pytest.raises(TypeError, match="other is a response"):
        sideline.crosswalk(own_players, 5)


# A league of rosters whose truth is known.

FIRST_NAMES = [
    "Robert",
    "William",
    "James",
    "Jalen",
    "Marcus",
    "Nikola",
    "José",
    "Luis",
    "Anthony",
    "Michael",
    "Isaiah",
    "Christopher",
    "Matthew",
    "Jaylen",
    "Jaylin",
    "DeAndre",
    "Álvaro",
    "Edward",
    "Edwin",
    "Søren",
]
FIRST_NAMES += [
    "Zachary",
    "Joseph",
    "Daniel",
    "Benjamin",
    "Thomas",
    "Steven",
    "Alexander",
    "Nathan",
    "Timothy",
    "Kenneth",
    "Tyrese",
    "Malik",
    "Björn",
    "Łukasz",
    "Émile",
    "André",
    "Darius",
    "Trey",
    "Cade",
    "Evan",
]
LAST_NAMES = [
    "Smith",
    "Johnson",
    "Williams",
    "Brown",
    "Jones",
    "Davis",
    "Miller",
    "García",
    "Rodríguez",
    "Müller",
    "O'Neal",
    "Caldwell-Pope",
    "Jokić",
    "Dončić",
    "Şengün",
    "Öztürk",
    "Núñez",
    "Washington",
]
LAST_NAMES += [
    "Robinson",
    "Thompson",
    "Anderson",
    "Jackson",
    "White",
    "Harris",
    "Clark",
    "Lewis",
    "Walker",
    "Young",
    "Allen",
    "King",
    "Wright",
    "Scott",
    "Torres",
    "Nguyễn",
    "Hill",
    "Flores",
    "Green",
    "Adams",
]
SYLLABLES = ["ba", "ko", "ri", "ven", "dal", "mor", "tes", "lin", "qua", "zer", "hul", "fin", "gre", "stro", "wick", "man", "ton", "ley", "ford", "by"]
NICKNAMES = {"Robert": "Rob", "William": "Will", "James": "Jimmy", "Michael": "Mike", "Christopher": "Chris", "Matthew": "Matt", "Zachary": "Zach"}
NICKNAMES |= {"Joseph": "Joe", "Daniel": "Dan", "Benjamin": "Ben", "Thomas": "Tom", "Steven": "Steve", "Nathan": "Nate", "Timothy": "Tim", "Kenneth": "Ken"}

PLAIN = dict(zip("éÁáíñüćčğŞşÖöúễŁłøÉ", "eAainuccgSsOoueLloE", strict=True))


def league(dice: random.Random, rosters: int) -> tuple[list[Row], list[Row]]:
    """Players, and another source's rows of the same league a while later, each with the `truth`."""
    own_players: list[Row] = []
    for team in range(rosters):
        for number in dice.sample(range(56), 14):
            family = dice.choice(LAST_NAMES) if dice.random() < 0.5 else "".join(dice.sample(SYLLABLES, 3)).title()
            own_players.append(
                {
                    "player_id": len(own_players) + 1,
                    "team_id": team,
                    "team_name": f"Team {team}",
                    "first_name": dice.choice(FIRST_NAMES),
                    "last_name": family + (dice.choice([" Jr.", " III", " II"]) if dice.random() < 0.04 else ""),
                    "jersey_number_str": str(number),
                    "birth_date": date(2002, 1, 1) + timedelta(days=dice.randrange(1800)),
                }
            )
    # People whom only one side has: those who left, and those who are new, namesakes among them.
    others = [dict(row, truth=row["player_id"]) for row in own_players if dice.random() < 0.92]
    for _ in range(len(own_players) // 14):
        like = dice.choice(own_players)
        same = dice.random() < 0.3
        others.append(
            {
                **like,
                "team_id": dice.randrange(rosters),
                "first_name": like["first_name"] if same else dice.choice(FIRST_NAMES),
                "jersey_number_str": str(dice.randrange(56)),
                "birth_date": date(2002, 1, 1) + timedelta(days=dice.randrange(1800)),
                "truth": None,
            }
        )
    for row in others:
        if row["truth"] is not None and dice.random() < 0.08:
            row["team_id"], row["jersey_number_str"] = dice.randrange(rosters), str(dice.randrange(56))
        row["team_name"] = f"TEAM {row['team_id']}"
        row["name"] = written(dice, row["first_name"], row["last_name"])
    dice.shuffle(others)
    return own_players, others


def written(dice: random.Random, first: str, last: str) -> str:
    """A name as another source has it."""
    if dice.random() < 0.15:
        first = NICKNAMES.get(first, first)
    if dice.random() < 0.05:
        first = first[0] + "."
    if dice.random() < 0.3:
        last = last.removesuffix(" Jr.").removesuffix(" III").removesuffix(" II")
    if dice.random() < 0.04:
        place = dice.randrange(1, len(last))
        last = last[:place] + last[place + 1 :]
    name = f"{last}, {first}" if dice.random() < 0.4 else f"{first} {last}"
    if dice.random() < 0.5:
        name = "".join(PLAIN.get(letter, letter) for letter in name)
    return name.upper() if dice.random() < 0.2 else name


def figures(result: Iterable[Row]) -> tuple[float, float]:
    """Precision and recall."""
    rows = [row for row in result if row["name"] is not None]
    matched_rows = [row for row in rows if row["player_id"] is not None]
    right = sum(row["player_id"] == row["truth"] for row in matched_rows)
    return right / len(matched_rows), right / sum(row["truth"] is not None for row in rows)


def options() -> Iterator[tuple[dict[str, str], float, float]]:
    """The compared rosters, the minimum precision and the minimum recall."""
    yield {"team": "team_name"}, 0.995, 0.8
    yield {"team": "team_id", "jersey": "jersey_number_str"}, 0.995, 0.8
    yield {"team": "team_name", "jersey": "jersey_number_str", "birth_date": "birth_date"}, 0.998, 0.9


@pytest.mark.timeout(600)
def test_a_league_is_matched_without_mistakes() -> None:
    """CROSSWALK_ROSTERS is the number of rosters."""
    own_players, others = league(random.Random(11), ROSTERS)
    roster, rows = pl.DataFrame(own_players), pl.DataFrame(others).drop("player_id", "first_name", "last_name")
    for columns, precision, recall in options():
        result_rows = sideline.crosswalk(roster, rows, **columns).to_dicts()
        assert len([row for row in result_rows if row["name"] is not None]) == len(rows)
        in_result = {row["player_id"] for row in result_rows} - {None}
        assert in_result == set(roster["player_id"]), "each player is there, matched or not"
        actual = figures(result_rows)
        assert actual[0] >= precision, [row for row in result_rows if row["name"] and row["player_id"] not in (None, row["truth"])][:5]
        assert actual[1] >= recall
        assert all(row["confidence"] >= MIN_CONFIDENCE for row in result_rows if row["confidence"] is not None)
