// SPDX-License-Identifier: Apache-2.0
// A small model from its text to outputs on the cuda backend, compared with the reference.
#pragma once

#include "core/plan/backend.h"
#include "gpu/backend/cuda_backend.h"

#include <memory>
#include <string>
#include <vector>

struct CudaRun {
    std::shared_ptr<const fuselage::Plan> plan;
    std::unique_ptr<fuselage::Backend> backend;
    std::unique_ptr<fuselage::Executable> executable;
    std::vector<fuselage::Tensor> inputs;
    std::vector<fuselage::ReferenceValue> expected;

    /// Tactic names of all steps, with spaces between.
    std::string tactics() const;
    /// Runs and compares; failures of the test name the output.
    fuselage::RunResult check(const fuselage::RunOptions& options = {});
};

/// One step of two layers, whose hidden value a kernel of chains keeps.
inline constexpr const char* twoLayers =
    "g (float16[300,32] x, float16[32] b) => (float16[300,32] y) {"
    " s = Constant<value=int64[2]{32,64}>() p = ConstantOfShape<value=float[1]{0.03}>(s)"
    " r = Constant<value=int64[2]{64,32}>() q = ConstantOfShape<value=float[1]{0.02}>(r)"
    " v = Cast<to=10>(p) w = Cast<to=10>(q) u = MatMul(x, v) h = Relu(u)"
    " m = MatMul(h, w) a = Add(m, b) y = Add(a, x) }";

/// The same behind a softmax of each row, which nobody else reads.
inline constexpr const char* twoLayersOfRows =
    "g (float16[300,32] z, float16[32] b) => (float16[300,32] y) {"
    " s = Constant<value=int64[2]{32,64}>() p = ConstantOfShape<value=float[1]{0.3}>(s)"
    " r = Constant<value=int64[2]{64,32}>() q = ConstantOfShape<value=float[1]{0.02}>(r)"
    " v = Cast<to=10>(p) w = Cast<to=10>(q) x = Softmax<axis=-1>(z) u = MatMul(x, v) h = Relu(u)"
    " m = MatMul(h, w) a = Add(m, b) y = Add(a, z) }";

/// Options for tests: choices are predicted, machine code is kept where the stand-in keeps it.
fuselage::gpu::CudaOptions testOptions();

/// Loads, fuses with the standard rules where asked, plans and prepares. The error is of the
/// backend; anything before it must work.
fuselage::Result<CudaRun> prepareOnCuda(const std::string& text, bool fused,
                                        const fuselage::gpu::CudaOptions& options);

/// The whole way, checked twice: the second run meets memory as the first one left it.
CudaRun runOnCuda(const std::string& text, bool fused,
                  const fuselage::gpu::CudaOptions& options = testOptions());
