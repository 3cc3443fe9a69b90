"""Changing the pair in the course of a chat."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.base.errors import LocalSpecError, ModelFileError
from localspec.chat.pair_slot import InProcessPair
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.load import OpenPair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.worker.messages import Generate
from tests.cli.support import FakeWorld

ASKED = Generate(1, (Message(Role.USER, "hello"),), ReplyOptions())


def chat_config(name: str) -> ChatConfig:
    return ChatConfig(LoadOptions(Path(f"{name}.gguf"), Path("draft.gguf")), title=name)


def slot(world: FakeWorld, refused: set[str]) -> InProcessPair:
    def opener(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        if options.target.stem in refused:
            raise ModelFileError("No.")
        return world.open_pair(options, cancel, progress)

    return InProcessPair(opener, chat_config("first"))


def test_a_pair_that_cannot_be_loaded_leaves_the_former() -> None:
    """The error is raised, and replies come as before; every pair is closed in the end."""
    world = FakeWorld()
    with slot(world, {"second"}) as pairs:
        with pytest.raises(ModelFileError):
            pairs.change(chat_config("second"))
        assert [pair.info.target.stem for pair in world.pairs] == ["first", "first"]
        assert pairs.chat_config.title == "first"
        assert list(pairs.reply(ASKED))
        pairs.change(chat_config("third"))
        assert pairs.info.target.stem == "third"
        assert [pair.closed for pair in world.pairs] == [True, True, False]
    assert all(pair.closed for pair in world.pairs)


def test_a_slot_left_empty_is_filled_when_it_is_needed() -> None:
    """Where not even the former comes back, the next message tries again."""
    world, refused = FakeWorld(), set[str]()
    with slot(world, refused) as pairs:
        refused |= {"first", "second"}
        with pytest.raises(LocalSpecError):
            pairs.change(chat_config("second"))
        assert not pairs.interrupted
        with pytest.raises(LocalSpecError):
            list(pairs.reply(ASKED))
        refused.clear()
        assert list(pairs.reply(ASKED))
        assert pairs.info.target.stem == "first"


def test_the_pair_in_use_is_not_loaded_again_and_options_change_without_loading() -> None:
    """As on the screen."""
    world = FakeWorld()
    with slot(world, set()) as pairs:
        pairs.change(chat_config("first"))
        pairs.adopt(chat_config("second"))
        assert (pairs.chat_config.title, pairs.chat_config.load.target.stem) == ("second", "first")
        assert len(world.pairs) == 1


def test_ctrl_c_while_another_pair_is_loaded_leaves_the_former() -> None:
    world = FakeWorld()

    def opener(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        if options.target.stem == "second":
            raise Cancelled
        return world.open_pair(options, cancel, progress)

    with InProcessPair(opener, chat_config("first")) as pairs:
        with pytest.raises(KeyboardInterrupt):
            pairs.change(chat_config("second"))
        assert (pairs.chat_config.title, pairs.former) == ("first", None)
        assert list(pairs.reply(ASKED))
