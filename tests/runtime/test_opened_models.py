"""Pairs whose draft is a head of the target, or whose target has MTP layers: opened, priced, kept, and done without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.base.errors import CapacityError, DrafterUnavailableError
from localspec.engine.backends.llama import hidden
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.cancel import Cancellation
from localspec.engine.settings import Sampling
from localspec.runtime.load import InspectablePair, open_pair
from localspec.runtime.messages import Reply, ReplyOptions
from localspec.runtime.options import LoadOptions
from tests.runtime.opened_pairs import follow, open_unmeasured
from tests.tiny_heads import TinyHead, favour_few, write_head, write_mtp_target
from tests.tiny_models import write_tiny

PROMPT = "the quick brown fox jumps over the lazy dog " * 4
GREEDY = Sampling(temperature=0)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LoadOptions]:
    """What to load, by the drafter that it brings."""
    folder = tmp_path_factory.mktemp("pairs")
    target = write_tiny(folder / "target.gguf", "llama", spoil=favour_few)
    eagle3 = write_head(folder / "eagle3.gguf", TinyHead())
    return {
        "eagle3": LoadOptions(target, eagle3, n_ctx=512, threads=1),
        "mtp": LoadOptions(write_mtp_target(folder / "glm4moe.gguf"), n_ctx=512, threads=1),
    }


@pytest.fixture(params=["eagle3", "mtp"])
def drafter(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def pair(files: dict[str, LoadOptions], drafter: str) -> Iterator[InspectablePair]:
    pair = open_pair(files[drafter], Cancellation())
    yield pair
    pair.close()


def reply(pair: InspectablePair, spec: tuple[str, ...] | None, prompt: str = PROMPT) -> Reply:
    return follow(pair, prompt, ReplyOptions(GREEDY, max_tokens=24, spec=spec, depth=3))


def test_a_pair_drafts_with_its_head(pair: InspectablePair, drafter: str) -> None:
    """Asked for or not, and the text is the target's own."""
    alone = reply(pair, ())
    for spec in (None, (drafter,)):
        drafted = reply(pair, spec)
        assert drafted.text == alone.text
        assert any(drafter in (round_.drafter or "") for round_ in drafted.rounds)
        assert not any(round_.failures for round_ in drafted.rounds)


def test_the_facts_of_a_head_are_those_of_a_draft(files: dict[str, LoadOptions]) -> None:
    """MTP layers have no file of their own, and are no draft."""
    for drafter, options in files.items():
        pair = open_unmeasured(replace(options, device="none"))
        info = pair.info
        if drafter == "eagle3":
            assert options.draft is not None
            assert (info.draft, info.draft_name) == (options.draft, "tiny eagle3")
            assert 0 < info.draft_size_bytes <= options.draft.stat().st_size
            assert (info.draft_threads, info.draft_device) == (1, "CPU, 1 thread")
        else:
            assert (info.draft, info.draft_name, info.draft_threads) == (None, None, None)
        pair.close()


def test_a_llama_cpp_that_cannot_serve_it_says_so_and_goes_on(
    files: dict[str, LoadOptions], drafter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the reply, unless it was asked for by name."""
    hidden_functions.cache_clear()
    monkeypatch.setitem(hidden._FUNCTIONS, "set_final", ("no_such", None, []))
    pair = open_unmeasured(files[drafter])
    unasked = reply(pair, None)
    assert unasked.text == reply(pair, ()).text
    (failure,) = unasked.rounds[-1].failures
    assert failure.drafter == drafter
    assert "does not hand over hidden states" in failure.message
    with pytest.raises(DrafterUnavailableError, match="does not hand over hidden states"):
        reply(pair, (drafter,))
    pair.close()
    hidden_functions.cache_clear()


def test_a_target_without_room_for_its_mtp_layers_goes_on(
    files: dict[str, LoadOptions], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for them; the reply says so."""

    def full(*_: object) -> None:
        raise CapacityError("There is no room for another context.", "Choose a smaller one.")

    monkeypatch.setattr("localspec.engine.backends.llama.head.load_mtp", full)
    pair = open_unmeasured(files["mtp"])
    unasked = reply(pair, None)
    assert unasked.text == reply(pair, ()).text
    assert [failure.message for failure in unasked.rounds[-1].failures] == ["There is no room for another context."]
    pair.close()


def test_a_long_conversation_that_was_kept_goes_on_with_its_head(
    files: dict[str, LoadOptions], drafter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target's cache comes from the disk; the head begins with what is evaluated next."""
    monkeypatch.setattr("localspec.runtime.loaded_pair._WORTH_S", 0.0)

    options = replace(files[drafter], keep_caches=True)
    prompt = "".join(f"{n} " for n in range(70))
    pair = open_unmeasured(options)
    alone = reply(pair, (), prompt).text
    pair.close()
    pair = open_unmeasured(options)
    again = reply(pair, (drafter,), prompt)
    assert again.timings.cache_n > 64
    assert again.text == alone
    assert any(round_.depth for round_ in again.rounds)
    pair.close()
