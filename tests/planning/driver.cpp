// SPDX-License-Identifier: Apache-2.0
// A libcuda for planning only: no device, nothing runs, but code that a library compiled at run
// time can be "loaded", so plans finish on a machine without a GPU. The other exports, generated
// from the toolkit's stub, all say that there is no device.
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace {

constexpr int success = 0, noDevice = 100, notFound = 500;

char something; ///< what handles point to

int give(void** handle) {
    *handle = &something;
    return success;
}

int zero(int* value) {
    *value = 0;
    return success;
}

void* find(const char* name) {
    static void* self = [] {
        Dl_info info{};
        return dladdr(&something, &info) != 0 ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)
                                              : nullptr;
    }();
    for (const char* suffix : {"_v3", "_v2", ""})
        if (void* found =
                self != nullptr ? dlsym(self, (std::string(name) + suffix).c_str()) : nullptr)
            return found;
    return nullptr;
}

} // namespace

extern "C" {

int cuInit(unsigned) {
    return noDevice;
}

int cuDriverGetVersion(int* version) {
    *version = 13000;
    return success;
}

int cuDeviceGetCount(int* count) {
    return zero(count);
}

int cuGetErrorString(int, const char** text) {
    *text = "this libcuda is for planning only";
    return success;
}

int cuGetErrorName(int, const char** text) {
    *text = "CUDA_ERROR_NO_DEVICE";
    return success;
}

int cuGetProcAddress(const char* name, void** function, int, unsigned long long) {
    *function = find(name);
    return *function != nullptr ? success : notFound;
}

int cuGetProcAddress_v2(const char* name, void** function, int, unsigned long long, int* status) {
    *function = find(name);
    if (status != nullptr)
        *status = *function != nullptr ? 0 : 1;
    return *function != nullptr ? success : notFound;
}

int cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
    return give(library);
}

int cuLibraryUnload(void*) {
    return success;
}

int cuLibraryGetKernel(void** kernel, void*, const char*) {
    return give(kernel);
}

int cuLibraryGetModule(void** module, void*) {
    return give(module);
}

int cuKernelGetFunction(void** function, void*) {
    return give(function);
}

int cuKernelGetAttribute(int* value, int, void*, int) {
    return zero(value);
}

int cuKernelSetAttribute(int, int, void*, int) {
    return success;
}

int cuModuleLoadData(void** module, const void*) {
    return give(module);
}

int cuModuleLoadDataEx(void** module, const void*, unsigned, void*, void*) {
    return give(module);
}

int cuModuleUnload(void*) {
    return success;
}

int cuModuleGetFunction(void** function, void*, const char*) {
    return give(function);
}

int cuFuncGetAttribute(int* value, int, void*) {
    return zero(value);
}

int cuFuncSetAttribute(void*, int, int) {
    return success;
}

} // extern "C"
