"""The messages between the app and the engine process: one JSON object a line, both ways.

Requests go from the app to the engine, answers back (both are listed at the end). Closing the engine's standard input
ends it: at once, but for caches that are being kept.

The engine does one thing after another, in the order of the requests; a pair that is loaded for several replies makes
those at once, and answers questions in between. Each request but ``Cancel`` gets exactly one last answer:

===========  =============================================================================
Load         ``Loaded``; ``Unloaded`` if it was cancelled; else ``Failed(None)``
Generate     ``Emitted`` with a ``Finished`` event; else ``Failed`` with its ``request_id``
Complete     as for Generate
Inspect      ``Inspected``; ``Dropped`` if it was cancelled; else ``Failed`` with its ``request_id``
Weigh        ``Weighed``; otherwise as for Inspect
Score        ``Scored``; otherwise as for Inspect
Tokenize     ``Tokenized``; otherwise as for Inspect
Detokenize   ``Detokenized``; otherwise as for Inspect
Render       ``Rendered``; otherwise as for Inspect
CountTokens  ``TokensCounted``
ReadAhead    ``HasRead``
===========  =============================================================================

``codec`` knows how they are written.
"""

from __future__ import annotations

from dataclasses import dataclass

from localspec.engine.events import Event, TokenLogprobs
from localspec.engine.inspection import Inspection
from localspec.runtime.messages import Infill, Message, ReplyOptions, TokenIds, Tool
from localspec.runtime.options import LoadOptions
from localspec.runtime.pair_info import PairInfo

KEEP_S = 30.0
"""Seconds that a pair may take to keep its caches once the app is gone; those of a large model are gigabytes."""


@dataclass(frozen=True, slots=True)
class Load:
    """Open this pair, in place of the one that is open: that one is closed first, whatever comes of this."""

    options: LoadOptions


@dataclass(frozen=True, slots=True)
class Generate:
    """Reply; answered by ``Emitted`` with the same ``request_id`` and at last a Finished event, or by ``Failed``."""

    request_id: int
    """The app's own number, new for every reply."""
    prompt: tuple[Message, ...] | str
    options: ReplyOptions
    prefix: str = ""
    """The beginning of the reply, which is to be continued; it is no part of what is emitted."""


@dataclass(frozen=True, slots=True)
class Complete:
    """Go on with tokens, or fill a gap; answered as ``Generate``."""

    request_id: int
    prompt: TokenIds | Infill
    options: ReplyOptions
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class CountTokens:
    """Say how many tokens a text has. It never loads a pair, and never starts an engine."""

    text: str


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """Have the target read a piece of what a coming prompt will begin with. It never loads a pair."""

    messages: tuple[Message, ...]
    """The last is one that may go on."""
    tools: tuple[Tool, ...] = ()
    """Those of the coming reply, which stand in its prompt, too."""
    reasoning: str | None = None
    """The reasoning of the coming reply, as in its options."""


@dataclass(frozen=True, slots=True)
class Inspect:
    """Ask both models about one token of a reply that is complete."""

    request_id: int
    """Like that of a reply, from the same numbers."""
    prompt: tuple[Message, ...] | str
    """The prompt of the reply; ``options`` likewise."""
    options: ReplyOptions
    reply: tuple[int, ...]
    """The ids of its tokens, up to the one in question at least."""
    position: int
    """The place of the token, from 0."""


@dataclass(frozen=True, slots=True)
class Weigh:
    """Ask the target how likely it thought some tokens of a reply that is complete.

    A long reply is asked about piece by piece, so that something else can come in between.
    """

    request_id: int
    prompt: tuple[Message, ...] | str
    options: ReplyOptions
    reply: tuple[int, ...]
    """The ids of its tokens, up to ``stop`` at least."""
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Score:
    """Ask the target how likely it thinks the tokens of a text, which is no reply; a long one piece by piece."""

    request_id: int
    ids: tuple[int, ...]
    """The whole text, up to ``stop`` at least."""
    start: int
    """The first token in question, at least 1: nothing stands before the first one."""
    stop: int
    top_n: int = 0
    """The number of alternatives to tell of each."""


