// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN of any gates: sequences of their own length, peepholes, bounds, coupled gates,
// every activation, the batch in front, any size, at random against the reference functions.
#include "cpu_library_support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <random>

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

class RecurrentLayer {
public:
    explicit RecurrentLayer(uint32_t seed) : m_engine(seed) {
        m_op = pick(std::array{"LSTM", "GRU", "RNN"});
        m_isLstm = m_op == "LSTM";
        m_gates = m_isLstm ? 4 : m_op == "GRU" ? 3 : 1;
        m_direction = pick(std::array{"forward", "reverse", "bidirectional"});
        m_directions = m_direction == "bidirectional" ? 2 : 1;
        m_length = 1 + below(6);
        m_batch = pick(std::array<int64_t, 5>{1, 2, 3, 5, 17});
        m_inputs = 1 + below(20);
        m_hidden = pick(std::array<int64_t, 7>{1, 3, 9, 16, 20, 32, 33});
        m_batchFirst = below(4) == 0;
        m_hasLengths = below(3) > 0;
        m_hasPeepholes = m_isLstm && below(2) == 0;
        if (below(2) == 0)
            m_attributes += fmt::format(", clip={}", pick(std::array{"0.3", "1.0"}));
        if (m_isLstm && below(3) == 0)
            m_attributes += ", input_forget=1";
        if (m_op == "GRU" && below(2) == 0)
            m_attributes += ", linear_before_reset=1";
        if (below(3) > 0)
            chooseActivations();
    }

    void expectAsTheReference() {
        const Extents state = m_batchFirst ? Extents{m_batch, m_directions, m_hidden}
                                           : Extents{m_directions, m_batch, m_hidden};
        const Extents x = m_batchFirst ? Extents{m_batch, m_length, m_inputs}
                                       : Extents{m_length, m_batch, m_inputs};
        const Extents y = m_batchFirst ? Extents{m_batch, m_length, m_directions, m_hidden}
                                       : Extents{m_length, m_directions, m_batch, m_hidden};
        const int64_t rows = m_gates * m_hidden;
        const std::string lengths = m_hasLengths ? "lengths" : "omitted";
        const std::string text = fmt::format(
            "(float[{}] x, float[{}] w, float[{}] r, float[{}] b, int32[{}] {}, float[{}] h0{}{}) "
            "=> (float[{}] y, float[{}] h{}) {{ y, h{} = {}<hidden_size={}, direction=\"{}\", "
            "layout={}{}>(x, w, r, b, {}, h0{}{}) }}",
            listed(x), listed({m_directions, rows, m_inputs}),
            listed({m_directions, rows, m_hidden}), listed({m_directions, 2 * rows}), m_batch,
            lengths, listed(state), m_isLstm ? ", float[" + listed(state) + "] c0" : "",
            m_hasPeepholes ? ", float[" + listed({m_directions, 3 * m_hidden}) + "] p" : "",
            listed(y), listed(state), m_isLstm ? ", float[" + listed(state) + "] c" : "",
            m_isLstm ? ", c" : "", m_op, m_hidden, m_direction, m_batchFirst ? 1 : 0, m_attributes,
            lengths, m_isLstm ? ", c0" : "", m_hasPeepholes ? ", p" : "");
        const std::map<std::string, Tensor> constants{
            {"w", small({m_directions, rows, m_inputs}, 1)},
            {"r", small({m_directions, rows, m_hidden}, 2)},
            {"b", weights({m_directions, 2 * rows}, 3)}};
        const CpuRun run = expectLibrary(text, constants, 3e-5, [&](auto& inputs) {
            for (ReferenceValue& input : inputs)
                for (int64_t& length : input.ints)
                    length = below(m_length + 1);
            if (m_hasPeepholes)
                for (double& weight : inputs.back().floats)
                    weight *= 0.125;
        });
        const bool isUsual = !m_hasLengths && !m_batchFirst && !m_hasPeepholes &&
                             m_attributes.find("clip") == std::string::npos;
        EXPECT_TRUE(isUsual || run.tactic.find("loops") != std::string::npos) << run.tactic;
    }

private:
    int64_t below(int64_t end) {
        return static_cast<int64_t>(m_engine() % static_cast<uint32_t>(end));
    }

    template <typename T, size_t n> T pick(const std::array<T, n>& from) {
        return from[static_cast<size_t>(below(n))];
    }

    static std::string listed(const Extents& extents) {
        return fmt::format("{}", fmt::join(extents, ","));
    }

    /// States that nothing bounds must not grow beyond what floats hold.
    static Tensor small(const Extents& extents, uint32_t seed) {
        Tensor out = weights(extents, seed);
        for (float& value : out.as<float>())
            value *= 0.1F;
        return out;
    }

    void chooseActivations() {
        std::vector<std::string> names, alphas, betas;
        const int64_t each = m_isLstm ? 3 : m_op == "GRU" ? 2 : 1;
        const bool hasParameters = below(2) == 0;
        for (int64_t i = 0; i < each * m_directions; ++i) {
            const std::string name = pick(std::array{
                "Sigmoid", "Tanh", "Relu", "Softsign", "Softplus", "LeakyRelu", "ThresholdedRelu",
                "Elu", "Affine", "ScaledTanh", "HardSigmoid", "sigmoid"});
            names.push_back('"' + name + '"');
            const bool hasBeta = name == "Affine" || name == "ScaledTanh" || name == "HardSigmoid";
            if (hasBeta || name == "LeakyRelu" || name == "ThresholdedRelu" || name == "Elu")
                alphas.push_back(pick(std::array{"0.3", "0.7"}));
            if (hasBeta)
                betas.push_back(pick(std::array{"0.4", "0.6"}));
        }
        m_attributes += fmt::format(", activations=[{}]", fmt::join(names, ", "));
        if (hasParameters && !alphas.empty())
            m_attributes += fmt::format(", activation_alpha=[{}]", fmt::join(alphas, ", "));
        if (hasParameters && !betas.empty())
            m_attributes += fmt::format(", activation_beta=[{}]", fmt::join(betas, ", "));
    }

    std::mt19937 m_engine;
    std::string m_op, m_direction, m_attributes;
    bool m_isLstm = false, m_batchFirst = false, m_hasLengths = false, m_hasPeepholes = false;
    int64_t m_gates = 1, m_directions = 1, m_length = 1, m_batch = 1, m_inputs = 1, m_hidden = 1;
};

} // namespace

TEST(CpuRecurrentGates, LayersAtRandomAreTheReferences) {
    for (uint32_t seed = 1; seed <= 300 && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        RecurrentLayer(seed).expectAsTheReference();
    }
}

TEST(CpuRecurrentGates, LengthsOutsideAreNamed) {
    LowerRequest request = bodyFrom(
        "(float[3,2,4] x, float[1,8,4] w, float[1,8,8] r, float[1,16] b, int32[2] n) => "
        "(float[3,1,2,8] y) { y = RNN<hidden_size=8>(x, w, r, b, n) }",
        {{"w", weights({1, 8, 4}, 1)}, {"r", weights({1, 8, 8}, 2)}, {"b", weights({1, 16}, 3)}});
    const KernelProgram program = programOf(request);
    for (int64_t wrong : {-1, 4}) {
        std::vector<ReferenceValue> inputs = inputsFor(request);
        inputs[4].ints = {3, wrong};
        const CpuRun run = runOnCpu(program, inputs, request.constants);
        ASSERT_TRUE(run.error);
        EXPECT_NE(run.error->text().find(fmt::format("length {} of", wrong)), std::string::npos)
            << run.error->text();
    }
}
