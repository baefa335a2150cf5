// SPDX-License-Identifier: Apache-2.0
// Tables without a display: Qt's own model tester over each, and what exports write.
#include "app/studio/item_models/kernel_table.h"
#include "app/studio/item_models/table_export.h"

#include <QAbstractItemModelTester>
#include <QTest>

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
