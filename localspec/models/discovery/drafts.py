"""The drafts for a target: on this machine, in the catalogue and on the Hub, each proved to fit by its header.

Of files on the Hub a few MB are read, and nothing is downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from localspec.base.errors import LocalSpecError
from localspec.gguf import GgufHeader
from localspec.gguf.draft_heads import DRAFT, drafter_kind
from localspec.models.compatibility import check_target
from localspec.models.discovery.search import HubModel, HubQuery, search
from localspec.models.download.choice import is_model
from localspec.models.download.context import DownloadContext
from localspec.models.download.remote_file import Repository
from localspec.models.download.remote_header import read_remote_header
from localspec.models.pairs.addition import judge_draft, judge_drafts, relatives
from localspec.models.pairs.draft_size import LARGEST, draft_distance, is_draft_size
from localspec.models.pairs.expectation import Expectation
from localspec.models.pairs.references import Resolved
from localspec.models.pairs.scan import find_files
from localspec.models.pairs.split_files import is_later_part, stem

_SIZE = re.compile(r"[-_. :]\d+(?:\.\d+)?[bm](?![a-z0-9])", re.IGNORECASE)
"""The number of parameters in the name of a model, before which its family stands."""
_QUANTISED = re.compile(r"(?i)[-_.](?:gguf|i1|qat|unquantized)(?![a-z0-9])")
_HEADS = ("eagle3", "dflash")
"""The words by which repositories with heads are found."""
_MOST_MODELS, _MOST_HEADS = 6, 3
"""Repositories whose headers are read, of smaller models, and of heads of each kind."""
_LOOKED_AT = 50
_NO_SHARE = 1e-9
"""The share of an empty file, by which can be divided."""
_LEAST_PARAMETERS_SHARE, _MOST_PARAMETERS_SHARE = 1 / 40, LARGEST


@dataclass(frozen=True, slots=True)
class DraftCandidate:
    """A draft or a head, with the verdict on it."""

    name: str
    """The name to give to ``--draft``: a path or owner/name:FILE."""
    kind: str
    """The kind of drafter."""
    size_bytes: int
    share: float
    """Its size over the target's."""
    is_here: bool
    reason: str
    """The reason why it fits, or the one why it does not."""
    fits: bool = True
    expected: Expectation | None = None
    """The speed of the target on this machine, plain and with it; None if it is not known."""

    @property
    def gain(self) -> float | None:
        """The expected speed with it over the plain one; None if it is not known."""
        if self.expected is None or self.expected.with_draft_per_second is None:
            return None
        return self.expected.with_draft_per_second / self.expected.plain_per_second

    @property
    def rank(self) -> tuple[bool, float, bool, float]:
        """The order by expected gain; where that is unknown heads, which cost least, then drafts near a tenth."""
        distance = draft_distance(self.size_bytes, round(self.size_bytes / self.share))
        return not self.fits, -(self.gain or 0.0), self.kind == DRAFT, distance


ExpectWith = Callable[[Resolved, GgufHeader], Expectation | None]
"""The expected speed of a target with a draft of this header; None if it is not known."""


def find_drafts(
    target: Resolved, context: DownloadContext, expect: ExpectWith = lambda target, draft: None
) -> Iterator[DraftCandidate]:
    """The candidates as they are proved, those on this machine first.

    Raises ModelFileError for a file that is no target, DownloadError when the Hub is asked.
    """
    check_target(target.header)
    seen = set[str]()
    beside = () if target.model.repo else (target.path.parent,)
    for each in judge_drafts(target, find_files(beside)):
        seen.add(each.name)
        yield DraftCandidate(
            each.name,
            each.kind,
            each.size_bytes,
            each.share or _NO_SHARE,
            is_here=True,
            reason=each.reason,
            fits=each.fits,
            expected=None if each.header is None else expect(target, each.header),
        )
    for repository, file in _remote(target, context):
        name = f"{repository.name}:{file}"
        if name not in seen:
            seen.add(name)
            yield _judged(target, repository, file, context, expect)


