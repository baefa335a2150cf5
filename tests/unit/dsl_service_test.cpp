// SPDX-License-Identifier: Apache-2.0
// The language service as an editor uses it: a text with a mark where the cursor is. `‸` stands for
// the cursor and is not part of the text.
#include "dsl/parse.h"
#include "dsl/service/format.h"
#include "dsl/service/service.h"
#include "dsl/words.h"
#include "patterns/embedded.h"
#include "tests/support/standard_import.h"
#include "tests/support/syntax_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fuselage::dsl {
namespace {

/// A service with one text, and the cursor's place in it.
struct Editor {
    LanguageService service{testing_support::standardImport,
                            {{"resnet50", "bert_base"}, {"std/activation", "std/linear"}}};
    uint32_t cursor = 0;

    explicit Editor(std::string text) {
        size_t mark = text.find("‸");
        if (mark != std::string::npos)
            text.erase(mark, std::string("‸").size());
        cursor = mark == std::string::npos ? 0 : static_cast<uint32_t>(mark);
        service.set("a.fuse", text);
    }

    std::vector<std::string> labels() {
        std::vector<std::string> out;
        for (const Completion& completion : service.complete("a.fuse", cursor))
            out.push_back(completion.label);
        return out;
    }

    bool offers(const std::string& label) {
        std::vector<std::string> all = labels();
        return std::find(all.begin(), all.end(), label) != all.end();
    }

    std::string hover() {
        auto found = service.hover("a.fuse", cursor);
        return found ? found->markdown : std::string();
    }

