// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/suite_data.h"

#include "core/kernel/evaluate.h"
#include "core/plan/backend.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fuselage::gpu_suite {

namespace {

std::vector<ReferenceValue> unevaluated(const Error& error) {
    std::fprintf(stderr, "not evaluated: %s\n", error.text().c_str());
    return {};
}

} // namespace

ReferenceValue dataFor(const OperandType& type, bool special, Random& random) {
    ReferenceValue out = ReferenceValue::tensor(type.dtype, type.extents);
    for (double& number : out.floats)
        number = roundTo(type.dtype, static_cast<double>(random.next() % 4001) / 1000.0 - 2.0);
    if (special)
        for (size_t i = 0; i < out.floats.size(); i += 7 + random.next() % 13) {
            const double choices[] = {std::nan(""), INFINITY, -INFINITY, 0.0, -0.0, 7.5, -7.5};
            out.floats[i] = choices[random.next() % 7];
        }
    for (int64_t& number : out.ints)
        number = type.dtype == DType::Bool ? random.next() % 2
                 : sizeOf(type.dtype) == 1 ? wrapTo(type.dtype, random.next() % 256)
                 : isSigned(type.dtype)    ? static_cast<int64_t>(random.next() % 21) - 10
                                           : random.next() % 21;
    return out;
}

std::vector<ReferenceValue> wantedFor(const KernelProgram& program,
                                      const std::vector<ReferenceValue>& inputs) {
    if (const auto* group = std::get_if<Group>(&program.code)) {
        std::vector<ReferenceValue> out;
        auto next = inputs.begin();
        for (const KernelProgram& member : group->members) {
            const auto end = next + static_cast<ptrdiff_t>(member.inputs.size());
            for (ReferenceValue& value : wantedFor(member, {next, end}))
                out.push_back(std::move(value));
            next = end;
        }
        return out;
    }
    if (std::holds_alternative<Library>(program.code)) {
        ThreadPool threads(1);
        Progress progress;
        auto outputs = interpret(*program.body, inputs, threads, progress);
        return outputs ? *outputs : unevaluated(outputs.error());
    }
    auto evaluation = evaluate(program, inputs);
    return evaluation ? evaluation->outputs : unevaluated(evaluation.error());
}

} // namespace fuselage::gpu_suite
