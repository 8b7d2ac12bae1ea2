#line 1 "vector_copy.hx::vector_copy"
extern "C" __global__ void __launch_bounds__(128, 1) vector_copy(const unsigned short* __restrict__ a, unsigned short* __restrict__ b, int n) {
#line 1 "vector_copy.hx::vector_copy"
    const int thread = (int)threadIdx.x;
#line 1 "vector_copy.hx::vector_copy"
    const int block_x = (int)blockIdx.x;
#line 1 "vector_copy.hx::vector_copy"
    unsigned ra[4]; // 8 of f16
    // copy a -> ra
#line 10 "vector_copy.hx::vector_copy"
    ra[0] = 0x7e007e00u;
#line 10 "vector_copy.hx::vector_copy"
    ra[1] = 0x7e007e00u;
#line 10 "vector_copy.hx::vector_copy"
    ra[2] = 0x7e007e00u;
#line 10 "vector_copy.hx::vector_copy"
    ra[3] = 0x7e007e00u;
#line 10 "vector_copy.hx::vector_copy"
    asm("{ .reg .pred p; setp.ne.b32 p, %5, 0; @p ld.global.v4.b32 {%0, %1, %2, %3}, [%4]; }" : "+r"(ra[0]), "+r"(ra[1]), "+r"(ra[2]), "+r"(ra[3]) : "l"(a + (block_x * 1024 + thread * 8)), "r"((int)(block_x * 1024 + thread * 8 < n)));
    // copy ra -> b
#line 11 "vector_copy.hx::vector_copy"
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %5, 0; @p st.global.v4.b32 [%4], {%0, %1, %2, %3}; }" : : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(b + (block_x * 1024 + thread * 8)), "r"((int)(block_x * 1024 + thread * 8 < n)) : "memory");
#line 1 "vector_copy.hx::vector_copy"
}
