// SPDX-License-Identifier: Apache-2.0
// Our side of the strangers' table as a process of its own: what crashes or takes too long is a row
// of the table and not its end. Speaks JSON, a line each; knows nothing of tables.
#pragma once

#include "tests/strangers/cases.h"

namespace fuselage::bench {

struct ServerOptions {
    strangers::Case stranger;
    std::string folder; ///< where ONNX Runtime's job is written
    int threads = 2;
    unsigned limit = 0; ///< seconds until it ends itself; 0: none
};

/// Both plans prepared as `bench` does. Prints {"ready": JOB FILE, "fallbacks": [of the fused side,
/// of the unfused one]}, then takes lines "fused SECONDS" and "unfused SECONDS" of its input: runs
/// that side so long, at least once, and prints {"seconds": [...]}. {"error": TEXT} and exit code 1
/// when something fails.
int serveStranger(const ServerOptions& options);

/// Prints {"seconds": [s]}: from opening the file to the fused model's first results.
int firstOfStranger(const ServerOptions& options);

} // namespace fuselage::bench
