"""A pair: a target, its draft, and the catalogued facts about the two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localspec.base.errors import NotFoundError, UsageError
from localspec.gguf import read_header
from localspec.gguf.draft_heads import DRAFT, DRAFTERS
from localspec.models.heads import file_drafters
from localspec.models.pairs.disk import file_size, is_file, is_link, may_exist
from localspec.models.pairs.hub_cache import cached_files, checksum_of, commit_named, commit_of
from localspec.models.pairs.split_files import parts_of, read_parts

_MAIN = "main"
"""The default revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The facts that a finished download has established: the bytes had the Hub's checksum."""

    revision: str
    """The commit it came from."""
    sha256: str | None
    """None where the Hub has no SHA-256, and for a split model."""
    size_bytes: int
    """The size of all its files together."""
    fingerprint: str | None
    """The digest of its vocabulary."""
    on: str
    """The day in ISO 8601, 2026-11-21."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A model file, on this machine or on the Hub."""

    file: str
    """As written: a path, or with ``repo`` the name within it."""
    path: Path | None
    """The path of a local file; None for a file of the Hub, which lies in its cache."""
    repo: str | None = None
    revision: str | None = None
    size_bytes: int | None = None
    about_bytes: int | None = None
    """Its approximate size, where the exact one is unknown."""
    sha256: str | None = None
    architecture: str | None = None
    fingerprint: str | None = None
    """The digest of its vocabulary, as ``Vocabulary.fingerprint``."""
    context_length: int | None = None
    """Tokens of context it was trained for."""
    cache_bytes_per_token: int | None = None
    """Bytes of cache for a token of context at f16."""
    active_share: float | None = None
    """The share of its weights that a token reads, of a mixture of experts."""
    licence: str | None = None
    verified: bool = False
    """True if this file has been seen under this name."""
    shipped: bool = False
    """True if it ships with LocalSpec."""
    proof: Proof | None = None
    """The facts from its download, if it was downloaded here."""

    @property
    def label(self) -> str:
        """Repository and name, or the path."""
        return f"{self.repo}/{self.file}" if self.repo else str(self.path)

    def locate(self) -> Path:
        """The path of the file. Raises NotFoundError, with how to get it."""
        if self.path is not None:
            if not is_file(self.path):
                if may_exist(self.path):
                    hint = "Correct its permissions, or its path in pairs.toml."
                    raise NotFoundError(f"{self.path} is not a file, or may not be read.", hint)
                hint = "The installation is incomplete; install LocalSpec again."
                raise NotFoundError(
                    f"There is no file {self.path}.", hint if self.shipped else "Correct its path in pairs.toml."
                )
            return self.path
        assert self.repo is not None
        copies = cached_files(self.repo, self.file, revision=self.revision)
        whole = [path for path in copies if self.size_bytes in (None, file_size(path))]
        wanted = next(filter(self._is_wanted, whole), None)
        if wanted is None:
            others = "only as another version" if whole else "not of the right size"
            state = f"is on this machine, but {others}" if copies else "is not on this machine"
            revision = f" --revision {self.revision}" if self.revision else ""
            raise NotFoundError(f"{self.file} {state}.", f"Run `hf download {self.repo} {self.file}{revision}`.")
        return wanted

    def _is_wanted(self, copy: Path) -> bool:
        """True if a copy in the Hub's cache has the catalogued checksum, or without one is of the revision."""
        assert self.repo is not None
        commit, sha256 = commit_of(copy, self.file), checksum_of(copy)
        if sha256 is None and not is_link(copy) and self.proof and self.proof.revision == commit:
            sha256 = self.proof.sha256  # from the download: a copy that is not a link has no checksum in a name
        if sha256 and self.sha256 and len(parts_of(Path(self.file))) == 1:  # a checksum covers one file
            return sha256 == self.sha256
        revision = self.revision or _MAIN
        return revision == _MAIN or commit == commit_named(self.repo, revision)


@dataclass(frozen=True, slots=True)
class PairFiles:
    """The paths of a pair's files."""

    target: Path
    draft: Path | None
    projector: Path | None = None

    def drafters(self) -> tuple[str, ...]:
        """The kinds of drafters that the files bring: the draft's, and MTP layers in the target.

        Raises NotFoundError or ModelFileError.
        """
        return file_drafters(read_parts(self.target), None if self.draft is None else read_header(self.draft))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendedSampling:
    """The sampling that the makers of a pair recommend; None where they do not."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A target and what drafts for it, as catalogued."""

    id: str
    title: str
    target: ModelFile
    draft: ModelFile | None = None
    """A smaller model or a head; None if there is none, or if the target has MTP layers."""
    drafter: str = DRAFT
    """The kind of drafter, out of ``DRAFTERS``."""
    projector: ModelFile | None = None
    """The file that the target reads images through."""
    heads: Mapping[str, ModelFile] = field(default_factory=dict)
    """Other files to draft with, by kind, each in place of ``draft`` where it is asked for."""
    family: str = ""
    """The family of models that share its vocabulary: "Qwen3"."""
    memory_gb: int | None = None
    """The memory of a machine that it suits."""
    recommended: bool = True
    note: str = ""
    source: str = ""
    """The source of the note's claim."""
    speedup_low: float | None = None
    """The lowest and the highest speed-up that ``source`` reports, over plain decoding."""
    speedup_high: float | None = None
    tour: bool = False
    """True for the guided tour."""
    pace_tokens_per_second: float | None = None
    """The speed at which a screen shows its text; None for full speed."""
    sampling: RecommendedSampling = field(default_factory=RecommendedSampling)

    @property
    def models(self) -> tuple[ModelFile, ...]:
        """The files that it needs."""
        return tuple(model for model in (self.target, self.draft, self.projector) if model is not None)

    @property
    def all_models(self) -> tuple[ModelFile, ...]:
        """The files that it needs, and its other files to draft with."""
        return (*self.models, *self.heads.values())

    @property
    def licence(self) -> str:
        """The licences of its files, each once."""
        return ", ".join(dict.fromkeys(model.licence for model in self.models if model.licence))

    @property
    def verified(self) -> bool:
        """True if all of its files are verified."""
        return all(model.verified for model in self.models)

    def files(self, spec: Sequence[str] = ()) -> PairFiles:
        """The paths of its files, with the one to draft with that the drafters in ``spec`` need.

        Raises NotFoundError for the first missing one, with how to get it, and UsageError for two at once.
        """
        files = dict(self.heads) if self.draft is None else {**self.heads, self.drafter: self.draft}
        wanted = [name for name in dict.fromkeys(spec) if name in files]
        if len(wanted) > 1:
            both = f"{DRAFTERS[wanted[0]]} and {DRAFTERS[wanted[1]]}"
            raise UsageError(f"{self.title} drafts with one file at a time, and --spec names {both}.", "Name one.")
        chosen = files[wanted[0]] if wanted else self.draft
        target = self.locate(self.target)  # first, so that an absent pair is named by its target
        draft, projector = (None if model is None else self.locate(model) for model in (chosen, self.projector))
        return PairFiles(target, draft, projector)

    def locate(self, model: ModelFile) -> Path:
        """The path of one of its files. Raises NotFoundError, with how to get it."""
        try:
            return model.locate()
        except NotFoundError as error:
            hint = error.hint if model.repo is None else f"Run `localspec pairs pull {self.id}`."
            raise NotFoundError(error.message, hint) from error
