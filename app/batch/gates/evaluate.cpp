// SPDX-License-Identifier: Apache-2.0
#include "app/batch/gates/evaluate.h"

#include "app/report/format.h"
#include "app/report/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fuselage::batch {

namespace {

using app::GateRow;
using app::ModelRun;
using app::Report;
using Verdict = GateRow::Verdict;

/// `more` is what the number grew by, or fell by where the limit is on that.
bool within(double base, double more, const std::optional<Limit>& limit, double leastThatCounts) {
    if (!limit)
        return true;
    // 29 % of 100 is 28.999999999999996 in doubles; counts below 10^13 stay exact.
    constexpr double rounding = 1e-14;
    const double allowed = (limit->relative ? base * limit->value : limit->value) * (1 + rounding);
    return more <= std::max(allowed, leastThatCounts);
}

/// Limits of a measured gate: the relative one is never below the noise of the machine.
struct TimeLimits {
    double relative = 0, absolute = 0;
};

TimeLimits timeLimits(const Gate& gate, bool higherIsBetter, double floor) {
    TimeLimits out{floor, gate.minAbsolute};
    const auto& limit = higherIsBetter && gate.maxDecrease ? gate.maxDecrease : gate.maxIncrease;
    if (limit && limit->relative)
        out.relative = std::max(floor, limit->value);
    else if (limit)
        out.absolute = std::max(out.absolute, limit->value);
    return out;
}

/// Everything that decides about one gate and one model.
class Case {
public:
    Case(const Judging& judging, const Gate& gate, const ModelRun& model,
         const std::optional<Baseline>& baseline)
        : m_judging(judging), m_gate(gate), m_model(model), m_baseline(baseline) {
        m_row.id = gate.id;
        m_row.model = model.id;
        m_row.metric = gate.metric;
        m_row.limit = limitText(gate);
        m_row.timed = isMeasured(gate.metric);
    }

    GateRow row() {
        decide();
        if (m_baseline && m_baseline->isOfOtherStructure && comparesWithBaseline(m_gate))
            sayStructure();
        if (m_row.verdict == Verdict::Fail && m_gate.warnOnly)
            m_row.verdict = Verdict::Warn;
        if (m_row.verdict == Verdict::Ambiguous && m_gate.onAmbiguous == Gate::OnAmbiguous::Fail)
            m_row.verdict = m_gate.warnOnly ? Verdict::Warn : Verdict::Fail;
        return m_row;
    }

private:
    void set(Verdict verdict, std::string note) {
        m_row.verdict = verdict;
        m_row.note = std::move(note);
    }

    void compareExactly(const MetricValue& base, const MetricValue& now) {
        const double change = now.value - base.value;
        if (!within(base.value, change, m_gate.maxIncrease, m_gate.minAbsolute))
            set(Verdict::Fail, "increased");
        else if (!within(base.value, -change, m_gate.maxDecrease, m_gate.minAbsolute))
            set(Verdict::Fail, "decreased");
    }

    /// A model that is another one may have other numbers: that is a decision for a person, who
    /// sees them.
    void sayStructure() {
        // Not comparable is no pass where somebody has to look.
        const bool isUnknown = m_row.verdict == Verdict::Skipped;
        if (isUnknown ? m_judging.policy != Policy::Fail || m_row.now.empty() : m_row.base.empty())
            return;
        const auto base = metricOf(m_baseline->report, m_gate.metric);
        const auto now = metricOf(*m_model.report, m_gate.metric);
        std::string note = "the model's structure has changed since the baseline";
        if (base && now && base->value > 0 && now->kind != MetricValue::Kind::Hash)
            note += ": " + app::percentText(now->value / base->value - 1);
        if (m_judging.policy == Policy::Fail)
            return set(Verdict::Fail, note + "; take it over with `fuselage baseline update`");
        set(m_row.verdict == Verdict::Fail ? Verdict::Warn : m_row.verdict, note);
    }

