// SPDX-License-Identifier: Apache-2.0
// An LtCall as cuBLASLt's descriptors, and the algorithms that its heuristics offer.
#pragma once

#include "gpu/libs/cublaslt_api.h"
#include "gpu/libs/cublaslt_call.h"

#include <variant>
#include <vector>

namespace fuselage::gpu::cublaslt {

/// The descriptors of one call; the bias' address is set before each use.
class Descriptors {
public:
    /// A Reason "support" with the library's words.
    static std::variant<Descriptors, Reason> make(const LibraryPtr& library, const LtCall& call);
    Descriptors(Descriptors&& other) noexcept;
    Descriptors& operator=(Descriptors&&) = delete;
    ~Descriptors();

    void setBias(const void* address);

    OperationDescriptor operation = nullptr;
    LayoutDescriptor a = nullptr, b = nullptr, c = nullptr, d = nullptr;

private:
    explicit Descriptors(LibraryPtr library) : m_library(std::move(library)) {}

    Status makeLayout(const LtMatrix& matrix, int64_t batch, LayoutDescriptor& out);

    LibraryPtr m_library;
};

/// An algorithm with the fields that name it.
struct Choice {
    Algorithm algorithm{};
    int64_t workspaceBytes = 0;
    uint32_t splitK = 1;
    std::string name; ///< "a66 tile 21 stages 24 split-k 2": stable between processes
};

/// The heuristics' list, best first, under the workspace limit. Sums are split only in ways that
/// keep float32 partial sums, unless approximations are allowed. A Reason when the list is empty.
std::variant<std::vector<Choice>, Reason> choices(const LibraryPtr& library, Handle handle,
                                                  const LtCall& call, Descriptors& descriptors,
                                                  int64_t workspaceLimit, NumericClass allowed);

} // namespace fuselage::gpu::cublaslt
