"""Plays in videos: every row is accounted for, and other programs can read the files."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from needs import library, needs

import sideline

pl = library("polars")

BEGAN = datetime(2026, 11, 1, 20, tzinfo=UTC)


def shots(*seconds: float | None, **columns: Any) -> pl.DataFrame:
    """Shots at these seconds after the video's first frame."""
    times = [None if second is None else BEGAN + timedelta(seconds=second) for second in seconds]
    frame = pl.DataFrame({"occurred_at": pl.Series(times, dtype=pl.Datetime("ms", "UTC"))})
    fields: dict[str, Any] = {"session_id": "S", "game_id": "G", "is_make": True, "is_3point": False, "player_id": 7, **columns}
    return frame.with_columns(**{name: pl.Series(value) if isinstance(value, list) else pl.lit(value) for name, value in fields.items()})


def video(**fields: Any) -> dict[str, Any]:
    return {"hlsFile": "https://videos.example/g.m3u8", "hlsVideoStartTimestamp": int(BEGAN.timestamp() * 1000), "hlsDuration": 100.0, **fields}


def spans(clips: sideline.Clips) -> list[tuple[float | None, float | None, str | None]]:
    return [(row["start_s"], row["end_s"], row["reason"]) for row in clips.to_dicts()]


def test_every_row_is_accounted_for() -> None:
    rows = shots(10, 2, 14, 99, 101, -1, None)
    clips = sideline.clips(rows, [video()])
    assert spans(clips) == [
        (5.0, 13.0, None),
        (0.0, 5.0, None),
        (9.0, 17.0, "overlapping"),
        (94.0, 100.0, None),
        (None, None, "outside the video"),
        (None, None, "outside the video"),
        (None, None, "no time"),
    ]
    assert [row["row"] for row in clips.to_dicts()] == list(range(7))
    assert clips.column_names[:7] == ["row", "game_id", "session_id", "video", "start_s", "end_s", "reason"]


def test_a_video_shows_its_own_session_or_game() -> None:
    rows = shots(10, 10, 10, session_id=["S", "T", "U"], game_id=["G", "G", "H"])
    videos = [video(sessionId="T", hlsFile="t.m3u8"), video(gameId="G", hlsFile="g.m3u8")]
    clips = sideline.clips(rows, videos).to_dicts()
    assert [(row["video"], row["reason"]) for row in clips] == [("g.m3u8", None), ("t.m3u8", None), (None, "no video")]


def test_a_row_without_its_game_is_not_found_in_the_video_of_another_game() -> None:
    """Games of one night are played at the same time, and the responses of a session do not name its game."""
    videos = [video(gameId=game, hlsFile=f"{game}.m3u8") for game in ("G", "H")]
    clips = sideline.clips(shots(10, 10, 150, game_id=[None, "H", None]), videos).to_dicts()
    assert [(row["video"], row["reason"]) for row in clips] == [(None, "several games"), ("H.m3u8", None), (None, "outside the video")]
    # Of one game at that time, or of its own session, it is.
    later = video(gameId="H", hlsVideoStartTimestamp=int(BEGAN.timestamp() * 1000) + 60_000)
    assert spans(sideline.clips(shots(10, game_id=None), [video(gameId="G"), later])) == [(5.0, 13.0, None)]
    of_sessions = [video(gameId="G", sessionId="R"), video(gameId="H", sessionId="S")]
    assert spans(sideline.clips(shots(10, game_id=None), of_sessions)) == [(5.0, 13.0, None)]


def test_times_without_a_zone_are_refused() -> None:
    """They may be of any zone: a clip would show another play, and say nothing."""
    frame = pl.DataFrame([video()]).with_columns(pl.from_epoch("hlsVideoStartTimestamp", "ms"))
    with pytest.raises(ValueError, match="videos: the column hlsVideoStartTimestamp has times without a zone: write .*UTC"):
        sideline.clips(shots(10), frame)
    with pytest.raises(ValueError, match="videos: hls_video_start_timestamp is a time without a zone, 2026-11-01 20:00:00: write .*utc"):
        sideline.clips(shots(10), [video(hlsVideoStartTimestamp=BEGAN.replace(tzinfo=None))])
    for name in ("occurred_at", "end_timestamp"):
        rows = shots(10).with_columns(pl.col("occurred_at").dt.replace_time_zone(None).alias(name))
        with pytest.raises(ValueError, match=f"rows: the column {name} has times without a zone: write .*UTC"):
            sideline.clips(rows, [video()])
    assert spans(sideline.clips(shots(10).with_columns(loaded=pl.lit("2027-03-01").str.to_datetime()), [video()])) == [(5.0, 13.0, None)]


