"""The compatibility of a target and a draft, by llama.cpp's rules, with the reason for a refusal.

Two models fit when a token id means the same text to both. llama.cpp refuses the same pairs, without a reason. A draft
head must also read what its target gives (``heads.py``). Headers are enough, so a pair can be checked before it is
downloaded. Speed is not judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localspec.base.errors import ModelFileError, PairMismatchError
from localspec.base.file_identity import identify
from localspec.base.visible import shortened
from localspec.gguf import GgufHeader, Vocabulary
from localspec.gguf.dimensions import Hyperparameters
from localspec.gguf.draft_heads import DRAFT, drafter_in_words, drafter_kind, target_sha256
from localspec.gguf.vocabulary import as_llama_cpp
from localspec.models.embedders import is_embedder, wordless
from localspec.models.heads import head_misfit
from localspec.models.projectors import has_projector, is_projector

MAX_SIZE_DIFFERENCE = 128
"""The largest accepted difference in vocabulary size; Qwen2.5's models differ by exactly that."""
FIRST_COMPARED_ID = 5
"""Tokens below this id may differ: they are special tokens, which are often named differently."""

_CHOOSE_ANOTHER = (
    "As the draft, choose a smaller model of the target's family; `localspec pairs list` shows pairs that fit."
)
_CHOOSE_HEAD = "Choose a head that was made for this target, or a draft; `localspec pairs list` shows pairs that fit."


@dataclass(frozen=True, slots=True)
class Compatibility:
    """The verdict on a target and a draft."""

    reason: str = ""
    """The reason why they do not fit; empty if they do."""
    token_id: int | None = None
    """The first token that differs, if that is the reason."""
    warnings: tuple[str, ...] = ()
    """Reasons for low acceptance or speed, though the two fit."""

    @property
    def fits(self) -> bool:
        return not self.reason


def check_target(header: GgufHeader) -> None:
    """Raise ModelFileError for a file of draft heads, which is no model of its own, or a later part of a model."""
    if not header.architecture:
        raise ModelFileError(f"{header.source} is a later part of a split model.", "Name its first file.")
    if is_projector(header):
        raise ModelFileError(
            f"{header.source} cannot be a target: it is a projector, which reads images for a model.",
            "Name it with --projector, and the model that it was made for with --target.",
        )
    if kind := wordless(header):
        use = "Passages of attached files are found with it, as long as it lies where it is. "
        raise ModelFileError(
            f"{header.source} cannot be a target: it is {kind}, which writes no text.",
            f"{use if is_embedder(header) else ''}Choose a chat model.",
        )
    if has_projector(header):
        raise ModelFileError(
            f"{header.source} cannot be a target: its projector is in the same file, which llama.cpp cannot load.",
            "Ollama makes such files. Look for the same model on the Hub, where the projector is a file of its own.",
        )
    if drafter_kind(header) != DRAFT:
        raise ModelFileError(
            f"{header.source} cannot be a target: it is not a model of its own but {drafter_in_words(header)}.",
            "Name it with --draft, and the model that it was made for with --target.",
        )


def check_match(target: GgufHeader, draft: GgufHeader, target_path: Path | None = None) -> Compatibility:
    """As ``judge_match``, but raise PairMismatchError, with the reason in a sentence, unless ``draft`` fits."""
    verdict = judge_match(target, draft, target_path)
    if not verdict.fits:
        raise refusal_of(target, draft, verdict)
    return verdict


def refusal_of(target: GgufHeader, draft: GgufHeader, verdict: Compatibility) -> PairMismatchError:
    """The error for a draft that does not fit."""
    hint = _CHOOSE_ANOTHER if drafter_kind(draft) == DRAFT else _CHOOSE_HEAD
    return PairMismatchError(f"{draft.source} cannot draft for {target.source}: {verdict.reason}.", hint)


def judge_match(target: GgufHeader, draft: GgufHeader, target_path: Path | None = None) -> Compatibility:
    """Judge whether ``draft``, a smaller model or a head, can propose tokens for ``target``.

    ``target_path`` is the target's file, if it is on this machine, for a head that names its target's checksum.
    """
    if is_projector(target) or is_projector(draft):
        return Compatibility(f"the {'target' if is_projector(target) else 'draft'} is a projector, which reads images")
    for header, role in ((target, "target"), (draft, "draft")):
        if kind := wordless(header):
            return Compatibility(f"the {role} is {kind}, which writes no text")
        if has_projector(header):
            return Compatibility(f"the {role} has its projector in the same file, which llama.cpp cannot load")
    if drafter_kind(target) != DRAFT:
        return Compatibility(f"the target is not a model of its own but {drafter_in_words(target)}")
    is_head = drafter_kind(draft) != DRAFT
    if is_head and (misfit := head_misfit(target, draft)):
        return Compatibility(misfit)
    if is_head and target_path is not None and (other := _other_target(target_path, draft)):
        return Compatibility(other)
    if not is_head or draft.vocabulary.tokens:
        # A head reads tokens and never a text, so that it may begin and end one as it likes.
        reason, token_id = _misfit(target.vocabulary, draft.vocabulary, (_same_kind,) if is_head else _RULES)
        if reason:
            return Compatibility(reason, token_id)
    warnings = [] if is_head else _differences(target, draft)
    recurrent = _recurrent(target, "target") + ([] if is_head else _recurrent(draft, "draft"))
    return Compatibility(warnings=(*warnings, *recurrent))


