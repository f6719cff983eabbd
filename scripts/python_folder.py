"""Prints the folder below a prefix from which this interpreter imports packages. Usage: python_folder.py PREFIX"""

from __future__ import annotations

import sys

prefix = sys.argv[1].rstrip("/")
folders = [each for each in sys.path if each.startswith(f"{prefix}/") and each.endswith(("-packages",))]
# Without one, the interpreter belongs to another prefix; PYTHONDIR then names its folder.
print(folders[0] if folders else f"{prefix}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")
