"""Normalise text in any script and split it into tokens, words and stems.

Rules of this file: nothing meaningful is dropped (combining marks stay with their letters, meaningful symbols stay)
and nothing is merged (characters of unspaced scripts are tokens of their own, digits never run together). Every
function is pure; results for recent texts are cached, because several metrics use the same text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

from .numbers import split_numbers
from .scripts import graphemes, script, space_graphemes, split_unspaced

if TYPE_CHECKING:
    from collections.abc import Sequence

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

ARTICLES = frozenset({"a", "an", "the"})

_PUNCTUATED_NUMBER = re.compile(r"[!-/:-@\[-`{-~][0-9]")
_ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_PUNCTUATION_DELETED = str.maketrans(
    dict.fromkeys(_ASCII_PUNCTUATION) | {chr(code): " " for code in (*range(9), *range(14, 28), 127)}
)
_PUNCTUATION_SPACED = str.maketrans(
    dict.fromkeys(_ASCII_PUNCTUATION, " ") | {chr(code): " " for code in (*range(9), 127)}
)
# A superscript or a fraction after a digit does not continue the number: 10² is not 102, 3½ is not 31/2.
_BEFORE_RAISED_DIGIT = re.compile(r"(?<=\d)(?=[²³¹⁰⁴-⁹₀-₉¼-¾⅐-⅟↉①-⓿])")
_LOOKALIKES = {
    **dict.fromkeys("‘’‛ʻʼ′·‧׳״", "'"),  # apostrophes, and points that join like them: deleted with the ASCII one
    **dict.fromkeys("‐‑−", "-"),
    "⁄": "/",
    "٫": ".",
    "٬": ",",
    "\u200b": " ",
}
_TURKIC = str.maketrans({"I": "ı", "İ": "i"})


class _CharacterFold(dict[int, str]):
    """A cache of the replacement for each character beyond ASCII."""

    def __init__(self, *, digits: bool) -> None:
        super().__init__()
        self._digits = digits

    def __missing__(self, code: int) -> str:
        self[code] = replacement = self._replacement(chr(code))
        return replacement

    def _replacement(self, character: str) -> str:
        category = unicodedata.category(character)
        if character.isascii():
            return character
        if character in _LOOKALIKES:
            return _LOOKALIKES[character]
        if category == "Nd":
            return str(unicodedata.digit(character)) if self._digits else character
        if category == "Cf" or "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef":
            return ""  # invisible: joiners, direction marks, variation selectors
        if category in ("So", "Sm"):
            return f" {character} "  # emoji and mathematical signs are words of their own
        return " " if category[0] in "PSZ" or category == "Cc" else character


_FOLD_VALUES = _CharacterFold(digits=True)
_FOLD_ONLY = _CharacterFold(digits=False)


_MOST_CACHED = 20_000


class TextFunction(Protocol[T_co]):
    """A function of one text that caches its last results."""

    def __call__(self, text: str, /) -> T_co:
        """The result for a text."""
        ...


def cached_by_text(compute: Callable[[str], T]) -> TextFunction[T]:
    """Cache the last results of a function of one text, except for very long texts, so that memory stays bounded."""
    cached = lru_cache(maxsize=256)(compute)

    def compute_cached(text: str, /) -> T:
        return cached(text) if len(text) <= _MOST_CACHED else compute(text)

    compute_cached.__doc__ = compute.__doc__
    return compute_cached


def _folded(text: str, *, turkic: bool = False, digits: bool = True) -> str:
    """Unify compatibility forms (NFKC), fold case, and remove non-ASCII characters except letters, marks and signs."""
    if turkic:
        text = text.translate(_TURKIC)
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", _BEFORE_RAISED_DIGIT.sub(" ", text))
    text = unicodedata.normalize("NFKC", text.casefold())
    return text.translate(_FOLD_VALUES if digits else _FOLD_ONLY)


def _normalised(text: str, language: str | None, *, numbers: bool) -> tuple[str, ...]:
    code = (language or "en").lower().partition("-")[0]
    text = _folded(text, turkic=code in ("tr", "az"), digits=numbers)
    if numbers and _PUNCTUATED_NUMBER.search(text):
        text = _delete_punctuation_outside_numbers(text)
    else:
        text = text.translate(_PUNCTUATION_DELETED)
    if not text.isascii():  # deleting punctuation may have put a mark directly after a letter
        text = space_graphemes(unicodedata.normalize("NFKC", text))
    tokens = text.split()
    if code not in ("en", "english"):
        return tuple(tokens)
    return tuple([token for token in tokens if token not in ARTICLES])


def _delete_punctuation_outside_numbers(text: str) -> str:
    pieces = split_numbers(text)
    others = [piece.translate(_PUNCTUATION_DELETED) for piece in pieces[::2]]
    others[1:-1] = [piece or " " for piece in others[1:-1]]  # two numbers never run together
    pieces[::2] = others
    return "".join(pieces)


@lru_cache(maxsize=256)
def tokens_of(text: str) -> tuple[str, ...]:
    """The normalised tokens of a text, cached: the result of ``tokenize`` with its defaults."""
    return _normalised(text, None, numbers=True)


@cached_by_text
def token_set(text: str) -> frozenset[str]:
    """The distinct normalised tokens of a text, cached."""
    return frozenset(tokens_of(text) if len(text) <= _MOST_CACHED else _normalised(text, None, numbers=True))


@lru_cache(maxsize=256)
def normal_form(text: str) -> str:
    """The result of ``normalize_answer`` with its defaults, cached."""
    return " ".join(tokens_of(text))


def normalize_answer(text: str, *, language: str | None = None, numbers: bool = True) -> str:
    """Normalise an answer for comparison: answers with equal forms count as the same.

    The SQuAD recipe folds case, deletes punctuation and the articles a, an, the, and collapses white space. In
    addition:

    * NFKC unifies compatibility forms (full width, ligatures); combining marks stay with their letters;
    * points, commas and minus signs inside numbers stay (3.14 is not 314, -5 is not 5, U+2212 is a minus), and
      unambiguous numbers are compared by value: 1,000.50 is 1000.5, ٣ is 3, while 1.000 and 1,5 are unchanged. Other
      punctuation between digits separates them. ``numbers=False`` switches this off;
    * punctuation beyond ASCII separates words, except apostrophes, which are deleted like the ASCII one;
    * Han, Kana, Thai, Lao, Khmer and Myanmar text is split into graphemes, so that measures over tokens work
      without spaces.

    ``language`` (a code such as ``de``) keeps words that are articles only in English, and folds the Turkish i.

    Source: Rajpurkar et al. 2016 (SQuAD); the rules for numbers and scripts are our own.

    >>> normalize_answer("The  U.S. spent $1,000.50!")
    'us spent 1000.5'
    >>> normalize_answer("今天，天气") == normalize_answer("今天天气")
    True
    >>> normalize_answer("3.14"), normalize_answer("3.14", numbers=False)
    ('3.14', '314')
    >>> normalize_answer("an der Elbe", language="de")
    'an der elbe'
    """
    if language is None and numbers:
        return normal_form(text)
    return " ".join(_normalised(text, language, numbers=numbers))


def tokenize(text: str, *, language: str | None = None, numbers: bool = True) -> list[str]:
    """The tokens of the normalised form, in order; see ``normalize_answer`` for the rules.

    >>> tokenize("The Answer is −5.")
    ['answer', 'is', '-5']
    >>> tokenize("สวัสดี")
    ['ส', 'วั', 'ส', 'ดี']
    """
    if language is None and numbers:
        return list(tokens_of(text))
    return list(_normalised(text, language, numbers=numbers))


_ASCII_WORD = re.compile("[a-z0-9]+")
_LONG_ASCII_WORD = re.compile("[a-z0-9]{2,}")


def _runs(text: str) -> list[str]:
    return _folded(text).translate(_PUNCTUATION_SPACED).split()


@lru_cache(maxsize=256)
def words_of(text: str) -> tuple[str, ...]:
    """The result of ``words`` as a tuple, cached."""
    if text.isascii():
        return tuple(_ASCII_WORD.findall(text.lower()))
    return tuple(space_graphemes(" ".join(_runs(text))).split())


def words(text: str) -> list[str]:
    """The maximal runs of letters and digits in lower case, without punctuation; no letter or digit is left out.

    On ASCII text these are the tokens of the ROUGE scorers (``[a-z0-9]+``). Unspaced scripts are split into graphemes.

    >>> words("It's 3.14, the café's π")
    ['it', 's', '3', '14', 'the', 'café', 's', 'π']
    """
    return list(words_of(text))


@cached_by_text
def content_words_of(text: str) -> tuple[str, ...]:
    """The result of ``content_words`` as a tuple, cached."""
    if text.isascii():
        return tuple([word for word in _LONG_ASCII_WORD.findall(text.lower()) if word not in ENGLISH])
    found: list[str] = []
    for run in _runs(text):
        for at, piece in enumerate(split_unspaced(run)):
            if at % 2:
                single = graphemes(piece)
                found.extend(map("".join, pairwise(single)) if single[1:] else single)
            elif len(piece) > 1 and piece not in ENGLISH:
                found.append(piece)
    return tuple(found)


def content_words(text: str) -> list[str]:
    """The content words: runs of letters or digits, lower case, at least two characters, no stop words.

    Stop words are English. In scripts without spaces, every two neighbouring graphemes count as a word.

    >>> content_words("What is the capital of France?")
    ['capital', 'france']
    >>> content_words("退款期限")
    ['退款', '款期', '期限']
    """
    return list(content_words_of(text))


class _Stemmer(Protocol):
    def stemWords(self, words: Iterable[str]) -> list[str]: ...  # noqa: N802 - the library's name


_SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
_OF_SCRIPT = {
    "latin": "english",
    "cyrillic": "russian",
    "greek": "greek",
    "arabic": "arabic",
    "devanagari": "hindi",
    "armenian": "armenian",
    "tamil": "tamil",
}


@lru_cache(maxsize=64)
def _stemmer(language: str) -> _Stemmer | None:
    import Stemmer

    name = _SNOWBALL.get(language.lower().partition("-")[0], language.lower())
    stemmer: _Stemmer | None = Stemmer.Stemmer(name) if name in Stemmer.algorithms() else None
    return stemmer


def stem(tokens: Sequence[str], language: str | None = None) -> list[str]:
    """The stems of lower-case tokens by the Snowball stemmer of a language (a code such as ``de``, or its name).

    Without ``language``, the script of each token decides: Latin counts as English, Cyrillic as Russian, Devanagari as
    Hindi. A token in a language without a stemmer is returned unchanged.

    >>> stem(["runs", "running", "города", "天"])
    ['run', 'run', 'город', '天']
    >>> stem(["häuser"], "de")
    ['haus']
    """
    if language is None and all(map(str.isascii, tokens)):
        language = "english"
    if language is not None:
        one = _stemmer(language)
        return one.stemWords(tokens) if one is not None else list(tokens)
    stems = []
    for token in tokens:
        one = _stemmer(_OF_SCRIPT.get(script(token), ""))
        stems.extend(one.stemWords([token]) if one is not None else [token])
    return stems


_ENGLISH = """
    a about above after again against all also although am among an and any are aren as at
    be because been before being below between both but by
    can cannot could couldn did didn do does doesn doing don down during
    each else ever every few for from further
    had hadn has hasn have haven having he her here hers herself him himself his how however
    i if in into is isn it its itself just ll
    me more most much must my myself
    now of off on once one only onto or other our ours ourselves out over own
    per rather re same shall she should shouldn since so some such
    than that the their theirs them themselves then there these they this those through thus to too
    under until up upon ve very
    was wasn we were weren what when where whether which while who whom whose why will with within without won would
    wouldn yet you your yours yourself yourselves
"""


ENGLISH = frozenset(_ENGLISH.split())
"""English function words, as split at punctuation: ``don't`` leaves ``don``. Negations are content words."""