def _other_target(target_path: Path, head: GgufHeader) -> str:
    """The reason why a head was made for another file; empty if it names none, or none has a known checksum."""
    named = target_sha256(head)
    identity = identify(target_path) if named else None
    if not named or identity is None or identity.sha256 in (None, named):
        return ""
    return f"it was made for a file with the SHA-256 {named[:12]}..., and this one has {identity.sha256[:12]}..."


def _misfit(target: Vocabulary, draft: Vocabulary, rules: tuple[_Rule, ...]) -> tuple[str, int | None]:
    """The reason why the vocabularies differ, empty if they do not, and the first token that does."""
    reasons = [reason for rule in rules if (reason := rule(target, draft))][:1]
    token_id = _first_difference(target.tokens, draft.tokens)
    if token_id is not None:
        texts = _shown(target.tokens[token_id]), _shown(draft.tokens[token_id])
        reasons.append(f"token {token_id} is {texts[0]} in the target and {texts[1]} in the draft")
    return "; ".join(reasons), token_id


def _same_kind(target: Vocabulary, draft: Vocabulary) -> str:
    for vocabulary, role in ((target, "target"), (draft, "draft")):
        if not vocabulary.tokens:
            return f"the {role} has no vocabulary"
    if target.kind != draft.kind:
        return f"the target's tokenizer is of the kind {target.kind}, the draft's {draft.kind}"
    return ""


def _same_start(target: Vocabulary, draft: Vocabulary) -> str:
    ours, theirs = ((v.add_bos, v.bos_id if v.add_bos else None) for v in (target, draft))
    if ours == theirs:
        return ""
    return f"the target begins a text with {_named(target, ours[1])}, the draft with {_named(draft, theirs[1])}"


def _same_end(target: Vocabulary, draft: Vocabulary) -> str:
    ours, theirs = ((v.add_eos, v.eos_id if v.add_eos else None) for v in (target, draft))
    if ours == theirs:
        return ""
    return f"the target ends a text with {_named(target, ours[1])}, the draft with {_named(draft, theirs[1])}"


def _similar_size(target: Vocabulary, draft: Vocabulary) -> str:
    ours, theirs = len(target.tokens), len(draft.tokens)
    if abs(ours - theirs) <= MAX_SIZE_DIFFERENCE:
        return ""
    return f"the target knows {ours:,} tokens, the draft {theirs:,}; they may differ by {MAX_SIZE_DIFFERENCE}"


_Rule = Callable[[Vocabulary, Vocabulary], str]
_RULES: tuple[_Rule, ...] = (_same_kind, _same_start, _same_end, _similar_size)


def _first_difference(ours: tuple[str, ...], theirs: tuple[str, ...]) -> int | None:
    common = min(len(ours), len(theirs))
    if ours[FIRST_COMPARED_ID:common] == theirs[FIRST_COMPARED_ID:common]:
        return None
    differing = (i for i in range(FIRST_COMPARED_ID, common) if as_llama_cpp(i, ours[i]) != as_llama_cpp(i, theirs[i]))
    return next(differing, None)


def _differences(target: GgufHeader, draft: GgufHeader) -> list[str]:
    """Warnings of differences between two models that cost acceptance."""
    warnings = []
    ours, theirs = (_turn_end(header.vocabulary) for header in (target, draft))
    if ours != theirs:
        ends = _named(target.vocabulary, ours), _named(draft.vocabulary, theirs)
        warnings.append(
            f"The target ends its turns with {ends[0]}, the draft with {ends[1]}: "
            "proposals at the end of a reply will be rejected."
        )
    if target.chat_template not in (None, draft.chat_template):
        lack = "no chat template" if draft.chat_template is None else "another chat template than the target"
        warnings.append(f"The draft has {lack}: its acceptance may be lower than it could be.")
    return warnings


def _recurrent(header: GgufHeader, role: str) -> list[str]:
    network = Hyperparameters(header)
    if network.takes_snapshots or not network.has_states:
        return []
    return [
        f"The {role} has a recurrent state that llama.cpp cannot roll back ({header.architecture}): "
        "after a rejected proposal, a few tokens are evaluated again."
    ]


def _turn_end(vocabulary: Vocabulary) -> int | None:
    return vocabulary.eos_id if vocabulary.eot_id is None else vocabulary.eot_id


def _named(vocabulary: Vocabulary, token_id: int | None) -> str:
    return "no token" if token_id is None else f"token {token_id} ({_shown(vocabulary.tokens[token_id])})"


def _shown(text: str) -> str:
    return repr(shortened(text, 40))
