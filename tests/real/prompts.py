"""A hundred things to ask the built-in pair."""

from __future__ import annotations

import json

from localspec.base.paths import shipped

HELD_OUT = shipped("assets/recipe/heldout.jsonl")

ANIMALS = ("fox", "cat", "owl", "turtle", "dragon", "robot", "mouse", "bear", "wolf", "whale", "horse", "hen")
SUBJECTS = (
    "LocalSpec", "speculative decoding", "a draft model", "a target model", "acceptance", "depth", "a bonus token",
    "a corrected token", "a plain token", "a rejected token", "the speed-up", "a pair", "a GGUF file", "the tour",
)  # fmt: skip
TASKS = (
    "Say the alphabet.", "Write a Python function that adds two numbers.", "Answer in JSON: name and age.",
    "Repeat after me: the quick brown fox.", "What is the weather like?", "Who won the last election?",
    "Write a table of squares.", "Hello!", "Good morning", "who are you", "Thank you.", "How do I get a real pair?",
    "What do the colours mean?", "Is it really the same text?", "Write a poem about the sea.", "äöü €?",
)  # fmt: skip


def hundred_prompts() -> list[str]:
    """First turns of the recipe's held-out questions, from all its subjects; where there are none, the lists here."""
    if HELD_OUT.exists():
        lines = [line for line in HELD_OUT.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [json.loads(lines[i * len(lines) // 100])["turns"][0] for i in range(100)]
    prompts = [f"Tell me a story about a {animal}." for animal in ANIMALS]
    prompts += [f"a story with a {animal} please" for animal in ANIMALS]
    prompts += [form % subject for subject in SUBJECTS for form in ("What is %s?", "explain %s to me")]
    prompts += [f"Count from {first} to {first + length}." for first in range(0, 40, 5) for length in (7, 12, 20, 33)]
    return [*prompts, *TASKS]
