"""The embedding process: it finds a model, and gives vectors; texts it has read once are not read again."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from localspec.base.errors import EngineError, ModelFileError
from localspec.base.paths import user_paths
from localspec.gguf import read_header
from localspec.models.compatibility import check_target
from localspec.models.embedders import Instructions, instructions, is_embedder
from localspec.models.pairs.embedder import find_embedder
from localspec.models.pairs.pair import ModelFile, Pair
from localspec.models.pairs.scan import find_files, scan
from localspec.models.pairs.user_pairs import append_pairs
from localspec.runtime.embedding.child import CACHE
from localspec.runtime.embedding.process import EmbeddingProcess
from localspec.runtime.embedding.vector_cache import VectorCache
from tests.builtin import TARGET
from tests.tiny_embedders import WIDTH, write_embedder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """llama.cpp's folder, with a chat model in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path / "models"))
    (tmp_path / "models").mkdir()
    shutil.copy(TARGET, tmp_path / "models" / "chat.gguf")
    return tmp_path / "models"


def test_vectors_of_a_real_model(folder: Path) -> None:
    """Words of one meaning are near, others are not; a second process has the passages from the disk."""
    write_embedder(folder / "embed.gguf")
    process = EmbeddingProcess()
    try:
        assert (process.model, process.width) == ("embed.gguf", WIDTH)
        car = process.embed("car", question=True)
        near, far = (process.embed(text, question=False) for text in ("automobile", "ocean " * 500))
        assert float(car @ near) > float(car @ far) + 0.2
        assert float(np.linalg.norm(near)) == pytest.approx(1, abs=0.01)
        assert process.embed("", question=False).shape == (WIDTH,)
    finally:
        process.close()
    cache = VectorCache(user_paths().data / CACHE, "another model", WIDTH)
    assert cache.get("automobile") is None
    cache.close()
    (user_paths().data / CACHE).write_bytes(b"damaged " * 1000)
    again = EmbeddingProcess()
    try:
        assert np.allclose(again.embed("automobile", question=False), near, atol=1e-3)
    finally:
        again.close()


def test_no_model_and_a_broken_one(folder: Path) -> None:
    """Without one there is nothing to say; a broken one is named with the reason."""
    none = EmbeddingProcess()
    assert none.model == ""
    write_embedder(folder / "embed.gguf")
    data = (folder / "embed.gguf").read_bytes()
    (folder / "embed.gguf").write_bytes(data.replace(b"blk.0.ffn_up.weight", b"blk.0.ffn_xx.weight"))
    with pytest.raises(EngineError, match=r"by their words alone: the embedding model failed \(.*embed.gguf"):
        EmbeddingProcess()


def test_a_model_whose_vectors_are_not_numbers_is_named_as_damaged(folder: Path) -> None:
    """Vectors of zeros would make all passages equally near."""
    path = write_embedder(folder / "embed.gguf")
    norm = np.ones(WIDTH, np.float32)
    path.write_bytes(path.read_bytes().replace(norm.tobytes(), (norm * np.nan).tobytes()))
    with closing(EmbeddingProcess()) as process, pytest.raises(EngineError, match="vectors are not numbers"):
        process.embed("car", question=False)


HELLO = '{"model": "a", "width": 2, "most_tokens": 9}'
"""What a process with a model begins with."""
VECTOR = '{"vector": "AACAPwAAAAA=", "tokens": 3}'


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("", ""),
        ("no json", ""),
        ("[1]", ""),
        ('{"model": "a", "width": 0, "most_tokens": 9}', ""),
        (HELLO, ""),
        (HELLO, '"AAAA"'),
        (HELLO, "[" * 50_000),
        (HELLO, '{"vector": "AAAA", "tokens": 1}'),
        (HELLO, '{"vector": "no base64", "tokens": 1}'),
        (HELLO, '{"vector": "AAAAAAAAAAA=", "tokens": "1"}'),
        (HELLO, '{"vector": "AADAfwAAAAA=", "tokens": 1}'),
    ],
)
def test_a_process_that_is_taken_over_gives_nothing_but_numbers(line: str, answer: str) -> None:
    """Whatever it writes is refused in a sentence, or is a vector."""
    program = f"import sys; print({line!r}, flush=True); sys.stdin.readline(); print({answer!r})"
    with pytest.raises(EngineError, match="by their words alone"):
        EmbeddingProcess((sys.executable, "-c", program)).embed("text", question=True)


