"""The pairs of target and draft: those that ship in ``models.toml``, and the user's own.

``load_catalogue`` reads them, ``Catalogue.find`` returns one, ``Pair.files`` locates its files, ``describe_all``
describes them and judges what fits this machine. ``scan`` finds models of other programs, and ``addition`` makes pairs
of them. ``removal`` and ``leftovers`` free disk space. Only the last three change anything on disk: ``pairs.toml`` and
the Hub's cache.
"""

from localspec.models.pairs.catalogue import BUILTIN_ID, Catalogue, load_catalogue
from localspec.models.pairs.description import PairDescription, describe, describe_all
from localspec.models.pairs.pair import ModelFile, Pair, PairFiles, RecommendedSampling

__all__ = [
    "BUILTIN_ID",
    "Catalogue",
    "ModelFile",
    "Pair",
    "PairDescription",
    "PairFiles",
    "RecommendedSampling",
    "describe",
    "describe_all",
    "load_catalogue",
]
