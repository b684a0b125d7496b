"""A user's script with the synchronous client: checked by mypy and pyright, both strict."""

import datetime
from collections.abc import Callable
from typing import assert_type

import sideline


def column_names(payload: sideline.Payload) -> list[str]:
    table = payload.table("box_score", columns=["player_id", "PTS"])
    assert_type(table, sideline.Table)
    assert_type(table.head(3).num_rows, int)
    return table.column_names


def fields() -> dict[str, str | None]:
    schema = sideline.SCHEMAS["shots"]
    assert_type(schema, sideline.Schema)
    return {field.name: field.unit for field in schema}


def send_request(client: sideline.Client, team_id: int) -> None:
    teams = client.teams()
    assert_type(teams, sideline.Payload)
    assert_type(teams.raw, bytes)
    assert_type(teams.request_id, str | None)
    assert_type(teams.elapsed, datetime.timedelta | None)
    assert_type(teams.parts, list[sideline.Payload])
    for row in teams.table().to_dicts():
        print(row["team_id"], row["name"])
    schedule = client.schedule(datetime.date(2026, 11, 1), "2027-04-15", team_id=team_id)
    assert_type(schedule.table(), sideline.Table)
    assert_type(client.subscription_token("a-game"), str)
    assert_type(client.drift(), sideline.Table)
    height: int = client.teams().to_polars().height
    print(height, schedule.to_dict()["games"])


def describe(call: Callable[[], sideline.Payload]) -> str:
    try:
        return repr(call())
    except sideline.InvalidRequest as error:
        assert_type(error.rules, list[str])
        return ", ".join(error.rules)
    except sideline.RateLimited as error:
        assert_type(error.request_id, str | None)
        return f"{error.status} after {error.attempts} attempts"
    except sideline.DecodeError as error:
        return f"{error.path} at byte {error.offset}"
    except (sideline.ConnectError, sideline.RequestTimeout) as error:
        return str(error)


def main() -> None:
    limits = sideline.Timeout(connect=5, total=60)
    with sideline.Simulator(seed=7, teams=4, games=8) as service, service.client(timeout=limits) as client:
        assert_type(client, sideline.Client)
        service.faults.add("/v1/data/teams", status=503, times=1)
        send_request(client, 1)
        assert_type(service.requests[0].status, int)
    with sideline.Client(username="analyst", secret="...", timeout=3.5, ca_bundle="authority.pem") as real:
        print(describe(real.teams))
