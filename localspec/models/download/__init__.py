"""Model files from the Hub into its cache, by Range requests of our own, so that nothing is fetched twice.

``Hub`` says what there is, ``read_remote_header`` what is in a file, ``download`` fetches files side by side.
Knows nothing of pairs; what it writes into the cache is what ``huggingface_hub`` would have written.
"""

from localspec.models.download.context import DownloadContext, Stopped
from localspec.models.download.downloader import check_space, download
from localspec.models.download.events import Delayed, DownloadEvent, Fetched, Progressed
from localspec.models.download.hub import Hub
from localspec.models.download.remote_file import RemoteFile, Repository
from localspec.models.download.remote_header import read_remote_header
from localspec.models.download.retry import Retry

__all__ = [
    "Delayed",
    "DownloadContext",
    "DownloadEvent",
    "Fetched",
    "Hub",
    "Progressed",
    "RemoteFile",
    "Repository",
    "Retry",
    "Stopped",
    "check_space",
    "download",
    "read_remote_header",
]
