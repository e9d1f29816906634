"""A chat endpoint for tests: a scripted model behind the HTTP interface of OpenAI-compatible servers."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Returns the model's message for a request's messages.
Model = Callable[[list[dict[str, Any]]], dict[str, Any]]


def first_call(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Calls the tool of the first legal action in the last prompt."""
    line = next(line for line in messages[-1]["content"].splitlines() if line.startswith("- "))
    name, argument = line.removeprefix("- ").split("): ")[0].split("(")
    arguments = json.dumps({"value": argument} if argument else {})
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@contextlib.contextmanager
def endpoint(model: Model, requests: list[dict[str, Any]]) -> Iterator[str]:
    """Serves a model, and yields the URL of the endpoint. Each request is appended to `requests`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append({"path": self.path, "key": self.headers["Authorization"], **request})
            message = model(request["messages"])
            body = json.dumps({"choices": [{"message": message}], "usage": {"total_tokens": 10}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()
