// SPDX-License-Identifier: Apache-2.0
// The order of rows in memory: layers whose exporter puts the batch in front of the rows and behind
// them in turns are one product each, and whatever lies otherwise, results stay.
#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "core/kernel/matmul_shape.h"
#include "core/plan/channels_last.h"
#include "tests/unit/plan_support.h"

#include <fmt/format.h>

#include <map>

using namespace fuselage;
using fuselage::test::isNear;
using fuselage::test::lookAtSeeds;
using fuselage::test::outputsOfPlan;
using fuselage::test::planFor;
using fuselage::test::preparedGraph;
using testing_support::ChoiceList;
using testing_support::Choices;

namespace {

/// The cpu backend with rows as a GPU's plans have them, or in the model's order.
class RowBackend final : public Backend {
public:
    explicit RowBackend(bool orders) : m_orders(orders) {}

    std::string name() const override { return m_cpu->name(); }

    std::string description() const override { return m_cpu->description(); }

    std::optional<Reason> supports(const KernelProgram& program) const override {
        return m_cpu->supports(program);
    }

    void chooseLayouts(Plan& plan) const override {
        if (m_orders)
            chooseChannelsLast(plan, {{}, true});
    }

    Result<std::unique_ptr<Executable>> prepare(std::shared_ptr<const Plan> plan,
                                                Progress& progress) override {
        return m_cpu->prepare(std::move(plan), progress);
    }

private:
    std::unique_ptr<Backend> m_cpu = makeCpuBackend({1});
    bool m_orders;
};

std::shared_ptr<const Plan> rowPlanBy(const Graph& graph, const Backend& backend) {
    PlanOptions options;
    options.backend = &backend;
    return planFor(graph, "h200", options);
}

/// Multiplications of matrices that the layers of a plan are, one a layer where all rows are.
int64_t rowProductsOf(const Plan& plan) {
    int64_t out = 0;
    for (const Step& step : plan.steps) {
        const auto* p = std::get_if<Contraction>(&step.program.code);
        if (p == nullptr || p->kind != Contraction::Kind::MatMul || p->batchDims != 0)
            continue;
        const size_t space = p->space.size();
        std::vector<StridedAccess> operands = {
            strided(p->a, plan.values[step.inputs[p->a.operand]].strides, space + p->k.size()),
            strided(p->b, plan.values[step.inputs[p->b.operand]].strides, space + p->k.size())};
        for (const Access& write : p->epilogue.writes)
            operands.push_back(
                strided(write, plan.values[step.outputs[write.operand]].strides, space));
        for (const Access& read : p->epilogue.reads)
            operands.push_back(
                strided(read, plan.values[step.inputs[read.operand]].strides, space));
        const auto loops = matMulLoops(*p, operands);
        const auto* found = std::get_if<MatMulLoops>(&loops);
        int64_t products = 1;
        for (size_t i = 0; found != nullptr && i < found->batch.size(); ++i)
            products *= found->batch[i].extent;
        out += products;
    }
    return out;
}

Graph withRowWeights(const std::string& text, const std::vector<std::string>& weights) {
    Graph graph = preparedGraph(text);
    uint32_t seed = 1;
    for (const std::string& name : weights) {
        const Extents extents = *graph.value(graph.findValue(name)).type.extents();
        Tensor weight(DType::Float32, extents);
        for (int64_t i = 0; i < weight.elementCount(); ++i) {
            seed = seed * 1664525U + 1013904223U;
            weight.set(i, static_cast<double>(seed >> 16) / 65536.0 - 0.5);
        }
        EXPECT_TRUE(bindInput(graph, name, weight));
    }
    return graph;
}

/// Two layers of a transformer whose attention is a sum along the rows, in the orders in which
/// torch writes them: batch first outside, the sequence first inside. `residual`: the normalised
/// value is what is added, as in BERT, or what was before it, as in ViT.
Graph transformer(bool normalisedResidual) {
    std::string body, weights;
    std::vector<std::string> names;
    std::string x = "x";
    for (int layer = 0; layer < 2; ++layer) {
        const std::string i = std::to_string(layer);
        for (const char* weight : {"wi", "wo", "wa", "wb"})
            names.push_back(weight + i);
        weights += fmt::format(", float[8,24] wi{0}, float[8,8] wo{0}, float[8,16] wa{0}, "
                               "float[16,8] wb{0}",
                               i);
        body += fmt::format(
            "n{0} = LayerNormalization<axis=-1>({1}, s, b) t{0} = Transpose<perm=[1,0,2]>(n{0}) "
            "p{0} = MatMul(t{0}, wi{0}) q{0}, k{0}, v{0} = Split<axis=2>(p{0}, parts) "
            "m{0} = Softmax<axis=0>(k{0}) a{0} = Mul(m{0}, v{0}) c{0} = Add(a{0}, q{0}) "
            "o{0} = MatMul(c{0}, wo{0}) r{0} = Transpose<perm=[1,0,2]>(o{0}) "
            "e{0} = Add(r{0}, {2}) f{0} = MatMul(e{0}, wa{0}) g{0} = Relu(f{0}) "
            "h{0} = MatMul(g{0}, wb{0}) z{0} = Add(h{0}, e{0}) ",
            i, x, normalisedResidual ? "n" + i : x);
        x = "z" + i;
    }
    return withRowWeights("(float[3,5,8] x, float[8] s, float[8] b" + weights +
                              ") => (float[3,5,8] y) <int64[3] parts = {8, 8, 8}> { " + body +
                              "y = Tanh(" + x + ") }",
                          names);
}

TEST(OrderRows, EveryLayerOfATransformerIsOneProduct) {
    for (bool normalised : {false, true}) {
        const Graph graph = transformer(normalised);
        RowBackend ordered(true), model(false);
        const auto plan = rowPlanBy(graph, ordered), as = rowPlanBy(graph, model);
        EXPECT_EQ(rowProductsOf(*plan), 8) << normalised;
        EXPECT_GT(rowProductsOf(*as), 8);
        EXPECT_EQ(plan->steps.size(), as->steps.size());
        const auto inputs = *app::generateInputs(graph, 1);
        const auto outputs = outputsOfPlan(plan, ordered, inputs);
        EXPECT_TRUE(isNear(outputs[0], outputsOfPlan(as, model, inputs)[0], 1e-5, 1e-3));
    }
}

/// Elementwise work, normalisations, products, views and outputs of values [., ., .] with many
/// readers.
Graph drawnRows(Choices& choices) {
    struct Made {
        std::string name;
        Extents extents;
    };
    const std::vector<int64_t> sizes = {2, 3, 4};
    const Extents first = {choices.pick(sizes), choices.pick(sizes), 4};
    std::vector<Made> made = {{"x", first}};
    std::string body, signature, results;
    std::vector<std::string> weights;
    auto add = [&](const std::string& text, Extents extents) {
        const std::string name = "v" + std::to_string(made.size());
        body += name + " = " + text + " ";
        made.push_back({name, std::move(extents)});
    };
    const int64_t count = 3 + choices.below(12);
    for (int64_t i = 0; i < count; ++i) {
        const Made from = made[made.size() - 1 -
                               static_cast<size_t>(choices.below(
                                   std::min<int64_t>(4, static_cast<int64_t>(made.size()))))];
        const Extents& e = from.extents;
        switch (choices.below(8)) {
        case 0:
            add("Relu(" + from.name + ")", e);
            break;
        case 1:
        case 2: {
            const int64_t columns = choices.oneIn(3) ? 8 : 4;
            weights.push_back("w" + std::to_string(weights.size()));
            signature += fmt::format(", float[{},{}] {}", e[2], columns, weights.back());
            add("MatMul(" + from.name + ", " + weights.back() + ")", {e[0], e[1], columns});
            break;
        }
        case 3:
            add("Transpose<perm=[1,0,2]>(" + from.name + ")", {e[1], e[0], e[2]});
            break;
        case 4:
            add("Softmax<axis=" + std::to_string(choices.oneIn(4) ? 1 : 2) + ">(" + from.name + ")",
                e);
            break;
        case 5: {
            const auto other = std::find_if(made.begin(), made.end(), [&](const Made& each) {
                return each.name != from.name && each.extents == e;
            });
            add("Add(" + from.name + ", " + (other == made.end() ? from : *other).name + ")", e);
            break;
        }
        case 6:
            add("Slice(" + from.name + ", zero, four, two)", {e[0], e[1], 4});
            break;
        default: {
            const int64_t rows = e[0] * e[1];
            add(fmt::format("Reshape({}, flat{})", from.name, e[2]), {rows, 1, e[2]});
            add(fmt::format("Tanh({})", made.back().name), {rows, 1, e[2]});
            break;
        }
        }
        if (choices.oneIn(4)) {
            const Made& last = made.back();
            results += fmt::format(", float[{},{},{}] r{}", last.extents[0], last.extents[1],
                                   last.extents[2], made.size());
            body += fmt::format("r{} = Identity({}) ", made.size(), last.name);
        }
    }
    const Made& last = made.back();
    const std::string text = fmt::format(
        "(float[{},{},4] x{}) => (float[{},{},{}] y{}) <int64[1] zero = {{0}}, int64[1] four = "
        "{{4}}, int64[1] two = {{2}}, int64[3] flat4 = {{-1, 1, 4}}, int64[3] flat8 = {{-1, 1, "
        "8}}> "
        "{{ {}y = Neg({}) }}",
        first[0], first[1], signature, last.extents[0], last.extents[1], last.extents[2], results,
        body, last.name);
    Graph graph = withRowWeights(text, weights);
    return choices.oneIn(2) ? fuseWhole(graph, "All") : std::move(graph);
}

struct RowsSeen {
    std::string wrong;
};

RowsSeen rowsSeenIn(const ChoiceList& list) {
    Choices choices(list);
    const Graph graph = drawnRows(choices);
    RowBackend ordered(true), model(false);
    const auto plan = rowPlanBy(graph, ordered), as = rowPlanBy(graph, model);
    RowsSeen out;
    const auto inputs = *app::generateInputs(graph, 1);
    const auto outputs = outputsOfPlan(plan, ordered, inputs);
    const auto expected = outputsOfPlan(as, model, inputs);
    for (size_t i = 0; i < expected.size(); ++i)
        if (outputs.size() != expected.size() || !isNear(outputs[i], expected[i], 1e-5, 1e-3))
            out.wrong = "output " + std::to_string(i) + " differs";
    if (plan->steps.size() > as->steps.size())
        out.wrong = fmt::format("{} steps of {}", plan->steps.size(), as->steps.size());
    return out;
}

TEST(OrderRows, GeneratedGraphsKeepTheirResultsAndSteps) {
    lookAtSeeds(48, drawnRows, rowsSeenIn, [](const RowsSeen&) {});
}

} // namespace
