// SPDX-License-Identifier: Apache-2.0
#include "core/plan/specialised.h"

#include "core/plan/forwarding.h"

#include <algorithm>
#include <cstring>

namespace fuselage {

namespace {

bool isSame(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.extents() == b.extents() &&
           (a.byteCount() == 0 || std::memcmp(a.bytes(), b.bytes(), a.byteCount()) == 0);
}

Failure otherShape(const std::string& value, const std::string& what) {
    return failure("run.assumed", "`" + value + "` " + what, value,
                   "run without shapes taken from another run");
}

class SpecialisedExecutable final : public ForwardingExecutable {
public:
    SpecialisedExecutable(std::unique_ptr<Executable> inner, AssumedShapes assumed)
        : ForwardingExecutable(std::move(inner)), m_assumed(std::move(assumed)) {}

    Result<RunResult> run(std::span<const Tensor> inputs, const RunOptions& options,
                          Progress& progress) override {
        auto ran = inner().run(inputs, options, progress);
        if (!ran) {
            const Error& error = ran.error();
            const auto& values = m_assumed.values;
            if (error.code == "run.shape" &&
                std::find(values.begin(), values.end(), error.where) != values.end())
                return otherShape(error.where, "has another shape than in the run before");
            return ran;
        }
        for (const AssumedShapes::Contents& contents : m_assumed.contents)
            if (!isSame(ran->outputs[contents.output], *contents.expected))
                return otherShape(contents.value, "asks for other shapes than in the run before");
        ran->outputs.resize(m_assumed.outputs);
        return ran;
    }

private:
    AssumedShapes m_assumed;
};

} // namespace

std::unique_ptr<Executable> makeSpecialised(std::unique_ptr<Executable> inner,
                                            AssumedShapes assumed) {
    if (assumed.empty())
        return inner;
    return std::make_unique<SpecialisedExecutable>(std::move(inner), std::move(assumed));
}

} // namespace fuselage
