static __device__ __forceinline__ long long hx_floor_div(long long a, long long b) {
    const bool plain = (unsigned long long)b + 1u > 1u;
    const long long d = plain ? b : 1;
    const long long q = a / d - (a % d != 0 && (a < 0) != (d < 0));
    return plain ? q : (long long)(0u - (unsigned long long)(a & b));
}

static __device__ __forceinline__ long long hx_floor_mod(long long a, long long b) {
    const long long d = (unsigned long long)b + 1u > 1u ? b : 1;
    const long long r = a % d;
    return r != 0 && (r < 0) != (d < 0) ? r + d : r;
}

extern "C" __global__ void __launch_bounds__(128, 1) signed_(
    const int* __restrict__ a,
    int* __restrict__ blockIdx_,
    int shift,
    long long big,
    unsigned short float_,
    int int_) {
    const int thread = (int)threadIdx.x;
    int r[1];
    // copy a -> r
    {
        const long long thread_2 = (long long)(int)hx_floor_div(-(long long)shift + thread, 3LL) + (int)((-(long long)shift + thread) >> 3) * 4 + (int)hx_floor_mod(-(long long)shift + thread, 5LL) * 2 - (int)hx_floor_mod(-(long long)shift + thread, (long long)int_);
        for (long long i = int_ >> 1; i < max((long long)int_ + 1, (long long)thread); ++i) {
            if (thread_2 < int_ || (-i < big && i != shift)) {
                asm(
                    "ld.global.b32 %0, [%1];"
                    : "=r"(r[0])
                    : "l"(a + ((long long)int_ * thread_2 * thread_2 + min((long long)int_, i) - hx_floor_div(big, 7LL) - 3000000000LL)));
            }
            else {
                r[0] = -1;
            }
            asm volatile(
                "st.global.b32 [%1], %0;"
                :
                : "r"(r[0]), "l"(blockIdx_ + (int)(((i * 3) ^ thread) & 255))
                : "memory");
        }
    }
}
