"""Spellings of models (address, name and options as one text), and the key of an endpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from ..core import wording
from ..core.errors import InputError
from ..core.validation import validation_problem

OPENAI = "https://api.openai.com/v1"


OPENAI_KEY = "OPENAI_API_KEY"


OTHER_KEY = "STEELYARD_API_KEY"


LITELLM = "litellm:"


def read_address(text: str, what: str) -> tuple[str, str, dict[str, str]]:
    """Read the base address, the model and the options of a spelling; ``what`` names it in errors."""
    if text.startswith(("http://", "https://")):
        url, _, rest = text.partition("#")
        model, _, tail = rest.partition("&")
        if not model or "=" in model:
            raise InputError(f"{text!r} names no model: write {url}#MODEL", field=what)
    elif text.startswith(("openai:", LITELLM)):
        head, _, tail = text.partition("#")
        url, model = (LITELLM if text.startswith(LITELLM) else OPENAI), head.partition(":")[2]
    else:
        forms = "openai:MODEL, http://HOST/v1#MODEL or litellm:PROVIDER/MODEL"
        raise InputError(f"unknown {what} {text!r}: write {forms}")
    check_url(url)
    return url.rstrip("/"), model, _split(tail, text, what)


def read_spelling(text: str, what: str) -> tuple[str, str, dict[str, str]]:
    """Read the spelling of a judge or an embedder in a report, which may have no address (``script:…``)."""
    if text.startswith(("http://", "https://", "openai:", LITELLM)):
        return read_address(text, what)
    model, _, tail = text.partition("#")
    return "", model, _split(tail, text, what)


def _split(tail: str, text: str, what: str) -> dict[str, str]:
    """Split the options of a spelling, by name."""
    options = {}
    for part in filter(None, tail.split("&")):
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"{part!r} in {text!r} is not an option: write name=value", field=what)
        options[name] = value
    return options


def read_options(options: Mapping[str, str], shape: type[msgspec.Struct], what: str) -> dict[str, object]:
    """Convert the options of a spelling to their types."""
    known = shape.__struct_fields__
    for name in options:
        if name not in known:
            raise InputError(f"unknown option {name!r}: {wording.did_you_mean(name, known)}", field=what)
    given = {name: None if value == "none" else value for name, value in options.items()}
    plain = {
        name: value.split(",") if name == "price" and value and "," in value else value for name, value in given.items()
    }
    try:
        typed = msgspec.convert(plain, shape, strict=False)
    except msgspec.ValidationError as error:
        words, place, _ = validation_problem(error, plain)
        raise InputError(f"option {place.removeprefix('$.')}: {words}", field=what) from None
    return {name: getattr(typed, name) for name in options}


def show_option(value: object) -> str:
    """Write an option as ``read_options`` reads it."""
    if value is None:
        return "none"
    return ",".join(f"{one:g}" for one in value) if isinstance(value, tuple) else str(value)


def spell_address(url: str, model: str, options: list[str]) -> str:
    """Write address, model and options as ``read_address`` reads them."""
    if url in {OPENAI, LITELLM, ""}:
        head = {OPENAI: "openai:", LITELLM: LITELLM, "": ""}[url] + model
        return head + ("#" if options else "") + "&".join(options)
    return f"{url}#{'&'.join([model, *options])}"


def check_url(url: str) -> None:
    """Raise InputError if an address contains a password, since addresses are printed in reports."""
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise InputError("the address contains a password: put the key into an environment variable (key_env=NAME)")


def key_of(url: str, key_env: str) -> tuple[str, str | None]:
    """The names of the environment variables that may hold the key of an endpoint, and the key, if it is set."""
    if key_env:
        wanted = [key_env]
    else:  # OpenAI's key is sent to other endpoints only if it is named
        host = urlsplit(url).hostname or ""
        wanted = [OPENAI_KEY, OTHER_KEY] if host == "openai.com" or host.endswith(".openai.com") else [OTHER_KEY]
    return " or ".join(wanted), next((key for name in wanted if (key := os.environ.get(name, "").strip())), None)
