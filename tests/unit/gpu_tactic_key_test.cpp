// SPDX-License-Identifier: Apache-2.0
// What makes two measurements the same: program, layouts, what is allowed, device, software; not
// names.
#include "gpu/tune/tactic_key.h"
#include "tests/unit/kernel_support.h"

#include <functional>
#include <set>

using namespace fuselage;
using namespace fuselage::gpu;
using testing_kernel::bodyFrom;
using testing_kernel::programOf;

namespace {

/// A request with the program it points to.
struct Asked {
    KernelProgram program;
    DeviceProfile profile;
    KernelRequest request;
    TuneEnvironment environment{"NVIDIA H200", 132, "default", {{"cudnn", "9.19"}}, "e1"};

    explicit Asked(const std::string& body) : program(programOf(bodyFrom(body))) {
        request.program = &program;
        request.profile = &profile;
        for (const OperandType& type : program.inputs)
            request.inputs.push_back({type.dtype, type.extents, rowMajorStrides(type.extents), 16});
        for (const OperandType& type : program.outputs)
            request.outputs.push_back(
                {type.dtype, type.extents, rowMajorStrides(type.extents), 16});
        request.constants.resize(program.inputs.size());
        request.workspaceLimit = 1 << 20;
    }

    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;

    TacticKey key() const { return tacticKey(request, environment); }
};

const std::string reluAdd =
    "(float[4,8] a, float[4,8] b) => (float[4,8] y) { t = Relu(a) y = Add(t, b) }";

} // namespace

TEST(TacticKeys, NamesOfValuesAreNoPartOfAKey) {
    const Asked other(
        "(float[4,8] u, float[4,8] v) => (float[4,8] z) { w = Relu(u) z = Add(w, v) }");
    EXPECT_EQ(Asked(reluAdd).key(), other.key());
}

TEST(TacticKeys, AStepInPlaceIsAnother) {
    const Asked asked(reluAdd);
    const TacticKey apart = asked.key(), within = tacticKey(asked.request, asked.environment, true);
    EXPECT_EQ(within.step, apart.step + " in place");
    EXPECT_NE(within.hash, apart.hash);
}

TEST(TacticKeys, TheKeyIsReadable) {
    const TacticKey key = Asked(reluAdd).key();
    EXPECT_EQ(key.step, "Pointwise (float[4,8], float[4,8]) => (float[4,8]) reassociated "
                        "workspace 1048576");
    EXPECT_EQ(key.device, "NVIDIA H200, 132 multiprocessors, clock default");
    EXPECT_EQ(key.software, "cudnn 9.19, emitter e1");
    EXPECT_EQ(key.hash.size(), 16U);
}

TEST(TacticKeys, EverythingThatCanChangeATimeChangesTheKey) {
    const std::vector<std::function<void(Asked&)>> changes = {
        [](Asked&) {},
        [](Asked& a) {
            a.request.inputs[0].strides = {1, 4};
        },
        [](Asked& a) { a.request.inputs[0].alignment = 4; },
        [](Asked& a) {
            a.request.outputs[0].strides = {16, 1};
        },
        [](Asked& a) { a.request.inputs[1].dtype = DType::Float16; },
        [](Asked& a) { a.request.allowed = NumericClass::Approximate; },
        [](Asked& a) { a.request.strict = true; },
        [](Asked& a) { a.request.tf32 = true; },
        [](Asked& a) { a.request.workspaceLimit = 0; },
        [](Asked& a) { a.request.capability = 80; },
        [](Asked& a) {
            a.request.constants[1] = std::make_shared<Tensor>(DType::Float32, Extents{8, 4});
        },
        [](Asked& a) {
            a.request.constants[1] = std::make_shared<Tensor>(Tensor::ofInts({1, 2}));
        },
        [](Asked& a) {
            a.request.constants[1] = std::make_shared<Tensor>(Tensor::ofInts({1, 3}));
        },
        [](Asked& a) { a.profile.units = 114; },
        [](Asked& a) { a.environment.device = "NVIDIA H100"; },
        [](Asked& a) { a.environment.multiprocessors = 66; },
        [](Asked& a) { a.environment.clockPolicy = "locked 1755 MHz"; },
        [](Asked& a) { a.environment.versions["cudnn"] = "9.20"; },
        [](Asked& a) { a.environment.versions["cudnn"] = ""; },
        [](Asked& a) { a.environment.versions["nvrtc"] = "13.0"; },
        [](Asked& a) { a.environment.emitter = "e2"; },
    };
    std::set<TacticKey> keys;
    std::set<std::string> hashes;
    for (const auto& change : changes) {
        Asked asked(reluAdd);
        change(asked);
        keys.insert(asked.key());
        hashes.insert(asked.key().hash);
    }
    EXPECT_EQ(keys.size(), changes.size());
    EXPECT_EQ(hashes.size(), changes.size()) << "the hash alone tells them apart";
}

TEST(TacticKeys, WhatIsMeasuredOfADeviceIsNoPartOfAKey) {
    Asked asked(reluAdd);
    const TacticKey before = asked.key();
    asked.profile.dramBandwidth *= 1.1;
    asked.profile.overlap = 3;
    EXPECT_EQ(asked.key(), before);
}

TEST(TacticKeys, TapesAndAttributesOfLibraryRoutinesCount) {
    std::set<std::string> hashes;
    for (const char* body : {"(float[4,8] a) => (float[4,8] y) { y = Relu(a) }",
                             "(float[4,8] a) => (float[4,8] y) { y = Elu<alpha = 0.5>(a) }",
                             "(float[4,8] a) => (float[4,8] y) { y = Elu<alpha = 0.25>(a) }"})
        hashes.insert(Asked(body).key().hash);
    EXPECT_EQ(hashes.size(), 3U);
    hashes.clear();
    for (const char* exclusive : {"0", "1"})
        hashes.insert(Asked(std::string("(float[4,8] a, int64 i) => (float[4,8] y) { y = "
                                        "CumSum<exclusive = ") +
                            exclusive + ">(a, i) }")
                          .key()
                          .hash);
    EXPECT_EQ(hashes.size(), 2U);
}

TEST(TacticKeys, LongOperandListsAreCutInTheReadablePartOnly) {
    auto concat = [](const std::string& last) {
        std::string inputs, names;
        for (int i = 0; i < 20; ++i) {
            inputs += (i ? ", " : "") + std::string("float[2,") + (i == 19 ? last : "3") + "] x" +
                      std::to_string(i);
            names += (i ? ", x" : "x") + std::to_string(i);
        }
        const std::string total = std::to_string(19 * 3 + std::stoi(last));
        return "(" + inputs + ") => (float[2," + total + "] y) { y = Concat<axis = 1>(" + names +
               ") }";
    };
    const TacticKey a = Asked(concat("3")).key(), b = Asked(concat("4")).key();
    EXPECT_LT(a.step.size(), 220U);
    EXPECT_EQ(a.step, b.step);
    EXPECT_NE(a, b);
}
