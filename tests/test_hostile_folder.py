"""What lies in the current directory is neither run nor followed: people unpack a stranger's texts and work there."""

from __future__ import annotations

import importlib
import json
import pickle
import pkgutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import psutil
import pytest

import commands_page
import driftword
import every_command
from driftword.basics.dask_tasks import connect

pytestmark = pytest.mark.slow

#: Settings that packages look for in some folder or other.
SETTINGS = (".env", "dask.yaml", "distributed.yaml", "fsspec.json", "pyproject.toml", "setup.cfg", "pip.conf")


class Trap:
    """An object that leaves a trace where its pickle is loaded."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> object:
        return exec, (f"open({str(self.trace)!r}, 'a').write('a pickle\\n')",)


def put_traps(folder: Path, trace: Path) -> None:
    """Fill a folder with files that leave a trace if they are run."""
    modules = {*sys.stdlib_module_names, *packages_distributions(), "driftword", "sitecustomize", "usercustomize"}
    for name in modules:
        (folder / f"{name}.py").write_text(f"open({str(trace)!r}, 'a').write({name!r} + '\\n')\n")
    cache = folder / "compiled"
    (folder / ".numba_config.yaml").write_text(f"cache_dir: {cache}\n")
    for found in pkgutil.walk_packages(driftword.__path__, "driftword."):
        if not found.name.endswith("_kernels") or "triton" in found.name:
            continue
        for kernel in vars(importlib.import_module(found.name)).values():
            if hasattr(kernel, "py_func") and Path(kernel.py_func.__code__.co_filename).is_file():
                stored = kernel._cache._impl
                place = cache / stored.locator.get_suitable_cache_subpath(kernel.py_func.__code__.co_filename)
                place.mkdir(parents=True, exist_ok=True)
                (place / kernel._cache._cache_file._index_name).write_bytes(pickle.dumps(Trap(trace)))
    for name in SETTINGS:
        (folder / name).write_text(f"cache_dir = {str(cache)!r}\nNUMBA_CACHE_DIR={cache}\n")


def test_no_command_runs_what_is_in_the_current_directory(tmp_path: Path) -> None:
    trace, here, texts = tmp_path / "trace", tmp_path / "here", tmp_path / "texts"
    for folder in (here, texts):
        folder.mkdir()
    put_traps(here, trace)
    before = sorted(here.rglob("*"))
    every_command.write_letters(texts)
    program = [sys.executable, every_command.__file__, str(texts)]
    done = subprocess.run(program, cwd=here, capture_output=True, text=True, check=False)
    assert not trace.exists(), trace.read_text()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}
    assert sorted(here.rglob("*")) == before  # and nothing was written there


def test_every_command_is_tried() -> None:
    assert {name.split()[0] for name in every_command.ASKED} | {"explore", "demo"} == set(commands_page.COMMANDS)


def test_processes_of_a_cluster_listen_on_this_machine_alone() -> None:
    with connect("local"):
        own = psutil.Process()
        listening = [
            connection.laddr.ip
            for process in [own, *own.children(recursive=True)]
            for connection in process.net_connections(kind="inet")
            if connection.status == psutil.CONN_LISTEN
        ]
    assert len(listening) > 2
    assert set(listening) == {"127.0.0.1"}
