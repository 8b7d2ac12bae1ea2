extern "C" __global__ void __launch_bounds__(128, 1) gemm(
    const unsigned short* __restrict__ a,
    const unsigned short* __restrict__ b,
    float* __restrict__ c,
    int m,
    int n,
    int k) {
    const int thread = (int)threadIdx.x;
    const int block_x = (int)blockIdx.x;
    const int block_y = (int)blockIdx.y;
    extern __shared__ __align__(1024) unsigned char smem[];
    const unsigned smem_base = (unsigned)__cvta_generic_to_shared(smem);
    const unsigned sa = smem_base; // f16, 8192 bytes
    const unsigned sb = smem_base + 8192; // f16, 8192 bytes
    unsigned ra[16]; // 32 of f16
    unsigned rb[16]; // 32 of f16
    unsigned fa[16]; // 32 of f16
    unsigned fb[16]; // 32 of f16
    float acc[128];
    // fill acc = 0.0
    #pragma unroll
    for (int hx_i = 0; hx_i < 128; ++hx_i) acc[hx_i] = 0.0f;
    for (int kt = 0; kt < (k >> 5); ++kt) {
        // copy a -> sa
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            ra[i * 4] = 0u;
            ra[i * 4 + 1] = 0u;
            ra[i * 4 + 2] = 0u;
            ra[i * 4 + 3] = 0u;
            asm(
                "{ .reg .pred p; setp.ne.b32 p, %5, 0; @p ld.global.v4.b32 {%0, %1, %2, %3}, [%4]; }"
                : "+r"(ra[i * 4]), "+r"(ra[i * 4 + 1]), "+r"(ra[i * 4 + 2]), "+r"(ra[i * 4 + 3])
                : "l"(a + ((long long)k * (block_y * 128 + i * 32 + (thread >> 2)) + (kt * 32 + (thread & 3) * 8))),
                  "r"((int)(block_y * 128 + i * 32 + (thread >> 2) < m)));
        }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            asm volatile(
                "st.shared.v4.b32 [%4], {%0, %1, %2, %3};"
                :
                : "r"(ra[i * 4]), "r"(ra[i * 4 + 1]), "r"(ra[i * 4 + 2]), "r"(ra[i * 4 + 3]),
                  "r"(sa + (i * 2048 + (thread >> 2) * 64 + (((thread & 3) * 16) ^ (((thread >> 3) & 3) * 16))))
                : "memory");
        }
        // copy b -> sb
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            rb[i * 4] = 0u;
            rb[i * 4 + 1] = 0u;
            rb[i * 4 + 2] = 0u;
            rb[i * 4 + 3] = 0u;
            asm(
                "{ .reg .pred p; setp.ne.b32 p, %5, 0; @p ld.global.v4.b32 {%0, %1, %2, %3}, [%4]; }"
                : "+r"(rb[i * 4]), "+r"(rb[i * 4 + 1]), "+r"(rb[i * 4 + 2]), "+r"(rb[i * 4 + 3])
                : "l"(b + ((long long)k * (block_x * 128 + i * 32 + (thread >> 2)) + (kt * 32 + (thread & 3) * 8))),
                  "r"((int)(block_x * 128 + i * 32 + (thread >> 2) < n)));
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            asm volatile(
                "st.shared.v4.b32 [%4], {%0, %1, %2, %3};"
                :
                : "r"(rb[i * 4]), "r"(rb[i * 4 + 1]), "r"(rb[i * 4 + 2]), "r"(rb[i * 4 + 3]),
                  "r"(sb + (i * 2048 + (thread >> 2) * 64 + (((thread & 3) * 16) ^ (((thread >> 3) & 3) * 16))))
                : "memory");
        }
        __syncthreads();
        #pragma unroll
        for (int ks = 0; ks < 2; ++ks) {
            // copy sa -> fa
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                asm volatile(
                    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                    : "=r"(fa[i * 4]), "=r"(fa[i * 4 + 1]), "=r"(fa[i * 4 + 2]), "=r"(fa[i * 4 + 3])
                    : "r"(sa + (i * 1024 + (thread >> 6) * 4096 + (thread & 15) * 64 + ((ks * 32 + ((thread & 31) >> 4) * 16) ^ ((((thread & 15) >> 1) & 3) * 16))))
                    : "memory");
            }
            // copy sb -> fb
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                asm volatile(
                    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                    : "=r"(fb[j * 4]), "=r"(fb[j * 4 + 1]), "=r"(fb[j * 4 + 2]), "=r"(fb[j * 4 + 3])
                    : "r"(sb + (j * 1024 + ((thread & 31) >> 4) * 512 + (thread & 7) * 64 + ((thread >> 5) & 1) * 4096 + ((ks * 32 + (((thread & 31) >> 3) & 1) * 16) ^ (((thread & 7) >> 1) * 16))))
                    : "memory");
            }
            // gemm acc += fa @ fb.t()
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    asm(
                        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(acc[i * 32 + j * 4]), "+f"(acc[i * 32 + j * 4 + 1]), "+f"(acc[i * 32 + j * 4 + 2]),
                          "+f"(acc[i * 32 + j * 4 + 3])
                        : "r"(fa[i * 4]), "r"(fa[i * 4 + 1]), "r"(fa[i * 4 + 2]), "r"(fa[i * 4 + 3]),
                          "r"(fb[j * 2]), "r"(fb[j * 2 + 1]));
                }
            }
        }
    }
    // copy acc -> c
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            asm volatile(
                "{ .reg .pred p; setp.ne.b32 p, %3, 0; @p st.global.v2.b32 [%2], {%0, %1}; }"
                :
                : "f"(acc[i * 32 + j * 4]), "f"(acc[i * 32 + j * 4 + 1]),
                  "l"(c + ((long long)n * (block_y * 128 + i * 16 + (thread >> 6) * 64 + ((thread & 31) >> 2)) + (block_x * 128 + (thread & 3) * 2 + ((thread >> 5) & 1) * 64) + j * 8)),
                  "r"((int)(block_y * 128 + i * 16 + (thread >> 6) * 64 + ((thread & 31) >> 2) < m && block_x * 128 + j * 8 + (thread & 3) * 2 + ((thread >> 5) & 1) * 64 < n))
                : "memory");
            asm volatile(
                "{ .reg .pred p; setp.ne.b32 p, %3, 0; @p st.global.v2.b32 [%2], {%0, %1}; }"
                :
                : "f"(acc[i * 32 + j * 4 + 2]), "f"(acc[i * 32 + j * 4 + 3]),
                  "l"(c + ((long long)n * (block_y * 128 + i * 16 + (thread >> 6) * 64 + ((thread & 31) >> 2) + 8) + (block_x * 128 + (thread & 3) * 2 + ((thread >> 5) & 1) * 64) + j * 8)),
                  "r"((int)(block_y * 128 + i * 16 + (thread >> 6) * 64 + ((thread & 31) >> 2) + 8 < m && block_x * 128 + j * 8 + (thread & 3) * 2 + ((thread >> 5) & 1) * 64 < n))
                : "memory");
        }
    }
}
