// SPDX-License-Identifier: Apache-2.0
// Phase 5 of planning: lifetimes, in-place reuse, offsets by best fit on intervals of descending
// size, and the exact peak.
#include "core/plan/planner_internal.h"

#include <algorithm>
#include <map>

namespace fuselage::planner {

namespace {

constexpr int64_t alignment = 64;

int64_t aligned(int64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

void findLifetimes(Plan& plan) {
    auto lastStep = static_cast<uint32_t>(plan.steps.empty() ? 0 : plan.steps.size() - 1);
    std::vector<bool> seen(plan.values.size(), false);
    auto touch = [&](uint32_t value, uint32_t step) {
        for (uint32_t at : {value, rootOf(plan, value)}) {
            PlanValue& touched = plan.values[at];
            if (!seen[at])
                touched.firstStep = step;
            seen[at] = true;
            touched.firstStep = std::min(touched.firstStep, step);
            touched.lastStep = std::max(touched.lastStep, step);
        }
    };
    for (uint32_t i = 0; i < plan.steps.size(); ++i) {
        for (uint32_t input : plan.steps[i].inputs)
            touch(input, i);
        for (uint32_t output : plan.steps[i].outputs)
            touch(output, i);
    }
    for (uint32_t output : plan.outputs)
        plan.values[rootOf(plan, output)].lastStep = lastStep;
    // What all images of a sweep read or write lives as long as it runs.
    for (const Sweep& sweep : plan.sweeps)
        for (uint32_t i = sweep.first; i <= sweep.last; ++i)
            for (const auto* list : {&plan.steps[i].inputs, &plan.steps[i].outputs})
                for (uint32_t value : *list)
                    if (PlanValue& owner = plan.values[rootOf(plan, value)]; !owner.inner) {
                        owner.firstStep = std::min(owner.firstStep, sweep.first);
                        owner.lastStep = std::max(owner.lastStep, sweep.last);
                    }
}

bool identicalIndex(const Access& read, const Access& write) {
    return read.index == write.index;
}

/// All reads of one operand, when the program reads operands only through accesses that are equal
/// to its write; empty when the operand is used in any other way. `rows`: kernels of rows have read
/// all of a row before they write an element of it.
bool readsLikeWrite(const KernelProgram& program, uint32_t operand, bool rows) {
    const std::vector<Access>* reads = nullptr;
    const std::vector<Access>* writes = nullptr;
    if (const auto* pointwise = std::get_if<Pointwise>(&program.code)) {
        reads = &pointwise->reads;
        writes = &pointwise->writes;
    } else if (const auto* contraction = std::get_if<Contraction>(&program.code)) {
        bool used = contraction->a.operand == operand || contraction->b.operand == operand ||
                    contraction->prologueA || contraction->prologueB || contraction->poolWindow;
        if (used)
            return false;
        reads = &contraction->epilogue.reads;
        writes = &contraction->epilogue.writes;
    } else if (const auto* row = std::get_if<Row>(&program.code); row && rows) {
        if (!row->rowWrites.empty() || row->elementWrites.empty())
            return false;
        reads = &row->reads;
        writes = &row->elementWrites;
    } else {
        return false;
    }
    bool found = false;
    for (const Access& read : *reads) {
        if (read.operand != operand)
            continue;
        found = true;
        if (!identicalIndex(read, writes->front()))
            return false;
    }
    return found && writes->size() == 1;
}

/// Lets output 0 of a step live where an input that dies there lives. Returns that input's root.
std::optional<uint32_t> inPlaceOperand(const Plan& plan, uint32_t stepIndex, bool rows) {
    const Step& step = plan.steps[stepIndex];
    if (step.outputs.size() != 1)
        return std::nullopt;
    const PlanValue& output = plan.values[step.outputs[0]];
    // Other images may still need what a sweep reads from outside.
    if (output.residence != Residence::Arena || (!output.inner && sweepOf(plan, stepIndex)))
        return std::nullopt;
    for (uint32_t i = 0; i < step.inputs.size(); ++i) {
        uint32_t input = step.inputs[i];
        const PlanValue& value = plan.values[input];
        // Another operand may be a view of the same memory.
        auto readers = std::count_if(step.inputs.begin(), step.inputs.end(),
                                     [&](uint32_t other) { return rootOf(plan, other) == input; });
        bool fits = value.residence == Residence::Arena && !value.isFixed &&
                    value.lastStep == stepIndex && value.inner == output.inner &&
                    value.dtype == output.dtype && value.extents == output.extents &&
                    value.strides == output.strides && readers == 1;
        if (fits && readsLikeWrite(step.program, i, rows))
            return input;
    }
    return std::nullopt;
}

/// One allocation: the values that share it (in-place chains), its lifetime and size.
struct Block {
    std::vector<uint32_t> values;
    int64_t bytes = 0;
    uint32_t first = 0, last = 0;
    int64_t offset = 0;
    const Sweep* sweep = nullptr; ///< of inner values
};

std::vector<Block> makeBlocks(Plan& plan, bool reuseMemory, bool rows) {
    std::vector<Block> blocks;
    std::vector<uint32_t> blockOf(plan.values.size(), 0);
    auto open = [&](uint32_t value) {
        const PlanValue& owner = plan.values[value];
        blockOf[value] = static_cast<uint32_t>(blocks.size());
        const Sweep* sweep = owner.inner ? sweepOf(plan, owner.firstStep) : nullptr;
        blocks.push_back(
            {{value}, aligned(spanBytes(owner, sweep)), owner.firstStep, owner.lastStep, 0, sweep});
    };
    std::vector<bool> placed(plan.values.size(), false);
    for (uint32_t i = 0; i < plan.steps.size(); ++i)
        for (uint32_t output : plan.steps[i].outputs) {
            uint32_t root = rootOf(plan, output);
            const PlanValue& owner = plan.values[root];
            if (owner.residence != Residence::Arena || owner.isFixed || placed[root])
                continue;
            placed[root] = true;
            auto operand =
                reuseMemory && root == output ? inPlaceOperand(plan, i, rows) : std::nullopt;
            if (!operand || !placed[*operand]) {
                open(root);
                continue;
            }
            plan.steps[i].inPlace = true;
            Block& shared = blocks[blockOf[*operand]];
            blockOf[root] = blockOf[*operand];
            shared.values.push_back(root);
            shared.last = std::max(shared.last, plan.values[root].lastStep);
        }
    return blocks;
}

/// Largest blocks first, each in the smallest gap between blocks alive at the same time.
int64_t placeBlocks(std::vector<Block>& blocks, bool reuseMemory) {
    std::vector<Block*> order;
    for (Block& block : blocks)
        order.push_back(&block);
    std::stable_sort(order.begin(), order.end(),
                     [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
    std::vector<const Block*> placed; // by offset
    int64_t end = 0;
    for (Block* block : order) {
        int64_t bestOffset = -1, bestGap = INT64_MAX, cursor = 0;
        for (const Block* other : placed) {
            bool together =
                !reuseMemory || (other->first <= block->last && block->first <= other->last);
            if (!together)
                continue;
            int64_t gap = other->offset - cursor;
            if (gap >= block->bytes && gap < bestGap) {
                bestGap = gap;
                bestOffset = cursor;
            }
            cursor = std::max(cursor, other->offset + other->bytes);
        }
        block->offset = bestOffset >= 0 ? bestOffset : cursor;
        end = std::max(end, block->offset + block->bytes);
        auto at =
            std::upper_bound(placed.begin(), placed.end(), block,
                             [](const Block* a, const Block* b) { return a->offset < b->offset; });
        placed.insert(at, block);
    }
    return end;
}

/// Largest sum of live bytes over the steps, counting arena blocks and caller-visible outputs.
int64_t peakOf(const Plan& plan, const std::vector<Block>& blocks) {
    std::map<uint32_t, int64_t> change;
    auto live = [&](uint32_t first, uint32_t last, int64_t bytes) {
        change[first] += bytes;
        change[last + 1] -= bytes;
    };
    for (const Block& block : blocks)
        live(block.first, block.last, block.bytes);
    for (const PlanValue& value : plan.values)
        if (value.residence == Residence::Output)
            live(value.firstStep, value.lastStep, value.bytes);
    int64_t now = 0, peak = 0;
    for (const auto& [step, delta] : change)
        peak = std::max(peak, now += delta);
    return peak;
}

/// Results of constants that steps of a run read: they stay, beside the arena.
int64_t keptBytes(const Plan& plan, const std::map<uint32_t, int64_t>& stored) {
    std::vector<bool> isRead(plan.values.size(), false);
    for (const Step& step : plan.steps)
        if (!plan.isOnce(step))
            for (uint32_t input : step.inputs)
                isRead[rootOf(plan, input)] = true;
    int64_t out = 0;
    for (uint32_t value = 0; value < plan.values.size(); ++value)
        if (isRead[value] && plan.values[value].isFixed &&
            plan.values[value].residence == Residence::Arena && !stored.contains(value))
            out += plan.values[value].bytes;
    return out;
}

} // namespace

int64_t spanBytes(const PlanValue& value, const Sweep* sweep) {
    int64_t last = 0;
    for (size_t d = 0; d < value.extents.size(); ++d) {
        const int64_t extent = sweep && d == 0 ? sweep->images : value.extents[d];
        if (extent == 0)
            return 0;
        last += (extent - 1) * value.strides[d];
    }
    return (last + 1) * static_cast<int64_t>(sizeOf(value.dtype));
}

void placeBuffers(Plan& plan, const PlanOptions& options,
                  const std::map<uint32_t, int64_t>& stored) {
    const bool reuseMemory = options.reuseMemory;
    findLifetimes(plan);
    auto place = [&](std::vector<Block>& blocks) {
        const int64_t bytes = placeBlocks(blocks, reuseMemory);
        for (const Block& block : blocks)
            for (uint32_t value : block.values)
                plan.values[value].offset = block.offset;
        return bytes;
    };
    std::vector<Block> blocks =
        makeBlocks(plan, reuseMemory, options.profile->kind == DeviceKind::Cpu);
    for (Sweep& sweep : plan.sweeps) {
        std::vector<Block> inner;
        std::erase_if(blocks, [&](const Block& block) {
            if (block.sweep == &sweep)
                inner.push_back(block);
            return block.sweep == &sweep;
        });
        sweep.workerBytes = place(inner);
        // What the workers' memory amounts to; it is a block like any other.
        blocks.push_back({{}, sweep.workers * sweep.workerBytes, sweep.first, sweep.last, 0});
    }
    plan.arenaBytes = place(blocks);
    size_t last = blocks.size() - plan.sweeps.size();
    for (Sweep& sweep : plan.sweeps)
        sweep.offset = blocks[last++].offset;
    plan.peakBytes = peakOf(plan, blocks) + keptBytes(plan, stored);
    plan.constantBytes = 0;
    for (const PlanValue& value : plan.values)
        if (value.residence == Residence::Constant)
            plan.constantBytes += value.bytes;
}

} // namespace fuselage::planner
