"""Configuration files: three formats, one record, errors with a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.core.errors import InputError
from steelyard.runs.config import MetricSettings, read_config, settings

YAML = """
data: samples.jsonl
name: nightly
fields: {user_input: question}
judge: {model: "openai:gpt-4o-mini", temperature: 0.2, price: [0.15, 0.6]}
concurrency: 8
by: [question_type]
metrics:
  - exact_match
  - faithfulness: {threshold: 0.7, pass_rate: 0.9}
  - {answer_relevancy: {strictness: 3, threshold: 0.5}}
outputs: {dir: out, save: [failed, all]}
"""
TOML = """
data = "samples.jsonl"
metrics = ["exact_match", {answer_relevancy = {strictness = 5}}]
[outputs]
save = ["passed"]
"""
JSON = '{"data": ["a.jsonl", "b.csv"], "metrics": ["map"]}'


def write(tmp_path: Path, name: str, text: str) -> Path:
    """A configuration file."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_three_formats(tmp_path: Path) -> None:
    """YAML, TOML and JSON are read alike; paths are relative to the file."""
    config = read_config(write(tmp_path, "c.yaml", YAML))
    assert config.data == [str(tmp_path / "samples.jsonl")]
    assert config.concurrency == 8
    assert settings(config)[1:] == [
        MetricSettings("faithfulness", 0.7, 0.9),
        MetricSettings("answer_relevancy(strictness=3)", 0.5),
    ]
    assert settings(read_config(write(tmp_path, "c.toml", TOML)))[1].name == "answer_relevancy(strictness=5)"
    assert read_config(write(tmp_path, "c.json", JSON)).data == [str(tmp_path / "a.jsonl"), str(tmp_path / "b.csv")]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c.yaml", "data: [", "c.yaml:1: not YAML"),
        ("c.yaml", "- a\n- b", "expected settings by name, found list"),
        ("c.yaml", "data: s.jsonl\nmetrics: [map]\nconcurency: 3", r"c.yaml: \$: unknown setting 'concurency': did you mean concurrency"),
        ("c.yaml", "data: s.jsonl\nmetrics: [map]\nconcurrency: many", r"\$.concurrency: expected a whole number, found 'many'"),
        ("c.yaml", "data: s.jsonl\nmetrics: [map]\nconcurrency: 0", r"\$.concurrency: expected a whole number of at least 1, found 0"),
        ("c.yaml", "data: s.jsonl\nmetrics: [map]\noutputs: {save: [most]}", r"\$.outputs.save\[0\]: invalid value 'most'"),
        ("c.yaml", "data: s.jsonl\nmetrics: [map]\noutputs: {die: x}", r"\$.outputs: unknown setting 'die': did you mean dir"),
        ("c.yaml", "data: s.jsonl\nmetrics: [map]\nmax_failed: 5", r"\$.max_failed: expected a number of at most 1, found 5"),
        ("c.yaml", "data: s.jsonl\nmetrics: [map]\nconfidence: 1", r"\$.confidence: expected a number of at most 0.9999, found 1"),
        ("c.yaml", "data: s.jsonl\nmetrics: [map]\nbudget: -1", r"\$.budget: expected a number of at least 0, found -1"),
        ("c.yaml", "data: a\nmetrics: [{a: {threshold: 0.5}}, {a: {threshold: 0.6}}]", r"\$.metrics\[1\]: a has other"),
        ("c.yaml", "data: a\nmetrics: [{a: {threshold: 5}}]", r"\$.metrics\[0\].a.threshold: expected .* in \[0, 1\], found 5"),
        ("c.yaml", "data: s.jsonl\nmetrics: []", r"\$.metrics: expected at least one"),
        ("c.yaml", "data: s.jsonl\nmetrics: [{a: {}, b: {}}]", r"\$.metrics\[0\]: expected one metric"),
        ("c.yaml", "data: s.jsonl\nmetrics: [{a: {threshold: high}}]", r"\$.metrics\[0\].a.threshold: expected a number"),
        ("c.yaml", "metrics: [map]", r"\$: data is missing"),
        ("c.toml", "data = ", "not TOML"),
        ("c.json", "{", "not JSON"),
        ("c.ini", "x", "a configuration is .yaml"),
        ("c.yaml", "data: a\nmetrics: [map]\ndata: b", "c.yaml:3: 'data' is given twice"),
        ("c.yaml", "data: a\nmetrics: [map]\noutputs:\n  dir: a\n  dir: b", "c.yaml:5: 'dir' is given twice"),
        ("c.toml", "data = 'a'\ndata = 'b'", "not TOML"),
        ("c.json", '{"data": "a", "metrics": ["map"], "data": "b"}', "c.json: 'data' is given 2 times"),
        ("c.yaml", "[" * 3000, "c.yaml: nested too deeply"),
        ("c.toml", "a = " + "[" * 3000, "c.toml: nested too deeply"),
        ("c.json", "[" * 100_000, "c.json: nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_path(tmp_path: Path, name: str, text: str, words: str) -> None:
    """Each mistake is one line with the file and the path of the setting."""
    with pytest.raises(InputError, match=words):
        read_config(write(tmp_path, name, text))


def test_yaml_builds_plain_data_only(tmp_path: Path) -> None:
    """A tag that would call Python is refused."""
    with pytest.raises(InputError, match="not YAML"):
        read_config(write(tmp_path, "c.yaml", "data: !!python/object/apply:os.system ['true']"))


def test_a_merged_mapping_may_be_overridden(tmp_path: Path) -> None:
    """A key that stands beside ``<<`` overrides the merged one, which is no duplicate."""
    text = "data: a\nmetrics:\n  - m: &limits {threshold: 0.5, pass_rate: 0.9}\n  - n: {<<: *limits, threshold: 0.7}"
    assert [one.threshold for one in settings(read_config(write(tmp_path, "c.yaml", text)))] == [0.5, 0.7]
