"""A model of the Hub as a pair of its own in ``pairs.toml``, so that it can be downloaded, listed and removed."""

from __future__ import annotations

from localspec.models.download.context import DownloadContext
from localspec.models.download.model_header import resolve
from localspec.models.pairs.addition import add_pair, free_id
from localspec.models.pairs.catalogue import load_catalogue
from localspec.models.pairs.pair import Pair


def take(name: str, context: DownloadContext, draft: str | None = None) -> Pair:
    """The pair of a model, named as for ``resolve``, with the draft or head ``draft`` or without; added if it is new.

    Of files that are not here the headers are fetched. Raises NotFoundError, UsageError, ModelFileError,
    PairMismatchError, DownloadError, ConfigError.
    """
    target = resolve(name, context)
    small = None if draft is None else resolve(draft, context)
    files = [each.model.label for each in (target, small) if each is not None]
    for pair in load_catalogue().pairs:
        if [model.label for model in pair.models] == files:
            return pair
    pair, _ = add_pair(target, small, pair_id=free_id(target))
    return pair
