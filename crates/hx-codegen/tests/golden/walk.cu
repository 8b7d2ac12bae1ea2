extern "C" __global__ void __launch_bounds__(128, 1) walk(
    const unsigned short* __restrict__ next,
    const int* __restrict__ a,
    int* __restrict__ c,
    int n) {
    const int thread = (int)threadIdx.x;
    const int block_x = (int)blockIdx.x;
    int s[1];
    int r[1];
    long long at = block_x;
    // fill s = 0
    s[0] = 0;
    while (0 <= at) {
        const int next_2 = (short)next[at];
        // copy a -> r
        asm("ld.global.b32 %0, [%1];" : "=r"(r[0]) : "l"(a + (at * 128 + thread)));
        // s += r
        s[0] = (int)((unsigned)s[0] + (unsigned)r[0]);
        at = (next_2 >> 1) - 1;
    }
    // copy s -> c
    asm volatile("st.global.b32 [%1], %0;" : : "r"(s[0]), "l"(c + ((long long)block_x * 128 + thread)) : "memory");
}
