"""The settings: the table that declares each once, and the TOML file of the user that sets them."""

from localspec.config.file import Config, Problem, config_file, read_config
from localspec.config.kinds import Value
from localspec.config.setting import Applies, Setting
from localspec.config.table import SETTINGS, find_setting, setting

__all__ = [
    "SETTINGS",
    "Applies",
    "Config",
    "Problem",
    "Setting",
    "Value",
    "config_file",
    "find_setting",
    "read_config",
    "setting",
]
