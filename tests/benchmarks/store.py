"""What conversations on disk cost: to search, to list, to open, and to record.

    python -m tests.benchmarks.store [--messages 100000]

Makes a store of conversations of 20 messages and one of 200,000 tokens, of words drawn as in a language (Zipf), half of
the messages being replies with their rounds. Each time is the first in a fresh process' store, then the median
and the most of 9.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zlib import crc32

from localspec.engine.events import Finished, FinishReason, Origin, Proposal, Round, Started, Token
from localspec.engine.tally import Tally
from localspec.runtime.messages import ReplyOptions, Role
from localspec.store import (
    ConversationDocument,
    Heading,
    ModelFileRecord,
    ReplyMetadata,
    ReplyPart,
    ReplyState,
    Store,
    title_of,
)
from localspec.store.documents import MessageDocument
from localspec.store.ids import new_id
from localspec.store.tree import Node

VOCABULARY_N = 20_000
MESSAGES_A_CONVERSATION = 20
TOKENS_A_MESSAGE = 60
LONG_TOKENS_N = 200_000
BEGUN = datetime(2025, 1, 1, tzinfo=UTC)
ABOUT = ReplyMetadata(
    ReplyOptions(seed=1), ModelFileRecord("target.gguf", "a" * 64, 10**9), ModelFileRecord("draft.gguf"), "pair", 20.0
)
SYLLABLES = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "ai", "er", "on")]


class Writer:
    """Makes up what is said."""

    def __init__(self) -> None:
        self.rng = random.Random(52)
        made = {"".join(self.rng.choices(SYLLABLES, k=1 + n % 4)) for n in range(3 * VOCABULARY_N)}
        self.vocabulary = sorted(made, key=lambda word: (len(word) // 3, hash_of(word)))[:VOCABULARY_N]
        """The most frequent first, which are the short ones."""
        weights = [1 / (n + 1) for n in range(VOCABULARY_N)]
        self._drawn = self.rng.choices([f"{word} " for word in self.vocabulary], weights, k=400_000)

    def words(self, n: int) -> list[str]:
        begin = self.rng.randrange(len(self._drawn) - n)
        return self._drawn[begin : begin + n]

    def rounds(self, words: list[str]) -> Iterator[Round]:
        """In threes and fours, a rejected proposal in every other."""
        index = 0
        while words:
            now, words = words[: self.rng.choice((1, 3, 4))], words[4:]
            accepted = [Token(self.rng.randrange(150_000), word, Origin.ACCEPTED, "draft") for word in now[:-1]]
            last = Token(self.rng.randrange(150_000), now[-1], Origin.CORRECTED)
            why = f"draft {len(now)}: the next has {self.rng.randrange(50)}%, too little for the pass"
            rejected = (Proposal(self.rng.randrange(150_000), " other", "draft"),) if index % 2 else ()
            spent = self.rng.random() * 0.003, 0.03 + self.rng.random() * 0.01
            yield Round(index, "draft", len(now), (*accepted, last), rejected, (), *spent, sum(spent) + 0.0004, why)
            index += 1

    def reply(self, n: int) -> tuple[str, ReplyPart]:
        rounds = tuple(self.rounds(self.words(n)))
        text = "".join(token.text for round_ in rounds for token in round_.tokens)
        return text, ReplyPart(ABOUT, ReplyState.DONE, 0, Started(100, 50, 1), rounds, _finished(rounds))

    def conversation(self, messages_n: int, tokens_n: int, at: datetime) -> ConversationDocument:
        messages: list[MessageDocument] = []
        for number in range(messages_n):
            parent = messages[-1].node.id if messages else None
            at += timedelta(seconds=20)
            if number % 2:
                text, part = self.reply(tokens_n)
                node = Node(new_id(), parent, Role.ASSISTANT, text, at, state=ReplyState.DONE)
                messages.append(MessageDocument(node, (part,)))
            else:
                text = "".join(self.words(tokens_n // 2)) + self.rng.choice(("", "", "", "🎉", "東京は首都です"))
                messages.append(MessageDocument(Node(new_id(), parent, Role.USER, text, at)))
        title = title_of(messages[0].node.content)
        heading = Heading(new_id(), messages[0].node.created, at, title, leaf=messages[-1].node.id)
        return ConversationDocument(heading, tuple(messages))


def _finished(rounds: tuple[Round, ...]) -> Finished:
    tally = Tally(plain_per_second=20.0)
    for round_ in rounds:
        tally.add(round_)
    return Finished(FinishReason.STOP, "", tally.timings())


def main() -> None:
    """Make the store and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=100_000)
    messages_n = parser.parse_args().messages
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        long = fill(path, messages_n)
        print(f"{messages_n} messages, {path.stat().st_size / 1e6:.0f} MB")
        reading(path, long)
        recording(path)


