"""The facts about one token, as rows of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size

from localspec.base.visible import visible
from localspec.chat.tokens.inspectable_reply import InspectableReply, TokenPlace
from localspec.engine.drafters import drafter_declarations
from localspec.engine.events import Origin
from localspec.engine.inspection import Candidate, Inspection, Opinion
from localspec.engine.wire import why_text
from localspec.insight.stats.charts import bar


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    text: str


def quoted(text: str) -> str:
    """A token's text in quotes, with visible signs for line breaks and tabs."""
    if not text:
        return "(no text of its own)"
    shown = visible(text.replace("\n", "⏎").replace("\t", "⇥"))
    return f"“{shown}”"


def token_facts(reply: InspectableReply, index: int, waiting: str) -> list[Fact]:
    """A token's text, origin and chance of being kept; ``waiting`` is shown while the chance is not known."""
    place = reply.place(index)
    inspection = reply.inspections.get(index)
    token = f"{quoted(_text(place, inspection))} id {place.token.id}, {index + 1} of {len(reply.tokens)}"
    facts = [Fact("", token), Fact("", _origin(place))]
    if inspection is None:
        return [*facts, Fact("", waiting)]
    facts += [Fact("kept", chance) for chance in acceptance(place, inspection)]
    if not inspection.exact_context:
        facts += [Fact("context", "made anew from the messages; the prompt may have had other tokens")]
    return facts


def round_facts(reply: InspectableReply, index: int) -> list[Fact]:
    """The round of a token: its rejected proposals, place, times, and the reason for its depth."""
    place = reply.place(index)
    round_ = place.round
    facts = []
    if round_.rejected:
        facts.append(Fact("rejected", _rejected(place)))
    which = f"{round_.index + 1} of {reply.rounds[-1].index + 1}, place {place.position + 1} of {len(round_.tokens)}"
    facts.append(Fact("round", f"{which}, {round_.proposed_n} guessed"))
    draft_ms, verify_ms, total_ms = round_.draft_s * 1e3, round_.verify_s * 1e3, round_.total_s * 1e3
    facts.append(Fact("took", f"{draft_ms:.1f} ms to draft, {verify_ms:.1f} to verify, {total_ms:.1f} in all"))
    if why := why_text(round_):
        facts.append(Fact("depth", why))
    return facts


def _guesses_outright(drafter: str | None) -> bool:
    declaration = drafter_declarations().get(drafter or "")
    return declaration is not None and declaration.point_mass


def acceptance(place: TokenPlace, inspection: Inspection) -> Iterator[str]:
    """The chances that the token is kept, one for each way in which it may be proposed; none where they are not known.

    An accepted token was proposed in one way, and only that is given.
    """
    p, drafter = inspection.target.filtered, place.token.drafter
    if p is None:
        return
    if inspection.greedy:
        yield f"{p:.0f}: a greedy target keeps its favourite and nothing else"
        return
    accepted = place.token.origin is Origin.ACCEPTED
    single = accepted and _guesses_outright(drafter)
    if inspection.acceptance is not None and not single:
        yield f"{inspection.acceptance:.2f} = min(1, p/q) if the draft draws it"
    if single:
        yield f"{p:.2f} = p: {drafter} guesses outright (q = 1)"
    elif not accepted:
        yield f"{p:.2f} = p if a drafter guesses it outright (q = 1)"


def legend(inspection: Inspection) -> str:
    """The meaning of the letters among the facts; empty where there are none."""
    if inspection.target.filtered is None:
        return ""
    q = "; q: the draft's" if inspection.draft is not None else ""
    return f"p: the target's probability as sampled{q}; kept: chance to stay"


def packed(facts: Iterable[Fact], width: int) -> list[str]:
    """The facts, in order, on as few lines as they fit on."""
    lines: list[str] = []
    for fact in facts:
        text = f"{fact.label} {fact.text}".strip()
        if lines and cell_len(f"{lines[-1]} · {text}") <= width:
            lines[-1] += f" · {text}"
        else:
            lines.append(text)
    return lines


def top_rows(inspection: Inspection, width: int) -> list[tuple[str, str]]:
    """Target and draft side by side: this token's probability and rank, then the likeliest tokens."""
    half = (width - 2) // 2
    target = _top("target", "p", inspection.target, inspection.token, half)
    if inspection.draft is None:
        return [(row, "") for row in target]
    return list(zip_longest(target, _top("draft", "q", inspection.draft, inspection.token, half), fillvalue=" " * half))


def _top(model: str, letter: str, opinion: Opinion, token: int, width: int) -> list[str]:
    """The model's probability and rank of the token, its probability after sampling, then the likeliest tokens."""
    head = f"{model} {opinion.prob:.0%}, rank {opinion.rank}"
    if opinion.filtered is not None:
        head += f" {letter} {opinion.filtered:.2f}"
    return [
        set_cell_size(head, width),
        *(_candidate(candidate, candidate.id == token, width) for candidate in opinion.top),
    ]


def _candidate(candidate: Candidate, chosen: bool, width: int) -> str:
    start = f"{'›' if chosen else ' '}{candidate.prob:.2f} {bar(candidate.prob, 8):<8} "
    return set_cell_size(start + quoted(candidate.text), width)


def _text(place: TokenPlace, inspection: Inspection | None) -> str:
    """The token's text; for one without, its name in the vocabulary, if it is among the likeliest."""
    if place.token.text or inspection is None:
        return place.token.text
    return next((c.text for c in inspection.target.top if c.id == place.token.id), "")


def _origin(place: TokenPlace) -> str:
    if place.token.origin is Origin.ACCEPTED:
        return f"accepted from {place.token.drafter or place.round.drafter or 'a drafter'}"
    return f"{place.token.origin}"


def _rejected(place: TokenPlace) -> str:
    guesses = " ".join(quoted(proposal.text) for proposal in place.round.rejected)
    drafters = "+".join(dict.fromkeys(p.drafter for p in place.round.rejected if p.drafter))
    by = f" from {drafters}" if drafters else ""
    return f"{guesses}{by}" if place.rejected else f"{guesses}{by}, further on"
