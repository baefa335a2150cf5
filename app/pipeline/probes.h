// SPDX-License-Identifier: Apache-2.0
// The programs that calibration measures, and what each of them is limited by.
#pragma once

#include "core/cost/cost.h"
#include "core/kernel/program.h"
#include "core/plan/plan.h"

#include <span>
#include <string>
#include <vector>

namespace fuselage::app {

/// Figure of a profile that a probe decides; Mixed probes only judge the fit.
enum class ProbeOf : uint8_t { Launch, Dram, Cache, Issue, Matrix, Filter, Mixed };

struct Probe {
    const char* name;
    ProbeOf of;
    /// ONNX text, fused into one node. For Matrix and Filter the nodes are steps of their own and
    /// the product is what counts: values between steps have the layout that the backend likes.
    const char* graph;
    const char* weights; ///< inputs that are constants, blank-separated
};

std::span<const Probe> probes();

/// The graph with its weights bound, ready to be planned.
Result<Graph> probeGraph(const Probe& probe);

/// The step that counts; none when the probe is not one kernel.
std::optional<size_t> probeStep(const Probe& probe, const Plan& plan);

/// What fitting needs of a probe that was run.
struct MeasuredProbe {
    const Probe* probe = nullptr;
    KernelProgram program;
    Work work;
    Traffic traffic; ///< of a run after a run; fitting changes no cache's size
    double seconds = 0;
};

/// A probe that took this long on a device with the caches of this profile.
MeasuredProbe measuredProbe(const Probe& probe, KernelProgram program, const DeviceProfile& profile,
                            double seconds);

/// Prediction of a probe that runs again and again.
TimeEstimate predict(const MeasuredProbe& probe, const DeviceProfile& profile);

/// The profile with its figures moved until each kind of probe is met on average, for the overlap
/// exponent that meets all of them best.
DeviceProfile fitProfile(DeviceProfile start, const std::vector<MeasuredProbe>& probes);

} // namespace fuselage::app
