"""Table of render functions by record and form. A function is imported when it is first called."""

from __future__ import annotations

from importlib import import_module

_PLACES = {
    "Report": {
        "text": "text.text",
        "markdown": "markdown.markdown",
        "latex": "latex.latex",
        "fragment": "html.fragment",
        "page": "html.page",
        "files": "files.write",
        "mlflow": "mlflow.log",
    },
    "Comparison": {
        "text": "comparison.text",
        "markdown": "comparison.markdown",
        "fragment": "comparison.fragment",
    },
    "Calibration": {"text": "calibration.text", "markdown": "calibration.markdown"},
    "Drift": {"text": "drift.text"},
    "Preference": {"text": "preference.text"},
}
"""Module and function in this package, by class of the record and form."""


def rendered(record: object, form: str, *given: object, **options: object) -> str:
    """Render a record in one form; the forms ``files`` and ``mlflow`` write it and return its location.

    Raises TypeError for a record or a form without a renderer.
    """
    name = next((one.__name__ for one in type(record).__mro__ if one.__name__ in _PLACES), "")
    place = _PLACES.get(name, {}).get(form)
    if place is None:
        raise TypeError(f"{type(record).__name__} has no form {form!r}")
    module, _, function = place.partition(".")
    result: str = getattr(import_module(f".{module}", __package__), function)(record, *given, **options)
    return result
