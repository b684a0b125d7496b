"""Run the notebooks in a real kernel and save their outputs.

    python notebooks/run.py [NOTEBOOK ..]

Without credentials in the environment each notebook uses its own simulator. Meaningless data (times of cells, ids of widgets,
the kernel's version) is not saved; an output that differs only in ports and clocks is kept. Requires nbclient and ipykernel.
"""

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent

VOLATILE = "volatile"
"""The tag of a cell whose output differs in each run, because it shows progress."""

SPARK = "spark"
"""The tag of a cell that uses Spark, whose JVM writes notes about the machine to stderr."""

_PROGRESS = re.compile(r"\w+ \d+/\d+, [\d,]+ rows, ")

# Differences between runs in otherwise equal outputs.
_CHANGING = (
    (r"127\.0\.0\.1:\d+", "127.0.0.1:port"),
    (r"(request id )[0-9a-f-]{36}", r"\1…"),
    (r"(request id</th><td[^>]*>)[^<]+", r"\1…"),
    (r"(fetched</th><td[^>]*>)[^<]+", r"\1…"),
    (r"[\d,.]+/s, [\d.]+ s", "…/s, … s"),
    (r"\bin \d+\.\d+s\b", "in …s"),
    (r"last fetched: [^\n]+", "last fetched: …"),
)


def run(path: Path, folder: Path) -> Any:
    """Run a notebook in a folder, and return it without meaningless data."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(folder)}}, coalesce_streams=True
    ).execute()
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        if SPARK in cell.metadata.get("tags", ()):
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        if "outputs" in cell:
            # Progress is shown only on slow machines.
            cell.outputs = [output for output in cell.outputs if not _PROGRESS.match(_shown(output))]
        for output in cell.get("outputs", ()):
            output.pop("transient", None)
            if "metadata" in output:
                output["metadata"] = {}
            for place, text in _texts(output):
                # HTML has the slashes as references.
                for root, slash in ((str(folder), "/"), (str(folder).replace("/", "&#x2f;"), "&#x2f;")):
                    text = (text[0], text[1].replace(f"{root}{slash}", "").replace(root, "."))
                place[text[0]] = text[1]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def _shown(output: Any) -> str:
    data = output.get("data", {})
    return data["text/plain"] if set(data) == {"text/plain"} else ""


def shape(cell: Any) -> list[Any]:
    """Return the part of a cell's outputs that is equal in every run; for a volatile cell only their kinds."""
    stable = VOLATILE not in cell.metadata.get("tags", ())
    shown: list[Any] = []
    for output in cell.get("outputs", ()):
        texts = {name: _settled(text) for _, (name, text) in _texts(output)} if stable else {}
        shown.append((output["output_type"], output.get("name"), sorted(output.get("data", ())), texts))
    # The number of outputs changes too.
    return shown if stable else sorted({(kind, name, tuple(data)) for kind, name, data, _ in shown}, key=repr)


def pictures(cell: Any) -> list[str]:
    """Return the pictures that a cell shows, as PNG in base64."""
    return [output["data"]["image/png"] for output in cell.get("outputs", ()) if "image/png" in output.get("data", {})]


def _texts(output: Any) -> list[tuple[Any, tuple[str, str]]]:
    found = [(output, ("text", output["text"]))] if "text" in output else []
    data = output.get("data", {})
    return found + [(data, (name, text)) for name, text in data.items() if name.startswith("text/")]


def _settled(text: str) -> str:
    for pattern, settled in _CHANGING:
        text = re.sub(pattern, settled, text)
    return text


def main(names: list[str]) -> None:
    """Run the named notebooks, or all."""
    for path in [Path(name) for name in names] or sorted(FOLDER.glob("*.ipynb")):
        before = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            after = run(path, Path(folder).resolve())
        for old, new in zip(before.cells, after.cells, strict=True):
            # Pictures and volatile outputs are always replaced.
            if new.cell_type == "code" and VOLATILE not in new.metadata.get("tags", ()) and not pictures(new):
                new.outputs = old.outputs if shape(old) == shape(new) else new.outputs
        nbformat.write(after, path)
        print(path.name, f"{path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
