// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/measured_gain.h"

#include "app/pipeline/inputs.h"
#include "app/pipeline/measure.h"
#include "app/pipeline/planned.h"
#include "app/pipeline/stopwatch.h"
#include "core/cpu/choice_file.h"
#include "core/plan/statistics.h"
#include "core/support/hash.h"
#include "core/support/processor.h"

#include <fmt/format.h>

#include <cmath>

namespace fuselage::app {

namespace {

constexpr double leastSeconds = 0.05;
constexpr size_t leastRounds = 7;
constexpr uint64_t inputSeed = 1;
constexpr const char *apart = "apart", *fused = "fused", *error = "error";

class MatchTimer {
public:
    MatchTimer(const MeasureGainOptions& options, const MatchPlanning& planning,
               const DeviceProfile& profile, std::unique_ptr<Backend> backend, Progress& progress)
        : m_file(options.file), m_planning(planning), m_profile(profile),
          m_backend(std::move(backend)), m_progress(progress),
          m_machine(cpu::Choices::plain(cpuInfo("model name") + ", " + m_backend->description())),
          m_profileText(text(profile)) {}

    Result<void> load() {
        if (m_file.empty())
            return {};
        auto damaged = cpu::loadChoices(m_file, m_machine, m_known);
        if (!damaged)
            return failure(damaged.error());
        return {};
    }

    std::optional<MeasuredGain> measured(const std::string& key, const GainSides& sides) {
        const std::string line = "match " + Hasher().text(key + plannedFor(sides)).hex();
        if (const cpu::MeasuredWays* ways = m_known.find(line))
            return gainIn(*ways);
        auto times = timesOf(sides);
        if (!times)
            return std::nullopt;
        const std::optional<MeasuredGain> gain = gainIn(*times);
        if (std::abs(gain->seconds) <=
            gain->error) // no verdict to keep: another moment may have one
            return gain;
        m_known.add(line, *times);
        if (!m_file.empty()) // what cannot be kept was measured all the same
            (void)cpu::saveChoices(m_file, m_machine, m_known);
        return gain;
    }

private:
    /// What the kernels of both forms depend on besides their nodes: equal texts, equal kernels.
    std::string plannedFor(const GainSides& sides) const {
        std::string out = nameOf(m_planning.precision);
        out += m_planning.strict ? " strict " : " ";
        if (sides.after)
            for (NodeId node : sides.after->nodes()) {
                const Node& fused = sides.after->node(node);
                const auto allowed = m_planning.allowed.find(fused.provenance.rule);
                if (fused.op == Op::Fused && allowed != m_planning.allowed.end())
                    out += std::string(nameOf(allowed->second)) + " ";
            }
        return out + m_profileText;
    }

    static std::optional<MeasuredGain> gainIn(const cpu::MeasuredWays& ways) {
        auto before = ways.find(apart), after = ways.find(fused), spread = ways.find(error);
        if (before == ways.end() || after == ways.end() || spread == ways.end())
            return std::nullopt;
        return MeasuredGain{before->second - after->second, spread->second};
    }

    /// As the fused model is planned, whether it has this match or not.
    Result<std::unique_ptr<Executable>> executableOf(std::shared_ptr<const Graph> graph) {
        auto side = planSide(std::move(graph), Form::Fused,
                             {&m_profile, m_backend.get(), m_planning.precision, m_planning.strict,
                              m_planning.allowed, nullptr},
                             m_progress);
        if (!side)
            return failure(side.error());
        return m_backend->prepare(side->plan, m_progress);
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
        // In turns, so that a busy moment meets both.
        std::vector<double> one, other;
        const Stopwatch whole;
        for (size_t round = 0; round <= leastRounds || whole.seconds() < leastSeconds; ++round) {
            if (m_progress.cancelled())
                return cancelledFailure("measuring");
            auto first = timeRun(**before, *inputs, m_progress);
            auto second = timeRun(**after, *inputs, m_progress);
            if (!first || !second)
                return failure((first ? second : first).error());
            if (round == 0) // the first runs meet cold memory
                continue;
            one.push_back(first->seconds);
            other.push_back(second->seconds);
        }
        // The quicker half is what neighbours on the machine disturb least.
        const double runs = std::sqrt(static_cast<double>(one.size()));
        const double spread = std::max(quantileOf(one, 0.5) - quantileOf(one, 0.1),
                                       quantileOf(other, 0.5) - quantileOf(other, 0.1)) *
                              2 / runs;
        return cpu::MeasuredWays{
            {apart, quantileOf(one, 0.25)}, {fused, quantileOf(other, 0.25)}, {error, spread}};
    }

    std::string m_file;
    MatchPlanning m_planning;
    DeviceProfile m_profile;
    std::unique_ptr<Backend> m_backend;
    Progress& m_progress;
    std::string m_machine;
    std::string m_profileText; ///< by its prices the planner chooses
    cpu::Choices m_known;
};

/// What is timed here says nothing of a device of another kind.
Result<void> requireHere(const Backend& backend, const DeviceProfile& profile) {
    Result<DeviceProfile> here =
        backend.profile() ? Result<DeviceProfile>(*backend.profile()) : deviceProfile("cpu");
    if (!here)
        return failure(here.error());
    if (here->kind == profile.kind && here->arch == profile.arch)
        return {};
    return failure("usage.decide",
                   fmt::format("`measure` times matches on what is here ({}, {}), and it is to be "
                               "decided for {} ({})",
                               backend.name(), here->arch, profile.name, profile.arch),
                   "--decide", "decide for another device with --decide cost");
}

} // namespace

Result<GainMeasurer> gainMeasurer(const MeasureGainOptions& options, const MatchPlanning& planning,
                                  const DeviceProfile& profile, Progress& progress) {
    CompileOptions compile;
    compile.strict = planning.strict;
    compile.backend = options.backend;
    compile.threads = options.threads;
    auto backend = makeBackend(compile);
    if (!backend)
        return failure(backend.error());
    if (auto here = requireHere(**backend, profile); !here)
        return failure(here.error());
    auto timer =
        std::make_shared<MatchTimer>(options, planning, profile, std::move(*backend), progress);
    if (auto loaded = timer->load(); !loaded)
        return failure(loaded.error());
    return GainMeasurer([timer](const std::string& key, const GainSides& sides) {
        return timer->measured(key, sides);
    });
}

} // namespace fuselage::app
