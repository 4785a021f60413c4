"""Import systems from code of the user: ``module:object`` or ``file.py:object``."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

from ..core.errors import InputError, UnknownName
from ..core.records import Json
from ..core.wording import did_you_mean


def load(
    spec: str,
    settings: Mapping[str, Json] | None = None,
    *,
    corpus: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> object:
    """Import the object of a spec; a class, and with ``settings`` also a function, is called with the settings.

    A class or function with a parameter ``corpus`` gets the corpus. Files and modules are searched in ``folder`` first.

    >>> load("math:sqrt")(4)
    2.0
    """
    module, name = _module(spec, folder or Path())
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = [one for one in vars(module) if not one.startswith("_")]
            raise UnknownName(f"no {name!r} in it: {did_you_mean(part, known)}", path=getattr(module, "__file__", None))
        found = getattr(found, part)
    is_class = isinstance(found, type)
    if not is_class and settings is None:
        return found
    if not callable(found):
        raise InputError(f"{spec} takes no settings: it is {type(found).__name__}")
    given = dict(settings or {})
    try:
        signature = inspect.signature(found)
    except ValueError:  # built in C: no signature to read
        return found(**given)
    if corpus is not None and "corpus" in signature.parameters:
        given = {"corpus": corpus, **given}  # type: ignore[dict-item]
    try:
        signature.bind(**given)
    except TypeError as error:
        raise InputError(f"{spec} cannot be called with {', '.join(given) or 'nothing'}: {error}") from None
    return found(**given)


def digest_of_code(spec: str, folder: Path) -> str:
    """A digest of the file that a spec names, which changes with the code; empty if there is no such file."""
    module, _, _ = spec.rpartition(":")
    paths = [folder / module] if module.endswith(".py") else [folder / f"{module.replace('.', '/')}.py"]
    content = next((path.read_bytes() for path in paths if path.is_file()), b"")
    return blake2b(content, digest_size=8).hexdigest() if content else ""


def _module(spec: str, folder: Path) -> tuple[ModuleType, str]:
    module, colon, name = spec.rpartition(":")
    if not colon or not module or not name:
        raise InputError(f"{spec!r} names no object: write module:object or file.py:object")
    try:
        if module.endswith(".py"):
            return _file(folder / module), name
        sys.path.insert(0, str(folder.resolve()))
        try:
            return importlib.import_module(module), name
        finally:
            sys.path.remove(str(folder.resolve()))
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{module} does not load: {type(error).__name__}: {error}") from error


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError("no such file", path=path)
    name = f"steelyard_system_{path.stem}_{blake2b(str(path.resolve()).encode(), digest_size=4).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError("not a Python file", path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
