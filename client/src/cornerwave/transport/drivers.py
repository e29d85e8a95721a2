"""Blocking and asynchronous driver that run an operation."""

from __future__ import annotations

import asyncio
import functools
import time
import uuid
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import httpx

from cornerwave.problems import NotCornerwave, UnlikeService
from cornerwave.transport.bodies import Body
from cornerwave.transport.calls import (
    ACCEPTED,
    Answer,
    Call,
    Flow,
    Pause,
    ProgressBar,
    Step,
    ThreadTask,
)
from cornerwave.transport.progress import Progress, silent
from cornerwave.transport.retries import Attempts, Retries
from cornerwave.transport.service_identity import check_head, unlike
from cornerwave.version import VERSION

P = ParamSpec("P")
T = TypeVar("T")

TIMEOUT = httpx.Timeout(30.0, read=900.0, write=900.0)
"""Seconds. The first copy of a large table is long in coming; to connect is not."""


class _Driver:
    """Base of both drivers: address, key, and building of requests."""

    def __init__(self, url: str, key: str, retries: Retries, progress: Progress) -> None:
        self.url = url.rstrip("/")
        self.retries = retries
        self.progress = progress
        self._headers = {
            "Authorization": f"Bearer {key}",
            "User-Agent": f"cornerwave-python/{VERSION}",
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"

    def not_cornerwave(self, step: Step | None, given: UnlikeService) -> NotCornerwave:
        """Return the error for an answer that no service gives."""
        return NotCornerwave(unlike(self.url, step if isinstance(step, Call) else None, str(given)))

    def headers_of(self, call: Call, once: str) -> dict[str, str]:
        """The headers of this try; `once` is the same for all tries of a call."""
        made = {"Accept": call.accept, **call.headers}
        if call.body is not None:
            made["Content-Type"] = call.body.media_type
            if call.body.size is not None:
                made["Content-Length"] = str(call.body.size)
        if call.changes:
            made["Idempotency-Key"] = once
        if call.into is not None:
            # Ranges count the bytes that are written, so that nothing may be packed on the way.
            made |= {"Accept-Encoding": "identity", **call.into.headers()}
        return made


class Driver(_Driver):
    """Runs an operation and blocks until it is done."""

    def __init__(self, url: str, key: str, retries: Retries, progress: Progress = silent) -> None:
        super().__init__(url, key, retries, progress)
        self._http = httpx.Client(base_url=self.url, headers=self._headers, timeout=TIMEOUT)
        # A session in a notebook is never closed by hand.
        weakref.finalize(self, self._http.close)

    def run(self, flow: Flow[T]) -> T:
        """Run an operation and return its result; an interrupted one is reported as abandoned."""
        step: Step | None = None
        try:
            step = next(flow)
            while True:
                try:
                    got = self._done(step)
                except Exception as error:  # noqa: PERF203  # a request costs more
                    # An operation may know what to do about it.
                    step = flow.throw(error)
                else:
                    step = flow.send(got)
        except StopIteration as done:
            result: T = done.value
            return result
        except UnlikeService as error:
            raise self.not_cornerwave(step, error) from None
        except KeyboardInterrupt:
            if (last := abandoned_by(step)) is not None:
                with suppress(httpx.HTTPError, NotCornerwave):
                    self._try(last, str(uuid.uuid4()), _unheard)
            raise
        finally:
            flow.close()

    def _done(self, step: Step) -> Any:
        if isinstance(step, ThreadTask):
            return step.do()
        if isinstance(step, ProgressBar):
            return self.progress.working(step.label)
        return time.sleep(step.seconds) if isinstance(step, Pause) else self.answer(step)

    def answer(self, call: Call) -> Answer:
        """The answer to one call, tried again where that is safe and of use."""
        attempts = Attempts(call, self.retries, self.url)
        once = call.once or str(uuid.uuid4())
        with self.progress.moving(call) as tell:
            while True:
                try:
                    answer = self._try(call, once, tell)
                except httpx.TransportError as error:
                    pause: float | None = attempts.failed(error)
                else:
                    pause = attempts.answered(answer)
                    if pause is None:
                        return answer
                time.sleep(pause or 0)

    def _try(self, call: Call, once: str, tell: Callable[[int], None]) -> Answer:
        content = None if call.body is None else _told(call.body.chunks(), tell)
        with self._http.stream(
            call.method,
            call.path,
            params=call.parameters,
            headers=self.headers_of(call, once),
            content=content,
        ) as response:
            check_head(call, self.url, response.status_code, response.headers)
            if call.into is None or not _is_for_sink(response.status_code):
                response.read()
                return Answer(response.status_code, response.headers, response.content)
            call.into.begin(response.status_code, response.headers)
            for chunk in response.iter_raw():
                call.into.take(chunk)
                tell(len(chunk))
            return Answer(response.status_code, response.headers)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncDriver(_Driver):
    """Runs an operation and lets others run while it waits."""

    def __init__(self, url: str, key: str, retries: Retries, progress: Progress = silent) -> None:
        super().__init__(url, key, retries, progress)
        self._http = httpx.AsyncClient(base_url=self.url, headers=self._headers, timeout=TIMEOUT)

    async def run(self, flow: Flow[T]) -> T:
        """Run an operation and return its result; an interrupted one is reported as abandoned."""
        step: Step | None = None
        try:
            step = next(flow)
            while True:
                try:
                    got = await self._done(step)
                except Exception as error:  # noqa: PERF203  # a request costs more
                    step = flow.throw(error)
                else:
                    step = flow.send(got)
        except StopIteration as done:
            result: T = done.value
            return result
        except UnlikeService as error:
            raise self.not_cornerwave(step, error) from None
        except asyncio.CancelledError:
            if (last := abandoned_by(step)) is not None:
                with suppress(httpx.HTTPError, NotCornerwave):
                    await asyncio.shield(self._try(last, str(uuid.uuid4()), _unheard))
            raise
        finally:
            flow.close()

    async def _done(self, step: Step) -> Any:
        if isinstance(step, ThreadTask):
            return await asyncio.to_thread(step.do)
        if isinstance(step, ProgressBar):
            return self.progress.working(step.label)
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        return await self.answer(step)

    async def answer(self, call: Call) -> Answer:
        """The answer to one call, tried again where that is safe and of use."""
        attempts = Attempts(call, self.retries, self.url)
        once = call.once or str(uuid.uuid4())
        with self.progress.moving(call) as tell:
            while True:
                try:
                    answer = await self._try(call, once, tell)
                except httpx.TransportError as error:
                    pause: float | None = attempts.failed(error)
                else:
                    pause = attempts.answered(answer)
                    if pause is None:
                        return answer
                await asyncio.sleep(pause or 0)

    async def _try(self, call: Call, once: str, tell: Callable[[int], None]) -> Answer:
        content = None if call.body is None else _in_threads(call.body, tell)
        async with self._http.stream(
            call.method,
            call.path,
            params=call.parameters,
            headers=self.headers_of(call, once),
            content=content,
        ) as response:
            check_head(call, self.url, response.status_code, response.headers)
            if call.into is None or not _is_for_sink(response.status_code):
                await response.aread()
                return Answer(response.status_code, response.headers, response.content)
            call.into.begin(response.status_code, response.headers)
            async for chunk in response.aiter_raw():
                call.into.take(chunk)
                tell(len(chunk))
            return Answer(response.status_code, response.headers)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _is_for_sink(status: int) -> bool:
    return status < 400 and status != ACCEPTED


def abandoned_by(step: Step | None) -> Call | None:
    """Return the message for an interrupted step."""
    call = step.poll if isinstance(step, Pause) else step
    return call.abandoned if isinstance(call, Call) else None


def _unheard(_count: int) -> None:
    pass


def _told(chunks: Iterator[bytes], tell: Callable[[int], None]) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk
        tell(len(chunk))


async def _in_threads(body: Body, tell: Callable[[int], None]) -> AsyncIterator[bytes]:
    """The chunks, each made in a thread: to read a file or to write Arrow takes its time."""
    chunks = body.chunks()
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        yield chunk
        tell(len(chunk))


class Blocking:
    """Blocking driver."""

    _driver: Driver


class Awaiting:
    """Asynchronous driver."""

    _driver: AsyncDriver


class operation(Generic[P, T]):  # noqa: N801  # a decorator
    """A method written once as an operation, that blocks in a `Blocking` class and is awaited in an `Awaiting` one."""

    def __init__(self, flow: Callable[Concatenate[Any, P], Flow[T]]) -> None:
        self._flow = flow
        self.__doc__ = flow.__doc__

    @overload
    def __get__(self, here: None, owner: type) -> operation[P, T]: ...
    @overload
    def __get__(self, here: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, here: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, here: Any, owner: type) -> Any:
        if here is None:
            return self

        @functools.wraps(self._flow)
        def run(*arguments: Any, **named: Any) -> Any:
            return here._driver.run(self._flow(here, *arguments, **named))

        return run
