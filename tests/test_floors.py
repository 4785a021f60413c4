"""The structure of the package: floors, sizes, names, the public surface."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "steelyard"
MODULES = sorted(path for path in SOURCE.rglob("*.py"))

FLOORS = {
    0: "errors misfits records flow names wording core trec_names",
    1: """stats distributions resampling swaps significance power agreement correlation krippendorff pool vectors
        text language stopwords numerals scripts sentences labels shapes replies chances duplicates
        policy rankings judgements join placing
        english commonness placed passage_index laid mismatches correctness grounding calibrated ppi bradley_terry""",
    2: "batch metric metrics shelf",
    3: """ir_collections lines cells tables rows values fields case_rows intake samples dataset convert check
        trec trec_blocks trec_numbers trec_lines trec_scan trec_pieces trec_output beir
        report report_check report_json namesakes store config plan labels_file ragas_bridge testcases kinds corpus system_config anchoring anchors set_folder folder parts""",
    4: """ledger exchanges judge embedder local_embedder limiter pace purse segments endpoint litellm_endpoint trace asking embedding
        reckoning engine tally""",
    5: "systems loops calls collect",
    6: """answer_quality agree pooling judging evaluate_rankings evaluate_samples evaluate_system suite comparison blockers compare line_up tied_orders failures reasons
        gate run_config run_systems plan_systems weighing rank_cluster cluster ray_cluster corpus_check synthesis synthesize dataset_builder review demo
        calibration labelled thresholds calibrate label labeller jury prefer repeats drift""",
    7: "render cli pytest_plugin __init__ __main__",
}
"""A module imports from its own floor, without cycles, and from the floors below."""

SEAMS = {
    ("report", "render"),  # a record's methods that show it import their renderer when they are called
    ("comparison", "render"),
    ("calibration", "render"),
    ("prefer", "render"),
    ("drift", "render"),
    ("run_config", "render"),
    ("demo", "render"),
    ("report", "report_json"),  # which is the other half of report
    ("report", "__init__"),  # the version
    ("report", "judge"),  # what of a judge's name its verdicts depend on, and of an embedder's
    ("report", "embedder"),
    ("judge", "answer_quality"),  # a language model is a judge of answers as any other
}

BANNED = {"utils", "util", "helpers", "helper", "common", "base", "manager", "handler", "service", "misc"}


def name_of(path: Path) -> str:
    """The module or package below ``steelyard`` that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def floor_of(name: str) -> int:
    """The floor of a module; one that is on no list is an error of its author's."""
    return next(floor for floor, names in FLOORS.items() if name in names.split())


def imports(path: Path) -> set[str]:
    """The modules of ours that a file imports, inside functions too; for the type checker alone does not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    depth = len(path.relative_to(SOURCE).parts)
    found: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level == depth:
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            found |= {
                name if (SOURCE / name).exists() or (SOURCE / f"{name}.py").exists() else "__init__" for name in names
            }
        elif node.level == 0 and (node.module or "").startswith("steelyard"):
            found.add((node.module or "").split(".")[1] if "." in (node.module or "") else "__init__")
    return found - {name_of(path)}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path: Path) -> None:
    """A module imports only from its own floor and from lower ones; the seams are named."""
    here = name_of(path)
    up = [one for one in imports(path) if floor_of(one) > floor_of(here) and (here, one) not in SEAMS]
    assert not up, f"{here} imports {up}"


def test_no_floor_has_a_cycle() -> None:
    """Within a floor, too, imports have a direction."""
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        here = name_of(path)
        graph.setdefault(here, set()).update(one for one in imports(path) if (here, one) not in SEAMS)
    list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_holds_one_noun(path: Path) -> None:
    """No file grows past about 400 lines, and none is named for what it is not."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 410
    assert path.stem not in BANNED


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


def test_submodules_do_not_hide_functions() -> None:
    """Importing the module ``steelyard.compare`` leaves ``steelyard.compare`` the function."""
    import steelyard
    import steelyard.compare
    import steelyard.metric

    assert callable(steelyard.compare)
    assert callable(steelyard.metric)
