"""The watchdog: a thread that ends a step of actor code which never waits.

An endless loop must not take the emulator down (design D4). The thread raises an asynchronous
exception in the loop's thread, and only while a step of actor code runs there. Code that is stuck
inside C cannot be interrupted: a listed difference.
"""

import ctypes
import threading

from edgeemu.clock import stopwatch_ns, wait_thread_event_ms
from edgeemu.limits import WATCHDOG_POLL_MS


class HangInterrupt(BaseException):
    """Raised inside a step that took too long. No `except Exception` of a user swallows it."""


class Watchdog:
    """Watches the steps that run in the thread that made it.

    Args:
        limit_ms: real milliseconds that one step may take; 0 switches the watchdog off.
    """

    def __init__(self, limit_ms: int) -> None:
        self._limit_ns = limit_ms * 1_000_000
        self._thread_id = threading.get_ident()
        self._lock = threading.Lock()
        self._started_ns = 0
        self._fired = False
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def arm(self, started_ns: int) -> None:
        """A step starts now."""
        if self._thread is None and self._limit_ns:
            self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
            self._thread.start()
        self._started_ns = started_ns

    def disarm(self) -> bool:
        """The step is over; whether it was interrupted.

        An interrupt that was sent but has not arrived yet is called back.
        """
        if not self._limit_ns:
            return False
        with self._lock:
            self._started_ns = 0
            fired, self._fired = self._fired, False
            if fired:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread_id), None)
        return fired

    def close(self) -> None:
        """Stop the thread."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not wait_thread_event_ms(self._closed, WATCHDOG_POLL_MS):
            with self._lock:
                started_ns = self._started_ns
                if started_ns and stopwatch_ns() - started_ns > self._limit_ns:
                    self._fired = True
                    # Once more each second, for code that catches even this one.
                    self._started_ns = stopwatch_ns() - self._limit_ns + 1_000_000_000
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(self._thread_id), ctypes.py_object(HangInterrupt)
                    )
