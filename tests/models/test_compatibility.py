"""Which pairs fit: llama.cpp's rules, and the reason in words."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.base.errors import PairMismatchError
from localspec.gguf import GgufHeader, parse_header
from localspec.models.compatibility import check_match, judge_match
from localspec.models.embedders import Instructions, instructions
from tests import gguf_files as gf

TOKENS = (*gf.TOKENS, *(f"t{i}" for i in range(40)))


def header(source: str, tokens: tuple[str, ...] = TOKENS, **tokenizer: gf.Plain) -> GgufHeader:
    metadata = {f"tokenizer.{key.replace('__', '.')}": value for key, value in tokenizer.items()}
    data = gf.model(tokens=tokens, metadata=metadata)
    return parse_header(io.BytesIO(data), source=source, size_bytes=len(data))


def target(tokens: tuple[str, ...] = TOKENS, **tokenizer: gf.Plain) -> GgufHeader:
    return header("target.gguf", tokens, **tokenizer)


def draft(tokens: tuple[str, ...] = TOKENS, **tokenizer: gf.Plain) -> GgufHeader:
    return header("draft.gguf", tokens, **tokenizer)


def test_a_model_fits_itself() -> None:
    verdict = judge_match(target(), draft())

    assert verdict.fits
    assert verdict.warnings == ()
    check_match(target(), draft())


@given(token_id=st.integers(5, len(TOKENS) - 1), shorter=st.integers(0, 10))
def test_the_first_token_that_differs_is_named(token_id: int, shorter: int) -> None:
    """Whichever token from the fifth on differs, with whatever follows: its number and both texts are told."""
    other = (*TOKENS[:token_id], "<other>", *(f"u{i}" for i in range(99)))[: len(TOKENS) + shorter]

    verdict = judge_match(target(), draft(other))

    assert verdict.token_id == token_id
    assert verdict.reason == f"token {token_id} is {TOKENS[token_id]!r} in the target and '<other>' in the draft"


@given(token_id=st.integers(0, 4))
def test_the_first_five_tokens_may_differ(token_id: int) -> None:
    other = (*TOKENS[:token_id], "<other>", *TOKENS[token_id + 1 :])

    assert judge_match(target(), draft(other)).fits


@pytest.mark.parametrize(("surplus", "fits"), [(0, True), (128, True), (129, False)])
def test_one_vocabulary_may_have_128_tokens_more(surplus: int, fits: bool) -> None:
    longer = (*TOKENS, *(f"more {i}" for i in range(surplus)))

    for one, other in ((target(longer), draft()), (target(), draft(longer))):
        verdict = judge_match(one, other)

        assert verdict.fits is fits
        assert verdict.token_id is None
        assert ("181" in verdict.reason and "52" in verdict.reason) is not fits


def test_a_difference_in_size_still_names_the_first_token_that_differs() -> None:
    other = (*TOKENS[:20], "<other>", *(f"more {i}" for i in range(500)))

    verdict = judge_match(target(), draft(other))

    assert verdict.token_id == 20
    assert verdict.reason.endswith(f"token 20 is {TOKENS[20]!r} in the target and '<other>' in the draft")
    assert "the draft 521;" in verdict.reason


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        ({"ggml__model": "gpt2"}, {"ggml__model": "t5"}, "is of the kind BPE, the draft's UGM"),
        (
            {"ggml__add_bos_token": True},
            {"ggml__add_bos_token": False},
            "the target begins a text with token 1 ('<s>'), the draft with no token",
        ),
        (
            {"ggml__add_bos_token": True, "ggml__bos_token_id": 1},
            {"ggml__add_bos_token": True, "ggml__bos_token_id": 2},
            "the target begins a text with token 1 ('<s>'), the draft with token 2 ('</s>')",
        ),
        (
            {"ggml__add_eos_token": False},
            {"ggml__add_eos_token": True},
            "the target ends a text with no token, the draft with token 2 ('</s>')",
        ),
        (
            {"ggml__add_eos_token": True, "ggml__eos_token_id": 3},
            {"ggml__add_eos_token": True, "ggml__eos_token_id": 4},
            "the target ends a text with token 3 ('<|im_start|>'), the draft with token 4 ('<|im_end|>')",
        ),
    ],
)
def test_kind_and_framing_must_be_the_same(ours: dict[str, gf.Plain], theirs: dict[str, gf.Plain], reason: str) -> None:
    assert reason in judge_match(target(TOKENS, **ours), draft(TOKENS, **theirs)).reason
    for either in (ours, theirs):
        assert judge_match(target(TOKENS, **either), draft(TOKENS, **either)).fits


def test_kinds_of_tokenizer_count_not_their_names() -> None:
    assert judge_match(target(ggml__model="gpt2"), draft(ggml__model="whitespace")).fits


def test_a_token_that_frames_nothing_may_differ() -> None:
    """Without add_bos nobody puts the token there, so its number does not matter."""
    assert judge_match(target(ggml__bos_token_id=1), draft(ggml__bos_token_id=2)).fits


def test_a_model_without_vocabulary_fits_nothing() -> None:
    for one, other, whose in ((target(()), draft(), "target"), (target(), draft(()), "draft")):
        assert judge_match(one, other).reason == f"the {whose} has no vocabulary"


def test_texts_are_compared_as_llama_cpp_reads_them() -> None:
    """It stops at a NUL, and gives an empty token a name."""

    def with_token(text: str) -> tuple[str, ...]:
        return (*TOKENS[:7], text, *TOKENS[8:])

    assert judge_match(target(with_token("x\0y")), draft(with_token("x\0z"))).fits
    assert judge_match(target(with_token("")), draft(with_token("[EMPTY_7]"))).fits
    assert not judge_match(target(with_token("x\0y")), draft(with_token("y\0y"))).fits


def test_texts_are_shown_so_that_they_can_be_told_apart() -> None:
    """Escaped where they cannot be printed, shortened where they are long."""
    ours = (*TOKENS[:9], b"\xff\n".decode(errors="surrogateescape"), *TOKENS[10:])
    theirs = (*TOKENS[:9], "x" * 500, *TOKENS[10:])

    reason = judge_match(target(ours), draft(theirs)).reason

    assert r"'\udcff\n'" in reason
    assert reason.isprintable()
    assert len(reason) < 120


def test_another_end_of_turn_is_a_warning() -> None:
    verdict = judge_match(target(), draft(ggml__eot_token_id=2))

    assert verdict.fits
    assert verdict.warnings == (
        "The target ends its turns with token 4 ('<|im_end|>'), the draft with token 2 ('</s>'): "
        "proposals at the end of a reply will be rejected.",
    )


def test_another_chat_template_is_a_warning() -> None:
    verdict = judge_match(target(), draft(chat_template="{{ other }}"))

    assert verdict.fits
    assert verdict.warnings == (
        "The draft has another chat template than the target: its acceptance may be lower than it could be.",
    )


def test_a_mismatch_is_an_error_that_names_both_files_and_a_next_step() -> None:
    other = (*TOKENS[:6], "<other>", *TOKENS[7:])

    with pytest.raises(PairMismatchError) as caught:
        check_match(target(), draft(other))

    assert caught.value.message == (
        "draft.gguf cannot draft for target.gguf: token 6 is 'b' in the target and '<other>' in the draft."
    )
    assert "localspec pairs list" in caught.value.hint


# Heads within a target, and what it costs to go back (heads in files of their own are in test_heads.py)


def network(source: str, architecture: str, tensors: tuple[str, ...] = (), **values: gf.Plain) -> GgufHeader:
    metadata = {f"{architecture}.{key.replace('__', '.')}": value for key, value in values.items()}
    data = gf.model(
        tokens=TOKENS,
        metadata={"general.architecture": architecture, **metadata},
        tensors=[gf.Tensor(name, (8,)) for name in tensors],
    )
    return parse_header(io.BytesIO(data), source=source, size_bytes=len(data))


def test_a_target_with_heads_built_in_is_a_model() -> None:
    whole = network("whole.gguf", "qwen35", ("blk.0.attn_q.weight", "blk.32.nextn.eh_proj.weight"))

    assert judge_match(whole, draft()).fits


STATES: dict[str, gf.Plain] = {"block_count": 4, "ssm__inner_size": 16, "ssm__state_size": 4, "ssm__conv_kernel": 4}


def test_a_state_that_cannot_be_taken_back_is_a_warning() -> None:
    """For the architectures that llama.cpp keeps no earlier states of."""
    for architecture, whose in (("mamba", "target"), ("qwen35", None), ("llama", None)):
        recurrent = network("x.gguf", architecture, (), **STATES)
        for pair, who in (((recurrent, draft()), "target"), ((target(), recurrent), "draft")):
            verdict = judge_match(*pair)
            told = [warning for warning in verdict.warnings if "recurrent state" in warning]
            assert verdict.fits
            assert [warning.split(" has a")[0] for warning in told] == ([f"The {who}"] if whose else [])


@pytest.mark.parametrize(
    ("name", "question", "passage"),
    [
        ("bge-m3-Q8_0.gguf", "", ""),
        ("bge-large-en-v1.5-q4_k_m.gguf", "Represent this sentence for searching relevant passages: ", ""),
        ("mxbai-embed-large-v1-f16.gguf", "Represent this sentence for searching relevant passages: ", ""),
        ("snowflake-arctic-embed-m-v1.5.gguf", "Represent this sentence for searching relevant passages: ", ""),
        ("snowflake-arctic-embed-l-v2.0-f16.gguf", "query: ", ""),
        ("multilingual-e5-small.gguf", "query: ", "passage: "),
        (
            "multilingual-e5-large-instruct-q8_0.gguf",
            "Instruct: Find the passages that answer the question\nQuery: ",
            "",
        ),
    ],
)
def test_an_embedding_model_is_given_its_own_makers_instructions(name: str, question: str, passage: str) -> None:
    """BGE M3 was trained without, and the second Arctic and E5 with instructions with others than the first."""
    assert instructions(header(name)) == Instructions(question, passage)
