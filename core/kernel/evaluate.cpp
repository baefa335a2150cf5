// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/evaluate.h"

#include "core/kernel/chain.h"
#include "core/kernel/evaluate_internal.h"
#include "core/ops/tape_interpreter.h"

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

/// One register's worth: which member counts follows from the type.
struct Element {
    double number = 0;
    int64_t integer = 0;
};

int64_t at(const DimIndex& index, const Extents& iteration) {
    int64_t out = index.offset;
    for (const IndexTerm& term : index.terms)
        out += term.scale * iteration[term.dim];
    return out;
}

/// A tensor that remembers which elements were touched.
struct Operand {
    ReferenceValue value;
    Extents strides;
    std::vector<bool> touched;

    explicit Operand(ReferenceValue tensor)
        : value(std::move(tensor)), strides(rowMajorStrides(value.extents)),
          touched(static_cast<size_t>(value.count()), false) {}

    size_t offset(const std::vector<DimIndex>& index, const Extents& iteration) const {
        int64_t out = 0;
        for (size_t d = 0; d < index.size(); ++d)
            out += fuselage::at(index[d], iteration) * strides[d];
        return static_cast<size_t>(out);
    }

    Element load(size_t offset) {
        touched[offset] = true;
        return isFloat(value.dtype) ? Element{value.floats[offset], 0}
                                    : Element{0, value.ints[offset]};
    }

    void store(size_t offset, Element element) {
        touched[offset] = true;
        if (isFloat(value.dtype))
            value.floats[offset] = element.number;
        else
            value.ints[offset] = element.integer;
    }

    int64_t bytes() const {
        return std::count(touched.begin(), touched.end(), true) *
               static_cast<int64_t>(sizeOf(value.dtype));
    }
};

/// A tape run one element at a time.
class ScalarTape {
public:
    explicit ScalarTape(const Tape& tape) : m_tape(tape), m_block(tape) {}

    std::vector<Element> run(const std::vector<Element>& inputs) {
        for (size_t reg = 0; reg < m_tape.code.size(); ++reg) {
            const TapeInstruction& code = m_tape.code[reg];
            if (code.op != TapeOp::Input)
                continue;
            m_block.floats(static_cast<uint16_t>(reg))[0] = inputs[code.index].number;
            m_block.ints(static_cast<uint16_t>(reg))[0] = inputs[code.index].integer;
        }
        m_block.run(1);
        std::vector<Element> out;
        for (uint16_t reg : m_tape.outputs)
            out.push_back({m_block.floats(reg)[0], m_block.ints(reg)[0]});
        return out;
    }

private:
    const Tape& m_tape;
    TapeBlock m_block;
};

/// Sum, product, extremum or its position over one row.
class Reducer {
public:
    Reducer(ReduceKind kind, DType type) : m_kind(kind), m_float(isFloat(type)) {
        if (kind == ReduceKind::Product)
            m_value = {1, 1};
    }

    void add(Element x) {
        switch (m_kind) {
        case ReduceKind::Sum:
            m_value.number += x.number;
            m_value.integer += x.integer;
            break;
        case ReduceKind::Product:
            m_value.number *= x.number;
            m_value.integer *= x.integer;
            break;
        default:
            if (m_count == 0 || better(x)) {
                m_value = x;
                m_position = m_count;
            }
        }
        ++m_count;
    }

    Element result() const {
        return m_kind >= ReduceKind::ArgMax ? Element{0, m_position} : m_value;
    }

private:
    bool better(Element x) const {
        const bool last = m_kind == ReduceKind::ArgMaxLast || m_kind == ReduceKind::ArgMinLast;
        const bool largest = m_kind == ReduceKind::Max || m_kind == ReduceKind::ArgMax ||
                             m_kind == ReduceKind::ArgMaxLast;
        auto decide = [&](auto a, auto b) {
            if (a != a) // NaN wins, once
                return b == b;
            return largest ? (last ? a >= b : a > b) : (last ? a <= b : a < b);
        };
        return m_float ? decide(x.number, m_value.number) : decide(x.integer, m_value.integer);
    }

    ReduceKind m_kind;
    bool m_float;
    Element m_value;
    int64_t m_position = 0;
    int64_t m_count = 0;
};

