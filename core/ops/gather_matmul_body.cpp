// SPDX-License-Identifier: Apache-2.0
// GatherMatMul in ONNX's operators. Sizes that are not known are asked for when running.
#include "core/ops/gather_matmul.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace fuselage {

namespace {

Attributes with(const char* name, int64_t value) {
    Attributes out;
    out.set(name, value);
    return out;
}

class Body {
public:
    Body(const Graph& graph, const Node& node)
        : m_graph(graph), m_node(node), m_bits(node.attributes.integer("bits")),
          m_blockSize(node.attributes.integer("block_size")) {
        static const char* const names[] = {"x", "w", "index", "scales", "origins"};
        for (size_t i = 0; i < std::min(node.inputs.size(), std::size(names)); ++i) {
            const ValueId given = node.inputs[i];
            const ValueId input =
                m_body.addInput(names[i], given.valid() ? graph.value(given).type : Type());
            m_inputs.push_back(given.valid() ? input : ValueId());
        }
    }

    std::shared_ptr<const Graph> write(bool few) {
        m_index =
            add(Op::Cast, {input(GatherMatMulInput::Index)}, with("to", onnxNumber(DType::Int64)));
        m_body.addOutput(few ? multiplyChosen() : multiplyAll());
        return std::make_shared<const Graph>(std::move(m_body));
    }

private:
    ValueId input(GatherMatMulInput which) const {
        const auto i = static_cast<size_t>(which);
        return i < m_inputs.size() ? m_inputs[i] : ValueId();
    }

    const Type& typeOf(GatherMatMulInput which) const {
        return m_graph.value(m_node.inputs[static_cast<size_t>(which)]).type;
    }

    ValueId add(Op op, std::vector<ValueId> inputs, Attributes attributes = {}) {
        const NodeId node =
            m_body.addNode({op, "", std::move(inputs), {nameOf(op)}, std::move(attributes)});
        return m_body.node(node).outputs[0];
    }

    ValueId ints(const std::vector<int64_t>& values) {
        return m_body.addConstant("numbers",
                                  std::make_shared<const Tensor>(Tensor::ofInts(values)));
    }

    ValueId number(int64_t value) { return add(Op::Squeeze, {ints({value})}); }

    ValueId unsqueeze(ValueId x, int64_t axis) { return add(Op::Unsqueeze, {x, ints({axis})}); }

    ValueId reshape(ValueId x, const std::vector<int64_t>& extents) {
        return add(Op::Reshape, {x, ints(extents)});
    }

    ValueId transpose(ValueId x, const std::vector<int64_t>& perm) {
        Attributes attributes;
        attributes.set("perm", perm);
        return add(Op::Transpose, {x}, std::move(attributes));
    }

    /// One dimension, as [1].
    ValueId extent(ValueId of, int64_t axis) {
        Attributes attributes;
        attributes.set("start", axis);
        attributes.set("end", axis + 1);
        return add(Op::Shape, {of}, std::move(attributes));
    }

    /// 0, 1 ... below a dimension of [1].
    ValueId upTo(ValueId size) {
        return add(Op::Range, {number(0), add(Op::Squeeze, {size}), number(1)});
    }

    bool hasOwnRows() const {
        const auto& shape = typeOf(GatherMatMulInput::X).shape;
        return shape && shape->size() == 3;
    }

    /// What is stored in few bits as numbers of X's type, [., N, K].
    ValueId unpacked(ValueId w, ValueId scales, ValueId origins) {
        if (m_bits == 0 || !scales.valid())
            return w;
        const DType type = typeOf(GatherMatMulInput::X).dtype;
        const ValueId x = input(GatherMatMulInput::X);
        ValueId codes = add(Op::Cast, {w}, with("to", onnxNumber(type)));
        if (m_bits < byteBits)
            codes = digits(w, type);
        const ValueId k = extent(x, hasOwnRows() ? 2 : 1);
        if (m_blockSize != 0) {
            scales = spread(scales, k);
            origins = origins.valid() ? spread(origins, k) : origins;
        } else {
            scales = reshape(scales, {0, 0, 1});
            origins = origins.valid() ? reshape(origins, {0, 0, 1}) : origins;
        }
        const ValueId elements = add(Op::Slice, {codes, ints({0}), k, ints({2})});
        // Scales may be of another type; CastLike has no kernel everywhere.
        const auto asX = [&](ValueId value) {
            return add(Op::Cast, {value}, with("to", onnxNumber(type)));
        };
        const ValueId from = asX(origins.valid() ? origins : number(int64_t{1} << (m_bits - 1)));
        return add(Op::Mul, {add(Op::Sub, {elements, from}), asX(scales)});
    }

    /// The numbers in each byte, the lowest bits first.
    ValueId digits(ValueId bytes, DType type) {
        const auto bits = static_cast<int32_t>(m_bits);
        Attributes along = with("axis", 3);
        std::vector<ValueId> parts;
        const ValueId wide = add(Op::Cast, {bytes}, with("to", onnxNumber(DType::Int32)));
        const auto int32 = [&](int32_t value) {
            return add(Op::Cast, {number(value)}, with("to", onnxNumber(DType::Int32)));
        };
        ValueId rest = wide;
        for (int32_t taken = 0; taken < byteBits; taken += bits) {
            const ValueId radix = int32(1 << bits);
            const ValueId above = add(Op::Div, {rest, radix});
            const ValueId low = add(Op::Sub, {rest, add(Op::Mul, {above, radix})});
            parts.push_back(unsqueeze(low, 3));
            rest = above;
        }
        const ValueId all = add(Op::Concat, std::move(parts), std::move(along));
        return add(Op::Cast, {reshape(all, {0, 0, -1})}, with("to", onnxNumber(type)));
    }

