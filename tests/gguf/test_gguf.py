"""The header reader: everything a file says comes out as it went in, and nothing else is believed."""

from __future__ import annotations

import io
import os
import tracemalloc
from array import array
from collections.abc import Callable
from pathlib import Path
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.base.errors import ModelFileError, NotFoundError
from localspec.gguf import GgufHeader, Value, parse_header, read_header
from tests import gguf_files as gf


def parse(data: bytes) -> GgufHeader:
    return parse_header(io.BytesIO(data), source="test.gguf", size_bytes=len(data))


class Trickle:
    """A file that gives a few bytes at a time, as a network does."""

    def __init__(self, data: bytes, piece: int) -> None:
        self._file = io.BytesIO(data)
        self._piece = piece

    def read(self, size: int, /) -> bytes:
        return self._file.read(min(size, self._piece))


INTEGERS = {
    gf.UINT8: (0, 2**8 - 1),
    gf.INT8: (-(2**7), 2**7 - 1),
    gf.UINT16: (0, 2**16 - 1),
    gf.INT16: (-(2**15), 2**15 - 1),
    gf.UINT32: (0, 2**32 - 1),
    gf.INT32: (-(2**31), 2**31 - 1),
    gf.UINT64: (0, 2**64 - 1),
    gf.INT64: (-(2**63), 2**63 - 1),
}

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


def scalars(type_id: int) -> st.SearchStrategy[gf.Scalar]:
    if type_id in INTEGERS:
        low, high = INTEGERS[type_id]
        return st.integers(low, high)
    if type_id == gf.BOOL:
        return st.booleans()
    if type_id == gf.STRING:
        return TEXTS
    return st.floats(width=32 if type_id == gf.FLOAT32 else 64, allow_nan=False)


TYPE_IDS = st.sampled_from([*INTEGERS, gf.BOOL, gf.STRING, gf.FLOAT32, gf.FLOAT64])
VALUES: st.SearchStrategy[gf.Typed] = TYPE_IDS.flatmap(
    lambda type_id: st.builds(gf.Typed, st.just(type_id), scalars(type_id) | st.lists(scalars(type_id), max_size=8))
)
TENSORS = st.lists(
    st.builds(
        gf.Tensor,
        st.text("abc.", min_size=1, max_size=12),
        st.lists(st.integers(0, 3), max_size=3).map(lambda rest: (32, *rest)),
        st.sampled_from([gf.F32, gf.F16, gf.Q4_0, gf.Q8_0]),
    ),
    max_size=5,
)


def plain(value: Value) -> object:
    return list(value) if isinstance(value, array | tuple) else value


@given(
    metadata=st.dictionaries(TEXTS.filter(bool).map("x.".__add__), VALUES, max_size=8),
    tensors=TENSORS,
    version=st.sampled_from([2, 3]),
    alignment=st.sampled_from([32, 64, 128]),
    piece=st.integers(1, 2000),
)
def test_what_is_written_is_read(
    metadata: dict[str, gf.Typed], tensors: list[gf.Tensor], version: int, alignment: int, piece: int
) -> None:
    """Every value of every type, and every tensor, comes back; however small the pieces the file arrives in."""
    entries: dict[str, gf.Plain] = {"general.alignment": alignment, **metadata}
    data = gf.gguf(entries, tensors, version=version, alignment=alignment)

    header = parse_header(Trickle(data, piece), source="test.gguf", size_bytes=len(data))

    assert header.version == version
    read = {key: plain(value) for key, value in header.metadata.items() if key.startswith("x.")}
    assert read == {key: typed.value for key, typed in metadata.items()}
    described = [(t.name, t.shape, t.type_id, t.size_bytes) for t in header.tensors]
    assert described == [(t.name, t.shape, t.type_id, t.size_bytes) for t in tensors]
    assert header.size_bytes - alignment < header.expected_size_bytes <= header.size_bytes or not tensors
    assert header.data_offset % alignment == 0


def test_what_a_model_says_about_itself() -> None:
    header = parse(gf.model())

    assert header.architecture == "llama"
    assert header.name == "Test model"
    assert header.licence == "mit"
    assert header.context_length == 2048
    assert header.block_count == 4
    assert header.file_type == "Q4_K_M"
    assert header.chat_template == "{{ messages }}"
    assert [tensor.type_id for tensor in header.tensors] == [0, 8]
    assert header.split_count == 1
    vocabulary = header.vocabulary
    assert (vocabulary.model, vocabulary.kind) == ("gpt2", "BPE")
    assert vocabulary.tokens == gf.TOKENS
    assert (vocabulary.bos_id, vocabulary.eos_id) == (1, 2)
    assert (vocabulary.add_bos, vocabulary.add_eos) == (False, False)


