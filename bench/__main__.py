"""``make bench``: every benchmark at its small size; each script alone takes larger ones (see --help of each)."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FITS = "fit_"


def main() -> int:
    """Run them one after the other, so that they do not disturb each other; the number of those that failed."""
    failed = 0
    for path in sorted(HERE.glob("*.py")):
        if path.stem.startswith(("_", FITS)) or importlib.util.find_spec(f"bench.{path.stem}") is None:
            continue
        if "def main(" not in path.read_text(encoding="utf-8"):
            continue
        print(f"\n── bench/{path.name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"bench.{path.stem}"], check=False).returncode != 0
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
