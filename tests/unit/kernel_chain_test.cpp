// SPDX-License-Identifier: Apache-2.0
// Two products as one program, and a row in front of them: what it computes and touches, and which
// are none.
#include "core/cost/time_model.h"
#include "core/kernel/chain.h"
#include "kernel_support.h"

using namespace fuselage;
using namespace fuselage::testing_kernel;

namespace {

const char* const expand = "(float[2,5,8] x, float[8,12] w, float[12] b) => "
                           "(float[2,5,12] y) { m = MatMul(x, w) u = Add(m, b) y = Relu(u) }";
const char* const shrink = "(float[12,8] w, float[2,5,12] h, float[2,5,8] r) => "
                           "(float[2,5,8] y) { m = MatMul(h, w) y = Add(m, r) }";

std::variant<KernelProgram, Reason> chainOf(const std::string& first, const std::string& second) {
    return chained(programOf(bodyFrom(first)), programOf(bodyFrom(second)));
}

KernelProgram expectChain(const std::string& first, const std::string& second) {
    auto made = chainOf(first, second);
    if (auto* reason = std::get_if<Reason>(&made)) {
        ADD_FAILURE() << reason->text();
        return {};
    }
    return std::get<KernelProgram>(made);
}

std::string refusalCode(const std::string& first, const std::string& second) {
    auto made = chainOf(first, second);
    const auto* reason = std::get_if<Reason>(&made);
    return reason ? reason->code : "";
}

const char* const norm = "(float[2,5,8] z, float[8] g, float[8] b) => (float[2,5,8] x) "
                         "{ x = LayerNormalization<axis=-1>(z, g, b) }";

std::variant<KernelProgram, Reason> behindRow(const std::string& row, const std::string& first,
                                              const std::string& second) {
    return chained(programOf(bodyFrom(row)), expectChain(first, second));
}

void expectComputesItsBody(const KernelProgram& program) {
    ASSERT_TRUE(program.body);
    EXPECT_EQ(kindOf(program), ProgramKind::Chain);
    LowerRequest request;
    request.body = program.body;
    request.constants.resize(program.inputs.size());
    const std::vector<ReferenceValue> inputs = inputsFor(request);
    const auto got = evaluate(program, inputs);
    ASSERT_TRUE(got) << got.error().text();
    ThreadPool threads(1);
    Progress progress;
    const auto wanted = interpret(*program.body, inputs, threads, progress);
    ASSERT_TRUE(wanted) << wanted.error().text();
    expectNear(got->outputs[0], (*wanted)[0], 1e-6);
    const Traffic traffic = logicalTraffic(program);
    EXPECT_EQ(traffic.logicalRead, got->bytesRead);
    EXPECT_EQ(traffic.logicalWritten, got->bytesWritten);
}

TEST(Chain, ComputesWhatItsBodyDoesAndTouchesNothingBetween) {
    const KernelProgram program = expectChain(expand, shrink);
    ASSERT_EQ(program.inputs.size(), 5U); // x, w, b; w, r
    EXPECT_EQ(program.inputs[3].extents, (Extents{12, 8}));
    expectComputesItsBody(program);
    EXPECT_EQ(logicalTraffic(program).logical(), 4 * (80 + 96 + 12 + 96 + 80 + 80));
}

TEST(Chain, ARowInFrontMakesWhatTheFirstProductMultiplies) {
    auto made = behindRow(norm, expand, shrink);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(made)) << std::get<Reason>(made).text();
    const auto& program = std::get<KernelProgram>(made);
    ASSERT_EQ(program.inputs.size(), 7U); // z, g, b; w, b; w, r
    expectComputesItsBody(program);
    EXPECT_EQ(logicalTraffic(program).logical(), 4 * (80 + 8 + 8 + 96 + 12 + 96 + 80 + 80));
    const auto& chain = std::get<Chain>(program.code);
    ASSERT_TRUE(rowsOf(chain));
    EXPECT_EQ(linkOf(chain), 0U);
    EXPECT_EQ(chainWeight(chain, 0), 3U);
    EXPECT_EQ(chainWeight(chain, 1), 5U);
    EXPECT_EQ(productInput(chain, 0, 0), std::nullopt); // x
    EXPECT_EQ(productInput(chain, 1, 1), std::nullopt); // h
    EXPECT_EQ(productInput(chain, 1, 2), 6U);
    EXPECT_EQ(chainRows(chain), 10);
    const Work all = workOf(program), apart = workOf(expectChain(expand, shrink)),
               rows = workOf(programOf(bodyFrom(norm)));
    EXPECT_EQ(all.flops, apart.flops + rows.flops);
    EXPECT_EQ(all.issue, apart.issue + rows.issue - 2 * 80); // it is neither loaded nor stored
}