def test_the_end_of_a_turn_is_known_by_its_text_unless_the_file_names_it() -> None:
    assert parse(gf.model()).vocabulary.eot_id == gf.TOKENS.index("<|im_end|>")
    assert parse(gf.model(metadata={"tokenizer.ggml.eot_token_id": 7})).vocabulary.eot_id == 7


def test_a_tokenizer_is_framed_as_llama_cpp_assumes_when_the_file_does_not_say() -> None:
    def framing(**tokenizer: gf.Plain) -> tuple[int | None, int | None, bool, bool]:
        metadata = {f"tokenizer.ggml.{key}": value for key, value in tokenizer.items()}
        v = parse(gf.gguf({"tokenizer.ggml.tokens": gf.TOKENS} | metadata)).vocabulary
        return v.bos_id, v.eos_id, v.add_bos, v.add_eos

    assert framing(model="llama") == (1, 2, True, False)
    assert framing(model="gpt2") == (11, 11, False, False)
    assert framing(model="gpt2", pre="llama-bpe") == (11, 11, True, False)
    assert framing(model="gpt2", pre="llama-bpe", add_bos_token=False) == (11, 11, False, False)
    assert framing(model="gemma4", add_bos_token=False) == (None, None, True, False)
    assert framing(model="t5") == (None, 1, False, True)
    assert framing(model="llama", add_bos_token=False, bos_token_id=4) == (4, 2, False, False)
    assert framing(model="llama", bos_token_id=4000) == (1, 2, True, False)
    assert framing(model="bert") == (None, None, True, False)
    assert framing(model="gpt2", tokens=("a", "b")) == (None, None, False, False)


def test_a_value_of_another_kind_than_expected_is_none() -> None:
    header = parse(gf.gguf({"general.name": 7, "llama.block_count": "four", "llama.context_length": True}))

    assert (header.name, header.block_count, header.context_length) == (None, None, None)


def test_a_name_can_be_shown_whatever_is_in_it() -> None:
    """On one line, without signs that would move a cursor or cannot be written, and not endlessly long."""
    name = "Evil\x1b[2J\r\n model" + b"\xff".decode(errors="surrogateescape") + "x" * 10**6
    header = parse(gf.model(metadata={"general.name": name, "general.license": "mit\n"}))

    assert header.name is not None
    assert header.name.startswith("Evil\ufffd[2J model\ufffdxxx")
    assert header.name.isprintable()
    assert len(header.name) == 200
    assert header.licence == "mit"
    assert header.text("general.name") == name


@pytest.mark.parametrize("layers", [10_001, 2**32 - 1, gf.Typed(gf.UINT64, 2**64 - 1), gf.Typed(gf.INT64, -1)])
def test_layers_by_the_million_are_not_believed(layers: gf.Plain) -> None:
    """Memory is reckoned layer by layer: a list as long as that would be all of it."""
    with pytest.raises(ModelFileError, match=r"claims -?[\d,]+ layers"):
        parse(gf.model(metadata={"llama.block_count": layers}))


def test_text_that_is_no_utf_8_keeps_its_bytes() -> None:
    token = b"\xff\xfea".decode(errors="surrogateescape")

    assert parse(gf.model(tokens=(*gf.TOKENS, token))).vocabulary.tokens[-1].encode(errors="surrogateescape") == (
        b"\xff\xfea"
    )


def test_the_fingerprint_is_the_vocabularys_alone() -> None:
    """The same tokens make the same fingerprint; any other token, order, split or kind makes another."""
    same = parse(gf.model(metadata={"general.name": "Other", "llama.block_count": 9})).fingerprint
    others = [
        gf.model(tokens=gf.TOKENS[:-1]),
        gf.model(tokens=(*gf.TOKENS[:-2], "e", "d")),
        gf.model(tokens=(*gf.TOKENS[:-2], "de", "")),
        gf.model(metadata={"tokenizer.ggml.model": "t5"}),
    ]

    fingerprints = {parse(data).fingerprint for data in others}

    assert same == parse(gf.model()).fingerprint
    assert len(fingerprints | {same}) == len(others) + 1


