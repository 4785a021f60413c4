"""A system behind an HTTP address, described by where the question goes and where the answer stands."""

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

MOST_BYTES = 64 * 2**20


class Http:
    """Asks an address: ``Http("http://localhost:8000/ask", question="q", answer="data.answer", ids="data.docs.*.id")``.

    ``question`` and ``k`` are paths into the JSON body of a POST, beside what ``body`` holds (``messages.0.content``),
    or the names of a GET's parameters. ``key_env`` names the environment variable with a bearer token. Answers of 5xx
    and 429 may be retried by who calls; other refusals are final. Redirects are not followed.
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
            raise InputError(f"{url!r} is no http address")
        self.name, self.url, self.method, self.deadline = name or url, url, method, deadline
        self._question, self._k, self._body = question, k, dict(body or {})
        self._filled("", 1)
        self._headers = {"Accept": "application/json", "User-Agent": "steelyard", **(headers or {})}
        self._key_env, self.paths = key_env, Paths(**places) if paths is None else paths
        self._opener: OpenerDirector = build_opener(_Stay)

    def ask(self, question: str, k: int) -> Output:
        """Ask one question; AskFailed where there is no usable answer."""
        key = None
        if self._key_env is not None:
            _, key = key_of(self.url, self._key_env)
            if key is None:
                raise InputError(f"no key: set the environment variable {self._key_env}")
        raw = self._called(self._request(question, k, key), key)
        try:
            return self.paths.read(msgspec.json.decode(raw))
        except (msgspec.DecodeError, UnicodeError):
            raise AskFailed("bad_output", f"the reply is not JSON: {_said(raw, key)}") from None

    def _request(self, question: str, k: int, key: str | None) -> Request:
        body = self._filled(question, k)
        headers = self._headers | ({} if key is None else {"Authorization": f"Bearer {key}"})
        if self.method == "GET":
            mark = "&" if urlsplit(self.url).query else "?"
            return Request(self.url + mark + urlencode(body, doseq=True), headers=headers)  # noqa: S310 - http(s) only
        headers |= {"Content-Type": "application/json"}
        return Request(self.url, msgspec.json.encode(body), headers, method=self.method)  # noqa: S310 - as above

    def _filled(self, question: str, k: int) -> dict[str, Json]:
        body = put(self._body, self._question, question)
        return body if self._k is None else put(body, self._k, k)

    def _called(self, request: Request, key: str | None) -> bytes:
        try:
            with self._opener.open(request, timeout=self.deadline) as response:
                raw: bytes = response.read(MOST_BYTES + 1)
        except HTTPError as error:
            with error:
                said = _said(error.read(4096), key)
            again = error.code in {408, 425, 429} or error.code >= 500
            raise AskFailed("server_error" if again else "rejected", f"HTTP {error.code}: {said}") from None
        except TimeoutError:
            raise AskFailed("timeout", f"no answer within {self.deadline:g} s") from None
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise AskFailed("timeout", f"no answer within {self.deadline:g} s") from None
            if isinstance(error, URLError) and isinstance(reason, OSError):
                place = urlsplit(self.url)
                port = place.port or {"http": 80, "https": 443}[place.scheme]
                raise AskFailed("connection", unreachable(place.hostname or "", port, reason)) from None
            raise AskFailed("connection", f"{type(reason).__name__}: {reason}") from None
        if len(raw) > MOST_BYTES:
            raise AskFailed("bad_output", f"the reply is larger than {MOST_BYTES} bytes")
        return raw


class _Stay(HTTPRedirectHandler):
    """No redirect is followed: the key is for this address alone."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """None leaves the answer as it is: an HTTPError."""


def _said(raw: bytes, key: str | None) -> str:
    text = " ".join(raw.decode("utf-8", "replace").split())[:300]
    return text if not key else text.replace(key, "***")
