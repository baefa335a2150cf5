// SPDX-License-Identifier: Apache-2.0
// The published schemas, and that the rows of the op table agree with them in their normal form.
#include "core/ops/op_schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

using namespace fuselage;

namespace {

std::string label(const OpRow& row) {
    return row.domain[0] == '\0' ? row.name : std::string(row.domain) + "." + row.name;
}

/// The documents print six digits.
bool alike(const AttributeValue& a, const AttributeValue& b) {
    const auto* left = std::get_if<double>(&a);
    const auto* right = std::get_if<double>(&b);
    return left && right ? std::abs(*left - *right) <= 1e-5 * std::abs(*left) : equal(a, b);
}

bool isVariadic(const std::vector<OperandSchema>& operands) {
    return !operands.empty() && operands.back().variadic;
}

} // namespace

TEST(OpSchema, ParametersHoldNoData) {
    for (const auto& [op, slot] : {std::pair(Op::Reshape, 1),
                                   {Op::ReduceMax, 1},
                                   {Op::Slice, 4},
                                   {Op::Pad, 1},
                                   {Op::TopK, 1},
                                   {Op::Resize, 3},
                                   {Op::Gather, 1},
                                   {Op::Trilu, 1},
                                   {Op::CumSum, 1},
                                   {Op::Split, 1}})
        EXPECT_TRUE(isParameterInput(op, static_cast<size_t>(slot))) << nameOf(op);
    for (const auto& [op, slot] : {std::pair(Op::DequantizeLinear, 2),
                                   {Op::QuantizeLinear, 2},
                                   {Op::MatMulInteger, 2},
                                   {Op::ConvInteger, 3},
                                   {Op::QLinearConv, 8},
                                   {Op::Pad, 2},
                                   {Op::Clip, 1},
                                   {Op::And, 1},
                                   {Op::Conv, 2},
                                   {Op::LSTM, 4}})
        EXPECT_FALSE(isParameterInput(op, static_cast<size_t>(slot))) << nameOf(op);
    // Where an operand shares the type of what is computed, it is data.
    for (const OpRow& row : allRows()) {
        const OpSchema* form = publishedSchema(row.op);
        for (size_t slot = 0; form && !form->outputs.empty() && slot < form->inputs.size(); ++slot)
            if (form->inputs[slot].type.starts_with('T') &&
                form->inputs[slot].type == form->outputs[0].type)
                EXPECT_FALSE(isParameterInput(row.op, slot)) << label(row) << " " << slot;
    }
}

TEST(OpSchema, VersionsFollowEachOther) {
    const OpSchema* old = publishedSchema("", "Clip", 10);
    const OpSchema* now = publishedSchema("", "Clip", 24);
    ASSERT_TRUE(old && now);
    EXPECT_NE(old->attribute("min"), nullptr);
    EXPECT_EQ(now->attribute("min"), nullptr);
    ASSERT_EQ(now->inputs.size(), 3U);
    EXPECT_FALSE(now->isOptionalInput(0));
    EXPECT_TRUE(now->isOptionalInput(1));
    EXPECT_FALSE(now->isOptionalInput(3));
    EXPECT_EQ(publishedSchema("", "Mish", 17), nullptr);
    EXPECT_EQ(publishedSchema("", "Upsample", 13), nullptr); // withdrawn
    EXPECT_EQ(publishedSchema("com.acme", "Clip", 13), nullptr);
}

TEST(OpSchema, DomainsHaveVersionsOfTheirOwn) {
    const OpSchema* first = publishedSchema("ai.onnx.ml", "LabelEncoder", 1);
    const OpSchema* second = publishedSchema("ai.onnx.ml", "LabelEncoder", 3);
    ASSERT_TRUE(first && second);
    EXPECT_NE(first->attribute("classes_strings"), nullptr);
    EXPECT_EQ(second->attribute("classes_strings"), nullptr);
    EXPECT_NE(second->attribute("keys_strings"), nullptr);
    ASSERT_TRUE(publishedSchema("ai.onnx.ml", "TreeEnsembleClassifier", 4));
    EXPECT_EQ(publishedSchema("ai.onnx.ml", "TreeEnsembleClassifier", 5), nullptr); // withdrawn
    EXPECT_EQ(publishedSchema("", "Scaler", 1), nullptr);
}

