// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/cupti.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>

namespace fuselage::gpu {

namespace {

using Code = int; // 0: success

constexpr int kindConcurrentKernel = 10;
constexpr size_t bufferBytes = size_t{1} << 20;
constexpr size_t bufferAlignment = 8;
constexpr uint32_t oldestVersion = 18; ///< of CUDA 12

/// The part of a kernel's record that is the same in all versions since CUDA 11.
struct ActivityKernel {
    int kind;
    uint8_t cacheConfig, sharedConfig;
    uint16_t registers;
    int cacheRequested, cacheExecuted;
    uint64_t begin, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t staticShared, dynamicShared;
    uint32_t localPerThread, localTotal, correlation;
    int64_t gridId;
    const char* name;
    void* reserved;
    uint64_t queued, submitted;
    uint8_t launchType, carveoutRequested, carveout, padding;
    uint32_t sharedExecuted;
    uint64_t graphNode;
};

static_assert(offsetof(ActivityKernel, begin) == 16 && offsetof(ActivityKernel, name) == 104 &&
              offsetof(ActivityKernel, graphNode) == 144);

constexpr int domainResource = 3;           ///< CUPTI_CB_DOMAIN_RESOURCE
constexpr uint32_t resourceNodeCloned = 20; ///< CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED

/// CUpti_ResourceData and CUpti_GraphData, as far as they are read.
struct GraphData {
    void *graph, *originalGraph, *node, *originalNode;
};

struct ResourceData {
    void *context, *resource;
    const GraphData* graph;
};

using Subscriber = struct SubscriberOfCupti*;

struct Functions {
    Code (*cuptiGetVersion)(uint32_t*);
    Code (*cuptiGetResultString)(Code, const char**);
    Code (*cuptiActivityRegisterCallbacks)(void (*)(uint8_t**, size_t*, size_t*),
                                           void (*)(void*, uint32_t, uint8_t*, size_t, size_t));
    Code (*cuptiActivityEnable)(int);
    Code (*cuptiActivityDisable)(int);
    Code (*cuptiActivityFlushAll)(uint32_t);
    Code (*cuptiActivityGetNextRecord)(uint8_t*, size_t, int**);
    Code (*cuptiActivityGetNumDroppedRecords)(void*, uint32_t, size_t*);
    // Null where the library lacks them: nodes are then not told apart by their ids.
    Code (*cuptiSubscribe)(Subscriber*, void (*)(void*, int, uint32_t, const void*), void*);
    Code (*cuptiUnsubscribe)(Subscriber);
    Code (*cuptiEnableCallback)(uint32_t, Subscriber, int, uint32_t);
    Code (*cuptiGetGraphNodeId)(void*, uint64_t*);

    bool hasNodes() const {
        return cuptiSubscribe && cuptiUnsubscribe && cuptiEnableCallback && cuptiGetGraphNodeId;
    }

    bool load(const SharedLibrary& from) {
        SymbolReader find(from);
        find(cuptiGetVersion, "cuptiGetVersion");
        find(cuptiGetResultString, "cuptiGetResultString");
        find(cuptiActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
        find(cuptiActivityEnable, "cuptiActivityEnable");
        find(cuptiActivityDisable, "cuptiActivityDisable");
        find(cuptiActivityFlushAll, "cuptiActivityFlushAll");
        find(cuptiActivityGetNextRecord, "cuptiActivityGetNextRecord");
        find(cuptiActivityGetNumDroppedRecords, "cuptiActivityGetNumDroppedRecords");
        SymbolReader findMore(from);
        findMore(cuptiSubscribe, "cuptiSubscribe");
        findMore(cuptiUnsubscribe, "cuptiUnsubscribe");
        findMore(cuptiEnableCallback, "cuptiEnableCallback");
        findMore(cuptiGetGraphNodeId, "cuptiGetGraphNodeId");
        return find.absent().empty();
    }
};

/// What a callback about copied nodes fills.
struct NodeWatch {
    const Functions& call;
    std::mutex mutex;
    GraphNodeIds ids;
};

void noteClone(void* user, int domain, uint32_t event, const void* data) {
    if (domain != domainResource || event != resourceNodeCloned || data == nullptr)
        return;
    const GraphData* graph = static_cast<const ResourceData*>(data)->graph;
    auto& watch = *static_cast<NodeWatch*>(user);
    uint64_t id = 0;
    if (graph == nullptr || watch.call.cuptiGetGraphNodeId(graph->node, &id) != 0)
        return;
    std::lock_guard lock(watch.mutex);
    watch.ids[graph->originalNode] = id;
}

/// What the callbacks fill; they may come from a thread of CUPTI.
struct Collector {
    std::mutex mutex;
    Functions call{};
    bool active = false;
    std::vector<KernelRecord> records;
    size_t dropped = 0;
};

Collector& collector() {
    static Collector* instance = new Collector; // CUPTI may call as the process ends
    return *instance;
}

void giveBuffer(uint8_t** buffer, size_t* size, size_t* mostRecords) {
    *buffer = static_cast<uint8_t*>(std::aligned_alloc(bufferAlignment, bufferBytes));
    *size = *buffer == nullptr ? 0 : bufferBytes;
    *mostRecords = 0;
}

void takeBuffer(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) {
    Collector& state = collector();
    std::lock_guard lock(state.mutex);
    int* record = nullptr;
    while (valid > 0 && state.call.cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
        if (*record != kindConcurrentKernel || !state.active)
            continue;
        ActivityKernel kernel;
        std::memcpy(&kernel, record, sizeof kernel);
        state.records.push_back({kernel.name == nullptr ? "" : kernel.name, kernel.begin,
                                 kernel.end, kernel.graphNode});
    }
    size_t dropped = 0;
    if (state.call.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == 0)
        state.dropped += dropped;
    std::free(buffer);
}

class LoadedCupti final : public Cupti {
public:
    explicit LoadedCupti(std::shared_ptr<SharedLibrary> library, const Functions& functions)
        : m_library(std::move(library)), m_call(functions) {}

