"""Systems that are programs: JSON lines in and out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from steelyard.core.errors import AskFailed, InputError
from steelyard.core.records import Sample
from steelyard.systems.call_pool import CallPolicy
from steelyard.systems.collect import collect
from steelyard.systems.command import Command

PROGRAM = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    question = asked["question"]
    if question == "die":
        print("out of memory", file=sys.stderr)
        sys.exit(3)
    if question == "hang":
        time.sleep(30)
    if question == "babble":
        print("not JSON", flush=True)
    elif question == "fail":
        print(json.dumps({"error": "no index"}), flush=True)
    else:
        print(json.dumps({"answer": question.upper(), "ids": ["d1", "d2"][: asked["k"]], "contexts": ["é", "b"][: asked["k"]]}), flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    path = tmp_path / "rag.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return [sys.executable, "-X", "utf8", str(path)]


def test_a_program_is_asked_line_by_line(program: list[str]) -> None:
    """One process answers question after question."""
    with Command(program) as system:
        assert ((first := system.ask("who?", 2)).answer, first.ids) == ("WHO?", ["d1", "d2"])
        assert ((second := system.ask("über", 1)).answer, second.ids) == ("ÜBER", ["d1"])
        assert system._idle.qsize() == 1


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("die", r"failed: the command ended \(3\): out of memory"),
        ("hang", r"timeout: no line within 0.5 s"),
        ("babble", r"bad_output: not a line of JSON: b'not JSON"),
        ("fail", r"failed: no index"),
    ],
)
def test_failures_have_their_reason_and_the_next_question_is_answered(
    program: list[str], question: str, reason: str
) -> None:
    """A program that dies, hangs or babbles fails one question; another process answers the next."""
    with Command(program, deadline=0.5 if question == "hang" else 20.0) as system:
        with pytest.raises(AskFailed, match=reason):
            system.ask(question, 2)
        system.deadline = 20.0
        assert system.ask("next", 2).answer == "NEXT"


def test_several_at_once(program: list[str]) -> None:
    """As many processes as there are places; all questions get their own answer."""
    samples = [Sample(id=str(n), user_input=f"q{n}") for n in range(8)]
    with Command(program) as system:
        found = collect(system, samples, policy=CallPolicy(2, 30.0))
        assert system._idle.qsize() <= 2
    assert [f"Q{n}" for n in range(8)] == [one.response for one in found.samples]


def test_a_program_that_is_not_there() -> None:
    """A wrong command is said in one line."""
    with pytest.raises(InputError, match="cannot run 'no-such-program'"):
        Command("no-such-program --now")
    with pytest.raises(InputError, match=r"cannot run '\./absent'"):
        Command(["./absent"], cwd="/")
    with pytest.raises(InputError, match="a command needs a program"):
        Command([])
