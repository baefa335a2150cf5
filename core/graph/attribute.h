// SPDX-License-Identifier: Apache-2.0
// Named parameters of a node.
#pragma once

#include "core/graph/op.h"
#include "core/graph/tensor.h"

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fuselage {

class Graph;

using AttributeValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                 std::vector<std::string>, TensorPtr, std::shared_ptr<Graph>>;

/// The attributes of one node, sorted by name. After normalisation every attribute that has a
/// schema default is present.
class Attributes {
public:
    struct Entry {
        std::string name;
        AttributeValue value;
    };

    const AttributeValue* find(std::string_view name) const;

    bool has(std::string_view name) const { return find(name) != nullptr; }

    void set(std::string_view name, AttributeValue value);
    void erase(std::string_view name);

    /// Typed reads; the fallback is returned when absent or of another type.
    int64_t integer(std::string_view name, int64_t fallback = 0) const;
    double number(std::string_view name, double fallback = 0) const;
    std::string string(std::string_view name, std::string_view fallback = {}) const;
    std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> fallback = {}) const;
    std::vector<double> numbers(std::string_view name) const;
    std::vector<std::string> strings(std::string_view name) const;
    TensorPtr tensor(std::string_view name) const;
    std::shared_ptr<Graph> graph(std::string_view name) const;

    auto begin() const { return m_entries.begin(); }

    auto end() const { return m_entries.end(); }

    size_t size() const { return m_entries.size(); }

private:
    std::vector<Entry> m_entries;
};

/// "[1, 1]", "\"NOTSET\"", "1e-05": the form used in messages and in textual graphs.
std::string text(const AttributeValue& value);

/// True when leaving the attribute out means the same; defined by the op table.
bool isSchemaDefault(Op op, std::string_view attribute, const AttributeValue& value);

/// Equal type and value; tensors by content, graphs by identity.
bool equal(const AttributeValue& a, const AttributeValue& b);

} // namespace fuselage
