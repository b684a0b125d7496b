"""A script of a user that goes on with frames: checked by mypy and pyright, both strict.

pyarrow ships no types: what `to_arrow()` gives is known to mypy as Any, and to pyright not at all.
"""

from typing import assert_type

import polars

import sideline


def frames(client: sideline.Client, session_id: str) -> int:
    shots = client.shots(session_id)
    assert_type(shots.to_polars(), polars.DataFrame)
    made = polars.DataFrame(shots.table(columns=["is_make"]))
    print(shots.to_pandas("shots").head(), sideline.SCHEMAS["shots"].names)
    return made.height
