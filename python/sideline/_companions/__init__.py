"""What connects an archive with other programs: the assistant's server.

assistant.py      serves an archive to an assistant: tools and resources
archived.py       reads what the tools return
names.py          finds teams and players by name
verdicts.py       tells which games an answer rests on, and how reliable they are
replies.py        turns rows and verdicts into a reply of limited length
queries.py        runs a query in a process of its own
query_worker.py   is that process
calls.py          keeps the record of calls
state.py          has the user's folder for locks and records
pages/            pages of the documentation, copied by `make generate`
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .assistant import serve as serve
    from .state import state_folder as state_folder
else:
    from .._lazy import open_door

    __getattr__ = open_door(__name__, {"assistant": "serve", "state": "state_folder"})
