// SPDX-License-Identifier: Apache-2.0
// Library programs that this backend computes itself instead of through the reference functions:
// one prepare function an operator, found in a table. Each family is one library_<family>.cpp.
#pragma once

#include "core/cpu/kernel.h"
#include "core/ops/reference_value.h"

#include <initializer_list>

namespace fuselage {
struct BlockedWeights;
}

namespace fuselage::cpu {

/// An input or output of a Library's node.
struct LibraryOperand {
    bool present = false;
    OperandLayout layout;
    int32_t slot = -1; ///< in Operands; negative: a constant of the body, or an unread output

    explicit operator bool() const { return present; }

    const std::byte* read(const Operands& operands) const {
        return slot < 0 ? layout.constant->bytes() : operands.inputs[static_cast<size_t>(slot)];
    }

    /// An element of an operand of int32 or int64.
    int64_t integerAt(const Operands& operands, size_t i) const;

    /// Where that element, an index, points to among `extent` elements, counted from the front;
    /// negative when it is outside of them.
    int64_t placeAt(const Operands& operands, size_t i, int64_t extent) const {
        const int64_t given = integerAt(operands, i), place = given < 0 ? given + extent : given;
        return place < extent ? place : -1;
    }

    /// Null when nothing reads the output.
    std::byte* write(const Operands& operands) const {
        return slot < 0 ? nullptr : operands.outputs[static_cast<size_t>(slot)];
    }
};

/// The node of a Library program with its operands in the order of the operator's schema; omitted
/// ones, also past the end, are not present.
class LibraryCall {
public:
    LibraryCall(const Node& node, const KernelProgram& whole, const PrepareContext& context);

    const Node& node() const { return m_node; }

    const PrepareContext& context() const { return m_context; }

    const LibraryOperand& input(size_t i) const;
    const LibraryOperand& output(size_t i) const;

    /// The axis attribute counted from the front; none when it is outside of input 0.
    std::optional<size_t> axis(int64_t fallback) const;

private:
    const Node& m_node;
    const PrepareContext& m_context;
    std::vector<LibraryOperand> m_inputs, m_outputs;
};

/// The longest dimension along which both are contiguous (or one element long); none: there is
/// none.
std::optional<size_t> rowDim(const OperandLayout& from, const OperandLayout& to);

/// What a run ends with when an index of `node` names none of `extent` elements.
Error indexOutside(const Node& node, int64_t index, int64_t extent);

/// What a reference function's own decisions read of a call: the contents of some operands, which
/// must be constants, and the types of all.
class ShapeOperands {
public:
    ShapeOperands(const LibraryCall& call, std::initializer_list<size_t> contents);
    ShapeOperands(const ShapeOperands&) = delete;
    ShapeOperands& operator=(const ShapeOperands&) = delete;

    std::vector<const ReferenceValue*> inputs; ///< null: omitted
    bool isKnown = true;                       ///< all of those are constants

private:
    std::vector<ReferenceValue> m_values;
};

/// How a scatter's updates meet what they find, element by element of one type.
using CombineFunction = void (*)(std::byte* into, const std::byte* updates, size_t count);

/// Null in a result where updates replace; a failure for types and reductions that are not known
/// here.
Result<CombineFunction> scatterReduction(const Node& node, DType type);

/// A failure is the reason why the reference function runs instead.
using PrepareLibrary = KernelResult (*)(const LibraryCall& call);

// Operands are row-major unless the table says otherwise.
KernelResult prepareDynamicQuantize(const LibraryCall& call); ///< one memory order, any dense one
/// From 8-bit floats and 4-bit integers, with a scale for the tensor or each index of an axis.
KernelResult prepareDequantizeStored(const LibraryCall& call);
KernelResult prepareQuantizeFloat8(const LibraryCall& call); ///< the other way, 8-bit floats only
KernelResult prepareQuantizedLstm(const LibraryCall& call);
KernelResult prepareBlockedWeights(const LibraryCall& call);
KernelResult prepareFloatWeights(const LibraryCall& call, const BlockedWeights& geometry);
KernelResult prepareCumulative(const LibraryCall& call);
KernelResult prepareDeform(const LibraryCall& call);  ///< DeformConv
KernelResult prepareFourier(const LibraryCall& call); ///< DFT
KernelResult prepareFrames(const LibraryCall& call);  ///< STFT
KernelResult prepareGather(const LibraryCall& call);
KernelResult prepareGatherElements(const LibraryCall& call);
KernelResult prepareGatherMatMul(const LibraryCall& call);
KernelResult prepareGatherND(const LibraryCall& call);
KernelResult prepareGridSample(const LibraryCall& call);
KernelResult prepareRecurrence(const LibraryCall& call); ///< LinearRecurrence
KernelResult prepareRecurrent(const LibraryCall& call);
KernelResult prepareScatter(const LibraryCall& call);
KernelResult prepareScatterND(const LibraryCall& call);
KernelResult prepareReverse(const LibraryCall& call); ///< ReverseSequence
KernelResult prepareRoiAlign(const LibraryCall& call);
KernelResult prepareTopK(const LibraryCall& call);
KernelResult prepareResize(const LibraryCall& call); ///< rows of input and result run along one dim

/// None when this backend has a routine for the node of a Library program.
std::optional<Reason> unsupportedLibrary(const Library& program, const KernelProgram& whole);

/// True when the routine is at its best with input and result in one memory order, whichever.
bool followsOrder(const Library& program, const KernelProgram& whole);

KernelResult prepareLibrary(const Library& program, const KernelProgram& whole,
                            const PrepareContext& context);

} // namespace fuselage::cpu
