"""The search of the Hub in the list of pairs, driven as a reader would."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from localspec.base.errors import DownloadError
from localspec.chat.pairs.browser import Browser
from localspec.chat.pairs.facts import files
from localspec.chat.pairs.hub_words import gate
from localspec.chat.pairs.library import PairLibrary
from localspec.chat.pairs.offer import news
from localspec.chat.pairs.source import LocalPairs
from localspec.doctor.native_probe import NativeReport
from localspec.models.discovery.drafts import DraftCandidate
from localspec.models.discovery.page import ModelPage
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.expectation import Expectation
from localspec.tui.app import ChatApp
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.widgets.pair_list import PairList
from tests.builtin import HEADS, MTP_LAYER, TARGET
from tests.gguf_files import write
from tests.hub import HubServer
from tests.models.download.conftest import server as server
from tests.models.pairs.support import BIG
from tests.models.pairs.support import SMALL as SMALL_MODEL
from tests.tiny_models import write_tiny
from tests.tiny_projectors import write_projector
from tests.tui.fakes import NoSettings
from tests.tui.pairs_support import MB, FakeWorld, at_once, hub_model, progressed, shelf_of
from tests.tui.support import LAUNCH, FakeEngine, wait_until
from tests.tui.test_pairs import app_of, listed, marked, opened, ready, said

MODELS = (hub_model("Qwen/Qwen3-8B-GGUF"), hub_model("unsloth/Qwen3-4B-GGUF", gated=True), hub_model("x/Llama-GGUF"))


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld(models=MODELS)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def app(world: FakeWorld, engine: FakeEngine) -> Iterator[ChatApp]:
    with app_of(world, engine) as app:
        yield app


async def searching(pilot: Pilot[Any], engine: FakeEngine, words: str) -> None:
    await ready(pilot, engine)
    await opened(pilot)
    await pilot.press(*words, "ctrl+f")


async def test_the_hub_is_searched_when_asked_for_and_its_models_stand_below_the_pairs(
    app: ChatApp, world: FakeWorld, engine: FakeEngine
) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await ready(pilot, engine)
        await opened(pilot)
        await pilot.press(*"qwen3")
        assert world.asked == [], "words leave the machine only when they are meant to"
        await pilot.press("ctrl+f")
        await wait_until(pilot, lambda: len(listed(pilot)) == 4)
        assert world.asked == ["qwen3"]
        assert listed(pilot) == ["qwen3-8b", "hub", "hub:Qwen/Qwen3-8B-GGUF", "hub:unsloth/Qwen3-4B-GGUF"]
        assert marked(pilot) == "qwen3-8b", "the highlight stays where it was"
        await pilot.press("down")
        await wait_until(pilot, lambda: marked(pilot) == "hub:Qwen/Qwen3-8B-GGUF")
        assert "1.23M in the last thirty days" in said(pilot, "PairDetails Static")
        await pilot.press("ctrl+f")
        await wait_until(pilot, lambda: listed(pilot) == ["qwen3-8b"])


async def test_typing_goes_on_while_the_hub_is_slow(app: ChatApp, world: FakeWorld, engine: FakeEngine) -> None:
    """What was found before and has the new words stays; the rest of an answer to earlier words is dropped."""
    world.answers = threading.Semaphore(2)
    async with app.run_test(size=(100, 40)) as pilot:
        await searching(pilot, engine, "gguf")
        await wait_until(pilot, lambda: "hub:unsloth/Qwen3-4B-GGUF" in listed(pilot))
        assert "searching" in heading(pilot)
        assert said(pilot, "#pairs-count").endswith("searching the Hub"), "the heading may be out of sight"
        await pilot.press(*" 4b")
        assert pilot.app.screen.query_one(Input).value == "gguf 4b"
        await wait_until(pilot, lambda: of_hub(pilot) == ["hub:unsloth/Qwen3-4B-GGUF"])
        world.answers.release(1000)
        await wait_until(pilot, lambda: world.asked[-1] == "gguf 4b" and "searching" not in heading(pilot))
        assert of_hub(pilot) == ["hub:unsloth/Qwen3-4B-GGUF"]


def of_hub(pilot: Pilot[Any]) -> list[str]:
    return [row for row in listed(pilot) if row.startswith("hub:")]


def heading(pilot: Pilot[Any]) -> str:
    return str(pilot.app.screen.query_one(PairList).get_option("hub").prompt)


async def test_what_cannot_run_is_hidden_until_it_is_asked_for(
    app: ChatApp, world: FakeWorld, engine: FakeEngine
) -> None:
    world.models = (*MODELS, hub_model("x/Qwen3-EAGLE3-GGUF", obstacle="it is an EAGLE-3 head"))
    async with app.run_test(size=(80, 24)) as pilot:
        await searching(pilot, engine, "qwen3")
        await wait_until(pilot, lambda: "without 1 that cannot run" in heading(pilot))
        assert "hub:x/Qwen3-EAGLE3-GGUF" not in of_hub(pilot)
        assert "F4 show 1 more" in said(pilot, "#pairs-keys")
        await pilot.press("f4")
        await wait_until(pilot, lambda: of_hub(pilot)[-1] == "hub:x/Qwen3-EAGLE3-GGUF")
        await pilot.press("pagedown")
        await wait_until(pilot, lambda: "it is an EAGLE-3 head" in said(pilot, "PairDetails Static"))
        assert "(cannot run)" in str(pilot.app.screen.query_one(PairList).get_option(of_hub(pilot)[-1]).prompt)
        await pilot.press("f4")
        await wait_until(pilot, lambda: len(of_hub(pilot)) == 2)


async def test_a_hub_that_cannot_be_asked_says_why(app: ChatApp, world: FakeWorld, engine: FakeEngine) -> None:
    world.hub_error = DownloadError("The Hub does not answer.", "Check the connection.")
    async with app.run_test(size=(100, 40)) as pilot:
        await searching(pilot, engine, "qwen3")
        await wait_until(pilot, lambda: "hub" in listed(pilot) and "Check the connection" in heading(pilot))
        assert said(pilot, "#pairs-count").endswith("the Hub cannot be searched")
        world.hub_error = None
        await pilot.press("ctrl+f", "ctrl+f")
        await wait_until(pilot, lambda: len(listed(pilot)) == 4)


async def test_a_models_page_marks_the_best_file_and_downloads_it(
    app: ChatApp, world: FakeWorld, engine: FakeEngine
) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await searching(pilot, engine, "qwen3")
        await wait_until(pilot, lambda: len(listed(pilot)) == 4)
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: said(pilot, "#pairs-title") == "Qwen/Qwen3-8B-GGUF" and len(listed(pilot)) == 3)
        assert marked(pilot) == "Qwen/Qwen3-8B-GGUF/model-Q6_K.gguf"
        assert "Q6_K is the one to take here" in said(pilot, "PairDetails Static")
        await pilot.press("enter")
        await wait_until(pilot, lambda: "once more: download 7.00 GB" in said(pilot, "#pairs-keys"))
        await pilot.press("enter")
        await wait_until(pilot, lambda: said(pilot, "#pairs-title") == "Pairs")
        await wait_until(pilot, lambda: world.adopted == ["Qwen/Qwen3-8B-GGUF/model-Q6_K.gguf"])
        world.feed.put(progressed(2312 * MB))
        await wait_until(pilot, lambda: [each.percent for each in app._library.downloads.pending] == ["40 %"])
        assert isinstance(pilot.app.screen, PairsScreen)


async def test_a_page_that_comes_late_is_as_wide_as_the_screen(
    app: ChatApp, world: FakeWorld, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While nothing was listed, the list and its details had no width."""
    read, may_read = world.page, threading.Event()

    def late(name: str) -> ModelPage:
        may_read.wait()
        return read(name)

    monkeypatch.setattr(world, "page", late)
    async with app.run_test(size=(80, 24)) as pilot:
        await searching(pilot, engine, "qwen3")
        await wait_until(pilot, lambda: len(listed(pilot)) == 4)
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: said(pilot, "#pairs-empty") == "Reading what the repository has.")
        may_read.set()
        await wait_until(pilot, lambda: "one to take here: the largest that fits" in said(pilot, "PairDetails Static"))


