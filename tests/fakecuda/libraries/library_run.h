// SPDX-License-Identifier: Apache-2.0
// One request against a library's stand-in: every candidate is built, loaded, captured and launched
// twice, and what lies in device memory is compared with the program's evaluation.
#pragma once

#include "gpu/libs/library_sources.h"
#include "gpu/runtime/device.h"
#include "tests/fakecuda/fixture.h"
#include "tests/unit/gpu_libs_support.h"

#include <functional>

namespace fuselage::testing_gpu {

/// What became of the candidates.
struct SourceRun {
    std::vector<std::string> ran;   ///< names, all with right results
    std::vector<Reason> refused;    ///< before they were built
    std::vector<Error> failed;      ///< while they were built, loaded or added to the stream
    std::vector<TacticFacts> facts; ///< parallel to `ran`

    bool has(const std::string& piece) const;
    std::string text() const;
};

/// With the stand-ins of cuBLASLt and cuDNN.
class LibraryTest : public FakeCudaTest {
protected:
    using Make = std::function<Result<std::unique_ptr<TacticSource>>(Device&)>;

    void SetUp() override;
    void TearDown() override;

    /// All candidates of the source for the case.
    SourceRun runAll(const LibraryCase& of, double tolerance = 1e-5);

    Make m_make = [](Device& device) { return makeCudnnSource(device, {}); };
};

} // namespace fuselage::testing_gpu
