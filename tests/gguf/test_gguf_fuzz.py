"""Adversarial headers: whatever the bytes say, a sentence or a header that everything can be asked about.

What a file claims costs nothing before the bytes are there: memory and reads are held against its length.
"""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Sequence
from struct import pack

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from localspec.base.errors import ModelFileError
from localspec.gguf import GgufHeader, parse_header
from localspec.gguf.dimensions import Hyperparameters
from localspec.models.compatibility import judge_match
from localspec.models.memory_estimate import ContextShape, footprint
from tests import gguf_files as gf

COUNTS = st.sampled_from([0, 1, 2, 3, 100, 2**16, 2**20, 2**31, 2**32, 2**60, 2**63, 2**64 - 1])
"""Of elements and bytes: true ones, plausible ones, absurd ones."""
PLAIN_TYPES = st.sampled_from([*range(13), 13, 255, 2**32 - 1])
BYTES = st.binary(max_size=12) | st.just(b"\xff\xfe\xfd") | st.just(b"a\0b") | st.just("é\u2028".encode())
KEYS = st.sampled_from(
    [
        *("general.architecture", "general.name", "general.alignment", "general.file_type", "split.count"),
        *("llama.block_count", "llama.context_length", "llama.embedding_length", "llama.feed_forward_length"),
        *("llama.attention.head_count", "llama.attention.head_count_kv", "llama.attention.key_length"),
        *("llama.attention.sliding_window", "llama.attention.sliding_window_pattern", "llama.expert_used_count"),
        *("llama.ssm.inner_size", "llama.ssm.conv_kernel", "llama.wkv.head_size", "llama.shortconv.l_cache"),
        *("tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"),
        *("tokenizer.ggml.bos_token_id", "tokenizer.ggml.add_bos_token", "tokenizer.ggml.eot_token_id"),
        *("tokenizer.chat_template", "", "x"),
    ]
)


def sized(count: int, data: bytes) -> bytes:
    return pack("<Q", count) + data


STRINGS = st.builds(lambda text: sized(len(text), text), BYTES) | st.builds(sized, COUNTS, BYTES)


@st.composite
def payloads(draw: st.DrawFn, type_id: int, depth: int = 2) -> bytes:
    """A value of a type, or something that claims to be one."""
    if type_id == gf.STRING:
        return draw(STRINGS)
    if type_id == gf.ARRAY:
        inner = draw(PLAIN_TYPES) if depth else gf.UINT8
        items = [draw(payloads(inner, depth - 1)) for _ in range(draw(st.integers(0, 3)))]
        count = draw(st.just(len(items)) | COUNTS)
        return pack("<IQ", inner, count) + b"".join(items)
    return draw(st.binary(min_size=8, max_size=8))[: WIDTHS.get(type_id, 8)]


WIDTHS = {gf.UINT8: 1, gf.INT8: 1, gf.BOOL: 1, gf.UINT16: 2, gf.INT16: 2} | dict.fromkeys(
    (gf.UINT32, gf.INT32, gf.FLOAT32), 4
)


@st.composite
def entries(draw: st.DrawFn) -> bytes:
    key = draw(KEYS.map(gf.string) | STRINGS)
    type_id = draw(PLAIN_TYPES)
    return key + pack("<I", type_id) + draw(payloads(type_id))


@st.composite
def tensors(draw: st.DrawFn) -> bytes:
    shape = draw(st.lists(COUNTS, max_size=5))
    n = draw(st.just(len(shape)) | st.sampled_from([0, 4, 5, 2**32 - 1]))
    name = draw(st.sampled_from([b"blk.0.w", b"blk.4294967295.w", b"output.weight", b"token_embd.weight", b"\xff"]))
    type_id = draw(st.sampled_from([gf.F32, gf.Q8_0, 4, 999, 2**32 - 1]))
    return sized(len(name), name) + pack(f"<I{len(shape)}QIQ", n, *shape, type_id, draw(COUNTS))


@st.composite
def headers(draw: st.DrawFn) -> bytes:
    """A file whose counts mostly are those of what follows, so that the lies are found deep in it."""
    model: Sequence[bytes] = draw(
        st.sampled_from([[], [gf.entry("general.architecture", "llama")], [gf.entry("general.architecture", "mamba")]])
    )
    metadata = [*model, *draw(st.lists(entries(), max_size=6))]
    infos = draw(st.lists(tensors(), max_size=3))
    version = draw(st.sampled_from([3, 3, 3, 2, 0, 1, 4, 2**31, 0x03000000, 2**32 - 1]))
    n_tensors, n_entries = (draw(st.just(len(each)) | st.just(len(each)) | COUNTS) for each in (infos, metadata))
    data = b"GGUF" + pack("<IQQ", version, n_tensors, n_entries) + b"".join([*metadata, *infos])
    return data[: draw(st.just(len(data)) | st.integers(0, len(data)))]


