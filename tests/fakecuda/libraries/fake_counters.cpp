// SPDX-License-Identifier: Apache-2.0
// A stand-in for CUPTI's range profiler and its host interface: sizes of structs, the order of
// calls, passes and images are held to the documentation. The n-th kernel of a pass reads n
// thousand bytes of DRAM, writes n hundred and asks L2 for n million; ranges come back in reverse
// order. FAKECUPTI_CHIP names the chip, FAKECUPTI_PASSES says in how many passes metrics are
// counted, FAKECUPTI_UNSUPPORTED which field of the device's support is not supported,
// FAKECUPTI_RANGES_DROPPED how many ranges are lost, FAKECUPTI_ZEROS that nothing is counted.
#include "gpu/runtime/range_profiler_api.h"
#include "tests/fakecuda/fake_state.h"
#include "tests/fakecuda/libraries/fake_cupti.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace fakecuda;
namespace api = fuselage::gpu::profiler;

namespace {

enum CuptiCode : int {
    InvalidParameter = 1,
    InvalidOperation = 7,
    NotCompatible = 14,
    NotInitialised = 15,
    InvalidMetric = 17,
    InvalidChip = 46,
};

constexpr uint32_t configMagic = 0xc0f16, counterMagic = 0xc0047;
constexpr size_t mostRanges = 2000, mostMetrics = 3, nameLength = 24;

struct Metric {
    const char* name;
    double perKernel; ///< times the number of the kernel in its pass
    const char* chips;
};

constexpr Metric metrics[] = {
    {"dram__bytes_read.sum", 1e3, "GH100 GA100"},
    {"dram__bytes_write.sum", 1e2, "GH100 GA100"},
    {"dram__bytes_op_read.sum", 1e3, "GB202"},
    {"dram__bytes_op_write.sum", 1e2, "GB202"},
    {"lts__t_bytes.sum", 1e6, "GH100 GA100 GB202 GB10B"},
};

struct ConfigHeader {
    uint32_t magic = configMagic, count = 0, passes = 1;
    uint32_t ids[mostMetrics] = {};
};

struct CounterHeader {
    uint32_t magic = counterMagic, used = 0, most = 0;
    bool decoded = false;
    ConfigHeader config;
};

struct RangeEntry {
    char name[nameLength] = {};
    double values[mostMetrics] = {};
    bool counted[mostMetrics] = {};
};

struct Host {
    std::string chip;
    ConfigHeader config;
    bool scheduled = false;
};

struct Open {
    bool configured = false, started = false, finished = false, inRange = false;
    ConfigHeader config;
    api::SetConfig set;
    uint32_t pass = 0;
    double kernels = 0;             ///< of this pass
    size_t next = 0;                ///< range of this pass
    std::vector<RangeEntry> ranges; ///< by their order
};

bool& initialised() {
    static bool done = false;
    return done;
}

std::unique_ptr<Open>& profiler() {
    static std::unique_ptr<Open> one;
    return one;
}

bool knows(const std::string& chip, const Metric& metric) {
    return (" " + std::string(metric.chips) + " ").find(" " + chip + " ") != std::string::npos;
}

int idOf(const std::string& chip, const char* name) {
    for (size_t i = 0; i < std::size(metrics); ++i)
        if (name != nullptr && std::strcmp(metrics[i].name, name) == 0 && knows(chip, metrics[i]))
            return static_cast<int>(i);
    return -1;
}

const char* text(const char* name, const char* fallback) {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0' ? fallback : value;
}

template <typename T> bool holds(const uint8_t* image, size_t bytes, uint32_t magic, T& out) {
    if (image == nullptr || bytes < sizeof(T))
        return false;
    std::memcpy(&out, image, sizeof out);
    return out.magic == magic;
}

size_t counterBytes(size_t ranges) {
    return sizeof(CounterHeader) + ranges * sizeof(RangeEntry);
}

/// The image and where its ranges lie.
bool readCounters(const uint8_t* image, size_t bytes, CounterHeader& header) {
    return holds(image, bytes, counterMagic, header) && bytes >= counterBytes(header.most);
}

RangeEntry entryOf(const uint8_t* image, size_t index) {
    RangeEntry out;
    std::memcpy(&out, image + sizeof(CounterHeader) + index * sizeof(RangeEntry), sizeof out);
    return out;
}

template <typename Parameters> bool sized(const Parameters* p) {
    return p != nullptr && p->size == Parameters::exact() && p->reserved == nullptr;
}

template <typename Parameters> bool ofOpen(const Parameters* p) {
    return sized(p) && profiler() && reinterpret_cast<Open*>(p->profiler) == profiler().get();
}

} // namespace

