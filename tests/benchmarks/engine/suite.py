"""What is asked: from text any draft foresees to text none does, and replies that stand in the conversation already.

All of it lies within the built-in pair's subjects, since the bench pair knows no others.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation's questions; to all but the last the target's own greedy replies are put in first."""

    name: str
    kind: str
    questions: tuple[str, ...]


PREDICTABLE, MIXED, HARD, ADVERSE, COPY, EDIT = "predictable", "mixed", "hard", "adverse", "copy", "edit"

_PRIME = "Write a Python function that checks whether a number is prime."
_KEYS = "What keys are there?"
_FOX = "Tell me a story about a fox."
_TABLE = "Write the times table of 7."
_COUNT = "Count from 1 to 80."
_INVENTED = "zorvex plimtar quagnost bellifor drantix mopuleth vexarin toldrum grisquab fendolac"
_MORE_INVENTED = "wimbrel oskatun perrivog lunthar dazzik chomerin ulvestra nabbiton frelquay sidorax"

PROMPTS = (
    # The counts look repetitive, but a drafter that looks up the context is nearly always wrong about them.
    Prompt("count", PREDICTABLE, ("Count from 1 to 60.",)),
    Prompt("count-down", PREDICTABLE, ("Count backwards from 50 to 1.",)),
    Prompt("squares", PREDICTABLE, ("Write the squares of the numbers from 1 to 20.",)),
    Prompt("table", PREDICTABLE, (_TABLE,)),
    Prompt("alphabet", PREDICTABLE, ("Say the alphabet.",)),
    Prompt("prime", PREDICTABLE, (_PRIME,)),
    Prompt("factorial", MIXED, ("Write a Python function for the factorial.",)),
    Prompt("speculation", MIXED, ("What is speculative decoding?",)),
    Prompt("keys", MIXED, (_KEYS,)),
    Prompt("real-pair", MIXED, ("How do I get a real pair?",)),
    Prompt("weather", MIXED, ("What is the weather in Paris today?",)),
    Prompt("fox", HARD, (_FOX,)),
    Prompt("dragon", HARD, ("Tell me a long story about a dragon and a robot.",)),
    Prompt("robots", HARD, ("Tell me a story about three robots, a fox and the sea.",)),
    Prompt("haiku", HARD, ("Write a haiku about the sea.",)),
    Prompt("record", HARD, ("Answer in JSON: name Anna, age 31, city Paris, colour blue.",)),
    # The draft knows none of these words and has not learned to copy: nearly every guess is wrong.
    Prompt("invented", ADVERSE, (f"Repeat after me: {_INVENTED}.",)),
    Prompt("more-invented", ADVERSE, (f"Repeat after me: {_MORE_INVENTED}.",)),
    # Asked again for what it said: the reply stands in the conversation, some 300 tokens of it at the count.
    Prompt("count-again", COPY, (_COUNT, _COUNT)),
    Prompt("prime-again", COPY, (_PRIME, _PRIME)),
    Prompt("keys-again", COPY, (_KEYS, _KEYS)),
    # Asked for something like it: more or less of the reply stands in the conversation.
    Prompt("count-on", EDIT, (_COUNT, "Count from 40 to 100.")),
    Prompt("table-next", EDIT, (_TABLE, "Write the times table of 8.")),
    Prompt("fox-again", EDIT, (_FOX, _FOX)),
    Prompt("owl", EDIT, (_FOX, "Tell me a story about an owl.")),
)
"""The toy does not copy a page of foreign text faithfully, so what is repeated here is its own earlier reply."""
EARLIER_TOKENS = 400
"""The most tokens of an earlier reply."""
