"""Records that print themselves. The renderers load when something is printed."""

from __future__ import annotations


class Printable:
    """A record whose text, Markdown and notebook forms are made by ``render``."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.rendered("text")

    def rendered(self, form: str, *given: object, **options: object) -> str:
        """The record in one of its forms: ``text``, ``markdown``, ``fragment`` (HTML for a notebook), ``page``."""
        from ..render.records import rendered

        return rendered(self, form, *given, **options)
