"""What leaves the house: the lock, the licences, the image, the wheel, and files that are the same on every system."""

import ast
import http.server
import os
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest
import yaml

from release import dockerfile, health
from release.licences import ALLOWED, alternatives
from release.lock import blocks, pins
from specviz import examples

ROOT = Path(__file__).parents[1]
SOURCES = ("specviz", "pages", "training", "docs", "benchmarks", "release")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


STEPS = list(dockerfile.steps(text("Dockerfile")))


def of(instruction: str) -> list[dockerfile.Step]:
    return [step for step in STEPS if step.instruction == instruction]


class TestLock:
    def test_it_has_every_pin_of_the_default_install_but_torch(self):
        wanted, locked = pins(text("requirements.txt")), pins(text("requirements.lock"))
        assert {name: locked.get(name) for name in wanted} == wanted | {"torch": None}

    def test_every_package_has_hashes(self):
        found = blocks(text("requirements.lock"))
        assert len(found) == len(pins(text("requirements.lock")))
        assert all("--hash=sha256:" in block for block in found)

    def test_nothing_is_installed_from_an_address(self):
        for name in ("requirements.lock", "requirements.txt", "requirements-dev.txt", "Dockerfile", "compose.yaml"):
            assert "://" not in text(name), name
            assert not any(option in text(name) for option in ("--index", "--extra-index", "--find-links")), name

    def test_a_build_of_torch_is_nowhere_in_it(self):
        assert not [
            name for name in pins(text("requirements.lock")) if name.startswith(("torch", "nvidia", "cuda", "triton"))
        ]

    def test_the_image_locks_with_the_uv_that_made_the_lock(self):
        assert f"uv=={pins(text('requirements-dev.txt'))['uv']} " in text("Dockerfile")


ROWS = [line.split("|") for line in text("docs/licences.md").splitlines() if line.startswith("| ")]
LISTED = {row[1].strip(): (row[2].strip(), row[3].strip()) for row in ROWS[1:]}


class TestLicences:
    def test_every_package_of_the_default_install_is_listed(self):
        wanted = pins(text("requirements.lock")) | pins(text("requirements.txt"))
        assert {name: version for name, (version, _) in LISTED.items()} == wanted

    def test_none_has_a_licence_that_is_not_allowed(self):
        said = {name: alternatives(said) for name, (_, said) in LISTED.items()}
        assert {name: names for name, names in said.items() if not set(names) <= ALLOWED} == {}

    @pytest.mark.parametrize("said", ["GPL-3.0-only", "MIT AND GPL-2.0-or-later", "UNKNOWN", ""])
    def test_what_is_not_allowed_is_found(self, said):
        assert not set(alternatives(said)) <= ALLOWED


class TestImage:
    def test_what_it_copies_is_what_the_build_sends(self):
        sources = {word for step in of("COPY") for word in step.words[:-1]}
        sent = {line[1:] for line in text(".dockerignore").splitlines() if line.startswith("!")}
        assert sources == sent
        assert all((ROOT / source).exists() for source in sources)

    def test_it_runs_as_a_user_without_rights(self):
        assert [step.text for step in of("USER")] == ["1000:1000"]
        assert STEPS.index(of("USER")[0]) < STEPS.index(of("CMD")[0])
        assert not [step for step in STEPS[STEPS.index(of("USER")[0]) :] if step.instruction in ("RUN", "COPY")]

    def test_its_base_and_its_packages_are_pinned(self):
        assert of("FROM")[0].text == "python:3.11-slim-bookworm"
        assert "--require-hashes -r requirements.lock" in of("RUN")[0].text

    def test_its_build_of_torch_is_the_cpu_one_unless_told(self):
        assert dockerfile.assigned(of("ARG")[0], {}) == {"TORCH": "cpu"}

    def test_the_clean_root_reads_the_words_that_docker_reads(self):
        read = list(
            dockerfile.steps('# said\nRUN a \\\n # a comment within\n && b\nENV P=/x:$P Q=${P}\nCMD ["c d", "e"]')
        )
        assert [step.text.split() for step in read[:1]] == [["a", "&&", "b"]]
        assert dockerfile.assigned(read[1], {"P": "/y"}) == {"P": "/x:/y", "Q": "/y"}
        assert read[2].words == ["c d", "e"]
        assert of("HEALTHCHECK")[0].words == ["python3", "release/health.py"]


