// SPDX-License-Identifier: Apache-2.0
// A device made of a table of times: tactics that do nothing, a Measurer that answers from the
// table and can disturb its clock. All of its figures are synthetic.
#pragma once

#include "gpu/tune/ranking.h"
#include "gpu/tune/tune_steps.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fuselage::testing_tune {

using namespace fuselage::gpu;

/// What the synthetic device knows of one tactic.
struct SyntheticTactic {
    double microseconds = 10;
    TacticFacts facts;
    std::string buildFails, measureFails; ///< code of the error; empty: works
    int result = 0;                       ///< what it computes: equal numbers agree
    std::string checkFails;               ///< code of the error of its first run; empty: works
    bool generated = false;               ///< a kernel of ours
    std::function<void()> duringCheck;    ///< happens while it runs for the first time
};

using SyntheticTable = std::map<std::string, SyntheticTactic>;

class FakeTactic final : public Tactic {
public:
    FakeTactic(std::string name, SyntheticTactic what, std::multiset<std::string>* built)
        : m_name(std::move(name)), m_what(std::move(what)), m_built(built) {}

    std::string name() const override { return m_name; }

    Result<void> build(Progress&) override {
        if (m_built)
            m_built->insert(m_name);
        if (!m_what.buildFails.empty())
            return failure(m_what.buildFails, "the synthetic build fails");
        return {};
    }

    TacticFacts facts() const override { return m_what.facts; }

    Result<void> load(Device&) override { return {}; }

    Result<void> enqueue(Stream&, const LaunchArguments&) override { return {}; }

    const KernelSet* kernels() const override { return m_what.generated ? &m_none : nullptr; }

private:
    std::string m_name;
    SyntheticTactic m_what;
    KernelSet m_none;
    std::multiset<std::string>* m_built;
};

/// Times from a function of (candidate's name, number of the call); counts what it is asked.
class FakeMeasurer final : public Measurer {
public:
    using Timing =
        std::function<Result<BatchTiming>(const std::string&, uint32_t runs, size_t call)>;

    FakeMeasurer(std::vector<std::string> names, Timing timing, SyntheticTable table = {})
        : m_names(std::move(names)), m_timing(std::move(timing)), m_table(std::move(table)) {}

    Result<void> judge(size_t candidate, double) override {
        judges.push_back(m_names.at(candidate));
        if (auto ran = tried(candidate); !ran)
            return ran;
        m_kept = m_table[m_names[candidate]].result;
        return {};
    }

    Result<std::string> compare(size_t candidate, double) override {
        if (auto ran = tried(candidate); !ran)
            return failure(ran.error());
        const int difference = m_table[m_names[candidate]].result - m_kept;
        return difference == 0 ? std::string() : std::to_string(difference) + " at element 17";
    }

    Result<BatchTiming> measure(size_t candidate, uint32_t runs, double) override {
        order.push_back(m_names.at(candidate));
        longest = std::max(longest, runs);
        return m_timing(m_names[candidate], runs, order.size() - 1);
    }

    std::vector<std::string> order;           ///< names in the order of their batches
    uint32_t longest = 0;                     ///< runs of the longest batch
    std::vector<std::string> judges, checked; ///< names in the order of their runs

private:
    Result<void> tried(size_t candidate) {
        checked.push_back(m_names.at(candidate));
        const std::string& code = m_table[m_names[candidate]].checkFails;
        if (m_table[m_names[candidate]].duringCheck)
            m_table[m_names[candidate]].duringCheck();
        return code.empty() ? Result<void>() : failure(code, "the synthetic check fails");
    }

    std::vector<std::string> m_names;
    Timing m_timing;
    SyntheticTable m_table;
    int m_kept = 0;
};

inline Result<BatchTiming> timeFrom(const SyntheticTable& table, const std::string& name,
                                    uint32_t runs) {
    const SyntheticTactic& what = table.at(name);
    if (!what.measureFails.empty())
        return failure(what.measureFails, "the synthetic run fails");
    return BatchTiming{what.microseconds * 1e-6 * runs, false, false};
}

class FakeDevice final : public MeasurerSource {
public:
    explicit FakeDevice(SyntheticTable table) : m_table(std::move(table)) {}

    Result<std::unique_ptr<Measurer>> open(const TuneTask& task,
                                           const std::vector<Tactic*>& tactics) override {
        ++opened;
        if (task.key.step == cannotOpen)
            return failure("device.memory", "the synthetic device is full");
        std::vector<std::string> names;
        for (const Tactic* tactic : tactics)
            names.push_back(tactic->name());
        return std::unique_ptr<Measurer>(std::make_unique<FakeMeasurer>(
            names,
            [this](const std::string& name, uint32_t runs, size_t) {
                return timeFrom(m_table, name, runs);
            },
            m_table));
    }

    size_t opened = 0;
    std::string cannotOpen; ///< step of the key whose operands have no place

private:
    SyntheticTable m_table;
};

inline std::vector<TuneCandidate> candidatesOf(const SyntheticTable& table) {
    std::vector<TuneCandidate> out;
    for (const auto& [name, what] : table)
        out.push_back({name, what.facts});
    return out;
}

inline TacticKey syntheticKey(const std::string& step) {
    return {step, "synthetic device", "emitter synthetic", "0000000000000000"};
}

inline CandidateRecord measured(const std::string& name, double median) {
    CandidateRecord out;
    out.name = name;
    out.median = median;
    out.rounds = 5;
    return out;
}

inline std::string chosen(const TimingEntry& entry) {
    const std::vector<size_t> order = ranking(entry);
    return order.empty() ? "" : entry[order.front()].name;
}

} // namespace fuselage::testing_tune
