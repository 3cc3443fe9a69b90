"""Which pairs fit, held against llama.cpp: its own rule, over vocabularies that its own code has loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from localspec.base.errors import ModelFileError
from localspec.gguf import GgufHeader, Value, Vocabulary, read_header
from localspec.models.compatibility import judge_match
from tests import gguf_files as gf
from tests.builtin import DRAFT
from tests.real.native_vocabulary import NONE, NativeVocabulary, are_compatible, first_difference, load_vocabulary
from tests.tokenizers import vocabularies

REAL = vocabularies()
fetched = pytest.mark.skipif(not REAL, reason="vocabularies of real models are not here; `make unit` fetches them")


@dataclass(frozen=True)
class Both:
    """One vocabulary, as llama.cpp has it and as our reader tells it."""

    native: NativeVocabulary
    header: GgufHeader


def both(path: Path) -> Both:
    """The vocabulary of a file, as that of a model that writes text: an encoder is refused whatever its vocabulary."""
    header = read_header(path)
    return Both(load_vocabulary(path), replace(header, metadata={**header.metadata, "general.architecture": "llama"}))


@cache
def real() -> tuple[Both, ...]:
    return tuple(map(both, REAL))


@pytest.fixture(scope="module", autouse=True)
def _forget() -> Iterator[None]:
    yield
    real.cache_clear()


def prove(target: Both, draft: Both) -> bool:
    """That the verdict is llama.cpp's; whether the two fit."""
    verdict = judge_match(target.header, draft.header)
    names = f"{target.header.source}, {draft.header.source}: {verdict}"

    assert verdict.fits == are_compatible(target.native, draft.native), names
    assert verdict.token_id == first_difference(target.native, draft.native), names
    return verdict.fits


def prove_seen(native: NativeVocabulary, vocabulary: Vocabulary) -> None:
    """That our reader sees what llama.cpp does, its defaults and exceptions filled in."""
    texts = tuple(
        text.encode(errors="surrogateescape").partition(b"\0")[0] or b"[EMPTY_%d]" % token
        for token, text in enumerate(vocabulary.tokens)
    )
    assert texts == native.texts
    assert (vocabulary.add_bos, vocabulary.add_eos) == (native.add_bos, native.add_eos)
    special = vocabulary.bos_id, vocabulary.eos_id, vocabulary.eot_id
    assert special == (wanted(native.bos), wanted(native.eos), wanted(native.eot))


def wanted(token: int) -> int | None:
    return None if token == NONE else token


# Real families


@fetched
def test_our_reader_sees_the_vocabularies_of_real_families_as_llama_cpp_does() -> None:
    assert len(REAL) >= 19
    for each in real():
        prove_seen(each.native, each.header.vocabulary)
    kinds = {each.header.vocabulary.kind: each.native.kind for each in real()}
    assert len(set(kinds.values())) == len(kinds), "a kind of ours for each of llama.cpp's"


@fetched
def test_verdicts_on_all_ordered_pairs_of_real_families_are_llama_cpps() -> None:
    fitting = [(one, other) for one, other in product(real(), repeat=2) if prove(one, other)]

    assert all((other, one) in fitting for one, other in fitting)
    assert len(fitting) >= len(REAL), "every vocabulary fits itself"


# The built-in pair's vocabulary, changed in one way at a time: these run on every machine

Metadata = dict[str, gf.Plain]
Change = Callable[[Metadata], None]
_ARRAYS = {"i": gf.INT32, "f": gf.FLOAT32}


def plain(value: Value) -> gf.Plain:
    """A value that was read, as it can be written again."""
    if isinstance(value, array):
        return gf.Typed(_ARRAYS[value.typecode], tuple(value))
    return gf.Typed(gf.FLOAT32, value) if isinstance(value, float) else value


def tokens_of(metadata: Metadata) -> list[str]:
    tokens = metadata["tokenizer.ggml.tokens"]
    assert isinstance(tokens, tuple)
    return list(tokens)


def with_text(token: int, text: str) -> Change:
    def change(metadata: Metadata) -> None:
        tokens = tokens_of(metadata)
        tokens[token] = text
        metadata["tokenizer.ggml.tokens"] = tuple(tokens)

    return change