TEST(Chain, ARowInFrontOfOneProduct) {
    auto made = chained(programOf(bodyFrom(norm)), programOf(bodyFrom(expand)));
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(made)) << std::get<Reason>(made).text();
    const auto& program = std::get<KernelProgram>(made);
    ASSERT_EQ(program.inputs.size(), 5U); // z, g, b; w, b
    expectComputesItsBody(program);
    const auto& chain = std::get<Chain>(program.code);
    ASSERT_TRUE(rowsOf(chain));
    EXPECT_EQ(productCount(chain), 1U);
    EXPECT_EQ(chainWeight(chain, 0), 3U);
    EXPECT_EQ(productInput(chain, 0, 0), std::nullopt); // x
    EXPECT_EQ(productInput(chain, 0, 2), 4U);
    EXPECT_EQ(chainRows(chain), 10);
    EXPECT_EQ(workOf(program).issue,
              workOf(programOf(bodyFrom(norm))).issue + workOf(programOf(bodyFrom(expand))).issue);
}

TEST(Chain, DimensionsOfOneElementAreNoneOfTheRows) {
    for (const char* extents : {"1,7,5", "7,1,5", "7,5,1", "35", "1,1,1"}) {
        SCOPED_TRACE(extents);
        const std::string at = extents;
        auto made = behindRow("(float[" + at + ",8] z) => (float[" + at +
                                  ",8] x) "
                                  "{ x = Softmax<axis=-1>(z) }",
                              "(float[" + at + ",8] x, float[8,12] w) => (float[" + at +
                                  ",12] y) "
                                  "{ y = MatMul(x, w) }",
                              "(float[" + at + ",12] h, float[12,4] w) => (float[" + at +
                                  ",4] y) "
                                  "{ y = MatMul(h, w) }");
        ASSERT_TRUE(std::holds_alternative<KernelProgram>(made)) << std::get<Reason>(made).text();
        const auto& program = std::get<KernelProgram>(made);
        expectComputesItsBody(program);
        const auto& chain = std::get<Chain>(program.code);
        const auto& row = std::get<Row>(rowsOf(chain)->code);
        const Access read = rowReadInProduct(chain, row.reads[0]);
        EXPECT_EQ(read.index.back().terms[0].dim, productOf(chain, 0).space.size());
        EXPECT_EQ(read.index, productOf(chain, 0).a.index);
    }
}

TEST(Chain, ARowInFrontIsReadAsRowsAlone) {
    auto code = [](auto made) {
        const auto* reason = std::get_if<Reason>(&made);
        return reason ? reason->code : "";
    };
    // Once more behind the first product, in another order, along another dimension; two results.
    EXPECT_EQ(code(behindRow(norm,
                             "(float[2,5,8] x, float[8,8] w) => (float[2,5,8] y) "
                             "{ m = MatMul(x, w) y = Add(m, x) }",
                             "(float[2,5,8] h, float[8,4] w) => (float[2,5,4] y) "
                             "{ y = MatMul(h, w) }")),
              "io-count");
    const char* const across = "(float[2,5,8] z) => (float[2,5,8] x) { x = Softmax<axis=1>(z) }";
    EXPECT_EQ(code(behindRow(across, expand, shrink)), "shape-mismatch");
    EXPECT_EQ(code(behindRow("(float[5,2,8] z) => (float[2,5,8] x) { s = Softmax<axis=-1>(z) "
                             "x = Transpose<perm=[1,0,2]>(s) }",
                             expand, shrink)),
              ""); // as the row writes it
    EXPECT_EQ(code(behindRow("(float[2,5,8] z) => (float[2,5,8] x, float[2,5,8] y) "
                             "{ x = Softmax<axis=-1>(z) y = Exp(z) }",
                             expand, shrink)),
              "io-count");
    auto one = chained(programOf(bodyFrom(norm)), programOf(bodyFrom(expand)));
    EXPECT_EQ(code(chained(programOf(bodyFrom(norm)), std::get<KernelProgram>(one))), "kind");
    EXPECT_EQ(code(chained(std::get<KernelProgram>(one), programOf(bodyFrom(shrink)))), "kind");
    auto three = behindRow(norm, expand, shrink);
    EXPECT_EQ(code(chained(programOf(bodyFrom(norm)), std::get<KernelProgram>(three))), "kind");
}

TEST(Chain, NumbersItsOperandsWithoutTheLink) {
    const KernelProgram program = expectChain(expand, shrink);
    const auto& chain = std::get<Chain>(program.code);
    EXPECT_EQ(linkOf(chain), 1U);
    EXPECT_EQ(chainWeight(chain, 0), 1U);
    EXPECT_EQ(chainWeight(chain, 1), 3U);
    EXPECT_EQ(chainInput(chain, 1, 2), 4U);
    EXPECT_EQ(chainRows(chain), 10);
}

