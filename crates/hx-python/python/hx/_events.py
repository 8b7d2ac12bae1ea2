"""Compiles and plans, for logs and for the functions of a program."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from ._modules import engine

_log = logging.getLogger("hx")
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
_callbacks: tuple[Callable[[Compile], object], ...] = ()


@dataclass(frozen=True)
class Compile:
    """The compile of an instance of a kernel: `on_compile` hands it to a function."""

    #: The name of the kernel that runs: the member, if the called kernel has a family.
    kernel: str
    #: The path of its file; `std/…` for the standard library.
    file: str
    #: All compile-time arguments, as they are written in hx.
    arguments: dict[str, str]
    #: The facts that the code relies on: the divisors of dimensions and strides below 16, as in `k % 8`, and strides that are 1.
    facts: tuple[str, ...]
    #: `sim` or `cuda:0`.
    device: str
    #: The architecture, such as `sm_90a`.
    target: str
    #: The time from the arguments of the call to the code.
    seconds: float
    #: Whether the code came from the cache on disk.
    cached: bool


class Counters(TypedDict):
    """Counts of the calls of this process so far."""

    #: Instances whose code was made.
    compiles: int
    #: Instances whose code came from the cache on disk.
    cache_hits: int
    #: Launches that were bound and checked anew, because no plan fitted.
    plans: int
    #: Launches through a plan of an earlier call.
    plan_hits: int
    launches: int


def on_compile(callback: Callable[[Compile], object]) -> Callable[[], None]:
    """Calls a function after each compile of an instance. Returns a function that ends this.

    The function runs in the thread whose launch compiled, before the launch. An exception of it ends that call; the code is kept.
    """
    global _callbacks
    with _lock:
        _callbacks = (*_callbacks, callback)
    is_on = True

    def remove() -> None:
        nonlocal is_on
        global _callbacks
        with _lock:
            if is_on:
                is_on = False
                rest = list(_callbacks)
                rest.remove(callback)
                _callbacks = tuple(rest)

    return remove


def counters() -> Counters:
    """Returns counts of what the calls of this process have done: compiles, cache hits, plans, plan hits, launches."""
    counts = engine().counters()
    return Counters(
        compiles=counts["compiles"],
        cache_hits=counts["cache_hits"],
        plans=counts["plans"],
        plan_hits=counts["plan_hits"],
        launches=counts["launches"],
    )


def planned(kernel: str, instance: str, seconds: float) -> None:
    """Logs a plan: the native module calls this."""
    _log.debug("planned a launch of %s in %.3f s: %s", kernel, seconds, instance)


def compiled(
    kernel: str,
    file: str,
    arguments: list[tuple[str, str]],
    facts: list[str],
    device: str,
    target: str,
    seconds: float,
    cached: bool,
) -> None:
    """Logs a compile, and calls the functions of `on_compile`: the native module calls this."""
    event = Compile(kernel, file, dict(arguments), tuple(facts), device, target, seconds, cached)
    if _log.isEnabledFor(logging.INFO):
        values = ", ".join(f"{name} = {value}" for name, value in arguments)
        origin = "took from the cache" if cached else "compiled"
        _log.info("%s %s<%s> of %s for %s on %s in %.3f s", origin, kernel, values, file, target, device, seconds)
    for callback in _callbacks:
        callback(event)


def gpu_is_there() -> bool:
    """Reports whether this machine has a GPU, without starting CUDA: a process that has started it cannot be forked any more."""
    try:
        return bool(os.listdir("/proc/driver/nvidia/gpus"))
    except OSError:
        return False


def simulated(kernel: str) -> None:
    """Warns of a kernel on tensors in host memory, if there is a GPU: the native module calls this once for each kernel."""
    if gpu_is_there():
        text = f"`{kernel}` runs on the simulator, because its tensors are in host memory, and this machine has a GPU: `x.cuda()` moves a tensor there"
        warnings.warn(text, stacklevel=2)
