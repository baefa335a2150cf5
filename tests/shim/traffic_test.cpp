// SPDX-License-Identifier: Apache-2.0
// What kernels move, held to budgets and to the table in TRAFFIC.md (FUSELAGE_BLESS=1 rewrites it).
// FUSELAGE_TRAFFIC_PLACES=CASE also prints the lines of that case which cost more than they must.
#include "tests/shim/kernel_run.h"
#include "tests/shim/memory_counts.h"
#include "tests/shim/races.h"
#include "tests/shim/traffic_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

namespace {

using namespace fuselage;
using namespace fuselage::gpu_suite;
using simt::counts::Counts;
using simt::counts::GlobalCounts;
using simt::counts::SharedCounts;

/// Of one kernel set; operands first, then what the set needs besides.
struct Measured {
    std::string name, variant;
    size_t inputs = 0, outputs = 0;
    Counts counts;
    gpu::TileFetches fetches; ///< as the kernel's facts say
    gpu::MemoryAsked said;    ///< by the kernel, for prices

    const GlobalCounts& input(size_t i) const { return counts.reads[i]; }
    const GlobalCounts& output(size_t i) const { return counts.writes[inputs + i]; }
};

std::vector<simt::counts::Region> regionsOf(const Arena& arena) {
    std::vector<simt::counts::Region> out;
    for (const auto* memories :
         {&arena.inputs, &arena.outputs, &arena.packed, &arena.scratch, &arena.tables})
        for (const simt::GuardedMemory& memory : *memories)
            out.push_back({memory.data(), memory.size()});
    return out;
}

Measured measure(const Prepared& prepared, const gpu::KernelSet& set) {
    Random random;
    std::vector<ReferenceValue> inputs;
    for (const OperandType& input : prepared.program->inputs)
        inputs.push_back(dataFor(input, false, random));
    Arena arena = arenaFor(prepared.request, inputs);
    addNeeds(arena, set, inputs);
    simt::counts::begin(regionsOf(arena));
    launchAll(set, arena);
    return {prepared.source.name, set.variant, inputs.size(), prepared.request.outputs.size(),
            simt::counts::end(),  set.fetches, set.memory};
}

/// Each kernel that is counted, once.
const std::vector<Measured>& all() {
    static const std::vector<Measured> measured = [] {
        std::vector<Measured> out;
        for (const Case& source : trafficCases()) {
            const Prepared prepared = prepareTraffic(source);
            if (!prepared.program)
                continue;
            for (const gpu::KernelSet& set : trafficKernels(prepared))
                out.push_back(measure(prepared, set));
        }
        return out;
    }();
    return measured;
}

GlobalCounts sumOf(const std::vector<GlobalCounts>& parts) {
    GlobalCounts out;
    for (const GlobalCounts& part : parts) {
        out.requests += part.requests;
        out.wide += part.wide;
        out.asked += part.asked;
        out.ideal += part.ideal;
        out.sectors += part.sectors;
        out.ofBlocks += part.ofBlocks;
        out.distinct += part.distinct;
    }
    return out;
}

double over(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

std::string conflicts(const SharedCounts& counts) {
    return counts.requests == 0 ? "-"
                                : fmt::format("{:.2f}", over(counts.wavefronts, counts.ideal));
}

std::string lineOf(const Measured& one) {
    const GlobalCounts reads = sumOf(one.counts.reads), writes = sumOf(one.counts.writes);
    return fmt::format("| {} | {} | {:.0f} | {:.2f} | {:.2f} | {:.2f} | {:.0f} | {:.2f} | {:.2f} | "
                       "{} | {} | {} |\n",
                       one.name, one.variant, 100 * over(reads.wide, reads.requests),
                       over(reads.sectors, reads.ideal), over(reads.sectors, reads.distinct),
                       over(reads.ofBlocks, reads.distinct),
                       100 * over(writes.wide, writes.requests), over(writes.sectors, writes.ideal),
                       over(writes.sectors, writes.distinct), conflicts(one.counts.sharedReads),
                       conflicts(one.counts.sharedWrites), conflicts(one.counts.matrixReads));
}

void printPlaces(const Measured& one) {
    const char* wanted = std::getenv("FUSELAGE_TRAFFIC_PLACES");
    if (wanted == nullptr || one.name != wanted)
        return;
    for (const simt::counts::PlaceCounts& place : one.counts.places)
        if (place.cost > place.ideal)
            fmt::print("{} {}: {} requests, {} {}, ideal {}: {}\n", one.name, one.variant,
                       place.requests, place.cost, place.shared ? "wavefronts" : "sectors",
                       place.ideal, simt::races::placeText(place.place));
}

const char* const head =
    R"(<!-- SPDX-License-Identifier: Apache-2.0 -->
# What generated kernels move

Counted in the SIMT shim by `unit_gpu_traffic` (`tests/shim/traffic_cases.cpp`), at shrunken sizes
with the layouts of the real ones; `FUSELAGE_BLESS=1` rewrites this page, and a kernel that moves
something else fails the test. Nothing here is a time.

A request is one instruction of a warp. *16 B*: requests in which each lane moves 16 bytes, percent.
*Spread*: 32-byte sectors a request touches over those that its bytes would fill; 1 is coalesced.
*Again*: sectors over the distinct ones of the launch, as asked of the first cache, and as a first
cache of endless size would ask of the second; the distinct ones are what memory must move.
*Shared*: wavefronts over those without bank conflicts, of reads, writes and `ldmatrix`; 1 is none.

| case | kernel | reads 16 B | spread | again | of blocks | writes 16 B | spread | again | shared reads | writes | ldmatrix |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
)";

/// The sequences of which a device gives 95 % of its copy bandwidth.
bool isMemoryBound(const std::string& name) {
    for (const char* sequence : {"relu_product_", "gelu_bias_", "add_layer_norm_"})
        if (name.starts_with(sequence))
            return true;
    return name == "layer_norm_half" || name == "layer_norm_float" || name == "softmax_half" ||
           name == "softmax_float";
}

const char* const boxes = R"(
Boxes that TMA copies: KiB fetched, which a second cache is asked for, and KiB that land in shared memory. Blocks of a
cluster fetch once what they share.

| case | kernel | fetched | landed |
|---|---|--:|--:|
)";

