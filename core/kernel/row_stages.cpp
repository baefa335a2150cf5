// SPDX-License-Identifier: Apache-2.0
// Cuts one composed tape into the stages of a Row.
#include "core/kernel/row_internal.h"

#include <algorithm>
#include <map>

namespace fuselage {

namespace {

/// What decides where an instruction runs.
struct Placement {
    bool element = false;  ///< depends on a read: once an element
    bool constant = false; ///< depends on nothing: repeated where it is used
    int level = 0;         ///< stages that must have finished
};

class StageCutter {
public:
    StageCutter(const Tape& whole, const std::vector<Composer::Input>& inputs,
                const std::vector<RowReduction>& reductions)
        : m_whole(whole), m_inputs(inputs), m_reductions(reductions) {}

    void run(Row& out, size_t elementResults);

private:
    void place();
    void numberReads(Row& out);
    void exportScalars(size_t elementResults);
    void addScalar(uint16_t reg) {
        m_scalars.emplace(reg, static_cast<uint16_t>(m_scalarTypes.size()));
        m_scalarTypes.push_back(m_whole.type(reg));
    }
    Tape slice(const std::vector<uint16_t>& results, bool withReads) const;
    void markNeeded(uint16_t reg, bool withReads, std::vector<bool>& needed) const;
    std::optional<uint16_t> available(uint16_t reg, bool withReads) const;

