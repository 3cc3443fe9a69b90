"""A model of the Hub as a pair of its own in ``pairs.toml``, so that it can be downloaded, listed and removed."""

from __future__ import annotations

from collections.abc import Sequence

from localspec.base.errors import UsageError
from localspec.models.download.context import DownloadContext
from localspec.models.download.model_header import resolve
from localspec.models.pairs.addition import add_pair
from localspec.models.pairs.catalogue import load_catalogue
from localspec.models.pairs.pair import ModelFile, Pair
from localspec.models.pairs.references import Resolved
from localspec.models.projectors import choose_projector, projector_misfit


def take(name: str, context: DownloadContext, draft: str | None = None) -> Pair:
    """The pair of a model, named as for ``resolve``, with the draft or head ``draft`` or without; added if it is new.

    A model of the Hub takes along the projector that its repository has for it. Of files that are not here the headers
    are fetched. Raises NotFoundError, UsageError, ModelFileError, PairMismatchError, DownloadError, ConfigError.
    """
    target = resolve(name, context)
    small = None if draft is None else resolve(draft, context)
    files = [each.model for each in (target, small) if each is not None]
    known = _known(files)
    if known is not None:
        return known
    projector = _projector(target, context)
    try:
        pair, _ = add_pair(target, small, projector)
    except UsageError:
        known = _known(files)  # another program has just added it
        if known is None:
            raise
        return known
    return pair


def _known(files: Sequence[ModelFile]) -> Pair | None:
    """The catalogued pair of exactly these files, a projector aside."""
    labels = [model.label for model in files]
    for pair in load_catalogue().pairs:
        if [model.label for model in pair.models if model is not pair.projector] == labels:
            return pair
    return None


def _projector(target: Resolved, context: DownloadContext) -> Resolved | None:
    """The projector beside a file on the Hub that is not here yet; None if there is none, or none that fits it."""
    repo = target.model.repo
    if repo is None or target.here is not None:
        return None
    repository = context.with_retries(lambda: context.hub.repository(repo))
    name = choose_projector(target.path.name, {name: size or 0 for name, size in repository.sizes.items()})
    if name is None:
        return None
    found = resolve(f"{repo}:{name}", context)
    return None if projector_misfit(target.header, found.header) else found
