"""Facts about a pair in words, shared by the command line and the app."""

from __future__ import annotations

from localspec.gguf.draft_heads import DRAFT, DRAFTERS
from localspec.models.pairs.description import FileDescription, PairDescription
from localspec.models.pairs.estimate import N_CTX
from localspec.models.pairs.expectation import MEASURED
from localspec.models.pairs.state import MISSING
from localspec.models.pairs.suitability import GREEN
from localspec.runtime.figures import size, speed

Facts = list[tuple[str, str]]
"""Facts with their names; an empty name continues the fact above."""

FIT_MEANING = (
    f"Fit compares weights, caches and buffers for a context of {N_CTX} tokens with the free memory; "
    "~ is an estimate from the size of files that are not here."
)
SPEED_MEANING = (
    "Tokens/s is the speed with drafts. With ~ it is expected from a measurement of this machine; without ~ it was "
    "measured in replies here."
)
SPEED_UNKNOWN = (
    "The speed is not measured yet: `localspec doctor` measures it in some seconds while the machine is idle, and so "
    "does the list of pairs in the chat."
)
NOTHING_FITS = "No pair fits this machine as it is now; `localspec run` still may."


def mentions(pair: PairDescription, text: str) -> bool:
    """True if ``text`` occurs in the names, files or licence of a pair."""
    places = (pair.id, pair.title, pair.family, pair.target, pair.draft or "", pair.licence)
    return text.lower() in "\n".join(places).lower()


def need(pair: PairDescription) -> str:
    """The memory of a pair: "~8.02 GB" if it is estimated from sizes."""
    if pair.fit is None or pair.fit.need_bytes is None:
        return ""
    about = "" if pair.memory and pair.memory.from_headers else "~"
    return f"{about}{size(pair.fit.need_bytes)}"


def fit(pair: PairDescription) -> str:
    """The fit in a word and numbers: "fits: ~8.02 GB of 22.3 GB"."""
    taken = need(pair)
    return f"{pair.fit.word}: {taken} of {size(pair.fit.room_bytes)}" if pair.fit and taken else "unknown"


def pace(pair: PairDescription) -> str:
    """The tokens a second of replies: "~14.2" if they are expected; empty if unknown."""
    if pair.speed is None:
        return ""
    return f"{'' if pair.speed.source == MEASURED else '~'}{speed(pair.speed.per_second)}"


def speed_here(pair: PairDescription) -> str:
    """The speed on this machine in a sentence; empty if unknown."""
    known = pair.speed
    if known is None:
        return ""
    plain = f"{speed(known.plain_per_second)} tokens/s"
    both = f"{speed(known.per_second)} tokens/s with its drafts, {speed(known.plain_per_second)} plain"
    said = plain if known.with_draft_per_second is None else both
    if known.source == MEASURED:
        replies = "1 reply" if known.replies_n == 1 else f"{known.replies_n} replies"
        return f"{said}, measured in {replies} here"
    return f"about {said}, expected from a measurement of this machine"


def arrived(pair: PairDescription) -> str:
    """The part of the missing files that an interrupted download has left: "29.8 MB of 54.1 MB"; empty if none."""
    if not pair.arrived_bytes:
        return ""
    return size(pair.arrived_bytes) + (f" of {size(pair.missing_bytes)}" if pair.missing_bytes else "")


def download_question(pair: PairDescription, key: str, place: str) -> str:
    """The effect of pressing ``key`` a second time, in a sentence: a download takes long and much room."""
    return f"{key} once more downloads {size(pair.missing_bytes) if pair.missing_bytes else 'it'} to {place}."


def drawbacks(pair: PairDescription) -> list[str]:
    """The drawbacks of a pair on this machine, without full stops."""
    reasons = []
    if not pair.recommended:
        reasons.append("gains little")
    if pair.state == MISSING:
        reasons.append(pair.reason.rstrip("."))
    if pair.fit and pair.fit.colour != GREEN:
        reasons.append(pair.fit.reason[0].lower() + pair.fit.reason[1:].rstrip("."))
    return reasons


def facts(pair: PairDescription) -> Facts:
    """All known facts, the most important for a choice first."""
    held = sum(file.disk_bytes or 0 for file in pair.files)
    known = [
        ("id", pair.id),
        ("state", f"{pair.state}: {pair.reason}" if pair.reason else pair.state),
        ("to get it", pair.hint),
        ("arrived", arrived(pair)),
        ("recommended", pair.recommended_because.removeprefix(f"Recommended: {pair.id}, ")),
        *files(pair),
        ("size", size(pair.size_bytes) if pair.size_bytes else ""),
        ("on disk", size(held) if held else ""),
        ("fit", f"{fit(pair)}. {pair.fit.reason}" if pair.fit else ""),
        ("memory", memory(pair)),
        ("speed", speed_here(pair)),
        ("suits", f"a machine with {pair.memory_gb} GB" if pair.memory_gb else ""),
        ("licence", pair.licence),
        ("note", pair.note),
        ("speed-up", speed_up(pair)),
        ("source", pair.source),
        ("verified", unverified(pair)),
    ]
    return [(name, text) for name, text in known if text]


def files(pair: PairDescription) -> Facts:
    """The files with their paths and their verification."""
    rows: Facts = []
    names = [name for name, there in (("draft", pair.draft), ("projector", pair.projector)) if there]
    for name, file in zip(("target", *names), pair.files, strict=True):
        rows.append((name, f"{file.label}, {size(file.size_bytes)}"))
        rows.append(("", f"lies at {file.path}" if file.path and file.path != file.label else ""))
        rows.append(("", _proof(file)))
    if pair.draft is not None:
        return rows
    own = "it drafts itself from its own text (suffix)"
    return [
        *rows,
        ("draft", f"none: {own if pair.drafter == DRAFT else f'the target brings {DRAFTERS[pair.drafter]}'}"),
    ]


def unverified(pair: PairDescription) -> str:
    """The reason why some files are not verified; empty if all are."""
    unseen = [file for file in pair.files if not file.verified]
    if all(file.sha256 for file in unseen):
        return "by its download: size and sha256 are pinned, and nothing else is taken" if unseen else ""
    return "no: the name of a file was guessed from its publisher's other files"


def memory(pair: PairDescription) -> str:
    """The memory by use: weights, caches, buffers."""
    if pair.memory is None:
        return ""
    taken = pair.memory
    how = "from the files' headers" if taken.from_headers else "from sizes, roughly"
    return f"weights {size(taken.weights)}, caches {size(taken.cache)}, buffers {size(taken.compute)} ({how})"


def speed_up(pair: PairDescription) -> str:
    """The speed-up that its source reports."""
    if pair.speedup_high is None:
        return ""
    low = f"{pair.speedup_low:g} to " if pair.speedup_low not in (None, pair.speedup_high) else ""
    return f"{low}{pair.speedup_high:g} times plain speed, as reported by others"


def _proof(file: FileDescription) -> str:
    if file.verified_on is None:
        return ""
    marks = [f"sha256 {file.sha256[:12]}..." if file.sha256 else ""]
    marks.append("" if file.size_bytes is None else f"{file.size_bytes:,} bytes")
    marks.append(f"vocabulary {file.fingerprint[:12]}..." if file.fingerprint else "")
    return f"verified at its download on {file.verified_on}: {', '.join(filter(None, marks))}"
