#!/usr/bin/env python3
"""A worker that pretends to have GPUs: `fake_worker.py PROTOCOL LOG CAPABILITY…`, one capability for each GPU.

Everything compiles. A launch leaves its buffers as they are, and adds the number of its device to the file LOG.
"""

import json
import struct
import sys


def read_exactly(count):
    data = sys.stdin.buffer.read(count)
    if len(data) < count:
        sys.exit(0)
    return data


def read_request():
    read_exactly(4)
    header_size, blob_count = struct.unpack("<II", read_exactly(8))
    sizes = [struct.unpack("<Q", read_exactly(8))[0] for _ in range(blob_count)]
    envelope = json.loads(read_exactly(header_size))
    for size in sizes:
        read_exactly(size)
    return envelope["id"], envelope["request"]


def write(message, blobs=()):
    header = json.dumps(message).encode()
    sizes = b"".join(struct.pack("<Q", len(blob)) for blob in blobs)
    sys.stdout.buffer.write(b"hxw1" + struct.pack("<II", len(header), len(blobs)) + sizes + header + b"".join(blobs))
    sys.stdout.buffer.flush()


def device(ordinal, capability):
    return {
        "ordinal": ordinal,
        "name": f"Pretended {capability}",
        "capability": [int(part) for part in capability.split(".")],
        "multiprocessors": 4,
        "memory_bytes": 1 << 30,
        "l2_bytes": 1 << 20,
        "shared_bytes_per_block": 227 << 10,
    }


def absent(component, reason):
    return {"Err": {"component": component, "reason": reason, "looked_in": [], "help": None}}


def probe(capabilities):
    devices = [device(ordinal, capability) for ordinal, capability in enumerate(capabilities)]
    return {
        "driver": {"Ok": {"cuda_version": [13, 0]}},
        "devices": {"Ok": devices} if devices else absent("Device", "the driver reports no device"),
        "nvrtc": absent("Nvrtc", "nobody asks for it"),
    }


def main():
    protocol, log, capabilities = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    write({"protocol": protocol})
    while True:
        number, request = read_request()
        kind, body = next(iter(request.items())) if isinstance(request, dict) else (request, None)
        reply, blobs = "Done", []
        if kind == "Probe":
            reply = {"Probe": probe(capabilities)}
        elif kind == "Compile":
            reply, blobs = {"Compiled": {"log": "", "nvrtc_version": [13, 0]}}, [b"code"]
        elif kind == "Launch":
            with open(log, "a") as file:
                file.write(f"{body['device']}\n")
            reply = {"Launched": {"outputs": {}, "gpu_ms": 0.0}}
        write({"id": number, "reply": {"Ok": reply}}, blobs)


if __name__ == "__main__":
    main()
