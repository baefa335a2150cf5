// SPDX-License-Identifier: Apache-2.0
// Operators that are written in terms of others: resources/operators/bodies*.txt, whose notation
// resources/README.md has. Says what one call of such an operator stands for, as a function in
// ONNX's textual syntax, or why the body does not cover the call.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fuselage::model_io {

/// One line of a body, further lines of an open bracket joined to it.
struct BodyLine {
    size_t indent = 0;
    std::string text;
};

struct OperatorBody {
    std::string domain, name; ///< "" is ai.onnx
    int64_t since = 1;        ///< first version of the domain that it says the meaning of
    std::vector<std::string> inputs, outputs;
    std::map<std::string, std::string, std::less<>>
        attributes; ///< what it covers; empty: no default
    std::vector<BodyLine> lines;
};

/// Numbers, words and lists that a body may ask for; what else there is, it cannot.
using CallAttribute = std::variant<std::monostate, int64_t, double, std::string,
                                   std::vector<int64_t>, std::vector<double>>;

struct Call {
    std::map<std::string, CallAttribute, std::less<>> attributes; ///< those that the node has
    std::vector<bool> inputs, outputs;                            ///< which are there
    /// Extents of an input where they are known, -1 for an open one.
    std::function<std::optional<std::vector<int64_t>>(size_t input)> extents;
    /// "float", "bool" ... of an input; empty where it is not known.
    std::function<std::string(size_t input)> type;
    /// Channels that ONNX Runtime puts side by side in com.microsoft.nchwc, on the processor at
    /// hand.
    int64_t channelBlock = 8;
};

struct WrittenBody {
    std::string text;    ///< "<domain: ...> Name <attributes> (inputs) => (outputs) { ... }"
    std::string refused; ///< why not, as part of a sentence; else empty
};

/// The newest body that is not newer than `version`; null for operators that have none.
const OperatorBody* operatorBody(std::string_view domain, std::string_view name, int64_t version);

/// All of them, for tests.
const std::deque<OperatorBody>& operatorBodies();

/// Adds bodies that the binary does not have, before models are read.
void publishBodies(std::string_view text);

/// The same notation from any text; asserts on what is not in it: bodies are written by us.
std::vector<OperatorBody> parseBodies(std::string_view text);

/// Of a statement, "y = Op <a = 1> (x)".
bool isNameCharacter(char c);
std::vector<std::string> identifiers(const std::string& text);
/// Where the operands begin: behind the operator's name and its attributes.
size_t operandsOf(const std::string& text, size_t equals);

/// What the default of an attribute stands for.
CallAttribute fromText(const std::string& text);

WrittenBody writeBody(const OperatorBody& body, const Call& call);

} // namespace fuselage::model_io