def longer(surplus: int) -> Change:
    def change(metadata: Metadata) -> None:
        tokens = tokens_of(metadata) + [f"surplus {n}" for n in range(surplus)]
        metadata["tokenizer.ggml.tokens"] = tuple(tokens)
        metadata["tokenizer.ggml.token_type"] = gf.Typed(gf.INT32, (1,) * len(tokens))

    return change


def saying(**tokenizer: gf.Plain) -> Change:
    return lambda metadata: metadata.update({f"tokenizer.ggml.{key}": value for key, value in tokenizer.items()})


def silent(*keys: str, **tokenizer: gf.Plain) -> Change:
    def change(metadata: Metadata) -> None:
        for key in keys:
            del metadata[f"tokenizer.ggml.{key}"]
        saying(**tokenizer)(metadata)

    return change


CHANGES: dict[str, Change] = {
    "none": saying(),
    "token 4": with_text(4, "<another>"),
    "token 5": with_text(5, "<another>"),
    "last token": with_text(-1, "<another>"),
    "empty token": with_text(7, ""),
    "empty token by its name": with_text(7, "[EMPTY_7]"),
    "token with a NUL": with_text(7, "[EMPTY_7]\0x"),
    "no UTF-8": with_text(7, b"\xff\xfe".decode(errors="surrogateescape")),
    "128 more": longer(128),
    "129 more": longer(129),
    "begins": saying(add_bos_token=True),
    "begins otherwise": saying(add_bos_token=True, bos_token_id=1),
    "begins otherwise, and does not say so": saying(bos_token_id=1),
    "ends": saying(add_eos_token=True),
    "ends otherwise": saying(add_eos_token=True, eos_token_id=1),
    "begins as its kind does": silent("add_bos_token", pre="llama-bpe"),
    "ends as its kind does": silent("add_eos_token", "eos_token_id"),
    "begins beyond its tokens": saying(add_bos_token=True, bos_token_id=1_000_000),
}


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> list[Both]:
    folder = tmp_path_factory.mktemp("vocabularies")
    before = {key: plain(value) for key, value in read_header(DRAFT).metadata.items()}
    made = []
    for name, change in CHANGES.items():
        metadata = dict(before)
        change(metadata)
        made.append(both(gf.write(folder / f"{name}.gguf", gf.gguf(metadata))))
    return made


def test_our_reader_sees_a_changed_vocabulary_as_llama_cpp_does(changed: list[Both]) -> None:
    for each in changed:
        prove_seen(each.native, each.header.vocabulary)


def test_verdicts_on_all_ordered_pairs_of_changed_vocabularies_are_llama_cpps(changed: list[Both]) -> None:
    fitting = sum(prove(one, other) for one, other in product(changed, repeat=2))

    assert len(changed) < fitting < len(changed) ** 2 / 2, "there is something of both to tell apart"


# Two tokens of one text


def again(token: int, text: str, other: int) -> Change:
    """The text of one token given to another, with ``text`` behind it."""

    def change(metadata: Metadata) -> None:
        with_text(token, tokens_of(metadata)[other] + text)(metadata)

    return change


@pytest.mark.parametrize("change", [again(300, "", 200), again(300, "\0x", 200)])
def test_what_is_refused_is_what_llama_cpp_dies_of(change: Change, tmp_path: Path) -> None:
    metadata = {key: plain(value) for key, value in read_header(DRAFT).metadata.items()}
    change(metadata)
    path = gf.write(tmp_path / "twins.gguf", gf.gguf(metadata))
    load = "from tests.real.native_vocabulary import *; import sys; load_vocabulary(Path(sys.argv[1]))"
    environ = os.environ | {"GGML_NO_BACKTRACE": "1"}
    done = subprocess.run([sys.executable, "-c", load, path], env=environ, capture_output=True, check=False)

    assert done.returncode == -signal.SIGABRT, done.stderr
    with pytest.raises(ModelFileError, match="tokens 200 and 300"):
        read_header(path)
