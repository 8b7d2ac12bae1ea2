// Makes and compares tensors in device memory, bit for bit as the host does (hx-host: recipe, random, compare; hx-dtype: float).
//
// Every operation on `double` is one that IEEE 754 rounds correctly. The text is compiled without contraction to fma, as all
// kernels are, so each result equals the host's. A `u64` of a plan or an argument holds a number, the bits of a `double`, or a type.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define THREADS 256
#define STEPS 6
#define DIGITS 12

// The words of a plan, as `plan_words` writes them.
enum { COUNT, SEED, STREAM, FIRST, LOW, HIGH, MOST, STEP_COUNT, DIGIT_COUNT, FIRST_STEP, FIRST_DIGIT = FIRST_STEP + 3 * STEPS,
       WORDS = FIRST_DIGIT + 3 * DIGITS };
enum { SCALE, FLOOR, CONVERT };
enum { TRUTH, UNSIGNED, SIGNED, FLOAT };

struct Plan { u64 word[WORDS]; };

__device__ u64 bits_of(double x) { return (u64)__double_as_longlong(x); }
__device__ double number(u64 bits) { return __longlong_as_double((i64)bits); }

// The parts of a type: its kind, the bits of an element, and the format of a float.
__device__ u32 kind(u64 type) { return type & 0xff; }
__device__ u32 width(u64 type) { return type >> 8 & 0xff; }
__device__ u32 exponent_bits(u64 type) { return type >> 16 & 0xff; }
__device__ u32 mantissa_bits(u64 type) { return type >> 24 & 0xff; }
__device__ u32 unused_bits(u64 type) { return type >> 32 & 0xff; }
__device__ bool has_infinities(u64 type) { return type >> 40 & 1; }
__device__ bool saturates(u64 type) { return type >> 41 & 1; }
__device__ bool has_nans(u64 type) { return type >> 42 & 1; }
__device__ bool is_scale(u64 type) { return type >> 43 & 1; }
__device__ u64 mask(u64 type) { return ~0ull >> (64 - width(type)); }
__device__ bool is_single(u64 type) { return exponent_bits(type) == 8 && mantissa_bits(type) == 23; }
__device__ bool is_double(u64 type) { return exponent_bits(type) == 11; }
__device__ i64 bias(u64 type) { return (1ll << (exponent_bits(type) - 1)) - 1; }
__device__ u64 ones_of(u64 type) { return (1ull << (exponent_bits(type) + mantissa_bits(type))) - 1; }
__device__ u64 infinity_of(u64 type) { return ((1ull << exponent_bits(type)) - 1) << mantissa_bits(type); }
__device__ u64 largest_of(u64 type) { return (has_infinities(type) ? infinity_of(type) : ones_of(type) + !has_nans(type)) - 1; }

// Conversions that saturate, with 0 for NaN.
__device__ i64 to_signed(double x) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return 0x7fffffffffffffffll;
    if (x <= -9223372036854775808.0) return -0x7fffffffffffffffll - 1;
    return (i64)x;
}
__device__ u64 to_unsigned(double x) {
    if (!(x > 0.0)) return 0;
    if (x >= 18446744073709551616.0) return ~0ull;
    return (u64)x;
}
__device__ u64 clamped(u64 type, i64 x) {
    i64 top = (i64)(mask(type) >> 1);
    return (u64)(x < -top - 1 ? -top - 1 : x > top ? top : x) & mask(type);
}

// The magnitude bits of a finite number in a float type, rounded to nearest even, without an upper limit.
__device__ u64 magnitude(u64 type, double x) {
    u64 bits = bits_of(x) & (~0ull >> 1);
    i64 target = (i64)(bits >> 52) - 1023 + bias(type);
    u64 fraction = bits & ((1ull << 52) - 1);
    i64 shift = 52 - (i64)mantissa_bits(type);
    u64 wide;
    if (target >= 1) {
        wide = (u64)target << 52 | fraction;
    } else {
        shift += 1 - target;
        if (shift > 53) return 0;
        wide = fraction | 1ull << 52;
    }
    return (wide + ((1ull << (shift - 1)) - 1) + (wide >> shift & 1)) >> shift;
}