class Evaluator {
public:
    Evaluator(const KernelProgram& program, const std::vector<ReferenceValue>& inputs) {
        for (const ReferenceValue& input : inputs)
            m_inputs.emplace_back(input);
        for (const OperandType& output : program.outputs)
            m_outputs.emplace_back(ReferenceValue::tensor(output.dtype, output.extents));
    }

    void operator()(const Pointwise& code);
    void operator()(const Row& code);
    void operator()(const Contraction& code);
    void operator()(const Attention& code);
    /// The score of one query and key, as it goes into the softmax.
    double stepped(const Attention& code, std::vector<ScalarTape>& functions, double score,
                   const Extents& at);
    void operator()(const Window& code);
    void operator()(const Copy& code);

    void operator()(const Group& code);
    void operator()(const Chain& code);

    void operator()(const Library&) { m_supported = false; }

    bool supported() const { return m_supported; }

    Evaluation finish() {
        Evaluation out;
        for (const Operand& input : m_inputs)
            out.bytesRead += input.bytes();
        for (Operand& output : m_outputs) {
            out.bytesWritten += output.bytes();
            out.outputs.push_back(std::move(output.value));
        }
        return out;
    }

private:
    void load(const std::vector<Access>& reads, const Extents& index, std::vector<Element>& out) {
        for (const Access& read : reads)
            out.push_back(load(read, index));
    }

    Element load(const Access& read, const Extents& index) {
        Operand& operand = m_inputs[read.operand];
        return operand.load(operand.offset(read.index, index));
    }

    void store(const std::vector<Access>& writes, const Extents& index,
               const std::vector<Element>& elements) {
        for (size_t i = 0; i < writes.size(); ++i) {
            Operand& operand = m_outputs[writes[i].operand];
            operand.store(operand.offset(writes[i].index, index), elements[i]);
        }
    }

    /// The whole operand after its prologue; touches everything.
    WideTensor prepared(uint32_t operand, const std::optional<Prologue>& prologue);
    std::vector<double> matMul(const Contraction& code);
    std::vector<double> sums(const Contraction& code);

    std::vector<Operand> m_inputs, m_outputs;
    bool m_supported = true;
};

void Evaluator::operator()(const Pointwise& code) {
    ScalarTape tape(code.tape);
    forEach(code.space, [&](const Extents& index) {
        std::vector<Element> in;
        load(code.reads, index, in);
        store(code.writes, index, tape.run(in));
    });
}

void Evaluator::operator()(const Row& code) {
    std::vector<ScalarTape> maps, scalars;
    for (const Row::Stage& stage : code.stages) {
        maps.emplace_back(stage.map);
        scalars.emplace_back(stage.scalar);
    }
    ScalarTape element(code.element), row(code.row);
    forEach(code.outer, [&](const Extents& outer) {
        std::vector<Element> rowScalars;
        auto overInner = [&](auto&& body) {
            forEach(code.inner, [&](const Extents& inner) {
                Extents index = outer;
                index.insert(index.end(), inner.begin(), inner.end());
                std::vector<Element> in;
                load(code.reads, index, in);
                in.insert(in.end(), rowScalars.begin(), rowScalars.end());
                body(index, in);
            });
        };
        for (size_t s = 0; s < code.stages.size(); ++s) {
            const Row::Stage& stage = code.stages[s];
            std::vector<Reducer> reducers;
            for (size_t i = 0; i < stage.reduce.size(); ++i)
                reducers.emplace_back(stage.reduce[i], stage.map.type(stage.map.outputs[i]));
            overInner([&](const Extents&, const std::vector<Element>& in) {
                std::vector<Element> mapped = maps[s].run(in);
                for (size_t i = 0; i < reducers.size(); ++i)
                    reducers[i].add(mapped[i]);
            });
            for (const Reducer& reducer : reducers)
                rowScalars.push_back(reducer.result());
            std::vector<Element> more = scalars[s].run(rowScalars);
            rowScalars.insert(rowScalars.end(), more.begin(), more.end());
        }
        if (!code.elementWrites.empty())
            overInner([&](const Extents& index, const std::vector<Element>& in) {
                store(code.elementWrites, index, element.run(in));
            });
        store(code.rowWrites, outer, row.run(rowScalars));
    });
}

