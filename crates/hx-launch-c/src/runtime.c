#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__cplusplus)
#define HX_THREAD_LOCAL static thread_local
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define HX_THREAD_LOCAL static _Thread_local
#else
#define HX_THREAD_LOCAL static __thread
#endif

#define HX_DIMENSION_MAX 2147483647

/* The message of the last call of this thread that failed. */
HX_THREAD_LOCAL char hx_message[512];

/* A kernel as its launches need it. */
struct hx_kernel {
    const char *function; /* the name of the function of this file that launches it */
    const char *symbol;   /* its name in the code */
    const unsigned char *code;
    int index;        /* its number in this file */
    const char *target;
    int capability;   /* of the device: ten times the major number, plus the minor one */
    int is_exact;     /* whether the code runs on devices of this very capability only */
    int threads;      /* of a block */
    int shared_bytes; /* of a block */
    unsigned int cluster[3];
    int overlaps; /* whether it waits for earlier launches itself, so that it may begin before they are complete */
    int has_maps; /* whether it takes tensor maps */
};

/* What a CUDA context holds of this file. */
struct hx_context {
    unsigned long long id;
    int device;
    int capability;
    int multiprocessors;
    int shared_bytes; /* the most of a block */
    unsigned long long zeros; /* an address, see `hx_encode` */
    void *functions[HX_KERNELS];
    struct hx_context *next;
};

/* `CUlaunchAttribute` and `CUlaunchConfig` of the CUDA driver API. */
struct hx_attribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        unsigned long long alignment;
        unsigned int cluster[3];
        int overlaps;
    } value;
};

struct hx_config {
    unsigned int grid[3];
    unsigned int block[3];
    unsigned int shared_bytes;
    void *stream;
    struct hx_attribute *attributes;
    unsigned int count;
};

/* The functions of the CUDA driver API that this file calls, with its numbers for the enumerations. */
enum {
    HX_CUDA_NOT_INITIALIZED = 3,
    HX_CUDA_MULTIPROCESSORS = 16,
    HX_CUDA_CAPABILITY_MAJOR = 75,
    HX_CUDA_CAPABILITY_MINOR = 76,
    HX_CUDA_SHARED_BYTES_OPTIN = 97,
    HX_CUDA_MAX_DYNAMIC_SHARED_BYTES = 8,
    HX_CUDA_CLUSTER_DIMENSION = 4,
    HX_CUDA_PROGRAMMATIC_STREAM_SERIALIZATION = 6
};

static struct {
    int (*get_error_name)(int, const char **);
    int (*get_error_string)(int, const char **);
    int (*ctx_get_current)(void **);
    int (*ctx_get_id)(void *, unsigned long long *);
    int (*ctx_get_device)(int *);
    int (*device_get_attribute)(int *, int, int);
    int (*module_load_data)(void **, const void *);
    int (*module_unload)(void *);
    int (*module_get_function)(void **, void *, const char *);
    int (*func_set_attribute)(void *, int, int);
    int (*launch_kernel_ex)(const struct hx_config *, void *, void **, void **);
    int (*mem_alloc)(unsigned long long *, size_t);
    int (*memset_d8_async)(unsigned long long, unsigned char, size_t, void *);
    int (*stream_synchronize)(void *);
    int (*tensor_map_encode_tiled)(void *, int, unsigned int, void *, const uint64_t *, const uint64_t *,
                                   const uint32_t *, const uint32_t *, int, int, int, int);
} hx_cuda;

static pthread_once_t hx_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t hx_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hx_context *hx_contexts; /* guarded by `hx_lock` */
static char hx_absent[256];            /* why there is no driver; empty if there is one */

__attribute__((format(printf, 3, 4))) static enum hx_status hx_fail(enum hx_status status, const char *function,
                                                                   const char *format, ...) {
    va_list arguments;
    int length = snprintf(hx_message, sizeof hx_message, "%s: ", function);
    if (length >= 0 && (size_t)length < sizeof hx_message) {
        va_start(arguments, format);
        vsnprintf(hx_message + length, sizeof hx_message - (size_t)length, format, arguments);
        va_end(arguments);
    }
    return status;
}

