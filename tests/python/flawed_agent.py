"""The agent of `agent.py` with one flaw, which `boardwire agent-check` must find.

Usage: flawed_agent.py FLAW ADDRESS CODE

Each flaw is a function that changes one thing of the agent or of its client.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import agent
import boardwire
from boardwire import Observation, Seat, _client, errors

FLAWS: dict[str, Callable[[], None]] = {}
#: The reasons after which an agent repeats its request, or observes again. Each is a flaw if it is fatal.
REPEATED = ("", "JOURNAL_FAILED", "SHUTTING_DOWN", "RATE_EXCEEDED", "TIMED_OUT")
OBSERVED = ("DECISION_STALE", "DECISION_LATE", "EPISODE_OVER", "NOT_YOUR_TURN")
#: The seconds that a stuck agent waits.
FOREVER = 600.0


def flaw(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Adds a flaw."""

    def add(change: Callable[[], None]) -> Callable[[], None]:
        FLAWS[name] = change
        return change

    return add


def replace(owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Replaces a function by one that gets the former function as its first argument."""
    former = getattr(owner, name)
    setattr(owner, name, lambda *arguments, **named: change(former, *arguments, **named))


def fatal(reason: str) -> Callable[[], None]:
    """Returns the flaw that ends the agent after an error with this reason."""

    def checked(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except errors.BoardwireError as error:
            if error.reason == reason:
                sys.exit(f"agent: {error} {error.reason}")
            raise

    return lambda: replace(agent, "retry", lambda retry, call: retry(lambda: checked(call)))


FLAWS |= {f"gives up after {reason or 'a lost connection'}": fatal(reason) for reason in REPEATED + OBSERVED}


@flaw("none")
def none() -> None:
    """Is no flaw."""


@flaw("talkative")
def talkative() -> None:
    """Is no flaw. The output is larger than the buffer of a pipe, so the check must read it."""
    print("is playing\n" * 20_000, file=sys.stderr, flush=True)


@flaw("plays the lowest action")
def lowest() -> None:
    """Ignores the policy that the check asks for."""
    agent.choose = lambda obs: int(obs.mask.nonzero()[0][0])


@flaw("joins twice")
def joins_twice() -> None:
    """Uses a new request id for each join."""
    # The client repeats a join with the same request id. Without its retries, each join has a new id.
    vars(_client)["ATTEMPTS"] = 1
    replace(boardwire.Client, "join", lambda join, self, code: (self._joins.clear(), join(self, code))[1])


@flaw("plays one episode")
def one_episode() -> None:
    """Ends after the first episode, although the match is open."""
    replace(Seat, "reset", lambda reset, self, **named: sys.exit(0))


@flaw("asks for no other episode")
def no_reset() -> None:
    """Waits forever at the end of an episode."""
    replace(Seat, "reset", lambda reset, self, **named: time.sleep(FOREVER))


@flaw("resets without an episode")
def resets_any() -> None:
    """Does not say which episode it leaves."""

    def reset(former: Callable[..., Observation], self: Seat, **named: Any) -> Observation:
        self.last = None
        return former(self, **named)

    replace(Seat, "reset", reset)


@flaw("has a deadline of 3 s")
def short_deadline() -> None:
    """Ends its stream after 3 s, and repeats the request on a new one."""
    replace(Seat, "_ask", lambda ask, self, kind, request, timeout: ask(self, kind, request, 3.0))


@flaw("ends after 3 s")
def impatient() -> None:
    """Ends if another player takes more than 3 s."""
    short_deadline()
    replace(agent, "retry", lambda retry, call: retry(lambda: exits_on(errors.CallTimeout, call)))


def exits_on(kind: type[BaseException], call: Callable[[], Any], status: int | str = "agent: failed") -> Any:
    """Exits if the call raises such an error."""
    try:
        return call()
    except kind:
        sys.exit(status)


@flaw("polls")
def polls() -> None:
    """Calls `Observe` without `wait` until there is something to do."""

    def observe(former: Callable[..., Observation], self: Seat, **named: Any) -> Observation:
        while True:
            obs = former(self, wait=False)
            if obs.over or obs.mask.any():
                return obs
            time.sleep(0.05)

    def act(former: Callable[..., Observation], self: Seat, action: int, **named: Any) -> Observation:
        former(self, action, wait=False)
        return self.observe()

    replace(Seat, "observe", observe)
    replace(Seat, "act", act)


@flaw("opens a stream per request")
def many_streams() -> None:
    """Closes the stream after each response."""

    def ask(former: Callable[..., Observation], self: Seat, *arguments: Any) -> Observation:
        try:
            return former(self, *arguments)
        finally:
            self.close()

    replace(Seat, "_ask", ask)


@flaw("has no keepalive")
def no_keepalive() -> None:
    """Does not notice a silent connection."""
    replace(
        boardwire, "connect", lambda connect, address, **options: connect(without_pings(address), **options)
    )


def without_pings(address: str) -> str:
    """Starts to forward connections to `address`, and answers pings itself. Returns the new address."""
    host, port = address.rsplit(":", 1)
    listener = socket.create_server(("127.0.0.1", 0))

    def copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError), source, target:
            while data := source.recv(65536):
                target.sendall(data)

    def copy_frames(agent_side: socket.socket, server_side: socket.socket) -> None:
        with contextlib.suppress(OSError), agent_side, server_side, agent_side.makefile("rb") as stream:
            server_side.sendall(stream.read(24))  # the preface of HTTP/2
            while header := stream.read(9):
                body = stream.read(int.from_bytes(header[:3], "big"))
                is_ping = header[3] == 6 and not header[4] & 1
                if is_ping:
                    agent_side.sendall(header[:4] + b"\x01" + header[5:] + body)
                else:
                    server_side.sendall(header + body)

    def forward() -> None:
        while True:
            agent_side, _ = listener.accept()
            server_side = socket.create_connection((host, int(port)))
            threading.Thread(target=copy, args=(server_side, agent_side), daemon=True).start()
            threading.Thread(target=copy_frames, args=(agent_side, server_side), daemon=True).start()

    threading.Thread(target=forward, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


@flaw("ignores truncation")
def ignores_truncation() -> None:
    """Treats a truncated episode as one that continues."""
    vars(agent)["Observation"] = Observation
    Observation.over = property(lambda obs: obs.terminated)  # type: ignore[assignment, method-assign]


@flaw("ignores fair deals")
def ignores_fair_deals() -> None:
    """Never reveals its secret."""
    replace(Seat, "reveal", lambda reveal, self: None)


@flaw("reveals at once")
def reveals_at_once() -> None:
    """Reveals its secret before it has seen all commitments."""
    replace(Seat, "_all_joined", lambda all_joined, self, timeout: None)


@flaw("has a constant secret")
def constant_secret() -> None:
    """Uses the same secret at every seat."""
    replace(secrets, "token_bytes", lambda token_bytes, size: bytes(size))


@flaw("thinks a minute")
def thinks_a_minute() -> None:
    """Reports a minute of thought for each action."""
    reports(60.0)


@flaw("thinks no time")
def thinks_no_time() -> None:
    """Reports that it does not think."""
    reports(0.0)


@flaw("reports no thought")
def reports_no_thought() -> None:
    """Reports no time."""
    reports(None)


def reports(thought: float | None) -> None:
    """Sets the time of thought that the agent reports."""

    def ask(
        former: Callable[..., Any], self: Seat, kind: str, request: dict[str, Any], timeout: float
    ) -> Any:
        return former(self, kind, request | ({"thought": thought} if kind == "act" else {}), timeout)

    replace(Seat, "_ask", ask)


@flaw("ignores BOARDWIRE_CHECK_THINK")
def hurries() -> None:
    """Acts at once."""
    agent.THINK = 0.0


@flaw("exits silently when its stream breaks while it thinks")
def exits_silently() -> None:
    """Ends with 0, without a message."""
    replace(
        Seat,
        "act",
        lambda act, *given, **named: exits_on(errors.ConnectionLost, lambda: act(*given, **named), 0),
    )


@flaw("hangs when its stream breaks while it thinks")
def hangs() -> None:
    """Waits forever."""

    def stuck(act: Callable[..., Any], *given: Any, **named: Any) -> Any:
        try:
            return act(*given, **named)
        except errors.ConnectionLost:
            time.sleep(FOREVER)

    replace(Seat, "act", stuck)


@flaw("gives up when a reset has no response")
def loses_resets() -> None:
    """Ends when the response to a reset is lost."""
    replace(
        Seat,
        "reset",
        lambda reset, *given, **named: exits_on(errors.ConnectionLost, lambda: reset(*given, **named)),
    )


@flaw("repeats no join")
def repeats_no_join() -> None:
    """Ends when its join is refused for a moment."""
    replace(
        boardwire.Client, "join", lambda join, *given: exits_on(errors.BoardwireError, lambda: join(*given))
    )


@flaw("stays after the match")
def stays() -> None:
    """Does not end when the match is closed."""
    replace(agent, "play", lambda play, *given: ends(play, given, lambda: time.sleep(FOREVER)))


@flaw("fails after the match")
def fails_at_the_end() -> None:
    """Exits with another status than 0 when the match is closed."""
    replace(agent, "play", lambda play, *given: ends(play, given, lambda: sys.exit(3)))


def ends(play: Callable[..., None], given: tuple[Any, ...], then: Callable[[], None]) -> None:
    """Plays, and does something when the match is closed."""
    try:
        play(*given)
    except errors.Gone:
        then()


@flaw("says nothing")
def says_nothing() -> None:
    """Reports no error."""
    agent.main = lambda main=agent.main: exits_on(SystemExit, main, 1)  # type: ignore[misc]


@flaw("succeeds without a seat")
def succeeds() -> None:
    """Exits with 0 after an error."""

    def main(former: Callable[[], None]) -> None:
        try:
            former()
        except SystemExit as error:
            print(error, file=sys.stderr)

    replace(agent, "main", main)


@flaw("prints a stack trace")
def prints_a_trace() -> None:
    """Does not catch errors."""

    def main(former: Callable[[], None]) -> None:
        try:
            former()
        except SystemExit as error:
            raise RuntimeError(str(error)) from error

    replace(agent, "main", main)


if __name__ == "__main__":
    FLAWS[sys.argv.pop(1)]()
    agent.main()
