/* Multiplies the elements of a matrix on the GPU. */
#include <stdint.h>
#include <stdio.h>

#include "driver.h"
#include "scale.h"

enum { ROWS = 33, COLUMNS = 100 };

static float x[ROWS][COLUMNS], y[ROWS][COLUMNS];

int main(void) {
    void *context;
    CUdeviceptr device_x, device_y;
    int device, i;
    if (cuInit(0) != 0 || cuDeviceGet(&device, 0) != 0 || cuDevicePrimaryCtxRetain(&context, device) != 0 ||
        cuCtxSetCurrent(context) != 0 || cuMemAlloc_v2(&device_x, sizeof x) != 0 ||
        cuMemAlloc_v2(&device_y, sizeof y) != 0) {
        fprintf(stderr, "there is no CUDA device\n");
        return 1;
    }
    for (i = 0; i < ROWS * COLUMNS; i++) x[i / COLUMNS][i % COLUMNS] = (float)i;
    cuMemcpyHtoD_v2(device_x, x, sizeof x);

    if (hx_scale((void *)(uintptr_t)device_x, (void *)(uintptr_t)device_y, 2.5f, ROWS, COLUMNS, NULL) != HX_OK) {
        fprintf(stderr, "%s\n", hx_scale_error());
        return 1;
    }

    /* The copy waits for the kernel: both are on the default stream. */
    if (cuMemcpyDtoH_v2(y, device_y, sizeof y) != 0) return 1;
    for (i = 0; i < ROWS * COLUMNS; i++)
        if (y[i / COLUMNS][i % COLUMNS] != 2.5f * (float)i) {
            fprintf(stderr, "element %d is %f\n", i, (double)y[i / COLUMNS][i % COLUMNS]);
            return 1;
        }
    printf("%d elements are right\n", i);
    cuMemFree_v2(device_x);
    cuMemFree_v2(device_y);
    return 0;
}
