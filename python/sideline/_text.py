from ._rows.text import *  # noqa: F403  the extension imports this name until it is compiled again
