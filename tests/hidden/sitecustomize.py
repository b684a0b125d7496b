"""Python imports this at its start where `hide.py` has put its folder into PYTHONPATH."""

import os

from hiding import VARIABLE, hide

if os.environ.get(VARIABLE):
    hide(os.environ[VARIABLE].split(","))
