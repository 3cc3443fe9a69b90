"""The target's own replies, for the draft to learn from: requests in OpenAI's batch format, and the chats that their answers make.

    python assets/recipe/replies.py requests.jsonl
    localspec batch requests.jsonl --target builtin-target.gguf --draft builtin-draft.gguf --out replies.jsonl
    python assets/recipe/distill.py ... --replies requests.jsonl replies.jsonl

The target writes them at the tour's temperature, where its text is less varied than the training text. `schemas.py` has requests for replies
held to JSON Schemas.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from chats import Text, chats
from heldout import held_out_keys, untouched
from turns import Chat

Request = dict[str, Any]
LONGEST = 200
STORY_LENGTH, STORY_WORDS = 250, ("story", "tale")
"""A reply of more characters to a question with one of these words is taken for a story."""


def request(number: int, body: dict[str, Any]) -> Request:
    """A line of a batch; the reply's seed is its number."""
    return {
        "custom_id": str(number),
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {**body, "seed": number},
    }


def requests(count: int, seed: int) -> Iterator[Request]:
    """Questions of the training text; three of five ask for a story."""
    keys, left = held_out_keys(), {True: count * 3 // 5, False: count - count * 3 // 5}
    asked = (chat for chat in chats(Text(count * 200, seed, single=1.0)) if untouched(chat, keys))
    for *before, question, reply in asked:
        told = len(reply["content"]) > STORY_LENGTH and any(word in question["content"].lower() for word in STORY_WORDS)
        if left[told]:
            body = {"messages": [*before, question], "max_tokens": LONGEST, "temperature": 0.3, "top_p": 0.9}
            yield request(count - sum(left.values()), body)
            left[told] -= 1
        if not any(left.values()):
            return


def answered(asked: Path, replies: Path) -> Iterator[Chat]:
    """The conversations of a batch, each with its reply; refused requests are left out."""
    requests_of = {request["custom_id"]: request["body"] for request in _lines(asked)}
    for reply in _lines(replies):
        if reply["response"] and reply["response"]["status_code"] == 200:
            said = reply["response"]["body"]["choices"][0]["message"]["content"]
            yield [*requests_of[reply["custom_id"]]["messages"], {"role": "assistant", "content": said}]


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def main(description: str | None, requests: Callable[[int, int], Iterator[Request]], count: int, seed: int) -> None:
    """Write requests to a file that the command line names."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=seed)
    options = parser.parse_args()
    with options.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(line) + "\n" for line in requests(options.count, options.seed))


if __name__ == "__main__":
    main(__doc__, requests, 2_500, 82)
