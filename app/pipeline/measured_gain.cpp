// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/measured_gain.h"

#include "app/pipeline/inputs.h"
#include "app/pipeline/measure.h"
#include "core/cpu/choice_file.h"
#include "core/plan/make_plan.h"
#include "core/support/hash.h"
#include "core/support/processor.h"

#include <cmath>

namespace fuselage::app {

namespace {

constexpr double secondsEach = 0.05;
constexpr uint64_t inputSeed = 1;
constexpr const char *apart = "apart", *fused = "fused", *error = "error";

class MatchTimer {
public:
    MatchTimer(const MeasureGainOptions& options, const DeviceProfile& profile,
               std::unique_ptr<Backend> backend)
        : m_file(options.file), m_profile(profile), m_backend(std::move(backend)),
          m_machine(cpu::Choices::plain(cpuInfo("model name") + ", " + m_backend->description())) {}

    Result<void> load() {
        if (m_file.empty())
            return {};
        auto damaged = cpu::loadChoices(m_file, m_machine, m_known);
        if (!damaged)
            return failure(damaged.error());
        return {};
    }

    std::optional<MeasuredGain> measured(const std::string& key, const GainSides& sides) {
        const std::string line = "match " + Hasher().text(key).hex();
        if (const cpu::MeasuredWays* ways = m_known.find(line))
            return gainIn(*ways);
        auto times = timesOf(sides);
        if (!times)
            return std::nullopt;
        m_known.add(line, *times);
        if (!m_file.empty()) // what cannot be kept was measured all the same
            (void)cpu::saveChoices(m_file, m_machine, m_known);
        return gainIn(*times);
    }

private:
    static std::optional<MeasuredGain> gainIn(const cpu::MeasuredWays& ways) {
        auto before = ways.find(apart), after = ways.find(fused), spread = ways.find(error);
        if (before == ways.end() || after == ways.end() || spread == ways.end())
            return std::nullopt;
        return MeasuredGain{before->second - after->second, spread->second};
    }

    Result<std::unique_ptr<Executable>> executableOf(std::shared_ptr<const Graph> graph) {
        PlanOptions options;
        options.profile = &m_profile;
        options.backend = m_backend.get();
        Progress quiet;
        auto plan = makePlan(std::move(graph), options, quiet);
        if (!plan)
            return failure(plan.error());
        return m_backend->prepare(*plan, quiet);
    }

    Result<cpu::MeasuredWays> timesOf(const GainSides& sides) {
        auto inputs = generateInputs(*sides.before, inputSeed);
        if (!inputs)
            return failure(inputs.error());
        auto before = executableOf(sides.before);
        if (!before)
            return failure(before.error());
        auto after = executableOf(sides.after);
        if (!after)
            return failure(after.error());
        Progress quiet;
        auto times = measure(**before, **after, *inputs, {.seconds = secondsEach}, quiet);
        if (!times)
            return failure(times.error());
        const TimingSummary one = summarise(times->before.totals);
        const TimingSummary other = summarise(times->after.totals);
        // Half of what lies between the quick and the slow runs, over the root of their number.
        const double runs = std::sqrt(static_cast<double>(times->before.totals.size()));
        const double spread = std::max(one.p90 - one.p10, other.p90 - other.p10) / 2 / runs;
        return cpu::MeasuredWays{{apart, one.median}, {fused, other.median}, {error, spread}};
    }

    std::string m_file;
    DeviceProfile m_profile;
    std::unique_ptr<Backend> m_backend;
    std::string m_machine;
    cpu::Choices m_known;
};

} // namespace

Result<GainMeasurer> gainMeasurer(const MeasureGainOptions& options, const DeviceProfile& profile) {
    CompileOptions compile;
    compile.backend = options.backend;
    compile.threads = options.threads;
    auto backend = makeBackend(compile);
    if (!backend)
        return failure(backend.error());
    auto timer = std::make_shared<MatchTimer>(options, profile, std::move(*backend));
    if (auto loaded = timer->load(); !loaded)
        return failure(loaded.error());
    return GainMeasurer([timer](const std::string& key, const GainSides& sides) {
        return timer->measured(key, sides);
    });
}

} // namespace fuselage::app
