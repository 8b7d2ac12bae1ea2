static __device__ __forceinline__ unsigned hx_extract(unsigned word, int shift, int bits) {
    return (word >> shift) & ((1u << bits) - 1u);
}

static __device__ __forceinline__ unsigned hx_insert(unsigned word, unsigned value, int shift, int bits) {
    const unsigned mask = ((1u << bits) - 1u) << shift;
    return (word & ~mask) | ((value << shift) & mask);
}

static __device__ __forceinline__ unsigned hx_tf32(float x) {
    const unsigned bits = __float_as_uint(x);
    return x == x ? (bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u : 0x7fffe000u;
}

static __device__ __forceinline__ float hx_odd(double x) {
    const float cut = __double2float_rz(x);
    return x == x && (double)cut != x ? __uint_as_float(__float_as_uint(cut) | 1u) : cut;
}

static __device__ __forceinline__ float hx_odd(int x) {
    const float cut = __int2float_rz(x);
    return (int)cut != x ? __uint_as_float(__float_as_uint(cut) | 1u) : cut;
}

static __device__ __forceinline__ float hx_odd(unsigned x) {
    const float cut = __uint2float_rz(x);
    return (unsigned)cut != x ? __uint_as_float(__float_as_uint(cut) | 1u) : cut;
}

static __device__ __forceinline__ float hx_odd(long long x) {
    const float cut = __ll2float_rz(x);
    return (long long)cut != x ? __uint_as_float(__float_as_uint(cut) | 1u) : cut;
}

static __device__ __forceinline__ float hx_odd(unsigned long long x) {
    const float cut = __ull2float_rz(x);
    return (unsigned long long)cut != x ? __uint_as_float(__float_as_uint(cut) | 1u) : cut;
}

extern "C" __global__ void __launch_bounds__(128, 1) casts(
    const unsigned char* __restrict__ in_bool_t,
    unsigned char* __restrict__ out_bool_t,
    const unsigned char* __restrict__ in_i4_t,
    unsigned char* __restrict__ out_i4_t,
    const unsigned char* __restrict__ in_i8_t,
    unsigned char* __restrict__ out_i8_t,
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
    const unsigned* __restrict__ in_tf32_t,
    unsigned* __restrict__ out_tf32_t,
    const float* __restrict__ in_f32_t,
    float* __restrict__ out_f32_t,
    const double* __restrict__ in_f64_t,
    double* __restrict__ out_f64_t) {
    const int thread = (int)threadIdx.x;
    unsigned in_bool[1]; // 4 of bool
    unsigned out_bool[4] = {}; // 16 of bool
    unsigned in_i4[1] = {}; // 4 of i4
    unsigned out_i4[4] = {}; // 32 of i4
    unsigned in_i8[1]; // 4 of i8
    unsigned out_i8[4] = {}; // 16 of i8
    int in_i32[4];
    int out_i32[12];
    long long in_i64[4];
    long long out_i64[12];
    unsigned in_u16[2]; // 4 of u16
    unsigned out_u16[8] = {}; // 16 of u16
    unsigned in_u32[4];
    unsigned out_u32[12];
    long long in_u64[4];
    long long out_u64[12];
    unsigned in_f16[2]; // 4 of f16
    unsigned out_f16[8] = {}; // 16 of f16
    unsigned in_bf16[2]; // 4 of bf16
    unsigned out_bf16[8] = {}; // 16 of bf16
    unsigned in_tf32[4]; // 4 of tf32
    unsigned out_tf32[12]; // 12 of tf32
    float in_f32[4];
    float out_f32[12];
    double in_f64[4];
    double out_f64[12];
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
            : "=r"(in_tf32[i * 4]), "=r"(in_tf32[i * 4 + 1]), "=r"(in_tf32[i * 4 + 2]), "=r"(in_tf32[i * 4 + 3])
            : "l"(in_tf32_t + (thread * 4 + i * 4)));
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
    // cast($0, i4)
    out_i4[0] = hx_insert(out_i4[0], (int)((unsigned)(int)(hx_extract(in_bool[0], 8, 8) != 0) << 28) >> 28, 0, 4);
    // cast($0, i8)
    out_i8[0] = hx_insert(out_i8[0], (int)(signed char)(int)(hx_extract(in_bool[0], 8, 8) != 0), 0, 8);
    // cast($0, u16)
    out_u16[0] = hx_insert(out_u16[0], (unsigned)(hx_extract(in_bool[0], 8, 8) != 0) & 0xffffu, 0, 16);
    // cast($0, i32)
    out_i32[0] = (int)(hx_extract(in_bool[0], 8, 8) != 0);
    // cast($0, u32)
    out_u32[0] = (unsigned)(hx_extract(in_bool[0], 8, 8) != 0);
    // cast($0, i64)
    out_i64[0] = (long long)(hx_extract(in_bool[0], 8, 8) != 0);
    // cast($0, u64)
    out_u64[0] = (unsigned long long)(hx_extract(in_bool[0], 8, 8) != 0);
    // cast($0, f16)
    out_f16[0] = hx_insert(out_f16[0], (unsigned short)((hx_extract(in_bool[0], 8, 8) != 0) ? 0x3c00 : 0), 0, 16);
    // cast($0, bf16)
    out_bf16[0] = hx_insert(out_bf16[0], (unsigned short)((hx_extract(in_bool[0], 8, 8) != 0) ? 0x3f80 : 0), 0, 16);
    // cast($0, tf32)
    out_tf32[0] = (hx_extract(in_bool[0], 8, 8) != 0) ? 0x3f800000u : 0u;
    // cast($0, f32)
    out_f32[0] = (float)(hx_extract(in_bool[0], 8, 8) != 0);
    // cast($0, f64)
    out_f64[0] = (double)(hx_extract(in_bool[0], 8, 8) != 0);
    // cast($0, bool)
    out_bool[0] = hx_insert(out_bool[0], ((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28) != 0, 0, 8);
    // cast($0, i8)
    out_i8[0] = hx_insert(out_i8[0], (int)(signed char)(int)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28), 8, 8);
    // cast($0, u16)
    out_u16[0] = hx_insert(out_u16[0], (unsigned)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28) & 0xffffu, 16, 16);
    // cast($0, i32)
    out_i32[1] = (int)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28);
    // cast($0, u32)
    out_u32[1] = (unsigned)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28);
    // cast($0, i64)
    out_i64[1] = (long long)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28);
    // cast($0, u64)
    out_u64[1] = (unsigned long long)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28);
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm(
            "cvt.rn.f16.f32 %0, %1;"
            : "=h"(hx_v0)
            : "f"((float)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28)));
        out_f16[0] = hx_insert(out_f16[0], hx_v0, 16, 16);
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm(
            "cvt.rn.bf16.f32 %0, %1;"
            : "=h"(hx_v0)
            : "f"((float)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28)));
        out_bf16[0] = hx_insert(out_bf16[0], hx_v0, 16, 16);
    }
    // cast($0, tf32)
    out_tf32[1] = hx_tf32((float)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28));
    // cast($0, f32)
    out_f32[1] = (float)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28);
    // cast($0, f64)
    out_f64[1] = (double)((int)((unsigned)hx_extract(in_i4[0], 4, 4) << 28) >> 28);
    // cast($0, bool)
    out_bool[0] = hx_insert(out_bool[0], ((int)(signed char)hx_extract(in_i8[0], 8, 8)) != 0, 8, 8);
    // cast($0, i4)
    out_i4[0] = hx_insert(out_i4[0], (int)((unsigned)(int)((int)(signed char)hx_extract(in_i8[0], 8, 8)) << 28) >> 28, 4, 4);
    // cast($0, u16)
    out_u16[1] = hx_insert(out_u16[1], (unsigned)((int)(signed char)hx_extract(in_i8[0], 8, 8)) & 0xffffu, 0, 16);
    // cast($0, i32)
    out_i32[2] = (int)((int)(signed char)hx_extract(in_i8[0], 8, 8));
    // cast($0, u32)
    out_u32[2] = (unsigned)((int)(signed char)hx_extract(in_i8[0], 8, 8));
    // cast($0, i64)
    out_i64[2] = (long long)((int)(signed char)hx_extract(in_i8[0], 8, 8));
    // cast($0, u64)
    out_u64[2] = (unsigned long long)((int)(signed char)hx_extract(in_i8[0], 8, 8));
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_v0) : "f"((float)((int)(signed char)hx_extract(in_i8[0], 8, 8))));
        out_f16[1] = hx_insert(out_f16[1], hx_v0, 0, 16);
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(hx_v0) : "f"((float)((int)(signed char)hx_extract(in_i8[0], 8, 8))));
        out_bf16[1] = hx_insert(out_bf16[1], hx_v0, 0, 16);
    }
    // cast($0, tf32)
    out_tf32[2] = hx_tf32((float)((int)(signed char)hx_extract(in_i8[0], 8, 8)));
    // cast($0, f32)
    out_f32[2] = (float)((int)(signed char)hx_extract(in_i8[0], 8, 8));
    // cast($0, f64)
    out_f64[2] = (double)((int)(signed char)hx_extract(in_i8[0], 8, 8));
    // cast($0, bool)
    out_bool[0] = hx_insert(out_bool[0], hx_extract(in_u16[0], 16, 16) != 0, 16, 8);
    // cast($0, i4)
    out_i4[0] = hx_insert(out_i4[0], (int)((unsigned)(int)hx_extract(in_u16[0], 16, 16) << 28) >> 28, 8, 4);
    // cast($0, i8)
    out_i8[0] = hx_insert(out_i8[0], (int)(signed char)(int)hx_extract(in_u16[0], 16, 16), 16, 8);
    // cast($0, i32)
    out_i32[3] = (int)hx_extract(in_u16[0], 16, 16);
    // cast($0, u32)
    out_u32[3] = (unsigned)hx_extract(in_u16[0], 16, 16);
    // cast($0, i64)
    out_i64[3] = (long long)hx_extract(in_u16[0], 16, 16);
    // cast($0, u64)
    out_u64[3] = (unsigned long long)hx_extract(in_u16[0], 16, 16);
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_v0) : "f"((float)hx_extract(in_u16[0], 16, 16)));
        out_f16[1] = hx_insert(out_f16[1], hx_v0, 16, 16);
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(hx_v0) : "f"((float)hx_extract(in_u16[0], 16, 16)));
        out_bf16[1] = hx_insert(out_bf16[1], hx_v0, 16, 16);
    }
    // cast($0, tf32)
    out_tf32[3] = hx_tf32((float)hx_extract(in_u16[0], 16, 16));
    // cast($0, f32)
    out_f32[3] = (float)hx_extract(in_u16[0], 16, 16);
    // cast($0, f64)
    out_f64[3] = (double)hx_extract(in_u16[0], 16, 16);
    // cast($0, bool)
    out_bool[0] = hx_insert(out_bool[0], in_i32[1] != 0, 24, 8);
    // cast($0, i4)
    out_i4[0] = hx_insert(out_i4[0], (int)((unsigned)(int)in_i32[1] << 28) >> 28, 12, 4);
    // cast($0, i8)
    out_i8[0] = hx_insert(out_i8[0], (int)(signed char)(int)in_i32[1], 24, 8);
    // cast($0, u16)
    out_u16[1] = hx_insert(out_u16[1], (unsigned)in_i32[1] & 0xffffu, 16, 16);
    // cast($0, u32)
    out_u32[4] = (unsigned)in_i32[1];
    // cast($0, i64)
    out_i64[4] = (long long)in_i32[1];
    // cast($0, u64)
    out_u64[4] = (unsigned long long)in_i32[1];
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_v0) : "f"(hx_odd(in_i32[1])));
        out_f16[2] = hx_insert(out_f16[2], hx_v0, 0, 16);
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(hx_v0) : "f"(hx_odd(in_i32[1])));
        out_bf16[2] = hx_insert(out_bf16[2], hx_v0, 0, 16);
    }
    // cast($0, tf32)
    out_tf32[4] = hx_tf32(hx_odd(in_i32[1]));
    // cast($0, f32)
    out_f32[4] = (float)in_i32[1];
    // cast($0, f64)
    out_f64[4] = (double)in_i32[1];
    // cast($0, bool)
    out_bool[1] = hx_insert(out_bool[1], in_u32[1] != 0, 0, 8);
    // cast($0, i4)
    out_i4[0] = hx_insert(out_i4[0], (int)((unsigned)(int)in_u32[1] << 28) >> 28, 16, 4);
    // cast($0, i8)
    out_i8[1] = hx_insert(out_i8[1], (int)(signed char)(int)in_u32[1], 0, 8);
    // cast($0, u16)
    out_u16[2] = hx_insert(out_u16[2], (unsigned)in_u32[1] & 0xffffu, 0, 16);
    // cast($0, i32)
    out_i32[4] = (int)in_u32[1];
    // cast($0, i64)
    out_i64[5] = (long long)in_u32[1];
    // cast($0, u64)
    out_u64[5] = (unsigned long long)in_u32[1];
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_v0) : "f"(hx_odd(in_u32[1])));
        out_f16[2] = hx_insert(out_f16[2], hx_v0, 16, 16);
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(hx_v0) : "f"(hx_odd(in_u32[1])));
        out_bf16[2] = hx_insert(out_bf16[2], hx_v0, 16, 16);
    }
    // cast($0, tf32)
    out_tf32[5] = hx_tf32(hx_odd(in_u32[1]));
    // cast($0, f32)
    out_f32[5] = (float)in_u32[1];
    // cast($0, f64)
    out_f64[5] = (double)in_u32[1];
    // cast($0, bool)
    out_bool[1] = hx_insert(out_bool[1], in_i64[1] != 0, 8, 8);
    // cast($0, i4)
    out_i4[0] = hx_insert(out_i4[0], (int)((unsigned)(int)in_i64[1] << 28) >> 28, 20, 4);
    // cast($0, i8)
    out_i8[1] = hx_insert(out_i8[1], (int)(signed char)(int)in_i64[1], 8, 8);
    // cast($0, u16)
    out_u16[2] = hx_insert(out_u16[2], (unsigned)in_i64[1] & 0xffffu, 16, 16);
    // cast($0, i32)
    out_i32[5] = (int)in_i64[1];
    // cast($0, u32)
    out_u32[5] = (unsigned)in_i64[1];
    // cast($0, u64)
    out_u64[6] = (unsigned long long)in_i64[1];
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_v0) : "f"(hx_odd(in_i64[1])));
        out_f16[3] = hx_insert(out_f16[3], hx_v0, 0, 16);
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(hx_v0) : "f"(hx_odd(in_i64[1])));
        out_bf16[3] = hx_insert(out_bf16[3], hx_v0, 0, 16);
    }
    // cast($0, tf32)
    out_tf32[6] = hx_tf32(hx_odd(in_i64[1]));
    // cast($0, f32)
    out_f32[6] = (float)in_i64[1];
    // cast($0, f64)
    out_f64[6] = (double)in_i64[1];
    // cast($0, bool)
    out_bool[1] = hx_insert(out_bool[1], (unsigned long long)in_u64[1] != 0, 16, 8);
    // cast($0, i4)
    out_i4[0] = hx_insert(out_i4[0], (int)((unsigned)(int)(unsigned long long)in_u64[1] << 28) >> 28, 24, 4);
    // cast($0, i8)
    out_i8[1] = hx_insert(out_i8[1], (int)(signed char)(int)(unsigned long long)in_u64[1], 16, 8);
    // cast($0, u16)
    out_u16[3] = hx_insert(out_u16[3], (unsigned)(unsigned long long)in_u64[1] & 0xffffu, 0, 16);
    // cast($0, i32)
    out_i32[6] = (int)(unsigned long long)in_u64[1];
    // cast($0, u32)
    out_u32[6] = (unsigned)(unsigned long long)in_u64[1];
    // cast($0, i64)
    out_i64[6] = (long long)(unsigned long long)in_u64[1];
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_v0) : "f"(hx_odd((unsigned long long)in_u64[1])));
        out_f16[3] = hx_insert(out_f16[3], hx_v0, 16, 16);
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(hx_v0) : "f"(hx_odd((unsigned long long)in_u64[1])));
        out_bf16[3] = hx_insert(out_bf16[3], hx_v0, 16, 16);
    }
    // cast($0, tf32)
    out_tf32[7] = hx_tf32(hx_odd((unsigned long long)in_u64[1]));
    // cast($0, f32)
    out_f32[7] = (float)(unsigned long long)in_u64[1];
    // cast($0, f64)
    out_f64[7] = (double)(unsigned long long)in_u64[1];
    // cast($0, bool)
    out_bool[1] = hx_insert(out_bool[1], (((unsigned short)(in_f16[0] >> 16)) & 0x7fff) != 0, 24, 8);
    // cast($0, i4)
    {
        float hx_v0;
        asm("cvt.f32.f16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_f16[0] >> 16)));
        out_i4[0] = hx_insert(out_i4[0], max(-8, min(7, __float2int_rz(hx_v0))), 28, 4);
    }
    // cast($0, i8)
    {
        float hx_v0;
        asm("cvt.f32.f16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_f16[0] >> 16)));
        out_i8[1] = hx_insert(out_i8[1], max(-128, min(127, __float2int_rz(hx_v0))), 24, 8);
    }
    // cast($0, u16)
    {
        float hx_v0;
        asm("cvt.f32.f16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_f16[0] >> 16)));
        out_u16[3] = hx_insert(out_u16[3], (unsigned)max(0, min(65535, __float2int_rz(hx_v0))), 16, 16);
    }
    // cast($0, i32)
    {
        float hx_v0;
        asm("cvt.f32.f16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_f16[0] >> 16)));
        out_i32[7] = __float2int_rz(hx_v0);
    }
    // cast($0, u32)
    {
        float hx_v0;
        asm("cvt.f32.f16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_f16[0] >> 16)));
        out_u32[7] = __float2uint_rz(hx_v0);
    }
    // cast($0, i64)
    {
        float hx_v0;
        asm("cvt.f32.f16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_f16[0] >> 16)));
        out_i64[7] = hx_v0 == hx_v0 ? __float2ll_rz(hx_v0) : 0;
    }
    // cast($0, u64)
    {
        float hx_v0;
        asm("cvt.f32.f16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_f16[0] >> 16)));
        out_u64[7] = hx_v0 == hx_v0 ? __float2ull_rz(hx_v0) : 0;
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm(
            "{ .reg .f32 x; cvt.f32.f16 x, %1; cvt.rn.bf16.f32 %0, x; }"
            : "=h"(hx_v0)
            : "h"((unsigned short)(in_f16[0] >> 16)));
        out_bf16[4] = hx_insert(out_bf16[4], hx_v0, 0, 16);
    }
    // cast($0, tf32)
    {
        float hx_v0;
        asm("cvt.f32.f16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_f16[0] >> 16)));
        out_tf32[8] = hx_tf32(hx_v0);
    }
    // cast($0, f32)
    asm("cvt.f32.f16 %0, %1;" : "=f"(out_f32[8]) : "h"((unsigned short)(in_f16[0] >> 16)));
    // cast($0, f64)
    asm("cvt.f64.f16 %0, %1;" : "=d"(out_f64[8]) : "h"((unsigned short)(in_f16[0] >> 16)));
    // cast($0, bool)
    out_bool[2] = hx_insert(out_bool[2], (((unsigned short)(in_bf16[0] >> 16)) & 0x7fff) != 0, 0, 8);
    // cast($0, i4)
    {
        float hx_v0;
        asm("cvt.f32.bf16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_bf16[0] >> 16)));
        out_i4[1] = hx_insert(out_i4[1], max(-8, min(7, __float2int_rz(hx_v0))), 0, 4);
    }
    // cast($0, i8)
    {
        float hx_v0;
        asm("cvt.f32.bf16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_bf16[0] >> 16)));
        out_i8[2] = hx_insert(out_i8[2], max(-128, min(127, __float2int_rz(hx_v0))), 0, 8);
    }
    // cast($0, u16)
    {
        float hx_v0;
        asm("cvt.f32.bf16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_bf16[0] >> 16)));
        out_u16[4] = hx_insert(out_u16[4], (unsigned)max(0, min(65535, __float2int_rz(hx_v0))), 0, 16);
    }
    // cast($0, i32)
    {
        float hx_v0;
        asm("cvt.f32.bf16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_bf16[0] >> 16)));
        out_i32[8] = __float2int_rz(hx_v0);
    }
    // cast($0, u32)
    {
        float hx_v0;
        asm("cvt.f32.bf16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_bf16[0] >> 16)));
        out_u32[8] = __float2uint_rz(hx_v0);
    }
    // cast($0, i64)
    {
        float hx_v0;
        asm("cvt.f32.bf16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_bf16[0] >> 16)));
        out_i64[8] = hx_v0 == hx_v0 ? __float2ll_rz(hx_v0) : 0;
    }
    // cast($0, u64)
    {
        float hx_v0;
        asm("cvt.f32.bf16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_bf16[0] >> 16)));
        out_u64[8] = hx_v0 == hx_v0 ? __float2ull_rz(hx_v0) : 0;
    }
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm(
            "{ .reg .f32 x; cvt.f32.bf16 x, %1; cvt.rn.f16.f32 %0, x; }"
            : "=h"(hx_v0)
            : "h"((unsigned short)(in_bf16[0] >> 16)));
        out_f16[4] = hx_insert(out_f16[4], hx_v0, 0, 16);
    }
    // cast($0, tf32)
    {
        float hx_v0;
        asm("cvt.f32.bf16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_bf16[0] >> 16)));
        out_tf32[9] = hx_tf32(hx_v0);
    }
    // cast($0, f32)
    asm("cvt.f32.bf16 %0, %1;" : "=f"(out_f32[9]) : "h"((unsigned short)(in_bf16[0] >> 16)));
    // cast($0, f64)
    {
        float hx_v0;
        asm("cvt.f32.bf16 %0, %1;" : "=f"(hx_v0) : "h"((unsigned short)(in_bf16[0] >> 16)));
        asm("cvt.f64.f32 %0, %1;" : "=d"(out_f64[9]) : "f"(hx_v0));
    }
    // cast($0, bool)
    out_bool[2] = hx_insert(out_bool[2], (in_tf32[1] & 0x7fffe000u) != 0, 8, 8);
    // cast($0, i4)
    out_i4[1] = hx_insert(out_i4[1], max(-8, min(7, __float2int_rz(__uint_as_float(in_tf32[1] & 0xffffe000u)))), 4, 4);
    // cast($0, i8)
    out_i8[2] = hx_insert(out_i8[2], max(-128, min(127, __float2int_rz(__uint_as_float(in_tf32[1] & 0xffffe000u)))), 8, 8);
    // cast($0, u16)
    out_u16[4] = hx_insert(out_u16[4], (unsigned)max(0, min(65535, __float2int_rz(__uint_as_float(in_tf32[1] & 0xffffe000u)))), 16, 16);
    // cast($0, i32)
    out_i32[9] = __float2int_rz(__uint_as_float(in_tf32[1] & 0xffffe000u));
    // cast($0, u32)
    out_u32[9] = __float2uint_rz(__uint_as_float(in_tf32[1] & 0xffffe000u));
    // cast($0, i64)
    out_i64[9] = __uint_as_float(in_tf32[1] & 0xffffe000u) == __uint_as_float(in_tf32[1] & 0xffffe000u) ? __float2ll_rz(__uint_as_float(in_tf32[1] & 0xffffe000u)) : 0;
    // cast($0, u64)
    out_u64[9] = __uint_as_float(in_tf32[1] & 0xffffe000u) == __uint_as_float(in_tf32[1] & 0xffffe000u) ? __float2ull_rz(__uint_as_float(in_tf32[1] & 0xffffe000u)) : 0;
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_v0) : "f"(__uint_as_float(in_tf32[1] & 0xffffe000u)));
        out_f16[4] = hx_insert(out_f16[4], hx_v0, 16, 16);
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(hx_v0) : "f"(__uint_as_float(in_tf32[1] & 0xffffe000u)));
        out_bf16[4] = hx_insert(out_bf16[4], hx_v0, 16, 16);
    }
    // cast($0, f32)
    out_f32[10] = __uint_as_float(in_tf32[1] & 0xffffe000u);
    // cast($0, f64)
    asm("cvt.f64.f32 %0, %1;" : "=d"(out_f64[10]) : "f"(__uint_as_float(in_tf32[1] & 0xffffe000u)));
    // cast($0, bool)
    out_bool[2] = hx_insert(out_bool[2], in_f32[1] != 0.0f, 16, 8);
    // cast($0, i4)
    out_i4[1] = hx_insert(out_i4[1], max(-8, min(7, __float2int_rz(in_f32[1]))), 8, 4);
    // cast($0, i8)
    out_i8[2] = hx_insert(out_i8[2], max(-128, min(127, __float2int_rz(in_f32[1]))), 16, 8);
    // cast($0, u16)
    out_u16[5] = hx_insert(out_u16[5], (unsigned)max(0, min(65535, __float2int_rz(in_f32[1]))), 0, 16);
    // cast($0, i32)
    out_i32[10] = __float2int_rz(in_f32[1]);
    // cast($0, u32)
    out_u32[10] = __float2uint_rz(in_f32[1]);
    // cast($0, i64)
    out_i64[10] = in_f32[1] == in_f32[1] ? __float2ll_rz(in_f32[1]) : 0;
    // cast($0, u64)
    out_u64[10] = in_f32[1] == in_f32[1] ? __float2ull_rz(in_f32[1]) : 0;
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(hx_v0) : "f"(in_f32[1]));
        out_f16[5] = hx_insert(out_f16[5], hx_v0, 0, 16);
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(hx_v0) : "f"(in_f32[1]));
        out_bf16[5] = hx_insert(out_bf16[5], hx_v0, 0, 16);
    }
    // cast($0, tf32)
    out_tf32[10] = hx_tf32(in_f32[1]);
    // cast($0, f64)
    asm("cvt.f64.f32 %0, %1;" : "=d"(out_f64[11]) : "f"(in_f32[1]));
    // cast($0, bool)
    out_bool[2] = hx_insert(out_bool[2], in_f64[1] != 0.0, 24, 8);
    // cast($0, i4)
    {
        const int hx_v0 = in_f64[1] == in_f64[1] ? __double2int_rz(in_f64[1]) : 0;
        out_i4[1] = hx_insert(out_i4[1], max(-8, min(7, hx_v0)), 12, 4);
    }
    // cast($0, i8)
    {
        const int hx_v0 = in_f64[1] == in_f64[1] ? __double2int_rz(in_f64[1]) : 0;
        out_i8[2] = hx_insert(out_i8[2], max(-128, min(127, hx_v0)), 24, 8);
    }
    // cast($0, u16)
    {
        const int hx_v0 = in_f64[1] == in_f64[1] ? __double2int_rz(in_f64[1]) : 0;
        out_u16[5] = hx_insert(out_u16[5], (unsigned)max(0, min(65535, hx_v0)), 16, 16);
    }
    // cast($0, i32)
    out_i32[11] = in_f64[1] == in_f64[1] ? __double2int_rz(in_f64[1]) : 0;
    // cast($0, u32)
    out_u32[11] = in_f64[1] == in_f64[1] ? __double2uint_rz(in_f64[1]) : 0;
    // cast($0, i64)
    out_i64[11] = in_f64[1] == in_f64[1] ? __double2ll_rz(in_f64[1]) : 0;
    // cast($0, u64)
    out_u64[11] = in_f64[1] == in_f64[1] ? __double2ull_rz(in_f64[1]) : 0;
    // cast($0, f16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.f16.f64 %0, %1;" : "=h"(hx_v0) : "d"(in_f64[1]));
        out_f16[5] = hx_insert(out_f16[5], hx_v0, 16, 16);
    }
    // cast($0, bf16)
    {
        unsigned short hx_v0;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(hx_v0) : "f"(hx_odd(in_f64[1])));
        out_bf16[5] = hx_insert(out_bf16[5], hx_v0, 16, 16);
    }
    // cast($0, tf32)
    out_tf32[11] = hx_tf32(hx_odd(in_f64[1]));
    // cast($0, f32)
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(out_f32[11]) : "d"(in_f64[1]));
    // stores
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_bool[i * 4]), "r"(out_bool[i * 4 + 1]), "r"(out_bool[i * 4 + 2]), "r"(out_bool[i * 4 + 3]),
              "l"(out_bool_t + (thread * 16 + i * 16))
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
    for (int i = 0; i < 3; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_i32[i * 4]), "r"(out_i32[i * 4 + 1]), "r"(out_i32[i * 4 + 2]), "r"(out_i32[i * 4 + 3]),
              "l"(out_i32_t + (thread * 12 + i * 4))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 6; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"((unsigned)out_i64[i * 2]), "r"((unsigned)(out_i64[i * 2] >> 32)),
              "r"((unsigned)out_i64[i * 2 + 1]), "r"((unsigned)(out_i64[i * 2 + 1] >> 32)),
              "l"(out_i64_t + (thread * 12 + i * 2))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_u16[i * 4]), "r"(out_u16[i * 4 + 1]), "r"(out_u16[i * 4 + 2]), "r"(out_u16[i * 4 + 3]),
              "l"(out_u16_t + (thread * 16 + i * 8))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 3; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_u32[i * 4]), "r"(out_u32[i * 4 + 1]), "r"(out_u32[i * 4 + 2]), "r"(out_u32[i * 4 + 3]),
              "l"(out_u32_t + (thread * 12 + i * 4))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 6; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"((unsigned)out_u64[i * 2]), "r"((unsigned)(out_u64[i * 2] >> 32)),
              "r"((unsigned)out_u64[i * 2 + 1]), "r"((unsigned)(out_u64[i * 2 + 1] >> 32)),
              "l"(out_u64_t + (thread * 12 + i * 2))
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
    for (int i = 0; i < 3; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(out_tf32[i * 4]), "r"(out_tf32[i * 4 + 1]), "r"(out_tf32[i * 4 + 2]), "r"(out_tf32[i * 4 + 3]),
              "l"(out_tf32_t + (thread * 12 + i * 4))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 3; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "f"(out_f32[i * 4]), "f"(out_f32[i * 4 + 1]), "f"(out_f32[i * 4 + 2]), "f"(out_f32[i * 4 + 3]),
              "l"(out_f32_t + (thread * 12 + i * 4))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 6; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(__double2loint(out_f64[i * 2])), "r"(__double2hiint(out_f64[i * 2])),
              "r"(__double2loint(out_f64[i * 2 + 1])), "r"(__double2hiint(out_f64[i * 2 + 1])),
              "l"(out_f64_t + (thread * 12 + i * 2))
            : "memory");
    }
}
