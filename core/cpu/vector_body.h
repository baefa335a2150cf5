// SPDX-License-Identifier: Apache-2.0
// The loops of the tile interpreter. Compiled three times with different target flags (see
// CMakeLists.txt here); the including file defines FUSELAGE_ISA, the namespace of its copies.
// Everything but fill() is in an unnamed namespace and no standard template is used: a shared
// inline function compiled for a newer processor could otherwise be linked into the common code.
#include "core/cpu/vector_table.h"

#include <math.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace fuselage::cpu::FUSELAGE_ISA {

namespace {

#include "core/cpu/vector_lanes.h"
#include "core/cpu/vector_math.h"
#include "core/cpu/vector_math_double.h"
#include "core/cpu/vector_scalar.h"

// --- elementwise loops ---------------------------------------------------------------------

template <typename Out, typename A, typename F>
void unaryLoop(void* out, const void* a, const void*, const void*, size_t n) {
    auto* o = static_cast<Out*>(out);
    const auto* x = static_cast<const A*>(a);
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
        o[i] = F::of(x[i]);
}

/// sin or cos; where one argument is too far from zero, all of them one by one.
template <uint64_t firstQuarter, float (*exact)(float)>
void circleLoop(void* out, const void* a, const void*, const void*, size_t n) {
    auto* o = static_cast<float*>(out);
    const auto* x = static_cast<const float*>(a);
    int far = 0;
    for (size_t i = 0; i < n; ++i)
        far |= abs32(x[i]) > mostTurned ? 1 : 0;
    if (far != 0) {
        for (size_t i = 0; i < n; ++i)
            o[i] = exact(x[i]);
        return;
    }
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
        o[i] = sineAfter<firstQuarter>(x[i]);
}

template <typename Out, typename A, typename F>
void vectorVector(void* out, const void* a, const void* b, const void*, size_t n) {
    auto* o = static_cast<Out*>(out);
    const auto* x = static_cast<const A*>(a);
    const auto* y = static_cast<const A*>(b);
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
        o[i] = F::of(x[i], y[i]);
}

template <typename Out, typename A, typename F>
void vectorScalar(void* out, const void* a, const void* b, const void*, size_t n) {
    auto* o = static_cast<Out*>(out);
    const auto* x = static_cast<const A*>(a);
    const A y = *static_cast<const A*>(b);
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
        o[i] = F::of(x[i], y);
}

template <typename Out, typename A, typename F>
void scalarVector(void* out, const void* a, const void* b, const void*, size_t n) {
    auto* o = static_cast<Out*>(out);
    const A x = *static_cast<const A*>(a);
    const auto* y = static_cast<const A*>(b);
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
        o[i] = F::of(x, y[i]);
}

template <typename T, bool scalarB, bool scalarC>
void selectLoop(void* out, const void* a, const void* b, const void* c, size_t n) {
    auto* o = static_cast<T*>(out);
    const auto* mask = static_cast<const uint8_t*>(a);
    const auto* x = static_cast<const T*>(b);
    const auto* y = static_cast<const T*>(c);
    const T x0 = *x;
    const T y0 = *y;
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) {
        T whenTrue = scalarB ? x0 : x[i];
        T whenFalse = scalarC ? y0 : y[i];
        o[i] = mask[i] ? whenTrue : whenFalse;
    }
}

template <typename T> void splatLoop(void* out, const void* a, const void*, const void*, size_t n) {
    auto* o = static_cast<T*>(out);
    const T value = *static_cast<const T*>(a);
    for (size_t i = 0; i < n; ++i)
        o[i] = value;
}

// Each of these builds on those above it.
// clang-format off
#include "core/cpu/vector_moves.h"
#include "core/cpu/vector_divide.h"
#include "core/cpu/vector_pool.h"
#include "core/cpu/vector_reduce.h"
#include "core/cpu/vector_resample.h"
#include "core/cpu/vector_fourier.h"
#include "core/cpu/vector_recurrence.h"
#include "core/cpu/vector_recurrent.h"
#include "core/cpu/vector_columns.h"
#include "core/cpu/vector_winograd.h"

#include "core/cpu/vector_integer.h" // in the vectors of the one above
#include "core/cpu/vector_panels.h"

#include "core/cpu/vector_nibbles.h" // over the panels of the one above
// clang-format on

// --- the table -------------------------------------------------------------------------------

size_t at(TapeOp op) {
    return static_cast<size_t>(op);
}

template <typename Out, typename A, typename F> void setForms(VectorFunction (&forms)[formCount]) {
    forms[0] = vectorVector<Out, A, F>;
    forms[1] = vectorScalar<Out, A, F>;
    forms[2] = scalarVector<Out, A, F>;
}