static enum hx_status hx_cuda_failed(const char *function, const char *during, int result) {
    const char *name = NULL, *text = NULL;
    hx_cuda.get_error_name(result, &name);
    hx_cuda.get_error_string(result, &text);
    return hx_fail(HX_ERROR_CUDA, function, "%s failed: %s (%s, code %d)", during,
                   text != NULL ? text : "the driver does not explain it", name != NULL ? name : "unknown", result);
}

static void hx_open(void) {
    const struct {
        const char *name;
        void *place;
    } symbols[] = {
        {"cuGetErrorName", &hx_cuda.get_error_name},
        {"cuGetErrorString", &hx_cuda.get_error_string},
        {"cuCtxGetCurrent", &hx_cuda.ctx_get_current},
        {"cuCtxGetId", &hx_cuda.ctx_get_id},
        {"cuCtxGetDevice", &hx_cuda.ctx_get_device},
        {"cuDeviceGetAttribute", &hx_cuda.device_get_attribute},
        {"cuModuleLoadData", &hx_cuda.module_load_data},
        {"cuModuleUnload", &hx_cuda.module_unload},
        {"cuModuleGetFunction", &hx_cuda.module_get_function},
        {"cuFuncSetAttribute", &hx_cuda.func_set_attribute},
        {"cuLaunchKernelEx", &hx_cuda.launch_kernel_ex},
        {"cuMemAlloc_v2", &hx_cuda.mem_alloc},
        {"cuMemsetD8Async", &hx_cuda.memset_d8_async},
        {"cuStreamSynchronize", &hx_cuda.stream_synchronize},
        {"cuTensorMapEncodeTiled", &hx_cuda.tensor_map_encode_tiled},
    };
    size_t i;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(hx_absent, sizeof hx_absent, "the CUDA driver cannot be loaded: %s",
                 reason != NULL ? reason : "libcuda.so.1 was not found");
        return;
    }
    for (i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (address == NULL) {
            snprintf(hx_absent, sizeof hx_absent, "the CUDA driver has no `%s`: expected a driver for CUDA 12.0 or later",
                     symbols[i].name);
            return;
        }
        /* ISO C has no conversion from an object pointer to a function pointer. */
        memcpy(symbols[i].place, &address, sizeof address);
    }
}

static enum hx_status hx_add_context(const char *function, unsigned long long id, struct hx_context **found) {
    struct hx_context *context = (struct hx_context *)calloc(1, sizeof *context);
    int major = 0, minor = 0, result;
    if (context == NULL) return hx_fail(HX_ERROR_CUDA, function, "the host has no memory left");
    context->id = id;
    result = hx_cuda.ctx_get_device(&context->device);
    if (result == 0) result = hx_cuda.device_get_attribute(&major, HX_CUDA_CAPABILITY_MAJOR, context->device);
    if (result == 0) result = hx_cuda.device_get_attribute(&minor, HX_CUDA_CAPABILITY_MINOR, context->device);
    if (result == 0)
        result = hx_cuda.device_get_attribute(&context->multiprocessors, HX_CUDA_MULTIPROCESSORS, context->device);
    if (result == 0)
        result = hx_cuda.device_get_attribute(&context->shared_bytes, HX_CUDA_SHARED_BYTES_OPTIN, context->device);
    if (result != 0) {
        free(context);
        return hx_cuda_failed(function, "reading the attributes of the device", result);
    }
    context->capability = 10 * major + minor;
    context->next = hx_contexts;
    hx_contexts = context;
    *found = context;
    return HX_OK;
}

