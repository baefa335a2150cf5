// SPDX-License-Identifier: Apache-2.0
// Phase 5 of planning: small steps that do not depend on each other share a launch. Members of a
// group lie at one depth of the plan (the longest way from an input), so no path lies between them
// and groups cannot wait for each other in a circle.
#include "core/cost/decision.h"
#include "core/graph/subgraph.h"
#include "core/plan/planner_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace fuselage::planner {

namespace {

/// A step that takes longer than this, its launch apart, fills the device on its own.
constexpr double mostSeconds = 5e-6;
constexpr size_t mostMembers = 8, mostOperands = 64;
/// Reduced rows up to this length; longer ones want blocks of another size.
constexpr int64_t longestRow = 1024;

bool fitsGroup(const KernelProgram& program) {
    if (!program.body)
        return false;
    if (const auto* row = std::get_if<Row>(&program.code)) {
        const int64_t length = elementCount(row->inner).value_or(0);
        return length > 0 && length <= longestRow;
    }
    return std::holds_alternative<Pointwise>(program.code) ||
           std::holds_alternative<Copy>(program.code);
}

bool onDevice(const Plan& plan, const Step& step) {
    auto there = [&](uint32_t value) {
        return plan.values[value].residence != Residence::Host &&
               sizeOf(plan.values[value].dtype) != 0;
    };
    return std::all_of(step.inputs.begin(), step.inputs.end(), there) &&
           std::all_of(step.outputs.begin(), step.outputs.end(), there);
}

/// For each step the earlier steps that it waits for.
std::vector<std::vector<size_t>> dependencies(const Plan& plan) {
    std::map<uint32_t, std::vector<size_t>> writers; // by root
    std::vector<std::vector<size_t>> out(plan.steps.size());
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        for (uint32_t input : plan.steps[i].inputs)
            if (auto found = writers.find(rootOf(plan, input)); found != writers.end())
                out[i].insert(out[i].end(), found->second.begin(), found->second.end());
        for (uint32_t output : plan.steps[i].outputs)
            writers[rootOf(plan, output)].push_back(i);
    }
    return out;
}

std::vector<size_t> depthsOf(const std::vector<std::vector<size_t>>& waits) {
    std::vector<size_t> out(waits.size(), 0);
    for (size_t i = 0; i < waits.size(); ++i)
        for (size_t before : waits[i])
            out[i] = std::max(out[i], out[before] + 1);
    return out;
}

/// All bodies side by side, with operands in the order of the members.
std::shared_ptr<const Graph> joinedBody(const std::vector<const Step*>& members) {
    Graph body("group");
    for (const Step* member : members) {
        const Graph& own = *member->program.body;
        std::vector<ValueId> inputs;
        for (ValueId input : own.inputs())
            inputs.push_back(
                body.addInput(body.freshName(own.value(input).name), own.value(input).type));
        for (ValueId result : inlineBody(body, own, inputs))
            body.addOutput(result);
    }
    return std::make_shared<const Graph>(std::move(body));
}

/// One step that does the work of all.
Step joined(const std::vector<const Step*>& members) {
    Step out = *members[0];
    Group group;
    out.program = {};
    out.name = "group";
    out.inputs.clear();
    out.outputs.clear();
    out.sources.clear();
    out.recomputed.clear();
    for (const Step* member : members) {
        const KernelProgram& program = member->program;
        out.name += (group.members.empty() ? " " : " + ") + member->name;
        out.inputs.insert(out.inputs.end(), member->inputs.begin(), member->inputs.end());
        out.outputs.insert(out.outputs.end(), member->outputs.begin(), member->outputs.end());
        out.sources.insert(out.sources.end(), member->sources.begin(), member->sources.end());
        out.recomputed.insert(out.recomputed.end(), member->recomputed.begin(),
                              member->recomputed.end());
        out.rule = out.rule.empty() ? member->rule : out.rule;
        out.numeric = std::max(out.numeric, member->numeric);
        out.allowed = std::min(out.allowed, member->allowed);
        out.program.inputs.insert(out.program.inputs.end(), program.inputs.begin(),
                                  program.inputs.end());
        out.program.outputs.insert(out.program.outputs.end(), program.outputs.begin(),
                                   program.outputs.end());
        out.program.numeric = std::max(out.program.numeric, program.numeric);
        group.members.push_back(program);
    }
    out.program.body = joinedBody(members);
    out.program.code = std::move(group);
    return out;
}

class Grouper {
public:
    Grouper(Plan& plan, const PlanOptions& options) : m_plan(plan), m_options(options) {}

    void run();

private:
    bool small(const Step& step) const {
        return fitsGroup(step.program) && onDevice(m_plan, step) && !m_plan.isOnce(step) &&
               step.predicted.seconds - step.predicted.launch < mostSeconds;
    }

