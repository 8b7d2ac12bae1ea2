static __device__ __forceinline__ int hx_floor_div(int a, int b) {
    const bool plain = (unsigned)b + 1u > 1u;
    const int d = plain ? b : 1;
    const int q = a / d - (a % d != 0 && (a < 0) != (d < 0));
    return plain ? q : (int)(0u - (unsigned)(a & b));
}

static __device__ __forceinline__ long long hx_floor_div(long long a, long long b) {
    const bool plain = (unsigned long long)b + 1u > 1u;
    const long long d = plain ? b : 1;
    const long long q = a / d - (a % d != 0 && (a < 0) != (d < 0));
    return plain ? q : (long long)(0u - (unsigned long long)(a & b));
}

static __device__ __forceinline__ int hx_floor_mod(int a, int b) {
    const int d = (unsigned)b + 1u > 1u ? b : 1;
    const int r = a % d;
    return r != 0 && (r < 0) != (d < 0) ? r + d : r;
}

static __device__ __forceinline__ long long hx_floor_mod(long long a, long long b) {
    const long long d = (unsigned long long)b + 1u > 1u ? b : 1;
    const long long r = a % d;
    return r != 0 && (r < 0) != (d < 0) ? r + d : r;
}

static __device__ __forceinline__ unsigned hx_div(unsigned a, unsigned b) {
    const unsigned d = b == 0 ? 1 : b;
    const unsigned q = a / d;
    return b == 0 ? 0 : q;
}

static __device__ __forceinline__ unsigned long long hx_div(unsigned long long a, unsigned long long b) {
    const unsigned long long d = b == 0 ? 1 : b;
    const unsigned long long q = a / d;
    return b == 0 ? 0 : q;
}

static __device__ __forceinline__ unsigned hx_mod(unsigned a, unsigned b) {
    const unsigned d = b == 0 ? 1 : b;
    const unsigned r = a % d;
    return b == 0 ? 0 : r;
}

static __device__ __forceinline__ unsigned long long hx_mod(unsigned long long a, unsigned long long b) {
    const unsigned long long d = b == 0 ? 1 : b;
    const unsigned long long r = a % d;
    return b == 0 ? 0 : r;
}

static __device__ __forceinline__ unsigned hx_extract(unsigned word, int shift, int bits) {
    return (word >> shift) & ((1u << bits) - 1u);
}

static __device__ __forceinline__ unsigned hx_insert(unsigned word, unsigned value, int shift, int bits) {
    const unsigned mask = ((1u << bits) - 1u) << shift;
    return (word & ~mask) | ((value << shift) & mask);
}

static __device__ __forceinline__ int hx_least(int a, int b) {
    int chosen;
    asm("{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, %1, %2, p; }" : "=r"(chosen) : "r"(a), "r"(b));
    return chosen;
}

static __device__ __forceinline__ int hx_most(int a, int b) {
    int chosen;
    asm("{ .reg .pred p; setp.gt.s32 p, %1, %2; selp.b32 %0, %1, %2, p; }" : "=r"(chosen) : "r"(a), "r"(b));
    return chosen;
}

