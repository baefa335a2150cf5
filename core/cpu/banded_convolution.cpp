// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/banded_convolution.h"

#include "core/cpu/contraction_engine.h"
#include "core/cpu/layout.h"
#include "core/cpu/tile_pointwise.h"
#include "core/kernel/loops.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

// Of a result: below this all of it stays in the cache anyway.
constexpr int64_t fewestElements = int64_t{1} << 19;
// Of a band: with the residual's part it leaves half of a core's second-level cache to the weights.
constexpr int64_t bandBytes = 400 << 10;

bool isChannelsLast(const OperandLayout& layout) {
    return layout.dtype == DType::Float32 && layout.strides == channelsLast(layout.extents);
}

std::optional<SplitEpilogue> splitOf(const Contraction& program, const PrepareContext& context) {
    auto matched = matchEpilogue(program.epilogue.tape, context.epilogueInputs(program));
    const auto* epilogue = std::get_if<MatchedEpilogue>(&matched);
    return epilogue ? splitBeforeSum(program.epilogue.tape, *epilogue) : std::nullopt;
}

/// Rows of the result in a band: the most that fit, without a smaller band at the end.
int64_t rowsOf(const Contraction& program) {
    int64_t rowBytes = program.space[1] * program.space[3] * static_cast<int64_t>(sizeof(float));
    int64_t rows = std::max<int64_t>(std::min(bandBytes / rowBytes, program.space[2]), 1);
    while (program.space[2] % rows != 0)
        --rows;
    return rows;
}

/// Bytes to add for the image and the first row of a band.
struct Steps {
    int64_t image = 0, row = 0;

    int64_t at(int64_t n, int64_t y) const { return n * image + y * row; }
};

Steps stepsOf(const StridedAccess& access, DType dtype) {
    auto bytes = static_cast<int64_t>(sizeOf(dtype));
    return {access.strides[0] * bytes, access.strides[2] * bytes};
}

class BandedConvolution final : public Kernel {
public:
    explicit BandedConvolution(const Contraction& program)
        : m_input(program.a.operand), m_output(program.epilogue.writes[0].operand),
          m_rows(rowsOf(program)), m_bandsPerImage(program.space[2] / m_rows),
          m_images(program.space[0]) {}