def test_search_page_and_addition_over_the_real_client(server: HubServer) -> None:
    server.add("Owner/Solo-GGUF", "solo-Q4_0.gguf", BIG, about={"downloads": 5})
    pairs = LocalPairs(NoSettings(LAUNCH))
    (model,) = pairs.search("solo")
    page = pairs.page(model.name)
    assert page.best is not None
    pair_id = pairs.adopt(page.best)
    assert pair_id == pairs.adopt(page.best) == "solo-q4_0", "added once"
    assert load_catalogue().find(pair_id).target.size_bytes == len(BIG)


CANDIDATES = (
    DraftCandidate(
        "big/Slow:slow.gguf",
        "draft",
        900 * MB,
        0.2,
        is_here=False,
        reason="the same vocabulary",
        expected=Expectation(9, 11),
    ),
    DraftCandidate("Maker/Head:head.gguf", "eagle3", 300 * MB, 0.05, is_here=False, reason="an EAGLE-3 head that fits"),
    DraftCandidate(
        "/models/fast.gguf",
        "draft",
        500 * MB,
        0.1,
        is_here=True,
        reason="the same vocabulary",
        expected=Expectation(9, 18),
    ),
    DraftCandidate(
        "no/Fit:x.gguf", "draft", 600 * MB, 0.1, is_here=False, reason="token 11 is 'a', not 'b'", fits=False
    ),
)