    /// One of each block becomes one of each of `k` elements.
    ValueId spread(ValueId blocks, ValueId k) {
        const ValueId target =
            add(Op::Concat, {add(Op::Shape, {blocks}), ints({m_blockSize})}, with("axis", 0));
        const ValueId each = add(Op::Expand, {unsqueeze(blocks, 3), target});
        return add(Op::Slice, {reshape(each, {0, 0, -1}), ints({0}), k, ints({2})});
    }

    /// The matrices that are asked for, each as often as it is.
    ValueId multiplyChosen() {
        const ValueId flat = reshape(m_index, {-1});
        const auto taken = [&](GatherMatMulInput which) {
            return input(which).valid() ? add(Op::Gather, {input(which), flat}, with("axis", 0))
                                        : ValueId();
        };
        const ValueId w = unpacked(taken(GatherMatMulInput::W), taken(GatherMatMulInput::Scales),
                                   taken(GatherMatMulInput::Origins));
        const ValueId x = input(GatherMatMulInput::X);
        const ValueId k = extent(x, hasOwnRows() ? 2 : 1);
        ValueId rows = x;
        if (!hasOwnRows()) {
            const ValueId spreadTo =
                add(Op::Concat, {add(Op::Shape, {m_index}), k}, with("axis", 0));
            rows = add(Op::Expand, {unsqueeze(x, 1), spreadTo});
        }
        const ValueId each = add(Op::Reshape, {rows, behind({-1, 1}, k)});
        const ValueId y = add(Op::MatMul, {each, transpose(w, {0, 2, 1})});
        return add(
            Op::Reshape,
            {y, add(Op::Concat, {add(Op::Shape, {m_index}), extent(input(GatherMatMulInput::W), 1)},
                    with("axis", 0))});
    }

    /// Every matrix meets every row, and results are taken of those that were asked for.
    ValueId multiplyAll() {
        const ValueId w = unpacked(input(GatherMatMulInput::W), input(GatherMatMulInput::Scales),
                                   input(GatherMatMulInput::Origins));
        const ValueId x = input(GatherMatMulInput::X);
        const bool byToken = !hasOwnRows() || m_node.attributes.integer("distinct") != 0;
        const ValueId flatX = add(Op::Reshape, {x, behind({-1}, extent(x, hasOwnRows() ? 2 : 1))});
        const ValueId rows =
            byToken && hasOwnRows() ? rowsOfMatrices(flatX, extent(w, 0)) : unsqueeze(flatX, 0);
        const ValueId all = add(Op::MatMul, {rows, transpose(w, {0, 2, 1})}); // [E, rows, N]
        const ValueId count = extent(all, 1);
        const ValueId row = byToken ? unsqueeze(upTo(count), 1)
                                    : add(Op::Reshape, {upTo(count), add(Op::Shape, {m_index})});
        const ValueId place = add(Op::Add, {add(Op::Mul, {m_index, count}), row});
        const ValueId flat = add(Op::Reshape, {all, behind({-1}, extent(all, 2))});
        return add(Op::Gather, {flat, place}, with("axis", 0));
    }

    /// For each matrix and token the row that asks for it, [E, T, K]; where none does, one whose
    /// result nobody reads.
    ValueId rowsOfMatrices(ValueId flatX, ValueId matrices) {
        const ValueId asked =
            add(Op::Equal, {unsqueeze(m_index, 1), unsqueeze(upTo(matrices), 1)}); // [T, E, k]
        const ValueId one = add(Op::Cast, {asked}, with("to", onnxNumber(DType::Float32)));
        Attributes last = with("axis", 2);
        last.set("keepdims", int64_t{0});
        const ValueId which = add(Op::ArgMax, {one}, std::move(last));
        const ValueId first =
            add(Op::Mul, {unsqueeze(upTo(extent(m_index, 0)), 1), extent(m_index, 1)});
        const ValueId taken =
            add(Op::Gather, {flatX, add(Op::Add, {which, first})}, with("axis", 0));
        return transpose(taken, {1, 0, 2});
    }

    /// Sizes, and one more.
    ValueId behind(const std::vector<int64_t>& sizes, ValueId last) {
        return add(Op::Concat, {ints(sizes), last}, with("axis", 0));
    }

    static constexpr int32_t byteBits = 8;

    const Graph& m_graph;
    const Node& m_node;
    int64_t m_bits, m_blockSize;
    Graph m_body;
    std::vector<ValueId> m_inputs;
    ValueId m_index;
};

} // namespace

bool choosesFew(const Graph& graph, const Node& node) {
    const auto extentsOf = [&](GatherMatMulInput which) {
        return graph.value(node.inputs[static_cast<size_t>(which)]).type.extents();
    };
    const auto index = extentsOf(GatherMatMulInput::Index), w = extentsOf(GatherMatMulInput::W);
    const auto count = index ? elementCount(*index) : std::nullopt;
    return count && w && !w->empty() && *count < w->front();
}

std::shared_ptr<const Graph> gatherMatMulBody(const Graph& graph, const Node& node, bool few) {
    return Body(graph, node).write(few);
}

} // namespace fuselage
