// SPDX-License-Identifier: Apache-2.0
// Steps whose shapes depend on data: once the inputs of a run are there, their shapes are known, so
// the body can be lowered and prepared like any other. Worth it where there is much to compute or
// to read, and where the same shapes come again. What only takes elements is copied at once.
#pragma once

#include "core/cpu/kernel.h"
#include "core/plan/plan.h"

#include <map>
#include <tuple>

namespace fuselage::cpu {

class DynamicStep {
public:
    /// constants: per input of the step, null where it varies.
    DynamicStep(std::shared_ptr<const Graph> body, std::vector<TensorPtr> constants, int threads);
    ~DynamicStep();

    /// The outputs, or none when the reference function is the better way for these inputs.
    std::optional<Result<std::vector<Tensor>>> run(const std::vector<Tensor>& inputs,
                                                   NumericClass allowed);

    /// The kernel of the last run; null when it was the reference function or a copy.
    const Kernel* kernel() const { return m_kernel; }

private:
    struct Prepared;

    /// What the inputs are, as far as the results' shapes depend on it.
    struct Key {
        std::vector<std::pair<DType, Extents>> shapes;
        std::vector<int64_t> elements; ///< of inputs that say shapes

        bool operator<(const Key& other) const {
            return std::tie(elements, shapes) < std::tie(other.elements, other.shapes);
        }
    };

    std::optional<Tensor> taken(const std::vector<Tensor>& inputs) const;
    Key keyOf(const std::vector<Tensor>& inputs) const;
    std::shared_ptr<const Graph> specialised(const std::vector<Tensor>& inputs) const;
    Prepared& preparedFor(const std::vector<Tensor>& inputs, NumericClass allowed);
    PrepareContext contextOf(const KernelProgram& program, NumericClass allowed) const;
    std::optional<KernelProgram> programFor(std::shared_ptr<const Graph> body,
                                            NumericClass allowed) const;
    void settle(Prepared& prepared, const std::vector<Tensor>& inputs, size_t bytes,
                NumericClass allowed) const;

    std::shared_ptr<const Graph> m_body;
    std::vector<TensorPtr> m_constants;
    int m_threadCount;
    std::shared_ptr<SharedPages> m_weights;
    std::unique_ptr<Threads> m_threads; ///< with the memory of the kernels
    std::vector<size_t> m_givers; ///< inputs whose elements say shapes, if they are a few integers
    std::map<Key, Prepared> m_prepared;
    const Kernel* m_kernel = nullptr;
};

} // namespace fuselage::cpu
