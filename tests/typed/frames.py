"""A user's script that continues with frames: checked by mypy and pyright, both strict.

pyarrow ships no types: what `to_arrow()` gives is known to mypy as Any, and to pyright not at all.
"""

from typing import Any, assert_type

import polars

import sideline


def frames(client: sideline.Client, session_id: str) -> int:
    shots = client.shots(session_id)
    assert_type(shots.to_polars(), polars.DataFrame)
    frame = polars.DataFrame(shots.table(columns=["is_make"]))
    print(shots.to_pandas("shots").head(), sideline.SCHEMAS["shots"].names)
    assert_type(shots.to_polars("shots", columns=["points"]), polars.DataFrame)
    assert_type(shots.table(names=True)["player_name"], list[Any])
    assert_type(client.find_team("mariners", timeout=5), sideline.Table)
    batch = client.stats([session_id], timeout=sideline.Timeout(total=5))
    assert_type(batch[0], sideline.Payload)
    assert_type(batch[:1], list[sideline.Payload])
    sideline.Table.from_arrow(frame, "shots").to_csv("shots.csv")
    return frame.height
