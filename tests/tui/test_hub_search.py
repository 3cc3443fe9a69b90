"""The search of the Hub in the list of pairs, driven as a reader would."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from localspec.base.errors import DownloadError
from localspec.chat.pairs.source import LocalPairs
from localspec.chat.settings.controller import NoSettings
from localspec.models.pairs import load_catalogue
from localspec.tui.app import ChatApp
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.widgets.pair_list import PairList
from tests.hub import HubServer
from tests.models.download.conftest import server as server
from tests.models.pairs.support import BIG
from tests.tui.pairs_support import MB, FakeWorld, hub_model, progressed
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


async def test_a_hub_that_cannot_be_asked_says_why(app: ChatApp, world: FakeWorld, engine: FakeEngine) -> None:
    world.hub_error = DownloadError("The Hub does not answer.", "Check the connection.")
    async with app.run_test(size=(100, 40)) as pilot:
        await searching(pilot, engine, "qwen3")
        await wait_until(pilot, lambda: "hub" in listed(pilot) and "Check the connection" in heading(pilot))
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
        await wait_until(pilot, lambda: [each.percent for each in app._library.downloads.active] == ["40 %"])
        assert isinstance(pilot.app.screen, PairsScreen)


def test_search_page_and_addition_over_the_real_client(server: HubServer) -> None:
    server.add("Owner/Solo-GGUF", "solo-Q4_0.gguf", BIG, about={"downloads": 5})
    pairs = LocalPairs(NoSettings(LAUNCH))
    (model,) = pairs.search("solo")
    page = pairs.page(model.name)
    assert page.best is not None
    pair_id = pairs.adopt(page.best)
    assert pair_id == pairs.adopt(page.best) == "solo-q4_0", "added once"
    assert load_catalogue().find(pair_id).target.size_bytes == len(BIG)
