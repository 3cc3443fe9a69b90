"""The steps of opening that all kinds of pairs have in common: headers checked, facts described, costs measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from localspec.base.errors import ModelFileError
from localspec.base.file_identity import identify, text_digest
from localspec.base.paths import user_paths
from localspec.config.table import AUTO_MAX_DEPTH
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs
from localspec.engine.model import TunableModel
from localspec.gguf import GgufHeader, read_header
from localspec.models.compatibility import check_match, check_target
from localspec.models.pairs.split_files import read_parts
from localspec.models.projectors import check_projector
from localspec.runtime.calibration_file import CalibrationFile, calibration_key
from localspec.runtime.options import LoadOptions, Progress
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.tuning import Tuning

_MEASURING = "measuring this machine"


class Described(Protocol):
    """The facts about a model in memory."""

    @property
    def threads(self) -> int: ...

    @property
    def device(self) -> str: ...

    @property
    def size_bytes(self) -> int: ...


class PairTarget(TunableModel, Described, Protocol):
    """A target of llama.cpp, or one sequence of it."""

    @property
    def vocab(self) -> LlamaVocab: ...

    @property
    def cache_type_k(self) -> str | None: ...

    @property
    def cache_type_v(self) -> str | None: ...

    @property
    def flash_attn(self) -> bool | None: ...


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of all files."""

    target_parts: list[GgufHeader]
    draft: GgufHeader | None
    projector: GgufHeader | None

    @property
    def target(self) -> GgufHeader:
        return self.target_parts[0]


def check_headers(options: LoadOptions) -> Headers:
    """Everything that can be refused without loading gigabytes is refused here."""
    parts = read_parts(options.target)
    target = parts[0]
    draft = read_parts(options.draft)[0] if options.draft else None
    check_target(target)
    _check_speaks(target)
    if draft:
        _check_speaks(draft)
        check_match(target, draft, options.target)
    projector = read_header(options.projector) if options.projector else None
    if projector:
        check_projector(target, projector)
    return Headers(parts, draft, projector)


def _check_speaks(header: GgufHeader) -> None:
    if not header.vocabulary.has_tokens:
        raise ModelFileError(
            f"{header.source} cannot be used: it has no vocabulary, so it can neither read nor write text.",
            "Look for another file of the same model.",
        )


def describe(options: LoadOptions, headers: Headers, target: PairTarget, draft: Described | None) -> PairInfo:
    """All there is to say before anything is measured."""
    draft_name = (headers.draft.name or headers.draft.source) if headers.draft else None
    target_file, draft_file = identify(options.target), identify(options.draft) if options.draft else None
    return PairInfo(
        target=options.target,
        draft=options.draft,
        projector=options.projector,
        target_name=headers.target.name or headers.target.source,
        draft_name=draft_name,
        # A model may be spread over several files; its header knows the first.
        target_size_bytes=max(headers.target.size_bytes, target.size_bytes),
        draft_size_bytes=max(headers.draft.size_bytes, draft.size_bytes) if headers.draft and draft else 0,
        n_vocab=target.vocab.n_vocab,
        n_ctx=target.n_ctx,
        threads=target.threads,
        device=target.device,
        plain_per_second=None,
        load_s=0.0,
        draft_threads=draft.threads if draft else None,
        draft_device=draft.device if draft else None,
        cache_type_k=target.cache_type_k,
        cache_type_v=target.cache_type_v,
        flash_attn=target.flash_attn,
        target_sample=target_file.sample if target_file else None,
        target_sha256=target_file.sha256 if target_file else None,
        draft_sample=draft_file.sample if draft_file else None,
        draft_sha256=draft_file.sha256 if draft_file else None,
        template_digest=text_digest(target.vocab.chat_template),
    )


def calibration_file(options: LoadOptions, target: PairTarget) -> CalibrationFile:
    """The file for the costs of this pair, loaded like this; what is kept on disk of its replies changes no cost."""
    files = [file for file in (options.target, options.draft) if file is not None]
    # With a projector there is no context for short texts.
    projector = options.projector and Path()
    how = replace(options, target=Path(), draft=None, projector=projector, remember_replies=False, keep_caches=False)
    key = calibration_key(files, (how, target.device, native().build))
    return CalibrationFile(user_paths().data / "calibration", key)


def fit_costs(
    options: LoadOptions,
    target: PairTarget,
    models: Mapping[str, TunableModel],
    file: CalibrationFile,
    cancel: Cancellation,
    progress: Progress,
) -> tuple[Costs, Iterable[TunableModel]]:
    """The costs of rounds on this machine, measured or remembered, and the models whose threads were chosen with them.

    ``models`` are those of drafters, by drafter.
    """
    progress(_MEASURING, 0.0)
    tuning = Tuning(
        target,
        models,
        tune_target=options.threads is None,
        tune_drafters=options.threads is None and options.draft_threads is None,
        largest=min(AUTO_MAX_DEPTH + 1, target.n_ctx // 2),
        remote=options.rpc is not None,
    )
    costs = tuning.fit(
        _measuring_prompt(target), file, cancel, lambda what, fraction: progress(f"{_MEASURING} ({what})", fraction)
    )
    progress(_MEASURING, 1.0)
    return costs, tuning.tuned().values()


def _measuring_prompt(target: PairTarget) -> list[int]:
    """A text that is easy to go on with, or any tokens where the vocabulary can write nothing of it."""
    vocab = target.vocab
    tokens = vocab.tokenize(", ".join(map(str, range(1, 25))), special=False) or [0] * 24
    text = [vocab.bos, *tokens] if vocab.adds_bos and vocab.bos is not None else tokens
    return text[: max(1, target.n_ctx // 2)]
