// SPDX-License-Identifier: Apache-2.0
// onnx's own parser of its text form, as every reader here calls it. Stays in this room.
#pragma once

#include "core/support/number_text.h"

#include <onnx/defs/parser.h>

#include <exception>
#include <string>

namespace fuselage::model_io {

/// What is wrong with the text; empty: `proto` has it. The parser takes numbers from functions that
/// go by the locale of the process: here they have a point in every one.
template <typename Proto> std::string parseProblem(Proto& proto, const std::string& text) {
    const PlainNumbers plain;
    try {
        const auto status = ::onnx::OnnxParser::Parse(proto, text.c_str());
        return status.IsOK() ? std::string() : status.ErrorMessage();
    } catch (const std::exception& thrown) { // a number out of range
        return std::string("a value cannot be read (") + thrown.what() + ")";
    }
}

} // namespace fuselage::model_io
