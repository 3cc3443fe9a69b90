"""The headers of GGUF files: the facts of a model, read without loading it.

``read_header`` reads a file on disk, ``parse_header`` anything with ``read``. The package knows the file format and
llama.cpp's defaults for missing fields. It does not know whether llama.cpp can run an architecture, and never reads
tensor data.
"""

from localspec.gguf.header import GgufHeader
from localspec.gguf.metadata import Value
from localspec.gguf.reader import Readable, parse_header, read_header
from localspec.gguf.tensors import TensorInfo
from localspec.gguf.vocabulary import Vocabulary

__all__ = ["GgufHeader", "Readable", "TensorInfo", "Value", "Vocabulary", "parse_header", "read_header"]
