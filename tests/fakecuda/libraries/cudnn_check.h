// SPDX-License-Identifier: Apache-2.0
// What the stand-in for cuDNN looks at when a descriptor is finished: shapes of every operation,
// that a graph hangs together, which engines there are for it.
#pragma once

#include "tests/fakecuda/libraries/cudnn_store.h"

#include <optional>

namespace fakelibs {

struct GraphTensor {
    int64_t id = 0;
    Strided layout;
    bool isVirtual = false, byValue = false;
    int64_t alignment = 1;
};

/// One operation of a finished graph, for the interpreter.
struct GraphOperation {
    ObjectPtr object;
    std::vector<int64_t> inputs; ///< unique ids
    int64_t output = 0;
};

struct PlannedGraph {
    std::vector<GraphOperation> operations; ///< producers before consumers
    std::map<int64_t, GraphTensor> tensors;
};

/// Finishes the descriptor: DnnSuccess or a refusal with words.
int finish(Object& object);

GraphTensor tensorOf(const Object& object);
Element elementOf(int type);

/// The attributes of an operation's kind that are tensors: those that are read, then the written
/// one, as they occur.
struct Ends {
    std::vector<dnn::Attribute> reads;
    dnn::Attribute writes{};
};

const Ends* endsOf(dnn::Kind kind);

/// Engine configurations for the graph, best first; none with words.
std::vector<ObjectPtr> configurationsOf(const ObjectPtr& graph, dnn::Heuristics mode);

/// For plans: what they need and whether they can be finished.
int finishPlan(Object& plan);

/// The plan's text (cudnn_text.cpp), and a plan from such a text. Refused when it was changed or is
/// of another version.
void keepText(Object& plan);
int restorePlan(Object& plan);

/// Computes the graph: `addresses` by unique id, of host memory for tensors passed by value.
void run(const PlannedGraph& graph, const std::map<int64_t, void*>& addresses,
         const std::map<int64_t, double>& scalars);

} // namespace fakelibs
