"""A hostile peer: seeded odd responses and streams, sent over loopback through every operation. See README.md."""
