"""A sample of pairs.py; `make check-migration` runs all pairs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checkout import FIXTURES


@pytest.mark.skipif(not FIXTURES.is_dir(), reason="the source models of other programs are not there")
def test_sample_of_source_model_pairs_migrates() -> None:
    command = [sys.executable, str(Path(__file__).with_name("pairs.py")), "--sample", "12", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
