"""The header of a GGUF file: what a model is, read without loading it.

``read_header`` for a file on disk, ``parse_header`` for anything with ``read``. Knows the file
format and llama.cpp's defaults for what a file leaves out; does not know whether llama.cpp can run
the architecture, and never reads tensor data.
"""

from localspec.gguf.header import GgufHeader
from localspec.gguf.metadata import Value
from localspec.gguf.reader import Readable, parse_header, read_header
from localspec.gguf.tensors import TensorInfo
from localspec.gguf.vocabulary import Vocabulary

__all__ = ["GgufHeader", "Readable", "TensorInfo", "Value", "Vocabulary", "parse_header", "read_header"]