    std::string at(const Place& place) {
        return service.text(place.name).substr(place.begin, place.end - place.begin);
    }
};

TEST(Service, topLevelOffersItems) {
    Editor editor("fuse 1;\nru‸");
    EXPECT_EQ(editor.labels(), std::vector<std::string>{"rule"});
}

TEST(Service, attributesOfTheOperatorWhoseBracketsAreOpen) {
    Editor editor("fuse 1;\nrule R { match { y = Conv(x, w)[ker‸] -> Relu; } }");
    EXPECT_EQ(editor.labels(), std::vector<std::string>{"kernel_shape"});
    EXPECT_TRUE(Editor("fuse 1;\nrule R { match { y = Softmax[‸").offers("axis"));
}

TEST(Service, aMatchOffersOperatorsImportedPatternsAndValues) {
    const std::string text = "fuse 1;\nimport \"std/activation\";\n"
                             "rule R { match { first = Conv(x, w); y = ‸";
    EXPECT_TRUE(Editor(text).offers("BatchNormalization"));
    EXPECT_TRUE(Editor(text).offers("Activation") || Editor(text).offers("Act"));
    EXPECT_TRUE(Editor(text).offers("first"));
    EXPECT_FALSE(Editor(text).offers("unless"));
}

TEST(Service, wordsThatOnePlaceAllows) {
    EXPECT_EQ(Editor("fuse 1;\nrule R { numeric e‸").labels(), std::vector<std::string>{"exact"});
    EXPECT_TRUE(Editor("fuse 1;\nrule R { gate gain.‸").offers("launches"));
    EXPECT_TRUE(Editor("fuse 1;\nrule R { gate device.‸").offers("units"));
    EXPECT_FALSE(Editor("fuse 1;\nrule R { gate total.‸").offers("units"));
    EXPECT_TRUE(Editor("fuse 1;\nrule R { match { y = Relu(x: ‸").offers("float16"));
    EXPECT_TRUE(Editor("fuse 1;\nrule R { test \"t\" { zoo ‸").offers("bert_base"));
    EXPECT_TRUE(Editor("fuse 1;\nrule R { test \"t\" { expect ‸").offers("fires"));
    EXPECT_TRUE(Editor("fuse 1;\nimport \"std/‸").offers("std/linear"));
    EXPECT_TRUE(Editor("fuse 1;\nclass A = @‸").offers("reduction"));
    EXPECT_TRUE(Editor("fuse 1;\npipeline p = ‸").offers("convert") ||
                Editor("fuse 1;\npipeline p = fuse then ‸").offers("convert"));
    EXPECT_TRUE(Editor("fuse 1;\npipeline p = convert* ‸").offers("keep"));
    EXPECT_FALSE(Editor("fuse 1;\npipeline p ‸").offers("keep"));
    EXPECT_TRUE(Editor("fuse 1;\nclass Own = MoE;\npipeline p = fuse keep ‸").offers("Own"));
    EXPECT_TRUE(Editor("fuse 1;\nform Ge‸").offers("Gelu"));
    EXPECT_FALSE(Editor("fuse 1;\nform ‸").offers("priority"));
}

TEST(Service, theKindOfAnItemDecidesWhatItsHeadOffers) {
    for (const char* text :
         {"fuse 1;\nfn f(a) = ‸", "fuse 1;\npattern P(x) -> ‸", "fuse 1;\nopset ‸",
          "fuse 1;\nclass A = ‸", "fuse 1;\npipeline p = ‸", "fuse 1;\nrule ‸"})
        EXPECT_FALSE(Editor(text).offers("priority")) << text;
    EXPECT_TRUE(Editor("fuse 1;\nrule R ‸").offers("priority"));
    EXPECT_TRUE(Editor("fuse 1;\nfn f(a) = m‸").offers("max"));
    EXPECT_TRUE(Editor("fuse 1;\nclass A = Conv | ‸").offers("MatMul"));
    EXPECT_TRUE(Editor("fuse 1;\npipeline p = ‸").offers("convert"));
    EXPECT_FALSE(Editor("fuse 1;\npipeline p = ‸").offers("keep"));
    EXPECT_TRUE(Editor("fuse 1;\npattern P(x: const ‸").offers("float16"));
    EXPECT_EQ(Editor("‸").labels(), std::vector<std::string>{"fuse 1;"});
}

TEST(Service, namesThatAWordWants) {
    EXPECT_TRUE(
        Editor("fuse 1;\nrule Old { match { y = Relu(x); } }\nrule R replaces ‸").offers("Old"));
    EXPECT_TRUE(Editor("fuse 1;\nrule R { test \"t\" { expect miss ‸").offers("M0203"));
    EXPECT_FALSE(Editor("fuse 1;\nrule R { test \"t\" { expect miss ‸").offers("E0101"));
    EXPECT_TRUE(Editor("fuse 1;\nrule R { match { y = Relu(x); } as ‸").offers("Gelu"));
    Editor type("fuse 1;\nrule R { match { y = Relu(x: const ‸");
    EXPECT_TRUE(type.offers("float16"));
    EXPECT_FALSE(type.offers("Relu"));
    Editor domain("fuse 1;\nrule R { match { y = com.microsoft.‸");
    EXPECT_TRUE(domain.offers("BiasGelu") || domain.offers("FusedMatMul"));
    EXPECT_FALSE(domain.offers("rank"));
    // What is typed in lower case finds operators too.
    EXPECT_TRUE(Editor("fuse 1;\nrule R { match { y = layern‸").offers("LayerNormalization"));
}

TEST(Service, nothingIsOfferedInComments) {
    EXPECT_TRUE(Editor("fuse 1;\n// a rule that ‸").labels().empty());
}

TEST(Service, hoverShowsSchemaAttributeAndDocumentation) {
    EXPECT_NE(Editor("fuse 1;\nrule R { match { y = Co‸nv(x, w); } }").hover().find("group"),
              std::string::npos);
    EXPECT_NE(
        Editor("fuse 1;\nrule R { match { y = Softmax(x)[ax‸is == 1]; } }").hover().find("-1"),
        std::string::npos);
    EXPECT_NE(Editor("fuse 1;\n/// Says what it is.\npattern P(a) -> b { b = Relu(a); }\n"
                     "rule R { match { y = Conv(x, w) -> ‸P; } }")
                  .hover()
                  .find("Says what it is."),
              std::string::npos);
    EXPECT_NE(Editor("fuse 1;\nrule R { match { y = Relu(x); where x.ra‸nk == 4; } }")
                  .hover()
                  .find("dimensions"),
              std::string::npos);
}

TEST(Service, hoverOnAnOperatorNamesTheFormsThatSpecFinds) {
    Editor editor(
        "fuse 1;\n/// By tanh.\nform Sigmoid(x) { y = Mul(Add(Tanh(Div(x, 2)), 1), 0.5); }\n"
        "rule R { match { y = spec Sig‸moid(x); } }");
    EXPECT_NE(editor.hover().find("- a.fuse:3 By tanh.\n"), std::string::npos) << editor.hover();
    EXPECT_NE(editor.hover().find("- std/forms:"), std::string::npos);
}

TEST(Service, hoverTellsMembersOfRootsFromThoseOfValues) {
    const std::string rule = "fuse 1;\nrule R { match { y = Relu(x); where x.bytes > 1; } gate ";
    EXPECT_NE(Editor(rule + "gain.by‸tes > 1; }").hover().find("traffic"), std::string::npos);
    EXPECT_NE(Editor(rule + "y.by‸tes > 1; }").hover().find("size in memory"), std::string::npos);
    EXPECT_NE(Editor(rule + "device.clo‸ck > 1; }").hover().find("in hertz"), std::string::npos);
    // `gain` is a word behind `by` as well.
    for (const std::string root : {"gain", "device", "total"}) {
        Editor gate(rule + "‸" + root + ".flops > 1; }");
        EXPECT_NE(gate.hover().find(findWord(root, WordPlace::Root)->documentation),
                  std::string::npos)
            << root << ": " << gate.hover();
    }
}

TEST(Service, attributesBehindTheNameOfANode) {
    const std::string rule = "fuse 1;\nrule R { match { y = c@Conv(x, w) -> m@MaxPool; where ";
    EXPECT_TRUE(Editor(rule + "c.‸").offers("dilations"));
    EXPECT_TRUE(Editor(rule + "c.‸").offers("shape"));
    EXPECT_FALSE(Editor(rule + "m.‸").offers("group"));
    EXPECT_FALSE(Editor(rule + "x.‸").offers("group"));
    EXPECT_NE(Editor(rule + "c.gr‸oup == 1; } }").hover().find("attribute of Conv"),
              std::string::npos);
    EXPECT_NE(Editor(rule + "c.sha‸pe == [1]; } }").hover().find("dimensions"), std::string::npos);
}

TEST(Service, aCopiedNodeIsAUseOfItsName) {
    Editor editor("fuse 1;\nrule R { match { y = c@Conv(x, w); } "
                  "rewrite { y = Conv(x, w)[...‸c]; } }");
    auto place = editor.service.definition("a.fuse", editor.cursor);
    ASSERT_TRUE(place);
    EXPECT_LT(place->begin, editor.cursor - 10);
}

TEST(Service, definitionOfAValueAndOfAnImportedPattern) {
    Editor editor("fuse 1;\nrule R { match { t = Conv(x, w); y = Relu(‸t); } }");
    auto place = editor.service.definition("a.fuse", editor.cursor);
    ASSERT_TRUE(place);
    EXPECT_EQ(editor.at(*place), "t");
    EXPECT_LT(place->begin, editor.cursor);

    Editor other(
        "fuse 1;\nimport \"std/activation\";\nrule R { match { y = Conv(x, w) -> A‸ct; } }");
    auto imported = other.service.definition("a.fuse", other.cursor);
    ASSERT_TRUE(imported);
    EXPECT_EQ(imported->name, "std/activation");
}

TEST(Service, namesOfTwoRulesAreDifferentThings) {
    Editor editor("fuse 1;\nrule A { match { y = Relu(‸x); } }\nrule B { match { y = Abs(x); } }");
    EXPECT_EQ(editor.service.references("a.fuse", editor.cursor).size(), 1u);
}

TEST(Service, renameChangesAllUsesAndNothingElse) {
    Editor editor("fuse 1;\nrule R { match { t = Conv(x, w); y = Relu(t‸); where t.rank == 4; } }");
    auto edits = editor.service.rename("a.fuse", editor.cursor, "sum");
    ASSERT_TRUE(edits) << edits.error().text();
    EXPECT_EQ(edits->size(), 3u);
    for (const TextEdit& edit : *edits)
        EXPECT_EQ(editor.at(edit.place), "t");
}

TEST(Service, renameIsRefusedWithAReason) {
    Editor editor("fuse 1;\nrule R { match { t = Conv(x, w); y = Relu(t‸); } }");
    EXPECT_FALSE(editor.service.rename("a.fuse", editor.cursor, "x"));
    EXPECT_FALSE(editor.service.rename("a.fuse", editor.cursor, "where"));
    EXPECT_FALSE(editor.service.rename("a.fuse", editor.cursor, "Upper"));
    Editor op("fuse 1;\nrule R { match { y = Re‸lu(x); } }");
    auto refused = op.service.rename("a.fuse", op.cursor, "Other");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("not defined"), std::string::npos);
}