template <typename T, template <typename> typename F>
void binary(VectorTable& t, TapeOp op, Lane lane) {
    setForms<T, T, F<T>>(t.op[at(op)][static_cast<size_t>(lane)]);
}

template <typename T, template <typename> typename F>
void compare(VectorTable& t, TapeOp op, Lane lane) {
    setForms<uint8_t, T, F<T>>(t.op[at(op)][static_cast<size_t>(lane)]);
}

template <typename T, template <typename> typename F>
void unary(VectorTable& t, TapeOp op, Lane lane) {
    t.op[at(op)][static_cast<size_t>(lane)][0] = unaryLoop<T, T, F<T>>;
}

template <typename T> void fillCommon(VectorTable& t, Lane lane) {
    binary<T, AddOf>(t, TapeOp::Add, lane);
    binary<T, SubOf>(t, TapeOp::Sub, lane);
    binary<T, MulOf>(t, TapeOp::Mul, lane);
    binary<T, DivOf>(t, TapeOp::Div, lane);
    binary<T, ModOf>(t, TapeOp::Mod, lane);
    binary<T, FmodOf>(t, TapeOp::Fmod, lane);
    binary<T, PowOf>(t, TapeOp::Pow, lane);
    binary<T, MinOf>(t, TapeOp::Min, lane);
    binary<T, MaxOf>(t, TapeOp::Max, lane);
    unary<T, NegOf>(t, TapeOp::Neg, lane);
    unary<T, AbsOf>(t, TapeOp::Abs, lane);
    unary<T, SignOf>(t, TapeOp::Sign, lane);
}

template <typename T> void fillSelect(VectorTable& t, Lane lane) {
    auto& forms = t.op[at(TapeOp::Select)][static_cast<size_t>(lane)];
    forms[0] = selectLoop<T, false, false>;
    forms[1] = selectLoop<T, false, true>;
    forms[2] = selectLoop<T, true, false>;
    t.splat[static_cast<size_t>(lane)] = splatLoop<T>;
    compare<T, EqualOf>(t, TapeOp::Equal, lane);
    compare<T, LessOf>(t, TapeOp::Less, lane);
    compare<T, LessOrEqualOf>(t, TapeOp::LessOrEqual, lane);
}

template <typename T> void fillFloat(VectorTable& t, Lane lane) {
    unary<T, SqrtOf>(t, TapeOp::Sqrt, lane);
    unary<T, ExpOf>(t, TapeOp::Exp, lane);
    unary<T, LogOf>(t, TapeOp::Log, lane);
    unary<T, Log1pOf>(t, TapeOp::Log1p, lane);
    unary<T, ErfOf>(t, TapeOp::Erf, lane);
    unary<T, SinOf>(t, TapeOp::Sin, lane);
    unary<T, CosOf>(t, TapeOp::Cos, lane);
    unary<T, TanOf>(t, TapeOp::Tan, lane);
    unary<T, AsinOf>(t, TapeOp::Asin, lane);
    unary<T, AcosOf>(t, TapeOp::Acos, lane);
    unary<T, AtanOf>(t, TapeOp::Atan, lane);
    unary<T, SinhOf>(t, TapeOp::Sinh, lane);
    unary<T, CoshOf>(t, TapeOp::Cosh, lane);
    unary<T, TanhOf>(t, TapeOp::Tanh, lane);
    unary<T, AsinhOf>(t, TapeOp::Asinh, lane);
    unary<T, AcoshOf>(t, TapeOp::Acosh, lane);
    unary<T, AtanhOf>(t, TapeOp::Atanh, lane);
    unary<T, FloorOf>(t, TapeOp::Floor, lane);
    unary<T, CeilOf>(t, TapeOp::Ceil, lane);
    unary<T, RoundOf>(t, TapeOp::RoundEven, lane);
    auto l = static_cast<size_t>(lane);
    t.op[at(TapeOp::IsNan)][l][0] = unaryLoop<uint8_t, T, IsNanOf<T>>;
    t.op[at(TapeOp::IsInf)][l][0] = unaryLoop<uint8_t, T, IsInfOf<T>>;
}

