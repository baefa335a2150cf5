// SPDX-License-Identifier: Apache-2.0
#include "app/batch/reduce/fault.h"

#include "core/onnx/model_file.h"
#include "core/support/file.h"
#include "core/support/hash.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::batch {

namespace {

using End = ChildResult::End;

/// As shells count: 128 and the signal.
int exitCodeOf(const ChildResult& result) {
    return result.end == End::Signalled ? 128 + result.code : result.code;
}

std::vector<std::string> commandFor(std::vector<std::string> words, const std::string& model) {
    bool named = false;
    for (std::string& word : words)
        for (size_t at = 0; (at = word.find("{}", at)) != std::string::npos; at += model.size()) {
            word.replace(at, 2, model);
            named = true;
        }
    if (!named)
        words.push_back(model);
    return words;
}

} // namespace

ChildResult Fault::run(const std::string& model) {
    ++m_runs;
    ChildTask task;
    task.arguments = commandFor(m_options.command, model);
    task.seconds = m_options.seconds;
    task.keepOutput = true;
    auto starting = [](size_t) { return true; };
    auto ended = [](size_t, const ChildResult&) {};
    return runChildren({task}, 1, m_progress, {starting, ended}).front();
}

bool Fault::matches(const ChildResult& result) const {
    if (!m_options.text.empty() && result.errors.find(m_options.text) == std::string::npos)
        return false;
    if (m_options.exitCode)
        return (result.end == End::Exited || result.end == End::Signalled) &&
               exitCodeOf(result) == *m_options.exitCode;
    if (m_first.end == End::NotStarted)
        return result.end != End::Exited || result.code != 0;
    return result.end == m_first.end && result.code == m_first.code;
}

Result<void> Fault::learn() {
    ChildResult first = run(m_options.model);
    if (m_progress.cancelled())
        return cancelledFailure("reduce");
    const std::string line = "the command `" + m_options.command.front() + "`";
    if (first.end == End::NotStarted)
        return failure("usage.reduce", line + " cannot be started: " + first.errors, "",
                       "write the program and its options behind `--`");
    const bool failed = first.end != End::Exited || first.code != 0 || m_options.exitCode;
    m_first.end = End::NotStarted;
    const bool found = failed && matches(first);
    m_first = std::move(first);
    if (!found)
        return failure("usage.reduce",
                       fmt::format("{} does not fail on the model as asked: {}", line, text()),
                       m_options.model,
                       "give a command that exits with another code than 0, or name what to look "
                       "for with --exit and --text");
    return {};
}

bool Fault::shows(const Graph& graph) {
    if (stopped())
        return false;
    auto bytes = model_io::toBytes(graph);
    if (!bytes)
        return false;
    const uint64_t hash = Hasher().text(*bytes).value();
    if (auto known = m_known.find(hash); known != m_known.end())
        return known->second;
    const std::string path = m_folder + "/candidate.onnx";
    if (!writeFile(*bytes, path))
        return false;
    const ChildResult result = run(path);
    if (result.end == End::Cancelled)
        return false;
    return m_known[hash] = matches(result);
}

std::string Fault::text() const {
    switch (m_first.end) {
    case End::Exited:
        return fmt::format("exit code {}", m_first.code);
    case End::Signalled:
        return fmt::format("signal {}", m_first.code);
    case End::Timeout:
        return fmt::format("no end after {:g} s", m_options.seconds);
    case End::NotStarted:
    case End::Cancelled:
        break;
    }
    return "it did not run";
}

} // namespace fuselage::batch
