"""The rooms of the Python package: which module may import which. All of it is read from the source, by `ast`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = pytest.mark.source

NODES_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

PACKAGE = Path(__file__).parent.parent / "python" / "sideline"

AT_THE_ROOT = {"_core", "_lazy"}
"""Private modules at the root: the extension, and the helper of the doors."""

LATE = {("_client.season", "sideline.archive"), ("_engines.parts", "sideline._client")}
"""Imports by name at run time that would close a cycle: a worker that has only a plan builds the client of that plan."""


@dataclass(frozen=True)
class Import:
    """One imported name: where, from which module, and whether the statement is for type checkers alone."""

    importer: str
    module: str
    name: str
    line: int
    is_typing: bool


@dataclass
class Package:
    """The modules of a package by their dotted names, without that of the package itself, which is ""."""

    name: str
    folders: set[str] = field(default_factory=set)
    trees: dict[str, ast.Module] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path) -> Package:
        package = cls(root.name)
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            is_door = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_door else parts)
            package.trees[name] = ast.parse(path.read_text(encoding="utf-8"))
            if is_door:
                package.folders.add(name)
        return package

    def folder_of(self, module: str) -> str:
        """Return the folder that a module is in; a door is in its own."""
        return module if module in self.folders else module.rpartition(".")[0]

    def imports(self, module: str) -> Iterator[Import]:
        """Yield the imports of the package's own modules, also those within functions."""
        for node, is_typing in statements(self.trees[module]):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.partition(".")[0] == self.name:
                        yield Import(module, alias.name, "", node.lineno, is_typing)
            elif node.level:
                source = self._absolute(module, node)
                for alias in node.names:
                    yield Import(module, source, alias.name, node.lineno, is_typing)
            elif (node.module or "").partition(".")[0] == self.name:
                for alias in node.names:
                    yield Import(module, node.module or "", alias.name, node.lineno, is_typing)

    def _absolute(self, module: str, node: ast.ImportFrom) -> str:
        parts = self.folder_of(module).split(".") if self.folder_of(module) else []
        base = parts[: len(parts) - (node.level - 1)]
        return ".".join([*base, *((node.module or "").split(".") if node.module else [])])

    def targets(self, imported_name: Import) -> list[str]:
        """Return the modules that an import runs: the doors on its way, and the module that defines the name."""
        name = f"{imported_name.module}.{imported_name.name}".lstrip(".")
        if name in self.trees:
            return [name]
        if imported_name.module not in self.folders:
            return [imported_name.module]
        behind = next(
            (
                candidate
                for candidate in self.imports(imported_name.module)
                if candidate.name == imported_name.name and candidate.module != imported_name.module
            ),
            None,
        )
        return [imported_name.module] if behind is None else [imported_name.module, *self.targets(behind)]


