// SPDX-License-Identifier: Apache-2.0
// A finished plan of the stand-in for cuDNN as text and back, in place of the library's JSON: words
// with spaces between, descriptors in depth. Handles are left out, the version comes first.
#include "tests/fakecuda/fake_state.h"
#include "tests/fakecuda/libraries/cudnn_check.h"

#include <sstream>

extern "C" size_t cudnnGetVersion();

namespace fakelibs {

namespace {

using dnn::Attribute;
using dnn::Kind;
using dnn::Type;

void put(std::ostream& out, const Object& object) {
    size_t count = 0;
    for (const auto& [attribute, values] : object.values)
        count += values.type != Type::CUDNN_TYPE_HANDLE;
    out << static_cast<int>(object.kind) << ' ' << count << ' ';
    for (const auto& [attribute, values] : object.values) {
        if (values.type == Type::CUDNN_TYPE_HANDLE)
            continue;
        out << static_cast<int>(attribute) << ' ' << static_cast<int>(values.type) << ' '
            << values.count << ' ' << values.bytes.size() << ' ';
        for (std::byte byte : values.bytes)
            out << static_cast<int>(byte) << ' ';
        for (const ObjectPtr& reference : values.references)
            put(out, *reference);
    }
}

std::shared_ptr<Object> take(std::istream& in) {
    auto out = std::make_shared<Object>();
    int kind = 0;
    size_t count = 0;
    in >> kind >> count;
    out->kind = static_cast<Kind>(kind);
    for (size_t i = 0; i < count && in; ++i) {
        int attribute = 0, type = 0;
        size_t bytes = 0;
        Values values;
        in >> attribute >> type >> values.count >> bytes;
        values.type = static_cast<Type>(type);
        for (size_t at = 0; at < bytes && in; ++at) {
            int byte = 0;
            in >> byte;
            values.bytes.push_back(static_cast<std::byte>(byte));
        }
        for (int64_t at = 0;
             values.type == Type::CUDNN_TYPE_BACKEND_DESCRIPTOR && at < values.count && in; ++at) {
            auto reference = take(in);
            if (reference == nullptr || finish(*reference) != DnnSuccess)
                return nullptr;
            values.references.push_back(std::move(reference));
        }
        out->values[static_cast<Attribute>(attribute)] = std::move(values);
    }
    return in ? out : nullptr;
}

} // namespace

void keepText(Object& plan) {
    Object graph;
    graph.kind = Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
    std::vector<ObjectPtr> operations;
    for (const GraphOperation& operation : plan.graph->operations)
        operations.push_back(operation.object);
    graph.refer(Attribute::CUDNN_ATTR_OPERATIONGRAPH_OPS, std::move(operations));
    std::ostringstream out;
    out << cudnnGetVersion() << ' '
        << plan.one<int64_t>(Attribute::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 0) << ' ';
    put(out, graph);
    const std::string text = out.str();
    plan.put(Attribute::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, Type::CUDNN_TYPE_CHAR,
             std::vector<char>(text.begin(), text.end()));
}

int restorePlan(Object& plan) {
    const fakecuda::Call call("cudnn restore", fakecuda::Call::Needs::Nothing);
    const auto text = plan.list<char>(Attribute::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    std::istringstream in(std::string(text.begin(), text.end()));
    size_t version = 0;
    int64_t workspace = 0;
    in >> version >> workspace;
    if (call.code() != 0 || version != cudnnGetVersion())
        return refuse(DnnNotSupported, "a plan of another version");
    auto graph = take(in);
    if (graph == nullptr || finish(*graph) != DnnSuccess || graph->graph == nullptr)
        return refuse(DnnBadParam, "no text of a plan");
    plan.graph = graph->graph;
    plan.put<int64_t>(Attribute::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, Type::CUDNN_TYPE_INT64,
                      {workspace});
    return DnnSuccess;
}

} // namespace fakelibs