class TestHealth:
    @pytest.fixture
    def server(self):
        class Well(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if self.path == "/talk/spec/_stcore/health" else 404)
                self.end_headers()

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Well) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            yield server.server_port
            server.shutdown()
            thread.join()

    def ask(self, port: int, base: str) -> subprocess.CompletedProcess[str]:
        told = {"STREAMLIT_SERVER_PORT": str(port), "STREAMLIT_SERVER_BASE_URL_PATH": base}
        command = [sys.executable, str(ROOT / "release" / "health.py")]
        return subprocess.run(command, env=os.environ | told, capture_output=True, encoding="utf-8", check=False)

    @pytest.mark.parametrize("base", ["talk/spec", "/talk/spec/"])
    def test_it_asks_where_the_app_listens(self, server, base):
        assert self.ask(server, base).returncode == 0

    def test_an_app_that_is_not_well_is_told_in_a_sentence(self, server):
        sick = self.ask(server, "")
        assert sick.returncode == 1
        assert sick.stderr == f"http://127.0.0.1:{server}/_stcore/health: HTTP Error 404: Not Found\n"

    def test_without_variables_it_is_streamlits_own_address(self, monkeypatch):
        for name in ("STREAMLIT_SERVER_PORT", "STREAMLIT_SERVER_BASE_URL_PATH"):
            monkeypatch.delenv(name, raising=False)
        assert health.address() == "http://127.0.0.1:8501/_stcore/health"


class TestCompose:
    SERVICES = yaml.safe_load(text("compose.yaml"))["services"]

    @pytest.mark.parametrize("name", ["app", "gpu"])
    def test_it_gives_the_app_no_more_than_it_needs(self, name):
        service = self.SERVICES[name]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["tmpfs"] == ["/tmp"]
        assert {"mem_limit", "pids_limit", "stop_grace_period"} <= set(service)
        assert [volume.partition(":")[2] for volume in service["volumes"]] == of("VOLUME")[0].words
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert service["environment"] == {"SPECVIZ_HOSTED": "1"}

    def test_a_gpu_is_asked_for_only_by_its_profile(self):
        assert self.SERVICES["gpu"]["profiles"] == ["gpu"]
        assert self.SERVICES["gpu"]["build"]["args"] == {"TORCH": "cu130"}
        assert "profiles" not in self.SERVICES["app"]


class TestWheel:
    def test_the_package_data_are_all_files_that_are_no_code(self):
        package, data = ROOT / "specviz", tomllib.loads(text("pyproject.toml"))["tool"]["setuptools"]["package-data"]
        shipped = {path for pattern in data["specviz"] for path in package.glob(pattern)}
        here = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
        assert sorted(p.as_posix() for p in here - shipped if p.suffix != ".py") == []

    def test_every_folder_of_code_is_a_package(self):
        """setuptools takes only those with an __init__.py."""
        folders = {path.parent for path in (ROOT / "specviz").rglob("*.py")}
        assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def files_without(source: str) -> list[str]:
    """Calls that read or write text in whatever encoding, or with whatever newlines, the system has."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = {word.arg for word in node.keywords}
        modes = {
            word.value for word in [*node.args, *(k.value for k in node.keywords)] if isinstance(word, ast.Constant)
        }
        opens = name == "open" and (isinstance(node.func, ast.Name) or modes & {"r", "w", "a", "x"})
        binary = any(isinstance(mode, str) and "b" in mode and len(mode) <= 3 for mode in modes)
        if (name in ("read_text", "write_text") or (opens and not binary)) and "encoding" not in given:
            found.append(f"line {node.lineno}: {name} without encoding=")
        if name == "write_text" and "newline" not in given:
            found.append(f"line {node.lineno}: write_text without newline=")
    return found


def test_every_text_file_states_its_encoding_and_newline():
    files = [ROOT / "app.py", *(path for folder in SOURCES for path in (ROOT / folder).rglob("*.py"))]
    wrong = {str(path.relative_to(ROOT)): files_without(path.read_text(encoding="utf-8")) for path in files}
    assert {path: found for path, found in wrong.items() if found} == {}


@pytest.mark.parametrize("call", ["open('a', {})", "p.open('w', {})", "p.read_text({})", "p.write_text('x', {})"])
def test_a_text_file_without_an_encoding_is_found(call):
    assert files_without(call.format("newline='\\n'"))
    assert not files_without(call.format("encoding='utf-8', newline='\\n'"))


def test_a_text_file_without_a_newline_is_found():
    assert files_without("p.write_text('x', encoding='utf-8')")
    assert files_without("reader.open(prompt); open('a', 'rb'); p.write_bytes(b'')") == []


def test_saved_files_have_the_bytes_of_their_text(tmp_path):
    """Whatever the system's own encoding and newline are: what is written is the text that is returned, in UTF-8."""
    trace = examples.load("code")
    for write in (trace.to_csv, trace.to_json, trace.to_html):
        write(tmp_path / "file")
        data = (tmp_path / "file").read_bytes()
        assert data == write().encode("utf-8")
        assert b"\r\n" not in data


def test_git_keeps_the_newlines_of_every_text_file():
    assert "* text=auto eol=lf" in text(".gitattributes").splitlines()
