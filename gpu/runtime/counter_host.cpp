// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/counter_host.h"

#include <fmt/format.h>

#include <cmath>

namespace fuselage::gpu {

namespace {

/// Names of one counter: chips of different years have different ones.
struct CounterNames {
    std::optional<int64_t> MeasuredTraffic::*field;
    std::vector<const char*> names;
};

const std::vector<CounterNames>& counters() {
    static const std::vector<CounterNames> table = {
        {&MeasuredTraffic::dramRead, {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}},
        {&MeasuredTraffic::dramWritten, {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}},
        {&MeasuredTraffic::l2, {"lts__t_bytes.sum"}},
    };
    return table;
}

} // namespace

Result<std::unique_ptr<CounterHost>> CounterHost::create(std::shared_ptr<const profiler::Api> api,
                                                         const std::string& chip) {
    std::unique_ptr<CounterHost> out(new CounterHost(std::move(api)));
    out->m_chip = chip;
    if (auto begun = out->initialize(); !begun)
        return failure(begun.error());
    out->chooseMetrics();
    if (out->m_metrics.empty())
        return failure("run.counters", fmt::format("{} counts no bytes of DRAM or L2", chip));
    if (auto made = out->makeConfig(); !made)
        return failure(made.error());
    return out;
}

CounterHost::~CounterHost() {
    if (m_host == nullptr)
        return;
    profiler::HostDeinitialize end;
    end.host = m_host;
    (void)m_api->call(m_api->functions().cuptiProfilerHostDeinitialize, end, "end");
}

Result<void> CounterHost::initialize() {
    profiler::HostInitialize begin;
    begin.chip = m_chip.c_str();
    if (auto made = m_api->call(m_api->functions().cuptiProfilerHostInitialize, begin,
                                "look up the counters of the chip");
        !made)
        return failure(made.error().code, made.error().message, m_chip, made.error().fix);
    m_host = begin.host;
    return {};
}

void CounterHost::chooseMetrics() {
    for (const CounterNames& counter : counters())
        for (const char* name : counter.names) {
            profiler::MetricProperties ask;
            ask.host = m_host;
            ask.metric = name;
            if (!m_api->call(m_api->functions().cuptiProfilerHostGetMetricProperties, ask,
                             "find a metric"))
                continue;
            m_metrics.push_back(name);
            m_fields.push_back(counter.field);
            break;
        }
}

Result<void> CounterHost::makeConfig() {
    const profiler::Functions& f = m_api->functions();
    profiler::AddMetrics add;
    add.host = m_host;
    add.metrics = m_metrics.data();
    add.count = m_metrics.size();
    if (auto added = m_api->call(f.cuptiProfilerHostConfigAddMetrics, add, "schedule the metrics");
        !added)
        return added;
    profiler::ConfigSize size;
    size.host = m_host;
    if (auto sized =
            m_api->call(f.cuptiProfilerHostGetConfigImageSize, size, "size the configuration");
        !sized)
        return sized;
    m_config.resize(size.bytes);
    profiler::ConfigImage image;
    image.host = m_host;
    image.bytes = m_config.size();
    image.image = m_config.data();
    if (auto made = m_api->call(f.cuptiProfilerHostGetConfigImage, image, "make the configuration");
        !made)
        return made;
    profiler::Passes passes;
    passes.bytes = m_config.size();
    passes.config = m_config.data();
    if (auto counted = m_api->call(f.cuptiProfilerHostGetNumOfPasses, passes, "count the passes");
        !counted)
        return counted;
    m_passes = passes.passes;
    return {};
}

Result<std::optional<MeasuredTraffic>> CounterHost::evaluate(std::span<const uint8_t> image,
                                                             size_t range) {
    std::vector<double> values(m_metrics.size(), std::nan(""));
    profiler::Evaluate ask;
    ask.host = m_host;
    ask.counters = image.data();
    ask.counterBytes = image.size();
    ask.range = range;
    ask.metrics = m_metrics.data();
    ask.count = m_metrics.size();
    ask.values = values.data();
    if (auto told = m_api->call(m_api->functions().cuptiProfilerHostEvaluateToGpuValues, ask,
                                "evaluate the counters");
        !told)
        return failure(told.error());
    MeasuredTraffic out;
    bool any = false;
    constexpr double most = 9e18; // what the integer holds
    for (size_t i = 0; i < values.size(); ++i)
        if (std::isfinite(values[i]) && values[i] >= 0 && values[i] < most) {
            out.*m_fields[i] = std::llround(values[i]);
            any |= values[i] > 0;
        }
    return any ? std::optional(out) : std::nullopt;
}

} // namespace fuselage::gpu
