// SPDX-License-Identifier: Apache-2.0
// Timing of two sides: totals outlive whatever goes wrong with the times of single steps.
#include "app/pipeline/measure.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

/// Takes no time; its steps fail with the error that it was given.
class Broken final : public Executable {
public:
    explicit Broken(std::string code) : m_code(std::move(code)) {}

    Result<std::vector<Tensor>> run(std::span<const Tensor>, const RunOptions& options,
                                    Progress&) override {
        if (options.deviceSeconds)
            *options.deviceSeconds = 1e-3;
        if (options.stepSeconds)
            options.stepSeconds->assign(2, 1e-4);
        return std::vector<Tensor>{};
    }

    std::string tactic(size_t) const override { return "none"; }

    std::vector<Reason> fallbacks(size_t) const override { return {}; }

    Result<IsolatedTimes> timeIsolated(size_t, uint32_t) override {
        return failure(m_code, "the device stumbled");
    }

private:
    std::string m_code;
};

Result<app::Measured> measured(const std::string& code) {
    Broken before(code), after(code);
    app::MeasureOptions options;
    options.seconds = 0;
    Progress progress;
    return app::measure(before, after, {}, options, progress);
}

TEST(Measure, keepsTotalsWhereStepsFail) {
    auto out = measured("device.call");
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(out->after.totals.size(), 7U);
    EXPECT_EQ(out->after.totals[0], 1e-3);
    EXPECT_NE(out->after.stepNote.find("the device stumbled"), std::string::npos)
        << out->after.stepNote;
}

TEST(Measure, saysNothingOfStepsThatNobodyTimes) {
    auto out = measured("run.isolated");
    ASSERT_TRUE(out);
    EXPECT_EQ(out->after.stepNote, "");
}

TEST(Measure, endsWhenItIsCancelled) {
    auto out = measured("cancelled");
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "cancelled");
}

} // namespace
