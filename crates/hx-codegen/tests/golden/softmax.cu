static __device__ __forceinline__ unsigned hx_extract(unsigned word, int shift, int bits) {
    return (word >> shift) & ((1u << bits) - 1u);
}

static __device__ __forceinline__ unsigned hx_insert(unsigned word, unsigned value, int shift, int bits) {
    const unsigned mask = ((1u << bits) - 1u) << shift;
    return (word & ~mask) | ((value << shift) & mask);
}

extern "C" __global__ void __launch_bounds__(128, 1) softmax(
    const unsigned short* __restrict__ a,
    unsigned short* __restrict__ b,
    float scale,
    int m,
    int n) {
    const int thread = (int)threadIdx.x;
    const int block_x = (int)blockIdx.x;
    unsigned h[4] = {}; // 8 of f16
    float exp_[8];
    float most[1];
    float sum[1];
    float other[1];
    // copy a -> h
    asm(
        "ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
        : "=r"(h[0]), "=r"(h[1]), "=r"(h[2]), "=r"(h[3])
        : "l"(a + ((long long)block_x * 1024 + ((thread >> 5) * 256 + (thread & 31) * 8))));
    // x = where(index < n, h * scale, -inf)
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        {
            float hx_v0;
            asm(
                "cvt.f32.f16 %0, %1;"
                : "=f"(hx_v0)
                : "h"((unsigned short)(hx_extract(h[i >> 1], (i & 1) * 16, 16))));
            exp_[i] = ((i + (thread & 31) * 8) < n) ? (hx_v0 * scale) : __int_as_float(0xff800000);
        }
    }
    // m = max(x)
    most[0] = __int_as_float(0xff800000);
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        asm("max.f32 %0, %1, %2;" : "=f"(most[0]) : "f"(most[0]), "f"(exp_[i]));
    }
    asm volatile("shfl.sync.bfly.b32 %0, %1, 16, 31, 0xffffffff;" : "=f"(other[0]) : "f"(most[0]) : "memory");
    asm("max.f32 %0, %1, %2;" : "=f"(most[0]) : "f"(most[0]), "f"(other[0]));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 8, 31, 0xffffffff;" : "=f"(other[0]) : "f"(most[0]) : "memory");
    asm("max.f32 %0, %1, %2;" : "=f"(most[0]) : "f"(most[0]), "f"(other[0]));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 4, 31, 0xffffffff;" : "=f"(other[0]) : "f"(most[0]) : "memory");
    asm("max.f32 %0, %1, %2;" : "=f"(most[0]) : "f"(most[0]), "f"(other[0]));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 2, 31, 0xffffffff;" : "=f"(other[0]) : "f"(most[0]) : "memory");
    asm("max.f32 %0, %1, %2;" : "=f"(most[0]) : "f"(most[0]), "f"(other[0]));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;" : "=f"(other[0]) : "f"(most[0]) : "memory");
    asm("max.f32 %0, %1, %2;" : "=f"(most[0]) : "f"(most[0]), "f"(other[0]));
    // x = exp(x - m)
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        exp_[i] = expf(exp_[i] - most[0]);
    }
    // s = sum(x)
    sum[0] = 0.0f;
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        sum[0] = sum[0] + exp_[i];
    }
    asm volatile("shfl.sync.bfly.b32 %0, %1, 16, 31, 0xffffffff;" : "=f"(other[0]) : "f"(sum[0]) : "memory");
    sum[0] = sum[0] + other[0];
    asm volatile("shfl.sync.bfly.b32 %0, %1, 8, 31, 0xffffffff;" : "=f"(other[0]) : "f"(sum[0]) : "memory");
    sum[0] = sum[0] + other[0];
    asm volatile("shfl.sync.bfly.b32 %0, %1, 4, 31, 0xffffffff;" : "=f"(other[0]) : "f"(sum[0]) : "memory");
    sum[0] = sum[0] + other[0];
    asm volatile("shfl.sync.bfly.b32 %0, %1, 2, 31, 0xffffffff;" : "=f"(other[0]) : "f"(sum[0]) : "memory");
    sum[0] = sum[0] + other[0];
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;" : "=f"(other[0]) : "f"(sum[0]) : "memory");
    sum[0] = sum[0] + other[0];
    // h = cast(x / s, f16)
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        {
            unsigned short hx_v0;
            asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_v0) : "f"(exp_[i] / sum[0]));
            h[i >> 1] = hx_insert(h[i >> 1], hx_v0, (i & 1) * 16, 16);
        }
    }
    // copy h -> b
    asm volatile(
        "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
        :
        : "r"(h[0]), "r"(h[1]), "r"(h[2]), "r"(h[3]),
          "l"(b + ((long long)block_x * 1024 + ((thread >> 5) * 256 + (thread & 31) * 8)))
        : "memory");
}
