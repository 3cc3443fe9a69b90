"""Passages are found by meaning too, where an embedding model is there; nobody ever waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localspec.base.errors import EngineError
from localspec.chat.compose.attachment import Attachment, in_full, notices, search_of, with_files
from localspec.chat.compose.message import Enclosures
from localspec.chat.papers import meaning as meaning_module
from localspec.chat.papers.meaning import Meaning
from localspec.chat.papers.passages import PassageIndex, fused
from localspec.store.file_blocks import TextFile

PATIENCE_S = 30.0
FILLER = "The afternoon was long and nobody said anything about it at all.\n\n" * 40
FACTS = {"bees.md": "A bee dances.\n", "cars.md": "An automobile has wheels.\n", "tides.md": "The moon pulls.\n"}
SUBJECTS = ({"car", "automobile"}, {"bee"}, {"moon", "tide"})
QUESTION = "How fast is a car? @notes/"


@dataclass
class FakeEmbedder:
    """Knows a few words by their subjects."""

    model: str = "fake.gguf"
    width: int = len(SUBJECTS) + 1
    asked: list[tuple[str, bool]] = field(default_factory=list)
    fails: bool = False
    closed: bool = False
    go_on: threading.Event = field(default_factory=threading.Event)
    """Passages are read once this is set; questions at once."""

    def embed(self, text: str, *, question: bool) -> NDArray[np.float32]:
        if not question:
            assert self.go_on.wait(PATIENCE_S)
        self.asked.append((text, question))
        if self.fails:
            raise EngineError("It failed.", "Try another.")
        words = set(text.lower().replace("?", " ").replace(".", " ").split())
        values = [float(bool(words & subject)) for subject in SUBJECTS]
        vector = np.array([*values, 0.1], np.float32)
        return vector / np.linalg.norm(vector)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def folder() -> Attachment:
    files = (TextFile(f"notes/{name}", f"{FILLER}{fact}\n{FILLER}") for name, fact in FACTS.items())
    return Attachment("notes/", tuple(files), n_ctx=2048)


def learned(meaning: Meaning, folder: Attachment, question: str) -> str:
    """The message once all is known."""
    meaning.want(*search_of([folder], question))
    assert meaning.wait(PATIENCE_S, passages=True)
    return with_files([folder], question, meaning)


def test_what_is_said_in_other_words_is_found(folder: Attachment) -> None:
    """And the message says by what: the passage has no word of the question."""
    embedder = FakeEmbedder()
    embedder.go_on.set()
    meaning = Meaning(lambda: embedder)
    assert "automobile" not in with_files([folder], QUESTION, meaning)
    content = learned(meaning, folder, QUESTION)
    assert "An automobile has wheels." in content
    assert "by meaning, found for the question\n" in in_full(content)
    both = learned(meaning, folder, "Which automobile? @notes/")
    assert "by words and meaning, found for the question" in both
    (notice,) = notices([folder], QUESTION, meaning)
    assert "2 passages of 2 files" in notice
    meaning.close()
    assert embedder.closed


def test_the_question_comes_first_and_words_alone_until_all_is_known(folder: Attachment) -> None:
    """A long folder does not hold up the question, and half of its passages are not preferred to the other half."""
    embedder, news = FakeEmbedder(), threading.Semaphore(0)
    meaning = Meaning(lambda: embedder, news.release)
    question, places = search_of([folder], QUESTION)
    meaning.want(question, places)
    assert meaning.wait(PATIENCE_S)
    assert news.acquire(timeout=PATIENCE_S)
    assert meaning.knows(question)
    assert embedder.asked == [(question, True)]
    assert meaning.ranked(question, places) == ()
    embedder.go_on.set()
    assert news.acquire(timeout=PATIENCE_S)
    assert meaning.ranked(question, places)
    passages_n = len(places[0].passages)
    assert len(embedder.asked) == 1 + passages_n
    meaning.want("Of tides?", places)
    assert meaning.wait(PATIENCE_S, passages=True)
    assert len(embedder.asked) == 2 + passages_n, "passages are read once"
    meaning.close()


def test_ranks_are_fused_as_in_the_paper(folder: Attachment) -> None:
    """1 / (60 + rank), added up: second in both is better than first in one."""
    a, b, c = PassageIndex(folder.files).passages[:3]
    assert fused([a, b], [c, b]) == [b, a, c]
    assert fused([], [c]) == [c]


@pytest.mark.parametrize("without", ["a model", "an end"])
def test_words_alone_do_without(folder: Attachment, without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No model on this machine; one that fails, which is said once; files that are too many."""
    embedder = FakeEmbedder(model="" if without == "a model" else "fake.gguf", fails=True)
    embedder.go_on.set()
    news = threading.Semaphore(0)
    meaning = Meaning(lambda: embedder, news.release)
    assert learned(meaning, folder, QUESTION) == with_files([folder], QUESTION)
    assert (meaning.trouble is None) == (without == "a model")
    assert without == "a model" or news.acquire(timeout=PATIENCE_S)
    assert embedder.closed
    meaning.want(*search_of([folder], "And this?"))
    assert meaning.knows("And this?"), "it is not tried again"
    monkeypatch.setattr(meaning_module, "MOST_PASSAGES", 3)
    other = Meaning(lambda: pytest.fail("nothing is to be embedded"))
    other.want(*search_of([folder], QUESTION))
    assert not other.wanted


def test_the_message_being_written_uses_it(folder: Attachment) -> None:
    """The prompt's message, also when it is edited."""
    embedder = FakeEmbedder()
    embedder.go_on.set()
    meaning = Meaning(lambda: embedder)
    enclosures = Enclosures(meaning)
    enclosures.attach(folder)
    written = enclosures.written(QUESTION)
    meaning.want(*written.search)
    assert meaning.wait(PATIENCE_S, passages=True)
    assert "An automobile" in written.content
    assert "2 passages of 2 files" in written.shown
    meaning.close()


def test_a_text_of_one_passage_is_near(tmp_path: Path) -> None:
    """There is no mean to be over."""
    embedder = FakeEmbedder()
    embedder.go_on.set()
    meaning, index = Meaning(lambda: embedder), PassageIndex((TextFile("a", "The moon."),))
    meaning.learn("A tide?", [index])
    assert meaning.ranked("A tide?", [index]) == tuple(index.passages)
    meaning.close()


class Ending(FakeEmbedder):
    """Does something when it is asked for its model a last time: before each text, before a pause, and after it."""

    looks_n = 0

    def __init__(self, at_end: Callable[[], object]) -> None:
        super().__init__()
        self.at_end = at_end

    def __getattribute__(self, name: str) -> object:
        if name == "model":
            self.looks_n += 1
            if self.looks_n == len(self.asked) + 2:
                self.at_end()
        return super().__getattribute__(name)


def test_what_is_wanted_as_the_process_ends_is_learned_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a pause the thread ends; a question that comes just then has another one."""
    monkeypatch.setattr(meaning_module, "IDLE_S", 0.0)
    index = PassageIndex((TextFile("a", "The moon."),))
    embedders: list[FakeEmbedder] = []

    def start() -> FakeEmbedder:
        embedders.append(FakeEmbedder() if embedders else Ending(lambda: meaning.want("A bee?", [index])))
        embedders[-1].go_on.set()
        return embedders[-1]

    meaning = Meaning(start)
    meaning.learn("A tide?", [index])
    while not meaning.knows("A bee?"):
        assert meaning.wait(PATIENCE_S)
    meaning.close()
    assert len(embedders) == 2