    std::optional<Reason> prepare(const Contraction& program, const SplitEpilogue& split,
                                  const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    std::optional<Reason> prepareEngine(const Contraction& program, const SplitEpilogue& split,
                                        const PrepareContext& context);
    void preparePass(const Contraction& program, const SplitEpilogue& split,
                     const PrepareContext& context);

    uint32_t m_input, m_output;
    int64_t m_rows, m_bandsPerImage, m_images;
    Extents m_space; ///< of a band
    std::unique_ptr<ContractionEngine> m_engine;
    std::unique_ptr<Kernel> m_pass;
    Steps m_source, m_target;
    std::vector<uint32_t> m_reads; ///< operands of the pass after the band itself
    std::vector<Steps> m_readSteps;
    size_t m_tileBytes = 0, m_workerBytes = 0;
};

std::optional<Reason> BandedConvolution::prepareEngine(const Contraction& program,
                                                       const SplitEpilogue& split,
                                                       const PrepareContext& context) {
    Contraction band = program;
    band.space = m_space;
    OperandLayout x = context.inputs[program.a.operand];
    m_source = {x.strides[0] * static_cast<int64_t>(sizeof(float)),
                x.strides[2] * program.window.strides[0] * static_cast<int64_t>(sizeof(float))};
    x.extents[0] = 1;
    x.extents[2] = (m_rows - 1) * program.window.strides[0] + 1;
    x.strides = channelsLast(x.extents);
    Threads::Alone alone(context.threads);
    EngineResult engine =
        makeConvolutionEngine(band, x, context.inputs[program.b.operand],
                              {{0, channelsLast(m_space)}}, split.head, context.threads.pages());
    if (auto* reason = std::get_if<Reason>(&engine))
        return std::move(*reason);
    m_engine = std::move(std::get<std::unique_ptr<ContractionEngine>>(engine));
    if (m_engine->slow || !m_engine->isShareable())
        return Reason{"support", "no primitive for bands that workers can share", {}, {}};
    return std::nullopt;
}

void BandedConvolution::preparePass(const Contraction& program, const SplitEpilogue& split,
                                    const PrepareContext& context) {
    size_t dims = m_space.size();
    // Layouts of the band's part, for telling which operands share memory.
    auto part = [&](OperandLayout layout) {
        if (layout.extents == program.space) {
            layout.extents = m_space;
            layout.constant = nullptr; // every band has other values
        }
        return layout;
    };
    const Access& write = program.epilogue.writes[0];
    const OperandLayout& output = context.outputs[m_output];
    m_target = stepsOf(stridedFor(write, output, dims), output.dtype);
    Pointwise pass{m_space, {identityAccess(0, dims)}, split.rest, {write}};
    pass.writes[0].operand = 0;
    PrepareContext inner{{{DType::Float32, m_space, channelsLast(m_space), nullptr}},
                         {part(output)},
                         context.table,
                         context.threads,
                         context.allowed};
    for (uint32_t index : split.reads) {
        Access read = program.epilogue.reads[index];
        const OperandLayout& layout = context.inputs[read.operand];
        m_reads.push_back(read.operand);
        m_readSteps.push_back(stepsOf(stridedFor(read, layout, dims), layout.dtype));
        read.operand = static_cast<uint32_t>(inner.inputs.size());
        inner.inputs.push_back(part(layout));
        pass.reads.push_back(std::move(read));
    }
    m_pass = preparePointwise(pass, inner);
}

std::optional<Reason> BandedConvolution::prepare(const Contraction& program,
                                                 const SplitEpilogue& split,
                                                 const PrepareContext& context) {
    m_space = program.space;
    m_space[0] = 1;
    m_space[2] = m_rows;
    if (auto reason = prepareEngine(program, split, context))
        return reason;
    preparePass(program, split, context);
    auto rounded = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
    m_tileBytes = rounded(static_cast<size_t>(*elementCount(m_space)) * sizeof(float));
    m_workerBytes = m_tileBytes + rounded(m_engine->scratchBytes);
    tactic = "onednn " + m_engine->implementation + " + tile interpreter, in bands of " +
             std::to_string(m_rows) + (m_rows == 1 ? " row" : " rows");
    return std::nullopt;
}

void BandedConvolution::run(const Operands& operands, RunContext& context) {
    auto workers = static_cast<size_t>(context.threads.count());
    std::byte* scratch = context.threads.stepScratch().reserve(workers * m_workerBytes);
    auto bands = static_cast<size_t>(m_images * m_bandsPerImage);
    context.threads.forRange(bands, 1, [&](size_t worker, size_t begin, size_t end) {
        std::byte* tile = scratch + worker * m_workerBytes;
        Operands pass;
        pass.inputs.resize(1 + m_reads.size());
        pass.inputs[0] = tile;
        pass.outputs.resize(1);
        RunContext inner{context.threads};
        for (auto band = static_cast<int64_t>(begin); band < static_cast<int64_t>(end); ++band) {
            int64_t image = band / m_bandsPerImage, row = band % m_bandsPerImage * m_rows;
            m_engine->runShared(operands.inputs[m_input] + m_source.at(image, row), tile,
                                tile + m_tileBytes);
            for (size_t i = 0; i < m_reads.size(); ++i)
                pass.inputs[1 + i] = operands.inputs[m_reads[i]] + m_readSteps[i].at(image, row);
            pass.outputs[0] = operands.outputs[m_output] + m_target.at(image, row);
            m_pass->run(pass, inner);
        }
    });
}

} // namespace

bool canBeBanded(const Contraction& program, const PrepareContext& context) {
    if (program.kind != Contraction::Kind::Conv || program.groups != 1 ||
        program.space.size() != 4 || program.poolWindow || program.prologueA || program.prologueB ||
        program.accumulate != DType::Float32 || context.outputs.size() != 1)
        return false;
    const SlidingWindow& window = program.window;
    const OperandLayout& weights = context.inputs[program.b.operand];
    return areAll(window.kernel, 1) && areAll(window.padsBegin, 0) && areAll(window.padsEnd, 0) &&
           isChannelsLast(context.inputs[program.a.operand]) &&
           isChannelsLast(context.outputs[0]) && weights.constant &&
           weights.dtype == DType::Float32 && *elementCount(program.space) >= fewestElements &&
           program.space[0] * program.space[2] / rowsOf(program) >= context.threads.count() &&
           splitOf(program, context).has_value();
}

double bandedCost() {
    return 1.1; // measured: 1.05 to 1.25 where the sum stays in the last cache, less where not
}

std::string bandedKey(const Contraction& program, const PrepareContext& context) {
    std::string out = text(program.space) + text(program.window.strides) +
                      (context.inPlace ? " in place" : "") + program.epilogue.tape.text();
    for (const OperandLayout& input : context.inputs)
        out += text(input.extents) + text(input.strides);
    return out;
}

KernelResult prepareBanded(const Contraction& program, const PrepareContext& context) {
    auto split = splitOf(program, context);
    if (!split)
        return failure("cpu.epilogue", "no sum to split the epilogue at");
    auto kernel = std::make_unique<BandedConvolution>(program);
    if (auto reason = kernel->prepare(program, *split, context))
        return failure("cpu." + reason->code, reason->message);
    kernel->numeric = split->head.numeric;
    return std::unique_ptr<Kernel>(std::move(kernel));
}

} // namespace fuselage::cpu
