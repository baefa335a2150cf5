// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/device.h"

#include "core/support/hash.h"
#include "gpu/runtime/uploads_internal.h"

#include <fmt/format.h>

#include <array>

namespace fuselage::gpu {

namespace {

/// Every allocation has at least this, so that empty tensors have an address of their own.
constexpr int64_t smallestAllocation = 256;

/// Dynamic shared memory that every kernel may have without asking.
constexpr uint32_t sharedWithoutAsking = 48U << 10;

Result<DeviceFacts> factsOf(const Driver& driver, int device) {
    DeviceFacts out;
    const DriverFunctions& call = driver.call();
    std::array<char, 256> text{};
    if (auto named =
            driver.check(call.cuDeviceGetName(text.data(), 255, device), "ask for the name");
        !named)
        return failure(named.error());
    out.name = text.data();
    if (call.cuDeviceGetPCIBusId(text.data(), 255, device) == 0)
        out.pciBusId = text.data();
    size_t bytes = 0;
    if (auto sized = driver.check(call.cuDeviceTotalMem_v2(&bytes, device), "ask for the memory");
        !sized)
        return failure(sized.error());
    out.memoryBytes = static_cast<int64_t>(bytes);
    int major = 0, minor = 0, l2 = 0;
    // Virtual devices may not tell them; the profile has its own.
    const std::pair<DeviceAttribute, int*> wished[] = {
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &out.clockKilohertz},
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &out.memoryClockKilohertz},
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &out.memoryBusBits},
    };
    for (const auto& [attribute, value] : wished)
        if (call.cuDeviceGetAttribute(value, static_cast<int>(attribute), device) != 0)
            *value = 0;
    const std::pair<DeviceAttribute, int*> wanted[] = {
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2},
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &out.multiprocessors},
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
         &out.threadsPerMultiprocessor},
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
         &out.registersPerMultiprocessor},
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
         &out.sharedBytesPerMultiprocessor},
        {DeviceAttribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
         &out.sharedBytesPerBlock},
    };
    for (const auto& [attribute, value] : wanted)
        if (auto asked =
                driver.check(call.cuDeviceGetAttribute(value, static_cast<int>(attribute), device),
                             "ask for an attribute of the device");
            !asked)
            return failure(asked.error());
    out.arch = fmt::format("sm_{}{}", major, minor);
    out.l2Bytes = l2;
    out.driverVersion = driver.version();
    return out;
}

} // namespace