def statements(tree: ast.AST, is_typing: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, is_typing
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for part, is_annotation in ((node.body, True), (node.orelse, is_typing)):
                yield from statements(ast.Module(part, []), is_annotation)
        else:
            yield from statements(node, is_typing)


# The rules. Each returns its violations.


def imports_of_the_package(package: Package) -> list[str]:
    """Imports of the package itself: by its name, or relative imports of what its root only passes on."""
    own_names = {node.name for node in package.trees[""].body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    violations = []
    for module in package.trees:
        for name_import in package.imports(module):
            is_absolute = name_import.module.partition(".")[0] == package.name and name_import.module not in package.trees
            is_from_root = name_import.module == "" and module != "" and not is_own_module(package, name_import) and name_import.name not in own_names
            if is_absolute or is_from_root:
                violations.append(f"{module or '__init__'}:{name_import.line} imports {name_import.name or name_import.module} from {package.name}")
    return violations


def is_own_module(package: Package, name_import: Import) -> bool:
    """Return whether `from .. import name` names a module. At run time only `_core` is one that its root does not pass on."""
    return name_import.name in AT_THE_ROOT or (name_import.is_typing and name_import.name in package.trees)


def imports_past_a_door(package: Package) -> list[str]:
    """Imports of a module from outside its folder, instead of from the folder's door."""
    violations = []
    for module in package.trees:
        for name_import in package.imports(module):
            name = f"{name_import.module}.{name_import.name}".lstrip(".")
            target = name if name in package.trees else name_import.module
            folder = target.rpartition(".")[0]
            importer_folder = package.folder_of(module)
            if folder and importer_folder != folder and not importer_folder.startswith(f"{folder}."):
                violations.append(f"{module or '__init__'}:{name_import.line} imports {target}, not from {folder}")
    return violations


def strays(package: Package) -> list[str]:
    """Private modules at the root that belong in a room."""
    return sorted(name for name in package.trees if name.startswith("_") and "." not in name and name not in package.folders | AT_THE_ROOT | {"__main__"})


def graph(package: Package, with_typing: bool = False) -> dict[str, set[str]]:
    """Return the modules that each module imports at run time, also within functions.

    A name that a door passes on leads to its module: a lazy door loads no other.
    """
    edges: dict[str, set[str]] = {module: set() for module in package.trees}
    for module, targets in edges.items():
        for name_import in package.imports(module):
            if with_typing or not name_import.is_typing:
                targets |= {target for target in package.targets(name_import) if target in package.trees and not is_above(target, module)}
    edges.pop("", None)
    return edges


def is_above(door: str, module: str) -> bool:
    """Return whether a door is that of a folder around the module, and loaded before it anyway."""
    return door == "" or module == door or module.startswith(f"{door}.")


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in edges.get(module, ()):
            if target not in index:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], index[target])
        if low[module] == index[module]:
            place = stack.index(module)
            group = stack[place:]
            del stack[place:]
            if len(group) > 1 or module in edges.get(module, ()):
                groups.append(sorted(group))

    for module in edges:
        if module not in index:
            visit(module)
    return sorted(groups)


def imports_by_name(package: Package) -> set[tuple[str, str]]:
    """Calls with the name of constant of the package's modules, outside the tables of the doors and the annotations of `LazyModule`."""
    calls = set()
    for module, tree in package.trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__", "load_later"):
                texts = [
                    constant.value
                    for argument in node.args
                    for constant in ast.walk(argument)
                    if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
                ]
                calls |= {(module, text) for text in texts if text.partition(".")[0] == package.name}
    return calls


def run_time_uses_of_lazy_modules(package: Package) -> list[str]:
    """Uses of a `LazyModule` of the package outside annotations: each would be an import that the graph does not show."""
    violations = []
    for module, tree in package.trees.items():
        lazy = set(lazy_modules(tree, package.name))
        annotations = {id(inner) for node in ast.walk(tree) for note in notes(node) for inner in ast.walk(note)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Load)
                and node.id in lazy
                and id(node) not in annotations
                and not is_shadowed(tree, node)
            ):
                violations.append(f"{module}:{node.lineno} uses {node.id}")
    return violations