void fillIntegers(VectorTable& t) {
    binary<int64_t, AndOf>(t, TapeOp::BitAnd, Lane::I64);
    binary<int64_t, OrOf>(t, TapeOp::BitOr, Lane::I64);
    binary<int64_t, XorOf>(t, TapeOp::BitXor, Lane::I64);
    unary<int64_t, BitNotOf>(t, TapeOp::BitNot, Lane::I64);
    binary<int64_t, AndOf>(t, TapeOp::And, Lane::I64);
    binary<int64_t, OrOf>(t, TapeOp::Or, Lane::I64);
    binary<int64_t, XorOf>(t, TapeOp::Xor, Lane::I64);
    unary<int64_t, NotOf>(t, TapeOp::Not, Lane::I64);
    binary<int64_t, ShiftLeftOf>(t, TapeOp::ShiftLeft, Lane::I64);
    binary<int64_t, ShiftRightOf>(t, TapeOp::ShiftRight, Lane::I64);
    setForms<uint8_t, uint64_t, LessOf<uint64_t>>(t.opUnsigned[at(TapeOp::Less)]);
    setForms<uint8_t, uint64_t, LessOrEqualOf<uint64_t>>(t.opUnsigned[at(TapeOp::LessOrEqual)]);
    setForms<uint64_t, uint64_t, DivUnsigned>(t.opUnsigned[at(TapeOp::Div)]);
    setForms<uint64_t, uint64_t, ModUnsigned>(t.opUnsigned[at(TapeOp::Mod)]);
    setForms<uint64_t, uint64_t, ModUnsigned>(t.opUnsigned[at(TapeOp::Fmod)]);
    setForms<uint64_t, uint64_t, MinOf<uint64_t>>(t.opUnsigned[at(TapeOp::Min)]);
    setForms<uint64_t, uint64_t, MaxOf<uint64_t>>(t.opUnsigned[at(TapeOp::Max)]);
    setForms<uint64_t, uint64_t, ShiftRightUnsigned>(t.opUnsigned[at(TapeOp::ShiftRight)]);
    t.opUnsigned[at(TapeOp::Abs)][0] = unaryLoop<uint64_t, uint64_t, AbsOf<uint64_t>>;
    t.opUnsigned[at(TapeOp::Sign)][0] = unaryLoop<uint64_t, uint64_t, SignOf<uint64_t>>;
    binary<uint8_t, AndOf>(t, TapeOp::And, Lane::Bool);
    binary<uint8_t, OrOf>(t, TapeOp::Or, Lane::Bool);
    binary<uint8_t, XorOf>(t, TapeOp::Xor, Lane::Bool);
    binary<uint8_t, AndOf>(t, TapeOp::BitAnd, Lane::Bool);
    binary<uint8_t, OrOf>(t, TapeOp::BitOr, Lane::Bool);
    binary<uint8_t, XorOf>(t, TapeOp::BitXor, Lane::Bool);
    binary<uint8_t, MinOf>(t, TapeOp::Min, Lane::Bool);
    binary<uint8_t, MaxOf>(t, TapeOp::Max, Lane::Bool);
    unary<uint8_t, NotOf>(t, TapeOp::Not, Lane::Bool);
}

template <typename From, typename To> void conversion(VectorTable& t, Lane from, Lane to) {
    t.convert[static_cast<size_t>(from)][static_cast<size_t>(to)] =
        unaryLoop<To, From, ConvertOf<From, To>>;
}

template <typename From> void conversionsFrom(VectorTable& t, Lane from) {
    conversion<From, float>(t, from, Lane::F32);
    conversion<From, double>(t, from, Lane::F64);
    conversion<From, int64_t>(t, from, Lane::I64);
    t.convert[static_cast<size_t>(from)][static_cast<size_t>(Lane::Bool)] =
        unaryLoop<uint8_t, From, TruthOf<From>>;
}

void fillConversions(VectorTable& t) {
    conversionsFrom<float>(t, Lane::F32);
    conversionsFrom<double>(t, Lane::F64);
    conversionsFrom<int64_t>(t, Lane::I64);
    conversionsFrom<uint8_t>(t, Lane::Bool);
    t.fromUnsigned[static_cast<size_t>(Lane::F32)] =
        unaryLoop<float, uint64_t, ConvertOf<uint64_t, float>>;
    t.fromUnsigned[static_cast<size_t>(Lane::F64)] =
        unaryLoop<double, uint64_t, ConvertOf<uint64_t, double>>;
    auto round = [&t](DType type, VectorFunction f) { t.round[static_cast<size_t>(type)] = f; };
    round(DType::Float16, unaryLoop<float, float, RoundHalf>);
    round(DType::BFloat16, unaryLoop<float, float, RoundBfloat>);
    round(DType::Int8, unaryLoop<int64_t, int64_t, WrapOf<int8_t>>);
    round(DType::Int16, unaryLoop<int64_t, int64_t, WrapOf<int16_t>>);
    round(DType::Int32, unaryLoop<int64_t, int64_t, WrapOf<int32_t>>);
    round(DType::UInt8, unaryLoop<int64_t, int64_t, WrapOf<uint8_t>>);
    round(DType::UInt16, unaryLoop<int64_t, int64_t, WrapOf<uint16_t>>);
    round(DType::UInt32, unaryLoop<int64_t, int64_t, WrapOf<uint32_t>>);
}

