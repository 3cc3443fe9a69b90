"""Whole conversations: an optional system prompt, then turns from any of the families, switching subject as people do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import product
import refusals
import smalltalk
import template
import toolcalls
import tour
from copying import drilling, editing, records, repeating
from counts import counting, sums, tables
from letters import alphabet
from snippets import SNIPPETS, code, fenced
from stories import poems, stories
from turns import Chat, Family, Style, Turn
from words import invented

FAMILIES: dict[str, tuple[Family, float]] = {
    "app": (tour.app, 25),
    "speculation": (tour.speculation, 22),
    "pairs": (tour.pairs, 11),
    "self": (tour.self, 10),
    "commands": (tour.commands, 26),
    "shell": (tour.shell, 16),
    "without tools": (toolcalls.without, 2),
    "smalltalk": (smalltalk.smalltalk, 9),
    "outside": (refusals.outside, 19),
    "counting": (counting, 13),
    "tables": (tables, 2),
    "sums": (sums, 3),
    "alphabet": (alphabet, 4),
    "repeating": (repeating, 9),
    "editing": (editing, 14),
    "records": (records, 5),
    "code": (code, 8),
    "stories": (stories, 3.5),
    "poems": (poems, 1),
}
DRILLS: dict[str, tuple[Family, float]] = {
    "drilling": (drilling, 22),
    "editing": (editing, 46),
    "counting": (counting, 13),
    "sums": (sums, 14),
    "records": (records, 5),
}
FRESH: dict[str, tuple[Family, float]] = {
    "commands": (tour.commands, 30),
    "shell": (tour.shell, 18),
    "changed": (tour.changed, 12),
}
"""Families that the weights before these did not know, or knew otherwise."""
VARIED: dict[str, tuple[Family, float]] = {
    "stories": (stories, 50),
    "poems": (poems, 10),
    "repeating": (repeating, 12),
    "editing": (editing, 14),
    "records": (records, 10),
    "code": (code, 4),
}
"""Families whose replies are all different, and hard to guess for a head that has seen few of them."""
PLAIN_SYSTEM = (
    "You are the LocalSpec guide.",
    "You are a helpful assistant.",
    "You are the LocalSpec tour guide.",
    "You are a helpful assistant",
    "You are LocalSpec.",
    "Be friendly.",
    "Be helpful and kind.",
    "You are a guide to this app.",
    "Answer the user's questions.",
    "You are an assistant that runs locally.",
    "Answer in English.",
    "You are a coding assistant.",
    "You are a chatbot.",
    "Be precise.",
    "You are a friendly guide to LocalSpec, a terminal chat app.",
    "Assist the user.",
    "Today is Monday.",
    "You are a pirate.",
    "Use Markdown.",
    "Think before you answer.",
)
TOOL_SYSTEM = (
    "You can call tools.",
    "Use tools when they help.",
    "You have access to tools.",
    "You are a helpful assistant with tools.",
    "Call a tool if you need one.",
    "You may call one tool at a time.",
)
TOOLS = 0.075
"""The share of chats that list tools."""
BRIEF_SYSTEM = (
    "Answer briefly.",
    "Be brief.",
    "Be concise.",
    "Short answers only.",
    "Answer in one sentence.",
    "Keep your answers short.",
    "Reply in as few words as possible.",
    "You are the LocalSpec guide. Answer briefly.",
    "You are a helpful assistant. Be concise.",
    "Answer shortly.",
    "You are terse.",
    "Keep it short.",
)


def system(rng: Random) -> tuple[str, Style]:
    """A system prompt, if any, and what it means for the replies."""
    chance = rng.random()
    if chance < 0.6:
        return "", Style()
    if chance < 0.78:
        return rng.choice(PLAIN_SYSTEM), Style()
    if chance < 0.84:
        return (
            f"You are {invented(rng).capitalize()}, {rng.choice(('a helpful assistant', 'a guide', 'a friendly model', 'an assistant'))}.",
            Style(),
        )
    return rng.choice(BRIEF_SYSTEM), Style(brief=True)


def turns(rng: Random, style: Style, drill: float, fresh: float = 0.0, varied: float = 0.0) -> list[Turn]:
    """Turns of one family, drawn by weight."""
    if varied and rng.random() < varied:
        families = VARIED
    else:
        families = FRESH if rng.random() < fresh else DRILLS if rng.random() < drill else FAMILIES
    family = rng.choices([family for family, _ in families.values()], [weight for _, weight in families.values()])[0]
    return family(rng, style)


def tooled(rng: Random, style: Style, tools: toolcalls.Tools) -> list[Turn]:
    """A turn of a chat that lists tools: most ask for what tools know, the others for what needs none."""
    if rng.random() < 0.72:
        return toolcalls.asking(rng, style, tools)
    while True:
        said = turns(rng, style, 0.0)
        if not tools.clock or not any(turn.reply in (refusals.REPLIES["now"], refusals.BRIEF) for turn in said):
            return said


def chat(rng: Random, parts: int, text: Text) -> Chat:
    """A conversation of so many parts; a part is a family's turn with its follow-ups."""
    prompt, style = system(rng)
    if rng.random() < TOOLS:
        tools = toolcalls.tools(rng)
        prompt = rng.choice(TOOL_SYSTEM) if rng.random() < 0.2 and not style.brief else prompt
        prompt = template.listed(prompt, tools.listed)
        said = [turn for _ in range(parts) for turn in tooled(rng, style, tools)]
    else:
        said = [turn for _ in range(parts) for turn in turns(rng, style, text.drill, text.fresh, text.varied)]
    messages = [{"role": "system", "content": prompt}] if prompt else []
    for turn in said:
        messages += [{"role": "user", "content": turn.ask}, {"role": "assistant", "content": turn.reply}]
    return messages


