"""The two stores of examples/stores, and the service that one of them needs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "examples" / "stores"))
from json_folder import JSONFolder
from rest_store import RESTStore
from server import Service

__all__ = ["HOST_TYPES", "JSONFolder", "RESTStore", "served"]
HOST_TYPES = ("JSONFolder", "REST")


@contextmanager
def served() -> Iterator[Service]:
    """A service with nothing in it."""
    with Service() as service:
        serving = threading.Thread(target=service.serve_forever, args=(0.005,))
        serving.start()
        try:
            yield service
        finally:
            service.shutdown()
            serving.join()
            service.objects.close()
