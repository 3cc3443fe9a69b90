"""The pair that replies, and how it is changed for another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event
from localspec.line.waiting import Waiting
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.interruptible import InterruptiblePair, Opener, open_interruptibly
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.pair_info import PairInfo


class LinePairSlot:
    """Holds one open pair; a context, entered with the pair loaded."""

    def __init__(self, opener: Opener, chat_config: ChatConfig, waiting: Waiting) -> None:
        self.chat_config = chat_config
        """What is loaded, and how it is to reply."""
        self.waiting = waiting
        self._opener = opener
        self._open: ExitStack | None = None
        self._pair: InterruptiblePair | None = None

    def __enter__(self) -> LinePairSlot:
        """Raises LocalSpecError if the pair cannot be loaded, KeyboardInterrupt if Ctrl-C ends that."""
        self._load(self.chat_config)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unload()

    @property
    def info(self) -> PairInfo:
        """Loads the pair if the last change left none. Raises LocalSpecError."""
        return self._loaded().info

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C came during the latest reply."""
        return self._pair is not None and self._pair.interrupted

    def reply(
        self, messages: Sequence[Message], prefix: str = "", options: ReplyOptions | None = None
    ) -> Iterator[Event]:
        """As ``InterruptiblePair.reply``, without ``options`` with those of the launch."""
        pair = self._loaded()
        self.waiting.begin()
        return pair.reply(messages, options or self.chat_config.reply, prefix)

    def adopt(self, chat_config: ChatConfig) -> None:
        """Reply from now on as ``chat_config`` says; what is loaded stays."""
        self.chat_config = replace(chat_config, load=self.chat_config.load)

    def change(self, chat_config: ChatConfig) -> None:
        """Load another pair. Where that fails the former is loaded again, and the error raised."""
        former = self.chat_config
        self._unload()
        try:
            self._load(chat_config)
        except (LocalSpecError, KeyboardInterrupt):
            self._load(former)
            raise

    def _loaded(self) -> InterruptiblePair:
        return self._pair or self._load(self.chat_config)

    def _load(self, chat_config: ChatConfig) -> InterruptiblePair:
        self.waiting.begin()
        with ExitStack() as stack:
            pair = stack.enter_context(open_interruptibly(self._opener, chat_config.load, self.waiting.show))
            self._open = stack.pop_all()
        self._pair, self.chat_config = pair, chat_config
        return pair

    def _unload(self) -> None:
        if self._open is not None:
            self._pair = None
            opened, self._open = self._open, None
            opened.close()
