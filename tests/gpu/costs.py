"""Measures what the instructions of the catalogue cost on the GPU at hand, for the cost model.

    python3 costs.py compile costs.cubin [--arch sm_90a]      # anywhere that has the CUDA compiler (NVRTC)
    python3 costs.py run costs.cubin [--json costs.json]      # where the GPU is; needs PyTorch for memory

Every row of `crates/hx-target/catalogue/*.toml` becomes two kernels, made from the row's own PTX template:

- latency: one warp, each instruction waits for the one before (for stores and barriers there is none);
- issue:   16 warps (4 a quarter of the multiprocessor) with 8 independent instructions each, so that the pipe is full.

Clocks are read inside of the kernel. A figure is the slope between two loop lengths, so what surrounds the loop cancels out;
the median of 15 launches counts, and the lowest is written beside it. Nothing is set on the GPU; clock counts do not depend on
its frequency. Loads of shared memory are free of bank conflicts, and the rows `…/conflict N` show N lanes on each bank;
the rows `…/lines N` show asynchronous copies whose phases write to N lines of shared memory.
"""

import argparse
import ctypes
import json
import os
import re
import statistics
import sys
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python before 3.11
    tomllib = None

CATALOGUE = Path(__file__).resolve().parents[2] / "crates/hx-target/catalogue"
LOOPS = (32, 96)
CHAINS = 8
UNROLL = 8
WARPS = 16
REPEATS = 15

# Element type: (C type of one register, constraint letter).
SCALARS = {
    "f32": ("float", "f"),
    "f64": ("double", "d"),
    "i32": ("int", "r"),
    "u32": ("unsigned", "r"),
    "i64": ("long long", "l"),
    "u64": ("unsigned long long", "l"),
    "f16": ("unsigned short", "h"),
    "bf16": ("unsigned short", "h"),
}
BITS = {"f64": 64, "f32": 32, "tf32": 32, "i32": 32, "f16": 16, "bf16": 16}


def bits_of(dtype):
    if dtype in BITS:
        return BITS[dtype]
    return 8 if dtype.startswith("f8") else int(re.sub(r"\D", "", dtype))


class Bench:
    """One kernel: `setup` declares registers, `body(chain)` is one instruction, `sink` keeps the results."""

    def __init__(self, name, figure, setup, body, sink, threads, shared=0, divide=1.0):
        self.name, self.figure, self.threads, self.shared, self.divide = name, figure, threads, shared, divide
        self.symbol = "k_" + re.sub(r"\W", "_", f"{name}_{figure}")
        self.setup, self.body, self.sink = setup, body, sink

    def text(self):
        chains = 1 if self.figure == "latency" else CHAINS
        # Often enough that the loop's own instructions hardly count.
        body = "\n        ".join(self.body(i) for _ in range(UNROLL) for i in range(chains))
        return f"""
extern "C" __global__ void {self.symbol}(unsigned *data, long long *clocks, int loops) {{
    extern __shared__ __align__(1024) unsigned shared[];
    unsigned base = (unsigned)__cvta_generic_to_shared(shared);
    unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    {self.setup(chains)}
    __syncthreads();
    long long start = clock64();
    #pragma unroll 1
    for (int i = 0; i < loops; i++) {{
        {body}
    }}
    long long end = clock64();
    {self.sink(chains)}
    if (lane == 0) {{ clocks[2 * warp] = start; clocks[2 * warp + 1] = end; }}
}}
"""

    def per_instruction(self, first, second):
        """Cycles of one instruction: of a warp for a latency, of the multiprocessor's pipe for an issue."""
        chains = 1 if self.figure == "latency" else CHAINS
        warps = 1 if self.figure == "latency" else self.threads // 32
        slope = (second - first) / (LOOPS[1] - LOOPS[0])
        return slope / UNROLL / chains / warps / self.divide