extern "C" __global__ void __launch_bounds__(128, 1) operators(
    const unsigned char* __restrict__ in_bool_t,
    unsigned char* __restrict__ out_bool_t,
    const unsigned char* __restrict__ in_i4_t,
    unsigned char* __restrict__ out_i4_t,
    const unsigned char* __restrict__ in_i8_t,
    unsigned char* __restrict__ out_i8_t,
    const unsigned short* __restrict__ in_i16_t,
    unsigned short* __restrict__ out_i16_t,
    const int* __restrict__ in_i32_t,
    int* __restrict__ out_i32_t,
    const long long* __restrict__ in_i64_t,
    long long* __restrict__ out_i64_t,
    const unsigned short* __restrict__ in_u16_t,
    unsigned short* __restrict__ out_u16_t,
    const unsigned* __restrict__ in_u32_t,
    unsigned* __restrict__ out_u32_t,
    const unsigned long long* __restrict__ in_u64_t,
    unsigned long long* __restrict__ out_u64_t,
    const unsigned short* __restrict__ in_f16_t,
    unsigned short* __restrict__ out_f16_t,
    const unsigned short* __restrict__ in_bf16_t,
    unsigned short* __restrict__ out_bf16_t,
    const float* __restrict__ in_f32_t,
    float* __restrict__ out_f32_t,
    const double* __restrict__ in_f64_t,
    double* __restrict__ out_f64_t) {
    const int thread = (int)threadIdx.x;
    unsigned in_bool[1]; // 4 of bool
    unsigned out_bool[12] = {}; // 48 of bool
    unsigned in_i4[1] = {}; // 4 of i4
    unsigned out_i4[4] = {}; // 32 of i4
    unsigned in_i8[1]; // 4 of i8
    unsigned out_i8[4] = {}; // 16 of i8
    unsigned in_i16[2]; // 4 of i16
    unsigned out_i16[4] = {}; // 8 of i16
    int in_i32[4];
    int out_i32[20];
    long long in_i64[4];
    long long out_i64[20];
    unsigned in_u16[2]; // 4 of u16
    unsigned out_u16[4] = {}; // 8 of u16
    unsigned in_u32[4];
    unsigned out_u32[20];
    long long in_u64[4];
    long long out_u64[18];
    unsigned in_f16[2]; // 4 of f16
    unsigned out_f16[8] = {}; // 16 of f16
    unsigned in_bf16[2]; // 4 of bf16
    unsigned out_bf16[8] = {}; // 16 of bf16
    float in_f32[4];
    float out_f32[48];
    double in_f64[4];
    double out_f64[46];
    // loads
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm("ld.global.b32 %0, [%1];" : "=r"(in_bool[i]) : "l"(in_bool_t + (thread * 4 + i * 4)));
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        {
            unsigned short hx_t0;
            asm("ld.global.b16 %0, [%1];" : "=h"(hx_t0) : "l"(in_i4_t + (thread * 2 + i * 2)));
            in_i4[(i * 4) >> 3] = hx_insert(in_i4[(i * 4) >> 3], hx_t0, ((i * 4) & 7) * 4, 4);
            in_i4[(i * 4 + 1) >> 3] = hx_insert(in_i4[(i * 4 + 1) >> 3], hx_t0 >> 4, ((i * 4 + 1) & 7) * 4, 4);
            in_i4[(i * 4 + 2) >> 3] = hx_insert(in_i4[(i * 4 + 2) >> 3], hx_t0 >> 8, ((i * 4 + 2) & 7) * 4, 4);
            in_i4[(i * 4 + 3) >> 3] = hx_insert(in_i4[(i * 4 + 3) >> 3], hx_t0 >> 12, ((i * 4 + 3) & 7) * 4, 4);
        }
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm("ld.global.b32 %0, [%1];" : "=r"(in_i8[i]) : "l"(in_i8_t + (thread * 4 + i * 4)));
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm(
            "ld.global.v2.b32 {%0, %1}, [%2];"
            : "=r"(in_i16[i * 2]), "=r"(in_i16[i * 2 + 1])
            : "l"(in_i16_t + (thread * 4 + i * 4)));
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm(
            "ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
            : "=r"(in_i32[i * 4]), "=r"(in_i32[i * 4 + 1]), "=r"(in_i32[i * 4 + 2]), "=r"(in_i32[i * 4 + 3])
            : "l"(in_i32_t + (thread * 4 + i * 4)));
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        {
            unsigned hx_t0;
            unsigned hx_t1;
            unsigned hx_t2;
            unsigned hx_t3;
            asm(
                "ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                : "=r"(hx_t0), "=r"(hx_t1), "=r"(hx_t2), "=r"(hx_t3)
                : "l"(in_i64_t + (thread * 4 + i * 2)));
            in_i64[i * 2] = (long long)((unsigned long long)hx_t1 << 32 | hx_t0);
            in_i64[i * 2 + 1] = (long long)((unsigned long long)hx_t3 << 32 | hx_t2);
        }
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm(
            "ld.global.v2.b32 {%0, %1}, [%2];"
            : "=r"(in_u16[i * 2]), "=r"(in_u16[i * 2 + 1])
            : "l"(in_u16_t + (thread * 4 + i * 4)));
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm(
            "ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
            : "=r"(in_u32[i * 4]), "=r"(in_u32[i * 4 + 1]), "=r"(in_u32[i * 4 + 2]), "=r"(in_u32[i * 4 + 3])
            : "l"(in_u32_t + (thread * 4 + i * 4)));
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        {
            unsigned hx_t0;
            unsigned hx_t1;
            unsigned hx_t2;
            unsigned hx_t3;
            asm(
                "ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                : "=r"(hx_t0), "=r"(hx_t1), "=r"(hx_t2), "=r"(hx_t3)
                : "l"(in_u64_t + (thread * 4 + i * 2)));
            in_u64[i * 2] = (long long)((unsigned long long)hx_t1 << 32 | hx_t0);
            in_u64[i * 2 + 1] = (long long)((unsigned long long)hx_t3 << 32 | hx_t2);
        }
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm(
            "ld.global.v2.b32 {%0, %1}, [%2];"
            : "=r"(in_f16[i * 2]), "=r"(in_f16[i * 2 + 1])
            : "l"(in_f16_t + (thread * 4 + i * 4)));
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm(
            "ld.global.v2.b32 {%0, %1}, [%2];"
            : "=r"(in_bf16[i * 2]), "=r"(in_bf16[i * 2 + 1])
            : "l"(in_bf16_t + (thread * 4 + i * 4)));
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm(
            "ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
            : "=f"(in_f32[i * 4]), "=f"(in_f32[i * 4 + 1]), "=f"(in_f32[i * 4 + 2]), "=f"(in_f32[i * 4 + 3])
            : "l"(in_f32_t + (thread * 4 + i * 4)));
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        {
            unsigned hx_t0;
            unsigned hx_t1;
            unsigned hx_t2;
            unsigned hx_t3;
            asm(
                "ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                : "=r"(hx_t0), "=r"(hx_t1), "=r"(hx_t2), "=r"(hx_t3)
                : "l"(in_f64_t + (thread * 4 + i * 2)));
            in_f64[i * 2] = __hiloint2double((int)hx_t1, (int)hx_t0);
            in_f64[i * 2 + 1] = __hiloint2double((int)hx_t3, (int)hx_t2);
        }
    }
    // ($0 + $1)
    out_f32[0] = in_f32[1] + in_f32[2];
    // ($0 - $1)
    out_f32[1] = in_f32[1] - in_f32[2];
    // ($0 * $1)
    out_f32[2] = in_f32[1] * in_f32[2];
    // ($0 / $1)
    out_f32[3] = in_f32[1] / in_f32[2];
    // ($0 % $1)
    out_f32[4] = (float)((double)in_f32[1] - floor((double)in_f32[1] / (double)in_f32[2]) * (double)in_f32[2]);
    // -$0
    out_f32[5] = -in_f32[1];
    // ($0 < $1)
    out_bool[0] = hx_insert(out_bool[0], in_f32[1] < in_f32[2], 0, 8);
    // ($0 <= $1)
    out_bool[0] = hx_insert(out_bool[0], in_f32[1] <= in_f32[2], 8, 8);
    // ($0 == $1)
    out_bool[0] = hx_insert(out_bool[0], in_f32[1] == in_f32[2], 16, 8);
    // ($0 != $1)
    out_bool[0] = hx_insert(out_bool[0], in_f32[1] != in_f32[2], 24, 8);
    // isnan($0)
    out_bool[1] = hx_insert(out_bool[1], in_f32[1] != in_f32[1], 0, 8);
    // abs($0)
    asm("abs.f32 %0, %1;" : "=f"(out_f32[6]) : "f"(in_f32[1]));
    // min($0, $1)
    asm("min.f32 %0, %1, %2;" : "=f"(out_f32[7]) : "f"(in_f32[1]), "f"(in_f32[2]));
    // max($0, $1)
    asm("max.f32 %0, %1, %2;" : "=f"(out_f32[8]) : "f"(in_f32[1]), "f"(in_f32[2]));
    // fma($0, $1, $2)
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(out_f32[9]) : "f"(in_f32[1]), "f"(in_f32[2]), "f"(in_f32[3]));
    // sqrt($0)
    asm("sqrt.rn.f32 %0, %1;" : "=f"(out_f32[10]) : "f"(in_f32[1]));
    // floor($0)
    asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(out_f32[11]) : "f"(in_f32[1]));
    // ceil($0)
    asm("cvt.rpi.f32.f32 %0, %1;" : "=f"(out_f32[12]) : "f"(in_f32[1]));
    // round($0)
    asm("cvt.rni.f32.f32 %0, %1;" : "=f"(out_f32[13]) : "f"(in_f32[1]));
    // where($0, $1, $2)
    out_f32[14] = (hx_extract(in_bool[0], 8, 8) != 0) ? in_f32[2] : in_f32[3];
    // ($0 + $1)
    out_f64[0] = in_f64[1] + in_f64[2];
    // ($0 - $1)
    out_f64[1] = in_f64[1] - in_f64[2];
    // ($0 * $1)
    out_f64[2] = in_f64[1] * in_f64[2];
    // ($0 / $1)
    out_f64[3] = in_f64[1] / in_f64[2];
    // ($0 % $1)
    out_f64[4] = in_f64[1] - floor(in_f64[1] / in_f64[2]) * in_f64[2];
    // -$0
    out_f64[5] = -in_f64[1];
    // ($0 < $1)
    out_bool[1] = hx_insert(out_bool[1], in_f64[1] < in_f64[2], 8, 8);
    // ($0 <= $1)
    out_bool[1] = hx_insert(out_bool[1], in_f64[1] <= in_f64[2], 16, 8);
    // ($0 == $1)
    out_bool[1] = hx_insert(out_bool[1], in_f64[1] == in_f64[2], 24, 8);
    // ($0 != $1)
    out_bool[2] = hx_insert(out_bool[2], in_f64[1] != in_f64[2], 0, 8);
    // isnan($0)
    out_bool[2] = hx_insert(out_bool[2], in_f64[1] != in_f64[1], 8, 8);
    // abs($0)
    asm("abs.f64 %0, %1;" : "=d"(out_f64[6]) : "d"(in_f64[1]));
    // min($0, $1)
    asm("min.f64 %0, %1, %2;" : "=d"(out_f64[7]) : "d"(in_f64[1]), "d"(in_f64[2]));
    // max($0, $1)
    asm("max.f64 %0, %1, %2;" : "=d"(out_f64[8]) : "d"(in_f64[1]), "d"(in_f64[2]));
    // fma($0, $1, $2)
    asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(out_f64[9]) : "d"(in_f64[1]), "d"(in_f64[2]), "d"(in_f64[3]));
    // sqrt($0)
    asm("sqrt.rn.f64 %0, %1;" : "=d"(out_f64[10]) : "d"(in_f64[1]));
    // floor($0)
    asm("cvt.rmi.f64.f64 %0, %1;" : "=d"(out_f64[11]) : "d"(in_f64[1]));
    // ceil($0)
    asm("cvt.rpi.f64.f64 %0, %1;" : "=d"(out_f64[12]) : "d"(in_f64[1]));
    // round($0)
    asm("cvt.rni.f64.f64 %0, %1;" : "=d"(out_f64[13]) : "d"(in_f64[1]));
    // where($0, $1, $2)
    out_f64[14] = (hx_extract(in_bool[0], 8, 8) != 0) ? in_f64[2] : in_f64[3];
    // exp2($0)
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out_f32[15]) : "f"(in_f32[1]));
    // ($0 + $1)
    out_i32[0] = (int)((unsigned)in_i32[1] + (unsigned)in_i32[2]);
    // ($0 - $1)
    out_i32[1] = (int)((unsigned)in_i32[1] - (unsigned)in_i32[2]);
    // ($0 * $1)
    out_i32[2] = (int)((unsigned)in_i32[1] * (unsigned)in_i32[2]);
    // ($0 & $1)
    out_i32[3] = in_i32[1] & in_i32[2];
    // ($0 | $1)
    out_i32[4] = in_i32[1] | in_i32[2];
    // ($0 ^ $1)
    out_i32[5] = in_i32[1] ^ in_i32[2];
    // ($0 << $1)
    out_i32[6] = (unsigned long long)in_i32[2] < 32 ? in_i32[1] << in_i32[2] : 0;
    // ($0 >> $1)
    out_i32[7] = in_i32[1] >> ((unsigned long long)in_i32[2] < 32 ? in_i32[2] : 31);
    // popcount($0)
    out_i32[8] = __popc(in_i32[1]);
    // clz($0)
    out_i32[9] = __clz(in_i32[1]);
    // mulhi($0, $1)
    out_i32[10] = __mulhi(in_i32[1], in_i32[2]);
    // ($0 < $1)
    out_bool[2] = hx_insert(out_bool[2], in_i32[1] < in_i32[2], 16, 8);
    // ($0 <= $1)
    out_bool[2] = hx_insert(out_bool[2], in_i32[1] <= in_i32[2], 24, 8);
    // ($0 == $1)
    out_bool[3] = hx_insert(out_bool[3], in_i32[1] == in_i32[2], 0, 8);
    // ($0 != $1)
    out_bool[3] = hx_insert(out_bool[3], in_i32[1] != in_i32[2], 8, 8);
    // -$0
    out_i32[11] = (int)(-(unsigned)in_i32[1]);
    // min($0, $1)
    out_i32[12] = hx_least(in_i32[1], in_i32[2]);
    // max($0, $1)
    out_i32[13] = hx_most(in_i32[1], in_i32[2]);
    // where($0, $1, $2)
    out_i32[14] = (hx_extract(in_bool[0], 8, 8) != 0) ? in_i32[2] : in_i32[3];
    // abs($0)
    out_i32[15] = in_i32[1] < 0 ? -in_i32[1] : in_i32[1];
    // ($0 / $1)
    out_i32[16] = hx_floor_div((int)in_i32[1], (int)in_i32[2]);
    // ($0 % $1)
    out_i32[17] = hx_floor_mod((int)in_i32[1], (int)in_i32[2]);
    // ($0 + $1)
    out_u32[0] = in_u32[1] + in_u32[2];
    // ($0 - $1)
    out_u32[1] = in_u32[1] - in_u32[2];
    // ($0 * $1)
    out_u32[2] = in_u32[1] * in_u32[2];
    // ($0 & $1)
    out_u32[3] = in_u32[1] & in_u32[2];
    // ($0 | $1)
    out_u32[4] = in_u32[1] | in_u32[2];
    // ($0 ^ $1)
    out_u32[5] = in_u32[1] ^ in_u32[2];
    // ($0 << $1)
    out_u32[6] = (unsigned long long)in_u32[2] < 32 ? in_u32[1] << in_u32[2] : 0;
    // ($0 >> $1)
    out_u32[7] = (unsigned long long)in_u32[2] < 32 ? in_u32[1] >> in_u32[2] : 0;
    // popcount($0)
    out_u32[8] = __popc(in_u32[1]);
    // clz($0)
    out_u32[9] = __clz((int)in_u32[1]);
    // mulhi($0, $1)
    out_u32[10] = __umulhi(in_u32[1], in_u32[2]);
    // ($0 < $1)
    out_bool[3] = hx_insert(out_bool[3], in_u32[1] < in_u32[2], 16, 8);
    // ($0 <= $1)
    out_bool[3] = hx_insert(out_bool[3], in_u32[1] <= in_u32[2], 24, 8);
    // ($0 == $1)
    out_bool[4] = hx_insert(out_bool[4], in_u32[1] == in_u32[2], 0, 8);
    // ($0 != $1)
    out_bool[4] = hx_insert(out_bool[4], in_u32[1] != in_u32[2], 8, 8);
    // -$0
    out_u32[11] = -in_u32[1];
    // min($0, $1)
    out_u32[12] = in_u32[1] < in_u32[2] ? in_u32[1] : in_u32[2];
    // max($0, $1)
    out_u32[13] = in_u32[1] > in_u32[2] ? in_u32[1] : in_u32[2];
    // where($0, $1, $2)
    out_u32[14] = (hx_extract(in_bool[0], 8, 8) != 0) ? in_u32[2] : in_u32[3];
    // ($0 / $1)
    out_u32[15] = hx_div((unsigned)in_u32[1], (unsigned)in_u32[2]);
    // ($0 % $1)
    out_u32[16] = hx_mod((unsigned)in_u32[1], (unsigned)in_u32[2]);
    // ($0 + $1)
    out_i64[0] = (long long)((unsigned long long)in_i64[1] + (unsigned long long)in_i64[2]);
    // ($0 - $1)
    out_i64[1] = (long long)((unsigned long long)in_i64[1] - (unsigned long long)in_i64[2]);
    // ($0 * $1)
    out_i64[2] = (long long)((unsigned long long)in_i64[1] * (unsigned long long)in_i64[2]);
    // ($0 & $1)
    out_i64[3] = in_i64[1] & in_i64[2];
    // ($0 | $1)
    out_i64[4] = in_i64[1] | in_i64[2];
    // ($0 ^ $1)
    out_i64[5] = in_i64[1] ^ in_i64[2];
    // ($0 << $1)
    out_i64[6] = (unsigned long long)in_i64[2] < 64 ? in_i64[1] << in_i64[2] : 0;
    // ($0 >> $1)
    out_i64[7] = in_i64[1] >> ((unsigned long long)in_i64[2] < 64 ? in_i64[2] : 63);
    // popcount($0)
    out_i64[8] = __popcll(in_i64[1]);
    // clz($0)
    out_i64[9] = __clzll(in_i64[1]);
    // mulhi($0, $1)
    out_i64[10] = __mul64hi(in_i64[1], in_i64[2]);
    // ($0 < $1)
    out_bool[4] = hx_insert(out_bool[4], in_i64[1] < in_i64[2], 16, 8);
    // ($0 <= $1)
    out_bool[4] = hx_insert(out_bool[4], in_i64[1] <= in_i64[2], 24, 8);
    // ($0 == $1)
    out_bool[5] = hx_insert(out_bool[5], in_i64[1] == in_i64[2], 0, 8);
    // ($0 != $1)
    out_bool[5] = hx_insert(out_bool[5], in_i64[1] != in_i64[2], 8, 8);
    // -$0
    out_i64[11] = (long long)(-(unsigned long long)in_i64[1]);
    // min($0, $1)
    out_i64[12] = in_i64[1] < in_i64[2] ? in_i64[1] : in_i64[2];
    // max($0, $1)
    out_i64[13] = in_i64[1] > in_i64[2] ? in_i64[1] : in_i64[2];
    // where($0, $1, $2)
    out_i64[14] = (hx_extract(in_bool[0], 8, 8) != 0) ? in_i64[2] : in_i64[3];
    // abs($0)
    out_i64[15] = in_i64[1] < 0 ? -in_i64[1] : in_i64[1];
    // ($0 / $1)
    out_i64[16] = hx_floor_div((long long)in_i64[1], (long long)in_i64[2]);
    // ($0 % $1)
    out_i64[17] = hx_floor_mod((long long)in_i64[1], (long long)in_i64[2]);
    // ($0 + $1)
    out_u64[0] = (unsigned long long)in_u64[1] + (unsigned long long)in_u64[2];
    // ($0 - $1)
    out_u64[1] = (unsigned long long)in_u64[1] - (unsigned long long)in_u64[2];
    // ($0 * $1)
    out_u64[2] = (unsigned long long)in_u64[1] * (unsigned long long)in_u64[2];
    // ($0 & $1)
    out_u64[3] = (unsigned long long)in_u64[1] & (unsigned long long)in_u64[2];
    // ($0 | $1)
    out_u64[4] = (unsigned long long)in_u64[1] | (unsigned long long)in_u64[2];
    // ($0 ^ $1)
    out_u64[5] = (unsigned long long)in_u64[1] ^ (unsigned long long)in_u64[2];
    // ($0 << $1)
    {
        const unsigned long long hx_v0 = (unsigned long long)in_u64[1];
        const unsigned long long hx_v1 = (unsigned long long)in_u64[2];
        out_u64[6] = (unsigned long long)hx_v1 < 64 ? hx_v0 << hx_v1 : 0;
    }
    // ($0 >> $1)
    {
        const unsigned long long hx_v0 = (unsigned long long)in_u64[1];
        const unsigned long long hx_v1 = (unsigned long long)in_u64[2];
        out_u64[7] = (unsigned long long)hx_v1 < 64 ? hx_v0 >> hx_v1 : 0;
    }
    // popcount($0)
    out_u64[8] = __popcll((unsigned long long)in_u64[1]);
    // clz($0)
    out_u64[9] = __clzll((long long)(unsigned long long)in_u64[1]);
    // mulhi($0, $1)
    out_u64[10] = __umul64hi((unsigned long long)in_u64[1], (unsigned long long)in_u64[2]);
    // ($0 < $1)
    out_bool[5] = hx_insert(out_bool[5], (unsigned long long)in_u64[1] < (unsigned long long)in_u64[2], 16, 8);
    // ($0 <= $1)
    out_bool[5] = hx_insert(out_bool[5], (unsigned long long)in_u64[1] <= (unsigned long long)in_u64[2], 24, 8);
    // ($0 == $1)
    out_bool[6] = hx_insert(out_bool[6], (unsigned long long)in_u64[1] == (unsigned long long)in_u64[2], 0, 8);
    // ($0 != $1)
    out_bool[6] = hx_insert(out_bool[6], (unsigned long long)in_u64[1] != (unsigned long long)in_u64[2], 8, 8);
    // -$0
    out_u64[11] = -(unsigned long long)in_u64[1];
    // min($0, $1)
    {
        const unsigned long long hx_v0 = (unsigned long long)in_u64[1];
        const unsigned long long hx_v1 = (unsigned long long)in_u64[2];
        out_u64[12] = hx_v0 < hx_v1 ? hx_v0 : hx_v1;
    }
    // max($0, $1)
    {
        const unsigned long long hx_v0 = (unsigned long long)in_u64[1];
        const unsigned long long hx_v1 = (unsigned long long)in_u64[2];
        out_u64[13] = hx_v0 > hx_v1 ? hx_v0 : hx_v1;
    }
    // where($0, $1, $2)
    out_u64[14] = (hx_extract(in_bool[0], 8, 8) != 0) ? (unsigned long long)in_u64[2] : (unsigned long long)in_u64[3];
    // ($0 / $1)
    out_u64[15] = hx_div((unsigned long long)in_u64[1], (unsigned long long)in_u64[2]);
    // ($0 % $1)
    out_u64[16] = hx_mod((unsigned long long)in_u64[1], (unsigned long long)in_u64[2]);
    // ($0 & $1)
    out_bool[6] = hx_insert(out_bool[6], (hx_extract(in_bool[0], 8, 8) != 0) & (hx_extract(in_bool[0], 16, 8) != 0), 16, 8);
    // ($0 | $1)
    out_bool[6] = hx_insert(out_bool[6], (hx_extract(in_bool[0], 8, 8) != 0) | (hx_extract(in_bool[0], 16, 8) != 0), 24, 8);
    // ($0 ^ $1)
    out_bool[7] = hx_insert(out_bool[7], (hx_extract(in_bool[0], 8, 8) != 0) ^ (hx_extract(in_bool[0], 16, 8) != 0), 0, 8);
    // ($0 == $1)
    out_bool[7] = hx_insert(out_bool[7], (hx_extract(in_bool[0], 8, 8) != 0) == (hx_extract(in_bool[0], 16, 8) != 0), 8, 8);
    // ($0 != $1)
    out_bool[7] = hx_insert(out_bool[7], (hx_extract(in_bool[0], 8, 8) != 0) != (hx_extract(in_bool[0], 16, 8) != 0), 16, 8);
    // !$0
    out_bool[7] = hx_insert(out_bool[7], !(hx_extract(in_bool[0], 8, 8) != 0), 24, 8);
    // where($0, $1, $2)
    out_bool[8] = hx_insert(out_bool[8], (hx_extract(in_bool[0], 8, 8) != 0) ? (hx_extract(in_bool[0], 16, 8) != 0) : (hx_extract(in_bool[0], 24, 8) != 0), 0, 8);
    // fma($0, $1, $2)
    {
        unsigned short hx_v0;
        asm(
            "fma.rn.f16 %0, %1, %2, %3;"
            : "=h"(hx_v0)
            : "h"((unsigned short)(in_f16[0] >> 16)), "h"((unsigned short)(in_f16[1])),
              "h"((unsigned short)(in_f16[1] >> 16)));
        out_f16[0] = hx_insert(out_f16[0], hx_v0, 0, 16);
    }
    // fma($0, $1, $2)
    {
        unsigned short hx_v0;
        asm(
            "fma.rn.bf16 %0, %1, %2, %3;"
            : "=h"(hx_v0)
            : "h"((unsigned short)(in_bf16[0] >> 16)), "h"((unsigned short)(in_bf16[1])),
              "h"((unsigned short)(in_bf16[1] >> 16)));
        out_bf16[0] = hx_insert(out_bf16[0], hx_v0, 0, 16);
    }
    // exp($0)
    out_f32[16] = expf(in_f32[1]);
    // log($0)
    out_f32[17] = logf(in_f32[1]);
    // log2($0)
    out_f32[18] = log2f(in_f32[1]);
    // tanh($0)
    out_f32[19] = tanhf(in_f32[1]);
    // sigmoid($0)
    out_f32[20] = 1.0f / (1.0f + expf(-in_f32[1]));
    // sin($0)
    out_f32[21] = sinf(in_f32[1]);
    // cos($0)
    out_f32[22] = cosf(in_f32[1]);
    // erf($0)
    out_f32[23] = erff(in_f32[1]);
    // pow($0, $1)
    out_f32[24] = powf(in_f32[1], in_f32[2]);
    // rsqrt($0)
    out_f32[25] = rsqrtf(in_f32[1]);
    // exp($0)
    out_f64[15] = exp(in_f64[1]);
    // log($0)
    out_f64[16] = log(in_f64[1]);
    // log2($0)
    out_f64[17] = log2(in_f64[1]);
    // tanh($0)
    out_f64[18] = tanh(in_f64[1]);
    // sigmoid($0)
    out_f64[19] = 1.0 / (1.0 + exp(-in_f64[1]));
    // sin($0)
    out_f64[20] = sin(in_f64[1]);
    // cos($0)
    out_f64[21] = cos(in_f64[1]);
    // erf($0)
    out_f64[22] = erf(in_f64[1]);
    // pow($0, $1)
    out_f64[23] = pow(in_f64[1], in_f64[2]);
    // rsqrt($0)
    out_f64[24] = rsqrt(in_f64[1]);
    // exp2($0)
    out_f64[25] = exp2(in_f64[1]);
    // ($0 + $1)
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(out_f16[1]) : "r"(in_f16[0]), "r"(in_f16[1]));
    // ($0 - $1)
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(out_f16[2]) : "r"(in_f16[0]), "r"(in_f16[1]));
    // ($0 * $1)
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(out_f16[3]) : "r"(in_f16[0]), "r"(in_f16[1]));
    // fma($0, $1, $2)
    {
        unsigned short hx_v0;
        asm(
            "fma.rn.f16 %0, %1, %2, %3;"
            : "=h"(hx_v0)
            : "h"((unsigned short)(in_f16[0] >> 16)), "h"((unsigned short)(in_f16[1])),
              "h"((unsigned short)(in_f16[1] >> 16)));
        out_f16[4] = hx_insert(out_f16[4], hx_v0, 0, 16);
    }
    // -$0
    asm("neg.f16x2 %0, %1;" : "=r"(out_f16[5]) : "r"(in_f16[0]));
    // ($0 + $1)
    asm(
        "{ .reg .b32 one; mov.b32 one, 0x3f803f80; fma.rn.bf16x2 %0, %1, one, %2; }"
        : "=r"(out_bf16[1])
        : "r"(in_bf16[0]), "r"(in_bf16[1]));
    // ($0 - $1)
    asm(
        "{ .reg .b32 one; mov.b32 one, 0xbf80bf80; fma.rn.bf16x2 %0, %2, one, %1; }"
        : "=r"(out_bf16[2])
        : "r"(in_bf16[0]), "r"(in_bf16[1]));
    // ($0 * $1)
    asm(
        "{ .reg .b32 zero; mov.b32 zero, 0x80008000; fma.rn.bf16x2 %0, %1, %2, zero; }"
        : "=r"(out_bf16[3])
        : "r"(in_bf16[0]), "r"(in_bf16[1]));
    // fma($0, $1, $2)
    {
        unsigned short hx_v0;
        asm(
            "fma.rn.bf16 %0, %1, %2, %3;"
            : "=h"(hx_v0)
            : "h"((unsigned short)(in_bf16[0] >> 16)), "h"((unsigned short)(in_bf16[1])),
              "h"((unsigned short)(in_bf16[1] >> 16)));
        out_bf16[4] = hx_insert(out_bf16[4], hx_v0, 0, 16);
    }
    // -$0
    asm("neg.bf16x2 %0, %1;" : "=r"(out_bf16[5]) : "r"(in_bf16[0]));
    // log10($0)
    out_f32[26] = log10f(in_f32[1]);
    // log10($0)
    out_f64[26] = log10(in_f64[1]);
    // exp10($0)
    out_f32[27] = exp10f(in_f32[1]);
    // exp10($0)
    out_f64[27] = exp10(in_f64[1]);
    // expm1($0)
    out_f32[28] = expm1f(in_f32[1]);
    // expm1($0)
    out_f64[28] = expm1(in_f64[1]);
    // log1p($0)
    out_f32[29] = log1pf(in_f32[1]);
    // log1p($0)
    out_f64[29] = log1p(in_f64[1]);
    // cbrt($0)
    out_f32[30] = cbrtf(in_f32[1]);
    // cbrt($0)
    out_f64[30] = cbrt(in_f64[1]);
    // sinh($0)
    out_f32[31] = sinhf(in_f32[1]);
    // sinh($0)
    out_f64[31] = sinh(in_f64[1]);
    // cosh($0)
    out_f32[32] = coshf(in_f32[1]);
    // cosh($0)
    out_f64[32] = cosh(in_f64[1]);
    // tan($0)
    out_f32[33] = tanf(in_f32[1]);
    // tan($0)
    out_f64[33] = tan(in_f64[1]);
    // asin($0)
    out_f32[34] = asinf(in_f32[1]);
    // asin($0)
    out_f64[34] = asin(in_f64[1]);
    // acos($0)
    out_f32[35] = acosf(in_f32[1]);
    // acos($0)
    out_f64[35] = acos(in_f64[1]);
    // atan($0)
    out_f32[36] = atanf(in_f32[1]);
    // atan($0)
    out_f64[36] = atan(in_f64[1]);
    // erfinv($0)
    out_f32[37] = erfinvf(in_f32[1]);
    // erfinv($0)
    out_f64[37] = erfinv(in_f64[1]);
    // lgamma($0)
    out_f32[38] = lgammaf(in_f32[1]);
    // lgamma($0)
    out_f64[38] = lgamma(in_f64[1]);
    // atan2($0, $1)
    out_f32[39] = atan2f(in_f32[1], in_f32[2]);
    // atan2($0, $1)
    out_f64[39] = atan2(in_f64[1], in_f64[2]);
    // fmod($0, $1)
    out_f32[40] = fmodf(in_f32[1], in_f32[2]);
    // fmod($0, $1)
    out_f64[40] = fmod(in_f64[1], in_f64[2]);
    // copysign($0, $1)
    out_f32[41] = copysignf(in_f32[1], in_f32[2]);
    // copysign($0, $1)
    out_f64[41] = copysign(in_f64[1], in_f64[2]);
    // trunc($0)
    asm("cvt.rzi.f32.f32 %0, %1;" : "=f"(out_f32[42]) : "f"(in_f32[1]));
    // trunc($0)
    asm("cvt.rzi.f64.f64 %0, %1;" : "=d"(out_f64[42]) : "d"(in_f64[1]));
    // sign($0)
    out_f32[43] = in_f32[1] > 0.0f ? 1.0f : in_f32[1] < 0.0f ? -1.0f : in_f32[1];
    // sign($0)
    out_f64[43] = in_f64[1] > 0.0 ? 1.0 : in_f64[1] < 0.0 ? -1.0 : in_f64[1];
    // sign($0)
    out_i32[18] = in_i32[1] > 0 ? 1 : in_i32[1] < 0 ? -1 : in_i32[1];
    // sign($0)
    out_i64[18] = in_i64[1] > 0 ? 1 : in_i64[1] < 0 ? -1 : in_i64[1];
    // ($0 * $1)
    out_i8[0] = hx_insert(out_i8[0], (int)(signed char)(int)((unsigned)((int)(signed char)hx_extract(in_i8[0], 8, 8)) * (unsigned)((int)(signed char)hx_extract(in_i8[0], 16, 8))), 0, 8);
    // ($0 - $1)
    out_u16[0] = hx_insert(out_u16[0], (hx_extract(in_u16[0], 16, 16) - hx_extract(in_u16[1], 0, 16)) & 0xffffu, 0, 16);
    // ($0 % $1)
    out_i8[0] = hx_insert(out_i8[0], (int)(signed char)hx_floor_mod((int)((int)(signed char)hx_extract(in_i8[0], 8, 8)), (int)((int)(signed char)hx_extract(in_i8[0], 16, 8))), 8, 8);
    // ($0 << $1)
    {
        const int hx_v0 = (int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28;
        const int hx_v1 = (int)((unsigned)hx_extract(in_i4[0], 8, 4) << 28) >> 28;
        out_i4[0] = hx_insert(out_i4[0], (int)((unsigned)((unsigned long long)hx_v1 < 32 ? hx_v0 << hx_v1 : 0) << 28) >> 28, 0, 4);
    }
    // ($0 >> 3.0)
    out_u32[17] = in_u32[1] >> 3u;
    // (max(cast($0, f32), -0.5) * max(cast($0, f32), -0.5))
    {
        float hx_v0;
        asm("cvt.f32.f16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_f16[0] >> 16)));
        float hx_v1;
        asm("max.f32 %0, %1, %2;" : "=f"(hx_v1) : "f"(hx_v0), "f"(-0.5f));
        out_f32[44] = hx_v1 * hx_v1;
    }
    // bitcast($0, u32)
    out_u32[18] = __float_as_uint(in_f32[1]);
    // bitcast($0, f32)
    out_f32[45] = __uint_as_float(in_i32[1]);
    // bitcast($0, u64)
    out_u64[17] = (unsigned long long)__double_as_longlong(in_f64[1]);
    // bitcast($0, f64)
    out_f64[44] = __longlong_as_double(in_i64[1]);
    // bitcast($0, i16)
    out_i16[0] = hx_insert(out_i16[0], (int)(short)(int)((unsigned short)(in_f16[0] >> 16)), 0, 16);
    // bitcast($0, f16)
    out_f16[6] = hx_insert(out_f16[6], (unsigned short)(((int)(short)hx_extract(in_i16[0], 16, 16)) & 0xffffu), 0, 16);
    // bitcast($0, i64)
    out_i64[19] = (long long)(unsigned long long)in_u64[1];
    // stores
    #pragma unroll
    for (int i = 0; i < 3; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_bool[i * 4]), "r"(out_bool[i * 4 + 1]), "r"(out_bool[i * 4 + 2]), "r"(out_bool[i * 4 + 3]),
              "l"(out_bool_t + (thread * 48 + i * 16))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_i4[i * 4]), "r"(out_i4[i * 4 + 1]), "r"(out_i4[i * 4 + 2]), "r"(out_i4[i * 4 + 3]),
              "l"(out_i4_t + (thread * 16 + i * 16))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_i8[i * 4]), "r"(out_i8[i * 4 + 1]), "r"(out_i8[i * 4 + 2]), "r"(out_i8[i * 4 + 3]),
              "l"(out_i8_t + (thread * 16 + i * 16))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_i16[i * 4]), "r"(out_i16[i * 4 + 1]), "r"(out_i16[i * 4 + 2]), "r"(out_i16[i * 4 + 3]),
              "l"(out_i16_t + (thread * 8 + i * 8))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 5; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_i32[i * 4]), "r"(out_i32[i * 4 + 1]), "r"(out_i32[i * 4 + 2]), "r"(out_i32[i * 4 + 3]),
              "l"(out_i32_t + (thread * 20 + i * 4))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 10; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"((unsigned)out_i64[i * 2]), "r"((unsigned)(out_i64[i * 2] >> 32)),
              "r"((unsigned)out_i64[i * 2 + 1]), "r"((unsigned)(out_i64[i * 2 + 1] >> 32)),
              "l"(out_i64_t + (thread * 20 + i * 2))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_u16[i * 4]), "r"(out_u16[i * 4 + 1]), "r"(out_u16[i * 4 + 2]), "r"(out_u16[i * 4 + 3]),
              "l"(out_u16_t + (thread * 8 + i * 8))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 5; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_u32[i * 4]), "r"(out_u32[i * 4 + 1]), "r"(out_u32[i * 4 + 2]), "r"(out_u32[i * 4 + 3]),
              "l"(out_u32_t + (thread * 20 + i * 4))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 9; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"((unsigned)out_u64[i * 2]), "r"((unsigned)(out_u64[i * 2] >> 32)),
              "r"((unsigned)out_u64[i * 2 + 1]), "r"((unsigned)(out_u64[i * 2 + 1] >> 32)),
              "l"(out_u64_t + (thread * 18 + i * 2))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_f16[i * 4]), "r"(out_f16[i * 4 + 1]), "r"(out_f16[i * 4 + 2]), "r"(out_f16[i * 4 + 3]),
              "l"(out_f16_t + (thread * 16 + i * 8))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_bf16[i * 4]), "r"(out_bf16[i * 4 + 1]), "r"(out_bf16[i * 4 + 2]), "r"(out_bf16[i * 4 + 3]),
              "l"(out_bf16_t + (thread * 16 + i * 8))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 12; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "f"(out_f32[i * 4]), "f"(out_f32[i * 4 + 1]), "f"(out_f32[i * 4 + 2]), "f"(out_f32[i * 4 + 3]),
              "l"(out_f32_t + (thread * 48 + i * 4))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 23; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(__double2loint(out_f64[i * 2])), "r"(__double2hiint(out_f64[i * 2])),
              "r"(__double2loint(out_f64[i * 2 + 1])), "r"(__double2hiint(out_f64[i * 2 + 1])),
              "l"(out_f64_t + (thread * 46 + i * 2))
            : "memory");
    }
}