TEST(Service, wordsOfTheLanguageKeepTheirNames) {
    for (const char* text : {"fuse 1;\nrule R { match { y = Relu(x); } gate ga‸in.us > 1; }",
                             "fuse 1;\nrule R { match { y = Relu(x); } gate device‸.sms > 1; }",
                             "fuse 1;\nrule R { match { y = Relu(x); } gate re‸gs <= 64; }",
                             "fuse 1;\nrule R { match { y = Conv(x, w, b?); where b == no‸ne; } }",
                             "fuse 1;\nrule R { match { y = Relu(x); where tru‸e; } }"}) {
        Editor editor(text);
        EXPECT_FALSE(editor.service.renamable("a.fuse", editor.cursor)) << text;
        EXPECT_FALSE(editor.service.rename("a.fuse", editor.cursor, "other")) << text;
    }
    // The same word as a name of the person's own.
    Editor own("fuse 1;\nrule R { match { gain = Relu(x); y = Tanh(ga‸in); } }");
    EXPECT_TRUE(own.service.renamable("a.fuse", own.cursor));
    EXPECT_TRUE(own.service.rename("a.fuse", own.cursor, "other"));
    for (const char* word : {"class", "fn", "form", "import", "opset", "pattern", "pipeline",
                             "rule", "gain", "device", "total", "none", "true"})
        EXPECT_FALSE(own.service.rename("a.fuse", own.cursor, word)) << word;
}