WideTensor Evaluator::prepared(uint32_t operand, const std::optional<Prologue>& prologue) {
    const Extents extents = m_inputs[operand].value.extents;
    const bool wide = isFloat(m_inputs[operand].value.dtype);
    std::vector<double> out;
    std::optional<ScalarTape> tape;
    if (prologue)
        tape.emplace(prologue->tape);
    const bool floatResult =
        prologue ? isFloat(prologue->tape.type(prologue->tape.outputs[0])) : wide;
    forEach(extents, [&](const Extents& index) {
        Element element = m_inputs[operand].load(out.size());
        if (prologue) {
            std::vector<Element> in{element};
            load(prologue->reads, index, in);
            element = tape->run(in)[0];
        }
        out.push_back(floatResult ? element.number : static_cast<double>(element.integer));
    });
    return {std::move(out), extents};
}

std::vector<double> Evaluator::matMul(const Contraction& code) {
    // Only the elements that the accesses reach are touched, unless a prologue runs over all.
    std::vector<double> a, b;
    if (code.prologueA)
        a = prepared(code.a.operand, code.prologueA).values;
    if (code.prologueB)
        b = prepared(code.b.operand, code.prologueB).values;
    auto number = [&](const Access& access, const std::vector<double>& ready,
                      const Extents& index) {
        Operand& operand = m_inputs[access.operand];
        const size_t offset = operand.offset(access.index, index);
        if (!ready.empty())
            return ready[offset];
        Element element = operand.load(offset);
        return isFloat(operand.value.dtype) ? element.number : static_cast<double>(element.integer);
    };
    std::vector<double> out;
    forEach(code.space, [&](const Extents& outer) {
        double sum = 0;
        forEach(code.k, [&](const Extents& k) {
            Extents index = outer;
            index.insert(index.end(), k.begin(), k.end());
            sum += number(code.a, a, index) * number(code.b, b, index);
        });
        out.push_back(sum);
    });
    return out;
}

std::vector<double> Evaluator::sums(const Contraction& code) {
    if (code.kind == Contraction::Kind::MatMul)
        return matMul(code);
    const WideTensor x = prepared(code.a.operand, code.prologueA);
    const WideTensor w = prepared(code.b.operand, code.prologueB);
    return code.kind == Contraction::Kind::Conv ? evaluateConv(code, x, w)
                                                : evaluateConvTranspose(code, x, w);
}

void Evaluator::operator()(const Contraction& code) {
    const std::vector<double> accumulated = sums(code);
    ScalarTape tape(code.epilogue.tape);
    std::vector<double> results;
    size_t i = 0;
    forEach(code.space, [&](const Extents& index) {
        const auto whole = isFloat(code.accumulate) ? 0 : static_cast<int64_t>(accumulated[i]);
        std::vector<Element> in{{accumulated[i], wrapTo(code.accumulate, whole)}};
        ++i;
        load(code.epilogue.reads, index, in);
        std::vector<Element> made = tape.run(in);
        if (code.poolWindow)
            results.push_back(made[0].number);
        else
            store(code.epilogue.writes, index, made);
    });
    if (!code.poolWindow)
        return;
    const std::vector<double> pooled = evaluatePool(
        {std::move(results), code.space}, *code.poolWindow, code.poolKind, 2, code.poolSpace);
    i = 0;
    forEach(code.poolSpace, [&](const Extents& index) {
        store(code.epilogue.writes, index, {{pooled[i], static_cast<int64_t>(pooled[i])}});
        ++i;
    });
}

double Evaluator::stepped(const Attention& code, std::vector<ScalarTape>& functions, double score,
                          const Extents& at) {
    auto function = functions.begin();
    for (const ScoreStep& step : code.steps) {
        if (step.kind == ScoreStep::Kind::Apply) {
            score = function++->run({{score, 0}})[0].number;
            continue;
        }
        const Element operand = load(step.access, at);
        if (step.kind == ScoreStep::Kind::Add)
            score += operand.number;
        else if (step.kind == ScoreStep::Kind::Multiply)
            score *= operand.number;
        else if ((operand.integer != 0) != (step.kind == ScoreStep::Kind::KeepWhereTrue))
            score = step.fill;
    }
    return score;
}

