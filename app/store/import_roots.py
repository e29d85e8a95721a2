"""Import roots: server files below folders that the operator allows, and no others.

A root is a folder or a prefix of a bucket. How a bucket is reached, and with which credentials, is
said by its root alone. A file is looked at again where it was opened: a link that leads out of the
root, put there a moment ago or long since, opens nothing.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import IO
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from app.errors import InvalidParameter, SourceChanged, SourceNotAllowed

MOST_FILES = 100_000
PARAMETER = "source"
OUTSIDE = (
    "The source does not lie below a root that imports are allowed from (CORNERWAVE_IMPORT_ROOTS)."
)


@dataclass(frozen=True)
class SourceFile:
    """A file as it was found; `seen` is what tells it from what it may become.

    where:
        root  the folder that it must lie in; None in a bucket
        name  without its folder
    """

    filesystem: fs.FileSystem
    path: str
    name: str
    seen: tuple[int, ...]
    root: str | None

    @contextmanager
    def opened(self) -> Iterator[IO[bytes] | pa.NativeFile]:
        """Its bytes; SourceChanged when it is gone."""
        try:
            if self.root is None:
                opened = self.filesystem.open_input_stream(self.path)
            else:
                opened = _opened_within(self.path, self.root)
        except FileNotFoundError:
            raise self._vanished() from None
        with opened as file:
            yield file

    def check(self) -> None:
        """SourceChanged when it is not the file that was found; another may have taken its name."""
        try:
            if self.root is None:
                now = _seen_in_bucket(self.filesystem.get_file_info(self.path))
            else:
                now = _seen(os.stat(self.path))
        except FileNotFoundError:
            raise self._vanished() from None
        if now != self.seen:
            raise SourceChanged(f"the file {self.name!r} changed while it was read")

    def _vanished(self) -> SourceChanged:
        return SourceChanged(f"the file {self.name!r} vanished while it was read")


@dataclass(frozen=True)
class ImportRoots:
    """Allowed import roots: folders, and prefixes of buckets."""

    roots: tuple[str, ...] = ()

    def find(self, source: str) -> list[SourceFile]:
        """The files that a source names, by name: one, those of a folder, or those of a pattern.

        SourceNotAllowed when it lies outside the roots; InvalidParameter when there are none.
        """
        if "\0" in source or not source.strip():
            raise InvalidParameter(
                "source must name a file, a folder or a pattern", parameter=PARAMETER
            )
        parts = urlsplit(source)
        if parts.scheme == "s3":
            found = self._in_buckets(source)
        elif parts.scheme in ("", "file"):
            found = self._in_folders(unquote(parts.path) if parts.scheme else source)
        else:
            raise SourceNotAllowed(OUTSIDE)
        if not found:
            raise InvalidParameter("there are no files at this source", parameter=PARAMETER)
        if len(found) > MOST_FILES:
            raise InvalidParameter(
                f"a source may have {MOST_FILES} files", parameter=PARAMETER, limit=MOST_FILES
            )
        return sorted(found, key=lambda file: file.name)

    def _in_folders(self, source: str) -> list[SourceFile]:
        folders = [root for root in self.roots if urlsplit(root).scheme in ("", "file")]
        allowed = False
        for root in map(_folder, folders):
            path = os.path.normpath(os.path.join(root, source))
            if path != root and not path.startswith(root.rstrip("/") + "/"):
                continue
            allowed = True
            if found := _files_of_folder(path, os.path.realpath(root)):
                return found
        if not allowed:
            raise SourceNotAllowed(OUTSIDE)
        return []

    def _in_buckets(self, source: str) -> list[SourceFile]:
        asked = urlsplit(source)
        # What reaches the bucket is the operator's to say: no credentials, no other server.
        if not asked.query and "@" not in asked.netloc:
            path = posixpath.normpath(asked.netloc + unquote(asked.path))
            for root in self.roots:
                if urlsplit(root).scheme != "s3":
                    continue
                filesystem, prefix = fs.FileSystem.from_uri(root)
                prefix = prefix.rstrip("/")
                if path == prefix or path.startswith(prefix + "/"):
                    return _files_of_bucket(filesystem, path)
        raise SourceNotAllowed(OUTSIDE)


def _folder(root: str) -> str:
    parts = urlsplit(root)
    return os.path.normpath(unquote(parts.path) if parts.scheme else root)


def _files_of_folder(path: str, root: str) -> list[SourceFile]:
    local = fs.LocalFileSystem()
    folder, pattern = os.path.split(path)
    if os.path.isdir(path):
        folder, pattern = path, "*"
    try:
        # Resolved before any error could reveal something about it.
        if not _within(os.path.realpath(folder), root):
            raise SourceNotAllowed(OUTSIDE)
        names = [name for name in os.listdir(folder) if _matches(name, pattern)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for name in names:
        file = os.path.join(folder, name)
        if not _within(os.path.realpath(file), root):
            raise SourceNotAllowed(OUTSIDE)
        try:
            known = os.stat(file)
        except OSError:  # gone, or a link that leads to itself
            continue
        if stat.S_ISREG(known.st_mode):
            found.append(SourceFile(local, file, name, _seen(known), root))
    return found


def _files_of_bucket(filesystem: fs.FileSystem, path: str) -> list[SourceFile]:
    one = filesystem.get_file_info(path)
    folder, pattern = posixpath.split(path)
    if one.type is fs.FileType.File:
        listed: Sequence[fs.FileInfo] = [one]
        pattern = one.base_name
    else:
        if one.type is fs.FileType.Directory:
            folder, pattern = path, "*"
        listed = filesystem.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    return [
        SourceFile(filesystem, info.path, info.base_name, _seen_in_bucket(info), None)
        for info in listed
        if info.type is fs.FileType.File and _matches(info.base_name, pattern)
    ]


def _matches(name: str, pattern: str) -> bool:
    return not name.startswith(".") and (name == pattern or fnmatchcase(name, pattern))


def _within(path: str, root: str) -> bool:
    return path == root or PurePosixPath(path).is_relative_to(root)


def _opened_within(path: str, root: str) -> IO[bytes]:
    # Without waiting: a pipe that was put in the file's place would never come to an end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(descriptor, "rb")
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError
        # What was opened, by whichever way, and not what the path leads to a moment later.
        if not _within(os.path.realpath(f"/proc/self/fd/{descriptor}"), root):
            raise SourceNotAllowed(OUTSIDE)
    except BaseException:
        file.close()
        raise
    return file


def _seen(known: os.stat_result) -> tuple[int, ...]:
    return (known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns)


def _seen_in_bucket(info: fs.FileInfo) -> tuple[int, ...]:
    if info.type is not fs.FileType.File:
        raise FileNotFoundError
    return (info.size, info.mtime_ns)
