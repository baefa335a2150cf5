// SPDX-License-Identifier: Apache-2.0
// Two layers in one kernel: a block owns rows of both products and goes through the hidden columns
// in slices, whose sums become rows of the second product without leaving the registers of their
// lanes. What the kernels share: views of both products over the rows of the first one's A, the
// operands in the chain's numbers, both weights packed. A Row in front of the products is made of
// the first one's fragments, where they are.
#pragma once

#include "core/kernel/chain.h"
#include "gpu/kernels/contraction_epilogue.h"
#include "gpu/kernels/row_emitter.h"

#include <memory>
#include <optional>
#include <string>

namespace fuselage::gpu {

/// One of the two products over the chain's operands; the epilogue's text refers to the rest.
struct ChainMember {
    KernelProgram program; ///< with the chain's operands, and the hidden value behind them
    KernelRequest request; ///< of that program, with the chain's operands alone
    ContractionView view;
    std::optional<EpilogueText> epilogue;
};

/// How the first weight lies: the second one lies by hidden columns, each with all results.
enum class FirstWeight : uint8_t {
    ByColumns, ///< a row for each hidden column, all its terms
    ByTerms,   ///< a row for each term, all hidden columns
};

class ChainSpec {
public:
    /// Refused where the elements are not all of one 16-bit type, rows of A are not made of whole
    /// 16 bytes, or a weight is no constant matrix.
    static std::variant<std::unique_ptr<ChainSpec>, Reason> make(const KernelRequest& request,
                                                                 FirstWeight first);

    const KernelRequest& request() const { return m_request; }

    int64_t rows() const { return m_members[0].view.mCount; }
    int64_t terms() const { return m_members[0].view.kCount; }   ///< of the first product
    int64_t hidden() const { return m_members[0].view.nCount; }  ///< columns between the products
    int64_t results() const { return m_members[1].view.nCount; } ///< columns of the second one
    DType element() const { return m_members[0].view.a.dtype; }

    /// Eight neighbouring results of a row are one access.
    bool endsByEights() const;
    /// The row that the work on hidden columns is told: one that is there, if it reads anything.
    std::string hiddenRow(const std::string& m) const;

    /// Declares a0, a1 ... of row `m`, and where it begins.
    std::string splitRow(const std::string& m, const std::string& indent) const;
    std::string rowAddress() const;
    /// Statements that make the rows that are multiplied of those that were read: of `pieces` of 16
    /// rows, fragments `a` (chain_rows.h). Empty without a Row.
    std::string makeRows(int64_t pieces) const;
    /// A hidden element from its sum.
    std::string activate(const std::string& sum, const std::string& m, const std::string& n) const;
    /// Ends neighbouring results from their sums.
    std::string end(const std::string& sums, const std::string& m, const std::string& n) const;
    int endWidth() const { return m_members[1].epilogue->lanes().width; }

    /// Functions, numerics and parameters; the weights come as "packed0" and "packed1".
    KernelPart part() const;
    SetNeeds needs() const;

private:
    ChainSpec(const KernelRequest& request, FirstWeight first)
        : m_request(request), m_first(first) {}

    std::optional<Reason> build();
    std::optional<Reason> refuseTypes() const;
    std::optional<Reason> refuseRows() const;
    std::optional<Reason> buildRow(const KernelProgram& rows);
    std::optional<Reason> packWeight(size_t member);

    const KernelRequest& m_request;
    FirstWeight m_first;
    ChainMember m_members[2];
    std::optional<Access> m_read; ///< what a Row in front makes its rows of, as A of the first
    HeldRow m_row;
    std::optional<LoopNest> m_rows; ///< of A
    std::vector<PackedOperand> m_packed;
};

/// Bytes of shared memory that a block may have.
int64_t sharedOf(const KernelRequest& request);

/// Functions whose "@" begin with `prefix`, so that the same of another program stand beside them.
std::string ownNames(std::string text, const char* prefix);

/// A product's operands by the chain's numbers; what a member makes becomes `made`.
Contraction renumbered(const Chain& chain, size_t product, uint32_t made);

/// A row and one product of up to 8 rows, which each block makes for itself (gemv_row.cpp).
EmitResult emitGemvRow(const KernelRequest& request);
EmitResult emitChainWgmma(const KernelRequest& request);
EmitResult emitChainTensor(const KernelRequest& request);

} // namespace fuselage::gpu