def fill(path: Path, messages_n: int) -> str:
    """The id of the long conversation."""
    writer, store = Writer(), Store.open(path)
    long = writer.conversation(LONG_TOKENS_N // 500 * 2, 500, BEGUN)
    store.add([long])
    begun = time.perf_counter()
    for batch in range(0, messages_n, MESSAGES_A_CONVERSATION * 50):
        conversations_n = min(messages_n - batch, MESSAGES_A_CONVERSATION * 50) // MESSAGES_A_CONVERSATION
        at = BEGUN + timedelta(minutes=batch)
        made = [writer.conversation(MESSAGES_A_CONVERSATION, TOKENS_A_MESSAGE, at) for _ in range(conversations_n)]
        store.add(made)
    print(f"made in {time.perf_counter() - begun:.0f} s")
    store.close()
    return long.heading.id


def reading(path: Path, long: str) -> None:
    """Open, list, search."""
    begun = time.perf_counter()
    store = Store.open(path)
    listed = store.conversations()
    print(f"{'open the store and list it':44} {(time.perf_counter() - begun) * 1e3:8.1f} ms")
    timed("list all conversations", store.conversations)
    timed("open a conversation of 20 messages", lambda: store.open_conversation(listed[100].heading.id))
    timed("open one of 200,000 tokens", lambda: store.open_conversation(long))
    thread = store.open_conversation(long)
    timed("tokens and rounds of a reply of 500 tokens", lambda: thread.reply(thread.path[-1].id))
    for query in queries():
        timed(f"search {query} ({len(store.search(query, 10**6))} hits)", lambda query=query: store.search(query))  # type: ignore[misc]
    store.close()


def queries() -> list[str]:
    """From the most frequent word of all to one that was never said."""
    words = Writer().vocabulary
    frequent, often, seldom = words[0], words[100], words[5000]
    return [
        *(frequent, often, seldom, frequent[:1], often[:2], seldom[:4]),
        *(f"{frequent} {often}", f"{often} {seldom}", f'"{frequent} {words[1]}"', "nowhere", "🎉", "東京"),
    ]


def hash_of(word: str) -> int:
    """The same in every process."""
    return crc32(word.encode())


def recording(path: Path) -> None:
    """A reply of 20,000 tokens, 16 rounds a second."""
    writer, seconds = Writer(), [0.0]
    store = Store.open(path, monotonic=lambda: seconds[0])
    thread = store.begin()
    thread.ask("How long?")
    recorder = thread.begin_reply(ABOUT)
    rounds = list(writer.rounds(writer.words(20_000)))
    tokens_n = sum(len(round_.tokens) for round_ in rounds)
    took = []
    for round_ in rounds:
        seconds[0] += 1 / 16
        begun = time.perf_counter()
        recorder.receive(round_)
        took.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    recorder.receive(_finished(tuple(rounds)))
    end_s = time.perf_counter() - begun
    ((rounds_bytes, text_bytes),) = store._database.query(
        "SELECT length(rounds), length(CAST(content AS BLOB)) FROM reply, message WHERE message = id AND id = ?",
        (recorder.node.id,),
    )
    print(
        f"{'record, a token':44} {sum(took) / tokens_n * 1e6:8.1f} µs  (a write takes at most {max(took) * 1e3:.1f} ms)"
    )
    print(f"{f'end a reply of {tokens_n} tokens':44} {end_s * 1e3:8.1f} ms")
    print(f"{'on disk, a token':44} {rounds_bytes / tokens_n:8.1f} bytes, and {text_bytes / tokens_n:.1f} of text")
    begun = time.perf_counter()
    thread.reply(recorder.node.id)
    print(f"{'read it again with its rounds':44} {(time.perf_counter() - begun) * 1e3:8.1f} ms")
    store.close()


def timed(name: str, action: Callable[[], object]) -> None:
    """Ten times."""
    took = []
    for _ in range(10):
        begun = time.perf_counter()
        action()
        took.append((time.perf_counter() - begun) * 1e3)
    print(f"{name:44} {took[0]:8.1f} ms first, {statistics.median(took[1:]):.1f} median, {max(took[1:]):.1f} most")


if __name__ == "__main__":
    main()
