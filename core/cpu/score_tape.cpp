// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/score_tape.h"

#include <algorithm>
#include <cstring>

namespace fuselage::cpu {

namespace {

/// Whether the softmax takes it: a mask that is added, or a condition.
bool isMask(const ScoreStep& step) {
    return step.kind != ScoreStep::Kind::Apply && step.kind != ScoreStep::Kind::Multiply;
}

size_t stepsBeforeSoftmax(const Attention& attention) {
    size_t out = attention.steps.size();
    while (out > 0 && isMask(attention.steps[out - 1]))
        --out;
    return out;
}

bool takesCondition(const ScoreStep& step) {
    return step.kind == ScoreStep::Kind::KeepWhereTrue ||
           step.kind == ScoreStep::Kind::KeepWhereFalse;
}

/// Input 0 is the score, the others are the operands of the steps in their order.
Tape tapeOfSteps(const Attention& attention, size_t steps) {
    TapeBuilder tape;
    Scalar score = tape.input(DType::Float32);
    std::vector<Scalar> operands;
    for (size_t i = 0; i < steps; ++i)
        if (attention.steps[i].reads())
            operands.push_back(
                tape.input(takesCondition(attention.steps[i]) ? DType::Bool : DType::Float32));
    if (attention.scale != 1)
        score = score * attention.scale;
    auto operand = operands.begin();
    for (size_t i = 0; i < steps; ++i) {
        const ScoreStep& step = attention.steps[i];
        const Scalar fill = tape.constant(DType::Float32, step.fill);
        switch (step.kind) {
        case ScoreStep::Kind::Add:
            score = score + *operand++;
            break;
        case ScoreStep::Kind::Multiply:
            score = score * *operand++;
            break;
        case ScoreStep::Kind::KeepWhereTrue:
            score = select(*operand++, score, fill);
            break;
        case ScoreStep::Kind::KeepWhereFalse:
            score = select(*operand++, fill, score);
            break;
        case ScoreStep::Kind::Apply:
            score = tape.append(step.function, {score}).front();
            break;
        }
    }
    return tape.finish({score});
}

} // namespace

ScoreTape::ScoreTape(const Attention& attention, const VectorTable& table) {
    const size_t steps = stepsBeforeSoftmax(attention);
    if (steps == 0)
        return;
    size_t inputs = 1;
    for (size_t i = 0; i < steps; ++i)
        m_inputOf.push_back(attention.steps[i].reads() ? inputs++ : noInput);
    m_code =
        TileCode(tapeOfSteps(attention, steps), std::vector<bool>(inputs, false), table, false);
}

std::optional<Reason> ScoreTape::unsupported(const Attention& attention) {
    const size_t steps = stepsBeforeSoftmax(attention);
    return steps == 0 ? std::nullopt : TileCode::unsupported(tapeOfSteps(attention, steps));
}

void ScoreTape::run(const SoftmaxRows& rows, const SoftmaxRows::Mask* masks,
                    std::byte* memory) const {
    TileCode::Frame frame = m_code.bind(memory, lanes);
    if (m_code.inputCount() == 1) { // the gaps between rows may be computed with them
        runRow(rows.scores, (rows.rows - 1) * rows.stride + rows.cols, masks, 0, frame);
        return;
    }
    for (size_t row = 0; row < rows.rows; ++row)
        runRow(rows.scores + row * rows.stride, rows.cols, masks, row, frame);
}

void ScoreTape::runRow(float* scores, size_t count, const SoftmaxRows::Mask* masks, size_t row,
                       TileCode::Frame& frame) const {
    for (size_t from = 0; from < count; from += lanes) {
        const size_t n = std::min(lanes, count - from);
        std::memcpy(frame.buffers[0], scores + from, n * sizeof(float));
        for (size_t i = 0; i < steps(); ++i) {
            if (m_inputOf[i] == noInput)
                continue;
            const SoftmaxRows::Mask& mask = masks[i];
            const auto at = static_cast<int64_t>(row) * mask.stride + static_cast<int64_t>(from);
            void* const buffer = frame.buffers[m_inputOf[i]];
            if (mask.add)
                std::memcpy(buffer, mask.add + at, n * sizeof(float));
            else
                std::memcpy(buffer, mask.condition + at, n);
        }
        m_code.run(frame, roundUpToGroup(n));
        std::memcpy(scores + from, m_code.output(frame, 0), n * sizeof(float));
    }
}

} // namespace fuselage::cpu
