static __device__ __forceinline__ unsigned hx_extract(unsigned word, int shift, int bits) {
    return (word >> shift) & ((1u << bits) - 1u);
}

static __device__ __forceinline__ unsigned hx_insert(unsigned word, unsigned value, int shift, int bits) {
    const unsigned mask = ((1u << bits) - 1u) << shift;
    return (word & ~mask) | ((value << shift) & mask);
}

extern "C" __global__ void __launch_bounds__(128, 1) conversions(
    const float* __restrict__ a,
    unsigned short* __restrict__ b,
    float* __restrict__ c,
    double* __restrict__ d,
    unsigned short* __restrict__ e) {
    const int thread = (int)threadIdx.x;
    float x[4];
    unsigned h[4] = {}; // 8 of f16
    unsigned g[4] = {}; // 8 of bf16
    double d_[1];
    // copy a -> x
    asm(
        "ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
        : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3])
        : "l"(a + thread * 4));
    // cast x -> h
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(h[i]) : "f"(x[i * 2]), "f"(x[i * 2 + 1]));
    }
    // cast x -> h, out of order
    {
        unsigned hx_t0;
        asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(hx_t0) : "f"(x[0]), "f"(x[1]));
        h[2] = hx_insert(h[2], hx_t0, 16, 16);
        h[3] = hx_insert(h[3], hx_t0 >> 16, 0, 16);
    }
    {
        unsigned short hx_t0;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_t0) : "f"(x[3]));
        h[2] = hx_insert(h[2], hx_t0, 0, 16);
    }
    {
        unsigned short hx_t0;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_t0) : "f"(x[2]));
        h[3] = hx_insert(h[3], hx_t0, 16, 16);
    }
    // cast h -> g
    {
        unsigned short hx_t0;
        asm(
            "{ .reg .f32 x; cvt.f32.f16 x, %1; cvt.rn.bf16.f32 %0, x; }"
            : "=h"(hx_t0)
            : "h"((unsigned short)(h[0])));
        g[0] = hx_insert(g[0], hx_t0, 0, 16);
    }
    {
        unsigned short hx_t0;
        asm(
            "{ .reg .f32 x; cvt.f32.f16 x, %1; cvt.rn.bf16.f32 %0, x; }"
            : "=h"(hx_t0)
            : "h"((unsigned short)(h[0] >> 16)));
        g[0] = hx_insert(g[0], hx_t0, 16, 16);
    }
    {
        unsigned short hx_t0;
        asm(
            "{ .reg .f32 x; cvt.f32.f16 x, %1; cvt.rn.bf16.f32 %0, x; }"
            : "=h"(hx_t0)
            : "h"((unsigned short)(h[1])));
        g[1] = hx_insert(g[1], hx_t0, 0, 16);
    }
    {
        unsigned short hx_t0;
        asm(
            "{ .reg .f32 x; cvt.f32.f16 x, %1; cvt.rn.bf16.f32 %0, x; }"
            : "=h"(hx_t0)
            : "h"((unsigned short)(h[1] >> 16)));
        g[1] = hx_insert(g[1], hx_t0, 16, 16);
    }
    {
        unsigned short hx_t0;
        asm(
            "{ .reg .f32 x; cvt.f32.f16 x, %1; cvt.rn.bf16.f32 %0, x; }"
            : "=h"(hx_t0)
            : "h"((unsigned short)(h[2])));
        g[2] = hx_insert(g[2], hx_t0, 0, 16);
    }
    {
        unsigned short hx_t0;
        asm(
            "{ .reg .f32 x; cvt.f32.f16 x, %1; cvt.rn.bf16.f32 %0, x; }"
            : "=h"(hx_t0)
            : "h"((unsigned short)(h[2] >> 16)));
        g[2] = hx_insert(g[2], hx_t0, 16, 16);
    }
    {
        unsigned short hx_t0;
        asm(
            "{ .reg .f32 x; cvt.f32.f16 x, %1; cvt.rn.bf16.f32 %0, x; }"
            : "=h"(hx_t0)
            : "h"((unsigned short)(h[3])));
        g[3] = hx_insert(g[3], hx_t0, 0, 16);
    }
    {
        unsigned short hx_t0;
        asm(
            "{ .reg .f32 x; cvt.f32.f16 x, %1; cvt.rn.bf16.f32 %0, x; }"
            : "=h"(hx_t0)
            : "h"((unsigned short)(h[3] >> 16)));
        g[3] = hx_insert(g[3], hx_t0, 16, 16);
    }
    // cast g -> x
    asm("cvt.f32.bf16 %0, %1;" : "=f"(x[0]) : "h"((unsigned short)(g[0])));
    asm("cvt.f32.bf16 %0, %1;" : "=f"(x[1]) : "h"((unsigned short)(g[0] >> 16)));
    asm("cvt.f32.bf16 %0, %1;" : "=f"(x[2]) : "h"((unsigned short)(g[1])));
    asm("cvt.f32.bf16 %0, %1;" : "=f"(x[3]) : "h"((unsigned short)(g[1] >> 16)));
    // cast h -> d
    asm("cvt.f64.f16 %0, %1;" : "=d"(d_[0]) : "h"((unsigned short)(h[2] >> 16)));
    // moves
    g[2] = g[0];
    g[3] = g[1];
    g[1] = hx_insert(g[1], hx_extract(g[3], 16, 16), 0, 16);
    g[1] = hx_insert(g[1], hx_extract(g[0], 0, 16), 16, 16);
    g[0] = hx_insert(g[0], 0x3f80u, 16, 16);
    x[0] = x[3];
    x[1] = x[2];
    // copies -> b, c, d
    asm volatile(
        "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
        :
        : "r"(g[0]), "r"(g[1]), "r"(g[2]), "r"(g[3]), "l"(b + thread * 8)
        : "memory");
    asm volatile(
        "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
        :
        : "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "l"(c + thread * 4)
        : "memory");
    asm volatile(
        "st.global.v2.b32 [%2], {%0, %1};"
        :
        : "r"(__double2loint(d_[0])), "r"(__double2hiint(d_[0])), "l"(d + thread)
        : "memory");
    asm volatile(
        "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
        :
        : "r"(h[0]), "r"(h[1]), "r"(h[2]), "r"(h[3]), "l"(e + thread * 8)
        : "memory");
}
