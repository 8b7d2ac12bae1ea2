#line 1 "half_words.hx::half_words"
static __device__ __forceinline__ unsigned hx_extract(unsigned word, int shift, int bits) { return (word >> shift) & ((1u << bits) - 1u); }

#line 1 "half_words.hx::half_words"
static __device__ __forceinline__ unsigned hx_insert(unsigned word, unsigned value, int shift, int bits) { const unsigned mask = ((1u << bits) - 1u) << shift; return (word & ~mask) | ((value << shift) & mask); }

#line 1 "half_words.hx::half_words"
extern "C" __global__ void __launch_bounds__(128, 1) half_words(const unsigned short* __restrict__ a, unsigned short* __restrict__ b, int s) {
#line 1 "half_words.hx::half_words"
    const int thread = (int)threadIdx.x;
#line 1 "half_words.hx::half_words"
    unsigned r[4] = {}; // 8 of f16
    // copy a -> r
#line 10 "half_words.hx::half_words"
    #pragma unroll
#line 10 "half_words.hx::half_words"
    for (int i = 0; i < 8; ++i) {
#line 10 "half_words.hx::half_words"
        {
#line 10 "half_words.hx::half_words"
            unsigned short hx_t0 = 0x3c00u;
#line 10 "half_words.hx::half_words"
            asm("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p ld.global.b16 %0, [%1]; }" : "+h"(hx_t0) : "l"(a + ((long long)s * i + thread)), "r"((int)(i < s)));
#line 10 "half_words.hx::half_words"
            r[i >> 1] = hx_insert(r[i >> 1], hx_t0, (i & 1) * 16, 16);
#line 10 "half_words.hx::half_words"
        }
#line 10 "half_words.hx::half_words"
    }
    // copy r -> b
#line 11 "half_words.hx::half_words"
    asm volatile("st.global.v4.b32 [%4], {%0, %1, %2, %3};" : : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b + thread * 16) : "memory");
#line 11 "half_words.hx::half_words"
    asm volatile("st.global.v2.b32 [%2], {%0, %1};" : : "r"(hx_extract(r[0], 16, 16) | (hx_extract(r[1], 0, 16) << 16)), "r"(hx_extract(r[1], 16, 16) | (hx_extract(r[2], 0, 16) << 16)), "l"(b + (thread * 16 + 8)) : "memory");
#line 11 "half_words.hx::half_words"
    asm volatile("st.global.b32 [%1], %0;" : : "r"(hx_extract(r[3], 0, 16) | (hx_extract(r[0], 16, 16) << 16)), "l"(b + (thread * 16 + 12)) : "memory");
#line 11 "half_words.hx::half_words"
    #pragma unroll
#line 11 "half_words.hx::half_words"
    for (int i = 0; i < 2; ++i) {
#line 11 "half_words.hx::half_words"
        asm volatile("st.global.b16 [%1], %0;" : : "h"((unsigned short)(hx_extract(r[(i * 3) >> 1], ((i * 3) & 1) * 16, 16))), "l"(b + (thread * 16 + i + 14)) : "memory");
#line 11 "half_words.hx::half_words"
    }
#line 1 "half_words.hx::half_words"
}
