"""A pair: a target, the draft that guesses for it, and what is known about the two."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from localspec.errors import NotFoundError
from localspec.pairs.hub_cache import cached_files


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
    sha256: str | None = None
    architecture: str | None = None
    licence: str | None = None
    verified: bool = False
    """Whether this file has been seen under this name."""
    shipped: bool = False
    """Whether LocalSpec brought it along."""

    @property
    def label(self) -> str:
        """Repository and name, or the path."""
        return f"{self.repo}/{self.file}" if self.repo else str(self.path)

    def locate(self) -> Path:
        """Where the file lies. Raises NotFoundError, with how to get it."""
        if self.path is not None:
            if not self.path.is_file():
                hint = "The installation is incomplete; install LocalSpec again."
                raise NotFoundError(
                    f"There is no file {self.path}.", hint if self.shipped else "Mend its path in pairs.toml."
                )
            return self.path
        assert self.repo is not None
        copies = cached_files(self.repo, self.file, revision=self.revision)
        whole = [path for path in copies if self.size_bytes in (None, path.stat().st_size)]
        if not whole:
            state = "is on this machine, but not of the right size" if copies else "is not on this machine"
            raise NotFoundError(f"{self.file} {state}.", f"Run `hf download {self.repo} {self.file}`.")
        return whole[0]


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
    memory_gb: int | None = None
    """The class of machine it suits."""
    recommended: bool = True
    note: str = ""
    source: str = ""
    """Where the note's claim comes from."""
    tour: bool = False
    """Whether this is the guided tour, which teaches and is not meant to be fast."""
    pace_tokens_per_second: float | None = None
    """The speed at which a screen should show its text; None for as fast as it comes."""
    sampling: RecommendedSampling = field(default_factory=RecommendedSampling)

    @property
    def models(self) -> tuple[ModelFile, ...]:
        return (self.target,) if self.draft is None else (self.target, self.draft)

    @property
    def licence(self) -> str:
        """The licences of its files, each once."""
        return ", ".join(dict.fromkeys(model.licence for model in self.models if model.licence))

    @property
    def verified(self) -> bool:
        """Whether every one of its files has been seen under its name."""
        return all(model.verified for model in self.models)

    def files(self) -> PairFiles:
        """Where its files lie. Raises NotFoundError for the first that is not there, with how to get it."""
        return PairFiles(self.target.locate(), None if self.draft is None else self.draft.locate())
