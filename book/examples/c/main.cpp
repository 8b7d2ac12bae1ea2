// Multiplies the elements of a matrix on the GPU. A failed launch becomes an exception.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "driver.h"
#include "scale.h"

namespace {

void check(int result) {
    if (result != 0) throw std::runtime_error("the CUDA driver returned " + std::to_string(result));
}

void check(hx_status status) {
    if (status != HX_OK) throw std::runtime_error(hx_scale_error());
}

// Device memory of floats.
class Floats {
  public:
    explicit Floats(std::size_t count) : bytes(count * sizeof(float)) { check(cuMemAlloc_v2(&address, bytes)); }
    Floats(const Floats &) = delete;
    Floats &operator=(const Floats &) = delete;
    ~Floats() { cuMemFree_v2(address); }

    void write(const std::vector<float> &from) { check(cuMemcpyHtoD_v2(address, from.data(), bytes)); }
    void read(std::vector<float> &to) const { check(cuMemcpyDtoH_v2(to.data(), address, bytes)); }
    void *data() const { return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address)); }

  private:
    CUdeviceptr address = 0;
    std::size_t bytes;
};

} // namespace

int main() try {
    constexpr std::int64_t rows = 1, columns = 7;
    int device = 0;
    void *context = nullptr;
    check(cuInit(0));
    check(cuDeviceGet(&device, 0));
    check(cuDevicePrimaryCtxRetain(&context, device));
    check(cuCtxSetCurrent(context));

    std::vector<float> x(rows * columns, 3.0f), y(rows * columns, 0.0f);
    Floats device_x(x.size()), device_y(y.size());
    device_x.write(x);
    check(hx_scale(device_x.data(), device_y.data(), 2.0f, rows, columns, nullptr));
    device_y.read(y);
    for (float found : y)
        if (found != 6.0f) throw std::runtime_error("found " + std::to_string(found) + ", expected 6");
    std::printf("%zu elements are right\n", y.size());
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
