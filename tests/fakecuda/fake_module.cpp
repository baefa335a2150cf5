// SPDX-License-Identifier: Apache-2.0
// Modules of the stand-in driver are shared objects for the host; a launch is the SIMT shim.
#include "tests/fakecuda/fake_state.h"
#include "tests/shim/simt_launch.h"
#include "tests/shim/tensor_map.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <set>
#include <unistd.h>

using namespace fakecuda;

namespace {

constexpr int sharedWithoutAsking = 48 << 10;
constexpr int sharedLimit = 227 << 10;

/// Bytes of a shared object: its table of sections is its last part.
size_t sizeOfObject(const void* image) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    return header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
}

/// The object opened from memory; null where it is none.
void* openObject(const void* image) {
    const size_t size = sizeOfObject(image);
    if (size == 0)
        return nullptr;
    // A name of its own each time: the loader takes equal names for the same object.
    std::string path = (std::filesystem::temp_directory_path() / "fakecuda_XXXXXX").string();
    const int file = mkstemp(path.data());
    const bool written = file >= 0 && write(file, image, size) == static_cast<ssize_t>(size);
    void* handle = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (written && handle == nullptr)
        state().lastMessage = dlerror();
    if (file >= 0) {
        close(file);
        unlink(path.c_str());
    }
    return handle;
}

std::unique_ptr<Function> findKernel(const Module& module, const std::string& name) {
    auto symbol = [&](const char* prefix) { return dlsym(module.handle, (prefix + name).c_str()); };
    auto* run = reinterpret_cast<void (*)(void* const*)>(symbol("fakecudaRun_"));
    const auto* count = static_cast<const unsigned*>(symbol("fakecudaCount_"));
    const auto* sizes = static_cast<const unsigned* const*>(symbol("fakecudaSizes_"));
    if (run == nullptr || count == nullptr || sizes == nullptr)
        return nullptr;
    auto out = std::make_unique<Function>();
    out->name = name;
    out->run = run;
    out->sizes.assign(*sizes, *sizes + *count);
    out->dynamicShared = sharedWithoutAsking;
    return out;
}

/// Arguments lie at multiples of this, as tensor maps want.
struct alignas(128) ArgumentPart {
    unsigned char bytes[128];
};

bool possible(const simt::Launch& launch, const Function& function) {
    const auto& [gx, gy, gz] = launch.grid;
    const auto& [bx, by, bz] = launch.block;
    return gx > 0 && gy > 0 && gz > 0 && gx <= 0x7fffffffU && gy <= 65535 && gz <= 65535 &&
           uint64_t{bx} * by * bz > 0 && uint64_t{bx} * by * bz <= 1024 && bz <= 64 &&
           launch.sharedBytes <= static_cast<uint32_t>(function.dynamicShared);
}

/// Contents of all memory that the arguments point to, by address.
using Snapshot = std::map<uint64_t, std::vector<std::byte>>;

Snapshot snapshotOf(const std::vector<void*>& arguments) {
    Snapshot out;
    for (void* argument : arguments) {
        uint64_t value = 0;
        std::memcpy(&value, argument, sizeof value);
        auto next = state().memory.upper_bound(value);
        if (next == state().memory.begin() || find(value, 1) == nullptr)
            continue;
        const auto& [address, allocation] = *std::prev(next);
        out[address] = {allocation.data, allocation.data + allocation.bytes};
    }
    return out;
}

/// Changes the last byte that the kernel wrote, or puts back what lay there and before it.
void spoil(const Snapshot& before, Spoiled how) {
    for (const auto& [address, bytes] : before) {
        auto* now = reinterpret_cast<std::byte*>(address);
        size_t at = bytes.size();
        while (at > 0 && now[at - 1] == bytes[at - 1])
            --at;
        if (at == 0)
            continue;
        const size_t element = (at - 1) / 8 * 8;
        if (how != Spoiled::Unwritten)
            now[at - 1] ^= std::byte{0x40}; // of the exponent, whatever the type
        else
            std::memcpy(now + element, bytes.data() + element, at - element);
        return;
    }
}

bool anyTwice(std::vector<void*> arguments) {
    std::set<uint64_t> seen;
    for (void* argument : arguments) {
        uint64_t value = 0;
        std::memcpy(&value, argument, sizeof value);
        if (!seen.insert(value).second)
            return true;
    }
    return false;
}

/// What is launched early may start while others write: all that a kernel can reach.
void setOpen(bool open) {
    for (const auto& [address, allocation] : state().memory)
        if (!allocation.pinned)
            allocation.setOpen(open);
}

/// What a kernel that is spoiled so does in this launch; none: what it should.
const Spoiled* spoiledIn(const simt::Launch& launch, const std::vector<void*>& arguments,
                         bool early) {
    const Spoiled* how = spoiledAs(launch.name);
    const bool whenEarly = how && (*how == Spoiled::Early || *how == Spoiled::EarlyFault);
    if ((whenEarly && !early) || (how && *how == Spoiled::InPlace && !anyTwice(arguments)))
        return nullptr;
    return how;
}