def test_a_vocabulary_longer_than_one_piece_is_read_whole() -> None:
    tokens = tuple(f"token {i} {'x' * (i % 60)}" for i in range(60_000))

    assert parse(gf.model(tokens=tokens)).vocabulary.tokens == tokens


def test_a_string_may_begin_and_end_anywhere_in_a_piece() -> None:
    tokens = tuple("abcde"[i // 23] * (i % 23) for i in range(100))
    data = gf.model(tokens=tokens)

    for piece in range(1, 80):
        header = parse_header(Trickle(data, piece), source="test.gguf", size_bytes=len(data))
        assert header.vocabulary.tokens == tokens, piece


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (("a", "b", "c", "b"), "1 and 3 are both 'b'"),
        (("a", "a"), "0 and 1 are both 'a'"),
        (("a\0x", "b", "a\0y"), "0 and 2 are both 'a'"),
        (("a", "", "[EMPTY_1]"), "1 and 2 are both '[EMPTY_1]'"),
        (("x" * 90, "x" * 90), f"0 and 1 are both '{'x' * 39}…'"),
    ],
)
def test_two_tokens_of_one_text_are_refused(tokens: tuple[str, ...], said: str) -> None:
    """llama.cpp would not refuse them, but end the process."""
    with pytest.raises(ModelFileError, match="another file") as caught:
        parse(gf.model(tokens=tokens))

    assert caught.value.message == f"test.gguf cannot be loaded: its tokens {said}."


@pytest.mark.parametrize("model", ["none", "no_vocab"])
def test_tokens_that_nobody_reads_may_be_the_same(model: str) -> None:
    assert parse(gf.model(tokens=("a", "a"), metadata={"tokenizer.ggml.model": model}))


def test_several_tokens_may_be_empty() -> None:
    assert parse(gf.model(tokens=("a", "", "", "b\0c"))).vocabulary.tokens == ("a", "", "", "b\0c")


# What is not believed


def test_every_cut_inside_the_header_is_noticed() -> None:
    """Wherever the header ends early, the reader says so; never anything else, never a success."""
    data = gf.model(tensors=())
    for length in range(1, len(data)):
        with pytest.raises(ModelFileError, match="truncated: it ends inside its header"):
            parse(data[:length])
    assert parse(data).vocabulary.tokens == gf.TOKENS


@given(data=st.data())
def test_any_damage_is_either_survived_or_refused(data: st.DataObject) -> None:
    """Bytes overwritten at random give a header whose every property can be read, or a ModelFileError."""
    whole = bytearray(gf.model())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(4, parse(bytes(gf.model())).data_offset))
        patch = data.draw(st.binary(min_size=1, max_size=8))
        whole[at : at + len(patch)] = patch
    try:
        header = parse(bytes(whole))
    except ModelFileError:
        return
    for name in ("name", "licence", "context_length", "file_type", "fingerprint", "split_count"):
        getattr(header, name)


def test_a_tokenizer_whose_name_is_not_utf_8_has_a_fingerprint() -> None:
    header = parse(gf.model().replace(b"gpt2", b"\x80pt2"))
    assert header.vocabulary.model == "\udc80pt2"
    assert header.fingerprint != parse(gf.model()).fingerprint


def test_every_cut_in_the_data_says_how_many_bytes_are_missing() -> None:
    data = gf.model()
    whole = parse(data).expected_size_bytes
    for length in (whole - 1, whole - 100, parse(data).data_offset):
        with pytest.raises(ModelFileError, match=f"{whole - length:,} of {whole:,} bytes are missing"):
            parse(data[:length])


def test_padding_after_the_last_tensor_may_be_missing() -> None:
    data = gf.model(tensors=(gf.Tensor("a", (9,)),))

    assert parse(data[: parse(data).expected_size_bytes]).size_bytes < len(data)


BIG = 2**60

