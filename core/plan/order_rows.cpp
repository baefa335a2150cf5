// SPDX-License-Identifier: Apache-2.0
#include "core/plan/order_rows.h"

#include "core/kernel/layout_work.h"
#include "core/ops/tensor_index.h"
#include "core/plan/views.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace fuselage {

namespace {

using Dims = std::vector<uint32_t>;

constexpr uint32_t none = UINT32_MAX;

/// The iteration dims of a step that go over rows: the first `count` of `all`.
struct RowSpace {
    size_t count = 0, all = 0;
};

/// What a step reads or writes row by row.
struct RowOperand {
    uint32_t value = 0;
    const Access* access = nullptr;
};

struct RowStep {
    RowSpace space;
    std::vector<RowOperand> operands;
    bool isProduct = false;
};

/// An order of rows, outermost dim first, and how many of the products ask for it.
struct Vote {
    Dims order;
    int weight = 0;
};

class RowOrders {
public:
    explicit RowOrders(Plan& plan)
        : m_plan(plan), m_graph(*plan.graph), m_component(plan.values.size(), none),
          m_frame(plan.values.size()), m_writer(plan.values.size(), none),
          m_valueOf(plan.graph->valueBound(), none), m_stepOf(plan.graph->nodeBound(), none) {
        for (uint32_t i = 0; i < plan.values.size(); ++i)
            m_valueOf[plan.values[i].value.index()] = i;
        for (uint32_t i = 0; i < plan.steps.size(); ++i) {
            m_stepOf[plan.steps[i].node.index()] = i;
            for (uint32_t output : plan.steps[i].outputs)
                m_writer[output] = i;
            m_rows.push_back(rowsOf(plan.steps[i]));
        }
    }

    void run() {
        for (const RowStep& step : m_rows)
            if (step.isProduct)
                linkOperands(step);
        linkViews();
        m_votes.resize(m_members.size());
        m_decided.resize(m_members.size(), false);
        for (const RowStep& step : m_rows)
            if (step.isProduct)
                countFixed(step);
        for (uint32_t component = 0; component < m_members.size(); ++component)
            if (!m_votes[component].empty())
                decide(component);
        // What no product decides lies as the rows that it is made of or becomes.
        for (const RowStep& step : m_rows)
            if (!step.isProduct)
                countNeighbours(step);
        for (const RowStep& step : m_rows)
            if (step.isProduct)
                countResult(step);
        for (uint32_t component = 0; component < m_members.size(); ++component)
            if (!m_decided[component] && !m_votes[component].empty())
                decide(component);
    }

private:
    /// Nothing where rows are of one dim, or a dim has one position: there is nothing to order.
    static RowStep rowsOf(const Step& step) {
        RowStep out;
        const Extents* extents = nullptr;
        auto add = [&](const std::vector<uint32_t>& values, const Access& access) {
            out.operands.push_back({values[access.operand], &access});
        };
        auto all = [&](const std::vector<uint32_t>& values, const std::vector<Access>& accesses) {
            for (const Access& access : accesses)
                add(values, access);
        };
        if (const auto* p = std::get_if<Contraction>(&step.program.code)) {
            if (p->kind != Contraction::Kind::MatMul || p->batchDims != 0)
                return {};
            extents = &p->space;
            out.space = {p->mDims, p->space.size() + p->k.size()};
            out.isProduct = true;
            all(step.outputs, p->epilogue.writes);
            add(step.inputs, p->a);
            all(step.inputs, p->epilogue.reads);
        } else if (const auto* row = std::get_if<Row>(&step.program.code)) {
            extents = &row->outer;
            out.space = {row->outer.size(), row->outer.size() + row->inner.size()};
            all(step.inputs, row->reads);
            all(step.outputs, row->elementWrites);
        } else if (const auto* pointwise = std::get_if<Pointwise>(&step.program.code)) {
            if (pointwise->space.empty())
                return {};
            extents = &pointwise->space;
            out.space = {pointwise->space.size() - 1, pointwise->space.size()};
            all(step.inputs, pointwise->reads);
            all(step.outputs, pointwise->writes);
        } else {
            return {};
        }
        const auto end = extents->begin() + static_cast<ptrdiff_t>(out.space.count);
        if (out.space.count < 2 || std::find(extents->begin(), end, 1) != end)
            return {};
        return out;
    }

