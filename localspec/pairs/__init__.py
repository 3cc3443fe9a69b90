"""The pairs that can be chatted with: those that ship in ``models.toml``, and the user's own.

``load_catalogue`` reads them, ``Catalogue.find`` picks one, ``Pair.files`` says where its files lie and
``describe`` puts one into words. Knows nothing of what is in a model file (``localspec.gguf`` does),
and changes nothing on disk.
"""

from localspec.pairs.catalogue import BUILTIN_ID, Catalogue, load_catalogue
from localspec.pairs.description import PairDescription, describe
from localspec.pairs.pair import ModelFile, Pair, PairFiles, RecommendedSampling

__all__ = [
    "BUILTIN_ID",
    "Catalogue",
    "ModelFile",
    "Pair",
    "PairDescription",
    "PairFiles",
    "RecommendedSampling",
    "describe",
    "load_catalogue",
]