std::string boxLineOf(const Measured& one) {
    const Counts& counts = one.counts;
    return counts.boxesFetched == 0
               ? ""
               : fmt::format("| {} | {} | {} | {} |\n", one.name, one.variant,
                             counts.boxesFetched / 1024, counts.boxesLanded / 1024);
}

const char* const tail = R"(
What is not good, and why it stays:

- `max_pool_half_first`: pools of rows along memory read and write 2 bytes at a time. Plans keep pictures
  with channels last, where the same kernel is coalesced.
- `softmax_197_half`: rows of an odd length begin at odd places, so nothing wider than an element is legal.
- `depthwise_7x7_half_last_to_first`: a thread's 8 results are half of a sector; its neighbours are other
  channels. Staging of weights meets twice in a bank, once a block.
- `depthwise_7x7_half_last` and the stem read the borders of patches and tiles again, from caches.
- `residual_half_*_across`, `softmax_*_across`, `conv_*_first`: an operand in another order than the others, or channels
  that do not lie side by side. Such orders are what layouts avoid by price; they are here to hold what kernels say of them.
- `conv_1x1_half_*first`: results along the rows of a product are read from its slab by columns, two to a bank.
- `stem_pool_half_last`: of the eight places of a fragment two meet in a bank where they go on in the next row.
- `resize_nearest_half_first`: every result reads its entry of the tables, which stay in the first cache.
- `attention_tiled`, `float_*` and transposes of narrow elements move an element a lane: coalesced, but
  more instructions than bytes need. `attention_tensor` takes what is stored in 16 bits.
- `vector_half_along_k`: a warp a result, so 2 bytes of a sector at a time; the results are few.
)";

TEST(Traffic, everyKernelNamedIsCounted) {
    for (const Case& source : trafficCases()) {
        const Prepared prepared = prepareTraffic(source);
        ASSERT_TRUE(prepared.program) << source.name;
        std::istringstream in(source.variants);
        size_t wanted = 0;
        for (std::string name; in >> name;)
            ++wanted;
        EXPECT_EQ(trafficKernels(prepared).size(), wanted) << source.name;
    }
}