template <typename S, typename L> void plainMoves(VectorTable& t, DType type) {
    auto i = static_cast<size_t>(type);
    t.load[i] = loadLoop<L, S, StaticCast<S, L>>;
    t.store[i] = storeLoop<L, S, StaticCast<L, S>>;
}

void fillMoves(VectorTable& t) {
    plainMoves<float, float>(t, DType::Float32);
    plainMoves<double, double>(t, DType::Float64);
    plainMoves<int8_t, int64_t>(t, DType::Int8);
    plainMoves<int16_t, int64_t>(t, DType::Int16);
    plainMoves<int32_t, int64_t>(t, DType::Int32);
    plainMoves<int64_t, int64_t>(t, DType::Int64);
    plainMoves<uint8_t, int64_t>(t, DType::UInt8);
    plainMoves<uint16_t, int64_t>(t, DType::UInt16);
    plainMoves<uint32_t, int64_t>(t, DType::UInt32);
    plainMoves<uint64_t, int64_t>(t, DType::UInt64);
    auto fromInteger = [&t](DType type, LoadFunction f) {
        t.loadFloat[static_cast<size_t>(type)] = f;
    };
    fromInteger(DType::Int8, loadLoop<float, int8_t, StaticCast<int8_t, float>>);
    fromInteger(DType::UInt8, loadLoop<float, uint8_t, StaticCast<uint8_t, float>>);
    fromInteger(DType::Int16, loadLoop<float, int16_t, StaticCast<int16_t, float>>);
    fromInteger(DType::UInt16, loadLoop<float, uint16_t, StaticCast<uint16_t, float>>);
    fromInteger(DType::Int32, loadLoop<float, int32_t, StaticCast<int32_t, float>>);
    t.storeFloat[static_cast<size_t>(DType::Int8)] = storeLoop<float, int8_t, ByteOf<int8_t>>;
    t.storeFloat[static_cast<size_t>(DType::UInt8)] = storeLoop<float, uint8_t, ByteOf<uint8_t>>;
    auto half = static_cast<size_t>(DType::Float16);
    t.load[half] = loadLoop<float, uint16_t, FromHalf>;
    t.store[half] = storeLoop<float, uint16_t, ToHalf>;
    auto bfloat = static_cast<size_t>(DType::BFloat16);
    t.load[bfloat] = loadLoop<float, uint16_t, FromBfloat>;
    t.store[bfloat] = storeLoop<float, uint16_t, ToBfloat>;
    auto boolean = static_cast<size_t>(DType::Bool);
    t.load[boolean] = loadLoop<uint8_t, uint8_t, TruthOf<uint8_t>>;
    t.store[boolean] = storeLoop<uint8_t, uint8_t, StaticCast<uint8_t, uint8_t>>;
}

} // namespace

void fill(VectorTable& table) {
    fillCommon<float>(table, Lane::F32);
    fillCommon<double>(table, Lane::F64);
    fillCommon<int64_t>(table, Lane::I64);
#ifdef __FMA__
    table.op[at(TapeOp::Div)][static_cast<size_t>(Lane::F32)][1] = divideByOne;
#endif
    fillFloat<float>(table, Lane::F32);
    table.op[at(TapeOp::Sin)][static_cast<size_t>(Lane::F32)][0] = circleLoop<0, sinf>;
    table.op[at(TapeOp::Cos)][static_cast<size_t>(Lane::F32)][0] = circleLoop<1, cosf>;
    fillFloat<double>(table, Lane::F64);
    fillSelect<float>(table, Lane::F32);
    fillSelect<double>(table, Lane::F64);
    fillSelect<int64_t>(table, Lane::I64);
    fillSelect<uint8_t>(table, Lane::Bool);
    fillIntegers(table);
    fillConversions(table);
    fillMoves(table);
    fillReductions(table);
    table.weightedSum = weightedSum;
    table.gatherSum = gatherSum;
    table.fourierPass = fourierPass;
    fillWinograd(table.winograd);
    fillPool(table.pool);
    fillRecurrent(table.recurrent);
    table.columns = {columnTile<double>, columnTile<uint32_t>, columnTile<uint64_t>};
    table.recur = recur;
    fillInteger(table.integer);
    table.nibbles = nibbleProduct;
}

} // namespace fuselage::cpu::FUSELAGE_ISA
