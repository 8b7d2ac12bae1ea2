#!/usr/bin/env python3
"""A session of the prompt on a GPU, through a pseudo-terminal: run, fault, hang, go on; and how long things take.

    python3 tests/gpu/repl.py target/release/hx

Needs Python 3.9, a driver and the CUDA compiler, and nothing else. The faults come from `faulty_worker.py`. The exit code is
0 if everything was as it should be.
"""

import os
import pty
import re
import select
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = (
    "kernel NAME(a: f32[m], c: mut f32[m]) grid [cdiv(m, 128)] threads 32 "
    "{ let x = load(tile(a, [128])[.., block_idx]); copy(x + x, tile(c, [128])[.., block_idx]); }"
)
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>])")


class Session:
    def __init__(self, hx, *args, cache):
        environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm", "HX_REAL": os.path.abspath(hx)}
        environment["HX_CACHE_DIR"] = cache
        environment["HX_STATE_DIR"] = cache
        self.started = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(hx, [hx, "repl", "--device", "cuda", *args], environment)
        self.seen = ""
        self.wait()
        self.first_prompt = time.monotonic() - self.started

    def wait(self, limit=120):
        """Waits for the next prompt; gives what came before it, and how long it took."""
        start = time.monotonic()
        while not ESCAPES.sub("", self.seen).rstrip("\r\n").endswith("hx> "):
            if time.monotonic() - start > limit:
                sys.exit(f"no prompt within {limit} s:\n{self.seen}")
            if select.select([self.fd], [], [], 0.002)[0]:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
        text, self.seen = ESCAPES.sub("", self.seen), ""
        return text, time.monotonic() - start

    def keys(self, text):
        os.write(self.fd, text.encode())

    def enter(self, entry):
        # The editor draws the prompt again with every key; what is shown ends with the next one after the line end.
        self.keys(entry)
        time.sleep(0.05)
        while select.select([self.fd], [], [], 0.02)[0]:
            os.read(self.fd, 65536)
        self.seen = ""
        self.keys("\r")
        return self.wait()

    def interrupt(self, entry, after):
        self.keys(entry)
        time.sleep(0.05)
        while select.select([self.fd], [], [], 0.02)[0]:
            os.read(self.fd, 65536)
        self.seen = ""
        self.keys("\r")
        time.sleep(after)
        self.keys("\x03")
        return self.wait()


failures = []


def check(what, text, expected):
    good = expected in text
    print(f"{'ok    ' if good else 'FAILED'} {what}")
    if not good:
        failures.append(what)
        print(f"    `{expected}` is not in\n{text}")


def evaluated(text):
    """Milliseconds of `1.23 ms to check, 4.56 ms to evaluate`."""
    match = re.search(r"([\d.]+) (m?s) to evaluate", text)
    value = float(match.group(1))
    return value if match.group(2) == "ms" else value * 1e3


def main():
    hx = sys.argv[1] if len(sys.argv) > 1 else "target/release/hx"
    with tempfile.TemporaryDirectory() as cache:
        faults = Session(hx, "--worker", os.path.join(HERE, "faulty_worker.py"), cache=os.path.join(cache, "faults"))
        faults.enter("let (u, v) = (ones(f32, [130]), empty(f32, [130]))")
        for name in ["double", "illegal_store", "endless_loop"]:
            faults.enter(KERNEL.replace("NAME", name))
        check("a kernel runs", faults.enter("double(u, v)")[0], "device: cuda:0")
        check("its result is right", faults.enter("v.sum()")[0], "260.0")
        text, _ = faults.enter("let lost = 1; illegal_store(u, v)")
        check("an illegal access is reported", text, "an illegal memory access was encountered")
        check("the worker is started again", text, "every binding is still there")
        check("the bindings are there", faults.enter("double(u, v); v.sum()")[0], "260.0")
        check("a failed entry leaves nothing", faults.enter("lost")[0], "nothing in scope is called `lost`")
        text, took = faults.interrupt("endless_loop(u, v)", after=2)
        check("Ctrl-C ends an endless kernel", text, "interrupted")
        print(f"       from Ctrl-C to the prompt {took * 1e3:.0f} ms")
        check("the bindings are there", faults.enter("double(u, v); v.sum()")[0], "260.0")
        faults.enter(":set timeout 2")
        text, took = faults.enter("endless_loop(u, v)")
        check("so does the time limit", text, "did not end within the time limit")
        print(f"       with a limit of 2 s it took {took:.2f} s")
        check("the bindings are there", faults.enter("double(u, v); v.sum()")[0], "260.0")
        faults.keys("\x04")

        # Latencies, without the program in between. The first session fills the cache.
        for what in ["a cold cache", "a warm cache"]:
            session = Session(hx, cache=os.path.join(cache, "latency"))
            session.enter("let (u, v) = (ones(f32, [130]), empty(f32, [130]))")
            session.enter(KERNEL.replace("NAME", "double"))
            # The worker and its context start with the prompt; a person needs longer than this for the first kernel.
            time.sleep(3)
            first = evaluated(session.enter(":time double(u, v)")[0])
            warm, ends = [], []
            for _ in range(30):
                text, took = session.enter(":time double(u, v)")
                warm.append(evaluated(text))
                ends.append(took * 1e3)
            print(
                f"{what}: prompt after {session.first_prompt * 1e3:.0f} ms, first launch {first:.1f} ms, "
                f"warm launch median {statistics.median(warm):.2f} ms (worst {max(warm):.2f}), "
                f"from the return key to the prompt {statistics.median(ends):.2f} ms"
            )
            session.keys("\x04")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
