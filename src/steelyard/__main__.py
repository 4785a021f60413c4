"""``python -m steelyard``."""

from .cli import main

main()
