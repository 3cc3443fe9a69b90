"""The configuration of a chat: resolved settings, before anything is loaded or measured.

The command line makes one; the chat screen and the line mode begin with it, and make others as settings change.
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
    """The places where something is set, from the highest down; the command line is above them all."""

    CONVERSATION = "this conversation"
    PAIR = "this pair"
    """The pair's table in the file of settings."""
    ALL = "all conversations"
    """The rest of the file."""


class Settings(Protocol):
    """The source of ``ChatConfig``: overrides over the conversation over the pair's table over the rest of the file.

    Overrides are values that no setting beats: those of the command line.
    """

    @property
    def config(self) -> Config:
        """The file as it was read last."""
        ...

    @property
    def problems(self) -> Sequence[Problem]:
        """The settings that were left out: invalid ones, and those that contradict others."""
        ...

    @property
    def overrides(self) -> Mapping[str, str]:
        """The overridden settings, by key, with the override's value in words."""
        ...

    @property
    def pair_id(self) -> str | None:
        """The pair that was resolved last; None if files were named."""
        ...

    def layers(self, config: Config, conversation: Mapping[str, Value]) -> Mapping[str, Layer]:
        """The layer that counts for each setting that is set, by ``section.key``, for the pair resolved last.

        Overridden settings are missing, and so are those that a higher layer displaces.
        """
        ...

    def for_pair(self, pair_id: str) -> Settings:
        """The same settings for this pair, whatever the overrides and the file name."""
        ...

    def resolve(self, config: Config, conversation: Mapping[str, Value] | None = None) -> ChatConfig:
        """The configuration for this file and these settings of a conversation, by ``section.key``.

        Raises LocalSpecError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Outlets:
    """The places that replies are reported to while they are made, beside the store, and the check before all of them.

    None is nowhere.
    """

    metrics: int | Path | None = None
    """A port of this machine, or a file."""
    audit_log: Path | None = None
    otel: bool = False
    """True if traces go to an OpenTelemetry collector."""
    reply_check: str | None = None
    """A command, or a function as "module:function", that sees a reply before anybody else does."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The tools that a model may call, and the limits of calls."""

    tool: tuple[str, ...] = ()
    """Names of our own tools, and SERVER.TOOL of MCP servers."""
    mcp: tuple[str, ...] = ()
    """MCP servers all of whose tools may be called."""
    tool_folder: Path | None = None
    """The folder that may be read; None for none."""
    max_calls: int = 20
    """The most calls in a row."""
    call_timeout: float = 60.0
    """Seconds."""


@dataclass(frozen=True, slots=True)
class ChatConfig:
    """The models to load, how to reply, and the names for it."""

    load: LoadOptions
    reply: ReplyOptions = field(default_factory=ReplyOptions)
    pair_id: str | None = None
    """As in ``models.toml``, or "ID at HOST:PORT" of a server's; None if the files were named on the command line."""
    title: str = ""
    """The pair in words people read."""
    tour: bool = False
    """True for the built-in pair, the guided tour."""
    pace_tokens_per_second: float | None = None
    """The speed at which the screen shows text, where the engine is faster than anyone reads."""
    system: str | None = None
    """The system prompt, if there is one."""
    outlets: Outlets = field(default_factory=Outlets)
    tools: ToolChoice = field(default_factory=ToolChoice)
    settings: Settings | None = field(default=None, compare=False, repr=False)
    """The settings it was made from, to make it anew when one changes."""
    conversation: str | None = field(default=None, compare=False)
    """Id of the one that the screen opens with; None begins another."""

    @property
    def in_use(self) -> Settings | None:
        """The settings it was made from, for its own pair, whichever pair the file names by now."""
        if self.settings is None or self.pair_id is None or self.load.server is not None:
            return self.settings
        return self.settings.for_pair(self.pair_id)

    @property
    def keeps_figures(self) -> bool:
        """True if tokens, rounds and times of replies are to be stored with their texts."""
        return self.settings is None or self.settings.config.values.get("stats.record_figures") is not False

    @property
    def why_no_speculation(self) -> str | None:
        """The setting that turns speculation off, in a few words; None while it is on."""
        if self.reply.spec == ():
            return "turned off with --spec off"
        if self.reply.depth == 0:
            return "turned off with --depth 0"
        return None
