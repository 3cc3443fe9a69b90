"""The page: one file that loads and runs nothing, with every token in its colour, whatever the texts hold."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from textual.color import Color

from localspec.engine.events import FinishReason
from localspec.runtime.images import image_block, keep_image
from localspec.store import Store
from localspec.store.files import to_html, write_new
from localspec.store.files.html import DARK, LIGHT
from localspec.tui.theme import DARK as DARK_THEME
from localspec.tui.theme import LIGHT as LIGHT_THEME
from localspec.tui.tokens.palette import MIN_CONTRAST, contrast
from tests.store.support import ABOUT, converse, events
from tests.tiny_projectors import write_png

HOSTILE = (
    '</div></style></title><script>alert(1)</script><img src=x onerror=alert(1)> " onclick="x\' & \x1b]0;t\x07 \u202e '
    '[a](javascript:alert(1)) [b](data:text/html,x) [c](https://a.org/?q="x") ![d](https://spy.org/p.png)\n'
    "<iframe src='https://spy.org'></iframe>\n\n```html\n<script>x</script>\n```\n\n<think>"
)
ALLOWED = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "input",
        "label",
        "main",
        "article",
        "h1",
        "h2",
        "small",
        "div",
    ),
    *("p", "span", "s", "dl", "dt", "dd", "details", "summary", "a", "pre", "code", "em", "strong", "br"),
    *("figure", "img", "figcaption"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "id", "for", "type", "checked", "class", "title", "href"),
    *("src", "width", "height", "alt"),
}


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]


def test_images_are_in_the_page(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the plain PNG that was kept; one that is gone, changed or too much leaves its name."""
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))
    one, other = (keep_image(write_png(tmp_path / f"{seed}.png", seed=seed).read_bytes()) for seed in range(2))
    blocks = image_block('"><script>x.png', one) + image_block("b.png", other)
    talk = converse(store, (f"{blocks}What is this?", "A cat."))
    document = store.document(talk.id)
    page = Page(to_html([document]))
    sources = [str(element["src"]).removeprefix("data:image/png;base64,") for element in page.of("img")]
    assert [b64decode(source) for source in sources] == [one.read(), other.read()]
    assert '"><script>x.png, image 64x48' in page.text
    assert {tag for tag, _ in page.elements} <= ALLOWED
    other.path.write_bytes(one.read())
    page = Page(to_html([document]))
    assert len(page.of("img")) == 1
    assert "b.png, image 64x48, which is gone" in page.text
    monkeypatch.setattr("localspec.store.files.images._MOST_ON_PAGE_BYTES", 10)
    page = Page(to_html([document]))
    assert not page.of("img")
    assert "left out, since the page would be too large" in page.text
    assert "What is this?" in page.text


def test_tokens_have_their_origin_and_the_page_its_legend(store: Store) -> None:
    """The text is whole, rejected guesses stand before what replaced them, and the branch that is shown is written."""
    talk = converse(store, ("Why?", "Because of light."), system="Be brief.")
    page = Page(to_html([store.document(talk.id)]))
    classes = [element.get("class") for element in page.of("span")]
    assert set(classes) == {"accepted", "corrected", "bonus", "plain"}
    assert "Be brief." in page.text
    for word in ("Because ", "of ", "light."):
        assert word in page.text
    assert page.of("s"), "rejected guesses are there to be shown"
    assert "guessed by the draft, and the target agreed" in page.text
    assert [meta.get("content") for meta in page.of("meta") if meta.get("http-equiv")] == [
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    ]


@pytest.mark.parametrize("everywhere", [HOSTILE, f"<think>{HOSTILE}</think>{HOSTILE}"])
def test_no_text_becomes_an_element_or_an_address(store: Store, everywhere: str) -> None:
    """In the title, questions, replies, tokens, rejected guesses and names: nothing but what the page itself has."""
    talk = store.begin(everywhere)
    talk.ask(everywhere)
    recorder = talk.begin_reply(replace(ABOUT, pair_id=everywhere))
    for event in events(everywhere, FinishReason.STOP):
        recorder.receive(event)
    talk.rename(everywhere)
    written = to_html([store.document(talk.id)])
    page = Page(written)
    assert {tag for tag, _ in page.elements} <= ALLOWED
    assert {name for _, attributes in page.elements for name in attributes} <= ATTRIBUTES
    assert {link.get("href") for link in page.of("a")} <= {"https://a.org/?q=%22x%22", "https://spy.org/p.png"}
    assert "\x1b" not in written
    assert "\u202e" not in written
    assert not re.search(r"url\(|@import|src=\s*['\"]?http", written.split("</style>")[0])


@pytest.mark.parametrize(("colours", "theme"), [(DARK, DARK_THEME), (LIGHT, LIGHT_THEME)], ids=["dark", "light"])
def test_every_colour_can_be_read(colours: dict[str, str], theme: object) -> None:
    """On the page and on its panels, which have the colours of the app."""
    assert (colours["text"], colours["ground"]) == (theme.foreground, theme.background)  # type: ignore[attr-defined]
    for name in ("text", "quiet", "accepted", "corrected", "bonus"):
        for ground in ("ground", "panel"):
            if name in ("text", "quiet") or ground == "ground":
                assert contrast(Color.parse(colours[name]), Color.parse(colours[ground])) >= MIN_CONTRAST, name


def test_it_is_written_by_its_ending(store: Store, tmp_path: Path) -> None:
    talk = converse(store, ("Why?", "Because."))
    page = write_new([talk.document()], tmp_path / "talk.html")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