    std::string version() const override {
        uint32_t version = 0;
        return m_call.cuptiGetVersion(&version) == 0 ? std::to_string(version) : "";
    }

    Result<void> start() override {
        Collector& state = collector();
        // Buffers of before, if any, are not of this collection.
        if (auto flushed = check(m_call.cuptiActivityFlushAll(1), "flush records"); !flushed)
            return flushed;
        {
            std::lock_guard lock(state.mutex);
            state.records.clear();
            state.dropped = 0;
            state.active = true;
        }
        return check(m_call.cuptiActivityEnable(kindConcurrentKernel), "record kernels");
    }

    Result<std::vector<KernelRecord>> stop() override {
        auto flushed = check(m_call.cuptiActivityFlushAll(1), "flush records");
        auto disabled = check(m_call.cuptiActivityDisable(kindConcurrentKernel), "stop recording");
        Collector& state = collector();
        std::lock_guard lock(state.mutex);
        state.active = false;
        if (!flushed || !disabled)
            return failure(!flushed ? flushed.error() : disabled.error());
        if (state.dropped > 0)
            return failure("cupti.dropped", fmt::format("CUPTI dropped {} records", state.dropped));
        return std::move(state.records);
    }

    Result<GraphNodeIds> nodeIdsWhile(const std::function<Result<void>()>& instantiate) override {
        if (!m_call.hasNodes())
            return failure("cupti.nodes", "CUPTI lacks the ids of graph nodes");
        NodeWatch watch{m_call, {}, {}};
        Subscriber subscriber = nullptr;
        if (auto subscribed = check(m_call.cuptiSubscribe(&subscriber, noteClone, &watch),
                                    "watch graphs being made");
            !subscribed)
            return failure("cupti.nodes", subscribed.error().message);
        auto enabled =
            check(m_call.cuptiEnableCallback(1, subscriber, domainResource, resourceNodeCloned),
                  "watch graphs being made");
        auto made = enabled ? instantiate() : Result<void>();
        (void)m_call.cuptiUnsubscribe(subscriber);
        if (!enabled)
            return failure("cupti.nodes", enabled.error().message);
        if (!made)
            return failure(made.error());
        return std::move(watch.ids);
    }

private:
    Result<void> check(Code code, const char* what) const {
        if (code == 0)
            return {};
        const char* words = nullptr;
        const bool known = m_call.cuptiGetResultString(code, &words) == 0 && words != nullptr;
        return failure("cupti.call", fmt::format("CUPTI cannot {}: {}", what,
                                                 known ? words : std::to_string(code).c_str()));
    }

    std::shared_ptr<SharedLibrary> m_library;
    Functions m_call;
};

} // namespace

Result<std::shared_ptr<SharedLibrary>> openCuptiForGood() {
    static std::mutex mutex;
    static auto* kept = new std::map<std::string, std::shared_ptr<SharedLibrary>>; // by path
    auto library = SharedLibrary::open(fileNamesOf("libcupti"));
    if (!library)
        return library;
    std::lock_guard lock(mutex);
    return kept->emplace((*library)->path(), *library).first->second;
}

std::unique_lock<std::mutex> cuptiForOneUse() {
    static std::mutex mutex;
    return std::unique_lock(mutex);
}

Result<std::shared_ptr<Cupti>> Cupti::open() {
    // Once: callbacks stay registered, and the library must not be closed under them.
    static std::mutex mutex;
    static std::weak_ptr<Cupti> opened;
    std::lock_guard lock(mutex);
    if (auto here = opened.lock())
        return here;
    auto library = openCuptiForGood();
    if (!library)
        return failure(library.error());
    Functions functions{};
    if (!functions.load(**library))
        return failure("library-missing",
                       fmt::format("`{}` lacks functions of CUPTI", (*library)->path()));
    uint32_t version = 0;
    if (functions.cuptiGetVersion(&version) != 0 || version < oldestVersion)
        return failure("library-missing",
                       fmt::format("CUPTI {} is older than that of CUDA 12", version));
    {
        std::lock_guard collecting(collector().mutex);
        collector().call = functions;
    }
    if (functions.cuptiActivityRegisterCallbacks(giveBuffer, takeBuffer) != 0)
        return failure("library-missing", "CUPTI refuses callbacks, perhaps another tool uses it");
    auto out = std::make_shared<LoadedCupti>(std::move(*library), functions);
    opened = out;
    return std::shared_ptr<Cupti>(out);
}

} // namespace fuselage::gpu
