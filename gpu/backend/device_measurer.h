// SPDX-License-Identifier: Apache-2.0
// Runs the candidates of one step on the device, for the tuner: operands in memory of their own
// with data that is not zero. Each is first compared with a judge, then timed in batches as
// captured graphs, so that the host's part is not measured. Where the plan's weights do not fit the
// device's second cache, a step finds its own there neither, and what it reads of other steps does:
// before each timed run the cache is filled with something else, then with those operands.
#pragma once

#include "core/plan/plan.h"
#include "gpu/runtime/clocks.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/output_check.h"
#include "gpu/tune/tune_steps.h"

#include <map>
#include <string>
#include <vector>

namespace fuselage::gpu {

class DeviceMeasurerSource final : public MeasurerSource {
public:
    /// `steps`: numbers of the plan's steps that may be measured; tasks are known by their names.
    /// `compiler` makes the kernel that compares; null: candidates run once and are not compared.
    DeviceMeasurerSource(const Plan& plan, const std::vector<size_t>& steps, Device& device,
                         const std::shared_ptr<CubinCache>& compiler);

    Result<std::unique_ptr<Measurer>> open(const TuneTask& task,
                                           const std::vector<Tactic*>& tactics) override;

private:
    const Plan& m_plan;
    Device& m_device;
    Clocks m_clocks;
    std::optional<OutputCheck> m_check;
    std::map<std::string, size_t> m_stepOfName;
};

/// Whether the step reads weights that a run of the plan never finds in a cache of that size.
bool readsColdWeights(const Plan& plan, const Step& step, int64_t cacheBytes);

} // namespace fuselage::gpu
