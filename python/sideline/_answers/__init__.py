"""Questions that data teams ask of several tables at once: each is one function.

frames.py     arguments as polars frames, and frames as tables
names.py      people's names, and how alike two of them are: pure
crosswalk.py  who is who in another source
clips.py      where a play is in the videos of its game
moments.py    where everyone was around a play
"""
