from ._rows.names import *  # noqa: F403  the extension imports this name until it is compiled again
