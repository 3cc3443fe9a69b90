"""The first page: the program, the pair in use, the legend of the colours, and questions to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from localspec.base.token_legend import MEANINGS
from localspec.base.visible import visible_line
from localspec.chat.pairs.offer import name_of
from localspec.chat.tour import QUESTION
from localspec.engine.events import Origin
from localspec.runtime.chat_config import ChatConfig
from localspec.tui.tokens.palette import Palette

TOUR_EXAMPLES = (
    QUESTION,
    "What is a draft model?",
    "Count from 1 to 20",
)
"""Questions to begin with. In replies to the first, which is the tour's, some guesses are rejected."""
EXAMPLES = (
    "Explain how a bicycle stays upright",
    "Write a Python function that reverses a linked list",
    "List the planets as a Markdown table with their diameters",
)


def describe_pair(chat_config: ChatConfig) -> str:
    """The pair in use, in a sentence or two."""
    if chat_config.tour:
        return (
            "You are talking to the built-in pair, a toy that shows how guesses are checked and what they gain on this "
            "machine. /pairs has real models."
        )
    name = name_of(chat_config)
    if chat_config.load.server is not None:
        return f"You are talking to {name}, a server."
    if chat_config.load.draft is None:
        return f"You are talking to {name}, without a draft file."
    return f"You are talking to {name}."


def legend(palette: Palette) -> Content:
    """Each origin in its own look, with its meaning."""
    lines = [
        Content.assemble((origin, palette.look(origin)), " " * (12 - len(origin)), (MEANINGS[origin], "$quiet"))
        for origin in Origin
    ]
    return Content("\n").join(lines)


class Welcome(VerticalGroup):
    """Quiet lines, gone with the first message."""

    DEFAULT_CSS = """
    Welcome { padding: 1 2; }
    Welcome Static { margin: 0 0 1 0; }
    Welcome.-offering { padding: 0 2; }
    Welcome.-offering #pair { margin: 0; }
    Welcome .quiet { color: $quiet; }
    Welcome .example { margin: 0; width: auto; color: $foreground; }
    Welcome .example:hover { color: $accent; }
    Welcome .heading { margin: 0; color: $quiet; }
    """

    class Picked(Message):
        """An example was clicked."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, chat_config: ChatConfig, palette: Callable[[], Palette], offer: str, example_key: str) -> None:
        """``example_key`` puts the examples into the prompt, one after the other."""
        super().__init__()
        self._example_key = example_key
        self._chat_config = chat_config
        self._palette = palette
        self._legend = Static("", id="legend")
        self._pair = Static(id="pair", classes="quiet")
        self._offer = Static(id="offer")
        self.tell(chat_config, offer)

    @property
    def examples(self) -> Sequence[str]:
        return TOUR_EXAMPLES if self._chat_config.tour else EXAMPLES

    def compose(self) -> ComposeResult:
        yield Static(
            Content.assemble(
                ("LocalSpec", "$accent bold"),
                "  a local model, the target, made faster by a small one, the draft, that guesses ahead. "
                "Replies keep the target's own probabilities.",
            )
        )
        yield self._pair
        yield self._offer
        yield self._legend
        key = f" ({self._example_key})" if self._example_key else ""
        yield Static(Content(f"Try one of these{key}, or take the one-minute /tour"), classes="heading")
        for example in self.examples:
            yield Example(example)

    def on_mount(self) -> None:
        self._draw_legend()

    def tell(self, chat_config: ChatConfig, offer: str) -> None:
        """Show the pair in use, and the offer if there is one."""
        self._pair.update(Content(visible_line(describe_pair(chat_config))))
        key, _, rest = offer.partition(" ")
        self._offer.update(Content.assemble((key, "$accent"), f" {visible_line(rest)}"))
        self._offer.display = bool(offer)
        self.set_class(bool(offer), "-offering")

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._legend.is_mounted:
            self._draw_legend()

    def _draw_legend(self) -> None:
        self._legend.update(legend(self._palette()))


class Example(Static):
    """A question to try; a click puts it into the prompt, and so does the key in the heading."""

    def __init__(self, text: str) -> None:
        super().__init__(Content.assemble(("› ", "$accent"), text), classes="example")
        self._text = text

    def on_click(self) -> None:
        self.post_message(Welcome.Picked(self._text))
