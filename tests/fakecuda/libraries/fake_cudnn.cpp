// SPDX-License-Identifier: Apache-2.0
// A stand-in for cuDNN's backend interface over the stand-in driver: descriptors are held to their
// documented attributes, plans exist for a few chains of operations, and executing one computes the
// graph on the host when the stream runs. A wrong call gets a status and words, as from the
// library.
#include "tests/fakecuda/fake_state.h"
#include "tests/fakecuda/libraries/cudnn_check.h"

#include <cstdio>
#include <set>

using namespace fakelibs;
using fakecuda::Stream;

namespace {

struct Session {
    Stream* stream = nullptr;
};

std::set<const void*>& sessions() {
    static auto* instance = new std::set<const void*>;
    return *instance;
}

bool isOpen(const Object& object, dnn::Attribute attribute) {
    void* handle = object.one<void*>(attribute, nullptr);
    return handle == nullptr || sessions().count(handle) != 0;
}

/// The operands of a launch: all that are in memory, none that is virtual, each where it was
/// promised to lie.
int bindOperands(const PlannedGraph& graph, const Object& pack, std::map<int64_t, void*>& addresses,
                 std::map<int64_t, double>& scalars) {
    const Numbers ids = pack.list<int64_t>(dnn::Attribute::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto pointers = pack.list<void*>(dnn::Attribute::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (size_t i = 0; i < ids.size(); ++i) {
        auto found = graph.tensors.find(ids[i]);
        if (found == graph.tensors.end() || found->second.isVirtual)
            return refuse(DnnBadParam, "a pointer for a tensor that is not in memory");
        const GraphTensor& tensor = found->second;
        if (tensor.byValue) {
            scalars[ids[i]] = load(pointers[i], tensor.layout.type);
        } else if (!onDevice(pointers[i], tensor.layout.spanBytes())) {
            return refuse(DnnBadParam, "an operand is not in device memory");
        } else if (reinterpret_cast<uintptr_t>(pointers[i]) %
                       static_cast<uintptr_t>(tensor.alignment) !=
                   0) {
            return refuse(DnnBadParam, "an operand is not aligned as it was promised");
        }
        addresses[ids[i]] = pointers[i];
    }
    for (const auto& [id, tensor] : graph.tensors)
        if (!tensor.isVirtual && addresses.count(id) == 0)
            return refuse(DnnBadParam, "an operand without a pointer");
    return DnnSuccess;
}

} // namespace

extern "C" {

size_t cudnnGetVersion() {
    return static_cast<size_t>(fakecuda::setting("FAKECUDNN_VERSION", 91900));
}

const char* cudnnGetErrorString(int status) {
    switch (status) {
    case DnnSuccess:
        return "CUDNN_STATUS_SUCCESS";
    case DnnBadParam:
        return "CUDNN_STATUS_BAD_PARAM";
    case DnnNotSupported:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case DnnNotFinalized:
        return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case DnnExecutionFailed:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
        return "CUDNN_STATUS_INTERNAL_ERROR";
    }
}

void cudnnGetLastErrorString(char* out, size_t room) {
    std::snprintf(out, room, "%s", lastWords().c_str());
}

int cudnnCreate(Session** out) {
    FAKE_CALL("cudnnCreate", Context);
    *out = new Session;
    sessions().insert(*out);
    return DnnSuccess;
}

int cudnnDestroy(Session* session) {
    FAKE_CALL("cudnnDestroy", Context);
    if (sessions().erase(session) == 0)
        return refuse(DnnBadParam, "no such handle");
    delete session;
    return DnnSuccess;
}

int cudnnSetStream(Session* session, Stream* stream) {
    FAKE_CALL("cudnnSetStream", Context);
    session->stream = stream;
    return DnnSuccess;
}

int cudnnBackendCreateDescriptor(int kind, Owner** out) {
    FAKE_CALL("cudnnBackendCreateDescriptor", Nothing);
    if (!isKind(kind))
        return refuse(DnnNotSupported, "a kind of descriptor that is not here");
    *out = new Owner{std::make_shared<Object>()};
    (*out)->object->kind = static_cast<dnn::Kind>(kind);
    return DnnSuccess;
}

int cudnnBackendDestroyDescriptor(Owner* owner) {
    delete owner;
    return DnnSuccess;
}

int cudnnBackendSetAttribute(Owner* owner, int attribute, int type, int64_t count,
                             const void* from) {
    FAKE_CALL("cudnnBackendSetAttribute", Nothing);
    return setValues(*owner, static_cast<dnn::Attribute>(attribute), static_cast<dnn::Type>(type),
                     count, from);
}

int cudnnBackendGetAttribute(Owner* owner, int attribute, int type, int64_t room, int64_t* count,
                             void* to) {
    FAKE_CALL("cudnnBackendGetAttribute", Nothing);
    return readValues(*owner, static_cast<dnn::Attribute>(attribute), static_cast<dnn::Type>(type),
                      room, count, to);
}

int cudnnBackendFinalize(Owner* owner) {
    FAKE_CALL("cudnnBackendFinalize", Nothing);
    for (dnn::Attribute handle : {dnn::Attribute::CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
                                  dnn::Attribute::CUDNN_ATTR_EXECUTION_PLAN_HANDLE})
        if (!isOpen(*owner->object, handle))
            return refuse(DnnBadParam, "no such handle");
    return finish(*owner->object);
}

int cudnnBackendExecute(Session* session, Owner* plan, Owner* pack) {
    FAKE_CALL("cudnnBackendExecute", Context);
    if (sessions().count(session) == 0 || session->stream == nullptr)
        return refuse(DnnBadParam, "no such handle, or one without a stream");
    if (!plan->object->finished ||
        plan->object->kind != dnn::Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        !pack->object->finished ||
        pack->object->kind != dnn::Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        return refuse(DnnNotFinalized, "a plan and a pack that are finished");
    std::map<int64_t, void*> addresses;
    std::map<int64_t, double> scalars;
    const auto graph = plan->object->graph;
    if (const int status = bindOperands(*graph, *pack->object, addresses, scalars);
        status != DnnSuccess)
        return status;
    // A library meets a lost device in its own words.
    if (const auto* how = fakecuda::spoiledAs("fakednn_graph");
        how && *how == fakecuda::Spoiled::Fault) {
        fakecuda::state().sticky = fakecuda::IllegalAddress;
        return refuse(DnnExecutionFailed, "told to lose the device");
    }
    void* workspace =
        pack->object->one<void*>(dnn::Attribute::CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
    const auto bytes = static_cast<size_t>(
        plan->object->one<int64_t>(dnn::Attribute::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 0));
    if (bytes > 0 && !onDevice(workspace, bytes))
        return refuse(DnnBadParam, "the workspace is too small");
    const int code =
        fakecuda::enqueue(session->stream, fakecuda::NodeKind::Kernel, "fakednn_graph",
                          [graph, addresses, scalars, workspace, bytes] {
                              if (bytes > 0) // an operand that lies in the workspace becomes NaN
                                  std::memset(workspace, 0xff, bytes);
                              run(*graph, addresses, scalars);
                              return fakecuda::Success;
                          });
    return code == 0 ? int{DnnSuccess} : refuse(DnnExecutionFailed, "the stream refuses work");
}
}
