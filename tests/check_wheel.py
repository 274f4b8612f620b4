"""Install the wheel into a new environment and run the demonstration in an empty folder: ``check_wheel.py dist``."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

NEEDED = ("LICENSE", "py.typed", "pages/templates/base.html", "pages/static/figures.js", "benchmarking/suite.py")


def main() -> None:
    """Check what is in the packages, then use the wheel as a stranger would."""
    folder = Path(sys.argv[1]).resolve()
    (wheel,), (sdist,) = folder.glob("driftword-*.whl"), folder.glob("driftword-*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    for needed in NEEDED:
        assert any(name.endswith(needed) for name in names), f"{needed} is not in the wheel"
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "docs"))]
    with tarfile.open(sdist) as packed:
        inside = [name.partition("/")[2] for name in packed.getnames()]
    assert {"pyproject.toml", "README.md", "CITATION.cff", "tests/conftest.py"} <= set(inside)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        venv.create(Path(place) / "venv", with_pip=True)
        bin = Path(place) / "venv" / ("Scripts" if os.name == "nt" else "bin")
        # Neither the repository nor what its environment has may help.
        clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}

        def run(*command: object) -> str:
            return subprocess.run([str(c) for c in command], cwd=place, env=clean, check=True, text=True,
                                  stdout=subprocess.PIPE).stdout  # fmt: skip

        run(bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[demo]")
        installed = time.monotonic()
        shown = run(bin / "driftword", "demo", "--out", "demo")
        assert "report.html" in shown
        assert (Path(place) / "demo" / "report.html").stat().st_size > 1_000_000
        version = run(bin / "driftword", "--version").strip()
    done = time.monotonic()
    print(f"{version}: installed in {installed - begun:.0f} s, demonstration in {done - installed:.0f} s")


if __name__ == "__main__":
    main()