def family(name: str) -> str:
    """The words before the size in the name of a model, by which smaller models of its family are found.

    >>> family("Qwen3-8B-Instruct-GGUF"), family("Llama 3.2 3B"), family("gemma-3-12b-it"), family("llama3.2:1b")
    ('Qwen3', 'Llama 3.2', 'gemma-3', 'llama3.2')
    """
    found = _SIZE.search(name)
    return name[: found.start()] if found else _QUANTISED.split(name)[0]


def _remote(target: Resolved, context: DownloadContext) -> Iterator[tuple[Repository, str]]:
    """The files on the Hub that may draft for the target: catalogued ones, smaller models of its family, heads."""
    drafts = [pair.draft for pair in relatives(target) if pair.draft is not None]
    for repo, file in dict.fromkeys((draft.repo, draft.file) for draft in drafts if draft.repo):
        yield context.with_retries(partial(context.hub.repository, repo)), file
    name = _name(target)
    for model in _smaller(target, search(context.hub, HubQuery(text=family(name)))):
        repository = context.with_retries(partial(context.hub.repository, model.name))
        fitting = [file for file in repository.sizes if is_model(file) and _has_draft_size(repository, file, target)]
        if fitting:
            yield (
                repository,
                min(fitting, key=lambda file: draft_distance(repository.sizes[file] or 1, target.size_bytes)),
            )
    for word in _HEADS:
        query = HubQuery(text=f"{_QUANTISED.split(name)[0]} {word}")
        for model in islice(search(context.hub, query), _MOST_HEADS):
            repository = context.with_retries(partial(context.hub.repository, model.name))
            heads = [file for file in repository.sizes if file.lower().endswith(".gguf") and not is_later_part(file)]
            if heads:
                yield repository, min(heads, key=lambda file: repository.sizes[file] or 0)


def _name(target: Resolved) -> str:
    """The name of the target's model: of its repository, or in its header, or of its file, or Ollama's."""
    if target.model.repo:
        return target.model.repo.rpartition("/")[2]
    name = target.header.name or ""
    return name if _SIZE.search(name) else stem(target.header.source)


def _smaller(target: Resolved, found: Iterable[HubModel]) -> Iterator[HubModel]:
    """Models with the number of parameters of a draft, each once however many have made files of it."""
    parts = (target.header, *target.later_parts)
    counted = sum(tensor.n_elements for header in parts for tensor in header.tensors)
    # Of a split model on the Hub only the first header is read.
    whole = counted * target.size_bytes / sum(header.size_bytes for header in parts)
    seen = set[str]()
    for model in islice(found, _LOOKED_AT):
        share = (model.parameters or 0) / max(1, whole)
        called = _QUANTISED.split(model.name.rpartition("/")[2].lower())[0]
        if _LEAST_PARAMETERS_SHARE <= share <= _MOST_PARAMETERS_SHARE and called not in seen:
            seen.add(called)
            yield model
            if len(seen) == _MOST_MODELS:
                return


def _has_draft_size(repository: Repository, file: str, target: Resolved) -> bool:
    return is_draft_size(repository.sizes[file] or 0, target.size_bytes)


def _judged(
    target: Resolved, repository: Repository, file: str, context: DownloadContext, expect: ExpectWith
) -> DraftCandidate:
    """The verdict by the header of a file on the Hub."""
    size = repository.sizes.get(file) or 0
    kind, fits, expected = DRAFT, False, None
    try:
        remote = context.with_retries(partial(context.hub.file, repository, file))
        size = remote.size_bytes
        header = read_remote_header(remote, context)
        kind = drafter_kind(header)
        fits, reason = judge_draft(target, header, size / max(1, target.size_bytes))
        expected = expect(target, header) if fits else None
    except LocalSpecError as error:
        reason = error.message.rstrip(".")
    share = size / max(1, target.size_bytes) or _NO_SHARE
    name = f"{repository.name}:{file}"
    return DraftCandidate(name, kind, size, share, is_here=False, reason=reason, fits=fits, expected=expected)
