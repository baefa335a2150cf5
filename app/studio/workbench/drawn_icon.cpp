// SPDX-License-Identifier: Apache-2.0
#include "app/studio/workbench/drawn_icon.h"

#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPalette>
#include <QPixmap>
#include <QXmlStreamReader>
#include <string_view>
#include <vector>

namespace fuselage::studio {

namespace {

struct IconFile {
    std::string_view name;
    std::string_view text;
};

constexpr IconFile iconFiles[] = {
#include "drawn_icon.inc"
};

/// Colours by word: "none", "currentColor" or "#rrggbb".
struct IconShape {
    QPainterPath path;
    QString fill, stroke;
    double width = 1;
};

struct IconPicture {
    double size = 16; ///< it is square
    std::vector<IconShape> shapes;
};

/// Letters with the numbers after them, as in the attribute `d`.
class IconPathReader {
public:
    explicit IconPathReader(const QString& text) : m_text(text) {}

    QPainterPath read() {
        QChar command;
        while (skipSpace()) {
            if (m_text[m_at].isLetter())
                command = m_text[m_at++];
            step(command);
        }
        return m_path;
    }

private:
    bool skipSpace() {
        while (m_at < m_text.size() && (m_text[m_at].isSpace() || m_text[m_at] == ','))
            ++m_at;
        return m_at < m_text.size();
    }

    double number() {
        skipSpace();
        const qsizetype begin = m_at;
        while (m_at < m_text.size() && (m_text[m_at].isDigit() || m_text[m_at] == '.' ||
                                        (m_at == begin && m_text[m_at] == '-')))
            ++m_at;
        return m_text.mid(begin, m_at - begin).toDouble();
    }

    QPointF point(const QPointF& from) {
        const double x = number();
        return from + QPointF(x, number());
    }

    void step(QChar command) {
        const QPointF here = m_path.currentPosition();
        const QPointF from = command.isLower() ? here : QPointF();
        switch (command.toUpper().toLatin1()) {
        case 'M':
            return m_path.moveTo(point(from));
        case 'L':
            return m_path.lineTo(point(from));
        case 'H':
            return m_path.lineTo(from.x() + number(), here.y());
        case 'V':
            return m_path.lineTo(here.x(), from.y() + number());
        case 'C': {
            const QPointF first = point(from), second = point(from);
            return m_path.cubicTo(first, second, point(from));
        }
        case 'Z':
            return m_path.closeSubpath();
        default:
            ++m_at; // of no meaning here
        }
    }

    QString m_text;
    qsizetype m_at = 0;
    QPainterPath m_path;
};

IconShape iconShapeOf(const QStringView& name, const QXmlStreamAttributes& own,
                      const QXmlStreamAttributes& all) {
    const auto number = [&](const char* key) { return own.value(QLatin1String(key)).toDouble(); };
    const auto word = [&](const char* key, const char* otherwise) {
        const QLatin1String wanted(key);
        return own.hasAttribute(wanted)   ? own.value(wanted).toString()
               : all.hasAttribute(wanted) ? all.value(wanted).toString()
                                          : QString::fromLatin1(otherwise);
    };
    IconShape out;
    if (name == QLatin1String("path"))
        out.path = IconPathReader(own.value(QLatin1String("d")).toString()).read();
    else if (name == QLatin1String("circle"))
        out.path.addEllipse(QPointF(number("cx"), number("cy")), number("r"), number("r"));
    else if (name == QLatin1String("rect"))
        out.path.addRoundedRect(QRectF(number("x"), number("y"), number("width"), number("height")),
                                number("rx"), number("rx"));
    out.fill = word("fill", name == QLatin1String("path") ? "none" : "#000000");
    out.stroke = word("stroke", "none");
    out.width = word("stroke-width", "1").toDouble();
    return out;
}

IconPicture iconPictureOf(std::string_view name) {
    IconPicture out;
    for (const IconFile& file : iconFiles) {
        if (file.name != name)
            continue;
        QXmlStreamReader xml(
            QByteArray(file.text.data(), static_cast<qsizetype>(file.text.size())));
        QXmlStreamAttributes all;
        while (!xml.atEnd()) {
            if (xml.readNext() != QXmlStreamReader::StartElement)
                continue;
            if (xml.name() == QLatin1String("svg")) {
                all = xml.attributes();
                out.size =
                    all.value(QLatin1String("viewBox")).toString().section(' ', 2, 2).toDouble();
            } else {
                out.shapes.push_back(iconShapeOf(xml.name(), xml.attributes(), all));
            }
        }
    }
    return out;
}

class DrawnIcon final : public QIconEngine {
public:
    explicit DrawnIcon(IconPicture picture) : m_picture(std::move(picture)) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
        const QPalette palette = QGuiApplication::palette();
        const QColor ink = palette.color(
            mode == QIcon::Disabled ? QPalette::Disabled : QPalette::Active,
            mode == QIcon::Selected ? QPalette::HighlightedText : QPalette::ButtonText);
        const auto colour = [&](const QString& word) {
            return word == QLatin1String("currentColor") ? ink : QColor(word);
        };
        const double side = std::min(rect.width(), rect.height());
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->translate(QRectF(rect).center() - QPointF(side, side) / 2);
        painter->scale(side / m_picture.size, side / m_picture.size);
        for (const IconShape& shape : m_picture.shapes) {
            painter->setBrush(shape.fill == QLatin1String("none") ? QBrush(Qt::NoBrush)
                                                                  : QBrush(colour(shape.fill)));
            painter->setPen(shape.stroke == QLatin1String("none")
                                ? QPen(Qt::NoPen)
                                : QPen(colour(shape.stroke), shape.width, Qt::SolidLine,
                                       Qt::RoundCap, Qt::RoundJoin));
            painter->drawPath(shape.path);
        }
        painter->restore();
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        QPixmap out(size);
        out.fill(Qt::transparent);
        QPainter painter(&out);
        paint(&painter, QRect(QPoint(0, 0), size), mode, state);
        return out;
    }

    QIconEngine* clone() const override { return new DrawnIcon(*this); }

private:
    IconPicture m_picture;
};

} // namespace

QIcon iconOf(const QString& command) {
    IconPicture picture = iconPictureOf("icons/" + command.toStdString() + ".svg");
    return picture.shapes.empty() ? QIcon() : QIcon(new DrawnIcon(std::move(picture)));
}

QIcon programIcon() {
    return QIcon(new DrawnIcon(iconPictureOf("desktop/fuselage-studio.svg")));
}

} // namespace fuselage::studio
