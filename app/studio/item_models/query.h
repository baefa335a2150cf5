// SPDX-License-Identifier: Apache-2.0
// The small query language of "find" and of every table's filter:
//
//     conv op:Conv rule:none shape:1,64 dtype:float16 rule:Gelu us>10 bytes>=1M -op:Cast "exact
//     words"
//
// `not fused` is rule:none. "key:" and "key:none" ask whether there is anything at all. Terms are
// joined by "and", "-" negates, words without a key are looked for everywhere.
#pragma once

#include <QString>
#include <QStringList>
#include <QVariant>
#include <functional>
#include <vector>

namespace fuselage::studio {

class Query {
public:
    /// The value of a key, invalid when there is no such key; the empty key: all text.
    using Fields = std::function<QVariant(const QString& key)>;

    Query() = default;
    explicit Query(const QString& text);

    bool matches(const Fields& fields) const;

    /// The same with all text given in small letters, as the searcher of many rows keeps it;
    /// `fields` is asked for keys only.
    bool matches(const QString& smallText, const Fields& fields) const;

    bool empty() const { return m_terms.empty(); }

    /// Keys that are asked for, without the empty one.
    QStringList keys() const;

private:
    enum class Relation { Contains, Equal, Less, More, LessOrEqual, MoreOrEqual };

    struct Term {
        QString key;
        Relation relation = Relation::Contains;
        QString text, small; ///< as typed, and in small letters
        double number = 0;
        bool negated = false;
    };

    static Term termOf(QString word);
    static bool holds(const Term& term, const QVariant& value);

    std::vector<Term> m_terms;
};

} // namespace fuselage::studio
