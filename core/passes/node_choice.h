// SPDX-License-Identifier: Apache-2.0
// Nodes that a person names in one line, on the command line or in a file: by name, or by operator
// and an attribute.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace fuselage {

///     /layer1/conv/Conv        the node of this name; `*` in it stands for anything
///     node:/layer1/conv/Conv   the same, for names that begin like one of the next
///     op:Conv                  nodes of this operator ("com.microsoft.Gelu" with its domain), `*`
///                              as in names
///     op:Conv group>1          the same where an integer attribute compares so: == != < <= > >=
class NodeChoice {
public:
    /// Exactly these; `text` says what they are.
    static NodeChoice ofNames(std::string text, std::set<std::string> nodes);

    /// Error "usage.nodes" for a text that is none of these.
    static Result<NodeChoice> parse(const std::string& text);

    bool names(const Node& node) const;

    const std::string& text() const { return m_text; }

private:
    struct AttributeCheck {
        std::string name, comparison;
        int64_t value = 0;
    };

    static Result<AttributeCheck> parseCheck(std::string_view words, const std::string& text);
    static bool holds(const AttributeCheck& check, const Node& node);

    std::string m_text, m_pattern;
    bool m_byOperator = false;
    std::optional<std::set<std::string>> m_names;
    std::optional<AttributeCheck> m_check;
};

} // namespace fuselage
