// SPDX-License-Identifier: Apache-2.0
// What is advised about an operator's name in a framework must itself be right.
#include "core/graph/dtype.h"
#include "dsl/names_elsewhere.h"
#include "dsl/resolve.h"
#include "dsl_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using fuselage::dsl::test::Loaded;

TEST(DslNamesElsewhere, EveryTermIsOneOfOnnx) {
    for (const auto& [elsewhere, here] : dsl::operatorsElsewhere()) {
        const bool isName = here.find('(') == std::string_view::npos;
        if (isName) {
            EXPECT_TRUE(dsl::operatorNamed(std::string(here))) << here;
            continue;
        }
        const std::string text = "fuse 1;\nrule R { match { z = " + std::string(here) + "; } }";
        EXPECT_EQ(Loaded(text).problems(), std::vector<std::string>()) << elsewhere;
    }
}

TEST(DslNamesElsewhere, NoNameOfOnnxIsToldToBeAnother) {
    for (const std::string& name : dsl::operatorNames()) {
        const std::string_view told = dsl::operatorElsewhere(name);
        EXPECT_TRUE(told.empty() || told == name) << name << " is said to be " << told;
    }
}

TEST(DslNamesElsewhere, EndingsThatTellDimensionsOrVersionsCountForNothing) {
    EXPECT_EQ(dsl::operatorElsewhere("AvgPool2d"), "AveragePool");
    EXPECT_EQ(dsl::operatorElsewhere("FusedBatchNormV3"), "BatchNormalization");
    EXPECT_EQ(dsl::operatorElsewhere("index_select"), "Gather");
    EXPECT_EQ(dsl::operatorElsewhere("Frobnicate"), "");
    const std::vector<std::string> known{"Add", "Conv", "Relu", "Selu"};
    EXPECT_EQ(dsl::operatorFix("AddV2", known, ""), "did you mean `Add`?");
    EXPECT_EQ(dsl::operatorFix("Conv2d", known, ""), "did you mean `Conv`?");
    EXPECT_EQ(dsl::operatorFix("SiLU", known, ""),
              "ONNX has none of that name: write `Mul(x, Sigmoid(x))`");
    EXPECT_EQ(dsl::operatorFix("Frobnicate", known, "write one"), "write one");
}

TEST(DslNamesElsewhere, ElementTypesAreThoseOfRules) {
    EXPECT_EQ(dsl::typeElsewhere("torch.float16"), "float16");
    EXPECT_EQ(dsl::typeElsewhere("float32"), "float");
    EXPECT_EQ(dsl::typeElsewhere("long"), "int64");
    EXPECT_EQ(dsl::typeElsewhere("float"), "") << "that is one";
    for (const char* name : {"fp16", "half", "bf16", "fp64", "i64", "u8", "boolean", "int"})
        EXPECT_TRUE(dtypeFromName(dsl::typeElsewhere(name))) << name;
}

TEST(DslNamesElsewhere, AttributesAreThoseThatTheOperatorHas) {
    EXPECT_EQ(dsl::attributeMeant("dim", {"axis", "keepdims"}), "axis");
    EXPECT_EQ(dsl::attributeMeant("dim", {"axes", "keepdims"}), "axes");
    EXPECT_EQ(dsl::attributeMeant("kernel_size", {"kernel_shape", "pads"}), "kernel_shape");
    EXPECT_EQ(dsl::attributeMeant("eps", {"axis", "epsilon"}), "epsilon");
    EXPECT_EQ(dsl::attributeMeant("stride", {"alpha"}), "");
}
