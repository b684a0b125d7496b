"""Functions that answer questions over several tables at once.

frames.py     converts arguments to polars frames, and frames to tables
names.py      parses and compares names of people: pure
crosswalk.py  matches players with another source
clips.py      plays in the videos of their games
moments.py    positions around plays
"""
