"""What Hypothesis leaves alone while it judges: other modules, and the user's folder.

By itself it mixes constants of every module outside site-packages into its examples, so that one
seed would give other examples in a checkout, an installed wheel, or beside another backend. And it
keeps files in a folder `.hypothesis` wherever the command is run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.internal.conjecture import providers


@contextmanager
def kept_to_the_seed() -> Iterator[None]:
    """Let the seed alone decide the examples, and write nothing."""
    usual = providers._get_local_constants
    none = type(providers.GLOBAL_CONSTANTS)()
    set_hypothesis_home_dir(Path(os.devnull) / "no-folder")
    providers._get_local_constants = lambda: none
    providers.CONSTANTS_CACHE.cache.clear()
    try:
        yield
    finally:
        set_hypothesis_home_dir(None)
        providers._get_local_constants = usual
        providers.CONSTANTS_CACHE.cache.clear()
