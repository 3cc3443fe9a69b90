"""A pair: a target, the draft that guesses for it, and what is known about the two."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from localspec.base.errors import NotFoundError
from localspec.models.pairs.disk import is_file, is_link, may_exist
from localspec.models.pairs.hub_cache import cached_files, checksum_of, commit_named, commit_of
from localspec.models.pairs.split_files import parts_of

DRAFT = "draft"
"""The drafter that is a smaller model of its own."""
DRAFTERS = {DRAFT: "a draft model", "mtp": "MTP heads", "eagle3": "an EAGLE-3 head", "dflash": "a DFlash head"}
"""What can guess for a target, in words."""
_MAIN = "main"
"""The revision that is had where none is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What a finished download established about a file: its bytes had the checksum that the Hub tells."""

    revision: str
    """The commit it came from."""
    sha256: str | None
    """None where the Hub identifies it in another way, and for a model in several files."""
    size_bytes: int
    """Of all its parts together."""
    fingerprint: str | None
    """Of its vocabulary."""
    on: str
    """The day, as 2026-11-21."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A model file, on this machine or on the Hub."""

    file: str
    """As written: a path, or with ``repo`` the name within it."""
    path: Path | None
    """Where it must lie; None if it is the Hub's and lies in its cache."""
    repo: str | None = None
    revision: str | None = None
    size_bytes: int | None = None
    about_bytes: int | None = None
    """Roughly its size, where nobody has established it."""
    sha256: str | None = None
    architecture: str | None = None
    fingerprint: str | None = None
    """Of its vocabulary, as ``Vocabulary.fingerprint``."""
    context_length: int | None = None
    """Tokens it was trained for."""
    cache_bytes_per_token: int | None = None
    """What a token of context takes at f16."""
    licence: str | None = None
    verified: bool = False
    """Whether this file has been seen under this name."""
    shipped: bool = False
    """Whether LocalSpec brought it along."""
    proof: Proof | None = None
    """What its download established, if it has been downloaded here."""

    @property
    def label(self) -> str:
        """Repository and name, or the path."""
        return f"{self.repo}/{self.file}" if self.repo else str(self.path)

    def locate(self) -> Path:
        """Where the file lies. Raises NotFoundError, with how to get it."""
        if self.path is not None:
            if not is_file(self.path):
                if may_exist(self.path):
                    hint = "Mend its permissions, or its path in pairs.toml."
                    raise NotFoundError(f"{self.path} is not a file, or may not be read.", hint)
                hint = "The installation is incomplete; install LocalSpec again."
                raise NotFoundError(
                    f"There is no file {self.path}.", hint if self.shipped else "Mend its path in pairs.toml."
                )
            return self.path
        assert self.repo is not None
        copies = cached_files(self.repo, self.file, revision=self.revision)
        whole = [path for path in copies if self.size_bytes in (None, path.stat().st_size)]
        meant = next(filter(self._is_meant, whole), None)
        if meant is None:
            others = "only as another version" if whole else "not of the right size"
            state = f"is on this machine, but {others}" if copies else "is not on this machine"
            revision = f" --revision {self.revision}" if self.revision else ""
            raise NotFoundError(f"{self.file} {state}.", f"Run `hf download {self.repo} {self.file}{revision}`.")
        return meant

    def _is_meant(self, copy: Path) -> bool:
        """Whether a copy in the Hub's cache has the content that is asked for, or else is of the revision."""
        assert self.repo is not None
        commit, sha256 = commit_of(copy, self.file), checksum_of(copy)
        if sha256 is None and not is_link(copy) and self.proof and self.proof.revision == commit:
            sha256 = self.proof.sha256  # as it was when it arrived; the file itself does not tell
        if sha256 and self.sha256 and len(parts_of(Path(self.file))) == 1:  # a checksum is that of one file
            return sha256 == self.sha256
        revision = self.revision or _MAIN
        return revision == _MAIN or commit == commit_named(self.repo, revision)


@dataclass(frozen=True, slots=True)
class PairFiles:
    """Where a pair's files lie."""

    target: Path
    draft: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendedSampling:
    """How the pair's makers would have it sampled; None where they do not say."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A target and its draft, as catalogued."""

    id: str
    title: str
    target: ModelFile
    draft: ModelFile | None = None
    drafter: str = DRAFT
    """What guesses; everything but ``DRAFT`` waits until LocalSpec can run it."""
    family: str = ""
    """The models whose vocabulary it has, in words people use: "Qwen3"."""
    memory_gb: int | None = None
    """The class of machine it suits."""
    recommended: bool = True
    note: str = ""
    source: str = ""
    """Where the note's claim comes from."""
    speedup_low: float | None = None
    """The least and the most that ``source`` reports, as a multiple of plain speed."""
    speedup_high: float | None = None
    tour: bool = False
    """Whether this is the guided tour, which teaches and is not meant to be fast."""
    pace_tokens_per_second: float | None = None
    """The speed at which a screen should show its text; None for as fast as it comes."""
    sampling: RecommendedSampling = field(default_factory=RecommendedSampling)

    @property
    def models(self) -> tuple[ModelFile, ...]:
        return (self.target,) if self.draft is None else (self.target, self.draft)

    @property
    def waits(self) -> bool:
        """Whether its drafter is one that LocalSpec cannot run yet."""
        return self.drafter != DRAFT

    @property
    def licence(self) -> str:
        """The licences of its files, each once."""
        return ", ".join(dict.fromkeys(model.licence for model in self.models if model.licence))

    @property
    def verified(self) -> bool:
        """Whether every one of its files has been seen under its name."""
        return all(model.verified for model in self.models)

    def files(self) -> PairFiles:
        """Where its files lie; of a pair that waits for its drafter, the target alone.

        Raises NotFoundError for the first that is not there, with how to get it.
        """
        draft = None if self.waits else self.draft
        return PairFiles(self.locate(self.target), None if draft is None else self.locate(draft))

    def locate(self, model: ModelFile) -> Path:
        """Where one of its files lies. Raises NotFoundError, with how to get it."""
        try:
            return model.locate()
        except NotFoundError as error:
            hint = error.hint if model.repo is None else f"Run `localspec pairs pull {self.id}`."
            raise NotFoundError(error.message, hint) from error