    /// Which row dim of the step each dim of the operand but the last is; none where they are not
    /// one to one.
    std::optional<Dims> dimsOf(const RowOperand& operand, const RowSpace& space) const {
        const Access& access = *operand.access;
        const PlanValue& value = m_plan.values[operand.value];
        if (access.index.size() != space.count + 1 || value.extents.size() != space.count + 1 ||
            value.residence == Residence::Constant || value.residence == Residence::Host)
            return std::nullopt;
        Dims out;
        for (size_t d = 0; d < space.count; ++d) {
            const DimIndex& index = access.index[d];
            if (index.offset != 0 || index.terms.size() != 1 || index.terms[0].scale != 1 ||
                index.terms[0].dim >= space.count)
                return std::nullopt;
            const uint32_t dim = index.terms[0].dim;
            if (std::find(out.begin(), out.end(), dim) != out.end())
                return std::nullopt;
            out.push_back(dim);
        }
        return out;
    }

    void makeMember(uint32_t value, size_t dims) {
        if (m_component[value] != none)
            return;
        m_component[value] = static_cast<uint32_t>(m_members.size());
        m_members.push_back({value});
        m_frame[value].resize(dims);
        std::iota(m_frame[value].begin(), m_frame[value].end(), 0);
    }

    /// Dim i of b goes over the same rows as dim same[i] of a.
    void link(uint32_t a, uint32_t b, const Dims& same) {
        const uint32_t into = m_component[a], from = m_component[b];
        if (into == from)
            return;
        Dims renamed(same.size());
        for (size_t i = 0; i < same.size(); ++i)
            renamed[m_frame[b][i]] = m_frame[a][same[i]];
        for (uint32_t member : m_members[from]) {
            for (uint32_t& dim : m_frame[member])
                dim = renamed[dim];
            m_component[member] = into;
            m_members[into].push_back(member);
        }
        m_members[from].clear();
    }

    void linkOperands(const RowStep& step) {
        std::optional<std::pair<uint32_t, Dims>> first;
        for (const RowOperand& operand : step.operands) {
            const auto dims = dimsOf(operand, step.space);
            if (!dims)
                continue;
            makeMember(operand.value, dims->size());
            if (!first) {
                first = {operand.value, *dims};
                continue;
            }
            Dims same;
            for (uint32_t dim : *dims)
                same.push_back(static_cast<uint32_t>(
                    std::find(first->second.begin(), first->second.end(), dim) -
                    first->second.begin()));
            link(first->first, operand.value, same);
        }
    }

    /// A node that is only a view: no step computes it.
    bool isView(NodeId node) const {
        return m_stepOf[node.index()] == none &&
               mayBeView(m_graph, m_graph.node(node), ViewKinds::Strided);
    }

    /// Dims of the operand of a view of whole rows, by dims of its result.
    std::optional<Dims> movedDims(const Node& node, size_t rank) const {
        std::vector<size_t> order(rank);
        std::iota(order.begin(), order.end(), 0);
        if (node.op == Op::Transpose) {
            const auto given = normalizedAxes(node.attributes.integers("perm"), rank);
            if (!given || given->size() != rank || given->back() != rank - 1)
                return std::nullopt;
            order = *given;
        } else if (node.op != Op::Slice && node.op != Op::Split) {
            return std::nullopt;
        }
        return Dims(order.begin(), order.end() - 1);
    }

    /// What views of rows are views of joins them.
    void linkViews() {
        std::vector<uint32_t> open;
        for (const auto& members : m_members)
            open.insert(open.end(), members.begin(), members.end());
        while (!open.empty()) {
            const uint32_t value = open.back();
            open.pop_back();
            const NodeId producer = m_graph.producer(m_plan.values[value].value);
            if (!producer.valid() || !isView(producer))
                continue;
            const Node& node = m_graph.node(producer);
            const uint32_t operand = m_valueOf[node.inputs[0].index()];
            const Extents &whole = m_plan.values[operand].extents,
                          &part = m_plan.values[value].extents;
            const auto dims = movedDims(node, part.size());
            if (!dims || whole.size() != part.size())
                continue;
            bool rowsAreWhole = true;
            for (size_t d = 0; d < dims->size(); ++d)
                rowsAreWhole = rowsAreWhole && part[d] == whole[(*dims)[d]];
            if (!rowsAreWhole)
                continue;
            const bool isNew = m_component[operand] == none;
            makeMember(operand, dims->size());
            link(operand, value, *dims);
            if (isNew)
                open.push_back(operand);
        }
    }

