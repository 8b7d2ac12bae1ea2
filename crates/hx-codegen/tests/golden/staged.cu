extern "C" __global__ void __launch_bounds__(128, 1) staged(
    const unsigned short* __restrict__ a,
    unsigned short* __restrict__ b,
    int n) {
    const int thread = (int)threadIdx.x;
    extern __shared__ __align__(1024) unsigned char smem[];
    const unsigned smem_base = (unsigned)__cvta_generic_to_shared(smem);
    const unsigned s = smem_base; // f16, 4096 bytes
    unsigned r[4]; // 8 of f16
    // copy_async a -> s
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.cg.shared.global [%0], [%1], 16, %2; }"
        :
        : "r"(s + thread * 16), "l"(a + thread * 8), "r"(thread * 8 < n ? 16 : 0), "r"((int)(0 < n / 1000))
        : "memory");
    asm volatile("cp.async.commit_group;" : : : "memory");
    for (int kt = 0; kt < (int)(((long long)n + 1023) >> 10); ++kt) {
        // copy_async a -> s
        asm volatile(
            "{ .reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.cg.shared.global [%0], [%1], 16, %2; }"
            :
            : "r"(s + (thread * 16 + ((kt + 1) & 1) * 2048)), "l"(a + ((long long)(thread * 8) + kt * 1024 + 1024)),
              "r"((long long)(thread * 8) + kt * 1024 + 1024 < n ? 16 : 0), "r"((int)(kt + 1 < n / 1000))
            : "memory");
        asm volatile("cp.async.commit_group;" : : : "memory");
        // wait 1
        asm volatile("cp.async.wait_group 1;" : : : "memory");
        __syncthreads();
        // copy s -> b
        asm volatile(
            "ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
            : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
            : "r"(s + ((kt & 1) * 2048 - thread * 16 + 2032))
            : "memory");
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b + (thread * 8 + kt * 1024))
            : "memory");
        __syncthreads();
    }
}