def test_vectors_are_kept(tmp_path: Path) -> None:
    """By model and text, for the owner alone, as far as 16 bits go."""
    cache = VectorCache(tmp_path / "a" / "b.sqlite", "model", 3)
    cache.keep("text", np.array([0.1, 0.2, 0.3], np.float32))
    cache.close()
    cache = VectorCache(tmp_path / "a" / "b.sqlite", "model", 3)
    found = cache.get("text")
    assert found is not None
    assert np.allclose(found, [0.1, 0.2, 0.3], atol=1e-3)
    assert cache.get("other") is None
    cache.close()
    assert (tmp_path / "a" / "b.sqlite").stat().st_mode & 0o777 == 0o600


def test_a_cache_that_another_process_holds_is_left_to_it(tmp_path: Path) -> None:
    """What cannot be kept now is kept in memory; only a damaged file is begun anew."""
    path, vector = tmp_path / "b.sqlite", np.ones(3, np.float32)
    cache = VectorCache(path, "model", 3)
    cache.keep("text", vector)
    cache.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        cache = VectorCache(path, "model", 3)
        assert cache.get("text") is None
        cache.keep("other", vector)
        assert cache.get("other") is not None
        cache.close()
    cache = VectorCache(path, "model", 3)
    assert cache.get("text") is not None
    cache.close()


def test_a_vector_has_the_numbers_of_the_answer() -> None:
    program = f"import sys; print({HELLO!r}, flush=True); sys.stdin.readline(); print({VECTOR!r})"
    process = EmbeddingProcess((sys.executable, "-c", program))
    vector = process.vector("text")
    process.close()
    assert (vector.values.tolist(), vector.tokens_n) == ([1, 0], 3)


def test_a_process_that_has_died_can_be_closed() -> None:
    """What it did not read any more is lost."""
    program = f"import os; os.close(0); print({HELLO!r})"
    process = EmbeddingProcess((sys.executable, "-c", program))
    with pytest.raises(EngineError):
        process.embed("text", question=True)
    process.close()


def test_ctrl_c_at_the_terminal_is_not_for_it() -> None:
    """It goes to the group of the app's processes. The session is the same, in which its priority counts."""
    process = EmbeddingProcess((sys.executable, "-c", f"print({HELLO!r}, flush=True); input()"))
    assert os.getpgid(process._process.pid) == process._process.pid
    assert os.getsid(process._process.pid) == os.getsid(0)
    process.close()


def test_a_process_is_closed_while_a_text_is_waited_for(tmp_path: Path) -> None:
    """The thread that waits gets an error, and nobody waits for the text."""
    read = tmp_path / "read"
    answers = f"print({HELLO!r}, flush=True); sys.stdin.readline(); open({str(read)!r}, 'w'); time.sleep(99)"
    process = EmbeddingProcess((sys.executable, "-c", f"import sys, time; {answers}"))
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(process.embed, "text", question=True)
        while not read.exists():
            assert not asked.done()
        process.close()
        with pytest.raises(EngineError, match="it ended"):
            asked.result(30)


def test_one_beside_a_pair_of_the_user_is_found(folder: Path, tmp_path: Path) -> None:
    """Also where another pair's files are gone."""
    (tmp_path / "own").mkdir()
    write_embedder(tmp_path / "own" / "embed.gguf")
    shutil.copy(TARGET, tmp_path / "own" / "chat.gguf")
    for number, target in enumerate((tmp_path / "gone.gguf", tmp_path / "own" / "chat.gguf")):
        model = ModelFile(file=str(target), path=target)
        append_pairs(Pair(id=f"pair-{number}", title="A pair", target=model))
    environ = {"HOME": str(tmp_path), "LLAMA_CACHE": str(folder)}
    assert find_embedder(environ) == tmp_path / "own" / "embed.gguf"


def test_models_are_known_by_their_headers(folder: Path) -> None:
    """The smallest is taken; lists say what it is for; makers' instructions go by the name."""
    write_embedder(folder / "embed.gguf", name="BGE small en v1.5")
    write_embedder(folder / "larger.gguf", name="Nomic", meanings=[(f"word{n}",) for n in range(20)])
    environ = {"HOME": str(folder.parent), "LLAMA_CACHE": str(folder)}
    assert find_embedder(environ) == folder / "embed.gguf"
    (found,) = [model for model in scan(find_files((), environ)).models if model.name == "embed.gguf"]
    assert found.problem == "It is an embedding model: passages of attached files are found with it."
    header = read_header(folder / "embed.gguf")
    with pytest.raises(ModelFileError, match="cannot be a target: it is an embedding model, which writes no text"):
        check_target(header)
    assert is_embedder(header)
    assert instructions(header).question.startswith("Represent this sentence")
    assert instructions(read_header(folder / "larger.gguf")).passage == "search_document: "
    assert not is_embedder(read_header(TARGET))
    assert instructions(read_header(TARGET)) == Instructions()
