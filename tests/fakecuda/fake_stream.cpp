// SPDX-License-Identifier: Apache-2.0
// Streams, events, capture and graphs of the stand-in driver.
#include "tests/fakecuda/fake_state.h"

#include <algorithm>

using namespace fakecuda;

namespace {

bool known(Stream* stream) {
    return state().streams.count(stream) != 0;
}

/// A call that waits is illegal on a stream that is being captured, and ends the capture.
int refuseCaptured(Stream* stream) {
    if (!stream->capture)
        return Success;
    stream->invalidated = true;
    return CaptureUnsupported;
}

} // namespace

extern "C" {

int cuStreamCreate(Stream** out, unsigned) {
    FAKE_CALL("cuStreamCreate", Context);
    *out = *state().streams.insert(new Stream).first;
    return Success;
}

int cuStreamDestroy_v2(Stream* stream) {
    FAKE_CALL("cuStreamDestroy_v2", Context);
    if (!known(stream))
        return InvalidHandle;
    const int code = drain(stream, stream->queued);
    state().streams.erase(stream);
    delete stream;
    return code;
}

int cuStreamSynchronize(Stream* stream) {
    FAKE_CALL("cuStreamSynchronize", Context);
    if (!known(stream))
        return InvalidHandle;
    if (const int code = refuseCaptured(stream); code != Success)
        return code;
    return drain(stream, stream->queued);
}

int cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
    FAKE_CALL("cuStreamWaitEvent", Context);
    Stream* other = event->stream;
    if (other == nullptr)
        return Success;
    return enqueue(stream, NodeKind::Empty, "wait", [other, position = event->position] {
        return known(other) ? drain(other, position) : Success;
    });
}

int cuStreamBeginCapture_v2(Stream* stream, int mode) {
    FAKE_CALL("cuStreamBeginCapture_v2", Context);
    if (!known(stream))
        return InvalidHandle;
    if (stream->capture || mode < 0 || mode > 2)
        return InvalidValue;
    stream->captureMode = mode;
    stream->captureThread = std::this_thread::get_id();
    stream->capture = std::make_unique<Graph>();
    stream->invalidated = false;
    return Success;
}

int cuStreamEndCapture(Stream* stream, Graph** out) {
    FAKE_CALL("cuStreamEndCapture", Context);
    *out = nullptr;
    if (!known(stream) || !stream->capture)
        return CaptureUnmatched;
    if (stream->captureMode != 2 && stream->captureThread != std::this_thread::get_id()) {
        stream->invalidated = true;
        return CaptureWrongThread;
    }
    std::unique_ptr<Graph> graph = std::move(stream->capture);
    if (stream->invalidated)
        return CaptureInvalidated;
    *out = graph.release();
    return Success;
}

int cuStreamGetCaptureInfo_v2(Stream* stream, int* status, uint64_t* id, Graph** graph,
                              const void** dependencies, size_t* count) {
    FAKE_CALL("cuStreamGetCaptureInfo_v2", Context);
    if (!known(stream))
        return InvalidHandle;
    *status = !stream->capture ? 0 : stream->invalidated ? 2 : 1;
    *id = 1;
    *graph = stream->capture.get();
    // As behind a library whose launches overlap: their edges have data that nobody asks for here.
    if (dependencies != nullptr && stream->capture && !stream->capture->nodes.empty())
        return LossyQuery;
    if (count != nullptr)
        *count = 0;
    return Success;
}

int cuGraphGetNodes(Graph* graph, Node** nodes, size_t* count) {
    FAKE_CALL("cuGraphGetNodes", Context);
    const size_t all = graph->nodes.size();
    if (nodes != nullptr)
        for (size_t i = 0; i < std::min(all, *count); ++i)
            nodes[i] = graph->nodes[i].get();
    *count = nodes == nullptr ? all : std::min(all, *count);
    return Success;
}

int cuGraphNodeGetType(Node* node, int* type) {
    FAKE_CALL("cuGraphNodeGetType", Context);
    *type = static_cast<int>(node->kind);
    return Success;
}

int cuGraphInstantiateWithFlags(Graph** out, Graph* graph, unsigned long long) {
    FAKE_CALL("cuGraphInstantiateWithFlags", Context);
    auto copy = std::make_unique<Graph>();
    for (const auto& node : graph->nodes) { // as in the driver, clones have ids of their own
        copy->nodes.push_back(std::make_shared<Node>(*node));
        copy->nodes.back()->id = state().nextNodeId++;
        if (state().cloned != nullptr)
            state().cloned(node.get(), copy->nodes.back().get());
    }
    *out = copy.release();
    return Success;
}

int cuGraphLaunch(Graph* graph, Stream* stream) {
    FAKE_CALL("cuGraphLaunch", Context);
    if (!known(stream))
        return InvalidHandle;
    ++state().graphLaunches;
    for (const auto& node : graph->nodes) {
        stream->queue.push_back(node);
        ++stream->queued;
    }
    return Success;
}

int cuGraphDestroy(Graph* graph) {
    FAKE_CALL("cuGraphDestroy", Context);
    delete graph;
    return Success;
}

int cuGraphExecDestroy(Graph* graph) {
    FAKE_CALL("cuGraphExecDestroy", Context);
    delete graph;
    return Success;
}

int cuEventCreate(Event** out, unsigned) {
    FAKE_CALL("cuEventCreate", Context);
    *out = new Event;
    return Success;
}

int cuEventDestroy_v2(Event* event) {
    FAKE_CALL("cuEventDestroy_v2", Context);
    if (event->stream != nullptr && known(event->stream))
        (void)drain(event->stream, event->position);
    delete event;
    return Success;
}

int cuEventRecord(Event* event, Stream* stream) {
    FAKE_CALL("cuEventRecord", Context);
    event->seconds = -1;
    const int code = enqueue(stream, NodeKind::Empty, "event", [event] {
        event->seconds = now();
        return Success;
    });
    event->stream = stream;
    event->position = stream->queued;
    return code;
}

int cuEventQuery(Event* event) {
    FAKE_CALL("cuEventQuery", Context);
    if (event->stream == nullptr || !known(event->stream))
        return Success;
    if (const int code = refuseCaptured(event->stream); code != Success)
        return code;
    return drain(event->stream, event->position, true);
}

int cuEventSynchronize(Event* event) {
    FAKE_CALL("cuEventSynchronize", Context);
    if (event->stream == nullptr || !known(event->stream))
        return Success;
    if (const int code = refuseCaptured(event->stream); code != Success)
        return code;
    return drain(event->stream, event->position);
}

int cuEventElapsedTime(float* milliseconds, Event* begin, Event* end) {
    FAKE_CALL("cuEventElapsedTime", Context);
    if (begin->seconds < 0 || end->seconds < 0)
        return NotReady;
    *milliseconds = static_cast<float>((end->seconds - begin->seconds) * 1e3);
    return Success;
}
}