@dataclass(frozen=True, slots=True)
class Tokenize:
    """Split a text into the target's tokens."""

    request_id: int
    text: str
    special: bool = False
    """True makes control tokens of those that are written out in the text."""
    bos: bool = False
    """True begins with the token that the model expects before every text, if it expects one."""


@dataclass(frozen=True, slots=True)
class Detokenize:
    """Join tokens of the target's vocabulary to a text."""

    request_id: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Render:
    """Make the prompt of a conversation, all of its messages in it, without reading it."""

    request_id: int
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    prefix: str = ""
    """The beginning of the reply, as in ``Generate``."""
    reasoning: str | None = None
    """The reasoning of the reply, as in its options."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """End everything that was asked for before this, within a tenth of a second, and nothing that is asked for after.

    A reply ends with ``Finished(CANCELLED)``, also one that had not begun; a load ends with ``Unloaded``; what is
    asked about a reply with ``Dropped``.
    """

    request_id: int | None = None
    """End this one alone; among several replies it takes until the next of their rounds."""


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """A load is under way."""

    what: str
    """The step under way, in words."""
    fraction: float
    """The share of it that is done, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Something outside the process is waited for, and does not answer; told again while that lasts."""

    what: str
    """A clause with the time so far: "no answer from ... for 20 s"."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The pair is open."""

    info: PairInfo


@dataclass(frozen=True, slots=True)
class Unloaded:
    """Nothing is loaded any more."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """An event of the reply ``request_id``."""

    request_id: int
    event: Event


@dataclass(frozen=True, slots=True)
class TokensCounted:
    """The answer to ``CountTokens``, which are answered in order."""

    token_n: int | None
    """None if there is no vocabulary to count with."""


@dataclass(frozen=True, slots=True)
class HasRead:
    """The answer to a ``ReadAhead``."""

    left_n: int
    """Tokens that are still to be read of the same; 0 also if they cannot be read ahead."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """The answer to an ``Inspect``."""

    request_id: int
    inspection: Inspection


@dataclass(frozen=True, slots=True)
class Weighed:
    """The answer to a ``Weigh``."""

    request_id: int
    probs: tuple[float, ...]
    """The target's own probability of each token asked about."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The answer to a ``Score``."""

    request_id: int
    logprobs: tuple[TokenLogprobs, ...]
    """The log probabilities of each token from ``start`` on."""


@dataclass(frozen=True, slots=True)
class Tokenized:
    """The answer to a ``Tokenize``."""

    request_id: int
    ids: tuple[int, ...]
    pieces: tuple[bytes, ...]
    """The bytes that each stands for; a character may lie in several. Control tokens are written out."""


@dataclass(frozen=True, slots=True)
class Detokenized:
    """The answer to a ``Detokenize``."""

    request_id: int
    text: str
    """Control tokens are written out; bytes that are no character show as U+FFFD."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The answer to a ``Render``."""

    request_id: int
    text: str
    """The prompt as the chat template writes it, with a note in place of each image."""
    token_n: int
    """The room that it takes in the context."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """The answer to a numbered request other than ``Generate`` that was cancelled."""

    request_id: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A load (``request_id`` None) or what has a number could not be done; the engine lives on.

    When the engine process itself died, the client makes one with ``died`` set.
    ``errors.error_from_code`` turns it back into an error.
    """

    request_id: int | None
    exit_code: int
    message: str
    hint: str
    died: bool = False


AboutText = Tokenize | Detokenize | Render
"""Questions that no model is evaluated for."""
Write = Generate | Complete
"""The requests that a reply is the answer to."""
Look = Inspect | Weigh | Score
"""Questions that models are evaluated for again."""
Numbered = Write | Look | AboutText
"""The requests that need a pair; what answers them carries their number."""
Request = Load | Numbered | CountTokens | ReadAhead | Cancel
TextAnswer = Tokenized | Detokenized | Rendered
Answer = (
    LoadProgress
    | Silence
    | Loaded
    | Unloaded
    | Emitted
    | Inspected
    | Weighed
    | Scored
    | TextAnswer
    | Dropped
    | TokensCounted
    | HasRead
    | Failed
)
