"""Replies that are kept are proposed again in another conversation, and only there where they were asked to be kept."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from localspec.engine.settings import Sampling
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from tests.builtin import TARGET
from tests.runtime.opened_pairs import follow, open_unmeasured

QUESTION = [Message(Role.USER, "Tell me a story about a fox.")]
OPTIONS = ReplyOptions(sampling=Sampling(temperature=0), spec=("suffix",), depth=6, max_tokens=60)


def ask(remember: bool) -> tuple[str, int]:
    """The reply in a process that knows nothing but what is on disk, and how many rounds it took."""
    with closing(open_unmeasured(LoadOptions(TARGET, n_ctx=256, threads=1, remember_replies=remember))) as pair:
        reply = follow(pair, QUESTION, OPTIONS)
    return reply.text, len(reply.rounds)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path))


def test_a_reply_that_was_kept_is_proposed_the_next_time() -> None:
    text, rounds_n = ask(remember=True)
    again, fewer_n = ask(remember=True)
    assert again == text
    assert fewer_n < rounds_n / 3


def test_nothing_is_kept_unasked(tmp_path: Path) -> None:
    _, rounds_n = ask(remember=False)
    _, same_n = ask(remember=False)
    assert same_n == rounds_n
    assert not list(tmp_path.rglob("*.replies"))
