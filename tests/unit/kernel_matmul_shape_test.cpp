// SPDX-License-Identifier: Apache-2.0
// Loops of a product whose rows lie in any order: as few and as large products as there can be.
#include "core/kernel/matmul_shape.h"
#include "kernel_support.h"

using namespace fuselage;
using namespace fuselage::testing_kernel;

namespace {

/// 197 rows of each of 4 images, rows first: x [197,4,8] times w [8,6].
Contraction rowsOfImages() {
    const KernelProgram program =
        expectLowers("(float[197,4,8] x, float[8,6] w) => (float[197,4,6] y) { y = MatMul(x, w) }",
                     "Contraction");
    return std::get<Contraction>(program.code);
}

MatMulShape shapeOf(const Extents& x, const Extents& y, ProductLoop chosen = ProductLoop::Longest) {
    const Contraction code = rowsOfImages();
    auto shape = matMulShape(code, strided(code.a, x, 4), strided(code.b, {6, 1}, 4),
                             strided(code.epilogue.writes[0], y, 3), chosen);
    EXPECT_TRUE(std::holds_alternative<MatMulShape>(shape));
    return std::get<MatMulShape>(shape);
}

} // namespace

TEST(MatMulShape, RowsInOneOrderAreOneProduct) {
    const MatMulShape shape = shapeOf({32, 8, 1}, {24, 6, 1});
    EXPECT_TRUE(shape.batch.empty());
    EXPECT_EQ(shape.m, 197 * 4);
}

TEST(MatMulShape, RowsThatAllLieInAnotherOrderAreOneProductToo) {
    const MatMulShape shape = shapeOf({8, 197 * 8, 1}, {6, 197 * 6, 1});
    EXPECT_TRUE(shape.batch.empty());
    EXPECT_EQ(shape.m, 197 * 4);
    EXPECT_EQ(shape.aM, 8);
    EXPECT_EQ(shape.cM, 6);
}

TEST(MatMulShape, RowsInTwoOrdersAreAsLargeProductsAsThereAre) {
    const MatMulShape shape = shapeOf({8, 197 * 8, 1}, {24, 6, 1});
    ASSERT_EQ(shape.batch.size(), 1U);
    EXPECT_EQ(shape.batch[0].extent, 4);
    EXPECT_EQ(shape.m, 197);
    EXPECT_EQ(shape.aM, 8);
    EXPECT_EQ(shape.cM, 24);
}

TEST(MatMulShape, OrTheInnermostRowsWhereResultsMustLieTogether) {
    const MatMulShape shape = shapeOf({8, 197 * 8, 1}, {24, 6, 1}, ProductLoop::Innermost);
    ASSERT_EQ(shape.batch.size(), 1U);
    EXPECT_EQ(shape.batch[0].extent, 197);
    EXPECT_EQ(shape.m, 4);
}
