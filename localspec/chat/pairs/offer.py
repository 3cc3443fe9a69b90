"""Offers of the app, one at a time, accepted with one key: to download or to use a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from localspec.chat.pairs.downloads import Stage
from localspec.chat.pairs.facts import arrived
from localspec.chat.pairs.library import PairLibrary
from localspec.models.pairs.state import NOT_HERE, PARTLY
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.figures import size

if TYPE_CHECKING:
    from localspec.models.pairs import PairDescription


class OfferKind(StrEnum):
    """The effect of accepting an offer."""

    FETCH = "fetch"
    USE = "use"
    RETURN = "return"
    """Load the former pair again after one that cannot be loaded."""


@dataclass(frozen=True, slots=True)
class Offer:
    kind: OfferKind
    title: str
    text: str
    """The effect and the reason, without the key."""
    pair_id: str | None = None
    """None for files given on the command line."""
    of_conversation: bool = False
    """True if it is the pair of the open conversation."""


def offer(
    library: PairLibrary, chat_config: ChatConfig, former: ChatConfig | None = None, spoken: str | None = None
) -> Offer | None:
    """The offer while ``chat_config`` is in use; None if there is none.

    ``former`` is the pair before, if ``chat_config`` cannot be loaded; ``spoken`` the pair of the open conversation, if
    it is another.
    """
    if former is not None:
        title = name_of(former)
        return Offer(OfferKind.RETURN, title, f"loads {title} again", former.pair_id)
    if library.arrived is not None and library.arrived.pair_id != chat_config.pair_id:
        return Offer(
            OfferKind.USE, library.arrived.title, f"switches to {library.arrived.title}", library.arrived.pair_id
        )
    if spoken is not None and (found := _of_conversation(spoken, library)) is not None:
        return found
    best = next(
        (pair for pair in library.pairs if pair.arrived_bytes and library.downloads.get(pair.id) is None),
        next((pair for pair in library.pairs if pair.recommended_here), None),
    )
    if not chat_config.tour or best is None or best.tour:
        return None
    return _recommended(best, library)


def name_of(chat_config: ChatConfig) -> str:
    """The name of the loaded pair for people."""
    return chat_config.title or chat_config.pair_id or chat_config.load.target.name


def _of_conversation(spoken: str, library: PairLibrary) -> Offer | None:
    pair = library.find(spoken)
    if pair is None or pair.tour:
        return None
    if pair.available:
        return Offer(OfferKind.USE, pair.title, "goes back to it", pair.id, of_conversation=True)
    download = library.downloads.get(pair.id)
    if pair.state not in (NOT_HERE, PARTLY) or (download is not None and download.pending):
        return None
    text = f"downloads it, {size(pair.missing_bytes)}"
    if pair.arrived_bytes:
        text = f"resumes its download, {arrived(pair)} are here"
    return Offer(OfferKind.FETCH, pair.title, text, pair.id, of_conversation=True)


def _recommended(best: PairDescription, library: PairLibrary) -> Offer | None:
    if best.available:
        return Offer(OfferKind.USE, best.title, f"switches to {best.title}, which suits this machine", best.id)
    download = library.downloads.get(best.id)
    if download is not None and download.stage is not Stage.PAUSED:
        return None  # it is running, or a notice reports its end
    if best.arrived_bytes:
        return Offer(
            OfferKind.FETCH, best.title, f"resumes the download of {best.title}, {arrived(best)} are here", best.id
        )
    text = f"downloads {best.title}, {size(best.missing_bytes)}, which suits this machine"
    return Offer(OfferKind.FETCH, best.title, text, best.id)


def welcome_line(on_offer: Offer | None, key: str) -> str:
    """The offer on the first page."""
    if on_offer is None or on_offer.kind is OfferKind.RETURN:
        return ""
    return f"{key} {on_offer.text}."


def news(library: PairLibrary, on_offer: Offer | None, key: str, list_key: str) -> str:
    """One quiet line for the chat: what arrives, what has arrived, what failed; empty if nothing did."""
    pending: Sequence[str] = [f"{download.title}: {download.line}" for download in library.downloads.pending]
    if pending:
        more = f" (and {len(pending) - 1} more)" if len(pending) > 1 else ""
        return f"{pending[0]}{more}"
    came = library.arrived
    if on_offer is not None and on_offer.kind is OfferKind.USE and came and came.pair_id == on_offer.pair_id:
        return f"{came.title} is here; {key} switches to it."
    if library.failed is not None:
        return f"{library.failed.title} could not be fetched; {list_key} says why."
    if library.refused is not None:
        return f"Nothing was added to the pairs: {library.refused}"
    if on_offer is not None and on_offer.of_conversation:
        return f"This conversation was with {on_offer.title}; {key} {on_offer.text}."
    if library.unwritten is not None:
        return f"The next start will not remember this pair: {library.unwritten.message}"
    return ""
