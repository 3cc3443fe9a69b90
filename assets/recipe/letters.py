"""The alphabet: forwards, backwards, from one letter to another."""

from __future__ import annotations

from random import Random
from string import ascii_lowercase, ascii_uppercase

from phrasing import expand, order
from turns import Style, Turn
from wordings_tasks import WORDINGS

WHOLE = (
    "[say|recite|write|list|give me|print|show me|tell me|type|sing|spell out] [me |]the [|whole |full |entire |english ]alphabet",
    "[the |]alphabet",
    "[the |all |list the |all the ]letters of the alphabet",
    "[from |]a to z",
    "[what are|list|write] [all |]the letters",
    "what is the alphabet",
    "do you know the alphabet",
    "abc",
    *WORDINGS["letters.WHOLE"],
)
BACK = (
    "[say|recite|write|list|give me|print] the alphabet [backwards|in reverse|from the end|from z to a|backward|in reverse order]",
    "[the |]alphabet [backwards|in reverse|reversed]",
    "[reverse|backwards] alphabet",
    "[from |]z to a",
    "the letters from z to a",
    "reverse the alphabet",
    *WORDINGS["letters.BACK"],
)
SPAN = (
    "[say|recite|write|list|give me|print] the [alphabet|letters] from {a} to {b}",
    "[the |]letters [from |]{a} to {b}",
    "[the |]alphabet from {a} to {b}",
    "[from |]{a} to {b}",
    "[which|what] letters [are there|come] from {a} to {b}",
    "[start|begin] at {a} and [say|go through] the alphabet [to|until] {b}",
    "letters between {a} and {b}, inclusive",
    *WORDINGS["letters.SPAN"],
)
LARGE = (
    " in [capitals|capital letters|upper case|uppercase|big letters]",
    ", [capital letters|uppercase]",
    " [upper case|in caps]",
    *WORDINGS["letters.LARGE"],
)


def alphabet(rng: Random, style: Style) -> list[Turn]:
    """Letters with commas between them; small unless capitals are asked for."""
    kind = rng.choice(("whole", "back", "span", "span"))
    asks = {"whole": WHOLE, "back": BACK, "span": SPAN}[kind]
    start, stop = sorted(rng.sample(range(26), 2)) if kind == "span" else (0, 25)
    large = rng.random() < 0.2
    letters = list((ascii_uppercase if large else ascii_lowercase)[start : stop + 1])
    if kind == "back" or (kind == "span" and rng.random() < 0.3):
        letters.reverse()
    shown = (str.upper if rng.random() < 0.5 else str.lower) if not large else str.upper
    text = expand(rng.choice(asks), rng).replace("{a}", shown(letters[0])).replace("{b}", shown(letters[-1]))
    return [Turn(order(text + (expand(rng.choice(LARGE), rng) if large else ""), rng), ", ".join(letters))]


__all__ = ["alphabet"]
