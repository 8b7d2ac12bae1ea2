#!/usr/bin/env python3
"""A worker whose kernels can be made to fail: `hx repl --worker tests/gpu/faulty_worker.py`.

Kernels of hx stay inside of their tensors, so a fault has to be brought in from outside. This program stands between `hx`
and `hx worker` (the program that HX_REAL names) and hands every frame on. Only the CUDA text of kernels that are called
`illegal…` or `endless…` is changed: the first writes to an address that is nobody's, the second never ends. What follows is
what the hardware and the driver do.
"""

import json
import os
import struct
import subprocess
import sys
import threading

FAULTS = {
    "illegal": "*(volatile int*)8 = 1;",
    "endless": "volatile int never = 0; while (never == 0) { }",
}


def read_exactly(stream, count):
    data = b""
    while len(data) < count:
        part = stream.read(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def read_frame(stream):
    if read_exactly(stream, 4) != b"hxw1":
        raise EOFError
    header_size, blob_count = struct.unpack("<II", read_exactly(stream, 8))
    sizes = [struct.unpack("<Q", read_exactly(stream, 8))[0] for _ in range(blob_count)]
    header = read_exactly(stream, header_size)
    return header, [read_exactly(stream, size) for size in sizes]


def write_frame(stream, header, blobs):
    sizes = b"".join(struct.pack("<Q", len(blob)) for blob in blobs)
    stream.write(b"hxw1" + struct.pack("<II", len(header), len(blobs)) + sizes + header + b"".join(blobs))
    stream.flush()


def spoiled(header):
    """The request with the text of a faulty kernel in it, if it compiles one."""
    envelope = json.loads(header)
    request = envelope["request"]
    compile_request = request.get("Compile") if isinstance(request, dict) else None
    if compile_request is None:
        return header
    job = compile_request["job"]
    fault = next((code for name, code in FAULTS.items() if job["file_name"].startswith(name)), None)
    if fault is None:
        return header
    start = job["source"].index("{", job["source"].index("__global__")) + 1
    job["source"] = job["source"][:start] + fault + job["source"][start:]
    return json.dumps(envelope).encode()


def main():
    worker = subprocess.Popen([os.environ["HX_REAL"], "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answers():
        while chunk := worker.stdout.read1(1 << 20):
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        # Whoever waits for an answer must see that there will be none.
        os._exit(worker.wait() & 0x7F)

    threading.Thread(target=answers, daemon=True).start()
    try:
        while True:
            header, blobs = read_frame(sys.stdin.buffer)
            write_frame(worker.stdin, spoiled(header), blobs)
    except (EOFError, BrokenPipeError):
        worker.kill()


if __name__ == "__main__":
    main()
