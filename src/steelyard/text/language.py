"""Detect the language of a text by its script and its function words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import lru_cache

from .scripts import script

_WORD = re.compile(r"[^\W\d_]+")

_FUNCTION_WORDS = {
    "en": "the of and is was are to in what which who how when where does did for that with from by",
    "de": "der die das und ist war sind ein eine von zu den dem im nicht was welche wer wie wann wo für mit auf",
    "fr": "le la les et est était sont un une des du de dans que quel quelle qui comment quand où pour avec sur",
    "es": "el la los las y es fue son un una de del en que qué cuál quién cómo cuándo dónde para con por",
    "it": "il lo la gli le e è era sono un una di del della nel che quale chi come quando dove per con dal",
    "pt": "o a os as e é foi são um uma de do da no na em que qual quem como quando onde para com por",
    "nl": "de het een en is was zijn van in op dat wat welke wie hoe wanneer waar voor met niet door",
    "pl": "i w z na jest był są do nie się co który która kto jak kiedy gdzie dla od przez oraz",
    "sv": "den det en ett och är var av i på att vad vilken vem hur när där för med inte från",
}
_VOTES: dict[str, list[str]] = defaultdict(list)
for _language, _words in _FUNCTION_WORDS.items():
    for _word in {*_words.split()}:
        _VOTES[_word].append(_language)
_SCRIPT_OF_VOTES = "latin"


@lru_cache(maxsize=1024)
def language(text: str) -> str:
    """The language of a text in Latin script if its function words agree on one, else the script of the text.

    One function word, or a tie between languages, is not enough. The result for text without letters is ``""``.

    >>> [language(text) for text in ("How long is the window?", "Wie lange ist die Frist?", "退款期限", "OK", "7")]
    ['en', 'de', 'han', 'latin', '']
    """
    written = script(text)
    if written != _SCRIPT_OF_VOTES:
        return written
    votes = Counter[str]()
    for word, count in Counter(_WORD.findall(text.casefold())).items():
        for name in _VOTES.get(word, ()):
            votes[name] += count
    (name, most), (_, next_most) = [*votes.most_common(2), ("", 0), ("", 0)][:2]
    return name if most >= 2 and most > next_most else written


def languages_differ(text: str, other: str) -> bool:
    """Whether two texts are clearly in different languages: different scripts, or different function words.

    >>> languages_differ("How long is the refund window?", "退款期限为三十天。")
    True
    >>> languages_differ("Ada Lovelace", "Wer war die Frau?")
    False
    """
    a, b = language(text), language(other)
    if a == b or "" in (a, b):
        return False
    latin = [one in _FUNCTION_WORDS or one == _SCRIPT_OF_VOTES for one in (a, b)]
    return not all(latin) or _SCRIPT_OF_VOTES not in (a, b)
