"""A project's configuration: from `edgeemu.toml`, or `telnyx.toml`, to a frozen `Config`.

Promise: a `Config` that was loaded is sound. Its files exist, its names follow the platform's
grammar, and whatever was wrong, missing or misspelt has been an error with a line. What a
`telnyx.toml` asks for beyond what is emulated is never silent: it stands in `Config.warnings`.

`keys.py` is the one table of the keys of `edgeemu.toml`; reading, hints and the reference file at
the repository's root follow it.
"""

from edgeemu.config.keys import KEYS as KEYS
from edgeemu.config.keys import Key as Key
from edgeemu.config.load import find_project as find_project
from edgeemu.config.load import load_config as load_config
from edgeemu.config.model import ActorBinding as ActorBinding
from edgeemu.config.model import ClockConfig as ClockConfig
from edgeemu.config.model import Config as Config
from edgeemu.config.model import DevConfig as DevConfig
from edgeemu.config.model import LimitsConfig as LimitsConfig
from edgeemu.config.model import RateLimitConfig as RateLimitConfig
from edgeemu.config.model import RespondConfig as RespondConfig
from edgeemu.config.model import ServiceConfig as ServiceConfig
from edgeemu.config.model import is_script as is_script
