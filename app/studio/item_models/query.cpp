// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/query.h"

#include <QRegularExpression>
#include <optional>

namespace fuselage::studio {

namespace {

/// "1M" is 1e6; nothing when it is no number.
std::optional<double> numberOf(QString text) {
    double scale = 1;
    if (!text.isEmpty())
        switch (text.back().toLower().toLatin1()) {
        case 'k':
            scale = 1e3;
            break;
        case 'm':
            scale = 1e6;
            break;
        case 'g':
            scale = 1e9;
            break;
        default:
            break;
        }
    if (scale != 1)
        text.chop(1);
    bool good = false;
    double value = text.toDouble(&good);
    return good ? std::optional(value * scale) : std::nullopt;
}

/// Words apart, quotes keep spaces together.
QStringList wordsOf(const QString& text) {
    QStringList out;
    QString word;
    bool quoted = false, any = false;
    for (QChar c : text) {
        if (c == '"') {
            quoted = !quoted;
            any = true;
        } else if (c.isSpace() && !quoted) {
            if (any)
                out << word;
            word.clear();
            any = false;
        } else {
            word += c;
            any = true;
        }
    }
    if (any)
        out << word;
    return out;
}

} // namespace

Query::Query(const QString& text) {
    QStringList words = wordsOf(text);
    for (qsizetype i = 0; i < words.size(); ++i) { // what people say first
        if (words[i] == "not" && words.value(i + 1) == "fused") {
            words[i] = "rule:none";
            words.removeAt(i + 1);
        } else if (words[i] == "not fused" || words[i] == "unfused") {
            words[i] = "rule:none";
        }
    }
    for (const QString& word : words)
        if (!word.isEmpty() && word != "-") {
            m_terms.push_back(termOf(word));
            m_terms.back().small = m_terms.back().text.toLower();
        }
}

Query::Term Query::termOf(QString word) {
    Term term;
    if (word.startsWith('-')) {
        term.negated = true;
        word.remove(0, 1);
    }
    static const QRegularExpression keyed(QStringLiteral("^([A-Za-z_]+)(:|<=|>=|<|>|=)(.*)$"));
    auto found = keyed.match(word);
    term.text = word;
    if (!found.hasMatch())
        return term;
    QString relation = found.captured(2);
    auto number = numberOf(found.captured(3));
    bool compares = relation.startsWith('<') || relation.startsWith('>');
    // "a<b" may be a name, and "C:\\" a folder
    if ((compares && !number) || (relation != ":" && found.captured(3).isEmpty()))
        return term;
    term.key = found.captured(1).toLower();
    term.text = found.captured(3);
    term.number = number.value_or(0);
    term.relation = relation == "<"    ? Relation::Less
                    : relation == ">"  ? Relation::More
                    : relation == "<=" ? Relation::LessOrEqual
                    : relation == ">=" ? Relation::MoreOrEqual
                    : relation == "="  ? Relation::Equal
                                       : Relation::Contains;
    return term;
}

QStringList Query::keys() const {
    QStringList out;
    for (const Term& term : m_terms)
        if (!term.key.isEmpty() && !out.contains(term.key))
            out << term.key;
    return out;
}

bool Query::holds(const Term& term, const QVariant& value) {
    if (!term.key.isEmpty() && term.relation == Relation::Contains) {
        if (term.text.isEmpty())
            return !value.toString().isEmpty();
        if (term.text.compare(QLatin1String("none"), Qt::CaseInsensitive) == 0)
            return value.toString().isEmpty();
    }
    if (!value.isValid())
        return false;
    double number = value.toDouble();
    switch (term.relation) {
    case Relation::Less:
        return number < term.number;
    case Relation::More:
        return number > term.number;
    case Relation::LessOrEqual:
        return number <= term.number;
    case Relation::MoreOrEqual:
        return number >= term.number;
    case Relation::Equal:
        return value.toString().compare(term.text, Qt::CaseInsensitive) == 0;
    case Relation::Contains:
        break;
    }
    return value.toString().contains(term.text, Qt::CaseInsensitive);
}

bool Query::matches(const QString& smallText, const Fields& fields) const {
    for (const Term& term : m_terms) {
        const bool found =
            term.key.isEmpty() ? smallText.contains(term.small) : holds(term, fields(term.key));
        if (found == term.negated)
            return false;
    }
    return true;
}

bool Query::matches(const Fields& fields) const {
    for (const Term& term : m_terms)
        if (holds(term, fields(term.key)) == term.negated)
            return false;
    return true;
}

} // namespace fuselage::studio
