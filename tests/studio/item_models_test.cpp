// SPDX-License-Identifier: Apache-2.0
// Tables without a display: Qt's own model tester over each, and what exports write.
#include "app/studio/item_models/kernel_table.h"
#include "app/studio/item_models/match_table.h"
#include "app/studio/item_models/near_miss_table.h"
#include "app/studio/item_models/node_table.h"
#include "app/studio/item_models/problem_table.h"
#include "app/studio/item_models/query_filter.h"
#include "app/studio/item_models/rule_table.h"
#include "app/studio/item_models/step_table.h"
#include "app/studio/item_models/table_export.h"

#include <QAbstractItemModelTester>
#include <QTest>
#include <QTextDocument>

using namespace fuselage;
using namespace fuselage::studio;

namespace {

app::KernelReport kernel(const char* rule, double seconds, const char* source) {
    app::KernelReport out;
    out.rule = rule;
    out.kind = "Pointwise";
    out.tactic = "one, \"two\"";
    out.predictedSeconds = seconds;
    out.share = seconds;
    out.sources = {source};
    return out;
}

} // namespace

class ItemModelsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void kernelTableObeysQtsContract() {
        auto* table = makeKernelTable(this);
        QAbstractItemModelTester tester(table,
                                        QAbstractItemModelTester::FailureReportingMode::QtTest);
        table->setRows({kernel("A", 0.25, "n1"), kernel("B", 0.75, "n2")});
        QCOMPARE(table->rowCount(), 2);
        table->setRows({});
        QCOMPARE(table->rowCount(), 0);
    }

    void everyTableObeysQtsContract() {
        using Mode = QAbstractItemModelTester::FailureReportingMode;
        auto* matches = makeMatchTable(this);
        auto* misses = makeNearMissTable(this);
        auto* steps = makeStepTable(this);
        auto* problems = makeProblemTable(this);
        auto* nodes = makeNodeTable(this);
        auto* rules = makeRuleTable(this, [](const RuleRow&, bool) {});
        for (RowTableBase* table :
             std::initializer_list<RowTableBase*>{matches, misses, steps, problems, nodes, rules})
            new QAbstractItemModelTester(table, Mode::QtTest, table);
        matches->setRows({{}, {}});
        misses->setRows({{}});
        steps->setRows({{}});
        problems->setRows({{}});
        nodes->setRows({{}});
        rules->setRows({{}});
        QCOMPARE(matches->rowCount(), 2);
        QCOMPARE(nodes->nodesBefore(0), QStringList{QString()});
    }

    void nodesSayWhatTheyBecame() {
        app::Report report;
        report.before.graph.values.resize(1);
        report.before.graph.values[0].type = "float[2]";
        report.before.graph.nodes.resize(2);
        report.before.graph.nodes[0].name = "a";
        report.before.graph.nodes[0].outputs = {0};
        report.before.graph.nodes[1].name = "b";
        app::MatchReport match;
        match.rule = "R";
        match.fusedNode = "R1";
        match.nodes = {"b"};
        report.matches = {match};
        auto rows = nodeRows(report);
        QCOMPARE(rows[0].type, QString("float[2]"));
        QVERIFY(rows[0].rule.isEmpty());
        QCOMPARE(rows[1].fusedNode, QString("R1"));
    }

    void timesSortAsNumbersAndSayWhetherTheyWereMeasured() {
        auto* table = makeKernelTable(this);
        auto measured = kernel("A", 0.25, "n1");
        measured.measuredSeconds = 1e-5;
        table->setRows({measured, kernel("B", 2e-6, "n2")});
        QModelIndex first = table->index(0, 1), second = table->index(1, 1);
        QVERIFY(first.data(SortRole).toDouble() > second.data(SortRole).toDouble());
        QVERIFY(!first.data().toString().contains("predicted"));
        QVERIFY(second.data().toString().contains("predicted"));
    }

    void aMatchSavesWhatWasMeasuredAndHasAVerdict() {
        auto* table = makeMatchTable(this);
        app::MatchReport predicted;
        predicted.secondsBefore = 3e-3;
        predicted.secondsAfter = 1e-3;
        app::MatchReport loses = predicted;
        loses.measuredBefore = 4e-3;
        loses.measuredAfter = 70e-3;
        loses.measuredRatio = RatioSummary{17.5, 16, 19};
        table->setRows({predicted, loses});
        auto text = [&](int row, const char* title) {
            for (int column = 0; column < table->columnCount(); ++column)
                if (table->headerData(column, Qt::Horizontal, Qt::DisplayRole) == QString(title))
                    return table->index(row, column).data().toString();
            return QString("no such column");
        };
        QVERIFY(text(0, "time saved").contains("predicted"));
        QCOMPARE(text(0, "verdict"), QString());
        QVERIFY2(text(1, "time saved").startsWith('-'), qPrintable(text(1, "time saved")));
        QVERIFY(!text(1, "time saved").contains("predicted"));
        QCOMPARE(text(1, "verdict"), QString("slower 17.50x"));
    }

    void predictionsStandBesideWhatWasMeasuredWithTheirError() {
        auto* table = makeKernelTable(this);
        auto measured = kernel("A", 3e-6, "n1");
        measured.measuredSeconds = 2e-6;
        table->setRows({measured, kernel("B", 5e-6, "n2")});
        QCOMPARE(table->index(0, predictedColumn).data().toString(), QString("3.0 us"));
        QCOMPARE(table->index(0, errorColumn).data().toString(), QString("+50.0 %"));
        QVERIFY(table->index(1, errorColumn).data().toString().isEmpty());
        auto* matches = makeMatchTable(this);
        app::MatchReport match;
        match.secondsBefore = 9e-6;
        match.secondsAfter = 4e-6;
        match.measuredBefore = 9e-6;
        match.measuredAfter = 7e-6;
        matches->setRows({match});
        QStringList titles;
        for (int column = 0; column < matches->columnCount(); ++column)
            titles << matches->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        const auto error = static_cast<int>(titles.indexOf("error"));
        QCOMPARE(matches->index(0, error).data().toString(), QString("+3.0 us"));
        QVERIFY(qAbs(matches->index(0, error).data(SortRole).toDouble() - 3e-6) < 1e-12);
    }

    void aMatchThatSavesNothingIsMarked() {
        auto* table = makeMatchTable(this);
        app::MatchReport nothing, saves;
        nothing.launchesBefore = nothing.launchesAfter = 1;
        nothing.bytesBefore = nothing.bytesAfter = 512;
        nothing.secondsBefore = nothing.secondsAfter = 2e-6;
        saves = nothing;
        saves.bytesAfter = 256;
        table->setRows({nothing, saves});
        QueryFilter filter(nullptr);
        filter.setSourceModel(table);
        filter.setQuery("verdict:nothing");
        QCOMPARE(filter.rowCount(), 1);
        QCOMPARE(filter.mapToSource(filter.index(0, 0)).row(), 0);
    }

    void rulesAddUpWhatTheirMatchesSaved() {
        app::RuleLibrary library;
        library.loaded.rules.rules.resize(2);
        library.loaded.rules.rules[0].name = "A";
        library.loaded.rules.rules[1].name = "B";
        library.leftOut.resize(1);
        library.leftOut[0].name = "C";
        app::Report report;
        app::RuleReport of;
        of.rule = "B";
        of.fused = 2;
        of.bytesSaved = 64;
        report.rules = {of};
        app::MatchReport match;
        match.rule = "B";
        match.nodes = {"n"};
        match.secondsBefore = 3e-6;
        match.secondsAfter = 1e-6;
        report.matches = {match, match};
        const std::vector<RuleRow> rows = ruleRows(report, library);
        QCOMPARE(rows.size(), size_t(3));
        QCOMPARE(rows[0].matches, size_t(0));
        QCOMPARE(rows[1].matches, size_t(2));
        QCOMPARE(rows[1].bytes, int64_t(64));
        QVERIFY(qAbs(rows[1].seconds - 4e-6) < 1e-12 && !rows[1].measured);
        QVERIFY(rows[1].on && !rows[2].on);
        QString changed;
        bool to = true;
        auto* table = makeRuleTable(this, [&](const RuleRow& row, bool on) {
            changed = row.name;
            to = on;
        });
        table->setRows(rows);
        QCOMPARE(table->index(1, 0).data(Qt::CheckStateRole).toInt(), int(Qt::Checked));
        QVERIFY(table->flags(table->index(1, 0)) & Qt::ItemIsUserCheckable);
        QVERIFY(!(table->flags(table->index(1, 1)) & Qt::ItemIsUserCheckable));
        QVERIFY(table->setData(table->index(1, 0), Qt::Unchecked, Qt::CheckStateRole));
        QCOMPARE(changed, QString("B"));
        QVERIFY(!to);
    }

    void nearMissesForOneReasonAreOneRowAndDearOnesComeFirst() {
        app::Report report;
        auto miss = [&](const char* rule, const char* node, const char* why, uint32_t step) {
            app::NearMissReport out;
            out.rule = rule;
            out.anchor = out.node = node;
            out.reason.code = "M1";
            out.reason.message = why;
            out.step = step;
            out.steps = 4;
            report.nearMisses.push_back(out);
        };
        miss("Cheap", "a", "rank", 3);
        miss("Dear", "b", "`b`: group", 3);
        miss("Dear", "c", "`c`: group", 3);
        for (const char* node : {"a", "b", "c"}) {
            app::KernelReport unfused = kernel("", node[0] == 'a' ? 1e-6 : 1e-3, node);
            report.before.kernels.push_back(unfused);
        }
        const std::vector<NearMissRow> rows = nearMissRows(report);
        QCOMPARE(rows.size(), size_t(2));
        QCOMPARE(rows[0].miss.rule, std::string("Dear"));
        QCOMPARE(rows[0].count, size_t(2));
        QCOMPARE(rows[0].nodes, (QStringList{"b", "c"}));
        QVERIFY(qFuzzyCompare(rows[0].seconds, 2e-3));
        // One node alone saves nothing; two become one, whose dearer part stays.
        QCOMPARE(rows[0].gain, 0.0);
        miss("Pair", "a", "shape", 2);
        report.nearMisses.back().bound = {"b", "a"};
        miss("Pair", "b", "shape", 2); // shares a node with that place
        const std::vector<NearMissRow> ranked = nearMissRows(report);
        QCOMPARE(ranked[0].miss.rule, std::string("Pair"));
        QVERIFY(qFuzzyCompare(ranked[0].gain, 1e-6));
    }

    void completeMatchesThatWereNotAppliedAreMissesToo() {
        app::Report report;
        auto refused = [&](const char* rule, std::vector<std::string> nodes) {
            app::StepReport& step = report.steps.emplace_back();
            step.kind = app::StepReport::Kind::Refused;
            step.rule = rule;
            step.nodes = std::move(nodes);
            step.reason.message = "no";
        };
        refused("Taken", {"a", "b"});
        refused("Open", {"c", "d"});
        for (const char* node : {"a", "b", "c", "d"})
            report.before.kernels.push_back(kernel("", 1e-3, node));
        report.matches.emplace_back().nodes = {"b"};
        const std::vector<NearMissRow> rows = nearMissRows(report);
        QCOMPARE(rows.size(), size_t(2));
        QCOMPARE(rows[0].miss.rule, std::string("Open"));
        QVERIFY(qFuzzyCompare(rows[0].gain, 1e-3));
        QCOMPARE(rows[1].gain, 0.0);
        QCOMPARE(rows[1].nodes, (QStringList{"a", "b"}));
        QVERIFY(!rows[0].first);
        std::unique_ptr<NearMissTable> table(makeNearMissTable(nullptr));
        table->setRows(rows);
        QCOMPARE(table->index(0, 0).data().toString(), QString("complete"));
    }

    void kernelsOfFusionsThatLoseSayWhichAndAreFound() {
        app::Report report;
        app::MatchReport loses;
        loses.fusedNode = "f";
        loses.measuredRatio = RatioSummary{17.5, 16, 19};
        loses.measuredBefore = 4e-3;
        loses.measuredAfter = 70e-3;
        report.matches = {loses};
        auto verdicts = std::make_shared<KernelVerdicts>();
        verdicts->set(report);
        auto* table = makeKernelTable(this, nullptr, verdicts);
        auto fused = kernel("R", 70e-3, "a"), plain = kernel("", 1e-3, "b");
        fused.node = "f";
        plain.node = "b";
        table->setRows({fused, plain});
        QueryFilter filter(nullptr);
        filter.setSourceModel(table);
        filter.setQuery("slower");
        QCOMPARE(filter.rowCount(), 1);
        filter.setQuery("verdict:slower");
        QCOMPARE(filter.rowCount(), 1);
        QCOMPARE(filter.index(0, 4).data().toString(), QString("slower 17.50x"));
        filter.setQuery("-verdict:slower");
        QCOMPARE(filter.rowCount(), 1);
    }

    void copiedRowsKeepTheirUnitsAndOnlyTheirColumns() {
        auto* table = makeKernelTable(this);
        auto measured = kernel("A", 0.25, "n1");
        measured.measuredSeconds = 1.409e-3;
        table->setRows({measured});
        const QString text = exportTable(*table, TableFormat::Words, {0}, {1, 5});
        QCOMPARE(text, QString("time\trule\n1.41 ms\tA\n"));
    }

    void countedBytesStandBesidePredictedOnesAndAreNeverAZeroInTheirPlace() {
        auto* table = makeKernelTable(this);
        auto counted = kernel("A", 0.25, "n1");
        counted.traffic.dram = 1'000'000;
        counted.measuredTraffic = MeasuredTraffic{900'000, 300'000, 5'000'000};
        table->setRows({counted, kernel("B", 0.75, "n2")});
        QModelIndex first = table->index(0, countedColumn), second = table->index(1, countedColumn);
        QCOMPARE(first.data().toString(), QString("1.20 MB"));
        QCOMPARE(first.data(SortRole).toLongLong(), 1'200'000);
        QVERIFY(first.data(Qt::ToolTipRole).toString().contains("1.00 MB predicted"));
        QVERIFY(second.data().toString().isEmpty());
        QVERIFY(!second.data(SortRole).isValid());
    }

    void namesThatLookLikeHtmlAreShownAsWritten() {
        auto* table = makeKernelTable(this);
        const char* name = "<img src='file:///etc/hostname'>";
        table->setRows({kernel(name, 0.25, name)});
        bool isNamed = false;
        for (int column = 0; column < table->columnCount(); ++column) {
            const QString tip = table->index(0, column).data(Qt::ToolTipRole).toString();
            QVERIFY2(!tip.contains("<img"), qPrintable(tip));
            QTextDocument shown; // what a tool tip shows
            if (Qt::mightBeRichText(tip))
                shown.setHtml(tip);
            isNamed = isNamed || shown.toPlainText() == name;
        }
        QVERIFY(isNamed);
        QCOMPARE(plainTip("1 < 2 and\n3"), QString("1 < 2 and\n3"));
    }

    void csvQuotesAndMarkdownEscapes() {
        auto* table = makeKernelTable(this);
        table->setRows({kernel("A|B", 0.25, "n1")});
        QString csv = exportTable(*table, TableFormat::Csv);
        QVERIFY2(csv.contains("\"one, \"\"two\"\"\""), qPrintable(csv));
        QString markdown = exportTable(*table, TableFormat::Markdown);
        QVERIFY2(markdown.contains("A\\|B"), qPrintable(markdown));
        QVERIFY2(markdown.contains("--:|"), qPrintable(markdown));
    }

    void onlyTheNamedRowsAreExportedInTheirOrder() {
        auto* table = makeKernelTable(this);
        table->setRows({kernel("A", 1, "a"), kernel("B", 1, "b"), kernel("C", 1, "c")});
        QString tsv = exportTable(*table, TableFormat::Tsv, {2, 0});
        QVERIFY(tsv.indexOf("\tC\t") < tsv.indexOf("\tA\t"));
        QVERIFY(!tsv.contains("\tB\t"));
    }
};

QTEST_GUILESS_MAIN(ItemModelsTest)
#include "item_models_test.moc"
