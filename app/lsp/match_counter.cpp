// SPDX-License-Identifier: Apache-2.0
#include "app/lsp/match_counter.h"

#include "app/pipeline/model.h"
#include "core/graph/bodies.h"
#include "core/rewrite/match_cache.h"

#include <fmt/format.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace fuselage::lsp {

namespace {

struct Job {
    uint64_t number = 0;
    std::vector<dsl::RuleInput> texts;
    dsl::ImportResolver resolver;
};

using Counts = std::map<std::string, uint64_t>;

/// The model, made ready for matching once, and what was found in it.
struct Subject {
    explicit Subject(Graph loaded)
        : graph(std::move(loaded)), facts(graph), convexity(graph, facts.order),
          cache(graph, facts, convexity, {}) {}

    Graph graph;
    GraphFacts facts;
    Convexity convexity;
    MatchCache cache;
};

/// The model and its bodies.
using Subjects = std::vector<std::unique_ptr<Subject>>;

Subjects subjectsOf(Graph model) {
    takeCapturedConstants(model);
    Subjects out;
    for (const BodyPlace& body : bodiesOf(model))
        out.push_back(std::make_unique<Subject>(body.graph->clone()));
    out.push_back(std::make_unique<Subject>(std::move(model)));
    return out;
}

/// Legal matches of each rule; nothing when `stop` became true.
std::optional<Counts> countMatches(Subjects& subjects, const Job& job, FunctionRef<bool()> stop) {
    SourceSet sources;
    const dsl::LoadedRules loaded = dsl::loadRules(sources, job.texts, job.resolver);
    Counts counts;
    for (const auto& subject : subjects) {
        const auto found = subject->cache.update(loaded.rules, stop);
        if (!found)
            return std::nullopt;
        for (const MatchCache::Entry* entry : *found)
            counts[entry->rule->name] += entry->found.matches.size();
    }
    return counts;
}

} // namespace

struct MatchCounter::State {
    std::string path;
    Progress progress;
    mutable std::mutex mutex;
    std::condition_variable wake;
    Job wanted;
    uint64_t counted = 0; ///< number of the job that `counts` belongs to
    Counts counts;
    std::string broken; ///< why the model cannot be used
    bool stop = false;
    std::thread thread; ///< last: starts when the rest is there

    void run();
};

void MatchCounter::State::run() {
    auto model = app::loadModel(path, {}, progress);
    if (!model) {
        const std::lock_guard lock(mutex);
        broken = model.error().text();
        return;
    }
    Subjects subjects = subjectsOf(std::move(model->graph));
    std::unique_lock lock(mutex);
    for (;;) {
        wake.wait(lock, [&] { return stop || wanted.number > counted; });
        if (stop)
            return;
        const Job job = wanted;
        lock.unlock();
        auto result = countMatches(subjects, job, [&] {
            const std::lock_guard inner(mutex);
            return stop || wanted.number > job.number;
        });
        lock.lock();
        if (result && wanted.number == job.number) {
            counts = std::move(*result);
            counted = job.number;
        }
    }
}

MatchCounter::MatchCounter(std::string modelPath) : m_state(std::make_unique<State>()) {
    m_state->path = std::move(modelPath);
    m_state->thread = std::thread([state = m_state.get()] { state->run(); });
}

MatchCounter::~MatchCounter() {
    m_state->progress.cancel();
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->stop = true;
    }
    m_state->wake.notify_all();
    m_state->thread.join();
}

void MatchCounter::update(std::vector<dsl::RuleInput> texts, dsl::ImportResolver resolver) {
    const std::lock_guard lock(m_state->mutex);
    m_state->wanted = {m_state->wanted.number + 1, std::move(texts), std::move(resolver)};
    m_state->wake.notify_all();
}

std::optional<uint64_t> MatchCounter::matches(const std::string& rule) const {
    const std::lock_guard lock(m_state->mutex);
    if (m_state->counted == 0 || m_state->counted < m_state->wanted.number)
        return std::nullopt;
    auto found = m_state->counts.find(rule);
    return found == m_state->counts.end() ? std::nullopt : std::optional(found->second);
}

std::string MatchCounter::describe(const std::string& rule) const {
    const std::string model = std::filesystem::path(m_state->path).filename().string();
    if (auto count = matches(rule))
        return fmt::format("{} {} on `{}`", *count, *count == 1 ? "match" : "matches", model);
    const std::lock_guard lock(m_state->mutex);
    if (!m_state->broken.empty())
        return fmt::format("no match count: {}", m_state->broken);
    if (m_state->counted > 0 && m_state->counted == m_state->wanted.number)
        return fmt::format("not counted on `{}`: the rule has mistakes or is replaced", model);
    return fmt::format("matches on `{}` are being counted", model);
}

} // namespace fuselage::lsp
