"""The executor that a published release carries, where an ordinary user can read it, and pins."""

import hashlib
import shutil
from pathlib import Path

import sdk
from support import harness

KEY = "linux-" + {"arm64": "arm64", "x64": "x86_64"}[sdk.ARCH]
RELEASE = "0.8.0"

_shipped: Path | None = None


def shipped() -> Path:
    """A directory for MXC_BIN_DIR with the release's own executor."""
    global _shipped
    if _shipped is None:
        place = harness.stage().path / "shipped"
        (place / sdk.ARCH).mkdir(parents=True, mode=0o755)
        shutil.copy(sdk.shipped(RELEASE), place / sdk.ARCH / "lxc-exec")
        _shipped = place
    return _shipped


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pin(world, sha256: str, **more) -> Path:
    lines = {"sha256": sha256, "version": RELEASE, **more}
    text = f"version = 1\n[executors.{KEY}]\n" + "".join(f'{k} = "{v}"\n' for k, v in lines.items())
    path = world.write(world.home / ".config/cordon/pins.toml", text, 0o600)
    path.parent.chmod(0o700)
    return path


def pinned(world) -> dict:
    """The environment in which the shipped executor is found, after pinning it."""
    pin(world, digest(shipped() / sdk.ARCH / "lxc-exec"))
    return {"MXC_BIN_DIR": str(shipped())}


def own(world, text: str | bytes) -> dict:
    """The same for an executor of the test's own, which is pinned as it is now."""
    path = world.write(world.path / "bin" / "lxc-exec", text, 0o755)
    pin(world, digest(path))
    return {"MXC_BIN_DIR": str(path.parent)}
