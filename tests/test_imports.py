"""Who may import whom (the table of the house), what stays out of an import, and what it costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BASE = {"errors", "i18n"}  # by anyone
ALLOWED = {
    "errors": set(),
    "i18n": set(),
    "records": set(),
    "sampling": {"records"},
    "theory": {"records", "sampling", "theory"},  # one residual in the house
    "timeline": {"records", "timeline"},
    "models": {"records", "models"},
    "models.toy": {"records", "models", "sampling"},
    "laws": {"records", "sampling"},
    "models.load": {"records", "models", "drafters"},  # a draft's name may name a way to draft
    "drafters": {"records", "sampling", "laws", "models", "drafters"},
    "recording": {"records", "sampling", "models"},
    "prompts": {"records", "models"},
    "request": {"records", "sampling", "laws", "drafters", "models", "prompts", "recording"},
    "decoding": {"records", "models", "prompts", "request"},
    "exact": {"records", "sampling", "laws", "theory", "models", "exact"},
    "simulation": {"records", "sampling", "theory", "exact", "simulation"},
    # a round of given numbers, recorded as any
    "byhand": {"records", "sampling", "theory", "recording", "models", "prompts"},
    "numerals": {"timeline"},  # numbers as a reader writes them
    "exercise": {"records", "sampling", "byhand", "numerals", "timeline", "exercise"},
    "measure": {"records", "theory"},
    "race": {"records", "measure", "timeline"},
    "files": set(),
    "consistency": {"records"},
    "export": {"records", "consistency", "timeline", "measure", "files"},
    "replay": {"records", "consistency", "timeline", "replay", "files"},
    "examples": {"records", "export", "examples"},
    "examples.__main__": {"__init__", "examples"},  # decodes anew, with the public names of specviz
    "figures": {"records", "measure", "theory", "exact", "simulation", "timeline", "figures"},
    "ui": {"*"},
    "cli": {"*"},
    "__init__": {"*"},
    "__main__": {"cli"},
}
# A trace knows how to write itself: methods that hand over to export and replay when they are called.
ALLOWED_INSIDE_FUNCTIONS = {("records", "export"), ("records", "replay")}
LIBRARIES = {
    "torch": {"models", "drafters", "decoding", "sampling"},
    "transformers": {"models", "drafters", "decoding", "sampling"},
    "streamlit": {"ui"},
    "plotly": {"figures"},
}


def modules() -> list[tuple[str, Path]]:
    package = ROOT / "specviz"
    return [(".".join(p.relative_to(package).with_suffix("").parts), p) for p in sorted(package.rglob("*.py"))]


def imports(path: Path) -> set[tuple[str, bool]]:
    """Dotted names that a module imports, and whether inside a function; `if TYPE_CHECKING:` blocks are left out."""
    found: set[tuple[str, bool]] = set()

    def visit(node: ast.AST, inside: bool) -> None:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            found.update((alias.name, inside) for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            found.update((f"{node.module}.{alias.name}", inside) for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    visit(ast.parse(path.read_text(encoding="utf-8")), False)
    return found


def room(dotted: str) -> str:
    return dotted.split(".")[0]


def violations(files: list[tuple[str, Path]]) -> list[str]:
    wrong = []
    for name, path in files:
        allowed = ALLOWED.get(name) or ALLOWED.get(room(name), set())
        for target, inside in imports(path):
            parts = target.split(".")
            if parts[0] == "specviz":
                other = parts[1] if len(parts) > 1 and _is_room(parts[1]) else "__init__"
                lazy = inside and (room(name), other) in ALLOWED_INSIDE_FUNCTIONS
                if other not in allowed | BASE and "*" not in allowed and not lazy:
                    wrong.append(f"{name} imports specviz.{other}")
            if parts[0] in LIBRARIES and room(name) not in LIBRARIES[parts[0]]:
                wrong.append(f"{name} imports {parts[0]}")
    return sorted(set(wrong))


def _is_room(name: str) -> bool:
    return (ROOT / "specviz" / name).is_dir() or (ROOT / "specviz" / f"{name}.py").is_file()


def test_nobody_imports_what_the_table_forbids():
    assert violations(modules()) == []


def test_the_table_test_catches_what_it_forbids(tmp_path):
    bad = tmp_path / "theory.py"
    bad.write_text("import torch\nfrom specviz.decoding import speculate\nfrom specviz import ui\n")
    assert violations([("theory", bad)]) == [
        "theory imports specviz.decoding",
        "theory imports specviz.ui",
        "theory imports torch",
    ]


@pytest.mark.parametrize("line", ["import specviz as sv", "import specviz", "from specviz import speculate"])
def test_the_table_test_catches_who_takes_the_whole_package(tmp_path, line):
    """Whoever imports the bare package can reach every room through it."""
    path = tmp_path / "module.py"
    path.write_text(f"{line}\n")
    for name in ("records", "theory", "figures.laws", "examples"):
        assert violations([(name, path)]) == [f"{name} imports specviz.__init__"]
    assert violations([(name, path) for name in ("ui.runs", "cli.terminal", "examples.__main__")]) == []


def test_every_module_is_in_the_table():
    assert {room(name) for name, _ in modules()} <= set(ALLOWED)


def test_pages_and_the_app_import_only_ui():
    for path in [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]:
        for target, _ in imports(path):
            if target.split(".")[0] == "specviz":
                assert target.startswith(("specviz.ui.", "specviz.i18n.")), f"{path.name} imports {target}"


def test_no_module_is_longer_than_300_lines_and_pages_are_thin():
    limits = [(path, 300) for _, path in modules()] + [(p, 80) for p in (ROOT / "pages").glob("*.py")]
    for path, limit in [*limits, (ROOT / "app.py", 60)]:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= limit, path


@pytest.mark.parametrize(
    "code",
    [
        "import specviz",
        "import specviz as sv; sv.theory.expected_tokens(0.8, 4); sv.theory.best_draft_length(0.8, 10)",
        "import specviz as sv; sv.Trace.from_json('tests/golden/trace_v1.json')",
        "import specviz as sv; sv.verify([[0.5, 0.5], [1, 0]], [[1, 0]], [0], [0.1], 0.5)",
        "import specviz.cli",
        "from specviz import examples; [(examples.load(n), examples.alone(n)) for n in examples.NAMES]",
    ],
)
def test_import_theory_and_replay_do_not_import_torch(code):
    check = "import sys; heavy = {'torch', 'transformers', 'streamlit'} & set(sys.modules); assert not heavy, heavy"
    subprocess.run([sys.executable, "-c", f"{code}; {check}"], cwd=ROOT, check=True, timeout=120)


def test_import_and_theory_fit_in_80_megabytes():
    """Peak memory of a fresh process: VmHWM begins anew at exec, where getrusage would hand down the parent's peak."""
    code = (
        "import specviz as sv; sv.theory.expected_tokens(0.8, 4); "
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    if not Path("/proc/self/status").exists():
        pytest.skip("peak memory of a process is read from Linux's /proc")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, timeout=120)
    assert int(done.stdout) * 1024 < 80e6
