"""The structure of the package: the order of its rooms, the size of files, what importing loads, the public names."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "steelyard"
ROOMS = (
    "core", "io", "text", "stats", "ranking", "datasets", "metrics", "models",
    "reports", "systems", "evaluate", "judges", "synthesis", "render", "runs", "cli",
)  # fmt: skip
"""The rooms in order: a room imports from itself and from the rooms before it."""
SEAM = ("core", "render")
"""The one exception: a record that can print itself imports its renderer when it is printed."""
ROOT = {"__init__.py", "__main__.py", "pytest_plugin.py", "py.typed"}
LINES = 600
VAGUE = {"utils", "util", "helpers", "helper", "common", "base", "manager", "handler", "service", "misc"}


def module_of(path: Path) -> str:
    """The dotted name of a file's module below ``steelyard``."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").rstrip(".")


FILES = {module_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports_of(module: str) -> set[str]:
    """The modules of ours that one imports, inside functions too; imports for the type checker alone do not count."""
    path = FILES[module]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    package = ("steelyard", *path.relative_to(SOURCE).parts[:-1])
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            target = ".".join([*start, *(node.module.split(".") if node.module else [])])
            if target.split(".")[0] == "steelyard":
                inside = target.removeprefix("steelyard").removeprefix(".")
                for alias in node.names:
                    below = f"{inside}.{alias.name}".removeprefix(".")
                    found.add(below if below in FILES else inside)
    return found - {module}


def room_of(module: str) -> str:
    """The room that a module stands in; the root of the package is no room and may import anything."""
    return module.split(".", maxsplit=1)[0]


def test_rooms_have_an_order_and_files_a_size() -> None:
    """A room imports only from rooms before it, files import in one direction, and a file holds one thing."""
    order = {room: index for index, room in enumerate(ROOMS)}
    imports = {module: imports_of(module) for module in FILES}
    assert {path.name for path in SOURCE.iterdir()} == {*ROOMS, *ROOT, "resources"} | (
        {"__pycache__"} & {path.name for path in SOURCE.iterdir()}
    )
    rising = [
        f"{module} imports {other}"
        for module, others in imports.items()
        if room_of(module) in order
        for other in others
        if order.get(room_of(other), len(ROOMS)) > order[room_of(module)] and (room_of(module), room_of(other)) != SEAM
    ]
    assert rising == []
    direct = {
        module: {other for other in others if (room_of(module), room_of(other)) != SEAM}
        for module, others in imports.items()
    }
    list(TopologicalSorter(direct).static_order())  # raises CycleError
    long = [module for module, path in FILES.items() if len(path.read_text(encoding="utf-8").splitlines()) > LINES]
    assert long == []
    assert [module for module in FILES if module.split(".")[-1] in VAGUE] == []


COMPUTING = ["numpy", "polars", "scipy", "pandas", "aiohttp", "jinja2", "rapidfuzz"]


def without(libraries: list[str], code: str) -> subprocess.CompletedProcess[str]:
    """A process that fails if some code loads one of the libraries."""
    check = f"import sys; loaded = set({libraries!r}) & set(sys.modules); assert not loaded, loaded"
    return subprocess.run([sys.executable, "-c", f"{code}; {check}"], capture_output=True, text=True, check=False)


def test_importing_is_silent_and_light() -> None:
    """``import steelyard`` prints nothing, patches nothing and loads none of the heavy libraries."""
    code = "import asyncio; before = asyncio.run; import steelyard; assert asyncio.run is before"
    done = without([*COMPUTING, "rich", "typer", "msgspec"], code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_command_line_loads_what_a_verb_needs() -> None:
    """Saying its version, or what is wrong with a command, takes none of the libraries that compute."""
    done = without(COMPUTING, "from steelyard.cli import invoke; invoke(['--version'])")
    assert (done.returncode, done.stderr) == (0, "")


def test_every_public_name_is_there() -> None:
    """What ``__all__`` promises can be imported, and the type checker is told the same."""
    import steelyard

    for name in steelyard.__all__:
        assert getattr(steelyard, name) is not None
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    told = {
        (node.module, alias.asname)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == {(module, name) for module, names in steelyard._WHERE.items() for name in names}
