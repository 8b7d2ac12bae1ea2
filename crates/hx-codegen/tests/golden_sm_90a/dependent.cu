extern "C" __global__ void __launch_bounds__(128, 1) dependent(
    const float* x,
    float* y,
    const int* count,
    int m) {
    const int thread = (int)threadIdx.x;
    const int block_x = (int)blockIdx.x;
    float r[4];
    // allow_next()
    asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
    // wait_for_previous()
    asm volatile("griddepcontrol.wait;" : : : "memory");
    const int n = count[0];
    if (0 < n) {
        // copy(x, r)
        asm volatile(
            "ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
            : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
            : "l"(x + ((long long)block_x * 512 + thread * 4))
            : "memory");
        // copy(r, y)
        asm volatile(
            "st.global.v4.b32 [%4], {%0, %1, %2, %3};"
            :
            : "f"(r[0]), "f"(r[1]), "f"(r[2]), "f"(r[3]), "l"(y + ((long long)block_x * 512 + thread * 4))
            : "memory");
    }
}
