// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/tune_work.h"

#include "gpu/tune/left_out.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// Why it is left out, or a part of it is.
std::optional<Reason> whyNotOffered(const Tactic& tactic, const std::string& name,
                                    const std::vector<std::string>& without,
                                    const std::set<std::string, std::less<>>& condemned) {
    if (auto why = whyLeftOut(name, tactic.kernels() != nullptr, without, condemned))
        return why;
    for (const Tactic* part : tactic.parts()) {
        auto why =
            part == &tactic ? std::nullopt : whyNotOffered(*part, part->name(), without, condemned);
        if (why) {
            why->message = name + ": " + why->message;
            why->facts = {{"tactic", name}};
            return why;
        }
    }
    return std::nullopt;
}

} // namespace

bool isPlain(const Tactic& tactic) {
    const std::vector<const Tactic*> parts = tactic.parts();
    return std::all_of(parts.begin(), parts.end(), [](const Tactic* part) {
        return part->kernels() != nullptr && part->facts().plain;
    });
}

TuneWork tuneWorkOf(TuneTask task, const std::vector<std::string>& without,
                    const std::set<std::string, std::less<>>& condemned) {
    TuneWork out;
    out.task = std::move(task);
    out.reasons = std::move(out.task.tactics.refused);
    for (std::unique_ptr<Tactic>& tactic : out.task.tactics.candidates) {
        std::string name = tactic->name();
        if (auto why = whyNotOffered(*tactic, name, without, condemned)) {
            out.reasons.push_back(std::move(*why));
            out.leftOut.insert(std::move(name));
            continue;
        }
        const bool plain = isPlain(*tactic);
        out.candidates.push_back({std::move(tactic), std::move(name), plain, false, {}});
    }
    out.task.tactics = {};
    std::sort(out.candidates.begin(), out.candidates.end(),
              [](const OfferedTactic& a, const OfferedTactic& b) { return a.name < b.name; });
    return out;
}

Reason reasonOf(const CandidateRecord& record) {
    const char* flip = record.refused == "workspace" ? "raise --workspace"
                       : isPutOff(record)            ? "measure all with --tune, or bench"
                                                     : "";
    return {record.refused, record.name + ": " + record.why, flip, {{"tactic", record.name}}};
}

CandidateRecord failedBuild(const OfferedTactic& candidate) {
    CandidateRecord out;
    out.name = candidate.name;
    out.refused = candidate.failed->code;
    out.why = candidate.failed->text();
    return out;
}

Error gone(const TuneWork& work, const TuneOutcome& outcome) {
    Error out = *outcome.deviceGone;
    out.where = fmt::format("{}, candidate `{}`", work.task.step, outcome.entry.front().name);
    return out;
}

} // namespace fuselage::gpu