    void offer(const std::vector<size_t>& candidates);
    bool decide(const std::vector<const Step*>& members, const Step& whole);
    void reorder(const std::vector<std::vector<size_t>>& waits);

    Plan& m_plan;
    const PlanOptions& m_options;
    std::vector<size_t> m_leader;      ///< per step: the last step of its group, or itself
    std::map<size_t, Step> m_replaced; ///< by leader
};

/// Takes the members in one launch if the cost model says that it pays; records either way.
bool Grouper::decide(const std::vector<const Step*>& members, const Step& whole) {
    const DeviceProfile& profile = *m_options.profile;
    GroupRecord record;
    std::vector<TimeEstimate> parts;
    std::vector<int64_t> distances;
    for (const Step* member : members) {
        record.members.push_back(member->name);
        parts.push_back(member->predicted);
    }
    distances.assign(whole.inputs.size(), 0);
    Traffic traffic = predictTraffic(whole.program, profile, {distances});
    traffic.dram = traffic.l2 = 0; // operands come from where they did before
    for (const Step* member : members) {
        traffic.dram += member->traffic.dram;
        traffic.l2 += member->traffic.l2;
    }
    const Decision decision =
        decideFusion(predictStep(m_plan, whole, traffic, {profile, m_options.backend}), parts);
    record.name = whole.name;
    record.reason = decision.reason;
    record.taken = preferred({decision.unfusedSeconds, decision.fusedSeconds}, least_share::any);
    if (m_options.backend)
        if (auto reason = m_options.backend->supports(whole.program)) {
            record.reason = *reason;
            record.taken = false;
        }
    m_plan.groups.push_back(record);
    return record.taken;
}

void Grouper::offer(const std::vector<size_t>& candidates) {
    std::vector<const Step*> members;
    std::vector<size_t> numbers;
    size_t operands = 0;
    auto close = [&] {
        if (members.size() > 1) {
            Step whole = joined(members);
            if (decide(members, whole)) {
                for (size_t number : numbers)
                    m_leader[number] = numbers.back();
                m_replaced.emplace(numbers.back(), std::move(whole));
            }
        }
        members.clear();
        numbers.clear();
        operands = 0;
    };
    for (size_t number : candidates) {
        const Step& step = m_plan.steps[number];
        const size_t more = step.inputs.size() + step.outputs.size();
        if (members.size() == mostMembers || operands + more > mostOperands)
            close();
        members.push_back(&step);
        numbers.push_back(number);
        operands += more;
    }
    close();
}

/// Steps in an order that respects all dependencies, otherwise as they were; a group stands where
/// its last member stood, or later.
void Grouper::reorder(const std::vector<std::vector<size_t>>& waits) {
    std::vector<std::set<size_t>> before(waits.size());
    std::vector<std::vector<size_t>> after(waits.size());
    for (size_t i = 0; i < waits.size(); ++i)
        for (size_t producer : waits[i])
            before[m_leader[i]].insert(m_leader[producer]);
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    std::vector<size_t> missing(waits.size(), 0);
    for (size_t i = 0; i < waits.size(); ++i) {
        if (m_leader[i] != i)
            continue;
        missing[i] = before[i].size();
        for (size_t producer : before[i])
            after[producer].push_back(i);
        if (missing[i] == 0)
            ready.push(i);
    }
    std::vector<Step> steps;
    while (!ready.empty()) {
        const size_t next = ready.top();
        ready.pop();
        auto replaced = m_replaced.find(next);
        steps.push_back(replaced == m_replaced.end() ? std::move(m_plan.steps[next])
                                                     : std::move(replaced->second));
        for (size_t consumer : after[next])
            if (--missing[consumer] == 0)
                ready.push(consumer);
    }
    m_plan.steps = std::move(steps);
}

void Grouper::run() {
    const std::vector<std::vector<size_t>> waits = dependencies(m_plan);
    const std::vector<size_t> depths = depthsOf(waits);
    std::map<std::pair<size_t, bool>, std::vector<size_t>> levels;
    for (size_t i = 0; i < m_plan.steps.size(); ++i) {
        m_leader.push_back(i);
        if (small(m_plan.steps[i]))
            levels[{depths[i], m_plan.steps[i].strict}].push_back(i);
    }
    for (const auto& [level, candidates] : levels)
        offer(candidates);
    if (!m_replaced.empty())
        reorder(waits);
}

} // namespace

void groupSteps(Plan& plan, const PlanOptions& options, const Progress& progress) {
    if (options.profile->kind != DeviceKind::Gpu)
        return; // a cpu has no launches that sharing would save
    predictSteps(plan, *options.profile, options.backend, &progress);
    if (!progress.cancelled())
        Grouper(plan, options).run();
}

} // namespace fuselage::planner
