// SPDX-License-Identifier: Apache-2.0
// The tape builder and the operator table: names, schemas, defaults, traits.
#include "core/ops/op_table.h"

#include <gtest/gtest.h>

namespace fuselage {

TEST(Tape, EqualInstructionsAreMadeOnce) {
    TapeBuilder b;
    Scalar x = b.input(DType::Float32);
    Scalar first = x * 2.0 + 1.0;
    Scalar again = x * 2.0 + 1.0;
    EXPECT_EQ(first.reg(), again.reg());
}

TEST(Tape, FinishDropsWhatNoOutputNeeds) {
    TapeBuilder b;
    Scalar x = b.input(DType::Float32);
    Scalar unused = unary(TapeOp::Exp, x);
    (void)unused;
    EXPECT_EQ(b.finish({x + 1.0}).text(), "r0 = input 0 : float\n"
                                          "r1 = constant 1 : float\n"
                                          "r2 = add r0 r1 : float\n"
                                          "return r2\n");
}

TEST(Tape, UnusedInputsKeepTheirPlace) {
    TapeBuilder b;
    b.input(DType::Float32);
    Scalar y = b.input(DType::Int64);
    Tape tape = b.finish({y});
    EXPECT_EQ(tape.inputs.size(), 2U);
    EXPECT_EQ(tape.code[0].index, 1);
}

TEST(Tape, AppendBindsInputsAndSharesCode) {
    TapeBuilder inner;
    Scalar a = inner.input(DType::Float32);
    Tape square = inner.finish({a * a});
    TapeBuilder outer;
    Scalar x = outer.input(DType::Float32);
    Scalar direct = x * x;
    EXPECT_EQ(outer.append(square, {x})[0].reg(), direct.reg());
}

TEST(OpTable, EveryOperatorIsFoundByItsNameAndDomain) {
    for (const OpRow& row : allRows()) {
        if (row.op == Op::Unknown || row.op == Op::Fused)
            continue;
        auto found = opFromName(row.domain, row.name);
        ASSERT_TRUE(found) << row.name;
        EXPECT_EQ(*found, row.op) << row.name;
    }
}

TEST(OpTable, EqualNamesInTwoDomainsAreTwoOperators) {
    EXPECT_EQ(opFromName("", "Attention"), Op::Attention);
    EXPECT_EQ(opFromName("ai.onnx", "Attention"), Op::Attention);
    EXPECT_EQ(opFromName("com.microsoft", "Attention"), Op::MsAttention);
    EXPECT_FALSE(opFromName("com.acme", "Attention"));
}

TEST(OpTable, NamesThatAreNotOperatorsAreNotFound) {
    EXPECT_FALSE(opFromName("", "Unknown"));
    EXPECT_FALSE(opFromName("", "Fused"));
    EXPECT_FALSE(opFromName("", "Concta"));
}

} // namespace fuselage