class Counted(io.BytesIO):
    """A file that counts how often it is asked."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        return super().read(size)


def ask_everything(header: GgufHeader) -> None:
    """All that is asked of a header before its model is loaded."""
    for name in (
        *("architecture", "name", "licence", "chat_template", "context_length", "block_count", "file_type"),
        *("split_count", "fingerprint", "expected_size_bytes"),
    ):
        getattr(header, name)
    network = Hyperparameters(header)
    assert network.n_layers >= 0
    for quantised in ("f16", "q8_0"):
        footprint([header], ContextShape(8192, type_k=quantised, type_v=quantised, flash_attn=False, snapshots=3))
    network.can_quantise_cache()
    for one, other in ((header, OTHER), (OTHER, header), (header, header)):
        verdict = judge_match(one, other)
        assert verdict.reason.isprintable()
        assert all(warning.isprintable() for warning in verdict.warnings)


def parse(data: bytes) -> GgufHeader:
    return parse_header(io.BytesIO(data), source="test.gguf", size_bytes=len(data))


def asked(file: io.BytesIO, size_bytes: int) -> tuple[ModelFileError | None, int]:
    """The refusal, if there was one, and the most memory that was taken meanwhile."""
    refusal = None
    tracemalloc.start()
    try:
        ask_everything(parse_header(file, source="test.gguf", size_bytes=size_bytes))
    except ModelFileError as error:
        refusal = error
    finally:
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return refusal, peak_bytes


OTHER = parse(gf.model())


@given(data=headers())
@settings(max_examples=300, deadline=None)
def test_any_header_is_refused_with_a_sentence_or_can_be_asked_everything(data: bytes) -> None:
    file = Counted(data)

    error, peak_bytes = asked(file, len(data))

    assert peak_bytes < 2**20 + 100 * len(data)
    assert file.reads <= 4
    if error is not None:
        assert error.message.startswith("test.gguf ")
        assert error.message.endswith(".")
        assert error.message.isprintable()
        assert error.hint


NETWORK = [
    *("block_count", "attention.head_count", "attention.head_count_kv", "attention.key_length", "embedding_length"),
    *("feed_forward_length", "expert_used_count", "expert_feed_forward_length", "attention.sliding_window"),
    *("attention.sliding_window_pattern", "ssm.inner_size", "ssm.state_size", "ssm.conv_kernel", "wkv.head_size"),
    *("full_attention_interval", "attention.recurrent_layers", "context_length", "shortconv.l_cache", "kda.head_dim"),
]
NUMBERS = st.sampled_from([0, 1, 2, 7, 64, 9_999, 2**31, 2**63 - 1])
FRACTIONS = st.sampled_from([float("nan"), float("inf"), -1.5, 0.5])
HOSTILE_VALUES: st.SearchStrategy[gf.Plain] = (
    NUMBERS.map(lambda n: gf.Typed(gf.UINT64, n))
    | NUMBERS.map(lambda n: gf.Typed(gf.INT64, -n))
    | st.lists(NUMBERS, max_size=4).map(lambda many: gf.Typed(gf.UINT64, many))
    | st.lists(FRACTIONS, min_size=1, max_size=4).map(lambda many: gf.Typed(gf.FLOAT32, many))
    | FRACTIONS.map(lambda number: gf.Typed(gf.FLOAT32, number))
    | st.booleans()
    | st.text(max_size=3)
)


@given(
    architecture=st.sampled_from(["llama", "gemma3", "mamba", "falcon-h1", "qwen35", "jamba", "kimi-linear", "rwkv7"]),
    values=st.dictionaries(st.sampled_from(NETWORK), HOSTILE_VALUES, max_size=8),
)
@settings(max_examples=150, deadline=None)
def test_whatever_a_network_is_said_to_be_it_can_be_reckoned(architecture: str, values: dict[str, gf.Plain]) -> None:
    """Layers by the million, widths beyond all memory, fractions and no numbers at all."""
    metadata = {f"{architecture}.{key}": value for key, value in values.items()}
    data = gf.model(metadata={"general.architecture": architecture, f"{architecture}.block_count": 4, **metadata})
    error, peak_bytes = asked(io.BytesIO(data), len(data))

    assert peak_bytes < 2**23
    assert error is None or "layers" in error.message or "experts" in error.message


TEXTS = st.sampled_from(["a", "", "a\0b", "\x1b[2J", "\u2028", "\udcff", "<|im_end|>", "x" * 99])
KINDS = st.sampled_from(["gpt2", "llama", "bert", "t5", "rwkv", "no_vocab", "", "other"])
IDS = st.sampled_from([0, 1, 5, 6, 7, 11, 2**31, 2**32 - 1]) | st.booleans() | st.just("1")
SAID = st.sampled_from(["bos_token_id", "eos_token_id", "eot_token_id", "add_bos_token", "add_eos_token"])


@st.composite
def vocabularies(draw: st.DrawFn) -> GgufHeader:
    said: dict[str, gf.Plain] = {"model": draw(KINDS), **draw(st.dictionaries(SAID, IDS))}
    metadata = {f"tokenizer.ggml.{key}": value for key, value in said.items()}
    tokens = draw(st.lists(TEXTS, max_size=9, unique_by=lambda text: text.partition("\0")[0]))
    try:
        return parse(gf.model(tokens=tokens, metadata=metadata))
    except ModelFileError:
        reject()  # a tokenizer that these tokens cannot be for


@given(one=vocabularies(), other=vocabularies())
@settings(max_examples=150, deadline=None)
def test_whatever_two_vocabularies_are_said_to_be_the_verdict_is_a_line(one: GgufHeader, other: GgufHeader) -> None:
    """Special tokens that there are not, texts that move a cursor, no tokens at all."""
    for header in (one, other):
        ask_everything(header)
    there, back = judge_match(one, other), judge_match(other, one)
    assert there.fits == back.fits
    assert there.token_id == back.token_id
    for line in (there.reason, *there.warnings):
        assert line.isprintable()
        assert len(line) < 250
