// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/range_counters.h"

#include "gpu/runtime/cupti.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fuselage::gpu {

namespace {

/// CUPTI refuses a configuration for some 2000 ranges and more; longer plans take several turns.
constexpr size_t rangesOfTurn = 1000;

/// Ends a loop that CUPTI never declares done.
constexpr size_t passesAtMost = 64;

Result<void> checkSupport(const profiler::Api& api, int device) {
    profiler::DeviceSupported ask;
    ask.device = device;
    if (auto told = api.call(api.functions().cuptiProfilerDeviceSupported, ask,
                             "ask what the device supports");
        !told)
        return told;
    using profiler::Support;
    if (ask.all == Support::CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
        return {};
    struct Row {
        Support level;
        const char *words, *fix;
    };
    const Row rows[] = {
        {ask.architecture, "devices older than compute capability 7.5 have no such counters",
         "use a newer device"},
        {ask.sli, "devices joined by SLI have no counters", "disable SLI"},
        {ask.vGpu, "this virtual GPU has no counters, or its host does not permit them",
         "have profiling enabled for this virtual GPU by who runs the host"},
        {ask.confidential, "confidential computing hides the counters",
         "measure with confidential computing off"},
        {ask.mining, "mining processors have no counters", "use another device"},
        {ask.wsl, "this Windows or its driver gives WSL no counters", "measure under Linux"},
    };
    for (const Row& row : rows)
        if (row.level != Support::CUPTI_PROFILER_CONFIGURATION_SUPPORTED &&
            row.level != Support::Unknown)
            return failure("run.counters", row.words, {}, row.fix);
    return failure("run.counters", "CUPTI says that this device cannot be profiled");
}

Result<std::string> chipName(const profiler::Api& api, int device) {
    profiler::ChipName ask;
    ask.device = static_cast<size_t>(device);
    if (auto told = api.call(api.functions().cuptiDeviceGetChipName, ask, "name the chip"); !told)
        return failure(told.error());
    return std::string(ask.name == nullptr ? "" : ask.name);
}

std::optional<size_t> numberOf(const char* name) {
    const std::string_view text = name == nullptr ? "" : name;
    size_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole ? std::optional(out) : std::nullopt;
}

} // namespace

struct RangeCounters::Turn {
    const profiler::Api& api;
    profiler::RangeHandle profiler = nullptr;
    std::vector<uint8_t> image{};

    explicit Turn(const profiler::Api& of) : api(of) {}

    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    ~Turn() {
        if (profiler == nullptr)
            return;
        profiler::OfProfiler end;
        end.profiler = profiler;
        (void)api.call(api.functions().cuptiRangeProfilerDisable, end, "end");
    }

    Result<void> enable(ContextHandle context) {
        profiler::Enable begin;
        begin.context = context;
        auto enabled =
            api.call(api.functions().cuptiRangeProfilerEnable, begin, "read the device's counters");
        if (enabled)
            profiler = begin.profiler;
        return enabled;
    }