/// Every access of 16 bytes a lane, no sector touched that its bytes do not fill.
void expectWideAndCoalesced(const GlobalCounts& counts) {
    EXPECT_GT(counts.requests, 0U);
    EXPECT_EQ(counts.wide, counts.requests);
    EXPECT_EQ(counts.sectors, counts.ideal);
}

void expectNoConflicts(const Counts& counts) {
    for (const SharedCounts& part : {counts.sharedReads, counts.sharedWrites, counts.matrixReads})
        EXPECT_EQ(part.wavefronts, part.ideal);
}

TEST(Traffic, memoryBoundSequencesMoveTheirOperandsOnce) {
    size_t seen = 0;
    for (const Case& source : trafficCases()) {
        if (!isMemoryBound(source.name))
            continue;
        const Prepared prepared = prepareTraffic(source);
        for (const Measured& one : all()) {
            if (one.name != source.name)
                continue;
            SCOPED_TRACE(one.name);
            ++seen;
            for (size_t i = 0; i < one.inputs; ++i) {
                expectWideAndCoalesced(one.input(i));
                const OperandType& type = prepared.program->inputs[i];
                const auto bytes =
                    static_cast<uint64_t>(*elementCount(type.extents)) * sizeOf(type.dtype);
                EXPECT_EQ(one.input(i).distinct * 32, bytes);
                if (type.extents.size() == 2) { // what rows share is read by each of them
                    EXPECT_LE(one.input(i).sectors * 32, bytes + bytes / 50);
                }
            }
            expectWideAndCoalesced(one.output(0));
            EXPECT_EQ(one.output(0).sectors, one.output(0).distinct);
            expectNoConflicts(one.counts);
        }
    }
    EXPECT_EQ(seen, 10U);
}

TEST(Traffic, tilesMoveWideAndMeetInNoBank) {
    size_t seen = 0;
    for (const Measured& one : all()) {
        if (!one.variant.starts_with("tensor_") && !one.variant.starts_with("wgmma_") &&
            !one.variant.starts_with("tma_") && one.variant != "attention_tensor" &&
            one.variant != "attention_wgmma")
            continue;
        if (one.name.starts_with("conv_") && one.name.ends_with("_first"))
            continue; // orders that plans pay for
        SCOPED_TRACE(one.name + " " + one.variant);
        ++seen;
        expectNoConflicts(one.counts);
        expectWideAndCoalesced(one.output(0));
        for (size_t i = 0; i < one.inputs; ++i)
            EXPECT_EQ(one.input(i).sectors, one.input(i).ideal);
    }
    EXPECT_GE(seen, 20U);
}

TEST(Traffic, aClusterFetchesOnceWhatItsBlocksShare) {
    size_t pairs = 0;
    for (const Measured& one : all()) {
        if (!one.variant.starts_with("tma_"))
            continue;
        SCOPED_TRACE(one.name + " " + one.variant);
        EXPECT_EQ(static_cast<double>(one.counts.boxesFetched), one.fetches.bytes);
        for (const Measured& other : all())
            if (other.name == one.name && other.variant == one.variant + "_pair") {
                ++pairs;
                EXPECT_EQ(one.counts.boxesLanded, one.counts.boxesFetched);
                EXPECT_EQ(other.counts.boxesLanded, one.counts.boxesLanded);
                EXPECT_LE(other.counts.boxesFetched * 4, one.counts.boxesFetched * 3);
            }
    }
    EXPECT_EQ(pairs, 4U);
}

/// Most of what may be touched and waited for, over the least; see the page's words.
struct Budget {
    const char* name;
    double readSpread = 1, writeSpread = 1, sharedReads = 1, sharedWrites = 1, matrixReads = 1;
};

constexpr Budget budgets[] = {{"depthwise_7x7_half_last", 1, 1, 1, 1.9},
                              {"depthwise_tensor_7x7_half_last", 1, 1, 1, 1.1},
                              {"depthwise_7x7_half_first", 1.2, 1.2, 1, 1.5},
                              {"depthwise_7x7_half_last_to_first", 1, 2, 1, 1.9},
                              {"stem_pool_half_last", 1.25, 1, 1, 1.05, 1.15},
                              {"max_pool_half_last"},
                              {"global_pool_half_last"},
                              {"transpose_float"},
                              {"to_channels_last_half"},
                              {"transpose_bytes"},
                              {"heads_half"},
                              {"concat_half"},
                              {"residual_half_last"},
                              {"scale_half_first"},
                              {"layer_norm_768_half"},
                              {"gather_embedding_half"}};