// The exponent of the smallest power of two that is at least the magnitude, within the range of a type of scales.
__device__ u64 encode_scale(u64 type, double x) {
    if (x != x) return ones_of(type);
    u64 bits = bits_of(x) & (~0ull >> 1);
    i64 exponent = (i64)(bits >> 52) - 1023 + bias(type) + ((bits & ((1ull << 52) - 1)) != 0);
    i64 most = (i64)largest_of(type);
    return (u64)(exponent < 0 ? 0 : exponent > most ? most : exponent);
}

__device__ u64 encode_float(u64 type, double x) {
    if (is_single(type)) return __float_as_uint((float)x);
    if (is_double(type)) return bits_of(x);
    if (is_scale(type)) return encode_scale(type, x);
    u64 sign = bits_of(x) >> 63 << (exponent_bits(type) + mantissa_bits(type));
    u64 most = saturates(type) ? largest_of(type) : infinity_of(type);
    u64 pattern;
    if (x != x) {
        pattern = ones_of(type);
    } else {
        u64 found = (bits_of(x) >> 52 & 0x7ff) == 0x7ff ? most : magnitude(type, x);
        pattern = sign | (found < most ? found : most);
    }
    return pattern << unused_bits(type);
}

// Rounds a number to a type, as the host does where it stores computed numbers.
__device__ u64 encode(u64 type, double x) {
    switch (kind(type)) {
        case FLOAT: return encode_float(type, x);
        case TRUTH: return x != 0.0;
        case UNSIGNED: { u64 whole = to_unsigned(rint(x)); return whole < mask(type) ? whole : mask(type); }
        default: return clamped(type, to_signed(rint(x)));
    }
}

// Converts a number to a type, as `cast` does: integers are cut toward zero.
__device__ u64 convert(u64 type, double x) {
    switch (kind(type)) {
        case FLOAT: return encode_float(type, x);
        case TRUTH: return x != 0.0;
        case UNSIGNED: {
            if (width(type) == 64) return to_unsigned(x);
            i64 whole = to_signed(x);
            return whole < 0 ? 0 : (u64)whole < mask(type) ? (u64)whole : mask(type);
        }
        default: return clamped(type, to_signed(x));
    }
}

__device__ double power_of_two(i64 e) {
    return e >= -1022 ? number((u64)(e + 1023) << 52) : number(1ull << (e + 1074 > 0 ? e + 1074 : 0));
}

__device__ double decode(u64 type, u64 bits) {
    if (kind(type) == TRUTH) return (bits & 0xff) != 0;
    if (kind(type) == UNSIGNED) return (double)(bits & mask(type));
    if (kind(type) == SIGNED) return (double)((i64)(bits << (64 - width(type))) >> (64 - width(type)));
    if (is_double(type)) return number(bits);
    bits >>= unused_bits(type);
    if (is_scale(type)) {
        u64 exponent = bits & ones_of(type);
        return exponent > largest_of(type) ? number(0x7ff8ull << 48) : power_of_two((i64)exponent - bias(type));
    }
    if (exponent_bits(type) == 8) return (double)__uint_as_float((u32)(bits << (23 - mantissa_bits(type))));
    u64 sign = (bits >> (exponent_bits(type) + mantissa_bits(type)) & 1) << 63;
    u64 size = bits & ones_of(type);
    u64 fraction = bits & ((1ull << mantissa_bits(type)) - 1);
    if (has_infinities(type) && size == infinity_of(type)) return number(0x7ffull << 52 | sign);
    if (size > largest_of(type)) return number(0x7ff8ull << 48);
    if (size >> mantissa_bits(type) == 0) {
        double unit = power_of_two(1 - bias(type) - (i64)mantissa_bits(type));
        return number(bits_of((double)fraction * unit) | sign);
    }
    u64 wide = (size >> mantissa_bits(type)) + (u64)(1023 - bias(type));
    return number(sign | wide << 52 | fraction << (52 - mantissa_bits(type)));
}

// The distance between neighbouring values of a type at a magnitude.
__device__ double spacing(u64 type, double x) {
    if (kind(type) != FLOAT) return 1.0;
    i64 exponent = (i64)(bits_of(x) >> 52 & 0x7ff) - 1023;
    i64 low = !is_scale(type) - bias(type), high = (i64)(largest_of(type) >> mantissa_bits(type)) - bias(type);
    exponent = exponent < low ? low : exponent > high ? high : exponent;
    return power_of_two(exponent - (i64)mantissa_bits(type));
}