TEST(Service, anAttributeOfAnOperatorIsRenamedWhereItIsUsed) {
    const std::string op =
        "fuse 1;\nop com.acme.A(x) -> y [alp‸ha: float = 1, beta: float = 1] { y "
        "= Mul(x, alpha); }\n";
    Editor editor(op + "rule R { match { y = com.acme.A(x)[alpha == 2]; } }");
    editor.service.set("b.fuse", "fuse 1;\nimport \"a\";\nrule S { match { y = "
                                 "com.acme.A(x)[alpha == 3] -> Elu(_)[alpha == 1]; } }\n");
    auto edits = editor.service.rename("a.fuse", editor.cursor, "scale");
    ASSERT_TRUE(edits) << edits.error().text();
    EXPECT_EQ(edits->size(), 4U);
    for (const TextEdit& edit : *edits)
        EXPECT_EQ(editor.at(edit.place), "alpha");
    EXPECT_FALSE(editor.service.rename("a.fuse", editor.cursor, "beta"));
    // The same from a place where it is used.
    const auto use = static_cast<uint32_t>(editor.service.text("b.fuse").find("alpha"));
    EXPECT_EQ(editor.service.references("b.fuse", use).size(), 4U);
    EXPECT_TRUE(editor.service.rename("b.fuse", use, "scale"));
    EXPECT_FALSE(editor.service.rename("b.fuse", use, "beta"));
}