    void decide() {
        if (!m_model.report)
            return set(m_gate.isCondition ? Verdict::Fail : Verdict::Skipped,
                       "the model did not run");
        const auto now = metricOf(*m_model.report, m_gate.metric);
        if (!now) {
            const bool fails = m_gate.isCondition && !isUnjudged(*m_model.report, m_gate.metric);
            return set(fails ? Verdict::Fail : Verdict::Skipped,
                       whyMissing(*m_model.report, m_gate.metric));
        }
        m_row.now = text(*now);
        m_row.nowValue = asNamed(*now, m_gate.metric);
        if (!isWithinBounds(m_gate, now->value))
            return set(Verdict::Fail, "out of bounds");
        if (!comparesWithBaseline(m_gate))
            return;
        if (!m_baseline) {
            return set(m_judging.policy == Policy::Fail ? Verdict::Fail : Verdict::Skipped,
                       m_judging.noBaseline);
        }
        const auto base = metricOf(m_baseline->report, m_gate.metric);
        if (!base)
            return set(Verdict::Skipped, "not measured in the baseline");
        m_row.base = text(*base);
        m_row.baseValue = asNamed(*base, m_gate.metric);
        if (isMeasured(m_gate.metric))
            return decideMeasured(*base, *now);
        if (now->kind == MetricValue::Kind::Hash) {
            if (base->value != now->value)
                set(Verdict::Fail, changedKernels(m_baseline->report, *m_model.report));
            return;
        }
        compareExactly(*base, *now);
    }

    void decideMeasured(const MetricValue& base, const MetricValue& now) {
        if (std::string other = deviceDifference(m_baseline->report, *m_model.report);
            !other.empty())
            return set(Verdict::Skipped, "not comparable: " + other);
        if (m_gate.metric == "registers" || m_gate.metric.ends_with("_bytes") ||
            m_gate.metric == "max_rel" || now.kind == MetricValue::Kind::Count)
            return compareExactly(base, now);
        const double floor = noiseFloor(m_baseline->history);
        const TimeLimits limits = timeLimits(m_gate, now.higherIsBetter, floor);
        const Change change = compareTimes(base, now, limits.relative, limits.absolute);
        m_row.note = nameOf(change);
        if (floor > 0 && m_gate.maxIncrease && m_gate.maxIncrease->relative &&
            m_gate.maxIncrease->value < floor)
            m_row.note += fmt::format("; the noise here is {:.1f} %, above the limit", floor * 100);
        if (base.hasTooFewRuns() || now.hasTooFewRuns())
            m_row.note += ": too few runs to tell";
        if (change == Change::Ambiguous)
            m_row.verdict = Verdict::Ambiguous;
        if (change == Change::Slower && (m_judging.finished || m_baseline->isOfOtherStructure))
            decideFinished(base, now, limits);
        else if (change == Change::Slower)
            confirm(base, limits);
    }

    /// Between processes times differ by more than an interval of one knows: without fresh ones the
    /// least change that both intervals allow must be above the limits.
    void decideFinished(const MetricValue& base, const MetricValue& now, const TimeLimits& limits) {
        const double least = now.higherIsBetter ? 1 - now.high / base.low : now.low / base.high - 1;
        if (m_gate.confirm > 0 &&
            (least <= limits.relative || least * base.value <= limits.absolute))
            return set(Verdict::Ambiguous, "slower, but not by the whole interval of the change, "
                                           "and no fresh process can confirm it");
        std::string note = "slower";
        for (const Report* report : {&m_baseline->report, &*m_model.report})
            if (!app::busyText(report->machine).empty()) {
                note += ", measured beside other processes";
                break;
            }
        set(Verdict::Fail, note);
    }

