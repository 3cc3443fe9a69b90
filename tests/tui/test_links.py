"""Links and blocks of code in replies: found, gone to, copied, and opened only on request."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Markdown, OptionList

from localspec.chat.markdown import Link, can_be_opened, links_of
from localspec.store import Store
from localspec.tui.screens.links import LinksScreen, opened_link
from localspec.tui.widgets.linked import linked
from tests.tui.support import (
    FakeEngine,
    chat,
    make_app,
    notice_text,
    ready,
    say,
    send,
    session,
    transcript_of,
    views,
    wait_until,
)

REPLY = "See [the page](https://a.org/x) and https://b.org, or ask <someone@c.org>."
CODE = "First:\n\n```sh\nls\n```\n\nthen:\n\n```sh\npwd\n```\n"


async def drawn(pilot: Pilot[Any], replies_n: int) -> None:
    await wait_until(pilot, lambda: len([m for m in chat(pilot).query(Markdown) if m.display]) == replies_n)


@pytest.mark.parametrize(
    ("markdown", "links"),
    [
        (
            REPLY,
            [
                ("the page", "https://a.org/x"),
                ("https://b.org", "https://b.org"),
                ("someone@c.org", "mailto:someone@c.org"),
            ],
        ),
        ("| a |\n|---|\n| [b](http://c.org) |", [("b", "http://c.org")]),
        ("- [**bold** one](https://a.org)\n- again https://a.org", [("bold one", "https://a.org")]),
        ("`https://a.org` and\n\n```\nhttps://b.org\n```\n", []),
        ("[run](javascript:alert(1)) [file](file:///etc/passwd) [here](#top)", []),
        ('<a href="https://a.org/">b</a>', [("https://a.org/", "https://a.org/")]),
        ("", []),
    ],
)
def test_links_are_found_where_markdown_has_them(markdown: str, links: list[tuple[str, str]]) -> None:
    """Each address once; nothing in code, and nothing that leads elsewhere than to the web or to mail."""
    assert links_of(markdown) == [Link(text, url) for text, url in links]


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "javascript:alert(1)", "ftp://a.org", "https://a.org/\x1b[0m", "https://a b"]
)
def test_what_is_no_address_of_the_web_is_not_opened(url: str) -> None:
    assert not can_be_opened(url)


async def test_the_terminal_is_told_of_links(store: Store) -> None:
    """OSC 8 in what is drawn, and the text itself is the same."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Where?", REPLY)
        await drawn(pilot, 1)
        block = chat(pilot).query_one(Markdown).children[0]
        content = block._content  # type: ignore[attr-defined]
        addresses = [span.style.link for span in content.spans if getattr(span.style, "link", None)]
        assert addresses == ["https://a.org/x", "https://b.org", "mailto:someone@c.org"]
        assert content.plain == "See the page and https://b.org, or ask someone@c.org."
        strips = [block.render_line(y) for y in range(block.size.height)]
        assert {segment.style.link for strip in strips for segment in strip if segment.style} >= set(addresses)


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (40, 8)])
@pytest.mark.parametrize("links_n", [2, 60])
async def test_the_keys_of_the_list_are_on_the_screen(size: tuple[int, int], links_n: int) -> None:
    """However many links there are, and however long they are; the box is as high as what is in it."""
    links = [Link(f"page {n}", f"https://a.org/{n}/{'x' * 70}") for n in range(links_n)]
    app = make_app(FakeEngine())
    async with app.run_test(size=size) as pilot:
        await app.push_screen(LinksScreen(links))
        await pilot.pause()
        keys, box = app.screen.query_one("#links-keys"), app.screen.query_one("#links")
        assert keys.region.height
        assert box.region.contains_region(keys.region)
        assert box.region.bottom - keys.region.bottom == box.styles.padding.bottom, "no row of the box is empty"
        assert app.screen.region.contains_region(keys.region)


def test_a_line_without_links_stays_as_it_is() -> None:
    content = Content.assemble(("bold", "bold"), " and not")
    assert linked(content) == content


class FakeWindow(webbrowser.BackgroundBrowser):
    """A browser with a window of its own, as the browsers of a desktop are started."""

    def __init__(self, *, opens: bool = True) -> None:
        super().__init__("fake")
        self.opened: list[str] = []
        self.opens = opens

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        self.opened.append(url)
        return self.opens


class FakeText(webbrowser.GenericBrowser):
    """A browser that runs in the terminal, as lynx does, while the app has left it."""

    def __init__(self, left: Callable[[], bool]) -> None:
        super().__init__("fake")
        self.left = left

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        return self.left()