TEST(Service, renameNeverChangesWhatANameMeans) {
    Editor imported("fuse 1;\nimport \"std/activation\";\n"
                    "pattern P‸re(x) -> y { y = Conv(x, w) -> Act; }\n"
                    "rule R { match { y = Pre(x); } }");
    auto refused = imported.service.rename("a.fuse", imported.cursor, "Act");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("means something else"), std::string::npos);
    EXPECT_TRUE(imported.service.rename("a.fuse", imported.cursor, "Before"));

    // Not used, but imported: the file's own would take its place in files that import both.
    Editor unused("fuse 1;\nimport \"std/activation\";\n"
                  "pattern P‸re(x) -> y { y = Conv(x, w) -> Relu; }\n"
                  "rule R { match { y = Pre(x); } }");
    EXPECT_FALSE(unused.service.rename("a.fuse", unused.cursor, "Act"));

    Editor function("fuse 1;\nfn ha‸lf(a) = a / 2;\nrule R { match { y = Relu(x: [N]); where "
                    "half(N) > max(1, 2); } }");
    EXPECT_FALSE(function.service.rename("a.fuse", function.cursor, "max"));
    Editor root("fuse 1;\nrule R { match { y = Relu(‸x); } gate gain.us > 1; }");
    EXPECT_FALSE(root.service.rename("a.fuse", root.cursor, "gain"));
}

TEST(Service, anOtherFileThatUsesTheNewNameRefusesIt) {
    Editor editor("fuse 1;\npattern P‸re(x) -> y { y = Conv(x, w) -> Relu; }\n");
    editor.service.set("b.fuse", "fuse 1;\nimport \"a\";\nimport \"std/activation\";\n"
                                 "rule R { match { y = Pre(x) -> Act; } }\n");
    auto refused = editor.service.rename("a.fuse", editor.cursor, "Act");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("`b.fuse`"), std::string::npos);
}

TEST(Service, signaturesOfOperatorsPatternsAndFunctions) {
    auto at = [](const std::string& text) {
        Editor editor("fuse 1;\nimport \"std/activation\";\npattern Mine(a, b: const) -> y { y = "
                      "Add(a, b); }\n" +
                      text);
        auto found = editor.service.signature("a.fuse", editor.cursor);
        if (!found)
            return std::string("none");
        std::string out = found->label;
        if (found->active < found->parameters.size()) {
            const auto& [begin, end] = found->parameters[found->active];
            out += " at " + found->label.substr(begin, end - begin);
        }
        return out;
    };
    EXPECT_EQ(at("rule R { match { y = Conv(x, ‸"), "Conv(X, W, B?) at W");
    EXPECT_EQ(at("rule R { match { y = Conv(Relu(x), w, ‸b) -> Relu; } }"), "Conv(X, W, B?) at B?");
    EXPECT_EQ(at("rule R { match { y = Conv(Relu(‸x), w); } }"), "Relu(X) at X");
    EXPECT_EQ(at("rule R { match { y = Mine(p, ‸q); } }"), "Mine(a, b: const) at b: const");
    EXPECT_EQ(at("rule R { match { y = Relu(x); where lookup(1, ‸"),
              "lookup(key, keys, values) at keys");
    EXPECT_EQ(at("rule R { match { y = Conv(x, w)[‸]; } }"), "none");
    EXPECT_EQ(at("rule R { match { y = Conv(x, w); z = ‸"), "none");
    EXPECT_EQ(at("rule R { match { y = Conv(x, // w, ‸"), "none");
    EXPECT_EQ(at("rule R { match { y = Concat(a, b, c, ‸"), "Concat(inputs...) at inputs...");
}

/// Two files of one folder that have nothing to do with each other.
TEST(Service, programsOfTheirOwnDoNotClash) {
    LanguageService service(testing_support::standardImport, {}, false);
    service.set("a.fuse", "fuse 1;\nrule R { match { y = Relu(x); } }\n", "a");
    service.set("b.fuse", "fuse 1;\nrule R { match { y = Abs(x); } }\n", "b");
    EXPECT_TRUE(service.diagnose("a.fuse").empty());
    EXPECT_TRUE(service.diagnose("b.fuse").empty());
    service.set("c.fuse", "fuse 1;\nimport \"a\";\nrule R { match { y = Neg(x); } }\n", "c");
    EXPECT_EQ(service.diagnose("c.fuse").size(), 1U);
    EXPECT_TRUE(service.diagnose("a.fuse").empty());

    LanguageService together(testing_support::standardImport, {});
    together.set("a.fuse", service.text("a.fuse"));
    together.set("b.fuse", service.text("b.fuse"));
    EXPECT_EQ(together.diagnose("b.fuse").size(), 1U);
}