/* Returns the context that is current on this thread. A context is known by its id, because addresses are used again. */
static enum hx_status hx_current(const char *function, struct hx_context **found) {
    void *handle = NULL;
    unsigned long long id = 0;
    enum hx_status status = HX_OK;
    int result;
    pthread_once(&hx_once, hx_open);
    if (hx_absent[0] != '\0') return hx_fail(HX_ERROR_DRIVER, function, "%s", hx_absent);
    result = hx_cuda.ctx_get_current(&handle);
    if (result == HX_CUDA_NOT_INITIALIZED || (result == 0 && handle == NULL))
        return hx_fail(HX_ERROR_NO_CONTEXT, function,
                       "no CUDA context is current on this thread: call `cudaSetDevice` or `cuCtxSetCurrent` first");
    if (result != 0) return hx_cuda_failed(function, "asking for the current context", result);
    result = hx_cuda.ctx_get_id(handle, &id);
    if (result != 0) return hx_cuda_failed(function, "asking for the id of the context", result);
    pthread_mutex_lock(&hx_lock);
    for (*found = hx_contexts; *found != NULL && (*found)->id != id; *found = (*found)->next) {
    }
    if (*found == NULL) status = hx_add_context(function, id, found);
    pthread_mutex_unlock(&hx_lock);
    return status;
}

/* Finds the kernel in its loaded code, and prepares the context for launches of it. */
static enum hx_status hx_prepare(const struct hx_kernel *kernel, struct hx_context *context, void *module) {
    void *function = NULL;
    int result = hx_cuda.module_get_function(&function, module, kernel->symbol);
    if (result != 0) return hx_cuda_failed(kernel->function, "finding the kernel in its code", result);
    if (kernel->shared_bytes > 48 * 1024) {
        result = hx_cuda.func_set_attribute(function, HX_CUDA_MAX_DYNAMIC_SHARED_BYTES, kernel->shared_bytes);
        if (result != 0) return hx_cuda_failed(kernel->function, "asking for shared memory", result);
    }
    if (kernel->has_maps && context->zeros == 0) {
        unsigned long long zeros = 0;
        result = hx_cuda.mem_alloc(&zeros, 2 * HX_ZEROS);
        if (result == 0) result = hx_cuda.memset_d8_async(zeros, 0, 2 * HX_ZEROS, NULL);
        if (result == 0) result = hx_cuda.stream_synchronize(NULL);
        if (result != 0) return hx_cuda_failed(kernel->function, "allocating device memory", result);
        context->zeros = zeros;
    }
    context->functions[kernel->index] = function;
    return HX_OK;
}

/* Loads the code of a kernel into the context, unless an earlier launch has. */
static enum hx_status hx_load(const struct hx_kernel *kernel, struct hx_context *context) {
    void *module = NULL;
    enum hx_status status = HX_OK;
    int result, fits = context->capability == kernel->capability;
    if (!kernel->is_exact)
        fits = context->capability / 10 == kernel->capability / 10 && context->capability >= kernel->capability;
    if (!fits)
        return hx_fail(HX_ERROR_ARCHITECTURE, kernel->function,
                       "the code is for %s, compute capability %d.%d, and device %d has %d.%d", kernel->target,
                       kernel->capability / 10, kernel->capability % 10, context->device, context->capability / 10,
                       context->capability % 10);
    if (kernel->shared_bytes > context->shared_bytes)
        return hx_fail(HX_ERROR_ARCHITECTURE, kernel->function,
                       "a block needs %d bytes of shared memory, and device %d has %d", kernel->shared_bytes,
                       context->device, context->shared_bytes);
    pthread_mutex_lock(&hx_lock);
    if (context->functions[kernel->index] == NULL) {
        result = hx_cuda.module_load_data(&module, kernel->code);
        if (result != 0) {
            status = hx_cuda_failed(kernel->function, "loading the code", result);
        } else {
            status = hx_prepare(kernel, context, module);
            if (status != HX_OK) hx_cuda.module_unload(module);
        }
    }
    pthread_mutex_unlock(&hx_lock);
    return status;
}

