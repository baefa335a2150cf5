// SPDX-License-Identifier: Apache-2.0
// The device of the stand-in driver, its context, words of its codes.
#include "tests/fakecuda/fake_state.h"

#include <cstdio>

using namespace fakecuda;

namespace {

struct Words {
    int code;
    const char *name, *text;
};

constexpr Words words[] = {
    {Success, "CUDA_SUCCESS", "no error"},
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {LossyQuery, "CUDA_ERROR_LOSSY_QUERY", "operation would lose edge data"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
};

const Words* find(int code) {
    for (const Words& row : words)
        if (row.code == code)
            return &row;
    return nullptr;
}

int deviceCount() {
    return setting("FAKECUDA_DEVICES", 1);
}

} // namespace

extern "C" {

int cuInit(unsigned) {
    FAKE_CALL("cuInit", Nothing);
    state().initialised = true;
    return Success;
}

int cuDriverGetVersion(int* version) {
    FAKE_CALL("cuDriverGetVersion", Nothing);
    *version = setting("FAKECUDA_VERSION", 13000);
    return Success;
}

int cuGetErrorName(int code, const char** out) {
    const Words* row = find(code);
    *out = row == nullptr ? nullptr : row->name;
    return row == nullptr ? InvalidValue : Success;
}

int cuGetErrorString(int code, const char** out) {
    const Words* row = find(code);
    *out = row == nullptr ? nullptr : row->text;
    return row == nullptr ? InvalidValue : Success;
}

int cuDeviceGetCount(int* count) {
    FAKE_CALL("cuDeviceGetCount", Start);
    *count = deviceCount();
    return Success;
}

int cuDeviceGet(int* device, int ordinal) {
    FAKE_CALL("cuDeviceGet", Start);
    *device = ordinal;
    return ordinal >= 0 && ordinal < deviceCount() ? Success : InvalidDevice;
}

int cuDeviceGetName(char* out, int length, int) {
    FAKE_CALL("cuDeviceGetName", Start);
    std::snprintf(out, static_cast<size_t>(length), "stand-in device (host threads)");
    return Success;
}

int cuDeviceGetPCIBusId(char* out, int length, int) {
    FAKE_CALL("cuDeviceGetPCIBusId", Start);
    std::snprintf(out, static_cast<size_t>(length), "0000:00:00.0");
    return Success;
}

int cuDeviceTotalMem_v2(size_t* bytes, int) {
    FAKE_CALL("cuDeviceTotalMem_v2", Start);
    *bytes = static_cast<size_t>(setting("FAKECUDA_MEMORY_MIB", 4096)) << 20;
    return Success;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
    FAKE_CALL("cuDeviceGetAttribute", Start);
    const bool ofClocks = attribute == 13 || attribute == 36 || attribute == 37;
    if (ofClocks && setting("FAKECUDA_NO_CLOCKS", 0) != 0)
        return NotSupported;
    switch (attribute) {
    case 13: // clock, kHz
        *value = 1000000;
        break;
    case 16: // multiprocessors
        *value = 4;
        break;
    case 36: // memory clock, kHz
        *value = 500000;
        break;
    case 37: // bus, bits
        *value = 128;
        break;
    case 38: // L2
        *value = 1 << 20;
        break;
    case 39: // threads of a multiprocessor
        *value = 2048;
        break;
    case 75:
        *value = 9;
        break;
    case 76:
        *value = 0;
        break;
    case 81: // shared memory of a multiprocessor
        *value = 228 << 10;
        break;
    case 82: // registers of a multiprocessor
        *value = 65536;
        break;
    case 97: // shared memory a block may ask for
        *value = 227 << 10;
        break;
    default:
        return InvalidValue;
    }
    return Success;
}

int cuDevicePrimaryCtxRetain(void** context, int) {
    FAKE_CALL("cuDevicePrimaryCtxRetain", Start);
    static int one = 0;
    *context = &one;
    ++state().primaryContexts;
    return Success;
}

int cuDevicePrimaryCtxRelease_v2(int) {
    FAKE_CALL("cuDevicePrimaryCtxRelease_v2", Start);
    if (state().primaryContexts == 0)
        return InvalidContext;
    --state().primaryContexts;
    return Success;
}

int cuCtxSetCurrent(void* context) {
    FAKE_CALL("cuCtxSetCurrent", Start);
    currentContext = context;
    return Success;
}

int cuCtxSynchronize() {
    FAKE_CALL("cuCtxSynchronize", NoCapture);
    return drainAll();
}
}
