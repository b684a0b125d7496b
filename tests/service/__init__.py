"""The second service: written from the specification alone, it shares no code with the package or its simulator. See README.md."""

from .faults import EMPTY, NO_DATA, NULL, Fault, error_document, gateway_document, ids_as_text, odd_value, truncated
from .features import Features
from .live import Connection, Live, Sent, frame
from .messages import Request, Response
from .mutations import Mutations
from .played import PlayedGame
from .season import Event, Possession, Season, Session, instant, milliseconds
from .server import Service
from .signature import Credential, sign
from .truth import Differences, Row, Truth, canonical, differences

__all__ = [
    "EMPTY",
    "NO_DATA",
    "NULL",
    "Connection",
    "Credential",
    "Differences",
    "Event",
    "Fault",
    "Features",
    "Live",
    "Mutations",
    "PlayedGame",
    "Possession",
    "Request",
    "Response",
    "Row",
    "Season",
    "Sent",
    "Service",
    "Session",
    "Truth",
    "canonical",
    "differences",
    "error_document",
    "frame",
    "gateway_document",
    "ids_as_text",
    "instant",
    "milliseconds",
    "odd_value",
    "sign",
    "truncated",
]