static enum hx_status hx_launch(const struct hx_kernel *kernel, struct hx_context *context, const int64_t grid[3],
                                void **arguments, void *stream) {
    struct hx_attribute attributes[2];
    struct hx_config config;
    int i, result;
    memset(attributes, 0, sizeof attributes);
    memset(&config, 0, sizeof config);
    for (i = 0; i < 3; i++) {
        config.grid[i] = (unsigned int)grid[i];
        config.block[i] = i == 0 ? (unsigned int)kernel->threads : 1;
    }
    config.shared_bytes = (unsigned int)kernel->shared_bytes;
    config.stream = stream;
    config.attributes = attributes;
    if (kernel->cluster[0] * kernel->cluster[1] * kernel->cluster[2] != 1) {
        struct hx_attribute *attribute = &attributes[config.count++];
        attribute->id = HX_CUDA_CLUSTER_DIMENSION;
        memcpy(attribute->value.cluster, kernel->cluster, sizeof kernel->cluster);
    }
    if (kernel->overlaps) {
        struct hx_attribute *attribute = &attributes[config.count++];
        attribute->id = HX_CUDA_PROGRAMMATIC_STREAM_SERIALIZATION;
        attribute->value.overlaps = 1;
    }
    result = hx_cuda.launch_kernel_ex(&config, context->functions[kernel->index], arguments, NULL);
    return result == 0 ? HX_OK : hx_cuda_failed(kernel->function, "the launch", result);
}

static enum hx_status hx_check_grid(const struct hx_kernel *kernel, const int64_t grid[3]) {
    static const int64_t limits[3] = {2147483647, 65535, 65535};
    int i;
    for (i = 0; i < 3; i++)
        if (grid[i] < 0 || grid[i] > limits[i])
            return hx_fail(HX_ERROR_GRID, kernel->function, "the grid has %lld blocks along axis %d, expected 0 to %lld",
                           (long long)grid[i], i, (long long)limits[i]);
    return HX_OK;
}

static enum hx_status hx_check_dimension(const struct hx_kernel *kernel, const char *what, const char *name,
                                         int64_t value, int divisor) {
    if (value < 0 || value > HX_DIMENSION_MAX)
        return hx_fail(HX_ERROR_DIMENSION, kernel->function, "the %s `%s` is %lld, expected 0 to %d", what, name,
                       (long long)value, HX_DIMENSION_MAX);
    if (value % divisor != 0)
        return hx_fail(HX_ERROR_FACT, kernel->function,
                       "the %s `%s` is %lld, expected a multiple of %d, because the kernel was built for that", what,
                       name, (long long)value, divisor);
    return HX_OK;
}

static enum hx_status hx_check_unit(const struct hx_kernel *kernel, const char *name, int64_t value) {
    if (value != 1)
        return hx_fail(HX_ERROR_FACT, kernel->function,
                       "the stride `%s` is %lld, expected 1, because the kernel was built for that", name,
                       (long long)value);
    return HX_OK;
}

static int hx_is_empty(const int64_t *extents, int rank) {
    int i;
    for (i = 0; i < rank; i++)
        if (extents[i] == 0) return 1;
    return 0;
}

static enum hx_status hx_check_tensor(const struct hx_kernel *kernel, const char *name, const void *address,
                                      int alignment, const int64_t *extents, int rank) {
    int i;
    for (i = 0; i < rank; i++)
        if (extents[i] < 0 || extents[i] > HX_DIMENSION_MAX)
            return hx_fail(HX_ERROR_DIMENSION, kernel->function, "dimension %d of `%s` is %lld, expected 0 to %d", i,
                           name, (long long)extents[i], HX_DIMENSION_MAX);
    if (address == NULL && !hx_is_empty(extents, rank))
        return hx_fail(HX_ERROR_POINTER, kernel->function, "`%s` is a null pointer, expected device memory", name);
    if ((uintptr_t)address % (uintptr_t)alignment != 0)
        return hx_fail(HX_ERROR_POINTER, kernel->function, "`%s` is %p, expected a multiple of %d bytes", name, address,
                       alignment);
    return HX_OK;
}

/* Checks that a tensor that the kernel writes has an element of its own for each index. By growing stride, the next element along a
   dimension has to lie beyond all elements of the dimensions before. */
