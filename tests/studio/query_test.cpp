// SPDX-License-Identifier: Apache-2.0
// The query language of "find" and of the tables' filters.
#include "app/studio/item_models/query_filter.h"
#include "app/studio/item_models/row_table.h"

#include <QStandardItemModel>
#include <QTest>

using namespace fuselage::studio;

class QueryTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void queriesUnderstandKeysNumbersAndNegation_data() {
        QTest::addColumn<QString>("query");
        QTest::addColumn<bool>("matches");
        QTest::newRow("word") << "conv" << true;
        QTest::newRow("other word") << "gemm" << false;
        QTest::newRow("key") << "op:conv" << true;
        QTest::newRow("key and number") << "op:conv us>10" << true;
        QTest::newRow("number too small") << "us>20" << false;
        QTest::newRow("suffix") << "bytes>=1M bytes<3M" << true;
        QTest::newRow("negation") << "-op:Conv" << false;
        QTest::newRow("negated other") << "-op:Cast" << true;
        QTest::newRow("equal") << "op=con" << false;
        QTest::newRow("quotes") << "\"layer 1\"" << true;
        QTest::newRow("unknown key") << "colour:red" << false;
        QTest::newRow("nothing") << "  " << true;
        QTest::newRow("not fused") << "not fused" << true;
        QTest::newRow("not fused and a key") << "op:Conv not fused us>20" << false;
    }

    void queriesUnderstandKeysNumbersAndNegation() {
        QFETCH(QString, query);
        QFETCH(bool, matches);
        auto fields = [](const QString& key) -> QVariant {
            if (key.isEmpty())
                return "layer 1/Conv_3\nConv";
            if (key == "op")
                return "Conv";
            if (key == "us")
                return 12.5;
            if (key == "bytes")
                return 2e6;
            return {};
        };
        QCOMPARE(Query(query).matches(fields), matches);
    }

    void aTableIsFilteredByTheTitlesOfItsColumns() {
        QStandardItemModel model(2, 2);
        model.setHorizontalHeaderLabels({"operator", "time"});
        for (int row = 0; row < 2; ++row) {
            model.setData(model.index(row, 0), row ? "Conv" : "Relu");
            model.setData(model.index(row, 0), row ? "Conv" : "Relu", SortRole);
            model.setData(model.index(row, 1), row ? "20 us" : "5 us");
            model.setData(model.index(row, 1), row ? 20e-6 : 5e-6, SortRole); // seconds
        }
        QueryFilter filter;
        filter.setSourceModel(&model);
        QCOMPARE(filter.rowCount(), 2);
        filter.setQuery("relu");
        QCOMPARE(filter.rowCount(), 1);
        filter.setQuery("op:conv us>10");
        QCOMPARE(filter.rowCount(), 1);
        QCOMPARE(filter.index(0, 0).data().toString(), QString("Conv"));
        filter.setQuery("us<1");
        QCOMPARE(filter.rowCount(), 0);
        filter.setQuery({});
        QCOMPARE(filter.rowCount(), 2);
    }

    void emptyCellsCanBeAskedForAndUnknownKeysAreNamed() {
        QStandardItemModel model(2, 2);
        model.setHorizontalHeaderLabels({"node", "rule"});
        model.setData(model.index(0, 1), "R", SortRole);
        model.setData(model.index(1, 1), "", SortRole);
        QueryFilter filter;
        filter.setSourceModel(&model);
        filter.setQuery("rule:none");
        QCOMPARE(filter.rowCount(), 1);
        filter.setQuery("-rule:");
        QCOMPARE(filter.rowCount(), 1);
        filter.setQuery("rule:");
        QCOMPARE(filter.rowCount(), 1);
        filter.setQuery("rule:R");
        QCOMPARE(filter.rowCount(), 1);
        QVERIFY(filter.unknownKeys().isEmpty());
        filter.setQuery("colour:red");
        QCOMPARE(filter.unknownKeys(), QStringList{"colour"});
    }
};

QTEST_GUILESS_MAIN(QueryTest)
#include "query_test.moc"
