"""What connects sideline with other programs: an assistant's server, traces, and recordings without personal data.

assistant.py        serves an archive to an assistant: tools and resources
archived.py         the tools that read an archive
names.py            finds teams and players by name
verdicts.py         tells which games an answer rests on, and how reliable they are
replies.py          turns rows and verdicts into a reply of limited length
queries.py          runs a query in a process of its own
query_worker.py     is that process
calls.py            keeps the record of calls
pages/              pages of the documentation, copied by `make generate`
capture_*.py        walk the service into a folder, and report what was unknown
pseudonyms.py       replaces personal data; permutation.py, masks.py and wire_fields.py are its parts
late_names.py       replaces in a capture what a later body shows to be personal
recording.py        reads a captured folder for the simulator
own_key.py          has the user's own key of pseudonyms
state.py            has the user's folder for locks, keys and records
traces.py           reports to OpenTelemetry
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .assistant import serve as serve
    from .capture_folder import PAGE as PAGE
    from .capture_walk import capture as capture
    from .own_key import pseudonyms_of as pseudonyms_of
    from .pseudonyms import Pseudonyms as Pseudonyms
    from .recording import recording_of as recording_of
    from .state import state_folder as state_folder
    from .traces import current_trace as current_trace, observe_stream as observe_stream, trace_sync as trace_sync
else:
    from .._lazy import open_door

    __getattr__ = open_door(
        __name__,
        {
            "assistant": "serve",
            "capture_walk": "capture",
            "capture_folder": "PAGE",
            "recording": "recording_of",
            "pseudonyms": "Pseudonyms",
            "own_key": "pseudonyms_of",
            "state": "state_folder",
            "traces": "current_trace observe_stream trace_sync",
        },
    )
