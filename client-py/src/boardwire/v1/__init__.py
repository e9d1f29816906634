"""Generated from proto/boardwire/v1 by client-py/generate.py."""
