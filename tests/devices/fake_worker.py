#!/usr/bin/env python3
"""A worker that pretends to have GPUs: `fake_worker.py PROTOCOL LOG [fills=MODE] CAPABILITY…`, one capability for each GPU.

Everything compiles. A launch leaves its buffers as they are, and adds the number of its device to the file LOG. With `fills` it writes
1.0 to every element of its writable buffers, which are of f32, and the levels at which the code was compiled to LOG, too:

    right   nothing else
    differ  2.0 to element 5 if the code was compiled without optimization
    drift   the number of the launch to element 5
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
    blobs = [read_exactly(size) for size in sizes]
    return envelope["id"], envelope["request"], blobs


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


def filled(mode, size, plain, launch):
    values = [1.0] * (size // 4)
    if mode == "differ" and plain:
        values[5] = 2.0
    if mode == "drift":
        values[5] = float(launch)
    return struct.pack(f"<{len(values)}f", *values)


def main():
    protocol, log, capabilities = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    mode = None
    if capabilities and capabilities[0].startswith("fills="):
        mode = capabilities.pop(0).removeprefix("fills=")
    modules, launches = {}, 0
    write({"protocol": protocol})
    while True:
        number, request, given = read_request()
        kind, body = next(iter(request.items())) if isinstance(request, dict) else (request, None)
        reply, blobs = "Done", []
        if kind == "Probe":
            reply = {"Probe": probe(capabilities)}
        elif kind == "Compile":
            levels = [option.removeprefix("--ptxas-options=-O") for option in body["job"]["options"] if "=-O" in option]
            reply, blobs = {"Compiled": {"log": "", "nvrtc_version": [13, 0]}}, [f"code {levels}".encode()]
        elif kind == "Launch":
            if body["cubin"] is not None:
                modules[body["module"]] = given[body["cubin"]].decode()
            code, outputs = modules[body["module"]], {}
            with open(log, "a") as file:
                file.write(f"{body['device']}{f' {code}' if mode else ''}\n")
            launches += 1
            for position, arg in enumerate(body["args"]):
                if mode and arg.get("Buffer", {}).get("writable"):
                    outputs[str(position)] = len(blobs)
                    blobs.append(filled(mode, len(given[arg["Buffer"]["data"]]), "'0'" in code, launches))
            reply = {"Launched": {"outputs": outputs, "gpu_ms": 0.0}}
        write({"id": number, "reply": {"Ok": reply}}, blobs)


if __name__ == "__main__":
    main()
