"""Release into dist/: wheels, image context, SBOM, checksums, changelog section (`make release`).

Equal commits give equal bytes: times come from the commit (`SOURCE_DATE_EPOCH`), files from git.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from app.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
UV = str(Path(sys.executable).with_name("uv"))
SBOM_TOOL = "cyclonedx-bom==7.0.0"


def run(*command: str | Path, **environment: str) -> bytes:
    """Run a command in the checkout and return what it prints."""
    inherited = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return subprocess.run(
        command, cwd=ROOT, env=inherited | environment, check=True, stdout=subprocess.PIPE
    ).stdout


def commit_time() -> str:
    """Return the time of the commit in seconds, as SOURCE_DATE_EPOCH has it."""
    return (
        os.environ.get("SOURCE_DATE_EPOCH")
        or run("git", "log", "-1", "--format=%ct").decode().strip()
    )


def build_wheels(folder: Path) -> list[Path]:
    """Build the wheels of the service and of the client."""
    for project in (ROOT, ROOT / "client"):
        run(
            UV,
            "build",
            "--quiet",
            "--wheel",
            "--out-dir",
            folder,
            project,
            SOURCE_DATE_EPOCH=commit_time(),
        )
    (folder / ".gitignore").unlink(missing_ok=True)
    return sorted(folder.glob("*.whl"))


def image_files() -> list[str]:
    """Return what the image is built from, as .dockerignore lets it through."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    return ["Dockerfile", ".dockerignore", *(line[1:] for line in lines if line.startswith("!"))]


def build_image_context(folder: Path) -> Path:
    """Pack what the image is built from: `docker build - < FILE`."""
    packed = folder / f"cornerwave-image-{VERSION}.tar.gz"
    tar = run("git", "archive", "--format=tar", "HEAD", *image_files())
    packed.write_bytes(gzip.compress(tar, mtime=0))
    return packed


def build_sbom(folder: Path) -> Path:
    """List the locked packages of the service as CycloneDX JSON."""
    made = folder / f"cornerwave-{VERSION}.cdx.json"
    tool = [UV, "tool", "run", "--quiet", "--from", SBOM_TOOL, "cyclonedx-py"]
    run(*tool, "requirements", "requirements.txt", "--output-reproducible", "--output-file", made)
    return made


def changelog_section(version: str) -> str:
    """Return what CHANGELOG.md says of a version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (found,) = re.findall(
        rf"^## \[{re.escape(version)}].*?(?=^## \[|\Z)", text, re.MULTILINE | re.DOTALL
    )
    return str(found)


def write_checksums(folder: Path, files: list[Path]) -> Path:
    """Write the SHA-256 of every file, as sha256sum reads it."""
    made = folder / "SHA256SUMS"
    sums = [
        f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in sorted(files)
    ]
    made.write_text("".join(sums), encoding="ascii")
    return made


def main() -> None:
    """Build everything anew and name it."""
    folder = ROOT / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    changes = folder / f"CHANGES-{VERSION}.md"
    changes.write_text(changelog_section(VERSION), encoding="utf-8")
    files = [*build_wheels(folder), build_image_context(folder), build_sbom(folder), changes]
    for made in (*files, write_checksums(folder, files)):
        print(made.relative_to(ROOT))


if __name__ == "__main__":
    main()
