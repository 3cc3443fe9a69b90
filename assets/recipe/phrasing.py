"""Many ways of saying one thing: a small pattern language, and the roughness of real typing.

A pattern is text with alternatives in brackets, nested as one likes: `[what|which] [is|are] it[?|]`.
"""

from __future__ import annotations

from functools import cache
from random import Random

from synonyms import reworded
from wordings_tasks import WORDINGS

Node = str | list["Sequence"]
Sequence = list[Node]


@cache
def _parsed(pattern: str) -> Sequence:
    sequence, rest = _sequence(pattern, 0)
    if rest != len(pattern):
        raise ValueError(f"unbalanced bracket in {pattern!r}")
    return sequence


def _sequence(text: str, at: int) -> tuple[Sequence, int]:
    found: Sequence = []
    plain = ""
    while at < len(text) and text[at] not in "|]":
        if text[at] == "[":
            found += [plain] if plain else []
            plain = ""
            choice, at = _choice(text, at + 1)
            found.append(choice)
        else:
            plain += text[at]
            at += 1
    return found + ([plain] if plain else []), at


def _choice(text: str, at: int) -> tuple[list[Sequence], int]:
    options: list[Sequence] = []
    while True:
        option, at = _sequence(text, at)
        options.append(option)
        if text[at] == "]":
            return options, at + 1
        at += 1


def expand(pattern: str, rng: Random) -> str:
    """One sentence of those the pattern stands for."""
    return _spoken(_parsed(pattern), rng) if "[" in pattern else pattern


def _spoken(sequence: Sequence, rng: Random) -> str:
    return "".join(node if isinstance(node, str) else _spoken(rng.choice(node), rng) for node in sequence)


OPENINGS = (
    "[hi|hey|hello|hi there|hello there|good morning][, |! |. | ]",
    "ok[,|] ",
    "okay[,|] so ",
    "so[,|] ",
    "well, ",
    "now ",
    "right, ",
    "quick question[:|,] ",
    "[a|one] question: ",
    "one more thing: ",
    "sorry, ",
    "[please|] tell me[:|,] ",
    "I'm new here[.|,] ",
    "I wonder[:|,] ",
    "hm, ",
    "just curious, ",
    "I forgot[:|,] ",
    "[and|but] ",
    "also, ",
    "alright, ",
    "next[:|,] ",
    "hey localspec, ",
    "my [friend|colleague|brother|teacher|daughter] [asked me|wants to know]: ",
    "I've [been using this|tried this|looked around|read the readme] for [a while|an hour|a minute]. ",
    "I'm [a bit |][lost|confused|curious|puzzled|impressed]. ",
    "[nice|great|cool|interesting|good to know|I see|makes sense][.|,|!] ",
    "[maybe|perhaps] [a silly|a stupid|an odd] question[:|, but] ",
    "[before I forget|while I'm here|while we are at it][:|,] ",
    "[help|listen|look|say][, |! ]",
    "[I'm|I am] [writing a report|giving a talk|preparing a demo][.|:] ",
    "my friend asked me: ",
    "I have a question. ",
    "excuse me, ",
    "for my notes: ",
    "[btw|by the way][,|] ",
)
CLOSINGS = (
    " please",
    ", please",
    " please?",
    ", thanks",
    " thanks",
    " thank you",
    "? thanks",
    "? I'm curious",
    " :)",
    ", if you know",
    "? I am new to this",
    " again",
    " then",
    " exactly",
    ", in your own words",
    " here",
    "? I keep forgetting",
    ", do you know",
)
ORDERS = (
    "please {}",
    "{} please",
    "{}, please",
    "can you {}?",
    "could you {}?",
    "could you please {}?",
    "can you please {}?",
    "would you {}?",
    "will you {}?",
    "I want you to {}",
    "I'd like you to {}",
    "I would like you to {}",
    "I need you to {}",
    "go ahead and {}",
    "now {}",
    "ok, {}",
    "hey, {}",
    "let's {}",
    "try to {}",
    "{} for me",
    "{} for me please",
    "{} now",
    "can u {}",
    "pls {}",
    "hi, {}",
    "just {}",
    "kindly {}",
    "{}, thanks",
    "how about you {}?",
    "would you mind if you {}",
    "your task: {}",
    "are you able to {}?",
    *WORDINGS["phrasing.ORDERS"],
)


def question(pattern: str, rng: Random) -> str:
    """A question as someone might type it."""
    text = expand(pattern, rng)
    if rng.random() < 0.4:
        text = reworded(text, rng, 0.35)
    if rng.random() < 0.12:
        text = thinned(text, rng)
    if rng.random() < 0.24:
        text = expand(rng.choice(OPENINGS), rng) + text
    if rng.random() < 0.12 and not text.endswith("?"):
        text += rng.choice(CLOSINGS)
    elif rng.random() < 0.55 and text[-1] not in "?.!":
        text += rng.choice(("?", "?", "?", "?", "??", " ?", "."))
    return roughened(text, rng)


def thinned(text: str, rng: Random) -> str:
    """One word less, as one leaves them out in a hurry: no single word should decide what is understood."""
    words = text.split(" ")
    if len(words) > 5:
        del words[rng.randrange(len(words))]
    return " ".join(words)


def order(pattern: str, rng: Random) -> str:
    """A request for something to be done; the caller's own capitals and punctuation inside it stay as they are."""
    text = expand(pattern, rng)
    if rng.random() < 0.4:
        text = rng.choice(ORDERS).format(text)
    return cased(text, rng)


def cased(text: str, rng: Random) -> str:
    """The first letter large or small."""
    return text[:1].upper() + text[1:] if rng.random() < 0.6 else text


def roughened(text: str, rng: Random) -> str:
    """Casing, missing punctuation and slips of the finger, as in a chat."""
    text = cased(text, rng)
    chance = rng.random()
    if chance < 0.22:
        text = text.lower()
    elif chance < 0.235:
        text = text.upper()
    if rng.random() < 0.10:
        text = text.replace("'", "").replace(",", "")
    if rng.random() < 0.07:
        text = slipped(text, rng)
    return text


def slipped(text: str, rng: Random) -> str:
    """One slip: two letters swapped, one lost, or one doubled, inside a word long enough to stay readable."""
    places = [i for i in range(2, len(text) - 2) if text[i - 1 : i + 3].isalpha()]
    if not places:
        return text
    at = rng.choice(places)
    kind = rng.randrange(3)
    if kind == 0:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text[:at] + (text[at] * 2 if kind == 1 else "") + text[at + 1 :]
