static __device__ __forceinline__ unsigned hx_extract(unsigned word, int shift, int bits) {
    return (word >> shift) & ((1u << bits) - 1u);
}

static __device__ __forceinline__ unsigned hx_insert(unsigned word, unsigned value, int shift, int bits) {
    const unsigned mask = ((1u << bits) - 1u) << shift;
    return (word & ~mask) | ((value << shift) & mask);
}

extern "C" __global__ void __launch_bounds__(128, 1) exchanges(
    const unsigned char* __restrict__ in_i8_t,
    unsigned char* __restrict__ out_i8_t,
    const unsigned short* __restrict__ in_f16_t,
    unsigned short* __restrict__ out_f16_t,
    const double* __restrict__ in_f64_t,
    double* __restrict__ out_f64_t) {
    const int thread = (int)threadIdx.x;
    unsigned in_i8[1]; // 4 of i8
    unsigned out_i8[4] = {}; // 16 of i8
    unsigned in_f16[2]; // 4 of f16
    unsigned out_f16[4] = {}; // 8 of f16
    double in_f64[4];
    double out_f64[2];
    // loads
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm("ld.global.b32 %0, [%1];" : "=r"(in_i8[i]) : "l"(in_i8_t + (thread * 4 + i * 4)));
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm(
            "ld.global.v2.b32 {%0, %1}, [%2];"
            : "=r"(in_f16[i * 2]), "=r"(in_f16[i * 2 + 1])
            : "l"(in_f16_t + (thread * 4 + i * 4)));
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
    // $0
    {
        unsigned hx_t0;
        asm volatile(
            "shfl.sync.bfly.b32 %0, %1, 4, 31, 0xffffffff;"
            : "=r"(hx_t0)
            : "r"(__double2loint(in_f64[1]))
            : "memory");
        unsigned hx_t1;
        asm volatile(
            "shfl.sync.bfly.b32 %0, %1, 4, 31, 0xffffffff;"
            : "=r"(hx_t1)
            : "r"(__double2hiint(in_f64[1]))
            : "memory");
        out_f64[0] = __hiloint2double((int)hx_t1, (int)hx_t0);
    }
    // $0
    {
        unsigned hx_t0;
        asm volatile(
            "shfl.sync.bfly.b32 %0, %1, 4, 31, 0xffffffff;"
            : "=r"(hx_t0)
            : "r"(hx_extract(in_f16[0], 16, 16))
            : "memory");
        out_f16[0] = hx_insert(out_f16[0], hx_t0, 0, 16);
    }
    // $0
    {
        unsigned hx_t0;
        asm volatile(
            "shfl.sync.bfly.b32 %0, %1, 4, 31, 0xffffffff;"
            : "=r"(hx_t0)
            : "r"(hx_extract(in_i8[0], 8, 8))
            : "memory");
        out_i8[0] = hx_insert(out_i8[0], hx_t0, 0, 8);
    }
    // stores
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
            : "r"(out_f16[i * 4]), "r"(out_f16[i * 4 + 1]), "r"(out_f16[i * 4 + 2]), "r"(out_f16[i * 4 + 3]),
              "l"(out_f16_t + (thread * 8 + i * 8))
            : "memory");
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "r"(__double2loint(out_f64[i * 2])), "r"(__double2hiint(out_f64[i * 2])),
              "r"(__double2loint(out_f64[i * 2 + 1])), "r"(__double2hiint(out_f64[i * 2 + 1])),
              "l"(out_f64_t + (thread * 2 + i * 2))
            : "memory");
    }
}
