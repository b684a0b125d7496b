"""A second decoder of every body, in plain Python: what a patient analyst would write with `json` and loops.

It shares nothing with the package's declarations. Each function takes the parsed body and the request's context, and
yields the rows of one table, each with the objects of the body that it is read from, the innermost first. A row has the
contract's columns; `member` finds the value of an appended one by its name. One with another name than its member, or that
is computed, needs a line here too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from contract import ATTRIBUTES

Row = dict[str, Any]
Read = tuple[Row, list[Row]]
Context = dict[str, str]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEAM = ["name", "gender", "conference_name", "league_name", "sport", "reference_id"]


def integer(value: Any) -> int | None:
    return None if value is None else int(float(value)) if isinstance(value, str) and "." in value else int(value)


def number(value: Any) -> float | None:
    return None if value is None else float(value)


def moment(value: Any) -> datetime | None:
    return None if value is None else EPOCH + timedelta(milliseconds=integer(value) or 0)


def link(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else " ".join(value)


def clock(value: Any) -> float | None:
    """[h:]m:s[.f] or s[.f] in seconds; anything else is None."""
    if value is None or not re.fullmatch(r"(\d+:){0,2}\d+(\.\d*)?", str(value)):
        return None
    seconds = 0.0
    for part in str(value).split(":"):
        seconds = seconds * 60 + float(part)
    return round(seconds, 6)


def integers(values: Any) -> list[int | None] | None:
    return None if values is None else [integer(value) for value in values]


def numbers(values: Any) -> dict[str, float | None] | None:
    return None if values is None else {key: number(value) for key, value in values.items()}


def key(first: Any, second: Any) -> Any:
    """A row's key: a game is the requested one, a session of many the body's; where that is not known, the other."""
    return second if first is None else first


def lineup(ids: Any) -> str | None:
    return None if ids is None else "-".join(str(i) for i in sorted(int(i) for i in ids))


def of(value: Any) -> Any:
    """A null where an object or array is expected reads as an empty one."""
    return value or {}


def listed(body: Any, key: str) -> list[Any]:
    """The documented object with an array, the bare array, or a single one."""
    if isinstance(body, list):
        return body
    if key in body:
        found = body[key]
        return found if isinstance(found, list) else [] if found is None else [found]
    return [body]


def member(name: str, objects: list[Row]) -> Any:
    """The value under this name, of the first object that has it, in itself or in an object inside it; `_x` is `x_link`."""
    wanted = {name, f"_{name.removesuffix('_link')}"} if name.endswith("_link") else {name}
    for one in objects:
        level = [one]
        while level:
            for inner in level:
                for key, value in inner.items():
                    if re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key) in wanted:
                        return link(value) if name.endswith("_link") else value
            level = [value for inner in level for value in inner.values() if isinstance(value, dict)]
    return None


def team_columns(team: Row) -> Row:
    return {"team_id": integer(team["id"])} | {name: team.get(name) for name in TEAM}


def teams(body: Any, request: Context) -> Iterator[Read]:
    for team in listed(body, "teams"):
        yield team_columns(team), [team]


def players(body: Any, request: Context) -> Iterator[Read]:
    for player in body.get("players") or []:
        yield {
            "team_id": integer(body["id"]), "player_id": integer(player["id"]),
            **{n: player.get(n) for n in ("first_name", "last_name", "display_name")},
            "jersey_number": integer(player.get("jersey_number")), "jersey_number_str": player.get("jersey_number_str"),
            **{n: player.get(n) for n in ("position", "is_active", "is_starter", "is_scout", "reference_id")},
            "sensor": integer(player.get("sensor")), "profile_image_link": player.get("profile_image_link"),
            **{n: of(player.get("team_player_images")).get(n) for n in (
                "image_light", "image_dark", "image_light_transparent", "image_dark_transparent", "headshot_light", "headshot_dark",
                "headshot_transparent", "image_profile")},
        }, [player, body]  # fmt: skip


def special_services(body: Any, request: Context) -> Iterator[Read]:
    for player in body.get("players") or []:
        for service in player.get("special_services") or []:
            row = {"team_id": integer(body["id"]), "player_id": integer(player["id"]), "type": service.get("type"), "value": service.get("value")}
            yield row, [service, player, body]


def team(body: Any, request: Context) -> Iterator[Read]:
    images = of(body.get("team_images"))
    yield team_columns(body) | {"logo_image_link": body.get("logo_image_link")} | {n: images.get(n) for n in (
        "logo_small_light", "logo_small_dark", "logo_small_light_transparent", "logo_small_dark_transparent", "logo_light", "logo_dark",
        "logo_light_transparent", "logo_dark_transparent")}, [body]  # fmt: skip


def games(body: Any, request: Context) -> Iterator[Read]:
    for game in listed(body, "games"):
        place = game.get("location_id")
        court, facility = place.split("@", 1) if place and "@" in place else (None, None)
        yield {
            "game_id": game["event_id"], "tipoff_at": moment(game.get("tipoff_at")),
            **{n: game.get(n) for n in ("status", "type", "gender")},
            "home_team_id": integer(game.get("home_team_id")), "home_team_name": game.get("home_team_name"),
            "away_team_id": integer(game.get("away_team_id")), "away_team_name": game.get("away_team_name"),
            "home_team_reference_id": game.get("home_team_reference_id"), "away_team_reference_id": game.get("away_team_reference_id"),
            "officials_team_id": integer(game.get("officials_team_id")),
            **{n: game.get(n) for n in ("facility_name", "court_name", "location_id")}, "court_id": court, "facility_id": facility,
            **{n: game.get(n) for n in ("tournament", "reference_id", "fan_engagement_enabled", "source")},
            "results_link": link(game.get("_results")),
        }, [game]  # fmt: skip


def event_keys(event: Row, request: Context) -> Row:
    game = event.get("is_game_event")
    if game is None:
        game = not event.get("is_practice_event") and ("game_id" in request or "/v1/data/games/" in (event.get("_self") or ""))
    return {
        "team_id": integer(request["team_id"]) if request.get("team_id", "").isdigit() else None,
        "event_id": event["id"],
        "game_id": request.get("game_id", event["id"]) if game else None,
    }


def events(body: Any, request: Context) -> Iterator[Read]:
    for event in listed(body, "events"):
        game = of(event.get("game_attributes"))
        yield {
            **event_keys(event, request), **{n: event.get(n) for n in ("name", "source", "is_practice_event", "is_game_event")},
            "started_at": moment(event.get("started_at")), "ended_at": moment(event.get("ended_at")), "game_type": event.get("game_type"),
            "home_team_id": integer(game.get("home_team_id")), "home_team_name": game.get("home_team_name"),
            "away_team_id": integer(game.get("away_team_id")), "away_team_name": game.get("away_team_name"),
            "self_link": link(event.get("_self")), "stats_details_link": link(of(event.get("totals")).get("_stats_details")),
        }, [event]  # fmt: skip


def sessions(body: Any, request: Context) -> Iterator[Read]:
    for event in listed(body, "events"):
        for position, session in enumerate(event.get("results") or []):
            yield {
                **event_keys(event, request), "session_id": session["id"], "position": position, "name": session.get("name"),
                "type": session.get("type"), "started_at": moment(session.get("started_at")), "ended_at": moment(session.get("ended_at")),
                **{f"{n}_link": link(session.get(f"_{n}")) for n in ("stats", "stats_details", "shots", "possessions")},
            }, [session, event]  # fmt: skip


def location_windows(body: Any, request: Context) -> Iterator[Read]:
    for event in listed(body, "events"):
        for session in event.get("results") or []:
            links = session.get("_locations") or []
            for one in [links] if isinstance(links, str) else links:
                query = parse_qs(urlsplit(one).query)
                keys = {name: value for name, value in event_keys(event, request).items() if name != "team_id"}
                times = {"start": moment(query["from"][0]), "end": moment(query["to"][0])}
                yield {**keys, "session_id": session["id"], **times, "link": one}, [session, event]


def stat_lines(body: Any, request: Context) -> Iterator[tuple[Row, Row, Row]]:
    """Each player_stats element with its team and the key columns of its rows."""
    for team in listed(body, "teams"):
        for line in team.get("player_stats") or []:
            who = of(line.get("player_details"))
            yield line, team, {
                "session_id": request.get("session_id"), "game_id": request.get("game_id"), "team_id": integer(team["id"]),
                "team_name": team.get("name"), "player_id": integer(line["id"]), "first_name": who.get("firstname"),
                "last_name": who.get("lastname"), "is_team_total": integer(line["id"]) == 0, "version": integer(line.get("version")),
            }  # fmt: skip


def player_stats(body: Any, request: Context) -> Iterator[Read]:
    for line, team, keys in stat_lines(body, request):
        for stat, value in of(line.get("stats")).items():
            yield keys | {"games_played": integer(line.get("games_played")), "stat": stat, "value": number(value)}, [line, team]


def box_score(body: Any, request: Context) -> Iterator[Read]:
    for line, team, keys in stat_lines(body, request):
        yield keys | {"games_played": integer(line.get("games_played"))} | codes(line.get("stats")), [line, team]


def codes(stats: Row | None) -> Row:
    """A column for each code that the body has; the others of the table are null."""
    return {code: number(value) for code, value in of(stats).items()}


def stat_events(body: Any, request: Context) -> Iterator[Read]:
    for line, team, keys in stat_lines(body, request):
        for stat, occurrences in of(line.get("stats")).items():
            for one in occurrences or []:
                yield {
                    **keys, "stat": stat, "occurred_at": moment(one.get("occurred_at")), "value": number(one.get("value")),
                    "game_clock": one.get("game_clock"), "game_clock_s": clock(one.get("game_clock")),
                    "shot_clock": one.get("shot_clock"), "shot_clock_s": clock(one.get("shot_clock")), "period": one.get("period"),
                    **{n: number(one.get(n)) for n in ("x", "y", "z", "hoop_to_event_x", "hoop_to_event_y")},
                }, [one, line, team]  # fmt: skip


def possessions_of(teams: list[Row], session: Callable[[Row], str | None], request: Context) -> Iterator[Read]:
    for team in teams:
        for place, one in enumerate(team.get("possessions") or []):
            attributes = of(one.get("possession_attributes"))
            yield {
                "session_id": session(one), "game_id": request.get("game_id"), "team_id": integer(team["id"]), "team_name": team.get("name"), "possession": place,
                "start_timestamp": moment(one.get("start_timestamp")), "end_timestamp": moment(one.get("end_timestamp")),
                "start_game_clock": one.get("start_game_clock"), "start_game_clock_s": clock(one.get("start_game_clock")),
                "end_game_clock": one.get("end_game_clock"), "end_game_clock_s": clock(one.get("end_game_clock")),
                "period": one.get("period"), **{n: integers(one.get(n)) for n in ("player_ids", "opposing_player_ids")},
                "lineup_id": lineup(one.get("player_ids")), "opposing_lineup_id": lineup(one.get("opposing_player_ids")),
                **{n: attributes.get(n) if n in ("half_court", "paint_touch") else integer(attributes.get(n)) for n in ATTRIBUTES},
                "locations_link": link(one.get("_locations")),
            }, [one, team]  # fmt: skip


def possession_events_of(teams: list[Row], session: Callable[[Row], str | None], request: Context) -> Iterator[Read]:
    for team in teams:
        for place, possession in enumerate(team.get("possessions") or []):
            for position, one in enumerate(possession.get("stats") or []):
                shot = of(one.get("shot_attributes"))
                yield {
                    "session_id": session(possession), "game_id": request.get("game_id"), "team_id": integer(team["id"]), "possession": place,
                    "position": position,
                    "timestamp": moment(one.get("timestamp")), "possession_type": one.get("possession_type"), "details": one.get("details"),
                    "player_id": integer(one.get("player_id")), "game_clock": one.get("game_clock"), "game_clock_s": clock(one.get("game_clock")),
                    "shot_clock": one.get("shot_clock"), "shot_clock_s": clock(one.get("shot_clock")),
                    **{n: number(shot.get(n)) for n in ("shot_distance_cm", "x", "y", "z")},
                    "zone": integer(shot.get("zone")), "advanced_zone": integer(shot.get("advanced_zone")), "is_3point": shot.get("is_3point"),
                }, [one, possession, team]  # fmt: skip


def possession_players_of(teams: list[Row], request: Context) -> Iterator[Read]:
    for team in teams:
        for player in team.get("team_player_details") or []:
            yield {
                "session_id": request.get("session_id"), "game_id": request.get("game_id"), "team_id": integer(team["id"]),
                "player_id": integer(player["id"]),
                **{n: player.get(n) for n in ("first_name", "last_name", "profile_image_link")},
            }, [player, team]  # fmt: skip


def possessions(body: Any, request: Context) -> Iterator[Read]:
    return possessions_of(listed(body, "teams"), lambda _: request["session_id"], request)


def possession_events(body: Any, request: Context) -> Iterator[Read]:
    return possession_events_of(listed(body, "teams"), lambda _: request["session_id"], request)


def possession_players(body: Any, request: Context) -> Iterator[Read]:
    return possession_players_of(listed(body, "teams"), request)


def points(make: bool | None, three: bool | None, given: int | None) -> int | None:
    """A miss counts 0 points, whatever the body says (a game's shots say -1)."""
    if make is False:
        return 0
    if given is not None and (given >= 0 or make is None):
        return max(given, 0)
    return None if make is None or three is None else 3 if three else 2


def distance_cm(given: float | None, row: Row) -> float | None:
    """Coordinates are millimetres."""
    if given is not None:
        return given
    if row["hoop_player_x"] is not None and row["hoop_player_y"] is not None:
        return math.hypot(row["hoop_player_x"], row["hoop_player_y"]) / 10
    if None in (row["player_x"], row["player_y"], row["hoop_x"], row["hoop_y"]):
        return None
    return math.dist((row["player_x"], row["player_y"]), (row["hoop_x"], row["hoop_y"])) / 10


COORDINATES = ["player_x", "player_y", "player_z", "hoop_x", "hoop_y", "hoop_z", "hoop_player_x", "hoop_player_y"]


def shots(body: Any, request: Context) -> Iterator[Read]:
    for team in listed(body, "teams"):
        for player in team.get("player_shots") or []:
            for one in player.get("shots") or []:
                make, three = one.get("is_make"), one.get("is_3point")
                frame = {n: number(one.get(n)) for n in COORDINATES}
                yield {
                    "session_id": request.get("session_id"), "game_id": request.get("game_id"), "team_id": integer(team["id"]),
                    "player_id": integer(player["id"]), "occurred_at": moment(one.get("occurred_at")), "is_make": make, "is_3point": three,
                    "points": points(make, three, None), "zone": integer(one.get("zone")), "advanced_zone": integer(one.get("advanced_zone")),
                    **frame, "distance_cm": distance_cm(None, frame), "status": one.get("status"), "game_clock": one.get("game_clock"),
                    "game_clock_s": clock(one.get("game_clock")), "shot_clock": one.get("shot_clock"), "shot_clock_s": clock(one.get("shot_clock")),
                    "period": one.get("period"), "attributes": one.get("attributes"), "defender_ids": None,
                }, [one, player, team]  # fmt: skip


def game_shots(body: Any, request: Context) -> Iterator[Read]:
    for one in body.get("shots") or []:
        make, three = {"MAKE": True, "MISS": False}.get(one.get("st")), one.get("is3")
        frame = {n: number(one.get(short)) for n, short in zip(COORDINATES, ["px", "py", "pz", "hx", "hy", "hz", "hsx", "hsy"], strict=True)}
        yield {
            "session_id": key(one.get("sid"), request.get("session_id")), "game_id": key(request.get("game_id"), one.get("gid")),
            "team_id": integer(one.get("tid")), "player_id": integer(one.get("pid")), "occurred_at": moment(one.get("t")), "is_make": make,
            "is_3point": three, "points": points(make, three, integer(one.get("pts"))), "zone": integer(one.get("z")),
            "advanced_zone": integer(one.get("az")), **frame, "distance_cm": distance_cm(number(one.get("d")), frame), "status": one.get("s"),
            "game_clock": one.get("gc"), "game_clock_s": clock(one.get("gc")), "shot_clock": one.get("sc"), "shot_clock_s": clock(one.get("sc")),
            "period": one.get("prd"), "attributes": one.get("attributes"), "defender_ids": integers(one.get("shotDefenders")),
        }, [one]  # fmt: skip


def play_by_play(body: Any, request: Context) -> Iterator[Read]:
    for one in body.get("details") or []:
        yield {
            "game_id": key(request.get("game_id"), one.get("gameId")), "session_id": one.get("sessionId"), "event_id": one["eventId"],
            "type": one.get("type"), "timestamp": moment(one.get("timestamp")), "team_id": integer(one.get("teamId")),
            "session_type": one.get("sessionType"), "practice_id": one.get("practiceId"), "practice_definition_id": one.get("practiceDefinitionId"),
            "drill_definition_id": one.get("drillDefinitionId"), "stats": numbers(one.get("stats")), "corrected": one.get("corrected"),
            "facility_id": one.get("facilityId"), "court_id": one.get("courtId"), "game_clock": one.get("gameClock"),
            "game_clock_s": clock(one.get("gameClock")), "shot_clock": one.get("shotClock"), "shot_clock_s": clock(one.get("shotClock")),
            "period": one.get("period"), "player_x": number(one.get("playerX")), "player_y": number(one.get("playerY")),
            "player_z": number(one.get("playerZ")), "hoop_to_event_x": number(one.get("hoopToEventX")),
            "hoop_to_event_y": number(one.get("hoopToEventY")), "clip_id": one.get("clipId"), "classification": one.get("classification"),
            "description": one.get("description"), "base_stats": one.get("baseStats"), "actual_stats": one.get("actualStats"),
            "act": one.get("act"), "player_id": integer(one.get("pid")),
        }, [one]  # fmt: skip


def videos(body: Any, request: Context) -> Iterator[Read]:
    for one in body.get("videos") or []:
        key_ = one.get("sourceKey") or {}
        yield {
            "game_id": key(request.get("game_id"), one.get("gameId")), "session_id": one.get("sessionId"), "hls_file": one.get("hlsFile"),
            "hls_video_start_timestamp": moment(one.get("hlsVideoStartTimestamp")), "hls_start_offset": one.get("hlsStartOffset"),
            "hls_video_delay_ms": one.get("hlsVideoDelayMs"), "hls_duration": one.get("hlsDuration"), "period": one.get("period"),
            "event_start_timestamp": moment(one.get("eventStartTimestamp")), "event_end_timestamp": moment(one.get("eventEndTimestamp")),
            "start_game_clock_ms": one.get("startGameClockMs"), "end_game_clock_ms": one.get("endGameClockMs"), "source": key_.get("source"),
            "team_id": integer(key_.get("teamId")), "player_id": integer(key_.get("playerId")), "facility_id": one.get("facilityId"),
        }, [one]  # fmt: skip


def ball_screens(body: Any, request: Context) -> Iterator[Read]:
    for one in body.get("ballscreens") or []:
        yield {
            "game_id": key(request.get("game_id"), one.get("gameId")), "session_id": one.get("sessionId"), "event_id": one["eventId"],
            "timestamp": moment(one.get("timestamp")), "end_timestamp": moment(one.get("endTimestamp")), "type": one.get("type"),
            "team_possession_id": one.get("teamPossessionId"), "session_type": one.get("sessionType"), "period": one.get("period"),
            "source": one.get("source"), "corrected": one.get("corrected"), "ball_handler_player_id": integer(one.get("ballHandlerPlayerId")),
            "ball_handler_defender_player_id": integer(one.get("ballHandlerDefenderPlayerId")),
            "screener_player_ids": integers(one.get("screenerPlayerIds")),
            "screener_defender_player_ids": integers(one.get("screenerDefenderPlayerIds")),
            "offensive_actions": numbers(one.get("offensiveActions")), "defensive_actions": numbers(one.get("defensiveActions")),
            "team_id": integer(one.get("teamId")), "defender_team_id": integer(one.get("defenderTeamId")),
            "screener_x": number(one.get("screenerX")), "screener_y": number(one.get("screenerY")), "wing": integer(one.get("wing")),
            "video_time_mark_start": one.get("videoTimeMarkStart"),
            "start_game_clock": one.get("startGameClock"), "start_game_clock_s": clock(one.get("startGameClock")),
            "end_game_clock": one.get("endGameClock"), "end_game_clock_s": clock(one.get("endGameClock")),
            "start_shot_clock": one.get("startShotClock"), "start_shot_clock_s": clock(one.get("startShotClock")),
            "end_shot_clock": one.get("endShotClock"), "end_shot_clock_s": clock(one.get("endShotClock")),
        }, [one]  # fmt: skip


def game_lines(body: Any, request: Context) -> Iterator[tuple[Row, Row]]:
    """Each player's line of a whole game, with the key columns of its rows."""
    for line in body.get("stats") or []:
        yield line, {
            "session_id": request.get("session_id"), "game_id": request.get("game_id"), "team_id": integer(line["tid"]), "team_name": None,
            "player_id": integer(line["pid"]), "first_name": None, "last_name": None, "is_team_total": integer(line["pid"]) == 0,
            "version": None, "games_played": None,
        }  # fmt: skip


def game_player_stats(body: Any, request: Context) -> Iterator[Read]:
    for line, keys in game_lines(body, request):
        for stat, value in of(line.get("totalStats")).items():
            yield keys | {"stat": stat, "value": number(value)}, [line]


def game_box_score(body: Any, request: Context) -> Iterator[Read]:
    for line, keys in game_lines(body, request):
        yield keys | codes(line.get("totalStats")), [line]


def session_in_link(request: Context) -> Callable[[Row], str | None]:
    """A game has several sessions: a possession's is in the link to its locations."""
    return lambda one: parse_qs(urlsplit(one["_locations"]).query)["id"][0] if one.get("_locations") else request.get("session_id")


def game_possessions(body: Any, request: Context) -> Iterator[Read]:
    return possessions_of(body.get("possessions") or [], session_in_link(request), request)


def game_possession_events(body: Any, request: Context) -> Iterator[Read]:
    return possession_events_of(body.get("possessions") or [], session_in_link(request), request)


def game_possession_players(body: Any, request: Context) -> Iterator[Read]:
    return possession_players_of(body.get("possessions") or [], request)


def broadcast_players(body: Any, request: Context) -> Iterator[Read]:
    for row, objects in players(body, request):
        yield row | {"position": objects[0].get("position_abbr")}, objects


def locations(body: Any, request: Context) -> Iterator[Read]:
    for batch in body if isinstance(body, list) else [body]:
        for one in batch.get("locations") or []:
            tag = one.get("tag")
            yield {
                "session_id": key(request.get("session_id"), one.get("sid")), "game_id": request.get("game_id"), "t": moment(one["t"]), "type": one.get("type"),
                "team_id": integer(one.get("tid")), "player_id": integer(one.get("pid")), "tag": tag if isinstance(tag, str | None) else str(tag),
                **{n: number(one.get(n)) for n in ("x", "y", "z", "speed")}, "game_clock": one.get("gc"), "game_clock_s": clock(one.get("gc")),
                "shot_clock": one.get("sc"), "shot_clock_s": clock(one.get("sc")),
            }, [one, batch]  # fmt: skip


READINGS: dict[str, dict[str, Callable[[Any, Context], Iterator[Read]]]] = {
    "teams": {"teams": teams},
    "roster": {"players": players, "special_services": special_services, "team": team},
    "schedule": {"games": games},
    "team_events": {"sessions": sessions, "events": events, "location_windows": location_windows},
    "game": {"sessions": sessions, "events": events, "location_windows": location_windows},
    "team_game_stats": {"player_stats": player_stats, "box_score": box_score},
    "stats": {"player_stats": player_stats, "box_score": box_score},
    "stats_details": {"stat_events": stat_events},
    "game_stats_details": {"stat_events": stat_events},
    "possessions": {"possessions": possessions, "possession_events": possession_events, "possession_players": possession_players},
    "shots": {"shots": shots},
    "locations": {"locations": locations},
    "matchup": {"games": games},
    "game_shots": {"shots": game_shots},
    "play_by_play": {"play_by_play": play_by_play},
    "ball_screens": {"ball_screens": ball_screens},
    "videos": {"videos": videos},
    "catch_up": {
        "player_stats": game_player_stats, "box_score": game_box_score, "play_by_play": play_by_play, "shots": game_shots,
        "possessions": game_possessions, "possession_events": game_possession_events, "possession_players": game_possession_players,
    },
    "broadcast_roster": {"players": broadcast_players, "special_services": special_services, "team": team},
}  # fmt: skip
