"""Models behind litellm, called like an endpoint."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

import msgspec

from ..core.records import Json
from .endpoint import Endpoint

_SECRET = ("_KEY", "_TOKEN", "_SECRET")
_SHORT = 8


class LitellmEndpoint(Endpoint):
    """``litellm:provider/model``. litellm reads the keys from the variables of its providers."""

    async def _send(self, path: str, body: Mapping[str, Json]) -> tuple[int, Mapping[str, str], bytes]:  # noqa: ARG002
        import litellm

        litellm.suppress_debug_info = True  # it would print to the terminal
        self._key_names = "the environment variable that litellm names for the provider"
        try:
            async with asyncio.timeout(self.deadline):
                answer = await litellm.acompletion(**body, num_retries=0, max_retries=0)
        except TimeoutError:
            raise
        except Exception as error:  # noqa: BLE001 - each provider has its own errors; their status classifies them
            status = getattr(error, "status_code", None)
            response = getattr(error, "response", None)
            body_of_error = msgspec.json.encode({"error": {"message": str(error), "code": type(error).__name__}})
            headers: Mapping[str, str] = getattr(response, "headers", None) or {}
            return (status if isinstance(status, int) else 500), headers, self._cleansed(body_of_error)
        return 200, {}, self._cleansed(answer.model_dump_json().encode())

    def _cleansed(self, raw: bytes) -> bytes:
        for name, value in os.environ.items():
            if name.endswith(_SECRET) and len(value) >= _SHORT:
                raw = raw.replace(value.encode(), b"***")
        return raw