    /// Whether the step goes along the last dim of the value as its own innermost one.
    bool goesAlongRows(const Step& step, uint32_t value) const {
        if (std::holds_alternative<Attention>(step.program.code))
            return true;
        if (const auto* p = std::get_if<Contraction>(&step.program.code))
            return p->kind == Contraction::Kind::MatMul;
        const RowStep& rows = m_rows[m_stepOf[step.node.index()]];
        if (rows.operands.empty())
            return false;
        const IndexTerm innermost{static_cast<uint32_t>(rows.space.all - 1), 1};
        return std::all_of(rows.operands.begin(), rows.operands.end(),
                           [&](const RowOperand& operand) {
                               const auto& index = operand.access->index;
                               return operand.value != value ||
                                      (!index.empty() && index.back().terms.size() == 1 &&
                                       index.back().terms[0] == innermost);
                           });
    }

    /// A step writes it, in the model's order so far, and nobody wants it in that.
    bool isFree(uint32_t index) const {
        const PlanValue& value = m_plan.values[index];
        if (value.residence != Residence::Arena || m_writer[index] == none ||
            value.strides != rowMajorStrides(value.extents) ||
            !goesAlongRows(m_plan.steps[m_writer[index]], index))
            return false;
        const std::vector<Use>& uses = m_graph.value(value.value).uses;
        return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
            const uint32_t step = m_stepOf[use.node.index()];
            return step == none ? isView(use.node) : goesAlongRows(m_plan.steps[step], index);
        });
    }

    /// What a member is a view of, or itself.
    uint32_t baseOf(uint32_t value) const {
        while (true) {
            const NodeId producer = m_graph.producer(m_plan.values[value].value);
            if (!producer.valid() || !isView(producer))
                return value;
            const uint32_t operand = m_valueOf[m_graph.node(producer).inputs[0].index()];
            if (m_component[operand] != m_component[value])
                return value;
            value = operand;
        }
    }

    static void add(std::vector<Vote>& votes, const Dims& order) {
        for (Vote& vote : votes)
            if (vote.order == order) {
                ++vote.weight;
                return;
            }
        votes.push_back({order, 1});
    }

    /// Dims from the outermost one in memory on; none where neighbours lie on each other.
    static std::optional<Dims> nesting(const Extents& strides) {
        Dims out(strides.size());
        std::iota(out.begin(), out.end(), 0);
        if (std::find(strides.begin(), strides.end(), 0) != strides.end())
            return std::nullopt;
        std::stable_sort(out.begin(), out.end(), [&](uint32_t a, uint32_t b) {
            return std::abs(strides[a]) > std::abs(strides[b]);
        });
        return out;
    }

    /// The row dims of a step as the operand's memory has them, outermost first.
    std::optional<Dims> orderIn(const RowOperand& operand, const RowSpace& space) const {
        const PlanValue& value = m_plan.values[operand.value];
        if (value.residence == Residence::Host || value.strides.size() != value.extents.size())
            return std::nullopt;
        const Extents all = strided(*operand.access, value.strides, space.all).strides;
        return nesting(Extents(all.begin(), all.begin() + static_cast<ptrdiff_t>(space.count)));
    }

    /// The component whose rows the step goes over, and its dims by the step's.
    struct Joined {
        uint32_t component = none;
        Dims frame;
    };

    Joined joinedBy(const RowStep& step, const RowOperand& operand) const {
        const auto dims = dimsOf(operand, step.space);
        if (!dims || m_component[operand.value] == none)
            return {};
        Joined out{m_component[operand.value], Dims(dims->size())};
        for (size_t d = 0; d < dims->size(); ++d)
            out.frame[(*dims)[d]] = m_frame[operand.value][d];
        return out;
    }

    static Dims throughFrame(const Dims& order, const Joined& joined) {
        Dims out;
        for (uint32_t dim : order)
            out.push_back(joined.frame[dim]);
        return out;
    }

    Joined joinedBy(const RowStep& step) const {
        for (const RowOperand& operand : step.operands)
            if (Joined joined = joinedBy(step, operand); joined.component != none)
                return joined;
        return {};
    }

    /// Operands of a product that cannot move ask the others to lie like them.
    void countFixed(const RowStep& step) {
        const Joined joined = joinedBy(step);
        if (joined.component == none)
            return;
        for (const RowOperand& operand : step.operands) {
            const bool isMember = m_component[operand.value] == joined.component;
            const uint32_t base = isMember ? baseOf(operand.value) : operand.value;
            if (isMember && isFree(base))
                continue;
            std::optional<Dims> order;
            if (isMember && base != operand.value) {
                order = nesting(rowStrides(base));
                for (uint32_t& dim : *order)
                    dim = m_frame[base][dim];
            } else if (order = orderIn(operand, step.space); order) {
                order = throughFrame(*order, joined);
            }
            if (order)
                add(m_votes[joined.component], *order);
        }
    }

    /// Of all dims but the last.
    Extents rowStrides(uint32_t value) const {
        const Extents& strides = m_plan.values[value].strides;
        return {strides.begin(), strides.end() - 1};
    }

    /// Normalisations and elementwise work go along memory where both sides have one order.
    void countNeighbours(const RowStep& step) {
        for (const RowOperand& operand : step.operands) {
            const Joined joined = joinedBy(step, operand);
            if (joined.component == none || m_decided[joined.component])
                continue;
            for (const RowOperand& other : step.operands)
                if (m_component[other.value] != joined.component)
                    if (const auto order = orderIn(other, step.space))
                        add(m_votes[joined.component], throughFrame(*order, joined));
        }
    }

    /// With nothing to go by, rows lie as the first product writes them.
    void countResult(const RowStep& step) {
        const Joined joined = joinedBy(step);
        if (joined.component == none || m_decided[joined.component] ||
            !m_votes[joined.component].empty())
            return;
        if (const auto order = orderIn(step.operands[0], step.space))
            add(m_votes[joined.component], throughFrame(*order, joined));
    }

    Extents stridesOf(uint32_t value, const Dims& order) const {
        const Extents& extents = m_plan.values[value].extents;
        const Dims& frame = m_frame[value];
        Extents out(extents.size(), 1);
        int64_t stride = extents.back();
        for (size_t i = order.size(); i-- > 0;) {
            const auto dim = static_cast<size_t>(std::find(frame.begin(), frame.end(), order[i]) -
                                                 frame.begin());
            out[dim] = stride;
            stride *= extents[dim];
        }
        return out;
    }

    /// Whether what is a view of the value in the model's order is one in these strides too.
    bool viewsStay(ValueId id, const ViewOf& model, const ViewOf& moved) const {
        for (const Use& use : m_graph.value(id).uses) {
            if (!isView(use.node))
                continue;
            const Node& node = m_graph.node(use.node);
            for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
                const ValueId result = node.outputs[slot];
                if (!result.valid())
                    continue;
                const auto before = viewOf(m_graph, node, slot, model, ViewKinds::Strided);
                const auto after = viewOf(m_graph, node, slot, moved, ViewKinds::Strided);
                if (m_graph.isGraphOutput(result)) {
                    if (!after ||
                        !sameOrder(after->extents, after->strides, rowMajorStrides(after->extents)))
                        return false;
                } else if (before && (!after || !viewsStay(result, *before, *after))) {
                    return false;
                }
            }
        }
        return true;
    }

    void decide(uint32_t component) {
        m_decided[component] = true;
        const std::vector<Vote>& votes = m_votes[component];
        const Vote& best =
            *std::max_element(votes.begin(), votes.end(), [](const Vote& a, const Vote& b) {
                return a.weight < b.weight; // of equals the first
            });
        std::vector<std::pair<uint32_t, Extents>> moved;
        for (uint32_t member : m_members[component]) {
            if (!isFree(member))
                continue;
            const PlanValue& value = m_plan.values[member];
            Extents strides = stridesOf(member, best.order);
            if (strides != value.strides &&
                !viewsStay(value.value, {0, value.extents, value.strides},
                           {0, value.extents, strides}))
                return;
            moved.emplace_back(member, std::move(strides));
        }
        for (auto& [member, strides] : moved)
            m_plan.values[member].strides = std::move(strides);
    }

    Plan& m_plan;
    const Graph& m_graph;
    std::vector<RowStep> m_rows; ///< parallel to the steps
    /// Values whose rows are best in one order of memory, by component; its dims have numbers of
    /// their own, which `m_frame` gives for each dim of a member but the last.
    std::vector<uint32_t> m_component;
    std::vector<Dims> m_frame;
    std::vector<std::vector<uint32_t>> m_members;
    std::vector<std::vector<Vote>> m_votes;
    std::vector<bool> m_decided;
    std::vector<uint32_t> m_writer;  ///< steps, by value
    std::vector<uint32_t> m_valueOf; ///< by ValueId
    std::vector<uint32_t> m_stepOf;  ///< by NodeId
};

} // namespace

void orderRows(Plan& plan) {
    RowOrders(plan).run();
}

} // namespace fuselage
