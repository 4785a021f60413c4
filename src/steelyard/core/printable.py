"""A mixin for records that can print themselves; the renderers are imported when a record is printed."""

from __future__ import annotations


class Printable:
    """A record that ``render`` prints as text, Markdown or HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.rendered("text")

    def rendered(self, form: str, *given: object, **options: object) -> str:
        """Render the record as ``text``, ``markdown``, ``fragment`` (HTML for a notebook) or ``page``."""
        from ..render.renderers import rendered

        return rendered(self, form, *given, **options)