def test_ids_of_other_types_are_those_of_the_videos() -> None:
    assert spans(sideline.clips(shots(10, session_id=5), [video(sessionId=5)])) == [(5.0, 13.0, None)]


def test_ids_that_a_join_of_pandas_made_floats_are_written_as_ids() -> None:
    [clip] = sideline.clips(shots(10, team_id=1001.0, player_id=7.0, session_id=5.0), [video(sessionId=5)]).to_dicts()
    assert (clip["video"], clip["team"], clip["player_ids"], clip["session_id"]) == (video()["hlsFile"], "1001", [7], "5")


@pytest.mark.parametrize("name", ["hlsDuration", "hlsStartOffset", "hlsVideoDelayMs", "gameId", "sessionId"])
def test_nan_in_a_video_is_a_missing_value(name: str) -> None:
    with_nan, without = (video(**{name: value}) for value in (float("nan"), None))
    expected = spans(sideline.clips(shots(10), [without]))
    assert expected == [(5.0, 13.0, None)]
    for videos in ([with_nan], pl.DataFrame([with_nan])):
        assert spans(sideline.clips(shots(10), videos)) == expected


def test_a_video_without_an_address_or_a_time_shows_nothing() -> None:
    for nowhere in (video(hlsFile=""), video(hlsFile=float("nan")), video(hlsVideoStartTimestamp=float("nan"))):
        assert spans(sideline.clips(shots(10), [nowhere])) == [(None, None, "no video")]
    # Nothing happened in 1970: 0 is no time, and seconds are no milliseconds.
    for start in (0, BEGAN.timestamp(), "0", float("inf")):
        nowhere = video(hlsVideoStartTimestamp=start, hlsDuration=None)
        assert spans(sideline.clips(shots(10), [nowhere])) == [(None, None, "no video")]


def test_an_unknown_result_is_not_labelled_as_a_miss() -> None:
    unknown_rows = shots(10, 20, 30, is_make=[None, True, None], is_3point=[None, None, True])
    assert [row["label"] for row in sideline.clips(unknown_rows, [video()]).to_dicts()] == ["shot", "shot make", "3PT"]


def test_delay_offset_and_a_part_of_a_file() -> None:
    """The picture lags by the delay that is stated and by the offset; rows of one file add up."""
    parts = [video(hlsStartOffset=20, hlsDuration=10, hlsVideoDelayMs=1500), video(hlsStartOffset=50, hlsDuration=10, hlsVideoDelayMs=1500)]
    assert spans(sideline.clips(shots(40, 17, 57.5), parts, offset=0.5)) == [(37.0, 45.0, None), (None, None, "outside the video"), (54.5, 60.0, None)]


def test_videos_are_dicts_frames_or_tables() -> None:
    frame = pl.DataFrame({"hls_file": ["v"], "hls_video_start_timestamp": [BEGAN]})
    expected = [(5.0, 13.0, None)]
    for videos in (
        frame,
        frame.lazy(),
        [frame],
        sideline.Table("videos", frame.to_arrow()),
        [{"hlsFile": "v", "hlsVideoStartTimestamp": BEGAN.timestamp() * 1000}],
    ):
        assert spans(sideline.clips(shots(10), videos)) == expected
    assert spans(sideline.clips(shots(10), [])) == [(None, None, "no video")]
    with pytest.raises(ValueError, match="videos has no column hls_video_start_timestamp"):
        sideline.clips(shots(10), [{"hlsFile": "v"}])
    with pytest.raises(ValueError, match="rows needs a column occurred_at, start_timestamp or timestamp"):
        sideline.clips(shots(10).drop("occurred_at"), [])
    with pytest.raises(ValueError, match="at least 0 seconds"):
        sideline.clips(shots(10), [], before=-1)
    for name in ("before", "after", "offset"):
        with pytest.raises(TypeError, match=f"{name} is a number of seconds or a timedelta, not str"):
            sideline.clips(shots(10), [], **{name: "5"})