async def test_a_draft_is_found_for_a_target_and_makes_a_pair(
    app: ChatApp, world: FakeWorld, engine: FakeEngine
) -> None:
    """Ranked by expected gain; what cannot draft for it is listed, with the reason, when it is asked for."""
    world.candidates = CANDIDATES
    async with app.run_test(size=(100, 40)) as pilot:
        await ready(pilot, engine)
        await opened(pilot)
        await pilot.press(*"smol", "ctrl+g")
        shown = ["/models/fast.gguf", "big/Slow:slow.gguf", "Maker/Head:head.gguf"]
        await wait_until(pilot, lambda: listed(pilot) == shown)
        assert said(pilot, "#pairs-title") == "Drafts for SmolLM2 1.7B + 135M"
        assert said(pilot, "#pairs-count") == "by expected gain"
        assert "about 2.00 times plain speed: 18.0 tokens/s, 9.00 without it" in said(pilot, "PairDetails Static")
        await pilot.press(*"refused")
        await wait_until(pilot, lambda: listed(pilot) == ["no/Fit:x.gguf"])
        assert "token 11 is 'a'" in said(pilot, "PairDetails Static")
        await pilot.press("enter", "enter")
        assert world.adopted == []
        await opened_again(pilot)
        await pilot.press("ctrl+g")
        await wait_until(pilot, lambda: listed(pilot) == shown)
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: "once more: make it a pair, download 900 MB" in said(pilot, "#pairs-keys"))
        await pilot.press("enter")
        await wait_until(pilot, lambda: world.adopted == ["smollm2-1.7b with big/Slow:slow.gguf"])
        await wait_until(pilot, lambda: [each.pair_id for each in app._library.downloads.pending] == ["drafted"])


async def opened_again(pilot: Pilot[Any]) -> None:
    """Back in the list of pairs."""
    if said(pilot, "#pairs-title") != "Pairs":
        await pilot.press("escape")
    await wait_until(pilot, lambda: said(pilot, "#pairs-title") == "Pairs" and marked(pilot) == "smollm2-1.7b")


def test_a_draft_over_the_real_client_becomes_a_pair(server: HubServer) -> None:
    """Its header is read, and nothing else; the target may be a single model that is here."""
    server.add("Maker/Fam-8B-GGUF", "Fam-8B-Q4_0.gguf", BIG, about={"gguf": {"total": 32_000}})
    server.add("Maker/Fam-1B-GGUF", "Fam-1B-Q8_0.gguf", SMALL_MODEL, about={"gguf": {"total": 3_200}})
    pairs = LocalPairs(NoSettings(LAUNCH))
    (model,) = (each for each in pairs.search("8B") if "8B" in each.name)
    page = pairs.page(model.name)
    assert page.best is not None
    alone = pairs.adopt(page.best)
    (found,) = (each for each in pairs.drafts(alone) if each.fits)
    assert found.name == "Maker/Fam-1B-GGUF:Fam-1B-Q8_0.gguf"
    drafted = pairs.pair_with(alone, found.name)
    pair = load_catalogue().find(drafted)
    assert (pair.target.file, pair.draft and pair.draft.file) == ("Fam-8B-Q4_0.gguf", "Fam-1B-Q8_0.gguf")


