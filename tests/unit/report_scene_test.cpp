// SPDX-License-Identifier: Apache-2.0
// Scenes: places, groups, blocks, tunnels, goldens and time. FUSELAGE_BLESS=1
// rewrites the goldens.
#include "app/report/scene/hit_test.h"
#include "app/report/scene/scene_json.h"
#include "tests/unit/scene_builder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>

using namespace fuselage;
using namespace fuselage::scene_test;
using scene::Box;

namespace {

bool blessing() {
    const char* wanted = std::getenv("FUSELAGE_BLESS");
    return wanted != nullptr && std::strcmp(wanted, "0") != 0;
}

void expectGolden(const std::string& name, const std::string& text) {
    std::string path = std::string(SCENE_GOLDENS) + "/" + name;
    if (blessing()) {
        std::ofstream(path) << text;
        return;
    }
    std::stringstream golden;
    golden << std::ifstream(path).rdbuf();
    EXPECT_EQ(golden.str(), text) << path << ": FUSELAGE_BLESS=1 rewrites it";
}

bool overlap(const scene::Rect& a, const scene::Rect& b) {
    return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

bool inside(const scene::Rect& inner, const scene::Rect& outer) {
    return inner.x >= outer.x && inner.y >= outer.y && inner.right() <= outer.right() &&
           inner.bottom() <= outer.bottom();
}

/// On each side no two boxes overlap and every box stands inside of its containers.
void expectTidy(const scene::Scene& scene) {
    for (auto side : {scene::Before, scene::After}) {
        scene::HitIndex index(scene, side);
        for (uint32_t b = 0; b < scene.boxes.size(); ++b) {
            const Box& box = scene.boxes[b];
            if (!(box.sides & side))
                continue;
            for (uint32_t other : index.boxesIn(box.rect))
                EXPECT_TRUE(other == b || !overlap(box.rect, scene.boxes[other].rect))
                    << box.id << " and " << scene.boxes[other].id;
            EXPECT_EQ(index.boxAt(box.rect.centre()), b);
            for (uint32_t c = box.container; c != scene::none; c = scene.containers[c].parent)
                EXPECT_TRUE(inside(box.rect, scene.containers[c].rect)) << box.id;
        }
    }
}

/// conv -> bn -> relu -> pool, of which a rule took the first three; shown open or as one node.
std::pair<GraphReport, GraphReport> oneFusion(bool open) {
    GraphBuilder before, after;
    uint32_t x = before.input("x");
    uint32_t conv = before.node("/a/conv", "Conv", {x});
    uint32_t relu = before.node("/a/relu", "Relu", {before.node("/a/bn", "BatchNorm", {conv})});
    GraphReport one = before.finish({before.node("/a/pool", "MaxPool", {relu})});
    x = after.input("x");
    const std::vector<std::string> sources{"/a/conv", "/a/bn", "/a/relu"};
    uint32_t made = 0;
    if (open) {
        uint32_t inner = after.node("F/body//a/conv", "Conv", {x});
        inner = after.node("F/body//a/bn", "BatchNorm", {inner});
        made = after.node("F/body//a/relu", "Relu", {inner});
    } else {
        made = after.fused("F", "ConvBNReLU", sources, {x});
    }
    GraphReport two = after.finish({after.node("/a/pool", "MaxPool", {made})});
    for (size_t i = 0; open && i < sources.size(); ++i) {
        two.nodes[i].inside = "F";
        two.nodes[i].sources = {sources[i]};
        two.nodes[i].rule = "ConvBNReLU";
    }
    return {one, two};
}

TEST(Scene, AnOpenFusedNodeShowsItsBodyInTheSameFrame) {
    Progress progress;
    const auto shut = oneFusion(false), open = oneFusion(true);
    auto closed = scene::build({shut.first, shut.second, {}}, {}, progress);
    auto opened = scene::build({open.first, open.second, {}}, {}, progress);
    ASSERT_TRUE(closed && opened);
    expectTidy(*opened);
    ASSERT_EQ(opened->groups.size(), 1U);
    const scene::Group& group = opened->groups[0];
    EXPECT_EQ(group.open, "F");
    EXPECT_TRUE(group.fused);
    EXPECT_EQ(group.badge, closed->groups[0].badge); // colour and letter stay
    EXPECT_EQ(group.members.size(), 3U);
    std::vector<const Box*> inner;
    for (const Box& box : opened->boxes)
        if (box.inside == "F")
            inner.push_back(&box);
    ASSERT_EQ(inner.size(), 3U);
    EXPECT_EQ(inner[0]->sources, std::vector<std::string>{"/a/conv"});
    EXPECT_EQ(inner[0]->sides, scene::After);
    // The frame says on this side, too, what they are together.
    const scene::Container& frame = opened->containers[inner[0]->container];
    EXPECT_EQ(frame.kind, scene::Container::Kind::Group);
    EXPECT_EQ(frame.sides, scene::Both);
    EXPECT_TRUE(closed->groups[0].open.empty());
    // Edges meet the boxes that they join.
    for (const scene::Edge& edge : opened->edges) {
        EXPECT_NEAR(edge.points.front().y, opened->boxes[edge.from].rect.bottom(), 0.6);
        EXPECT_NEAR(edge.points.back().y, opened->boxes[edge.to].rect.y, 0.6);
        for (size_t i = 1; i < edge.points.size(); ++i)
            EXPECT_GE(edge.points[i].y, edge.points[i - 1].y - 0.6) << edge.value;
    }
}

TEST(Scene, APartOfANameThatIsItsOperatorIsNoScope) {
    GraphBuilder builder;
    uint32_t value = builder.input("x");
    for (int i = 0; i < 12; ++i) // as Paddle names nodes: by operator and number
        value = builder.node((i % 2 ? "p2o.Add." : "p2o.Relu.") + std::to_string(i),
                             i % 2 ? "Add" : "Relu", {value});
    const GraphReport graph = builder.finish({value});
    Progress quiet;
    scene::SideFigures figures;
    auto scene = scene::build({graph, {}, figures}, {}, quiet);
    ASSERT_TRUE(scene);
    for (const scene::Container& container : scene->containers)
        EXPECT_TRUE(container.label != "Add" && container.label != "Relu") << container.id;
    // A chain stands in one column, in its order.
    double above = -1e9;
    for (const scene::Edge& edge : scene->edges)
        above = std::max(above, scene->boxes[edge.from].rect.y - scene->boxes[edge.to].rect.y);
    EXPECT_LT(above, 0);
}

scene::Scene deepChain(scene::Options::Flow flow) {
    GraphBuilder builder;
    uint32_t value = builder.input("x"), far = value;
    for (int i = 0; i < 120; ++i) {
        value = builder.node("n" + std::to_string(i), i % 10 == 9 ? "Add" : "Relu",
                             i % 10 == 9 ? std::vector<uint32_t>{value, far}
                                         : std::vector<uint32_t>{value});
        if (i % 10 == 9)
            far = value;
    }
    scene::Options options;
    options.flow = flow;
    return built(builder.finish({value}), {}, options);
}

TEST(Scene, ADeepNarrowGraphStandsInColumns) {
    const scene::Scene folded = deepChain(scene::Options::Flow::Columns);
    expectTidy(folded);
    const scene::Scene straight = deepChain(scene::Options::Flow::Down);
    EXPECT_GT(straight.rect.h, 10 * straight.rect.w);
    EXPECT_LT(folded.rect.h, 3 * folded.rect.w);
    ASSERT_EQ(folded.boxes.size(), straight.boxes.size());
    // Lines stay inside the picture, and none but those between columns goes up.
    size_t between = 0;
    for (const scene::Edge& edge : folded.edges) {
        bool up = false;
        for (size_t i = 0; i < edge.points.size(); ++i) {
            EXPECT_TRUE(folded.rect.contains(edge.points[i]));
            up = up || (i > 0 && edge.points[i].y < edge.points[i - 1].y - 0.5);
        }
        const double aside = folded.boxes[edge.to].rect.x - folded.boxes[edge.from].rect.right();
        if (!edge.tunnel) {
            EXPECT_EQ(up, aside > 40) << edge.from << " to " << edge.to;
        }
        between += up;
    }
    EXPECT_GT(between, 0U);
}

TEST(Scene, AFusedBoxIsCalledAsAPersonWould) {
    GraphBuilder before, after;
    const uint32_t x = before.input("x");
    const uint32_t conv = before.node("c", "Conv", {x, before.constant("w")});
    const uint32_t gate = before.node("h", "HardSigmoid", {conv});
    const uint32_t out = before.node("m", "Mul", {gate, conv});
    const uint32_t y = after.fused("f", "ConvBNReLU", {"c", "h", "m"}, {after.input("x")});
    const scene::Scene scene = built(before.finish({out}), after.finish({y}));
    const auto box = std::find_if(scene.boxes.begin(), scene.boxes.end(),
                                  [](const Box& b) { return b.kind == Box::Kind::Fused; });
    ASSERT_NE(box, scene.boxes.end());
    EXPECT_EQ(box->title, "Conv + HardSwish");
    ASSERT_FALSE(box->lines.empty());
    EXPECT_EQ(box->lines[0], "ConvBNReLU");
}

TEST(Scene, AProductWithAnotherGateIsNoSwish) {
    GraphBuilder before, after;
    const uint32_t x = before.input("x");
    const uint32_t conv = before.node("c", "Conv", {x, before.constant("w")});
    const uint32_t gate = before.node("s", "Sigmoid", {conv});
    const uint32_t out = before.node("m", "Mul", {gate, x});
    const uint32_t y = after.fused("f", "R", {"c", "s", "m"}, {after.input("x")});
    const scene::Scene scene = built(before.finish({out}), after.finish({y}));
    for (const Box& box : scene.boxes)
        if (box.kind == Box::Kind::Fused) {
            EXPECT_EQ(box.title, "Conv + Sigmoid + Mul");
        }
}

TEST(Scene, DetailsAreAttributesAndWeights) {
    GraphBuilder builder;
    const uint32_t x = builder.input("x");
    const uint32_t y = builder.node("c", "Conv", {x, builder.constant("model/w")});
    GraphReport graph = builder.finish({y});
    graph.nodes[0].attributes = {{"strides", "[2, 2]"}};
    scene::Options options;
    for (bool details : {false, true}) {
        options.details = details;
        const scene::Scene scene = built(graph, {}, options);
        const auto box = std::find_if(scene.boxes.begin(), scene.boxes.end(),
                                      [](const Box& b) { return b.title == "Conv"; });
        ASSERT_NE(box, scene.boxes.end());
        const auto& lines = box->lines;
        EXPECT_EQ(std::count(lines.begin(), lines.end(), "strides = [2, 2]"), details ? 1 : 0);
        EXPECT_EQ(std::count(lines.begin(), lines.end(), "w 1×64×56×56"), details ? 1 : 0);
    }
}

TEST(Scene, GoldenOfAResidualNetwork) {
    Pair pair = residualNetwork(6);
    scene::Scene scene = built(pair.before, pair.after);
    expectTidy(scene);
    expectGolden("residual.json", toJson(scene));
}

TEST(Scene, GoldenWithEverythingOpen) {
    Pair pair = residualNetwork(2);
    scene::Options options;
    options.collapse = scene::Options::Collapse::Nothing;
    expectGolden("residual_open.json", toJson(built(pair.before, pair.after, options)));
}

TEST(Scene, OrderOfNodesDoesNotMatter) {
    Pair pair = residualNetwork(9);
    std::string expected = toJson(built(pair.before, pair.after));
    for (uint32_t seed = 1; seed <= 20; ++seed)
        ASSERT_EQ(toJson(built(shuffled(pair.before, seed), shuffled(pair.after, seed + 100))),
                  expected)
            << seed;
}

TEST(Scene, AFusedNodeStandsWhereItsMembersStood) {
    Pair pair = residualNetwork(3);
    scene::Scene scene = built(pair.before, pair.after);
    ASSERT_FALSE(scene.groups.empty());
    std::map<std::string, const Box*> boxes;
    for (const Box& box : scene.boxes)
        boxes[box.name] = &box;
    for (const scene::Group& group : scene.groups) {
        const Box* made = boxes[group.made.front()];
        ASSERT_NE(made, nullptr);
        EXPECT_EQ(made->sides, scene::After);
        EXPECT_EQ(made->token, group.token);
        for (const std::string& member : group.members) {
            ASSERT_NE(boxes[member], nullptr) << member;
            EXPECT_TRUE(inside(boxes[member]->rect, made->rect)) << member;
            EXPECT_EQ(boxes[member]->token, group.token);
        }
    }
}

TEST(Scene, BlocksThatAreAlikeAreShutAfterTheFirst) {
    Pair pair = residualNetwork(16);
    scene::Scene scene = built(pair.before, pair.after);
    size_t shut = 0;
    for (const scene::Container& c : scene.containers)
        if (c.collapsed) {
            EXPECT_GT(c.instance, 0U);
            EXPECT_NE(c.block, scene::none);
            ++shut;
        }
    EXPECT_GT(shut, 2U);
    scene::Options open;
    for (const scene::Container& c : scene.containers)
        open.expanded.insert(c.id);
    scene::Scene opened = built(pair.before, pair.after, open);
    EXPECT_GT(opened.boxes.size(), scene.boxes.size());
    expectTidy(opened);
}

TEST(Scene, ABlockThatDiffersIsNoInstance) {
    Pair pair = residualNetwork(8);
    for (GraphNodeReport& node : pair.before.nodes)
        if (node.name == "/stage1/5/relu/Relu")
            node.op = "Gelu";
    scene::Scene scene = built(pair.before, pair.after);
    for (const scene::Container& c : scene.containers)
        if (c.label == "5") {
            EXPECT_FALSE(c.collapsed);
            EXPECT_EQ(c.block, scene::none);
        }
}

TEST(Scene, AValueReadEverywhereIsATunnel) {
    GraphBuilder graph;
    uint32_t x = graph.input("x"), mask = graph.input("mask");
    for (int b = 0; b < 12; ++b) {
        std::string scope = "/layer" + std::to_string(b) + "/";
        uint32_t a = graph.node(scope + "Mul", "Mul", {x, mask});
        uint32_t c = graph.node(scope + "Exp", "Exp", {a});
        uint32_t d = graph.node(scope + "Neg", "Neg", {c});
        x = graph.node(scope + "Add", "Add", {d, a});
    }
    GraphReport before = graph.finish({x});
    scene::Scene scene = built(before, before);
    size_t tunnels = 0, readers = 0;
    for (const scene::Edge& edge : scene.edges)
        tunnels += edge.tunnel ? 1 : 0;
    EXPECT_EQ(tunnels, 12U);
    for (const scene::Stub& stub : scene.stubs)
        readers += stub.outgoing ? stub.edges.size() : 0;
    EXPECT_EQ(readers, 12U);
    expectTidy(scene);
}

TEST(Scene, LayersThatReadAllLayersBeforeThemStayNarrow) {
    GraphBuilder graph;
    std::vector<uint32_t> all{graph.node("/stem/Relu", "Relu", {graph.input("x")})};
    for (int layer = 0; layer < 16; ++layer) {
        std::string scope = "/dense/layer" + std::to_string(layer) + "/";
        uint32_t joined = graph.node(scope + "Concat", "Concat", all);
        all.push_back(graph.node(scope + "Relu", "Relu", {joined}));
    }
    GraphReport before = graph.finish({all.back()});
    scene::Scene scene = built(before, before);
    EXPECT_LT(scene.rect.w, 900); // 1206 with all lines drawn
    size_t drawn = 0;
    for (const scene::Edge& edge : scene.edges)
        drawn += edge.tunnel ? 0 : 1;
    EXPECT_GE(drawn, 48U); // what is near is still seen
    expectTidy(scene);
}

TEST(Scene, ARewriteShowsWhatItMade) {
    GraphBuilder before, after;
    uint32_t a = before.node("Mul_1", "Mul", {before.input("x")});
    uint32_t b = before.node("Pow_2", "Pow", {before.node("Sqrt_3", "Sqrt", {a})});
    uint32_t y = after.node("Neg_1", "Neg", {after.node("Mul_1", "Mul", {after.input("x")})});
    GraphReport left = before.finish({b}), right = after.finish({y});
    right.nodes.back().rule = "PowIsNeg";
    right.nodes.back().sources = {"Sqrt_3", "Pow_2"};
    std::swap(right.nodes[0], right.nodes[1]);
    scene::Scene scene = built(left, right);
    ASSERT_EQ(scene.groups.size(), 1U);
    EXPECT_FALSE(scene.groups[0].fused);
    EXPECT_EQ(scene.groups[0].made, std::vector<std::string>{"Neg_1"});
    expectTidy(scene);
}

TEST(Scene, ScopesThatFeedEachOtherBothWaysStillHaveAPicture) {
    GraphBuilder graph;
    uint32_t x = graph.input("x");
    for (int i = 0; i < 8; ++i)
        x = graph.node((i % 2 ? "/a/" : "/b/") + std::to_string(i), "Relu", {x});
    GraphReport before = graph.finish({x});
    scene::Scene scene = built(before, before);
    EXPECT_EQ(scene.boxes.size(), 10U);
    expectTidy(scene);
}

TEST(Scene, AnEmptyGraphIsAnEmptyScene) {
    EXPECT_TRUE(built({}, {}).boxes.empty());
}

TEST(Scene, CancelledWorkSaysSo) {
    Pair pair = residualNetwork(2);
    Progress progress;
    progress.cancel();
    scene::SideFigures figures;
    auto scene = scene::build({pair.before, pair.after, figures}, {}, progress);
    ASSERT_FALSE(scene);
    EXPECT_EQ(scene.error().code, "cancelled");
}

TEST(Scene, LongLevelsAreCutIntoSlices) {
    GraphBuilder graph;
    uint32_t x = graph.input("x");
    for (int i = 0; i < 3000; ++i)
        x = graph.node("Relu_" + std::to_string(i), "Relu", {x});
    GraphReport before = graph.finish({x});
    scene::Scene scene = built(before, before);
    EXPECT_LE(scene.boxes.size(), scene::Options().maxBoxes);
    scene::Options open;
    open.collapse = scene::Options::Collapse::Nothing;
    scene::Scene all = built(before, before, open);
    EXPECT_EQ(all.boxes.size(), 3002U);
    expectTidy(all);
}

TEST(Scene, FiftyThousandNodesTakeLittleTime) {
    Pair pair = residualNetwork(7150);
    ASSERT_GE(pair.before.nodes.size(), 50'000U);
    // Processor time: other programs do not count.
    auto since = [](std::clock_t start) {
        return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    };
    std::clock_t start = std::clock();
    scene::Scene shut = built(pair.before, pair.after);
    double seconds = since(start);
    printf("50,050 nodes, collapsed: %.3f s, %zu boxes\n", seconds, shut.boxes.size());
    scene::Options options;
    options.collapse = scene::Options::Collapse::Nothing;
    start = std::clock();
    scene::Scene open = built(pair.before, pair.after, options);
    seconds = since(start);
    printf("50,050 nodes, all shown: %.3f s, %zu boxes\n", seconds, open.boxes.size());
    EXPECT_GE(open.boxes.size(), 50'000U);
    EXPECT_LT(seconds, 3); // the claim is 1 s of an optimised build
}

} // namespace