@dataclass(frozen=True)
class Text:
    """The settings of a corpus: how many chats, from which seed, of at most how many parts, how many of a single one,
    how many parts are varied, fresh or drill, and whether replies known by heart are cut to their opening."""

    chats: int
    seed: int
    longest: int = 4
    single: float = 0.45
    drill: float = 0.0
    fresh: float = 0.0
    sharp: bool = False
    varied: float = 0.0


SHORT = Text(20_000, 24)
VOCABULARY_TEXT = Text(25_000, 20)
SHARP = Text(400_000, 25, longest=2, single=0.8, sharp=True)
DRILL = Text(60_000, 23, drill=0.8)
LONG = Text(1_000, 22, longest=10, single=0.0)
COURSE = (
    Text(60_000, 31, longest=2, single=0.85, fresh=0.5, sharp=True),
    Text(2_000, 32),
    Text(4_000, 33, drill=0.8),
    Text(100, 34, longest=10, single=0.0),
)
"""A short course for weights that know all the rest: nearly half of it is what is new."""


HEADS_COURSE = (Text(22_000, 61, longest=2, single=0.9, varied=0.75),)
"""A course for heads that know the usual replies."""


def known_replies() -> frozenset[str]:
    """The replies that are the same whenever they are given."""
    told = {reply for topic in tour.TOPICS for reply in (topic.answer, topic.brief, topic.more, topic.why, topic.off)}
    small = {reply for _, replies in smalltalk.EXCHANGES for reply in replies}
    return frozenset(
        told
        | small
        | {
            *refusals.REPLIES.values(),
            refusals.BRIEF,
            product.UNKNOWN_COMMAND,
            product.UNKNOWN_KEY,
            toolcalls.NO_COUNTER,
        }
        | {fenced(snippet.code) for snippet in SNIPPETS}
    )


def chats(text: Text) -> Iterator[Chat]:
    """Many conversations, by default most of them short: a first question has to be right before a second one is asked."""
    rng = Random(text.seed)
    for _ in range(text.chats):
        parts = 1 if rng.random() < text.single else rng.randint(2, text.longest)
        yield chat(rng, parts, text)