def lazy_modules(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and "LazyModule" in ast.unparse(node.value) and f"{package}." in ast.unparse(node.value):
            names = [constant.id for target in node.targets for constant in ast.walk(target) if isinstance(constant, ast.Name)]
            texts = [constant.value for constant in ast.walk(node.value) if isinstance(constant, ast.Constant)]
            yield from (name for name, text in zip(names, texts, strict=True) if str(text).startswith(f"{package}."))


def notes(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the annotations of a statement or a parameter."""
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        yield node.returns


def is_shadowed(tree: ast.Module, name: ast.Name) -> bool:
    """Return whether the function around a name has its own binding of it."""
    around = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and name in ast.walk(node)]
    bindings = {inner.arg for node in around for inner in ast.walk(node.args) if isinstance(inner, ast.arg)}
    bindings |= {inner.id for node in around for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    return name.id in bindings


def doors_that_disagree(package: Package) -> list[str]:
    """Doors whose table differs from their imports for type checkers."""
    violations = []
    for door in sorted(package.folders - {""}):
        calls = [node for node in ast.walk(package.trees[door]) if isinstance(node, ast.Call) and ast.unparse(node.func) == "open_door"]
        if not calls:
            continue
        table = ast.literal_eval(calls[0].args[1])
        table_names = {(module, name) for module, names in table.items() for name in names.split()}
        typing_names = {
            (name_import.module.removeprefix(f"{door}."), name_import.name)
            for name_import in package.imports(door)
            if name_import.is_typing and name_import.module.startswith(f"{door}.")
        }
        violations += [f"{door}: {module}.{name}" for module, name in sorted(table_names ^ typing_names)]
    return violations


# The package.


@pytest.fixture(scope="module")
def sideline_package() -> Package:
    return Package.read(PACKAGE)


def test_no_module_imports_the_package_itself(sideline_package: Package) -> None:
    assert imports_of_the_package(sideline_package) == []


def test_other_rooms_import_from_the_door_alone(sideline_package: Package) -> None:
    assert imports_past_a_door(sideline_package) == []


def test_private_modules_are_in_rooms(sideline_package: Package) -> None:
    assert strays(sideline_package) == []


def test_no_imports_form_a_cycle(sideline_package: Package) -> None:
    assert cycles(graph(sideline_package)) == []


def test_few_imports_are_hidden_from_the_graph(sideline_package: Package) -> None:
    assert imports_by_name(sideline_package) == LATE
    assert run_time_uses_of_lazy_modules(sideline_package) == []


def test_doors_load_what_type_checkers_see(sideline_package: Package) -> None:
    assert doors_that_disagree(sideline_package) == []


# The rules can fail: each on a small package of its own.


def written(root: Path, files: dict[str, str]) -> Package:
    """Write a package and read it; each folder gets a door, and the root passes `Client` on."""
    package = root / "sideline"
    files = {"__init__.py": "from .api import Client", "api.py": "class Client: ...", "_core.py": ""} | files
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        for folder in path.relative_to(package).parents:
            (package / folder / "__init__.py").touch()
    return Package.read(package)


@pytest.mark.parametrize(
    ("source", "is_refused"),
    [
        ("import sideline", True),
        ("import sideline.api", True),
        ("from sideline import Client", True),
        ("from sideline.api import Client", True),
        ("def late():\n    import sideline", True),
        ("if TYPE_CHECKING:\n    import sideline", True),
        ("from . import Client", True),
        ("from . import api", True),
        ("def late():\n    from . import Client", True),
        ("from .api import Client", False),
        ("from . import _core", False),
        ("if TYPE_CHECKING:\n    from . import api", False),
        ("import sidelined", False),
    ],
)
def test_an_import_of_the_package_is_found(tmp_path: Path, source: str, is_refused: bool) -> None:
    assert bool(imports_of_the_package(written(tmp_path, {"user.py": source}))) == is_refused


@pytest.mark.parametrize(
    ("name", "source", "is_refused"),
    [
        ("user.py", "from ._room.inner import value", True),
        ("user.py", "from ._room import inner", True),
        ("user.py", "def late():\n    from ._room.inner import value", True),
        ("_other/user.py", "from .._room.inner import value", True),
        ("user.py", "from ._room.deep import value", True),
        ("user.py", "from ._room.deep.inner import value", True),
        ("user.py", "from ._room import value", False),
        ("_other/user.py", "from .._room import value", False),
        ("_room/user.py", "from .inner import value", False),
        ("_room/user.py", "from .deep import value", False),
        ("_room/user.py", "from .deep.inner import value", True),
        ("_room/deep/user.py", "from ..inner import value", False),
    ],
)
def test_an_import_past_a_door_is_found(tmp_path: Path, name: str, source: str, is_refused: bool) -> None:
    files = {"_room/inner.py": "value = 1", "_room/deep/inner.py": "value = 1", name: source}
    assert bool(imports_past_a_door(written(tmp_path, files))) == is_refused


def test_a_private_module_at_the_root_is_found(tmp_path: Path) -> None:
    assert strays(written(tmp_path, {"_helpers.py": "", "_room/inner.py": "", "__main__.py": "", "public.py": ""})) == ["_helpers"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"one.py": "from .two import value", "two.py": "from .one import value"}, [["one", "two"]]),
        ({"one.py": "from .two import value", "two.py": "def late():\n    from .one import value"}, [["one", "two"]]),
        ({"one.py": "from .two import value", "two.py": "if TYPE_CHECKING:\n    from .one import value"}, []),
        ({"one.py": "from .two import value", "two.py": "if TYPE_CHECKING:\n    x = 1\nelse:\n    from .one import value"}, [["one", "two"]]),
        ({"one.py": "from .two import value", "two.py": "from .three import value", "three.py": "from .one import value"}, [["one", "three", "two"]]),
        # A lazy door leads to the module that defines the name, and to no other of its room.
        (
            {
                "_room/__init__.py": "if TYPE_CHECKING:\n    from .a import first\n    from .b import second",
                "_room/a.py": "from ..one import value",
                "_room/b.py": "",
                "one.py": "from ._room import second",
            },
            [],
        ),
        (
            {
                "_room/__init__.py": "if TYPE_CHECKING:\n    from .a import first\n    from .b import second",
                "_room/a.py": "from ..one import value",
                "_room/b.py": "",
                "one.py": "from ._room import first",
            },
            [["_room.a", "one"]],
        ),
        # An eager door loads each of its modules.
        (
            {
                "room/__init__.py": "from .a import first\nfrom .b import second",
                "room/a.py": "from ..one import value",
                "room/b.py": "",
                "one.py": "from .room import second",
            },
            [["one", "room", "room.a"]],
        ),
    ],
)
def test_a_cycle_is_found(tmp_path: Path, files: dict[str, str], expected: list[list[str]]) -> None:
    assert cycles(graph(written(tmp_path, files))) == expected


def test_hidden_imports_are_found(tmp_path: Path) -> None:
    package = written(
        tmp_path,
        {
            "one.py": 'from importlib import import_module\nimport_module("sideline.api")\nimport_module("polars")',
            "two.py": 'api = LazyModule("sideline.api")\ndef run(client: "api.Client") -> api.Client:\n    return api.Client()',
            "three.py": 'polars, api = map(LazyModule, ("polars", "sideline.api"))\ndef run(api: int) -> "api.Client":\n    return api + polars',
        },
    )
    assert imports_by_name(package) == {("one", "sideline.api")}
    assert run_time_uses_of_lazy_modules(package) == ["two:3 uses api"]


def test_a_door_that_disagrees_is_found(tmp_path: Path) -> None:
    door = 'if TYPE_CHECKING:\n    from .a import first, second\nelse:\n    __getattr__ = open_door(__name__, {"a": "first third"})'
    assert doors_that_disagree(written(tmp_path, {"_room/__init__.py": door, "_room/a.py": ""})) == ["_room: a.second", "_room: a.third"]


TAG = re.compile(r"</?[a-z][a-z0-9]*( [a-z-]+=|/?>)")
"""An element of HTML or SVG; not `<sideline.Table …>`."""


def markup(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module that write HTML, and its imports of what escapes by hand."""
    docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, NODES_WITH_DOCSTRING)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (f"import {name}" for name in names if name in ("html", "xml.sax.saxutils") and not getattr(node, "level", 0))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docstrings and TAG.search(node.value):
            yield node.value


def test_html_is_written_in_template_files_alone() -> None:
    """But for the report, which takes its finished page apart for a notebook."""
    texts_by_module = {name: texts for name, tree in Package.read(PACKAGE).trees.items() if (texts := set(markup(tree)))}
    assert texts_by_module == {"archive._html_report": {"<style>", "</style>", "</main>"}}
    assert list(markup(ast.parse('f"<td>{value}</td>"'))) == ["<td>", "</td>"]
    assert list(markup(ast.parse("from html import escape"))) == ["import html"]


def test_a_template_never_switches_the_escaping_off() -> None:
    templates = list((PACKAGE / "templates").glob("*.html"))
    assert {path.name for path in templates} == {"capture.html", "live_page.html", "notebook.html", "overlay.html", "report.html"}
    assert not [path.name for path in templates if re.search(r"autoescape|\|\s*safe", path.read_text(encoding="utf-8"))]
