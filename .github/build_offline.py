"""Builds the wheel from a source distribution, with vendored crates and no network: python .github/build_offline.py SDIST OUT

The wheel goes to OUT, before `make finish-wheels`. The paths that a panic may name are those of a build from a clone, so that both
give the same bytes. RUSTFLAGS and CARGO_TARGET_DIR are set here.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CONFIG = """
[source.crates-io]
replace-with = "vendored"

[source.vendored]
directory = "{folder}"

[net]
offline = true
"""
REGISTRY = "index.crates.io-1949cf8c6b5b557f"
"""The folder of cargo's registry, of which a clone's build has the sources: a name that cargo derives from the address."""


def main() -> None:
    sdist, out = (Path(argument).resolve() for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        source = folder / sdist.name.removesuffix(".tar.gz")
        vendored, home = folder / "vendored", folder / "cargo"
        command = ["cargo", "vendor", "--quiet", "--locked", "--versioned-dirs", vendored]
        subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL)
        # From here on there is no registry: cargo's home is empty.
        home.mkdir()
        (home / "config.toml").write_text(CONFIG.format(folder=vendored.as_posix()), encoding="utf-8")
        flags = f"--remap-path-prefix={vendored}=crates/{REGISTRY} --remap-path-prefix={source}=sideline"
        env = {**os.environ, "CARGO_HOME": str(home), "CARGO_TARGET_DIR": str(folder / "target"), "RUSTFLAGS": flags}
        build = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--offline"]
        subprocess.run([*build, "--compression-level", "9", "--out", out], cwd=source, env=env, check=True)


if __name__ == "__main__":
    main()
