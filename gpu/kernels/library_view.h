// SPDX-License-Identifier: Apache-2.0
// The node of a Library program with its operands in the order of the operator's schema, as a
// kernel sees them. Each operator's kernel is one file; the table of variants names it.
#pragma once

#include "core/ops/reference_value.h"
#include "gpu/emit/emit_kernel.h"

#include <initializer_list>

namespace fuselage::gpu {

struct LibraryOperand {
    bool present = false;
    OperandLayout layout;
    std::string pointer; ///< "in0"; empty: a constant of the body, or an output that nobody reads
    TensorPtr contents;  ///< where they are known when the kernel is made

    explicit operator bool() const { return present; }
};

class LibraryView {
public:
    /// Refused when the node is none of `ops` or a type is not for kernels.
    static std::variant<LibraryView, Reason> make(const KernelRequest& request,
                                                  std::initializer_list<Op> ops);

    const Node& node() const { return *m_node; }

    const LibraryOperand& input(size_t i) const;
    const LibraryOperand& output(size_t i) const;

private:
    const Node* m_node = nullptr;
    std::vector<LibraryOperand> m_inputs, m_outputs;
};

/// Every offset into the operand fits 32 bits.
bool fitsInts(const OperandLayout& layout);

EmitResult emitCumulative(const KernelRequest& request);
EmitResult emitFloat8Linear(const KernelRequest& request);
EmitResult emitGather(const KernelRequest& request);
EmitResult emitGemvNibbles(const KernelRequest& request);
EmitResult emitRecurrence(const KernelRequest& request);
EmitResult emitResize(const KernelRequest& request);
EmitResult emitRecurrent(const KernelRequest& request);
EmitResult emitScatter(const KernelRequest& request);
EmitResult emitTopK(const KernelRequest& request);

} // namespace fuselage::gpu
