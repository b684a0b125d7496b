"""The signature (specification 5.1): our client before a server that shares no code, and a client that shares no code before
the simulator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import httpx
import pytest
from independent import Answer, Asked, Signed, as_json, server, verify

import sideline

# The bodies here are no more than the subject needs.
pytestmark = pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")

GATEWAY_DATE = "HMAC signature cannot be verified, a valid date or x-date header is required for HMAC Authentication"


BODIES: dict[str, object] = {"teams": {"teams": []}, "team_events": {"events": []}, "roster": {"id": 46, "players": []}, "follow": []}
"""What each call is answered with: the root of its resource."""


@pytest.mark.parametrize(
    ("username", "secret"),
    [("ann", "s3cret"), ("ann@example.com", "é⚽ long " * 40), ("a b,c=d", "x"), ("Ünal", "/+=\\\"'"), ('o"ne', "x")],
)
@pytest.mark.parametrize("call", BODIES)
def test_our_signature_is_accepted_by_a_server_that_shares_no_code(username: str, secret: str, call: str) -> None:
    def respond(request: Asked) -> Answer:
        # http.server reads header bytes as latin-1; the signature covers the bytes of the request.
        headers = {k: v.encode("latin-1").decode("utf-8") for k, v in request.headers.items()}
        refusal = verify(Asked(request.method, request.target, headers), {username: secret}, time.time())
        return as_json({"message": refusal}, 401) if refusal else as_json(BODIES[call])

    with server(respond) as seen, sideline.Client(username=username, secret=secret, base_url=seen.base_url) as client:
        if call == "teams":
            client.teams()
        elif call == "team_events":
            client.team_events(46, 1_800_000_000_001, 1_800_000_000_002, games_only=True)
        elif call == "roster":
            client.roster("a@b:c.d-e_f", game_id="g")
        else:
            client.follow("https://api.shottracker.com/v1/data/sensors/locations?id=a%40b&from=1&to=2")
    assert seen.requests


def test_the_header_is_in_the_contracts_form() -> None:
    with server(lambda request: as_json({"teams": []})) as seen:
        with sideline.Client(username="ann", secret="s3cret", base_url=seen.base_url) as client:
            client.teams()
    headers = seen.requests[0].headers
    assert headers["authorization"].startswith('hmac username="ann",algorithm="hmac-sha1",headers="date host request-line",signature="')
    assert headers["host"] == seen.base_url.removeprefix("http://")
    assert "referer" not in headers


def test_each_attempt_is_signed_again() -> None:
    responses = iter([as_json({"message": "busy"}, 503, retry_after="1"), as_json({"teams": []})])
    with server(lambda request: next(responses)) as seen, sideline.Client(username="ann", secret="s", base_url=seen.base_url) as client:
        client.teams()
    first, second = (request.headers for request in seen.requests)
    assert first["date"] != second["date"]
    assert first["authorization"] != second["authorization"]


@pytest.fixture(scope="module")
def service() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=5, teams=4, games=12) as service:
        yield service


def signed(service: sideline.Simulator, target: str = "/v1/data/teams", **changes: Any) -> Signed:
    return Signed(service.base_url, **{"username": service.username, "secret": service.secret, "target": target} | changes)


def test_the_simulator_accepts_a_client_that_shares_no_code(service: sideline.Simulator) -> None:
    response = signed(service).send()
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("application/json")
    team = response.json()["teams"][0]["id"]
    assert signed(service, f"/v1/data/teams/{team}?reference=SHOTTRACKER").send().status_code == 200


SIGNATURE_FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no Authorization": ({"authorization": ""}, "Unauthorized"),
    "another grammar": ({"authorization": "Basic YW5uOnM="}, "HMAC signature cannot be verified"),
    "unknown username": ({"username": "nobody"}, "HMAC signature cannot be verified"),
    "wrong secret": ({"secret": "wrong"}, "HMAC signature does not match"),
    "another algorithm": ({"algorithm": "hmac-sha256"}, "HMAC signature cannot be verified"),
    "fewer headers": ({"names": "date request-line"}, "HMAC signature cannot be verified"),
    "another path signed": ({"signed_target": "/v1/data"}, "HMAC signature does not match"),
    "the query signed": ({"target": "/v1/data/teams?a=1", "signed_target": "/v1/data/teams?a=1"}, "HMAC signature does not match"),
    "another host signed": ({"signed_host": "api.shottracker.com"}, "HMAC signature does not match"),
    "another protocol signed": ({"signed_version": "HTTP/2"}, "HMAC signature does not match"),
    "another date sent": ({"sent_date": -60}, "HMAC signature does not match"),
    "a date of 6 minutes ago": ({"date": -360}, GATEWAY_DATE),
    "a date in 6 minutes": ({"date": +360}, GATEWAY_DATE),
    "no date at all": ({"date": "yesterday"}, GATEWAY_DATE),
}


@pytest.mark.parametrize("fault", SIGNATURE_FAULTS)
def test_the_simulator_refuses_each_fault_of_a_signature_as_the_gateway_does(service: sideline.Simulator, fault: str) -> None:
    changes, message = SIGNATURE_FAULTS[fault]
    # Seconds from now: this test may run long after it was collected.
    changes = {name: formatdate(time.time() + value, usegmt=True) if isinstance(value, int) else value for name, value in changes.items()}
    response = signed(service, **changes).send()
    assert response.status_code in (401, 403)
    assert response.json() == {"message": message}


def test_a_date_of_4_minutes_ago_is_accepted(service: sideline.Simulator) -> None:
    assert signed(service, date=formatdate(time.time() - 240, usegmt=True)).send().status_code == 200


def errors(response: Any, status: int) -> str:
    """A service error's message, after its shape was checked."""
    body = response.json()
    assert response.status_code == body["status"] == status
    ids = [key for key in body if key.endswith("RequestId")]
    assert len(ids) == 1 and len(body[ids[0]]) == 36
    return str(body["message"])


