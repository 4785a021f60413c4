"""Filter expressions: the grammar, what is missing, what is refused. They run where they live, in a browser."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from steelyard.render.html import ASSETS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROWS = [
    {"ndcg": 0.9, "ndcg@10": 0.8, "ndcg(gain=exponential)@10": 0.7, "kind": "temporal", "year": "1932", "odd name": 1},
    {"ndcg": 0.1, "ndcg@10": None, "ndcg(gain=exponential)@10": 0.2, "kind": "Single", "year": "1890", "odd name": 2},
    {"ndcg": 0.5, "ndcg@10": 0.5, "ndcg(gain=exponential)@10": 0.5, "kind": None, "year": None, "odd name": 3},
]
STATES = ["pass", "failed", "fail"]


@pytest.fixture(scope="module")
def evaluate(chromium: Browser) -> object:
    """Rows that an expression leaves, or what is wrong with it."""
    context = chromium.new_context()
    tab = context.new_page()
    source = (ASSETS / "expression.js").read_text(encoding="utf-8")
    tab.evaluate(
        f"""() => {{
            {source}
            const rows = {json.dumps(ROWS)};
            const states = {json.dumps(STATES)};
            const fields = Object.create(null);
            for (const name of Object.keys(rows[0])) fields[name] = {{ get: (row) => rows[row][name] }};
            fields["ndcg@10"].state = (row) => states[row];
            window.run = (text) => {{
                try {{
                    const {{ test }} = expression(text, fields);
                    return [0, 1, 2].filter((row) => test(row));
                }} catch (error) {{
                    if (!(error instanceof ExpressionError)) throw error;
                    return error.message;
                }}
            }};
        }}"""
    )
    yield lambda text: tab.evaluate("text => window.run(text)", text)
    context.close()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("ndcg < 0.5", [1]),
        ("ndcg <= .5", [1, 2]),
        ("ndcg >= 5e-1", [0, 2]),
        ("ndcg = 0.5", [2]),
        ("ndcg@10 != 0.5", [0]),
        ("ndcg(gain=exponential)@10 > 0.3", [0, 2]),
        ("not ndcg@10 > 0.6", [1, 2]),
        ('kind == "temporal"', [0]),
        ("kind == 'Single'", [1]),
        ('kind contains "SING"', [1]),
        ('kind in ("temporal", "other")', [0]),
        ("not kind", [2]),
        ("year > 1900", [0]),
        ("`odd name` >= 2", [1, 2]),
        ("ndcg < 0.2 or ndcg > 0.8 and kind == 'nothing'", [1]),
        ("(ndcg < 0.2 or ndcg > 0.8) and year < 1900", [1]),
        ("NOT ndcg < 0.2 AND ndcg < 0.6", [2]),
        ("ndcg@10 is failed", [1]),
        ("ndcg@10 is not failed", [0, 2]),
        ("0.5 < ndcg", [0]),
        ('kind == "a\\"b"', []),
        ("true", [0, 1, 2]),
    ],
)
def test_what_is_left(evaluate: object, text: str, rows: list[int]) -> None:
    """Comparisons, joins and states leave the rows that they say; a missing value is never true."""
    assert callable(evaluate)
    assert evaluate(text) == rows


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nddcg < 0.5", "did you mean ndcg"),
        ("kind == temporal", 'write a text as "temporal"'),
        ("ndcg <", "expected a value at the end"),
        ("(ndcg < 1", "expected ) at the end"),
        ("ndcg < 1 2", "expected and, or, or a comparison at 10"),
        ("ndcg is fine", "expected pass, fail, undefined, failed, scored at 9"),
        ("kind is failed", "kind is no metric"),
        ("ndcg ; 1", 'cannot read ";" at 6'),
        ("`nowhere` > 1", "unknown name nowhere"),
        ("constructor == 1", "unknown name constructor"),
        ("__proto__ == 1", "unknown name __proto__"),
        ("alert(1)", "unknown name alert"),
        ("(" * 200 + "1" + ")" * 200, "nested too deeply"),
        ('"' + "a" * 5000 + '"', "too long"),
    ],
)
def test_what_is_refused(evaluate: object, text: str, says: str) -> None:
    """A mistake is named with its place; nothing outside the fields can be reached."""
    assert callable(evaluate)
    assert says in evaluate(text)


def test_no_script_evaluates_text() -> None:
    """None of the scripts turns text into code or into elements."""
    for asset in ASSETS.iterdir():
        if asset.name.endswith(".js"):
            source = asset.read_text(encoding="utf-8")
            for word in ("eval(", "new Function", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"):
                assert word not in source, f"{asset.name} has {word}"
