"""What a front end needs to open a conversation: resolved options, before anything is loaded.

The command line fills it in; the chat screen and the line mode start from it. Nothing here is
measured, and no file has been opened yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from localspec.config import Config, Problem, Value
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions


class Layer(StrEnum):
    """Who sets something, of those that the command line beats; the first that does has the say."""

    CONVERSATION = "this conversation"
    PAIR = "this pair"
    """The pair's table in the file of settings."""
    ALL = "all conversations"
    """The rest of the file."""


class Settings(Protocol):
    """What launches are made of: the command line over the conversation over the pair's table over the whole file."""

    @property
    def config(self) -> Config:
        """The file as it was read last."""
        ...

    @property
    def problems(self) -> Sequence[Problem]:
        """What of the file is left out: it cannot be used by itself, or not with the rest."""
        ...

    @property
    def overrides(self) -> Mapping[str, str]:
        """The keys of settings that the command line has the say over, with the value it gives them, in words."""
        ...

    @property
    def pair_id(self) -> str | None:
        """The pair that was settled for last; None if files were named."""
        ...

    def layers(self, config: Config, conversation: Mapping[str, Value]) -> Mapping[str, Layer]:
        """Who has the say over what is set, by ``section.key``, for the pair that was settled for last.

        What the command line has the say over is left out, and so is what something above leaves no place for.
        """
        ...

    def for_pair(self, pair_id: str) -> Settings:
        """The same, but for this pair, whatever the command line and the file name."""
        ...

    def resolve(self, config: Config, conversation: Mapping[str, Value] | None = None) -> ChatConfig:
        """The launch that the file makes now, and, by ``section.key``, what a conversation has of its own.

        Raises LocalSpecError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Outlets:
    """Where replies are told of while they are made, beside the store; None is nowhere."""

    metrics: int | Path | None = None
    """A port of this machine, or a file."""
    audit_log: Path | None = None
    otel: bool = False
    """To an OpenTelemetry collector."""


@dataclass(frozen=True, slots=True)
class ChatConfig:
    """What to load, how to reply, and what to call it."""

    load: LoadOptions
    reply: ReplyOptions = field(default_factory=ReplyOptions)
    pair_id: str | None = None
    """As in ``models.toml``; None if the files were named on the command line."""
    title: str = ""
    """The pair in words people read."""
    tour: bool = False
    """Whether this is the built-in pair: a guided tour, paced and with speculation kept on."""
    pace_tokens_per_second: float | None = None
    """The speed at which the screen shows text, where the engine is faster than anyone reads."""
    system: str | None = None
    """The system prompt, if there is one."""
    outlets: Outlets = field(default_factory=Outlets)
    settings: Settings | None = field(default=None, compare=False, repr=False)
    """What it was made of, to make it anew when a setting changes."""
    conversation: str | None = field(default=None, compare=False)
    """Id of the one that the screen opens with; None begins another."""

    @property
    def in_use(self) -> Settings | None:
        """What it was made of, for the pair that it names, whichever the file names by now."""
        if self.settings is None or self.pair_id is None:
            return self.settings
        return self.settings.for_pair(self.pair_id)

    @property
    def keeps_figures(self) -> bool:
        """Whether tokens, rounds and times of replies are to be stored with their texts."""
        return self.settings is None or self.settings.config.values.get("stats.record_figures") is not False

    @property
    def why_no_speculation(self) -> str | None:
        """In a few words; None while speculation is on."""
        if self.reply.spec == ():
            return "turned off with --spec off"
        if self.reply.depth == 0:
            return "turned off with --depth 0"
        if self.load.draft is None and self.reply.spec is None:
            return "no draft model"
        return None
