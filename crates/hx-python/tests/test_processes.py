"""Forks, spawned processes and threads. Each test runs a program of its own, with a time limit."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from conftest import SCALE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")

HEAD = f'''
import multiprocessing, os, sys, threading
import numpy as np
import hx

TEXT = {SCALE!r}

def launch(by):
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    hx.compile(TEXT).scale(x, y, by)
    return float(y.sum())

def told(by):
    try:
        return launch(by)
    except hx.Error as error:
        return f"{{type(error).__name__}}: {{error}}"

def child(method, target):
    """Returns the result of a process of that method, which has 60 seconds."""
    context = multiprocessing.get_context(method)
    results = context.Queue()
    process = context.Process(target=put, args=(results, target), daemon=True)
    process.start()
    found = results.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0, process.exitcode
    return found

def put(results, target):
    results.put(target(2.0))

'''


def run(tmp_path: pathlib.Path, body: str) -> str:
    """Runs a program, and returns what it prints."""
    path = tmp_path / "program.py"
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    path.write_text(f"{HEAD}\nif __name__ == '__main__':\n{lines}")
    done = subprocess.run([sys.executable, "-W", "ignore", str(path)], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_fork_after_a_launch_is_refused_at_once(tmp_path):
    told = run(tmp_path, "print(launch(1.0))\nprint(child('fork', told))\nprint(launch(3.0))")
    first, *middle, last = told.splitlines()
    assert (first, last) == ("64.0", "192.0")
    text = "\n".join(middle)
    assert text.startswith("ForkError: error") and "forked" in text and 'get_context("spawn")' in text


def test_every_way_into_the_engine_is_refused(tmp_path):
    told = run(
        tmp_path,
        """
module = hx.compile(TEXT)
launch(1.0)
if os.fork() == 0:
    y = np.zeros(4, np.float32)
    ways = [
        lambda: module.scale(y, y.copy(), 1.0),
        lambda: module.scale.check(y, y.copy(), 1.0),
        lambda: module.scale.instance(y, y.copy(), 1.0),
        lambda: module.scale.layouts(),
        lambda: module.scale.header,
        lambda: hx.compile("// Another text.\\n" + TEXT),
        lambda: hx.std.softmax,
        lambda: hx.devices(),
    ]
    for way in ways:
        try:
            way()
            print("went on")
        except hx.ForkError:
            print("refused")
    sys.exit(0)
os.wait()
print(launch(2.0))
""",
    )
    assert told.split() == ["refused"] * 8 + ["128.0"]


def test_a_fork_before_the_first_launch_works(tmp_path):
    told = run(tmp_path, "hx.compile(TEXT).scale\nprint(child('fork', told))\nprint(launch(1.0))\nprint(child('fork', told)[:9])")
    assert told.split() == ["128.0", "64.0", "ForkError"]


def test_a_fork_during_a_launch_of_another_thread(tmp_path):
    told = run(
        tmp_path,
        """
thread = threading.Thread(target=lambda: [launch(1.0) for _ in range(20)])
thread.start()
print(str(child("fork", told))[:9])
thread.join()
""",
    )
    assert told.split() in (["ForkError"], ["128.0"])


def test_spawned_processes_and_threads(tmp_path):
    told = run(
        tmp_path,
        """
print(launch(1.0))
with multiprocessing.get_context("spawn").Pool(2) as pool:
    print(*pool.map(launch, [2.0, 3.0], chunksize=1))
results = []
threads = [threading.Thread(target=lambda by=by: results.append(launch(by))) for by in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(60)
print(*sorted(results))
""",
    )
    assert told.split() == ["64.0", "128.0", "192.0", *(f"{64.0 * by}" for by in range(8))]


def test_a_forked_process_leaves_the_workers_of_its_parent(tmp_path):
    told = run(
        tmp_path,
        """
def ptx(by):
    try:
        return len(hx.compile(TEXT.replace("128", str(by))).scale.ptx) > 0
    except hx.MissingError:
        return "missing"
print(ptx(64))
if os.fork() == 0:
    sys.exit(0)
os.wait()
print(ptx(256))
""",
    )
    assert told.split() in (["True", "True"], ["missing", "missing"])
