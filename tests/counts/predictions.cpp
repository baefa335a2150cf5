// SPDX-License-Identifier: Apache-2.0
// What is predicted of the zoo's networks makes sense: fusion is never predicted to cost time, less
// precision neither.
#include "app/pipeline/analysis.h"
#include "app/zoo/zoo.h"
#include "core/passes/passes.h"
#include "tests/counts/checks.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

namespace fuselage::counts {

namespace {

const std::map<std::string, int64_t> batch{{"N", 32}};
/// Seconds; in less the Casts that a precision adds may cost more than it gains.
constexpr double castsCount = 200e-6;

struct Predicted {
    double before = 0, after = 0; ///< seconds
    std::string costly;           ///< fused nodes that are predicted to cost time
};

std::optional<Predicted> predict(const app::LoadedModel& model, const app::RuleLibrary& library,
                                 Precision precision, const DeviceProfile& profile) {
    Progress progress;
    app::AnalysisOptions options{{}, profile, nullptr};
    options.fuse.precision = precision;
    options.fuse.profile = profile.name;
    // On a GPU the library by itself must not cost time; on a CPU, where arithmetic weighs more,
    // what people get.
    if (profile.kind == DeviceKind::Gpu)
        options.fuse.decide = Decide::Rules;
    if (Graph bound = model.graph.clone(); bindDimensions(bound, batch))
        options.fuse.dims = batch;
    auto analysis = app::analyse(model, library, options, progress);
    if (!analysis) {
        fmt::print("  {}\n", analysis.error().text());
        return std::nullopt;
    }
    Predicted out{analysis->report.before.predictedSeconds, analysis->report.after.predictedSeconds,
                  ""};
    for (const app::MatchReport& match : analysis->report.matches)
        if (match.gain.value_or(0) < 0)
            out.costly +=
                fmt::format(" {} ({}) {:.2f} us", match.fusedNode, match.rule, -*match.gain * 1e6);
    return out;
}

} // namespace

int checkPredictions() {
    const app::RuleLibrary library = builtinRules();
    int wrong = 0;
    for (const zoo::ZooEntry& entry : zoo::models()) {
        Progress progress;
        auto graph = zoo::build(entry.name);
        if (!graph)
            return 1;
        app::LoadedModel model{entry.name, std::move(*graph), 0, {}};
        if (!prepareGraph(model.graph, progress))
            return 1;
        for (const char* device : {"t4", "h200", "cpu_avx512"}) {
            const auto profile = deviceProfile(device);
            if (!profile)
                return 1;
            double wider = 0; // fused, in the precision before
            for (Precision precision : {Precision::Fp32, Precision::Tf32, Precision::Fp16}) {
                const auto found = predict(model, library, precision, *profile);
                // Weights of 4 bits stay what they are: 16 bits add Casts alone.
                const bool narrows = entry.name != "llama_block_int4";
                const bool sound = found && found->after < found->before && found->costly.empty() &&
                                   (wider < castsCount || !narrows || found->after < wider * 1.01);
                fmt::print("{} {} {} {}: {:.1f} us unfused, {:.1f} us fused{}\n",
                           sound ? "ok    " : "FAILED", entry.name, device, nameOf(precision),
                           found ? found->before * 1e6 : 0, found ? found->after * 1e6 : 0,
                           found && !found->costly.empty() ? "; costly:" + found->costly : "");
                wrong += sound ? 0 : 1;
                wider = found ? found->after : 0;
            }
        }
    }
    return wrong;
}

} // namespace fuselage::counts
