"""The Debian package: packed by CPack, judged by lintian."""

import os
from pathlib import Path

from releasing import build
from releasing.tree import Tree


def make(directory: Path, source: Tree, terms: Path, work: Path, finished: Path) -> Path:
    build.run(["cpack", "--config", directory / "CPackConfig.cmake", "-B", work,
               "-D", f"CPACK_PACKAGE_VERSION={source.version}",
               "-D", f"CPACK_CORDON_THIRD_PARTY={terms}"], source, what="cpack")
    products = list(work.glob("*.deb"))
    if len(products) != 1:
        raise build.Failed(f"cpack made {len(products)} packages in {work}")
    product = finished / products[0].name
    os.replace(products[0], product)
    return product


def check(product: Path) -> None:
    """Errors that packaging/debian/lintian-overrides does not explain end the release."""
    source = Tree(Path("/"), "", "", 0)
    # lintian warns when it works as root, where a build in a container does.
    words = ["lintian", "--allow-root", "--fail-on", "error", "--tag-display-limit", "0", product]
    build.run(words, source, what="lintian")
