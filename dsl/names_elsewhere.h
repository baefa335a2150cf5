// SPDX-License-Identifier: Apache-2.0
// What frameworks call the operators, attributes and element types of ONNX: PyTorch's `Linear` is
// `Gemm`, its `eps` is `epsilon`. A slip of the pen is suggest.h's business.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::dsl {

struct NameElsewhere {
    std::string_view elsewhere; ///< in lower case
    std::string_view here;      ///< a name of ONNX, or a term over x and y
};

/// How ONNX writes an operator that PyTorch, TensorFlow or Keras call so, whatever its case and a
/// "2d" or "V2" behind it; empty: no framework is known to call one so.
std::string_view operatorElsewhere(std::string_view name);

/// "torch.nn", "tf": the domain of a name that was copied from a program.
bool isModuleElsewhere(std::string_view domain);

/// The one out of `known` that frameworks call `name`, else the nearest; empty: there is none.
std::string attributeMeant(const std::string& name, const std::vector<std::string>& known);

/// What rules call an element type that is `fp16`, `half`, `torch.float16` or `long` elsewhere;
/// empty: none is called so.
std::string_view typeElsewhere(std::string_view name);

/// What ONNX calls an operator that is none, else the nearest of `known`; empty: there is none, or
/// ONNX writes it as several.
std::string operatorMeant(const std::string& name, const std::vector<std::string>& known);

/// What to write in its place: that operator, or the term over several, else `otherwise`.
std::string operatorFix(const std::string& name, const std::vector<std::string>& known,
                        std::string otherwise);

/// All that operatorElsewhere knows.
std::span<const NameElsewhere> operatorsElsewhere();

} // namespace fuselage::dsl
