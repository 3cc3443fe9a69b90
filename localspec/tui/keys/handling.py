"""Methods that handle commands: marked with ``handles``, found by the command's id, run by key, palette or prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from inspect import isawaitable
from typing import Any, TypeVar

from textual.dom import DOMNode
from textual.message import Message

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command, FrontEnd
from localspec.chat.commands.places import known

Handler = Callable[..., Any]
"""Takes the argument of the command where one was typed; may be a coroutine function."""
F = TypeVar("F", bound=Handler)


def handles(command: Command, *values: object) -> Callable[[F], F]:
    """Mark a method as the handler of ``command``, to be called with ``values`` and the argument, if there is one."""

    def mark(function: F) -> F:
        function.__dict__.setdefault("commands", []).append((command.id, values))
        return function

    return mark


def handlers_of(*owners: object) -> dict[str, Handler]:
    """The marked methods of these objects, by the id of the command."""
    return {
        name: partial(function.__get__(owner), *values)
        for owner in owners
        for name, function, values in marked_methods(type(owner))
    }


def common_handlers(chat: FrontEnd) -> dict[str, Handler]:
    """The handlers that commands bring along, the same in every front end."""
    return {each.id: partial(_call, each.handler, chat) for each in CHAT.commands if each.handler is not None}


def _call(handler: Callable[[FrontEnd, str], None], chat: FrontEnd, argument: str = "") -> None:
    handler(chat, argument)


def marked_methods(kind: type[object]) -> Iterator[tuple[str, Any, tuple[object, ...]]]:
    """The marked methods of a class: id, function, values; a base class's first, so that a subclass overrides them."""
    for each in reversed(kind.__mro__):
        for function in vars(each).values():
            for name, values in getattr(function, "__dict__", {}).get("commands", ()):
                yield name, function, values


class CommandDone(Message):
    """A command was carried out; bubbles up to the app."""

    def __init__(self, command: Command) -> None:
        super().__init__()
        self.command = command


class CommandTarget(DOMNode):
    """A widget, screen or app that handles commands by its marked methods, and leaves others to what is above it."""

    @cached_property
    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by the id of the command."""
        return handlers_of(self)

    async def action_command(self, name: str) -> None:
        """Run the command of this id: the action of every key binding."""
        await self.run_command(known()[name])

    async def run_command(self, command: Command, argument: str = "") -> None:
        """Carry the command out, here or at the nearest node above that handles it."""
        for node in self.ancestors_with_self:
            if isinstance(node, CommandTarget) and (handler := node.handlers.get(command.id)) is not None:
                await node.carry_out(partial(handler, argument) if argument else handler)
                node.post_message(CommandDone(command))
                return

    async def carry_out(self, handler: Handler) -> None:
        """Call a handler of this node."""
        done = handler()
        if isawaitable(done):
            await done