def fill(template, **operands):
    """The row's template with operands; doubled braces are literal ones."""
    def one(match):
        text = match.group(0)
        if text == "{{":
            return "{"
        if text == "}}":
            return "}"
        return operands[text[1:-1]]

    return re.sub(r"\{\w+\}|\{\{|\}\}", one, template)


def asm(text, outputs, inputs):
    quote = lambda operands: ", ".join(operands)
    return f'asm volatile("{text}" : {quote(outputs)} : {quote(inputs)} : "memory");'


def registers(prefix, count, kind, chains):
    c_type, _ = kind
    return "\n    ".join(
        f"{c_type} {prefix}{chain}_{i} = ({c_type})(data[lane + {chain * count + i}]);"
        for chain in range(chains)
        for i in range(count)
    )


def kept(prefix, count, chains):
    names = [f"{prefix}{chain}_{i}" for chain in range(chains) for i in range(count)]
    return "\n    ".join(f"data[4096 + threadIdx.x] += (unsigned)({n});" for n in names)


def operand(first, count, braces):
    names = ", ".join(f"%{first + i}" for i in range(count))
    return "{" + names + "}" if braces else names


def gemm_benches(row):
    def kind_of(dtype):
        return {"f64": ("double", "d"), "f32": ("float", "f")}.get(dtype, ("unsigned", "r"))

    def count_of(fragment):
        values = size_of(fragment["layout"])
        return max(1, values * bits_of(fragment["type"]) // 32) if fragment["type"] != "f64" else values

    kinds = {n: kind_of(row[n]["type"]) for n in "abc"}
    counts = {n: count_of(row[n]) for n in "abc"}

    def setup(chains):
        return "\n    ".join(
            [registers("c", counts["c"], kinds["c"], chains)] + [registers(n, counts[n], kinds[n], 1) for n in "ab"]
        )

    def body(chain):
        nc, na, nb = counts["c"], counts["a"], counts["b"]
        text = fill(
            row["ptx"],
            c=operand(0, nc, nc > 1),
            a=operand(nc, na, na > 1),
            b=operand(nc + na, nb, nb > 1),
        )
        outputs = [f'"+{kinds["c"][1]}"(c{chain}_{i})' for i in range(nc)]
        inputs = [f'"{kinds[n][1]}"({n}0_{i})' for n in "ab" for i in range(counts[n])]
        return asm(text, outputs, inputs)

    sink = lambda chains: kept("c", counts["c"], chains)
    # The matrix units work side by side, one for each quarter of the multiprocessor.
    yield Bench(row["name"], "latency", setup, body, sink, 32)
    yield Bench(row["name"], "issue", setup, body, sink, 32 * WARPS, divide=1 / 4)


def size_of(layout):
    """The number of values of a thread-value layout: the product of its second mode's extents."""
    shape = layout.split(":")[0]
    depth, cut = 0, None
    for i, ch in enumerate(shape):
        depth += (ch == "(") - (ch == ")")
        if ch == "," and depth == 1:
            cut = i
    product = 1
    for n in re.findall(r"\d+", shape[cut:]):
        product *= int(n)
    return product


def shared_benches(row):
    words, wide = row["words"], row["word"]
    letter, c_type = {64: ("l", "unsigned long long"), 32: ("r", "unsigned")}.get(wide, ("h", "unsigned short"))
    load = row["to"] == "register"
    access = row["access"]
    kind = (c_type, letter)
    braces = words > 1

    def address(chain, degree):
        if row["threads"] > 1:
            return f"base + (lane & 31) * 16 + ((warp * {CHAINS} + {chain}) & 7) * 512"
        # Lanes one access apart; with a conflict of degree N, N times 128 bytes.
        step = access if degree == 1 else 128 * degree // 32 * 32
        if degree == 1:
            return f"base + lane * {step} + ((warp * {CHAINS} + {chain}) & 7) * 512"
        return f"base + (lane % {degree}) * 128 + (lane / {degree}) * 4 + ((warp + {chain}) & 1) * 4096"

    def setup_of(degree):
        def setup(chains):
            # Every thread that follows what it loaded, from a row of 16 bytes for each lane on, finds such a row again.
            fill_shared = "for (int i = threadIdx.x; i < 8192; i += blockDim.x) shared[i] = base + (i & 31) * 16;"
            lines = [fill_shared, "unsigned zero = data[0];", registers("r", words, kind, chains)]
            lines += [f"unsigned a{c} = {address(c, degree)}, b{c} = a{c};" for c in range(chains)]
            return "\n    ".join(lines)

        return setup

    def load_body(chain):
        text = fill(row["ptx"], r=operand(0, words, braces), a=f"%{words}")
        return asm(text, [f'"={letter}"(r{chain}_{i})' for i in range(words)], [f'"r"(a{chain})'])

    def chased(chain):
        return load_body(chain) + f" a{chain} = (unsigned)r{chain}_0;"

    # The next address needs the result, so that no load is left out, but costs one logical operation, on another pipe.
    def again(chain):
        return load_body(chain) + f" a{chain} = ((unsigned)r{chain}_0 & zero) | b{chain};"

    def store_body(chain):
        text = fill(row["ptx"], r=operand(1, words, braces), a="%0")
        return asm(text, [], [f'"r"(a{chain})'] + [f'"{letter}"(r{chain}_{i})' for i in range(words)])

    sink = lambda chains: kept("r", words, chains)
    shared = 32768
    # What a transposing load gives is no address.
    if load and wide >= 32 and ".trans" not in row["name"]:
        yield Bench(row["name"], "latency", setup_of(1), chased, sink, 32, shared)
    body = again if load else store_body
    yield Bench(row["name"], "issue", setup_of(1), body, sink, 32 * WARPS, shared)
    if row["threads"] == 1 and access == 4:
        for degree in (2, 4, 8, 16, 32):
            yield Bench(f"{row['name']}/conflict {degree}", "issue", setup_of(degree), body, sink, 32 * WARPS, shared)


def exchange_benches(row):
    kind = ("unsigned", "r")

    def body(chain):
        return asm(fill(row["ptx"], d="%0", s="%1", x="1"), [f'"=r"(r{chain}_0)'], [f'"r"(r{chain}_0)'])

    setup = lambda chains: registers("r", 1, kind, chains)
    sink = lambda chains: kept("r", 1, chains)
    yield Bench(row["name"], "latency", setup, body, sink, 32)
    yield Bench(row["name"], "issue", setup, body, sink, 32 * WARPS)


def compute_benches(row):
    dtype = row["type"]
    comparing = row["operator"] in ("Eq", "Ne", "Lt", "Le", "Select", "Not")
    if dtype not in SCALARS or dtype == "bool" or comparing:
        return
    kind = SCALARS[dtype]
    name = f"{row['operator']}.{dtype}"
    if row.get("values", 1) > 1:
        # Neighbours in one 32-bit register.
        kind = ("unsigned", "r")
        name += f"x{row['values']}"

    def body(chain):
        names = {"s0": f"r{chain}_0", "s1": "q0_0", "s2": "q0_1"}
        if "ptx" in row:
            text = fill(row["ptx"], d="%0", s0="%1", s1="%2", s2="%3")
            letter = kind[1]
            inputs = [f'"{letter}"({names[s]})' for s in ("s0", "s1", "s2")]
            return asm(text, [f'"={letter}"(r{chain}_0)'], inputs)
        expression = fill(row["c"], **names)
        # The compiler neither folds nor hoists what passes through an empty asm.
        return f'r{chain}_0 = {expression}; asm volatile("" : "+{kind[1]}"(r{chain}_0));'

    setup = lambda chains: registers("r", 1, kind, chains) + "\n    " + registers("q", 2, kind, 1)
    sink = lambda chains: kept("r", 1, chains)
    yield Bench(name, "latency", setup, body, sink, 32)
    yield Bench(name, "issue", setup, body, sink, 32 * WARPS, divide=1 / 4)


def barrier_benches():
    for threads in (128, 256, 512, 1024):
        setup = lambda chains: ""
        body = lambda chain: "__syncthreads();"
        bench = Bench(f"barrier/{threads} threads", "latency", setup, body, lambda chains: "", threads)
        yield bench


def async_benches():
    """Asynchronous copies of 16 bytes a lane from the L2 cache, the 8 lanes of a phase on 1 to 8 lines of shared memory."""
    for lines in (1, 2, 4, 8):
        line = f"(lane * {lines} / 8)"
        place = f"{line} * 128 + lane % {8 // lines} * 16 + {line} % {lines} * {128 // lines}"
        setup = lambda chains, place=place: (
            f"unsigned to = base + warp * 4096 + {place};\n    const char *from = (const char *)data + warp * 512 + lane * 16;"
        )

        def body(chain):
            group = "\\n cp.async.commit_group;\\n cp.async.wait_group 1;" if chain == CHAINS - 1 else ""
            copy = f"cp.async.cg.shared.global [%0], [%1], 16;{group}"
            return asm(copy, [], ['"r"(to)', f'"l"(from + {chain * 8192})'])

        yield Bench(f"cp.async.cg.16/lines {lines}", "issue", setup, body, lambda chains: "", 32 * WARPS, 4096 * WARPS)


# Global memory: bandwidth from all multiprocessors, latency by a chain of pointers through a buffer that caches cannot hold.
MEMORY = r"""
extern "C" __global__ void chase(const unsigned long long *start, long long *clocks, int steps) {
    const unsigned long long *at = start;
    long long begin = clock64();
    #pragma unroll 1
    for (int i = 0; i < steps; i++) {
        asm volatile("ld.global.b64 %0, [%0];" : "+l"(at) :: "memory");
    }
    clocks[0] = clock64() - begin;
    clocks[1] = (long long)at;
}
extern "C" __global__ void chase_async(const unsigned long long *start, long long *clocks, int steps) {
    __shared__ __align__(16) unsigned long long landing[2];
    unsigned to = (unsigned)__cvta_generic_to_shared(landing);
    const unsigned long long *at = start;
    long long begin = clock64();
    #pragma unroll 1
    for (int i = 0; i < steps; i++) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 16;\n cp.async.commit_group;\n cp.async.wait_group 0;"
                     :: "r"(to), "l"(at) : "memory");
        asm volatile("ld.shared.b64 %0, [%1];" : "=l"(at) : "r"(to) : "memory");
    }
    clocks[0] = clock64() - begin;
    clocks[1] = (long long)at;
}
template <int BYTES> __device__ void load(const char *p, unsigned &sum) {
    unsigned a, b = 0, c = 0, d = 0;
    if (BYTES == 16) asm volatile("ld.global.v4.b32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(p));
    else if (BYTES == 8) asm volatile("ld.global.v2.b32 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "l"(p));
    else asm volatile("ld.global.b32 %0, [%1];" : "=r"(a) : "l"(p));
    sum += a ^ b ^ c ^ d;
}
template <int BYTES> __device__ void stream(const char *p, long long bytes, unsigned *out) {
    unsigned sum = 0;
    long long step = (long long)gridDim.x * blockDim.x * BYTES;
    long long at = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * BYTES;
    for (; at + 7 * step < bytes; at += 8 * step) {
        #pragma unroll
        for (int i = 0; i < 8; i++) load<BYTES>(p + at + i * step, sum);
    }
    if (sum == 0x12345678) out[0] = sum;
}
extern "C" __global__ void stream_16(const char *p, long long n, unsigned *o) { stream<16>(p, n, o); }
extern "C" __global__ void stream_8(const char *p, long long n, unsigned *o) { stream<8>(p, n, o); }
extern "C" __global__ void stream_4(const char *p, long long n, unsigned *o) { stream<4>(p, n, o); }
template <int BYTES> __device__ void stream_async(const char *p, long long bytes) {
    extern __shared__ __align__(1024) unsigned shared[];
    unsigned to = (unsigned)__cvta_generic_to_shared(shared) + threadIdx.x * BYTES;
    long long step = (long long)gridDim.x * blockDim.x * BYTES;
    long long at = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * BYTES;
    int slot = 0;
    for (; at < bytes; at += step) {
        unsigned d = to + slot * blockDim.x * BYTES;
        if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 16;" :: "r"(d), "l"(p + at) : "memory");
        else if (BYTES == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8, 8;" :: "r"(d), "l"(p + at) : "memory");
        else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, 4;" :: "r"(d), "l"(p + at) : "memory");
        asm volatile("cp.async.commit_group;\n cp.async.wait_group 7;" ::: "memory");
        slot = (slot + 1) & 7;
    }
}
extern "C" __global__ void async_16(const char *p, long long n) { stream_async<16>(p, n); }
extern "C" __global__ void async_8(const char *p, long long n) { stream_async<8>(p, n); }
extern "C" __global__ void async_4(const char *p, long long n) { stream_async<4>(p, n); }
"""


def benches():
    if tomllib is None:
        sys.exit("costs.py reads TOML and needs Python 3.11 or later")
    read = lambda name: tomllib.loads((CATALOGUE / name).read_text())
    for row in read("gemm.toml").get("gemm", []):
        if row["threads"] == 32 and row["ptx"].startswith("mma"):
            yield from gemm_benches(row)
    for row in read("copy.toml").get("copy", []):
        if {row["from"], row["to"]} == {"shared", "register"}:
            yield from shared_benches(row)
    for row in read("exchange.toml").get("exchange", []):
        yield from exchange_benches(row)
    for row in read("compute.toml").get("compute", []):
        yield from compute_benches(row)
    yield from barrier_benches()
    yield from async_benches()


def find_nvrtc():
    share = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    data = os.environ.get("HX_DATA_DIR") or Path(share) / "hx"
    folders = [Path(data) / "cuda/lib"]
    try:
        import nvidia

        folders += [Path(p) for root in nvidia.__path__ for p in Path(root).glob("*/lib")]
    except ImportError:
        pass
    for folder in folders:
        for library in sorted(folder.glob("libnvrtc.so*")):
            for builtins in sorted(folder.glob("libnvrtc-builtins.so*")):
                ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(str(library))
    sys.exit("the CUDA compiler (NVRTC) was not found: `cargo xtask cuda` fetches it")


def compile_all(path, arch):
    nvrtc = find_nvrtc()
    text = MEMORY + "".join(bench.text() for bench in benches())
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"costs.cu", 0, None, None)
    options = [f"--gpu-architecture={arch}".encode(), b"--fmad=false", b"-default-device", b"-diag-suppress=177"]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if status != 0:
        sys.exit(log.value.decode())
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, code)
    Path(path).write_bytes(code.raw)


