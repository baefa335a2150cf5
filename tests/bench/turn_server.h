// SPDX-License-Identifier: Apache-2.0
// A child process that measures one side of a comparison when it is told to, and is stopped while
// it is not: no thread that spins takes time from another side. Speaks lines of JSON; knows neither
// models nor tables.
#pragma once

#include "tests/support/process.h"

#include <nlohmann/json.hpp>

namespace fuselage::bench {

class TurnServer {
public:
    /// `limit`: seconds after which the process ends itself, for what is said of it then.
    TurnServer(testing_support::Process process, int limit)
        : m_process(std::move(process)), m_limit(limit) {}

    /// The next line. Errors: "bench.ended", "bench.failed" with the line's own words.
    Result<nlohmann::json> answer();

    /// Started, its first line taken and stopped; that line in `ready` where it is not null.
    static Result<TurnServer> start(Result<testing_support::Process> process, int limit,
                                    nlohmann::json* ready);

    void stop() const;

    /// Median milliseconds of one round of `side`.
    Result<double> round(const std::string& side, double seconds);

private:
    testing_support::Process m_process;
    int m_limit;
    size_t m_read = 0;
};

} // namespace fuselage::bench