namespace fakecuda {

bool countsRanges() {
    return profiler() != nullptr;
}

void countKernel() {
    if (!profiler() || !profiler()->started)
        return;
    Open& open = *profiler();
    open.kernels += 1;
    if (!open.inRange || setting("FAKECUPTI_ZEROS", 0) != 0)
        return;
    RangeEntry& range = open.ranges[open.next];
    for (uint32_t m = 0; m < open.config.count; ++m)
        if (m % open.config.passes == open.pass)
            range.values[m] += open.kernels * metrics[open.config.ids[m]].perKernel;
}

} // namespace fakecuda

extern "C" {

int cuptiProfilerInitialize(api::Initialize* p) {
    FAKE_CALL("cuptiProfilerInitialize", Start);
    if (!sized(p))
        return InvalidParameter;
    initialised() = true;
    return Success;
}

int cuptiProfilerDeviceSupported(api::DeviceSupported* p) {
    FAKE_CALL("cuptiProfilerDeviceSupported", Start);
    if (!initialised())
        return NotInitialised;
    if (!sized(p) || p->api != api::CUPTI_PROFILER_RANGE_PROFILING)
        return InvalidParameter;
    api::Support* const fields[] = {&p->architecture, &p->sli,    &p->vGpu,
                                    &p->confidential, &p->mining, &p->wsl};
    const int refused = setting("FAKECUPTI_UNSUPPORTED", -1);
    for (size_t i = 0; i < std::size(fields); ++i)
        *fields[i] = static_cast<int>(i) == refused
                         ? api::Support::CUPTI_PROFILER_CONFIGURATION_DISABLED
                         : api::Support::CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    p->all = refused >= 0 ? api::Support::CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
                          : api::Support::CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return Success;
}

int cuptiDeviceGetChipName(api::ChipName* p) {
    FAKE_CALL("cuptiDeviceGetChipName", Start);
    if (!sized(p) || p->device != 0)
        return InvalidParameter;
    p->name = text("FAKECUPTI_CHIP", "GH100");
    return Success;
}

int cuptiProfilerHostInitialize(api::HostInitialize* p) {
    FAKE_CALL("cuptiProfilerHostInitialize", Nothing);
    if (!sized(p) || p->type != api::CUPTI_PROFILER_TYPE_RANGE_PROFILER || p->chip == nullptr)
        return InvalidParameter;
    const std::string chip = p->chip;
    if (std::none_of(std::begin(metrics), std::end(metrics),
                     [&](const Metric& metric) { return knows(chip, metric); }) &&
        chip != "GV11B")
        return InvalidChip;
    p->host = reinterpret_cast<api::HostHandle>(new Host{chip, {}, false});
    return Success;
}

int cuptiProfilerHostDeinitialize(api::HostDeinitialize* p) {
    FAKE_CALL("cuptiProfilerHostDeinitialize", Nothing);
    if (!sized(p) || p->host == nullptr)
        return InvalidParameter;
    delete reinterpret_cast<Host*>(p->host);
    return Success;
}

int cuptiProfilerHostGetMetricProperties(api::MetricProperties* p) {
    FAKE_CALL("cuptiProfilerHostGetMetricProperties", Nothing);
    if (!sized(p) || p->host == nullptr)
        return InvalidParameter;
    return idOf(reinterpret_cast<Host*>(p->host)->chip, p->metric) < 0 ? int{InvalidMetric}
                                                                       : int{Success};
}

int cuptiProfilerHostConfigAddMetrics(api::AddMetrics* p) {
    FAKE_CALL("cuptiProfilerHostConfigAddMetrics", Nothing);
    if (!sized(p) || p->host == nullptr || p->count == 0 || p->count > mostMetrics)
        return InvalidParameter;
    Host& host = *reinterpret_cast<Host*>(p->host);
    for (size_t i = 0; i < p->count; ++i) {
        const int id = idOf(host.chip, p->metrics[i]);
        if (id < 0)
            return InvalidParameter; // as the real one does
        host.config.ids[i] = static_cast<uint32_t>(id);
    }
    host.config.count = static_cast<uint32_t>(p->count);
    host.config.passes = static_cast<uint32_t>(setting("FAKECUPTI_PASSES", 1));
    host.scheduled = true;
    return Success;
}

int cuptiProfilerHostGetConfigImageSize(api::ConfigSize* p) {
    FAKE_CALL("cuptiProfilerHostGetConfigImageSize", Nothing);
    if (!sized(p) || p->host == nullptr)
        return InvalidParameter;
    p->bytes = sizeof(ConfigHeader);
    return reinterpret_cast<Host*>(p->host)->scheduled ? int{Success} : 999;
}

int cuptiProfilerHostGetConfigImage(api::ConfigImage* p) {
    FAKE_CALL("cuptiProfilerHostGetConfigImage", Nothing);
    if (!sized(p) || p->host == nullptr || p->image == nullptr || p->bytes < sizeof(ConfigHeader))
        return InvalidParameter;
    std::memcpy(p->image, &reinterpret_cast<Host*>(p->host)->config, sizeof(ConfigHeader));
    return Success;
}

int cuptiProfilerHostGetNumOfPasses(api::Passes* p) {
    FAKE_CALL("cuptiProfilerHostGetNumOfPasses", Nothing);
    ConfigHeader config;
    if (!sized(p) || !holds(p->config, p->bytes, configMagic, config))
        return InvalidParameter;
    p->passes = config.passes;
    return Success;
}

int cuptiProfilerHostEvaluateToGpuValues(api::Evaluate* p) {
    FAKE_CALL("cuptiProfilerHostEvaluateToGpuValues", Nothing);
    CounterHeader header;
    if (!sized(p) || p->host == nullptr || p->values == nullptr ||
        !readCounters(p->counters, p->counterBytes, header) || !header.decoded ||
        p->range >= header.used)
        return InvalidParameter;
    const RangeEntry range = entryOf(p->counters, p->range);
    for (size_t i = 0; i < p->count; ++i) {
        p->values[i] = std::nan("");
        const int id = idOf(reinterpret_cast<Host*>(p->host)->chip, p->metrics[i]);
        for (uint32_t m = 0; m < header.config.count; ++m)
            if (static_cast<int>(header.config.ids[m]) == id && range.counted[m])
                p->values[i] = range.values[m];
    }
    return Success;
}

int cuptiRangeProfilerEnable(api::Enable* p) {
    FAKE_CALL("cuptiRangeProfilerEnable", Context);
    if (!initialised())
        return NotInitialised;
    if (!sized(p) || p->context == nullptr)
        return InvalidParameter;
    if (profiler() || recordsKernels())
        return NotCompatible;
    profiler() = std::make_unique<Open>();
    observeKernels();
    p->profiler = reinterpret_cast<api::RangeHandle>(profiler().get());
    return Success;
}

int cuptiRangeProfilerDisable(api::OfProfiler* p) {
    FAKE_CALL("cuptiRangeProfilerDisable", Context);
    if (!ofOpen(p))
        return InvalidParameter;
    profiler().reset();
    return Success;
}

int cuptiRangeProfilerGetCounterDataSize(api::CounterSize* p) {
    FAKE_CALL("cuptiRangeProfilerGetCounterDataSize", Context);
    if (!ofOpen(p) || p->count == 0 || p->nodes < p->ranges)
        return InvalidParameter;
    p->bytes = counterBytes(p->ranges);
    return Success;
}

int cuptiRangeProfilerCounterDataImageInitialize(api::CounterInitialize* p) {
    FAKE_CALL("cuptiRangeProfilerCounterDataImageInitialize", Context);
    if (!ofOpen(p) || p->counters == nullptr || p->bytes < sizeof(CounterHeader))
        return InvalidParameter;
    CounterHeader header;
    header.most = static_cast<uint32_t>((p->bytes - sizeof header) / sizeof(RangeEntry));
    std::memcpy(p->counters, &header, sizeof header);
    return Success;
}

int cuptiRangeProfilerSetConfig(api::SetConfig* p) {
    FAKE_CALL("cuptiRangeProfilerSetConfig", Context);
    ConfigHeader config;
    CounterHeader counters;
    if (!ofOpen(p) || !holds(p->config, p->configBytes, configMagic, config) ||
        !readCounters(p->counters, p->counterBytes, counters))
        return InvalidParameter;
    // Kernels of a range of the caller's cannot be replayed one by one.
    if (p->range != api::CUPTI_UserRange || p->replay != api::CUPTI_UserReplay ||
        p->rangesPerPass == 0 || p->rangesPerPass > mostRanges ||
        p->rangesPerPass > counters.most || p->levels != 1 || p->firstLevel != 1 || p->pass != 0 ||
        profiler()->started)
        return InvalidOperation;
    Open fresh;
    fresh.configured = true;
    fresh.config = config;
    fresh.set = *p;
    fresh.ranges.resize(p->rangesPerPass);
    *profiler() = std::move(fresh);
    return Success;
}

int cuptiRangeProfilerStart(api::OfProfiler* p) {
    FAKE_CALL("cuptiRangeProfilerStart", Context);
    if (!ofOpen(p))
        return InvalidParameter;
    Open& open = *profiler();
    if (!open.configured || open.started || open.finished)
        return InvalidOperation;
    open.started = true;
    open.next = 0;
    open.kernels = 0;
    return Success;
}

int cuptiRangeProfilerPushRange(api::PushRange* p) {
    FAKE_CALL("cuptiRangeProfilerPushRange", Context);
    if (!ofOpen(p) || p->name == nullptr || std::strlen(p->name) >= nameLength)
        return InvalidParameter;
    Open& open = *profiler();
    if (!open.started || open.inRange || open.next >= open.ranges.size())
        return InvalidOperation;
    open.inRange = true;
    std::strcpy(open.ranges[open.next].name, p->name);
    for (uint32_t m = 0; m < open.config.count; ++m)
        open.ranges[open.next].counted[m] |= m % open.config.passes == open.pass;
    return Success;
}

int cuptiRangeProfilerPopRange(api::OfProfiler* p) {
    FAKE_CALL("cuptiRangeProfilerPopRange", Context);
    if (!ofOpen(p))
        return InvalidParameter;
    Open& open = *profiler();
    if (!open.inRange)
        return InvalidOperation;
    open.inRange = false;
    ++open.next;
    return Success;
}

int cuptiRangeProfilerStop(api::Stop* p) {
    FAKE_CALL("cuptiRangeProfilerStop", Context);
    if (!ofOpen(p))
        return InvalidParameter;
    Open& open = *profiler();
    if (!open.started || open.inRange)
        return InvalidOperation;
    open.started = false;
    open.finished = ++open.pass >= open.config.passes;
    p->pass = open.pass;
    p->allSubmitted = open.finished ? 1 : 0;
    return Success;
}

int cuptiRangeProfilerDecodeData(api::Decode* p) {
    FAKE_CALL("cuptiRangeProfilerDecodeData", Context);
    if (!ofOpen(p))
        return InvalidParameter;
    Open& open = *profiler();
    if (!open.finished)
        return InvalidOperation;
    p->dropped = static_cast<size_t>(setting("FAKECUPTI_RANGES_DROPPED", 0));
    CounterHeader header;
    std::memcpy(&header, open.set.counters, sizeof header);
    header.used = static_cast<uint32_t>(open.next - std::min(open.next, p->dropped));
    header.decoded = true;
    header.config = open.config;
    std::memcpy(open.set.counters, &header, sizeof header);
    for (uint32_t i = 0; i < header.used; ++i)
        std::memcpy(open.set.counters + sizeof header + i * sizeof(RangeEntry),
                    &open.ranges[header.used - 1 - i], sizeof(RangeEntry));
    return Success;
}

int cuptiRangeProfilerGetCounterDataInfo(api::CounterInfo* p) {
    FAKE_CALL("cuptiRangeProfilerGetCounterDataInfo", Nothing);
    CounterHeader header;
    if (!sized(p) || !readCounters(p->counters, p->bytes, header))
        return InvalidParameter;
    p->ranges = header.used;
    return Success;
}

int cuptiRangeProfilerCounterDataGetRangeInfo(api::RangeInfo* p) {
    FAKE_CALL("cuptiRangeProfilerCounterDataGetRangeInfo", Nothing);
    CounterHeader header;
    if (!sized(p) || p->delimiter == nullptr || !readCounters(p->counters, p->bytes, header) ||
        p->range >= header.used)
        return InvalidParameter;
    p->name =
        reinterpret_cast<const char*>(p->counters + sizeof header + p->range * sizeof(RangeEntry));
    return Success;
}
}
