// SPDX-License-Identifier: Apache-2.0
// The programs that calibration measures, what each of them is limited by, and the fit of a
// profile to their times.
#pragma once

#include "core/cost/cost.h"
#include "core/kernel/layout_work.h"
#include "core/plan/plan.h"

#include <string>
#include <vector>

namespace fuselage::app {

/// Figure of a profile that a probe decides; Mixed probes only judge the fit.
enum class ProbeOf : uint8_t {
    Launch,
    Again, ///< a launch whose code and data are at hand, as those of a probe that is one step
    Fork,
    Dram,
    Cache,
    Wait,
    Issue,
    Tape,
    Reduce,
    Row,
    Window,
    Score,
    Run,
    Turn,
    Routine,
    LaneProduct,
    Epilogue,
    Matrix,
    Channels,
    Filter,
    Mixed
};

struct Probe {
    std::string name;
    ProbeOf of;
    std::string graph;        ///< ONNX text
    std::string weights = {}; ///< inputs that are constants, blank-separated
    /// Value whose step counts: the nodes are steps of their own, and what lies between steps has
    /// the layout that the backend likes. Empty: the graph is fused into one node.
    std::string step = {};
    TapeOp op = TapeOp::Exp; ///< of ProbeOf::Tape
};

const std::vector<Probe>& probes();

/// The graph with its weights bound, ready to be planned.
Result<Graph> probeGraph(const Probe& probe);

/// The step that counts; none when the probe is not one kernel.
std::optional<size_t> probeStep(const Probe& probe, const Plan& plan);

/// What fitting needs of a probe that was run.
struct MeasuredProbe {
    const Probe* probe = nullptr;
    KernelProgram program;
    LaidWork work;
    Traffic traffic; ///< of a run after a run; fitting changes no cache's size
    double seconds = 0;
};

/// A step that took this long, as it was planned for the caches of the profile.
MeasuredProbe measuredProbe(const Probe& probe, const Step& step, LaidWork work, double seconds);

TimeEstimate predict(const MeasuredProbe& probe, const DeviceProfile& profile);

/// The profile with its figures moved until each kind of probe is met on average, for the overlap
/// exponent that meets all of them best.
DeviceProfile fitProfile(DeviceProfile start, const std::vector<MeasuredProbe>& probes);

} // namespace fuselage::app
