import sys
from pathlib import Path

from support.without_namespaces import net, world  # noqa: F401

# Cases of these are repeated here, and import each other by their bare names.
sys.path.append(str(Path(__file__).resolve().parents[1] / "egress"))
