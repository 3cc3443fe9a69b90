"""What goes wrong beneath the engine, with the real library: a sentence, and the next reply works."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest

from localspec.base.errors import CapacityError, EngineError, ModelFileError
from localspec.engine.backends.llama.load import LoadSettings, load
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.cancel import Cancellation
from localspec.engine.settings import Sampling
from localspec.runtime.load import open_pair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import Answer, Failed, Generate, Load, Loaded
from tests.builtin import NOISE, TARGET
from tests.runtime.worker.test_client import Talk
from tests.tiny_models import N_VOCAB, Weights, write_tiny

CONTEXT = list(range(4, 60))
POISON = 77
"""A token whose embedding is not a number, in the models spoiled here."""


def spoil(name: str, values: Weights) -> None:
    """One token that makes everything after it worthless."""
    if name == "token_embd.weight":
        values[POISON, 3] = np.nan


@contextmanager
def opened(path: Path, *, room: int = 256, told: int | None = None) -> Iterator[LlamaModel]:
    """A model with ``room`` cells, told that it has more."""
    # Unfused attention multiplies what it does not see by zero, and what is not a number stays that.
    loaded = load(native(), LoadSettings(path, 8, room, 1, flash_attn=False), Cancellation())
    model = LlamaModel(replace(loaded, n_ctx=told or room))
    yield model
    model.close()


@pytest.fixture(params=["llama", "jamba", "gemma3"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "tiny.gguf", request.param, spoil=spoil)


class TestNotNumbers:
    def test_in_any_score_of_any_row_that_is_used(self, tmp_path: Path) -> None:
        """Not only in the first: one row of the output's weights is spoiled, far from either end."""

        def spoil_output(name: str, values: Weights) -> None:
            if name == "output.weight":
                values[N_VOCAB // 2, 0] = np.inf

        with (
            opened(write_tiny(tmp_path / "bad.gguf", "llama", spoil=spoil_output)) as model,
            pytest.raises(ModelFileError, match="not numbers"),
        ):
            model.logits(CONTEXT, 3)

    def test_the_next_reply_works(self, path: Path) -> None:
        """Nothing of what is not a number stays in the cache, though most of the context is the same."""
        with opened(path) as model:
            expected = model.logits(CONTEXT, 2).copy()
            for at in (10, len(CONTEXT) - 1):
                with pytest.raises(ModelFileError, match="not numbers"):
                    model.logits([*CONTEXT[:at], POISON, *CONTEXT[at:]], 2)
                assert np.allclose(expected, model.logits(CONTEXT, 2), atol=NOISE)

    def test_a_row_that_nobody_asked_for_is_found_once_it_matters(self, path: Path) -> None:
        """Read as a prompt without scores, the token is met by the first row that sees it."""
        with opened(path) as model:
            spoiled = [*CONTEXT, POISON, 5, 6]
            model.logits(spoiled, 0)
            with pytest.raises(ModelFileError, match="not numbers"):
                model.logits([*spoiled, 7], 1)
            assert np.isfinite(model.logits(CONTEXT, 1)).all()


class TestDecoding:
    def test_a_cache_without_room_is_a_sentence(self, tmp_path: Path) -> None:
        """llama.cpp finds no cells; what was there before stays and is right."""
        with opened(write_tiny(tmp_path / "tiny.gguf", "llama"), told=4096) as model:
            context = [4 + i % 90 for i in range(250)]
            expected = model.logits(context, 1).copy()
            with pytest.raises(CapacityError, match=r"context is full.*--ctx"):
                model.logits([*context, *CONTEXT], 1)
            assert model.held(context) == 250
            assert np.allclose(expected, model.logits(context, 1), atol=NOISE)

    def test_an_evaluation_llama_cpp_refuses_is_a_sentence(self, path: Path) -> None:
        """A gap in the positions, code -1; afterwards the cache is believed, not the plan."""
        with opened(path) as model:
            expected = model.logits(CONTEXT, 2).copy()
            model.logits(CONTEXT[:30], 1)
            model._memory.held.extend([8, 9])  # two tokens that llama.cpp never saw
            with pytest.raises(EngineError, match=r"llama\.cpp failed \(code -1\): .*Try the prompt again"):
                model.logits([*model._memory.held, 10], 1)
            assert model.held([*CONTEXT[:30], 8, 9]) <= 30
            assert np.allclose(expected, model.logits(CONTEXT, 2), atol=NOISE)


def test_text_that_a_tokenizer_has_no_token_for_is_a_sentence(tmp_path: Path) -> None:
    """A file that names another tokenizer than its own: llama.cpp gives -1, which is no token to evaluate."""
    with (
        opened(write_tiny(tmp_path / "tiny.gguf", "llama", tokenizer="rwkv")) as model,
        pytest.raises(ModelFileError, match="no token for a part of the text"),
    ):
        model.vocab.tokenize("\u00fc", special=False)


HELLO = (Message(Role.USER, "Tell me a story about a fox."),)
BRIEF = ReplyOptions(sampling=Sampling(temperature=0), max_tokens=12)


class TestFiles:
    def test_a_file_replaced_while_it_is_loaded_is_no_matter(self, tmp_path: Path) -> None:
        """Another file under the same name, as updates make it: the loaded one lives on."""
        file = tmp_path / "model.gguf"
        shutil.copyfile(TARGET, file)
        pair = open_pair(LoadOptions(file), Cancellation())
        before = list(pair.reply(HELLO, BRIEF))[-1]
        (tmp_path / "new.gguf").write_bytes(b"something else")
        (tmp_path / "new.gguf").replace(file)
        after = list(pair.reply(HELLO, BRIEF))[-1]
        assert before.text == after.text  # type: ignore[union-attr]
        pair.close()

    def test_a_file_cut_while_it_is_mapped_ends_the_engine_and_says_so(self, tmp_path: Path) -> None:
        """The system ends the process (SIGBUS); the app lives, hears why, and the next load names the file."""
        file = tmp_path / "model.gguf"
        shutil.copyfile(TARGET, file)
        arriving: SimpleQueue[Answer] = SimpleQueue()
        with EngineClient(arriving.put, tmp_path / "engine.log") as client:
            thread = Talk(client, arriving)
            thread.send(Load(LoadOptions(file, mmap=True)))
            thread.until(Loaded)
            with file.open("r+b") as data:
                data.truncate(4096)
            thread.send(Generate(1, HELLO, BRIEF))
            broken = thread.reply(1)
            assert broken.error is not None
            died = thread.answers[-1]
            assert isinstance(died, Failed)
            assert died.died
            assert "The engine stopped: it crashed" in died.message
            assert "file was probably changed or truncated" in died.hint
            # The next message starts an engine again, which finds the file as it is now.
            thread.send(Generate(2, HELLO, BRIEF))
            refused = thread.until(Failed)
            assert isinstance(refused, Failed)
            assert "truncated" in refused.message
            # Put back, it is loaded and answers.
            shutil.copyfile(TARGET, file)
            thread.send(Load(LoadOptions(file, mmap=True)))
            thread.until(Loaded)
            thread.send(Generate(3, HELLO, BRIEF))
            assert thread.reply(3).text
