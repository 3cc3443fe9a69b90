"""What must be fetched for a pair, judged before anything large is."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path, PurePosixPath

from localspec.base.errors import DownloadError, LocalSpecError, ModelFileError, NotFoundError, PairMismatchError
from localspec.gguf import GgufHeader, read_header
from localspec.models.compatibility import check_match, judge_match
from localspec.models.download.checksum import is_sha256
from localspec.models.download.context import DownloadContext
from localspec.models.download.downloader import download
from localspec.models.download.events import DownloadEvent, Fetched
from localspec.models.download.layout import CacheLayout
from localspec.models.download.remote_file import RemoteFile, Repository
from localspec.models.download.remote_header import read_remote_header
from localspec.models.pairs.pair import ModelFile, Pair, Proof
from localspec.models.pairs.proofs import add_proof
from localspec.models.pairs.split_files import is_later_part, parts_of


@dataclass(frozen=True, slots=True)
class PullPlan:
    """What is to be done for a pair whose target and draft fit each other."""

    pair_id: str
    here: tuple[Path, ...]
    """Files that are on this machine already."""
    missing: tuple[RemoteFile, ...]
    """Files to fetch."""
    notes: tuple[str, ...]
    """What is good to know: a repository that was renamed, what will cost acceptance."""


@dataclass(slots=True)
class Planner:
    """Plans pairs; asks the Hub about every repository once."""

    around: DownloadContext
    _repositories: dict[tuple[str, str | None], Repository] = field(default_factory=dict)

    def plan(self, pair: Pair) -> PullPlan:
        """Find what is here and what is not, and prove that the two fit.

        Raises PairMismatchError naming the first token that differs, NotFoundError, ModelFileError, and
        DownloadError if the Hub has another file than the catalogue means.
        """
        here: list[Path] = []
        missing: list[RemoteFile] = []
        notes: list[str] = []
        firsts: list[Path | RemoteFile] = []
        # Of a pair that waits for its drafter, the target can be used alone.
        for model in (pair.target,) if pair.waits else pair.models:
            paths = _whole(model)
            if paths is not None:
                here += paths
                firsts.append(paths[0])
                continue
            remotes = list(self._remotes(model, notes))
            firsts.append(remotes[0])
            for remote in remotes:  # of a model in parts, some may be here
                layout = CacheLayout(self.around.cache, remote)
                if layout.published:
                    here.append(layout.snapshot)
                else:
                    missing.append(remote)
        notes += self._warnings(firsts)
        return PullPlan(pair.id, tuple(here), tuple(missing), tuple(dict.fromkeys(notes)))

    def _warnings(self, firsts: Sequence[Path | RemoteFile]) -> list[str]:
        """Doubts about the match of two models. Raises PairMismatchError, ModelFileError, DownloadError."""
        try:
            return _judged([self._header(first, from_part=True) for first in firsts])
        except (PairMismatchError, ModelFileError):
            if not any(isinstance(first, RemoteFile) for first in firsts):
                raise
            # Bytes that no checksum has proved, in a part or on the way, must not condemn a pair: once more.
            return _judged([self._header(first, from_part=False) for first in firsts])

    def _header(self, first: Path | RemoteFile, *, from_part: bool) -> GgufHeader:
        if isinstance(first, Path):
            return read_header(first)
        return read_remote_header(first, self.around, from_part=from_part)

    def _remotes(self, model: ModelFile, notes: list[str]) -> Iterator[RemoteFile]:
        assert model.repo is not None  # or it would have been found, or refused
        repository = self._repository(model.repo, model.revision)
        if repository.renamed:
            notes.append(f"{repository.name} is now called {repository.current_name}; it was found all the same.")
        names = parts_of(Path(PurePosixPath(model.file)))
        for name in names:
            remote = self.around.patiently(partial(self.around.hub.file, repository, name.as_posix()))
            _check_facts(model, remote, alone=len(names) == 1)
            yield remote

    def _repository(self, name: str, revision: str | None) -> Repository:
        """The main branch where that is the revision, for it then gets its name in the cache, where others look."""
        if (name, None) not in self._repositories:
            self._repositories[name, None] = self._ask(name, None)
        main = self._repositories[name, None]
        if revision in (None, main.commit):
            return main
        if (name, revision) not in self._repositories:
            self._repositories[name, revision] = self._ask(name, revision)
        return self._repositories[name, revision]

    def _ask(self, name: str, revision: str | None) -> Repository:
        return self.around.patiently(lambda: self.around.hub.repository(name, revision))


def _judged(headers: Sequence[GgufHeader]) -> list[str]:
    if len(headers) < 2:
        return []
    check_match(headers[0], headers[1])
    return list(judge_match(headers[0], headers[1]).warnings)


def fetch(plans: Sequence[PullPlan], around: DownloadContext) -> Generator[DownloadEvent, None, None]:
    """Fetch what the plans miss, as ``download`` does; every file that is complete is written down as verified."""
    # By where they go: of one file, pairs may want several revisions.
    missing = {CacheLayout(around.cache, remote).snapshot: remote for plan in plans for remote in plan.missing}
    with closing(download(list(missing.values()), around)) as events:
        for event in events:
            if isinstance(event, Fetched):
                add_proof(event.file, _proof(missing[event.path], event.path))
            yield event


def _proof(remote: RemoteFile, path: Path) -> Proof:
    """What is now known of a file that has arrived."""
    fingerprint = None
    if not is_later_part(remote.file):
        with suppress(LocalSpecError):  # it is not for a download to judge; loading it will say what is wrong
            fingerprint = read_header(path).fingerprint
    return Proof(
        revision=remote.commit,
        sha256=remote.etag if is_sha256(remote.etag) else None,
        size_bytes=remote.size_bytes,
        fingerprint=fingerprint,
        on=date.today().isoformat(),
    )


def _whole(model: ModelFile) -> list[Path] | None:
    """All parts of a model, if they are here. Raises NotFoundError if it is not the Hub's to give."""
    try:
        paths = parts_of(model.locate())
    except NotFoundError:
        if model.repo is None:
            raise
        return None
    return paths if all(path.is_file() for path in paths) else None


def _check_facts(model: ModelFile, remote: RemoteFile, *, alone: bool) -> None:
    """What the catalogue knows about a file must be true of the one on the Hub."""
    first = PurePosixPath(model.file) == PurePosixPath(remote.file)
    if first and model.size_bytes not in (None, remote.size_bytes):
        known = f"{model.size_bytes:,} bytes"
        raise _another(remote, f"{remote.size_bytes:,} bytes long, not {known}")
    if alone and model.sha256 not in (None, remote.etag):
        raise _another(remote, f"of the sha256 {remote.etag[:12]}..., not {(model.sha256 or '')[:12]}...")


def _another(remote: RemoteFile, how: str) -> DownloadError:
    return DownloadError(
        f"{remote.label} is not the file that the catalogue means: it is {how}.",
        "Its publisher has replaced it. To use it all the same, write the pair into pairs.toml without that figure.",
    )
