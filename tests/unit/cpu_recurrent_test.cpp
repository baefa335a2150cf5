// SPDX-License-Identifier: Apache-2.0
// The loops of recurrences, on every instruction set of this processor: products of few rows give
// the bits of one panel after the other, and gates what their formulas say.
#include "core/cpu/vector_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace fuselage::cpu;

namespace {

std::vector<float> numbers(size_t count, unsigned seed) {
    std::mt19937 engine(seed);
    std::vector<float> out(count);
    for (float& number : out)
        number = static_cast<float>(engine() % 2001) / 1000.0F - 1.0F;
    return out;
}

double logistic(double x) {
    return 1 / (1 + std::exp(-x));
}

/// Operands of one element of one sequence, and what a step made of its state.
struct Step {
    static constexpr size_t hidden = 48;
    std::vector<float> fromInput = numbers(4 * hidden, 1), fromState = numbers(4 * hidden, 2),
                       bias = numbers(4 * hidden, 3), carried = numbers(hidden, 4),
                       result = numbers(hidden, 5);

    double input(size_t gate, size_t j) const { return fromInput[gate * hidden + j]; }

    double state(size_t gate, size_t j) const { return fromState[gate * hidden + j]; }

    double sum(size_t gate, size_t j) const {
        return input(gate, j) + state(gate, j) + bias[gate * hidden + j];
    }

    Step after(RecurrentFunction function) const {
        Step out = *this;
        function(out.fromInput.data(), out.fromState.data(), out.bias.data(), out.carried.data(),
                 out.result.data(), hidden);
        return out;
    }
};

constexpr double tolerance = 2e-6;

} // namespace

TEST(RecurrentLoops, PanelsSideBySideGiveTheBitsOfOneAfterTheOther) {
    for (size_t index = 0; index < vectorTableCount(); ++index) {
        const WinogradLoops& loops = vectorTable(index).winograd;
        const size_t depth = 3 * laneGroup, width = panelsTogether * loops.panel;
        size_t tried = 0;
        for (size_t rows = 1; rows <= loops.mostRows; ++rows) {
            if (!loops.panels[rows])
                continue;
            ++tried;
            const std::vector<float> a = numbers(rows * depth, 6), b = numbers(depth * width, 7);
            std::vector<float> expected(rows * width), made(rows * width);
            for (size_t p = 0; p < panelsTogether; ++p)
                loops.product[rows](a.data(), rows * laneGroup, b.data() + p * loops.panel * depth,
                                    expected.data() + p * loops.panel, width, depth);
            loops.panels[rows](a.data(), rows * laneGroup, b.data(), loops.panel * depth,
                               made.data(), width, depth);
            EXPECT_EQ(made, expected) << vectorTable(index).name << ", " << rows << " rows";
        }
        EXPECT_GT(tried, 0U) << vectorTable(index).name;
    }
}

TEST(RecurrentLoops, GatesAreWhatTheirFormulasSay) {
    const Step step;
    for (size_t index = 0; index < vectorTableCount(); ++index) {
        SCOPED_TRACE(vectorTable(index).name);
        const RecurrentLoopTable& loops = vectorTable(index).recurrent;
        const Step lstm = step.after(loops.lstm), rnn = step.after(loops.rnn);
        const Step product = step.after(loops.gruOfResetProduct);
        const Step reset = step.after(loops.gruReset), state = reset.after(loops.gruCandidate);
        for (size_t j = 0; j < Step::hidden; ++j) {
            const double cell = logistic(step.sum(2, j)) * step.carried[j] +
                                logistic(step.sum(0, j)) * std::tanh(step.sum(3, j));
            EXPECT_NEAR(lstm.carried[j], cell, tolerance);
            EXPECT_NEAR(lstm.result[j], logistic(step.sum(1, j)) * std::tanh(cell), tolerance);
            EXPECT_NEAR(rnn.result[j], std::tanh(step.sum(0, j)), tolerance);
            const double z = logistic(step.sum(0, j)), r = logistic(step.sum(1, j));
            const double apart = step.state(2, j) + step.bias[3 * Step::hidden + j];
            const double inside =
                std::tanh(step.input(2, j) + step.bias[2 * Step::hidden + j] + r * apart);
            EXPECT_NEAR(product.result[j], (1 - z) * inside + z * step.result[j], tolerance);
            EXPECT_NEAR(reset.carried[j], r * step.result[j], tolerance);
            EXPECT_NEAR(state.result[j], (1 - z) * std::tanh(step.sum(2, j)) + z * step.result[j],
                        tolerance);
        }
    }
}