void Evaluator::operator()(const Attention& code) {
    std::vector<ScalarTape> functions;
    for (const ScoreStep& step : code.steps)
        if (!step.reads())
            functions.emplace_back(step.function);
    forEach(code.batch, [&](const Extents& batch) {
        auto with = [&](int64_t row, int64_t column) {
            Extents index = batch;
            index.push_back(row);
            index.push_back(column);
            return index;
        };
        for (int64_t l = 0; l < code.l; ++l) {
            std::vector<double> scores;
            for (int64_t s = 0; s < code.s; ++s) {
                double sum = 0;
                for (int64_t d = 0; d < code.d; ++d)
                    sum += load(code.q, with(l, d)).number * load(code.k, with(s, d)).number;
                scores.push_back(stepped(code, functions, sum * code.scale, with(l, s)));
            }
            if (code.sink)
                scores.push_back(code.sink->read ? load(*code.sink->read, with(l, 0)).number
                                                 : code.sink->number);
            const double top = *std::max_element(scores.begin(), scores.end());
            double total = 0;
            for (double& score : scores)
                total += score = std::exp(score - top);
            for (double& score : scores)
                score = code.zeroesNan && std::isnan(score / total) ? 0 : score / total;
            for (int64_t e = 0; e < code.e; ++e) {
                double sum = 0;
                for (int64_t s = 0; s < code.s; ++s)
                    sum += scores[static_cast<size_t>(s)] * load(code.v, with(s, e)).number;
                store({code.output}, with(l, e), {{sum, 0}});
            }
        }
    });
}

void Evaluator::operator()(const Window& code) {
    const std::vector<double> pooled = evaluatePool(prepared(code.operand, code.prologue),
                                                    code.window, code.kind, code.p, code.space);
    ScalarTape tape(code.epilogue.tape);
    size_t i = 0;
    forEach(code.space, [&](const Extents& index) {
        std::vector<Element> in{{pooled[i], static_cast<int64_t>(pooled[i])}};
        ++i;
        load(code.epilogue.reads, index, in);
        store(code.epilogue.writes, index, tape.run(in));
    });
}

void Evaluator::operator()(const Copy& code) {
    for (const Copy::Piece& piece : code.pieces)
        forEach(piece.space, [&](const Extents& index) {
            Element element{piece.fill, static_cast<int64_t>(piece.fill)};
            if (piece.read)
                element = load(*piece.read, index);
            store({piece.write}, index, {element});
        });
}

/// Members number their operands on their own: a group lists them one after the other.
void Evaluator::operator()(const Group& code) {
    size_t input = 0, output = 0;
    for (const KernelProgram& member : code.members) {
        std::vector<ReferenceValue> inputs;
        for (size_t i = 0; i < member.inputs.size(); ++i)
            inputs.push_back(m_inputs[input + i].value);
        Evaluator inner(member, inputs);
        std::visit(inner, member.code);
        m_supported = m_supported && inner.m_supported;
        for (size_t i = 0; i < member.inputs.size(); ++i)
            m_inputs[input++].touched = std::move(inner.m_inputs[i].touched);
        for (Operand& made : inner.m_outputs)
            m_outputs[output++] = std::move(made);
    }
}

void Evaluator::operator()(const Chain& code) {
    std::vector<Operand> hidden;
    for (size_t m = 0; m < code.members.size(); ++m) {
        const KernelProgram& member = code.members[m];
        std::vector<ReferenceValue> inputs;
        for (uint32_t i = 0; i < member.inputs.size(); ++i)
            inputs.push_back(m == 1 && i == linkOf(code) ? hidden[0].value
                                                         : m_inputs[chainInput(code, m, i)].value);
        Evaluator inner(member, inputs);
        std::visit(inner, member.code);
        for (uint32_t i = 0; i < member.inputs.size(); ++i)
            if (m == 0 || i != linkOf(code))
                m_inputs[chainInput(code, m, i)].touched = std::move(inner.m_inputs[i].touched);
        hidden = std::move(inner.m_outputs);
    }
    m_outputs = std::move(hidden);
}

} // namespace

Result<Evaluation> evaluate(const KernelProgram& program,
                            const std::vector<ReferenceValue>& inputs) {
    if (inputs.size() != program.inputs.size())
        return failure("evaluate.inputs", "one value for each input is needed");
    for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].dtype != program.inputs[i].dtype ||
            inputs[i].extents != program.inputs[i].extents)
            return failure("evaluate.inputs", "input " + std::to_string(i) +
                                                  " has not the type of the program's operand");
    Evaluator evaluator(program, inputs);
    std::visit(evaluator, program.code);
    if (!evaluator.supported())
        return failure("evaluate.kind",
                       std::string(nameOf(kindOf(program))) + " programs have no accesses to walk");
    return evaluator.finish();
}

} // namespace fuselage