__device__ u32 rotated(u32 x, int by) { return x << by | x >> (32 - by); }
__device__ void quarter(u32 &a, u32 &b, u32 &c, u32 &d) {
    a += b; d = rotated(d ^ a, 16);
    c += d; b = rotated(b ^ c, 12);
    a += b; d = rotated(d ^ a, 8);
    c += d; b = rotated(b ^ c, 7);
}

// A block of the ChaCha8 stream: eight 64-bit numbers.
__device__ void chacha8(u64 seed, u64 stream, u64 block, u64 out[8]) {
    u32 start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, (u32)seed, (u32)(seed >> 32), 0, 0, 0, 0, 0, 0,
                     (u32)block, (u32)(block >> 32), (u32)stream, (u32)(stream >> 32)};
    u32 x[16];
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = start[i];
#pragma unroll
    for (int round = 0; round < 4; round++) {
        quarter(x[0], x[4], x[8], x[12]);
        quarter(x[1], x[5], x[9], x[13]);
        quarter(x[2], x[6], x[10], x[14]);
        quarter(x[3], x[7], x[11], x[15]);
        quarter(x[0], x[5], x[10], x[15]);
        quarter(x[1], x[6], x[11], x[12]);
        quarter(x[2], x[7], x[8], x[13]);
        quarter(x[3], x[4], x[9], x[14]);
    }
#pragma unroll
    for (int i = 0; i < 8; i++) out[i] = (u64)(x[2 * i] + start[2 * i]) | (u64)(x[2 * i + 1] + start[2 * i + 1]) << 32;
}

// A uniform number in [0, 1).
__device__ double unit(u64 word) { return (double)(word >> 11) * (1.0 / 9007199254740992.0); }

// The natural logarithm of a positive normal number below 1, by the operations of `libm::log` (FreeBSD, e_log.c).
__device__ double logarithm(double x) {
    u64 bits = bits_of(x);
    u32 high = (u32)(bits >> 32) + (0x3ff00000 - 0x3fe6a09e);
    int k = (int)(high >> 20) - 0x3ff;
    high = (high & 0x000fffff) + 0x3fe6a09e;
    double f = number((u64)high << 32 | (bits & 0xffffffff)) - 1.0;
    double hfsq = 0.5 * f * f;
    double s = f / (2.0 + f);
    double z = s * s;
    double w = z * z;
    double t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double t2 = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double r = t2 + t1;
    double dk = (double)k;
    return s * (hfsq + r) + dk * 1.90821492927058770002e-10 - hfsq + f + dk * 6.93147180369123816490e-01;
}

// Applies the steps of a plan to a drawn number. Returns the bits of the element; `type` becomes its type.
__device__ u64 finished(const Plan &plan, double drawn, u64 &type) {
    type = plan.word[FIRST];
    u64 bits = encode(type, drawn);
    for (u64 i = 0; i < plan.word[STEP_COUNT]; i++) {
        const u64 *step = &plan.word[FIRST_STEP + 3 * i];
        double x = decode(type, bits);
        switch (step[0]) {
            case SCALE: bits = bits_of(x * number(step[2])); break;
            case FLOOR: bits = bits_of(floor(x)); break;
            default: bits = convert(step[1], x);
        }
        type = step[1];
    }
    return bits;
}

__device__ void store(u8 *out, u64 type, u64 at, u64 bits) {
    switch (width(type)) {
        case 16: ((u16 *)out)[at] = (u16)bits; break;
        case 32: ((u32 *)out)[at] = (u32)bits; break;
        case 64: ((u64 *)out)[at] = bits; break;
        default: out[at] = (u8)bits;
    }
}

__device__ u64 load(const u8 *in, u64 type, u64 at) {
    switch (width(type)) {
        case 16: return ((const u16 *)in)[at];
        case 32: return ((const u32 *)in)[at];
        case 64: return ((const u64 *)in)[at];
        case 8: return in[at];
        default: {
            u32 each = 8 / width(type);
            return in[at / each] >> at % each * width(type) & mask(type);
        }
    }
}

