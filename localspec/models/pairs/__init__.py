"""The pairs that can be chatted with: those that ship in ``models.toml``, and the user's own.

``load_catalogue`` reads them, ``Catalogue.find`` picks one, ``Pair.files`` says where its files lie,
``describe_all`` puts them into words and says what fits this machine. ``scan`` finds models that other
programs keep, ``addition`` makes pairs of them, ``removal`` and ``leftovers`` free the room of what is no
longer wanted: the only ones here that change anything on disk, in ``pairs.toml`` and the Hub's cache alone.
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
