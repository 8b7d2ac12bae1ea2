// Runs the kernels of `data.cu` on a CPU: each thread of a thread block is a context here that runs until it meets `__syncthreads`, and the
// blocks follow each other. Reads words and bytes from stdin as `tests.rs` writes them, and writes the results to stdout.

#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <functional>
#include <vector>

struct Index { unsigned x; };
static Index threadIdx, blockIdx, gridDim;

// A thread of the block.
struct Thread { ucontext_t context; std::vector<char> stack; bool done; };
static ucontext_t scheduler;
static std::vector<Thread> threads;
static std::function<void()> kernel;

#define __device__ static
#define __global__
#define __shared__ static
static void __syncthreads() { swapcontext(&threads[threadIdx.x].context, &scheduler); }
static int __popc(unsigned x) { return __builtin_popcount(x); }
template <class To, class From> static To same_bits(From from) { To to; std::memcpy(&to, &from, sizeof to); return to; }
static long long __double_as_longlong(double x) { return same_bits<long long>(x); }
static double __longlong_as_double(long long x) { return same_bits<double>(x); }
static unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
static float __uint_as_float(unsigned x) { return same_bits<float>(x); }

#include DATA_TEXT

static void body() {
    kernel();
    threads[threadIdx.x].done = true;
}

static void run(unsigned blocks, std::function<void()> of) {
    kernel = of;
    gridDim.x = blocks;
    threads.resize(THREADS);
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        for (auto &thread : threads) {
            getcontext(&thread.context);
            thread.stack.resize(1 << 16);
            thread.context.uc_stack.ss_sp = thread.stack.data();
            thread.context.uc_stack.ss_size = thread.stack.size();
            thread.context.uc_link = &scheduler;
            thread.done = false;
            makecontext(&thread.context, body, 0);
        }
        // Every thread runs to its next barrier before one runs past it.
        for (bool left = true; left;) {
            left = false;
            for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++) {
                if (threads[threadIdx.x].done) continue;
                swapcontext(&scheduler, &threads[threadIdx.x].context);
                left = true;
            }
        }
    }
}

static void read_bytes(void *to, size_t bytes) {
    if (std::fread(to, 1, bytes, stdin) != bytes) std::exit(2);
}
static u64 read_word() { u64 word; read_bytes(&word, sizeof word); return word; }

int main() {
    u64 mode = read_word(), blocks = read_word(), bytes = read_word();
    std::vector<u64> memory(bytes / 8 + 1), other(bytes / 8 + 1), counts(blocks + 1);
    u8 *out = (u8 *)memory.data();
    if (mode < 2) {
        Plan plan;
        read_bytes(&plan, sizeof plan);
        if (mode == 0) {
            run(blocks, [&] { make_uniform(out, plan); });
        } else {
            run(blocks, [&] { count_normal(counts.data(), plan); });
            run(1, [&] { sum_counts(counts.data(), blocks); });
            if (2 * counts[blocks] < plan.word[COUNT]) return 3;
            run(blocks, [&] { make_normal(out, counts.data(), plan); });
        }
        std::fwrite(out, 1, bytes, stdout);
        return 0;
    }
    u64 type = read_word(), count = read_word(), poison = read_word(), scale = read_word(), rms = read_word();
    u8 *ys = (u8 *)other.data();
    read_bytes(out, bytes);
    read_bytes(ys, bytes);
    std::vector<double> sums(3 * blocks);
    run(blocks, [&] { survey(ys, sums.data(), type, count, poison); });
    std::fwrite(sums.data(), 8, 3 * blocks, stdout);
    run(blocks, [&] { squares(ys, sums.data(), type, count, scale); });
    std::fwrite(sums.data(), 8, 2 * blocks, stdout);
    run(blocks, [&] { differences(out, ys, sums.data(), type, count, rms); });
    std::fwrite(sums.data(), 8, 2 * blocks, stdout);
}
