"""Linters of the OpenAPI document, and clients generated from it that compile: `python -m tests.generated_clients FOLDER`.

Needs npm for the linters and TypeScript, mvn and java for openapi-generator, go for Go. What is missing is named and
left out. The clients stay in the folder.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from app.main import openapi_document

GENERATOR = "org.openapitools:openapi-generator-cli"
VERSION = "7.14.0"
PACKAGES = ("@redocly/cli", "@stoplight/spectral-cli", "typescript")
CLIENTS: dict[str, tuple[list[str], list[str]]] = {
    "go": (["-g", "go"], ["go", "build", "-mod=mod", "./..."]),
    "java": (["-g", "java", "--library", "native"], ["mvn", "-q", "compile"]),
    "typescript": (
        ["-g", "typescript-fetch"],
        [
            "npx",
            "--no-install",
            "tsc",
            "--noEmit",
            "--strict",
            "--target",
            "es2022",
            "--moduleResolution",
            "bundler",
            "--module",
            "es2022",
            "src/index.ts",
        ],
    ),
}
"""Language → options of the generator, and what compiles it."""


def run(command: list[str], folder: Path) -> str | None:
    """Run a command in a folder; its last lines where it fails."""
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    said = (done.stdout + done.stderr).splitlines()
    return "\n".join(said[-30:]) if done.returncode else None


def generator_jar(folder: Path) -> Path:
    """The generator, from Maven's repository."""
    jar = folder / f"openapi-generator-cli-{VERSION}.jar"
    if not jar.exists():
        plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
        copied = f"-Dartifact={GENERATOR}:{VERSION}"
        failure = run(
            ["mvn", "-q", f"{plugin}:copy", copied, f"-DoutputDirectory={folder}"], folder
        )
        assert failure is None, failure
    return jar


def check(folder: Path) -> Iterator[tuple[str, str | None]]:
    """What was tried, and why it failed if it did."""
    document = folder / "openapi.json"
    document.write_text(json.dumps(openapi_document()), encoding="utf-8")
    if shutil.which("npm"):
        (folder / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n', encoding="utf-8")
        yield "npm", run(["npm", "install", "--silent", "--prefix", ".", *PACKAGES], folder)
        for tool in (
            ["redocly", "lint", "--extends=recommended"],
            ["spectral", "lint", "--fail-severity=warn"],
        ):
            yield tool[0], run(["npx", "--no-install", *tool, "openapi.json"], folder)
    if not (shutil.which("java") and shutil.which("mvn")):
        yield "openapi-generator", "java and mvn are not here"
        return
    jar = generator_jar(folder)
    for language, (options, build) in CLIENTS.items():
        if shutil.which(build[0]) is None:
            sys.stdout.write(f"{language}: {build[0]} is not here\n")
            continue
        client = folder / language
        shutil.rmtree(client, ignore_errors=True)
        written = ["-i", str(document), "-o", str(client)]
        yield (
            f"{language} generated",
            run(["java", "-jar", str(jar), "generate", *options, *written], folder),
        )
        yield f"{language} compiled", run(build, client)


def main() -> int:
    folder = Path(sys.argv[1]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for what, failure in check(folder):
        failed += failure is not None
        sys.stdout.write(f"{what}: {'ok' if failure is None else 'failed'}\n{failure or ''}")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
