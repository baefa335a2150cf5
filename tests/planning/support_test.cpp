// SPDX-License-Identifier: Apache-2.0
// What cuDNN plans for each architecture, without a GPU: support, workspace and notes, never engine
// numbers or counts, which differ between a described device and a real one. Skipped where cuDNN is
// not installed. The libcuda is a stand-in that only loads code.
#include "gpu/libs/cudnn_plan.h"
#include "gpu/libs/device_json.h"
#include "gpu/libs/library_support.h"
#include "tests/unit/gpu_libs_support.h"

#include <dlfcn.h>

using namespace fuselage;
using namespace fuselage::testing_gpu;

namespace {

/// A device of the architecture; what is not a built-in profile is one with its figures changed.
DeviceProfile profileOf(const std::string& arch) {
    const std::map<std::string, std::string> names = {{"sm_75", "t4"},
                                                      {"sm_80", "a100"},
                                                      {"sm_86", "rtx4090"},
                                                      {"sm_89", "rtx4090"},
                                                      {"sm_90", "h200"}};
    auto profile = deviceProfile(names.at(arch));
    EXPECT_TRUE(profile);
    profile->arch = arch;
    if (arch == "sm_86")
        profile->units = 84;
    return *profile;
}

LibraryPlanner* planner(const std::string& arch) {
    static void* driver = dlopen(PLANNING_DRIVER, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(driver, nullptr);
    static std::map<std::string, std::unique_ptr<LibraryPlanner>> made;
    auto found = made.find(arch);
    if (found == made.end()) {
        auto fresh = LibraryPlanner::make(profileOf(arch));
        found = made.emplace(arch, fresh ? std::move(*fresh) : nullptr).first;
    }
    return found->second.get();
}

struct Wanted {
    const char* arch;
    const char* type;
    bool supported;
    int64_t most;           ///< bytes of workspace
    const char* notes = ""; ///< all of these words occur, comma-separated is one
};

std::string typed(std::string body, const std::string& type) {
    for (size_t at = 0; (at = body.find("half[", at)) != std::string::npos;)
        body.replace(at, 4, type);
    return body;
}

DType dtypeOf(const std::string& type) {
    return *dtypeFromName(type);
}

constexpr int64_t workspaceLimit = int64_t(64) << 20;

class Support : public testing::Test {
protected:
    void expect(const std::string& body, const std::map<std::string, Extents>& weights,
                bool channelsLast, const std::vector<Wanted>& table) {
        for (const Wanted& row : table) {
            SCOPED_TRACE(std::string(row.arch) + " " + row.type);
            LibraryPlanner* with = planner(row.arch);
            if (with == nullptr)
                GTEST_SKIP() << "no cuDNN that plans without a device is installed";
            if (!with->asksCompilingEngines())
                GTEST_SKIP() << "no stand-in for libcuda";
            std::map<std::string, Tensor> constants;
            for (const auto& [name, extents] : weights)
                constants.emplace(name, weightsOf(extents, dtypeOf(row.type)));
            LibraryCase made(typed(body, row.type), constants, channelsLast);
            made.request.workspaceLimit = workspaceLimit;
            made.request.tf32 = true;
            made.request.allowed = std::string(row.type) == "float" ? NumericClass::Approximate
                                                                    : NumericClass::Reassociated;
            const LibrarySupport got = with->support(made.request, false).at(0);
            EXPECT_EQ(got.supported(), row.supported) << text(got);
            if (!row.supported || !got.supported())
                continue;
            EXPECT_GT(got.configurations, 0U);
            EXPECT_LE(got.workspaceBytes, row.most) << text(got);
            EXPECT_NE(got.notes.find(row.notes), std::string::npos) << text(got);
        }
    }
};

const char* conv3 = "(half[32,64,56,56] x, half[64,64,3,3] w, half[64] b) => (half[32,64,56,56] y) "
                    "{ c = Conv<kernel_shape=[3,3],pads=[1,1,1,1]>(x, w, b) ";
const char* conv1 = "(half[32,64,56,56] x, half[256,64,1,1] w, half[256] b, "
                    "half[32,256,56,56] r) => (half[32,256,56,56] y) "
                    "{ c = Conv<kernel_shape=[1,1]>(x, w, b) d = Add(c, r) y = Relu(d) }";
const char* linear = "(half[6304,768] x, half[768,3072] w, half[3072] b) => (half[6304,3072] y) "
                     "{ t = MatMul(x, w) u = Add(t, b) ";

const std::map<std::string, Extents> weights3 = {{"w", {64, 64, 3, 3}}, {"b", {64}}};
const std::map<std::string, Extents> weights1 = {{"w", {256, 64, 1, 1}}, {"b", {256}}};
const std::map<std::string, Extents> weightsLinear = {{"w", {768, 3072}}, {"b", {3072}}};

} // namespace

TEST_F(Support, ConvolutionWithBiasAndRelu) {
    expect(std::string(conv3) + "y = Relu(c) }", weights3, true,
           {{"sm_90", "float16", true, 131},
            {"sm_90", "bfloat16", true, 131},
            {"sm_90", "float", true, 131},
            {"sm_89", "float16", true, 0},
            {"sm_86", "float16", true, 0},
            {"sm_80", "float16", true, 0},
            {"sm_80", "bfloat16", true, 0},
            {"sm_75", "float16", true, 0},
            {"sm_75", "bfloat16", false, 0}});
}

TEST_F(Support, ConvolutionWithBiasAndReluHasKernelsThatComeCompiled) {
    LibraryPlanner* with = planner("sm_90");
    if (with == nullptr)
        GTEST_SKIP() << "no cuDNN that plans without a device is installed";
    std::map<std::string, Tensor> constants;
    for (const auto& [name, extents] : weights3)
        constants.emplace(name, weightsOf(extents, DType::Float16));
    LibraryCase made(typed(std::string(conv3) + "y = Relu(c) }", "float16"), constants, true);
    made.request.workspaceLimit = workspaceLimit;
    const LibrarySupport got = with->support(made.request, false).at(0);
    EXPECT_TRUE(got.supported()) << text(got);
    EXPECT_EQ(got.notes.find("compiled at run time"), std::string::npos) << text(got);
}

TEST_F(Support, ResidualConvolutionIsCompiledAndWantsChannelsLast) {
    const std::string compiled = "compiled at run time";
    expect(conv1, weights1, true,
           {{"sm_90", "float16", true, 0, compiled.c_str()},
            {"sm_90", "bfloat16", true, 0, compiled.c_str()},
            {"sm_89", "float16", true, 0, compiled.c_str()},
            {"sm_80", "float16", true, 0, compiled.c_str()},
            {"sm_75", "float16", true, 0, compiled.c_str()},
            {"sm_75", "bfloat16", false, 0}});
    expect(conv1, weights1, false,
           {{"sm_90", "float16", false, 0}, {"sm_80", "float16", false, 0}});
}

TEST_F(Support, LinearLayerWithAnyOfTheActivations) {
    for (const char* activation : {"y = Gelu(u) }", "y = Gelu<approximate=\"tanh\">(u) }",
                                   "s = Sigmoid(u) y = Mul(u, s) }", "y = Elu(u) }"}) {
        SCOPED_TRACE(activation);
        expect(
            std::string(linear) + activation, weightsLinear, false,
            {{"sm_90", "float16", true, 0, "compiled"}, {"sm_80", "float16", true, 0, "compiled"}});
    }
    expect(std::string(linear) + "y = Relu(u) }", weightsLinear, false,
           {{"sm_90", "bfloat16", true, 0}, {"sm_75", "float16", true, 0}});
}

TEST_F(Support, LayerScaleWithResidual) {
    expect("(half[6304,768] x, half[768,768] w, half[768] b, half[768] g, half[6304,768] r) => "
           "(half[6304,768] y) { t = MatMul(x, w) u = Add(t, b) s = Mul(u, g) y = Add(s, r) }",
           {{"w", {768, 768}}, {"b", {768}}, {"g", {768}}}, false,
           {{"sm_90", "float16", true, 0},
            {"sm_89", "float16", true, 0},
            {"sm_75", "float16", true, 0}});
}

TEST_F(Support, QuantisedConvolutionsAndProductsOfSignedBytes) {
    struct Row {
        const char* arch;
        bool supported;
    };
    auto expectBytes = [](const std::string& body, const std::map<std::string, Tensor>& constants,
                          const std::vector<Row>& rows) {
        for (const Row& row : rows) {
            SCOPED_TRACE(row.arch);
            LibraryPlanner* with = planner(row.arch);
            if (with == nullptr || !with->asksCompilingEngines())
                GTEST_SKIP() << "no cuDNN that plans without a device is installed";
            LibraryCase made(body, constants, true);
            made.request.workspaceLimit = workspaceLimit;
            made.request.allowed = NumericClass::Reassociated;
            const LibrarySupport got = with->support(made.request, row.supported).at(0);
            EXPECT_EQ(got.supported(), row.supported) << text(got);
        }
    };
    auto convolution = [](const std::string& w, const std::string& more) {
        return "(int8[8,64,28,28] x, int8[64," + w +
               ",3,3] w, float[64] ws, int8[8,64,28,28] r, float[64] b) => (int8[8,64,28,28] y) "
               "<float xs = {0.02}, float rs = {0.03}, float ys = {0.05}, int8 yz = {0}> { "
               "dx = DequantizeLinear(x, xs) dw = DequantizeLinear<axis=0>(w, ws) "
               "c = Conv<kernel_shape=[3,3],pads=[1,1,1,1]" +
               more +
               ">(dx, dw, b) dr = DequantizeLinear(r, rs) s = Add(c, dr) u = Relu(s) "
               "y = QuantizeLinear(u, ys, yz) }";
    };
    const std::map<std::string, Tensor> rest = {{"ws", stepsOf(64)}, {"b", weightsOf({64})}};
    auto with = [&](Extents extents) {
        auto out = rest;
        out.emplace("w", bytesOf(std::move(extents)));
        return out;
    };
    expectBytes(
        convolution("64", ""), with({64, 64, 3, 3}),
        {{"sm_75", true}, {"sm_80", true}, {"sm_86", true}, {"sm_89", true}, {"sm_90", true}});
    expectBytes(convolution("1", ",group=64"), with({64, 1, 3, 3}),
                {{"sm_80", false}, {"sm_90", false}});
    expectBytes("(int8[8,3,56,56] x, int8[64,3,7,7] w, float[64] ws, float[64] b) => "
                "(int8[8,64,28,28] y) <float xs = {0.02}, float ys = {0.05}, int8 yz = {0}> { "
                "dx = DequantizeLinear(x, xs) dw = DequantizeLinear<axis=0>(w, ws) "
                "c = Conv<kernel_shape=[7,7],pads=[3,3,3,3],strides=[2,2]>(dx, dw, b) "
                "u = Relu(c) y = QuantizeLinear(u, ys, yz) }",
                with({64, 3, 7, 7}), {{"sm_75", false}, {"sm_80", true}, {"sm_90", true}});
    expectBytes("(int8[512,768] x, int8[768,64] w, float[64] ws, float[64] b) => "
                "(float[512,64] y) <float xs = {0.02}> { dx = DequantizeLinear(x, xs) "
                "dw = DequantizeLinear<axis=1>(w, ws) t = MatMul(dx, dw) u = Add(t, b) "
                "y = Gelu(u) }",
                with({768, 64}), {{"sm_80", true}, {"sm_90", true}});
}

TEST_F(Support, AttentionNeedsSm80) {
    expect("(half[32,197,12,64] q, half[32,197,12,64] k, half[32,197,12,64] v) => "
           "(half[32,197,12,64] y) { qt = Transpose<perm=[0,2,1,3]>(q) "
           "kt = Transpose<perm=[0,2,3,1]>(k) vt = Transpose<perm=[0,2,1,3]>(v) s = MatMul(qt, kt) "
           "p = Softmax<axis=-1>(s) o = MatMul(p, vt) y = Transpose<perm=[0,2,1,3]>(o) }",
           {}, false,
           {{"sm_90", "float16", true, 256},
            {"sm_80", "bfloat16", true, 0},
            {"sm_89", "float16", true, 0},
            {"sm_75", "float16", false, 0}});
}

TEST_F(Support, AttentionWithAMaskThatIsAddedIsOneGraph) {
    const auto masked = [](const std::string& mask) {
        return "(half[8,12,128,64] q, half[8,12,128,64] k, half[8,12,128,64] v, " + mask +
               " m) => (half[8,12,128,64] y) { kt = Transpose<perm=[0,1,3,2]>(k) "
               "s = MatMul(q, kt) a = Add(s, m) p = Softmax<axis=-1>(a) y = MatMul(p, v) }";
    };
    expect(masked("half[8,1,128,128]"), {}, false,
           {{"sm_90", "float16", true, 0},
            {"sm_90", "bfloat16", true, 0},
            {"sm_80", "float16", true, 0},
            {"sm_75", "float16", false, 0}});
    // cuDNN plans these as well, and reads them wrongly: they are not offered to it.
    for (const char* repeated : {"half[8,1,1,128]", "half[8,1,128,1]"}) {
        SCOPED_TRACE(repeated);
        expect(masked(repeated), {}, false,
               {{"sm_90", "float16", false, 0}, {"sm_80", "bfloat16", false, 0}});
    }
}

TEST_F(Support, APlanIsFinishedWithoutADevice) {
    LibraryPlanner* with = planner("sm_90");
    if (with == nullptr || !with->asksCompilingEngines())
        GTEST_SKIP() << "no cuDNN that plans without a device is installed";
    std::map<std::string, Tensor> constants;
    for (const auto& [name, extents] : weights1)
        constants.emplace(name, weightsOf(extents, DType::Float16));
    LibraryCase made(typed(conv1, "float16"), constants, true);
    made.request.workspaceLimit = workspaceLimit;
    const LibrarySupport got = with->support(made.request, true).at(0);
    EXPECT_TRUE(got.supported()) << text(got);
    EXPECT_EQ(got.workspaceBytes, 0);
}

TEST_F(Support, AFinishedPlanIsRestoredFromItsText) {
    LibraryPlanner* with = planner("sm_90");
    if (with == nullptr || !with->asksCompilingEngines())
        GTEST_SKIP() << "no cuDNN that plans without a device is installed";
    namespace dnn = gpu::cudnn;
    const auto library = *dnn::Library::open();
    const auto target = *dnn::describedTarget(library, gpu::deviceJson(profileOf("sm_90")));
    std::map<std::string, Tensor> constants;
    for (const auto& [name, extents] : weights1)
        constants.emplace(name, weightsOf(extents, DType::Float16));
    LibraryCase made(typed(conv1, "float16"), constants, true);
    const auto described = gpu::describe(made.request);
    const auto graph = dnn::operationGraph(
        library, std::get<std::vector<gpu::GraphDescription>>(described).at(0), nullptr);
    const auto found = dnn::configurations(*target, std::get<dnn::OperationGraph>(graph), 16);
    const auto& first = std::get<std::vector<dnn::FoundConfiguration>>(found).at(0);
    const auto plan = dnn::finishPlan(*target, first);
    const std::string text = std::get<dnn::Plan>(plan).descriptor.readText(
        dnn::Attribute::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    ASSERT_FALSE(text.empty());
    const auto restored = dnn::restorePlan(*target, text, first.name());
    ASSERT_NE(std::get_if<dnn::Plan>(&restored), nullptr) << std::get<Reason>(restored).text();
    EXPECT_EQ(std::get<dnn::Plan>(restored).workspaceBytes,
              std::get<dnn::Plan>(plan).workspaceBytes);
    const auto half = dnn::restorePlan(*target, text.substr(0, text.size() / 2), first.name());
    EXPECT_NE(std::get_if<Reason>(&half), nullptr);
}

TEST_F(Support, WorkspaceOverTheLimitIsDroppedByName) {
    LibraryPlanner* with = planner("sm_90");
    if (with == nullptr || !with->asksCompilingEngines())
        GTEST_SKIP() << "no cuDNN that plans without a device is installed";
    std::map<std::string, Tensor> constants;
    for (const auto& [name, extents] : weights3)
        constants.emplace(name, weightsOf(extents, DType::Float16));
    // Row-major operands are transposed in the workspace.
    LibraryCase made(typed(std::string(conv3) + "y = Relu(c) }", "float16"), constants, false);
    made.request.workspaceLimit = 1024;
    const LibrarySupport got = with->support(made.request, false).at(0);
    ASSERT_FALSE(got.dropped.empty()) << text(got);
    EXPECT_EQ(got.dropped[0].code, "workspace");
    EXPECT_EQ(got.dropped[0].facts.at(0).name, "tactic");
    EXPECT_EQ(got.dropped[0].facts.at(1).name, "need");
}
