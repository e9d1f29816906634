"""The settings and tensors of requests to the gateway for `dm_env_rpc.v1`."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from dm_env_rpc.v1 import tensor_utils

from ._types import AGENT
from .errors import InvalidRequest

#: The prefix of the settings that are options of the game.
OPTION = "options."


def invalid(field: str, value: object, expected: str) -> InvalidRequest:
    """Returns the error of a field that is not as `expected`."""
    return InvalidRequest(f"{field} must be {expected}; got {value}")


class Settings:
    """The settings of a request. Errors name the setting that is invalid."""

    def __init__(self, tensors: Mapping[str, pb.Tensor], known: Sequence[str] = ()) -> None:
        """Checks the names; `OPTION` among the known ones allows every name that begins with it."""
        for name in tensors:
            if name not in known and not (OPTION in known and name.startswith(OPTION)):
                raise invalid(
                    "settings",
                    name,
                    f"among {', '.join(known)}".replace(OPTION, f"{OPTION}NAME") if known else "empty",
                )
        self._tensors = tensors

    def read(
        self, name: str, default: Any, expected: str, *types: type, allowed: Container[Any] | None = None
    ) -> Any:
        """Returns a setting, or `default` if the setting is missing."""
        if name not in self._tensors:
            return default
        value = np.asarray(unpacked(f"settings.{name}", self._tensors[name])).tolist()
        if type(value) not in types or (allowed is not None and value not in allowed):
            raise invalid(f"settings.{name}", value, expected)
        return value

    def text(self, name: str, default: str | None, choices: Sequence[str]) -> Any:
        """Returns a setting that must be one of `choices`; it is required if `default` is None."""
        expected = f"one of {', '.join(choices)}"
        if default is None and name not in self._tensors:
            raise invalid(f"settings.{name}", "nothing", expected)
        return self.read(name, default, expected, str, allowed=choices)

    def whole(self, name: str, default: int | None, minimum: int, maximum: int) -> Any:
        expected = f"a whole number from {minimum} to {maximum}"
        return self.read(name, default, expected, int, allowed=range(minimum, maximum + 1))

    def seed(self) -> Any:
        return self.whole("seed", None, 0, 2**64 - 1)

    def bots(self, count: int) -> list[str]:
        """Returns the names of `count` bots; one name stands for all."""
        names: Any = ["random"] * count
        if "bots" in self._tensors:
            value = unpacked("settings.bots", self._tensors["bots"], longest=count)
            names = [value] * count if isinstance(value, str) else np.ravel(value).tolist()
        if len(names) != count or not all(isinstance(name, str) and name != AGENT for name in names):
            expected = f"the name of a bot, or {count} of them, for the other seats in turn"
            raise invalid("settings.bots", names, expected)
        return names  # type: ignore[no-any-return] # Checked above.

    def options(self) -> dict[str, str]:
        """Returns the options of the game as the server reads them."""
        found = {}
        for name in self._tensors:
            if name.startswith(OPTION):
                value = self.read(name, None, "a string, a whole number or a bool", str, int, bool)
                text = str(value)
                found[name.removeprefix(OPTION)] = text.lower() if isinstance(value, bool) else text
        return found


def unpacked(field: str, tensor: pb.Tensor, longest: int = 0) -> Any:
    """Unpacks a tensor to a numpy scalar, or to a 1-D array of at most `longest` elements."""
    # `unpack_tensor` would repeat a single element to fill a large shape.
    shape = tuple(tensor.shape)
    if shape and not (len(shape) == 1 and 0 < shape[0] <= longest):
        raise invalid(field, f"a tensor of shape {list(shape)}", "a single value")
    try:
        return tensor_utils.unpack_tensor(tensor)
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"{field} is not a tensor: {error}") from error