TEST(OpSchema, KindsAndDefaultsAreRead) {
    const OpSchema* loop = publishedSchema("", "Loop", 21);
    ASSERT_TRUE(loop);
    EXPECT_TRUE(loop->isOptionalInput(0) && loop->isOptionalInput(1));
    EXPECT_TRUE(isVariadic(loop->inputs));
    ASSERT_NE(loop->attribute("body"), nullptr);
    EXPECT_TRUE(loop->attribute("body")->required);
    const OpSchema* gru = publishedSchema("com.microsoft", "DynamicQuantizeLSTM", 1);
    ASSERT_TRUE(gru);
    EXPECT_TRUE(gru->isOptionalInput(4));
    EXPECT_FALSE(gru->isOptionalInput(8));
    const AttributeSchema* epsilon =
        publishedSchema("", "LayerNormalization", 17)->attribute("epsilon");
    ASSERT_NE(epsilon, nullptr);
    EXPECT_TRUE(epsilon->fallback && equal(*epsilon->fallback, AttributeValue(double(1e-5F))));
}

TEST(OpSchema, AttributesHaveTheOpsetThatBroughtThem) {
    EXPECT_EQ(attributeSince(Op::AveragePool, "dilations"), 19);
    EXPECT_EQ(attributeSince(Op::AveragePool, "kernel_shape"), 1);
    EXPECT_EQ(attributeSince(Op::Resize, "antialias"), 18);
    EXPECT_EQ(attributeSince(Op::QuantizeLinear, "block_size"), 21);
    EXPECT_EQ(attributeSince(Op::ReduceSum, "axes"), 1); // of the normal form only
}

TEST(OpSchema, OperandsHaveElementTypes) {
    EXPECT_EQ(inputTypesOf(Op::Sin, 0).text(), "a float type");
    EXPECT_EQ(inputTypesOf(Op::Add, 1).text(), "a number");
    EXPECT_EQ(inputTypesOf(Op::Gather, 0).text(), "any type");
    EXPECT_EQ(inputTypesOf(Op::Gather, 1).text(), "int32 or int64");
    EXPECT_EQ(inputTypesOf(Op::Where, 0).text(), "bool");
    EXPECT_EQ(inputTypesOf(Op::BitwiseAnd, 0).text(), "an integer type");
    EXPECT_EQ(inputTypesOf(Op::ConvInteger, 0).text(), "int8 or uint8");
    EXPECT_EQ(inputTypesOf(Op::QLinearConv, 8).text(), "int32");
    EXPECT_EQ(inputTypesOf(Op::Concat, 5), inputTypesOf(Op::Concat, 0));
    EXPECT_FALSE(inputTypesOf(Op::Sin, 1).restricted()) << "there is no such operand";
    // Integers came with 14; bfloat16 is a precision, whatever the form.
    EXPECT_FALSE(publishedSchema("", "Relu", 13)->inputTypes(0).allows(DType::Int32));
    EXPECT_TRUE(inputTypesOf(Op::Relu, 0).allows(DType::Int32));
    EXPECT_FALSE(publishedSchema("", "Conv", 11)->inputTypes(0).allows(DType::BFloat16));
    EXPECT_TRUE(inputTypesOf(Op::Conv, 0).allows(DType::BFloat16));
}

/// What the rules' checks know of an elementwise operator they know without a list of operators.
TEST(OpSchema, FewElementwiseOperandsAreOfAnyType) {
    std::set<std::string> any;
    for (Op op : opsWithTrait(Trait::Elementwise))
        if (publishedSchema(op) && rowOf(op).domain[0] == '\0' && !inputTypesOf(op, 0).restricted())
            any.insert(rowOf(op).name);
    EXPECT_EQ(any, (std::set<std::string>{"Cast", "Equal"}));
}

/// A row may know less than is published; what it says about both is the same.
TEST(OpSchema, RowsAgreeWithWhatIsPublished) {
    std::set<std::string> unpublished;
    for (const OpRow& row : allRows()) {
        const OpSchema* published = publishedSchema(row.op);
        if (!published) {
            unpublished.insert(label(row));
            continue;
        }
        for (const AttributeSchema& schema : attributesOf(row.op))
            if (const AttributeSchema* theirs = published->attribute(schema.name)) {
                const bool same = schema.type == theirs->type ||
                                  (schema.type == "tensor" && theirs->type == "sparse_tensor") ||
                                  (schema.type == "string" && theirs->type == "type");
                EXPECT_TRUE(same) << label(row) << " " << schema.name;
                if (schema.fallback && theirs->fallback) {
                    EXPECT_TRUE(alike(*schema.fallback, *theirs->fallback))
                        << label(row) << " " << schema.name;
                }
            }
        const size_t most = row.maxInputs == variadic ? 255 : static_cast<size_t>(row.maxInputs);
        EXPECT_TRUE(isVariadic(published->inputs) || published->inputs.size() <= most)
            << label(row) << " takes more inputs than its row";
    }
    // Not operators of files, one that ONNX Runtime has in ONNX's domain, two of the past, and
    // ours.
    EXPECT_EQ(unpublished, (std::set<std::string>{
                               "Fused", "Scatter", "SimplifiedLayerNormalization", "Unknown",
                               "Upsample", "fuselage.GatherMatMul", "fuselage.LinearRecurrence"}));
}