TEST(Service, diagnosticsComeWithAFixToApply) {
    Editor editor("fuse 1;\nrule R { match { y = Cnov(x, w); } }");
    auto found = editor.service.diagnose("a.fuse");
    ASSERT_FALSE(found.empty());
    auto actions = editor.service.actions("a.fuse", found[0].span.begin, found[0].span.end);
    ASSERT_FALSE(actions.empty());
    EXPECT_EQ(actions[0].edits[0].text, "Conv");
}

TEST(Service, aFixReplacesThePhaseAndNotTheRulesName) {
    const std::string pipeline = "pipeline default = convert then fused;\n";
    const std::string match = " { match { y = Relu(x) -> Tanh; } }\n";
    Editor named("fuse 1;\nrule R in convrt" + match + pipeline);
    auto actions = named.service.actions("a.fuse", 0, 40);
    ASSERT_EQ(actions.size(), 1U);
    EXPECT_EQ(named.at(actions[0].edits[0].place), "convrt");
    EXPECT_EQ(actions[0].edits[0].text, "convert");
    // `fuse` is meant where no phase stands: there is no word to replace.
    Editor unnamed("fuse 1;\nrule R" + match + pipeline);
    EXPECT_NE(unnamed.service.diagnose("a.fuse").at(0).fix.find("did you mean"), std::string::npos);
    EXPECT_TRUE(unnamed.service.actions("a.fuse", 0, 40).empty());
}

TEST(Service, contradictionsAreToldWhileTyping) {
    Editor editor("fuse 1;\nrule R { match { y = Relu(x: [N]); where N > 4, N < 3; } }‸");
    auto found = editor.service.diagnose("a.fuse");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].code, "E0221");
}

TEST(Service, everyByteOfAWordHasOneColour) {
    const std::string text(*embeddedPattern("std/attention"));
    uint32_t end = 0;
    for (const Highlight& highlight : highlightText(text)) {
        EXPECT_GE(highlight.begin, end);
        EXPECT_GT(highlight.end, highlight.begin);
        EXPECT_NE(highlight.colour, Colour::Wrong);
        end = highlight.end;
    }
}

TEST(Service, brokenTextsStillGiveSymbolsAndFolds) {
    Editor editor("fuse 1;\nrule A {\n match { y = Relu(x); }\n}\nrule B {\n match { y = ");
    auto symbols = editor.service.symbols("a.fuse");
    ASSERT_GE(symbols.size(), 1u);
    EXPECT_EQ(symbols[0].name, "A");
    EXPECT_EQ(editor.service.folds("a.fuse").size(), 1u);
}

std::vector<std::string> tokenTexts(const std::string& text) {
    std::vector<std::string> out;
    for (const Token& token : tokenize(text)) {
        std::string words(textOf(token, text));
        words.erase(words.find_last_not_of(" \t\r") + 1);
        out.push_back(words);
    }
    return out;
}

TEST(Format, theLibraryKeepsItsTokensAndIsStable) {
    for (const char* name :
         {"std/activation", "std/all", "std/attention", "std/blocks", "std/canonicalize",
          "std/convert", "std/convolution", "std/forms", "std/horizontal", "std/indexing",
          "std/linear", "std/normalization", "std/pointwise", "std/pooling", "std/quantize"}) {
        const std::string text(*embeddedPattern(name));
        const std::string once = formatText(text);
        EXPECT_EQ(tokenTexts(text), tokenTexts(once)) << name;
        EXPECT_EQ(formatText(once), once) << name;
    }
}

TEST(Format, spacesAndIndentationBecomeUniform) {
    EXPECT_EQ(formatText(
                  "fuse   1 ;\nrule R{match{y=Conv( x,w:const float|float16[N,-1,...] )[group==1]->"
                  "Relu?->Abs{1..3} ;\n\n\n// why\nwhere N>-1 ,axis in{-1,3};}}"),
              "fuse 1;\n"
              "rule R { match { y = Conv(x, w: const float|float16 [N, -1, ...])[group == 1] -> "
              "Relu? -> Abs{1..3};\n\n"
              "    // why\n"
              "    where N > -1, axis in {-1, 3}; } }\n");
}

