"""What Hypothesis leaves alone while it judges: other modules, and the user's folder.

By itself it mixes constants of every module outside site-packages into its examples, so that one
seed would give other examples in a checkout, an installed wheel, or beside another backend. And it
keeps files in a folder `.hypothesis` wherever the command is run.
"""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.internal.conjecture import providers


def keep_to_the_seed() -> None:
    """Let the seed alone decide the examples, and write nothing."""
    set_hypothesis_home_dir(Path(os.devnull) / "no-folder")
    none = type(providers.GLOBAL_CONSTANTS)()
    providers._get_local_constants = lambda: none
    providers.CONSTANTS_CACHE.cache.clear()