    void confirm(const MetricValue& base, const TimeLimits& limits) {
        for (int i = 0; i < m_gate.confirm; ++i) {
            const auto report = m_judging.again(m_model);
            const auto value = report ? metricOf(*report, m_gate.metric) : std::nullopt;
            if (!value)
                return set(Verdict::Ambiguous, "slower, and not confirmed: no further run");
            if (compareTimes(base, *value, limits.relative, limits.absolute) != Change::Slower)
                return set(Verdict::Ambiguous,
                           fmt::format("slower once, not in fresh process {}", i + 1));
        }
        set(Verdict::Fail, m_gate.confirm > 0
                               ? fmt::format("slower, in {} fresh processes too", m_gate.confirm)
                               : std::string("slower"));
    }

    const Judging& m_judging;
    const Gate& m_gate;
    const ModelRun& m_model;
    const std::optional<Baseline>& m_baseline;
    GateRow m_row;
};

bool concerns(const Gate& gate, const ModelRun& model) {
    return gate.models.empty() ||
           std::any_of(gate.models.begin(), gate.models.end(),
                       [&](const std::string& pattern) { return fitsId(pattern, model.id); });
}

} // namespace

const char* nameOf(Change change) {
    constexpr std::array names{"same", "faster", "slower", "ambiguous"};
    return names[static_cast<size_t>(change)];
}

Change compareTimes(const MetricValue& base, const MetricValue& now, double relative,
                    double absolute) {
    if (base.value <= 0 || base.low <= 0 || base.hasTooFewRuns() || now.hasTooFewRuns())
        return Change::Ambiguous;
    const double low = now.low / base.high - 1, high = now.high / base.low - 1;
    const double change = now.value / base.value - 1;
    const double difference = std::abs(now.value - base.value);
    const bool large = std::abs(change) > relative && difference > absolute;
    if (large && (low > 0 || high < 0))
        return (low > 0) == now.higherIsBetter ? Change::Faster : Change::Slower;
    const double most = std::max(std::abs(low), std::abs(high));
    if (most <= relative || most * base.value <= absolute)
        return Change::Same;
    return Change::Ambiguous;
}

bool isWithinBounds(const Gate& gate, double value) {
    return (!gate.min || value >= *gate.min) && (!gate.max || value <= *gate.max);
}

void judge(const Judging& judging, app::RunReport& run) {
    for (const ModelRun& model : run.models) {
        const auto baseline = model.report ? judging.baseline(model) : std::nullopt;
        for (const Gate& gate : judging.gates) {
            if (!concerns(gate, model))
                continue;
            GateRow row = Case(judging, gate, model, baseline).row();
            if (row.verdict == Verdict::Fail)
                run.reasons.push_back((row.timed                        ? "time:"
                                       : gate.id.starts_with("expect.") ? "expect:"
                                                                        : "gate:") +
                                      gate.id);
            run.gates.push_back(std::move(row));
        }
    }
    settle(run);
}

double noiseFloor(const std::vector<double>& history) {
    if (history.size() < 3)
        return 0;
    // The median distance from the median: one bad run says nothing of the others.
    const double middle = quantileOf(history, 0.5);
    std::vector<double> distances;
    for (double value : history)
        distances.push_back(std::abs(value - middle));
    constexpr double toDeviation = 1.4826, deviations = 3;
    return middle > 0 ? deviations * toDeviation * quantileOf(distances, 0.5) / middle : 0;
}

std::string deviceDifference(const Report& base, const Report& now) {
    const app::MachineReport &a = base.machine, &b = now.machine;
    if (a.cpu != b.cpu)
        return fmt::format("measured on `{}` and `{}`", a.cpu, b.cpu);
    if (a.backend != b.backend || a.backendText != b.backendText)
        return fmt::format("measured with `{}` and `{}`", a.backendText, b.backendText);
    if (a.threadsUsed != b.threadsUsed)
        return fmt::format("measured with {} and {} threads", a.threadsUsed, b.threadsUsed);
    return {};
}

} // namespace fuselage::batch
