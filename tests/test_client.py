"""The clients: their arguments, repr, pickling and closing."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from contract import operations
from needs import library

import sideline

pd = library("pandas")

OPERATIONS = {operation["name"]: vars(sideline.Client)[operation["name"]] for operation in operations()}

SIGNATURES = {
    "teams": "(*, timeout=None)",
    "roster": "(team_id, *, game_id=None, reference=None, on_error='raise', progress=None, timeout=None)",
    "schedule": "(start, end=None, *, sport=None, team_id=None, location_id=None, season_type=None, week=None, timeout=None)",
    "matchup": "(team_ids, start, end=None, *, reference, gender, timeout=None)",
    "team_events": "(team_id, start, end, *, games_only=False, workouts_only=False, on_error='raise', progress=None, timeout=None)",
    "team_game_stats": "(team_id, *, game_id=None, start=None, end=None, on_error='raise', progress=None, timeout=None)",
    "game_events": "(game_id, *, team_id=None, on_error='raise', progress=None, timeout=None)",
    "game": "(game_id, *, on_error='raise', progress=None, timeout=None)",
    "stats": "(session_id, *, game_id=None, on_error='raise', progress=None, timeout=None)",
    "stats_details": "(session_id, *, game_id=None, on_error='raise', progress=None, timeout=None)",
    "possessions": "(session_id, *, game_id=None, on_error='raise', progress=None, timeout=None)",
    "shots": "(session_id, *, game_id=None, on_error='raise', progress=None, timeout=None)",
    "locations": "(session_id, start, end, *, game_id=None, on_error='raise', progress=None, timeout=None)",
    "game_stats_details": "(game_id, *, on_error='raise', progress=None, timeout=None)",
    "game_shots": "(game_id, *, on_error='raise', progress=None, timeout=None)",
    "play_by_play": "(game_id, *, on_error='raise', progress=None, timeout=None)",
    "ball_screens": "(game_id, *, on_error='raise', progress=None, timeout=None)",
    "videos": "(game_id, *, on_error='raise', progress=None, timeout=None)",
    "catch_up": "(game_id, resources=('stats', 'details', 'shots', 'possessions'), *, on_error='raise', progress=None, timeout=None)",
    "follow": "(link, *, timeout=None)",
    "get": "(path, params=None, *, timeout=None)",
    "broadcast_schedule": "(start=None, end=None, *, mock=False, timeout=None)",
    "broadcast_teams": "(*, timeout=None)",
    "broadcast_roster": "(team_id, *, game_id=None, on_error='raise', progress=None, timeout=None)",
    "broadcast_stats": "(schedule_id, *, mock=False, on_error='raise', progress=None, timeout=None)",
    "broadcast_colors": "(schedule_id, *, on_error='raise', progress=None, timeout=None)",
    "broadcast_locomotion": "(schedule_id, team_id, *, on_error='raise', progress=None, timeout=None)",
}


def test_both_clients_have_every_operation_with_the_contracts_parameters() -> None:
    signatures = {}
    for name, method in OPERATIONS.items():
        parameters = list(inspect.signature(method).parameters.values())[1:]
        plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
        signatures[name] = str(inspect.Signature(plain))
        assert get_type_hints(method)
        coroutine = vars(sideline.AsyncClient)[name]
        assert inspect.iscoroutinefunction(coroutine)
        assert list(inspect.signature(coroutine).parameters) == ["self", *(parameter.name for parameter in parameters)]
    assert signatures == SIGNATURES


WIRE = (Path(__file__).parent.parent / "docs" / "wire.md").read_text(encoding="utf-8")


def test_every_docstring_names_its_section_and_shows_an_example() -> None:
    for name, method in OPERATIONS.items():
        assert ">>>" in method.__doc__, name
        sections = re.findall(r'See the documentation: The wire, "([^"]+)"\.', method.__doc__)
        assert sections, name
        assert all(f"\n## {section}\n" in WIRE for section in sections), name


def read_query(service: sideline.Simulator) -> dict[str, str]:
    return service.requests[-1].query


EVENING = 1_793_563_200_000  # date -u -d 2026-11-01T20:00:00Z +%s


@pytest.mark.parametrize(
    ("start", "milliseconds"),
    [
        (datetime(2026, 11, 1, 20, tzinfo=UTC), EVENING),
        (datetime(2026, 11, 1, 13, tzinfo=timezone(timedelta(hours=-7))), EVENING),
        (datetime(2026, 11, 1, 20, 0, 0, 999_999, tzinfo=UTC), EVENING + 999),
        (pd.Timestamp("2026-11-01T20:00Z"), EVENING),
        (date(2026, 11, 1), EVENING - 20 * 3_600_000),
        ("2026-11-01", EVENING - 20 * 3_600_000),
        ("2026-11-01T20:00:00Z", EVENING),
        ("2026-11-01T21:00:00+01:00", EVENING),
        (EVENING, EVENING),
        (np.int64(EVENING), EVENING),
        (datetime(1999, 12, 30, 23, 59, 59, 999_500, tzinfo=UTC) + timedelta(days=1), 946_684_799_999),
    ],
    ids=str,
)
def test_a_time_is_what_the_contract_says(service: sideline.Simulator, client: sideline.Client, start: Any, milliseconds: int) -> None:
    client.schedule(start)
    assert read_query(service)["from"] == str(milliseconds)


@pytest.mark.parametrize(
    ("naive", "advice"),
    [
        (datetime(2026, 11, 1), "datetime(2026, 11, 1, tzinfo=timezone.utc)"),
        (datetime(2026, 11, 1, 20), "datetime(2026, 11, 1, 20, 0, tzinfo=timezone.utc)"),
        (datetime(2026, 11, 1, 20, 30, 5), "datetime(2026, 11, 1, 20, 30, 5, tzinfo=timezone.utc)"),
    ],
)
def test_a_naive_datetime_is_spelled_out_as_it_should_be(client: sideline.Client, naive: datetime, advice: str) -> None:
    with pytest.raises(ValueError, match="without a time zone") as excinfo:
        client.schedule(naive)
    assert advice in str(excinfo.value)
    assert f'"{naive.isoformat()}Z"' in str(excinfo.value)
    assert eval(advice, {"datetime": datetime, "timezone": timezone}) == naive.replace(tzinfo=UTC)


@pytest.mark.parametrize("value", [1.5, True, None, [1], object()])
def test_a_time_of_another_type_is_a_type_error(client: sideline.Client, value: Any) -> None:
    with pytest.raises(TypeError, match="start"):
        client.schedule(value)


@pytest.mark.parametrize("as_id", [int, str, np.int64, np.int32, np.uint16, np.str_])
def test_an_id_is_a_number_or_a_text(service: sideline.Simulator, client: sideline.Client, as_id: Any) -> None:
    team = service.teams[0]["id"]
    assert client.roster(as_id(team))["id"] == team


def test_an_id_beyond_64_bits_is_a_value_error(client: sideline.Client) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        client.roster(2**70)


def test_omitted_arguments_are_not_sent(service: sideline.Simulator, client: sideline.Client) -> None:
    team = service.teams[0]["id"]
    client.roster(team)
    assert read_query(service) == {}
    client.team_events(team, 1_800_000_000_001, 1_800_000_000_002)
    assert read_query(service) == {"from": "1800000000001", "to": "1800000000002"}
    client.team_events(team, 1_800_000_000_001, 1_800_000_000_002, games_only=True)
    assert read_query(service) == {"from": "1800000000001", "to": "1800000000002", "gamesonly": "true"}


def test_any_path_can_be_requested_with_any_parameters(service: sideline.Simulator, client: sideline.Client) -> None:
    parameters = {"path": "a b", "n": 1, "x": 1.5, "flag": True, "several": [1, 2]}
    payload = client.get("/v1/data/teams", parameters)
    assert payload.url.endswith("?path=a%20b&n=1&x=1.5&flag=true&several=1&several=2")
    assert payload.to_dict() == client.teams().to_dict()
    with pytest.raises(TypeError, match="mapping"):
        client.get("/v1/data/teams", "a=1")
    with pytest.raises(TypeError, match="x is"):
        client.get("/v1/data/teams", {"x": None})


def test_a_repr_says_who_and_where_and_no_secret() -> None:
    client = sideline.Client(username="ann", secret="canary", api_key="canary", proxy="http://ann:canary@proxy:1")
    assert repr(client) == "<sideline.Client ann at https://api.shottracker.com, production, basketball>"
    client.close()
    assert repr(client).endswith(", closed>")
    assert "canary" not in str(vars(client))


def test_the_environment_supplies_missing_settings(monkeypatch: pytest.MonkeyPatch, service: sideline.Simulator) -> None:
    for name, value in service.environ.items():
        monkeypatch.setenv(name, value)
    with sideline.Client() as client:
        assert client.teams().status == 200
        assert client.broadcast_teams().status == 200


def test_a_pickle_holds_no_secret_and_reads_it_from_the_environment(monkeypatch: pytest.MonkeyPatch, service: sideline.Simulator) -> None:
    data = pickle.dumps(service.client(timeout=17, proxy="http://ann:canary@127.0.0.1:9"))
    assert service.secret.encode() not in data
    assert service.api_key.encode() not in data
    assert b"canary" not in data

    data = pickle.dumps(service.client(timeout=17))
    with pytest.raises(sideline.ConfigurationError, match="SIDELINE_SECRET.*pickle"):
        pickle.loads(data).teams()
    monkeypatch.setenv("SIDELINE_SECRET", service.secret)
    with pickle.loads(data) as client:
        assert client.teams().status == 200
        assert repr(client) == repr(service.client())


def test_a_copy_is_the_same_client(service: sideline.Simulator) -> None:
    with service.client() as client:
        assert copy.copy(client) is copy.deepcopy([client])[0] is client


def test_a_closed_client_stays_closed_in_a_pickle(service: sideline.Simulator) -> None:
    client = service.client()
    client.close()
    client.close()
    for closed in (client, pickle.loads(pickle.dumps(client))):
        with pytest.raises(sideline.SidelineError, match="closed"):
            closed.teams()


@pytest.mark.parametrize("settings", [{"max_retries": "3"}, {"username": 1}, {"timeout": "5"}, {"allow_http": "no"}])
def test_a_setting_of_the_wrong_type_is_a_type_error(settings: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(settings))):
        sideline.Client(**settings)


def test_settings_are_keyword_only() -> None:
    with pytest.raises(TypeError):
        sideline.Client("ann", "secret")  # type: ignore[misc]


def test_a_timeout_in_seconds_is_the_whole_calls(service: sideline.Simulator) -> None:
    service.faults.add("/v1/data/teams", delay=5)
    with service.client(timeout=0.2) as client, pytest.raises(sideline.RequestTimeout):
        client.teams()


def test_timeouts_compare_and_show_themselves() -> None:
    assert sideline.Timeout() == sideline.Timeout(connect=10, read=30, total=120)
    assert sideline.Timeout(total=5) != sideline.Timeout()
    assert repr(sideline.Timeout(total=5)) == "Timeout(connect=10.0, read=30.0, total=5)"


@pytest.mark.parametrize(
    ("limits", "kind", "message"),
    [
        ({"connect": -1}, ValueError, "connect is -1; it must be more than 0"),
        ({"read": 0}, ValueError, "read is 0; it must be more than 0"),
        ({"total": float("inf")}, ValueError, "total is inf; .* finite"),
        ({"total": 10**400}, ValueError, "total is 10+; .* finite"),
        ({"total": None}, TypeError, "total is a number of seconds, not NoneType"),
        ({"read": "5"}, TypeError, "read is a number of seconds, not str"),
    ],
)
def test_an_invalid_timeout_names_its_limit(service: sideline.Simulator, limits: Any, kind: type[Exception], message: str) -> None:
    timeout = sideline.Timeout(**limits)
    with pytest.raises(kind, match=message):
        sideline.Client(timeout=timeout)
    with service.client() as client, pytest.raises(kind, match=message):
        client.teams(timeout=timeout)


def test_a_timeout_beyond_every_float_is_refused(service: sideline.Simulator) -> None:
    with pytest.raises(ValueError, match="timeout must be finite"):
        sideline.Client(timeout=10**400)
    with service.client() as client, pytest.raises(ValueError, match="timeout must be finite"):
        client.teams(timeout=10**400)


def test_a_call_that_is_never_awaited_is_reported_by_its_name(service: sideline.Simulator) -> None:
    client = service.async_client()
    for call, name in ((client.teams, "teams"), (lambda: client.stats(["a"]), "stats")):
        with pytest.warns(RuntimeWarning, match=rf"AsyncClient\.{name}' was never awaited"):
            call()