TEST(Format, trailingCommentsOfNeighboursAlign) {
    EXPECT_EQ(formatText("\xef\xbb\xbf"
                         "fuse 1;\r\nimport   \"x\";\r\n"),
              "\xef\xbb\xbf"
              "fuse 1;\r\nimport \"x\";\r\n");
    EXPECT_EQ(formatText("fuse 1; // a\nimport \"x\"; // b\n"),
              "fuse 1;      // a\nimport \"x\";  // b\n");
}

/// All lines of a text end as on Windows.
std::string withWideLines(const std::string& text) {
    std::string out;
    for (const char c : text) {
        out += c == '\n' ? "\r" : "";
        out += c;
    }
    return out;
}

TEST(Format, stringsOfSeveralLinesKeepTheirBytes) {
    const std::string rule = "fuse 1;\nrule R { match { y = Relu(x); } test { graph \"g (float[2] "
                             "x) =>\n  (float[2] y) {\n y = Relu(x)\n}\"; expect fires 1; } }\n";
    EXPECT_EQ(formatText(rule), rule);
    const std::string wide = withWideLines(rule);
    EXPECT_EQ(formatText(wide), wide);
    // What is inside a string does not say how lines end.
    const std::string mixed = "fuse 1; import \"a\nb\"; // c\r\nimport \"c\nd\";\r\n";
    EXPECT_EQ(formatText(mixed), "fuse 1; import \"a\nb\";  // c\r\nimport \"c\nd\";\r\n");
}

std::string treeOf(const std::string& text) {
    SourceSet sources;
    const ParsedFile parsed = parse(sources, sources.add("a.fuse", text));
    return parsed.diagnostics.hasErrors() ? "mistakes" : testing_support::syntaxText(parsed.file);
}

/// The text with a comment before every `step`-th token, beginning with number `first`. Nothing
/// comes between a sign and its number, or into a name with a domain.
std::string withComments(const std::string& text, size_t first, size_t step) {
    std::string out = text;
    const std::vector<Token> tokens = tokenize(text);
    for (size_t i = tokens.size(); i-- > 1;) {
        const std::string_view before = textOf(tokens[i - 1], text), here = textOf(tokens[i], text);
        const bool isTouching = tokens[i - 1].end == tokens[i].begin;
        const bool isOne = isTouching && (before == "-" || before == "." || here == ".");
        if (i % step == first && !isOne)
            out.insert(tokens[i].begin, " // c\n");
    }
    return out;
}

TEST(Format, commentsAnywhereKeepTheMeaning) {
    std::vector<std::string> texts = {
        "fuse 1;\nrule R priority -1 { match { y = Softmax(x: [N, -1])[axis in {-1, -3}]; where N "
        "> "
        "-1, "
        "x.rank - -1 == 2; } }\nop com.acme.A(x) -> y [axis: int = -1] { y = Relu(x); }\n"};
    for (const char* name : {"std/all", "std/attention", "std/forms", "std/quantize"})
        texts.emplace_back(*embeddedPattern(name));
    for (const std::string& text : texts)
        for (const bool wide : {false, true})
            for (size_t step : {1, 2, 3})
                for (size_t first = 0; first < step; ++first) {
                    const std::string commented = withComments(text, first, step);
                    const std::string given = wide ? withWideLines(commented) : commented;
                    const std::string once = formatText(given);
                    const std::string tree = treeOf(given);
                    ASSERT_NE(tree, "mistakes") << given;
                    ASSERT_EQ(treeOf(once), tree) << once;
                    ASSERT_EQ(formatText(once), once);
                }
}

TEST(Format, brokenTextComesBackAsItIs) {
    EXPECT_EQ(formatText("fuse 1; rule \"open"), "fuse 1; rule \"open");
}

} // namespace
} // namespace fuselage::dsl