@pytest.mark.parametrize("suspends", [True, False])
async def test_a_browser_that_runs_in_the_terminal_has_it_alone(
    suspends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is left; where the app cannot leave the terminal the browser is not started."""
    app, left = make_app(FakeEngine()), False

    @contextmanager
    def suspend() -> Iterator[None]:
        nonlocal left
        left = True
        yield
        left = False

    monkeypatch.setattr(webbrowser, "get", lambda: FakeText(lambda: left))
    if suspends:
        monkeypatch.setattr(app, "suspend", suspend)
    async with app.run_test(size=(100, 30)):
        note = opened_link(app, "https://a.org")
    assert ("is opened" in note) is suspends
    assert "https://a.org" in note
    assert not left


async def test_an_address_that_no_browser_opens_is_not_said_to_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither without a browser nor with one that cannot be started; the address can be marked in the note."""

    def none() -> webbrowser.BaseBrowser:
        raise webbrowser.Error("could not locate runnable browser")

    app = make_app(FakeEngine())
    async with app.run_test(size=(100, 30)):
        for get in (none, lambda: FakeWindow(opens=False)):
            monkeypatch.setattr(webbrowser, "get", get)
            assert opened_link(app, "https://a.org") == "No browser could be started here; mark it here: https://a.org"


async def test_links_are_listed_and_copied(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the chosen reply, or the last; Enter copies, and nothing was opened."""
    engine, window = FakeEngine(), FakeWindow()
    opened = window.opened
    monkeypatch.setattr(webbrowser, "get", lambda: window)
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Where?", REPLY)
        await say(pilot, engine, "What?", "Nothing.")
        await send(pilot, "/links")
        await wait_until(pilot, lambda: "no link in this reply" in notice_text(pilot))
        await pilot.press("alt+up", "alt+up", "alt+l")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, LinksScreen))
        assert pilot.app.screen.query_one(OptionList).option_count == 3
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: "https://b.org is copied" in notice_text(pilot))
        assert pilot.app.clipboard == "https://b.org"
        assert not opened
        await pilot.press("alt+l")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, LinksScreen))
        await pilot.press("o")
        await wait_until(pilot, lambda: "is opened in the browser" in notice_text(pilot))
        assert opened == ["https://a.org/x"]
        await pilot.press("alt+l")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, LinksScreen))
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, LinksScreen))


async def test_a_click_on_a_link_opens_the_list_there(store: Store) -> None:
    """And not the browser."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(100, 30)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "Where?", REPLY)
        await say(pilot, engine, "What?", "Nothing.")
        await drawn(pilot, 2)
        markdown = chat(pilot).query(Markdown).first()
        markdown.post_message(Markdown.LinkClicked(markdown, "https://b.org"))
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, LinksScreen))
        assert pilot.app.screen.query_one(OptionList).highlighted == 1
        assert transcript_of(pilot).selected is views(pilot)[0]


async def test_blocks_of_code_are_gone_to_across_turns(store: Store) -> None:
    """From the last upwards, and the block that was gone to is the one that is copied; past the ends it says so."""
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(80, 16)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "One?", CODE)
        await say(pilot, engine, "Two?", "No code.")
        await say(pilot, engine, "Three?", "```\nlast\n```\n")
        await drawn(pilot, 3)
        copied = []
        for _ in range(3):
            await pilot.press("alt+pageup")
            await pilot.pause()
            marked = [fence for view in views(pilot) for fence in view.reply.fences() if fence.has_class("-marked")]
            assert len(marked) == 1
            assert transcript_of(pilot).region.overlaps(marked[0].region)
            await pilot.press("o", "o")
            copied.append(pilot.app.clipboard)
        assert copied == ["last\n", "pwd\n", "ls\n"]
        await pilot.press("alt+pageup")
        await wait_until(pilot, lambda: "no further block" in notice_text(pilot))
        await pilot.press("alt+pagedown", "o", "o")
        assert pilot.app.clipboard == "pwd\n"
        await pilot.press("escape")
        assert not chat(pilot).query(".-marked")
        await pilot.press("alt+up", "alt+up", "alt+pagedown", "o", "o")
        assert pilot.app.clipboard == "last\n"


async def test_without_code_it_says_so(store: Store) -> None:
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(80, 24)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, "One?", "No code.")
        await pilot.press("alt+pageup")
        await wait_until(pilot, lambda: "There is no block of code." in notice_text(pilot))
        assert session(pilot).free
