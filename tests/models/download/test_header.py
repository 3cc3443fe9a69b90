"""The header of a remote file costs little, whatever the file weighs."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

from localspec.base.errors import DownloadError, LocalSpecError, ModelFileError, NotFoundError, UsageError
from localspec.models.compatibility import judge_match
from localspec.models.download.choice import choose_file
from localspec.models.download.remote_file import Repository
from localspec.models.download.remote_header import read_remote_header
from tests.gguf_files import TOKENS, Tensor, model
from tests.hub import Cut, IgnoreRange, OtherRange, Page, Refuse
from tests.models.download.support import BIG, World

LARGE = 5 * 10**9
VOCABULARY = (*TOKENS, *(f"token{n}" for n in range(150_000)))


@cache
def large_model(tokens: tuple[str, ...] = VOCABULARY) -> bytes:
    return model(tokens=tokens, tensors=()) + bytes(64)


def test_a_file_of_5_gb_is_judged_after_less_than_16_mb(world: World) -> None:
    world.server.add(BIG, "a.gguf", large_model(), size_bytes=LARGE)
    other = (*VOCABULARY[:100_000], "another", *VOCABULARY[100_001:])
    world.server.add(BIG, "b.gguf", large_model(other), size_bytes=LARGE)
    headers = []
    for name in ("a.gguf", "b.gguf"):
        world.server.sent_bytes = 0
        headers.append(read_remote_header(world.remote(file=name), world.context()))
        assert world.server.sent_bytes < 16 * 10**6
    assert [header.size_bytes for header in headers] == [LARGE, LARGE]
    assert judge_match(headers[0], headers[1]).token_id == 100_000
    assert len(headers[0].vocabulary.tokens) == len(VOCABULARY)


def test_the_longest_header_in_use_is_judged_after_less_than_16_mb(world: World) -> None:
    """As long as Gemma 4's: 262,144 tokens, 514,906 merges, and a chat template."""
    tokens = tuple(f"token {n:9}" for n in range(262_144))
    merges = tuple(f"{n:9}" for n in range(514_906))
    head = {"tokenizer.ggml.merges": merges, "tokenizer.chat_template": "{{ messages }}" * 3000}
    data = model(tokens=tokens, metadata=head, tensors=()) + bytes(64)
    assert 15.8e6 < len(data) < 15.95e6
    world.server.add(BIG, "a.gguf", data, size_bytes=LARGE)

    assert read_remote_header(world.remote(file="a.gguf"), world.context()).vocabulary.tokens == tokens
    assert world.server.sent_bytes < 16 * 10**6


def test_a_connection_that_breaks_is_taken_up_again(world: World) -> None:
    world.server.add(BIG, "a.gguf", large_model())
    world.server.faults = [Cut(1000), Refuse(503), Refuse(429, retry_after="2")]
    assert read_remote_header(world.remote(file="a.gguf"), world.context()).architecture == "llama"
    assert world.waits == [0.75, 1.5, 2.5]


def test_a_line_that_is_cut_every_700_kb_brings_a_header_without_a_byte_twice(world: World) -> None:
    world.server.add(BIG, "a.gguf", large_model(), size_bytes=LARGE)
    world.server.faults = [Cut(700_000)] * 100
    header = read_remote_header(world.remote(file="a.gguf"), world.context())
    assert header.vocabulary.tokens == VOCABULARY
    asked = [headers["range"].removeprefix("bytes=").split("-") for headers in world.server.byte_requests()]
    assert len(asked) > 4
    for (start, _), (following, _) in pairwise(asked):
        assert int(following) - int(start) <= 700_000, "it goes on where it was cut"
    assert world.server.sent_bytes == int(asked[-1][1]) + 1


def test_a_line_that_brings_nothing_is_given_up_and_nothing_is_said_to_be_kept(world: World) -> None:
    world.server.add(BIG, "a.gguf", large_model())
    world.server.faults = [Cut(1000), *[Refuse(503)] * 4]
    with pytest.raises(DownloadError, match="cannot answer now") as error:
        read_remote_header(world.remote(file="a.gguf"), world.context())
    assert "kept" not in str(error.value)


def test_an_address_that_has_run_out_is_renewed(world: World) -> None:
    world.server.add(BIG, "a.gguf", large_model())
    world.server.faults = [Cut(1000), Refuse(403), Cut(1000), Refuse(403)]
    assert read_remote_header(world.remote(file="a.gguf"), world.context()).vocabulary.tokens == VOCABULARY


