// SPDX-License-Identifier: Apache-2.0
// Descriptors of the stand-in for cuDNN: attributes as they were set, held to a table of kinds,
// types and counts. What the attributes mean is looked at when a descriptor is finished
// (cudnn_check.h).
#pragma once

#include "gpu/libs/cudnn_api.h"
#include "tests/fakecuda/libraries/strided.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fakelibs {

namespace dnn = fuselage::gpu::cudnn;

enum DnnStatus : int {
    DnnSuccess = 0,
    DnnBadParam = 2000,
    DnnNullPointer = 2002,
    DnnNotFinalized = 2004,
    DnnNotInitialized = 1001,
    DnnNotSupported = 3000,
    DnnLayout = 3004,
    DnnExecutionFailed = 5000,
};

struct Object;
using ObjectPtr = std::shared_ptr<const Object>;

struct Values {
    dnn::Type type{};
    int64_t count = 0;
    std::vector<std::byte> bytes;      ///< of every type but descriptors
    std::vector<ObjectPtr> references; ///< finished descriptors
};

struct PlannedGraph;

/// One descriptor. References are to the state at the time of the call, which is final: a finished
/// descriptor cannot be changed.
struct Object {
    dnn::Kind kind{};
    bool finished = false;
    std::map<dnn::Attribute, Values> values;
    std::shared_ptr<const PlannedGraph> graph; ///< of operation graphs and all that is made of them

    const Values* find(dnn::Attribute attribute) const {
        auto found = values.find(attribute);
        return found == values.end() ? nullptr : &found->second;
    }

    template <typename T> std::vector<T> list(dnn::Attribute attribute) const {
        std::vector<T> out;
        if (const Values* set = find(attribute)) {
            out.resize(set->bytes.size() / sizeof(T));
            std::memcpy(out.data(), set->bytes.data(), out.size() * sizeof(T));
        }
        return out;
    }

    template <typename T> T one(dnn::Attribute attribute, T otherwise) const {
        const std::vector<T> all = list<T>(attribute);
        return all.empty() ? otherwise : all[0];
    }

    /// Null where it was not set.
    ObjectPtr reference(dnn::Attribute attribute, size_t index = 0) const {
        const Values* set = find(attribute);
        return set && index < set->references.size() ? set->references[index] : nullptr;
    }

    template <typename T> void put(dnn::Attribute attribute, dnn::Type type, std::vector<T> all) {
        Values made{type, static_cast<int64_t>(all.size()), {}, {}};
        made.bytes.resize(all.size() * sizeof(T));
        if (!all.empty())
            std::memcpy(made.bytes.data(), all.data(), made.bytes.size());
        values[attribute] = std::move(made);
    }

    void refer(dnn::Attribute attribute, std::vector<ObjectPtr> to) {
        const auto count = static_cast<int64_t>(to.size());
        values[attribute] = {dnn::Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, count, {}, std::move(to)};
    }
};

/// What the caller holds.
struct Owner {
    std::shared_ptr<Object> object;
};

/// Sets the words that cudnnGetLastErrorString gives on this thread, and gives the status.
int refuse(int status, const std::string& words);
const std::string& lastWords();

bool isKind(int kind);
/// Checks kind, type and count. Bad counts and types are refused in the words of the table.
int setValues(Owner& owner, dnn::Attribute attribute, dnn::Type type, int64_t count,
              const void* from);
/// Fills up to `room` elements; `count` is how many there are.
int readValues(const Owner& owner, dnn::Attribute attribute, dnn::Type type, int64_t room,
               int64_t* count, void* to);
/// The first attribute that the kind needs and that was not set; -1: none.
int lacking(const Object& object);

} // namespace fakelibs
