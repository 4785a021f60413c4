"""An endpoint that answers every chat completion at once (or after ``--latency`` seconds) with the same yes, as cheaply
as Python can."""

from __future__ import annotations

import argparse
import asyncio
import json

CONTENT = json.dumps({"reason": "It says so.", "verdict": "yes"})
BODY = json.dumps(
    {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": CONTENT}}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 12},
    }
).encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
LATENCY = 0.0


class Instant(asyncio.Protocol):
    """Reads requests by their Content-Length and answers each."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (head := self.buffer.find(b"\r\n\r\n")) >= 0:
            at = self.buffer[:head].lower().find(b"content-length:")
            length = int(self.buffer[at + 15 : head].split(b"\r\n", 1)[0])
            if len(self.buffer) < head + 4 + length:
                return
            self.buffer = self.buffer[head + 4 + length :]
            if LATENCY:
                asyncio.get_running_loop().call_later(LATENCY, self.transport.write, ANSWER)
            else:
                self.transport.write(ANSWER)


async def answer_on(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--latency", type=float, default=0.0)
    args = parser.parse_args()
    LATENCY = args.latency
    asyncio.run(answer_on(args.port))
