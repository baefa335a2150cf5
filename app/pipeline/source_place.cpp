// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/source_place.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace fuselage::app {

namespace {

constexpr size_t mostPlaces = 8;
constexpr size_t longestPart = 120; // files may say anything

std::string_view entryText(const Metadata& metadata, const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string_view() : std::string_view(found->second);
}

/// One line of plain text.
std::string plainLine(std::string_view text) {
    std::string out(text.substr(0, longestPart));
    std::replace_if(
        out.begin(), out.end(),
        [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; }, ' ');
    return out;
}

/// "['', 'layers.0', 'layers.0.linear', 'linear_1']": the last name is the operation's.
std::string moduleOfScopes(std::string_view list) {
    list = list.substr(0, list.find('\n'));
    std::vector<std::string_view> names;
    for (size_t open = 0; (open = list.find_first_of("'\"", open)) != std::string_view::npos;) {
        const size_t close = list.find(list[open], open + 1);
        if (close == std::string_view::npos)
            break;
        names.push_back(list.substr(open + 1, close - open - 1));
        open = close + 1;
    }
    return names.size() < 2 ? std::string() : plainLine(names[names.size() - 2]);
}

/// ": Model/layers.0: Layer/layers.0.linear: Linear/linear_1: aten.linear.default"
std::string moduleOfNamespace(std::string_view path) {
    path = path.substr(0, path.find('\n'));
    const size_t last = path.rfind('/');
    if (last == std::string_view::npos)
        return {};
    path = path.substr(0, last);
    const size_t slash = path.rfind('/');
    path.remove_prefix(slash == std::string_view::npos ? 0 : slash + 1);
    return plainLine(path.substr(0, path.find(": ")));
}

/// The innermost frame of a Python traceback: `File "net/model.py", line 123, in forward`.
std::string lineOfTrace(std::string_view trace) {
    constexpr std::string_view file = "File \"", line = "\", line ";
    const size_t begin = trace.rfind(file);
    const size_t end = begin == std::string_view::npos ? begin : trace.find(line, begin);
    if (end == std::string_view::npos)
        return {};
    std::string_view path = trace.substr(begin + file.size(), end - begin - file.size());
    path.remove_prefix(path.find_last_of("/\\") + 1); // npos + 1 is 0
    std::string_view number = trace.substr(end + line.size());
    number = number.substr(0, number.find_first_not_of("0123456789"));
    return number.empty() ? std::string() : plainLine(path) + ":" + plainLine(number);
}

/// Most exporters write nothing.
bool maySay(const Node& node) {
    return node.body || !node.provenance.metadata.empty();
}

void addPlaces(const Node& node, std::vector<std::string>& out) {
    if (node.body) {
        const Graph& body = *node.body;
        const std::vector<NodeId> nodes = body.nodes();
        if (std::any_of(nodes.begin(), nodes.end(),
                        [&](NodeId id) { return maySay(body.node(id)); }))
            for (NodeId id : topologicalOrder(body))
                addPlaces(body.node(id), out);
        return;
    }
    const SourcePlace place = sourcePlace(node.provenance.metadata);
    const char* between = place.module.empty() || place.line.empty() ? "" : ", ";
    std::string text = place.module + between + place.line;
    if (!text.empty() && out.size() < mostPlaces &&
        std::find(out.begin(), out.end(), text) == out.end())
        out.push_back(std::move(text));
}

} // namespace

SourcePlace sourcePlace(const Metadata& metadata) {
    SourcePlace out;
    out.module = moduleOfScopes(entryText(metadata, "pkg.torch.onnx.name_scopes"));
    if (out.module.empty())
        out.module = moduleOfNamespace(entryText(metadata, "namespace"));
    out.line = lineOfTrace(entryText(metadata, "pkg.torch.onnx.stack_trace"));
    return out;
}

std::vector<std::string> sourcePlaces(const Node& node) {
    std::vector<std::string> out;
    addPlaces(node, out);
    return out;
}

} // namespace fuselage::app
