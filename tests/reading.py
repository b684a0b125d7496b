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


def as_list(body: Any, key: str) -> list[Any]:
    """The documented object with an array, the bare array, or a single one."""
    if isinstance(body, list):
        return body
    if key in body:
        value = body[key]
        return value if isinstance(value, list) else [] if value is None else [value]
    return [body]


def member(name: str, objects: list[Row]) -> Any:
    """The value under this name, of the first object that has it, in itself or in an object inside it; `_x` is `x_link`."""
    spellings = {name, f"_{name.removesuffix('_link')}"} if name.endswith("_link") else {name}
    for candidate in objects:
        level = [candidate]
        while level:
            for inner in level:
                for key, value in inner.items():
                    if re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key) in spellings:
                        return link(value) if name.endswith("_link") else value
            level = [value for inner in level for value in inner.values() if isinstance(value, dict)]
    return None


def team_columns(team: Row) -> Row:
    return {"team_id": integer(team["id"])} | {name: team.get(name) for name in TEAM}


def teams(body: Any, request: Context) -> Iterator[Read]:
    for team in as_list(body, "teams"):
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
    for game in as_list(body, "games"):
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
    for event in as_list(body, "events"):
        game = of(event.get("game_attributes"))
        yield {
            **event_keys(event, request), **{n: event.get(n) for n in ("name", "source", "is_practice_event", "is_game_event")},
            "started_at": moment(event.get("started_at")), "ended_at": moment(event.get("ended_at")), "game_type": event.get("game_type"),
            "home_team_id": integer(game.get("home_team_id")), "home_team_name": game.get("home_team_name"),
            "away_team_id": integer(game.get("away_team_id")), "away_team_name": game.get("away_team_name"),
            "self_link": link(event.get("_self")), "stats_details_link": link(of(event.get("totals")).get("_stats_details")),
        }, [event]  # fmt: skip


def sessions(body: Any, request: Context) -> Iterator[Read]:
    for event in as_list(body, "events"):
        for position, session in enumerate(event.get("results") or []):
            yield {
                **event_keys(event, request), "session_id": session["id"], "position": position, "name": session.get("name"),
                "type": session.get("type"), "started_at": moment(session.get("started_at")), "ended_at": moment(session.get("ended_at")),
                **{f"{n}_link": link(session.get(f"_{n}")) for n in ("stats", "stats_details", "shots", "possessions")},
            }, [session, event]  # fmt: skip


def location_windows(body: Any, request: Context) -> Iterator[Read]:
    for event in as_list(body, "events"):
        for session in event.get("results") or []:
            links = session.get("_locations") or []
            for link in [links] if isinstance(links, str) else links:
                query = parse_qs(urlsplit(link).query)
                keys = {name: value for name, value in event_keys(event, request).items() if name != "team_id"}
                times = {"start": moment(query["from"][0]), "end": moment(query["to"][0])}
                yield {**keys, "session_id": session["id"], **times, "link": link}, [session, event]


