// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/turn_server.h"

#include "tests/bench/figures.h"

#include <fmt/format.h>

#include <csignal>

namespace fuselage::bench {

namespace {

using nlohmann::json;

std::string sentenceOf(const testing_support::ProcessResult& ended, int limit) {
    if (ended.exitCode == 128 + SIGALRM)
        return fmt::format("took longer than {} s", limit);
    if (ended.exitCode > 128)
        return fmt::format("ended by signal {}", ended.exitCode - 128);
    return fmt::format("exit code {}: {}", ended.exitCode,
                       ended.errors.substr(0, ended.errors.find('\n')));
}

} // namespace

Result<json> TurnServer::answer() {
    auto lineEnd = [&] { return m_process.soFar().output.find('\n', m_read); };
    if (!m_process.waitUntil([&](const auto&) { return lineEnd() != std::string::npos; }))
        return failure("bench.ended", sentenceOf(m_process.finish(), m_limit));
    const size_t end = lineEnd();
    json out = json::parse(m_process.soFar().output.substr(m_read, end - m_read), nullptr, false);
    m_read = end + 1;
    if (!out.is_object() || out.contains("error"))
        return failure("bench.failed",
                       out.is_object() ? out["error"].get<std::string>() : "no JSON was answered");
    return out;
}

Result<TurnServer> TurnServer::start(Result<testing_support::Process> process, int limit,
                                     json* ready) {
    if (!process)
        return failure(process.error());
    TurnServer out(std::move(*process), limit);
    auto line = out.answer();
    if (!line)
        return failure(line.error());
    out.stop();
    if (ready)
        *ready = std::move(*line);
    return out;
}

void TurnServer::stop() const {
    m_process.signal(SIGSTOP);
}

Result<double> TurnServer::round(const std::string& side, double seconds) {
    m_process.signal(SIGCONT);
    if (!m_process.write(fmt::format("{} {}\n", side, seconds)))
        return failure("bench.ended", sentenceOf(m_process.finish(), m_limit));
    auto line = answer();
    stop();
    if (!line)
        return failure(line.error());
    return median((*line)["seconds"].get<Rounds>()) * 1e3;
}

} // namespace fuselage::bench
