extern "C" __global__ void __launch_bounds__(128, 1) axpy_f64(
    const double* __restrict__ x,
    double* __restrict__ y,
    int n) {
    const int thread = (int)threadIdx.x;
    const int block_x = (int)blockIdx.x;
    double rx[2];
    double ry[2];
    double s[1];
    // fill s = 0.1
    s[0] = 0.1;
    // copy x -> rx
    {
        unsigned hx_t0 = 0u;
        unsigned hx_t1 = 0x3ff80000u;
        unsigned hx_t2 = 0u;
        unsigned hx_t3 = 0x3ff80000u;
        asm(
            "{ .reg .pred p; setp.ne.b32 p, %5, 0; @p ld.global.v4.b32 {%0, %1, %2, %3}, [%4]; }"
            : "+r"(hx_t0), "+r"(hx_t1), "+r"(hx_t2), "+r"(hx_t3)
            : "l"(x + (block_x * 256 + thread * 2)), "r"((int)(block_x * 256 + thread * 2 < n)));
        rx[0] = __hiloint2double((int)hx_t1, (int)hx_t0);
        rx[1] = __hiloint2double((int)hx_t3, (int)hx_t2);
    }
    // copy y -> ry
    {
        unsigned hx_t0;
        unsigned hx_t1;
        asm volatile(
            "ld.global.v2.b32 {%0, %1}, [%2];"
            : "=r"(hx_t0), "=r"(hx_t1)
            : "l"(y + (block_x * 256 + thread * 2))
            : "memory");
        ry[0] = __hiloint2double((int)hx_t1, (int)hx_t0);
    }
    {
        unsigned hx_t0;
        unsigned hx_t1;
        asm volatile(
            "ld.global.v2.b32 {%0, %1}, [%2];"
            : "=r"(hx_t0), "=r"(hx_t1)
            : "l"(y + (block_x * 256 + thread * 2 + 1))
            : "memory");
        ry[1] = __hiloint2double((int)hx_t1, (int)hx_t0);
    }
    // gemm ry += rx * s
    asm("fma.rn.f64 %0, %1, %2, %0;" : "+d"(ry[0]) : "d"(rx[0]), "d"(s[0]));
    asm("fma.rn.f64 %0, %1, %2, %0;" : "+d"(ry[1]) : "d"(rx[1]), "d"(s[0]));
    // copy ry -> y
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %5, 0; @p st.global.v4.b32 [%4], {%0, %1, %2, %3}; }"
        :
        : "r"(__double2loint(ry[0])), "r"(__double2hiint(ry[0])), "r"(__double2loint(ry[1])),
          "r"(__double2hiint(ry[1])), "l"(y + (block_x * 256 + thread * 2)),
          "r"((int)(block_x * 256 + thread * 2 < n))
        : "memory");
}
