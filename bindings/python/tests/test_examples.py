"""The programs under examples/ do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, environment

STATUS = """\
Package: libbase
Status: install ok installed
Priority: required
Section: libs
Installed-Size: 2048
Maintainer: Base Team <base@example.org>
Architecture: amd64
Essential: yes
Version: 1.0-1
Provides: libbase-abi (= 1), libold
Description: base library
 More about it.
 .
 And more.

Package: tool
Status: install ok installed
Section: utils
Installed-Size: 5000
Maintainer: "Tool Person, Jr." <tool@example.org>
Architecture: amd64
Version: 2:3.4
Pre-Depends: libbase (>= 1.0)
Depends: missing | libold, data:any
Homepage: https://example.org/tool
Description: tool

Package: data
Status: install ok installed
Section: utils
Installed-Size: 9000
Maintainer: Base Team <base@example.org>
Architecture: all
Version: 7
Depends: libbase-abi
Description: data

Package: gone
Status: deinstall ok config-files
Section: utils
Maintainer: Unknown
Architecture: all
Version: 1
Description: removed
"""


def run(program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "examples" / program), *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_ten_lines_example_runs(tmp_path: Path) -> None:
    done = run("python/ten_lines.py", folder=tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == "Grace 85\n"
    assert len((ROOT / "examples/python/ten_lines.py").read_text(encoding="utf-8").splitlines()) <= 12


@pytest.fixture
def status(tmp_path: Path) -> str:
    path = tmp_path / "status"
    path.write_text(STATUS, encoding="utf-8")
    return str(path)


def test_package_example_imports_and_reports(tmp_path: Path, status: str) -> None:
    done = run("packages/importer.py", "packages.store", status, folder=tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "3 packages (3 new, 0 changed), 2 maintainers, 2 sections, 3 dependencies" in done.stdout
    again = run("packages/importer.py", "packages.store", status, folder=tmp_path)
    assert "3 packages (0 new, 0 changed), 2 maintainers, 2 sections, 3 dependencies" in again.stdout
    Path(status).write_text(STATUS.replace("Version: 7", "Version: 8"), encoding="utf-8")
    changed = run("packages/importer.py", "packages.store", status, folder=tmp_path)
    assert "3 packages (0 new, 1 changed)" in changed.stdout

    before = (tmp_path / "packages.store").read_bytes()
    report = run("packages/report.py", "packages.store", folder=tmp_path)
    assert (report.stderr, report.returncode) == ("", 0)
    assert "The most depended-on package is libbase 1.0-1: 2 packages need it" in report.stdout
    assert re.search(r"^  data +8\.8 MB", report.stdout, re.MULTILINE)
    assert re.search(r"^  utils +2 +13\.7 MB$", report.stdout, re.MULTILINE)
    assert re.search(r"^  Base Team +2 +base@example\.org$", report.stdout, re.MULTILINE)
    assert "Deleting Base Team, who maintains data, libbase" in report.stdout
    assert "Changed by the second context" in report.stdout
    assert (tmp_path / "packages.store").read_bytes() == before


def test_report_fails_when_the_maintainer_does_not_exist(tmp_path: Path, status: str) -> None:
    Path(status).write_text(STATUS.replace("Section: libs", "Section: other"), encoding="utf-8")
    assert run("packages/importer.py", "packages.store", status, folder=tmp_path).returncode == 0
    report = run("packages/report.py", "packages.store", folder=tmp_path)
    assert report.returncode == 1
    assert report.stderr.startswith('report.py: the table "maintainer" does not have rows')


def test_importing_an_empty_file_fails(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("", encoding="utf-8")
    done = run("packages/importer.py", "packages.store", "empty", folder=tmp_path)
    assert done.returncode == 1
    assert "does not contain an installed package" in done.stderr
    assert run("packages/importer.py", folder=tmp_path).returncode == 2
    assert run("packages/report.py", folder=tmp_path).returncode == 2
    assert run("packages/report.py", "missing.store", folder=tmp_path).returncode != 0


def test_open_store_example_describes_a_store(tmp_path: Path, status: str) -> None:
    assert run("packages/importer.py", "packages.store", status, folder=tmp_path).returncode == 0
    done = run("python/open_store.py", "packages.store", folder=tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "7 objects of 3 entities" in done.stdout
    assert "its model is cached" in done.stdout
    assert re.search(r"^ +3  Package$", done.stdout, re.MULTILINE)
    assert "libbase" not in done.stderr
    assert len(done.stdout.splitlines()) < 50
    missing = run("python/open_store.py", "missing.store", folder=tmp_path)
    assert missing.returncode == 1
    assert "missing.store" in missing.stderr
    assert "Traceback" not in missing.stderr


def test_package_readme_example_runs(tmp_path: Path) -> None:
    page = (ROOT / "bindings/python/README.md").read_text(encoding="utf-8")
    program = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == "Ada R&D\n[['Ada'], [Decimal('5200')]]\n"