@needs("polars")
@pytest.mark.parametrize("factor", [1_000, -1_000, 1_000_000])
def test_a_time_that_python_has_not_costs_its_row_or_video_alone(factor: int, client: sideline.Client, game: dict[str, Any]) -> None:
    """Such as one in microseconds."""

    def body(operation: Any, change: Any) -> sideline.Payload:
        content = getattr(client, operation)(game["id"]).to_dict()
        change(content)
        return sideline.Payload.from_bytes(operation, json.dumps(content).encode(), game_id=game["id"])

    def of_row(content: dict[str, Any]) -> None:
        content["shots"][1]["t"] *= factor

    def of_video(content: dict[str, Any]) -> None:
        content["videos"].append(content["videos"][0] | {"hlsVideoStartTimestamp": content["videos"][0]["hlsVideoStartTimestamp"] * factor})
        content["videos"].append(content["videos"][0] | {"eventEndTimestamp": 2**60})

    shots, videos = body("game_shots", lambda _: None), body("videos", lambda _: None)
    expected = sideline.clips(shots, videos).to_dicts()
    assert sideline.clips(shots, body("videos", of_video)).to_dicts() == expected
    rows = sideline.clips(body("game_shots", of_row), videos).to_dicts()
    assert rows[1]["reason"] == "outside the video"
    assert [row for row in rows if row["row"] != 1] == [row for row in expected if row["row"] != 1]


@needs("polars")
def test_every_kind_of_play_becomes_clips(client: sideline.Client, game: dict[str, Any], session_id: str) -> None:
    start, end = game["results"][0]["started_at"], game["results"][0]["ended_at"]
    videos = [video(hlsVideoStartTimestamp=start, hlsDuration=(end - start) / 1000, sessionId=session_id)]
    for payload, column in [
        (client.shots(session_id), "occurred_at"),
        (client.possessions(session_id), "start_timestamp"),
        (client.stats_details(session_id), "occurred_at"),
        (client.ball_screens(game["id"]), "timestamp"),
    ]:
        rows = payload.table().to_dicts()
        clips = sideline.clips(payload, videos).to_dicts()
        assert len(clips) == len(rows) > 0
        for row, clip in zip(rows, clips, strict=True):
            if row["session_id"] != session_id:
                assert clip["reason"] == "no video"
                continue
            at = row[column].timestamp() - start / 1000
            assert clip["start_s"] == pytest.approx(max(0.0, at - 5), abs=0.001)
            assert clip["label"]
        assert any(clip["video"] for clip in clips)


@needs("polars")
def test_clips_of_the_games_own_videos_start_where_the_play_does(client: sideline.Client, game: dict[str, Any]) -> None:
    """The simulator's recording starts with the game, and its picture is 1.5 s late."""
    shots = client.game_shots(game["id"]).to_polars()
    began = game["results"][0]["started_at"] / 1000
    clips = sideline.clips(shots, client.videos(game["id"]), before=0, after=2).to_dicts()
    assert len(clips) == shots.height > 0
    for shot, clip in zip(shots.to_dicts(), clips, strict=True):
        assert clip["reason"] in (None, "overlapping")
        assert clip["start_s"] == pytest.approx(shot["occurred_at"].timestamp() - began + 1.5, abs=0.002)


def test_the_timeline_is_sportscodes(tmp_path: Path) -> None:
    rows = shots(10, 30, 14, is_3point=[True, False, False], is_make=[False, True, True], period="Q1\x00&", team_name="Bears <1>")
    clips = sideline.clips(rows, [video()])
    clips.to_sportscode_xml(tmp_path / "clips.xml")
    instances = ElementTree.parse(tmp_path / "clips.xml").getroot().findall("ALL_INSTANCES/instance")
    assert [[instance.findtext(name) for name in ("ID", "start", "end", "code")] for instance in instances] == [
        ["1", "5.0", "13.0", "3PT miss"],
        ["2", "25.0", "33.0", "2PT make"],
        ["3", "9.0", "17.0", "2PT make"],
    ]
    labels = {label.findtext("group"): label.findtext("text") for label in instances[0].findall("label")}
    assert labels == {"team": "Bears <1>", "period": "Q1 &", "session_id": "S", "player_id": "7"}


