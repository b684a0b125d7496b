"""Checks what an index serves: python .github/check_published.py DIST

The wheel that pip downloads for this system has the bytes of the file in DIST, which was tested, and works in an environment of its
own. pip's settings name the index (PIP_INDEX_URL). Exit status 1: other bytes, or it does not work.
"""

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ATTEMPTS = 10
PAUSE_SECONDS = 30
SMOKE = Path(__file__).parent / "smoke.py"


def main() -> int:
    dist = Path(sys.argv[1])
    version = next(dist.glob("sideline-*.tar.gz")).name.removeprefix("sideline-").removesuffix(".tar.gz")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        download = ["download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--dest", folder]
        for left in reversed(range(ATTEMPTS)):
            if subprocess.run([*pip, *download, f"sideline=={version}"]).returncode == 0:
                break
            # An index shows a new file only after a while.
            time.sleep(PAUSE_SECONDS if left else 0)
        else:
            return 1
        [served] = folder.glob("*.whl")
        if served.read_bytes() != (dist / served.name).read_bytes():
            print(f"{served.name}: the index serves other bytes than those that were tested", file=sys.stderr)
            return 1
        subprocess.run([*pip, "install", "--no-index", "--no-deps", served], check=True)
        subprocess.run([python, "-I", SMOKE], check=True, cwd=folder)
        print(f"{served.name}: the index serves the bytes that were tested")
    return 0


if __name__ == "__main__":
    sys.exit(main())
