// SPDX-License-Identifier: Apache-2.0
// From the tactics of all steps of a plan to one built tactic each: looks into the timing cache,
// builds and measures what is unknown (once per key), builds what is chosen, and says why the rest
// was not. Without a device the choice is predicted and says so.
#pragma once

#include "core/cost/tactic_efficiency.h"
#include "gpu/emit/tactic.h"
#include "gpu/tune/trials.h"
#include "gpu/tune/tune_options.h"
#include "gpu/tune/tuner.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fuselage::gpu {

/// One step with everything that could compute it.
struct TuneTask {
    std::string step; ///< its name, for messages
    TacticKey key;
    NumericClass allowed = NumericClass::Reassociated;
    TimeEstimate predicted; ///< of the program, whatever computes it
    TacticList tactics;
    bool hostMayJudge = false; ///< small enough for the reference functions
    /// Of a candidate's name: what a run of it is predicted to take; where it is not said, what is
    /// predicted of the program by its share of the device's peaks.
    std::map<std::string, double> seconds = {};
};

/// Makes a Measurer for built tactics of one task: loads them, allocates operands.
class MeasurerSource {
public:
    virtual ~MeasurerSource() = default;
    /// The Measurer's candidate i is tactics[i]. A tactic that cannot be loaded fails in measure().
    virtual Result<std::unique_ptr<Measurer>> open(const TuneTask& task,
                                                   const std::vector<Tactic*>& tactics) = 0;
};

enum class ChoiceBasis : uint8_t { Measured, Cached, Predicted };

/// The tactic of one step, built but not loaded.
struct TunedStep {
    std::string step;
    std::unique_ptr<Tactic> tactic;
    ChoiceBasis basis = ChoiceBasis::Predicted;
    double microseconds = 0;     ///< median, or predicted
    TimingEntry candidates;      ///< all that is known of the key, or predicted
    std::vector<Reason> reasons; ///< what was refused or could not be built, by name of the tactic
};

struct TuneContext {
    TuneOptions options;
    MeasureRules rules;
    MeasurerSource* device = nullptr;     ///< null: no device, choices are predicted
    double overlap = 6;                   ///< of the device profile, for predictions
    std::atomic<size_t>* built = nullptr; ///< counts the candidates that are built
    int threads = 0;                      ///< that build tactics; 0: all of the machine
    TrialJournal* journal = nullptr;      ///< null: first runs are not written down
    /// A key was measured; the cache has it. Saves now and then, so that little is lost.
    std::function<void()> learned;
    /// A candidate took the device with it; the cache knows which. Called before anything of the
    /// device is given back: that waits for kernels that never end. May not return. Not called
    /// when the work was cancelled meanwhile.
    std::function<void(const Error&)> deviceGone;
};

/// Parallel to the tasks. New measurements are added to the cache (saving it is the caller's).
/// Errors: "tune.frozen" (step and key that the cache lacks), "tune.none" (nothing can compute a
/// step), "tune.fallback" (with --no-fallback), "cancelled", "device.lost", "device.hung".
Result<std::vector<TunedStep>> tuneSteps(std::vector<TuneTask> tasks, const TuneContext& context,
                                         TimingCache& cache, Progress& progress);

/// One line a step: name, tactic, microseconds, measured or predicted. Equal caches give equal
/// bytes, whether the measurement was made just now or long ago.
std::string describe(const std::vector<TunedStep>& steps);

} // namespace fuselage::gpu
