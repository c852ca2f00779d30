"""Write the files of an example into a temporary folder: a chart consists of all files below its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory


@contextmanager
def work_in_folder_with(texts: Mapping[str, str]) -> Iterator[None]:
    """Make a temporary repository with these texts, by relative paths, the working folder meanwhile."""
    here = os.getcwd()
    with TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, ".git"))  # what an object names has to be in its repository
        for path, text in texts.items():
            whole = os.path.join(folder, path)
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w", encoding="utf-8") as file:
                file.write(text)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)