    const Tape& m_whole;
    const std::vector<Composer::Input>& m_inputs;
    const std::vector<RowReduction>& m_reductions;
    std::vector<Placement> m_places;
    std::map<uint16_t, uint16_t> m_reads;   ///< Input register -> number of the read
    std::map<uint16_t, uint16_t> m_scalars; ///< register -> number of the row scalar, so far
    std::vector<DType> m_readTypes, m_scalarTypes;
    std::vector<std::vector<uint16_t>> m_reduced;  ///< per stage: Input registers of its results
    std::vector<std::vector<uint16_t>> m_exported; ///< per stage: registers of its scalar tape
};

void StageCutter::place() {
    for (uint16_t reg = 0; reg < m_whole.code.size(); ++reg) {
        const TapeInstruction& code = m_whole.code[reg];
        Placement place;
        if (code.op == TapeOp::Input && m_inputs[code.index].read) {
            place.element = true;
        } else if (code.op == TapeOp::Input) {
            const auto tag = static_cast<size_t>(m_inputs[code.index].tag);
            const int stage = m_places[m_whole.outputs[tag]].level;
            place.level = stage + 1;
            m_reduced.resize(std::max(m_reduced.size(), static_cast<size_t>(place.level)));
            m_reduced[static_cast<size_t>(stage)].push_back(reg);
        } else {
            place.constant = true;
            for (int k = 0; k < operandCount(code.op); ++k) {
                const Placement& operand = m_places[code.operand[k]];
                place.element = place.element || operand.element;
                place.constant = place.constant && operand.constant;
                place.level = std::max(place.level, operand.level);
            }
        }
        m_places.push_back(place);
    }
    m_exported.resize(m_reduced.size());
}

void StageCutter::numberReads(Row& out) {
    for (uint16_t reg = 0; reg < m_whole.code.size(); ++reg) {
        const TapeInstruction& code = m_whole.code[reg];
        if (code.op != TapeOp::Input || !m_inputs[code.index].read)
            continue;
        m_reads.emplace(reg, static_cast<uint16_t>(out.reads.size()));
        out.reads.push_back(*m_inputs[code.index].read);
        m_readTypes.push_back(code.type);
    }
}

/// A scalar is kept when something that runs later or per element reads it.
void StageCutter::exportScalars(size_t elementResults) {
    std::vector<bool> wanted(m_whole.code.size(), false);
    for (size_t reg = 0; reg < m_whole.code.size(); ++reg) {
        const TapeInstruction& code = m_whole.code[reg];
        for (int k = 0; k < operandCount(code.op); ++k) {
            const uint16_t operand = code.operand[k];
            if (m_places[reg].element || m_places[reg].level > m_places[operand].level)
                wanted[operand] = true;
        }
    }
    for (size_t i = 0; i < m_reductions.size() + elementResults; ++i)
        wanted[m_whole.outputs[i]] = true;
    for (uint16_t reg = 0; reg < m_whole.code.size(); ++reg) {
        const Placement& place = m_places[reg];
        const bool scalar = !place.element && !place.constant && place.level > 0 &&
                            m_whole.code[reg].op != TapeOp::Input;
        if (wanted[reg] && scalar)
            m_exported[static_cast<size_t>(place.level) - 1].push_back(reg);
    }
}

std::optional<uint16_t> StageCutter::available(uint16_t reg, bool withReads) const {
    if (auto read = m_reads.find(reg); withReads && read != m_reads.end())
        return read->second;
    if (auto scalar = m_scalars.find(reg); scalar != m_scalars.end())
        return static_cast<uint16_t>(scalar->second + (withReads ? m_readTypes.size() : 0));
    return std::nullopt;
}

void StageCutter::markNeeded(uint16_t reg, bool withReads, std::vector<bool>& needed) const {
    std::vector<uint16_t> work{reg};
    while (!work.empty()) {
        const uint16_t at = work.back();
        work.pop_back();
        if (needed[at])
            continue;
        needed[at] = true;
        if (available(at, withReads))
            continue;
        for (int k = 0; k < operandCount(m_whole.code[at].op); ++k)
            work.push_back(m_whole.code[at].operand[k]);
    }
}

Tape StageCutter::slice(const std::vector<uint16_t>& results, bool withReads) const {
    Tape out;
    if (withReads)
        out.inputs = m_readTypes;
    out.inputs.insert(out.inputs.end(), m_scalarTypes.begin(), m_scalarTypes.end());
    std::vector<bool> needed(m_whole.code.size(), false);
    for (uint16_t reg : results)
        markNeeded(reg, withReads, needed);
    std::vector<uint16_t> moved(m_whole.code.size(), 0);
    for (uint16_t reg = 0; reg < m_whole.code.size(); ++reg) {
        if (!needed[reg])
            continue;
        TapeInstruction code = m_whole.code[reg];
        if (auto input = available(reg, withReads)) {
            code = TapeInstruction{TapeOp::Input, code.type};
            code.index = *input;
        }
        for (int k = 0; k < operandCount(code.op); ++k)
            code.operand[k] = moved[code.operand[k]];
        moved[reg] = static_cast<uint16_t>(out.code.size());
        out.code.push_back(code);
    }
    for (uint16_t reg : results)
        out.outputs.push_back(moved[reg]);
    return out;
}

void StageCutter::run(Row& out, size_t elementResults) {
    place();
    numberReads(out);
    exportScalars(elementResults);
    for (size_t s = 0; s < m_reduced.size(); ++s) {
        Row::Stage stage;
        std::vector<uint16_t> sources;
        for (uint16_t reg : m_reduced[s]) {
            const auto tag = static_cast<size_t>(m_inputs[m_whole.code[reg].index].tag);
            sources.push_back(m_whole.outputs[tag]);
            stage.reduce.push_back(m_reductions[tag].kind);
        }
        stage.map = slice(sources, true);
        for (uint16_t reg : m_reduced[s])
            addScalar(reg);
        stage.scalar = slice(m_exported[s], false);
        for (uint16_t reg : m_exported[s])
            addScalar(reg);
        out.stages.push_back(std::move(stage));
    }
    const auto begin = m_whole.outputs.begin() + static_cast<std::ptrdiff_t>(m_reductions.size());
    const auto middle = begin + static_cast<std::ptrdiff_t>(elementResults);
    out.element = slice({begin, middle}, true);
    out.row = slice({middle, m_whole.outputs.end()}, false);
}

} // namespace

Row rowFromTape(Composer& composer, const std::vector<RowReduction>& reductions,
                const RowResults& results, const RowSpace& space) {
    std::vector<Scalar> all;
    for (const RowReduction& reduction : reductions)
        all.push_back(reduction.source);
    all.insert(all.end(), results.element.begin(), results.element.end());
    all.insert(all.end(), results.row.begin(), results.row.end());
    const Tape whole = composer.tape().finish(all);
    Row out;
    const auto outer = static_cast<std::ptrdiff_t>(*space.outerRank);
    out.outer.assign(space.extents.begin(), space.extents.begin() + outer);
    out.inner.assign(space.extents.begin() + outer, space.extents.end());
    out.elementWrites = results.elementWrites;
    out.rowWrites = results.rowWrites;
    StageCutter(whole, composer.inputs(), reductions).run(out, results.element.size());
    return out;
}

} // namespace fuselage