static enum hx_status hx_check_distinct(const struct hx_kernel *kernel, const char *name, const int64_t *extents,
                                        const int64_t *strides, int rank) {
    int64_t reach = 0, step = 0;
    unsigned int done = 0;
    int round, i, next;
    if (hx_is_empty(extents, rank)) return HX_OK;
    for (round = 0; round < rank; round++) {
        next = -1;
        for (i = 0; i < rank; i++)
            if ((done >> i & 1) == 0 && (next < 0 || strides[i] < strides[next])) next = i;
        done |= 1u << next;
        if (extents[next] == 1) continue;
        if (strides[next] <= reach)
            return hx_fail(HX_ERROR_DIMENSION, kernel->function,
                           "elements of `%s` share memory, and the kernel writes it: the stride of dimension %d is %lld, "
                           "expected more than %lld",
                           name, next, (long long)strides[next], (long long)reach);
        if (__builtin_mul_overflow(strides[next], extents[next] - 1, &step) ||
            __builtin_add_overflow(reach, step, &reach))
            return hx_fail(HX_ERROR_DIMENSION, kernel->function, "the elements of `%s` reach past the address space", name);
    }
    return HX_OK;
}

/* Returns the bytes of a tensor without gaps, or the greatest number if they are more. */
static uint64_t hx_bytes(const int64_t *extents, int rank, int bits) {
    uint64_t elements = 1;
    int i;
    if (hx_is_empty(extents, rank)) return 0;
    for (i = 0; i < rank; i++) {
        if (elements > UINT64_MAX / 64 / (uint64_t)extents[i]) return UINT64_MAX;
        elements *= (uint64_t)extents[i];
    }
    return (elements * (uint64_t)bits + 7) / 8;
}

/* Checks that a tensor that the kernel writes shares no byte with another one. Neither has gaps between its elements. */
static enum hx_status hx_check_apart(const struct hx_kernel *kernel, const char *name, const void *address,
                                     uint64_t bytes, const char *other_name, const void *other, uint64_t other_bytes) {
    uintptr_t a = (uintptr_t)address, b = (uintptr_t)other;
    int overlaps = bytes > 0 && other_bytes > 0 && (a < b ? b - a < bytes : a - b < other_bytes);
    if (overlaps)
        return hx_fail(HX_ERROR_POINTER, kernel->function, "`%s` and `%s` share memory, and the kernel writes `%s`",
                       other_name, name, name);
    return HX_OK;
}

static enum hx_status hx_check_log(const struct hx_kernel *kernel, const void *address) {
    if (address == NULL || (uintptr_t)address % 8 != 0)
        return hx_fail(HX_ERROR_POINTER, kernel->function, "the log is %p, expected device memory at a multiple of 8 bytes",
                       address);
    return HX_OK;
}

/* A tensor map: what the driver encodes of a tensor for bulk copies. */
struct hx_map_of {
    const char *name;
    const void *address;
    int is_written;
    int element; /* `CUtensorMapDataType` */
    int swizzle; /* `CUtensorMapSwizzle` */
    int l2;      /* `CUtensorMapL2promotion` */
    int fill;    /* `CUtensorMapFloatOOBfill` */
    int rank;
    const int64_t *dims;    /* in elements, the innermost first */
    const int64_t *strides; /* in bytes, of all dimensions but the innermost */
    const uint32_t *box;
};

struct hx_map {
    __attribute__((aligned(64))) unsigned char bytes[128];
};

/* Encodes a tensor map. The driver has no maps of empty tensors. A single zero stands for such a tensor: every element of a box is
   outside of it and so is read as zero. What a kernel writes there nobody reads, so it has a place of its own. */
