// SPDX-License-Identifier: Apache-2.0
// One row an operator: name, opset range, arity, attributes, traits, and the functions that give it
// meaning. All phases ask this table; nothing else knows what an operator does.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/reference_value.h"
#include "core/ops/tape.h"
#include "core/support/parallel.h"
#include "core/support/result.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fuselage {

/// Facts that rules and phases ask for instead of naming operators.
enum Trait : uint32_t {
    Elementwise = 1U << 0,   ///< has a tape; numpy broadcasting between its inputs
    Commutative = 1U << 1,   ///< its first two operands may be swapped
    Associative = 1U << 2,   ///< together with Commutative: `flat` may match trees of it
    Reduction = 1U << 3,     ///< along axes, result keeps or drops them
    View = 1U << 4,          ///< same elements in the same order: Reshape, Flatten, Squeeze ...
    DataMovement = 1U << 5,  ///< copies elements: Transpose, Concat, Slice, Pad, Gather ...
    ContractionOp = 1U << 6, ///< sums of products: MatMul, Gemm, Conv ...
    WindowOp = 1U << 7,      ///< pooling and resampling
    Normalization = 1U << 8, ///< Softmax, LayerNormalization ...
    Discontinuous =
        1U << 9, ///< small input changes flip the result: Equal, Floor, ArgMax, TopK ...
    Nondeterministic = 1U << 10, ///< random numbers: never folded, merged or recomputed
    ControlFlow = 1U << 11,      ///< has subgraphs
    ShapeQuery = 1U << 12,       ///< reads only the shape of its operand
    Pooling = 1U << 13,          ///< a WindowOp that reduces
};

/// What shape inference may ask about one node, and where it puts the answer.
class InferContext {
public:
    virtual ~InferContext() = default;
    virtual const Node& node() const = 0;
    virtual size_t inputCount() const = 0; ///< explicit inputs
    virtual bool has(size_t input) const = 0;
    virtual const Type& input(size_t input) const = 0;
    virtual const Tensor* constant(size_t input) const = 0; ///< null when not constant
    /// A small integer tensor's contents, numbers or symbols; also of constants. None when unknown.
    virtual std::optional<Shape> contents(size_t input) const = 0;
    virtual size_t outputCount() const = 0;
    virtual void setOutput(size_t output, Type type) = 0;
    virtual void setContents(size_t output, Shape contents) = 0;
    /// Infers a subgraph with these types for its explicit inputs; returns its output types.
    virtual std::vector<Type> inferSubgraph(const std::string& attribute,
                                            const std::vector<Type>& inputs) = 0;
    /// The node contradicts its operator ("B has 3 rows, A has 4 columns"); inference goes on.
    virtual void fail(std::string message) = 0;
};

/// What a reference function may use besides its inputs.
class ReferenceContext {
public:
    virtual ~ReferenceContext() = default;
    virtual ThreadPool& threads() = 0;
    /// Runs a subgraph attribute of the node with these explicit inputs (captures are bound).
    virtual Result<std::vector<ReferenceValue>> runSubgraph(const std::string& attribute,
                                                            std::vector<ReferenceValue> inputs) = 0;
    /// Deterministic random numbers: the same seed for the same node.
    virtual uint64_t seed() = 0;
};

/// Inputs are null where omitted. Returns one value for each output of the node.
using ReferenceInputs = std::span<const ReferenceValue* const>;
using ReferenceFunction = Result<std::vector<ReferenceValue>> (*)(const Node&, ReferenceInputs,
                                                                  ReferenceContext&);
using InferFunction = void (*)(InferContext&);
/// Appends the operator's scalar code; inputs omitted in the node are not in `inputs`.
using TapeFunction = Scalar (*)(TapeBuilder&, const Node&, std::span<const Scalar> inputs);

constexpr int variadic = 255;

struct OpRow {
    Op op;
    const char* name;
    const char* domain = ""; ///< "" is ai.onnx
    int since = 1;           ///< first opset with this operator
    int minInputs = 1;
    int maxInputs = 1; ///< `variadic` for no limit
    int minOutputs = 1;
    int maxOutputs = 1;
    uint32_t traits = 0;
    const char* inputs = "X"; ///< schema names, space separated; the last one repeats if variadic
    /// "axis:int=-1 epsilon:float=1e-5 mode:string='constant' axes:ints body:graph value:tensor";
    /// '!' after the type marks a required attribute.
    const char* attributes = "";
    InferFunction infer = nullptr;
    ReferenceFunction reference = nullptr; ///< null with a tape: the tape is interpreted
    TapeFunction tape = nullptr;           ///< only with Elementwise
};

struct AttributeSchema {
    std::string name;
    std::string type; ///< int float string ints floats strings tensor graph
    bool required = false;
    std::optional<AttributeValue> fallback;
};

/// The row of an operator; Unknown and Fused have rows without functions.
const OpRow& rowOf(Op op);

/// Attribute schemas of an operator, sorted by name (parsed once).
const std::vector<AttributeSchema>& attributesOf(Op op);

/// Schema names of the inputs, in order.
const std::vector<std::string>& inputNamesOf(Op op);

/// All operators that have any of these traits, sorted.
std::vector<Op> opsWithTrait(uint32_t traits);

/// The trait of that name as used in rules ("elementwise", "reduction", "view" ...).
std::optional<Trait> traitFromName(std::string_view name);

inline bool hasTrait(Op op, uint32_t traits) {
    return (rowOf(op).traits & traits) != 0;
}

/// All rows in the order of the enum.
std::span<const OpRow> allRows();

/// A parameter of a node wherever this opset keeps it: an attribute, or the contents of the
/// constant input with that schema name, or what a convolution or pooling does without its strides,
/// dilations, pads or kernel_shape, and Transpose without its perm. None when absent or not
/// constant.
std::optional<AttributeValue> parameterOf(const Graph& graph, const Node& node,
                                          std::string_view name);

/// Fills in schema defaults of attributes that the node does not have.
void fillDefaults(Node& node);

} // namespace fuselage
