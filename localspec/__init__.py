"""LocalSpec: chat with local models, made fast by speculative decoding, and see why.

Importing the package does nothing but name its version. The reading order for the curious is
``engine/events.py``, ``engine/model.py``, ``engine/verify.py``, ``engine/loop.py``.
"""

__version__ = "0.1.0"
