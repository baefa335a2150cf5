// SPDX-License-Identifier: Apache-2.0
// A stand-in for CUPTI's activity records over the stand-in driver: a record of every kernel while
// recording, written into the caller's buffers in the layout of the documentation. Times are not
// the host's: the n-th node of a launch takes n microseconds, and records come as if kernels had
// begun in the reverse order, so that only their nodes tell them apart. Counters are in
// fake_counters.cpp; records and counters refuse one another.
#include "tests/fakecuda/libraries/fake_cupti.h"

#include "tests/fakecuda/fake_state.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

using namespace fakecuda;

namespace {

constexpr int kernelRecord = 10;
constexpr size_t recordBytes = 216, nodeOffset = 144;

struct Ran {
    std::string name;
    uint64_t node;
};

using GiveBuffer = void (*)(uint8_t**, size_t*, size_t*);
using TakeBuffer = void (*)(void*, uint32_t, uint8_t*, size_t, size_t);
using Callback = void (*)(void*, int, uint32_t, const void*);

struct Recorder {
    GiveBuffer give = nullptr;
    TakeBuffer take = nullptr;
    bool enabled = false;
    std::vector<Ran> ran;
    std::map<std::string, std::string> names; ///< records point at them, for good
    Callback callback = nullptr;
    void* user = nullptr;
    bool watchesNodes = false;
};

Recorder& recorder() {
    static auto* instance = new Recorder;
    return *instance;
}

void noteKernel(const char* name, uint64_t, uint64_t, uint64_t node) {
    if (recorder().enabled)
        recorder().ran.push_back({name, node});
    countKernel();
}

void noteClone(Node* original, Node* copy) {
    if (!recorder().watchesNodes)
        return;
    const void* graph[] = {nullptr, nullptr, copy, original};
    const void* resource[] = {nullptr, nullptr, graph};
    recorder().callback(recorder().user, 3, 20, resource);
}

void put(uint8_t* record, size_t offset, uint64_t value) {
    std::memcpy(record + offset, &value, sizeof value);
}

void writeRecord(uint8_t* record, const Ran& ran, uint64_t first) {
    std::memset(record, 0xa5, recordBytes);
    std::memcpy(record, &kernelRecord, sizeof kernelRecord);
    const uint64_t place = ran.node - first + 1, begin = 1'000'000'000 - place * 100'000;
    put(record, 16, begin);
    put(record, 24, begin + place * 1000);
    const std::string& name = recorder().names.emplace(ran.name, ran.name).first->second;
    put(record, 104, reinterpret_cast<uint64_t>(name.c_str()));
    put(record, nodeOffset, ran.node);
}

void flush() {
    Recorder& r = recorder();
    uint64_t first = ~uint64_t{0};
    for (const Ran& ran : r.ran)
        first = std::min(first, ran.node);
    for (size_t next = 0; next < r.ran.size();) {
        uint8_t* buffer = nullptr;
        size_t room = 0, most = 0;
        r.give(&buffer, &room, &most);
        size_t used = 0;
        for (; next < r.ran.size() && used + recordBytes <= room; ++next, used += recordBytes)
            writeRecord(buffer + used, r.ran[next], first);
        r.take(nullptr, 0, buffer, room, used);
        if (used == 0)
            break;
    }
    r.ran.clear();
}

} // namespace

namespace fakecuda {

bool recordsKernels() {
    return recorder().enabled;
}

void observeKernels() {
    state().observer = noteKernel;
}

} // namespace fakecuda

extern "C" {

int cuptiGetVersion(uint32_t* version) {
    *version = 130000;
    return Success;
}

int cuptiGetResultString(int code, const char** words) {
    *words = code == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR_UNKNOWN";
    return Success;
}

int cuptiActivityRegisterCallbacks(GiveBuffer give, TakeBuffer take) {
    FAKE_CALL("cuptiActivityRegisterCallbacks", Nothing);
    recorder().give = give;
    recorder().take = take;
    observeKernels();
    return Success;
}

int cuptiActivityEnable(int kind) {
    FAKE_CALL("cuptiActivityEnable", Nothing);
    if (countsRanges())
        return 14; // not compatible
    recorder().enabled = kind == kernelRecord;
    return Success;
}

int cuptiActivityDisable(int) {
    FAKE_CALL("cuptiActivityDisable", Nothing);
    recorder().enabled = false;
    return Success;
}

int cuptiActivityFlushAll(uint32_t) {
    FAKE_CALL("cuptiActivityFlushAll", Nothing);
    flush();
    return Success;
}

int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, int** record) {
    uint8_t* next = *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + recordBytes;
    if (next + recordBytes > buffer + valid)
        return 12; // no more records
    *record = reinterpret_cast<int*>(next);
    return Success;
}

int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
    *dropped = static_cast<size_t>(setting("FAKECUPTI_DROPPED", 0));
    return Success;
}

int cuptiSubscribe(Recorder** out, Callback callback, void* user) {
    FAKE_CALL("cuptiSubscribe", Nothing);
    Recorder& r = recorder();
    if (r.callback != nullptr)
        return 39;
    r.callback = callback;
    r.user = user;
    *out = &r;
    return Success;
}

int cuptiEnableCallback(uint32_t enable, Recorder* r, int domain, uint32_t event) {
    FAKE_CALL("cuptiEnableCallback", Nothing);
    r->watchesNodes = enable != 0 && domain == 3 && event == 20;
    state().cloned = noteClone;
    return Success;
}

int cuptiUnsubscribe(Recorder* r) {
    FAKE_CALL("cuptiUnsubscribe", Nothing);
    r->callback = nullptr;
    r->watchesNodes = false;
    return Success;
}

int cuptiGetGraphNodeId(Node* node, uint64_t* id) {
    FAKE_CALL("cuptiGetGraphNodeId", Nothing);
    if (!recorder().enabled) // what profilers do first
        return 7;
    *id = node->id;
    return Success;
}
}
