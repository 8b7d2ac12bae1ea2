extern "C" __global__ void __launch_bounds__(128, 1) transpose(
    const float* __restrict__ a,
    float* __restrict__ b,
    int m,
    int n) {
    const int thread = (int)threadIdx.x;
    const int block_x = (int)blockIdx.x;
    const int block_y = (int)blockIdx.y;
    extern __shared__ __align__(1024) unsigned char smem[];
    const unsigned smem_base = (unsigned)__cvta_generic_to_shared(smem);
    const unsigned tile = smem_base; // f32, 4096 bytes
    float r[8];
    // copy a -> tile
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        asm(
            "ld.global.b32 %0, [%1];"
            : "=f"(r[i])
            : "l"(a + ((long long)n * (block_y * 32 + i * 4 + (thread >> 5)) + (block_x * 32 + (thread & 31)))));
        asm volatile(
            "st.shared.b32 [%1], %0;"
            :
            : "f"(r[i]),
              "r"(tile + (i * 512 + (thread >> 5) * 128 + (((thread & 31) * 4) ^ (i * 16 + (thread >> 5) * 4))))
            : "memory");
    }
    // sync
    __syncthreads();
    // copy tile.t() -> b
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        asm volatile(
            "ld.shared.b32 %0, [%1];"
            : "=f"(r[i])
            : "r"(tile + ((thread & 31) * 128 + ((i * 16 + (thread >> 5) * 4) ^ ((thread & 31) * 4))))
            : "memory");
        asm volatile(
            "st.global.b32 [%1], %0;"
            :
            : "f"(r[i]),
              "l"(b + ((long long)m * (block_x * 32 + i * 4 + (thread >> 5)) + (block_y * 32 + (thread & 31))))
            : "memory");
    }
}
