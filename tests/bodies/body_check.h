// SPDX-License-Identifier: Apache-2.0
// Sends a body through every way that it can run and compares each with the interpreter: alone node
// by node, with views, as one fused node, by the library's rules, and as its kernel program says.
#pragma once

#include "app/pipeline/compiled.h"
#include "tests/bodies/body_writer.h"

#include <string>

namespace fuselage::bodies {

struct CheckOptions {
    BackendKind backend = BackendKind::Cpu;
    int threads = 1;
    bool exact = false; ///< to the last bit
};

/// What goes wrong, "" when nothing does: the way, then what differs. Of bodies that ONNX does not
/// allow, which a shrunk one may be, it says nothing.
std::string problemOf(const Body& body, const CheckOptions& options);

} // namespace fuselage::bodies
