"""Make the SBOM of each wheel reproducible: python .github/clean_sbom.py dist.

maturin writes the path of the build folder, the time and a random serial number into it. Two builds of one commit must
give the same bytes, and no wheel may name a folder of the machine that built it.
"""

import base64
import hashlib
import json
import re
import sys
import uuid
import zipfile
from pathlib import Path

SBOM = re.compile(r"[^/]+\.dist-info/sboms/[^/]+\.json")
# Cargo adds the package's name where the folder has another one.
BUILD_FOLDER = re.compile(r"path\+file://[^#\"]*#(?:sideline@)?")


def clean(text: str) -> str:
    """The SBOM without build folder and time, its serial number derived from its content.

    Descriptions and links of crates, which each `purl` leads to, are left out: a third of its compressed bytes.
    """
    bom = json.loads(BUILD_FOLDER.sub("path+file:///sideline#", text))
    bom["metadata"].pop("timestamp", None)
    bom.pop("serialNumber", None)
    for component in bom["components"]:
        for name in ("description", "externalReferences"):
            component.pop(name, None)
    content = json.dumps(bom, sort_keys=True)
    bom["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, content).urn
    return json.dumps(bom, separators=(",", ":"))


def record_line(name: str, content: bytes) -> str:
    """A file's line of RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def rewrite(wheel: Path) -> None:
    """Replace the SBOM in a wheel, and its line of RECORD."""
    with zipfile.ZipFile(wheel) as archive:
        entries = [(info, archive.read(info)) for info in archive.infolist()]
    cleaned = {
        info.filename: clean(content.decode()).encode() for info, content in entries if SBOM.fullmatch(info.filename)
    }
    if not cleaned:
        raise SystemExit(f"{wheel.name} holds no SBOM")
    partial = wheel.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w") as archive:
        for info, content in entries:
            content = cleaned.get(info.filename, content)
            if info.filename.endswith(".dist-info/RECORD"):
                lines = content.decode().splitlines()
                names = [line.rpartition(",")[0].rpartition(",")[0] for line in lines]
                content = "".join(
                    (record_line(name, cleaned[name]) if name in cleaned else line) + "\n"
                    for name, line in zip(names, lines, strict=True)
                ).encode()
            archive.writestr(info, content, compress_type=info.compress_type, compresslevel=9)
    partial.replace(wheel)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        for wheel in sorted(Path(folder).glob("*.whl")):
            rewrite(wheel)
