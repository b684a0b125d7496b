"""Companions of the client: pseudonyms, and the capture of a service."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .capture_folder import PAGE as PAGE
    from .capture_walk import capture as capture
    from .own_key import pseudonyms_of as pseudonyms_of
    from .pseudonyms import MASK as MASK, Pseudonyms as Pseudonyms
    from .recording import recording_of as recording_of
    from .state import state_folder as state_folder
else:
    from .._lazy import open_door

    __getattr__ = open_door(
        __name__,
        {
            "capture_walk": "capture",
            "capture_folder": "PAGE",
            "recording": "recording_of",
            "own_key": "pseudonyms_of",
            "pseudonyms": "MASK Pseudonyms",
            "state": "state_folder",
        },
    )