static enum hx_status hx_encode(const struct hx_kernel *kernel, const struct hx_context *context, void *stream,
                                const struct hx_map_of *map, struct hx_map *encoded) {
    static const uint32_t steps[5] = {1, 1, 1, 1, 1};
    uint64_t dims[5], strides[5];
    uintptr_t address = (uintptr_t)map->address;
    int is_empty = hx_is_empty(map->dims, map->rank);
    int i, result;
    for (i = 0; i < map->rank; i++) {
        int64_t dim = is_empty ? 1 : map->dims[i];
        int64_t stride = i == 0 ? 0 : is_empty ? HX_ZEROS : map->strides[i - 1];
        if (dim < 0 || dim > HX_MAP_DIMENSION_MAX)
            return hx_fail(HX_ERROR_TENSOR_MAP, kernel->function,
                           "a dimension of `%s` has %lld elements, and bulk copies take at most %lld", map->name,
                           (long long)dim, (long long)HX_MAP_DIMENSION_MAX);
        if (stride < 0 || stride % HX_MAP_STRIDE != 0 || stride >= HX_MAP_STRIDE_END)
            return hx_fail(HX_ERROR_TENSOR_MAP, kernel->function,
                           "a stride of `%s` is %lld bytes, and bulk copies take multiples of %d below %lld", map->name,
                           (long long)stride, HX_MAP_STRIDE, (long long)HX_MAP_STRIDE_END);
        dims[i] = (uint64_t)dim;
        if (i > 0) strides[i - 1] = (uint64_t)stride;
    }
    if (!is_empty && address % HX_MAP_STRIDE != 0)
        return hx_fail(HX_ERROR_TENSOR_MAP, kernel->function,
                       "`%s` is %p, and bulk copies take addresses that are multiples of %d", map->name, map->address,
                       HX_MAP_STRIDE);
    if (is_empty) {
        address = (uintptr_t)context->zeros + (map->is_written ? HX_ZEROS : 0);
        result = map->is_written ? hx_cuda.memset_d8_async(address, 0, HX_ZEROS, stream) : 0;
        if (result != 0) return hx_cuda_failed(kernel->function, "clearing device memory", result);
    }
    result = hx_cuda.tensor_map_encode_tiled(encoded->bytes, map->element, (unsigned int)map->rank, (void *)address, dims,
                                             strides, map->box, steps, 0, map->swizzle, map->l2, map->fill);
    if (result != 0) return hx_cuda_failed(kernel->function, "encoding a tensor map", result);
    return HX_OK;
}

static int64_t hx_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t hx_max(int64_t a, int64_t b) {
    return a < b ? b : a;
}

static int64_t hx_add(int64_t a, int64_t b, int *bad) {
    int64_t sum = 0;
    *bad |= __builtin_add_overflow(a, b, &sum);
    return sum;
}

static int64_t hx_mul(int64_t a, int64_t b, int *bad) {
    int64_t product = 0;
    *bad |= __builtin_mul_overflow(a, b, &product);
    return product;
}

/* Rounds down. */
static int64_t hx_div(int64_t a, int64_t b, int *bad) {
    if (b == 0 || (b == -1 && a == INT64_MIN)) {
        *bad = 1;
        return 0;
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Has the sign of `b`. */
static int64_t hx_mod(int64_t a, int64_t b, int *bad) {
    if (b == 0) {
        *bad = 1;
        return 0;
    }
    if (b == -1) return 0;
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}

/* Returns the value modulo two to the power of `bits`, in the range of such an integer. */
static int64_t hx_wrap(uint64_t value, int bits, int is_signed) {
    int up = 64 - bits;
    uint64_t sign = (uint64_t)1 << (bits - 1);
    value = value << up >> up;
    return (int64_t)(is_signed ? (value ^ sign) - sign : value);
}

/* Returns the product of two numbers: the greatest number if it is more, and -1 if one of them is negative. */
static int64_t hx_times(int64_t a, int64_t b) {
    if (a < 0 || b < 0) return -1;
    return a > 0 && b > INT64_MAX / a ? INT64_MAX : a * b;
}

/* Returns the position of the sample that is nearest to a value: the limits are the last values of all samples but the last one. */
static int hx_nearest(int64_t value, const int64_t *limits, int count) {
    int at = 0;
    while (at < count && value > limits[at]) at++;
    return at;
}

/* Reports whether a kernel was not built for a launch, so that another one may take it. */
static int hx_is_unfit(enum hx_status status) {
    return status == HX_ERROR_FACT || status == HX_ERROR_REQUIREMENT || status == HX_ERROR_TENSOR_MAP;
}
