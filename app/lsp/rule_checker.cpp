// SPDX-License-Identifier: Apache-2.0
#include "app/lsp/rule_checker.h"

#include "app/pipeline/lint/lint.h"
#include "app/pipeline/prove/proof_diagnostics.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace fuselage::lsp {

namespace {

struct Job {
    std::vector<dsl::RuleInput> texts;
    dsl::ImportResolver resolver;
};

/// The rule's text with its file: what a verdict is kept for.
std::string keyOf(const SourceSet& sources, const Rule& rule) {
    const Source& source = sources[rule.span.source];
    const std::string& text = source.text();
    size_t end = text.find("\nrule ", rule.span.end);
    return source.name() + "\n" +
           text.substr(rule.span.begin, end == std::string::npos ? end : end - rule.span.begin);
}

} // namespace

struct RuleChecker::State {
    mutable std::mutex mutex;
    std::condition_variable wake;
    std::map<std::string, Job> wanted; ///< by group
    std::map<std::string, std::shared_ptr<const CheckedRules>> done;
    std::map<std::string, app::RuleProof> known; ///< by the rule's text; only the thread's
    bool isWorking = false, stop = false;
    std::shared_ptr<Progress> progress;
    std::string group; ///< that is being checked
    std::thread thread;

    void run();
    std::shared_ptr<const CheckedRules> check(const Job& job, Progress& work);
};

std::shared_ptr<const CheckedRules> RuleChecker::State::check(const Job& job, Progress& work) {
    app::RuleLibrary library;
    library.loaded = dsl::loadRules(*library.sources, job.texts, job.resolver);
    auto out = std::make_shared<CheckedRules>();
    for (const dsl::RuleInput& text : job.texts)
        library.files.push_back(text.name);
    auto linted = app::lintRules(library, {}, work);
    if (!linted)
        return nullptr;
    for (const Diagnostic& diagnostic : linted->all())
        if (diagnostic.code != "W0502") // tests come last
            out->diagnostics.add(diagnostic.severity, "", {}, "") = diagnostic;
    for (const Rule& rule : library.loaded.rules.rules) {
        const bool isOwn = std::any_of(library.files.begin(), library.files.end(),
                                       [&](const auto& file) { return file == rule.file; });
        if (!isOwn)
            continue;
        const std::string key = keyOf(*library.sources, rule);
        auto proof = known.find(key);
        if (proof == known.end()) {
            app::RuleProof made = app::proveRule(rule, {}, work);
            if (work.cancelled())
                return nullptr;
            proof = known.emplace(key, std::move(made)).first;
        }
        app::RuleProof placed = proof->second;
        placed.span = rule.span;
        app::addProof(placed, out->diagnostics);
        out->verdicts[rule.name] = app::verdictText(placed);
    }
    out->sources = std::move(library.sources);
    return out;
}

void RuleChecker::State::run() {
    std::unique_lock lock(mutex);
    for (;;) {
        wake.wait(lock, [&] { return stop || !wanted.empty(); });
        if (stop)
            return;
        auto first = wanted.extract(wanted.begin());
        group = first.key();
        auto work = std::make_shared<Progress>();
        progress = work;
        isWorking = true;
        lock.unlock();
        auto found = check(first.mapped(), *work);
        lock.lock();
        isWorking = false;
        if (found && !wanted.contains(first.key()))
            done[first.key()] = std::move(found);
    }
}

RuleChecker::RuleChecker() : m_state(std::make_unique<State>()) {
    m_state->thread = std::thread([state = m_state.get()] { state->run(); });
}

RuleChecker::~RuleChecker() {
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->stop = true;
        if (m_state->progress)
            m_state->progress->cancel();
    }
    m_state->wake.notify_all();
    m_state->thread.join();
}

void RuleChecker::update(const std::string& group, std::vector<dsl::RuleInput> texts,
                         dsl::ImportResolver resolver) {
    const std::lock_guard lock(m_state->mutex);
    m_state->wanted[group] = {std::move(texts), std::move(resolver)};
    m_state->done.erase(group);
    if (m_state->isWorking && m_state->group == group)
        m_state->progress->cancel();
    m_state->wake.notify_all();
}

bool RuleChecker::isBusy() const {
    const std::lock_guard lock(m_state->mutex);
    return m_state->isWorking || !m_state->wanted.empty() || !m_state->done.empty();
}

std::optional<std::pair<std::string, std::shared_ptr<const CheckedRules>>> RuleChecker::take() {
    const std::lock_guard lock(m_state->mutex);
    if (m_state->done.empty())
        return std::nullopt;
    auto first = m_state->done.extract(m_state->done.begin());
    return std::pair(first.key(), std::move(first.mapped()));
}

} // namespace fuselage::lsp
