"""Generated from proto/boardwire/v1 by tests/python/generate.py."""