TEST(Chain, WorkIsThatOfBothProducts) {
    const KernelProgram program = expectChain(expand, shrink);
    const Work all = workOf(program), one = workOf(programOf(bodyFrom(expand))),
               two = workOf(programOf(bodyFrom(shrink)));
    EXPECT_EQ(all.matrixFlops, 2 * 2 * 10 * 8 * 12);
    EXPECT_EQ(all.flops, one.flops + two.flops);
    EXPECT_EQ(all.issue, one.issue + two.issue);
    EXPECT_TRUE(all.matrix);
}

TEST(Chain, WantsPlainProductsOfTheSameRows) {
    // Rows in another order, the hidden value once more, hidden columns that are not the terms.
    EXPECT_EQ(refusalCode(expand, "(float[2,5,12] h, float[12,8] w) => (float[5,2,8] y) "
                                  "{ t = Transpose<perm=[1,0,2]>(h) y = MatMul(t, w) }"),
              "shape-mismatch");
    EXPECT_EQ(refusalCode(expand, "(float[2,5,12] h, float[12,12] w) => (float[2,5,12] y) "
                                  "{ m = MatMul(h, w) y = Add(m, h) }"),
              "io-count");
    EXPECT_EQ(refusalCode(expand, "(float[12,8] w, float[8,12] h) => (float[8,8] y) "
                                  "{ y = MatMul(h, w) }"),
              "shape-mismatch");
    EXPECT_EQ(refusalCode(expand, "(float[2,5,12] h) => (float[2,5,12] y) { y = Relu(h) }"),
              "kind");
    EXPECT_EQ(refusalCode("(float[2,5,8] x, float[2,8,12] w) => (float[2,5,12] y) "
                          "{ y = MatMul(x, w) }",
                          shrink),
              "kind");
    // A picture's channels are the terms, wherever the picture has them.
    expectChain("(float[2,5,3,8] x, float[8,12] w) => (float[2,5,3,12] y) "
                "{ y = MatMul(x, w) }",
                "(float[2,5,3,12] h, float[12,8] w) => (float[2,8,5,3] y) "
                "{ m = MatMul(h, w) y = Transpose<perm=[0,3,1,2]>(m) }");
}

/// Blocks have rows with all their columns: 66 of them leave half of 132 multiprocessors idle.
TEST(Chain, LanesWaitForTheMultiprocessorWithTheMostRows) {
    const DeviceProfile profile = *deviceProfile("h200");
    auto issue = [&](int64_t rows) {
        const std::string m = std::to_string(rows);
        const KernelProgram program =
            expectChain("(float16[" + m + ",32] x, float16[32,64] w) => (float16[" + m +
                            ",64] y) { u = MatMul(x, w) y = Relu(u) }",
                        "(float16[" + m + ",64] h, float16[64,32] w) => (float16[" + m +
                            ",32] y) { y = MatMul(h, w) }");
        return predictTime(program, predictTraffic(program, profile, {}), profile).issue /
               static_cast<double>(rows);
    };
    const double even = issue(int64_t{128} * 132);
    EXPECT_NEAR(issue(int64_t{64} * 132), even, 1e-3 * even);
    EXPECT_NEAR(issue(int64_t{64} * 66), 2 * even, 1e-3 * even);
    EXPECT_NEAR(issue(int64_t{128} * 198), 4.0 / 3 * even, 1e-3 * even);
    EXPECT_NEAR(issue(int64_t{128} * 132 * 50), even, 1e-3 * even);
}

/// Bytes through the last cache: weights once for each multiprocessor while they fit it, else once
/// for each block of rows.
TEST(Chain, WeightsStayInAMultiprocessorWhileTheyFit) {
    const DeviceProfile profile = *deviceProfile("h200");
    auto traffic = [&](int64_t rows, int64_t terms) {
        const auto layer = [&](int64_t from, int64_t to) {
            return "(float16[" + std::to_string(rows) + "," + std::to_string(from) +
                   "] x, float16[" + std::to_string(from) + "," + std::to_string(to) +
                   "] w) => (float16[" + std::to_string(rows) + "," + std::to_string(to) +
                   "] y) { y = MatMul(x, w) }";
        };
        return predictTraffic(expectChain(layer(terms, 4 * terms), layer(4 * terms, terms)),
                              profile, {});
    };
    const int64_t rows = 128 * 1000;
    EXPECT_EQ(traffic(rows, 96).l2, 2 * rows * 96 * 2 + 132 * 2 * 96 * 384 * 2);
    EXPECT_EQ(traffic(rows, 192).l2, 2 * rows * 192 * 2 + 1000 * 2 * 192 * 768 * 2);
}

} // namespace