def test_a_model_that_sees_brings_its_projector(server: HubServer, tmp_path: Path) -> None:
    """As on the command line; and a gated one says where its terms are accepted."""
    target, projector = write_tiny(tmp_path / "t.gguf", "llama"), write_projector(tmp_path / "p.gguf")
    server.add("Owner/Tiny-VL-GGUF", "Tiny-VL-Q4_0.gguf", target.read_bytes())
    server.add("Owner/Tiny-VL-GGUF", "mmproj-F16.gguf", projector.read_bytes())
    pairs = LocalPairs(NoSettings(LAUNCH))
    page = pairs.page("Owner/Tiny-VL-GGUF")
    assert page.best is not None
    pair_id = pairs.adopt(page.best)
    pair = load_catalogue().find(pair_id)
    assert (pair.draft, pair.projector and pair.projector.file) == (None, "mmproj-F16.gguf")
    (listed_pair,) = (each for each in pairs.listed() if each.id == pair_id)
    assert ("draft", "none: it drafts itself from its own text (suffix)") in files(listed_pair)
    assert gate(hub_model("Owner/Shut", gated=True)) == (
        f"accept its terms at {server.endpoint}/Owner/Shut, then set HF_TOKEN"
    )


def test_a_model_that_cannot_be_added_says_why() -> None:
    world = FakeWorld(models=MODELS)
    library = shelf_of(world)
    page = world.page(MODELS[0].name)
    world.hub_error = DownloadError("Qwen/Qwen3-8B-GGUF is gated.", "Accept its terms.")
    library.adopt(page.quantisations[0])
    library.take()
    assert Browser(library).details(80, "", "")[0][1] == "Not added: Qwen/Qwen3-8B-GGUF is gated. Accept its terms."
    assert news(library, None, "F3", "Ctrl+L").endswith("is gated. Accept its terms.")
    library.seen()
    assert news(library, None, "F3", "Ctrl+L") == ""


def test_a_head_that_drafts_for_a_model_of_the_folder_is_not_refused(tmp_path: Path) -> None:
    """And files that are left out for one reason share its sentence."""
    heads = [*HEADS.values(), MTP_LAYER]
    for model in (TARGET, *heads):
        copy(model, tmp_path)
    refused, _, reason = LocalPairs(NoSettings(LAUNCH)).collect(tmp_path).partition(": ")
    assert len(refused.split(", ")) == len(heads) - 1
    assert reason == "It is a head, which drafts for the model that it was made for."


def test_a_path_in_the_filter_adds_what_lies_there(tmp_path: Path) -> None:
    """The models become pairs, which the path then lists; what became none is named with the reason."""
    write(tmp_path / "mine" / "whole-Q4_0.gguf", BIG)
    write(tmp_path / "mine" / "broken.gguf", b"GGUF")
    library = PairLibrary(LocalPairs(NoSettings(LAUNCH)), at_once)
    library.world._native = NativeReport(version="1", threads=2)
    library.look()
    browser = Browser(library)
    browser.text = str(tmp_path / "mine")
    assert browser.empty("F23") == "F23 adds the models of this file or folder as pairs."
    assert browser.add_files()
    assert [each.pair.title for each in browser.entries] == ["whole-Q4_0"]
    assert browser.details(80, "", "")[0][1].startswith("Not added: broken.gguf: ")
    assert not browser.add_files(), "it is listed, and Enter uses it"
    browser.text = str(tmp_path / "none.gguf")
    browser.add_files()
    assert "There is no file or folder" in browser.empty("Enter")