def run_all(path, json_path, without=()):
    import torch

    from harness import Driver, HarnessError

    torch.empty(1, device="cuda")
    driver = Driver.get()
    code = Path(path).read_bytes()
    stream = torch.cuda.current_stream().cuda_stream
    data = torch.zeros(65536, dtype=torch.int32, device="cuda")
    clocks = torch.zeros(128, dtype=torch.int64, device="cuda")
    results = {}

    def launch(function, bench, loops):
        arguments = [ctypes.c_uint64(data.data_ptr()), ctypes.c_uint64(clocks.data_ptr()), ctypes.c_int32(loops)]
        driver.launch(function, (1, 1, 1), bench.threads, bench.shared, stream, arguments)
        torch.cuda.synchronize()
        warps = clocks[: 2 * (bench.threads // 32)].view(-1, 2)
        return int(warps[:, 1].max() - warps[:, 0].min())

    for bench in benches():
        if bench.name in without:
            continue
        function = driver.function(code, bench.symbol)
        driver.allow_shared(function, bench.shared)
        try:
            launch(function, bench, LOOPS[1])
        except (RuntimeError, HarnessError) as error:
            # The context is lost with it, so the others start anew.
            print(f"{bench.name}: {str(error).splitlines()[0]}", flush=True)
            again = [sys.executable, __file__, "run", path, *(["--json", json_path] if json_path else [])]
            os.execv(sys.executable, again + ["--without", ",".join([*without, bench.name])])
        samples = [bench.per_instruction(*(launch(function, bench, n) for n in LOOPS)) for _ in range(REPEATS)]
        entry = results.setdefault(bench.name, {})
        entry[bench.figure] = round(statistics.median(samples), 2)
        entry[f"{bench.figure}_lowest"] = round(min(samples), 2)

    def chase(name, footprint, symbol):
        count = footprint // 256
        order = torch.randperm(count)[: 1 << 20]
        buffer = torch.zeros(footprint // 8, dtype=torch.int64, device="cuda")
        address = buffer.data_ptr() + order * 256
        following = torch.roll(address, -1)
        buffer[(order * 32).cuda()] = following.cuda()
        function, steps = driver.function(code, symbol), 4096
        times = []
        for i in range(5):
            # Each run follows another part of the circle, so that what is far away has not been read before.
            first = i * steps % len(order)
            arguments = [ctypes.c_uint64(int(address[first])), ctypes.c_uint64(clocks.data_ptr()), ctypes.c_int32(steps)]
            driver.launch(function, (1, 1, 1), 1, 0, stream, arguments)
            torch.cuda.synchronize()
            times.append(int(clocks[0]) / steps)
        results[name] = {"latency": round(statistics.median(times), 1), "first": round(times[0], 1)}

    chase("global/L1", 64 << 10, "chase")
    chase("global/L2", 16 << 20, "chase")
    chase("global/DRAM", 4 << 30, "chase")
    chase("async/L2", 16 << 20, "chase_async")
    chase("async/DRAM", 4 << 30, "chase_async")

    processors = torch.cuda.get_device_properties(0).multi_processor_count
    big = torch.zeros(2 << 30, dtype=torch.uint8, device="cuda")
    for kind in ("stream", "async"):
        for width in (16, 8, 4):
            function = driver.function(code, f"{kind}_{width}")
            for where, size in (("DRAM", 2 << 30), ("L2", 24 << 20)):
                arguments = [ctypes.c_uint64(big.data_ptr()), ctypes.c_int64(size)]
                if kind == "stream":
                    arguments.append(ctypes.c_uint64(data.data_ptr()))
                shared = 0 if kind == "stream" else 8 * 512 * width
                driver.allow_shared(function, shared)
                times = []
                for _ in range(9):
                    start, end = torch.cuda.Event(True), torch.cuda.Event(True)
                    start.record()
                    driver.launch(function, (processors * (2 if shared else 4), 1, 1), 512, shared, stream, arguments)
                    end.record()
                    torch.cuda.synchronize()
                    times.append(start.elapsed_time(end) * 1e-3)
                results[f"{kind}/{width} B/{where}"] = {"gb_per_s": round(size / statistics.median(times[2:]) / 1e9, 1)}

    for name, figures in results.items():
        print(f"{name:40}", "  ".join(f"{k} {v}" for k, v in figures.items()))
    if json_path:
        Path(json_path).write_text(json.dumps(results, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("compile")
    build.add_argument("cubin")
    build.add_argument("--arch", default="sm_90a")
    run = commands.add_parser("run")
    run.add_argument("cubin")
    run.add_argument("--json")
    run.add_argument("--without", default="", help="names of rows that are left out, with commas between")
    args = parser.parse_args()
    if args.command == "compile":
        compile_all(args.cubin, args.arch)
    else:
        run_all(args.cubin, args.json, tuple(filter(None, args.without.split(","))))


if __name__ == "__main__":
    main()