def stat_lines(body: Any, request: Context) -> Iterator[tuple[Row, Row, Row]]:
    """Each player_stats element with its team and the key columns of its rows."""
    for team in as_list(body, "teams"):
        for line in team.get("player_stats") or []:
            details = of(line.get("player_details"))
            yield line, team, {
                "session_id": request.get("session_id"), "game_id": request.get("game_id"), "team_id": integer(team["id"]),
                "team_name": team.get("name"), "player_id": integer(line["id"]), "first_name": details.get("firstname"),
                "last_name": details.get("lastname"), "is_team_total": integer(line["id"]) == 0, "version": integer(line.get("version")),
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
            for occurrence in occurrences or []:
                yield {
                    **keys, "stat": stat, "occurred_at": moment(occurrence.get("occurred_at")), "value": number(occurrence.get("value")),
                    "game_clock": occurrence.get("game_clock"), "game_clock_s": clock(occurrence.get("game_clock")),
                    "shot_clock": occurrence.get("shot_clock"), "shot_clock_s": clock(occurrence.get("shot_clock")), "period": occurrence.get("period"),
                    **{n: number(occurrence.get(n)) for n in ("x", "y", "z", "hoop_to_event_x", "hoop_to_event_y")},
                }, [occurrence, line, team]  # fmt: skip


def possessions_of(teams: list[Row], session: Callable[[Row], str | None], request: Context) -> Iterator[Read]:
    for team in teams:
        for place, possession in enumerate(team.get("possessions") or []):
            attributes = of(possession.get("possession_attributes"))
            yield {
                "session_id": session(possession), "game_id": request.get("game_id"), "team_id": integer(team["id"]), "team_name": team.get("name"), "possession": place,
                "start_timestamp": moment(possession.get("start_timestamp")), "end_timestamp": moment(possession.get("end_timestamp")),
                "start_game_clock": possession.get("start_game_clock"), "start_game_clock_s": clock(possession.get("start_game_clock")),
                "end_game_clock": possession.get("end_game_clock"), "end_game_clock_s": clock(possession.get("end_game_clock")),
                "period": possession.get("period"), **{n: integers(possession.get(n)) for n in ("player_ids", "opposing_player_ids")},
                "lineup_id": lineup(possession.get("player_ids")), "opposing_lineup_id": lineup(possession.get("opposing_player_ids")),
                **{n: attributes.get(n) if n in ("half_court", "paint_touch") else integer(attributes.get(n)) for n in ATTRIBUTES},
                "locations_link": link(possession.get("_locations")),
            }, [possession, team]  # fmt: skip


def possession_events_of(teams: list[Row], session: Callable[[Row], str | None], request: Context) -> Iterator[Read]:
    for team in teams:
        for place, possession in enumerate(team.get("possessions") or []):
            for position, event in enumerate(possession.get("stats") or []):
                shot = of(event.get("shot_attributes"))
                yield {
                    "session_id": session(possession), "game_id": request.get("game_id"), "team_id": integer(team["id"]), "possession": place,
                    "position": position,
                    "timestamp": moment(event.get("timestamp")), "possession_type": event.get("possession_type"), "details": event.get("details"),
                    "player_id": integer(event.get("player_id")), "game_clock": event.get("game_clock"), "game_clock_s": clock(event.get("game_clock")),
                    "shot_clock": event.get("shot_clock"), "shot_clock_s": clock(event.get("shot_clock")),
                    **{n: number(shot.get(n)) for n in ("shot_distance_cm", "x", "y", "z")},
                    "zone": integer(shot.get("zone")), "advanced_zone": integer(shot.get("advanced_zone")), "is_3point": shot.get("is_3point"),
                }, [event, possession, team]  # fmt: skip


def possession_players_of(teams: list[Row], request: Context) -> Iterator[Read]:
    for team in teams:
        for player in team.get("team_player_details") or []:
            yield {
                "session_id": request.get("session_id"), "game_id": request.get("game_id"), "team_id": integer(team["id"]),
                "player_id": integer(player["id"]),
                **{n: player.get(n) for n in ("first_name", "last_name", "profile_image_link")},
            }, [player, team]  # fmt: skip


def possessions(body: Any, request: Context) -> Iterator[Read]:
    return possessions_of(as_list(body, "teams"), lambda _: request["session_id"], request)


def possession_events(body: Any, request: Context) -> Iterator[Read]:
    return possession_events_of(as_list(body, "teams"), lambda _: request["session_id"], request)


def possession_players(body: Any, request: Context) -> Iterator[Read]:
    return possession_players_of(as_list(body, "teams"), request)


def points(make: bool | None, three: bool | None, value: int | None) -> int | None:
    """A miss counts 0 points, whatever the body says (a game's shots say -1)."""
    if make is False:
        return 0
    if value is not None and (value >= 0 or make is None):
        return max(value, 0)
    return None if make is None or three is None else 3 if three else 2


def distance_cm(value: float | None, row: Row) -> float | None:
    """Coordinates are millimetres."""
    if value is not None:
        return value
    if row["hoop_player_x"] is not None and row["hoop_player_y"] is not None:
        return math.hypot(row["hoop_player_x"], row["hoop_player_y"]) / 10
    if None in (row["player_x"], row["player_y"], row["hoop_x"], row["hoop_y"]):
        return None
    return math.dist((row["player_x"], row["player_y"]), (row["hoop_x"], row["hoop_y"])) / 10


COORDINATES = ["player_x", "player_y", "player_z", "hoop_x", "hoop_y", "hoop_z", "hoop_player_x", "hoop_player_y"]


def shots(body: Any, request: Context) -> Iterator[Read]:
    for team in as_list(body, "teams"):
        for player in team.get("player_shots") or []:
            for shot in player.get("shots") or []:
                make, three = shot.get("is_make"), shot.get("is_3point")
                frame = {n: number(shot.get(n)) for n in COORDINATES}
                yield {
                    "session_id": request.get("session_id"), "game_id": request.get("game_id"), "team_id": integer(team["id"]),
                    "player_id": integer(player["id"]), "occurred_at": moment(shot.get("occurred_at")), "is_make": make, "is_3point": three,
                    "points": points(make, three, None), "zone": integer(shot.get("zone")), "advanced_zone": integer(shot.get("advanced_zone")),
                    **frame, "distance_cm": distance_cm(None, frame), "status": shot.get("status"), "game_clock": shot.get("game_clock"),
                    "game_clock_s": clock(shot.get("game_clock")), "shot_clock": shot.get("shot_clock"), "shot_clock_s": clock(shot.get("shot_clock")),
                    "period": shot.get("period"), "attributes": shot.get("attributes"), "defender_ids": None,
                }, [shot, player, team]  # fmt: skip


def game_shots(body: Any, request: Context) -> Iterator[Read]:
    for shot in body.get("shots") or []:
        make, three = {"MAKE": True, "MISS": False}.get(shot.get("st")), shot.get("is3")
        frame = {n: number(shot.get(short)) for n, short in zip(COORDINATES, ["px", "py", "pz", "hx", "hy", "hz", "hsx", "hsy"], strict=True)}
        yield {
            "session_id": key(shot.get("sid"), request.get("session_id")), "game_id": key(request.get("game_id"), shot.get("gid")),
            "team_id": integer(shot.get("tid")), "player_id": integer(shot.get("pid")), "occurred_at": moment(shot.get("t")), "is_make": make,
            "is_3point": three, "points": points(make, three, integer(shot.get("pts"))), "zone": integer(shot.get("z")),
            "advanced_zone": integer(shot.get("az")), **frame, "distance_cm": distance_cm(number(shot.get("d")), frame), "status": shot.get("s"),
            "game_clock": shot.get("gc"), "game_clock_s": clock(shot.get("gc")), "shot_clock": shot.get("sc"), "shot_clock_s": clock(shot.get("sc")),
            "period": shot.get("prd"), "attributes": shot.get("attributes"), "defender_ids": integers(shot.get("shotDefenders")),
        }, [shot]  # fmt: skip


def play_by_play(body: Any, request: Context) -> Iterator[Read]:
    for play in body.get("details") or []:
        yield {
            "game_id": key(request.get("game_id"), play.get("gameId")), "session_id": play.get("sessionId"), "event_id": play["eventId"],
            "type": play.get("type"), "timestamp": moment(play.get("timestamp")), "team_id": integer(play.get("teamId")),
            "session_type": play.get("sessionType"), "practice_id": play.get("practiceId"), "practice_definition_id": play.get("practiceDefinitionId"),
            "drill_definition_id": play.get("drillDefinitionId"), "stats": numbers(play.get("stats")), "corrected": play.get("corrected"),
            "facility_id": play.get("facilityId"), "court_id": play.get("courtId"), "game_clock": play.get("gameClock"),
            "game_clock_s": clock(play.get("gameClock")), "shot_clock": play.get("shotClock"), "shot_clock_s": clock(play.get("shotClock")),
            "period": play.get("period"), "player_x": number(play.get("playerX")), "player_y": number(play.get("playerY")),
            "player_z": number(play.get("playerZ")), "hoop_to_event_x": number(play.get("hoopToEventX")),
            "hoop_to_event_y": number(play.get("hoopToEventY")), "clip_id": play.get("clipId"), "classification": play.get("classification"),
            "description": play.get("description"), "base_stats": play.get("baseStats"), "actual_stats": play.get("actualStats"),
            "act": play.get("act"), "player_id": integer(play.get("pid")),
        }, [play]  # fmt: skip


def videos(body: Any, request: Context) -> Iterator[Read]:
    for video in body.get("videos") or []:
        key_ = video.get("sourceKey") or {}
        yield {
            "game_id": key(request.get("game_id"), video.get("gameId")), "session_id": video.get("sessionId"), "hls_file": video.get("hlsFile"),
            "hls_video_start_timestamp": moment(video.get("hlsVideoStartTimestamp")), "hls_start_offset": video.get("hlsStartOffset"),
            "hls_video_delay_ms": video.get("hlsVideoDelayMs"), "hls_duration": video.get("hlsDuration"), "period": video.get("period"),
            "event_start_timestamp": moment(video.get("eventStartTimestamp")), "event_end_timestamp": moment(video.get("eventEndTimestamp")),
            "start_game_clock_ms": video.get("startGameClockMs"), "end_game_clock_ms": video.get("endGameClockMs"), "source": key_.get("source"),
            "team_id": integer(key_.get("teamId")), "player_id": integer(key_.get("playerId")), "facility_id": video.get("facilityId"),
        }, [video]  # fmt: skip


def ball_screens(body: Any, request: Context) -> Iterator[Read]:
    for screen in body.get("ballscreens") or []:
        yield {
            "game_id": key(request.get("game_id"), screen.get("gameId")), "session_id": screen.get("sessionId"), "event_id": screen["eventId"],
            "timestamp": moment(screen.get("timestamp")), "end_timestamp": moment(screen.get("endTimestamp")), "type": screen.get("type"),
            "team_possession_id": screen.get("teamPossessionId"), "session_type": screen.get("sessionType"), "period": screen.get("period"),
            "source": screen.get("source"), "corrected": screen.get("corrected"), "ball_handler_player_id": integer(screen.get("ballHandlerPlayerId")),
            "ball_handler_defender_player_id": integer(screen.get("ballHandlerDefenderPlayerId")),
            "screener_player_ids": integers(screen.get("screenerPlayerIds")),
            "screener_defender_player_ids": integers(screen.get("screenerDefenderPlayerIds")),
            "offensive_actions": numbers(screen.get("offensiveActions")), "defensive_actions": numbers(screen.get("defensiveActions")),
            "team_id": integer(screen.get("teamId")), "defender_team_id": integer(screen.get("defenderTeamId")),
            "screener_x": number(screen.get("screenerX")), "screener_y": number(screen.get("screenerY")), "wing": integer(screen.get("wing")),
            "video_time_mark_start": screen.get("videoTimeMarkStart"),
            "start_game_clock": screen.get("startGameClock"), "start_game_clock_s": clock(screen.get("startGameClock")),
            "end_game_clock": screen.get("endGameClock"), "end_game_clock_s": clock(screen.get("endGameClock")),
            "start_shot_clock": screen.get("startShotClock"), "start_shot_clock_s": clock(screen.get("startShotClock")),
            "end_shot_clock": screen.get("endShotClock"), "end_shot_clock_s": clock(screen.get("endShotClock")),
        }, [screen]  # fmt: skip


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
    return lambda sample: parse_qs(urlsplit(sample["_locations"]).query)["id"][0] if sample.get("_locations") else request.get("session_id")


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
        for sample in batch.get("locations") or []:
            tag = sample.get("tag")
            yield {
                "session_id": key(request.get("session_id"), sample.get("sid")), "game_id": request.get("game_id"), "t": moment(sample["t"]), "type": sample.get("type"),
                "team_id": integer(sample.get("tid")), "player_id": integer(sample.get("pid")), "tag": tag if isinstance(tag, str | None) else str(tag),
                **{n: number(sample.get(n)) for n in ("x", "y", "z", "speed")}, "game_clock": sample.get("gc"), "game_clock_s": clock(sample.get("gc")),
                "shot_clock": sample.get("sc"), "shot_clock_s": clock(sample.get("sc")),
            }, [sample, batch]  # fmt: skip


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