__device__ double uniform(const Plan &plan, u64 element) {
    u64 words[8], word = 0;
    chacha8(plan.word[SEED], plan.word[STREAM], element / 8, words);
#pragma unroll
    for (int i = 0; i < 8; i++) if (element % 8 == i) word = words[i];
    double low = number(plan.word[LOW]), high = number(plan.word[HIGH]), most = number(plan.word[MOST]);
    double x = low + (high - low) * unit(word);
    u64 type = plan.word[FIRST];
    if (kind(type) == FLOAT) return decode(type, encode(type, x)) < high ? x : most;
    x = floor(x);
    return x < most ? x : most;
}

// Each thread makes one element, or the elements of one byte.
extern "C" __global__ void make_uniform(u8 *out, Plan plan) {
    u64 count = plan.word[COUNT], type = plan.word[FIRST];
    if (plan.word[STEP_COUNT] != 0) type = plan.word[FIRST_STEP + 3 * (plan.word[STEP_COUNT] - 1) + 1];
    u32 bits = width(type), each = bits < 8 ? 8 / bits : 1;
    u64 units = (count + each - 1) / each;
    for (u64 at = (u64)blockIdx.x * THREADS + threadIdx.x; at < units; at += (u64)gridDim.x * THREADS) {
        u64 value = 0;
        for (u32 i = 0; i < each && at * each + i < count; i++) {
            u64 place = at * each + i, element = plan.word[DIGIT_COUNT] == 0 ? place : 0, last;
            for (u64 d = 0; d < plan.word[DIGIT_COUNT]; d++) {
                const u64 *digit = &plan.word[FIRST_DIGIT + 3 * d];
                element += place / digit[0] % digit[1] * digit[2];
            }
            value |= finished(plan, uniform(plan, element), last) << i * bits;
        }
        store(out, type, at, value);
    }
}

// The points of a block of the stream: the four candidates of Marsaglia's polar method, and which lie in the unit disc.
__device__ u32 points(const Plan &plan, u64 block, double u[4], double v[4], double s[4]) {
    u64 words[8];
    chacha8(plan.word[SEED], plan.word[STREAM], block, words);
    u32 accepted = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u[i] = 2.0 * unit(words[2 * i]) - 1.0;
        v[i] = 2.0 * unit(words[2 * i + 1]) - 1.0;
        s[i] = u[i] * u[i] + v[i] * v[i];
        if (s[i] > 0.0 && s[i] < 1.0) accepted |= 1u << i;
    }
    return accepted;
}

// Returns the sum of `mine` over the threads before this one. `shared` has room for each thread; its last entry becomes the total.
__device__ u32 sum_before(u32 mine, u32 *shared) {
    u32 at = threadIdx.x;
    shared[at] = mine;
    __syncthreads();
    for (u32 by = 1; by < THREADS; by *= 2) {
        u32 more = at >= by ? shared[at - by] : 0;
        __syncthreads();
        shared[at] += more;
        __syncthreads();
    }
    return shared[at] - mine;
}

// Counts the accepted candidates of each thread block.
extern "C" __global__ void count_normal(u64 *counts, Plan plan) {
    __shared__ u32 sums[THREADS];
    double u[4], v[4], s[4];
    u32 accepted = points(plan, (u64)blockIdx.x * THREADS + threadIdx.x, u, v, s);
    sum_before(__popc(accepted), sums);
    if (threadIdx.x == 0) counts[blockIdx.x] = sums[THREADS - 1];
}

// Replaces each of `count` counts by the sum of those before it, and appends the total. One thread block.
extern "C" __global__ void sum_counts(u64 *counts, u64 count) {
    __shared__ u64 sums[THREADS];
    u64 each = (count + THREADS - 1) / THREADS, first = threadIdx.x * each, sum = 0;
    u64 end = first + each < count ? first + each : count;
    for (u64 i = first; i < end; i++) sum += counts[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    u64 before = 0;
    for (u32 i = 0; i < threadIdx.x; i++) before += sums[i];
    for (u64 i = first; i < end; i++) {
        u64 mine = counts[i];
        counts[i] = before;
        before += mine;
    }
    if (threadIdx.x == THREADS - 1) counts[count] = before;
}

// Each accepted candidate makes two elements, at the place that the candidates before it leave.
extern "C" __global__ void make_normal(u8 *out, const u64 *counts, Plan plan) {
    __shared__ u32 sums[THREADS];
    double u[4], v[4], s[4];
    u32 accepted = points(plan, (u64)blockIdx.x * THREADS + threadIdx.x, u, v, s);
    u64 at = 2 * (counts[blockIdx.x] + sum_before(__popc(accepted), sums));
    u64 count = plan.word[COUNT], type;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (!(accepted >> i & 1)) continue;
        if (at >= count) return;
        double scale = sqrt(-2.0 * logarithm(s[i]) / s[i]);
        u64 bits = finished(plan, u[i] * scale, type);
        store(out, type, at, bits);
        if (at + 1 < count) {
            bits = finished(plan, v[i] * scale, type);
            store(out, type, at + 1, bits);
        }
        at += 2;
    }
}

