// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/reanalysis.h"

#include "app/pipeline/reanalysis_internal.h"
#include "core/support/text.h"

namespace fuselage::app {

namespace {

/// Of the profile the name: profiles of one name are equal while a program runs.
std::string optionsKey(const AnalysisOptions& options) {
    std::string out;
    appendSized(out, options.profile.name);
    appendSized(out, options.fuse.pipeline);
    appendSized(out, nameOf(options.fuse.decide));
    appendSized(out, nameOf(options.fuse.precision));
    out += options.fuse.strict ? 's' : '-';
    out += options.fuse.explain ? 'e' : '-';
    out += options.backend ? 'b' : '-';
    for (const auto& [symbol, value] : options.fuse.dims) {
        appendSized(out, symbol);
        out += std::to_string(value) + ";";
    }
    return out;
}

} // namespace

Reanalysis::Reanalysis() : m_cache(std::make_unique<AnalysisCache>()) {}

Reanalysis::~Reanalysis() = default;

Result<Analysis> Reanalysis::analyse(const LoadedModel& model, const RuleLibrary& library,
                                     const AnalysisOptions& options, Progress& progress) {
    std::lock_guard lock(m_running);
    if (progress.cancelled()) // while it waited
        return cancelledFailure("analysing");
    std::string key = optionsKey(options);
    if (key != m_cache->key)
        m_cache = std::make_unique<AnalysisCache>();
    m_cache->key = std::move(key);
    return app::analyse(model, library, options, *m_cache, progress);
}

size_t Reanalysis::reused() const {
    return m_cache->rewriting.reused();
}

} // namespace fuselage::app
