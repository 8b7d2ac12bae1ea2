extern "C" __global__ void __launch_bounds__(384, 1) drawn(
    int* __restrict__ y,
    int* __restrict__ c,
    int m) {
    const int blocks_x = (int)gridDim.x;
    const int blocks_y = (int)gridDim.y;
    extern __shared__ __align__(1024) unsigned char smem[];
    const unsigned smem_base = (unsigned)__cvta_generic_to_shared(smem);
    const unsigned work_full = smem_base + 0; // 2 barriers of 1 arrivals
    const unsigned work_empty = smem_base + 16; // 2 barriers of 12 arrivals
    const unsigned work_tickets = smem_base + 32; // tickets of work
    if (threadIdx.x == 0) {
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(work_full + i * 8) : "memory");
        }
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 12;" : : "r"(work_empty + i * 8) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    }
    __syncthreads();
    const int hx_group = __shfl_sync(0xffffffff, (int)threadIdx.x / 128, 0);
    if (hx_group < 2) {
        const int g = hx_group;
        const int thread = (int)threadIdx.x % 128;
        int one[1];
        int ticket = 0;
        int parity = 0;
        if (g == 0) {
            // draw from work
            if (thread == 96) {
                asm volatile(
                    "{ .reg .pred p; W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W%=; }"
                    :
                    : "r"(work_empty), "r"(1)
                    : "memory");
                int hx_number;
                asm volatile(
                    "atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
                    : "=r"(hx_number)
                    : "l"(c), "r"((unsigned)(blocks_x * blocks_y + (m >> 6) - 1))
                    : "memory");
                asm volatile("st.shared.u32 [%0], %1;" : : "r"(work_tickets), "r"(hx_number) : "memory");
                asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(work_full) : "memory");
            }
        }
        // for t in work
        #pragma unroll 1
        for (;;) {
            asm volatile(
                "{ .reg .pred p; W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W%=; }"
                :
                : "r"(work_full + ticket * 8), "r"(parity)
                : "memory");
            int hx_number = 0;
            if ((thread & 31) == 0) {
                asm volatile(
                    "ld.shared.u32 %0, [%1];"
                    : "=r"(hx_number)
                    : "r"(work_tickets + ticket * 4)
                    : "memory");
            }
            const int t = __shfl_sync(0xffffffff, hx_number, 0);
            __syncwarp();
            asm volatile(
                "{ .reg .pred p; setp.ne.b32 p, %1, 0; @p mbarrier.arrive.shared::cta.b64 _, [%0]; }"
                :
                : "r"(work_empty + ticket * 8), "r"((int)((thread & 31) == 0))
                : "memory");
            if (t >= (m >> 6)) break;
            parity = (parity + ticket) & 1;
            ticket = -ticket + 1;
            if (g == 0) {
                // draw from work
                if (thread == 96) {
                    asm volatile(
                        "{ .reg .pred p; W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W%=; }"
                        :
                        : "r"(work_empty + ticket * 8), "r"(-parity + 1)
                        : "memory");
                    int hx_number;
                    asm volatile(
                        "atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
                        : "=r"(hx_number)
                        : "l"(c), "r"((unsigned)(blocks_x * blocks_y + (m >> 6) - 1))
                        : "memory");
                    asm volatile(
                        "st.shared.u32 [%0], %1;"
                        :
                        : "r"(work_tickets + ticket * 4), "r"(hx_number)
                        : "memory");
                    asm volatile(
                        "mbarrier.arrive.shared::cta.b64 _, [%0];"
                        :
                        : "r"(work_full + ticket * 8)
                        : "memory");
                }
            }
            // copy(one, y)
            one[0] = 1;
            asm volatile(
                "{ .reg .pred p; setp.ne.b32 p, %2, 0; @p st.global.b32 [%1], %0; }"
                :
                : "r"(one[0]), "l"(y + (thread + t * 64)), "r"((int)(thread < 64))
                : "memory");
        }
    } else {
        const int thread = (int)threadIdx.x - 256;
        int one_[1];
        int ticket = 0;
        int parity = 0;
        // for t in work
        #pragma unroll 1
        for (;;) {
            asm volatile(
                "{ .reg .pred p; W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W%=; }"
                :
                : "r"(work_full + ticket * 8), "r"(parity)
                : "memory");
            int hx_number = 0;
            if ((thread & 31) == 0) {
                asm volatile(
                    "ld.shared.u32 %0, [%1];"
                    : "=r"(hx_number)
                    : "r"(work_tickets + ticket * 4)
                    : "memory");
            }
            const int t = __shfl_sync(0xffffffff, hx_number, 0);
            __syncwarp();
            asm volatile(
                "{ .reg .pred p; setp.ne.b32 p, %1, 0; @p mbarrier.arrive.shared::cta.b64 _, [%0]; }"
                :
                : "r"(work_empty + ticket * 8), "r"((int)((thread & 31) == 0))
                : "memory");
            if (t >= (m >> 6)) break;
            parity = (parity + ticket) & 1;
            ticket = -ticket + 1;
            // copy(one, y)
            one_[0] = 1;
            asm volatile(
                "{ .reg .pred p; setp.ne.b32 p, %2, 0; @p st.global.b32 [%1], %0; }"
                :
                : "r"(one_[0]), "l"(y + (thread + t * 64)), "r"((int)(thread < 64))
                : "memory");
        }
    }
}