// Returns the larger of all threads' numbers, none of which is NaN, or their sum, added in a fixed order.
__device__ double combined(double mine, bool add, double *shared) {
    shared[threadIdx.x] = mine;
    __syncthreads();
    for (u32 by = THREADS / 2; by > 0; by /= 2) {
        if (threadIdx.x < by) {
            double a = shared[threadIdx.x], b = shared[threadIdx.x + by];
            shared[threadIdx.x] = add ? a + b : a > b ? a : b;
        }
        __syncthreads();
    }
    double all = shared[0];
    __syncthreads();
    return all;
}

__device__ bool is_finite(double x) { return (bits_of(x) >> 52 & 0x7ff) != 0x7ff; }

// Each thread block writes three numbers: the largest finite magnitude, and whether any and whether all elements are `poison`.
extern "C" __global__ void survey(const u8 *in, double *out, u64 type, u64 count, u64 poison) {
    __shared__ double shared[THREADS];
    double most = 0.0, any = 0.0, other = 0.0;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += (u64)gridDim.x * THREADS) {
        u64 bits = load(in, type, i);
        double x = decode(type, bits);
        if (is_finite(x) && fabs(x) > most) most = fabs(x);
        if (bits == poison) any = 1.0; else other = 1.0;
    }
    most = combined(most, false, shared);
    any = combined(any, false, shared);
    other = combined(other, false, shared);
    if (threadIdx.x == 0) {
        out[3 * blockIdx.x] = most;
        out[3 * blockIdx.x + 1] = any;
        out[3 * blockIdx.x + 2] = other;
    }
}

// Each thread block writes two numbers: the sum of the squares of its finite elements, divided by `scale`, and their number.
extern "C" __global__ void squares(const u8 *in, double *out, u64 type, u64 count, u64 scale) {
    __shared__ double shared[THREADS];
    double sum = 0.0, finite = 0.0, by = number(scale);
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += (u64)gridDim.x * THREADS) {
        double x = decode(type, load(in, type, i));
        if (!is_finite(x)) continue;
        finite += 1.0;
        if (by > 0.0) sum += (x / by) * (x / by);
    }
    sum = combined(sum, true, shared);
    finite = combined(finite, true, shared);
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = sum;
        out[2 * blockIdx.x + 1] = finite;
    }
}

// Each thread block writes two numbers: the largest absolute difference of `x` from `y`, and the largest one in units of the last
// place at `max(|y|, rms)`. A NaN or an infinity on one side only counts as infinite.
extern "C" __global__ void differences(const u8 *xs, const u8 *ys, double *out, u64 type, u64 count, u64 rms) {
    __shared__ double shared[THREADS];
    const double infinite = number(0x7ffull << 52);
    double error = 0.0, ulps = 0.0;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += (u64)gridDim.x * THREADS) {
        double x = decode(type, load(xs, type, i)), y = decode(type, load(ys, type, i));
        if (x == y || (x != x && y != y)) continue;
        if (!is_finite(x) || !is_finite(y)) {
            error = ulps = infinite;
            continue;
        }
        double apart = fabs(x - y), at = fabs(y) > number(rms) ? fabs(y) : number(rms);
        double units = apart / spacing(type, at);
        if (apart > error) error = apart;
        if (units > ulps) ulps = units;
    }
    error = combined(error, false, shared);
    ulps = combined(ulps, false, shared);
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = error;
        out[2 * blockIdx.x + 1] = ulps;
    }
}
