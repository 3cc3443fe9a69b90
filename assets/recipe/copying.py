"""Repeating a text, editing it, and putting values into JSON: everything that is copied from the question."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

import words
from phrasing import expand, order
from turns import Style, Turn
from wordings_tasks import WORDINGS

REPEAT = (
    "[repeat|echo|say|copy|write|type|print|output|return] {x}",
    "[repeat|say|echo|copy] after me: {x}",
    "[repeat|copy|echo|say|write|reproduce|output] [this|the following|these words|this text|the text|this sentence|exactly|this exactly|word for word|verbatim|back to me|the words]: {x}",
    "[please |][repeat|copy] [the following|this] [text|sentence|line|words|phrase|exactly|verbatim|word for word]: {x}",
    "repeat {x} [exactly|word for word|back to me|verbatim|for me|please]",
    "say {x} [back to me|exactly|again|please]",
    "[just |only |]say {x}",
    "your answer [should be|must be|is]: {x}",
    "answer with {x}",
    "[reply|respond|answer] with [exactly|only|just] {x}",
    "[can you|could you] [repeat|say|copy|write] {x}?",
    "read this [back|aloud]: {x}",
    "I say {x}, you say the same",
    "write [down |]the words {x}",
    "parrot {x}",
    "copy: {x}",
    "echo: {x}",
    "repeat: {x}",
    "quote {x}",
    "now [say|repeat] {x}",
    "[give me|show me] {x} unchanged",
    "type [out |]{x}",
    *WORDINGS["copying.REPEAT"],
)
SENTENCES = (
    "The {noun} {verb}s in the {noun}.",
    "A {adjective} {noun} and a {adjective} {noun}.",
    "My {noun} is {adjective}.",
    "{name} likes the {adjective} {noun}.",
    "I saw a {adjective} {noun} near the {noun}.",
    "{name} and {name} {verb} every {noun}.",
    "We {verb} the {noun} at {hour} o'clock.",
    "Please {verb} the {noun}, {name}!",
    "Where is the {adjective} {noun}?",
    "The {adjective} {noun} has {hour} {noun}s.",
    "{name} lives in {city}.",
    "Never {verb} a {adjective} {noun}.",
    "It is {adjective} and {adjective} today.",
    "the {noun} is on the {noun}",
    "{noun} and {noun}",
    "my {adjective} {noun}",
    "{hour} {adjective} {noun}s",
    "no {noun}, no {noun}",
    "{verb} the {noun} and {verb} the {noun}",
    "Hello {name}, how is your {noun}?",
    "Good morning, {city}!",
    "I am a {adjective} {noun}.",
    "They {verb}, we {verb}, you {verb}.",
)


def sentence(rng: Random) -> str:
    """A short sentence of words that need not make sense together."""
    text = rng.choice(SENTENCES)
    slots = {
        "noun": words.noun,
        "verb": lambda r: r.choice(words.VERBS),
        "adjective": lambda r: r.choice(words.ADJECTIVES),
        "name": lambda r: r.choice(words.NAMES),
        "city": lambda r: r.choice(words.CITIES),
        "hour": lambda r: str(r.randint(2, 12)),
    }
    for slot, draw in slots.items():
        while "{" + slot + "}" in text:
            text = text.replace("{" + slot + "}", draw(rng), 1)
    return text


def row(rng: Random, least: int = 1, most: int = 8) -> str:
    """Words without grammar, now and then with numbers or signs among them."""
    chosen = [words.word(rng) for _ in range(rng.randint(least, most))]
    if rng.random() < 0.12:
        chosen[rng.randrange(len(chosen))] = str(rng.randint(0, 9999))
    joint = rng.choice((" ", " ", " ", " ", " ", ", ", "-", " / ")) if len(chosen) > 1 else " "
    return joint.join(chosen)


def phrase(rng: Random) -> str:
    text = sentence(rng) if rng.random() < 0.5 else row(rng)
    chance = rng.random()
    if chance < 0.06:
        return text.upper()
    return text[:1].upper() + text[1:] if chance < 0.2 else text


def framed(pattern: str, text: str, rng: Random) -> str:
    """Put the text into the request: in quotes, bare, or on a line of its own."""
    chance = rng.random()
    if chance < 0.5:
        shown = f'"{text}"'
    elif chance < 0.6:
        shown = f"'{text}'" if "'" not in text else f'"{text}"'
    elif chance < 0.7 and pattern.endswith(": {x}"):
        return order(pattern[:-5], rng).rstrip("?") + ":\n" + text
    else:
        shown = text if pattern.endswith("{x}") else f'"{text}"'
    return expand(pattern, rng).replace("{x}", shown)


AGAIN = ("[again|once more|repeat that|say it again|one more time][| please]", *WORDINGS["copying.AGAIN"])
BEGINNINGS = (
    *("please ", "can you ", "could you please ", "now ", "ok, ", "hey, ", "I want you to ", "would you "),
    *WORDINGS["copying.BEGUN"],
)


NO_ORDERS = frozenset(
    (
        *("i", "it", "i'm", "i'd", "there", "what", "what's", "which", "how", "where", "can", "could"),
        *("will", "would", "may", "do", "are", "is", "if", "let", "your", "you", "my", "please"),
        *("kindly"),
    )
)
"""First words of what is said in another way than by an order: no polite beginning goes before them."""


def repeating(rng: Random, style: Style) -> list[Turn]:
    """Say it back, word for word; perhaps twice or once more."""
    text = phrase(rng)
    if rng.random() < 0.1:
        times = rng.choice((2, 2, 3))
        ask = framed(
            rng.choice(
                (
                    "say {x} " + ["", "", "twice", "three times"][times],
                    "repeat {x} " + ["", "", "two times", "three times"][times],
                    "write {x} " + ["", "", "twice", "3 times"][times],
                )
            ),
            text,
            rng,
        )
        return [Turn(_begun(ask, rng), " ".join([text] * times))]
    ask = framed(rng.choice(REPEAT), text, rng)
    turns = [Turn(_begun(ask, rng), text)]
    if rng.random() < 0.1:
        turns.append(Turn(_begun(expand(rng.choice(AGAIN), rng), rng), text))
    return turns


def drilling(rng: Random, style: Style) -> list[Turn]:
    """A long row of mostly unknown words to repeat: the densest lesson in copying, after which the short ones come easily."""
    text = row(rng, 6, 30)
    return [Turn(_begun(framed(rng.choice(REPEAT), text, rng), rng), text)]


def _begun(ask: str, rng: Random) -> str:
    """Polite or not, but never touching the text that is to be copied."""
    if rng.random() < 0.25 and ask.split(" ")[0].lower() not in NO_ORDERS:
        ask = rng.choice(BEGINNINGS) + ask
    return ask[:1].upper() + ask[1:] if rng.random() < 0.6 else ask


Edit = Callable[[list[str], Random], tuple[str, str]]


def _replace(text: list[str], rng: Random) -> tuple[str, str]:
    old, new = rng.choice(text), words.word(rng)
    ask = rng.choice(
        (
            'replace "{o}" [by|with] "{n}" in {x}',
            "replace {o} [by|with] {n} in {x}",
            "replace {o} [by|with] {n}: {x}",
            "change {o} to {n} in {x}",
            "change {o} to {n}: {x}",
            "put {n} instead of {o} in {x}",
            "swap {o} for {n} in {x}",
            "in {x}, replace {o} [by|with] {n}",
            "substitute {n} for {o}: {x}",
            "in {x} change {o} [into|to] {n}",
            *WORDINGS["copying._replace"],
        )
    )
    return ask.replace("{o}", old).replace("{n}", new), " ".join(new if word == old else word for word in text)


def _remove(text: list[str], rng: Random) -> tuple[str, str]:
    old = rng.choice(text)
    ask = rng.choice(
        (
            '[remove|delete|drop|leave out] "{o}" from {x}',
            "[remove|delete|drop|take out|leave out|strip|cut] [the word |]{o} from {x}",
            "[remove|delete] [the word |]{o}: {x}",
            "{x} without {o}",
            "write {x} without [the word |]{o}",
            "in {x}, [remove|delete] {o}",
            *WORDINGS["copying._remove"],
        )
    )
    return ask.replace("{o}", old), " ".join(word for word in text if word != old)


def _add(text: list[str], rng: Random) -> tuple[str, str]:
    new = words.word(rng)
    if rng.random() < 0.5:
        return rng.choice(
            (
                'add "{n}" [to the end of|at the end of|after] {x}',
                "[add|append|put] {n} [to the end of|at the end of|after] {x}",
                "append {n} to {x}",
                "add {n} at the end: {x}",
                *WORDINGS["copying._add_end"],
            )
        ).replace("{n}", new), " ".join([*text, new])
    return rng.choice(
        (
            'add "{n}" [to the beginning of|at the start of|before|in front of] {x}',
            "[add|put] {n} [to the beginning of|at the start of|before|in front of] {x}",
            "prepend {n} to {x}",
            "add {n} at the beginning: {x}",
            *WORDINGS["copying._add_start"],
        )
    ).replace("{n}", new), " ".join([new, *text])


def _insert(text: list[str], rng: Random) -> tuple[str, str]:
    new, at, after = words.word(rng), rng.randrange(len(text)), rng.random() < 0.5
    side = rng.choice(("after", "after", "behind") if after else ("before", "before", "in front of"))
    ask = rng.choice(WORDINGS["copying._insert"])
    place = at + after
    return ask.replace("{n}", new).replace("{o}", text[at]).replace("{side}", side), " ".join(
        [*text[:place], new, *text[place:]]
    )


def _reverse(text: list[str], rng: Random) -> tuple[str, str]:
    return rng.choice(
        (
            "reverse the [order of the words|word order|words] [in|of] {x}",
            "[write|say] {x} [backwards|in reverse order], word by word",
            "reverse the words: {x}",
            "put the words in reverse order: {x}",
            "turn the order of the words around: {x}",
            "reverse the order of these words: {x}",
            *WORDINGS["copying._reverse"],
        )
    ), " ".join(text[::-1])


def _upper(text: list[str], rng: Random) -> tuple[str, str]:
    return rng.choice(
        (
            "[write|put|say|turn|convert|make|change] {x} [in|to|into] [upper case|uppercase|capitals|capital letters|all caps|caps]",
            "[uppercase|capitalise everything in|shout] {x}",
            "[upper case|uppercase|all caps|in capitals]: {x}",
            "make {x} [uppercase|all capitals]",
            *WORDINGS["copying._upper"],
        )
    ), " ".join(text).upper()


def _lower(text: list[str], rng: Random) -> tuple[str, str]:
    shown = [word.upper() for word in text] if rng.random() < 0.5 else [word.capitalize() for word in text]
    text[:] = shown
    return rng.choice(
        (
            "[write|put|say|turn|convert|make|change] {x} [in|to|into] [lower case|lowercase|small letters]",
            "lowercase {x}",
            "[lower case|lowercase|in small letters]: {x}",
            "make {x} [lowercase|all lower case]",
            *WORDINGS["copying._lower"],
        )
    ), " ".join(shown).lower()


def _period(text: list[str], rng: Random) -> tuple[str, str]:
    sign, names = rng.choice(((".", "[period|full stop|dot]"), ("!", "exclamation mark"), ("?", "question mark")))
    ask = rng.choice(WORDINGS["copying._period"])
    return ask.replace("{sign}", f"{'an' if sign == '!' else 'a'} {names}"), " ".join(text) + sign


def _title(text: list[str], rng: Random) -> tuple[str, str]:
    return rng.choice(
        (
            "[capitalise|capitalize] [each|every] word [in|of] {x}",
            "write {x} with [each word capitalised|a capital at the start of each word|every word capitalized]",
            "title case: {x}",
            "put {x} in title case",
            *WORDINGS["copying._title"],
        )
    ), " ".join(word.capitalize() for word in text)


def _commas(text: list[str], rng: Random) -> tuple[str, str]:
    if rng.random() < 0.5:
        return rng.choice(
            (
                "put commas between the words[:| in| of] {x}",
                "separate the words [with|by] commas: {x}",
                "[make|write] {x} [into|as] a comma-separated list",
                "join {x} with commas",
                *WORDINGS["copying._commas_joined"],
            )
        ), ", ".join(text)
    return rng.choice(
        (
            "[make|turn|write] {x} [into|as] a [bullet list|bulleted list|list with bullets]",
            "list the words [of|in] {x} as bullets",
            "bullet list: {x}",
            "one bullet [per|for each] word: {x}",
            *WORDINGS["copying._commas_bullets"],
        )
    ), "\n".join(f"- {word}" for word in text)


def _pick(text: list[str], rng: Random) -> tuple[str, str]:
    place, index = rng.choice((("first", 0), ("last", -1), ("second", 1)))
    return rng.choice(
        (
            f"what is the {place} word [of|in] {{x}}",
            f"[give me|say|write|tell me] the {place} word [of|in] {{x}}",
            f"the {place} word of {{x}}",
            f"only the {place} word: {{x}}",
            *WORDINGS["copying._pick"],
        )
    ).replace("{place}", place), text[index]


EDITS: tuple[tuple[Edit, int], ...] = (
    (_replace, 24),
    (_remove, 18),
    (_add, 16),
    (_insert, 7),
    (_reverse, 10),
    (_upper, 8),
    (_lower, 6),
    (_period, 5),
    (_title, 3),
    (_commas, 9),
    (_pick, 10),
)


def editing(rng: Random, style: Style) -> list[Turn]:
    """One change to a row of different words; the words themselves stay as they are."""
    edit = rng.choices([edit for edit, _ in EDITS], [weight for _, weight in EDITS])[0]
    plain = edit in (_upper, _lower, _title)
    draw = (lambda r: r.choice(words.COMMON)) if plain and rng.random() < 0.85 else words.word
    text = list(dict.fromkeys(draw(rng).replace("-", "") for _ in range(rng.randint(2, 3 if plain else 5))))
    if len(text) < 2:
        text.append("house" if text[0] != "house" else "river")
    if rng.random() < 0.2 and edit in (_replace, _remove):
        text = list(dict.fromkeys(f"the {words.noun(rng)} {rng.choice(words.VERBS)}s in my {words.noun(rng)}".split()))
    pattern, result = edit(text, rng)
    turns = [Turn(_begun(framed(pattern, " ".join(text), rng), rng), result)]
    if edit in (_replace, _add, _insert, _reverse) and rng.random() < 0.12:
        turns.append(_edited_again(result.split(" "), rng))
    return turns


FURTHER: tuple[tuple[Edit, str], ...] = (
    (_replace, "[replace|change] {o} [by|with] {n}[| in it| there]"),
    (_remove, "[remove|delete|drop|take out|leave out] {o}[| from it]"),
    (_remove, "[the same|it|that] without {o}"),
    (
        _upper,
        "[in capitals|all caps|in upper case|make it upper case|write that in capitals|the same in capital letters]",
    ),
    (_reverse, "[reverse the words|the words in reverse order|turn the word order around]"),
)
"""Changes of the text in the last reply, and how to ask for them without saying it again."""


def _edited_again(text: list[str], rng: Random) -> Turn:
    edit, pattern = rng.choice(FURTHER if len(set(text)) > 1 else FURTHER[3:])
    old, new = rng.choice(text), words.word(rng)
    result = {
        _replace: " ".join(new if word == old else word for word in text),
        _remove: " ".join(word for word in text if word != old),
        _upper: " ".join(text).upper(),
        _reverse: " ".join(text[::-1]),
    }[edit]
    ask = rng.choice(("now ", "and now ", "then ", "ok, now ", "next, ", "")) + expand(pattern, rng)
    ask = ask.replace("{o}", old).replace("{n}", new) + rng.choice(("", "", " please", "."))
    return Turn(ask[:1].upper() + ask[1:] if rng.random() < 0.5 else ask, result)


FIELDS: dict[str, tuple[tuple[str, Callable[[Random], str | int]], ...]] = {
    "book": (
        ("title", lambda r: _title_of(r)),
        ("author", lambda r: _full(r)),
        ("year", lambda r: r.randint(1800, 2025)),
        ("pages", lambda r: r.randint(40, 900)),
    ),
    "person": (
        ("name", lambda r: _person(r)),
        ("age", lambda r: r.randint(1, 99)),
        ("city", lambda r: r.choice(words.CITIES)),
        ("job", lambda r: r.choice(words.PEOPLE)),
    ),
    "city": (
        ("name", lambda r: r.choice(words.CITIES)),
        ("country", lambda r: r.choice(words.COUNTRIES)),
        ("population", lambda r: r.randint(1, 90) * 10 ** r.randint(3, 5)),
    ),
    "color": (
        ("name", lambda r: r.choice(words.COLOURS)),
        ("hex", lambda r: "#" + "".join(r.choice("0123456789abcdef") for _ in range(6))),
    ),
    "colour": (
        ("name", lambda r: r.choice(words.COLOURS)),
        ("red", lambda r: r.randint(0, 255)),
        ("green", lambda r: r.randint(0, 255)),
        ("blue", lambda r: r.randint(0, 255)),
    ),
    "animal": (
        ("name", lambda r: _person(r)),
        ("species", lambda r: r.choice(words.ANIMALS)),
        ("legs", lambda r: r.choice((0, 2, 4, 6, 8))),
    ),
    "car": (
        ("brand", lambda r: words.invented(r).capitalize()),
        ("color", lambda r: r.choice(words.COLOURS)),
        ("year", lambda r: r.randint(1950, 2025)),
    ),
    "product": (
        ("name", lambda r: words.noun(r)),
        ("price", lambda r: r.randint(1, 999)),
        ("stock", lambda r: r.randint(0, 200)),
    ),
    "film": (
        ("title", lambda r: _title_of(r)),
        ("year", lambda r: r.randint(1920, 2025)),
        ("rating", lambda r: r.randint(1, 10)),
    ),
    "song": (
        ("title", lambda r: _title_of(r)),
        ("artist", lambda r: _full(r)),
        ("length", lambda r: r.randint(60, 500)),
    ),
    "user": (
        ("name", lambda r: _person(r)),
        ("id", lambda r: r.randint(1, 9999)),
        ("email", lambda r: f"{_person(r).lower()}@{words.invented(r)}.com"),
    ),
    "fruit": (
        ("name", lambda r: r.choice(words.FOODS)),
        ("color", lambda r: r.choice(words.COLOURS)),
        ("weight", lambda r: r.randint(5, 900)),
    ),
    "planet": (("name", lambda r: words.invented(r).capitalize()), ("moons", lambda r: r.randint(0, 80))),
    "point": (("x", lambda r: r.randint(0, 99)), ("y", lambda r: r.randint(0, 99))),
    "dog": (
        ("name", lambda r: _person(r)),
        ("age", lambda r: r.randint(1, 18)),
        ("color", lambda r: r.choice(words.COLOURS)),
    ),
}
JSON_ASKS = (
    "[give me|write|make|create|show me|return|output|print|produce|generate] [me |][|a |some |the ]JSON[| object] for {t}[| with] {f}",
    "[|a |an |the ]{k} as JSON: {f}",
    "JSON for {t}[| with|:] {f}",
    "[turn|convert|put] [this|the following|it] into JSON: {k}[,|:| with] {f}",
    "[describe|represent|encode|write] {t} [with|that has] {f} [as|in] JSON",
    "I need JSON for {t} with {f}",
    "[make|build] a JSON object [with|that has] {f}",
    "JSON: {k}, {f}",
    "{t} with {f} [as|in] JSON",
    "JSON object: {f}",
    "[answer|reply] in JSON: {k} with {f}",
    "json with {f}",
    *WORDINGS["copying.JSON_ASKS"],
)
ONE_LINE = (
    "[, |, all ]on one line",
    ", raw",
    ", raw, no fence",
    ", [no|without] code [block|fence]",
    " on a single line",
    ", compact",
)


def _person(rng: Random) -> str:
    return rng.choice(words.NAMES) if rng.random() < 0.8 else words.invented(rng).capitalize()


def _full(rng: Random) -> str:
    return f"{_person(rng)} {words.invented(rng).capitalize()}" if rng.random() < 0.6 else _person(rng)


def _title_of(rng: Random) -> str:
    name = " ".join(
        (words.word if rng.random() < 0.4 else words.noun)(rng).capitalize() for _ in range(rng.randint(1, 3))
    )
    return name if rng.random() < 0.6 else f"The {name}"


def records(rng: Random, style: Style) -> list[Turn]:
    """A small JSON object with the values that were given."""
    kind = rng.choice(sorted(FIELDS))
    fields = list(FIELDS[kind])
    if rng.random() < 0.15:
        fields = [
            (words.noun(rng), lambda r: r.randint(0, 100) if r.random() < 0.5 else words.word(r)) for _ in range(2)
        ]
    chosen = rng.sample(fields, rng.randint(min(2, len(fields)), min(3, len(fields))))
    record = {name: draw(rng) for name, draw in chosen}
    ask = (
        expand(rng.choice(JSON_ASKS), rng)
        .replace("{f}", _listed(record, rng))
        .replace("{t}", f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}")
        .replace("{k}", kind)
    )
    if rng.random() < 0.5:
        ask = ask.replace("JSON", "json")
    if rng.random() < 0.18:
        return [Turn(_begun(ask + expand(rng.choice(ONE_LINE), rng), rng), json.dumps(record))]
    return [
        Turn(
            _begun(ask + rng.choice(("", "", "", ".", " please")), rng), f"```json\n{json.dumps(record, indent=2)}\n```"
        )
    ]


def _listed(record: dict[str, str | int], rng: Random) -> str:
    """The fields in words: `title Dune and year 1965`, and the like."""
    quote = rng.random() < 0.2
    link = rng.choice((" ", " ", " ", ": ", " = ", "=", " is "))
    items = [
        f"{name}{link}" + (f'"{value}"' if quote and isinstance(value, str) else str(value))
        for name, value in record.items()
    ]
    return rng.choice((", ".join(items[:-1]) + " and " + items[-1], ", ".join(items)))


__all__ = ["drilling", "editing", "records", "repeating", "sentence"]
