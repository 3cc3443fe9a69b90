"""Ask the pair the held-out questions through llama.cpp, and say how many it answers right and how well the draft guesses.

    python check.py TARGET.gguf DRAFT.gguf [--show] [--corpus]

It also proves two things about itself: that no held-out question occurs in the training text, and that a wrong answer does not pass.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from chats import DRILL, LONG, SHARP, SHORT, chats
from evaluator import Evaluator, prompt
from heldout import Item, held_out_keys, items, normalised, untouched

DEPTH, LONGEST = 3, 400


@dataclass
class Outcome:
    """The reply of the pair to an item, and the draft's guesses in it."""

    item: Item
    reply: str
    proposed: int
    accepted: int


def seen_in_training(wanted: Iterable[Item], asked: Iterable[str]) -> set[str]:
    """The held-out items whose last question occurs in the training text, whatever its case and punctuation."""
    keys = {normalised(item.turns[-1]): item.id for item in wanted if len(item.turns) == 1 and not item.system}
    return {keys[key] for key in map(normalised, asked) if key in keys}


def answer(item: Item, target: Evaluator, draft: Evaluator) -> Outcome:
    """Let the target hold the conversation by itself; measure the draft on the last reply."""
    chat = item.opening
    reply: list[int] = []
    start: list[int] = []
    for ask in item.turns:
        chat.append({"role": "user", "content": ask})
        start = target.tokens(prompt(chat))
        reply = target.greedy(start, LONGEST)
        chat.append({"role": "assistant", "content": target.text(reply)})
    accepted, proposed = agreement(draft, start, reply)
    return Outcome(item, chat[-1]["content"], proposed, accepted)


def agreement(draft: Evaluator, start: Sequence[int], reply: Sequence[int]) -> tuple[int, int]:
    """Greedy speculation replayed on the target's text: (accepted, proposed); guesses past the end count for nothing."""
    accepted = proposed = at = 0
    while at < len(reply):
        guesses = draft.greedy([*start, *reply[:at]], DEPTH, stop=False)[: len(reply) - at]
        right = next((n for n, guess in enumerate(guesses) if guess != reply[at + n]), len(guesses))
        proposed += len(guesses)
        accepted += right
        at += right + 1
    return accepted, proposed


def shuffled_rate(outcomes: Sequence[Outcome], rounds: int = 20) -> float:
    """The share of items that the reply to another would pass: the check is worth nothing if that is not small."""
    rng, passed = Random(0), 0
    for _ in range(rounds):
        replies = [outcome.reply for outcome in outcomes]
        rng.shuffle(replies)
        passed += sum(o.item.passes(reply) for o, reply in zip(outcomes, replies, strict=True) if reply != o.reply)
    return passed / (rounds * len(outcomes))


def report(outcomes: Sequence[Outcome]) -> str:
    """The tables of the model card: the questions there were from the beginning, and those that were added."""
    both = ([outcome for outcome in outcomes if outcome.item.added is added] for added in (False, True))
    return "\n\n".join(map(table, both))


def table(outcomes: Sequence[Outcome]) -> str:
    """The shares of right replies and of right guesses of the draft, by subject, as a Markdown table."""
    by_subject: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_subject[outcome.item.subject].append(outcome)
    lines = ["| subject | questions | on topic | acceptance at depth 3 |", "|---|---|---|---|"]
    late = [outcome for outcome in outcomes if outcome.item.late]
    rows = [*by_subject.items(), ("all", list(outcomes)), *([("of these, late", late)] if late else [])]
    for subject, group in rows:
        right = sum(o.item.passes(o.reply) for o in group)
        rate = sum(o.accepted for o in group) / max(1, sum(o.proposed for o in group))
        lines.append(f"| {subject} | {len(group)} | {right} ({right / len(group):.0%}) | {rate:.2f} |")
    return "\n".join(lines)


def training_questions() -> Iterable[str]:
    """Every question of the training text, made again from its seeds, without the chats that `build.py` leaves out."""
    keys = held_out_keys()
    return (
        message["content"]
        for text in (SHARP, SHORT, LONG, DRILL)
        for chat in chats(text)
        if untouched(chat, keys)
        for message in chat
        if message["role"] == "user"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("draft", type=Path)
    parser.add_argument(
        "--corpus", action="store_true", help="look for the held-out questions in the whole training text"
    )
    parser.add_argument("--show", action="store_true", help="print the replies that failed")
    options = parser.parse_args()
    target, draft = (Evaluator(path, threads=1) for path in (options.target, options.draft))
    outcomes = [answer(item, target, draft) for item in items()]
    for outcome in outcomes if options.show else []:
        if not outcome.item.passes(outcome.reply):
            print(f"{outcome.item.id} {outcome.item.turns}\n    {outcome.reply!r}")
    print(report(outcomes))
    print(f"wrong replies that would pass: {shuffled_rate(outcomes):.1%}")
    if options.corpus:
        print(
            f"held-out questions that occur in the training text: {sorted(seen_in_training(items(), training_questions()))}"
        )


if __name__ == "__main__":
    main()