HOSTILE: dict[str, bytes] = {
    "tensors": gf.gguf(n_tensors=BIG),
    "entries": gf.gguf(n_entries=2**64 - 1),
    "a key": b"GGUF" + pack("<IQQ", 3, 0, 1) + pack("<Q", BIG),
    "a string": b"GGUF" + pack("<IQQ", 3, 0, 1) + gf.string("k") + pack("<IQ", gf.STRING, BIG),
    "strings": b"GGUF" + pack("<IQQ", 3, 0, 1) + gf.string("k") + pack("<IIQ", gf.ARRAY, gf.STRING, BIG),
    "numbers": b"GGUF" + pack("<IQQ", 3, 0, 1) + gf.string("k") + pack("<IIQ", gf.ARRAY, gf.FLOAT64, BIG),
    "nested arrays": b"GGUF" + pack("<IQQ", 3, 0, 1) + gf.string("k") + pack("<IIQ", gf.ARRAY, gf.ARRAY, 1),
    "an unknown type": b"GGUF" + pack("<IQQ", 3, 0, 1) + gf.string("k") + pack("<IQ", 13, 0),
    "dimensions": gf.gguf(n_tensors=1) + gf.string("t") + pack("<I", 2**32 - 1),
    "not a power of two": gf.gguf({"general.alignment": 24}),
    "alignment zero": gf.gguf({"general.alignment": 0}),
    "an entry twice": gf.gguf(n_entries=2) + gf.entry("general.architecture", "x"),
    "an empty key": gf.gguf({"": 1}),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_header_is_refused_without_believing_it(what: str) -> None:
    """The largest claim costs little more than the piece the file is read in."""
    tracemalloc.start()

    with pytest.raises(ModelFileError, match="is damaged"):
        parse(HOSTILE[what])

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20


DEADLY: dict[str, dict[str, gf.Plain]] = {
    "not a multiple of 32": {"general.alignment": 8, "general.name": "Test"},
    "not those of its tokenizer": {"tokenizer.ggml.model": "llama"},
    "uses 0 of 8 experts": {"llama.expert_count": 8},
    "uses 3 of 2 experts": {"llama.expert_count": 2, "llama.expert_used_count": 3},
    "has 0 layers": {"llama.block_count": 0},
    "has 513 layers": {"llama.block_count": 513},
    "announces 5 MTP layers among 4": {"llama.nextn_predict_layers": 5},
}


@pytest.mark.parametrize("why", DEADLY)
def test_what_llama_cpp_does_not_survive_is_refused(why: str) -> None:
    """If the header tells for certain that loading would end the process."""
    with pytest.raises(ModelFileError, match=why):
        parse(gf.model(metadata=DEADLY[why]))


def test_experts_and_sentencepiece_as_they_should_be_are_no_trouble() -> None:
    """A file that is like it and right passes: a space among the tokens, as many experts as there are."""
    parse(gf.model(metadata={"llama.expert_count": 8, "llama.expert_used_count": 8}))
    parse(gf.model(tokens=(*gf.TOKENS, "\u2581a"), metadata={"tokenizer.ggml.model": "llama"}))
    parse(gf.model(tokens=(*gf.TOKENS, "<0xE2>"), metadata={"tokenizer.ggml.model": "llama"}))


def test_more_strings_than_any_vocabulary_has_are_not_believed() -> None:
    """Though they may be there: the shortest texts take ten times their bytes in memory."""

    def strings(key: str, count: int, text: str) -> bytes:
        return gf.string(key) + pack("<IIQ", gf.ARRAY, gf.STRING, count) + gf.string(text) * count

    head = b"GGUF" + pack("<IQQ", 3, 0, 3)
    data = head + strings("one", 500_000, "a") + strings("other", 1_500_001, "")[:100]

    with pytest.raises(ModelFileError, match="claims 2,000,001 strings"):
        parse(data)


@pytest.mark.parametrize("count", [2**20, 2_000_000])
def test_a_claim_that_could_be_true_costs_no_more_than_the_file_holds(count: int) -> None:
    data = b"GGUF" + pack("<IQQ", 3, 0, 1) + gf.string("k") + pack("<IIQ", gf.ARRAY, gf.STRING, count) + gf.string("a")
    tracemalloc.start()

    with pytest.raises(ModelFileError, match="truncated"):
        parse(data)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20


def test_a_tensor_that_ends_beyond_all_disks_is_missing_bytes() -> None:
    info = gf.string("t") + pack("<I4QIQ", 4, 2**62, 2**62, 2**62, 2**62, gf.F32, 2**63)

    with pytest.raises(ModelFileError, match="bytes are missing"):
        parse(gf.gguf(n_tensors=1) + info)


def test_a_header_that_never_ends_is_given_up() -> None:
    """Each entry is valid and there is always one more; the reader stops at the most a header may be."""

    start = b"GGUF" + pack("<IQQ", 3, 0, 99_999)
    rest = pack("<IIQ", gf.ARRAY, gf.UINT8, 2**20) + bytes(2**20)

    class Endless:
        given = 0

        def read(self, size: int, /) -> bytes:
            piece = gf.string(f"key {self.given}") + rest if self.given else start
            self.given += len(piece)
            return piece

    endless = Endless()

    with pytest.raises(ModelFileError, match="longer than 64 MiB"):
        parse_header(endless, source="endless", size_bytes=2**50)

    assert endless.given < 66 * 2**20


def test_tensors_of_a_type_from_the_future_are_taken_as_they_are() -> None:
    """A newer llama.cpp may know the type; the reader only knows it cannot tell the size."""
    info = gf.string("t") + pack("<IQIQ", 1, 32, 999, 0)

    header = parse(gf.gguf(n_tensors=1) + info + bytes(64))

    assert header.tensors[0].type_id == 999
    assert header.tensors[0].size_bytes == 0


@pytest.mark.parametrize(
    ("version", "message"),
    [(1, "version 1"), (4, "version 4"), (0, "big-endian"), (0x03000000, "big-endian"), (0x02000000, "big-endian")],
)
def test_other_versions_and_byte_orders_are_refused_by_name(version: int, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        parse(gf.gguf(version=version))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (pack("<Q", 1234) + b'{"__metadata__":{}}', "not a GGUF file but a safetensors file"),
        (b"\n<!DOCTYPE html><html><head>", "not a GGUF file but a web page"),
        (b"<HTML>", "not a GGUF file but a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "not a GGUF file but a git-lfs pointer"),
        (b"PK\x03\x04zip", "not a GGUF file but a zip archive"),
        (b"tjgg\x01\0\0\0", "not a GGUF file but its predecessor"),
        (b'{"error":"Entry not found"}', "not a GGUF file but JSON"),
        (bytes(4096), "not a GGUF file: it begins with zeros"),
        (b"GGUX", "not a GGUF file."),
        (b"Hello", "not a GGUF file."),
        (gf.gguf().replace(b"general.architecture", b"general.architectura"), "but not a model"),
        (gf.gguf({"general.architecture": ""}), "but not a model"),
        (gf.gguf({"general.architecture": "a\x1b"}), "but not a model"),
    ],
)
def test_a_file_that_is_something_else_is_named(data: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message) as caught:
        parse(data)

    assert caught.value.hint
    assert caught.value.message.startswith("test.gguf is ")


# On disk


def test_a_file_on_disk_is_named_and_measured(tmp_path: Path) -> None:
    path = gf.write(tmp_path / "some.gguf", gf.model())

    header = read_header(path)

    assert header.source == "some.gguf"
    assert header.size_bytes == path.stat().st_size


def missing(folder: Path) -> Path:
    return folder / "none.gguf"


def below_a_file(folder: Path) -> Path:
    return gf.write(folder / "file", b"x") / "none.gguf"


def dangling(folder: Path) -> Path:
    link = folder / "link.gguf"
    link.symlink_to(folder / "gone")
    return link


@pytest.mark.parametrize("place", [missing, below_a_file, dangling])
def test_a_file_that_is_not_there_is_not_found(place: Callable[[Path], Path], tmp_path: Path) -> None:
    path = place(tmp_path)

    with pytest.raises(NotFoundError) as caught:
        read_header(path)

    assert str(path) in caught.value.message
    assert caught.value.hint


def test_a_folder_and_a_pipe_are_no_model_files(tmp_path: Path) -> None:
    """Opening a pipe that nobody writes to would wait for ever."""
    os.mkfifo(tmp_path / "pipe")

    for path, what in ((tmp_path, "a folder"), (tmp_path / "pipe", "not a regular file")):
        with pytest.raises(ModelFileError, match=what):
            read_header(path)


@pytest.mark.parametrize(
    ("error", "message"), [(PermissionError(13, "no"), "may not be read"), (OSError(5, "bad disk"), "bad disk")]
)
def test_a_file_that_cannot_be_read_says_why(
    error: OSError, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = gf.write(tmp_path / "some.gguf", gf.model())

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(ModelFileError, match=message):
        read_header(path)