MONTHS_8 = 245 * 86_400_000
RULES = {
    "from=0&to=0": ["from and to must both be greater than 0"],
    "from=20&to=10": ["from must be less than to"],
    "from=10&to=10": ["from must be less than to"],
    f"from=1&to={MONTHS_8}": ["the range may not exceed 8 months"],
    f"from=-1&to={MONTHS_8}": ["from and to must both be greater than 0", "the range may not exceed 8 months"],
}


@pytest.mark.parametrize("query", RULES)
def test_the_simulator_names_the_rules_that_a_range_violates(service: sideline.Simulator, query: str) -> None:
    team = service.teams[0]["id"]
    message = errors(signed(service, f"/v1/data/teams/{team}/events?{query}").send(), 422)
    for rule in RULES[query]:
        assert rule in message.split(" | ")


@pytest.mark.parametrize(
    ("target", "status", "message"),
    [
        ("/v1/data/stats/nothing/stats", 404, "Invalid id"),
        ("/v1/data/stats/nothing/stats/details", 404, "Invalid id"),
        ("/v1/data/stats/nothing/possessions", 404, "Invalid id"),
        ("/v1/data/sensors/locations?id=nothing&from=1&to=2", 404, "Invalid id"),
        ("/v1/data/sensors/locations?id=nothing&from=1&to=1800002", 400, "Locations must be requested in 30 min timeframes"),
        ("/v1/data/sensors/locations?id=nothing", 400, "Valid from and to timestamps are required"),
    ],
)
def test_the_simulator_responds_with_errors_as_specified(service: sideline.Simulator, target: str, status: int, message: str) -> None:
    assert message in errors(signed(service, target).send(), status)


@pytest.mark.parametrize(
    ("privileges", "resource", "message"),
    [
        ({"stats": False}, "stats", "No access to STATS data"),
        ({"stats": False}, "stats/details", "No access to STATS data"),
        ({"stats": False}, "possessions", "No access to STATS data"),
        ({"shots": False}, "shots", "No access to SHOTS data"),
        (["STATS"], "shots", "No access to SHOTS data"),
        (["shots"], "stats", "No access to STATS data"),
        ((), "possessions", "No access to STATS data"),
    ],
)
def test_privileges_are_of_a_credential(service: sideline.Simulator, privileges: Any, resource: str, message: str) -> None:
    service.credentials.add("limited", "pw", privileges=privileges)
    with service.client() as client:
        session = next(
            result["id"]
            for event in client.team_events(service.teams[0]["id"], service.games[0]["tipoff_at"] - 1, service.games[-1]["tipoff_at"])["events"]
            for result in event["results"]
        )
    target = f"/v1/data/stats/{session}/{resource}"
    assert signed(service, target).send().status_code == 200
    assert errors(signed(service, target, username="limited", secret="pw").send(), 403) == message


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "No API key found in request"),
        ("?apikey=wrong", "Invalid authentication credentials"),
        ("?apikey={key}&apikey={key}", "Duplicate API key found"),
    ],
)
def test_the_broadcast_key_is_checked(service: sideline.Simulator, query: str, message: str) -> None:
    with httpx.Client(trust_env=False) as client:
        url = service.broadcast_base_url + "/broadcast/v1/games/teams"
        response = client.get(url + query.format(key=service.api_key))
        assert (response.status_code, response.json()) == (401, {"message": message})
        assert client.get(url, params={"apikey": service.api_key}).status_code == 200
        assert client.get(url, headers={"apikey": service.api_key}).status_code == 200


def test_the_schedule_is_a_day_long_by_default(service: sideline.Simulator) -> None:
    first = service.games[0]["tipoff_at"]
    body = signed(service, f"/v1/data/schedule/games?from={first}").send().json()
    expected = [g["event_id"] for g in service.games if first <= g["tipoff_at"] < first + 86_400_000]
    assert [g["event_id"] for g in body["games"]] == expected


@pytest.mark.parametrize("privileges", [{"stat": False}, {"stats": "no"}, {"shots": 0}, {1: True}, ["stat"], [1], ["restricted_teams"], "stats"])
def test_a_privilege_that_does_not_exist_is_refused(service: sideline.Simulator, privileges: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="privileges"):
        service.credentials.add("limited", "pw", privileges=privileges)
