#!/usr/bin/env python3
"""A worker that pretends to have GPUs: `fake_worker.py PROTOCOL LOG [fills=MODE] [times=falling] CAPABILITY…`, one capability for each GPU.

Everything compiles, and allocations hold bytes. A launch over allocations adds 1.0 to the elements of its first one, which are of f32, and
writes the sums to its last one; the kernels that compare tensors do that. A launch over buffers of its own leaves its buffers as they are, and adds the number of its device to the file LOG. With `fills` it writes
1.0 to every element of its writable buffers, which are of f32, and the levels at which the code was compiled to LOG, too:

    right   nothing else
    differ  2.0 to element 5 if the code was compiled without optimization
    drift   the number of the launch to element 5

Each timed work takes longer than the one before it; with `times=falling`, it takes less time.
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
        "clock_khz": 1000000,
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


def floats(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


def step(body, memory):
    """Runs a step over allocations."""
    if "Copy" in body:
        copy = body["Copy"]
        memory[copy["to"]][: copy["bytes"]] = memory[copy["from"]][: copy["bytes"]]
    elif "Launch" in body:
        launch = body["Launch"]
        args = [arg["Resident"] for arg in launch["args"] if "Resident" in arg]
        words = [bytes(arg["Value"]["bytes"]) for arg in launch["args"] if "Value" in arg]
        tensors = [memoryview(memory[arg["buffer"]])[arg["offset"] :] for arg in args]
        number = lambda at: struct.unpack("<d", words[at])[0]
        first, out = floats(tensors[0]), tensors[-1]
        # The first thread block of a comparison has done all the work.
        results = {
            "survey": lambda: [max(map(abs, first)), 0.0, 1.0],
            "squares": lambda: [sum((x / number(2)) ** 2 for x in first), float(len(first))],
            "differences": lambda: [max(abs(x - y) for x, y in zip(first, floats(tensors[1]))), 0.0],
        }
        if launch["symbol"] in results:
            found = results[launch["symbol"]]()
            out[:] = struct.pack(f"<{len(found)}d", *found).ljust(len(out), b"\0")
        else:
            written = struct.pack(f"<{len(first)}f", *[x + 1.0 for x in first])
            out[: len(written)] = written


def loaded(steps, given, modules):
    """Keeps the code that comes with the launches among steps."""
    for launch in [one["Launch"] for one in steps if "Launch" in one]:
        if launch["cubin"] is not None:
            modules[launch["module"]] = given[launch["cubin"]].decode()


def main():
    protocol, log, capabilities = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    mode = None
    if capabilities and capabilities[0].startswith("fills="):
        mode = capabilities.pop(0).removeprefix("fills=")
    falling = bool(capabilities) and capabilities[0] == "times=falling"
    capabilities = capabilities[1:] if falling else capabilities
    modules, launches, memory, allocated = {}, 0, {}, 0
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
        elif kind == "Alloc":
            allocated += 1
            memory[allocated] = bytearray(body["bytes"])
            reply = {"Allocated": {"buffer": allocated}}
        elif kind == "Upload":
            data = given[body["data"]]
            memory[body["buffer"]][body["offset"] : body["offset"] + len(data)] = data
        elif kind == "Fill":
            whole = memory[body["buffer"]]
            pattern = given[body["pattern"]]
            whole[:] = (pattern * (len(whole) // len(pattern) + 1))[: len(whole)]
        elif kind == "Download":
            reply, blobs = "Downloaded", [bytes(memory[body["buffer"]][body["offset"] : body["offset"] + body["bytes"]])]
        elif kind == "Free":
            del memory[body["buffer"]]
        elif kind == "Run":
            loaded(body["steps"], given, modules)
            for one in body["steps"]:
                step(one, memory)
        elif kind == "Time":
            steps = [one for work in body["works"] for one in work["variants"][0]]
            loaded(steps, given, modules)
            for one in steps * 3:
                step(one, memory)
            order = range(len(body["works"]))
            reply = {"Timed": {"gpu_ms": [[0.01 * (at + 1)] * 3 for at in (reversed(order) if falling else order)]}}
        write({"id": number, "reply": {"Ok": reply}}, blobs)


if __name__ == "__main__":
    main()