TEST(Traffic, windowsAndMovesStayInTheirBudgets) {
    for (const Budget& budget : budgets) {
        SCOPED_TRACE(budget.name);
        size_t seen = 0;
        for (const Measured& one : all()) {
            if (one.name != budget.name)
                continue;
            ++seen;
            const GlobalCounts reads = sumOf(one.counts.reads), writes = sumOf(one.counts.writes);
            EXPECT_LE(over(reads.sectors, reads.ideal), budget.readSpread + 0.005);
            EXPECT_LE(over(writes.sectors, writes.ideal), budget.writeSpread + 0.005);
            const SharedCounts &loads = one.counts.sharedReads, &stores = one.counts.sharedWrites;
            EXPECT_LE(over(loads.wavefronts, loads.ideal), budget.sharedReads + 0.005);
            EXPECT_LE(over(stores.wavefronts, stores.ideal), budget.sharedWrites + 0.005);
            const SharedCounts& fragments = one.counts.matrixReads;
            EXPECT_LE(over(fragments.wavefronts, fragments.ideal), budget.matrixReads + 0.005);
        }
        EXPECT_GT(seen, 0U);
    }
}

/// One block in the middle speaks for all, and taps beyond a picture are asked for, so what a
/// kernel says of its memory may be off by a quarter. What a first cache saves goes into prices as
/// a share of the bytes alone: products say it of one stage, others of one block's threads.
TEST(Traffic, kernelsSayWhatTheyAskOfMemory) {
    constexpr double most = 1.25, mostFetched = 1.4;
    size_t spread = 0, seen = 0;
    for (const Measured& one : all()) {
        if (one.said.ideal <= 0 || one.said.requests <= 0 || one.variant.starts_with("tma_"))
            continue;
        SCOPED_TRACE(one.name + " " + one.variant);
        ++seen;
        std::vector<GlobalCounts> operands;
        for (size_t i = 0; i < one.inputs; ++i)
            operands.push_back(one.input(i));
        GlobalCounts writes;
        for (size_t i = 0; i < one.outputs; ++i)
            writes.sectors += one.output(i).sectors;
        const GlobalCounts reads = sumOf(operands);
        const auto asked = static_cast<double>(reads.sectors + writes.sectors);
        EXPECT_LT(one.said.asked, most * asked);
        if (!one.variant.starts_with("row_")) { // these speak of one pass, and of no row's scalars
            EXPECT_GT(one.said.asked * most, asked);
        }
        const auto fetched = static_cast<double>(reads.ofBlocks + writes.sectors);
        const bool isProduct =
            one.inputs > 1 && (one.name.starts_with("conv_") || one.name.starts_with("product_") ||
                               one.name.starts_with("vector_"));
        if (!isProduct) {
            EXPECT_LT(one.said.fetched, mostFetched * fetched);
            EXPECT_GT(one.said.fetched * mostFetched, fetched);
        }
        spread += one.said.asked > 2 * one.said.ideal ? 1 : 0;
    }
    EXPECT_GE(seen, 40U);
    EXPECT_GE(spread, 8U) << "all kernels are coalesced: the cases show nothing of orders";
}

TEST(Traffic, isWhatThePageSays) {
    std::string text = head;
    for (const Measured& one : all()) {
        text += lineOf(one);
        printPlaces(one);
    }
    text += boxes;
    for (const Measured& one : all())
        text += boxLineOf(one);
    text += tail;
    const char* bless = std::getenv("FUSELAGE_BLESS");
    if (bless != nullptr && std::string(bless) != "0") {
        std::ofstream(TRAFFIC_TABLE) << text;
        return;
    }
    std::stringstream page;
    page << std::ifstream(TRAFFIC_TABLE).rdbuf();
    EXPECT_EQ(page.str(), text) << TRAFFIC_TABLE << ": FUSELAGE_BLESS=1 rewrites it";
}

} // namespace
