static __device__ __forceinline__ unsigned hx_extract(unsigned word, int shift, int bits) {
    return (word >> shift) & ((1u << bits) - 1u);
}

static __device__ __forceinline__ unsigned hx_insert(unsigned word, unsigned value, int shift, int bits) {
    const unsigned mask = ((1u << bits) - 1u) << shift;
    return (word & ~mask) | ((value << shift) & mask);
}

extern "C" __global__ void __launch_bounds__(128, 1) prints(
    float* __restrict__ x,
    int m,
    unsigned long long* hx_log) {
    const int thread = (int)threadIdx.x;
    const int block_x = (int)blockIdx.x;
    float r_f32[2];
    unsigned r_f16[1] = {}; // 2 of f16
    unsigned r_i8[1] = {}; // 2 of i8
    double r_f64[2];
    long long r_i64[2];
    unsigned r_u4[1] = {}; // 2 of u4
    unsigned r_tf32[2]; // 2 of tf32
    unsigned holds[1] = {}; // 1 of bool
    const unsigned long long hx_block = blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    unsigned long long hx_next = hx_block < hx_log[0] ? hx_log[6 + hx_block] : 0; // the next record
    const unsigned long long hx_end = hx_block < hx_log[0] ? hx_log[7 + hx_block] : 0;
    unsigned hx_runs_8 = 0;
    unsigned hx_runs_9 = 0;
    // r_f32 = …
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        r_f32[i] = (float)(thread + i);
    }
    // print(r_f32)
    {
        const bool hx_kept = hx_next + 808 <= hx_end;
        if (threadIdx.x == 0) { if (hx_kept) hx_log[hx_next / 8] = 1; else atomicAdd(hx_log + 1, 1ull); }
        if (hx_kept) {
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (thread < 100) *(float*)((unsigned char*)hx_log + hx_next + thread * 8 + i * 4 + 8) = r_f32[i];
            }
        }
        hx_next += 808;
    }
    // r_f16 = …
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        r_f16[i >> 1] = hx_insert(r_f16[i >> 1], (unsigned short)0x5, (i & 1) * 16, 16);
    }
    // print(r_f16)
    {
        const bool hx_kept = hx_next + 408 <= hx_end;
        if (threadIdx.x == 0) { if (hx_kept) hx_log[hx_next / 8] = 2; else atomicAdd(hx_log + 1, 1ull); }
        if (hx_kept) {
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (thread < 100) *(unsigned short*)((unsigned char*)hx_log + hx_next + thread * 4 + i * 2 + 8) = (unsigned short)hx_extract(r_f16[i >> 1], (i & 1) * 16, 16);
            }
        }
        hx_next += 408;
    }
    // r_i8 = …
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        r_i8[i >> 2] = hx_insert(r_i8[i >> 2], (int)(signed char)(int)(thread + i), (i & 3) * 8, 8);
    }
    // print(r_i8)
    {
        const bool hx_kept = hx_next + 208 <= hx_end;
        if (threadIdx.x == 0) { if (hx_kept) hx_log[hx_next / 8] = 3; else atomicAdd(hx_log + 1, 1ull); }
        if (hx_kept) {
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (thread < 100) *(unsigned char*)((unsigned char*)hx_log + hx_next + thread * 2 + i + 8) = (unsigned char)hx_extract(r_i8[i >> 2], (i & 3) * 8, 8);
            }
        }
        hx_next += 208;
    }
    // r_f64 = …
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        r_f64[i] = (double)(thread + i);
    }
    // print(r_f64)
    {
        const bool hx_kept = hx_next + 1608 <= hx_end;
        if (threadIdx.x == 0) { if (hx_kept) hx_log[hx_next / 8] = 4; else atomicAdd(hx_log + 1, 1ull); }
        if (hx_kept) {
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (thread < 100) *(double*)((unsigned char*)hx_log + hx_next + thread * 16 + i * 8 + 8) = r_f64[i];
            }
        }
        hx_next += 1608;
    }
    // r_i64 = …
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        r_i64[i] = (long long)(thread + i);
    }
    // print(r_i64)
    {
        const bool hx_kept = hx_next + 1608 <= hx_end;
        if (threadIdx.x == 0) { if (hx_kept) hx_log[hx_next / 8] = 5; else atomicAdd(hx_log + 1, 1ull); }
        if (hx_kept) {
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (thread < 100) *(long long*)((unsigned char*)hx_log + hx_next + thread * 16 + i * 8 + 8) = r_i64[i];
            }
        }
        hx_next += 1608;
    }
    // r_u4 = …
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        r_u4[i >> 3] = hx_insert(r_u4[i >> 3], 5u, (i & 7) * 4, 4);
    }
    // print(r_u4)
    {
        const bool hx_kept = hx_next + 208 <= hx_end;
        if (threadIdx.x == 0) { if (hx_kept) hx_log[hx_next / 8] = 6; else atomicAdd(hx_log + 1, 1ull); }
        if (hx_kept) {
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (thread < 100) *(unsigned char*)((unsigned char*)hx_log + hx_next + thread * 2 + i + 8) = (unsigned char)hx_extract(r_u4[i >> 3], (i & 7) * 4, 4);
            }
        }
        hx_next += 208;
    }
    // r_tf32 = …
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        r_tf32[i] = 5u;
    }
    // print(r_tf32)
    {
        const bool hx_kept = hx_next + 808 <= hx_end;
        if (threadIdx.x == 0) { if (hx_kept) hx_log[hx_next / 8] = 7; else atomicAdd(hx_log + 1, 1ull); }
        if (hx_kept) {
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (thread < 100) *(unsigned*)((unsigned char*)hx_log + hx_next + thread * 8 + i * 4 + 8) = r_tf32[i];
            }
        }
        hx_next += 808;
    }
    if (block_x == 0) {
        // print("some block")
        {
            const bool hx_kept = hx_next + 8 <= hx_end;
            if (threadIdx.x == 0) { if (hx_kept) hx_log[hx_next / 8] = 8; else atomicAdd(hx_log + 1, 1ull); }
            hx_next += 8;
        }
    }
    for (int j = 0; j < m; ++j) {
        // holds = …
        holds[0] = hx_insert(holds[0], ((long long)thread * j) < (long long)m, 0, 8);
        // assert(holds, "too far")
        {
            if (!hx_extract(holds[0], 0, 8)) { atomicAdd(hx_log + 2, 1ull); atomicMax(hx_log + 3, ~(hx_block << 33 | (unsigned long long)hx_runs_8 << 21 | (unsigned long long)thread)); }
            hx_runs_8 += hx_runs_8 < 4095u;
        }
        // assert(holds)
        {
            if ((thread < 1) && !hx_extract(holds[0], 0, 8)) { atomicAdd(hx_log + 4, 1ull); atomicMax(hx_log + 5, ~(hx_block << 33 | (unsigned long long)hx_runs_9 << 21 | (unsigned long long)0)); }
            hx_runs_9 += hx_runs_9 < 4095u;
        }
    }
    // copy r_f32 -> x
    asm volatile("st.global.b32 [%1], %0;" : : "f"(r_f32[0]), "l"(x + thread) : "memory");
}
