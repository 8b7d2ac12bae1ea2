extern "C" __global__ void __launch_bounds__(32, 1) one_product(
    const unsigned short* __restrict__ a,
    const unsigned short* __restrict__ b,
    float* __restrict__ c,
    int k) {
    const int thread = (int)threadIdx.x;
    unsigned ra[4]; // 8 of f16
    unsigned rb[2]; // 4 of f16
    float acc[4];
    // fill acc = 0.0
    acc[0] = 0.0f;
    acc[1] = 0.0f;
    acc[2] = 0.0f;
    acc[3] = 0.0f;
    // copy a -> ra
    asm(
        "ld.global.b32 %0, [%1];"
        : "=r"(ra[0])
        : "l"(a + ((long long)k * ((thread & 31) >> 2) + (thread & 3) * 2)));
    asm(
        "ld.global.b32 %0, [%1];"
        : "=r"(ra[1])
        : "l"(a + ((long long)k * 8 + (long long)k * ((thread & 31) >> 2) + (thread & 3) * 2)));
    asm(
        "ld.global.b32 %0, [%1];"
        : "=r"(ra[2])
        : "l"(a + ((long long)k * ((thread & 31) >> 2) + (thread & 3) * 2 + 8)));
    asm(
        "ld.global.b32 %0, [%1];"
        : "=r"(ra[3])
        : "l"(a + ((long long)k * 8 + (long long)k * ((thread & 31) >> 2) + (thread & 3) * 2 + 8)));
    // copy b -> rb
    asm(
        "ld.global.b32 %0, [%1];"
        : "=r"(rb[0])
        : "l"(b + ((long long)k * ((thread & 31) >> 2) + (thread & 3) * 2)));
    asm(
        "ld.global.b32 %0, [%1];"
        : "=r"(rb[1])
        : "l"(b + ((long long)k * ((thread & 31) >> 2) + (thread & 3) * 2 + 8)));
    // gemm acc += ra @ rb
    asm(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    // copy acc -> c
    asm volatile(
        "st.global.v2.b32 [%2], {%0, %1};"
        :
        : "f"(acc[0]), "f"(acc[1]), "l"(c + (((thread & 31) >> 2) * 8 + (thread & 3) * 2))
        : "memory");
    asm volatile(
        "st.global.v2.b32 [%2], {%0, %1};"
        :
        : "f"(acc[2]), "f"(acc[3]), "l"(c + (((thread & 31) >> 2) * 8 + (thread & 3) * 2 + 64))
        : "memory");
}
