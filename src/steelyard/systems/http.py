"""A system behind an HTTP address, with the paths of the question in the request and of the answer in the reply."""

from __future__ import annotations

from collections.abc import Mapping
from http.client import HTTPException
from typing import Literal
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

import msgspec

from ..core.errors import AskFailed, InputError
from ..core.records import Json
from ..models.endpoint import unreachable
from ..models.model_spec import check_url, key_of
from .json_mapping import Paths, put
from .outputs import Output

MAX_BYTES = 64 * 2**20


class Http:
    """Calls a service: ``Http("http://localhost:8000/ask", question="q", answer="data.answer", ids="data.docs.*.id")``.

    ``question`` and ``k`` are paths in the JSON body of a POST, which may have other fields in ``body``
    (``messages.0.content``), or the parameters of a GET. ``key_env`` is the environment variable with a bearer token.
    The status codes 408, 425, 429 and 5xx can be retried; other errors are final. Redirects are not followed.
    """

    def __init__(
        self,
        url: str,
        *,
        method: Literal["POST", "GET"] = "POST",
        question: str = "question",
        k: str | None = None,
        body: Mapping[str, Json] | None = None,
        headers: Mapping[str, str] | None = None,
        key_env: str | None = None,
        deadline: float | None = 60.0,
        name: str = "",
        paths: Paths | None = None,
        **places: str,
    ) -> None:
        check_url(url)
        if urlsplit(url).scheme not in {"http", "https"}:
            raise InputError(f"{url!r} is not an HTTP address")
        self.name, self.url, self.method, self.deadline = name or url, url, method, deadline
        self._question, self._k, self._body = question, k, dict(body or {})
        self._body_with("", 1)
        self._headers = {"Accept": "application/json", "User-Agent": "steelyard", **(headers or {})}
        self._key_env, self.paths = key_env, Paths(**places) if paths is None else paths
        self._opener: OpenerDirector = build_opener(_NoRedirect)

    def ask(self, question: str, k: int) -> Output:
        """Send one question; AskFailed if there is no readable reply."""
        key = None
        if self._key_env is not None:
            _, key = key_of(self.url, self._key_env)
            if key is None:
                raise InputError(f"no key: set the environment variable {self._key_env}")
        raw = self._send(self._request(question, k, key), key)
        try:
            return self.paths.read(msgspec.json.decode(raw))
        except (msgspec.DecodeError, UnicodeError):
            raise AskFailed("bad_output", f"the reply is not JSON: {_excerpt(raw, key)}") from None

    def _request(self, question: str, k: int, key: str | None) -> Request:
        body = self._body_with(question, k)
        headers = self._headers | ({} if key is None else {"Authorization": f"Bearer {key}"})
        if self.method == "GET":
            mark = "&" if urlsplit(self.url).query else "?"
            return Request(self.url + mark + urlencode(body, doseq=True), headers=headers)  # noqa: S310 - http(s) only
        headers |= {"Content-Type": "application/json"}
        return Request(self.url, msgspec.json.encode(body), headers, method=self.method)  # noqa: S310 - as above

    def _body_with(self, question: str, k: int) -> dict[str, Json]:
        body = put(self._body, self._question, question)
        return body if self._k is None else put(body, self._k, k)

    def _send(self, request: Request, key: str | None) -> bytes:
        try:
            with self._opener.open(request, timeout=self.deadline) as response:
                raw: bytes = response.read(MAX_BYTES + 1)
        except HTTPError as error:
            with error:
                text = _excerpt(error.read(4096), key)
            temporary = error.code in {408, 425, 429} or error.code >= 500
            raise AskFailed("server_error" if temporary else "rejected", f"HTTP {error.code}: {text}") from None
        except TimeoutError:
            raise AskFailed("timeout", f"no answer within {self.deadline:g} s") from None
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise AskFailed("timeout", f"no answer within {self.deadline:g} s") from None
            if isinstance(error, URLError) and isinstance(reason, OSError):
                address = urlsplit(self.url)
                port = address.port or {"http": 80, "https": 443}[address.scheme]
                raise AskFailed("connection", unreachable(address.hostname or "", port, reason)) from None
            raise AskFailed("connection", f"{type(reason).__name__}: {reason}") from None
        if len(raw) > MAX_BYTES:
            raise AskFailed("bad_output", f"the reply is larger than {MAX_BYTES} bytes")
        return raw


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect, because the key is only for this address."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Return None, so that the redirect is raised as an HTTPError."""


def _excerpt(raw: bytes, key: str | None) -> str:
    text = " ".join(raw.decode("utf-8", "replace").split())[:300]
    return text if not key else text.replace(key, "***")