int runKernel(simt::Launch& launch, std::vector<std::vector<ArgumentPart>>& values, bool early) {
    std::vector<void*> pointers;
    for (auto& value : values)
        pointers.push_back(value.data());
    launch.arguments = pointers.data();
    ++state().launches;
    state().earlyLaunches += early ? 1 : 0;
    state().clusterLaunches += launch.clusterBlocks > 1 ? 1 : 0;
    const Spoiled* how = spoiledIn(launch, pointers, early);
    if (how && (*how == Spoiled::Fault || *how == Spoiled::EarlyFault))
        return IllegalAddress;
    if (how && *how == Spoiled::Crash)
        raise(SIGKILL);
    const Snapshot before = how ? snapshotOf(pointers) : Snapshot{};
    if (early)
        launch.gate = setOpen;
    const simt::Outcome outcome = simt::tryRun(launch);
    if (how)
        spoil(before, *how);
    if (outcome.ok())
        return Success;
    state().lastMessage = outcome.message;
    return outcome.fault ? IllegalAddress : LaunchFailed;
}

} // namespace

int fakecuda::launchKernel(const KernelCall& call, Stream* stream, void** arguments) {
    if (call.function == nullptr)
        return InvalidHandle;
    simt::Launch launch;
    launch.name = call.function->name;
    launch.entry = call.function->run;
    launch.grid = {call.grid[0], call.grid[1], call.grid[2]};
    launch.block = {call.block[0], call.block[1], call.block[2]};
    launch.sharedBytes = call.sharedBytes;
    launch.clusterBlocks = call.clusterBlocks;
    if (!possible(launch, *call.function))
        return InvalidValue;
    const Graph* graph = state().streams.count(stream) != 0 ? stream->capture.get() : nullptr;
    if (call.early && graph != nullptr &&
        (graph->nodes.empty() || graph->nodes.back()->kind != NodeKind::Kernel)) {
        state().lastMessage = launch.name + " is launched early behind what is no kernel";
        return InvalidValue;
    }
    // Arguments are copied when the launch is queued, as by the driver.
    std::vector<std::vector<ArgumentPart>> values;
    for (size_t i = 0; i < call.function->sizes.size(); ++i) {
        values.emplace_back((call.function->sizes[i] + sizeof(ArgumentPart) - 1) /
                            sizeof(ArgumentPart));
        std::memcpy(values.back().data(), arguments[i], call.function->sizes[i]);
    }
    return enqueue(stream, NodeKind::Kernel, launch.name,
                   [launch, values, early = call.early]() mutable {
                       return runKernel(launch, values, early);
                   });
}

int fakecuda::mapMade(const void* map, void* address, const char* broken) {
    simt::TensorMapFacts facts;
    if (broken == nullptr && simt::decodeTensorMap(map, facts) &&
        find(reinterpret_cast<uint64_t>(address), facts.tensorBytes()) == nullptr)
        broken = "the tensor lies outside of the device's memory";
    if (broken == nullptr)
        return Success;
    state().lastMessage = broken;
    return InvalidValue;
}

extern "C" {

int cuModuleLoadData(Module** out, const void* image) {
    FAKE_CALL("cuModuleLoadData", Unsafe);
    void* handle = openObject(image);
    if (handle == nullptr)
        return InvalidImage;
    ++state().moduleLoads;
    *out = new Module{handle, {}};
    return Success;
}

int cuModuleUnload(Module* module) {
    FAKE_CALL("cuModuleUnload", Unsafe);
    const int code = drainAll();
    dlclose(module->handle);
    delete module;
    return code;
}

int cuModuleGetFunction(Function** out, Module* module, const char* name) {
    FAKE_CALL("cuModuleGetFunction", Context);
    std::unique_ptr<Function>& function = module->functions[name];
    if (!function)
        function = findKernel(*module, name);
    *out = function.get();
    return function ? Success : NotFound;
}

int cuFuncGetAttribute(int* value, int attribute, Function* function) {
    FAKE_CALL("cuFuncGetAttribute", Context);
    switch (attribute) {
    case 1: // static shared memory
    case 3: // local memory
        *value = 0;
        return Success;
    case 4: // registers
        *value = 32;
        return Success;
    case 8:
        *value = function->dynamicShared;
        return Success;
    default:
        return InvalidValue;
    }
}

int cuFuncSetAttribute(Function* function, int attribute, int value) {
    FAKE_CALL("cuFuncSetAttribute", Context);
    if (attribute != 8 || value < 0 || value > sharedLimit)
        return InvalidValue;
    function->dynamicShared = value;
    return Success;
}

int cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* address, const uint64_t* dims,
                           const uint64_t* strides, const uint32_t* box,
                           const uint32_t* elementStrides, int interleave, int swizzle,
                           int promotion, int fill) {
    FAKE_CALL("cuTensorMapEncodeTiled", Context);
    return mapMade(
        map, address,
        simt::encodeTensorMap(map, {type, rank, address, dims, strides, box, elementStrides,
                                    interleave, swizzle, promotion, fill}));
}

int cuLaunchKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, Stream* stream, void** arguments,
                   void**) {
    FAKE_CALL("cuLaunchKernel", Context);
    return launchKernel({function, {gx, gy, gz}, {bx, by, bz}, shared, false}, stream, arguments);
}
}
