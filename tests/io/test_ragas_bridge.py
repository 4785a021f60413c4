"""The bridge to ragas, and what it says without ragas."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from steelyard import MissingExtra, Sample, as_ragas_dataset, read_samples

SAMPLES = [
    Sample(id="1", user_input="Who?", response="Ada", retrieved_contexts=["Ada wrote."], reference=["Ada", "Lovelace"]),
    Sample(id="2", user_input="When?", response="1842"),
]


@pytest.mark.skipif(find_spec("ragas") is not None, reason="ragas is installed")
def test_without_ragas_it_says_what_to_install() -> None:
    """An ImportError with the command that mends it."""
    with pytest.raises(ImportError, match=r"pip install 'steelyard\[ragas\]'") as caught:
        as_ragas_dataset(SAMPLES)
    assert isinstance(caught.value, MissingExtra)


@pytest.mark.skipif(find_spec("ragas") is None, reason="needs the extra [ragas]")
def test_there_and_back() -> None:
    """What ragas holds comes back equal."""
    back = read_samples(as_ragas_dataset(SAMPLES))
    assert [(one.user_input, one.response, one.retrieved_contexts) for one in back] == [
        (one.user_input, one.response, one.retrieved_contexts) for one in SAMPLES
    ]
    assert back[0].references == ["Ada"]
    assert back[1].reference is None
