struct alignas(64) TensorMap {
    unsigned long long x[16];
};

extern "C" __global__ void __cluster_dims__(2, 2, 1) __launch_bounds__(128, 1) bulk_multicast(
    const unsigned short* __restrict__ x,
    unsigned short* __restrict__ y,
    int b,
    int m,
    int n,
    const __grid_constant__ TensorMap x_map) {
    const int thread = (int)threadIdx.x;
    const int block_x = (int)blockIdx.x;
    const int block_y = (int)blockIdx.y;
    extern __shared__ __align__(1024) unsigned char smem[];
    const unsigned smem_base = (unsigned)__cvta_generic_to_shared(smem);
    const unsigned a = smem_base; // f16, 4096 bytes
    const unsigned p_full = smem_base + 4096; // 2 barriers of 1 arrivals
    const unsigned p_empty = smem_base + 4112; // 2 barriers of 1 arrivals
    unsigned r[4]; // 8 of f16
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" : : "l"(&x_map) : "memory");
    }
    if (threadIdx.x == 0) {
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(p_full + i * 8) : "memory");
        }
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(p_empty + i * 8) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    }
    asm volatile("{ barrier.cluster.arrive.release; barrier.cluster.wait.acquire; }" : : : "memory");
    const int s = block_y & 1;
    // expect 2048 bytes for p
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %1, 0; @p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 2048; }"
        :
        : "r"(p_full + s * 8), "r"((int)(thread == 0))
        : "memory");
    // copy_async(x, a, signal: p)
    if (thread == 0) {
        asm volatile(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;"
            :
            : "r"(a + s * 2048), "l"(&x_map), "r"(p_full + s * 8), "h"((unsigned short)(3 << ((block_y & 1) * 2))),
              "r"(block_x * 64), "r"(0), "r"(block_y)
            : "memory");
        asm volatile(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;"
            :
            : "r"(a + (s * 2048 + 1024)), "l"(&x_map), "r"(p_full + s * 8),
              "h"((unsigned short)(3 << ((block_y & 1) * 2))), "r"(block_x * 64), "r"(8), "r"(block_y)
            : "memory");
    }
    // p.wait()
    asm volatile(
        "{ .reg .pred p; W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W%=; }"
        :
        : "r"(p_full + s * 8), "r"(0)
        : "memory");
    // copy(a, y)
    asm volatile(
        "ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"(a + (thread * 16 + s * 2048))
        : "memory");
    asm volatile(
        "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
        :
        : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(y + thread * 8)
        : "memory");
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
    // p.release()
    if ((thread & 127) == 0) {
        asm volatile(
            "{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [a]; }"
            :
            : "r"(p_empty + s * 8), "r"((block_y & 1) * 2)
            : "memory");
    }
    if ((thread & 127) == 1) {
        asm volatile(
            "{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [a]; }"
            :
            : "r"(p_empty + s * 8), "r"((block_y & 1) * 2 + 1)
            : "memory");
    }
    if ((thread & 127) == 2) {
        asm volatile(
            "{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [a]; }"
            :
            : "r"(p_empty + s * 8), "r"((((block_y & 1) + 1) & 1) * 2 + (block_x & 1))
            : "memory");
    }
    asm volatile("{ barrier.cluster.arrive.release; barrier.cluster.wait.acquire; }" : : : "memory");
}