def test_kloppy_reads_the_timeline(tmp_path: Path) -> None:
    sportscode = pytest.importorskip("kloppy.sportscode")
    sideline.clips(shots(10, 30.25, 500), [video()]).to_sportscode_xml(tmp_path / "clips.xml")
    codes = sportscode.load((tmp_path / "clips.xml").read_bytes()).codes
    assert [(code.code_id, code.code, code.timestamp.total_seconds(), code.end_timestamp.total_seconds()) for code in codes] == [
        ("1", "2PT make", 5.0, 13.0),
        ("2", "2PT make", 25.25, 33.25),
    ]
    assert codes[0].labels["player_id"] == 7


def test_a_timeline_is_of_one_video(tmp_path: Path) -> None:
    rows = shots(10, 30, session_id=["S", "T"])
    clips = sideline.clips(rows, [video(sessionId="S", hlsFile="s"), video(sessionId="T", hlsFile="t")])
    with pytest.raises(ValueError, match="these clips are of 2: pass video=, one of s, t"):
        clips.to_sportscode_xml(tmp_path / "clips.xml")
    with pytest.raises(ValueError, match="no clip is of u; the videos are s, t"):
        clips.to_sportscode_xml(tmp_path / "clips.xml", video="u")
    clips.to_sportscode_xml(tmp_path / "clips.xml", video="t")
    assert [element.text for element in ElementTree.parse(tmp_path / "clips.xml").iter("ID")] == ["2"]


def test_a_playlist_plays_each_second_once(tmp_path: Path) -> None:
    rows = shots(10, 14, 60, label=["one\nmore", "two", "three"])
    clips = sideline.clips(rows, [video(hlsFile="https://v.test/it's.m3u8")])
    clips.to_playlist(tmp_path / "clips.ffconcat")
    assert (tmp_path / "clips.ffconcat").read_text(encoding="utf-8").splitlines() == [
        *("ffconcat version 1.0", "# one more", "file 'https://v.test/it'\\''s.m3u8'", "inpoint 5.000", "outpoint 13.000"),
        *("# two", "file 'https://v.test/it'\\''s.m3u8'", "inpoint 13.000", "outpoint 17.000"),
        *("# three", "file 'https://v.test/it'\\''s.m3u8'", "inpoint 55.000", "outpoint 63.000"),
    ]
    clips.to_playlist(tmp_path / "clips.m3u8")
    lines = (tmp_path / "clips.m3u8").read_text(encoding="utf-8").splitlines()
    assert lines[:5] == [
        "#EXTM3U",
        "#EXTINF:8.000,one more",
        "#EXTVLCOPT:start-time=5.000",
        "#EXTVLCOPT:stop-time=13.000",
        "https://v.test/it's.m3u8#t=5.000,13.000",
    ]


def test_clips_are_a_table() -> None:
    clips = sideline.clips(shots(10), [video()])
    roundtrip = pickle.loads(pickle.dumps(clips))
    assert isinstance(roundtrip, sideline.Clips) and roundtrip.to_dicts() == clips.to_dicts()
    assert clips.name == "clips" and "2PT make" in str(clips)
    empty = sideline.clips(shots(10).clear(), [video()])
    assert empty.num_rows == 0 and empty.schema.to_arrow() == clips.schema.to_arrow()


@pytest.mark.parametrize("duration", ["before", "after", "offset"])
def test_a_duration_that_is_no_number_is_refused(duration: str) -> None:
    with pytest.raises(ValueError, match=duration):
        sideline.clips(shots(10), [video()], **{duration: float("nan")})


@pytest.mark.parametrize(
    ("name", "value"),
    [("hls_video_start_timestamp", "2026-11-01T00:00:00Z"), ("hls_duration", "long"), ("hls_start_offset", "none"), ("hls_video_delay_ms", "none")],
)
def test_a_field_of_a_video_that_is_no_number_is_named(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"videos: {name} is {value!r}; it must be a "):
        sideline.clips(shots(10), [video() | {name: value}])
