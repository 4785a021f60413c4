"""A small HTTP service that answers questions about a corpus, and fails or hangs where it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Handle = Callable[[dict[str, Any]], "tuple[int, Any] | None"]


class Service:
    """``with Service(handle) as service``: ``handle(body)`` gives status and JSON, or None to hang until the end."""

    def __init__(self, handle: Handle) -> None:
        self.handle, self.bodies, self.headers = handle, list[dict[str, Any]](), list[dict[str, str]]()
        self.release = threading.Event()

    def __enter__(self) -> Service:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def do_GET(self) -> None:
                self.answer({name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()})

            def answer(self, body: dict[str, Any]) -> None:
                service.bodies.append(body)
                service.headers.append(dict(self.headers))
                found = service.handle(body)
                if found is None:
                    service.release.wait(30)
                    return
                status, reply = found
                raw = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                self.send_response(status)
                if status in {301, 302, 307}:
                    self.send_header("Location", service.url)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/ask"