def test_a_page_to_sign_in_is_told_at_once(world: World) -> None:
    world.server.add(BIG, "a.gguf", large_model())
    world.server.faults = [Page()]
    with pytest.raises(DownloadError, match=r"sends a web page in place of a\.gguf"):
        read_remote_header(world.remote(file="a.gguf"), world.context())
    assert world.waits == []


def test_another_part_than_was_asked_for_is_not_taken_for_it(world: World) -> None:
    world.server.add(BIG, "a.gguf", large_model())
    world.server.faults = [OtherRange(), OtherRange()]
    assert read_remote_header(world.remote(file="a.gguf"), world.context()).vocabulary.tokens == VOCABULARY
    assert world.waits == [0.75, 1.5]


def test_a_server_without_ranges_serves_too(world: World) -> None:
    world.server.add(BIG, "a.gguf", large_model())
    world.server.faults = [IgnoreRange()] * 3
    header = read_remote_header(world.remote(file="a.gguf"), world.context())
    assert header.vocabulary.tokens == VOCABULARY


def test_a_file_that_is_too_short_for_its_tensors_is_told_without_fetching_them(world: World) -> None:
    world.server.add(BIG, "a.gguf", model(tensors=[Tensor("big", (1000, 1000))])[:5000])
    with pytest.raises(ModelFileError, match="truncated"):
        read_remote_header(world.remote(file="a.gguf"), world.context())


def repository(*names: str) -> Repository:
    return Repository(name="O/N", current_name="O/N", revision="main", commit="c", sizes=dict.fromkeys(names, 1))


FILES = repository(
    "N-Q4_K_M.gguf", "N-UD-Q4_K_M.gguf", "N-Q8_0-00001-of-00002.gguf", "N-Q8_0-00002-of-00002.gguf",
    "mmproj-N-F16.gguf", "sub/N-F16.gguf", "N.UD-Q2_K_XL.gguf", "README.md",
)  # fmt: skip
PARTS = repository("N-00001-of-00002.gguf", "N-00002-of-00002.gguf")


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("Q4_K_M", "N-Q4_K_M.gguf"),
        ("q4_k_m", "N-Q4_K_M.gguf"),
        ("UD-Q4_K_M", "N-UD-Q4_K_M.gguf"),
        ("Q8_0", "N-Q8_0-00001-of-00002.gguf"),
        ("F16", "sub/N-F16.gguf"),
        ("Q2_K_XL", "N.UD-Q2_K_XL.gguf"),
        ("N-Q4_K_M.gguf", "N-Q4_K_M.gguf"),
    ],
)
def test_a_quantisation_stands_for_its_file(wanted: str, chosen: str) -> None:
    assert choose_file(FILES, wanted) == chosen


def test_a_repository_stands_for_the_only_model_in_it() -> None:
    """Parts of it, and what only goes with it, are none of their own."""
    names = "N-00001-of-00002.gguf", "N-00002-of-00002.gguf", "mmproj-N-F16.gguf", "mtp-N.gguf", "README.md"
    assert choose_file(repository(*names), None) == "N-00001-of-00002.gguf"


@pytest.mark.parametrize(
    ("repo", "wanted", "kind", "words"),
    [
        (FILES, None, UsageError, "Name one: O/N:F16, or Q4_K_M, Q8_0, UD-Q2_K_XL, UD-Q4_K_M."),
        (repository("one.gguf", "two.gguf"), None, UsageError, "Name one: O/N:one.gguf, or two.gguf."),
        (repository("a-Q4_0.gguf", "b-Q4_0.gguf"), None, UsageError, "Name one: O/N:a-Q4_0.gguf, or b-Q4_0.gguf."),
        (repository("README.md"), None, NotFoundError, "no GGUF files at all"),
        (FILES, "Q6_K", NotFoundError, "It has F16, Q4_K_M, Q8_0, UD-Q2_K_XL, UD-Q4_K_M."),
        (FILES, "M-Q4_K_M.gguf", NotFoundError, "Did you mean N-Q4_K_M.gguf"),
        (PARTS, "N-00001-of-00003.gguf", NotFoundError, "Did you mean N-00001-of-00002.gguf?"),
        (repository("README.md"), "Q4_0", NotFoundError, "no GGUF files at all"),
        (repository("a-Q4_0.gguf", "b-Q4_0.gguf"), "Q4_0", UsageError, "a-Q4_0.gguf, b-Q4_0.gguf"),
    ],
)
def test_what_is_not_there_comes_with_what_is(
    repo: Repository, wanted: str | None, kind: type[LocalSpecError], words: str
) -> None:
    with pytest.raises(kind) as error:
        choose_file(repo, wanted)
    assert words in str(error.value)
