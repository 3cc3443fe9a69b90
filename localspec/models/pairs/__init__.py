"""The pairs of target and draft: those that ship in ``models.toml``, and the user's own.

``load_catalogue`` reads them, ``Catalogue.find`` returns one, ``Pair.files`` locates its files, ``describe_all``
describes them and judges what fits this machine. ``scan`` finds models of other programs, and ``addition`` makes pairs
of them. ``removal`` frees disk space, and ``leftovers`` finds what else may go. ``addition``, ``collecting`` and
``removal`` change ``pairs.toml``, and ``removal`` the Hub's cache.
"""

from localspec.models.pairs.catalogue import BUILTIN_ID, load_catalogue
from localspec.models.pairs.description import PairDescription, describe, describe_all
from localspec.models.pairs.pair import ModelFile, Pair, PairFiles, RecommendedSampling

__all__ = [
    "BUILTIN_ID",
    "ModelFile",
    "Pair",
    "PairDescription",
    "PairFiles",
    "RecommendedSampling",
    "describe",
    "describe_all",
    "load_catalogue",
]