    Result<void> configure(CounterHost& host, size_t ranges);
    Result<bool> pass(const RangeMarks& marks,
                      const std::function<Result<void>(const RangeMarks&)>& replay);
    Result<void> decode();
};

Result<void> RangeCounters::Turn::configure(CounterHost& host, size_t ranges) {
    const profiler::Functions& f = api.functions();
    profiler::CounterSize size;
    size.profiler = profiler;
    size.metrics = host.metrics().data();
    size.count = host.metrics().size();
    size.ranges = ranges;
    size.nodes = static_cast<uint32_t>(ranges);
    if (auto sized =
            api.call(f.cuptiRangeProfilerGetCounterDataSize, size, "size the counters' memory");
        !sized)
        return sized;
    image.assign(size.bytes, 0);
    profiler::CounterInitialize blank;
    blank.profiler = profiler;
    blank.bytes = image.size();
    blank.counters = image.data();
    if (auto made = api.call(f.cuptiRangeProfilerCounterDataImageInitialize, blank,
                             "prepare the counters' memory");
        !made)
        return made;
    profiler::SetConfig set;
    set.profiler = profiler;
    set.configBytes = host.config().size();
    set.config = host.config().data();
    set.counterBytes = image.size();
    set.counters = image.data();
    set.rangesPerPass = ranges;
    return api.call(f.cuptiRangeProfilerSetConfig, set, "configure the counters");
}

/// True: that was the last.
Result<bool>
RangeCounters::Turn::pass(const RangeMarks& marks,
                          const std::function<Result<void>(const RangeMarks&)>& replay) {
    profiler::OfProfiler start;
    start.profiler = profiler;
    if (auto begun = api.call(api.functions().cuptiRangeProfilerStart, start, "start the counters");
        !begun)
        return failure(begun.error());
    auto ran = replay(marks);
    profiler::Stop stop;
    stop.profiler = profiler;
    auto stopped = api.call(api.functions().cuptiRangeProfilerStop, stop, "stop the counters");
    if (!ran || !stopped)
        return failure(!ran ? ran.error() : stopped.error());
    return stop.allSubmitted != 0;
}

Result<void> RangeCounters::Turn::decode() {
    profiler::Decode ask;
    ask.profiler = profiler;
    if (auto decoded =
            api.call(api.functions().cuptiRangeProfilerDecodeData, ask, "decode the counters");
        !decoded)
        return decoded;
    if (ask.dropped > 0)
        return failure("run.counters", fmt::format("CUPTI dropped {} ranges", ask.dropped));
    return {};
}

Result<void> RangeMarks::begin(size_t range) const {
    if (!holds(range))
        return {};
    const std::string name = std::to_string(range);
    profiler::PushRange push;
    push.profiler = m_profiler;
    push.name = name.c_str();
    return m_api.call(m_api.functions().cuptiRangeProfilerPushRange, push, "begin a range");
}

Result<void> RangeMarks::end(size_t range) const {
    if (!holds(range))
        return {};
    profiler::OfProfiler pop;
    pop.profiler = m_profiler;
    return m_api.call(m_api.functions().cuptiRangeProfilerPopRange, pop, "end a range");
}

Result<std::unique_ptr<RangeCounters>> RangeCounters::open(const Device& device) {
    auto api = profiler::Api::open();
    if (!api)
        return failure(api.error());
    std::unique_ptr<RangeCounters> out(new RangeCounters(std::move(*api), device.context()));
    out->m_alone = cuptiForOneUse();
    const profiler::Api& call = *out->m_api;
    // Never undone: CUPTI's hooks cannot be had a second time in one process for sure.
    profiler::Initialize begin;
    if (auto begun =
            call.call(call.functions().cuptiProfilerInitialize, begin, "start its profiler");
        !begun)
        return failure(begun.error());
    if (auto fine = checkSupport(call, out->m_context->ordinal); !fine)
        return failure(fine.error());
    auto chip = chipName(call, out->m_context->ordinal);
    if (!chip)
        return failure(chip.error());
    auto host = CounterHost::create(out->m_api, *chip);
    if (!host)
        return failure(host.error());
    out->m_host = std::move(*host);
    Turn permitted(call);
    if (auto enabled = permitted.enable(out->m_context->handle); !enabled)
        return failure(enabled.error());
    return out;
}

std::string RangeCounters::description() const {
    return fmt::format("CUPTI {} on {}, {} pass{}", m_api->version(), m_host->chip(),
                       m_host->passes(), m_host->passes() == 1 ? "" : "es");
}

Result<std::vector<std::optional<MeasuredTraffic>>>
RangeCounters::count(size_t ranges, const std::function<Result<void>(const RangeMarks&)>& replay) {
    std::vector<std::optional<MeasuredTraffic>> out(ranges);
    for (size_t first = 0; first < ranges; first += rangesOfTurn)
        if (auto counted = countTurn(first, std::min(rangesOfTurn, ranges - first), replay, out);
            !counted)
            return failure(counted.error());
    return out;
}

Result<void> RangeCounters::countTurn(size_t first, size_t ranges,
                                      const std::function<Result<void>(const RangeMarks&)>& replay,
                                      std::vector<std::optional<MeasuredTraffic>>& out) {
    Turn turn(*m_api);
    if (auto enabled = turn.enable(m_context->handle); !enabled)
        return enabled;
    if (auto configured = turn.configure(*m_host, ranges); !configured)
        return configured;
    const RangeMarks marks(*m_api, turn.profiler, first, ranges);
    for (size_t pass = 0;; ++pass) {
        if (pass == passesAtMost)
            return failure("run.counters",
                           fmt::format("CUPTI asks for more than {} passes", passesAtMost));
        auto last = turn.pass(marks, replay);
        if (!last)
            return failure(last.error());
        if (*last)
            break;
    }
    if (auto decoded = turn.decode(); !decoded)
        return decoded;
    return read(turn, out);
}

Result<void> RangeCounters::read(const Turn& turn,
                                 std::vector<std::optional<MeasuredTraffic>>& out) {
    const profiler::Functions& f = m_api->functions();
    profiler::CounterInfo all;
    all.counters = turn.image.data();
    all.bytes = turn.image.size();
    if (auto told = m_api->call(f.cuptiRangeProfilerGetCounterDataInfo, all, "count the ranges");
        !told)
        return told;
    for (size_t i = 0; i < all.ranges; ++i) {
        profiler::RangeInfo ask;
        ask.counters = turn.image.data();
        ask.bytes = turn.image.size();
        ask.range = i;
        if (auto named =
                m_api->call(f.cuptiRangeProfilerCounterDataGetRangeInfo, ask, "name a range");
            !named)
            return named;
        const auto range = numberOf(ask.name);
        if (!range || *range >= out.size())
            return failure("run.counters", "CUPTI tells of a range that was not begun");
        auto traffic = m_host->evaluate(turn.image, i);
        if (!traffic)
            return failure(traffic.error());
        out[*range] = *traffic;
    }
    return {};
}

} // namespace fuselage::gpu
