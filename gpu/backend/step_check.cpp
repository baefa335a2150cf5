// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/step_check.h"

#include "core/kernel/evaluate.h"
#include "gpu/runtime/check_tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fuselage::gpu {

namespace {

using Values = std::vector<ReferenceValue>;

Result<Values> wantedOf(const KernelProgram& program, const Values& inputs, ThreadPool& threads,
                        Progress& progress) {
    if (program.body)
        return interpret(*program.body, inputs, threads, progress);
    const auto* group = std::get_if<Group>(&program.code);
    if (group == nullptr) {
        auto evaluation = evaluate(program, inputs);
        return evaluation ? Result<Values>(std::move(evaluation->outputs))
                          : failure(evaluation.error());
    }
    Values out;
    auto next = inputs.begin();
    for (const KernelProgram& member : group->members) {
        const auto end = next + static_cast<ptrdiff_t>(member.inputs.size());
        auto some = wantedOf(member, {next, end}, threads, progress);
        if (!some)
            return some;
        std::move(some->begin(), some->end(), std::back_inserter(out));
        next = end;
    }
    return out;
}

Result<Values> valuesOf(SteppedExecutable& executable, const std::vector<uint32_t>& operands) {
    Values out;
    for (uint32_t operand : operands) {
        auto value = executable.valueNow(operand);
        if (!value)
            return failure(value.error());
        out.push_back(std::move(*value));
    }
    return out;
}

double numberOf(const ReferenceValue& value, size_t i) {
    return isFloat(value.dtype) ? value.floats[i] : static_cast<double>(value.ints[i]);
}

} // namespace

std::string differenceOf(const Step& step, const ReferenceValue& wanted,
                         const ReferenceValue& got) {
    const auto count = static_cast<size_t>(got.count());
    if (wanted.extents != got.extents)
        return "its result has other extents";
    const OutputTolerance tolerance = outputTolerance(step, got.dtype);
    double largest = 0;
    for (size_t i = 0; i < count; ++i)
        if (const double number = std::fabs(numberOf(wanted, i)); std::isfinite(number))
            largest = std::max(largest, number);
    const double allowed = tolerance.relative * largest;
    size_t differ = 0, where = 0;
    double worst = 0;
    for (size_t i = 0; i < count; ++i) {
        double want = numberOf(wanted, i);
        const double have = numberOf(got, i);
        if (isFloat(got.dtype))
            want = roundTo(got.dtype, want);
        const double off = std::fabs(have - want);
        const bool same =
            std::isfinite(want) ? off <= allowed : have == want || (have != have && want != want);
        if (!same && (differ++ == 0 || off > worst)) {
            worst = off;
            where = i;
        }
    }
    if (static_cast<double>(differ) <= tolerance.share * static_cast<double>(count))
        return {};
    return fmt::format("{} of {} elements differ, by {:.3g} at element {}, allowed {:.3g}", differ,
                       count, worst, where, allowed);
}

Result<StepCheck> firstWrongStep(Executable& executable, std::span<const Tensor> inputs,
                                 ThreadPool& threads, Progress& progress) {
    auto* stepped = dynamic_cast<SteppedExecutable*>(&executable);
    if (stepped == nullptr)
        return failure("step.backend", "only plans of the cuda backend are checked step by step");
    if (auto begun = stepped->beginSteps(inputs); !begun)
        return failure(begun.error());
    StepCheck out;
    const std::vector<Step>& steps = stepped->plan().steps;
    for (size_t i = 0; i < steps.size(); ++i) {
        if (progress.cancelled())
            return cancelledFailure("check of steps");
        progress.report("check steps", i, steps.size());
        const bool host = executable.isFallback(i);
        // Before the step: its result may lie on an operand.
        auto operands = host ? Result<Values>(Values{}) : valuesOf(*stepped, steps[i].inputs);
        if (auto ran = stepped->runStep(i, progress); !ran)
            return failure(ran.error());
        auto wanted = host || !operands ? Result<Values>(failure("step.unread", "not checked"))
                                        : wantedOf(steps[i].program, *operands, threads, progress);
        auto got = wanted ? valuesOf(*stepped, steps[i].outputs) : Result<Values>(Values{});
        if (!wanted || !got || wanted->size() != got->size()) {
            ++out.unchecked;
            continue;
        }
        ++out.checked;
        for (size_t output = 0; output < got->size(); ++output)
            if (auto how = differenceOf(steps[i], (*wanted)[output], (*got)[output]);
                !how.empty()) {
                out.wrong = WrongStep{i,
                                      output,
                                      std::move(how),
                                      std::move(*operands),
                                      std::move(*got),
                                      std::move(*wanted)};
                return out;
            }
    }
    return out;
}

} // namespace fuselage::gpu
