"""The plan of a pair's download: its missing files, checked to fit each other before anything large is fetched."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path, PurePosixPath

from localspec.base.errors import DownloadError, LocalSpecError, ModelFileError, NotFoundError, PairMismatchError
from localspec.gguf import GgufHeader, read_header
from localspec.gguf.draft_heads import MTP
from localspec.models.compatibility import check_match
from localspec.models.download.checksum import is_sha256
from localspec.models.download.context import DownloadContext
from localspec.models.download.downloader import download
from localspec.models.download.events import DownloadEvent, Fetched
from localspec.models.download.layout import CacheLayout
from localspec.models.download.remote_file import RemoteFile, Repository
from localspec.models.download.remote_header import read_remote_header
from localspec.models.heads import mtp_fault
from localspec.models.pairs.pair import ModelFile, Pair, Proof
from localspec.models.pairs.proofs import add_proof
from localspec.models.pairs.split_files import is_later_part, names_of, parts_of
from localspec.models.projectors import check_projector, is_projector


@dataclass(frozen=True, slots=True)
class PullPlan:
    """The download of a pair whose target and draft fit each other."""

    pair_id: str
    here: tuple[Path, ...]
    """Files that are already on this machine."""
    missing: tuple[RemoteFile, ...]
    """Files to download."""
    notes: tuple[str, ...]
    """Remarks: a renamed repository, reasons for low acceptance."""


@dataclass(slots=True)
class Planner:
    """Plans the downloads of pairs; each repository is requested from the Hub once."""

    context: DownloadContext
    _repositories: dict[tuple[str, str | None], Repository] = field(default_factory=dict)

    def plan(self, pair: Pair) -> PullPlan:
        """Find the present and the missing files, and check that target and draft fit.

        Raises PairMismatchError naming the first token that differs, NotFoundError, ModelFileError, and DownloadError
        if the file on the Hub is not the catalogued one.
        """
        here: list[Path] = []
        missing: list[RemoteFile] = []
        notes: list[str] = []
        judged: list[Path | RemoteFile] = []
        for model in pair.all_models:
            paths = _whole(model)
            remotes = [] if paths else list(self._remotes(model, notes))
            here += paths or []
            judged.append((paths or remotes)[0])
            for remote in remotes:  # some files of a split model may be here
                layout = CacheLayout(self.context.cache, remote)
                if layout.published:
                    here.append(layout.snapshot)
                else:
                    missing.append(remote)
        notes += self._warnings(judged, pair.drafter)
        return PullPlan(pair.id, tuple(here), tuple(missing), tuple(dict.fromkeys(notes)))

    def _warnings(self, firsts: Sequence[Path | RemoteFile], drafter: str) -> list[str]:
        """Warnings about the match of two models. Raises PairMismatchError, ModelFileError, DownloadError."""
        try:
            return _judged([self._header(first, from_part=True) for first in firsts], drafter)
        except (PairMismatchError, ModelFileError):
            if not any(isinstance(first, RemoteFile) for first in firsts):
                raise
            # The bytes of a partial file are not verified and may be wrong: check again with fresh ones.
            return _judged([self._header(first, from_part=False) for first in firsts], drafter)

    def _header(self, first: Path | RemoteFile, *, from_part: bool) -> GgufHeader:
        if isinstance(first, Path):
            return read_header(first)
        return read_remote_header(first, self.context, from_part=from_part)

    def _remotes(self, model: ModelFile, notes: list[str]) -> Iterator[RemoteFile]:
        assert model.repo is not None  # else it would have been found or refused
        repository = self._repository(model.repo, model.revision)
        if repository.renamed:
            notes.append(f"{repository.name} is now called {repository.current_name}.")
        names = names_of(model.file)
        for name in names:
            remote = self.context.with_retries(partial(self.context.hub.file, repository, name))
            _check_facts(model, remote, alone=len(names) == 1)
            yield remote

    def _repository(self, name: str, revision: str | None) -> Repository:
        """The repository at a revision; as the main branch where that is the revision, so that others find it."""
        if (name, None) not in self._repositories:
            self._repositories[name, None] = self._request(name, None)
        main = self._repositories[name, None]
        if revision in (None, main.commit):
            return main
        if (name, revision) not in self._repositories:
            self._repositories[name, revision] = self._request(name, revision)
        return self._repositories[name, revision]

    def _request(self, name: str, revision: str | None) -> Repository:
        return self.context.with_retries(lambda: self.context.hub.repository(name, revision))


def _judged(headers: Sequence[GgufHeader], drafter: str) -> list[str]:
    target, *others = headers
    drafts = [header for header in others if not is_projector(header)]
    for projector in filter(is_projector, others):
        check_projector(target, projector)
    if not drafts:
        # The MTP layers of a split model lie in its last file.
        fault = mtp_fault(headers[:1]) if drafter == MTP and target.split_count == 1 else ""
        return [f"{target.source} will be used without a drafter: {fault}."] if fault else []
    return [warning for draft in drafts for warning in check_match(target, draft).warnings]


def fetch(plans: Sequence[PullPlan], context: DownloadContext) -> Generator[DownloadEvent, None, None]:
    """Download the missing files of the plans, as ``download`` does, and record each complete file as verified."""
    # By path: pairs may want several revisions of one file.
    missing = {CacheLayout(context.cache, remote).snapshot: remote for plan in plans for remote in plan.missing}
    with closing(download(list(missing.values()), context)) as events:
        for event in events:
            if isinstance(event, Fetched):
                add_proof(event.file, _proof(missing[event.path], event.path))
            yield event


def _proof(remote: RemoteFile, path: Path) -> Proof:
    """The facts that a finished download has established."""
    fingerprint = None
    if not is_later_part(remote.file):
        with suppress(LocalSpecError):  # the download is complete all the same; loading reports a damaged file
            fingerprint = read_header(path).fingerprint
    return Proof(
        revision=remote.commit,
        sha256=remote.etag if is_sha256(remote.etag) else None,
        size_bytes=remote.size_bytes,
        fingerprint=fingerprint,
        on=date.today().isoformat(),
    )


def _whole(model: ModelFile) -> list[Path] | None:
    """All files of a model if they are here, else None. Raises NotFoundError for a missing file not on the Hub."""
    try:
        paths = parts_of(model.locate())
    except NotFoundError:
        if model.repo is None:
            raise
        return None
    return paths if all(path.is_file() for path in paths) else None


def _check_facts(model: ModelFile, remote: RemoteFile, *, alone: bool) -> None:
    """Raise DownloadError if size or checksum of the file on the Hub are not the catalogued ones."""
    first = PurePosixPath(model.file) == PurePosixPath(remote.file)
    if first and model.size_bytes not in (None, remote.size_bytes):
        known = f"{model.size_bytes:,} bytes"
        raise _another(remote, f"{remote.size_bytes:,} bytes long, not {known}")
    if alone and model.sha256 not in (None, remote.etag):
        raise _another(remote, f"of the sha256 {remote.etag[:12]}..., not {(model.sha256 or '')[:12]}...")


def _another(remote: RemoteFile, difference: str) -> DownloadError:
    return DownloadError(
        f"{remote.label} is not the catalogued file: it is {difference}.",
        "Its publisher has replaced it. To use it anyway, add the pair to pairs.toml without that figure.",
    )
