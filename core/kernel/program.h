// SPDX-License-Identifier: Apache-2.0
// Kernel programs: what a node, fused or not, lowers to. Device-independent plain data, one launch
// each. Operand numbers refer to KernelProgram::inputs / outputs, which are parallel to the inputs
// and outputs of the body that was lowered (for a fused node: the node's own).
//
// Every read and write is an Access: an affine map from the iteration space to the operand's
// *logical* indices. Memory layout is not in here: a backend combines an Access with the strides
// that the Plan chose, so NHWC, transposed views and slices need no other program.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/numeric_class.h"
#include "core/ops/tape.h"
#include "core/support/reason.h"

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fuselage {

/// scale * (iteration index of dim)
struct IndexTerm {
    uint32_t dim = 0;
    int64_t scale = 1;

    friend bool operator==(const IndexTerm&, const IndexTerm&) = default;
};

/// The index along one operand dimension: offset + sum of terms. Broadcast: no terms.
struct DimIndex {
    int64_t offset = 0;
    std::vector<IndexTerm> terms;

    friend bool operator==(const DimIndex&, const DimIndex&) = default;
};

struct Access {
    uint32_t operand = 0;        ///< index in inputs (reads) or outputs (writes)
    std::vector<DimIndex> index; ///< one per operand dimension

    friend bool operator==(const Access&, const Access&) = default;
};

/// Elements between neighbours along each iteration dimension, and the element to start at, for
/// an operand whose logical dimensions have these strides.
struct StridedAccess {
    int64_t offset = 0;
    Extents strides; ///< one per iteration dimension

    friend bool operator==(const StridedAccess&, const StridedAccess&) = default;
};
StridedAccess strided(const Access& access, const Extents& operandStrides, size_t dims);

/// Any DAG of elementwise operators with broadcasting and several outputs.
struct Pointwise {
    Extents space;
    std::vector<Access> reads; ///< parallel to tape.inputs
    Tape tape;
    std::vector<Access> writes; ///< parallel to tape.outputs
};

enum class ReduceKind : uint8_t { Sum, Product, Max, Min, ArgMax, ArgMin, ArgMaxLast, ArgMinLast };

/// Reductions along the inner part of the space with elementwise work before, between and after.
/// Row scalars are numbered in order of creation: the results of a stage's reductions, then the
/// outputs of its scalar tape. Sums have the type of the reduced register, arg-reductions Int64
/// (the row-major position among the inner dims).
struct Row {
    struct Stage {
        Tape map; ///< inputs: all reads, then all row scalars so far; outputs: what is reduced
        std::vector<ReduceKind> reduce; ///< parallel to map.outputs
        Tape scalar; ///< once a row; inputs: all row scalars so far; outputs: new row scalars
    };

    Extents outer;             ///< rows; iteration dims 0 .. outer.size()-1
    Extents inner;             ///< reduced; the iteration dims after them
    std::vector<Access> reads; ///< over outer and inner dims
    std::vector<Stage> stages;
    Tape element; ///< inputs: all reads, then all row scalars; outputs written per element
    std::vector<Access> elementWrites;
    Tape row;                      ///< inputs: all row scalars; outputs written once a row
    std::vector<Access> rowWrites; ///< over the outer dims
};

/// Elementwise work on the result of a contraction or window. Tape input 0 is the accumulator,
/// inputs 1.. are `reads` over the output space.
struct Epilogue {
    std::vector<Access> reads;
    Tape tape;
    std::vector<Access> writes; ///< parallel to tape.outputs
};

/// Elementwise work on one operand before it is used. Tape input 0 is the operand's element,
/// inputs 1.. are `reads` over the operand's own dimensions. Padding stays zero: the prologue is
/// not applied to it.
struct Prologue {
    std::vector<Access> reads;
    Tape tape; ///< one output
};

/// Sliding geometry shared by Conv, ConvTranspose and pooling; one entry per spatial dimension.
struct SlidingWindow {
    Extents kernel, strides, dilations, padsBegin, padsEnd;
    bool ceilMode = false;
};

enum class PoolKind : uint8_t { Max, Average, AverageIncludingPad, Lp };

struct Contraction {
    enum class Kind : uint8_t { MatMul, Conv, ConvTranspose };

    Kind kind = Kind::MatMul;
    /// MatMul: [batch..., m..., n...] with these counts, then the reduced dims k.
    /// Conv: [N, K, spatial...] of the convolution's own result (before a pool); k is empty.
    Extents space;
    Extents k;
    uint32_t batchDims = 0;
    uint32_t mDims = 0;
    uint32_t nDims = 0;
    Access a; ///< MatMul: over [space..., k...]. Conv: the identity map of X [N, C, spatial...]
    /// MatMul: over [space..., k...]. Conv: the identity map of W [K, C/groups, kernel...];
    /// ConvTranspose: of W [C, K/groups, kernel...].
    Access b;
    int64_t groups = 1;
    SlidingWindow window; ///< Conv and ConvTranspose
    std::optional<Prologue> prologueA, prologueB;
    Epilogue epilogue;
    DType accumulate = DType::Float32;
    /// A pooling window applied to the epilogue's (single) result; writes are then over its space.
    std::optional<SlidingWindow> poolWindow;
    PoolKind poolKind = PoolKind::Max;
    Extents poolSpace;
};

/// One step between the scaled scores and the softmax: an operand that is added or multiplied with,
/// a condition that keeps some scores and replaces the others, or a function of the score alone.
struct ScoreStep {
    enum class Kind : uint8_t { Add, Multiply, KeepWhereTrue, KeepWhereFalse, Apply };

    Kind kind = Kind::Add;
    Access access;                                          ///< over [batch..., L, S]; not of Apply
    double fill = -std::numeric_limits<double>::infinity(); ///< in place of scores not kept
    Tape function; ///< of Apply: one input and one result, float32 or float64

    bool reads() const { return kind != Kind::Apply; }
};

/// The score of one more key, which has no value: what a row may look at instead of all others.
struct ScoreSink {
    std::optional<Access> read; ///< over [batch..., L]; none: `number` everywhere
    double number = 0;
};

/// softmax(steps(scale * Q K^T)) V, steps in order of application. Accesses: q over
/// [batch..., L, D], k over [batch..., S, D], v over [batch..., S, E], output over
/// [batch..., L, E].
struct Attention {
    Extents batch;
    int64_t l = 0, s = 0, d = 0, e = 0;
    Access q, k, v, output;
    std::vector<ScoreStep> steps;
    std::optional<ScoreSink> sink;
    double scale = 1;
    bool zeroesNan = false; ///< a row of weights that is NaN, of no key at all say, counts as zeros
};

/// Pooling with elementwise work before and after. Space: [N, C, spatial...].
struct Window {
    PoolKind kind = PoolKind::Max;
    Extents space;
    uint32_t operand = 0;
    SlidingWindow window;
    int64_t p = 2; ///< PoolKind::Lp
    std::optional<Prologue> prologue;
    Epilogue epilogue;
};

/// Moves elements: each piece writes one region of an output.
struct Copy {
    struct Piece {
        Extents space;
        std::optional<Access> read; ///< none: fills with `fill`
        Access write;
        double fill = 0;
    };

    std::vector<Piece> pieces;
};

/// One ONNX operator computed by a backend's own routine: the single node of the body.
struct Library {
    NodeId node; ///< in KernelProgram::body
};

struct KernelProgram;

/// Independent programs in one launch.
struct Group {
    std::vector<KernelProgram> members;
};

/// Two matrix products in one launch, of which the second one takes the results of the first one as
/// A, or a Row in front of one or two such (chain.h). Nothing of that leaves the kernel. Inputs:
/// those of the first member by its own numbers, then those of the second one by its own, but A.
struct Chain {
    std::vector<KernelProgram> members; ///< two Contractions; or a Row, and one or a Chain of two
};

using ProgramCode =
    std::variant<Pointwise, Row, Contraction, Attention, Window, Copy, Group, Library, Chain>;

/// In the order of ProgramCode.
enum class ProgramKind : uint8_t {
    Pointwise,
    Row,
    Contraction,
    Attention,
    Window,
    Copy,
    Group,
    Library,
    Chain
};

const char* nameOf(ProgramKind kind);

struct OperandType {
    DType dtype = DType::Float32;
    Extents extents;
};

struct KernelProgram {
    ProgramCode code;
    std::vector<OperandType> inputs;
    std::vector<OperandType> outputs;
    NumericClass numeric = NumericClass::Exact; ///< against the body, node by node
    std::shared_ptr<const Graph> body;
};

inline ProgramKind kindOf(const KernelProgram& program) {
    return static_cast<ProgramKind>(program.code.index());
}

/// The program as stable text for goldens and reports.
std::string text(const KernelProgram& program);

/// Floating-point operations (a multiply-add counts two) and transcendental calls of one launch.
struct Work {
    int64_t flops = 0;
    int64_t transcendental = 0;
    int64_t tapeInstructions = 0; ///< over all elements
    int64_t issue = 0; ///< lane instructions: the tape's weighed by their length, loads, stores
    int64_t matrixFlops = 0; ///< the part of flops that is sums of products of a contraction
    bool matrix = false;     ///< matrixFlops run on tensor cores where there are some
    // Parts of `issue` that some devices compute at another price (core/cost/time_model.cpp).
    std::array<int64_t, tapeOpCount> calls{}; ///< of operations that take several instructions
    int64_t epilogue = 0;                     ///< single instructions on the results of a product
    int64_t reduced = 0; ///< elements that a Row folds, once for each of its reductions
    int64_t rows = 0;    ///< of a Row, once for each of its stages; short ones in part
    int64_t pooled = 0;  ///< elements that windows read
    int64_t scores = 0;  ///< of an attention
    int64_t runs = 0;    ///< of elements that a copy moves at once
    int64_t turned = 0;  ///< elements that a copy reads along another dimension than it writes
    int64_t routine = 0; ///< elements that a routine of one operator makes
};
Work workOf(const KernelProgram& program);

} // namespace fuselage