Result<LoadedKernel> Module::kernel(const std::string& name, uint32_t dynamicSharedBytes) const {
    const DriverFunctions& call = context()->call();
    LoadedKernel out;
    if (auto found = context()->check(
            call.cuModuleGetFunction(&out.function, handle(), name.c_str()), "find `" + name + "`");
        !found)
        return failure(found.error());
    if (dynamicSharedBytes > sharedWithoutAsking)
        if (auto allowed = context()->check(
                call.cuFuncSetAttribute(
                    out.function,
                    static_cast<int>(
                        FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
                    static_cast<int>(dynamicSharedBytes)),
                fmt::format("give `{}` {} bytes of shared memory", name, dynamicSharedBytes));
            !allowed)
            return failure(allowed.error());
    const std::pair<FunctionAttribute, uint32_t*> wanted[] = {
        {FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS, &out.registers},
        {FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &out.staticSharedBytes},
        {FunctionAttribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &out.localBytes},
    };
    for (const auto& [attribute, to] : wanted) {
        int value = 0;
        if (call.cuFuncGetAttribute(&value, static_cast<int>(attribute), out.function) == 0)
            *to = static_cast<uint32_t>(value);
    }
    return out;
}

Result<std::shared_ptr<Device>> Device::open(int ordinal) {
    auto driver = Driver::open();
    if (!driver)
        return failure(driver.error());
    const DriverFunctions& call = (*driver)->call();
    int count = 0;
    if (auto counted = (*driver)->check(call.cuDeviceGetCount(&count), "count the devices");
        !counted)
        return failure(counted.error());
    if (ordinal < 0 || ordinal >= count)
        return failure("device.absent",
                       count == 0 ? std::string("the CUDA driver finds no device")
                                  : fmt::format("no CUDA device {}: there are {}", ordinal, count),
                       {}, "check with nvidia-smi, or run with --backend cpu");
    int device = 0;
    if (auto named = (*driver)->check(call.cuDeviceGet(&device, ordinal), "open the device");
        !named)
        return failure(named.error());
    auto facts = factsOf(**driver, device);
    if (!facts)
        return failure(facts.error());
    auto context = std::make_shared<DeviceContext>();
    context->driver = *driver;
    context->ordinal = device;
    if (auto retained = (*driver)->check(call.cuDevicePrimaryCtxRetain(&context->handle, device),
                                         "make the device's context");
        !retained)
        return failure(retained.error());
    std::shared_ptr<Device> out(new Device);
    out->m_context = std::move(context);
    out->m_facts = std::move(*facts);
    if (auto current = out->makeCurrent(); !current)
        return failure(current.error());
    return out;
}

Device::~Device() = default;

Result<int64_t> Device::freeBytes() const {
    size_t free = 0, total = 0;
    if (auto asked = m_context->check(m_context->call().cuMemGetInfo_v2(&free, &total),
                                      "ask for free memory");
        !asked)
        return failure(asked.error());
    return static_cast<int64_t>(free);
}

Result<DeviceMemory> Device::allocate(int64_t bytes) const {
    DevicePointer address = 0;
    const int64_t size = std::max(bytes, smallestAllocation);
    if (auto made =
            m_context->check(m_context->call().cuMemAlloc_v2(&address, static_cast<size_t>(size)),
                             fmt::format("allocate {} bytes on the device", size));
        !made)
        return failure(made.error());
    return DeviceMemory(m_context, address, bytes);
}

Result<HostMemory> Device::allocatePinned(int64_t bytes) const {
    void* address = nullptr;
    const int64_t size = std::max(bytes, smallestAllocation);
    if (auto made = m_context->check(
            m_context->call().cuMemAllocHost_v2(&address, static_cast<size_t>(size)),
            fmt::format("allocate {} bytes of pinned memory", size));
        !made)
        return failure(made.error());
    return HostMemory(m_context, address);
}

Result<std::shared_ptr<const Module>> Device::load(const std::string& cubin) {
    // Two hashes of different seeds: a module must never be taken for another.
    const std::string key = Hasher().text(cubin).hex() + Hasher().text("2").text(cubin).hex();
    std::lock_guard lock(m_mutex);
    if (auto loaded = m_modules[key].lock())
        return loaded;
    ModuleHandle handle = nullptr;
    if (auto made = m_context->check(m_context->call().cuModuleLoadData(&handle, cubin.data()),
                                     "load a kernel's machine code");
        !made)
        return failure(made.error());
    auto out = std::make_shared<const Module>(m_context, handle);
    m_modules[key] = out;
    return out;
}

Result<void> Device::upload(DevicePointer to, const void* from, size_t bytes) {
    std::lock_guard lock(m_mutex);
    if (!m_uploads) {
        auto made = Uploads::create(*this);
        if (!made)
            return failure(made.error());
        m_uploads = std::make_unique<Uploads>(std::move(*made));
    }
    return m_uploads->add(to, static_cast<const std::byte*>(from), bytes);
}

Result<void> Device::finishUploads() {
    std::lock_guard lock(m_mutex);
    return m_uploads ? m_uploads->finish() : Result<void>();
}

bool canLaunchEarly(const Device& device) {
    return capabilityOf(device.facts().arch) >= 90 &&
           device.context()->call().cuLaunchKernelEx != nullptr;
}

} // namespace fuselage::gpu
