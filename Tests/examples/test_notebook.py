"""The notebook runs from its first cell to the last, and shows tables and a diagram."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from programs import ROOT

NOTEBOOK = ROOT / "examples" / "notebook" / "podcasts.ipynb"
SECONDS = 60


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Executes the notebook in a kernel of this interpreter, and returns what each cell shows."""
    nbformat: Any = pytest.importorskip("nbformat", reason="the packages of scripts/requirements.txt are not installed")
    nbclient: Any = pytest.importorskip("nbclient", reason="the packages of scripts/requirements.txt are not installed")
    pytest.importorskip("ipykernel", reason="the packages of scripts/requirements.txt are not installed")
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "TMPDIR"):
            place = folder / name.lower()
            place.mkdir()
            patch.setenv(name, str(place))
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        client = nbclient.NotebookClient(
            notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        )
        client.execute()
    return ["".join(map(_shown, cell.outputs[-1:])) for cell in notebook.cells if cell.cell_type == "code"]


def _shown(output: Any) -> str:
    assert output.output_type == "execute_result", f"unexpected output: {output}"
    return str(output.data.get("text/html", output.data["text/plain"]))


def cells(page: str) -> list[str]:
    return re.findall("<td[^>]*>(.*?)</td>", page)


def test_the_notebook_shows_a_diagram_and_tables(pages: list[str]) -> None:
    model, container, episodes, favourite, bonus, *_ = pages
    assert model.startswith("<svg")
    assert "Model of 5 entities" in model
    assert cells(container)[3:] == ["Publisher", "2", "Show", "3", "Episode", "36", "Bonus", "0", "Tag", "4"]
    assert "36 Episode objects, the first 20 shown" in episodes
    assert "16 more objects" in episodes
    assert "2024-04-11 06:30" in episodes
    assert "Café Science" in favourite
    assert "12 objects" in favourite
    assert "inherits from Episode" in bonus


def test_the_notebook_queries_and_writes(pages: list[str]) -> None:
    found, sums, groups, counts, bonus, loaded, copy, closed = pages[5:]
    assert cells(found)[1] == "Old Maps"
    assert cells(sums)[:5] == ["Morning &lt;Brief&gt;", "Tageblatt", "330", "8", "220"]
    assert sorted(cells(groups)[3::4]) == ["3.98", "3.98", "3.98"]
    assert "{1: 9, 2: 27}" in counts
    assert "'tags.name': ['news']" in counts
    assert "Bonus new (inserted)" in bonus
    assert "LoadCounts(inserted=46, updated=0)" in loaded
    assert "Bonus</td>" in copy
    assert "Container (closed)" in closed


def test_the_notebook_is_committed_without_output() -> None:
    text = Path(NOTEBOOK).read_text(encoding="utf-8")
    assert '"outputs": []' in text
    assert '"execution_count": null' in text
    assert "image/png" not in text
