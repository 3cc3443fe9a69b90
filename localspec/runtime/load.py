"""Opening a pair, and the protocols of what is opened.

Importing this module loads no library that takes time; ``open_pair`` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, TokenLogprobs
from localspec.engine.inspection import Inspection
from localspec.runtime.messages import Listener, Message, Prompt, ReplyOptions, Tool
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_info import PairInfo


class OpenPair(Protocol):
    """A loaded pair. One owner, one thread; ``close`` frees the native memory."""

    @property
    def info(self) -> PairInfo: ...

    def reply(self, prompt: Sequence[Message] | str, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        """The reply to a conversation, or to raw text (no chat template, control tokens written in it count).

        ``prefix`` is how the reply begins: what comes goes on from there.

        Raises InputError, CapacityError or UsageError before the first event.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """The number of tokens that ``text`` has in a message."""
        ...

    def close(self, cancel: Cancellation | None = None) -> None:
        """Keep what is worth keeping, and free the native memory.

        Raises ``engine.cancel.Cancelled``, having freed everything, if ``cancel`` ended the keeping.
        """
        ...


class PairInspector(Protocol):
    """Asks a pair again about a reply, which is named by what was asked and by the ids of its tokens.

    Raises InputError, CapacityError or ``engine.cancel.Cancelled``.
    """

    def inspect(
        self, prompt: Sequence[Message] | str, options: ReplyOptions, reply: Sequence[int], position: int
    ) -> Inspection:
        """The distributions of target and draft at the reply's token at ``position``."""
        ...

    def probs(
        self, prompt: Sequence[Message] | str, options: ReplyOptions, reply: Sequence[int], start: int, stop: int
    ) -> tuple[float, ...]:
        """The target's own probability of each of the reply's tokens from ``start`` up to ``stop``."""
        ...

    def logprobs(self, ids: Sequence[int], start: int, stop: int, top_n: int) -> tuple[TokenLogprobs, ...]:
        """The target's log probabilities of the tokens of a text from ``start``, at least 1, up to ``stop``."""
        ...


class PairPrompter(Protocol):
    """Answers questions about text that no model is evaluated for. Raises as ``OpenPair.reply``."""

    def tokenize(
        self, text: str, *, special: bool = False, bos: bool = False
    ) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
        """The tokens of ``text``, and the bytes that each stands for.

        ``special`` makes control tokens of those that are written out, ``bos`` begins with the model's first token.
        """
        ...

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of tokens, control tokens written out. Raises InputError for one that the vocabulary lacks."""
        ...

    def rendered(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), prefix: str = "", reasoning: str | None = None
    ) -> tuple[str, int]:
        """The prompt of all these messages as text, and the number of its tokens."""
        ...


class InspectablePair(OpenPair, Protocol):
    """A pair that can be asked about its replies and about text, and reads ahead."""

    def reply(self, prompt: Prompt, options: ReplyOptions, prefix: str = "") -> Iterator[Event]:
        """As ``OpenPair.reply``, to a prompt of any kind."""
        ...

    @property
    def inspector(self) -> PairInspector: ...

    @property
    def prompter(self) -> PairPrompter: ...

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[Tool] = (), reasoning: str | None = None) -> int:
        """Read a piece of what the prompt of these messages begins with however the last one goes on.

        Returns the number of tokens left to read; 0 also where reading ahead is no use. Raises as ``reply``, and
        ``engine.cancel.Cancelled``.
        """
        ...


@runtime_checkable
class ConcurrentPair(InspectablePair, Protocol):
    """A pair that makes several replies at once; other questions are answered between two steps."""

    @property
    def room_n(self) -> int:
        """Replies that can be begun now."""
        ...

    def begin(
        self,
        prompt: Prompt,
        options: ReplyOptions,
        prefix: str,
        listener: Listener,
        cancel: Cancellation,
    ) -> None:
        """Begin a reply, which goes on with each ``step``; ``cancel`` ends it within one."""
        ...

    def step(self) -> bool:
        """Let the replies go on, by one evaluation at most; False if none is under way."""
        ...


def open_pair(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> InspectablePair:
    """Check both files, load them, measure plain speed. A ``ConcurrentPair`` if several replies are asked for.

    A pair of a server is connected to in place of all that.

    Raises NotFoundError, ModelFileError, PairMismatchError or CapacityError, and ``engine.cancel.Cancelled``
    if ``cancel`` is set meanwhile; on failure nothing stays loaded. ``cancel`` goes on to stop replies.
    """
    if options.server is not None:
        from localspec.runtime.remote.opening import open_remote

        return open_remote(options, cancel, progress or _say_nothing)
    if options.replies > 1:
        from localspec.runtime.shared_pair import open_for_several

        return open_for_several(options, cancel, progress or _say_nothing)
    from localspec.runtime.loaded_pair import LoadedPair

    return LoadedPair.open(options, cancel, progress or _say_nothing)


def _say_nothing(what: str, fraction: float) -> None:
    """Report nothing."""
