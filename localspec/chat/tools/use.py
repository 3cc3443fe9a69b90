"""The tools of a chat: which are offered, the calls under way, and the reply that goes on from their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from localspec.base.errors import InputError
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.cleaning import cleaned
from localspec.chat.tools.approvals import Approval, Approvals
from localspec.chat.tools.chain import CallChain, Rule
from localspec.chat.tools.toolbox import Toolbox
from localspec.chat.turn import Turn
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import ReplyOptions
from localspec.store import StoredConversation
from localspec.store.file_blocks import TextFile


def rule_of(overrides: Mapping[str, str], *, asks: bool) -> Rule:
    """Allows the tools and servers that the command line names with ``--tool``.

    With ``asks`` the user is asked about others; otherwise they are refused, since nobody can be asked.
    """
    names = {name.strip() for name in overrides.get("tool", "").split(",") if name.strip()}
    other = None if asks else Approval.NO
    return lambda tool: Approval.ONCE if tool.full_name in names or tool.server in names else other


class ToolUse:
    """One for each program; under the screen, the line mode and ``localspec run`` alike."""

    def __init__(self, toolbox: Toolbox | None = None) -> None:
        self.toolbox = toolbox or Toolbox()
        self.approvals = Approvals()
        self.rule: Rule = lambda _: None
        self.lent: tuple[str, ...] = ()
        """Tools of LocalSpec's own that are offered beside those chosen, by name."""
        self.chain: CallChain | None = None
        """The calls of the reply made last, until all have their results."""
        self._most = 0
        self._prepared: Turn | None = None

    def ready_for(self, turn: Turn, chat_config: ChatConfig) -> bool:
        """True once the tools for this turn's reply are at hand; to be asked again until then. Never waits.

        Servers are started, and their tools listed anew, for a message of the user's, and not between calls.
        """
        if self._prepared is not turn:
            self._prepared, self._most = turn, chat_config.tools.max_calls
            self._choose(chat_config)
            if turn.prompt and turn.summary_request is None:
                self.toolbox.prepare()
        return self.toolbox.ready

    def reach(self, chat_config: ChatConfig) -> None:
        """Begin to start the servers that are chosen now, without a message for them; see ``Toolbox.ready``."""
        self._choose(chat_config)
        self.toolbox.prepare()

    def attachment(self, path: str) -> Attachment | None:
        """The resource of a server that ``path`` names, read now; None if it names none. Raises LocalSpecError."""
        resource = next((each for each in self.toolbox.resources if each.path == path), None)
        if resource is None:
            return None
        text = cleaned(self.toolbox.read(resource).result())[0]
        if not text.strip():
            raise InputError(f"{path} is not text, or is empty.", "There is nothing in it to attach.")
        return Attachment(path, (TextFile(path, text),))

    def options(self, turn: Turn, options: ReplyOptions) -> ReplyOptions:
        """The options of a turn's reply, with the tools that the model is told of."""
        return options if turn.summary_request is not None else replace(options, tools=self.toolbox.tools)

    def follow(self, turn: Turn, conversation: StoredConversation) -> None:
        """Begin the calls of a reply that has ended; ``chain`` is None if it makes none."""
        self.chain = None
        if (turn.reply.calls or turn.reply.call_error) and not turn.is_summary:
            self.chain = CallChain(turn, conversation, self.toolbox, self.approvals, self._most, self.rule)

    def _choose(self, chat_config: ChatConfig) -> None:
        settings, tools = chat_config.settings, chat_config.tools
        choice = replace(tools, tool=(*tools.tool, *self.lent)) if self.lent else tools
        self.toolbox.choose(choice, settings.config.servers if settings is not None else {})

    def close(self) -> None:
        if self.chain is not None:
            self.chain.stop()
        self.toolbox.close()
