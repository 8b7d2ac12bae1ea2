/* Stands for the CUDA driver: prints every call that a launcher makes, and runs nothing.

   Variables of the environment decide what it pretends: HX_STUB_CONTEXT is the id of the current context ("none" for none, "off"
   before `cuInit`), HX_STUB_CAPABILITY the capability of the device (90), HX_STUB_SHARED its shared memory, HX_STUB_FAILS the
   function that fails, HX_STUB_SIZES the bytes of each parameter of the next kernel. With HX_STUB_MEMORY device memory is memory
   of the host, and `scale` of `book/examples/scale.hx` computes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        unsigned long long alignment;
        unsigned int cluster[3];
        int overlaps;
    } value;
};

struct config {
    unsigned int grid[3], block[3], shared_bytes;
    void *stream;
    struct attribute *attributes;
    unsigned int count;
};

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value != NULL ? value : otherwise;
}

static int status(const char *function) {
    return strcmp(setting("HX_STUB_FAILS", ""), function) == 0 ? 719 : 0;
}

#define SAY(...) printf("    " __VA_ARGS__)

int cuGetErrorName(int code, const char **text) {
    *text = code == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : NULL;
    return 0;
}

int cuGetErrorString(int code, const char **text) {
    *text = code == 719 ? "unspecified launch failure" : NULL;
    return 0;
}

int cuCtxGetCurrent(void **context) {
    const char *id = setting("HX_STUB_CONTEXT", "1");
    if (strcmp(id, "off") == 0) return 3;
    *context = strcmp(id, "none") == 0 ? NULL : (void *)4096;
    return status("cuCtxGetCurrent");
}

#ifndef HX_STUB_OLD
int cuCtxGetId(void *context, unsigned long long *id) {
    (void)context;
    *id = strtoull(setting("HX_STUB_CONTEXT", "1"), NULL, 10);
    return status("cuCtxGetId");
}
#endif

int cuCtxGetDevice(int *device) {
    *device = atoi(setting("HX_STUB_CONTEXT", "1")) - 1;
    return status("cuCtxGetDevice");
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    int capability = atoi(setting("HX_STUB_CAPABILITY", "90"));
    (void)device;
    switch (attribute) {
    case 16: *value = 132; break;
    case 75: *value = capability / 10; break;
    case 76: *value = capability % 10; break;
    case 97: *value = atoi(setting("HX_STUB_SHARED", "232448")); break;
    default: return 1;
    }
    return status("cuDeviceGetAttribute");
}

int cuModuleLoadData(void **module, const void *image) {
    SAY("load %s in context %s\n", memcmp(image, "\177ELF", 4) == 0 ? "machine code" : "something", setting("HX_STUB_CONTEXT", "1"));
    *module = (void *)8192;
    return status("cuModuleLoadData");
}

int cuModuleUnload(void *module) {
    (void)module;
    SAY("unload\n");
    return 0;
}

/* A function is known by the copy of its name. */
int cuModuleGetFunction(void **function, void *module, const char *name) {
    char *copy = (char *)malloc(strlen(name) + 1);
    (void)module;
    strcpy(copy, name);
    *function = copy;
    return status("cuModuleGetFunction");
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
    SAY("attribute %d of %s is %d\n", attribute, (const char *)function, value);
    return status("cuFuncSetAttribute");
}

int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
    SAY("allocate %d bytes\n", (int)bytes);
    *address = getenv("HX_STUB_MEMORY") == NULL ? 0x70000 : (uintptr_t)malloc(bytes);
    return status("cuMemAlloc_v2");
}

int cuMemsetD8Async(unsigned long long address, unsigned char value, size_t bytes, void *stream) {
    SAY("fill %d bytes at 0x%llx with %d on stream %p\n", (int)bytes, address, value, stream);
    return status("cuMemsetD8Async");
}

int cuStreamSynchronize(void *stream) {
    SAY("wait for stream %p\n", stream);
    return status("cuStreamSynchronize");
}

static void list64(const char *what, const uint64_t *numbers, unsigned int count) {
    unsigned int i;
    printf(", %s", what);
    for (i = 0; i < count; i++) printf(" %llu", (unsigned long long)numbers[i]);
}

static void list32(const char *what, const uint32_t *numbers, unsigned int count) {
    unsigned int i;
    printf(", %s", what);
    for (i = 0; i < count; i++) printf(" %u", numbers[i]);
}

int cuTensorMapEncodeTiled(void *map, int element, unsigned int rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle,
                           int l2, int fill) {
    static unsigned char count;
    printf("    map %d%s: element %d at %p", ++count, (uintptr_t)map % 64 == 0 ? "" : " (misaligned)", element, address);
    list64("dims", dims, rank);
    list64("strides", strides, rank - 1);
    list32("box", box, rank);
    list32("steps", steps, rank);
    printf(", interleave %d, swizzle %d, l2 %d, fill %d\n", interleave, swizzle, l2, fill);
    memset(map, count, 128);
    return status("cuTensorMapEncodeTiled");
}

static void print_parameter(const void *place, int bytes) {
    uint64_t word = 0;
    int32_t number = 0;
    if (bytes == 128) {
        printf(" map %d", *(const unsigned char *)place);
    } else if (bytes == 4) {
        memcpy(&number, place, 4);
        printf(" %d", number);
    } else {
        memcpy(&word, place, (size_t)bytes);
        printf(" 0x%llx", (unsigned long long)word);
    }
}

/* What `scale` does. */
static void scale(void **parameters) {
    const float *x = *(const float **)parameters[0];
    float *y = *(float **)parameters[1], a = *(float *)parameters[2];
    int i, elements = *(int *)parameters[3] * *(int *)parameters[4];
    for (i = 0; i < elements; i++) y[i] = a * x[i];
}

int cuLaunchKernelEx(const struct config *config, void *function, void **parameters, void **extra) {
    const char *sizes = setting("HX_STUB_SIZES", "");
    unsigned int i;
    (void)extra;
    printf("    launch %s: grid %u %u %u, block %u %u %u, shared %u, stream %p", (const char *)function, config->grid[0],
           config->grid[1], config->grid[2], config->block[0], config->block[1], config->block[2], config->shared_bytes,
           config->stream);
    for (i = 0; i < config->count; i++) {
        const struct attribute *attribute = &config->attributes[i];
        if (attribute->id == 4)
            printf(", cluster %u %u %u", attribute->value.cluster[0], attribute->value.cluster[1], attribute->value.cluster[2]);
        else if (attribute->id == 6)
            printf(", overlaps %d", attribute->value.overlaps);
        else
            printf(", attribute %d", attribute->id);
    }
    if (getenv("HX_STUB_MEMORY") != NULL && strcmp((const char *)function, "scale") == 0) scale(parameters);
    printf(", parameters");
    while (*sizes != '\0') {
        char *rest = NULL;
        print_parameter(*parameters++, (int)strtol(sizes, &rest, 10));
        for (sizes = rest; *sizes == ' ';) sizes++;
    }
    printf("\n");
    return status("cuLaunchKernelEx");
}

/* What a program without the toolkit uses to get memory. */
int cuInit(unsigned int flags) {
    (void)flags;
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    (void)device;
    *context = (void *)4096;
    return 0;
}

int cuCtxSetCurrent(void *context) {
    (void)context;
    return 0;
}

int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

int cuMemFree_v2(unsigned long long address) {
    free((void *)(uintptr_t)address);
    return 0;
}
