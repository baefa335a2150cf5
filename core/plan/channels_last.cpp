// SPDX-License-Identifier: Apache-2.0
#include "core/plan/channels_last.h"

#include "core/plan/order_rows.h"

#include <algorithm>

namespace fuselage {

namespace {

class LayoutChooser {
public:
    LayoutChooser(Plan& plan, const LayoutChoice& choice)
        : m_plan(plan), m_choice(choice), m_marked(plan.values.size(), false),
          m_votes(plan.values.size(), 0) {}

    void run() {
        for (const Step& step : m_plan.steps)
            seed(step);
        for (const Step& step : m_plan.steps)
            vote(step);
        for (uint32_t i = 0; i < m_votes.size(); ++i)
            if (m_choice.products && m_votes[i] > 0)
                mark(i, m_plan.values[i].extents.size());
        for (const Step& step : m_plan.steps)
            spread(step);
        for (size_t i = 0; i < m_marked.size(); ++i)
            if (m_marked[i])
                m_plan.values[i].strides = channelsLast(m_plan.values[i].extents);
        if (m_choice.products && m_plan.graph)
            orderRows(m_plan);
    }

private:
    void mark(uint32_t index, size_t rank) {
        const PlanValue& value = m_plan.values[index];
        m_marked[index] = m_marked[index] || (value.residence == Residence::Arena &&
                                              value.extents.size() == rank && rank >= 3);
    }

    /// The access steps through the space's dimensions in their order.
    static bool keepsOrder(const Access& access, size_t dims) {
        if (access.index.size() != dims)
            return false;
        for (uint32_t d = 0; d < dims; ++d) {
            const auto& terms = access.index[d].terms;
            if (!terms.empty() && (terms.size() != 1 || terms[0] != IndexTerm{d, 1}))
                return false;
        }
        return true;
    }

    void seedEpilogue(const Step& step, const Epilogue& epilogue, size_t dims) {
        for (const Access& write : epilogue.writes)
            if (keepsOrder(write, dims))
                mark(step.outputs[write.operand], dims);
        for (const Access& read : epilogue.reads)
            if (keepsOrder(read, dims))
                mark(step.inputs[read.operand], dims);
    }

    void seed(const Step& step) {
        if (const auto* p = std::get_if<Contraction>(&step.program.code)) {
            if (p->kind == Contraction::Kind::MatMul)
                return;
            mark(step.inputs[p->a.operand], p->space.size());
            seedEpilogue(step, p->epilogue, p->space.size());
        } else if (const auto* w = std::get_if<Window>(&step.program.code)) {
            mark(step.inputs[w->operand], w->space.size());
            seedEpilogue(step, w->epilogue, w->space.size());
        }
    }

    /// Where products and rows put neighbours: what they write and read is best contiguous along
    /// their innermost dimension. Products count twice: no library has another form of them, while
    /// rows have kernels across rows and say nothing unless they are asked.
    void vote(const Step& step) {
        auto count = [&](uint32_t value, const Access& access, size_t dims, int weight) {
            const auto innermost = static_cast<uint32_t>(dims - 1);
            const size_t rank = access.index.size();
            for (size_t d = 1; rank >= 3 && d < rank; d += rank - 2)
                for (const IndexTerm& term : access.index[d].terms)
                    if (term == IndexTerm{innermost, 1})
                        m_votes[value] += d == 1 ? weight : -weight;
        };
        auto all = [&](const std::vector<uint32_t>& values, const std::vector<Access>& accesses,
                       size_t dims, int weight) {
            for (const Access& access : accesses)
                count(values[access.operand], access, dims, weight);
        };
        if (const auto* p = std::get_if<Contraction>(&step.program.code)) {
            if (p->kind != Contraction::Kind::MatMul)
                return;
            const size_t dims = p->space.size();
            count(step.inputs[p->a.operand], p->a, dims + p->k.size(), 2);
            all(step.inputs, p->epilogue.reads, dims, 2);
            all(step.outputs, p->epilogue.writes, dims, 2);
        } else if (const auto* row = std::get_if<Row>(&step.program.code);
                   row && m_choice.products) {
            const size_t dims = row->outer.size() + row->inner.size();
            all(step.inputs, row->reads, dims, 1);
            all(step.outputs, row->elementWrites, dims, 1);
        }
    }

    /// What goes through keeps the meaning of its dimensions, so their order in memory may stay.
    static bool keepsOrder(const KernelProgram& program) {
        if (const auto* p = std::get_if<Pointwise>(&program.code))
            return std::all_of(p->writes.begin(), p->writes.end(), [&](const Access& write) {
                return keepsOrder(write, p->space.size());
            });
        const auto* copy = std::get_if<Copy>(&program.code);
        return !copy ||
               std::all_of(copy->pieces.begin(), copy->pieces.end(), [](const auto& piece) {
                   const size_t dims = piece.space.size();
                   return keepsOrder(piece.write, dims) &&
                          (!piece.read || keepsOrder(*piece.read, dims));
               });
    }

    void spread(const Step& step) {
        bool moves = std::holds_alternative<Pointwise>(step.program.code) ||
                     std::holds_alternative<Copy>(step.program.code);
        if (std::holds_alternative<Library>(step.program.code))
            moves = m_choice.library && m_choice.library(step.program);
        if (!moves || !keepsOrder(step.program))
            return;
        for (uint32_t input : step.inputs) {
            size_t rank = m_plan.values[input].extents.size();
            if (!m_marked[input] || rank < 4)
                continue;
            // A product that reads the result needs its rows or columns contiguous.
            for (uint32_t output : step.outputs)
                if (m_choice.products || m_votes[output] >= 0)
                    mark(output, rank);
        }
    }

    Plan& m_plan;
    const LayoutChoice& m_choice;
    std::vector<bool> m_marked;
    std::vector<int> m_votes; ///< for channels innermost; below zero: against
};

} // namespace

void chooseChannelsLast(Plan& plan, const LayoutChoice& choice) {
    LayoutChooser(plan, choice).run();
}

} // namespace fuselage
