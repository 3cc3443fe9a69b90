"""Downloads of model files from the Hub into its cache, by Range requests, so that no byte is fetched twice.

``Hub`` lists repositories, ``read_remote_header`` reads the header of a remote file, ``download`` fetches files
concurrently. The cache is written exactly as ``huggingface_hub`` writes it.
"""

from localspec.models.download.context import DownloadContext, Stopped, open_context
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
    "open_context",
    "read_remote_header",
]
