#!/usr/bin/env python3
"""Measures the Python client: its start, small calls, saves, loads and memory.

    python bench/python/checkpoint.py [--rounds 9] [--mib 256] [--only NAME]

It needs numpy, the command as BIVOUAC_BINARY or in the installed wheel, and Go for the loads of the
library itself. What is compared takes turns within each round: copies of the same bytes with saves
and loads, a bare socket with a small call. Each line has medians and ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np

import bivouac as bv
from bivouac import _client

LEAVES = 16


def seconds(work: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def show(case: str, unit: str, times: dict[str, list[float]], **more: Any) -> None:
    """Print the line of a case."""
    line: dict[str, Any] = {"case": case, "unit": unit}
    scale = {"us": 1e6, "ms": 1e3}[unit]
    for name, values in times.items():
        line[name] = round(statistics.median(values) * scale, 2)
        line[f"{name} spread"] = [round(min(values) * scale, 2), round(max(values) * scale, 2)]
    line.update(more)
    line["load average"] = round(os.getloadavg()[0], 1)
    print(json.dumps(line), flush=True)


def ratio(times: dict[str, list[float]], a: str, b: str) -> float:
    """Return the ratio of two medians."""
    return round(statistics.median(times[a]) / statistics.median(times[b]), 2)


def python(code: str) -> float:
    """Return the number that a fresh interpreter prints."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def start(rounds: int) -> None:
    """Measure the import beyond numpy, and the first call after it, which starts the server."""
    clock = "import time, numpy; t = time.perf_counter(); import bivouac as bv; "
    times: dict[str, list[float]] = {"import": [], "first call": []}
    for _ in range(rounds):
        times["import"].append(python(clock + "print(time.perf_counter() - t)"))
        call = "bv.checkpoint.is_orbax_checkpoint('/nothing'); print(time.perf_counter() - t)"
        times["first call"].append(python(clock + "import bivouac.checkpoint; " + call))
    show("start", "ms", times)


def echo(end: socket.socket) -> None:
    """Send back what comes."""
    while data := end.recv(4096):
        end.sendall(data)


def small(rounds: int) -> None:
    """Compare a small call with a message to a process that only sends it back."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        echo(theirs)
        os._exit(0)
    theirs.close()
    message = b"x" * 60

    def bare() -> None:
        for _ in range(1000):
            ours.sendall(message)
            ours.recv(4096)

    client = _client.connection()

    def call() -> None:
        for _ in range(1000):
            client.call("is_checkpoint", path="/nothing")

    times: dict[str, list[float]] = {"bare socket": [], "call": []}
    for _ in range(rounds):
        times["bare socket"].append(seconds(bare) / 1000)
        times["call"].append(seconds(call) / 1000)
    show("small call", "us", times, ratio=ratio(times, "call", "bare socket"))
    ours.close()
    os.waitpid(child, 0)


def tree(mib: int) -> dict[str, Any]:
    """Return a tree of arrays."""
    n = (mib << 20) // 4 // LEAVES
    return {f"w{i}": np.arange(i, n + i, dtype=np.float32) for i in range(LEAVES)}


def saves(rounds: int, mib: int, folder: Path) -> None:
    """Compare how long save_async blocks with a copy of the same bytes."""
    state = tree(mib)
    copies = {name: array.copy() for name, array in state.items()}

    def copy() -> None:
        for name, array in state.items():
            np.copyto(copies[name], array)

    times: dict[str, list[float]] = {"memcpy": [], "blocked": [], "until durable": []}
    first = 0.0
    for k in range(rounds + 1):
        path = folder / "save"
        shutil.rmtree(path, ignore_errors=True)
        began = time.perf_counter()
        response = bv.checkpoint.save_async(path, state)
        blocked = time.perf_counter() - began
        response.result()
        whole = time.perf_counter() - began
        if k == 0:
            first = blocked
            continue
        times["blocked"].append(blocked)
        times["until durable"].append(whole)
        times["memcpy"].append(seconds(copy))
    show(
        f"save_async of {mib} MiB", "ms", times, first_blocked=round(first * 1e3, 2),
        memcpy_share=ratio(times, "memcpy", "blocked"),
    )  # fmt: skip


GO = """package main
import ("context"; "fmt"; "os"; "time"
"github.com/bivouac-ml/bivouac/checkpoint")
func main() { for { var s string
if _, err := fmt.Scan(&s); err != nil { os.Exit(0) }
t := time.Now()
if _, err := checkpoint.Load(context.Background(), os.Args[1], nil); err != nil { panic(err) }
fmt.Println(time.Since(t).Seconds()) } }
"""


def loads(rounds: int, mib: int, folder: Path) -> None:
    """Compare loads with loads of the Go library in a process of its own."""
    state, path = tree(mib), folder / "load"
    bv.save(path, state)
    with tempfile.TemporaryDirectory(dir=ROOT) as scratch:
        Path(scratch, "main.go").write_text(GO)
        env = {**os.environ, "CGO_ENABLED": "0"}
        command = ["go", "build", "-o", "load", "main.go"]
        subprocess.run(command, cwd=scratch, env=env, check=True)
        library = subprocess.Popen(
            [Path(scratch, "load"), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        stdin, stdout = library.stdin, library.stdout
        assert stdin is not None and stdout is not None

        def go() -> float:
            print("again", file=stdin, flush=True)
            return float(stdout.readline())

        times: dict[str, list[float]] = {"go": [], "load": [], "load into": []}
        target = {name: np.zeros_like(array) for name, array in state.items()}
        go()
        for _ in range(rounds):
            times["go"].append(go())
            times["load"].append(seconds(lambda: bv.load(path)))
            times["load into"].append(seconds(lambda: bv.load(path, into=target)))
        stdin.close()
        library.wait()
    assert all(np.array_equal(target[name], array) for name, array in state.items())
    show(
        f"load of {mib} MiB", "ms", times, ratio=ratio(times, "load", "go"),
        ratio_into=ratio(times, "load into", "go"),
    )  # fmt: skip


def resident(pid: int) -> int:
    """Return the resident kilobytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def memory(saves: int, folder: Path) -> None:
    """Measure the memory of both processes over many asynchronous saves."""
    state = tree(16)
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    seen = []
    for k in range(saves + 10):
        path = folder / f"{k}"
        bv.checkpoint.save_async(path, state).result()
        shutil.rmtree(path)
        if k >= 9:
            seen.append([resident(os.getpid()), sum(resident(int(pid)) for pid in children)])
    first, last = seen[0], seen[-1]
    line = {"case": f"memory over {saves} saves", "unit": "KiB", "first": first, "last": last}
    print(json.dumps({**line, "growth": [round(b / a, 4) for a, b in zip(first, last) if a]}))


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", ".")) as text:
        folder = Path(text).resolve()
        cases: dict[str, Callable[[], None]] = {
            "start": lambda: start(args.rounds),
            "small": lambda: small(args.rounds),
            "save": lambda: saves(args.rounds, args.mib, folder),
            "load": lambda: loads(args.rounds, args.mib, folder),
            "memory": lambda: memory(100, folder),
        }
        for name, work in cases.items():
            if args.only in name:
                work()


if __name__ == "__main__":
    main()
